/* SPDX-License-Identifier: MIT
 *
 * Reading and copying in OpenCL C, as fast as a device does it.  In: a problem; out:
 * kernels that touch each 16 bytes that it streams once: in turns, as GPUs like it, or
 * a run of them per work-item, as processors do.  What is read is folded into a
 * store that never happens.
 */
#include "kernels/opencl/opencl_limit.h"

#include "base/sizes.h"
#include "kernels/moved.h"
#include "kernels/opencl/opencl_code.h"

static const struct form {
	const char *entry;
	unsigned workgroup, loads; /* pieces per work-item */
	int is_run;                /* that lie one after another */
} forms[TCB_LIMITS_OPENCL] = { { "turns_256x4", 256, 4, 0 }, { "runs_16x256", 16, 256, 1 } };

static void write_text(const struct tcb_moved *moved, const struct form *form, size_t pieces, struct tcb_str *out)
{
	const int is_copy = moved->outputs != 0, has_other = moved->count > 1;
	const char *const beside = has_other && is_copy ? " ^ second[at]" : "";

	tcb_str_addf(out, TCB_OPENCL_OPTIONS "\nkernel void %s(global const uint4 *source, global uint4 *goal%s)\n{\n",
		     form->entry, has_other ? ", global const uint4 *second" : "");
	tcb_str_addf(out, "const size_t first = get_group_id(0) * %uu * %uu + get_local_id(0) * %uu;\n",
		     form->workgroup, form->loads, form->is_run ? form->loads : 1);
	tcb_str_add(out, "uint4 folded = (uint4)(0);\n");
	tcb_str_addf(out, "for (size_t i = 0; i < %u; i++) {\nconst size_t at = first + i * %uu;\nif (at < %zuu)\n",
		     form->loads, form->is_run ? 1 : form->workgroup, pieces);
	tcb_str_addf(out, is_copy ? "goal[at] = source[at]%s;\n" : "folded ^= source[at]%s;\n", beside);
	if (has_other && !is_copy)
		tcb_str_addf(out, "if (at < %zuu)\nfolded ^= second[at];\n", moved->other_bytes / TCB_MOVED_PIECE);
	tcb_str_add(out, "}\n");
	if (!is_copy) /* one in 2^128 would store what is never looked at */
		tcb_str_add(out, "if (folded.x == 0x5eed1e55u && folded.y == 1 && folded.z == 2 && folded.w == 3)\n"
				 "goal[0] = folded;\n");
	tcb_str_add(out, "}\n");
}

/* As the limits in other languages: the operands that are read, or one or two brought to the first output. */
enum tcb_status tcb_limit_opencl(const struct tcb_problem *problem, const struct tcb_target *target, size_t number,
				 int dependent, struct tcb_kernel *out, struct tcb_error *err)
{
	const struct form *const form = &forms[number];
	const struct tcb_moved moved = tcb_moved_find(problem);
	const size_t all = moved.bytes / TCB_MOVED_PIECE;
	const size_t pieces = moved.outputs ? tcb_least(all, moved.pieces[0]) : all;
	struct tcb_kernel_opencl *code;
	struct tcb_launch *launch = &out->launch[0];

	(void)target, (void)dependent;
	*out = (struct tcb_kernel){ .problem = *problem, .class = TCB_CLASS_BOUNDED };
	tcb_geometry_init(&out->geometry);
	code = tcb_kernel_opencl_new(out);
	if (!code)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a kernel");
	if (tcb_div_up(tcb_most(pieces, 1), (size_t)form->workgroup * form->loads) > UINT32_MAX)
		return tcb_fail(err, TCB_E_OVERFLOW, "%zu bytes are too many for the limit's kernel", moved.bytes);
	out->workspace_bytes = moved.outputs ? 0 : TCB_MOVED_PIECE;
	*launch = (struct tcb_launch){
		.entry = form->entry,
		.grid = { (uint32_t)tcb_div_up(tcb_most(pieces, 1), (size_t)form->workgroup * form->loads), 1, 1 },
		.block = { form->workgroup, 1, 1 },
		.argument_count = moved.count > 1 ? 3 : 2,
		.argument = { { TCB_ARGUMENT_OPERAND, moved.from[0] },
			      moved.outputs ? (struct tcb_argument){ TCB_ARGUMENT_OPERAND, moved.to[0] }
					    : (struct tcb_argument){ TCB_ARGUMENT_WORKSPACE, 0 },
			      { TCB_ARGUMENT_OPERAND, moved.from[1] } },
	};
	write_text(&moved, form, pieces, &code->text);
	return code->text.failed ? tcb_fail(err, TCB_E_NOMEM, "out of memory for a kernel's text") : TCB_OK;
}
