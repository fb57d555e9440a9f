/* SPDX-License-Identifier: MIT
 *
 * One problem in memory.  In: an op, a problem, a seed; out: guarded operands,
 * the reference, packed weights.  What a candidate must not write is
 * read-only, the reference included: a stray write faults instead of changing
 * what later candidates are judged by.
 */
#include "worker/instance.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cgroup.h"
#include "base/util.h"

enum { LOOKED_AT_FROM = 16 << 20 }; /* bytes: of less the control groups need not be asked */

/* The kernel hands out what is not there and kills the process when it is written, so it is counted before. */
static enum tcb_status have_room(size_t bytes, const char *what, struct tcb_error *err)
{
	if (bytes < LOOKED_AT_FROM)
		return TCB_OK;
	const size_t available = tcb_available_bytes("");
	if (bytes <= available)
		return TCB_OK;
	return tcb_fail(err, TCB_E_NOMEM,
			"%s need %zu MiB of memory and %zu MiB are free (`tcbtune doctor` says what the control groups "
			"grant): take a smaller shape",
			what, bytes >> 20, available >> 20);
}

static enum tcb_status alloc_operands(struct tcb_instance *instance, struct tcb_error *err)
{
	const struct tcb_op *op = instance->op;
	int outputs = 0;
	size_t filled = 0;
	for (size_t i = 0; i < instance->operand_count; i++)
		filled += instance->operands[i].role == TCB_ROLE_OUTPUT ? 0 : instance->operands[i].bytes;
	TCB_TRY(have_room(filled, "the operands", err));
	for (size_t i = 0; i < instance->operand_count; i++) {
		const struct tcb_operand *operand = &instance->operands[i];
		outputs += operand->role == TCB_ROLE_OUTPUT;
		/* An output is poisoned before each run, and takes no memory where it is on a GPU. */
		const int is_bare = operand->role == TCB_ROLE_OUTPUT || op->fill_part;
		TCB_TRY(tcb_buffer_alloc(is_bare ? TCB_BUFFER_GUARD_BARE : TCB_BUFFER_GUARD, operand->bytes,
					 &instance->data[i], err));
	}
	if (outputs != 1)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "op %s has %d outputs; the tuner can judge exactly one",
				op->name, outputs);
	instance->output = (size_t)tcb_operand_output(instance->operands, instance->operand_count);
	instance->weights = tcb_operand_weights(instance->operands, instance->operand_count);
	const struct tcb_operand *output = &instance->operands[instance->output];
	if (!tcb_type_bytes(output->type))
		return tcb_fail(err, TCB_E_UNSUPPORTED, "op %s has an output of type %s, which cannot be judged",
				op->name, tcb_type_text(output->type));
	instance->output_count = output->rows * output->cols;
	return TCB_OK;
}

enum tcb_status tcb_instance_create(const struct tcb_op *op, const struct tcb_problem *problem, uint64_t seed,
				    struct tcb_pool *pool, struct tcb_instance **out, struct tcb_error *err)
{
	struct tcb_instance *instance = calloc(1, sizeof(*instance));
	if (!instance)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a problem of %s", op->name);
	instance->op = op;
	instance->problem = *problem;
	instance->seed = seed;
	instance->operand_count = op->operands(problem, instance->operands);
	enum tcb_status status = alloc_operands(instance, err);
	if (status == TCB_OK) {
		void *operand[TCB_OPERANDS_MAX];
		for (size_t i = 0; i < instance->operand_count; i++)
			operand[i] = instance->data[i].data;
		tcb_op_fill(problem, seed, operand, pool);
		for (size_t i = 0; i < instance->operand_count && status == TCB_OK; i++) {
			if (i != instance->output)
				status = tcb_buffer_protect(&instance->data[i], 1, err);
		}
	}
	if (status != TCB_OK) {
		tcb_instance_destroy(instance);
		return status;
	}
	*out = instance;
	return TCB_OK;
}

void tcb_instance_destroy(struct tcb_instance *instance)
{
	if (!instance)
		return;
	for (size_t i = 0; i < TCB_OPERANDS_MAX; i++)
		tcb_buffer_free(&instance->data[i]);
	for (size_t i = 0; i < TCB_LAYOUT_COUNT; i++)
		tcb_buffer_free(&instance->packed[i].buffer);
	tcb_buffer_free(&instance->reference_data);
	tcb_buffer_free(&instance->right.output);
	free(instance);
}

/* ---- the reference ---- */

enum { HEAD_BYTES = 64 << 10 }; /* a whole number of pages on any machine: what follows is made read-only */

struct tcb_shared_reference {
	size_t map_bytes, count;
	atomic_int is_ready;
};

struct tcb_shared_reference *tcb_shared_reference_create(const struct tcb_op *op, const struct tcb_problem *problem,
							 const struct tcb_draw *draw)
{
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	const int output = tcb_operand_output(operands, op->operands(problem, operands));
	if (output < 0 || !tcb_type_bytes(operands[output].type))
		return NULL;
	const size_t count = draw ? draw->count : operands[output].rows * operands[output].cols;
	const size_t bytes = HEAD_BYTES + 3 * count * sizeof(double);
	struct tcb_shared_reference *shared =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (shared == MAP_FAILED)
		return NULL;
	shared->map_bytes = bytes;
	shared->count = count;
	return shared;
}

void tcb_shared_reference_destroy(struct tcb_shared_reference *shared)
{
	if (shared)
		munmap(shared, shared->map_bytes);
}

void tcb_instance_refer(const struct tcb_instance *instance, struct tcb_reference *out)
{
	void *operand[TCB_OPERANDS_MAX];
	for (size_t i = 0; i < instance->operand_count; i++)
		operand[i] = instance->data[i].data;
	instance->op->reference(&instance->problem, operand, out);
}

/* Elements of each array of the reference. */
static size_t reference_count(const struct tcb_instance *instance)
{
	return instance->draw ? instance->draw->count : instance->output_count;
}

static struct tcb_reference reference_at(double *data, size_t count)
{
	return (struct tcb_reference){ .y = data, .magnitude = data + count, .extra = data + 2 * count };
}

/* Where the parts of a drawn reference are: grid after grid, then the sums. */
static void divide(struct tcb_instance *instance, double *data)
{
	const struct tcb_draw *draw = instance->draw;
	size_t at = 0;
	instance->reference = reference_at(data, reference_count(instance));
	for (size_t g = 0; draw && g < draw->grid_count; g++) {
		const size_t count = draw->grid[g].row_count * draw->grid[g].column_count;
		instance->drawn[g] = reference_at(data + 3 * at, count);
		instance->drawn[g].grid = &draw->grid[g];
		at += count;
	}
	if (draw && draw->sums)
		instance->sums = reference_at(data + 3 * at, draw->sum_count);
}

static void compute(struct tcb_instance *instance, struct tcb_pool *pool)
{
	struct tcb_reference *all[TCB_DRAW_GRIDS + 1] = { &instance->reference };
	size_t count = 1;
	for (size_t g = 0; instance->draw && g < instance->draw->grid_count; g++) {
		all[g] = &instance->drawn[g];
		count = g + 1;
	}
	for (size_t i = 0; i < count; i++) {
		all[i]->pool = pool;
		tcb_instance_refer(instance, all[i]);
		all[i]->pool = NULL;
	}
	if (!instance->sums.y)
		return;
	void *operand[TCB_OPERANDS_MAX];
	for (size_t i = 0; i < instance->operand_count; i++)
		operand[i] = instance->data[i].data;
	instance->sums.pool = pool;
	instance->op->reference_sums(&instance->problem, operand, &instance->sums);
	instance->sums.pool = NULL;
}

/* A process that died over it leaves it to the next. */
static enum tcb_status share_reference(struct tcb_instance *instance, struct tcb_pool *pool, struct tcb_error *err)
{
	struct tcb_shared_reference *shared = instance->shared;
	double *data = (double *)(void *)((char *)shared + HEAD_BYTES);
	divide(instance, data);
	if (!atomic_load(&shared->is_ready))
		compute(instance, pool);
	if (mprotect(data, shared->map_bytes - HEAD_BYTES, PROT_READ) != 0) {
		instance->reference.y = NULL;
		return tcb_fail(err, TCB_E_NOMEM, "cannot protect the reference of %s", instance->op->name);
	}
	atomic_store(&shared->is_ready, 1);
	return TCB_OK;
}

enum tcb_status tcb_instance_reference(struct tcb_instance *instance, struct tcb_pool *pool, struct tcb_error *err)
{
	const size_t count = reference_count(instance);
	if (instance->reference.y)
		return TCB_OK;
	if (!instance->shared || instance->shared->count != count || !atomic_load(&instance->shared->is_ready))
		TCB_TRY(have_room(3 * count * sizeof(double) + instance->data[instance->output].bytes,
				  "the reference results", err));
	if (instance->shared && instance->shared->count == count)
		return share_reference(instance, pool, err);
	TCB_TRY(tcb_buffer_alloc(TCB_BUFFER_PLAIN, 3 * count * sizeof(double), &instance->reference_data, err));
	divide(instance, instance->reference_data.data);
	compute(instance, pool);
	return tcb_buffer_protect(&instance->reference_data, 1, err);
}

/* ---- packed weights ---- */

enum tcb_status tcb_instance_pack_prepare(struct tcb_instance *instance, const struct tcb_plan *plan,
					  int *is_packed_out, struct tcb_error *err)
{
	struct tcb_packed *packed = &instance->packed[plan->variant->layout];
	*is_packed_out = 1;
	if (plan->packed_bytes == 0 || (packed->buffer.map && packed->buffer.bytes == plan->packed_bytes))
		return TCB_OK;
	*is_packed_out = 0;
	tcb_buffer_free(&packed->buffer);
	TCB_TRY(have_room(plan->packed_bytes, "the packed weights", err));
	return tcb_buffer_alloc(TCB_BUFFER_GUARD, plan->packed_bytes, &packed->buffer, err);
}

enum tcb_status tcb_instance_pack(struct tcb_instance *instance, const struct tcb_plan *plan, struct tcb_error *err)
{
	struct tcb_packed *packed = &instance->packed[plan->variant->layout];
	uint64_t start = tcb_clock_ns();
	instance->op->pack(&plan->problem, plan->variant->layout, instance->data[instance->weights].data,
			   packed->buffer.data);
	packed->pack_ns = (double)(tcb_clock_ns() - start);
	return tcb_buffer_protect(&packed->buffer, 1, err);
}

enum tcb_status tcb_instance_packed(struct tcb_instance *instance, enum tcb_layout layout, size_t packed_bytes,
				    const void **out, double *pack_ns_out, struct tcb_error *err)
{
	struct tcb_packed *packed = &instance->packed[layout];
	if (!packed->buffer.map || packed->buffer.bytes != packed_bytes) {
		tcb_buffer_free(&packed->buffer);
		TCB_TRY(tcb_buffer_alloc(TCB_BUFFER_GUARD, packed_bytes, &packed->buffer, err));
		uint64_t start = tcb_clock_ns();
		instance->op->pack(&instance->problem, layout, instance->data[instance->weights].data,
				   packed->buffer.data);
		packed->pack_ns = (double)(tcb_clock_ns() - start);
	}
	*out = packed->buffer.data;
	*pack_ns_out = packed->pack_ns;
	return TCB_OK;
}

struct tcb_buffer *tcb_instance_buffer(struct tcb_instance *instance, const struct tcb_plan *plan, size_t index)
{
	if ((int)index == instance->weights && plan->packed_bytes > 0)
		return &instance->packed[plan->variant->layout].buffer;
	return &instance->data[index];
}

size_t tcb_instance_bytes(const struct tcb_instance *instance)
{
	size_t bytes = instance->reference_data.map_bytes + instance->right.output.map_bytes;
	for (size_t i = 0; i < TCB_OPERANDS_MAX; i++)
		bytes += instance->data[i].map_bytes;
	for (size_t i = 0; i < TCB_LAYOUT_COUNT; i++)
		bytes += instance->packed[i].buffer.map_bytes;
	return bytes;
}
