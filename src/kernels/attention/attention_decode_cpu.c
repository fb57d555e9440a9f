/* SPDX-License-Identifier: MIT
 *
 * attention_decode on CPUs: its sizes, its search space with rules and default
 * geometry, and its side.  attention_cpu.h says how a geometry drives it.
 */
#include "base/sizes.h"
#include "kernels/attention/attention_cpu.h"
#include "kernels/axes.h"
#include "kernels/constraint.h"
#include "kernels/cpu/cpu_plan.h"
#include "kernels/cpu/cpu_rules.h"
#include "kernels/simd/isas.h"

enum {
	DEFAULT_TILE = 512,
	DEFAULT_STEP_TILE = 64,  /* with other steps than 0 */
	DEFAULT_PAIRS_TILE = 64, /* all heads of which are gone over in turn, so that a tile is asked for ahead */
	DEFAULT_PART = 512,
	BITS_TOKENS = 512, /* of the word bits: KV tokens of a part and of a tile; parts of 256 cost up to a tenth */
	DEFAULT_AHEAD = 8192,
	TWELVE_AHEAD = 32768, /* where tiles of twelve sums go over K and V (attention_twelve.h) */
	TWELVE_ROWS_LEAST = 3,
	DEFAULT_STEP_AHEAD = 65536,
	SUMS_MOST = 16384,    /* bytes of sums that are loaded for each step of 0 */
	PAIRS_ROWS_LEAST = 7, /* query rows of a KV head */
	AHEAD_LEAST = 2048,
	AHEAD_MOST = 262144,
	MICRO_OPERANDS = 4 /* registers beside the sums */
};

/* --- plan and run --- */

/* Of a token's rows of K and V, on average. */
static size_t row_bytes_of(const struct tcb_problem *problem)
{
	const struct tcb_shape *s = &problem->shape;
	return s->words.kv *
	       (tcb_kv_kind_bytes(attention_k_kind(problem), s->k) +
		tcb_kv_kind_bytes(attention_v_kind(problem), attention_v_apart(s))) /
	       2;
}

static struct attention_dims dims_of(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t heads = s->words.kv, ahead_bytes = (size_t)geometry->knob[TCB_KNOB_PREFETCH];
	struct attention_dims dims = {
		.heads = heads,
		.lead = ATTENTION_DECODE_LEAD,
		.ahead = tcb_least(tcb_div_up(ahead_bytes, row_bytes_of(problem)), geometry->tile[TCB_MIDI].n),
		.step = (size_t)geometry->knob[TCB_KNOB_STEP],
	};
	if (attention_has_blocks(problem))
		dims.scale_floats =
			heads * (tcb_most(s->k, attention_v_apart(s)) / ATTENTION_BLOCK) * ATTENTION_DECODE_SHARE / 2;
	attention_dims_complete(problem, geometry, &dims);
	return dims;
}

static enum tcb_status decode_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
				   struct tcb_plan *out, struct tcb_error *err)
{
	TCB_TRY(tcb_cpu_plan(problem, geometry, TCB_NEEDS(PREFETCH) | TCB_NEEDS(STEP), out, err));
	if (geometry->tile[TCB_MIDI].n > ATTENTION_DECODE_TILE_MAX)
		return tcb_fail(err, TCB_E_ILLEGAL, "midi.n is at most %d KV tokens", ATTENTION_DECODE_TILE_MAX);
	const struct attention_dims dims = dims_of(problem, geometry);
	return attention_plan(&dims, out, err);
}

static void decode_run(const struct tcb_plan *plan, void *const operand[], void *workspace, struct tcb_pool *pool)
{
	const struct attention_dims dims = dims_of(&plan->problem, &plan->geometry);
	attention_run(plan, &dims, operand, workspace, pool);
}

/* --- axes --- */

static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	const size_t m = tcb_power_of_two_up(problem->shape.m);
	const struct attention_ranges ranges = { 1, ATTENTION_CPU_TILE_LEAST, m, m, ATTENTION_DECODE_TILE_MAX };
	size_t count = attention_cpu_axes(problem, target, &ranges, out);
	struct tcb_axis *a = tcb_axis_knob(out, &count, TCB_KNOB_PREFETCH);
	tcb_axis_add(a, 0);
	tcb_axis_add_powers(a, AHEAD_LEAST, 2, AHEAD_MOST);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_STEP), 0, ATTENTION_DECODE_STEP);
	return count;
}

/* --- rules (V4) --- */

/* With VNNI, and of contract f16 with AVX2, blocks are gone over in another way (attention_codes_kernels.c,
 * attention_halves_kernels.c), as are pairs of bf16 (attention_bf16_kernels.c). */
static int is_in_codes(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	return geometry->knob[TCB_KNOB_ISA] == TCB_ISA_AVX512VNNI ||
	       (geometry->knob[TCB_KNOB_ISA] == TCB_ISA_AVX2 && problem->contract == TCB_CONTRACT_F16 &&
		tcb_kv_kind_format(attention_k_kind(problem)) && tcb_kv_kind_format(attention_v_kind(problem)));
}

static int is_in_pairs(const struct tcb_geometry *geometry)
{
	return geometry->knob[TCB_KNOB_ISA] == TCB_ISA_AVX512BF16;
}

static int has_twelve(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	const struct tcb_shape *s = &problem->shape;
	const enum tcb_kv_kind k = attention_k_kind(problem), v = attention_v_kind(problem);
	return geometry->knob[TCB_KNOB_ISA] == TCB_ISA_AVX2 && k == v &&
	       (k == TCB_KV_KIND_F16 || k == TCB_KV_KIND_BF16) && attention_v(s) % ATTENTION_BLOCK == 0 &&
	       s->m * attention_group(s) >= TWELVE_ROWS_LEAST;
}

static const char *rule_queries(const struct tcb_problem *problem, const struct tcb_target *target,
				const struct tcb_geometry *geometry)
{
	(void)target;
	return geometry->tile[TCB_MIDI].m < problem->shape.m ? "attention_decode takes all query tokens in midi.m"
							     : NULL;
}

static const char *double_step(const struct tcb_problem *problem, const struct tcb_target *target,
			       const struct tcb_geometry *geometry)
{
	(void)target;
	return (is_in_codes(problem, geometry) || is_in_pairs(geometry)) && geometry->knob[TCB_KNOB_STEP] > 0
		       ? "attention_decode with products of codes or of pairs of bf16 has a step of its own, step=0"
		       : NULL;
}

static const char *policy_part(const struct tcb_problem *problem, const struct tcb_target *target,
			       const struct tcb_geometry *geometry)
{
	const size_t part = geometry->tile[TCB_MACRO].n;
	(void)target;
	return part < problem->shape.n && part < 8 * ATTENTION_CPU_TILE_LEAST
		       ? "macro.n below 128 KV tokens only adds parts"
		       : NULL;
}

static const struct tcb_rule rules[] = {
	{ TCB_FIELD_KNOB(HINT), TCB_RULE_KERNEL, attention_cpu_rule_knobs },
	{ TCB_FIELD_TILES, TCB_RULE_KERNEL, rule_queries },
	{ TCB_FIELD_TILES, TCB_RULE_POLICY, attention_cpu_policy_tile },
	{ TCB_FIELD_TILES, TCB_RULE_POLICY, policy_part },
	{ TCB_FIELD_KNOB(ISA) | TCB_FIELD_KNOB(STEP), TCB_RULE_DOUBLE, double_step },
	{ TCB_FIELD_KNOB(ISA), TCB_RULE_POLICY, tcb_cpu_policy_scalar },
	{ 0, 0, NULL },
};

/* --- default geometry --- */

/* Few rows wait for memory anyway.  There products of pairs of bf16 are done before memory has what they ask for ahead,
 * and processors drop what is asked for faster than memory answers: a Zen 5 took a fifth longer with four rows, and as
 * much less with eight (cold, one thread). */
static enum tcb_isa default_isa(const struct tcb_problem *problem, const struct tcb_target *target)
{
	const enum tcb_isa widest = attention_cpu_widest(problem, target);
	const size_t rows = problem->shape.m * attention_group(&problem->shape);
	const enum tcb_isa floats = tcb_cpu_isa(widest)->floats;
	return !problem->shape.words.bits && widest == TCB_ISA_AVX512BF16 && rows < PAIRS_ROWS_LEAST &&
			       tcb_target_has(target, floats)
		       ? floats
		       : widest;
}

/* Tile, step and what is asked for ahead.  Sums of all heads are loaded and stored for each step of 0, so that it is
 * for those that fit the first cache, with K and V of this step and of the next; but tiles of twelve sums store them
 * once for three tokens, and take 0.72 (32 KiB of sums) to 0.87 (256 KiB) of the time of other steps on a Zen 3. */
static void default_walk(const struct tcb_problem *problem, struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t rows = s->m * attention_group(s),
		     step = attention_least_step(tcb_cpu_isa(out->knob[TCB_KNOB_ISA])->lanes, rows);
	const size_t row_bytes = row_bytes_of(problem);
	const size_t of_step = tcb_least(tcb_power_of_two_up(step * row_bytes), AHEAD_MOST);
	const int is_twelve = has_twelve(problem, out);
	size_t tile = DEFAULT_TILE, ahead = tcb_most(is_twelve ? TWELVE_AHEAD : DEFAULT_AHEAD, of_step);
	out->knob[TCB_KNOB_STEP] = 0;
	if (is_in_codes(problem, out)) {
		ahead = DEFAULT_STEP_AHEAD;
	} else if (is_in_pairs(out)) {
		tile = DEFAULT_PAIRS_TILE;
		ahead = tcb_least(tcb_power_of_two_up(DEFAULT_PAIRS_TILE * row_bytes), AHEAD_MOST);
	} else if (!is_twelve && s->words.kv * rows * attention_v(s) * sizeof(float) > SUMS_MOST) {
		tile = DEFAULT_STEP_TILE;
		ahead = DEFAULT_STEP_AHEAD;
		out->knob[TCB_KNOB_STEP] = ATTENTION_DECODE_STEP;
	}
	out->tile[TCB_MIDI].n = tcb_least(out->tile[TCB_MACRO].n, s->words.bits ? BITS_TOKENS : tile);
	out->knob[TCB_KNOB_PREFETCH] = (int32_t)ahead;
}

static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const enum tcb_isa isa = default_isa(problem, target);
	const size_t lanes = tcb_cpu_isa((int32_t)isa)->lanes;
	const size_t m = tcb_power_of_two_up(s->m), n = tcb_most(tcb_power_of_two_up(s->n), lanes);
	const size_t each = tcb_power_of_two_up(tcb_div_up(n, tcb_most(target->threads, 1)));
	const struct attention_task task = { .micro = { 1, lanes, s->k },
					     .m = m,
					     .tokens = m,
					     .part = tcb_least(n, s->words.bits ? BITS_TOKENS
										: tcb_most(each, DEFAULT_PART)),
					     .tile = DEFAULT_TILE,
					     .heads = s->words.kv };
	attention_cpu_geometry(problem, target, isa, &task, out);
	default_walk(problem, out);
}

/* Of the word bits: parts of 512 KV tokens from the first one on, a tile each, as the widest family goes over them;
 * then the parts in order. */
static const char *reorders(const struct tcb_problem *problem, const struct tcb_target *target,
			    const struct tcb_geometry *geometry)
{
	const size_t n = tcb_least(problem->shape.n, BITS_TOKENS);
	if (tcb_least(geometry->tile[TCB_MACRO].n, problem->shape.n) != n ||
	    tcb_least(geometry->tile[TCB_MIDI].n, problem->shape.n) != n)
		return "macro.n and midi.n must be 512 KV tokens, or cover fewer";
	return attention_cpu_reorders(problem, target, geometry);
}

static void footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	const size_t lanes = tcb_cpu_isa(geometry->knob[TCB_KNOB_ISA])->lanes;
	(void)problem, (void)target;
	attention_cpu_footprint(geometry, lanes, tcb_least(lanes, 16) + MICRO_OPERANDS, out);
}

static const struct tcb_side_space space = { rules, axes, default_geometry, footprint, .reorders = reorders };

TCB_VARIANT_TABLES(f16_variants, TCB_ISAS_FLOATS, attention_decode_f16_variants)
#define PAIRS_OF_BF16(X, name) X(avx512bf16, name)
#define CODES(X, name) X(avx2, name) X(avx512vnni, name)
ATTENTION_VARIANT_TABLES(bf16_variants, attention_decode_bf16, PAIRS_OF_BF16)
ATTENTION_VARIANT_TABLES(q80_variants, attention_decode_q80, CODES)
ATTENTION_VARIANT_TABLES(q40_variants, attention_decode_q40, CODES)
ATTENTION_VARIANT_TABLES(q80q40_variants, attention_decode_q80q40, CODES)
TCB_VARIANT_TABLES(fp8_variants, TCB_ISAS_FLOATS, attention_decode_fp8_variants)
TCB_VARIANT_TABLES(q80f16_variants, TCB_ISAS_FLOATS, attention_decode_q80f16_variants)
TCB_VARIANT_TABLES(fp8q40_variants, TCB_ISAS_FLOATS, attention_decode_fp8q40_variants)
TCB_VARIANT_TABLES(fp8f16_variants, TCB_ISAS_FLOATS, attention_decode_fp8f16_variants)

#define SIDE(kv, ...)                                         \
	const struct tcb_side attention_decode_##kv##_cpu = { \
		.variants = kv##_variants,                    \
		.space = &space,                              \
		.plan = decode_plan,                          \
		.run = decode_run,                            \
	};
TCB_KV_LIST(SIDE, )
