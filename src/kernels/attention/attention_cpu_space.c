/* SPDX-License-Identifier: MIT
 *
 * The search space of attention on CPUs, its rules and its default geometry.
 */
#include <string.h>

#include "base/sizes.h"
#include "kernels/attention/attention_cpu.h"
#include "kernels/axes.h"
#include "kernels/constraint.h"
#include "kernels/cpu_rules.h"
#include "kernels/simd/isas.h"

enum {
	TILE_LEAST = 16,
	TILE_MOST = 512,
	DEFAULT_TILE = 512,
	DEFAULT_STEP_TILE = 64,  /* with other steps than 0 */
	DEFAULT_PAIRS_TILE = 64, /* all heads of which are gone over in turn, so that a tile is asked for ahead */
	DEFAULT_TOKENS = 32,     /* attention_prefill's */
	DEFAULT_LONG_TILE = 128,
	DEFAULT_PART = 512,
	DEFAULT_AHEAD = 8192,
	DEFAULT_STEP_AHEAD = 65536,
	SUMS_MOST = 16384,    /* bytes of sums that are loaded for each step of 0 */
	PAIRS_ROWS_LEAST = 7, /* query rows of a KV head */
	AHEAD_LEAST = 2048,
	AHEAD_MOST = 262144,
	ROWS_MOST = 16, /* of a register tile */
	TOKENS_MOST = 256,
	MICRO_OPERANDS = 4 /* registers beside the sums */
};

/* Words of four bytes in a vector; 0 for no family of CPUs. */
static size_t lanes_of(int32_t isa)
{
	return tcb_cpu_isa(isa)->lanes;
}

/* The families of TARGET that have kernels for PROBLEM. */
static void add_isas(const struct tcb_problem *problem, const struct tcb_target *target, struct tcb_axis *axis)
{
	const struct tcb_variant *variant;
	for (size_t i = 0; (variant = tcb_variant_at(tcb_op_cpu(problem->op), i)); i++)
		if (variant->contract == problem->contract && tcb_target_has(target, variant->isa))
			tcb_axis_add(axis, variant->isa);
	if (!axis->count) /* nothing runs here; V1 says so */
		tcb_axis_add(axis, TCB_ISA_SCALAR);
}

/* The one with the widest vectors, of equals the last. */
static enum tcb_isa widest_isa(const struct tcb_problem *problem, const struct tcb_target *target)
{
	struct tcb_axis isas = { .count = 0 };
	enum tcb_isa widest = TCB_ISA_SCALAR;
	add_isas(problem, target, &isas);
	for (size_t i = 0; i < isas.count; i++)
		if (lanes_of((int32_t)isas.values[i]) >= lanes_of((int32_t)widest))
			widest = (enum tcb_isa)isas.values[i];
	return widest;
}

/* attention_decode with few rows waits for memory anyway.  There products of pairs of bf16 are done before memory has
 * what they ask for ahead, and processors drop what is asked for faster than memory answers: a Zen 5 took a fifth
 * longer with four rows, and as much less with eight (cold, one thread). */
static enum tcb_isa default_isa(const struct tcb_problem *problem, const struct tcb_target *target)
{
	const enum tcb_isa widest = widest_isa(problem, target);
	const size_t rows = problem->shape.m * attention_group(&problem->shape);
	const enum tcb_isa floats = tcb_cpu_isa(widest)->floats;
	const int is_few = !attention_of(problem)->is_prefill && rows < PAIRS_ROWS_LEAST;
	return widest == TCB_ISA_AVX512BF16 && is_few && tcb_target_has(target, floats) ? floats : widest;
}

size_t attention_cpu_axes(const struct tcb_problem *problem, const struct tcb_target *target,
			  struct tcb_axis out[TCB_AXES_MAX])
{
	const struct tcb_shape *s = &problem->shape;
	const size_t n = tcb_power_of_two_up(s->n), m = tcb_power_of_two_up(s->m);
	const int is_prefill = attention_of(problem)->is_prefill;
	size_t count = 0;
	struct tcb_axis *a;
	add_isas(problem, target, tcb_axis_knob(out, &count, TCB_KNOB_ISA));
	tcb_axis_add_threads(tcb_axis_knob(out, &count, TCB_KNOB_THREADS), target);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_SCHED), TCB_SCHED_STATIC, TCB_SCHED_DYNAMIC);
	for (int level = TCB_MACRO; level < TCB_LEVEL_COUNT; level++)
		tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, (enum tcb_level)level), s->k);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MICRO), 1, 2, is_prefill ? ROWS_MOST : 1);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MIDI), is_prefill ? 2 : m, 2,
			    is_prefill ? TOKENS_MOST : m);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MACRO), m, 2, tcb_most(m, ROWS_MOST));
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MICRO), 1, 2, is_prefill ? 64 : TILE_LEAST);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MIDI), 1, 2, TILE_MOST);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MACRO), 1, 2, tcb_most(n, 64));
	if (is_prefill)
		return count;
	a = tcb_axis_knob(out, &count, TCB_KNOB_PREFETCH);
	tcb_axis_add(a, 0);
	tcb_axis_add_powers(a, AHEAD_LEAST, 2, AHEAD_MOST);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_STEP), 0, ATTENTION_DECODE_STEP);
	return count;
}

/* --- rules (V4) --- */

/* With VNNI blocks are gone over in another way (attention_q80_kernels.c), as are pairs of bf16
 * (attention_bf16_kernels.c). */
static int is_in_bytes(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	return attention_of(problem)->kv == TCB_TYPE_BLOCKS && problem->contract == TCB_CONTRACT_F16 &&
	       geometry->knob[TCB_KNOB_ISA] == TCB_ISA_AVX512VNNI;
}

static const char *rule_queries(const struct tcb_problem *problem, const struct tcb_target *target,
				const struct tcb_geometry *geometry)
{
	(void)target;
	return !attention_of(problem)->is_prefill && geometry->tile[TCB_MIDI].m < problem->shape.m
		       ? "attention_decode takes all query tokens in midi.m"
		       : NULL;
}

static const char *rule_knobs(const struct tcb_problem *problem, const struct tcb_target *target,
			      const struct tcb_geometry *geometry)
{
	(void)problem, (void)target;
	return geometry->knob[TCB_KNOB_HINT] > 0 ? "attention prefetches with hint=t0" : NULL;
}

static int is_in_pairs(const struct tcb_geometry *geometry)
{
	return geometry->knob[TCB_KNOB_ISA] == TCB_ISA_AVX512BF16;
}

static const char *double_step(const struct tcb_problem *problem, const struct tcb_target *target,
			       const struct tcb_geometry *geometry)
{
	(void)target;
	return (is_in_bytes(problem, geometry) || is_in_pairs(geometry)) && geometry->knob[TCB_KNOB_STEP] > 0
		       ? "attention_decode with products of bytes or of pairs of bf16 has a step of its own, step=0"
		       : NULL;
}

/* Tiles that only add calls, or whose scores leave the first cache. */
static const char *policy_tiles(const struct tcb_problem *problem, const struct tcb_target *target,
				const struct tcb_geometry *geometry)
{
	const size_t n = problem->shape.n, tile = geometry->tile[TCB_MIDI].n, part = geometry->tile[TCB_MACRO].n;
	(void)target;
	if (tile < TILE_LEAST && tile < n)
		return "midi.n below 16 KV tokens only adds calls";
	if (attention_of(problem)->is_prefill && part < n)
		return "attention_prefill has tasks enough without parts of KV";
	return part < n && part < 8 * TILE_LEAST ? "macro.n below 128 KV tokens only adds parts" : NULL;
}

const struct tcb_rule attention_cpu_rules[] = {
	{ TCB_FIELD_KNOB(HINT), TCB_RULE_KERNEL, rule_knobs },
	{ TCB_FIELD_TILES, TCB_RULE_KERNEL, rule_queries },
	{ TCB_FIELD_TILES, TCB_RULE_POLICY, policy_tiles },
	{ TCB_FIELD_KNOB(ISA) | TCB_FIELD_KNOB(STEP), TCB_RULE_DOUBLE, double_step },
	{ TCB_FIELD_KNOB(ISA), TCB_RULE_POLICY, tcb_cpu_policy_scalar },
	{ 0, 0, NULL },
};

/* --- default geometry --- */

/* Of attention_prefill half of the registers or more hold sums. */
static struct tcb_tile default_micro(int is_prefill, enum tcb_isa isa, size_t k)
{
	const size_t lanes = lanes_of((int32_t)isa);
	if (!is_prefill)
		return (struct tcb_tile){ 1, lanes, k };
	return lanes > 1 ? (struct tcb_tile){ 4, lanes == 16 ? 64 : 16, k } : (struct tcb_tile){ 4, 4, k };
}

/* attention_decode: tile, step and what is asked for ahead.  Sums of all heads are loaded and stored for each step of
 * 0, so that it is for those that fit the first cache, with K and V of this step and of the next. */
static void default_walk(const struct tcb_problem *problem, struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t rows = s->m * attention_group(s),
		     step = attention_least_step(lanes_of(out->knob[TCB_KNOB_ISA]), rows);
	const size_t row_bytes = s->heads.kv * tcb_kv_bytes(attention_of(problem)->kv, s->k);
	const size_t of_step = tcb_least(tcb_power_of_two_up(step * row_bytes), AHEAD_MOST);
	size_t tile = DEFAULT_TILE, ahead = tcb_most(DEFAULT_AHEAD, of_step);
	out->knob[TCB_KNOB_STEP] = 0;
	if (is_in_bytes(problem, out)) {
		ahead = DEFAULT_STEP_AHEAD;
	} else if (is_in_pairs(out)) {
		tile = DEFAULT_PAIRS_TILE;
		ahead = tcb_least(tcb_power_of_two_up(DEFAULT_PAIRS_TILE * row_bytes), AHEAD_MOST);
	} else if (s->heads.kv * rows * s->k * sizeof(float) > SUMS_MOST) {
		tile = DEFAULT_STEP_TILE;
		ahead = DEFAULT_STEP_AHEAD;
		out->knob[TCB_KNOB_STEP] = ATTENTION_DECODE_STEP;
	}
	out->tile[TCB_MIDI].n = tcb_least(out->tile[TCB_MACRO].n, tile);
	out->knob[TCB_KNOB_PREFETCH] = (int32_t)ahead;
}

void attention_cpu_default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
				    struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const enum tcb_isa isa = default_isa(problem, target);
	const int is_prefill = attention_of(problem)->is_prefill;
	const struct tcb_tile micro = default_micro(is_prefill, isa, s->k);
	const size_t m = tcb_most(tcb_power_of_two_up(s->m), micro.m), n = tcb_most(tcb_power_of_two_up(s->n), micro.n);
	const size_t tokens = is_prefill ? tcb_least(m, DEFAULT_TOKENS) : m;
	const size_t each = tcb_power_of_two_up(tcb_div_up(n, tcb_most(target->threads, 1)));
	const size_t part = is_prefill ? n : tcb_least(n, tcb_most(each, DEFAULT_PART));
	const size_t tasks = (size_t)s->heads.sequences * (is_prefill ? s->heads.kv : 1) * tcb_div_up(s->n, part) *
			     tcb_div_up(s->m, tokens);
	tcb_geometry_init(out);
	out->tile[TCB_MACRO] = (struct tcb_tile){ m, part, s->k };
	out->tile[TCB_MIDI] = (struct tcb_tile){ tokens, tcb_least(part, DEFAULT_LONG_TILE), s->k };
	out->tile[TCB_MICRO] = micro;
	out->knob[TCB_KNOB_ISA] = (int32_t)isa;
	out->knob[TCB_KNOB_THREADS] = (int32_t)tcb_least(tcb_most(target->threads, 1), tasks);
	out->knob[TCB_KNOB_SCHED] = TCB_SCHED_STATIC;
	if (!is_prefill)
		default_walk(problem, out);
}

void attention_cpu_footprint(const struct tcb_problem *problem, const struct tcb_target *target,
			     const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	const size_t lanes = lanes_of(geometry->knob[TCB_KNOB_ISA]);
	(void)target;
	memset(out, 0, sizeof(*out));
	out->element_bytes = 2;
	const size_t vectors = lanes ? geometry->tile[TCB_MICRO].n / lanes : 0;
	const size_t sums = attention_of(problem)->is_prefill ? geometry->tile[TCB_MICRO].m * vectors : lanes;
	out->accumulators = (unsigned)sums;
	out->vector_registers = 0;
	if (lanes > 1)
		out->vector_registers =
			(unsigned)(attention_of(problem)->is_prefill ? sums + vectors + 1
								     : tcb_least(lanes, 16) + MICRO_OPERANDS);
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		out->level_bytes[level] = 4 * geometry->tile[level].n * geometry->tile[level].k;
}
