/* SPDX-License-Identifier: MIT
 *
 * Routing in WGSL: a geometry comes in, a module and its launch go out; its space and rules (V4).  route_wgsl.h says
 * how the geometry drives it.
 */
#include "kernels/route/route_wgsl.h"

#include <string.h>

#include "base/sizes.h"
#include "kernels/axes.h"
#include "kernels/wgsl/wgsl.h"
#include "kernels/wgsl/wgsl_rules.h"

enum { WORKGROUP_LEAST = 32, DEFAULT_WORKGROUP = 256, GRID_MOST = 65535, FOUR = 4 };

/* Experts and those that are used, as workgroup memory has room for them. */
static size_t room_of(size_t count)
{
	return tcb_power_of_two_up(count);
}

static void write_functions(struct tcb_wgsl *w, const struct tcb_tile *midi)
{
	tcb_wgsl_add(w,
		     "\n"
		     "// A score's bits as they count: finite, a NaN the lowest.\n"
		     "fn counted(bits: u32) -> u32 {\n"
		     "let size = bits & 0x7fffffffu;\n"
		     "let near = select(bits, (bits & 0x80000000u) | 0x7f7fffffu, size == 0x7f800000u);\n"
		     "return select(near, 0xff7fffffu, size > 0x7f800000u);\n"
		     "}\n"
		     "\n"
		     "// Of expert AT of row ROW a word that is the larger the score is; 0: there is none.\n"
		     "fn order_of(row: u32, at: u32) -> u32 {\n"
		     "if (at >= experts) {\n"
		     "return 0u;\n"
		     "}\n"
		     "let bits = counted(scores[row * experts + at]);\n"
		     "let plain = select(bits, 0u, bits == 0x80000000u); // no -0\n"
		     "return select(plain | 0x80000000u, ~plain, plain >> 31u == 1u);\n"
		     "}\n"
		     "\n"
		     "var<workgroup> orders: array<vec4<u32>, %zu>;\n"
		     "var<workgroup> chosen: array<f32, %zu>;\n",
		     tcb_most(midi->n / FOUR, 1), tcb_most(midi->k, 1));
}

/* Which experts, in order, with their scores in CHOSEN. */
static void write_places(struct tcb_wgsl *w, unsigned workgroup)
{
	tcb_wgsl_add(w,
		     "let fours = (experts + 3u) / 4u;\n"
		     "for (var i = local; i < fours; i += %uu) {\n"
		     "orders[i] = vec4<u32>(order_of(row, 4u * i), order_of(row, 4u * i + 1u), "
		     "order_of(row, 4u * i + 2u), order_of(row, 4u * i + 3u));\n"
		     "}\n"
		     "workgroupBarrier();\n"
		     "for (var expert = local; expert < experts; expert += %uu) {\n"
		     "let own = vec4<u32>(orders[expert / 4u][expert %% 4u]);\n"
		     "var before = vec4<u32>(0u);\n"
		     "for (var i = 0u; i < fours; i++) {\n"
		     "let other = orders[i];\n"
		     "let is_lower = vec4<u32>(4u * i) + vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(expert);\n"
		     "before += select(vec4<u32>(0u), vec4<u32>(1u), (other > own) | ((other == own) & is_lower));\n"
		     "}\n"
		     "let place = (before.x + before.y) + (before.z + before.w);\n"
		     "if (place < used) {\n"
		     "ids[row * used + place] = i32(expert);\n"
		     "chosen[place] = bitcast<f32>(counted(scores[row * experts + expert]));\n"
		     "}\n"
		     "}\n"
		     "workgroupBarrier();\n",
		     workgroup, workgroup);
}

/* Halves of scores, whose difference is finite; below -120 exponentials are 0 beside the first's 1. */
static void write_shares(struct tcb_wgsl *w, unsigned workgroup)
{
	tcb_wgsl_add(w,
		     "let first = chosen[0] * 0.5;\n"
		     "workgroupBarrier();\n"
		     "for (var u = local; u < used; u += %uu) {\n"
		     "chosen[u] = exp(2.0 * max(chosen[u] * 0.5 - first, -60.0));\n"
		     "}\n"
		     "workgroupBarrier();\n"
		     "var sum = 0.0;\n"
		     "for (var u = 0u; u < used; u++) {\n"
		     "sum += chosen[u];\n"
		     "}\n"
		     "for (var u = local; u < used; u += %uu) {\n"
		     "factors[row * used + u] = chosen[u] / sum;\n"
		     "}\n",
		     workgroup, workgroup);
}

static void set_grid(const struct tcb_problem *problem, uint32_t out[3])
{
	const size_t deep = tcb_div_up(problem->shape.m, GRID_MOST);
	out[0] = 1;
	out[1] = (uint32_t)tcb_least(tcb_div_up(problem->shape.m, deep), GRID_MOST);
	out[2] = (uint32_t)tcb_least(deep, GRID_MOST);
}

static enum tcb_status emit(const struct tcb_problem *problem, const struct tcb_target *target,
			    const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err)
{
	const struct tcb_shape *s = &problem->shape;
	struct tcb_wgsl_entry entry = { .workgroup = KNOB_COUNT(WORKGROUP) };
	struct tcb_wgsl w;
	(void)target;

	TCB_TRY(tcb_wgsl_open(&w, problem, geometry, out, err));
	entry.uses[0] = tcb_wgsl_input(&w, "scores", "array<u32>", ROUTE_SCORES);
	entry.uses[1] = tcb_wgsl_output(&w, "ids", "array<i32>", ROUTE_IDS);
	entry.uses[2] = tcb_wgsl_output(&w, "factors", "array<f32>", ROUTE_FACTORS);
	set_grid(problem, entry.grid);
	tcb_wgsl_number(&w, "rows", s->m);
	tcb_wgsl_number(&w, "experts", s->n);
	tcb_wgsl_number(&w, "used", s->k);
	tcb_wgsl_number(&w, "across", entry.grid[1]);
	write_functions(&w, &geometry->tile[TCB_MIDI]);
	tcb_wgsl_begin(&w, "route", &entry);
	tcb_wgsl_add(&w, "let row = group.y + group.z * across;\n"
			 "if (row >= rows) {\n"
			 "return;\n"
			 "}\n");
	write_places(&w, entry.workgroup);
	write_shares(&w, entry.workgroup);
	tcb_wgsl_end(&w);
	/* Of a share: its own exponential, the mean of the exponentials' errors, what they are added up with, and the
	 * quotient; errors that grow with the depth, and rounded arguments, are of magnitudes (route_ops.c). */
	out->class = TCB_CLASS_BOUNDED;
	out->chain = 2 * TCB_WGSL_EXP_DEPTH + 2;
	out->ulps = 2 * TCB_WGSL_EXP_ULPS + TCB_WGSL_DIVISION / 2.0 + 1;
	return tcb_wgsl_close(&w, err);
}

/* --- the space --- */

RULE(rule_knobs)
{
	if (!tcb_wgsl_sets_knobs(geometry, KNOB_BIT(ISA) | KNOB_BIT(WORKGROUP), 0))
		return "a WebGPU geometry sets isa and workgroup, and no other knob";
	return geometry->knob[TCB_KNOB_ISA] != TCB_ISA_WGSL ? "isa must be wgsl" : NULL;
}

RULE(rule_size)
{
	if (problem->shape.n > ROUTE_WGSL_EXPERTS_MOST)
		return "WebGPU's kernels take 2048 experts at most";
	return (uint64_t)problem->shape.m * problem->shape.n > INT32_MAX ? "more than 2^31 elements" : NULL;
}

RULE(rule_workgroup)
{
	const size_t workgroup = KNOB(WORKGROUP);
	const char *broken = tcb_wgsl_rule_workgroup(problem, target, geometry);
	if (broken || workgroup < WORKGROUP_LEAST)
		return broken ? broken : "workgroup must be 32 or more";
	return workgroup > WORKGROUP_LEAST && workgroup / 2 >= problem->shape.n
		       ? "half of a workgroup's invocations have no expert: a smaller workgroup"
		       : NULL;
}

RULE(rule_tiles)
{
	const struct tcb_tile *tile = geometry->tile;
	const size_t n = room_of(problem->shape.n), k = room_of(problem->shape.k);
	if (tile[TCB_MACRO].m != tcb_power_of_two_up(problem->shape.m) || tile[TCB_MACRO].n != n ||
	    tile[TCB_MACRO].k != k)
		return "macro must be the shape, rounded up to powers of two";
	return tile[TCB_MIDI].m != 1 || tile[TCB_MIDI].n != n || tile[TCB_MIDI].k != k || tile[TCB_MICRO].m != 1 ||
			       tile[TCB_MICRO].n != 1 || tile[TCB_MICRO].k != 1
		       ? "midi must be a token, 1 x macro.n x macro.k, and micro 1 x 1 x 1"
		       : NULL;
}

static const struct tcb_rule rules[] = {
	{ 0, TCB_RULE_KERNEL, rule_knobs },
	{ TCB_FIELD_KNOB(ISA), TCB_RULE_KERNEL, rule_size },
	{ TCB_FIELD_KNOB(WORKGROUP), TCB_RULE_KERNEL, rule_workgroup },
	{ TCB_FIELD_TILES, TCB_RULE_DOUBLE, rule_tiles },
	{ 0, TCB_RULE_KERNEL, tcb_wgsl_rule_bindings },
	{ 0, 0, NULL },
};

static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	size_t count = 0;
	(void)target;
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_ISA), TCB_ISA_WGSL);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_WORKGROUP), 32, 64, 128, 256, 512, 1024);
	for (int level = TCB_MACRO; level < TCB_LEVEL_COUNT; level++) {
		tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, (enum tcb_level)level),
			     level == TCB_MACRO ? tcb_power_of_two_up(problem->shape.m) : 1);
		tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, (enum tcb_level)level),
			     level == TCB_MICRO ? 1 : room_of(problem->shape.n));
		tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, (enum tcb_level)level),
			     level == TCB_MICRO ? 1 : room_of(problem->shape.k));
	}
	return count;
}

static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const size_t n = room_of(problem->shape.n), k = room_of(problem->shape.k);
	(void)target;
	tcb_geometry_init(out);
	out->tile[TCB_MACRO] = (struct tcb_tile){ tcb_power_of_two_up(problem->shape.m), n, k };
	out->tile[TCB_MIDI] = (struct tcb_tile){ 1, n, k };
	out->tile[TCB_MICRO] = (struct tcb_tile){ 1, 1, 1 };
	out->knob[TCB_KNOB_ISA] = TCB_ISA_WGSL;
	out->knob[TCB_KNOB_WORKGROUP] = (int32_t)tcb_most(tcb_least(n, DEFAULT_WORKGROUP), WORKGROUP_LEAST);
}

static void footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	uint32_t grid[3];
	(void)target;
	memset(out, 0, sizeof(*out));
	out->element_bytes = sizeof(float);
	out->shared_bytes = sizeof(float) * (tcb_most(geometry->tile[TCB_MIDI].n, FOUR) + geometry->tile[TCB_MIDI].k);
	out->block_threads = KNOB_COUNT(WORKGROUP);
	set_grid(problem, grid);
	for (int i = 0; i < 3; i++)
		out->grid[i] = grid[i];
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		out->level_bytes[level] = sizeof(float) * geometry->tile[level].m *
					  (geometry->tile[level].n + 2 * geometry->tile[level].k);
}

static const struct tcb_side_space wgsl_space = { rules, axes, default_geometry, footprint };

const struct tcb_side route_wgsl = {
	.variants = TCB_EMITTED(TCB_EMITTED_ROW("route_f32_wgsl", F32, WGSL, BOUNDED)),
	.space = &wgsl_space,
	.emit = emit,
};
