/* SPDX-License-Identifier: MIT
 *
 * The search space of the quantised matmuls on GPUs: its axes and its default
 * geometry.  quant_matmul_gpu_rules.c has the rules that leave of their product
 * what is a kernel, and the policies that leave of these what is worth while.
 */
#include <string.h>

#include "base/sizes.h"
#include "kernels/axes.h"
#include "kernels/constraint.h"
#include "kernels/gpu/hardware.h"
#include "kernels/gpu/pieces_gpu.h"
#include "kernels/quant.h"
#include "kernels/quant_matmul/quant_matmul_gpu.h"
#include "kernels/quant_matmul/quant_matmul_gpu_plan.h"

enum { DEFAULT_WARPS = 8, DEFAULT_TOKENS = 16, STREAMED_TOKENS = 64, STREAMED_STAGES = 2, SPLIT_MOST = 8 };

/* Tiles of all tokens, down to a PART of them; at most as many as a kernel takes. */
static void add_tokens(struct tcb_axis *to, size_t tokens, size_t part)
{
	size_t most = tokens < QMM_GROUP_TOKENS ? QMM_GROUP_TOKENS : tokens > QMM_TOKENS_MAX ? QMM_TOKENS_MAX : tokens;
	for (size_t m = most; m >= QMM_GROUP_TOKENS && part * m >= most; m /= 2)
		tcb_axis_add(to, m);
}

static size_t micro_k(const struct tcb_problem *problem)
{
	return problem->shape.k % QMM_UNIT_VALUES ? problem->op->format->block_values : QMM_UNIT_VALUES;
}

/* Of a weight; of an activation. */
static unsigned terms_of(const struct tcb_problem *problem)
{
	struct qmm_unit unit;
	qmm_unit_of(problem->op->format->id, &unit);
	return unit.terms;
}

static unsigned x_terms_of(const struct tcb_problem *problem)
{
	struct qmm_unit unit;
	qmm_unit_of(problem->op->format->id, &unit);
	return unit.x_terms;
}

/* Powers of two; of 7 times as much, as K = 14336 has, 7 and 14 instead of 16; of an odd number other odd ones. */
static void add_splits(struct tcb_axis *to, size_t units)
{
	ADD(to, 1, 2, 4, 8);
	if (units % 7 == 0)
		ADD(to, 7, 14);
	else
		tcb_axis_add(to, 16);
	for (size_t by = 3; units % 2 && by <= 16; by += 2)
		if (units % by == 0)
			tcb_axis_add(to, by);
}

/* In an order in which the rules cut early. */
static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	const struct tcb_shape *s = &problem->shape;
	const size_t units = qmm_units_along_k(s->k), rows = tcb_power_of_two_up(s->n),
		     tokens = tcb_power_of_two_up(s->m);
	const int is_modern = target->cuda.capability >= 90;
	const int has_wgmma = tcb_target_has(target, TCB_ISA_WGMMA) && problem->contract != TCB_CONTRACT_Q8 &&
			      terms_of(problem) == 1 && !(s->words.bits && x_terms_of(problem) > 1);
	size_t count = 0;
	struct tcb_axis *a;
	a = tcb_axis_knob(out, &count, TCB_KNOB_ISA);
	tcb_axis_add(a, TCB_ISA_MMA);
	if (has_wgmma)
		tcb_axis_add(a, TCB_ISA_WGMMA);
	if (problem->contract == TCB_CONTRACT_Q8) {
		a = tcb_axis_knob(out, &count, TCB_KNOB_GROUP);
		tcb_axis_add(a, 32);
		if (tcb_quant_group(problem->op->format) == QMM_UNIT_VALUES &&
		    !tcb_is_expanded(problem->op->format->id))
			tcb_axis_add(a, QMM_UNIT_VALUES);
	}
	a = tcb_axis_knob(out, &count, TCB_KNOB_COPY);
	tcb_axis_add(a, TCB_COPY_LDG);
	/* wgmma has better ways to stream activations */
	if (target->cuda.capability >= 80 && !has_wgmma)
		tcb_axis_add(a, TCB_COPY_ASYNC);
	if (is_modern)
		tcb_axis_add(a, TCB_COPY_BULK);
	add_splits(tcb_axis_knob(out, &count, TCB_KNOB_SPLITK), units);
	a = tcb_axis_knob(out, &count, TCB_KNOB_JOIN);
	ADD(a, TCB_JOIN_NONE, TCB_JOIN_LAST);
	if (is_modern)
		tcb_axis_add(a, TCB_JOIN_CLUSTER);
	a = tcb_axis_knob(out, &count, TCB_KNOB_KSPLIT);
	ADD(a, 1, 2, 4);
	if (tokens <= 32 && rows >= 1024)
		tcb_axis_add(a, 8);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_UNROLL), 1, 2);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_STAGES), 1, 2, 3, 4, 6, 8);
	a = tcb_axis_knob(out, &count, TCB_KNOB_XSTAGES);
	if (has_wgmma)
		ADD(a, 1, 4, 8);
	if (!has_wgmma)
		ADD(a, 1, 2, 3, 4);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_LEAD), 1, 2, 3, 4, 6, 8);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_BLOCKS), 0, 1, 2);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_WARPS), 4, 8, 16);
	ADD(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MICRO), 16, 32, 64, 128);
	ADD(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MIDI), 16, 32, 64, 128, 256, 512);
	a = tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MACRO);
	tcb_axis_add(a, rows);
	for (size_t n = 2 * rows; n <= 512; n *= 2)
		tcb_axis_add(a, n);
	const size_t part = x_terms_of(problem) > 1 ? 16 : 8; /* terms take as much more room */
	add_tokens(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MICRO), tokens, part);
	add_tokens(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MIDI), tokens, part);
	a = tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MACRO);
	tcb_axis_add(a, tokens < QMM_GROUP_TOKENS ? QMM_GROUP_TOKENS : tokens);
	for (int level = TCB_MACRO; level <= TCB_MICRO; level++)
		tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, level),
			     level == TCB_MICRO ? micro_k(problem) : s->k);
	a = tcb_axis_knob(out, &count, TCB_KNOB_PREP);
	ADD(a, TCB_PREP_BLOCK, TCB_PREP_LAUNCH);
	if (is_modern)
		ADD(a, TCB_PREP_WARPS, TCB_PREP_GRID);
	a = tcb_axis_knob(out, &count, TCB_KNOB_PDL);
	tcb_axis_add(a, 0);
	if (is_modern)
		tcb_axis_add(a, 1);
	a = tcb_axis_knob(out, &count, TCB_KNOB_CLUSTER);
	tcb_axis_add(a, 1);
	if (has_wgmma)
		ADD(a, 2, 4);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_OCC), 1, 2);
	return count;
}

static void set_tiles(const struct tcb_problem *problem, size_t tokens, size_t warps, struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t rows = tcb_power_of_two_up(s->n);
	out->tile[TCB_MICRO] = (struct tcb_tile){ tokens, QMM_UNIT_ROWS, micro_k(problem) };
	out->tile[TCB_MIDI] = (struct tcb_tile){ tokens, warps * QMM_UNIT_ROWS, s->k };
	out->tile[TCB_MACRO] = (struct tcb_tile){ tcb_power_of_two_up(s->m), rows, s->k };
	if (out->tile[TCB_MACRO].m < tokens)
		out->tile[TCB_MACRO].m = tokens;
	if (out->tile[TCB_MACRO].n < out->tile[TCB_MIDI].n)
		out->tile[TCB_MACRO].n = out->tile[TCB_MIDI].n;
}

/* Activations in terms: OUT with fewer warps, and a part of k each, until all SMs have a block. */
static void terms_default(const struct tcb_problem *problem, const struct tcb_target *target, struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t units = qmm_units_along_k(s->k), tokens = out->tile[TCB_MIDI].m;
	const size_t tiles = tcb_div_up(s->m, tokens), sms = target->cuda.sm_count;
	size_t warps = (size_t)out->knob[TCB_KNOB_WARPS], splitk = (size_t)out->knob[TCB_KNOB_SPLITK];
	if (x_terms_of(problem) == 1 || s->k % QMM_UNIT_VALUES)
		return;
	while (warps > 2 && tiles * splitk * tcb_div_up(s->n, warps * QMM_UNIT_ROWS) < sms)
		warps /= 2;
	const size_t blocks = tiles * tcb_div_up(s->n, warps * QMM_UNIT_ROWS);
	for (size_t by = splitk + 1; by <= SPLIT_MOST; by++)
		if (units % by == 0 && by * blocks <= sms)
			splitk = by;
	set_tiles(problem, tokens, warps, out);
	out->knob[TCB_KNOB_WARPS] = (int32_t)warps;
	out->knob[TCB_KNOB_SPLITK] = (int32_t)splitk;
	out->knob[TCB_KNOB_JOIN] = splitk > 1 ? TCB_JOIN_LAST : TCB_JOIN_NONE;
}

/*
 * Contract q8, more than 8 tokens, and activations in terms, more than 16: OUT with rings of weights and of
 * activations, as many of these as fit, and the reduction split until all SMs have a block; as it was where there is
 * too little along k for that.
 */
static void stream_default(const struct tcb_problem *problem, const struct tcb_target *target, struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t units = qmm_units_along_k(s->k);
	const size_t warps =
		tcb_least(out->tile[TCB_MIDI].n / QMM_UNIT_ROWS, terms_of(problem) > 1 ? 4 : DEFAULT_WARPS);
	const int is_q8 = problem->contract == TCB_CONTRACT_Q8;
	const size_t most = tcb_power_of_two_up(s->m) < STREAMED_TOKENS ? tcb_power_of_two_up(s->m) : STREAMED_TOKENS;
	struct tcb_geometry g = *out;
	struct qmm_gpu plan;
	if ((!is_q8 && x_terms_of(problem) == 1) || target->cuda.capability < 80 ||
	    s->m <= (is_q8 ? QMM_GROUP_TOKENS : 2 * QMM_GROUP_TOKENS) || s->k % QMM_UNIT_VALUES ||
	    units < STREAMED_STAGES)
		return;
	g.knob[TCB_KNOB_WARPS] = (int32_t)warps;
	g.knob[TCB_KNOB_COPY] = TCB_COPY_ASYNC;
	g.knob[TCB_KNOB_PREP] = TCB_PREP_LAUNCH;
	g.knob[TCB_KNOB_STAGES] = g.knob[TCB_KNOB_XSTAGES] = g.knob[TCB_KNOB_LEAD] = STREAMED_STAGES;
	for (size_t tokens = most; tokens >= QMM_GROUP_TOKENS; tokens /= 2) {
		const size_t blocks = tcb_div_up(s->n, warps * QMM_UNIT_ROWS) * tcb_div_up(s->m, tokens);
		size_t splitk = 1;
		for (size_t by = 2; by <= SPLIT_MOST && splitk * blocks < target->cuda.sm_count; by++)
			if (units % by == 0 && units / by >= STREAMED_STAGES)
				splitk = by;
		set_tiles(problem, tokens, warps, &g);
		g.knob[TCB_KNOB_SPLITK] = (int32_t)splitk;
		g.knob[TCB_KNOB_JOIN] = splitk > 1 ? TCB_JOIN_LAST : TCB_JOIN_NONE;
		qmm_gpu_plan(problem, target, &g, &plan);
		if (plan.shared_bytes > tcb_shared_limit(target))
			continue;
		*out = g;
		return;
	}
}

/* OUT with a block that stays on each SM and rings of STAGES; where those have no second round of rows, with a block
 * for each, and no more slots than a warp has tiles. */
static void set_rounds(const struct tcb_problem *problem, const struct tcb_target *target, size_t stages,
		       struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t splitk = (size_t)out->knob[TCB_KNOB_SPLITK], ksplit = (size_t)out->knob[TCB_KNOB_KSPLIT];
	const size_t blocks =
		splitk * tcb_div_up(s->m, out->tile[TCB_MIDI].m) * tcb_div_up(s->n, out->tile[TCB_MIDI].n);
	const int stays = blocks > tcb_most(target->cuda.sm_count, 1);
	out->knob[TCB_KNOB_BLOCKS] = stays;
	out->knob[TCB_KNOB_STAGES] =
		(int32_t)(stays ? stages : tcb_least(stages, qmm_units_along_k(s->k) / splitk / ksplit));
}

/* Formats whose codes are taken apart before they are multiplied, and values: those of the two defaults below. */
static int is_piecewise(const struct tcb_problem *problem, const struct tcb_target *target)
{
	const enum tcb_format_id format = problem->op->format->id;
	return (tcb_is_expanded(format) || tcb_is_float(format)) && tcb_target_has(target, TCB_ISA_WGMMA) &&
	       problem->shape.k % QMM_UNIT_VALUES == 0 && problem->shape.n >= 1024;
}

/*
 * Up to 64 tokens, on an H200: warps that share rows, as many as there is shared memory for, the parts of a few tokens
 * joined in clusters.
 */
static void piece_default(const struct tcb_problem *problem, const struct tcb_target *target, struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t units = qmm_units_along_k(s->k), all = tcb_power_of_two_up(s->m);
	const int is_q8 = problem->contract == TCB_CONTRACT_Q8;
	const int is_few = s->m <= (is_q8 ? 8 : 16);
	const size_t tokens = is_few ? tcb_most(all, QMM_GROUP_TOKENS) : 32;
	const size_t splitk = units % 2 ? 1 : is_few && !is_q8 && units % 4 == 0 ? 4 : 2;
	size_t ksplit = !is_few ? 2 : is_q8 ? 8 : 4;
	struct tcb_geometry g = *out;
	struct qmm_gpu plan;
	if (!is_piecewise(problem, target) || s->m > 64 || (is_q8 && !is_few) ||
	    (!is_few && x_terms_of(problem) > 1 && terms_of(problem) == 1))
		return;
	while (units % (splitk * ksplit))
		ksplit /= 2;
	g.tile[TCB_MICRO].n = QMM_UNIT_ROWS;
	g.knob[TCB_KNOB_ISA] = TCB_ISA_MMA;
	g.knob[TCB_KNOB_COPY] = TCB_COPY_BULK;
	g.knob[TCB_KNOB_PDL] = 1;
	g.knob[TCB_KNOB_SPLITK] = (int32_t)splitk;
	g.knob[TCB_KNOB_JOIN] = splitk > 1 ? TCB_JOIN_CLUSTER : TCB_JOIN_NONE;
	g.knob[TCB_KNOB_PREP] = is_few ? TCB_PREP_BLOCK : TCB_PREP_LAUNCH;
	g.knob[TCB_KNOB_XSTAGES] = 1;
	for (size_t warps = ksplit == 8 ? 16 : 8; warps >= 4; warps /= 2, ksplit = tcb_most(ksplit / 2, 1)) {
		set_tiles(problem, tokens, warps / ksplit, &g);
		g.knob[TCB_KNOB_WARPS] = (int32_t)warps;
		g.knob[TCB_KNOB_KSPLIT] = (int32_t)ksplit;
		g.knob[TCB_KNOB_STAGES] = units / splitk / ksplit > 1 ? 2 : 1;
		if (is_few)
			set_rounds(problem, target, 2, &g);
		g.knob[TCB_KNOB_LEAD] = is_few ? 1 : g.knob[TCB_KNOB_STAGES];
		qmm_gpu_plan(problem, target, &g, &plan);
		if (plan.shared_bytes > tcb_shared_limit(target))
			continue;
		*out = g;
		return;
	}
}

/* OUT with wgmma, four warps for 64 rows, and rings of weights and activations. */
static void set_streamed(const struct tcb_problem *problem, size_t tokens, struct tcb_geometry *out)
{
	set_tiles(problem, tokens, 4, out);
	out->tile[TCB_MICRO].n = 4 * QMM_UNIT_ROWS;
	out->knob[TCB_KNOB_ISA] = TCB_ISA_WGMMA;
	out->knob[TCB_KNOB_COPY] = TCB_COPY_BULK;
	out->knob[TCB_KNOB_PDL] = 1;
	out->knob[TCB_KNOB_WARPS] = 4;
	out->knob[TCB_KNOB_KSPLIT] = out->knob[TCB_KNOB_SPLITK] = 1;
	out->knob[TCB_KNOB_JOIN] = TCB_JOIN_NONE;
	out->knob[TCB_KNOB_PREP] = TCB_PREP_LAUNCH;
	out->knob[TCB_KNOB_STAGES] = (int32_t)tcb_least(qmm_units_along_k(problem->shape.k), tokens > 128 ? 2 : 3);
	out->knob[TCB_KNOB_LEAD] = out->knob[TCB_KNOB_STAGES];
	out->knob[TCB_KNOB_XSTAGES] = 4;
}

/*
 * More tokens, contract f16, on an H200: four warps for 64 rows, which are taken apart once for 128 tokens; values that
 * halves hold, where nothing is taken apart, for as many tokens as leave all SMs a block.
 */
static void many_default(const struct tcb_problem *problem, const struct tcb_target *target, struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const int is_half = tcb_format_row(problem->op->format->id)->codes == TCB_CODES_F16;
	const size_t rounds = tcb_div_up(s->n, 4 * QMM_UNIT_ROWS) * s->m / tcb_most(target->cuda.sm_count, 1);
	const size_t tokens = !is_half || (rounds >= 96 && rounds < 128) ? 128 : rounds < 96 ? 64 : 256;
	struct tcb_geometry g = *out;
	struct qmm_gpu plan;
	if (!is_piecewise(problem, target) || s->m <= (x_terms_of(problem) > 1 ? 16 : 64) ||
	    problem->contract == TCB_CONTRACT_Q8 || terms_of(problem) > 1)
		return;
	set_streamed(problem, tcb_least(tokens, tcb_power_of_two_up(s->m)), &g);
	qmm_gpu_plan(problem, target, &g, &plan);
	if (plan.shared_bytes <= tcb_shared_limit(target))
		*out = g;
}

/* A few parts of K. */
static size_t few_split(size_t units)
{
	static const size_t splits[] = { 4, 2, 3, 5, 7 };
	for (size_t i = 0; i < sizeof splits / sizeof *splits; i++)
		if (units % splits[i] == 0)
			return splits[i];
	return 1;
}

/*
 * Up to 8 tokens, formats that are read as they are, on an H200: blocks that stay, with a part of k each
 * that they join in clusters, and warps that share rows where there are few.
 */
static void few_default(const struct tcb_problem *problem, const struct tcb_target *target, struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t units = qmm_units_along_k(s->k), splitk = few_split(units);
	const size_t blocks = tcb_div_up(s->n, DEFAULT_WARPS * QMM_UNIT_ROWS) * splitk;
	const size_t ksplit = units % (2 * splitk) == 0 && blocks < target->cuda.sm_count ? 2 : 1;
	struct tcb_geometry g = *out;
	struct qmm_gpu plan;
	const int is_q8 = problem->contract == TCB_CONTRACT_Q8;
	if ((!is_q8 && (x_terms_of(problem) > 1 || tcb_is_float(problem->op->format->id))) ||
	    tcb_is_expanded(problem->op->format->id) || target->cuda.capability < 90 || s->m > QMM_GROUP_TOKENS ||
	    s->n < 1024 || s->k % QMM_UNIT_VALUES)
		return;
	set_tiles(problem, QMM_GROUP_TOKENS, DEFAULT_WARPS / ksplit, &g);
	if (is_q8 && tcb_quant_group(problem->op->format) == QMM_UNIT_VALUES)
		g.knob[TCB_KNOB_GROUP] = QMM_UNIT_VALUES;
	g.knob[TCB_KNOB_COPY] = TCB_COPY_BULK;
	g.knob[TCB_KNOB_WARPS] = DEFAULT_WARPS;
	g.knob[TCB_KNOB_SPLITK] = (int32_t)splitk;
	g.knob[TCB_KNOB_KSPLIT] = (int32_t)ksplit;
	g.knob[TCB_KNOB_JOIN] = splitk > 1 ? TCB_JOIN_CLUSTER : TCB_JOIN_NONE;
	g.knob[TCB_KNOB_PDL] = 1;
	set_rounds(problem, target, 3, &g);
	g.knob[TCB_KNOB_LEAD] = is_q8 ? g.knob[TCB_KNOB_STAGES] : 1;
	qmm_gpu_plan(problem, target, &g, &plan);
	if (plan.shared_bytes <= tcb_shared_limit(target))
		*out = g;
}

/*
 * Rows of values in terms and few of them, as a router has: on an H200 warps that share rows in pairs, of 8 tokens, the
 * parts of k joined in clusters.  512x128x2048 and 1x128x2048 of f32 took 13.4 and 2.4 us, of the best of a sweep 13.3
 * and 2.3, and 27.5 and 6.0 with copies of cp.async and parts that the last block joins.
 */
static void narrow_default(const struct tcb_problem *problem, const struct tcb_target *target, struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t units = qmm_units_along_k(s->k), ksplit = units % 2 ? 1 : 2;
	const size_t splitk = units % (4 * ksplit) == 0 ? 4 : units % (2 * ksplit) == 0 ? 2 : 1;
	const size_t pairs = s->n > QMM_UNIT_ROWS ? 2 : 1;
	struct tcb_geometry g = *out;
	struct qmm_gpu plan;
	if (!tcb_is_float(problem->op->format->id) || x_terms_of(problem) == 1 || target->cuda.capability < 90 ||
	    s->n >= 1024 || s->k % QMM_UNIT_VALUES)
		return;
	set_tiles(problem, QMM_GROUP_TOKENS, pairs, &g);
	g.knob[TCB_KNOB_COPY] = TCB_COPY_BULK;
	g.knob[TCB_KNOB_WARPS] = (int32_t)(pairs * ksplit);
	g.knob[TCB_KNOB_SPLITK] = (int32_t)splitk;
	g.knob[TCB_KNOB_KSPLIT] = (int32_t)ksplit;
	g.knob[TCB_KNOB_JOIN] = splitk > 1 ? TCB_JOIN_CLUSTER : TCB_JOIN_NONE;
	g.knob[TCB_KNOB_PREP] = TCB_PREP_BLOCK;
	g.knob[TCB_KNOB_PDL] = 1;
	g.knob[TCB_KNOB_STAGES] = g.knob[TCB_KNOB_LEAD] = g.knob[TCB_KNOB_XSTAGES] = 1;
	qmm_gpu_plan(problem, target, &g, &plan);
	if (plan.shared_bytes <= tcb_shared_limit(target))
		*out = g;
}

/*
 * Of the word bits: each output is one sum of K, or, of an even number of units of 256 values, two, one of each half of
 * K, which are added.  To a sum its products are added 16 at a time in the order of k; on sm_90 mma.sync and wgmma, of
 * any N, add 16 alike (src/ptx/emulate/tensor/emu_matrix.h says how that was measured); their kernels take activations
 * in terms in two orders.  Contract q8 adds the runs of a unit, whose activations share scales by 32.
 */
static const char *reorders(const struct tcb_problem *problem, const struct tcb_target *target,
			    const struct tcb_geometry *geometry)
{
	const unsigned parts = KNOB(SPLITK) * KNOB(KSPLIT), units = (unsigned)qmm_units_along_k(problem->shape.k);
	(void)target;
	if (geometry->knob[TCB_KNOB_ISA] != TCB_ISA_MMA && x_terms_of(problem) > 1)
		return "isa must be mma where activations are in terms";
	if (geometry->knob[TCB_KNOB_JOIN] == TCB_JOIN_LAST && KNOB(SPLITK) == 1)
		return "blocks may not stay where activations are streamed: tiles are cut anywhere";
	if (parts > 2 || (parts == 2 && !qmm_has_halves(problem)))
		return "splitk times ksplit must be 1, or 2 where K has two halves of whole units of 256: other parts "
		       "are "
		       "other sums";
	if (parts == 1 && qmm_has_halves(problem) && KNOB(UNROLL) && units / 2 % KNOB(UNROLL))
		return "unroll must divide the units of 256 of a half of K";
	return problem->contract == TCB_CONTRACT_Q8 && geometry->knob[TCB_KNOB_GROUP] != 32
		       ? "group must be 32, which all formats can have"
		       : NULL;
}

/* Where K has two halves: a block of a cluster each, where these are few. */
static void join_halves(const struct tcb_problem *problem, const struct tcb_target *target, struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t blocks = tcb_div_up(s->n, out->tile[TCB_MIDI].n) * tcb_div_up(s->m, out->tile[TCB_MIDI].m);
	const int32_t units = (int32_t)qmm_units_along_k(s->k);
	if (!qmm_has_halves(problem) || s->k % QMM_UNIT_VALUES || target->cuda.capability < 90 ||
	    blocks > tcb_most(target->cuda.sm_count, 1))
		return;
	out->knob[TCB_KNOB_SPLITK] = 2;
	out->knob[TCB_KNOB_JOIN] = TCB_JOIN_CLUSTER;
	if (out->knob[TCB_KNOB_STAGES] > units / 2)
		out->knob[TCB_KNOB_STAGES] = units / 2;
	out->knob[TCB_KNOB_LEAD] = out->knob[TCB_KNOB_STAGES];
	if (out->knob[TCB_KNOB_ISA] == TCB_ISA_MMA && out->knob[TCB_KNOB_XSTAGES] > 1)
		out->knob[TCB_KNOB_XSTAGES] = out->knob[TCB_KNOB_STAGES];
}

/* Contract f16 of more than 16 tokens with wgmma: as many tokens as leave all SMs a block, at most 128, since each sum
 * has another one beside it; 0: not so. */
static int bits_streamed(const struct tcb_problem *problem, const struct tcb_target *target, struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t sms = tcb_most(target->cuda.sm_count, 1), rows = tcb_div_up(s->n, 4 * QMM_UNIT_ROWS);
	struct tcb_geometry g = *out;
	struct qmm_gpu plan;
	size_t tokens = tcb_least(tcb_power_of_two_up(s->m), 128);
	if (!tcb_target_has(target, TCB_ISA_WGMMA) || problem->contract == TCB_CONTRACT_Q8 || x_terms_of(problem) > 1 ||
	    s->k % QMM_UNIT_VALUES || s->m <= 16 || s->n < 1024 || qmm_units_along_k(s->k) < 4)
		return 0;
	while (tokens > 32 && rows * tcb_div_up(s->m, tokens) < sms)
		tokens /= 2;
	set_streamed(problem, tokens, &g);
	join_halves(problem, target, &g);
	qmm_gpu_plan(problem, target, &g, &plan);
	if (plan.shared_bytes > tcb_shared_limit(target))
		return 0;
	*out = g;
	return 1;
}

/* The default in that order: a ring of weights for each warp and all activations of a few tokens in shared memory; of
 * more, or where K is too long for that, rings of both. */
static void bits_default(const struct tcb_problem *problem, const struct tcb_target *target, struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t units = qmm_units_along_k(s->k), rows = tcb_power_of_two_up(s->n);
	const size_t warps = tcb_most(tcb_least(rows / QMM_UNIT_ROWS, DEFAULT_WARPS), 1);
	const int has_rings = target->cuda.capability >= 80 && s->k % QMM_UNIT_VALUES == 0;
	struct qmm_gpu plan;
	size_t tokens = tcb_most(tcb_least(tcb_power_of_two_up(s->m), STREAMED_TOKENS), QMM_GROUP_TOKENS);
	if (s->k % QMM_UNIT_VALUES)
		tokens = QMM_GROUP_TOKENS;
	out->knob[TCB_KNOB_ISA] = TCB_ISA_MMA;
	out->knob[TCB_KNOB_KSPLIT] = 1;
	out->knob[TCB_KNOB_WARPS] = (int32_t)warps;
	if (problem->contract == TCB_CONTRACT_Q8)
		out->knob[TCB_KNOB_GROUP] = 32;
	out->knob[TCB_KNOB_CLUSTER] = out->knob[TCB_KNOB_OCC] = out->knob[TCB_KNOB_UNROLL] = 1;
	out->knob[TCB_KNOB_BLOCKS] = 0;
	if (bits_streamed(problem, target, out))
		return;
	for (; tokens >= QMM_GROUP_TOKENS; tokens /= 2)
		for (int is_ring = s->m > QMM_GROUP_TOKENS && has_rings; is_ring <= has_rings; is_ring++) {
			const int stages = has_rings ? (int)tcb_least(units, is_ring ? STREAMED_STAGES : 4) : 1;
			set_tiles(problem, tokens, warps, out);
			out->knob[TCB_KNOB_SPLITK] = 1;
			out->knob[TCB_KNOB_JOIN] = TCB_JOIN_NONE;
			out->knob[TCB_KNOB_COPY] = is_ring                         ? TCB_COPY_ASYNC
						   : target->cuda.capability >= 90 ? TCB_COPY_BULK
										   : TCB_COPY_LDG;
			out->knob[TCB_KNOB_PREP] = is_ring ? TCB_PREP_LAUNCH : TCB_PREP_BLOCK;
			out->knob[TCB_KNOB_PDL] = target->cuda.capability >= 90;
			out->knob[TCB_KNOB_STAGES] = out->knob[TCB_KNOB_COPY] == TCB_COPY_LDG ? 1 : stages;
			out->knob[TCB_KNOB_XSTAGES] = is_ring ? stages : 1;
			out->knob[TCB_KNOB_LEAD] = out->knob[TCB_KNOB_STAGES];
			join_halves(problem, target, out);
			qmm_gpu_plan(problem, target, out, &plan);
			if (plan.shared_bytes <= tcb_shared_limit(target))
				return;
		}
}

/*
 * A warp 16 rows of weights straight to registers, the activations prepared by each block; the reduction is split over
 * blocks only where these do not fit in shared memory.  Contract q8 streams them where there are many.
 */
static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t units = qmm_units_along_k(s->k), rows = tcb_power_of_two_up(s->n);
	const size_t table =
		tcb_is_expanded(problem->op->format->id) ? tcb_piece_table_bytes(problem->op->format->id, 0) : 0;
	const size_t room = tcb_shared_limit(target) - 16 * 1024 - table;
	size_t tokens = tcb_power_of_two_up(s->m), warps = rows / QMM_UNIT_ROWS, splitk = 1;
	tokens = tokens < QMM_GROUP_TOKENS ? QMM_GROUP_TOKENS : tokens > DEFAULT_TOKENS ? DEFAULT_TOKENS : tokens;
	warps = warps < 1 ? 1 : warps > DEFAULT_WARPS ? DEFAULT_WARPS : warps;
	if (s->k % QMM_UNIT_VALUES)
		tokens = QMM_GROUP_TOKENS;
	else
		while (splitk < units && splitk < GRID_YZ_MAX &&
		       (units % splitk || units / splitk * tokens * QMM_UNIT_VALUES * 2 * x_terms_of(problem) > room))
			splitk++;
	tcb_geometry_init(out);
	set_tiles(problem, tokens, warps, out);
	out->knob[TCB_KNOB_ISA] = TCB_ISA_MMA;
	out->knob[TCB_KNOB_LAYOUT] = TCB_LAYOUT_F;
	if (problem->contract == TCB_CONTRACT_Q8) {
		out->knob[TCB_KNOB_LAYOUT] = TCB_LAYOUT_G;
		out->knob[TCB_KNOB_GROUP] = 32;
	}
	out->knob[TCB_KNOB_UNROLL] = 1;
	out->knob[TCB_KNOB_WARPS] = (int32_t)warps;
	out->knob[TCB_KNOB_STAGES] = 1;
	out->knob[TCB_KNOB_SPLITK] = (int32_t)splitk;
	out->knob[TCB_KNOB_KSPLIT] = 1;
	out->knob[TCB_KNOB_COPY] = TCB_COPY_LDG;
	out->knob[TCB_KNOB_PREP] = TCB_PREP_BLOCK;
	out->knob[TCB_KNOB_LEAD] = 1;
	out->knob[TCB_KNOB_BLOCKS] = 0;
	out->knob[TCB_KNOB_PDL] = target->cuda.capability >= 90;
	out->knob[TCB_KNOB_OCC] = 1;
	out->knob[TCB_KNOB_JOIN] = splitk > 1 ? TCB_JOIN_LAST : TCB_JOIN_NONE;
	out->knob[TCB_KNOB_XSTAGES] = 1;
	out->knob[TCB_KNOB_CLUSTER] = 1;
	terms_default(problem, target, out);
	stream_default(problem, target, out);
	piece_default(problem, target, out);
	many_default(problem, target, out);
	few_default(problem, target, out);
	narrow_default(problem, target, out);
	if (s->words.bits)
		bits_default(problem, target, out);
}

const struct tcb_side_space qmm_gpu_space = {
	qmm_gpu_rules, axes, default_geometry, qmm_gpu_footprint, .family = "quant_matmul", .reorders = reorders
};
