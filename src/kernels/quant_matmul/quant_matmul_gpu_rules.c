/* SPDX-License-Identifier: MIT
 *
 * Rules (V4) that a geometry of a quantised matmul on a GPU keeps so that a kernel can be written for it and no two
 * legal ones are the same computation, and policies that leave of these what is worth while.
 */
#include "base/sizes.h"
#include "kernels/constraint.h"
#include "kernels/gpu/gpu_rules.h"
#include "kernels/gpu/pieces_gpu.h"
#include "kernels/quant.h"
#include "kernels/quant_matmul/quant_matmul_gpu.h"
#include "kernels/quant_matmul/quant_matmul_gpu_plan.h"

enum { UNROLL_MAX = 8 };

static int is_wgmma(const struct tcb_geometry *geometry)
{
	return geometry->knob[TCB_KNOB_ISA] == TCB_ISA_WGMMA;
}

static int is_streamed(const struct tcb_geometry *geometry)
{
	return geometry->knob[TCB_KNOB_XSTAGES] > 1;
}

/* Streamed blocks that stay have equal runs of units. */
static int is_dealt(const struct tcb_geometry *geometry)
{
	return is_streamed(geometry) && is_wgmma(geometry) && KNOB(BLOCKS) > 0;
}

static int is_power(size_t value)
{
	return value && !(value & (value - 1));
}

const char *qmm_gpu_rule_isa(const struct tcb_problem *problem, const struct tcb_target *target,
			     const struct tcb_geometry *geometry)
{
	const int32_t isa = geometry->knob[TCB_KNOB_ISA];
	struct qmm_unit unit;
	qmm_unit_of(problem->op->format->id, &unit);
	if (problem->contract == TCB_CONTRACT_F32 && unit.x_terms == 1)
		return "the contract must be f16 or q8 on a GPU, f32 for rows of BF16 and F32";
	if (isa != TCB_ISA_MMA && isa != TCB_ISA_WGMMA)
		return "isa must be mma or wgmma on a GPU";
	if (unit.x_terms > 1 && target->cuda.capability < 80)
		return "a product with rows of BF16 or F32 needs sm_80";
	if (unit.terms > 1 && isa != TCB_ISA_MMA)
		return "isa must be mma for rows of F32";
	if (isa != TCB_ISA_MMA && problem->contract == TCB_CONTRACT_Q8)
		return "isa must be mma under contract q8 on a GPU";
	return tcb_gpu_rule_isa(problem, target, geometry);
}

const char *qmm_gpu_rule_layout(const struct tcb_problem *problem, const struct tcb_target *target,
				const struct tcb_geometry *geometry)
{
	(void)target;
	const int32_t layout = geometry->knob[TCB_KNOB_LAYOUT];
	if (problem->contract == TCB_CONTRACT_Q8)
		return layout == TCB_LAYOUT_G ? NULL : "layout must be g under contract q8 on a GPU";
	return layout == TCB_LAYOUT_F ? NULL : "layout must be f under contracts f16 and f32 on a GPU";
}

const char *qmm_gpu_rule_group(const struct tcb_problem *problem, const struct tcb_target *target,
			       const struct tcb_geometry *geometry)
{
	(void)target;
	const int32_t group = geometry->knob[TCB_KNOB_GROUP];
	if (problem->contract != TCB_CONTRACT_Q8)
		return group == TCB_KNOB_UNSET ? NULL : "group has no effect but under contract q8";
	if (group != 32 && group != 256)
		return "group must be 32 or 256 under contract q8";
	if (group != 32 && tcb_is_expanded(problem->op->format->id))
		return "group must be 32 for formats whose codes are expanded";
	return (size_t)group > tcb_quant_group(problem->op->format)
		       ? "group must be 32 where weights' blocks are of 32 values"
		       : NULL;
}

/* The kernel knows none of these tiles. */
RULE(rule_whole)
{
	const struct tcb_tile *macro = &geometry->tile[TCB_MACRO], *midi = &geometry->tile[TCB_MIDI];
	const struct tcb_tile *micro = &geometry->tile[TCB_MICRO];
	const struct tcb_shape *s = &problem->shape;
	const size_t rows = tcb_power_of_two_up(s->n), tokens = tcb_power_of_two_up(s->m);
	if (macro->k != s->k || midi->k != s->k)
		return "macro.k and midi.k must be the problem's K: splitk and ksplit cut it";
	if (micro->k != (s->k % QMM_UNIT_VALUES ? problem->op->format->block_values : QMM_UNIT_VALUES))
		return "micro.k must be 256, or the format's block where 256 does not divide K";
	if (macro->m != (tokens > midi->m ? tokens : midi->m))
		return "macro.m must be the problem's M, rounded up to a power of two and to midi.m: the grid has all";
	if (macro->n != (rows > midi->n ? rows : midi->n))
		return "macro.n must be the problem's N, rounded up to a power of two and to midi.n: the grid has all";
	return NULL;
}

RULE(rule_tiles)
{
	const size_t tokens = geometry->tile[TCB_MICRO].m;
	return tokens != geometry->tile[TCB_MIDI].m || !is_power(tokens) || tokens < QMM_GROUP_TOKENS
		       ? "micro.m must be 8 or more, a power of two, and midi.m as much"
		       : NULL;
}

RULE(rule_micro)
{
	const struct tcb_tile *micro = &geometry->tile[TCB_MICRO];
	if (is_wgmma(geometry))
		return micro->n != 64 && micro->n != 128 ? "micro.n must be 64 or 128 with isa=wgmma"
		       : micro->m > QMM_TOKENS_MAX       ? "micro.m must be at most 256 with isa=wgmma"
							 : NULL;
	return micro->n != 16 && micro->n != 32 && micro->n != 64 ? "micro.n must be 16, 32 or 64 with isa=mma"
	       : micro->m > 64                                    ? "micro.m must be at most 64 with isa=mma"
								  : NULL;
}

RULE(rule_idle)
{
	const uint64_t set = KNOB_BIT(ISA) | KNOB_BIT(LAYOUT) | KNOB_BIT(UNROLL) | KNOB_BIT(WARPS) | KNOB_BIT(STAGES) |
			     KNOB_BIT(SPLITK) | KNOB_BIT(KSPLIT) | KNOB_BIT(COPY) | KNOB_BIT(PREP) | KNOB_BIT(LEAD) |
			     KNOB_BIT(BLOCKS) | KNOB_BIT(PDL) | KNOB_BIT(OCC) | KNOB_BIT(JOIN) | KNOB_BIT(XSTAGES) |
			     KNOB_BIT(CLUSTER);
	return tcb_gpu_sets_knobs(geometry, set, KNOB_BIT(GROUP)) /* qmm_gpu_rule_group */
		       ? NULL
		       : "a GPU's geometry sets isa, layout, unroll, warps, stages, splitk, ksplit, copy, prep, lead, "
			 "blocks, pdl, occ, join, xstages and cluster, and no other knob";
}

RULE(rule_warps)
{
	const unsigned warps = KNOB(WARPS), ksplit = KNOB(KSPLIT);
	const unsigned of_group = (is_wgmma(geometry) ? 4 : 1) * (ksplit ? ksplit : 1);
	if (warps < 1 || warps > WARPS_MAX)
		return "warps must be 1 to 32";
	if (is_wgmma(geometry) && (warps % 4 || warps > 16))
		return "warps must be 4, 8, 12 or 16 with isa=wgmma";
	if (ksplit < 1 || warps % of_group)
		return "ksplit must divide warps, or groups of four warps with isa=wgmma";
	if (is_streamed(geometry) && ksplit != 1)
		return "ksplit must be 1 where xstages is more than 1";
	if (geometry->tile[TCB_MIDI].n != warps / of_group * geometry->tile[TCB_MICRO].n)
		return "midi.n must be micro.n times the groups of warps";
	return NULL;
}

RULE(rule_k)
{
	const unsigned splitk = KNOB(SPLITK), ksplit = KNOB(KSPLIT);
	const unsigned unroll = KNOB(UNROLL), units = (unsigned)qmm_units_along_k(problem->shape.k);
	if (splitk < 1 || units % splitk)
		return "splitk must divide the units of 256 along k";
	if (ksplit < 1 || units / splitk % ksplit)
		return "ksplit must divide the units of 256 of a slice";
	if (problem->shape.k % QMM_UNIT_VALUES && splitk > 1)
		return "splitk must be 1 where 256 does not divide K";
	if (unroll < 1 || unroll > UNROLL_MAX || units / splitk / ksplit % unroll)
		return "unroll must be at most 8 and divide the units that a warp takes along k";
	return NULL;
}

RULE(rule_join)
{
	const int32_t join = geometry->knob[TCB_KNOB_JOIN];
	const unsigned splitk = KNOB(SPLITK);
	if (splitk == 1 && is_dealt(geometry))
		return join == TCB_JOIN_LAST ? NULL : "join must be last where streamed blocks stay";
	if (splitk == 1)
		return join == TCB_JOIN_NONE ? NULL : "join must be none with splitk=1";
	if (join == TCB_JOIN_CLUSTER && target->cuda.capability < 90)
		return "join=cluster needs sm_90";
	if (join == TCB_JOIN_CLUSTER && splitk > CLUSTER_MAX)
		return "join=cluster takes 8 blocks at most";
	return join == TCB_JOIN_CLUSTER || join == TCB_JOIN_LAST ? NULL : "join must be cluster or last with splitk";
}

RULE(rule_copy)
{
	const unsigned copy = KNOB(COPY), stages = KNOB(STAGES);
	const unsigned lead = KNOB(LEAD), unroll = KNOB(UNROLL);
	if (copy == TCB_COPY_LDG && (stages != 1 || unroll != 1))
		return "stages and unroll must be 1 with copy=ldg: weights go to registers, a unit at a time";
	if (copy != TCB_COPY_LDG && (stages < 1 || stages > QMM_STAGES_MAX))
		return "stages must be 1 to 16";
	if (lead > stages)
		return "lead must be at most stages";
	if (is_wgmma(geometry) && copy != TCB_COPY_BULK)
		return "copy must be bulk with isa=wgmma";
	return tcb_gpu_rule_copy(problem, target, geometry);
}

/* Stages beyond a warp's tiles of weights stay empty. */
RULE(rule_stages)
{
	const unsigned stages = KNOB(STAGES), xstages = KNOB(XSTAGES);
	const unsigned slice = (unsigned)qmm_units_along_k(problem->shape.k) / KNOB(SPLITK);
	const unsigned tiles = slice / KNOB(KSPLIT) / KNOB(UNROLL);
	if (!KNOB(BLOCKS) && stages > tiles)
		return "more stages than tiles of weights that a warp has";
	if (xstages < 1 || xstages > QMM_STAGES_MAX || xstages > QMM_CHUNKS * stages)
		return "xstages must be 1 to 16, and at most 4 times stages";
	const int32_t prep = geometry->knob[TCB_KNOB_PREP];
	if (prep == TCB_PREP_GRID && geometry->knob[TCB_KNOB_COPY] != TCB_COPY_BULK)
		return "copy must be bulk with prep=grid";
	if (!is_streamed(geometry))
		return NULL;
	if (prep != TCB_PREP_LAUNCH && prep != TCB_PREP_GRID)
		return "xstages must be 1, activations stay, but with prep=launch or grid";
	if (!is_wgmma(geometry) && (geometry->knob[TCB_KNOB_COPY] != TCB_COPY_ASYNC || xstages != stages))
		return "xstages must be 1 with isa=mma, or as many as stages and copy async";
	if (stages == 1 && tiles > 1) /* a slot is free when the next tile's first product has begun */
		return "stages must be 2 or more where xstages is";
	if (KNOB(LEAD) != stages || KNOB(UNROLL) != 1)
		return "lead must be as many as stages and unroll 1 where xstages is more than 1";
	return NULL;
}

RULE(rule_beside)
{
	if (geometry->knob[TCB_KNOB_PREP] != TCB_PREP_WARPS)
		return NULL;
	if (geometry->knob[TCB_KNOB_COPY] != TCB_COPY_BULK)
		return "copy must be bulk with prep=warps";
	return geometry->tile[TCB_MIDI].m > QMM_BESIDE_WARPS * QMM_BESIDE_TOKENS
		       ? "midi.m must be at most 64 with prep=warps"
		       : NULL;
}

RULE(rule_resident)
{
	const unsigned copy = KNOB(COPY), resident = KNOB(BLOCKS);
	if (resident > 4)
		return "blocks must be at most 4";
	if (is_dealt(geometry)) {
		if (KNOB(SPLITK) != 1 || KNOB(CLUSTER) != 1)
			return "splitk and cluster must be 1 where streamed blocks stay: their shares are equal";
		return NULL;
	}
	if (resident && (copy == TCB_COPY_LDG || is_streamed(geometry)))
		return "blocks must be 0 with copy=ldg, and with isa=mma where xstages is more than 1";
	return NULL;
}

RULE(rule_cast)
{
	const unsigned cast = KNOB(CLUSTER);
	const unsigned splitk = geometry->knob[TCB_KNOB_JOIN] == TCB_JOIN_CLUSTER ? KNOB(SPLITK) : 1;
	if (!is_streamed(geometry) || !is_wgmma(geometry))
		return cast == 1 ? NULL : "cluster must be 1 where xstages is, and with isa=mma";
	if (cast != 1 && cast != 2 && cast != 4)
		return "cluster must be 1, 2 or 4";
	if (cast * splitk > CLUSTER_MAX)
		return "cluster times splitk blocks are more than the 8 of a cluster";
	if (geometry->tile[TCB_MIDI].m < cast * QMM_GROUP_TOKENS)
		return "cluster blocks share tiles of 8 tokens each at least";
	return cast > 1 && problem->shape.n <= geometry->tile[TCB_MIDI].n ? "cluster has no other block of rows" : NULL;
}

/* Each quarter of an SM has a quarter of its registers, for every fourth warp. */
RULE(rule_registers)
{
	struct qmm_gpu g;
	qmm_gpu_plan(problem, target, geometry, &g);
	if (g.is_dealt && g.by_grid && g.is_traded)
		return "no registers are left for warps that prepare: prep must be launch where blocks stay";
	if (g.beside && g.tokens > g.beside * QMM_BESIDE_TOKENS)
		return "registers are left for four warps that prepare: midi.m must be at most 32";
	return qmm_gpu_registers(&g) > (g.is_traded ? QMM_TRADE_TAKEN : qmm_registers_of(g.together * g.threads / WARP))
		       ? "every fourth warp's registers are more than a quarter of an SM's"
		       : NULL;
}

/* A resident block that gets no second round does what a block per tile does. */
RULE(policy_rounds)
{
	const size_t resident = KNOB(BLOCKS), sms = target->cuda.sm_count ? target->cuda.sm_count : 1;
	if (is_dealt(geometry)) /* tiles are cut */
		return NULL;
	const size_t tiles = (problem->shape.m + geometry->tile[TCB_MIDI].m - 1) / geometry->tile[TCB_MIDI].m;
	const size_t all = tiles * KNOB(SPLITK) *
			   ((problem->shape.n + geometry->tile[TCB_MIDI].n - 1) / geometry->tile[TCB_MIDI].n);
	if (resident && all <= resident * sms)
		return "so many blocks stay that each has one round of rows: blocks=0 does the same";
	return NULL;
}

/* Tokens: no tile of more than there are; of many, large ones. */
RULE(policy_tokens)
{
	const size_t tokens = tcb_power_of_two_up(problem->shape.m), tile = geometry->tile[TCB_MIDI].m;
	if (tile > QMM_GROUP_TOKENS && tile > tokens)
		return "tiles of more tokens than there are";
	return NULL;
}

/*
 * The default space is what is at most one step away from what reasoning, and an H200, found good: one knob may have an
 * unusual value.
 */
RULE(policy_usual)
{
	const int32_t *of = geometry->knob;
	const unsigned splitk = KNOB(SPLITK), occ = KNOB(OCC);
	const size_t tokens = geometry->tile[TCB_MIDI].m, m = tcb_power_of_two_up(problem->shape.m);
	const int is_modern = target->cuda.capability >= 90;
	unsigned unusual = 0;
	unusual += of[TCB_KNOB_PDL] == 0 && is_modern;
	unusual += of[TCB_KNOB_COPY] == TCB_COPY_LDG && target->cuda.capability >= 80;
	unusual += of[TCB_KNOB_LEAD] != of[TCB_KNOB_STAGES];
	unusual += of[TCB_KNOB_JOIN] == TCB_JOIN_LAST && is_modern && splitk <= CLUSTER_MAX && !is_dealt(geometry);
	unusual += occ > 1;
	unusual += of[TCB_KNOB_GROUP] == QMM_UNIT_VALUES;
	unusual += of[TCB_KNOB_COPY] == TCB_COPY_ASYNC && is_modern && !is_streamed(geometry);
	if (is_streamed(geometry) && !is_wgmma(geometry)) {
		unusual += tokens < 32 && tokens < m;
		unusual += splitk > 2;
	} else if (is_streamed(geometry)) {
		unusual += of[TCB_KNOB_WARPS] != 8;
		unusual += tokens < 64 && tokens < m;
		unusual += geometry->tile[TCB_MICRO].n != 64;
		unusual += of[TCB_KNOB_STAGES] > 4;
		unusual += of[TCB_KNOB_CLUSTER] > 1; /* on an H200 multicasts are slow: 46 us where copies take 30 */
	} else {
		unusual += of[TCB_KNOB_WARPS] == 4 && !is_wgmma(geometry);
		unusual += of[TCB_KNOB_UNROLL] > 2;
		unusual += of[TCB_KNOB_KSPLIT] > (m <= 16 ? 8 : 2); /* few tokens: all warps on few rows */
		unusual += of[TCB_KNOB_STAGES] > 6;
		unusual += tokens < 16 && tokens < m;
		unusual += is_wgmma(geometry) && of[TCB_KNOB_BLOCKS] > 0;
	}
	/* The time of a launch, or that of preparing all activations in each block. */
	if (of[TCB_KNOB_PREP] == TCB_PREP_GRID) /* not yet timed: beside what is usual only */
		unusual += m <= 16 ? 2 : 1;
	else
		unusual += of[TCB_KNOB_PREP] == TCB_PREP_LAUNCH ? m <= 16 : m > 32;
	unusual += of[TCB_KNOB_PREP] == TCB_PREP_WARPS && (m <= 8 || tokens < m);
	unusual += of[TCB_KNOB_JOIN] == TCB_JOIN_CLUSTER && splitk > 4;
	return tcb_gpu_unusual(unusual, problem, target, geometry);
}

/* About as many blocks as there can be: tiles of 64 rows, as many parts of K as a cluster may have. */
static size_t most_blocks(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	const size_t units = qmm_units_along_k(problem->shape.k);
	size_t parts = problem->shape.k % QMM_UNIT_VALUES ? 1 : CLUSTER_MAX;
	while (units % parts)
		parts--;
	return parts * tcb_div_up(problem->shape.n, 64) * tcb_div_up(problem->shape.m, geometry->tile[TCB_MIDI].m);
}

/* Blocks that leave many SMs without work, in the last wave or altogether, where there could be more. */
RULE(policy_waves)
{
	const size_t slots = (size_t)KNOB(OCC) * (target->cuda.sm_count ? target->cuda.sm_count : 1);
	const size_t most = most_blocks(problem, geometry);
	struct qmm_gpu g;
	size_t blocks;
	qmm_gpu_plan(problem, target, geometry, &g);
	blocks = (size_t)g.grid * g.splitk * (g.is_dealt ? 1 : g.token_tiles);
	if (blocks * 4 >= 3 * ((blocks + slots - 1) / slots * slots) || (most * 4 < 3 * slots && 2 * blocks >= most))
		return NULL;
	return problem->shape.n < 1024 || tcb_gpu_is_default(problem, target, geometry)
		       ? NULL
		       : "more than a quarter of the SMs idle";
}

const struct tcb_rule qmm_gpu_rules[] = {
	{ 0, 0, rule_idle },
	{ TCB_FIELD_KNOB(ISA), 0, tcb_gpu_rule_shape },
	{ TCB_FIELD_KNOB(ISA), 0, qmm_gpu_rule_isa },
	{ TCB_FIELD_KNOB(LAYOUT), 0, qmm_gpu_rule_layout },
	{ TCB_FIELD_KNOB(GROUP), 0, qmm_gpu_rule_group },
	{ TCB_FIELD_TILES, TCB_RULE_DOUBLE, rule_whole },
	{ TCB_FIELD_TILES, 0, rule_tiles },
	{ TCB_FIELD_KNOB(ISA) | TCB_FIELD_MICRO_N | TCB_FIELD_MICRO_M, 0, rule_micro },
	{ TCB_FIELD_KNOB(ISA) | TCB_FIELD_KNOB(WARPS) | TCB_FIELD_KNOB(KSPLIT) | TCB_FIELD_MICRO_N | TCB_FIELD_MIDI_N,
	  0, rule_warps },
	{ TCB_FIELD_KNOB(SPLITK) | TCB_FIELD_KNOB(KSPLIT) | TCB_FIELD_KNOB(UNROLL), 0, rule_k },
	{ TCB_FIELD_KNOB(SPLITK) | TCB_FIELD_KNOB(JOIN) | TCB_FIELD_KNOB(ISA) | TCB_FIELD_KNOB(BLOCKS) |
		  TCB_FIELD_KNOB(XSTAGES),
	  0, rule_join },
	{ TCB_FIELD_KNOB(ISA) | TCB_FIELD_KNOB(COPY) | TCB_FIELD_KNOB(STAGES) | TCB_FIELD_KNOB(LEAD) |
		  TCB_FIELD_KNOB(UNROLL),
	  0, rule_copy },
	{ 0, 0, rule_stages },
	{ TCB_FIELD_KNOB(PREP) | TCB_FIELD_KNOB(COPY) | TCB_FIELD_MIDI_M, 0, rule_beside },
	{ 0, 0, rule_resident },
	{ 0, 0, rule_cast },
	{ TCB_FIELD_KNOB(OCC) | TCB_FIELD_KNOB(BLOCKS) | TCB_FIELD_KNOB(WARPS), 0, tcb_gpu_rule_occ },
	{ TCB_FIELD_KNOB(ISA) | TCB_FIELD_KNOB(PREP) | TCB_FIELD_KNOB(PDL), 0, tcb_gpu_rule_pdl },
	{ 0, 0, rule_registers },
	{ TCB_FIELD_KNOB(BLOCKS) | TCB_FIELD_KNOB(SPLITK) | TCB_FIELD_KNOB(ISA) | TCB_FIELD_KNOB(XSTAGES) |
		  TCB_FIELD_MIDI_M | TCB_FIELD_MIDI_N,
	  1, policy_rounds },
	{ TCB_FIELD_MIDI_M, 1, policy_tokens },
	{ 0, 1, policy_usual },
	{ 0, 1, policy_waves },
	{ 0, 0, NULL },
};
