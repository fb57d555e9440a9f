/* SPDX-License-Identifier: MIT
 *
 * An op made for the tests of the generic half: MxNxK, two ISAs, a handful of
 * variants that are never run, and a footprint that a test can set by hand.
 */
#ifndef TCB_TESTS_KERNELS_TOY_OP_H
#define TCB_TESTS_KERNELS_TOY_OP_H

#include <string.h>

#include "kernels/space.h"

static struct tcb_footprint toy_footprint;
static size_t toy_threads_per_plan_max = 64; /* plan() refuses more */

static const struct tcb_variant toy_scalar[] = {
	{ "toy_scalar_1x1",
	  TCB_CONTRACT_F32,
	  TCB_ISA_SCALAR,
	  TCB_LAYOUT_NATIVE,
	  { 1, 1, 1 },
	  1,
	  TCB_CLASS_EXACT,
	  NULL,
	  NULL,
	  "aa" },
	{ "toy_scalar_1x4",
	  TCB_CONTRACT_F32,
	  TCB_ISA_SCALAR,
	  TCB_LAYOUT_NATIVE,
	  { 1, 4, 1 },
	  1,
	  TCB_CLASS_EXACT,
	  NULL,
	  NULL,
	  "aa" },
	{ 0 },
};
static const struct tcb_variant toy_avx2[] = {
	{ "toy_avx2_1x8",
	  TCB_CONTRACT_F32,
	  TCB_ISA_AVX2,
	  TCB_LAYOUT_NATIVE,
	  { 1, 8, 1 },
	  1,
	  TCB_CLASS_BOUNDED,
	  NULL,
	  NULL,
	  "bb" },
	{ "toy_avx2_2x8u2",
	  TCB_CONTRACT_F32,
	  TCB_ISA_AVX2,
	  TCB_LAYOUT_R8,
	  { 2, 8, 1 },
	  2,
	  TCB_CLASS_BOUNDED,
	  NULL,
	  NULL,
	  "bb" },
	{ "toy_q8_avx2_1x8",
	  TCB_CONTRACT_Q8,
	  TCB_ISA_AVX2,
	  TCB_LAYOUT_R8,
	  { 1, 8, 1 },
	  1,
	  TCB_CLASS_BOUNDED,
	  NULL,
	  NULL,
	  "bb" },
	{ 0 },
};
static const struct tcb_variant *const toy_variants[] = { toy_scalar, toy_avx2, NULL };

static enum tcb_status toy_check_shape(const struct tcb_op *op, const struct tcb_shape *shape, struct tcb_error *err)
{
	(void)op;
	if (shape->k % 32)
		return tcb_fail(err, TCB_E_USAGE, "toy needs K to be a multiple of 32");
	return TCB_OK;
}

static size_t toy_axes(const struct tcb_problem *problem, const struct tcb_target *target,
		       struct tcb_axis out[TCB_AXES_MAX])
{
	(void)problem;
	const struct tcb_axis axes[] = {
		{ TCB_AXIS_TILE_N, TCB_MACRO, 4, { 8, 64, 256, 48 } },
		{ TCB_AXIS_TILE_M, TCB_MACRO, 2, { 1, 2 } },
		{ TCB_AXIS_TILE_N, TCB_MIDI, 6, { 1, 8, 16, 24, 64, 8 } }, /* 8 twice: enumerated once */
		{ TCB_AXIS_TILE_K, TCB_MIDI, 3, { 32, 64, 96 } },
		{ TCB_AXIS_TILE_M, TCB_MICRO, 2, { 1, 2 } },
		{ TCB_AXIS_TILE_N, TCB_MICRO, 3, { 1, 4, 8 } },
		{ TCB_AXIS_KNOB, TCB_KNOB_ISA, 3, { TCB_ISA_SCALAR, TCB_ISA_AVX2, TCB_ISA_AVX512 } },
		{ TCB_AXIS_KNOB, TCB_KNOB_LAYOUT, 2, { TCB_LAYOUT_NATIVE, TCB_LAYOUT_R8 } },
		{ TCB_AXIS_KNOB, TCB_KNOB_THREADS, 3, { 1, 2, target->threads } },
		{ TCB_AXIS_KNOB, TCB_KNOB_SCHED, 2, { TCB_SCHED_STATIC, TCB_SCHED_DYNAMIC } },
		{ TCB_AXIS_KNOB, TCB_KNOB_UNROLL, 2, { 1, 2 } },
		{ TCB_AXIS_KNOB, TCB_KNOB_PREFETCH, 2, { 0, 512 } },
		{ TCB_AXIS_KNOB, TCB_KNOB_HINT, 3, { TCB_HINT_T0, TCB_HINT_T1, TCB_HINT_NTA } },
	};
	memcpy(out, axes, sizeof(axes));
	return sizeof(axes) / sizeof(axes[0]);
}

/* midi.m, macro.k and micro.k have no axis: they keep these values. */
static void toy_default(const struct tcb_problem *problem, const struct tcb_target *target, struct tcb_geometry *out)
{
	(void)target;
	tcb_geometry_init(out);
	out->tile[TCB_MACRO] = (struct tcb_tile){ 2, 64, problem->shape.k };
	out->tile[TCB_MIDI] = (struct tcb_tile){ 2, 8, 32 };
	out->tile[TCB_MICRO] = (struct tcb_tile){ 1, 4, 32 };
	out->knob[TCB_KNOB_ISA] = TCB_ISA_SCALAR;
	out->knob[TCB_KNOB_LAYOUT] = TCB_LAYOUT_NATIVE;
	out->knob[TCB_KNOB_THREADS] = 1;
	out->knob[TCB_KNOB_SCHED] = TCB_SCHED_STATIC;
	out->knob[TCB_KNOB_UNROLL] = 1;
	out->knob[TCB_KNOB_PREFETCH] = 0;
	out->knob[TCB_KNOB_HINT] = TCB_HINT_T0;
}

static void toy_footprint_fn(const struct tcb_problem *problem, const struct tcb_target *target,
			     const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	(void)problem;
	(void)target;
	*out = toy_footprint;
	if (!out->vector_registers)
		out->vector_registers = (unsigned)(geometry->tile[TCB_MICRO].m * geometry->tile[TCB_MICRO].n);
	out->accumulators = (unsigned)geometry->tile[TCB_MICRO].n;
	out->level_bytes[TCB_MIDI] = 4 * geometry->tile[TCB_MIDI].n * geometry->tile[TCB_MIDI].k;
}

static enum tcb_status toy_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
				struct tcb_plan *out, struct tcb_error *err)
{
	(void)problem;
	memset(out, 0, sizeof(*out));
	if (geometry->tile[TCB_MIDI].k * (size_t)geometry->knob[TCB_KNOB_THREADS] > toy_threads_per_plan_max)
		return tcb_fail(err, TCB_E_ILLEGAL, "midi.k times threads is more than toy can do");
	return TCB_OK;
}

static const struct tcb_side_space toy_space = { NULL, toy_axes, toy_default, toy_footprint_fn };
static const struct tcb_side toy_cpu = { .variants = toy_variants, .space = &toy_space, .plan = toy_plan };

static const struct tcb_op toy_op = {
	.name = "toy",
	.shape_form = "MxNxK",
	.contracts = 1u << TCB_CONTRACT_F32 | 1u << TCB_CONTRACT_Q8,
	.side = TCB_SIDES(&toy_cpu, NULL),
	.check_shape = toy_check_shape,
};

static const struct tcb_problem toy_problem = { &toy_op, "toy", TCB_CONTRACT_F32, { 3, 48, 192 } };
static const struct tcb_target toy_target = {
	.kind = TCB_TARGET_CPU,
	.isa_mask = 1u << TCB_ISA_SCALAR | 1u << TCB_ISA_AVX2,
	.threads = 4,
	.l1d_bytes = 32768,
	.l2_bytes = 1 << 20,
};

#endif
