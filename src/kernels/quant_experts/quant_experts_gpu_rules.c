/* SPDX-License-Identifier: MIT
 *
 * The rules (V4) that a geometry of the products of experts keeps on a GPU so
 * that a kernel can be written for it and no two legal ones are the same
 * computation, and the policies that leave of a space what is worth while.
 */
#include "kernels/quant_experts/quant_experts_gpu_rules.h"

#include "base/sizes.h"
#include "kernels/gpu/gpu_rules.h"
#include "kernels/quant_experts/quant_experts_gpu_plan.h"

enum { STAGES_MOST = 8, BLOCKS_MOST = 8 };

static int is_wgmma(const struct tcb_geometry *geometry)
{
	return geometry->knob[TCB_KNOB_ISA] == TCB_ISA_WGMMA;
}

/* What numbers of 32 bits count. */
RULE(rule_sizes)
{
	const struct tcb_shape *s = &problem->shape;
	if (s->n > INT32_MAX / 4 || qex_pairs(s) > INT32_MAX / 8)
		return "GPU kernels count rows, and products of tokens, in 32 bits";
	return qmm_fragments_bytes(problem->op->format->id, s->n, s->k) > UINT32_MAX
		       ? "a GPU kernel's expert has at most 4 GiB"
		       : NULL;
}

RULE(rule_idle)
{
	const uint64_t set = KNOB_BIT(ISA) | KNOB_BIT(LAYOUT) | KNOB_BIT(WARPS) | KNOB_BIT(STAGES) | KNOB_BIT(KSPLIT) |
			     KNOB_BIT(COPY) | KNOB_BIT(PREP) | KNOB_BIT(BLOCKS) | KNOB_BIT(PDL) | KNOB_BIT(OCC);
	return tcb_gpu_sets_knobs(geometry, set, KNOB_BIT(GROUP)) /* qmm_gpu_rule_group */
		       ? NULL
		       : "a GPU's geometry sets isa, layout, warps, stages, ksplit, copy, "
			 "prep, blocks, pdl and occ, and "
			 "no other knob";
}

/* The kernel knows none of these tiles: items are whole along k, and blocks draw all there are. */
RULE(rule_whole)
{
	const struct tcb_tile *macro = &geometry->tile[TCB_MACRO], *midi = &geometry->tile[TCB_MIDI];
	const struct tcb_shape *s = &problem->shape;
	if (macro->k != s->k || midi->k != s->k)
		return "macro.k and midi.k must be the problem's K: ksplit cuts it";
	if (geometry->tile[TCB_MICRO].k !=
	    (s->k % QMM_UNIT_VALUES ? problem->op->format->block_values : QMM_UNIT_VALUES))
		return "micro.k must be 256, or the format's block where 256 does not divide K";
	if (macro->m != tcb_most(tcb_power_of_two_up(s->m), midi->m))
		return "macro.m must be the problem's M, rounded up to a power of two and to midi.m";
	if (macro->n != tcb_most(tcb_power_of_two_up(s->n), midi->n))
		return "macro.n must be the problem's N, rounded up to a power of two and to midi.n";
	return NULL;
}

RULE(rule_tokens)
{
	const struct tcb_tile *micro = &geometry->tile[TCB_MICRO];
	if (micro->m != geometry->tile[TCB_MIDI].m || (micro->m & (micro->m - 1)) || micro->m < QMM_GROUP_TOKENS)
		return "micro.m must be 8 or more, a power of two, and midi.m as much: tokens of an expert that are "
		       "taken "
		       "together";
	if (is_wgmma(geometry))
		return micro->m > QEX_TOKENS_MAX_WGMMA ? "micro.m must be at most 128 with isa=wgmma" : NULL;
	return micro->m > QEX_TOKENS_MAX ? "micro.m must be at most 64 with isa=mma" : NULL;
}

RULE(rule_rows)
{
	const size_t rows = geometry->tile[TCB_MICRO].n;
	const int is_gated = qex_kind(problem)->is_gated;
	if (is_wgmma(geometry) && rows != 64 && (rows != 128 || is_gated))
		return is_gated ? "micro.n must be 64 with isa=wgmma: as many rows of gate and of up"
				: "micro.n must be 64 or 128 with isa=wgmma";
	if (!is_wgmma(geometry) && rows != 16 && rows != 32 && (rows != 64 || is_gated))
		return is_gated ? "micro.n must be 16 or 32 with isa=mma: as many rows of gate and of up"
				: "micro.n must be 16, 32 or 64 with isa=mma";
	return NULL;
}

RULE(rule_warps)
{
	const unsigned warps = KNOB(WARPS), ksplit = KNOB(KSPLIT), of_group = (is_wgmma(geometry) ? 4 : 1) * ksplit;
	if (warps < 1 || warps > WARPS_MAX)
		return "warps must be 1 to 32";
	if (is_wgmma(geometry) && (warps % 4 || warps > 16))
		return "warps must be 4, 8, 12 or 16 with isa=wgmma";
	if (ksplit < 1 || warps % of_group || qmm_units_along_k(problem->shape.k) % ksplit)
		return "ksplit must divide warps, or groups of four with isa=wgmma, and the units of 256 along k";
	if (geometry->tile[TCB_MIDI].n != warps / of_group * geometry->tile[TCB_MICRO].n)
		return "midi.n must be micro.n times the groups of warps";
	return geometry->tile[TCB_MIDI].m > (size_t)warps * QEX_GATHER_ROWS * QEX_GATHER_POINTERS
		       ? "warps are too few to gather so many tokens"
		       : NULL;
}

RULE(rule_copy)
{
	const unsigned stages = KNOB(STAGES);
	if (is_wgmma(geometry) && geometry->knob[TCB_KNOB_COPY] == TCB_COPY_LDG)
		return "copy must be async or bulk with isa=wgmma";
	if (stages < 2 || stages > STAGES_MOST)
		return "stages must be 2 to 8";
	if (geometry->knob[TCB_KNOB_COPY] == TCB_COPY_LDG && stages != 2)
		return "stages must be 2 with copy=ldg: nothing is in flight";
	return tcb_gpu_rule_copy(problem, target, geometry);
}

RULE(rule_prep)
{
	const int32_t prep = geometry->knob[TCB_KNOB_PREP];
	if (prep != TCB_PREP_LAUNCH && prep != TCB_PREP_BLOCK)
		return "prep must be block or launch";
	return prep == TCB_PREP_BLOCK && qex_pairs(&problem->shape) > QEX_IN_BLOCK_MOST
		       ? "prep must be launch with more than 256 products: each block would route them all"
		       : NULL;
}

RULE(rule_resident)
{
	const unsigned resident = KNOB(BLOCKS);
	return resident < 1 || resident > BLOCKS_MOST ? "blocks must be 1 to 8: they draw items" : NULL;
}

/* Chunks of more tokens than an expert may have. */
RULE(policy_tokens)
{
	const size_t tokens = geometry->tile[TCB_MICRO].m;
	return tokens > QMM_GROUP_TOKENS && tokens > tcb_power_of_two_up(problem->shape.m)
		       ? "chunks of more tokens than there are"
		       : NULL;
}

/* What an expert has on average, and the bytes in flight that a memory's latency wants. */
RULE(policy_usual)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t tokens = geometry->tile[TCB_MICRO].m, each = tcb_div_up(qex_pairs(s), qex_experts(s));
	unsigned unusual = 0;
	unusual += KNOB(PDL) == 0 && target->cuda.capability >= 90;
	unusual += geometry->knob[TCB_KNOB_COPY] == TCB_COPY_LDG && target->cuda.capability >= 80;
	unusual += KNOB(WARPS) < 4 || KNOB(WARPS) > 16;
	unusual += KNOB(STAGES) > 6;
	unusual += KNOB(BLOCKS) > 4;
	unusual += tokens > 8 && tokens > 4 * each;
	unusual += tokens < 64 && 4 * tokens < each;
	unusual += is_wgmma(geometry) && each <= 8;
	unusual += geometry->knob[TCB_KNOB_GROUP] == QMM_UNIT_VALUES;
	return tcb_gpu_unusual(unusual, problem, target, geometry);
}

const struct tcb_rule qex_gpu_rules[] = {
	{ 0, 0, rule_idle },
	{ TCB_FIELD_KNOB(ISA), 0, tcb_gpu_rule_shape },
	{ TCB_FIELD_KNOB(ISA), 0, rule_sizes },
	{ TCB_FIELD_KNOB(ISA), 0, qmm_gpu_rule_isa },
	{ TCB_FIELD_KNOB(LAYOUT), 0, qmm_gpu_rule_layout },
	{ TCB_FIELD_KNOB(GROUP), 0, qmm_gpu_rule_group },
	{ TCB_FIELD_TILES, TCB_RULE_DOUBLE, rule_whole },
	{ TCB_FIELD_KNOB(ISA) | TCB_FIELD_MICRO_M | TCB_FIELD_MIDI_M, 0, rule_tokens },
	{ TCB_FIELD_KNOB(ISA) | TCB_FIELD_MICRO_N, 0, rule_rows },
	{ TCB_FIELD_KNOB(ISA) | TCB_FIELD_KNOB(WARPS) | TCB_FIELD_KNOB(KSPLIT) | TCB_FIELD_MICRO_N | TCB_FIELD_MIDI_N |
		  TCB_FIELD_MIDI_M,
	  0, rule_warps },
	{ TCB_FIELD_KNOB(ISA) | TCB_FIELD_KNOB(COPY) | TCB_FIELD_KNOB(STAGES), 0, rule_copy },
	{ TCB_FIELD_KNOB(PREP), 0, rule_prep },
	{ TCB_FIELD_KNOB(BLOCKS), 0, rule_resident },
	{ TCB_FIELD_KNOB(OCC) | TCB_FIELD_KNOB(BLOCKS) | TCB_FIELD_KNOB(WARPS), 0, tcb_gpu_rule_occ },
	{ TCB_FIELD_KNOB(PDL), 0, tcb_gpu_rule_pdl },
	{ TCB_FIELD_MICRO_M, TCB_RULE_POLICY, policy_tokens },
	{ 0, TCB_RULE_POLICY, policy_usual },
	{ 0, 0, NULL },
};
