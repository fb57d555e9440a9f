/* SPDX-License-Identifier: MIT
 *
 * attention_prefill on CPUs: its sizes, its search space with rules and default
 * geometry, and its side.  attention_cpu.h says how a geometry drives it.
 */
#include "base/sizes.h"
#include "kernels/attention/attention_cpu.h"
#include "kernels/constraint.h"
#include "kernels/cpu_rules.h"
#include "kernels/simd/isas.h"

enum { DEFAULT_TOKENS = 32, DEFAULT_TILE = 128, TOKENS_MOST = 256, FLOATS_MOST = 64 };

/* --- plan and run --- */

static struct attention_dims dims_of(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	const size_t together = tcb_round_up(geometry->tile[TCB_MIDI].n, ATTENTION_TOKENS_TOGETHER);
	const size_t head = tcb_round_up(tcb_most(problem->shape.k, attention_v(&problem->shape)), ATTENTION_BLOCK);
	struct attention_dims dims = { .heads = 1, .lead = together, .packed_floats = together * head };
	attention_dims_complete(problem, geometry, &dims);
	return dims;
}

static enum tcb_status prefill_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
				    struct tcb_plan *out, struct tcb_error *err)
{
	TCB_TRY(attention_check(problem, geometry, 1, "", err));
	const struct attention_dims dims = dims_of(problem, geometry);
	return attention_plan(problem, geometry, &dims, out, err);
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
	static const struct attention_ranges ranges = { ATTENTION_CPU_ROWS_MOST, FLOATS_MOST, 2, TOKENS_MOST };
	return attention_cpu_axes(problem, target, &ranges, out);
}

static const char *policy_part(const struct tcb_problem *problem, const struct tcb_target *target,
			       const struct tcb_geometry *geometry)
{
	(void)target;
	return geometry->tile[TCB_MACRO].n < problem->shape.n ? "attention_prefill has tasks enough without parts of KV"
							      : NULL;
}

static const struct tcb_rule rules[] = {
	{ TCB_FIELD_KNOB(HINT), TCB_RULE_KERNEL, attention_cpu_rule_knobs },
	{ TCB_FIELD_TILES, TCB_RULE_POLICY, attention_cpu_policy_tile },
	{ TCB_FIELD_TILES, TCB_RULE_POLICY, policy_part },
	{ TCB_FIELD_KNOB(ISA), TCB_RULE_POLICY, tcb_cpu_policy_scalar },
	{ 0, 0, NULL },
};

/* Half of the registers or more hold sums. */
static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const enum tcb_isa isa = attention_cpu_widest(problem, target);
	const size_t lanes = tcb_cpu_isa((int32_t)isa)->lanes;
	const struct tcb_tile micro = { 4, lanes == 16 ? 64 : lanes > 1 ? 16 : 4, s->k };
	const size_t m = tcb_most(tcb_power_of_two_up(s->m), micro.m), n = tcb_most(tcb_power_of_two_up(s->n), micro.n);
	const struct attention_task task = { .micro = micro,
					     .m = m,
					     .tokens = tcb_least(m, DEFAULT_TOKENS),
					     .part = n,
					     .tile = DEFAULT_TILE,
					     .heads = 1 };
	attention_cpu_geometry(problem, target, isa, &task, out);
}

static void footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	const struct tcb_tile *micro = &geometry->tile[TCB_MICRO];
	const size_t lanes = tcb_cpu_isa(geometry->knob[TCB_KNOB_ISA])->lanes;
	const size_t vectors = lanes ? micro->n / lanes : 0, sums = micro->m * vectors;
	(void)problem, (void)target;
	attention_cpu_footprint(geometry, sums, sums + vectors + 1, out);
}

static const struct tcb_side_space space = { rules, axes, default_geometry, footprint };

TCB_VARIANT_TABLES(f16_variants, TCB_ISAS_FLOATS, attention_prefill_f16_variants)
ATTENTION_VARIANT_TABLES(bf16_variants, attention_prefill_bf16, avx512bf16)
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
