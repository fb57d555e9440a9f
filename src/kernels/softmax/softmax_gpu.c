/* SPDX-License-Identifier: MIT
 *
 * softmax on a GPU: what it does with a row of rows_gpu.h.  A part is a maximum
 * and the sum of exp(x - maximum); the parts of a row come to its maximum and
 * sum (Milakov and Gimelshein 2018), so a row is looked at once before its
 * results.
 *
 * Maxima begin at the lowest finite float, so that columns that are -inf, or not
 * there, add exactly 0, and a row of nothing else divides 0 by 0.  +inf and NaN
 * make their own exponential a NaN, and with it the sum and the row.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/rows/rows_gpu.h"
#include "kernels/softmax/softmax.h"

enum { PART_MAX, PART_SUM, PART };
enum { STAT_MAX, STAT_SCALE, STAT_OWN };

/* exp(x - MAX) of an x of at most MAX, within TCB_KIT_EXP_ULPS of exp of the rounded difference. */
static kit_op write_exp(struct tcb_rows_writer *w, kit_op x, kit_op max)
{
	return tcb_kit_exp(&w->kit.b, f_sub(&w->kit.b, x, max));
}

static kit_op largest(struct tcb_rows_writer *w, const kit_op *values, unsigned count)
{
	return f_max(&w->kit.b, tcb_kit_fold(&w->kit.b, f_max, values, count), F(-FLT_MAX));
}

static void reduce(struct tcb_rows_writer *w, struct tcb_rows_values *values, kit_op *part)
{
	const unsigned count = tcb_rows_floats(w, values);
	part[PART_MAX] = tcb_kit_over_lanes(&w->kit.b, f_max, largest(w, values->value, count), 32);
	for (unsigned i = 0; i < count; i++)
		values->value[i] = write_exp(w, values->value[i], part[PART_MAX]);
	part[PART_SUM] = tcb_kit_over_lanes(&w->kit.b, f_add, tcb_kit_fold(&w->kit.b, f_add, values->value, count), 32);
}

static void begin(struct tcb_rows_writer *w, kit_op *state)
{
	state[PART_MAX] = f_set(&w->kit.b, F(-FLT_MAX));
	state[PART_SUM] = f_set(&w->kit.b, F(0));
}

static void add(struct tcb_rows_writer *w, const struct tcb_rows_values *values, kit_op *state)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned count = tcb_rows_floats(w, values);
	kit_op e[TCB_ROWS_VALUES_MAX + 1];
	const kit_op max = f_max(b, state[PART_MAX], tcb_kit_fold(b, f_max, values->value, count));
	const kit_op factor = write_exp(w, state[PART_MAX], max);
	for (unsigned i = 0; i < count; i++)
		e[i] = write_exp(w, values->value[i], max);
	const kit_op sum = tcb_kit_fold(b, f_add, e, count);
	f_fma_to(b, state[PART_SUM], state[PART_SUM], factor, sum);
	f_set_to(b, state[PART_MAX], max);
}

static void finish(struct tcb_rows_writer *w, const kit_op *state, kit_op *part)
{
	struct tcb_ptx_build *b = &w->kit.b;
	part[PART_MAX] = tcb_kit_over_lanes(b, f_max, state[PART_MAX], 32);
	const kit_op factor = write_exp(w, state[PART_MAX], part[PART_MAX]);
	part[PART_SUM] = tcb_kit_over_lanes(b, f_add, f_mul(b, state[PART_SUM], factor), 32);
}

/* SCALE is that of exponentials against the warp's own maximum, or of exp(x - max). */
static void join(struct tcb_rows_writer *w, kit_op (*parts)[TCB_ROWS_PART_MAX], unsigned count, unsigned lanes,
		 const kit_op *own, kit_op *stat)
{
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op max = parts[0][PART_MAX], sum = parts[0][PART_SUM];
	if (count * lanes > 1) {
		for (unsigned i = 1; i < count; i++)
			max = f_max(b, max, parts[i][PART_MAX]);
		max = tcb_kit_over_lanes(b, f_max, max, lanes);
		for (unsigned i = 0; i < count; i++) {
			const kit_op factor = write_exp(w, parts[i][PART_MAX], max);
			sum = i ? f_fma(b, parts[i][PART_SUM], factor, sum) : f_mul(b, parts[i][PART_SUM], factor);
		}
		sum = tcb_kit_over_lanes(b, f_add, sum, lanes);
	}
	stat[STAT_MAX] = max;
	stat[STAT_SCALE] = f_reciprocal(b, sum);
	if (own && count * lanes > 1)
		stat[STAT_OWN] = f_mul(b, stat[STAT_SCALE], write_exp(w, own[PART_MAX], max));
	else
		stat[STAT_OWN] = stat[STAT_SCALE];
}

static void result(struct tcb_rows_writer *w, struct tcb_rows_values *values, const struct tcb_rows_values *weights,
		   const kit_op *stat, int is_raw)
{
	(void)weights;
	for (unsigned i = 0; i < tcb_rows_floats(w, values); i++) {
		const kit_op e = is_raw ? write_exp(w, values->value[i], stat[STAT_MAX]) : values->value[i];
		values->value[i] = f_mul(&w->kit.b, e, stat[is_raw ? STAT_SCALE : STAT_OWN]);
	}
}

/*
 * Exponentials of the element and of its part's maximum, the same weighted in the sum; the reciprocal and two products.
 * A running sum is rescaled by an exponential at each step (which is 1 unless the maximum moved).
 */
static void bound(const struct tcb_rows_gpu *g, struct tcb_kernel *out)
{
	out->chain = tcb_rows_gpu_chain(g);
	out->ulps = 4 * TCB_KIT_EXP_ULPS + 2 + (tcb_rows_gpu_steps(g) - 1) * TCB_KIT_EXP_ULPS;
}

const struct tcb_rows_math softmax_gpu_math = {
	.name = "softmax",
	.input = 0,
	.output = 1,
	.part = PART,
	.absent = -INFINITY,
	.to_part = { reduce, begin, add, finish },
	.join = join,
	.result = result,
	.bound = bound,
	.registers = 32,
};

ROWS_GPU_SIDE(softmax, tcb_rows_gpu_plain_space);
