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
	WARPS_MOST = 32,
	VALUES_MOST = 32, /* of a lane, where rows fill the GPU: each warp has much on its way */
	VALUES_LEAST = 8, /* where they do not: more warps have less each */
	VALUES_KEPT = 64, /* before rows are read twice; of those with weights or sums VALUES_MOST */
	WARPS_OF_SM = 64,
	STREAM_MIN = 1 << 20, /* values of the matrix, a part of what L2 holds: more is gone before it is read again */
	SHORT_ROW = 1024,     /* columns; of many rows so short blocks have several */
	LONG_WARPS = 16,
	LONG_UNROLL_MAX = 5,
	LONG_SHARE_MIN = 2048,     /* columns of a block, of LONG_WARPS warps with some vectors each */
	LAUNCH_MOST = 1 << 18,     /* values of few long rows that as many small blocks as fill the GPU share */
	CLUSTER_ROW_MIN = 1 << 14, /* values of a row that some blocks share where there are few rows */
	CLUSTER_SHARE = 2048,      /* of each of these */
	LAUNCH_ROW_MIN = 1 << 13,
	LAUNCH_SHARE = 1024,
	LONG_ROW = 1 << 16,         /* that a cluster reads once, in pieces */
	SHARE_VALUES = 24,          /* of a lane of those */
	SHIFTED_SHARE = 4096,       /* columns; of more, of a row that begins anywhere in a vector, all is read twice */
	LAUNCH_LONG_MOST = 1 << 21, /* values of few rows of LONG_ROW and more */
	WHOLE_SHARE = 512,          /* columns of a row that blocks reduce each for itself */
	WHOLE_MIN = 2048,
	WHOLE_MAX = 8192,
	WHOLE_GPU_SMS = 100, /* an H100 has 114 or 132, part of one up to 60 */
	ROUND_COLUMNS = 1024 /* that a row's meeting costs, an estimate */
};

static const double WAITING_COST = 1.25; /* an estimate */

static int may_have_pieces(const struct tcb_problem *problem, const struct tcb_target *target)
{
	return target->cuda.capability >= 90 && tcb_rows_gpu_even(problem->shape.n) == 16 &&
	       !problem->shape.words.add && !rows_has_halves(problem);
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
	const size_t even = tcb_rows_gpu_even(problem->shape.n), other = even < vec ? even : vec / 2;
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

static int has_weights(const struct tcb_problem *problem)
{
	return rows_of(problem)->gpu->weights > 0;
}

/* Values of a row that a lane holds with WARPS of them, WIDTH at a time. */
static size_t values_of(size_t n, size_t warps, size_t width)
{
	return tcb_div_up(n / width, WARP * warps) * width;
}

/* Is the last of a row's passes mostly past its end? */
static int wastes(size_t n, size_t pass)
{
	return (tcb_round_up(n, pass) - n) * 8 > n;
}

/* Do rows leave multiprocessors idle, and are not long? */
static int is_few(const struct tcb_problem *problem, const struct tcb_target *target)
{
	return 4 * problem->shape.m < 3 * (size_t)target->cuda.sm_count && problem->shape.n <= LAUNCH_ROW_MIN;
}

/* Rows that fill the GPU: as many warps as are there together, with 8 to 32 values per lane.  A row for each
 * multiprocessor: all that there is work for.  Fewer rows: four or eight. */
static size_t default_ksplit(const struct tcb_problem *problem, const struct tcb_target *target, size_t width)
{
	const size_t m = problem->shape.m, n = problem->shape.n, sms = tcb_most(target->cuda.sm_count, 1);
	const size_t few = power_within(tcb_div_up(n, WARP * VALUES_MOST), WARPS_MOST);
	const size_t many = power_within(tcb_div_up(n, WARP * VALUES_LEAST), WARPS_MOST);
	size_t ksplit = tcb_least(many, LONG_WARPS);
	if (n < WARP * VALUES_LEAST) /* a vector to a lane at most */
		return power_within(tcb_div_up(n / width, WARP), DEFAULT_WARPS);
	if (is_few(problem, target))
		return tcb_most(tcb_least(many, m * DEFAULT_WARPS <= 2 * sms ? DEFAULT_WARPS : DEFAULT_WARPS / 2), few);
	if (m <= sms) {
		ksplit = power_within(tcb_div_up(n, WARP * VALUES_LEAST / 2), WARPS_MOST);
		return ksplit > few && wastes(n, WARP * ksplit * width) ? ksplit / 2 : ksplit;
	}
	while (ksplit > few && (m * ksplit > sms * WARPS_OF_SM || wastes(n, WARP * ksplit * width)))
		ksplit /= 2;
	return tcb_most(ksplit, few);
}

/* A block per row, which it keeps in registers; several rows in a block for very short ones, and a row that is too long
 * for registers read twice. */
static void short_geometry(const struct tcb_problem *problem, const struct tcb_target *target, struct tcb_geometry *out)
{
	const size_t m = problem->shape.m, n = problem->shape.n, sms = tcb_most(target->cuda.sm_count, 1);
	const int is_alone =
		is_few(problem, target) && n % 2 == 0 && n >= WARP * VALUES_LEAST && !problem->shape.words.add;
	size_t width = is_alone ? 2 : tcb_rows_gpu_widest(n) / 4;
	const size_t ksplit = default_ksplit(problem, target, width);
	if (m <= sms && n % 2 == 0 && n >= WARP * VALUES_LEAST && n <= LAUNCH_ROW_MIN && width > 2 &&
	    wastes(n, WARP * ksplit * width))
		width = 2;
	const int is_short = n < WARP * VALUES_LEAST || (n <= SHORT_ROW && m >= sms * DEFAULT_WARPS);
	const size_t beside = is_short && ksplit < DEFAULT_WARPS ? DEFAULT_WARPS / ksplit : 1;
	const size_t warps = ksplit * power_within(tcb_power_of_two_up(m), beside);
	const int has_two = has_weights(problem) || problem->shape.words.add || n % width;
	const int is_long = values_of(n, ksplit, width) > (has_two ? VALUES_MOST : VALUES_KEPT);
	tcb_geometry_init(out);
	out->tile[TCB_MACRO] = (struct tcb_tile){ tcb_power_of_two_up(m), tcb_power_of_two_up(n), 1 };
	out->tile[TCB_MIDI] = (struct tcb_tile){ warps / ksplit, tcb_power_of_two_up(n), 1 };
	out->tile[TCB_MICRO] = (struct tcb_tile){ 1, width, 1 };
	out->knob[TCB_KNOB_ISA] = TCB_ISA_FMA;
	out->knob[TCB_KNOB_UNROLL] = is_long ? 4 : 1;
	out->knob[TCB_KNOB_WARPS] = (int32_t)warps;
	out->knob[TCB_KNOB_VEC] = (int32_t)(4 * width);
	out->knob[TCB_KNOB_STAGES] = 1;
	out->knob[TCB_KNOB_STREAM] = m * n >= STREAM_MIN;
	out->knob[TCB_KNOB_SPLITK] = 1;
	out->knob[TCB_KNOB_KSPLIT] = (int32_t)ksplit;
	out->knob[TCB_KNOB_COPY] = TCB_COPY_LDG;
	out->knob[TCB_KNOB_XIN] = is_long ? TCB_XIN_L2 : TCB_XIN_REGS;
	out->knob[TCB_KNOB_BLOCKS] = 0;
	out->knob[TCB_KNOB_PDL] = target->cuda.capability >= 90;
	out->knob[TCB_KNOB_OCC] = 1;
	out->knob[TCB_KNOB_JOIN] = TCB_JOIN_NONE;
	if (has_weights(problem)) /* two arrays take too many registers */
		out->knob[TCB_KNOB_LEAD] = !is_long && rows_of(problem)->gpu->weights == 1 && n >= WARP * VALUES_LEAST;
}

/* Fewer values in flight, fewer warps, and rows read twice, until registers are enough. */
static void fit(const struct tcb_problem *problem, const struct tcb_target *target, struct tcb_geometry *out)
{
	int32_t *warps = &out->knob[TCB_KNOB_WARPS], *ksplit = &out->knob[TCB_KNOB_KSPLIT];
	const struct tcb_geometry first = *out;
	if (out->knob[TCB_KNOB_LEAD] == 1 && !tcb_rows_gpu_is_built(problem, target, out))
		out->knob[TCB_KNOB_LEAD] = 0;
	while (!tcb_rows_gpu_is_built(problem, target, out) && *warps == *ksplit && *warps > DEFAULT_WARPS)
		*warps = *ksplit /= 2;
	if (tcb_rows_gpu_is_built(problem, target, out))
		return;
	*warps = *ksplit = tcb_least(first.knob[TCB_KNOB_WARPS], LONG_WARPS);
	out->knob[TCB_KNOB_XIN] = TCB_XIN_L2;
	for (out->knob[TCB_KNOB_UNROLL] = 4; !tcb_rows_gpu_is_built(problem, target, out);)
		if (*warps > DEFAULT_WARPS)
			*warps = *ksplit /= 2;
		else if (out->knob[TCB_KNOB_UNROLL] > 1)
			out->knob[TCB_KNOB_UNROLL] /= 2;
		else
			return;
}

/* SHARES blocks have a row together, of WARPS warps that keep it in registers, or where a lane had too many values read
 * it twice. */
static void shared_geometry(const struct tcb_problem *problem, const struct tcb_target *target, size_t shares,
			    size_t warps, enum tcb_join join, struct tcb_geometry *out)
{
	const size_t n = problem->shape.n, width = tcb_rows_gpu_widest(n) / 4, of_block = tcb_div_up(n, shares);
	const int is_twice =
		join == TCB_JOIN_WHOLE || (n % width && of_block > SHIFTED_SHARE) ||
		values_of(of_block, warps, width) > (join == TCB_JOIN_LAUNCH ? 2 * SHARE_VALUES : VALUES_MOST);
	short_geometry(problem, target, out);
	out->tile[TCB_MIDI] = (struct tcb_tile){ 1, tcb_power_of_two_up(n) / shares, 1 };
	out->tile[TCB_MICRO].n = width;
	out->knob[TCB_KNOB_VEC] = (int32_t)(4 * width);
	out->knob[TCB_KNOB_WARPS] = out->knob[TCB_KNOB_KSPLIT] = (int32_t)warps;
	out->knob[TCB_KNOB_SPLITK] = (int32_t)shares;
	out->knob[TCB_KNOB_JOIN] = join;
	out->knob[TCB_KNOB_XIN] = is_twice ? TCB_XIN_L2 : TCB_XIN_REGS;
	out->knob[TCB_KNOB_UNROLL] = 1;
	if (is_twice)
		out->knob[TCB_KNOB_UNROLL] =
			join == TCB_JOIN_WHOLE ? 2
					       : (int32_t)power_within(tcb_div_up(of_block / width, WARP * warps), 4);
	if (is_twice && has_weights(problem))
		out->knob[TCB_KNOB_LEAD] = 0;
}

/* Few rows leave multiprocessors idle.  A row or two: blocks that each reduce all of it, and write a part.  Some
 * thousand values each, or few rows of any length: as many small blocks as fill the GPU, and a second launch.  Else
 * clusters.  0: rows are many, or short. */
static int few_rows_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const size_t m = problem->shape.m, n = problem->shape.n, sms = tcb_most(target->cuda.sm_count, 1);
	const size_t shares = tcb_rows_gpu_shares(problem, target), most = tcb_rows_gpu_cluster_most(target);
	const size_t cluster = n < CLUSTER_ROW_MIN ? 1 : power_within(tcb_least(most, shares), n / CLUSTER_SHARE);
	const size_t width = tcb_rows_gpu_widest(n) / 4;
	if (m <= 2 && n >= WHOLE_MIN && n <= WHOLE_MAX && has_weights(problem) && !problem->shape.words.add &&
	    shares >= n / WHOLE_SHARE / 2) {
		shared_geometry(problem, target, power_within(shares, tcb_power_of_two_up(n) / WHOLE_SHARE), 4,
				TCB_JOIN_WHOLE, out);
		return 1;
	}
	if (n < LAUNCH_ROW_MIN || (n < CLUSTER_ROW_MIN && !has_weights(problem)) || shares < 2 ||
	    (n >= LONG_ROW && is_long(problem, target) && m * n > LAUNCH_LONG_MOST && 2 * m * most > sms))
		return 0;
	const int is_small = m * n <= LAUNCH_MOST + LAUNCH_MOST / 4 || 2 * m * most <= sms;
	const int is_long_of_few = n >= LONG_ROW && n % width == 0 && m * n <= LAUNCH_LONG_MOST;
	if ((3 * m * cluster < 2 * sms && is_small) || is_long_of_few) {
		const size_t blocks = power_within(shares, tcb_power_of_two_up(n) / LAUNCH_SHARE);
		const size_t of_block = tcb_div_up(n, blocks);
		const size_t warps = power_within(tcb_div_up(of_block, WARP * SHARE_VALUES), LONG_WARPS);
		shared_geometry(problem, target, blocks, tcb_most(warps, 2), TCB_JOIN_LAUNCH, out);
		return 1;
	}
	if (n < CLUSTER_ROW_MIN || cluster < 2)
		return 0;
	const size_t of_block = tcb_div_up(n, cluster);
	const size_t warps =
		n % width ? 4 : tcb_most(power_within(tcb_div_up(of_block, WARP * VALUES_MOST), LONG_WARPS), 4);
	shared_geometry(problem, target, cluster, warps, TCB_JOIN_CLUSTER, out);
	return 1;
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
	const size_t n = problem->shape.n, limit = tcb_shared_limit(target);
	struct tcb_rows_gpu plan;
	short_geometry(problem, target, out);
	out->tile[TCB_MIDI] = (struct tcb_tile){ 1, tcb_power_of_two_up(n) / shares, 1 };
	out->tile[TCB_MICRO].n = 4;
	out->knob[TCB_KNOB_VEC] = 16;
	out->knob[TCB_KNOB_STAGES] = out->knob[TCB_KNOB_BLOCKS] = 1; /* in pieces */
	out->knob[TCB_KNOB_XIN] = TCB_XIN_SHARED;
	out->knob[TCB_KNOB_COPY] = TCB_COPY_BULK;
	out->knob[TCB_KNOB_WARPS] = out->knob[TCB_KNOB_KSPLIT] = LONG_WARPS;
	out->knob[TCB_KNOB_SPLITK] = (int32_t)shares;
	out->knob[TCB_KNOB_JOIN] = shares > 1 ? TCB_JOIN_CLUSTER : TCB_JOIN_NONE;
	out->knob[TCB_KNOB_UNROLL] = (int32_t)long_unroll(n, shares);
	out->knob[TCB_KNOB_STREAM] = out->knob[TCB_KNOB_PDL] = 1;
	if (has_weights(problem)) { /* they are kept, too, where there is room */
		out->knob[TCB_KNOB_LEAD] = 1;
		tcb_rows_gpu_plan(problem, target, out, &plan);
		out->knob[TCB_KNOB_LEAD] = plan.shared_bytes <= limit && !is_alone(&plan, shares);
	}
	tcb_rows_gpu_plan(problem, target, out, &plan);
	if (plan.shared_bytes > limit)
		return INFINITY;
	return (double)(rounds_of(&plan, shares) * (plan.slice * LONG_WARPS + ROUND_COLUMNS)) *
	       (is_alone(&plan, shares) ? WAITING_COST : 1) * (has_weights(problem) && !plan.lead ? WAITING_COST : 1);
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
	if (few_rows_geometry(problem, target, out) && tcb_rows_gpu_is_built(problem, target, out))
		return;
	if (problem->shape.n > CLUSTER_ROW_MIN && is_long(problem, target) && best_long_geometry(problem, target, out))
		return;
	short_geometry(problem, target, out);
	fit(problem, target, out);
}

const struct tcb_side_space tcb_rows_gpu_space = { tcb_rows_gpu_rules, axes, default_geometry, tcb_rows_gpu_footprint,
						   .family = "rows" };
const struct tcb_side_space tcb_rows_gpu_plain_space = { tcb_rows_gpu_plain_rules, axes, default_geometry,
							 tcb_rows_gpu_footprint };
