/* SPDX-License-Identifier: MIT
 *
 * The search space of row ops on GPUs: axes and default geometry.
 * rows_gpu_plan.c has the rules that leave of their product what is a kernel.
 */
#include <math.h>
#include <string.h>

#include "base/sizes.h"
#include "kernels/axes.h"
#include "kernels/constraint.h"
#include "kernels/rows/rows_gpu.h"

enum {
	DEFAULT_WARPS = 8,
	DEFAULT_VALUES = 32, /* of a lane, before rows are read twice */
	SHIFTED_MIN = 128,   /* values of a row that begins anywhere in a vector: in shorter ones the edge costs more */
	SLICE_MIN = 512,     /* columns; smaller shares of a row only add work */
	SPLIT_MAX = 64,      /* blocks that share a row */
	BLOCKS_WANTED_AN_SM = 2, /* rows are shared where they give fewer */
	LONG_WARPS = 16,
	LONG_UNROLL_MAX = 5,
	LONG_SHARE_MIN = 2048, /* columns of a block, of LONG_WARPS warps with some vectors each */
	WHOLE_GPU_SMS = 100,   /* an H100 has 114 or 132, part of one up to 60 */
	ROUND_COLUMNS = 1024   /* that a row's meeting costs, an estimate */
};

static const double WAITING_COST = 1.25; /* an estimate */

/* Of vectors that rows begin at multiples of. */
static unsigned widest_even(size_t n)
{
	return n % 4 == 0 ? 16 : n % 2 == 0 ? 8 : 4;
}

unsigned tcb_rows_gpu_widest(size_t n)
{
	return n >= SHIFTED_MIN ? 16 : widest_even(n);
}

size_t tcb_rows_gpu_shares(const struct tcb_problem *problem, const struct tcb_target *target)
{
	const size_t sms = target->cuda.sm_count ? target->cuda.sm_count : 1;
	size_t most = 1;
	while (most < SPLIT_MAX && problem->shape.m * most < BLOCKS_WANTED_AN_SM * sms &&
	       problem->shape.n / (2 * most) >= SLICE_MIN)
		most *= 2;
	return most;
}

static int may_have_pieces(const struct tcb_problem *problem, const struct tcb_target *target)
{
	return target->cuda.capability >= 90 && widest_even(problem->shape.n) == 16 && !problem->shape.words.add &&
	       !rows_has_halves(problem);
}

static int is_long(const struct tcb_problem *problem, const struct tcb_target *target)
{
	return problem->shape.n >= TCB_ROWS_PIECES_MIN && may_have_pieces(problem, target);
}

/* The most blocks that may share a row: of long ones those of a cluster, however many rows there are. */
static size_t most_shares(const struct tcb_problem *problem, const struct tcb_target *target)
{
	const size_t shares = tcb_rows_gpu_shares(problem, target);
	return is_long(problem, target) ? tcb_most(shares, tcb_rows_gpu_cluster_most(target)) : shares;
}

/* In an order in which the rules cut early. */
static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	const size_t rows = tcb_power_of_two_up(problem->shape.m), columns = tcb_power_of_two_up(problem->shape.n);
	const size_t shares = most_shares(problem, target), vec = tcb_rows_gpu_widest(problem->shape.n);
	const size_t even = widest_even(problem->shape.n), other = even < vec ? even : vec / 2;
	const int is_hopper = target->cuda.capability >= 90;
	size_t count = 0;
	struct tcb_axis *a;
	tcb_axis_add(tcb_axis_knob(out, &count, TCB_KNOB_ISA), TCB_ISA_FMA);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_XIN), TCB_XIN_REGS, TCB_XIN_SHARED, TCB_XIN_L2);
	a = tcb_axis_knob(out, &count, TCB_KNOB_COPY);
	tcb_axis_add(a, TCB_COPY_LDG);
	if (target->cuda.capability >= 80)
		tcb_axis_add(a, is_hopper && even == 16 ? TCB_COPY_BULK : TCB_COPY_ASYNC);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_BLOCKS), 0, 1, 2, 4, 8);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_STAGES), 1, 2, 3, 4);
	tcb_axis_add_powers(tcb_axis_knob(out, &count, TCB_KNOB_SPLITK), 1, 2, shares);
	a = tcb_axis_knob(out, &count, TCB_KNOB_JOIN);
	tcb_axis_add(a, TCB_JOIN_NONE);
	if (shares > 1) {
		if (is_hopper)
			tcb_axis_add(a, TCB_JOIN_CLUSTER);
		ADD(a, TCB_JOIN_LAUNCH, TCB_JOIN_WHOLE);
	}
	a = tcb_axis_knob(out, &count, TCB_KNOB_VEC);
	tcb_axis_add(a, vec);
	if (vec > 4)
		tcb_axis_add(a, other);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_WARPS), 1, 2, 4, 8, 16, 32);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_KSPLIT), 1, 2, 4, 8, 16, 32);
	a = tcb_axis_knob(out, &count, TCB_KNOB_UNROLL);
	ADD(a, 1, 2, 4, 8);
	if (is_long(problem, target))
		ADD(a, 3, 5, 6);
	a = tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MICRO);
	tcb_axis_add(a, vec / 4);
	if (vec > 4)
		tcb_axis_add(a, other / 4);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MIDI), 1, 2, rows < 32 ? rows : 32);
	a = tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MIDI);
	for (size_t share = 1; share <= shares; share *= 2)
		tcb_axis_add(a, columns / share ? columns / share : 1);
	a = tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MACRO);
	tcb_axis_add(a, rows);
	a = tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MACRO);
	tcb_axis_add(a, columns);
	if (rows_of(problem)->gpu->weights)
		ADD(tcb_axis_knob(out, &count, TCB_KNOB_LEAD), 0, 1);
	a = tcb_axis_knob(out, &count, TCB_KNOB_PDL);
	tcb_axis_add(a, 0);
	if (is_hopper)
		tcb_axis_add(a, 1);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_STREAM), 0, 1);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_OCC), 1, 2, 4, 8);
	return count;
}

/* The largest power of two that is at most VALUE and LIMIT. */
static size_t power_within(size_t value, size_t limit)
{
	size_t power = 1;
	while (2 * power <= value && 2 * power <= limit)
		power *= 2;
	return power;
}

/*
 * What a textbook kernel does: a block of 256 threads per row, a row in registers; fewer threads for short rows,
 * several rows in a block for very short ones, and a row that is too long for registers read twice.
 */
static void short_geometry(const struct tcb_problem *problem, const struct tcb_target *target, struct tcb_geometry *out)
{
	const size_t m = problem->shape.m, n = problem->shape.n, width = tcb_rows_gpu_widest(n) / 4;
	const size_t vectors = n / width; /* of a row */
	const size_t ksplit = power_within((vectors + WARP - 1) / WARP, DEFAULT_WARPS);
	const size_t warps = ksplit * power_within(tcb_power_of_two_up(m), DEFAULT_WARPS / ksplit);
	const size_t values = (vectors + WARP * ksplit - 1) / (WARP * ksplit) * width;
	const int is_long = values > DEFAULT_VALUES;
	tcb_geometry_init(out);
	out->tile[TCB_MACRO] = (struct tcb_tile){ tcb_power_of_two_up(m), tcb_power_of_two_up(n), 1 };
	out->tile[TCB_MIDI] = (struct tcb_tile){ warps / ksplit, tcb_power_of_two_up(n), 1 };
	out->tile[TCB_MICRO] = (struct tcb_tile){ 1, width, 1 };
	out->knob[TCB_KNOB_ISA] = TCB_ISA_FMA;
	out->knob[TCB_KNOB_UNROLL] = is_long ? 4 : 1;
	out->knob[TCB_KNOB_WARPS] = (int32_t)warps;
	out->knob[TCB_KNOB_VEC] = (int32_t)(4 * width);
	out->knob[TCB_KNOB_STAGES] = 1;
	out->knob[TCB_KNOB_STREAM] = 0;
	out->knob[TCB_KNOB_SPLITK] = 1;
	out->knob[TCB_KNOB_KSPLIT] = (int32_t)ksplit;
	out->knob[TCB_KNOB_COPY] = TCB_COPY_LDG;
	out->knob[TCB_KNOB_XIN] = is_long ? TCB_XIN_L2 : TCB_XIN_REGS;
	out->knob[TCB_KNOB_BLOCKS] = 0;
	out->knob[TCB_KNOB_PDL] = target->cuda.capability >= 90;
	out->knob[TCB_KNOB_OCC] = 1;
	out->knob[TCB_KNOB_JOIN] = TCB_JOIN_NONE;
	if (rows_of(problem)->gpu->weights)
		out->knob[TCB_KNOB_LEAD] = 0;
}

/* Vectors of a piece: as few as possible are past the end of the share, and of such numbers the largest. */
static unsigned long_unroll(size_t n, size_t shares)
{
	const unsigned vectors = tcb_rows_gpu_vectors(n, (unsigned)shares * LONG_WARPS);
	unsigned best = 1, least = vectors;
	for (unsigned unroll = 1; unroll <= LONG_UNROLL_MAX && unroll <= vectors; unroll++) {
		const unsigned taken = (unsigned)tcb_round_up(vectors, unroll);
		if (unroll <= 2 ? taken <= least + 1 : taken <= least)
			best = unroll, least = taken;
	}
	return best;
}

static size_t rounds_of(const struct tcb_rows_gpu *plan, size_t shares)
{
	return tcb_div_up(plan->tiles, plan->grid / shares);
}

/* With little room for the next row, if there is one, reading waits for writing. */
static int is_alone(const struct tcb_rows_gpu *plan, size_t shares)
{
	return rounds_of(plan, shares) > 1 && 2 * plan->slots * plan->piece < 3 * plan->slice;
}

/* A long row is read once, by a cluster of SHARES blocks that keep it.  Returns columns that a block works on one after
 * another, INFINITY where it has no room for its part of a row. */
static double long_geometry(const struct tcb_problem *problem, const struct tcb_target *target, size_t shares,
			    struct tcb_geometry *out)
{
	const int has_weights = rows_of(problem)->gpu->weights > 0;
	const size_t n = problem->shape.n, limit = tcb_shared_limit(target);
	struct tcb_rows_gpu plan;
	short_geometry(problem, target, out);
	out->tile[TCB_MIDI] = (struct tcb_tile){ 1, tcb_power_of_two_up(n) / shares, 1 };
	out->knob[TCB_KNOB_STAGES] = out->knob[TCB_KNOB_BLOCKS] = 1; /* in pieces */
	out->knob[TCB_KNOB_XIN] = TCB_XIN_SHARED;
	out->knob[TCB_KNOB_COPY] = TCB_COPY_BULK;
	out->knob[TCB_KNOB_WARPS] = out->knob[TCB_KNOB_KSPLIT] = LONG_WARPS;
	out->knob[TCB_KNOB_SPLITK] = (int32_t)shares;
	out->knob[TCB_KNOB_JOIN] = shares > 1 ? TCB_JOIN_CLUSTER : TCB_JOIN_NONE;
	out->knob[TCB_KNOB_UNROLL] = (int32_t)long_unroll(n, shares);
	out->knob[TCB_KNOB_STREAM] = out->knob[TCB_KNOB_PDL] = 1;
	if (has_weights) { /* they are kept, too, where there is room */
		out->knob[TCB_KNOB_LEAD] = 1;
		tcb_rows_gpu_plan(problem, target, out, &plan);
		out->knob[TCB_KNOB_LEAD] = plan.shared_bytes <= limit && !is_alone(&plan, shares);
	}
	tcb_rows_gpu_plan(problem, target, out, &plan);
	if (plan.shared_bytes > limit)
		return INFINITY;
	return (double)(rounds_of(&plan, shares) * (plan.slice * LONG_WARPS + ROUND_COLUMNS)) *
	       (is_alone(&plan, shares) ? WAITING_COST : 1) * (has_weights && !plan.lead ? WAITING_COST : 1);
}

/* Clusters of more than 8 where others have no room, or for rows that all of a GPU has at once. */
static int best_long_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			      struct tcb_geometry *out)
{
	const size_t cluster = tcb_rows_gpu_cluster_most(target), sms = target->cuda.sm_count;
	double least = INFINITY;
	for (size_t shares = 1; shares <= cluster && problem->shape.n / shares >= LONG_SHARE_MIN; shares *= 2) {
		const int is_whole = sms >= WHOLE_GPU_SMS && problem->shape.m * shares <= sms / 2;
		struct tcb_geometry geometry;
		if (shares > CLUSTER_MAX && least < INFINITY && !is_whole)
			break;
		const double cost = long_geometry(problem, target, shares, &geometry);
		if (cost < least) {
			*out = geometry;
			least = cost;
		}
	}
	return least < INFINITY;
}

static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	if (!is_long(problem, target) || !best_long_geometry(problem, target, out))
		short_geometry(problem, target, out);
}

const struct tcb_side_space tcb_rows_gpu_space = { tcb_rows_gpu_rules, axes, default_geometry, tcb_rows_gpu_footprint,
						   .family = "rows" };
const struct tcb_side_space tcb_rows_gpu_plain_space = { tcb_rows_gpu_plain_rules, axes, default_geometry,
							 tcb_rows_gpu_footprint };
