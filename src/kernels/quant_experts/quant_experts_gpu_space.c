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

enum {
	WGMMA_TOKENS = 32 /* from which on its products are worth while */,
	DEFAULT_WARPS = 4,
	DEFAULT_WARPS_WGMMA = 8,
	DEFAULT_STAGES = 2,
	DEFAULT_STAGES_WGMMA = 4,
	DEFAULT_BLOCKS = 4,
	DEFAULT_BLOCKS_IN_BLOCK = 3,
	DEFAULT_BLOCKS_WGMMA = 2,
	STAGES_OF_FEW_ITEMS = 4, /* where an SM has one or two blocks */
	WARPS_OF_FEW_ITEMS = 8,
	BLOCKS_LIMIT = 6,
	SHORT_ROW_Q8 = 1024, /* values, that each block turns into integers for itself */
	SHORT_K = 2,         /* units along k, of which beginning and ending an item is most of the work */
	ITEMS_OF_SM = 8,     /* at least, if warps that share rows can give it as many */
	ITEMS_OF_SM_FEW = 4, /* with so few products: */
	FEW_PAIRS = 64,
	WARPS_OF_ONE_TOKEN = 8, /* where they divide a row of weights */
	STAGES_OF_ONE_TOKEN_Q8 = 4,
	THREAD_REGISTERS = 255,
	FILE_REGISTERS = 65536,
	REGISTERS_AT_ONCE = 8 /* that a thread is given */
};

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
	if (target->cuda.capability >= 90)
		tcb_axis_add(a, TCB_COPY_BULK);
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
	f.thread_registers = (unsigned)tcb_round_up(f.thread_registers, REGISTERS_AT_ONCE);
	return blocks * f.shared_bytes <= tcb_shared_limit(target) && f.thread_registers <= THREAD_REGISTERS &&
	       blocks * f.block_threads * f.thread_registers <= FILE_REGISTERS;
}

/* What a default is tried with. */
struct choice {
	enum tcb_isa isa;
	size_t rows, tokens, warps;
	int is_few;    /* products */
	size_t ksplit; /* 0: as many as give every SM some items */
};

/* Chunks of TOKENS of an expert, if experts have equally many. */
static size_t chunks_of(const struct tcb_shape *s, size_t tokens)
{
	const size_t experts = tcb_least(qex_pairs(s), qex_experts(s));
	return experts * tcb_div_up(tcb_div_up(qex_pairs(s), experts), tokens);
}

/* What blocks draw, where they have ROWS. */
static size_t items_of(const struct tcb_shape *s, size_t tokens, size_t rows)
{
	return chunks_of(s, tokens) * tcb_div_up(s->n, rows);
}

/* With fewer items of its narrowest tiles than SMs, warps share long rows, as many as divide them. */
static size_t most_warps_along_k(const struct tcb_problem *problem)
{
	static const unsigned char splits[] = { 8, 6, 4, 3, 2 };
	const size_t units = qmm_units_along_k(problem->shape.k);
	for (size_t i = 0; i < sizeof splits / sizeof *splits; i++)
		if (units % splits[i] == 0 && units / splits[i] >= SHORT_K)
			return splits[i];
	return 1;
}

/* As many warps share a group as give every SM's blocks some items. */
static size_t default_ksplit(const struct tcb_problem *problem, const struct tcb_target *target,
			     const struct choice *choice)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t units = qmm_units_along_k(s->k), chunks = chunks_of(s, choice->tokens);
	const size_t of_sm = choice->is_few ? ITEMS_OF_SM_FEW : ITEMS_OF_SM;
	const size_t wanted = of_sm * tcb_most(target->cuda.sm_count, 1);
	size_t ksplit = 1;
	if (choice->isa == TCB_ISA_WGMMA)
		return 1;
	if (choice->ksplit)
		return choice->ksplit;
	while (2 * ksplit <= choice->warps && units % (2 * ksplit) == 0 &&
	       chunks * tcb_div_up(s->n, choice->warps / ksplit * choice->rows) < wanted)
		ksplit *= 2;
	return ksplit;
}

/* The tiles of CHOICE; 0: they have more rows than there are. */
static int set_tiles(const struct tcb_problem *problem, const struct tcb_target *target, const struct choice *choice,
		     struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t ksplit = default_ksplit(problem, target, choice), rows = tcb_power_of_two_up(s->n);
	const size_t groups = choice->warps / ksplit / (choice->isa == TCB_ISA_WGMMA ? 4 : 1),
		     n = groups * choice->rows;
	if (n > rows && (groups > 1 || choice->rows > QMM_UNIT_ROWS))
		return 0;
	out->tile[TCB_MICRO] = (struct tcb_tile){ choice->tokens, choice->rows, micro_k(problem) };
	out->tile[TCB_MIDI] = (struct tcb_tile){ choice->tokens, n, s->k };
	out->tile[TCB_MACRO] =
		(struct tcb_tile){ tcb_most(tcb_power_of_two_up(s->m), choice->tokens), tcb_most(rows, n), s->k };
	out->knob[TCB_KNOB_ISA] = (int32_t)choice->isa;
	out->knob[TCB_KNOB_WARPS] = (int32_t)choice->warps;
	out->knob[TCB_KNOB_KSPLIT] = (int32_t)ksplit;
	return 1;
}

/* OUT with as many blocks, and then as many stages, as an SM holds; 0: it holds none. */
static int fill_sm(const struct tcb_problem *problem, const struct tcb_target *target, struct tcb_geometry *out)
{
	const int is_wgmma = out->knob[TCB_KNOB_ISA] == TCB_ISA_WGMMA;
	const int is_in_block = out->knob[TCB_KNOB_PREP] == TCB_PREP_BLOCK;
	const int32_t most_blocks = is_wgmma      ? DEFAULT_BLOCKS_WGMMA
				    : is_in_block ? DEFAULT_BLOCKS_IN_BLOCK
						  : DEFAULT_BLOCKS;
	const size_t items = items_of(&problem->shape, out->tile[TCB_MIDI].m, out->tile[TCB_MIDI].n);
	const size_t of_sm = tcb_div_up(items, tcb_most(target->cuda.sm_count, 1));
	const int is_alone = !is_wgmma && of_sm <= 2 && out->knob[TCB_KNOB_COPY] != TCB_COPY_LDG;
	const int is_round = !is_wgmma && !is_in_block && of_sm <= BLOCKS_LIMIT;
	const int is_tall = out->tile[TCB_MIDI].m == QEX_TOKENS_MAX;
	const int has_more = problem->contract == TCB_CONTRACT_Q8 && (is_in_block || is_round) &&
			     out->knob[TCB_KNOB_COPY] != TCB_COPY_LDG;
	const int32_t most_stages = is_wgmma || is_tall ? DEFAULT_STAGES_WGMMA
				    : has_more          ? STAGES_OF_ONE_TOKEN_Q8
							: DEFAULT_STAGES;
	const size_t steps = qmm_units_along_k(problem->shape.k) / (size_t)out->knob[TCB_KNOB_KSPLIT];
	const int32_t alone_stages = (int32_t)tcb_least(STAGES_OF_FEW_ITEMS, tcb_most(steps, DEFAULT_STAGES + 1));
	int32_t first =
		is_alone || is_round ? (int32_t)(of_sm == BLOCKS_LIMIT - 1 ? BLOCKS_LIMIT : of_sm) : most_blocks;
	for (int32_t blocks = first; blocks >= 1; blocks -= blocks == BLOCKS_LIMIT ? 2 : 1) /* as the space has them */
		for (int32_t stages = is_alone ? alone_stages : most_stages; stages >= 2; stages--) {
			out->knob[TCB_KNOB_BLOCKS] = out->knob[TCB_KNOB_OCC] = blocks;
			out->knob[TCB_KNOB_STAGES] = stages;
			if (fits(problem, target, out))
				return 1;
		}
	return 0;
}

/* CHOICE alone, with fewer stages and blocks. */
static int choose_as(const struct tcb_problem *problem, const struct tcb_target *target, const struct choice *choice,
		     struct tcb_geometry *out)
{
	return set_tiles(problem, target, choice, out) && fill_sm(problem, target, out);
}

/* Are all items of OUT drawn at once? */
static int is_one_round(const struct tcb_problem *problem, const struct tcb_target *target,
			const struct tcb_geometry *out)
{
	return items_of(&problem->shape, out->tile[TCB_MIDI].m, out->tile[TCB_MIDI].n) <=
	       (size_t)out->knob[TCB_KNOB_BLOCKS] * target->cuda.sm_count;
}

/* Half as many warps share rows where all items are then drawn at once, and were not. */
static void settle_rounds(const struct tcb_problem *problem, const struct tcb_target *target,
			  const struct choice *choice, struct tcb_geometry *out)
{
	struct tcb_geometry other = *out;
	struct choice wider = *choice;
	if (out->knob[TCB_KNOB_KSPLIT] % 2 || is_one_round(problem, target, out))
		return;
	wider.ksplit = (size_t)out->knob[TCB_KNOB_KSPLIT] / 2;
	if (choose_as(problem, target, &wider, &other) && is_one_round(problem, target, &other))
		*out = other;
}

/* As MOST, or with fewer tokens, warps or rows. */
static int choose(const struct tcb_problem *problem, const struct tcb_target *target, const struct choice *most,
		  struct tcb_geometry *out)
{
	const size_t least_rows = most->isa == TCB_ISA_WGMMA ? 4 * QMM_UNIT_ROWS : QMM_UNIT_ROWS;
	const size_t least_warps = most->isa == TCB_ISA_WGMMA ? 4 : 1;
	struct choice choice = *most;
	if (most->ksplit && choose_as(problem, target, most, out))
		return 1;
	choice.ksplit = 0;
	if (most->ksplit)
		choice.warps = DEFAULT_WARPS;
	const size_t most_warps = choice.warps;
	for (choice.tokens = most->tokens; choice.tokens >= QMM_GROUP_TOKENS; choice.tokens /= 2)
		for (choice.warps = most_warps; choice.warps >= least_warps; choice.warps /= 2)
			for (choice.rows = most->rows; choice.rows >= least_rows; choice.rows /= 2)
				if (choose_as(problem, target, &choice, out)) {
					if (choice.is_few && out->knob[TCB_KNOB_PREP] == TCB_PREP_LAUNCH)
						settle_rounds(problem, target, &choice, out);
					return 1;
				}
	return 0;
}

/* Few items: the narrowest rows, warps that share long ones, and groups of these beside each other only where that
 * leaves most SMs an item. */
static void share_rows(const struct tcb_problem *problem, const struct tcb_target *target, struct choice *choice)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t along_k = most_warps_along_k(problem);
	size_t groups = 4;
	choice->rows = QMM_UNIT_ROWS;
	choice->ksplit = along_k;
	while (groups > 1 && (groups / 2 * QMM_UNIT_ROWS >= s->n || groups * along_k > WARPS_OF_FEW_ITEMS ||
			      (along_k > 1 && 7 * items_of(s, choice->tokens, groups * QMM_UNIT_ROWS) <
						      4 * (size_t)target->cuda.sm_count)))
		groups /= 2;
	choice->warps = groups * along_k;
}

/* One token on an H200: blocks that prepare it themselves, so that their warps meet only where items begin and end. */
static int one_token_default(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const int is_q8 = problem->contract == TCB_CONTRACT_Q8;
	const int is_wide = !is_q8 && qmm_units_along_k(s->k) % WARPS_OF_ONE_TOKEN == 0;
	const struct choice most = {
		TCB_ISA_MMA, QMM_UNIT_ROWS, QMM_GROUP_TOKENS, is_wide ? WARPS_OF_ONE_TOKEN : DEFAULT_WARPS, 1, 0
	};
	if (s->m > 1 || target->cuda.capability < 90)
		return 0;
	const int is_alone = items_of(s, QMM_GROUP_TOKENS, DEFAULT_WARPS * QMM_UNIT_ROWS) <= target->cuda.sm_count;
	out->knob[TCB_KNOB_COPY] = is_wide || is_q8 || is_alone ? TCB_COPY_ASYNC : TCB_COPY_BULK;
	out->knob[TCB_KNOB_PREP] = TCB_PREP_BLOCK;
	return choose(problem, target, &most, out);
}

/*
 * With mma.sync several blocks of four warps on each SM, whose latencies overlap.  With wgmma chunks of as many tokens
 * as experts have on average, up to half of what fits, and eight warps, as many as there are rows for and as fit, each
 * with as many rows as go over the same activations at no more cost.
 */
static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const enum tcb_format_id format = problem->op->format->id;
	const size_t each = tcb_div_up(qex_pairs(s), qex_experts(s)), all = tcb_power_of_two_up(s->m);
	const int is_async = target->cuda.capability >= 80, is_q8 = problem->contract == TCB_CONTRACT_Q8;
	const int is_few = target->cuda.capability >= 90 && qex_pairs(s) <= FEW_PAIRS;
	const size_t matrices = 1 + (size_t)qex_kind(problem)->is_gated;
	size_t tokens = QMM_GROUP_TOKENS;
	while (is_async && tokens < QEX_TOKENS_MAX / 2 && tokens < each && tokens < all)
		tokens *= 2;
	const size_t sms = tcb_most(target->cuda.sm_count, 1);
	const size_t wanted = qmm_units_along_k(s->k) <= SHORT_K ? 2 * sms : sms * 3 / 4;
	struct choice most = { TCB_ISA_MMA, QMM_UNIT_ROWS, tokens, DEFAULT_WARPS, is_few, 0 };
	tcb_geometry_init(out);
	out->knob[TCB_KNOB_LAYOUT] = is_q8 ? TCB_LAYOUT_G : TCB_LAYOUT_F;
	if (is_q8)
		out->knob[TCB_KNOB_GROUP] =
			(int32_t)(tcb_is_expanded(format) ? 32 : tcb_quant_group(problem->op->format));
	out->knob[TCB_KNOB_PDL] = target->cuda.capability >= 90;
	if (one_token_default(problem, target, out))
		return;
	out->knob[TCB_KNOB_COPY] = is_async ? TCB_COPY_ASYNC : TCB_COPY_LDG;
	out->knob[TCB_KNOB_PREP] = TCB_PREP_LAUNCH;
	if (tokens >= WGMMA_TOKENS && !is_q8 && tcb_target_has(target, TCB_ISA_WGMMA)) {
		const struct choice wide = { TCB_ISA_WGMMA, 128 / matrices, tokens, DEFAULT_WARPS_WGMMA, 0, 0 };
		if (choose(problem, target, &wide, out))
			return;
	}
	most.rows = is_async && !is_few && (!is_q8 || matrices == 1) ? 2 * QMM_UNIT_ROWS : QMM_UNIT_ROWS;
	if (is_q8 && matrices == 1 && each >= QEX_TOKENS_MAX && is_async &&
	    items_of(s, QEX_TOKENS_MAX, 4 * most.rows) >= 4 * sms) {
		struct choice tall = most;
		tall.tokens = QEX_TOKENS_MAX;
		tall.ksplit = 1;
		if (choose_as(problem, target, &tall, out)) {
			out->knob[TCB_KNOB_PDL] =
				0; /* of much work a launch is little, and blocks of the next are in its way */
			return;
		}
	}
	while (is_async && most.tokens > QMM_GROUP_TOKENS && items_of(s, most.tokens, QMM_UNIT_ROWS) < wanted)
		most.tokens /= 2;
	if (is_async && items_of(s, most.tokens, QMM_UNIT_ROWS) < 2 * sms)
		share_rows(problem, target, &most);
	if (is_few && (!is_q8 || s->k <= SHORT_ROW_Q8) &&
	    items_of(s, most.tokens, DEFAULT_WARPS * QMM_UNIT_ROWS) <= sms) {
		out->knob[TCB_KNOB_PREP] = TCB_PREP_BLOCK;
		if (choose_as(problem, target, &most, out))
			return;
		out->knob[TCB_KNOB_PREP] = TCB_PREP_LAUNCH;
	}
	choose(problem, target, &most, out);
}

const struct tcb_side_space qex_gpu_space = { qex_gpu_rules, axes, default_geometry, qex_gpu_footprint,
					      .family = "quant_experts" };
