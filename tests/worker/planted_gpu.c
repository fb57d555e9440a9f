/* SPDX-License-Identifier: MIT
 *
 * The planted GPU op.  Each misbehaviour is a piece of PTX in a kernel that is
 * right without it, or a launch that cannot be.
 */
#include "planted_gpu.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "kernels/gpu/ptx_code.h"
#include "ptx/text/text.h"

enum { SPILLED = 64, STAGES_MOST = 25, STAGE_LOOPS = 3 };

static enum tcb_status check_shape(const struct tcb_op *op, const struct tcb_shape *shape, struct tcb_error *err)
{
	(void)op;
	if (shape->m != 1 || shape->n < 1 || shape->k < 4 || shape->k % 4)
		return tcb_fail(err, TCB_E_USAGE, "planted needs 1xNxK with K a multiple of 4");
	return TCB_OK;
}

static size_t operands(const struct tcb_problem *problem, struct tcb_operand out[TCB_OPERANDS_MAX])
{
	size_t n = problem->shape.n, k = problem->shape.k;
	out[0] = (struct tcb_operand){ "x", TCB_ROLE_INPUT, TCB_TYPE_F32, 1, k, k * sizeof(float), 0 };
	out[1] = (struct tcb_operand){ "w", TCB_ROLE_WEIGHTS, TCB_TYPE_F32, n, k, n * k * sizeof(float), 1 };
	out[2] = (struct tcb_operand){ "y", TCB_ROLE_OUTPUT, TCB_TYPE_F32, 1, n, n * sizeof(float), 0 };
	return 3;
}

static void fill(const struct tcb_problem *problem, uint64_t seed, void *const operand[])
{
	struct tcb_rng rng;
	tcb_rng_init(&rng, seed);
	for (size_t i = 0; i < problem->shape.k; i++)
		((float *)operand[0])[i] = tcb_rng_normal(&rng);
	for (size_t i = 0; i < problem->shape.n * problem->shape.k; i++)
		((float *)operand[1])[i] = tcb_rng_normal(&rng);
}

static void reference(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out)
{
	const float *x = operand[0], *w = operand[1];
	size_t k = problem->shape.k;
	for (size_t n = 0; n < problem->shape.n; n++) {
		out->y[n] = out->magnitude[n] = out->extra[n] = 0;
		for (size_t i = 0; i < k; i++) {
			out->y[n] += (double)x[i] * (double)w[n * k + i];
			out->magnitude[n] += fabs((double)x[i] * (double)w[n * k + i]);
		}
	}
}

static double flops(const struct tcb_problem *problem)
{
	return 2.0 * (double)(problem->shape.n * problem->shape.k);
}

static double traffic(const struct tcb_problem *problem)
{
	return (double)(sizeof(float) * problem->shape.n * problem->shape.k);
}

/* Columns side by side: packed[k][n]. */
static void pack(const struct tcb_problem *problem, size_t which, enum tcb_layout layout, const void *weights,
		 void *packed)
{
	size_t rows = problem->shape.n, k = problem->shape.k;
	(void)which, (void)layout;
	for (size_t n = 0; n < rows; n++)
		for (size_t i = 0; i < k; i++)
			((float *)packed)[i * rows + n] = ((const float *)weights)[n * k + i];
}

/* ---- the space ---- */

#define BAD(id) PLANTED_GPU_##id
static const enum planted_gpu bad[] = { BAD(WRONG),        BAD(PAST_OUTPUT),  BAD(ILLEGAL_WRITE), BAD(ILLEGAL_READ),
					BAD(MISALIGNED),   BAD(ENDLESS),      BAD(BIG_SHARED),    BAD(DIRTY),
					BAD(WRITES_INPUT), BAD(CRASHES_LATER) };

static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	(void)problem, (void)target;
	out[0] = (struct tcb_axis){ TCB_AXIS_KNOB, TCB_KNOB_LAYOUT, 2, { TCB_LAYOUT_NATIVE, TCB_LAYOUT_R4 } };
	out[1] = (struct tcb_axis){ TCB_AXIS_KNOB, TCB_KNOB_WARPS, 4, { 1, 2, 4, 8 } };
	out[2] = (struct tcb_axis){ .kind = TCB_AXIS_KNOB, .which = TCB_KNOB_STAGES };
	for (int i = 1; i <= STAGES_MOST; i++)
		out[2].values[out[2].count++] = i;
	out[3] = (struct tcb_axis){ TCB_AXIS_KNOB, TCB_KNOB_UNROLL, 1, { 1 + PLANTED_GPU_GOOD } };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		out[3].values[out[3].count++] = 1 + (int)bad[i];
	return 4;
}

static const char *bad_ones_are_few(const struct tcb_problem *problem, const struct tcb_target *target,
				    const struct tcb_geometry *geometry)
{
	const int32_t *knob = geometry->knob;
	(void)problem, (void)target;
	if (knob[TCB_KNOB_UNROLL] == 1 + PLANTED_GPU_GOOD)
		return NULL;
	return knob[TCB_KNOB_WARPS] == 2 && knob[TCB_KNOB_STAGES] == 3 ? NULL : "one of each kind is enough";
}

static const struct tcb_rule rules[] = { { 0, 1, bad_ones_are_few }, { 0, 0, NULL } };

void planted_gpu_geometry(enum planted_gpu behaviour, int is_packed, unsigned warps, unsigned stages,
			  struct tcb_geometry *out)
{
	tcb_geometry_init(out);
	out->tile[TCB_MACRO] = (struct tcb_tile){ 1, 64, PLANTED_GPU_K };
	out->tile[TCB_MIDI] = (struct tcb_tile){ 1, 1, PLANTED_GPU_K };
	out->knob[TCB_KNOB_ISA] = TCB_ISA_FMA;
	out->knob[TCB_KNOB_LAYOUT] = is_packed ? TCB_LAYOUT_R4 : TCB_LAYOUT_NATIVE;
	out->knob[TCB_KNOB_UNROLL] = 1 + (int32_t)behaviour;
	out->knob[TCB_KNOB_WARPS] = (int32_t)warps;
	out->knob[TCB_KNOB_STAGES] = (int32_t)stages;
}

static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	(void)problem, (void)target;
	planted_gpu_geometry(PLANTED_GPU_GOOD, 0, 4, 5, out);
}

static void footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	(void)problem, (void)target;
	*out = (struct tcb_footprint){ .block_threads = 32 * (unsigned)geometry->knob[TCB_KNOB_WARPS] };
}

/* ---- kernels ---- */

/* %i is the output, %acc its value, %y its address; %x, %w, %s those of the operands and the workspace. */
static const struct trouble {
	const char *before, *after; /* the store */
} troubles[PLANTED_GPU_COUNT] = {
	/* Right as long as the workspace is zero at first and then as the last call left it. */
	[PLANTED_GPU_KEEPS] = { .before = "ld.global.u32 %c, [%mine];\nsetp.gt.u32 %q, %c, 100000;\n"
					  "@%q add.f32 %acc, %acc, 0f3F800000;\nadd.u32 %c, %c, 1;\n"
					  "st.global.u32 [%mine], %c;\n" },
	/* Right, and in its last hot call (one alone; graphs of 64, run twice a sample: to record, to warm up, for
	 * three samples) the last thread writes to an input that all have read. */
	[PLANTED_GPU_SPOILS] = { .after = "ld.global.u32 %c, [%mine];\nadd.u32 %c, %c, 1;\n"
					  "st.global.u32 [%mine], %c;\nsetp.eq.u32 %q, %c, 577;\n"
					  "setp.eq.and.u32 %q, %i, 39, %q;\n@%q st.global.f32 [%x], 0f41200000;\n" },
	[PLANTED_GPU_WRONG] = { .before = "add.f32 %acc, %acc, 0f3F800000;\n" },
	[PLANTED_GPU_WRONG_FULL] = { .before = "setp.ge.u32 %q, %i, 7;\n@%q add.f32 %acc, %acc, 0f3F800000;\n" },
	[PLANTED_GPU_WRONG_LATER] = { .before = "ld.global.u32 %c, [%mine];\nadd.u32 %c, %c, 1;\n"
						"st.global.u32 [%mine], %c;\nsetp.gt.u32 %q, %c, 40;\n"
						"@%q add.f32 %acc, %acc, 0f3F800000;\n" },
	[PLANTED_GPU_PAST_OUTPUT] = { .after = "st.global.f32 [%y + 4], %acc;\n" },
	[PLANTED_GPU_ILLEGAL_WRITE] = { .after = "st.global.f32 [%y + 1073741824], %acc;\n" },
	[PLANTED_GPU_ILLEGAL_READ] = { .before = "ld.global.f32 %v, [%x + 1073741824];\nadd.f32 %acc, %acc, %v;\n" },
	/* Volatile, or the assembler leaves out what nobody looks at. */
	[PLANTED_GPU_MISALIGNED] = { .before = "ld.volatile.global.v2.f32 {%v, %u}, [%x + 4];\n" },
	[PLANTED_GPU_ENDLESS] = { .before =
					  "ROUND:\nld.volatile.global.u32 %c, [%x];\nsetp.ne.u32 %q, %c, 0x7f812345;\n"
					  "@%q bra ROUND;\n" },
	[PLANTED_GPU_DIRTY] = { .before = "ld.global.u32 %c, [%mine];\nst.global.u32 [%mine], 1;\n"
					  "setp.ne.u32 %q, %c, 0;\n@%q add.f32 %acc, %acc, 0f3F800000;\n" },
	[PLANTED_GPU_NO_STORE] = { .before = "bra DONE;\n" },
	[PLANTED_GPU_NOT_A_NUMBER] = { .before = "mov.f32 %acc, 0f7FC00000;\n" },
	[PLANTED_GPU_TRAPS] = { .before = "trap;\n" },
	[PLANTED_GPU_PAST_WORKSPACE] = { .after = "st.global.f32 [%mine + 4], %acc;\n" },
	[PLANTED_GPU_WRITES_INPUT] = { .after = "st.global.f32 [%x], 0f41200000;\n" },
	[PLANTED_GPU_CRASHES_LATER] = { .after = "ld.global.u32 %c, [%mine];\nadd.u32 %c, %c, 1;\n"
						 "st.global.u32 [%mine], %c;\nsetp.gt.u32 %q, %c, 40;\n"
						 "@%q st.global.f32 [%y + 1073741824], %acc;\n" },
};

/* All of many values are live at the same time. */
static void write_many_values(struct tcb_str *out)
{
	tcb_str_addf(out, ".reg .f32 %%r<%d>;\n", SPILLED);
	for (int i = 0; i < SPILLED; i++)
		tcb_str_addf(out, "ld.volatile.global.f32 %%r%d, [%%w + %d];\n", i, 4 * (i % 8));
	for (int i = 0; i < SPILLED; i++)
		tcb_str_addf(out, "fma.rn.f32 %%acc, %%acc, %%r%d, %%r%d;\n", i, SPILLED - 1 - i);
}

static void write_kernel(struct tcb_str *out, unsigned capability, enum planted_gpu behaviour, unsigned threads,
			 unsigned loops)
{
	const struct trouble *trouble = &troubles[behaviour];
	tcb_str_addf(out, ".version 8.6\n.target sm_%u\n.address_size 64\n",
		     behaviour == PLANTED_GPU_TOO_NEW ? 100 : capability);
	tcb_str_add(out, ".visible .entry planted(.param .u64 x, .param .u64 w, .param .u64 y, .param .u64 s,\n"
			 ".param .u32 n, .param .u32 k, .param .u32 row, .param .u32 col)\n");
	tcb_str_add(out, behaviour == PLANTED_GPU_SPILLS ? ".maxnreg 24\n{\n" : "{\n");
	if (behaviour == PLANTED_GPU_REJECTED)
		tcb_str_add(out, ".shared .align 4 .b8 much[300000];\nst.shared.u32 [much], 1;\n");
	tcb_str_add(out, ".reg .pred %p, %q;\n.reg .b32 %i, %t, %n, %k, %row, %col, %c, %e;\n"
			 ".reg .b64 %x, %w, %y, %s, %mine, %at, %from, %step;\n.reg .f32 %acc, %v, %u;\n"
			 "ld.param.u64 %x, [x];\nld.param.u64 %w, [w];\nld.param.u64 %y, [y];\nld.param.u64 %s, [s];\n"
			 "ld.param.u32 %n, [n];\nld.param.u32 %k, [k];\nld.param.u32 %row, [row];\n"
			 "ld.param.u32 %col, [col];\nmov.u32 %i, %tid.x;\nmov.u32 %t, %ctaid.x;\n");
	tcb_str_addf(out, "mad.lo.u32 %%i, %%t, %u, %%i;\nsetp.ge.u32 %%p, %%i, %%n;\n@%%p bra DONE;\n", threads);
	tcb_str_add(out, "mad.wide.u32 %y, %i, 4, %y;\nmad.wide.u32 %mine, %i, 4, %s;\n"
			 "mad.wide.u32 %from, %i, %row, %w;\nmov.b64 %at, %x;\nmul.wide.u32 %step, %col, 1;\n"
			 "mov.f32 %acc, 0f00000000;\n"
			 "SUM:\nld.global.f32 %v, [%at];\nld.global.f32 %u, [%from];\nfma.rn.f32 %acc, %v, %u, %acc;\n"
			 "add.u64 %at, %at, 4;\nadd.u64 %from, %from, %step;\nsub.u32 %k, %k, 1;\n"
			 "setp.ne.u32 %q, %k, 0;\n@%q bra SUM;\n");
	if (behaviour == PLANTED_GPU_SPILLS)
		write_many_values(out);
	tcb_str_addf(out, "mov.u32 %%e, %u;\nIDLE:\nsub.u32 %%e, %%e, 1;\nsetp.ne.u32 %%q, %%e, 0;\n@%%q bra IDLE;\n",
		     loops);
	tcb_str_addf(out, "%sst.global.f32 [%%y], %%acc;\n%sDONE:\nret;\n}\n", trouble->before ? trouble->before : "",
		     trouble->after ? trouble->after : "");
}

static void lay_out(struct tcb_kernel *out, const struct tcb_shape *shape, unsigned threads)
{
	struct tcb_launch *launch = &out->launch[0];
	int is_packed = out->packed_bytes[1] > 0;
	const struct tcb_argument arguments[] = {
		{ TCB_ARGUMENT_OPERAND, 0 },
		{ TCB_ARGUMENT_OPERAND, 1 },
		{ TCB_ARGUMENT_OPERAND, 2 },
		{ TCB_ARGUMENT_WORKSPACE, 0 },
		{ TCB_ARGUMENT_U32, shape->n },
		{ TCB_ARGUMENT_U32, shape->k },
		{ TCB_ARGUMENT_U32, is_packed ? 4 : 4 * shape->k },
		{ TCB_ARGUMENT_U32, is_packed ? 4 * shape->n : 4 },
	};
	*launch = (struct tcb_launch){ .entry = tcb_kernel_ptx(out)->module->functions->symbol->name,
				       .grid = { (uint32_t)((shape->n + threads - 1) / threads), 1, 1 },
				       .block = { threads, 1, 1 },
				       .argument_count = sizeof arguments / sizeof *arguments };
	memcpy(launch->argument, arguments, sizeof arguments);
	out->launch_count = 1;
}

static enum tcb_status emit(const struct tcb_problem *problem, const struct tcb_target *target,
			    const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err)
{
	enum planted_gpu behaviour = (enum planted_gpu)(geometry->knob[TCB_KNOB_UNROLL] - 1);
	unsigned threads = 32 * (unsigned)geometry->knob[TCB_KNOB_WARPS];
	const struct tcb_shape *shape = &problem->shape;
	struct tcb_ptx_module *module;
	struct tcb_str text = { 0 };
	/* The whole problem only: the kernel is right at the small shapes. */
	int is_full = shape->n == PLANTED_GPU_N;
	memset(out, 0, sizeof *out);
	if (behaviour == PLANTED_GPU_UNEMITTED || (behaviour == PLANTED_GPU_ODD_MISSING && !is_full))
		return tcb_fail(err, TCB_E_UNSUPPORTED, "planted: no such kernel");
	if (behaviour == PLANTED_GPU_WRONG_FULL && !is_full)
		behaviour = PLANTED_GPU_GOOD;
	write_kernel(&text, target->cuda.capability, behaviour, threads,
		     1 + STAGE_LOOPS * (unsigned)geometry->knob[TCB_KNOB_STAGES]);
	enum tcb_status status = text.failed ? tcb_fail(err, TCB_E_NOMEM, "out of memory")
					     : tcb_ptx_parse("planted", text.data, text.length, &module, err);
	tcb_str_fini(&text);
	if (status == TCB_OK)
		status = tcb_kernel_set_ptx(out, module, NULL, err);
	if (status != TCB_OK)
		return status;
	out->problem = *problem;
	out->geometry = *geometry;
	out->class = TCB_CLASS_BOUNDED;
	out->chain = (double)shape->k;
	out->workspace_bytes = 4 * shape->n;
	if (geometry->knob[TCB_KNOB_LAYOUT] == TCB_LAYOUT_R4)
		out->packed_bytes[1] = 4 * shape->n * shape->k;
	lay_out(out, shape, threads);
	if (behaviour == PLANTED_GPU_BIG_SHARED)
		out->launch[0].shared_bytes = 300 << 10; /* more than any card has */
	if (behaviour == PLANTED_GPU_MANY_THREADS)
		out->launch[0].block[1] = 64;
	return TCB_OK;
}

static const struct tcb_shape shapes[] = { { 1, PLANTED_GPU_N, PLANTED_GPU_K } };

static const struct tcb_side_space space = { rules, axes, default_geometry, footprint };
static const struct tcb_side side = { .variants = TCB_EMITTED(TCB_EMITTED_ROW("planted_f32_fma", F32, FMA, BOUNDED)),
				      .space = &space,
				      .emit = emit };

const struct tcb_op planted_gpu_op = {
	.name = "planted",
	.summary = "misbehaves on request",
	.shape_form = "MxNxK",
	.contracts = 1u << TCB_CONTRACT_F32,
	.default_contract = TCB_CONTRACT_F32,
	.default_shapes = shapes,
	.default_shape_count = 1,
	.side = TCB_SIDES(NULL, &side),
	.check_shape = check_shape,
	.operands = operands,
	.fill = fill,
	.reference = reference,
	.flops = flops,
	.traffic = traffic,
	.pack = pack,
};

void planted_gpu_problem(struct tcb_problem *out)
{
	memset(out, 0, sizeof *out);
	out->op = &planted_gpu_op;
	snprintf(out->op_name, sizeof out->op_name, "planted");
	out->contract = TCB_CONTRACT_F32;
	out->shape = shapes[0];
}
