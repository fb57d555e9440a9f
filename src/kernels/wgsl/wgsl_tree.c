/* SPDX-License-Identifier: MIT
 *
 * Bringing a workgroup's values together.  Invocations of a subgroup are taken
 * to follow each other in the workgroup, as they do on all devices that are known
 * for one-dimensional workgroups; verification tells where that is not so.
 */
#include <assert.h>
#include <stdio.h>

#include "base/sizes.h"
#include "kernels/wgsl/wgsl.h"

enum {
	LANES_LEAST = 4, /* of a subgroup (WebGPU, "subgroupMinSize") */
	/* Roundings of a subgroup's own sum: a tree of 128 lanes, or one after another where there are eight. */
	SUBGROUP_CHAIN = 7
};

static const struct {
	const char *subgroup; /* the built-in function */
	int is_infix;
	const char *word;
} operations[] = {
	[TCB_WGSL_SUM] = { "subgroupAdd", 1, "+" },
	[TCB_WGSL_MAX] = { "subgroupMax", 0, "max" },
	[TCB_WGSL_MIN] = { "subgroupMin", 0, "min" },
};

void tcb_wgsl_combine(const struct tcb_wgsl_tree *tree, const char *a, const char *b, char out[TCB_WGSL_COMBINED_MAX])
{
	const char *word = tree->function ? tree->function : operations[tree->operation].word;

	if (!tree->function && operations[tree->operation].is_infix)
		snprintf(out, TCB_WGSL_COMBINED_MAX, "%s %s %s", a, word, b);
	else
		snprintf(out, TCB_WGSL_COMBINED_MAX, "%s(%s, %s)", word, a, b);
}

/* Halves of what is left, one onto the other.  What was there before has been read when all are here. */
static void add_shared(struct tcb_wgsl *w, const struct tcb_wgsl_tree *tree)
{
	char both[TCB_WGSL_COMBINED_MAX], own[TCB_WGSL_COMBINED_MAX], other[TCB_WGSL_COMBINED_MAX];

	snprintf(own, sizeof own, "%s_parts[local]", tree->name);
	snprintf(other, sizeof other, "%s_parts[local + left]", tree->name);
	tcb_wgsl_combine(tree, own, other, both);
	tcb_wgsl_add(w, "\nvar<workgroup> %s_parts: array<%s, %u>;\n\n", tree->name, tree->type, tree->workgroup);
	tcb_wgsl_add(w,
		     "fn %s(value: %s, local: u32) -> %s {\n"
		     "workgroupBarrier();\n"
		     "%s = value;\n"
		     "for (var left = %uu; left > 0u; left /= 2u) {\n"
		     "workgroupBarrier();\n"
		     "if (local < left) {\n"
		     "%s = %s;\n"
		     "}\n"
		     "}\n"
		     "workgroupBarrier();\n"
		     "return %s_parts[0];\n"
		     "}\n",
		     tree->name, tree->type, tree->type, own, tree->workgroup / 2, own, both, tree->name);
}

/* Each subgroup, then in each of them what all have. */
static void add_subgroups(struct tcb_wgsl *w, const struct tcb_wgsl_tree *tree)
{
	const unsigned parts = (unsigned)tcb_div_up(tree->workgroup, LANES_LEAST);
	const char *builtin = operations[tree->operation].subgroup;
	char both[TCB_WGSL_COMBINED_MAX], part[TCB_WGSL_COMBINED_MAX];

	snprintf(part, sizeof part, "%s_parts[i]", tree->name);
	tcb_wgsl_combine(tree, "all", part, both);
	tcb_wgsl_need(w, TCB_WGPU_SUBGROUPS);
	tcb_wgsl_add(w, "\nvar<workgroup> %s_parts: array<%s, %u>;\n\n", tree->name, tree->type, parts);
	tcb_wgsl_add(w,
		     "fn %s(value: %s, local: u32, lane: u32, lanes: u32) -> %s {\n"
		     "let part = %s(value);\n"
		     "workgroupBarrier();\n"
		     "if (lane == 0u) {\n"
		     "%s_parts[local / lanes] = part;\n"
		     "}\n"
		     "workgroupBarrier();\n"
		     "let count = (%uu + lanes - 1u) / lanes;\n"
		     "var all = %s_parts[min(lane, count - 1u)];\n"
		     "for (var i = lane + lanes; i < count; i += lanes) {\n"
		     "all = %s;\n"
		     "}\n",
		     tree->name, tree->type, tree->type, builtin, tree->name, tree->workgroup, tree->name, both);
	/* Lanes that have no part of their own add nothing to a sum; of a maximum, one of the parts changes nothing. */
	if (tree->operation == TCB_WGSL_SUM)
		tcb_wgsl_add(w, "return %s(select(%s(0), all, lane < count));\n}\n", builtin, tree->type);
	else
		tcb_wgsl_add(w, "return %s(all);\n}\n", builtin);
}

void tcb_wgsl_add_tree(struct tcb_wgsl *w, const struct tcb_wgsl_tree *tree)
{
	assert(!tree->function || tree->tree == TCB_TREE_SHARED);
	(tree->tree == TCB_TREE_SUBGROUP ? add_subgroups : add_shared)(w, tree);
}

const char *tcb_wgsl_here(enum tcb_tree tree)
{
	return tree == TCB_TREE_SUBGROUP ? "local, lane, lanes" : "local";
}

size_t tcb_wgsl_tree_bytes(enum tcb_tree tree, unsigned workgroup)
{
	return 4 * (tree == TCB_TREE_SUBGROUP ? tcb_div_up(workgroup, LANES_LEAST) : workgroup);
}

unsigned tcb_wgsl_tree_chain(enum tcb_tree tree, unsigned workgroup)
{
	if (tree == TCB_TREE_SHARED)
		return tcb_log2_up(workgroup);
	return 2 * SUBGROUP_CHAIN + (unsigned)tcb_div_up(workgroup, LANES_LEAST * LANES_LEAST);
}
