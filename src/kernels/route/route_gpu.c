/* SPDX-License-Identifier: MIT
 *
 * Routing on a GPU: a geometry comes in, a module of PTX and its launch go out; its space and rules (V4).  route_gpu.h
 * says how the geometry drives it.
 *
 * Lanes have scores in the order of lanes, so of equal ones the first lane's is the first.  The score of place u stays
 * with lane u % 32, which makes its share of it in the end.
 */
#include "kernels/route/route_gpu.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/axes.h"
#include "kernels/gpu/frame.h"
#include "kernels/gpu/gpu_rules.h"

enum {
	DEFAULT_WARPS = 4,
	PLACES_MOST = ROUTE_USED_MAX / WARP,
	SHORT_WORK = 128 /* scores that a lane looks at, all together, in the time of a launch */
};
#define TAKEN (-(float)INFINITY) /* below all scores */

struct writer {
	struct tcb_kit kit;
	unsigned experts, used;
	unsigned scores, width; /* of a lane; of a vector of them */
	int pdl;
	kit_op row, ids, factors; /* the token's */
	kit_op score[ROUTE_GPU_SCORES_MOST];
	kit_op best, at; /* the lane's largest, and which of its scores that is */
};

static unsigned scores_of(const struct tcb_problem *problem)
{
	return (unsigned)tcb_div_up(problem->shape.n, WARP);
}

/* Vectors where all lanes have whole ones. */
static unsigned width_of(const struct tcb_problem *problem)
{
	const size_t n = problem->shape.n;
	return n % (4 * WARP) == 0 ? 4 : n % (2 * WARP) == 0 ? 2 : 1;
}

/* As they count: finite, a NaN the lowest. */
static void load_scores(struct writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op first = u_mul(b, w->kit.lane, I(w->scores)), from = l_mad_wide(b, first, I(4), w->row);
	const int is_whole = w->experts % WARP == 0;
	for (unsigned i = 0; i < w->scores; i += w->width) {
		for (unsigned j = i; j < i + w->width; j++)
			w->score[j] = f_set(b, F(TAKEN));
		if (!is_whole)
			tcb_ptx_guard(b, u_lt(b, u_add(b, first, I(i)), I(w->experts)));
		tcb_kit_load_into(b, tcb_kit_input(w->pdl), "f32", tcb_ptx_at(from, (int64_t)4 * i), w->score + i,
				  w->width);
		for (unsigned j = i; j < i + w->width; j++)
			f_max_to(b, w->score[j], w->score[j], F(-FLT_MAX));
		tcb_ptx_unguard(b);
		for (unsigned j = i; j < i + w->width; j++)
			f_min_to(b, w->score[j], w->score[j], F(FLT_MAX));
	}
}

/* The lane's largest score, the first of equal ones. */
static void find_best(struct writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	f_set_to(b, w->best, w->score[0]);
	u_set_to(b, w->at, I(0));
	for (unsigned i = 1; i < w->scores; i++) {
		const kit_op is_more = f_gt(b, w->score[i], w->best);
		u_select_to(b, w->at, I(i), w->at, is_more);
		f_max_to(b, w->best, w->best, w->score[i]);
	}
}

/* The next expert, of place PLACE (.u32), is taken out; returns its score. */
static kit_op take_best(struct writer *w, kit_op place)
{
	struct tcb_ptx_build *b = &w->kit.b;
	find_best(w);
	const kit_op most = tcb_kit_over_lanes(b, f_max, w->best, WARP);
	const kit_op lanes = u_lanes_where(b, f_eq(b, w->best, most));
	const kit_op winner = u_highest(b, u_and(b, lanes, u_sub(b, I(0), lanes)));
	const kit_op is_mine = u_eq(b, w->kit.lane, winner);
	const kit_op expert = u_mad(b, w->kit.lane, I(w->scores), w->at);
	tcb_kit_put_where(b, is_mine, TCB_KIT_GLOBAL, "u32", tcb_kit_element(b, w->ids, place, 4), expert);
	const kit_op taken = u_select(b, w->at, I(-1), is_mine);
	for (unsigned i = 0; i < w->scores; i++)
		f_select_to(b, w->score[i], F(TAKEN), w->score[i], u_eq(b, taken, I(i)));
	return most;
}

static void write_token(struct writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned places = tcb_div_up(w->used, WARP);
	kit_op share[PLACES_MOST], sum = F(0), first = { 0 };
	load_scores(w);
	w->best = f_set(b, F(TAKEN));
	w->at = u_set(b, I(0));
	for (unsigned p = 0; p < places; p++) {
		const unsigned left = w->used - p * WARP, count = left < WARP ? left : WARP;
		share[p] = f_set(b, F(TAKEN));
		if (p == 0) {
			first = f_set(b, take_best(w, I(0)));
			f_select_to(b, share[0], first, share[0], u_eq(b, w->kit.lane, I(0)));
		}
		if (p || count > 1) {
			const kit_op turn = tcb_ptx_for_begin(b, I(p ? 0 : 1), I(count), I(1), 1);
			tcb_kit_nounroll(b);
			const kit_op most = take_best(w, p ? u_add(b, turn, I(p * WARP)) : turn);
			f_select_to(b, share[p], most, share[p], u_eq(b, w->kit.lane, turn));
			tcb_ptx_for_end(b);
		}
	}
	for (unsigned p = 0; p < places; p++) {
		share[p] = tcb_kit_exp(b, f_sub(b, share[p], first));
		sum = p ? f_add(b, sum, share[p]) : share[p];
	}
	const kit_op factor = f_reciprocal(b, tcb_kit_over_lanes(b, f_add, sum, WARP));
	for (unsigned p = 0; p < places; p++) {
		const kit_op place = u_add(b, w->kit.lane, I(p * WARP));
		tcb_kit_put_where(b, u_lt(b, place, I(w->used)), TCB_KIT_GLOBAL, "f32",
				  tcb_kit_element(b, w->factors, place, 4), f_mul(b, share[p], factor));
	}
}

static enum tcb_status route_emit(const struct tcb_problem *problem, const struct tcb_target *target,
				  const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err)
{
	const unsigned warps = KNOB(WARPS);
	const struct tcb_shape *s = &problem->shape;
	struct writer w = { .experts = (unsigned)s->n,
			    .used = (unsigned)s->k,
			    .scores = scores_of(problem),
			    .width = width_of(problem),
			    .pdl = KNOB(PDL) == 1 };
	struct tcb_ptx_build *b = &w.kit.b;
	TCB_TRY(tcb_kit_open(&w.kit, problem, target, 0, geometry, out, err));
	tcb_kit_begin(&w.kit, "route",
		      &(struct tcb_kit_kernel){ .threads = warps * WARP,
						.blocks_together = 1,
						.grid = { (uint32_t)tcb_div_up(s->m, warps) },
						.is_dependent = w.pdl });
	const kit_op scores = tcb_kit_operand(&w.kit, "scores", 4 * w.width, ROUTE_SCORES);
	const kit_op ids = tcb_kit_operand(&w.kit, "ids", 4, ROUTE_IDS);
	const kit_op factors = tcb_kit_operand(&w.kit, "factors", 4, ROUTE_FACTORS);
	const kit_op tokens = tcb_kit_number(&w.kit, "tokens", s->m);
	/* Blocks of the next launch beside this one's: these would lie on fewer SMs, which costs more than a launch
	 * where each has long to do (of 1023 tokens with 1402 experts 6 on an H200 9.0 us instead of 7.9). */
	const int is_late = w.scores * w.used > SHORT_WORK;
	if (is_late)
		tcb_kit_depend(&w.kit);
	else
		tcb_kit_dependents(&w.kit, 1);
	tcb_kit_threads(&w.kit);
	const kit_op token = u_mad(b, u_block_x(b), I(warps), w.kit.warp);
	tcb_ptx_if_begin(b, u_lt(b, token, tokens));
	w.row = tcb_kit_element(b, scores, token, 4 * w.experts);
	w.ids = tcb_kit_element(b, ids, token, 4 * w.used);
	w.factors = tcb_kit_element(b, factors, token, 4 * w.used);
	write_token(&w);
	tcb_ptx_if_end(b);
	if (is_late)
		tcb_kit_dependents(&w.kit, 0);
	tcb_kit_end(&w.kit);
	/* Of a share: its own exponential and quotient, the mean of the exponentials' errors, what they are added up
	 * with, and the rounded arguments of both, which are magnitudes. */
	out->class = TCB_CLASS_BOUNDED;
	out->chain = 2;
	out->ulps = 2 * TCB_KIT_EXP_ULPS + 2;
	return tcb_kit_close(&w.kit, err);
}

/* --- the space --- */

RULE(rule_knobs)
{
	if (!tcb_gpu_sets_knobs(geometry, KNOB_BIT(ISA) | KNOB_BIT(WARPS) | KNOB_BIT(PDL), 0))
		return "a GPU's geometry sets isa, warps and pdl, and no other knob";
	return geometry->knob[TCB_KNOB_ISA] != TCB_ISA_FMA ? "isa must be fma on a GPU"
							   : tcb_gpu_rule_isa(problem, target, geometry);
}

RULE(rule_warps)
{
	const size_t warps = KNOB(WARPS);
	if (!tcb_is_power_of_two(warps) || warps > WARPS_MAX)
		return "warps must be a power of two up to 32";
	return warps / 2 >= problem->shape.m ? "half of a block's warps have no token: fewer warps" : NULL;
}

RULE(rule_tiles)
{
	const struct tcb_tile *tile = geometry->tile;
	if (tile[TCB_MACRO].m != tcb_power_of_two_up(problem->shape.m))
		return "macro.m must be the tokens, rounded up to a power of two";
	return tile[TCB_MIDI].m != KNOB(WARPS) || tile[TCB_MICRO].m != 1 || tile[TCB_MACRO].n != 1 ||
			       tile[TCB_MACRO].k != 1
		       ? "midi.m must be warps, micro.m 1, and tiles' n and k 1"
		       : NULL;
}

static const struct tcb_rule rules[] = {
	{ 0, TCB_RULE_KERNEL, rule_knobs },
	{ TCB_FIELD_KNOB(ISA), TCB_RULE_KERNEL, tcb_gpu_rule_shape },
	{ TCB_FIELD_KNOB(WARPS), TCB_RULE_KERNEL, rule_warps },
	{ TCB_FIELD_KNOB(PDL), TCB_RULE_KERNEL, tcb_gpu_rule_pdl },
	{ TCB_FIELD_TILES | TCB_FIELD_KNOB(WARPS), TCB_RULE_DOUBLE, rule_tiles },
	{ 0, 0, NULL },
};

static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	const size_t m = tcb_power_of_two_up(problem->shape.m);
	size_t count = 0;
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_ISA), TCB_ISA_FMA);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_WARPS), 1, 2, 4, 8, 16, 32);
	struct tcb_axis *axis = tcb_axis_knob(out, &count, TCB_KNOB_PDL);
	tcb_axis_add(axis, 0);
	if (target->cuda.capability >= 90)
		tcb_axis_add(axis, 1);
	for (int level = TCB_MACRO; level < TCB_LEVEL_COUNT; level++) {
		axis = tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, (enum tcb_level)level);
		if (level == TCB_MIDI)
			tcb_axis_add_powers(axis, 1, 2, tcb_least(m, WARPS_MAX));
		else
			tcb_axis_add(axis, level == TCB_MACRO ? m : 1);
		ADD(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, (enum tcb_level)level), 1);
		ADD(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, (enum tcb_level)level), 1);
	}
	return count;
}

/* Four tokens to a block, fewer where multiprocessors had none. */
static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const size_t m = tcb_power_of_two_up(problem->shape.m);
	size_t warps = tcb_least(m, DEFAULT_WARPS);
	while (warps > 1 && problem->shape.m < target->cuda.sm_count * (warps > 2 ? warps : warps / 2))
		warps /= 2;
	tcb_geometry_init(out);
	out->tile[TCB_MACRO] = (struct tcb_tile){ m, 1, 1 };
	out->tile[TCB_MIDI] = (struct tcb_tile){ warps, 1, 1 };
	out->tile[TCB_MICRO] = (struct tcb_tile){ 1, 1, 1 };
	out->knob[TCB_KNOB_ISA] = TCB_ISA_FMA;
	out->knob[TCB_KNOB_WARPS] = (int32_t)warps;
	out->knob[TCB_KNOB_PDL] = target->cuda.capability >= 90;
}

static void footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	const size_t scores = problem->shape.n, warps = KNOB_COUNT(WARPS);
	(void)target;
	memset(out, 0, sizeof(*out));
	out->element_bytes = sizeof(float);
	out->block_threads = (unsigned)(warps * WARP);
	out->thread_registers = 36 + scores_of(problem) + (unsigned)tcb_div_up(problem->shape.k, WARP);
	out->blocks_together = 1;
	out->grid[0] = tcb_div_up(problem->shape.m, warps);
	out->grid[1] = out->grid[2] = 1;
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		out->level_bytes[level] = sizeof(float) * geometry->tile[level].m * (scores + 2 * problem->shape.k);
}

static const struct tcb_side_space gpu_space = { rules, axes, default_geometry, footprint };

const struct tcb_side route_gpu = {
	.variants = TCB_EMITTED(TCB_EMITTED_ROW("route_f32_ptx", F32, FMA, BOUNDED)),
	.space = &gpu_space,
	.emit = route_emit,
};
