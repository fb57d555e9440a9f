/* SPDX-License-Identifier: MIT
 *
 * layernorm on a GPU: what it does with a row of rows_gpu.h.  A part is a number
 * of values, their mean, the sum of the squared deviations from it (M2), and
 * what the values were multiplied with: 1, or TCB_ROWS_RESCUE where f32 could
 * not hold the rest.  Parts are joined by the formula of Chan, Golub and LeVeque
 * (1979), values that come one after another likewise, some at a time.
 *
 * Results are (x * root - mean) * factor * w + b; root is the square root of
 * what the row's values were multiplied with, so that nothing leaves the range
 * of f32.
 */
#include <math.h>

#include "kernels/layernorm/layernorm.h"
#include "kernels/rows/rows_gpu.h"

enum { PART_COUNT, PART_MEAN, PART_M2, PART_SCALE, PART };
enum { STAT_ROOT, STAT_MEAN, STAT_FACTOR };

/* Values of a lane that are there. */
static kit_op count_values(struct tcb_rows_writer *w, const struct tcb_rows_values *values)
{
	struct tcb_ptx_build *b = &w->kit.b;
	unsigned sure = 0;
	for (unsigned i = 0; i < values->count; i++)
		sure += !values->unsure[i];
	kit_op count = f_set(b, F((float)(sure * w->g->width)));
	for (unsigned i = 0; i < values->count; i++)
		if (values->unsure[i])
			count = f_add(b, count, f_select(b, F((float)w->g->width), F(0), values->present[i]));
	if (values->edge)
		count = f_add(b, count, f_select(b, F(1), F(0), values->present[values->count]));
	return count;
}

static int all_sure(const struct tcb_rows_values *values)
{
	if (values->edge)
		return 0;
	for (unsigned i = 0; i < values->count; i++)
		if (values->unsure[i])
			return 0;
	return 1;
}

/* 1 / COUNT, at least of 1. */
static kit_op inverse(struct tcb_rows_writer *w, kit_op count)
{
	return f_reciprocal_near(&w->kit.b, f_max(&w->kit.b, count, F(1)));
}

static kit_op value_of(struct tcb_rows_writer *w, const struct tcb_rows_values *values, unsigned i)
{
	return w->is_rescue ? f_mul(&w->kit.b, values->value[i], F(TCB_ROWS_RESCUE)) : values->value[i];
}

static kit_op sum_of(struct tcb_rows_writer *w, const struct tcb_rows_values *values)
{
	kit_op x[TCB_ROWS_VALUES_MAX + 1];
	const unsigned count = tcb_rows_floats(w, values);
	for (unsigned i = 0; i < count; i++)
		x[i] = value_of(w, values, i);
	return tcb_kit_fold(&w->kit.b, f_add, x, count);
}

/* Squared deviations of VALUES from MEAN; those that are not there have none. */
static kit_op squares_of(struct tcb_rows_writer *w, const struct tcb_rows_values *values, kit_op mean)
{
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op chain[4];
	const unsigned count = tcb_rows_floats(w, values), chains = count < 4 ? count : 4;
	for (unsigned i = 0; i < count; i++) {
		const unsigned vector = i / w->g->width;
		kit_op d = f_sub(b, value_of(w, values, i), mean);
		if (values->unsure[vector])
			d = f_select(b, d, F(0), values->present[vector]);
		chain[i % 4] = i < 4 ? f_mul(b, d, d) : f_fma(b, d, d, chain[i % 4]);
	}
	return tcb_kit_fold(b, f_add, chain, chains);
}

static kit_op over_warp(struct tcb_rows_writer *w, kit_op value)
{
	return tcb_kit_over_lanes(&w->kit.b, f_add, value, 32);
}

static kit_op scale_of(const struct tcb_rows_writer *w)
{
	return F(w->is_rescue ? TCB_ROWS_RESCUE : 1);
}

static void reduce(struct tcb_rows_writer *w, struct tcb_rows_values *values, kit_op *part)
{
	const unsigned most = values->count * w->g->width * 32;
	const kit_op sum = over_warp(w, sum_of(w, values));
	kit_op share = F((float)(1.0 / most));
	part[PART_COUNT] = F((float)most);
	if (!all_sure(values)) {
		part[PART_COUNT] = over_warp(w, count_values(w, values));
		share = inverse(w, part[PART_COUNT]);
	}
	part[PART_MEAN] = f_mul(&w->kit.b, sum, share);
	part[PART_M2] = over_warp(w, squares_of(w, values, part[PART_MEAN]));
	part[PART_SCALE] = scale_of(w);
}

static void begin(struct tcb_rows_writer *w, kit_op *state)
{
	for (int i = PART_COUNT; i <= PART_M2; i++)
		state[i] = f_set(&w->kit.b, F(0));
}

static void add(struct tcb_rows_writer *w, const struct tcb_rows_values *values, kit_op *state)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned most = values->count * w->g->width;
	const int is_sure = all_sure(values);
	const kit_op count = is_sure ? F((float)most) : count_values(w, values);
	const kit_op share = is_sure ? F((float)(1.0 / most)) : inverse(w, count);
	const kit_op mean = f_mul(b, sum_of(w, values), share);
	const kit_op m2 = squares_of(w, values, mean);
	const kit_op apart = f_sub(b, mean, state[PART_MEAN]);
	const kit_op all = f_add(b, state[PART_COUNT], count);
	const kit_op weight = f_mul(b, inverse(w, all), count);
	const kit_op move = f_mul(b, apart, weight);
	const kit_op between = f_mul(b, f_mul(b, move, apart), state[PART_COUNT]);
	f_add_to(b, state[PART_M2], state[PART_M2], f_add(b, m2, between));
	f_add_to(b, state[PART_MEAN], state[PART_MEAN], move);
	f_set_to(b, state[PART_COUNT], all);
}

static void finish(struct tcb_rows_writer *w, const kit_op *state, kit_op *part)
{
	struct tcb_ptx_build *b = &w->kit.b;
	part[PART_COUNT] = over_warp(w, state[PART_COUNT]);
	const kit_op weight = f_mul(b, inverse(w, part[PART_COUNT]), state[PART_COUNT]);
	part[PART_MEAN] = over_warp(w, f_mul(b, state[PART_MEAN], weight));
	const kit_op apart = f_sub(b, state[PART_MEAN], part[PART_MEAN]);
	const kit_op squared = f_mul(b, apart, apart);
	part[PART_M2] = over_warp(w, f_fma(b, squared, state[PART_COUNT], state[PART_M2]));
	part[PART_SCALE] = scale_of(w);
}

/* So much that the parts of the longest row would not add up, or not a number. */
static kit_op is_lost(struct tcb_rows_writer *w, const kit_op *part)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op far = f_not_le(b, f_abs(b, part[PART_MEAN]), F(0x1p48f));
	return f_not_le_or(b, part[PART_M2], F(0x1p100f), far);
}

/* Mean and M2 of the row, times SCALE_OUT. */
static void combine(struct tcb_rows_writer *w, kit_op (*parts)[TCB_ROWS_PART_MAX], unsigned count, unsigned lanes,
		    kit_op *mean_out, kit_op *m2_out, kit_op *scale_out)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const float share = (float)(1.0 / w->g->n);
	const kit_op scale = tcb_rows_least_scale(w, parts, PART_SCALE, count, lanes);
	kit_op mean = F(0), m2 = F(0);
	for (unsigned i = 0; i < count; i++) {
		const kit_op down = tcb_rows_to_scale(w, parts[i], PART_SCALE, scale);
		const kit_op weight = f_mul(b, parts[i][PART_COUNT], F(share));
		parts[i][PART_MEAN] = f_mul(b, parts[i][PART_MEAN], down);
		parts[i][PART_M2] = f_mul(b, f_mul(b, parts[i][PART_M2], down), down);
		mean = i ? f_fma(b, parts[i][PART_MEAN], weight, mean) : f_mul(b, parts[i][PART_MEAN], weight);
	}
	mean = tcb_kit_over_lanes(b, f_add, mean, lanes);
	for (unsigned i = 0; i < count; i++) {
		const kit_op apart = f_sub(b, parts[i][PART_MEAN], mean);
		const kit_op squared = f_mul(b, apart, apart);
		const kit_op part = f_fma(b, squared, parts[i][PART_COUNT], parts[i][PART_M2]);
		m2 = i ? f_add(b, m2, part) : part;
	}
	*m2_out = tcb_kit_over_lanes(b, f_add, m2, lanes);
	*mean_out = mean;
	*scale_out = scale;
}

static void join(struct tcb_rows_writer *w, kit_op (*parts)[TCB_ROWS_PART_MAX], unsigned count, unsigned lanes,
		 const kit_op *own, kit_op *stat)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const float root = sqrtf(TCB_ROWS_RESCUE);
	kit_op mean = parts[0][PART_MEAN], m2 = parts[0][PART_M2], scale = parts[0][PART_SCALE];
	(void)own;
	if (count * lanes > 1)
		combine(w, parts, count, lanes, &mean, &m2, &scale);
	const kit_op is_plain = f_eq(b, scale, F(1));
	const kit_op eps = f_select(b, F((float)rows_eps(&w->kit.out->problem.shape)), F(0x1p-126f), is_plain);
	const kit_op variance = f_fma(b, m2, F((float)(1.0 / w->g->n)), eps);
	stat[STAT_ROOT] = f_select(b, F(1), F(root), is_plain);
	stat[STAT_MEAN] = f_mul(b, mean, f_select(b, F(1), F(1 / root), is_plain));
	stat[STAT_FACTOR] = f_mul(b, f_rsqrt_near(b, variance), stat[STAT_ROOT]);
}

static void result(struct tcb_rows_writer *w, struct tcb_rows_values *values, const struct tcb_rows_values *weights,
		   const kit_op *stat, int is_raw)
{
	struct tcb_ptx_build *b = &w->kit.b;
	(void)is_raw;
	for (unsigned i = 0; i < tcb_rows_floats(w, values); i++) {
		const kit_op x = f_mul(b, values->value[i], stat[STAT_ROOT]);
		const kit_op d = f_sub(b, x, stat[STAT_MEAN]);
		values->value[i] = f_fma(b, f_mul(b, d, stat[STAT_FACTOR]), weights[0].value[i], weights[1].value[i]);
	}
}

/*
 * Beside the additions: shares, weights, deviations and their squares, of a lane, of a warp and of the row, at most
 * four roundings each; four more a step of a running state; rsqrt.approx is off by two roundings more than one that is
 * correctly rounded, which the reference has.
 */
static void bound(const struct tcb_rows_gpu *g, struct tcb_kernel *out)
{
	out->chain = tcb_rows_gpu_chain(g) + 4 * tcb_rows_gpu_steps(g) + 14;
	out->ulps = 0.51;
}

const struct tcb_rows_math layernorm_gpu_math = {
	.name = "layernorm",
	.input = LAYERNORM_X,
	.output = LAYERNORM_Y,
	.weights = 2,
	.weight = { LAYERNORM_W, LAYERNORM_B },
	.part = PART,
	.absent = 0,
	.to_part = { reduce, begin, add, finish, is_lost },
	.join = join,
	.result = result,
	.bound = bound,
	.registers = 44,
	.temporaries = 2,
};

ROWS_GPU_SIDE(layernorm, tcb_rows_gpu_space);
