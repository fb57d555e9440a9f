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

/* Poison of floats is -1 of whole numbers, which may be right. */
enum { WHOLE_POISON = 0xa5 };
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

static enum tcb_status add_output(struct tcb_instance *instance, size_t index, struct tcb_error *err)
{
	const struct tcb_operand *operand = &instance->operands[index];
	if (instance->output_count == TCB_OUTPUTS_MAX)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "op %s has more than %d outputs", instance->op->name,
				TCB_OUTPUTS_MAX);
	if (operand->type == TCB_TYPE_BLOCKS && !operand->format)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "output '%s' of op %s has type %s, which cannot be judged",
				operand->name, instance->op->name, tcb_type_text(operand->type));
	instance->output[instance->output_count++] =
		(struct tcb_output){ .operand = index, .count = operand->rows * operand->cols };
	struct tcb_buffer *start = &instance->output[instance->output_count - 1].start;
	const int is_whole = operand->type == TCB_TYPE_I32 || operand->type == TCB_TYPE_U32;
	if (!operand->is_updated && !is_whole)
		return TCB_OK;
	TCB_TRY(tcb_buffer_alloc(TCB_BUFFER_PLAIN, operand->bytes, start, err));
	memset(start->data, WHOLE_POISON, operand->bytes);
	return TCB_OK;
}

static enum tcb_status alloc_operands(struct tcb_instance *instance, struct tcb_error *err)
{
	const struct tcb_op *op = instance->op;
	size_t filled = 0;
	for (size_t i = 0; i < instance->operand_count; i++)
		if (instance->operands[i].role != TCB_ROLE_OUTPUT || instance->operands[i].is_updated)
			filled += instance->operands[i].bytes;
	TCB_TRY(have_room(filled, "the operands", err));
	for (size_t i = 0; i < instance->operand_count; i++) {
		const struct tcb_operand *operand = &instance->operands[i];
		const int is_output = operand->role == TCB_ROLE_OUTPUT;
		if (is_output)
			TCB_TRY(add_output(instance, i, err));
		/* An output is poisoned before each run, and takes no memory where it is on a GPU. */
		TCB_TRY(tcb_buffer_alloc(is_output || op->fill_part ? TCB_BUFFER_GUARD_BARE : TCB_BUFFER_GUARD,
					 operand->bytes, &instance->data[i], err));
	}
	return instance->output_count ? TCB_OK : tcb_fail(err, TCB_E_UNSUPPORTED, "op %s has no output", op->name);
}

const void *tcb_instance_start(const struct tcb_instance *instance, size_t index)
{
	for (size_t i = 0; i < instance->output_count; i++)
		if (instance->output[i].operand == index && instance->output[i].start.map)
			return instance->output[i].start.data;
	return NULL;
}

int tcb_instance_is_updated(const struct tcb_instance *instance)
{
	int is_updated = 0;

	for (size_t i = 0; i < instance->output_count; i++)
		is_updated |= instance->operands[instance->output[i].operand].is_updated;
	return is_updated;
}

/* What a call finds, outputs that are updated included. */
static void input_of(const struct tcb_instance *instance, void *operand[TCB_OPERANDS_MAX])
{
	for (size_t i = 0; i < instance->operand_count; i++) {
		const void *start = tcb_instance_start(instance, i);

		operand[i] = start ? (void *)(uintptr_t)start : instance->data[i].data;
	}
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
		input_of(instance, operand);
		tcb_op_fill(problem, seed, operand, pool);
		for (size_t i = 0; i < instance->operand_count && status == TCB_OK; i++) {
			if (instance->operands[i].role != TCB_ROLE_OUTPUT)
				status = tcb_buffer_protect(&instance->data[i], 1, err);
		}
		for (size_t i = 0; i < instance->output_count && status == TCB_OK; i++)
			if (instance->output[i].start.map)
				status = tcb_buffer_protect(&instance->output[i].start, 1, err);
	}
	if (status != TCB_OK) {
		tcb_instance_destroy(instance);
		return status;
	}
	*out = instance;
	return TCB_OK;
}

static void drop_packed(struct tcb_packed *packed)
{
	for (size_t i = 0; i < TCB_OPERANDS_MAX; i++)
		tcb_buffer_free(&packed->buffer[i]);
}

void tcb_instance_destroy(struct tcb_instance *instance)
{
	if (!instance)
		return;
	for (size_t i = 0; i < TCB_OPERANDS_MAX; i++)
		tcb_buffer_free(&instance->data[i]);
	for (size_t i = 0; i < TCB_LAYOUT_COUNT; i++)
		drop_packed(&instance->packed[i]);
	for (size_t i = 0; i < instance->output_count; i++) {
		tcb_buffer_free(&instance->output[i].right.output);
		tcb_buffer_free(&instance->output[i].start);
	}
	tcb_buffer_free(&instance->reference_data);
	free(instance);
}

/* ---- the reference ---- */

enum { HEAD_BYTES = 64 << 10 }; /* a whole number of pages on any machine: what follows is made read-only */

struct tcb_shared_reference {
	size_t map_bytes, doubles;
	atomic_int is_ready;
};

struct tcb_shared_reference *tcb_shared_reference_create(const struct tcb_op *op, const struct tcb_problem *problem,
							 const struct tcb_draw *draw)
{
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	const size_t all = tcb_references_lay_out(operands, op->operands(problem, operands), NULL, NULL);
	const size_t doubles = draw ? 3 * draw->count : all;
	const size_t bytes = HEAD_BYTES + doubles * sizeof(double);
	struct tcb_shared_reference *shared =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (shared == MAP_FAILED)
		return NULL;
	shared->map_bytes = bytes;
	shared->doubles = doubles;
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
	input_of(instance, operand);
	instance->op->reference(&instance->problem, operand, out);
}

/* Of all that the reference has. */
static size_t reference_doubles(const struct tcb_instance *instance)
{
	return instance->draw ? 3 * instance->draw->count
			      : tcb_references_lay_out(instance->operands, instance->operand_count, NULL, NULL);
}

static struct tcb_reference reference_at(double *data, size_t count)
{
	return (struct tcb_reference){ .y = data, .magnitude = data + count, .extra = data + 2 * count };
}

/* Where the references of outputs are, or the parts of a drawn one: grid after grid, then the sums. */
static void divide(struct tcb_instance *instance, double *data)
{
	const struct tcb_draw *draw = instance->draw;
	size_t at = 0;
	if (!draw) {
		tcb_references_lay_out(instance->operands, instance->operand_count, data, instance->reference);
		return;
	}
	instance->reference[0] = reference_at(data, draw->count);
	for (size_t g = 0; g < draw->grid_count; g++) {
		const size_t count = draw->grid[g].row_count * draw->grid[g].column_count;
		instance->drawn[g] = reference_at(data + 3 * at, count);
		instance->drawn[g].grid = &draw->grid[g];
		at += count;
	}
	if (draw->sums)
		instance->sums = reference_at(data + 3 * at, draw->sum_count);
}

static enum tcb_status failed(const struct tcb_instance *instance, const struct tcb_reference *reference,
			      struct tcb_error *err)
{
	return tcb_fail(err, TCB_E_FAILED, "the reference of %s: %.300s", instance->op->name, reference->failure);
}

static enum tcb_status compute_with(struct tcb_instance *instance, struct tcb_reference *out, struct tcb_pool *pool,
				    struct tcb_error *err)
{
	out->pool = pool;
	tcb_instance_refer(instance, out);
	out->pool = NULL;
	return out->failure ? failed(instance, out, err) : TCB_OK;
}

static enum tcb_status compute(struct tcb_instance *instance, struct tcb_pool *pool, struct tcb_error *err)
{
	if (!instance->draw)
		TCB_TRY(compute_with(instance, instance->reference, pool, err));
	for (size_t g = 0; instance->draw && g < instance->draw->grid_count; g++)
		TCB_TRY(compute_with(instance, &instance->drawn[g], pool, err));
	if (!instance->sums.y)
		return TCB_OK;
	void *operand[TCB_OPERANDS_MAX];
	for (size_t i = 0; i < instance->operand_count; i++)
		operand[i] = instance->data[i].data;
	instance->sums.pool = pool;
	instance->op->reference_sums(&instance->problem, operand, &instance->sums);
	instance->sums.pool = NULL;
	return instance->sums.failure ? failed(instance, &instance->sums, err) : TCB_OK;
}

/* A process that died over it leaves it to the next. */
static enum tcb_status share_reference(struct tcb_instance *instance, struct tcb_pool *pool, struct tcb_error *err)
{
	struct tcb_shared_reference *shared = instance->shared;
	double *data = (double *)(void *)((char *)shared + HEAD_BYTES);
	enum tcb_status status = TCB_OK;
	divide(instance, data);
	if (!atomic_load(&shared->is_ready))
		status = compute(instance, pool, err);
	if (status == TCB_OK && mprotect(data, shared->map_bytes - HEAD_BYTES, PROT_READ) != 0)
		status = tcb_fail(err, TCB_E_NOMEM, "cannot protect the reference of %s", instance->op->name);
	if (status == TCB_OK)
		atomic_store(&shared->is_ready, 1);
	else
		instance->reference[0].y = NULL;
	return status;
}

enum tcb_status tcb_instance_reference(struct tcb_instance *instance, struct tcb_pool *pool, struct tcb_error *err)
{
	const size_t bytes = reference_doubles(instance) * sizeof(double);
	const int is_shared = instance->shared && instance->shared->doubles * sizeof(double) == bytes;
	if (instance->reference[0].y)
		return TCB_OK;
	if (!is_shared || !atomic_load(&instance->shared->is_ready)) {
		size_t outputs = 0;
		for (size_t i = 0; i < instance->output_count; i++)
			outputs += instance->data[instance->output[i].operand].bytes;
		TCB_TRY(have_room(bytes + outputs, "the reference results", err));
	}
	if (is_shared)
		return share_reference(instance, pool, err);
	TCB_TRY(tcb_buffer_alloc(TCB_BUFFER_PLAIN, bytes, &instance->reference_data, err));
	divide(instance, instance->reference_data.data);
	enum tcb_status status = compute(instance, pool, err);
	if (status == TCB_OK)
		return tcb_buffer_protect(&instance->reference_data, 1, err);
	tcb_buffer_free(&instance->reference_data);
	instance->reference[0].y = NULL;
	return status;
}

/* ---- packed weights ---- */

enum tcb_status tcb_instance_pack_prepare(struct tcb_instance *instance, enum tcb_layout layout,
					  const size_t packed_bytes[TCB_OPERANDS_MAX], int *is_packed_out,
					  struct tcb_error *err)
{
	struct tcb_packed *packed = &instance->packed[layout];
	*is_packed_out = 1;
	for (size_t i = 0; i < instance->operand_count; i++)
		*is_packed_out &= packed_bytes[i] == packed->buffer[i].bytes;
	if (*is_packed_out)
		return TCB_OK;
	drop_packed(packed);
	TCB_TRY(have_room(tcb_packed_total(packed_bytes), "the packed weights", err));
	for (size_t i = 0; i < instance->operand_count; i++)
		if (packed_bytes[i])
			TCB_TRY(tcb_buffer_alloc(TCB_BUFFER_GUARD, packed_bytes[i], &packed->buffer[i], err));
	return TCB_OK;
}

enum tcb_status tcb_instance_pack(struct tcb_instance *instance, enum tcb_layout layout, struct tcb_error *err)
{
	struct tcb_packed *packed = &instance->packed[layout];
	const uint64_t start = tcb_clock_ns();
	for (size_t i = 0; i < instance->operand_count; i++)
		if (packed->buffer[i].map)
			instance->op->pack(&instance->problem, i, layout, instance->data[i].data,
					   packed->buffer[i].data);
	packed->pack_ns = (double)(tcb_clock_ns() - start);
	for (size_t i = 0; i < instance->operand_count; i++)
		if (packed->buffer[i].map)
			TCB_TRY(tcb_buffer_protect(&packed->buffer[i], 1, err));
	return TCB_OK;
}

enum tcb_status tcb_instance_packed(struct tcb_instance *instance, enum tcb_layout layout,
				    const size_t packed_bytes[TCB_OPERANDS_MAX], const struct tcb_packed **out,
				    struct tcb_error *err)
{
	int is_packed;
	*out = &instance->packed[layout];
	TCB_TRY(tcb_instance_pack_prepare(instance, layout, packed_bytes, &is_packed, err));
	return is_packed ? TCB_OK : tcb_instance_pack(instance, layout, err);
}

struct tcb_buffer *tcb_instance_buffer(struct tcb_instance *instance, const struct tcb_plan *plan, size_t index)
{
	if (plan->packed_bytes[index] > 0)
		return &instance->packed[plan->variant->layout].buffer[index];
	return &instance->data[index];
}
