/* SPDX-License-Identifier: MIT
 *
 * The rules (V4) that a geometry of a quantised matvec keeps on a GPU so that a
 * kernel can be written for it and no two legal ones are the same computation,
 * and the policies that leave of a space what is worth while.
 */
#include "base/sizes.h"
#include "kernels/constraint.h"
#include "kernels/gpu/gpu_rules.h"
#include "kernels/quant_matvec/quant_matvec.h"
#include "kernels/quant_matvec/quant_matvec_gpu.h"
#include "kernels/quant_matvec/quant_matvec_gpu_plan.h"

enum { CHUNK = 16 };

static int is_mma(const struct tcb_geometry *geometry)
{
	return geometry->knob[TCB_KNOB_ISA] == TCB_ISA_MMA;
}

/* Superblocks of a row. */
static unsigned blocks_of(const struct tcb_problem *problem)
{
	return (unsigned)((problem->shape.k + QMV_VALUES - 1) / QMV_VALUES);
}

/* Superblocks that a warp takes at once. */
static unsigned step_of(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	const unsigned step = WARP * KNOB(VEC) / qmv_span(qmv_format(problem));
	return step && !is_mma(geometry) ? step : 1;
}

RULE(rule_isa)
{
	const int32_t isa = geometry->knob[TCB_KNOB_ISA];
	if (problem->contract == TCB_CONTRACT_Q8 && isa != TCB_ISA_DP4A)
		return "isa must be dp4a under contract q8";
	if (problem->contract != TCB_CONTRACT_Q8 && isa != TCB_ISA_FMA && isa != TCB_ISA_MMA)
		return "isa must be fma or mma under contracts f32 and f16";
	if (isa == TCB_ISA_MMA && qmv_format(problem)->is_pieces)
		return "isa must be fma for formats whose codes are expanded";
	if (isa == TCB_ISA_MMA && qmv_has_values(qmv_format(problem)))
		return "isa must be fma for rows of values";
	if (isa == TCB_ISA_MMA && target->cuda.capability < 80)
		return "isa=mma needs sm_80";
	return tcb_gpu_rule_isa(problem, target, geometry);
}

RULE(rule_layout)
{
	const struct qmv_format *f = qmv_format(problem);
	const int32_t layout = geometry->knob[TCB_KNOB_LAYOUT];
	if ((layout == TCB_LAYOUT_F) != is_mma(geometry))
		return "layout must be f with isa=mma, and only then";
	if (layout == TCB_LAYOUT_F)
		return geometry->knob[TCB_KNOB_VEC] == 16 ? NULL : "vec must be 16 with isa=mma";
	if (qmv_is_float(f) && layout != (problem->shape.k % QMV_VALUES ? TCB_LAYOUT_P : TCB_LAYOUT_NATIVE))
		return "layout must be native for rows of values, or p where K is not a multiple of 256";
	if (f->is_pieces && layout != TCB_LAYOUT_P)
		return "layout must be p for formats whose codes are expanded";
	if (f->is_packed && layout != TCB_LAYOUT_P)
		return "layout must be p, or f with isa=mma: blocks as stored are not aligned, and in order";
	if (f->block && layout != TCB_LAYOUT_NATIVE && layout != TCB_LAYOUT_P)
		return "layout must be native or p on a GPU: blocks of 32 values are in order as they are";
	if (layout != TCB_LAYOUT_NATIVE && layout != TCB_LAYOUT_P && layout != TCB_LAYOUT_S)
		return "layout must be native, p or s on a GPU";
	if (layout == TCB_LAYOUT_NATIVE && problem->shape.k % QMV_VALUES)
		return "layout must be p where K is not a multiple of 256: rows are filled up";
	if (layout == TCB_LAYOUT_NATIVE && f->scales == QMV_SCALES_BYTES && geometry->knob[TCB_KNOB_VEC] == 4)
		return "vec must be 8 or 16 with layout=native: blocks alternate between two alignments";
	return NULL;
}

RULE(rule_tiles)
{
	const struct tcb_tile *macro = &geometry->tile[TCB_MACRO], *midi = &geometry->tile[TCB_MIDI];
	const struct tcb_tile *micro = &geometry->tile[TCB_MICRO];
	const int is_gated = qmv_kind(problem)->is_gated;
	if (micro->m == 1 && (macro->m != 1 || midi->m != 1))
		return "macro.m and midi.m must be 1 with micro.m=1: each token is a product of its own";
	if (midi->m != micro->m || macro->m != qmv_tile_tokens(micro->m, problem->shape.m))
		return "midi.m must be micro.m, and macro.m all tokens, rounded up to a power of two, with micro.m "
		       "above 1";
	if (micro->m > QMV_GPU_TOKENS_MAX || (micro->m & (micro->m - 1)))
		return "micro.m must be 1, 2, 4 or 8";
	if (micro->m > 1 && is_mma(geometry))
		return "micro.m must be 1 with isa=mma";
	if (micro->m > 1 && (micro->n << is_gated) * micro->m > qmv_gpu_sums_most(problem->contract))
		return "micro.m by micro.n must be at most 8, or 16 under contract q8: a lane has a sum for each, and "
		       "for gate and up apart";
	if (is_mma(geometry) && micro->n != (size_t)(QMV_TILE_ROWS >> is_gated))
		return is_gated ? "micro.n must be 8 with isa=mma: tiles of 8 rows of gate and 8 of up"
				: "micro.n must be 16 with isa=mma";
	if (!is_mma(geometry) && (micro->n > (size_t)(QMV_GPU_ROWS_MAX >> is_gated) || (micro->n & (micro->n - 1))))
		return is_gated ? "micro.n must be 1, 2 or 4: as many rows of gate and of up"
				: "micro.n must be 1, 2, 4 or 8";
	return NULL;
}

/* The kernel knows none of these tiles; rows past the end are left out. */
RULE(rule_whole)
{
	const size_t n = problem->shape.n, k = problem->shape.k;
	if (geometry->tile[TCB_MACRO].k != k || geometry->tile[TCB_MIDI].k != k ||
	    geometry->tile[TCB_MICRO].k != qmv_gpu_micro_k(problem))
		return "macro.k and midi.k must be the problem's K, micro.k 256, or a block's values where that does "
		       "not "
		       "divide K: splitk, ksplit and vec cut k";
	if (geometry->tile[TCB_MICRO].n > n)
		return "micro.n is more than the rows that there are";
	if (geometry->tile[TCB_MACRO].n != tcb_power_of_two_up(n))
		return "macro.n must be the problem's N, rounded up to a power of two: the grid has all rows";
	return NULL;
}

RULE(rule_idle)
{
	const uint64_t set = KNOB_BIT(ISA) | KNOB_BIT(LAYOUT) | KNOB_BIT(UNROLL) | KNOB_BIT(WARPS) | KNOB_BIT(VEC) |
			     KNOB_BIT(STAGES) | KNOB_BIT(SPLITK) | KNOB_BIT(KSPLIT) | KNOB_BIT(COPY) | KNOB_BIT(XIN) |
			     KNOB_BIT(GROUP) | KNOB_BIT(PREP) | KNOB_BIT(LEAD) | KNOB_BIT(BLOCKS) | KNOB_BIT(PDL) |
			     KNOB_BIT(OCC);
	return tcb_gpu_sets_knobs(geometry, set, KNOB_BIT(JOIN)) /* rule_resident */
		       ? NULL
		       : "a GPU's geometry sets isa, layout, unroll, warps, vec, stages, splitk, ksplit, copy, xin, "
			 "group, prep, lead, blocks, pdl and occ, where blocks that stay share rows join, and no other "
			 "knob";
}

RULE(rule_warps)
{
	const unsigned warps = KNOB(WARPS), ksplit = KNOB(KSPLIT);
	if (warps < 1 || warps > WARPS_MAX)
		return "warps must be 1 to 32";
	if (ksplit < 1 || warps % ksplit)
		return "ksplit must divide warps";
	if (geometry->tile[TCB_MIDI].n != warps / ksplit * geometry->tile[TCB_MICRO].n)
		return "midi.n must be micro.n times warps / ksplit";
	return NULL;
}

RULE(rule_vec)
{
	const unsigned vec = KNOB(VEC);
	if (qmv_is_float(qmv_format(problem)) && vec != QMV_FLOAT_VALUES)
		return "vec must be 8 for rows of values: as many are a lane's";
	if (qmv_format(problem)->is_pieces && vec != 16)
		return "vec must be 16 where codes are expanded: a lane has 32 values";
	if (vec == 4 && qmv_format(problem)->bytes[QMV_CODES] > 128)
		return "vec must be 8 or 16 where codes are bytes: a warp has no more lanes";
	return vec == 4 || vec == 8 || vec == 16 ? NULL : "vec must be 4, 8 or 16";
}

RULE(rule_k)
{
	const unsigned splitk = KNOB(SPLITK), ksplit = KNOB(KSPLIT);
	const unsigned blocks = blocks_of(problem);
	if (splitk < 1 || blocks % splitk)
		return "splitk must divide the superblocks of a row";
	if (ksplit < 1 || blocks / splitk % ksplit)
		return "ksplit must divide the superblocks of a slice";
	return NULL;
}

/* The narrowest access to codes. */
static unsigned least_vec(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	const struct qmv_format *f = qmv_format(problem);
	if (f->is_pieces)
		return 16;
	if (qmv_is_float(f))
		return QMV_FLOAT_VALUES;
	if (f->bytes[QMV_CODES] > 128) /* narrower ones would have to share superblocks between warps */
		return 8;
	return f->scales == QMV_SCALES_BYTES && geometry->knob[TCB_KNOB_LAYOUT] == TCB_LAYOUT_NATIVE ? 8 : 4;
}

RULE(rule_share)
{
	const unsigned share = blocks_of(problem) / KNOB(SPLITK) / KNOB(KSPLIT), step = step_of(problem, geometry);
	return KNOB(VEC) != least_vec(problem, geometry) && step > 1 && share <= step / 2
		       ? "a warp's share of k leaves half of its lanes idle: a smaller vec"
		       : NULL;
}

RULE(rule_steps)
{
	const unsigned splitk = KNOB(SPLITK), ksplit = KNOB(KSPLIT);
	const unsigned unroll = KNOB(UNROLL), step = step_of(problem, geometry);
	const unsigned share = blocks_of(problem) / splitk / ksplit, steps = tcb_div_up(share, step);
	const unsigned most = steps < QMV_GPU_STEPS_MAX ? steps : QMV_GPU_STEPS_MAX;
	if (unroll < 1 || unroll > most)
		return "unroll must be at most the steps that a warp takes along k, and at most 16";
	/* Expanded formats have one vec, so that the last step, which is partial, must not be in the way. */
	const unsigned whole = qmv_format(problem)->is_pieces && KNOB(COPY) == TCB_COPY_LDG ? share / step : steps;
	if (unroll < steps && (whole % unroll || (share % step && whole == steps)))
		return "unroll must divide the steps that a warp takes along k, or be all of them";
	return NULL;
}

RULE(rule_copy)
{
	const unsigned copy = KNOB(COPY), stages = KNOB(STAGES);
	const unsigned lead = KNOB(LEAD);
	if (copy == TCB_COPY_LDG && stages != 1)
		return "stages must be 1 with copy=ldg: weights go to registers";
	if (copy != TCB_COPY_LDG && (stages < 2 || stages > QMV_GPU_STAGES_MAX))
		return "stages must be 2 to 8 with copy=async and copy=bulk";
	if (lead > stages)
		return "lead must be at most stages";
	return tcb_gpu_rule_copy(problem, target, geometry);
}

/* Copies go by 16 bytes.  Of d of Q6_K in a plane of its own, 16 bytes around a warp's share come along. */
RULE(rule_copied)
{
	const struct qmv_format *f = qmv_format(problem);
	const unsigned blocks = blocks_of(problem);
	const unsigned parts = KNOB(SPLITK) * KNOB(KSPLIT);
	for (unsigned part = 0; KNOB(COPY) != TCB_COPY_LDG && f->is_pieces && part < QMV_PARTS; part++)
		if (blocks * f->bytes[part] % CHUNK)
			return "copy must be ldg where rows of a part begin anywhere: K is not a multiple of 2048";
	if (KNOB(COPY) != TCB_COPY_LDG && (f->table || f->scales == QMV_SCALES_FLOATS) && !is_mma(geometry) &&
	    blocks % (f->bytes[QMV_D] ? 8 : 2))
		return "copy must be ldg where rows of scales begin anywhere: K no multiple of 2048, or 512 without d";
	if (KNOB(COPY) == TCB_COPY_LDG || f->scales != QMV_SCALES_BYTES || is_mma(geometry))
		return NULL;
	if (blocks % (CHUNK / f->bytes[QMV_D]))
		return "copy must be ldg where K is not a multiple of 2048: rows of Q6_K begin anywhere";
	if (geometry->knob[TCB_KNOB_LAYOUT] == TCB_LAYOUT_NATIVE && parts && blocks / parts % (CHUNK / 2))
		return "ksplit must leave each warp multiples of 8 blocks with layout=native and copy=async or bulk";
	return NULL;
}

RULE(rule_resident)
{
	const unsigned copy = KNOB(COPY), resident = KNOB(BLOCKS);
	if (resident > 16)
		return "blocks must be at most 16";
	if (copy != TCB_COPY_LDG && !resident)
		return "blocks must be 1 or more with copy=async and copy=bulk";
	const int is_joined = geometry->knob[TCB_KNOB_JOIN] != TCB_KNOB_UNSET;
	if (is_joined != (resident && KNOB(SPLITK) != 1))
		return "join must be cluster with splitk above 1 and blocks above 0, and only then";
	if (!is_joined)
		return NULL;
	if (geometry->knob[TCB_KNOB_JOIN] != TCB_JOIN_CLUSTER)
		return "join must be cluster";
	if (target->cuda.capability < 90)
		return "join=cluster needs sm_90";
	return KNOB(SPLITK) > CLUSTER_MAX ? "join=cluster takes 8 blocks at most" : NULL;
}

RULE(rule_xin)
{
	const unsigned splitk = KNOB(SPLITK), ksplit = KNOB(KSPLIT);
	const unsigned resident = KNOB(BLOCKS), step = step_of(problem, geometry);
	const unsigned steps = tcb_div_up(blocks_of(problem) / splitk / ksplit, step);
	const int in_regs = geometry->knob[TCB_KNOB_XIN] == TCB_XIN_REGS;
	const int is_ring = KNOB(COPY) != TCB_COPY_LDG;
	if (is_mma(geometry) && in_regs)
		return "xin must be shared with isa=mma";
	if (geometry->tile[TCB_MICRO].m > 1 && (in_regs || is_ring))
		return "xin must be shared and copy ldg with micro.m above 1";
	if (!resident && in_regs)
		return "xin must be shared with blocks=0: each activation is used once";
	if (KNOB(COPY) != TCB_COPY_LDG && !in_regs && !is_mma(geometry))
		return "xin must be regs with copy=async and copy=bulk";
	if (resident && KNOB(UNROLL) != steps && !(is_mma(geometry) && is_ring))
		return "unroll must be all steps along k with blocks above 0: what stays is in registers";
	if (is_mma(geometry) && KNOB(COPY) == TCB_COPY_ASYNC && steps > 4)
		return "a warp must take at most 4 steps along k with isa=mma and copy=async: registers would spill";
	if (is_ring && steps > QMV_GPU_STEPS_MAX)
		return "a warp must take at most 16 steps along k with copy=async and copy=bulk";
	return NULL;
}

RULE(rule_activations)
{
	const unsigned group = KNOB(GROUP);
	if (group != 256 && (problem->contract != TCB_CONTRACT_Q8 || group != 32))
		return "group must be 32 or 256 under contract q8, else 256";
	if (problem->contract == TCB_CONTRACT_Q8 && group > tcb_quant_group(problem->op->format))
		return "group must be 32 where weights' blocks are of 32 values";
	if (geometry->knob[TCB_KNOB_PREP] == TCB_PREP_WARPS)
		return "prep must be block or launch";
	if (geometry->tile[TCB_MICRO].m > 1 && (geometry->knob[TCB_KNOB_PREP] == TCB_PREP_LAUNCH || KNOB(SPLITK) != 1))
		return "prep must be block and splitk 1 with micro.m above 1";
	if (geometry->knob[TCB_KNOB_PREP] == TCB_PREP_LAUNCH && KNOB(SPLITK) != 1)
		return "splitk must be 1 with prep=launch";
	return NULL;
}

RULE(rule_pdl)
{
	const unsigned pdl = KNOB(PDL);
	if (pdl > TCB_PDL_BESIDE)
		return "pdl must be 0 to 3";
	if (pdl > 1 && geometry->knob[TCB_KNOB_PREP] != TCB_PREP_BLOCK)
		return "prep must be block with pdl=2 and pdl=3, which are orders among calls, not among launches";
	if (pdl > 1 && KNOB(SPLITK) != 1 && geometry->knob[TCB_KNOB_JOIN] != TCB_JOIN_CLUSTER)
		return "splitk must be 1 with pdl=2 and pdl=3, or joined in clusters";
	return pdl && target->cuda.capability < 90 ? "pdl=1 needs sm_90" : NULL;
}

/* Tiles that a warp's part of a group of rows comes in. */
static size_t chunks_of(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	const unsigned parts = KNOB(SPLITK) * KNOB(KSPLIT);
	const unsigned unroll = KNOB(UNROLL);
	const unsigned steps = parts ? tcb_div_up(blocks_of(problem) / parts, step_of(problem, geometry)) : 1;
	return unroll && unroll < steps ? steps / unroll : 1;
}

/* A resident block that gets no second round does what a block per tile does; slots beyond a warp's rounds stay empty.
 */
RULE(policy_rounds)
{
	const unsigned resident = KNOB(BLOCKS), stages = KNOB(STAGES);
	const size_t sms = target->cuda.sm_count ? target->cuda.sm_count : 1;
	const size_t at_once =
		resident * sms / KNOB(SPLITK) * (KNOB(WARPS) / KNOB(KSPLIT)) * geometry->tile[TCB_MICRO].n;
	if (!resident)
		return NULL;
	if (problem->shape.n <= at_once)
		return "so many blocks stay that each has one round of rows: blocks=0 does the same";
	if (problem->shape.n * chunks_of(problem, geometry) <= at_once * (stages - 1))
		return "more stages than rounds of rows that a block has";
	return NULL;
}

/* Superblocks at once with 16-byte accesses. */
static unsigned step_of_16(const struct tcb_problem *problem)
{
	return WARP * 16 / qmv_span(qmv_format(problem));
}

/* Tiles of more tokens than there are. */
RULE(policy_tokens)
{
	const size_t tokens = geometry->tile[TCB_MICRO].m;
	return tokens > tcb_power_of_two_up(problem->shape.m) ? "tiles of more tokens than there are" : NULL;
}

/*
 * The default space is what is at most one step away from what was found good on an H200 (2,500 of the 112,200 other
 * geometries of each of four shapes were measured): one knob may have an unusual value.
 */
RULE(policy_usual)
{
	const int32_t *of = geometry->knob;
	const unsigned warps = KNOB(WARPS), vec = KNOB(VEC);
	const unsigned share = blocks_of(problem) / KNOB(SPLITK) / KNOB(KSPLIT);
	const unsigned resident = KNOB(BLOCKS);
	const size_t tokens = tcb_power_of_two_up(problem->shape.m);
	unsigned unusual = 0;
	unusual += vec != 16 &&
		   share * 4 >= 3 * step_of_16(problem); /* narrower ones where 16 bytes would leave lanes idle */
	/* Joined pairs read half of the activations each; behind a norm all of them are read for their squares. */
	unusual += of[TCB_KNOB_SPLITK] != 1 &&
		   (of[TCB_KNOB_SPLITK] != 2 || resident != 1 || of[TCB_KNOB_COPY] != TCB_COPY_BULK || vec != 16 ||
		    qmv_kind(problem)->has_norm);
	unusual += geometry->tile[TCB_MICRO].m < tokens && geometry->tile[TCB_MICRO].m < QMV_GPU_TOKENS_MAX;
	unusual += of[TCB_KNOB_PREP] != TCB_PREP_BLOCK;
	unusual += problem->contract == TCB_CONTRACT_Q8 && of[TCB_KNOB_GROUP] != 32;
	unusual += of[TCB_KNOB_STAGES] > 4;
	unusual += of[TCB_KNOB_KSPLIT] > (is_mma(geometry) ? 16 : 8);
	unusual += geometry->tile[TCB_MICRO].n > 2 && !is_mma(geometry);
	unusual += warps < 8 || warps > 16;
	unusual += resident > 2;
	unusual += of[TCB_KNOB_PDL] != 1 && target->cuda.capability >= 90;
	if (of[TCB_KNOB_COPY] == TCB_COPY_LDG) {
		unusual += (unsigned)of[TCB_KNOB_UNROLL] != tcb_div_up(share, step_of(problem, geometry));
		unusual += of[TCB_KNOB_LEAD] == 0;
		unusual += resident && of[TCB_KNOB_XIN] != TCB_XIN_REGS && !is_mma(geometry) &&
			   geometry->tile[TCB_MICRO].m == 1;
		unusual += !resident && of[TCB_KNOB_OCC] * (int32_t)warps != 32;
	} else {
		unusual += of[TCB_KNOB_LEAD] == 0;
	}
	return tcb_gpu_unusual(unusual, problem, target, geometry);
}

#define READS_STEPS                                                                                    \
	(TCB_FIELD_KNOB(ISA) | TCB_FIELD_KNOB(SPLITK) | TCB_FIELD_KNOB(KSPLIT) | TCB_FIELD_KNOB(VEC) | \
	 TCB_FIELD_KNOB(UNROLL))

const struct tcb_rule qmv_gpu_rules[] = {
	{ 0, 0, rule_idle },
	{ TCB_FIELD_KNOB(ISA), 0, tcb_gpu_rule_shape },
	{ TCB_FIELD_KNOB(ISA), 0, rule_isa },
	{ TCB_FIELD_KNOB(ISA) | TCB_FIELD_KNOB(LAYOUT) | TCB_FIELD_KNOB(VEC), 0, rule_layout },
	{ TCB_FIELD_KNOB(ISA) | TCB_FIELD_TILES, 0, rule_tiles },
	{ TCB_FIELD_TILES, TCB_RULE_DOUBLE, rule_whole },
	{ TCB_FIELD_KNOB(WARPS) | TCB_FIELD_KNOB(KSPLIT) | TCB_FIELD_MICRO_N | TCB_FIELD_MIDI_N, 0, rule_warps },
	{ TCB_FIELD_KNOB(VEC), 0, rule_vec },
	{ TCB_FIELD_KNOB(SPLITK) | TCB_FIELD_KNOB(KSPLIT), 0, rule_k },
	{ READS_STEPS | TCB_FIELD_KNOB(LAYOUT), TCB_RULE_DOUBLE, rule_share },
	{ READS_STEPS | TCB_FIELD_KNOB(COPY), 0, rule_steps },
	{ TCB_FIELD_KNOB(COPY) | TCB_FIELD_KNOB(STAGES) | TCB_FIELD_KNOB(LEAD), 0, rule_copy },
	{ TCB_FIELD_KNOB(ISA) | TCB_FIELD_KNOB(COPY) | TCB_FIELD_KNOB(LAYOUT) | TCB_FIELD_KNOB(SPLITK) |
		  TCB_FIELD_KNOB(KSPLIT),
	  0, rule_copied },
	{ TCB_FIELD_KNOB(COPY) | TCB_FIELD_KNOB(BLOCKS) | TCB_FIELD_KNOB(SPLITK) | TCB_FIELD_KNOB(JOIN), 0,
	  rule_resident },
	{ TCB_FIELD_KNOB(OCC) | TCB_FIELD_KNOB(BLOCKS) | TCB_FIELD_KNOB(WARPS), 0, tcb_gpu_rule_occ },
	{ READS_STEPS | TCB_FIELD_KNOB(BLOCKS) | TCB_FIELD_KNOB(XIN) | TCB_FIELD_KNOB(COPY) | TCB_FIELD_MICRO_M, 0,
	  rule_xin },
	{ TCB_FIELD_KNOB(GROUP) | TCB_FIELD_KNOB(PREP) | TCB_FIELD_KNOB(SPLITK) | TCB_FIELD_MICRO_M, 0,
	  rule_activations },
	{ TCB_FIELD_KNOB(PDL) | TCB_FIELD_KNOB(PREP) | TCB_FIELD_KNOB(SPLITK) | TCB_FIELD_KNOB(JOIN), 0, rule_pdl },
	{ READS_STEPS | TCB_FIELD_KNOB(BLOCKS) | TCB_FIELD_KNOB(STAGES) | TCB_FIELD_KNOB(WARPS) | TCB_FIELD_MICRO_N, 1,
	  policy_rounds },
	{ TCB_FIELD_MICRO_M, 1, policy_tokens },
	{ 0, 1, policy_usual },
	{ 0, 0, NULL },
};
