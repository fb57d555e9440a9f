/* SPDX-License-Identifier: MIT
 *
 * The read and copy kernels that a GPU's results are held against.  In: a
 * problem; out: kernels that touch each byte that it streams once, in 16-byte
 * pieces past the L1, several in flight in each thread.  What is read is folded
 * into a store that never happens, so that nothing is left out.
 */
#include "kernels/limit.h"

#include <string.h>

#include "ptx/build/build.h"

enum { PIECE = 16, LOADS_MAX = 8, FORMS = 3 };

/* Threads in a block, pieces in flight in a thread. */
static const struct form {
	unsigned threads, loads;
} forms[FORMS] = { { 512, 4 }, { 256, 8 }, { 1024, 2 } };

/* What the op moves: the operand that is read, and where it is copied to. */
struct traffic {
	size_t from, to;
	size_t bytes;
	int is_copy;
};

static struct traffic find_traffic(const struct tcb_op *op, const struct tcb_problem *problem)
{
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	size_t count = op->operands(problem, operands);
	int output = tcb_operand_output(operands, count);
	struct traffic traffic = { .from = 0 };
	for (size_t i = 0; i < count; i++) {
		if ((int)i != output && operands[i].bytes > traffic.bytes) {
			traffic.from = i;
			traffic.bytes = operands[i].bytes;
		}
	}
	traffic.to = (size_t)output;
	traffic.is_copy = operands[output].bytes == traffic.bytes;
	return traffic;
}

static enum tcb_status build(const struct form *form, const struct traffic *traffic, int dependent,
			     const struct tcb_ptx_target *target, struct tcb_ptx_module **out, const char **entry_out,
			     struct tcb_error *err)
{
	struct tcb_ptx_build b;
	struct tcb_ptx_directives bounds = { .maxntid = { form->threads, 1, 1 } };
	struct tcb_ptx_operand piece[LOADS_MAX][4], inside[LOADS_MAX], folded;
	TCB_TRY(tcb_ptx_build_init(&b, target, err));
	*entry_out = tcb_ptx_namef(&b, "%s_%ux%u%s", traffic->is_copy ? "copy" : "read", form->threads, form->loads,
				   dependent ? "_dependent" : "");
	tcb_ptx_kernel_begin(&b, *entry_out, &bounds);
	struct tcb_ptx_operand from = tcb_ptx_param_pointer(&b, "from", PIECE);
	struct tcb_ptx_operand to = tcb_ptx_param_pointer(&b, "to", PIECE);
	struct tcb_ptx_operand pieces = tcb_ptx_param(&b, "u32", "pieces");
	if (dependent)
		tcb_ptx_op0(&b, "griddepcontrol.launch_dependents");
	struct tcb_ptx_operand first =
		tcb_ptx_op3(&b, "mad.lo.u32", tcb_ptx_special(&b, "ctaid.x"), tcb_ptx_int(form->threads * form->loads),
			    tcb_ptx_special(&b, "tid.x"));
	struct tcb_ptx_operand source = tcb_ptx_op3(&b, "mad.wide.u32", first, tcb_ptx_int(PIECE), from);
	struct tcb_ptx_operand goal = tcb_ptx_op3(&b, "mad.wide.u32", first, tcb_ptx_int(PIECE), to);
	for (unsigned i = 0; i < form->loads; i++) {
		struct tcb_ptx_operand index = tcb_ptx_op2(&b, "add.u32", first, tcb_ptx_int(i * form->threads));
		inside[i] = tcb_ptx_op2(&b, "setp.lt.u32", index, pieces);
		for (unsigned j = 0; j < 4; j++)
			piece[i][j] = tcb_ptx_op1(&b, "mov.b32", tcb_ptx_int(0));
	}
	for (unsigned i = 0; i < form->loads; i++) {
		struct tcb_ptx_operand operands[2] = {
			tcb_ptx_vector(&b, piece[i], 4),
			tcb_ptx_at(source, (int64_t)i * form->threads * PIECE),
		};
		tcb_ptx_guard(&b, inside[i]);
		tcb_ptx_into(&b, "ld.global.nc.L1::no_allocate.v4.b32", 2, operands);
		tcb_ptx_unguard(&b);
	}
	if (dependent && traffic->is_copy) /* what is written may still be read by the launch before */
		tcb_ptx_op0(&b, "griddepcontrol.wait");
	folded = tcb_ptx_op1(&b, "mov.b32", tcb_ptx_int(0));
	for (unsigned i = 0; i < form->loads; i++) {
		if (traffic->is_copy) {
			tcb_ptx_guard(&b, inside[i]);
			tcb_ptx_store(&b, "st.global.v4.b32", tcb_ptx_at(goal, (int64_t)i * form->threads * PIECE),
				      piece[i], 4);
			tcb_ptx_unguard(&b);
			continue;
		}
		for (unsigned j = 0; j < 4; j++)
			folded = tcb_ptx_op2(&b, "xor.b32", folded, piece[i][j]);
	}
	if (dependent && !traffic->is_copy)
		tcb_ptx_op0(&b, "griddepcontrol.wait");
	if (!traffic->is_copy) {
		/* One in 2^32 threads would store a word that is never looked at. */
		tcb_ptx_guard(&b, tcb_ptx_op2(&b, "setp.eq.u32", folded, tcb_ptx_int(0x5eed1e55)));
		tcb_ptx_store(&b, "st.global.b32", tcb_ptx_at(to, 0), &folded, 1);
		tcb_ptx_unguard(&b);
	}
	tcb_ptx_kernel_end(&b);
	return tcb_ptx_build_finish(&b, out, err);
}

static enum tcb_status make_kernel(const struct tcb_op *op, const struct tcb_problem *problem,
				   const struct tcb_target *target, const struct form *form, int dependent,
				   struct tcb_kernel *out, struct tcb_error *err)
{
	struct traffic traffic = find_traffic(op, problem);
	struct tcb_ptx_target ptx_target = { .sm = target->capability };
	struct tcb_launch *launch = &out->launch[0];
	size_t pieces = traffic.bytes / PIECE, block = (size_t)form->threads * form->loads;
	memset(out, 0, sizeof *out);
	if (pieces > INT32_MAX)
		return tcb_fail(err, TCB_E_OVERFLOW, "%zu bytes are too many for the limit's kernel", traffic.bytes);
	tcb_geometry_init(&out->geometry);
	out->problem = *problem;
	out->workspace_bytes = PIECE;
	out->launch_count = 1;
	TCB_TRY(build(form, &traffic, dependent, &ptx_target, &out->module, &launch->entry, err));
	launch->grid[0] = (uint32_t)((pieces + block - 1) / block);
	launch->grid[1] = launch->grid[2] = 1;
	launch->block[0] = form->threads;
	launch->block[1] = launch->block[2] = 1;
	launch->is_dependent = dependent;
	launch->argument_count = 3;
	launch->argument[0] = (struct tcb_argument){ TCB_ARGUMENT_OPERAND, traffic.from };
	launch->argument[1] = traffic.is_copy ? (struct tcb_argument){ TCB_ARGUMENT_OPERAND, traffic.to }
					      : (struct tcb_argument){ TCB_ARGUMENT_WORKSPACE, 0 };
	launch->argument[2] = (struct tcb_argument){ TCB_ARGUMENT_U32, pieces };
	return TCB_OK;
}

enum tcb_status tcb_limit_image(const struct tcb_op *op, const struct tcb_problem *problem,
				const struct tcb_target *target, int dependent, struct tcb_code_image **out,
				struct tcb_error *err)
{
	struct tcb_kernel kernels[FORMS];
	enum tcb_status status = TCB_OK;
	memset(kernels, 0, sizeof kernels);
	for (size_t i = 0; i < FORMS && status == TCB_OK; i++)
		status = make_kernel(op, problem, target, &forms[i], dependent, &kernels[i], err);
	if (status == TCB_OK)
		status = tcb_code_compile(kernels, FORMS, target, out, err);
	for (size_t i = 0; i < FORMS; i++)
		tcb_kernel_fini(&kernels[i]);
	return status;
}
