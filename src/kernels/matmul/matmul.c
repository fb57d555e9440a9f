/* SPDX-License-Identifier: MIT
 *
 * The dense products as ops: operands, plan and loops on a CPU.  matmul.h says
 * how a geometry drives them.  A task has its block of A, its block of B and
 * its sums in the workspace of its thread.
 */
#include "kernels/matmul/matmul_gpu.h"

#include <assert.h>
#include <string.h>

#include "base/util.h"
#include "base/view.h"

enum { LINE_FLOATS = 16 }; /* 64 bytes: packed panels begin on lines of their own */

static const struct {
	const char *op, *text; /* the element type as operands name it */
} types[] = {
	[MATMUL_F32] = { "matmul_f32", "f32" },
	[MATMUL_F16] = { "matmul_f16", "f16" },
	[MATMUL_BF16] = { "matmul_bf16", "bf16" },
};

enum matmul_type matmul_type(const struct tcb_problem *problem)
{
	for (int type = MATMUL_F32; type < MATMUL_BF16; type++)
		if (strcmp(problem->op, types[type].op) == 0)
			return (enum matmul_type)type;
	return MATMUL_BF16;
}

static enum tcb_status check_shape(const struct tcb_op *op, const struct tcb_shape *shape, struct tcb_error *err)
{
	size_t a, b, c, bytes;
	if (!shape->m || !shape->n || !shape->k)
		return tcb_fail(err, TCB_E_USAGE,
				"op %s takes a shape MxNxK of at least 1 each, for example 1024x1024x1024", op->name);
	if (tcb_mul_size(shape->m, shape->k, &a) || tcb_mul_size(shape->k, shape->n, &b) ||
	    tcb_mul_size(shape->m, shape->n, &c) || tcb_add_size(a, b, &bytes) || tcb_add_size(bytes, c, &bytes) ||
	    tcb_mul_size(bytes, 4 * sizeof(double), &bytes))
		return tcb_fail(err, TCB_E_OVERFLOW, "a %s of %zux%zux%zu does not fit in memory", op->name, shape->m,
				shape->n, shape->k);
	return TCB_OK;
}

static size_t operands(const struct tcb_problem *problem, struct tcb_operand out[TCB_OPERANDS_MAX])
{
	const enum matmul_type type = matmul_type(problem);
	const struct tcb_shape *s = &problem->shape;
	const size_t each = matmul_type_bytes(type);
	const char *text = types[type].text;
	out[MATMUL_A] = (struct tcb_operand){ "a", TCB_ROLE_INPUT, text, s->m, s->k, s->m * s->k * each, 1 };
	out[MATMUL_B] = (struct tcb_operand){ "b", TCB_ROLE_INPUT, text, s->k, s->n, s->k * s->n * each, 1 };
	out[MATMUL_C] = (struct tcb_operand){ "c", TCB_ROLE_OUTPUT, text, s->m, s->n, s->m * s->n * each, 1 };
	return MATMUL_OPERANDS;
}

static void fill(const struct tcb_problem *problem, uint64_t seed, void *const operand[])
{
	const enum matmul_type type = matmul_type(problem);
	const size_t counts[] = { problem->shape.m * problem->shape.k, problem->shape.k * problem->shape.n };
	struct tcb_rng rng;
	tcb_rng_init(&rng, seed);
	for (int o = MATMUL_A; o <= MATMUL_B; o++) {
		float values[64];
		for (size_t i = 0; i < counts[o]; i += 64) {
			const size_t count = counts[o] - i < 64 ? counts[o] - i : 64;
			for (size_t j = 0; j < count; j++)
				values[j] = tcb_rng_normal(&rng);
			matmul_narrow(type, values, count, operand[o], i);
		}
	}
}

static double flops(const struct tcb_problem *problem)
{
	return 2.0 * (double)problem->shape.m * (double)problem->shape.n * (double)problem->shape.k;
}

static double traffic(const struct tcb_problem *problem)
{
	const double m = (double)problem->shape.m, n = (double)problem->shape.n, k = (double)problem->shape.k;
	return (double)matmul_type_bytes(matmul_type(problem)) * (m * k + k * n + m * n);
}

/* --- CPU: plan --- */

static size_t div_up(size_t a, size_t b)
{
	return a / b + (a % b != 0);
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* A thread's part of the workspace, in floats. */
struct room {
	size_t a, b, sums, all;
};

static int make_room(const struct tcb_geometry *geometry, struct room *out)
{
	const struct tcb_tile *midi = &geometry->tile[TCB_MIDI];
	size_t *const parts[] = { &out->a, &out->b, &out->sums };
	const size_t dims[][2] = { { midi->m, midi->k }, { midi->k, midi->n }, { midi->m, midi->n } };
	out->all = 0;
	for (int i = 0; i < 3; i++) {
		if (tcb_mul_size(dims[i][0], dims[i][1], parts[i]) || *parts[i] > SIZE_MAX / 16)
			return -1;
		*parts[i] = div_up(*parts[i], LINE_FLOATS) * LINE_FLOATS;
		if (tcb_add_size(out->all, *parts[i], &out->all))
			return -1;
	}
	return 0;
}

static const struct tcb_op *op_of(const struct tcb_problem *problem)
{
	static const struct tcb_op *const ops[] = { &tcb_op_matmul_f32, &tcb_op_matmul_f16, &tcb_op_matmul_bf16 };
	return ops[matmul_type(problem)];
}

static enum tcb_status plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
			    struct tcb_plan *out, struct tcb_error *err)
{
	const struct tcb_tile *macro = &geometry->tile[TCB_MACRO], *midi = &geometry->tile[TCB_MIDI];
	const struct tcb_tile *micro = &geometry->tile[TCB_MICRO];
	const int32_t threads = geometry->knob[TCB_KNOB_THREADS], sched = geometry->knob[TCB_KNOB_SCHED];
	const struct tcb_variant *variant = tcb_variant_find(op_of(problem), problem->contract, geometry);
	struct room room;
	size_t bytes;
	memset(out, 0, sizeof(*out));
	if (!variant || !variant->entry)
		return tcb_fail(err, TCB_E_ILLEGAL, "%s has no CPU kernel for this isa and micro=%zux%zu", problem->op,
				micro->m, micro->n);
	if (threads < 1 || sched < 0)
		return tcb_fail(err, TCB_E_ILLEGAL, "a matrix product needs the knobs threads and sched");
	if (macro->k < problem->shape.k)
		return tcb_fail(err, TCB_E_ILLEGAL, "macro.k=%zu is less than K: threads share C, not the reduction",
				macro->k);
	if (!midi->m || !midi->n || !midi->k || midi->m % micro->m || midi->n % micro->n)
		return tcb_fail(err, TCB_E_ILLEGAL, "micro.m and micro.n must divide midi.m and midi.n");
	const size_t tasks = div_up(problem->shape.m, macro->m) * div_up(problem->shape.n, macro->n);
	if ((size_t)threads > tasks)
		return tcb_fail(err, TCB_E_ILLEGAL, "threads=%d, but macro=%zux%zu makes only %zu tasks", threads,
				macro->m, macro->n, tasks);
	if (make_room(geometry, &room) || tcb_mul_size(room.all, (size_t)threads * sizeof(float), &bytes))
		return tcb_fail(err, TCB_E_OVERFLOW, "the workspace of this geometry does not fit in memory");
	out->problem = *problem;
	out->geometry = *geometry;
	out->variant = variant;
	out->workspace_bytes = bytes;
	out->threads = (unsigned)threads;
	out->chain = (double)problem->shape.k + 1; /* a product and an addition a step; fused ones round less */
	return TCB_OK;
}

/* --- CPU: run --- */

struct run {
	const struct tcb_plan *plan;
	enum matmul_type type;
	struct tcb_partition tasks; /* macro tiles of C */
	struct room room;
	float *workspace;
	const void *a, *b;
	void *c;
};

/* Rows M0 on of A, STEPS values of each from K0 on: panels of micro.m rows, zeros past the last row. */
static void pack_a(const struct run *run, size_t m0, size_t rows, size_t k0, size_t steps, float *to)
{
	const size_t k = run->plan->problem.shape.k, wide = run->plan->geometry.tile[TCB_MICRO].m;
	float values[64];
	for (size_t i = 0; i < div_up(rows, wide) * wide; i++) {
		float *column = to + i / wide * wide * steps + i % wide;
		for (size_t s = 0; s < steps; s += 64) {
			const size_t count = least(64, steps - s);
			if (i < rows)
				matmul_widen(run->type, run->a, (m0 + i) * k + k0 + s, count, values);
			for (size_t j = 0; j < count; j++)
				column[(s + j) * wide] = i < rows ? values[j] : 0;
		}
	}
}

/* Columns N0 on of B, rows K0 on: panels of micro.n columns, zeros past the last column. */
static void pack_b(const struct run *run, size_t n0, size_t columns, size_t k0, size_t steps, float *to)
{
	const size_t n = run->plan->problem.shape.n, wide = run->plan->geometry.tile[TCB_MICRO].n;
	for (size_t s = 0; s < steps; s++)
		for (size_t j = 0; j < columns; j += wide) {
			float *row = to + j * steps + s * wide;
			const size_t count = least(wide, columns - j);
			matmul_widen(run->type, run->b, (k0 + s) * n + n0 + j, count, row);
			memset(row + count, 0, (wide - count) * sizeof(float));
		}
}

/* A block of C at (M0, N0): all of k, then the sums in C's type. */
static void run_block(const struct run *run, float *workspace, size_t m0, size_t rows, size_t n0, size_t columns)
{
	const struct tcb_tile *midi = &run->plan->geometry.tile[TCB_MIDI], *micro = midi + 1;
	const size_t k = run->plan->problem.shape.k, n = run->plan->problem.shape.n;
	const size_t panels = div_up(columns, micro->n), tile = micro->m * micro->n;
	float *a = workspace, *b = a + run->room.a, *sums = b + run->room.b;
	matmul_micro_fn *entry = (matmul_micro_fn *)run->plan->variant->entry;
	for (size_t k0 = 0; k0 < k; k0 += midi->k) {
		const size_t steps = least(midi->k, k - k0);
		pack_a(run, m0, rows, k0, steps, a);
		pack_b(run, n0, columns, k0, steps, b);
		for (size_t j = 0; j < panels; j++)
			for (size_t i = 0; i < div_up(rows, micro->m); i++)
				entry(&(struct matmul_call){ .a = a + i * micro->m * steps,
							     .b = b + j * micro->n * steps,
							     .c = sums + (i * panels + j) * tile,
							     .k = steps,
							     .accumulate = k0 > 0 });
	}
	for (size_t i = 0; i < rows; i++)
		for (size_t j = 0; j < columns; j += micro->n)
			matmul_narrow(run->type,
				      sums + (i / micro->m * panels + j / micro->n) * tile + i % micro->m * micro->n,
				      least(micro->n, columns - j), run->c, (m0 + i) * n + n0 + j);
}

static void run_task(void *ctx, size_t index, unsigned thread)
{
	const struct run *run = ctx;
	const struct tcb_tile *midi = &run->plan->geometry.tile[TCB_MIDI];
	struct tcb_tile_info task;
	tcb_partition_tile(&run->tasks, index, &task);
	for (size_t j = 0; j < task.extent[1]; j += midi->n)
		for (size_t i = 0; i < task.extent[0]; i += midi->m)
			run_block(run, run->workspace + thread * run->room.all, task.start[0] + i,
				  least(midi->m, task.extent[0] - i), task.start[1] + j,
				  least(midi->n, task.extent[1] - j));
}

static void run(const struct tcb_plan *plan_, void *const operand[], void *workspace, struct tcb_pool *pool)
{
	const struct tcb_geometry *g = &plan_->geometry;
	const struct tcb_shape *s = &plan_->problem.shape;
	struct run run = { .plan = plan_,
			   .type = matmul_type(&plan_->problem),
			   .workspace = workspace,
			   .a = operand[MATMUL_A],
			   .b = operand[MATMUL_B],
			   .c = operand[MATMUL_C] };
	struct tcb_view view;
	int is_too_large = make_room(g, &run.room);
	enum tcb_status status = tcb_view_init(&view, 2, (const size_t[]){ s->m, s->n }, NULL);
	assert(status == TCB_OK && !is_too_large);
	status = tcb_partition_init(&run.tasks, &view, (const size_t[]){ g->tile[TCB_MACRO].m, g->tile[TCB_MACRO].n },
				    NULL);
	assert(status == TCB_OK);
	(void)status;
	(void)is_too_large;
	tcb_pool_run(pool, plan_->threads, (enum tcb_sched)g->knob[TCB_KNOB_SCHED], run.tasks.total, run_task, &run);
}

/* --- the ops --- */

static const struct tcb_shape default_shapes[] = { { 1024, 1024, 1024 }, { 2048, 2048, 2048 }, { 4096, 4096, 4096 } };

static const struct tcb_variant *const f32_variants[] = { matmul_f32_variants_scalar, NULL };
static const struct tcb_variant *const f16_variants[] = { matmul_f16_variants_scalar, NULL };
static const struct tcb_variant *const bf16_variants[] = { matmul_bf16_variants_scalar, NULL };

#define MATMUL_OP(type, contract, summary_)                                                \
	const struct tcb_op tcb_op_matmul_##type = {                                       \
		.name = "matmul_" #type,                                                   \
		.summary = summary_,                                                       \
		.shape_form = "MxNxK",                                                     \
		.contracts = 1u << contract,                                               \
		.default_contract = contract,                                              \
		.default_shapes = default_shapes,                                          \
		.default_shape_count = sizeof(default_shapes) / sizeof(default_shapes[0]), \
		.variant_lists = type##_variants,                                          \
		.check_shape = check_shape,                                                \
		.operands = operands,                                                      \
		.fill = fill,                                                              \
		.reference = matmul_reference,                                             \
		.flops = flops,                                                            \
		.traffic = traffic,                                                        \
		.axes = matmul_axes,                                                       \
		.default_geometry = matmul_default_geometry,                               \
		.footprint = matmul_footprint,                                             \
		.plan = plan,                                                              \
		.run = run,                                                                \
		.emit = matmul_emit,                                                       \
		.gpu_rules = matmul_gpu_rules,                                             \
		.gpu_variants = matmul_##type##_gpu_variants,                              \
	}

MATMUL_OP(f32, TCB_CONTRACT_F32, "dense f32 matrix product");
MATMUL_OP(f16, TCB_CONTRACT_F16, "dense f16 matrix product, f32 sums, f16 results");
MATMUL_OP(bf16, TCB_CONTRACT_F16, "dense bf16 matrix product, f32 sums, bf16 results");
