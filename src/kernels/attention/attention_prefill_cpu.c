/* SPDX-License-Identifier: MIT
 *
 * attention_prefill on CPUs: its sizes, its search space with rules and default
 * geometry, and its side.  attention_cpu.h says how a geometry drives it.
 */
#include "base/sizes.h"
#include "kernels/attention/attention_cpu.h"
#include "kernels/constraint.h"
#include "kernels/cpu/cpu_plan.h"
#include "kernels/cpu/cpu_rules.h"
#include "kernels/simd/isas.h"

/* With AVX2 and a window of less than 32 tokens: a task goes over its own tokens and a window's.  On a Zen 3 8 take 0.6
 * of the time of 32 where the window is one to four, 16 take 0.8 to 0.9 with one of 12 and 24. */
enum { NARROW_TOKENS_LEAST = 8, NARROW_TOKENS_MOST = 16 };
enum { DEFAULT_TOKENS = 32, DEFAULT_TILE = 128, TOKENS_MOST = 256, FLOATS_MOST = 64 };
/* With AMX: rows, and KV tokens that have scores at a time, by default and with the word bits; query rows of a task,
 * which share what is packed, query tokens at most, and bytes packed, in half of the second cache, by default; KV
 * tokens of a tile at most. */
enum {
	AMX_ROWS = 32,
	AMX_TOKENS = 256,
	AMX_TASK_ROWS = 512,
	AMX_TASK_TOKENS = 128,
	AMX_PACKED_BYTES = 1 << 20,
	AMX_TILE_MOST = 4096
};

/* --- plan and run --- */

static struct attention_dims dims_of(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	const size_t together = tcb_round_up(geometry->tile[TCB_MIDI].n, ATTENTION_TOKENS_TOGETHER);
	const size_t head = tcb_round_up(tcb_most(problem->shape.k, attention_v(&problem->shape)), ATTENTION_BLOCK);
	const struct tcb_tile *micro = &geometry->tile[TCB_MICRO];
	struct attention_dims dims = { .heads = 1, .lead = together, .packed_floats = together * head };
	if (tcb_cpu_isa(geometry->knob[TCB_KNOB_ISA])
		    ->has_tiles) { /* K and V of half as many bytes, both; two parts of scores */
		dims.lead = micro->n;
		dims.score_rows = 2 * micro->m;
		dims.keeps_packed = 1;
	}
	attention_dims_complete(problem, geometry, &dims);
	return dims;
}

static enum tcb_status prefill_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
				    struct tcb_plan *out, struct tcb_error *err)
{
	TCB_TRY(tcb_cpu_plan(problem, geometry, 0, out, err));
	const struct attention_dims dims = dims_of(problem, geometry);
	return attention_plan(&dims, out, err);
}

static void prefill_run(const struct tcb_plan *plan, void *const operand[], void *workspace, struct tcb_pool *pool)
{
	const struct attention_dims dims = dims_of(&plan->problem, &plan->geometry);
	attention_run(plan, &dims, operand, workspace, pool);
}

/* --- the space --- */

static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	static const struct attention_ranges ranges = { ATTENTION_CPU_ROWS_MOST, FLOATS_MOST, 2, TOKENS_MOST,
							ATTENTION_CPU_TILE_MOST };
	static const struct attention_ranges with_tiles = { AMX_ROWS, AMX_TOKENS, 2, TOKENS_MOST, AMX_TILE_MOST };
	const int has_tiles = tcb_cpu_isa((int32_t)attention_cpu_widest(problem, target))->has_tiles;
	return attention_cpu_axes(problem, target, has_tiles ? &with_tiles : &ranges, out);
}

static const char *policy_part(const struct tcb_problem *problem, const struct tcb_target *target,
			       const struct tcb_geometry *geometry)
{
	(void)target;
	return geometry->tile[TCB_MACRO].n < problem->shape.n ? "attention_prefill has tasks enough without parts of KV"
							      : NULL;
}

static const char *policy_tile_most(const struct tcb_problem *problem, const struct tcb_target *target,
				    const struct tcb_geometry *geometry)
{
	(void)problem, (void)target;
	return geometry->tile[TCB_MIDI].n > ATTENTION_CPU_TILE_MOST &&
			       !tcb_cpu_isa(geometry->knob[TCB_KNOB_ISA])->has_tiles
		       ? "midi.n above 512 KV tokens is for isa=amx, which keeps them packed"
		       : NULL;
}

static const struct tcb_rule rules[] = {
	{ TCB_FIELD_KNOB(HINT), TCB_RULE_KERNEL, attention_cpu_rule_knobs },
	{ TCB_FIELD_TILES, TCB_RULE_POLICY, attention_cpu_policy_tile },
	{ TCB_FIELD_TILES, TCB_RULE_POLICY, policy_part },
	{ TCB_FIELD_TILES | TCB_FIELD_KNOB(ISA), TCB_RULE_POLICY, policy_tile_most },
	{ TCB_FIELD_KNOB(ISA), TCB_RULE_POLICY, tcb_cpu_policy_scalar },
	{ 0, 0, NULL },
};

/* Of the word bits: tiles of 128 KV tokens from the first one on, in order, as the widest family goes over them; with
 * AMX chunks of 256 within tiles of any size. */
static const char *reorders(const struct tcb_problem *problem, const struct tcb_target *target,
			    const struct tcb_geometry *geometry)
{
	const size_t n = problem->shape.n;
	const int has_tiles = tcb_cpu_isa(geometry->knob[TCB_KNOB_ISA])->has_tiles;
	const size_t midi = tcb_least(geometry->tile[TCB_MIDI].n, n);
	if (geometry->tile[TCB_MACRO].n < n || (!has_tiles && midi != tcb_least(DEFAULT_TILE, n)))
		return "macro.n must be N or more, and midi.n 128 KV tokens, or cover fewer";
	if (has_tiles && (geometry->tile[TCB_MICRO].n != AMX_TOKENS || geometry->tile[TCB_MIDI].n % AMX_TOKENS))
		return "micro.n must be 256 KV tokens";
	return attention_cpu_reorders(problem, target, geometry);
}

/* KV tokens of a tile that AMX has packed. */
static size_t packed_tile(const struct tcb_shape *s)
{
	size_t tile = AMX_TILE_MOST;
	while (tile > AMX_TOKENS && tile * 2 * (s->k + attention_v(s)) > AMX_PACKED_BYTES)
		tile /= 2;
	return tile;
}

/* Half of the registers or more hold sums.  With AMX as many query tokens as share what is packed well, and all KV that
 * the second cache takes. */
static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const enum tcb_isa isa = attention_cpu_widest(problem, target);
	const size_t lanes = tcb_cpu_isa((int32_t)isa)->lanes;
	const int has_tiles = tcb_cpu_isa((int32_t)isa)->has_tiles;
	const struct tcb_tile micro = has_tiles ? (struct tcb_tile){ AMX_ROWS, AMX_TOKENS, s->k }
						: (struct tcb_tile){ 4,
								     lanes == 16 ? 64
								     : lanes > 1 ? 16
										 : 4,
								     s->k };
	const size_t m = tcb_most(tcb_power_of_two_up(s->m), micro.m), n = tcb_most(tcb_power_of_two_up(s->n), micro.n);
	size_t tokens = DEFAULT_TOKENS;
	if (has_tiles)
		tokens = tcb_least(tcb_power_of_two_up(tcb_div_up(AMX_TASK_ROWS, attention_group(s))), AMX_TASK_TOKENS);
	while (has_tiles && tokens > AMX_ROWS && s->words.kv * tcb_div_up(s->m, tokens) < 4 * (size_t)target->threads)
		tokens /= 2;
	if (isa == TCB_ISA_AVX2 && s->words.window && s->words.window < DEFAULT_TOKENS)
		tokens = tcb_least(tcb_most(tcb_power_of_two_up(s->words.window), NARROW_TOKENS_LEAST),
				   NARROW_TOKENS_MOST);
	tokens = tcb_most(tokens, micro.m);
	const struct attention_task task = { .micro = micro,
					     .m = m,
					     .tokens = tcb_least(m, tokens),
					     .part = n,
					     .tile = has_tiles ? packed_tile(s) : DEFAULT_TILE,
					     .heads = 1 };
	attention_cpu_geometry(problem, target, isa, &task, out);
}

static void footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	const struct tcb_tile *micro = &geometry->tile[TCB_MICRO];
	const struct tcb_cpu_isa *isa = tcb_cpu_isa(geometry->knob[TCB_KNOB_ISA]);
	const size_t vectors = isa->lanes ? micro->n / isa->lanes : 0, sums = micro->m * vectors;
	(void)problem, (void)target;
	/* Sums of tiles are in registers of their own. */
	attention_cpu_footprint(geometry, sums, isa->has_tiles ? isa->registers : sums + vectors + 1, out);
}

static const struct tcb_side_space space = { rules, axes, default_geometry, footprint, .reorders = reorders };

TCB_VARIANT_TABLES(f16_variants, TCB_ISAS_FLOATS, attention_prefill_f16_variants)
#define PAIRS_AND_TILES(X, name) X(avx512bf16, name) X(amx, name)
ATTENTION_VARIANT_TABLES(bf16_variants, attention_prefill_bf16, PAIRS_AND_TILES)
TCB_VARIANT_TABLES(q80_variants, TCB_ISAS_FLOATS, attention_prefill_q80_variants)
#define TABLES(kv, ...) TCB_VARIANT_TABLES(kv##_variants, TCB_ISAS_FLOATS, attention_prefill_##kv##_variants)
TCB_KV_CPU_LIST(TABLES, )

#define SIDE(kv, ...)                                          \
	const struct tcb_side attention_prefill_##kv##_cpu = { \
		.variants = kv##_variants,                     \
		.space = &space,                               \
		.plan = prefill_plan,                          \
		.run = prefill_run,                            \
	};
TCB_KV_LIST(SIDE, )
