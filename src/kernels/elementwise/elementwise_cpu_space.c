/* SPDX-License-Identifier: MIT
 *
 * The tiles of the element-wise ops on any device; their space on CPUs, its rules and its
 * default geometry.
 */
#include <string.h>

#include "base/sizes.h"
#include "kernels/axes.h"
#include "kernels/constraint.h"
#include "kernels/cpu/cpu_rules.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/simd/isas.h"

enum {
	MICRO_MOST = 64,
	DEFAULT_CHAINS = 2,
	TASK_LEAST = 1 << 12, /* elements: smaller tasks only add calls */
	TASK_FACTOR = 4,
	TASK_MOST = 1 << 18,
	DEFAULT_TASK = 1 << 14,
	AHEAD = 4096,       /* bytes */
	FIRST_CACHES = 2,   /* how often the second cache holds what is written through it */
	L2_BYTES = 1 << 20, /* where the target does not tell */
};

/* --- tiles --- */

void elementwise_set_tiles(const struct tcb_problem *problem, size_t size, size_t micro, struct tcb_geometry *out)
{
	const size_t rows = tcb_power_of_two_up(problem->shape.m), columns = tcb_power_of_two_up(problem->shape.n);
	const struct tcb_tile macro = { rows, tcb_most(columns, micro), 1 };
	out->tile[TCB_MACRO] = macro;
	out->tile[TCB_MIDI].n = tcb_least(macro.n, size);
	out->tile[TCB_MIDI].m = tcb_least(macro.m, size / out->tile[TCB_MIDI].n);
	out->tile[TCB_MIDI].k = 1;
	out->tile[TCB_MICRO] = (struct tcb_tile){ 1, micro, 1 };
}

const char *elementwise_tiles_broken(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
				     size_t size)
{
	struct tcb_geometry right;
	elementwise_set_tiles(problem, size, geometry->tile[TCB_MICRO].n, &right);
	const struct tcb_tile *a = right.tile, *b = geometry->tile;
	if (b[TCB_MICRO].m != 1)
		return "micro.m must be 1";
	if (a[TCB_MACRO].m != b[TCB_MACRO].m || a[TCB_MACRO].n != b[TCB_MACRO].n)
		return "macro must be the problem's shape, rounded up to powers of two, and micro.n columns at least";
	return a[TCB_MIDI].m != b[TCB_MIDI].m || a[TCB_MIDI].n != b[TCB_MIDI].n
		       ? "midi must be as many elements, a power of two, folded into macro"
		       : NULL;
}

void elementwise_add_tiles(const struct tcb_problem *problem, size_t micro_most, size_t size_most, struct tcb_axis *out,
			   size_t *count)
{
	const size_t rows = tcb_power_of_two_up(problem->shape.m), columns = tcb_power_of_two_up(problem->shape.n);
	tcb_axis_add_powers(tcb_axis_tile(out, count, TCB_AXIS_TILE_N, TCB_MICRO), 1, 2, micro_most);
	tcb_axis_add(tcb_axis_tile(out, count, TCB_AXIS_TILE_M, TCB_MICRO), 1);
	struct tcb_axis *axis = tcb_axis_tile(out, count, TCB_AXIS_TILE_N, TCB_MACRO);
	tcb_axis_add(axis, columns);
	tcb_axis_add_powers(axis, columns, 2, micro_most);
	tcb_axis_add(tcb_axis_tile(out, count, TCB_AXIS_TILE_M, TCB_MACRO), rows);
	tcb_axis_add_powers(tcb_axis_tile(out, count, TCB_AXIS_TILE_N, TCB_MIDI), 1, 2,
			    tcb_least(tcb_most(columns, micro_most), size_most));
	tcb_axis_add_powers(tcb_axis_tile(out, count, TCB_AXIS_TILE_M, TCB_MIDI), 1, 2, tcb_least(rows, size_most));
}

/* --- the space --- */

/* All of the matrix, as macro has it. */
static size_t whole(const struct tcb_geometry *geometry)
{
	return geometry->tile[TCB_MACRO].m * geometry->tile[TCB_MACRO].n;
}

static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	size_t count = 0;
	tcb_axis_add_float_isas(tcb_axis_knob(out, &count, TCB_KNOB_ISA), target);
	elementwise_add_tiles(problem, MICRO_MOST, SIZE_MAX / 2 + 1, out, &count);
	tcb_axis_add_threads(tcb_axis_knob(out, &count, TCB_KNOB_THREADS), target);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_SCHED), TCB_SCHED_STATIC, TCB_SCHED_DYNAMIC);
	struct tcb_axis *axis = tcb_axis_knob(out, &count, TCB_KNOB_PREFETCH);
	tcb_axis_add(axis, 0);
	tcb_axis_add_powers(axis, 1024, 4, AHEAD);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_HINT), TCB_HINT_T0, TCB_HINT_T1);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_STREAM), 0, 1);
	return count;
}

static const char *rule_tiles(const struct tcb_problem *problem, const struct tcb_target *target,
			      const struct tcb_geometry *geometry)
{
	const size_t size = elementwise_task(geometry);
	(void)target;
	if (!tcb_is_power_of_two(size) || size < geometry->tile[TCB_MICRO].n)
		return "midi must have a power of two of elements, micro.n at least";
	return elementwise_tiles_broken(problem, geometry, size);
}

/* Tasks only say who takes what, in an order that memory does not mind: one thread takes all. */
static const char *policy_task(const struct tcb_problem *problem, const struct tcb_target *target,
			       const struct tcb_geometry *geometry)
{
	const size_t size = elementwise_task(geometry);
	(void)problem, (void)target;
	if (geometry->knob[TCB_KNOB_THREADS] == 1)
		return size == whole(geometry) ? NULL : "one thread takes all in one task";
	for (size_t task = TASK_LEAST; task <= TASK_MOST; task *= TASK_FACTOR)
		if (size == task)
			return NULL;
	return "with several threads tasks are of 4096, 16384, 65536 or 262144 elements";
}

static const char *policy_ahead(const struct tcb_problem *problem, const struct tcb_target *target,
				const struct tcb_geometry *geometry)
{
	const size_t bytes = problem->shape.m * problem->shape.n * tcb_type_bytes(problem->op->type);
	(void)target;
	return geometry->knob[TCB_KNOB_PREFETCH] > 0 && (size_t)geometry->knob[TCB_KNOB_PREFETCH] >= bytes
		       ? "prefetch is past the end of x"
		       : NULL;
}

static const struct tcb_rule rules[] = {
	{ TCB_FIELD_TILES, TCB_RULE_DOUBLE, rule_tiles },
	{ TCB_FIELD_TILES | TCB_FIELD_KNOB(THREADS), TCB_RULE_POLICY, policy_task },
	{ TCB_FIELD_KNOB(PREFETCH), TCB_RULE_POLICY, policy_ahead },
	{ TCB_FIELD_KNOB(ISA), TCB_RULE_POLICY, tcb_cpu_policy_scalar },
	{ 0, 0, NULL },
};

/* --- default geometry --- */

/* Two vectors in flight, past the caches and asked for ahead where the second cache does not hold what is written. */
static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const enum tcb_isa isa = tcb_float_isa(target);
	const size_t count = problem->shape.m * problem->shape.n, micro = DEFAULT_CHAINS * tcb_float_lanes(isa);
	const size_t threads = tcb_least(tcb_most(target->threads, 1), tcb_div_up(count, DEFAULT_TASK));
	const size_t cache = target->l2_bytes ? target->l2_bytes : L2_BYTES;
	const int is_large = count * tcb_type_bytes(problem->op->type) > FIRST_CACHES * cache;
	tcb_geometry_init(out);
	elementwise_set_tiles(problem, threads > 1 ? DEFAULT_TASK : SIZE_MAX / 2 + 1, micro, out);
	out->knob[TCB_KNOB_ISA] = (int32_t)isa;
	out->knob[TCB_KNOB_THREADS] = (int32_t)threads;
	out->knob[TCB_KNOB_SCHED] = TCB_SCHED_STATIC;
	out->knob[TCB_KNOB_PREFETCH] = is_large ? AHEAD : 0;
	out->knob[TCB_KNOB_HINT] = is_large ? TCB_HINT_T1 : TCB_HINT_T0;
	out->knob[TCB_KNOB_STREAM] = is_large && tcb_cpu_isa((int32_t)isa)->has_stream;
}

static void footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	const size_t operands = elementwise_inputs(elementwise_kind(problem)) + 1;
	(void)target;
	memset(out, 0, sizeof(*out));
	out->element_bytes = tcb_type_bytes(problem->op->type);
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		out->level_bytes[level] =
			operands * out->element_bytes * geometry->tile[level].m * geometry->tile[level].n;
}

const struct tcb_side_space elementwise_cpu_space = { rules, axes, default_geometry, footprint };
