/* SPDX-License-Identifier: MIT
 *
 * The search space of the products of experts on GPUs: its axes and its default
 * geometry; quant_experts_gpu_rules.c has the rules.
 */
#include "base/sizes.h"
#include "kernels/axes.h"
#include "kernels/constraint.h"
#include "kernels/gpu/hardware.h"
#include "kernels/quant_experts/quant_experts_gpu.h"
#include "kernels/quant_experts/quant_experts_gpu_plan.h"
#include "kernels/quant_experts/quant_experts_gpu_rules.h"

enum { DEFAULT_WARPS = 8, DEFAULT_STAGES = 4, DEFAULT_BLOCKS = 2, THREAD_REGISTERS = 255, FILE_REGISTERS = 65536 };

static size_t micro_k(const struct tcb_problem *problem)
{
	return problem->shape.k % QMM_UNIT_VALUES ? problem->op->format->block_values : QMM_UNIT_VALUES;
}

/* In an order in which the rules cut early. */
static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	const struct tcb_shape *s = &problem->shape;
	const size_t rows = tcb_power_of_two_up(s->n), tokens = tcb_power_of_two_up(s->m);
	const int is_q8 = problem->contract == TCB_CONTRACT_Q8;
	const int has_three = qmm_units_along_k(s->k) % 3 == 0; /* K = 768, 2880 */
	size_t count = 0;
	struct tcb_axis *a;
	a = tcb_axis_knob(out, &count, TCB_KNOB_ISA);
	tcb_axis_add(a, TCB_ISA_MMA);
	if (tcb_target_has(target, TCB_ISA_WGMMA) && !is_q8)
		tcb_axis_add(a, TCB_ISA_WGMMA);
	tcb_axis_add(tcb_axis_knob(out, &count, TCB_KNOB_LAYOUT), is_q8 ? TCB_LAYOUT_G : TCB_LAYOUT_F);
	if (is_q8) {
		a = tcb_axis_knob(out, &count, TCB_KNOB_GROUP);
		tcb_axis_add(a, 32);
		if (tcb_quant_group(problem->op->format) == QMM_UNIT_VALUES)
			tcb_axis_add(a, QMM_UNIT_VALUES);
	}
	a = tcb_axis_knob(out, &count, TCB_KNOB_COPY);
	tcb_axis_add(a, TCB_COPY_LDG);
	if (target->cuda.capability >= 80)
		tcb_axis_add(a, TCB_COPY_ASYNC);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_STAGES), 2, 3, 4, 6, 8);
	a = tcb_axis_knob(out, &count, TCB_KNOB_PREP);
	tcb_axis_add(a, TCB_PREP_LAUNCH);
	if (qex_pairs(s) <= QEX_IN_BLOCK_MOST)
		tcb_axis_add(a, TCB_PREP_BLOCK);
	a = tcb_axis_knob(out, &count, TCB_KNOB_KSPLIT);
	ADD(a, 1, 2, 4, 8);
	if (has_three)
		ADD(a, 3, 6, 12);
	a = tcb_axis_knob(out, &count, TCB_KNOB_WARPS);
	ADD(a, 2, 4, 8, 16);
	if (has_three)
		ADD(a, 3, 6, 12);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_BLOCKS), 1, 2, 3, 4, 6, 8);
	ADD(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MICRO), 16, 32, 64, 128);
	ADD(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MIDI), 16, 32, 64, 128, 256, 512);
	a = tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MACRO);
	tcb_axis_add(a, rows);
	for (size_t n = 2 * rows; n <= 512; n *= 2)
		tcb_axis_add(a, n);
	ADD(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MICRO), 8, 16, 32, 64, 128);
	ADD(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MIDI), 8, 16, 32, 64, 128);
	a = tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MACRO);
	tcb_axis_add(a, tcb_most(tokens, QMM_GROUP_TOKENS));
	for (size_t m = 2 * tcb_most(tokens, QMM_GROUP_TOKENS); m <= QEX_TOKENS_MAX_WGMMA; m *= 2)
		tcb_axis_add(a, m);
	for (int level = TCB_MACRO; level <= TCB_MICRO; level++)
		tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, level),
			     level == TCB_MICRO ? micro_k(problem) : s->k);
	a = tcb_axis_knob(out, &count, TCB_KNOB_PDL);
	tcb_axis_add(a, 0);
	if (target->cuda.capability >= 90)
		tcb_axis_add(a, 1);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_OCC), 1, 2, 3, 4, 6, 8);
	return count;
}

/* Does an SM hold the blocks of OUT, and a block fit? */
static int fits(const struct tcb_problem *problem, const struct tcb_target *target, const struct tcb_geometry *geometry)
{
	struct tcb_footprint f;
	const size_t blocks = (size_t)geometry->knob[TCB_KNOB_BLOCKS];
	qex_gpu_footprint(problem, target, geometry, &f);
	return blocks * f.shared_bytes <= tcb_shared_limit(target) && f.thread_registers <= THREAD_REGISTERS &&
	       blocks * f.block_threads * f.thread_registers <= FILE_REGISTERS;
}

/* As many warps of WARPS share a group as give every SM's blocks some items. */
static size_t default_ksplit(const struct tcb_problem *problem, const struct tcb_target *target, size_t warps)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t units = qmm_units_along_k(s->k), chunks = tcb_least(qex_pairs(s), s->words.experts);
	const size_t wanted = 4 * DEFAULT_BLOCKS * tcb_most(target->cuda.sm_count, 1);
	size_t ksplit = 1;
	while (2 * ksplit <= warps && units % (2 * ksplit) == 0 &&
	       chunks * tcb_div_up(s->n, warps / ksplit * QMM_UNIT_ROWS) < wanted)
		ksplit *= 2;
	return ksplit;
}

static void set_tiles(const struct tcb_problem *problem, size_t tokens, size_t warps, size_t ksplit,
		      struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	out->tile[TCB_MICRO] = (struct tcb_tile){ tokens, QMM_UNIT_ROWS, micro_k(problem) };
	out->tile[TCB_MIDI] = (struct tcb_tile){ tokens, warps / ksplit * QMM_UNIT_ROWS, s->k };
	out->tile[TCB_MACRO] = (struct tcb_tile){ tcb_most(tcb_power_of_two_up(s->m), tokens),
						  tcb_most(tcb_power_of_two_up(s->n), out->tile[TCB_MIDI].n), s->k };
	out->knob[TCB_KNOB_WARPS] = (int32_t)warps;
	out->knob[TCB_KNOB_KSPLIT] = (int32_t)ksplit;
}

/* OUT with as many blocks, and then as many stages, as an SM holds; 0: it holds none. */
static int fill_sm(const struct tcb_problem *problem, const struct tcb_target *target, int32_t most_stages,
		   struct tcb_geometry *out)
{
	for (int32_t blocks = DEFAULT_BLOCKS; blocks >= 1; blocks--)
		for (int32_t stages = most_stages; stages >= 2; stages--) {
			out->knob[TCB_KNOB_BLOCKS] = out->knob[TCB_KNOB_OCC] = blocks;
			out->knob[TCB_KNOB_STAGES] = stages;
			if (fits(problem, target, out))
				return 1;
		}
	return 0;
}

/*
 * Chunks of as many tokens as experts have on average, up to half of what fits; up to eight warps, as many as there are
 * rows for and as fit.
 */
static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t each = tcb_div_up(qex_pairs(s), s->words.experts), rows = tcb_power_of_two_up(s->n);
	const int is_async = target->cuda.capability >= 80;
	size_t tokens = QMM_GROUP_TOKENS;
	while (is_async && tokens < QEX_TOKENS_MAX / 2 && tokens < each && tokens < tcb_power_of_two_up(s->m))
		tokens *= 2;
	tcb_geometry_init(out);
	out->knob[TCB_KNOB_ISA] = TCB_ISA_MMA;
	out->knob[TCB_KNOB_LAYOUT] = TCB_LAYOUT_F;
	if (problem->contract == TCB_CONTRACT_Q8) {
		out->knob[TCB_KNOB_LAYOUT] = TCB_LAYOUT_G;
		out->knob[TCB_KNOB_GROUP] = 32;
	}
	out->knob[TCB_KNOB_COPY] = is_async ? TCB_COPY_ASYNC : TCB_COPY_LDG;
	out->knob[TCB_KNOB_PREP] = TCB_PREP_LAUNCH;
	out->knob[TCB_KNOB_PDL] = 0;
	for (; tokens >= QMM_GROUP_TOKENS; tokens /= 2)
		for (size_t warps = DEFAULT_WARPS; warps >= 1; warps /= 2) {
			const size_t ksplit = default_ksplit(problem, target, warps);
			if (warps > ksplit && warps / ksplit * QMM_UNIT_ROWS > rows)
				continue;
			set_tiles(problem, tokens, warps, ksplit, out);
			if (fill_sm(problem, target, is_async ? DEFAULT_STAGES : 2, out))
				return;
		}
}

const struct tcb_side_space qex_gpu_space = { qex_gpu_rules, axes, default_geometry, qex_gpu_footprint };
