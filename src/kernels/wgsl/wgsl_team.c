/* SPDX-License-Identifier: MIT
 *
 * Bringing a team's values together.  A subgroup may hold several teams, or a
 * team several subgroups: which of them is known to the device only.
 */
#include "kernels/wgsl/wgsl_team.h"

#include <assert.h>
#include <stdio.h>

#include "base/sizes.h"

enum { LANES_LEAST = 4 /* of a subgroup (WebGPU, "subgroupMinSize") */, NAMED_MAX = 56 };

/* Halves of what is left of each team, one onto the other. */
static void add_shared(struct tcb_wgsl *w, const struct tcb_wgsl_tree *tree, unsigned team)
{
	char own[NAMED_MAX], other[NAMED_MAX], both[TCB_WGSL_COMBINED_MAX];

	snprintf(own, sizeof own, "%s_parts[local]", tree->name);
	snprintf(other, sizeof other, "%s_parts[local + left]", tree->name);
	tcb_wgsl_combine(tree, own, other, both);
	tcb_wgsl_add(w, "\nvar<workgroup> %s_parts: array<%s, %u>;\n\n", tree->name, tree->type, tree->workgroup);
	tcb_wgsl_add(w,
		     "fn %s(value: %s, local: u32) -> %s {\n"
		     "let member = local %% %uu;\n"
		     "workgroupBarrier();\n"
		     "%s = value;\n"
		     "for (var left = %uu; left > 0u; left /= 2u) {\n"
		     "workgroupBarrier();\n"
		     "if (member < left) {\n"
		     "%s = %s;\n"
		     "}\n"
		     "}\n"
		     "workgroupBarrier();\n"
		     "return %s_parts[local - member];\n"
		     "}\n",
		     tree->name, tree->type, tree->type, team, own, team / 2, own, both, tree->name);
}

/* Lanes of a subgroup exchange what they have; of teams that are larger each subgroup leaves a part. */
static void add_subgroups(struct tcb_wgsl *w, const struct tcb_wgsl_tree *tree, unsigned team)
{
	char lanes[TCB_WGSL_COMBINED_MAX], parts[TCB_WGSL_COMBINED_MAX], part[NAMED_MAX];

	snprintf(part, sizeof part, "%s_parts[first + i]", tree->name);
	tcb_wgsl_combine(tree, "all", "subgroupShuffleXor(all, mask)", lanes);
	tcb_wgsl_combine(tree, "all", part, parts);
	tcb_wgsl_need(w, TCB_WGPU_SUBGROUPS);
	if (team > LANES_LEAST)
		tcb_wgsl_add(w, "\nvar<workgroup> %s_parts: array<%s, %u>;\n", tree->name, tree->type,
			     tree->workgroup / LANES_LEAST);
	tcb_wgsl_add(w,
		     "\n"
		     "fn %s(value: %s, local: u32, lane: u32, lanes: u32) -> %s {\n"
		     "var all = value;\n"
		     "for (var mask = min(lanes, %uu) / 2u; mask > 0u; mask /= 2u) {\n"
		     "all = %s;\n"
		     "}\n",
		     tree->name, tree->type, tree->type, team, lanes);
	if (team > LANES_LEAST)
		tcb_wgsl_add(w,
			     "if (lanes < %uu) {\n"
			     "workgroupBarrier();\n"
			     "if (lane == 0u) {\n"
			     "%s_parts[local / lanes] = all;\n"
			     "}\n"
			     "workgroupBarrier();\n"
			     "let first = local / %uu * (%uu / lanes);\n"
			     "all = %s_parts[first];\n"
			     "for (var i = 1u; i < %uu / lanes; i++) {\n"
			     "all = %s;\n"
			     "}\n"
			     "}\n",
			     team, tree->name, team, team, tree->name, team, parts);
	tcb_wgsl_add(w, "return all;\n}\n");
}

void tcb_wgsl_add_team_tree(struct tcb_wgsl *w, const struct tcb_wgsl_tree *tree, unsigned team)
{
	if (team == tree->workgroup)
		tcb_wgsl_add_tree(w, tree);
	else
		(tree->tree == TCB_TREE_SUBGROUP ? add_subgroups : add_shared)(w, tree, team);
}

size_t tcb_wgsl_team_bytes(enum tcb_tree tree, unsigned workgroup, unsigned team)
{
	if (team == workgroup)
		return tcb_wgsl_tree_bytes(tree, workgroup);
	return 4 * (tree == TCB_TREE_SHARED ? workgroup : team > LANES_LEAST ? workgroup / LANES_LEAST : 0);
}

unsigned tcb_wgsl_team_chain(enum tcb_tree tree, unsigned workgroup, unsigned team)
{
	if (team == workgroup)
		return tcb_wgsl_tree_chain(tree, workgroup);
	return tcb_log2_up(team) + (tree == TCB_TREE_SUBGROUP ? team / LANES_LEAST : 0);
}
