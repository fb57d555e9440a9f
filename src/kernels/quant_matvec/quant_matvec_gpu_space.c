/* SPDX-License-Identifier: MIT
 *
 * The search space of quantised matvecs on GPUs: its axes and its default geometry.
 * quant_matvec_gpu_rules.c has the rules that leave of their product what is a
 * kernel, and the policies that leave of these what is worth while.
 */
#include <math.h>
#include <string.h>

#include "base/sizes.h"
#include "kernels/axes.h"
#include "kernels/constraint.h"
#include "kernels/gpu/hardware.h"
#include "kernels/gpu/pieces_gpu.h"
#include "kernels/quant_matmul/quant_matmul_gpu.h"
#include "kernels/quant_matvec/quant_matvec.h"
#include "kernels/quant_matvec/quant_matvec_gpu.h"
#include "kernels/quant_matvec/quant_matvec_gpu_plan.h"

enum {
	DEFAULT_WARPS = 8,
	DEFAULT_UNROLL = 4,
	DEFAULT_WHOLE = 12,
	THREAD_REGISTERS = 255,
	SM_REGISTERS = 65536,
	RESIDENT_WARPS = 16,
	RESIDENT_WAYS = 2 * 2 * 3 * 4, /* warps, blocks of an SM, rows of a group, warps of a row */
	BLOCK_SYSTEM_BYTES = 1024,     /* of shared memory, of each block */
	PRODUCT_K_MOST = 4096,
	PRODUCT_N_LEAST = 16384,
	RESIDENT_BYTES = 28 << 10 /* of an SM: 4 TB/s over 132 of them, 0.9 us */
};

/* All steps that a warp's share of k may be, where it is cut as SPLITK and KSPLIT say: no other number divides a prime.
 */
static void add_steps(struct tcb_axis *axis, const struct qmv_format *format, size_t blocks,
		      const struct tcb_axis *splitk, const struct tcb_axis *ksplit)
{
	for (size_t s = 0; s < splitk->count; s++)
		for (size_t k = 0; k < ksplit->count; k++) {
			const size_t parts = (size_t)(splitk->values[s] * ksplit->values[k]);
			for (size_t vec = 4; vec <= 16 && blocks % parts == 0; vec *= 2) {
				const size_t step = 32 * vec / qmv_span(format);
				const size_t steps = tcb_div_up(blocks / parts, step ? step : 1);
				if (steps <= QMV_GPU_STEPS_MAX)
					tcb_axis_add(axis, steps);
			}
		}
}

/* One at a time, or tiles of them. */
static void add_tokens(size_t tokens, struct tcb_axis *out, size_t *count)
{
	ADD(tcb_axis_tile(out, count, TCB_AXIS_TILE_M, TCB_MICRO), 1, 2, 4, 8);
	ADD(tcb_axis_tile(out, count, TCB_AXIS_TILE_M, TCB_MIDI), 1, 2, 4, 8);
	struct tcb_axis *macro = tcb_axis_tile(out, count, TCB_AXIS_TILE_M, TCB_MACRO);
	tcb_axis_add(macro, 1);
	for (size_t micro = 2; micro <= QMV_GPU_TOKENS_MAX; micro *= 2)
		tcb_axis_add(macro, qmv_tile_tokens(micro, tokens));
}

/* In an order in which the rules cut early. */
static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	const size_t n = problem->shape.n, blocks = (problem->shape.k + QMV_VALUES - 1) / QMV_VALUES;
	const struct qmv_format *format = qmv_format(problem);
	const int has_seven = blocks % 7 == 0; /* K = 14336 */
	size_t count = 0;
	struct tcb_axis *a;
	const int has_mma = problem->contract != TCB_CONTRACT_Q8 && target->cuda.capability >= 80 &&
			    !format->is_pieces && !qmv_has_values(format);
	a = tcb_axis_knob(out, &count, TCB_KNOB_ISA);
	tcb_axis_add(a, problem->contract == TCB_CONTRACT_Q8 ? TCB_ISA_DP4A : TCB_ISA_FMA);
	if (has_mma)
		tcb_axis_add(a, TCB_ISA_MMA);
	a = tcb_axis_knob(out, &count, TCB_KNOB_COPY);
	tcb_axis_add(a, TCB_COPY_LDG);
	if (target->cuda.capability >= 80)
		tcb_axis_add(a, target->cuda.capability >= 90 ? TCB_COPY_BULK : TCB_COPY_ASYNC);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_STAGES), 1, 2, 3, 4, 6);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_LEAD), 0, 1, 2, 4);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_BLOCKS), 0, 1, 2, 4);
	struct tcb_axis *splitk = tcb_axis_knob(out, &count, TCB_KNOB_SPLITK), *ksplit;
	ADD(splitk, 1, 2, 4);
	if (target->cuda.capability >= 90)
		tcb_axis_add(tcb_axis_knob_or_none(out, &count, TCB_KNOB_JOIN), TCB_JOIN_CLUSTER);
	a = tcb_axis_knob(out, &count, TCB_KNOB_LAYOUT);
	if (!format->is_packed)
		tcb_axis_add(a, TCB_LAYOUT_NATIVE);
	tcb_axis_add(a, TCB_LAYOUT_P);
	if (!format->block && !format->is_packed)
		tcb_axis_add(a, TCB_LAYOUT_S);
	if (has_mma)
		tcb_axis_add(a, TCB_LAYOUT_F);
	a = tcb_axis_knob(out, &count, TCB_KNOB_WARPS);
	ADD(a, 4, 8, 16, 32);
	if (has_seven)
		ADD(a, 7, 14, 28);
	ksplit = tcb_axis_knob(out, &count, TCB_KNOB_KSPLIT);
	ADD(ksplit, 1, 2, 4, 8, 16);
	if (has_seven)
		ADD(ksplit, 7, 14);
	if (problem->shape.m > 1)
		add_tokens(problem->shape.m, out, &count);
	a = tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MICRO);
	ADD(a, 1, 2, 4);
	if (has_mma)
		tcb_axis_add(a, (size_t)(QMV_TILE_ROWS >> qmv_kind(problem)->is_gated));
	ADD(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MIDI), 1, 2, 4, 8, 16, 32, 64, 128);
	tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MACRO), tcb_power_of_two_up(n));
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_VEC), 4, 8, 16);
	a = tcb_axis_knob(out, &count, TCB_KNOB_UNROLL);
	ADD(a, 1, 2, 4, 8);
	if (has_seven)
		ADD(a, 7, 14);
	else
		tcb_axis_add(a, 16);
	add_steps(a, format, blocks, splitk, ksplit);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_XIN), TCB_XIN_SHARED, TCB_XIN_REGS);
	a = tcb_axis_knob(out, &count, TCB_KNOB_GROUP);
	if (problem->contract == TCB_CONTRACT_Q8)
		tcb_axis_add(a, 32);
	if (problem->contract != TCB_CONTRACT_Q8 || tcb_quant_group(problem->op->format) == 256)
		tcb_axis_add(a, 256);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_PREP), TCB_PREP_BLOCK, TCB_PREP_LAUNCH);
	a = tcb_axis_knob(out, &count, TCB_KNOB_PDL);
	tcb_axis_add(a, 0);
	if (target->cuda.capability >= 90)
		tcb_axis_add(a, 1);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_OCC), 1, 2, 4, 8);
	return count;
}

/* As default_geometry(); a warp takes up to MOST steps of 16-byte accesses at once where no loop divides them.
 */
static void default_within(const struct tcb_problem *problem, const struct tcb_target *target, size_t most,
			   struct tcb_geometry *out)
{
	const size_t n = problem->shape.n, blocks = (problem->shape.k + QMV_VALUES - 1) / QMV_VALUES;
	const struct qmv_format *format = qmv_format(problem);
	const size_t image = problem->contract == TCB_CONTRACT_Q8 ? 256 + 96 : 1024 + 68;
	/* LEAST: vec with which a step is one superblock. */
	const size_t codes = qmv_span(format), least = format->is_pieces ? 16 : codes / 32;
	/* Blocks of Q6_K alternate between two alignments, so that as stored they are taken two at a time. */
	const int is_packed = format->is_packed || problem->shape.k % QMV_VALUES ||
			      (format->scales == QMV_SCALES_BYTES && blocks % 2);
	const size_t room =
		tcb_shared_limit(target) - 1024 - tcb_piece_table_bytes(format->id, qmv_has_signed_grid(target));
	size_t splitk = 1, steps, step, vec = qmv_is_float(format) ? QMV_FLOAT_VALUES : 16, unroll;
	size_t warps = tcb_power_of_two_up(n);
	if (warps > DEFAULT_WARPS)
		warps = DEFAULT_WARPS;
	while (splitk < blocks && splitk < GRID_YZ_MAX && (blocks % splitk || (blocks / splitk + 1) * image > room))
		splitk++;
	const size_t narrow = !is_packed && format->scales == QMV_SCALES_BYTES ? 2 * least : least;
	steps = blocks / splitk;
	if (steps % (32 * vec / codes) && steps > 32 * vec / codes * most)
		vec = narrow;
	while (vec > narrow && steps <= 32 * vec / codes / 2)
		vec /= 2;
	step = 32 * vec / codes;
	steps = (steps + step - 1) / step;
	unroll = steps <= DEFAULT_UNROLL ? steps : DEFAULT_UNROLL;
	/* Of pieces the partial step comes behind the loop. */
	const size_t whole = format->is_pieces ? blocks / splitk / step : steps;
	while (unroll < steps && whole % unroll)
		unroll--;
	if (blocks / splitk % step && !format->is_pieces)
		unroll = steps;
	tcb_geometry_init(out);
	out->tile[TCB_MACRO] = (struct tcb_tile){ 1, tcb_power_of_two_up(n), problem->shape.k };
	out->tile[TCB_MIDI] = (struct tcb_tile){ 1, warps, problem->shape.k };
	out->tile[TCB_MICRO] = (struct tcb_tile){ 1, 1, qmv_gpu_micro_k(problem) };
	out->knob[TCB_KNOB_ISA] = problem->contract == TCB_CONTRACT_Q8 ? TCB_ISA_DP4A : TCB_ISA_FMA;
	out->knob[TCB_KNOB_LAYOUT] = is_packed ? TCB_LAYOUT_P : TCB_LAYOUT_NATIVE;
	out->knob[TCB_KNOB_UNROLL] = (int32_t)unroll;
	out->knob[TCB_KNOB_WARPS] = (int32_t)warps;
	out->knob[TCB_KNOB_VEC] = (int32_t)vec;
	out->knob[TCB_KNOB_STAGES] = 1;
	out->knob[TCB_KNOB_SPLITK] = (int32_t)splitk;
	out->knob[TCB_KNOB_KSPLIT] = 1;
	out->knob[TCB_KNOB_COPY] = TCB_COPY_LDG;
	out->knob[TCB_KNOB_XIN] = TCB_XIN_SHARED;
	out->knob[TCB_KNOB_GROUP] = problem->contract == TCB_CONTRACT_Q8 ? 32 : 256;
	out->knob[TCB_KNOB_PREP] = TCB_PREP_BLOCK;
	out->knob[TCB_KNOB_LEAD] = 0;
	out->knob[TCB_KNOB_BLOCKS] = 0;
	out->knob[TCB_KNOB_PDL] = target->cuda.capability >= 90;
	out->knob[TCB_KNOB_OCC] = 4;
	for (struct tcb_footprint f; out->knob[TCB_KNOB_OCC] > 1; out->knob[TCB_KNOB_OCC] /= 2) {
		qmv_gpu_footprint(problem, target, out, &f);
		if (f.thread_registers * f.block_threads * f.blocks_together <= 65536)
			break;
	}
}

/* Superblocks that a warp takes at once. */
static size_t step_of(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	const size_t step = WARP * (size_t)geometry->knob[TCB_KNOB_VEC] / qmv_span(qmv_format(problem));
	return tcb_most(step, 1);
}

/* OUT with blocks of WARPS warps, KSPLIT of them for a row, groups of ROWS rows and BLOCKS blocks that stay on each SM.
 */
static void make_resident(const struct tcb_problem *problem, const struct tcb_target *target, size_t warps,
			  size_t ksplit, size_t rows, size_t blocks, struct tcb_geometry *out)
{
	const size_t share = (problem->shape.k + QMV_VALUES - 1) / QMV_VALUES / ksplit;
	out->tile[TCB_MICRO].n = rows;
	out->tile[TCB_MIDI].n = warps / ksplit * rows;
	out->knob[TCB_KNOB_WARPS] = (int32_t)warps;
	out->knob[TCB_KNOB_KSPLIT] = (int32_t)ksplit;
	out->knob[TCB_KNOB_UNROLL] = (int32_t)tcb_div_up(share, step_of(problem, out));
	out->knob[TCB_KNOB_BLOCKS] = out->knob[TCB_KNOB_OCC] = (int32_t)blocks;
	out->knob[TCB_KNOB_XIN] = out->tile[TCB_MICRO].m > 1 ? TCB_XIN_SHARED : TCB_XIN_REGS;
	out->knob[TCB_KNOB_LEAD] = 1;
	out->knob[TCB_KNOB_PDL] = target->cuda.capability >= 90;
}

/*
 * Expanded formats and FP8: blocks that stay fill their grids once, and prepare activations once.  Of the ways to deal
 * rows the one that leaves fewest warps without a row in the last round and has as many bytes asked for, and warps, as
 * hide latencies; OUT stays as it is where there is no second round.
 */
static void default_resident(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const size_t blocks = (problem->shape.k + QMV_VALUES - 1) / QMV_VALUES, sms = target->cuda.sm_count;
	const struct qmv_format *format = qmv_format(problem);
	const unsigned is_gated = (unsigned)qmv_kind(problem)->is_gated;
	const struct tcb_geometry plain = *out;
	const size_t step = step_of(problem, out);
	double best = 0;
	size_t bytes = 0;
	for (unsigned part = 0; part < QMV_PARTS; part++)
		bytes += format->bytes[part];
	if (plain.knob[TCB_KNOB_SPLITK] != 1)
		return;
	for (size_t way = 0; way < RESIDENT_WAYS; way++) {
		const size_t warps = way % 2 ? RESIDENT_WARPS / 2 : RESIDENT_WARPS, stay = 1 + way / 2 % 2;
		const size_t rows = 1u << way / 4 % 3, ksplit = 1u << way / 12;
		const size_t at_once = stay * sms * (warps / ksplit) * rows;
		struct tcb_geometry trial = plain;
		struct tcb_footprint f;
		if (blocks % ksplit || problem->shape.n <= at_once || rows > (4u >> is_gated) ||
		    (plain.tile[TCB_MICRO].m > 1 &&
		     (rows << is_gated) * plain.tile[TCB_MICRO].m > qmv_gpu_sums_most(problem->contract)) ||
		    (!format->is_pieces && blocks / ksplit % step) ||
		    tcb_div_up(blocks / ksplit, step) > QMV_GPU_STEPS_MAX)
			continue;
		make_resident(problem, target, warps, ksplit, rows, stay, &trial);
		qmv_gpu_footprint(problem, target, &trial, &f);
		if (f.thread_registers > THREAD_REGISTERS ||
		    f.thread_registers * f.block_threads * stay > SM_REGISTERS ||
		    (f.shared_bytes + BLOCK_SYSTEM_BYTES) * stay > tcb_shared_limit(target))
			continue;
		const double rounds = (double)problem->shape.n / (double)at_once;
		const double asked = (double)(stay * warps * (rows << is_gated) * (blocks / ksplit) * bytes);
		const double hidden = fmin(1, (double)(stay * warps) / RESIDENT_WARPS);
		const double score = rounds / ceil(rounds) * fmin(1, asked / RESIDENT_BYTES) * hidden;
		if (score > best) {
			best = score;
			*out = trial;
		}
	}
}

/* OUT for as many tokens together as there are, or as fit, with as few blocks of an SM as that takes. */
static void default_tokens(const struct tcb_problem *problem, const struct tcb_target *target, struct tcb_geometry *out)
{
	const size_t all = tcb_power_of_two_up(problem->shape.m);
	for (size_t tokens = tcb_least(all, QMV_GPU_TOKENS_MAX); tokens > 1 && out->knob[TCB_KNOB_SPLITK] == 1;
	     tokens /= 2) {
		struct tcb_geometry trial = *out;
		struct tcb_footprint f;
		if ((out->tile[TCB_MICRO].n << qmv_kind(problem)->is_gated) * tokens >
		    qmv_gpu_sums_most(problem->contract))
			continue;
		trial.tile[TCB_MICRO].m = trial.tile[TCB_MIDI].m = tokens;
		trial.tile[TCB_MACRO].m = qmv_tile_tokens(tokens, problem->shape.m);
		for (; trial.knob[TCB_KNOB_OCC] >= 1; trial.knob[TCB_KNOB_OCC] /= 2) {
			const size_t blocks = (size_t)trial.knob[TCB_KNOB_OCC];
			qmv_gpu_footprint(problem, target, &trial, &f);
			if (f.thread_registers > THREAD_REGISTERS ||
			    f.thread_registers * f.block_threads * blocks > SM_REGISTERS ||
			    (f.shared_bytes + BLOCK_SYSTEM_BYTES) * blocks >
				    tcb_shared_limit(target) + BLOCK_SYSTEM_BYTES)
				continue;
			*out = trial;
			return;
		}
	}
}

/*
 * The seed's blocks of 256 threads, made legal: a warp per row, 16-byte vectors, weights as stored, activations
 * prepared by each block.  The reduction is split over blocks only where its activations do not fit in shared memory,
 * and a warp takes narrower vectors where it would have too many steps of a number that no loop divides.
 */
static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	struct tcb_footprint footprint;
	default_within(problem, target, DEFAULT_WHOLE, out);
	qmv_gpu_footprint(problem, target, out, &footprint);
	if (footprint.thread_registers > THREAD_REGISTERS)
		default_within(problem, target, DEFAULT_UNROLL, out);
	default_tokens(problem, target, out);
	if ((qmv_format(problem)->is_pieces || problem->op->format->id == TCB_FORMAT_FP8) &&
	    target->cuda.capability >= 80 && target->cuda.sm_count)
		default_resident(problem, target, out);
}

int qmv_gpu_is_product(const struct tcb_geometry *geometry)
{
	return geometry->knob[TCB_KNOB_ISA] == TCB_ISA_MMA && geometry->knob[TCB_KNOB_LAYOUT] == TCB_LAYOUT_G;
}

/*
 * Under contract q8 a few tokens are the quantised matmul's, whose mma.sync has eight at the price of one: of
 * 14336x4096 on an H200 2 tokens of Q4_K took 9.6 us instead of 12.2, 8 took 9.5 instead of 19.8.  Codes that are
 * expanded first cost that more, so that up to 4 tokens its own kernels are faster (Q5_0: 2 in 11.6 instead of 17.0, 8
 * in 21.6 instead of 18.0).
 */
static const struct tcb_side_space *other(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	const struct qmv_kind *kind = qmv_kind(problem);
	const size_t least = tcb_is_expanded(problem->op->format->id) ? 5 : 2;
	/* Where 256 does not divide K, a product's blocks hold all of it; where they cannot share it, few rows are few
	 * warps. */
	const struct tcb_shape *s = &problem->shape;
	const int is_held = s->k % QMV_VALUES == 0 || s->k <= PRODUCT_K_MOST;
	const int is_cut = s->k % (4 * QMV_VALUES) == 0 || s->k <= PRODUCT_K_MOST || s->n >= PRODUCT_N_LEAST;
	if (kind->has_norm || kind->is_gated || problem->contract != TCB_CONTRACT_Q8 || !is_held || !is_cut)
		return NULL;
	const int has_product = geometry ? qmv_gpu_is_product(geometry) : s->words.bits || s->m >= least;
	return has_product ? &qmm_gpu_space : NULL;
}

const struct tcb_side_space qmv_gpu_space = { qmv_gpu_rules,     axes,  default_geometry,
					      qmv_gpu_footprint, other, "quant_matvec" };
