/* SPDX-License-Identifier: MIT
 *
 * The op topk in WGSL: a geometry comes in, a module and its launches go out.
 * topk_wgsl.h says how the geometry drives it.
 */
#include "kernels/topk/topk_wgsl.h"

#include "kernels/wgsl/wgsl.h"

struct writer {
	struct tcb_wgsl w;
	const struct topk_wgsl *g;
	int x, values, columns, keys;
};

/* --- functions of the module --- */

static void write_functions(struct writer *w)
{
	tcb_wgsl_add(&w->w,
		     "\n"
		     "// A score's bits as a word that is the larger the score is; a NaN's is the least, above 0.\n"
		     "fn rank_of(bits: u32) -> u32 {\n"
		     "let plain = select(bits, 0u, bits == 0x80000000u); // no -0\n"
		     "let word = select(plain | 0x80000000u, ~plain, plain >> 31u == 1u);\n"
		     "return select(word, 1u, (bits & 0x7fffffffu) > 0x7f800000u);\n"
		     "}\n"
		     "\n"
		     "// What the digits that are known so far are, and where the next one is.\n"
		     "struct Digits {\n"
		     "prefix: vec2<u32>,\n"
		     "mask: vec2<u32>,\n"
		     "is_low: bool,\n"
		     "shift: u32,\n"
		     "}\n"
		     "\n"
		     "var<workgroup> counts: array<atomic<u32>, 256>; // keys of each digit\n"
		     "var<workgroup> sixteens: array<u32, 16>;\n"
		     "var<workgroup> found: atomic<u32>;\n"
		     "var<workgroup> digit_left_done: vec3<u32>;\n"
		     "var<workgroup> chosen: array<vec2<u32>, %u>;\n"
		     "\n"
		     "fn count_key(key: vec2<u32>, known: Digits) {\n"
		     "if (all(((key ^ known.prefix) & known.mask) == vec2<u32>(0u))) {\n"
		     "let word = select(key.x, key.y, known.is_low);\n"
		     "atomicAdd(&counts[(word >> known.shift) & 255u], 1u);\n"
		     "}\n"
		     "}\n"
		     "\n"
		     "fn is_more(a: vec2<u32>, b: vec2<u32>) -> bool {\n"
		     "return a.x > b.x || (a.x == b.x && a.y > b.y);\n"
		     "}\n"
		     "\n"
		     "fn gather_key(key: vec2<u32>, known: Digits) {\n"
		     "if (!is_more(known.prefix, key)) {\n"
		     "chosen[atomicAdd(&found, 1u)] = key;\n"
		     "}\n"
		     "}\n"
		     "\n"
		     "// Of keys that are counted: which digit the one of place LEFT has, its place among those with "
		     "that digit, and\n"
		     "// whether all of these are wanted.\n"
		     "fn digit_of(left: u32, local: u32) -> vec3<u32> {\n"
		     "workgroupBarrier();\n"
		     "if (local < 16u) {\n"
		     "var sum = 0u;\n"
		     "for (var i = 0u; i < 16u; i++) {\n"
		     "sum += atomicLoad(&counts[local * 16u + i]);\n"
		     "}\n"
		     "sixteens[local] = sum;\n"
		     "}\n"
		     "workgroupBarrier();\n"
		     "for (var digit = local; digit < 256u; digit += %uu) {\n"
		     "var above = 0u;\n"
		     "for (var i = digit / 16u + 1u; i < 16u; i++) {\n"
		     "above += sixteens[i];\n"
		     "}\n"
		     "for (var i = digit + 1u; i %% 16u > 0u; i++) {\n"
		     "above += atomicLoad(&counts[i]);\n"
		     "}\n"
		     "let own = atomicLoad(&counts[digit]);\n"
		     "if (above < left && left <= above + own) {\n"
		     "digit_left_done = vec3<u32>(digit, left - above, u32(left - above == own));\n"
		     "}\n"
		     "}\n"
		     "return workgroupUniformLoad(&digit_left_done);\n"
		     "}\n",
		     w->g->room, w->g->workgroup);
}

/* --- parts of an entry --- */

/* FUNCTION of every key of the workgroup's slice, or of those that workgroups found of the row. */
static void write_each(struct writer *w, int is_join, const char *function)
{
	static const char *const parts[] = { ".x", ".y", ".z", ".w" };
	const struct topk_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->w;

	if (is_join) {
		tcb_wgsl_add(t,
			     "for (var at = local; at < kept * %uu; at += %uu) {\n"
			     "%s(keys[row * kept * %uu + at], known);\n"
			     "}\n",
			     g->splitk, g->workgroup, function, g->splitk);
		return;
	}
	tcb_wgsl_add(t,
		     "for (var at = first + local; at < end; at += %uu) {\n"
		     "let bits = x[row * vectors + at];\n",
		     g->workgroup);
	for (unsigned i = 0; i < g->width; i++)
		tcb_wgsl_add(t, "%s(vec2<u32>(rank_of(bits%s), ~(at * %uu + %uu)), known);\n", function,
			     g->width > 1 ? parts[i] : "", g->width, i);
	tcb_wgsl_add(t, "}\n");
}

/* The want largest keys to chosen, in any order. */
static void write_choice(struct writer *w, int is_join)
{
	struct tcb_wgsl *t = &w->w;

	tcb_wgsl_add(t,
		     "var known = Digits(vec2<u32>(0u), vec2<u32>(0u), false, 24u);\n"
		     "var left = want;\n"
		     "for (var digit = 0u; digit < 8u; digit++) {\n"
		     "known.is_low = digit > 3u;\n"
		     "known.shift = 24u - digit %% 4u * 8u;\n"
		     "for (var i = local; i < 256u; i += %uu) {\n"
		     "atomicStore(&counts[i], 0u);\n"
		     "}\n"
		     "workgroupBarrier();\n",
		     w->g->workgroup);
	write_each(w, is_join, "count_key");
	tcb_wgsl_add(t, "let next = digit_of(left, local);\n"
			"let word = vec2<u32>(next.x, 255u) << vec2<u32>(known.shift);\n"
			"if (known.is_low) {\n"
			"known.prefix.y |= word.x;\n"
			"known.mask.y |= word.y;\n"
			"} else {\n"
			"known.prefix.x |= word.x;\n"
			"known.mask.x |= word.y;\n"
			"}\n"
			"left = next.y;\n"
			"if (next.z == 1u) {\n"
			"break;\n"
			"}\n"
			"}\n"
			"if (local == 0u) {\n"
			"atomicStore(&found, 0u);\n"
			"}\n"
			"workgroupBarrier();\n");
	write_each(w, is_join, "gather_key");
	tcb_wgsl_add(t, "workgroupBarrier();\n");
}

/* Each chosen key to its place: KEEP writes KEY to PLACE of the output, ABSENT what is behind them, up to MOST. */
static void write_places(struct writer *w, const char *keep, const char *most, const char *absent)
{
	tcb_wgsl_add(&w->w,
		     "for (var i = local; i < want; i += %uu) {\n"
		     "let key = chosen[i];\n"
		     "var place = 0u;\n"
		     "for (var j = 0u; j < want; j++) {\n"
		     "place += u32(is_more(chosen[j], key));\n"
		     "}\n"
		     "%s"
		     "}\n"
		     "for (var place = want + local; place < %s; place += %uu) {\n"
		     "%s"
		     "}\n",
		     w->g->workgroup, keep, most, w->g->workgroup, absent);
}

static void write_results(struct writer *w)
{
	write_places(w,
		     w->g->width > 1 ? "let column = ~key.y;\n"
				       "let element = row * scores + column;\n"
				       "values[row * k + place] = x[element / 4u][element % 4u];\n"
				       "columns[row * k + place] = i32(column);\n"
				     : "let column = ~key.y;\n"
				       "values[row * k + place] = x[row * scores + column];\n"
				       "columns[row * k + place] = i32(column);\n",
		     "k",
		     "values[row * k + place] = 0x7fc00000u;\n"
		     "columns[row * k + place] = -1;\n");
}

static void begin_entry(struct writer *w, const char *name, const int uses[], int is_join)
{
	const struct topk_wgsl *g = w->g;
	struct tcb_wgsl_entry entry = { .workgroup = g->workgroup,
					.grid = { is_join ? 1 : g->grid[0], g->grid[1], g->grid[2] } };

	for (size_t i = 0; uses[i]; i++)
		entry.uses[i] = uses[i];
	tcb_wgsl_begin(&w->w, name, &entry);
	tcb_wgsl_add(&w->w, "let row = group.y + group.z * across;\n"
			    "if (row >= rows) {\n"
			    "return;\n"
			    "}\n");
}

/* Its first vector, the one behind its last, and how many keys are wanted of it. */
static void write_slice(struct writer *w)
{
	tcb_wgsl_add(&w->w,
		     "let first = group.x * slice;\n"
		     "let end = min(first + slice, vectors);\n"
		     "let want = min(kept, (end - first) * %uu);\n",
		     w->g->width);
}

static void write_whole_rows(struct writer *w)
{
	begin_entry(w, "topk", (const int[]){ w->x, w->values, w->columns, 0 }, 0);
	write_slice(w);
	write_choice(w, 0);
	write_results(w);
	tcb_wgsl_end(&w->w);
}

static void write_split_rows(struct writer *w)
{
	begin_entry(w, "find", (const int[]){ w->x, w->keys, 0 }, 0);
	write_slice(w);
	tcb_wgsl_add(&w->w, "let to = (row * %uu + group.x) * kept;\n", w->g->splitk);
	write_choice(w, 0);
	write_places(w, "keys[to + place] = key;\n", "kept", "keys[to + place] = vec2<u32>(0u);\n");
	tcb_wgsl_end(&w->w);
	begin_entry(w, "join", (const int[]){ w->keys, w->x, w->values, w->columns, 0 }, 1);
	tcb_wgsl_add(&w->w, "let want = kept;\n");
	write_choice(w, 1);
	write_results(w);
	tcb_wgsl_end(&w->w);
}

static enum tcb_status emit(const struct tcb_problem *problem, const struct tcb_target *target,
			    const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err)
{
	struct topk_wgsl g;
	struct writer w = { .g = &g };
	struct tcb_wgsl *t = &w.w;
	(void)target;

	topk_wgsl_plan(problem, geometry, &g);
	TCB_TRY(tcb_wgsl_open(t, problem, geometry, out, err));
	w.x = tcb_wgsl_input(t, "x", g.width > 1 ? "array<vec4<u32>>" : "array<u32>", TOPK_X);
	w.values = tcb_wgsl_output(t, "values", "array<u32>", TOPK_VALUES);
	w.columns = tcb_wgsl_output(t, "columns", "array<i32>", TOPK_COLUMNS);
	if (g.splitk > 1)
		w.keys = tcb_wgsl_workspace(t, "keys", "array<vec2<u32>>", g.rows * g.splitk * g.kept * 8);
	tcb_wgsl_number(t, "rows", g.rows);
	tcb_wgsl_number(t, "scores", g.scores);
	tcb_wgsl_number(t, "k", g.k);
	tcb_wgsl_number(t, "kept", g.kept);
	tcb_wgsl_number(t, "vectors", g.vectors);
	tcb_wgsl_number(t, "slice", g.slice);
	tcb_wgsl_number(t, "across", g.grid[1]);
	write_functions(&w);
	(g.splitk > 1 ? write_split_rows : write_whole_rows)(&w);
	out->class = TCB_CLASS_EXACT;
	return tcb_wgsl_close(t, err);
}

const struct tcb_side topk_wgsl = {
	.variants = TCB_EMITTED(TCB_EMITTED_ROW("topk_f32_wgsl", F32, WGSL, EXACT)),
	.space = &topk_wgsl_space,
	.emit = emit,
};
