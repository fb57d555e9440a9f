/* SPDX-License-Identifier: MIT
 *
 * What the search spaces of both attention ops on CPUs share: axes, rules, default
 * geometry and footprint.
 */
#include <string.h>

#include "base/sizes.h"
#include "kernels/attention/attention_cpu.h"
#include "kernels/axes.h"
#include "kernels/simd/isas.h"

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

enum tcb_isa attention_cpu_widest(const struct tcb_problem *problem, const struct tcb_target *target)
{
	struct tcb_axis isas = { .count = 0 };
	enum tcb_isa widest = TCB_ISA_SCALAR;
	add_isas(problem, target, &isas);
	for (size_t i = 0; i < isas.count; i++)
		if (tcb_cpu_isa((int32_t)isas.values[i])->lanes >= tcb_cpu_isa((int32_t)widest)->lanes)
			widest = (enum tcb_isa)isas.values[i];
	return widest;
}

size_t attention_cpu_axes(const struct tcb_problem *problem, const struct tcb_target *target,
			  const struct attention_ranges *ranges, struct tcb_axis out[TCB_AXES_MAX])
{
	const struct tcb_shape *s = &problem->shape;
	const size_t n = tcb_power_of_two_up(s->n), m = tcb_power_of_two_up(s->m);
	size_t count = 0;
	add_isas(problem, target, tcb_axis_knob(out, &count, TCB_KNOB_ISA));
	tcb_axis_add_threads(tcb_axis_knob(out, &count, TCB_KNOB_THREADS), target);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_SCHED), TCB_SCHED_STATIC, TCB_SCHED_DYNAMIC);
	for (int level = TCB_MACRO; level < TCB_LEVEL_COUNT; level++)
		tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, (enum tcb_level)level), s->k);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MICRO), 1, 2, ranges->rows_most);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MIDI), ranges->tokens_least, 2,
			    ranges->tokens_most);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MACRO), m, 2,
			    tcb_most(m, tcb_most(ranges->rows_most, ATTENTION_CPU_ROWS_MOST)));
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MICRO), 1, 2, ranges->floats_most);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MIDI), 1, 2, ranges->tile_most);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MACRO), 1, 2, tcb_most(n, 64));
	return count;
}

const char *attention_cpu_rule_knobs(const struct tcb_problem *problem, const struct tcb_target *target,
				     const struct tcb_geometry *geometry)
{
	(void)problem, (void)target;
	return geometry->knob[TCB_KNOB_HINT] > 0 ? "attention prefetches with hint=t0" : NULL;
}

const char *attention_cpu_reorders(const struct tcb_problem *problem, const struct tcb_target *target,
				   const struct tcb_geometry *geometry)
{
	return geometry->knob[TCB_KNOB_ISA] != (int32_t)attention_cpu_widest(problem, target)
		       ? "isa must be the widest that there is: its lanes are part of the order"
		       : NULL;
}

const char *attention_cpu_policy_tile(const struct tcb_problem *problem, const struct tcb_target *target,
				      const struct tcb_geometry *geometry)
{
	const size_t tile = geometry->tile[TCB_MIDI].n;
	(void)target;
	return tile < ATTENTION_CPU_TILE_LEAST && tile < problem->shape.n ? "midi.n below 16 KV tokens only adds calls"
									  : NULL;
}

void attention_cpu_geometry(const struct tcb_problem *problem, const struct tcb_target *target, enum tcb_isa isa,
			    const struct attention_task *task, struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t tasks = s->words.sequences * (s->words.kv / task->heads) * tcb_div_up(s->n, task->part) *
			     tcb_div_up(s->m, task->tokens);
	tcb_geometry_init(out);
	out->tile[TCB_MACRO] = (struct tcb_tile){ task->m, task->part, s->k };
	out->tile[TCB_MIDI] = (struct tcb_tile){ task->tokens, tcb_least(task->part, task->tile), s->k };
	out->tile[TCB_MICRO] = task->micro;
	out->knob[TCB_KNOB_ISA] = (int32_t)isa;
	out->knob[TCB_KNOB_THREADS] = (int32_t)tcb_least(tcb_most(target->threads, 1), tasks);
	out->knob[TCB_KNOB_SCHED] = TCB_SCHED_STATIC;
}

void attention_cpu_footprint(const struct tcb_geometry *geometry, size_t sums, size_t registers,
			     struct tcb_footprint *out)
{
	memset(out, 0, sizeof(*out));
	out->element_bytes = 2;
	out->accumulators = (unsigned)sums;
	if (tcb_cpu_isa(geometry->knob[TCB_KNOB_ISA])->lanes > 1)
		out->vector_registers = (unsigned)registers;
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		out->level_bytes[level] = 4 * geometry->tile[level].n * geometry->tile[level].k;
}
