/* SPDX-License-Identifier: MIT
 *
 * rmsnorm on a GPU: what it does with a row of rows_gpu.h.  A part is a sum of
 * squares, and what the values were multiplied with for it: 1, or
 * TCB_ROWS_RESCUE where f32 could not hold it.
 *
 * Results are (x * root) * factor * w; root is the square root of what the row's
 * values were multiplied with, and factor has the other root, so that neither
 * product leaves the range of f32.
 */
#include <math.h>

#include "kernels/rmsnorm/rmsnorm.h"
#include "kernels/rows/rows_gpu.h"

enum { PART_SUM, PART_SCALE, PART };
enum { STAT_ROOT, STAT_FACTOR };

/* rsqrt.approx.f32: a relative error of at most 2^-22.9 (PTX ISA 9.0, 9.7.3.15), in ulps of 2^-23. */
#define RSQRT_ULPS 1.08

static kit_op square_sum(struct tcb_rows_writer *w, const struct tcb_rows_values *values)
{
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op chain[4];
	unsigned count = tcb_rows_floats(w, values), chains = count < 4 ? count : 4;
	for (unsigned i = 0; i < count; i++) {
		kit_op x = values->value[i];
		if (w->is_rescue)
			x = f_mul(b, x, F(TCB_ROWS_RESCUE));
		chain[i % 4] = i < 4 ? f_mul(b, x, x) : f_fma(b, x, x, chain[i % 4]);
	}
	return tcb_kit_fold(b, f_add, chain, chains);
}

static void reduce(struct tcb_rows_writer *w, struct tcb_rows_values *values, kit_op *part)
{
	part[PART_SUM] = tcb_kit_over_lanes(&w->kit.b, f_add, square_sum(w, values), 32);
	part[PART_SCALE] = F(w->is_rescue ? TCB_ROWS_RESCUE : 1);
}

static void begin(struct tcb_rows_writer *w, kit_op *state)
{
	state[PART_SUM] = f_set(&w->kit.b, F(0));
}

static void add(struct tcb_rows_writer *w, const struct tcb_rows_values *values, kit_op *state)
{
	f_add_to(&w->kit.b, state[PART_SUM], state[PART_SUM], square_sum(w, values));
}

static void finish(struct tcb_rows_writer *w, const kit_op *state, kit_op *part)
{
	part[PART_SUM] = tcb_kit_over_lanes(&w->kit.b, f_add, state[PART_SUM], 32);
	part[PART_SCALE] = F(w->is_rescue ? TCB_ROWS_RESCUE : 1);
}

/* So much that 256 parts would not add up, or not a number. */
static kit_op is_lost(struct tcb_rows_writer *w, const kit_op *part)
{
	return f_not_le(&w->kit.b, part[PART_SUM], F(0x1p116f));
}

static void join(struct tcb_rows_writer *w, kit_op (*parts)[TCB_ROWS_PART_MAX], unsigned count, unsigned lanes,
		 const kit_op *own, kit_op *stat)
{
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op sum = parts[0][PART_SUM], scale = parts[0][PART_SCALE];
	(void)own;
	if (count * lanes > 1) {
		scale = tcb_rows_least_scale(w, parts, PART_SCALE, count, lanes);
		for (unsigned i = 0; i < count; i++) {
			const kit_op down = tcb_rows_to_scale(w, parts[i], PART_SCALE, scale);
			const kit_op part = f_mul(b, f_mul(b, parts[i][PART_SUM], down), down);
			sum = i ? f_add(b, sum, part) : part;
		}
		sum = tcb_kit_over_lanes(b, f_add, sum, lanes);
	}
	const kit_op is_plain = f_eq(b, scale, F(1));
	const kit_op eps = f_select(b, F((float)rows_eps(&w->kit.out->problem.shape)), F(0), is_plain);
	const kit_op mean = f_fma(b, sum, F((float)(1.0 / w->g->n)), eps);
	stat[STAT_ROOT] = f_select(b, F(1), F(sqrtf(TCB_ROWS_RESCUE)), is_plain);
	stat[STAT_FACTOR] = f_mul(b, f_rsqrt_near(b, mean), stat[STAT_ROOT]);
}

static void result(struct tcb_rows_writer *w, struct tcb_rows_values *values, const struct tcb_rows_values *weights,
		   const kit_op *stat, int is_raw)
{
	struct tcb_ptx_build *b = &w->kit.b;
	(void)is_raw;
	for (unsigned i = 0; i < tcb_rows_floats(w, values); i++) {
		const kit_op x = f_mul(b, values->value[i], stat[STAT_ROOT]);
		values->value[i] = f_mul(b, f_mul(b, x, stat[STAT_FACTOR]), weights->value[i]);
	}
}

/* Of the sum's relative error, the square, the scaling down, the mean's two roundings included, half reaches the
 * result; then the root and two products, half an ulp each. */
static void bound(const struct tcb_rows_gpu *g, struct tcb_kernel *out)
{
	out->chain = (tcb_rows_gpu_chain(g) + 4) / 2.0;
	out->ulps = RSQRT_ULPS + 1.01;
}

const struct tcb_rows_math rmsnorm_gpu_math = {
	.name = "rmsnorm",
	.input = RMSNORM_X,
	.output = RMSNORM_Y,
	.weights = 1,
	.weight = { RMSNORM_W },
	.part = PART,
	.absent = 0,
	.to_part = { reduce, begin, add, finish, is_lost },
	.join = join,
	.result = result,
	.bound = bound,
	.registers = 34,
};

ROWS_GPU_SIDE(rmsnorm, tcb_rows_gpu_space);
