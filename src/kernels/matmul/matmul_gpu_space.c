/* SPDX-License-Identifier: MIT
 *
 * The search space of the dense products on GPUs: its axes and its default
 * geometry.  matmul_gpu_work.c has the rules that leave of their product what is
 * a kernel.
 */
#include <string.h>

#include "base/sizes.h"
#include "kernels/axes.h"
#include "kernels/constraint.h"
#include "kernels/matmul/matmul_gpu.h"

/* In an order in which the rules cut early. */
static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	const int is_f32 = problem->op->type == TCB_TYPE_F32, has_wgmma = !is_f32 && target->cuda.capability == 90;
	const size_t m = tcb_power_of_two_up(problem->shape.m), n = tcb_power_of_two_up(problem->shape.n);
	const size_t k = tcb_power_of_two_up(problem->shape.k);
	size_t count = 0;
	struct tcb_axis *a = tcb_axis_knob(out, &count, TCB_KNOB_ISA);
	tcb_axis_add(a, is_f32 ? TCB_ISA_FMA : TCB_ISA_MMA);
	if (has_wgmma)
		tcb_axis_add(a, TCB_ISA_WGMMA);
	a = tcb_axis_knob(out, &count, TCB_KNOB_COPY);
	if (target->cuda.capability >= 80)
		tcb_axis_add(a, TCB_COPY_ASYNC);
	if (target->cuda.capability < 80 || (!is_f32 && (problem->shape.k % 2 || problem->shape.n % 2)))
		tcb_axis_add(a, TCB_COPY_LDG);
	if (has_wgmma)
		tcb_axis_add(a, TCB_COPY_BULK);
	ADD(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MICRO), 16, 32, 64, 128);
	ADD(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MICRO), 16, 32, 64, 128, 256);
	ADD(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MIDI), 16, 32, 64, 128, 256);
	ADD(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MIDI), 16, 32, 64, 128, 256);
	a = tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, TCB_MIDI);
	if (is_f32)
		ADD(a, 8, 16, 32);
	else
		ADD(a, 32, 64, 128);
	out[count] = *a;
	out[count++].which = TCB_MICRO;
	a = tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MACRO);
	for (size_t rows = 16; rows < m && a->count < TCB_AXIS_VALUES_MAX - 1; rows *= 2)
		tcb_axis_add(a, rows);
	tcb_axis_add(a, m > 16 ? m : 16);
	/* A tile may be larger than the problem: then it is the macro tile as well. */
	a = tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MACRO);
	for (size_t columns = n; columns <= 256 || columns == n; columns *= 2)
		tcb_axis_add(a, columns);
	a = tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, TCB_MACRO);
	for (size_t values = k; values <= 128 || values == k; values *= 2)
		tcb_axis_add(a, values);
	a = tcb_axis_knob(out, &count, TCB_KNOB_VEC);
	for (size_t vec = 16; vec > 1 && a->count == 0; vec /= 2)
		if (problem->shape.k * (is_f32 ? 4 : 2) % vec == 0)
			tcb_axis_add(a, vec);
	if (is_f32 && a->values[0] != 4) /* A's two ways into shared memory */
		a->values[a->count++] = 4;
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_STAGES), 2, 3, 4, 5, 6, 8);
	a = tcb_axis_knob(out, &count, TCB_KNOB_CLUSTER);
	tcb_axis_add(a, 1);
	if (has_wgmma)
		ADD(a, 2, 4);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_BLOCKS), 0, 1, 2);
	if (has_wgmma) {
		ADD(tcb_axis_knob_or_none(out, &count, TCB_KNOB_SCHED), TCB_SCHED_STREAMK);
		ADD(tcb_axis_knob_or_none(out, &count, TCB_KNOB_TURNS), 1);
	}
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_OCC), 1, 2, 3, 4);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_SPLITK), 1, 2, 3, 4, 8);
	a = tcb_axis_knob(out, &count, TCB_KNOB_PDL);
	tcb_axis_add(a, 0);
	if (target->cuda.capability >= 90)
		tcb_axis_add(a, 1);
	return count;
}

static void set_knobs(struct tcb_geometry *out, enum tcb_isa isa, size_t vec, enum tcb_copy copy, int stages)
{
	out->knob[TCB_KNOB_ISA] = isa;
	out->knob[TCB_KNOB_VEC] = (int32_t)vec;
	out->knob[TCB_KNOB_STAGES] = stages;
	out->knob[TCB_KNOB_SPLITK] = 1;
	out->knob[TCB_KNOB_COPY] = copy;
	out->knob[TCB_KNOB_BLOCKS] = 0;
	out->knob[TCB_KNOB_PDL] = 0;
	out->knob[TCB_KNOB_OCC] = 1;
	out->knob[TCB_KNOB_CLUSTER] = 1;
}

/* The seed's tile of 128 x 128, smaller where the problem is: with 8 x 8 sums a thread, or tensor cores. */
static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const int is_f32 = problem->op->type == TCB_TYPE_F32;
	const size_t m = tcb_power_of_two_up(problem->shape.m), n = tcb_power_of_two_up(problem->shape.n);
	const size_t k = tcb_power_of_two_up(problem->shape.k), element = is_f32 ? 4 : 2;
	const int is_wgmma =
		!is_f32 && target->cuda.capability == 90 && problem->shape.k % 8 == 0 && problem->shape.n % 8 == 0;
	struct tcb_tile micro = { 32, is_f32 ? 64 : 32, is_f32 ? 8 : 32 };
	size_t vec = 16;
	while (vec > element && problem->shape.k * element % vec)
		vec /= 2;
	const int is_async = target->cuda.capability >= 80 && (is_f32 || (vec >= 4 && problem->shape.n % 2 == 0));
	if (is_wgmma)
		micro = (struct tcb_tile){ 64, n > 64 ? 128 : 64, 64 };
	else if (!is_f32) /* of few rows or columns, more warps: one would have too much to copy */
		micro = (struct tcb_tile){ m > 32 ? 32 : 16, n > 32 ? 32 : 16, 32 };
	const struct tcb_tile midi = { tcb_most(micro.m, tcb_least(128, m)), tcb_most(micro.n, tcb_least(128, n)),
				       micro.k };
	tcb_geometry_init(out);
	out->tile[TCB_MACRO] = (struct tcb_tile){ midi.m, tcb_most(n, midi.n), tcb_most(k, midi.k) };
	out->tile[TCB_MIDI] = midi;
	out->tile[TCB_MICRO] = micro;
	if (is_wgmma)
		set_knobs(out, TCB_ISA_WGMMA, 16, TCB_COPY_BULK, 4);
	else
		set_knobs(out, is_f32 ? TCB_ISA_FMA : TCB_ISA_MMA, is_f32 ? 4 : vec,
			  is_async ? TCB_COPY_ASYNC : TCB_COPY_LDG, is_async ? 3 : 2);
}

const struct tcb_side_space matmul_gpu_space = { matmul_gpu_rules, axes, default_geometry, matmul_gpu_footprint };
