/* SPDX-License-Identifier: MIT
 *
 * Reading and copying in WGSL, as fast as a device does it.  In: a problem; out:
 * kernels that touch each 16 bytes that it streams once, several in flight in
 * each invocation.  What is read is folded into a store that never happens.
 */
#include "kernels/wgsl/wgsl_limit.h"

#include <stdio.h>

#include "base/sizes.h"
#include "kernels/moved.h"
#include "kernels/wgsl/wgsl.h"

enum { GRID_MOST = 65535 };

/* Invocations in a workgroup, pieces in flight in each. */
static const struct form {
	const char *read, *copy, *join;
	unsigned workgroup, loads;
} forms[TCB_LIMITS_WGSL] = { { "read_256x4", "copy_256x4", "join_256x4", 256, 4 },
			     { "read_256x8", "copy_256x8", "join_256x8", 256, 8 },
			     { "read_128x2", "copy_128x2", "join_128x2", 128, 2 } };

/* Of operands that are read, or one or two brought to the first output that is as large; workgroups that stay share the
 * pieces where there are more than a grid has. */
enum tcb_status tcb_limit_wgsl(const struct tcb_problem *problem, const struct tcb_target *target, size_t number,
			       int dependent, struct tcb_kernel *out, struct tcb_error *err)
{
	const struct form *const form = &forms[number];
	const struct tcb_moved moved = tcb_moved_find(problem);
	const size_t all = moved.count * moved.bytes / TCB_MOVED_PIECE;
	const size_t pieces = moved.outputs ? tcb_least(all, moved.pieces[0]) : moved.bytes / TCB_MOVED_PIECE;
	const size_t step = (size_t)form->workgroup * form->loads;
	const uint32_t groups = (uint32_t)tcb_least(tcb_most(tcb_div_up(pieces, step), 1), GRID_MOST);
	struct tcb_wgsl w;

	(void)target, (void)dependent;
	if (pieces > UINT32_MAX / 2)
		return tcb_fail(err, TCB_E_OVERFLOW, "%zu bytes are too many for the limit's kernel", moved.bytes);
	TCB_TRY(tcb_wgsl_open(&w, problem, NULL, out, err));
	const int from = tcb_wgsl_input(&w, "source", "array<vec4<u32>>", moved.from[0]);
	const int other = moved.count > 1 ? tcb_wgsl_input(&w, "second", "array<vec4<u32>>", moved.from[1]) : 0;
	const int to = moved.outputs ? tcb_wgsl_output(&w, "goal", "array<vec4<u32>>", moved.to[0])
				     : tcb_wgsl_workspace(&w, "goal", "array<vec4<u32>>", TCB_MOVED_PIECE);
	tcb_wgsl_number(&w, "pieces", pieces);
	tcb_wgsl_number(&w, "groups", groups);
	tcb_wgsl_begin(&w,
		       !moved.outputs ? form->read
		       : other        ? form->join
				      : form->copy,
		       &(struct tcb_wgsl_entry){
			       .workgroup = form->workgroup, .grid = { groups }, .uses = { from, to, other } });
	if (!moved.outputs)
		tcb_wgsl_add(&w, "var folded = vec4<u32>(0u);\n");
	tcb_wgsl_add(&w, "for (var first = group.x * %zuu + local; first < pieces; first += groups * %zuu) {\n", step,
		     step);
	for (unsigned i = 0; i < form->loads; i++) {
		const unsigned at = i * form->workgroup;
		char beside[40];

		snprintf(beside, sizeof beside, " ^ second[first + %uu]", at);
		if (moved.outputs)
			tcb_wgsl_add(&w, "if (first + %uu < pieces) { goal[first + %uu] = source[first + %uu]%s; }\n",
				     at, at, at, other ? beside : "");
		else
			tcb_wgsl_add(&w, "folded ^= source[min(first + %uu, pieces - 1u)];\n", at);
		if (!moved.outputs && other)
			tcb_wgsl_add(&w, "folded ^= second[min(first + %uu, %zuu)];\n", at,
				     tcb_most(moved.other_bytes / TCB_MOVED_PIECE, 1) - 1);
	}
	tcb_wgsl_add(&w, "}\n");
	if (!moved.outputs) /* one in 2^128 would store what is never looked at */
		tcb_wgsl_add(&w, "if (all(folded == vec4<u32>(0x5eed1e55u, 1u, 2u, 3u))) { goal[0] = folded; }\n");
	tcb_wgsl_end(&w);
	return tcb_wgsl_close(&w, err);
}
