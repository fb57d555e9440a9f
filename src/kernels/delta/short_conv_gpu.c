/* SPDX-License-Identifier: MIT
 *
 * The short convolution on GPUs: a geometry comes in, a module of PTX and its launch go out.
 *
 * A thread has a vector of vec bytes of channels of one sequence and midi.m tokens, of which the last three are in
 * registers and the next few on their way; the block with a sequence's first tokens stores its states, at the end, so
 * that one may take the place of that which the sequence goes on from.  Tiles' n and k are 1, macro.m is the tokens,
 * rounded up to a power of two, micro.m 1.
 */
#include "kernels/delta/short_conv.h"

#include <string.h>

#include "base/sizes.h"
#include "kernels/axes.h"
#include "kernels/gpu/frame.h"
#include "kernels/gpu/gpu_rules.h"

enum { WIDTH_MAX = 4, AHEAD = 4 /* tokens that are loaded together */, TOKENS_LEAST = 16, DEFAULT_WARPS = 4 };
#define LOG2_E 1.44269504f

/* A geometry and a problem in numbers. */
struct conv_gpu {
	unsigned m, row, sequences, slots, width, warps, threads, tile, tiles, blocks;
	int is_prefill, pdl;
};

static void plan_of(const struct tcb_problem *problem, const struct tcb_geometry *geometry, struct conv_gpu *out)
{
	const struct tcb_shape *s = &problem->shape;
	struct conv_gpu *g = out;
	g->m = (unsigned)s->m;
	g->row = (unsigned)delta_row(s);
	g->sequences = s->words.sequences;
	g->slots = (unsigned)delta_slots_row(problem);
	g->width = (unsigned)tcb_least(tcb_most(KNOB(VEC) / 4, 1), WIDTH_MAX);
	g->warps = (unsigned)tcb_least(KNOB_COUNT(WARPS), WARPS_MAX);
	g->threads = g->warps * WARP;
	g->tile = (unsigned)tcb_most(geometry->tile[TCB_MIDI].m, 1);
	g->tiles = (unsigned)tcb_div_up(g->m, g->tile);
	g->blocks = (unsigned)tcb_div_up(tcb_div_up(g->row, g->width), g->threads);
	g->is_prefill = delta_of(problem)->is_prefill;
	g->pdl = KNOB(PDL) == 1;
}

/* --- the space --- */

static void footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	struct conv_gpu g;
	(void)target;
	memset(out, 0, sizeof(*out));
	plan_of(problem, geometry, &g);
	out->element_bytes = sizeof(float);
	out->alignment_bytes = out->vector_bytes = KNOB(VEC);
	out->base_bytes = 256;
	out->leading_bytes = (size_t)g.row * sizeof(float);
	out->block_threads = g.threads;
	out->thread_registers = (5 + 6 + AHEAD) * g.width + 40;
	out->blocks_together = 1;
	out->grid[0] = g.blocks;
	out->grid[1] = g.tiles;
	out->grid[2] = g.sequences;
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		out->level_bytes[level] = 2 * sizeof(float) * g.width * g.threads * geometry->tile[level].m;
}

RULE(rule_knobs)
{
	const uint64_t set = KNOB_BIT(ISA) | KNOB_BIT(WARPS) | KNOB_BIT(VEC) | KNOB_BIT(PDL);
	if (!tcb_gpu_sets_knobs(geometry, set, 0))
		return "a GPU's geometry sets isa, warps, vec and pdl, and no other knob";
	return geometry->knob[TCB_KNOB_ISA] != TCB_ISA_FMA ? "isa must be fma on a GPU" : NULL;
}

RULE(rule_vec)
{
	const unsigned vec = KNOB(VEC);
	if (vec != 4 && vec != 8 && vec != 16)
		return "vec must be 4, 8 or 16";
	return delta_row(&problem->shape) % (vec / 4) ? "vectors of vec bytes must divide a row of channels" : NULL;
}

RULE(rule_warps)
{
	return !tcb_is_power_of_two(KNOB(WARPS)) || KNOB(WARPS) > WARPS_MAX ? "warps must be a power of two up to 32"
									    : NULL;
}

RULE(rule_tiles)
{
	const struct tcb_tile *macro = &geometry->tile[TCB_MACRO], *midi = &geometry->tile[TCB_MIDI];
	const size_t m = tcb_power_of_two_up(problem->shape.m);
	if (macro->n != 1 || macro->k != 1 || geometry->tile[TCB_MICRO].m != 1)
		return "tiles' n and k must be 1, and micro.m";
	if (macro->m != m)
		return "macro.m must be the tokens, rounded up to a power of two";
	if (midi->m != m && (!delta_of(problem)->is_prefill || midi->m < TOKENS_LEAST))
		return "midi.m must be macro.m, or of prompts 16 tokens or more";
	return tcb_div_up(problem->shape.m, midi->m) > GRID_YZ_MAX ? "more than 65535 tiles of tokens" : NULL;
}

static const struct tcb_rule rules[] = {
	{ 0, 0, rule_knobs },
	{ TCB_FIELD_KNOB(ISA), 0, tcb_gpu_rule_shape },
	{ TCB_FIELD_KNOB(ISA), 0, tcb_gpu_rule_isa },
	{ TCB_FIELD_KNOB(VEC), 0, rule_vec },
	{ TCB_FIELD_KNOB(WARPS), 0, rule_warps },
	{ TCB_FIELD_KNOB(PDL), 0, tcb_gpu_rule_pdl },
	{ TCB_FIELD_TILES, 0, rule_tiles },
	{ 0, 0, NULL },
};

static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	const size_t m = tcb_power_of_two_up(problem->shape.m);
	size_t count = 0;
	struct tcb_axis *a;
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_ISA), TCB_ISA_FMA);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_VEC), 4, 8, 16);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_WARPS), 1, 2, 4, 8);
	for (int level = TCB_MACRO; level < TCB_LEVEL_COUNT; level++) {
		a = tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, (enum tcb_level)level);
		tcb_axis_add(a, level == TCB_MICRO ? 1 : m);
		if (level == TCB_MIDI && delta_of(problem)->is_prefill)
			tcb_axis_add_powers(a, TOKENS_LEAST, 2, tcb_least(m, 512));
		tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, (enum tcb_level)level), 1);
		tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, (enum tcb_level)level), 1);
	}
	a = tcb_axis_knob(out, &count, TCB_KNOB_PDL);
	tcb_axis_add(a, 0);
	if (target->cuda.capability >= 90)
		tcb_axis_add(a, 1);
	return count;
}

/* The shortest tiles that fit the grid, and the widest vectors, narrower where multiprocessors had no block. */
static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const size_t m = tcb_power_of_two_up(problem->shape.m), row = delta_row(&problem->shape);
	size_t tile = delta_of(problem)->is_prefill ? tcb_least(m, TOKENS_LEAST) : m;
	size_t vec = row % 4 == 0 ? 16 : row % 2 == 0 ? 8 : 4;
	while (tcb_div_up(problem->shape.m, tile) > GRID_YZ_MAX)
		tile *= 2;
	const size_t beside = tcb_div_up(problem->shape.m, tile) * problem->shape.words.sequences;
	while (vec > 4 && tcb_div_up(row / (vec / 4), WARP * DEFAULT_WARPS) * beside < target->cuda.sm_count)
		vec /= 2;
	tcb_geometry_init(out);
	out->tile[TCB_MACRO] = (struct tcb_tile){ m, 1, 1 };
	out->tile[TCB_MIDI] = (struct tcb_tile){ tile, 1, 1 };
	out->tile[TCB_MICRO] = (struct tcb_tile){ 1, 1, 1 };
	out->knob[TCB_KNOB_ISA] = TCB_ISA_FMA;
	out->knob[TCB_KNOB_WARPS] = DEFAULT_WARPS;
	out->knob[TCB_KNOB_VEC] = (int32_t)vec;
	out->knob[TCB_KNOB_PDL] = target->cuda.capability >= 90;
}

static const struct tcb_side_space gpu_space = { rules, axes, default_geometry, footprint };

/* --- the kernel --- */

struct writer {
	struct tcb_kit kit;
	const struct conv_gpu *g;
	kit_op x, weights, bias, y, counts, slots, states, states_out;
	kit_op channel, is_own, sequence, first, end, count; /* END: of the tile's tokens */
	kit_op weight[CONV_TAPS][WIDTH_MAX], bias_of[WIDTH_MAX];
	kit_op old[CONV_KEPT][WIDTH_MAX], last[CONV_KEPT][WIDTH_MAX];
};

/* The thread's channels of row ROW of an array. */
static kit_op row_at(struct writer *w, kit_op base, kit_op row)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op at = u_mad(b, row, I(w->g->row), w->channel);
	return tcb_ptx_assume_aligned(b, tcb_kit_element(b, base, at, 4), 4 * w->g->width);
}

/* The same of token T of the sequence. */
static kit_op token_at(struct writer *w, kit_op base, kit_op t)
{
	return row_at(w, base, u_mad(&w->kit.b, w->sequence, I(w->g->m), t));
}

/* The same of row I of the state in SLOT. */
static kit_op state_at(struct writer *w, kit_op base, kit_op slot, unsigned i)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op state = l_mad_wide(b, slot, I((int64_t)CONV_KEPT * w->g->row * 4), base);
	const kit_op at = u_add(b, w->channel, I((int64_t)i * w->g->row));
	return tcb_ptx_assume_aligned(b, tcb_kit_element(b, state, at, 4), 4 * w->g->width);
}

static void load_where(struct writer *w, kit_op where, kit_op at, const kit_op *to)
{
	tcb_kit_load_where(&w->kit.b, where, tcb_kit_input(w->g->pdl), "f32", tcb_ptx_at(at, 0), to, w->g->width);
}

static kit_op slot_at(struct writer *w, kit_op which)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op at = u_mad(b, w->sequence, I(w->g->slots), which);
	return tcb_kit_get(b, tcb_kit_input(w->g->pdl), "s32", tcb_kit_element(b, w->slots, at, 4));
}

/* Weights, and the three tokens before the tile. */
static void write_before(struct writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct conv_gpu *g = w->g;
	const kit_op slot = slot_at(w, I(0)), from = b_set(b, s_max(b, slot, I(0)));
	const kit_op is_first = u_eq(b, w->first, I(0)), goes_on = s_gt_and(b, slot, I(-1), is_first);
	for (unsigned i = 0; i < CONV_TAPS; i++)
		tcb_kit_load(b, tcb_kit_input(g->pdl), "f32", row_at(w, w->weights, I(i)), w->weight[i], g->width);
	tcb_kit_load(b, tcb_kit_input(g->pdl), "f32", row_at(w, w->bias, I(0)), w->bias_of, g->width);
	for (unsigned i = 0; i < CONV_KEPT; i++) {
		for (unsigned j = 0; j < g->width; j++)
			w->old[i][j] = f_set(b, F(0));
		tcb_kit_load_where(b, goes_on, TCB_KIT_GLOBAL, "f32", tcb_ptx_at(state_at(w, w->states, from, i), 0),
				   w->old[i], g->width);
		if (g->tiles > 1)
			load_where(w, u_gt(b, w->first, I(0)),
				   token_at(w, w->x, u_sub(b, u_add(b, w->first, I(i)), I(CONV_KEPT))), w->old[i]);
		for (unsigned j = 0; j < g->width; j++)
			w->last[i][j] = f_set(b, w->old[i][j]);
	}
}

/* x / (1 + 2^-(x log2(e))) */
static kit_op silu(struct tcb_ptx_build *b, kit_op x)
{
	const kit_op power = f_power2(b, f_mul(b, x, F(-LOG2_E)));
	return f_mul(b, x, f_reciprocal_near(b, f_add(b, power, F(1))));
}

static void write_tokens(struct writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct conv_gpu *g = w->g;
	const unsigned ahead = (unsigned)tcb_least(g->m, AHEAD);
	kit_op x[AHEAD][WIDTH_MAX], is_there[AHEAD], y[WIDTH_MAX];
	const kit_op t = tcb_ptx_for_begin(b, w->first, w->end, I(ahead), 1);
	tcb_kit_nounroll(b);
	for (unsigned u = 0; u < ahead; u++) {
		const kit_op token = u ? u_add(b, t, I(u)) : t;
		is_there[u] = u_lt_and(b, token, w->end, w->is_own);
		for (unsigned j = 0; j < g->width; j++)
			x[u][j] = f_set(b, F(0));
		load_where(w, is_there[u], token_at(w, w->x, token), x[u]);
	}
	for (unsigned u = 0; u < ahead; u++) {
		for (unsigned j = 0; j < g->width; j++) {
			kit_op sum = w->bias_of[j];
			for (unsigned i = 0; i < CONV_TAPS; i++) {
				const unsigned at = u + i;
				sum = f_fma(b, w->weight[i][j], at < CONV_KEPT ? w->last[at][j] : x[at - CONV_KEPT][j],
					    sum);
			}
			y[j] = silu(b, sum);
		}
		tcb_kit_store_where(b, is_there[u], TCB_KIT_GLOBAL, "f32",
				    tcb_ptx_at(token_at(w, w->y, u ? u_add(b, t, I(u)) : t), 0), y, g->width);
	}
	for (unsigned i = 0; i < CONV_KEPT; i++)
		for (unsigned j = 0; j < g->width; j++) {
			const unsigned at = ahead + i;
			f_set_to(b, w->last[i][j], at < CONV_KEPT ? w->last[at][j] : x[at - CONV_KEPT][j]);
		}
	tcb_ptx_for_end(b);
}

/* The state behind token T to the slot that is number WHICH of the sequence's row. */
static void store_state(struct writer *w, kit_op t, kit_op which)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct conv_gpu *g = w->g;
	const kit_op slot = slot_at(w, which), is_zero = u_eq(b, t, I(0));
	kit_op value[CONV_KEPT][WIDTH_MAX];
	tcb_ptx_if_begin(b, s_gt(b, slot, I(-1)));
	for (unsigned i = 0; i < CONV_KEPT; i++) {
		const unsigned back = CONV_KEPT - 1 - i;
		/* Row i is token t - 2 + i: before the first that is the old state's row t + 1 + i. */
		for (unsigned j = 0; j < g->width; j++)
			value[i][j] = f_select(b, w->old[tcb_least(i + 1, CONV_KEPT - 1)][j], w->old[CONV_KEPT - 1][j],
					       is_zero);
		load_where(w, u_ge(b, t, I(back)), token_at(w, w->x, back ? u_sub(b, t, I(back)) : t), value[i]);
		tcb_kit_store_where(b, w->is_own, TCB_KIT_GLOBAL, "f32",
				    tcb_ptx_at(state_at(w, w->states_out, b_set(b, slot), i), 0), value[i], g->width);
	}
	tcb_ptx_if_end(b);
}

static void store_states(struct writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	if (w->g->tiles > 1)
		tcb_ptx_if_begin(b, u_eq(b, w->first, I(0)));
	if (w->g->is_prefill) {
		store_state(w, u_sub(b, w->count, I(1)), I(1));
	} else {
		const kit_op t = tcb_ptx_for_begin(b, I(0), w->count, I(1), 1);
		tcb_kit_nounroll(b);
		store_state(w, t, u_add(b, t, I(1)));
		tcb_ptx_for_end(b);
	}
	if (w->g->tiles > 1)
		tcb_ptx_if_end(b);
}

static void declare(struct writer *w)
{
	struct tcb_kit *kit = &w->kit;
	w->x = tcb_kit_operand(kit, "x", 16, CONV_X);
	w->weights = tcb_kit_operand(kit, "weights", 16, CONV_WEIGHTS);
	w->bias = tcb_kit_operand(kit, "bias", 16, CONV_BIAS);
	w->counts = tcb_kit_operand(kit, "counts", 4, CONV_COUNTS);
	w->slots = tcb_kit_operand(kit, "slots", 4, CONV_SLOTS);
	w->states = tcb_kit_operand(kit, "states", 16, CONV_STATES);
	w->y = tcb_kit_operand(kit, "y", 16, CONV_Y);
	w->states_out = tcb_kit_operand(kit, "states_out", 16, CONV_STATES_OUT);
	tcb_kit_dependents(kit, 1);
}

static enum tcb_status conv_emit(const struct tcb_problem *problem, const struct tcb_target *target,
				 const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err)
{
	struct conv_gpu g;
	struct writer w = { .g = &g };
	struct tcb_ptx_build *b = &w.kit.b;
	TCB_TRY(tcb_kit_open(&w.kit, problem, target, 0, geometry, out, err));
	plan_of(problem, geometry, &g);
	tcb_kit_begin(&w.kit, "short_conv",
		      &(struct tcb_kit_kernel){ .threads = g.threads,
						.blocks_together = 1,
						.grid = { g.blocks, g.tiles, g.sequences },
						.is_dependent = g.pdl });
	declare(&w);
	w.kit.tid = u_thread(b);
	const kit_op channel = u_mul(b, u_mad(b, u_block_x(b), I(g.threads), w.kit.tid), I(g.width));
	w.is_own = u_lt(b, channel, I(g.row));
	w.channel = u_min(b, channel, I(g.row - g.width));
	w.sequence = u_block_z(b);
	w.first = u_mul(b, u_block_y(b), I(g.tile));
	w.count = tcb_kit_entry(b, tcb_kit_input(g.pdl), w.counts, w.sequence);
	w.end = u_min(b, u_add(b, w.first, I(g.tile)), w.count);
	tcb_ptx_if_begin(b, u_lt(b, w.first, w.count));
	write_before(&w);
	write_tokens(&w);
	store_states(&w);
	tcb_ptx_if_end(b);
	tcb_kit_end(&w.kit);
	out->class = TCB_CLASS_BOUNDED;
	out->chain = CONV_CHAIN;
	return tcb_kit_close(&w.kit, err);
}

#define SIDE(kind)                                                                                           \
	const struct tcb_side short_conv_##kind##_f32_gpu = {                                                \
		.variants = TCB_EMITTED(TCB_EMITTED_ROW("short_conv_" #kind "_f32_ptx", F32, FMA, BOUNDED)), \
		.space = &gpu_space,                                                                         \
		.emit = conv_emit,                                                                           \
	};
SIDE(decode)
SIDE(prefill)
