/* SPDX-License-Identifier: MIT
 *
 * A registry of one small op, in place of src/kernels/registry.c: what it
 * allows and refuses is known here, whatever the real ops do.
 */
#include <string.h>

#include "kernels/op.h"

static const struct tcb_variant q8_variants[] = {
	{ .name = "fake_q8_r1",
	  .contract = TCB_CONTRACT_Q8,
	  .isa = TCB_ISA_SCALAR,
	  .micro = { 1, 1, 256 },
	  .unroll = 1,
	  .signature = "signature-r1" },
	{ .name = "fake_q8_r4",
	  .contract = TCB_CONTRACT_Q8,
	  .isa = TCB_ISA_SCALAR,
	  .micro = { 1, 4, 256 },
	  .unroll = 1,
	  .signature = "signature-r4" },
	/* No processor has both families. */
	{ .name = "fake_q8_avx512bf16",
	  .contract = TCB_CONTRACT_Q8,
	  .isa = TCB_ISA_AVX512BF16,
	  .micro = { 1, 1, 256 },
	  .unroll = 1,
	  .signature = "signature-r1" },
	{ .name = "fake_q8_neon",
	  .contract = TCB_CONTRACT_Q8,
	  .isa = TCB_ISA_NEON,
	  .micro = { 1, 1, 256 },
	  .unroll = 1,
	  .signature = "signature-r1" },
	{ 0 },
};
static const struct tcb_variant f32_variants[] = {
	{ .name = "fake_f32_r1",
	  .contract = TCB_CONTRACT_F32,
	  .isa = TCB_ISA_SCALAR,
	  .micro = { 1, 1, 256 },
	  .unroll = 1,
	  .signature = "signature-f32" },
	{ 0 },
};
static const struct tcb_variant gpu_variants[] = {
	{ .name = "fake_q8_ptx", .contract = TCB_CONTRACT_Q8, .isa = TCB_ISA_FMA, .signature = "signature-ptx" },
	{ 0 },
};
static const struct tcb_variant *const lists[] = { q8_variants, f32_variants, NULL };

enum { FAKE_N_WITHOUT_KERNEL = 7 };

static enum tcb_status check_shape(const struct tcb_op *op, const struct tcb_shape *shape, struct tcb_error *err)
{
	(void)op;
	if (shape->m < 1 || shape->n < 1 || shape->k < 1 || shape->k % 256)
		return tcb_fail(err, TCB_E_USAGE, "K must be a multiple of 256");
	return TCB_OK;
}

/* The numbers that both sides have. */
static void set_tiles(const struct tcb_problem *problem, enum tcb_isa isa, struct tcb_geometry *out)
{
	tcb_geometry_init(out);
	out->tile[TCB_MACRO] = (struct tcb_tile){ 1, problem->shape.n, problem->shape.k };
	out->tile[TCB_MIDI] = (struct tcb_tile){ 1, 1, problem->shape.k };
	out->tile[TCB_MICRO] = (struct tcb_tile){ 1, 1, 256 };
	out->knob[TCB_KNOB_ISA] = (int32_t)isa;
}

static void cpu_geometry(const struct tcb_problem *problem, const struct tcb_target *target, struct tcb_geometry *out)
{
	set_tiles(problem, TCB_ISA_SCALAR, out);
	out->knob[TCB_KNOB_THREADS] = (int32_t)target->threads;
}

static void gpu_geometry(const struct tcb_problem *problem, const struct tcb_target *target, struct tcb_geometry *out)
{
	(void)target;
	set_tiles(problem, TCB_ISA_FMA, out);
	out->knob[TCB_KNOB_WARPS] = 4;
}

static size_t cpu_axes(const struct tcb_problem *problem, const struct tcb_target *target,
		       struct tcb_axis out[TCB_AXES_MAX])
{
	(void)problem, (void)target;
	out[0] = (struct tcb_axis){ TCB_AXIS_KNOB, TCB_KNOB_PREFETCH, 2, { 0, 512 } };
	return 1;
}

static size_t gpu_axes(const struct tcb_problem *problem, const struct tcb_target *target,
		       struct tcb_axis out[TCB_AXES_MAX])
{
	const size_t count = cpu_axes(problem, target, out);
	out[count] = (struct tcb_axis){ TCB_AXIS_KNOB, TCB_KNOB_PDL, 2, { 0, 1 } };
	return count + 1;
}

static void footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	(void)problem;
	(void)target;
	(void)geometry;
	memset(out, 0, sizeof(*out));
	out->k_multiple = out->k_step_multiple = 256;
}

static enum tcb_status plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
			    struct tcb_plan *out, struct tcb_error *err);

/* Only that it is there is looked at. */
static enum tcb_status emit(const struct tcb_problem *problem, const struct tcb_target *target,
			    const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err)
{
	(void)problem;
	(void)target;
	(void)geometry;
	(void)out;
	return tcb_fail(err, TCB_E_FAILED, "nobody emits");
}

static double traffic(const struct tcb_problem *problem)
{
	return (double)problem->shape.n * (double)problem->shape.k;
}

/* The same of both contracts. */
static size_t operands(const struct tcb_problem *problem, struct tcb_operand out[TCB_OPERANDS_MAX])
{
	const size_t n = problem->shape.n, k = problem->shape.k;

	out[0] = (struct tcb_operand){
		.name = "weights", .role = TCB_ROLE_WEIGHTS, .rows = n, .cols = k, .bytes = n * k
	};
	out[1] = (struct tcb_operand){ .name = "x", .rows = 1, .cols = k, .bytes = 4 * k };
	out[2] = (struct tcb_operand){ .name = "y", .role = TCB_ROLE_OUTPUT, .rows = 1, .cols = n, .bytes = 4 * n };
	return 3;
}

static const struct tcb_side_space cpu_space = { NULL, cpu_axes, cpu_geometry, footprint };
static const struct tcb_side_space gpu_space = { NULL, gpu_axes, gpu_geometry, footprint };
static const struct tcb_side cpu = { .variants = lists, .space = &cpu_space, .plan = plan };
static const struct tcb_side gpu = { .variants = TCB_VARIANT_LIST(gpu_variants), .space = &gpu_space, .emit = emit };

static const struct tcb_op fake_op = {
	.name = "fake_matvec",
	.shape_form = "MxNxK",
	.words = ~0u, /* and may have none */
	.contracts = 1u << TCB_CONTRACT_Q8 | 1u << TCB_CONTRACT_F32,
	.default_contract = TCB_CONTRACT_Q8,
	.side = TCB_SIDES(&cpu, &gpu),
	.check_shape = check_shape,
	.operands = operands,
	.traffic = traffic,
};

static enum tcb_status plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
			    struct tcb_plan *out, struct tcb_error *err)
{
	memset(out, 0, sizeof(*out));
	if (problem->shape.n == FAKE_N_WITHOUT_KERNEL)
		return tcb_fail(err, TCB_E_ILLEGAL, "no kernel for such an n");
	out->variant = tcb_variant_find(&fake_op, problem->contract, geometry);
	return out->variant ? TCB_OK : tcb_fail(err, TCB_E_ILLEGAL, "no variant");
}

static const struct tcb_op *const ops[] = { &fake_op, NULL };

const struct tcb_op *const *tcb_ops(size_t *count_out)
{
	*count_out = 1;
	return ops;
}

const struct tcb_op *tcb_op_find(const char *name)
{
	return strcmp(name, fake_op.name) == 0 ? &fake_op : NULL;
}
