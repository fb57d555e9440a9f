/* SPDX-License-Identifier: MIT
 *
 * A geometry of the dense products for WebGPU in numbers; the rules (V4) that it
 * keeps; the axes of the space and the default geometry.
 */
#include <string.h>

#include "base/sizes.h"
#include "kernels/axes.h"
#include "kernels/matmul/matmul_wgsl.h"
#include "kernels/wgsl/wgsl_rules.h"

enum {
	TILE_MOST = 128,
	TILE_USUAL = 64, /* at least, where the problem is as large */
	STEP_MOST = 32,
	MICRO_MOST = 8,
	WORKGROUP_USUAL = 64,
	WORKGROUP_LEAST = 32, /* fewer leave lanes of most devices idle, and each has much to load */
	DEFAULT_TILE = 64,
	LARGE_TILE = 128,
	FILLED_GROUPS = 256, /* workgroups that fill any device */
	DEFAULT_STEP = 16,
};

static unsigned bounded(size_t value, size_t most)
{
	return (unsigned)tcb_most(tcb_least(value, most), 1);
}

void matmul_wgsl_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry, struct matmul_wgsl *out)
{
	struct matmul_wgsl *g = out;
	const struct tcb_tile *midi = &geometry->tile[TCB_MIDI], *micro = &geometry->tile[TCB_MICRO];

	memset(g, 0, sizeof(*g));
	g->type = problem->op->type;
	g->is_wide = KNOB(VEC) == MATMUL_WGSL_FOUR * tcb_type_bytes(g->type);
	g->workgroup = KNOB_COUNT(WORKGROUP);
	g->stages = KNOB_COUNT(STAGES);
	g->tile_m = bounded(midi->m, TILE_MOST);
	g->tile_n = bounded(midi->n, TILE_MOST);
	g->step = bounded(midi->k, STEP_MOST);
	g->rows = bounded(micro->m / MATMUL_WGSL_FOUR, MICRO_MOST / MATMUL_WGSL_FOUR);
	g->columns = bounded(micro->n / MATMUL_WGSL_FOUR, MICRO_MOST / MATMUL_WGSL_FOUR);
	g->across_m = bounded(g->tile_m / (g->rows * MATMUL_WGSL_FOUR), TILE_MOST);
	g->across_n = bounded(g->tile_n / (g->columns * MATMUL_WGSL_FOUR), TILE_MOST);
	g->pitch_a = g->tile_m / MATMUL_WGSL_FOUR + 1;
	g->pitch_b = g->tile_n / MATMUL_WGSL_FOUR;
	g->a_loads = g->tile_m * g->step / MATMUL_WGSL_FOUR / g->workgroup;
	g->b_loads = g->tile_n * g->step / MATMUL_WGSL_FOUR / g->workgroup;
	g->m = (unsigned)problem->shape.m;
	g->n = (unsigned)problem->shape.n;
	g->k = (unsigned)problem->shape.k;
	g->steps = (unsigned)tcb_div_up(g->k, g->step);
	g->groups_m = (unsigned)tcb_div_up(g->m, g->tile_m);
	g->groups_n = (unsigned)tcb_div_up(g->n, g->tile_n);
	g->is_whole = g->m % g->tile_m == 0 && g->n % g->tile_n == 0 && g->k % g->step == 0;
}

static void footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	struct matmul_wgsl g;
	(void)target;

	memset(out, 0, sizeof(*out));
	matmul_wgsl_plan(problem, geometry, &g);
	out->element_bytes = out->alignment_bytes = tcb_type_bytes(g.type);
	out->base_bytes = 256;
	out->shared_bytes = sizeof(float) * MATMUL_WGSL_FOUR * g.step * (g.pitch_a + g.pitch_b);
	out->block_threads = g.workgroup;
	out->accumulators = MATMUL_WGSL_FOUR * MATMUL_WGSL_FOUR * g.rows * g.columns;
	out->grid[0] = g.groups_n;
	out->grid[1] = g.groups_m;
	out->grid[2] = 1;
	for (int level = 0; level < TCB_LEVEL_COUNT; level++) {
		const struct tcb_tile *tile = &geometry->tile[level];

		out->level_bytes[level] = sizeof(float) * ((tile->m + tile->n) * tile->k + tile->m * tile->n);
	}
}

/* --- rules --- */

RULE(rule_knobs)
{
	const uint64_t set = KNOB_BIT(ISA) | KNOB_BIT(VEC) | KNOB_BIT(STAGES) | KNOB_BIT(WORKGROUP);

	if (!tcb_wgsl_sets_knobs(geometry, set, 0))
		return "a WebGPU geometry sets isa, vec, stages and workgroup, and no other knob";
	if (geometry->knob[TCB_KNOB_ISA] != TCB_ISA_WGSL)
		return "isa must be wgsl";
	return KNOB(STAGES) == 1 || KNOB(STAGES) == 2 ? NULL : "stages must be 1 or 2";
}

/* Elements of a load. */
static size_t width_of(const struct tcb_problem *problem)
{
	return problem->shape.n % MATMUL_WGSL_FOUR || problem->shape.k % MATMUL_WGSL_FOUR ? 1 : MATMUL_WGSL_FOUR;
}

RULE(rule_vec)
{
	const size_t each = tcb_type_bytes(problem->op->type);

	if (KNOB(VEC) != each && KNOB(VEC) != MATMUL_WGSL_FOUR * each)
		return "vec must be the bytes of one element or of four";
	return KNOB(VEC) > width_of(problem) * each ? "rows of A and B must be whole vectors: a vec of one element"
						    : NULL;
}

RULE(policy_vec)
{
	return KNOB(VEC) < width_of(problem) * tcb_type_bytes(problem->op->type) ? "vec could be four elements" : NULL;
}

RULE(rule_tiles)
{
	const struct tcb_tile *macro = &geometry->tile[TCB_MACRO], *midi = &geometry->tile[TCB_MIDI];
	const struct tcb_tile *micro = &geometry->tile[TCB_MICRO];

	if (macro->m != midi->m || macro->n != midi->n || macro->k != midi->k)
		return "macro must be as midi: a workgroup's tile";
	if (!tcb_is_power_of_two(midi->m) || !tcb_is_power_of_two(midi->n) || midi->m > TILE_MOST ||
	    midi->n > TILE_MOST)
		return "midi.m and midi.n must be powers of two up to 128";
	if (!tcb_is_power_of_two(midi->k) || midi->k < MATMUL_WGSL_FOUR || midi->k > STEP_MOST || micro->k != midi->k)
		return "midi.k must be 4, 8, 16 or 32, and micro.k the same: a step is unrolled";
	if ((micro->m != 4 && micro->m != 8) || (micro->n != 4 && micro->n != 8) || micro->m > midi->m ||
	    micro->n > midi->n)
		return "micro.m and micro.n must be 4 or 8, and no larger than midi";
	return midi->m / micro->m * (midi->n / micro->n) != KNOB(WORKGROUP)
		       ? "workgroup must be midi.m / micro.m * midi.n / micro.n"
		       : NULL;
}

RULE(rule_share)
{
	struct matmul_wgsl g;

	matmul_wgsl_plan(problem, geometry, &g);
	return g.a_loads && g.b_loads ? NULL : "an invocation would have nothing to load: a larger midi.k or micro";
}

/* What figures speak for: 128 x 128 with 8 x 8 and 64 x 64 with as much, in steps of 16. */
RULE(policy_usual)
{
	const struct tcb_tile *midi = &geometry->tile[TCB_MIDI], *micro = &geometry->tile[TCB_MICRO];
	const size_t sums = micro->m * micro->n;

	return tcb_gpu_unusual((KNOB(STAGES) != 2) + (midi->k != DEFAULT_STEP) + (sums < 32) + (micro->m < micro->n) +
				       (KNOB(WORKGROUP) > 256) + (KNOB(WORKGROUP) < WORKGROUP_USUAL),
			       problem, target, geometry);
}

static const struct tcb_rule rules[] = {
	{ 0, TCB_RULE_KERNEL, rule_knobs },
	{ TCB_FIELD_KNOB(VEC), TCB_RULE_KERNEL, rule_vec },
	{ TCB_FIELD_KNOB(WORKGROUP), TCB_RULE_KERNEL, tcb_wgsl_rule_workgroup },
	{ TCB_FIELD_TILES | TCB_FIELD_KNOB(WORKGROUP), TCB_RULE_KERNEL, rule_tiles },
	{ TCB_FIELD_TILES | TCB_FIELD_KNOB(WORKGROUP), TCB_RULE_KERNEL, rule_share },
	{ 0, TCB_RULE_KERNEL, tcb_wgsl_rule_size },
	{ TCB_FIELD_KNOB(VEC), TCB_RULE_POLICY, policy_vec },
	{ 0, TCB_RULE_POLICY, policy_usual },
	{ 0, TCB_RULE_KERNEL, tcb_wgsl_rule_bindings },
	{ 0, 0, NULL },
};

/* --- space --- */

/* A tile is no larger than the problem, but holds what an invocation has. */
static size_t most_of(size_t size, size_t micro, size_t most)
{
	return tcb_least(tcb_most(tcb_power_of_two_up(size), micro), most);
}

static void add_tiles(struct tcb_axis *out, size_t *count, enum tcb_axis_kind kind, size_t size)
{
	const size_t least = most_of(size, MICRO_MOST, TILE_USUAL), most = most_of(size, MICRO_MOST, TILE_MOST);

	tcb_axis_add_powers(tcb_axis_tile(out, count, kind, TCB_MIDI), least, 2, most);
	tcb_axis_add_powers(tcb_axis_tile(out, count, kind, TCB_MACRO), least, 2, most);
}

/* In an order in which the rules cut early. */
static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	const size_t each = tcb_type_bytes(problem->op->type);
	size_t count = 0;
	(void)target;

	ADD(tcb_axis_knob(out, &count, TCB_KNOB_ISA), TCB_ISA_WGSL);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_VEC), MATMUL_WGSL_FOUR * each, each);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_STAGES), 1, 2);
	ADD(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, TCB_MICRO), 8, 16, 32);
	ADD(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, TCB_MIDI), 8, 16, 32);
	ADD(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, TCB_MACRO), 8, 16, 32);
	ADD(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MICRO), 4, 8);
	ADD(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MICRO), 4, 8);
	add_tiles(out, &count, TCB_AXIS_TILE_M, problem->shape.m);
	add_tiles(out, &count, TCB_AXIS_TILE_N, problem->shape.n);
	tcb_axis_add_powers(tcb_axis_knob(out, &count, TCB_KNOB_WORKGROUP), 1, 2, 1024);
	return count;
}

static void set_tile(const struct tcb_problem *problem, size_t most, int32_t stages, struct tcb_geometry *out)
{
	const struct tcb_shape *shape = &problem->shape;
	const size_t sums = most_of(shape->m, MICRO_MOST, most) * most_of(shape->n, MICRO_MOST, most);
	const size_t micro = sums < (size_t)WORKGROUP_LEAST * MICRO_MOST * MICRO_MOST ? MICRO_MOST / 2 : MICRO_MOST;
	const size_t m = most_of(shape->m, micro, most), n = most_of(shape->n, micro, most);

	tcb_geometry_init(out);
	out->tile[TCB_MACRO] = out->tile[TCB_MIDI] = (struct tcb_tile){ m, n, DEFAULT_STEP };
	out->tile[TCB_MICRO] = (struct tcb_tile){ micro, micro, DEFAULT_STEP };
	out->knob[TCB_KNOB_ISA] = TCB_ISA_WGSL;
	out->knob[TCB_KNOB_VEC] = (int32_t)(width_of(problem) * tcb_type_bytes(problem->op->type));
	out->knob[TCB_KNOB_STAGES] = stages;
	out->knob[TCB_KNOB_WORKGROUP] = (int32_t)(m / micro * (n / micro));
}

/* On any device: a tile of 64 x 64, smaller where the problem is, of which an invocation has 8 x 8 (4 x 4 of a small
 * one); 128 x 128, without loading ahead, where those are enough and a workgroup has memory for it. */
static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const size_t large = problem->shape.m / LARGE_TILE * (problem->shape.n / LARGE_TILE);
	struct tcb_footprint taken;

	set_tile(problem, LARGE_TILE, 1, out);
	footprint(problem, target, out, &taken);
	if (large < FILLED_GROUPS || taken.shared_bytes > target->wgpu.workgroup_bytes ||
	    target->wgpu.workgroup_most < taken.block_threads)
		set_tile(problem, DEFAULT_TILE, 2, out);
}

const struct tcb_side_space matmul_wgsl_space = { rules, axes, default_geometry, footprint };
