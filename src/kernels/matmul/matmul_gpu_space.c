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
#include "kernels/matmul/matmul_gpu_plan.h"

/* Values of k in a slice; of few tiles: blocks of a multiprocessor, stages. */
enum { SLICE_LEAST = 512, FEW_BLOCKS = 4, FEW_STAGES = 8, RULES_LEAST = 32 };

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
	for (size_t rows = 16; rows < m && a->count < TCB_AXIS_VALUES_MAX - 3; rows *= 2)
		tcb_axis_add(a, rows);
	tcb_axis_add(a, m > 16 ? m : 16);
	/* A tile may be larger than the problem: then it is the macro tile as well. */
	for (size_t rows = 2 * tcb_most(m, 16); has_wgmma && rows <= 64; rows *= 2)
		tcb_axis_add(a, rows);
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

/* Of few tiles: slices of k, so many that each multiprocessor has some blocks, but that none is short. */
static int slices_for(const struct tcb_problem *problem, const struct tcb_target *target, size_t tiles)
{
	static const int slices[] = { 8, 4, 3, 2 };
	const size_t wanted = tcb_div_up(FEW_BLOCKS * tcb_most(target->cuda.sm_count, 1), tiles);
	for (size_t i = 0; i < sizeof slices / sizeof *slices; i++)
		if ((size_t)slices[i] <= wanted && problem->shape.k / (size_t)slices[i] >= SLICE_LEAST)
			return problem->shape.words.bits ? 1 : slices[i];
	return 1;
}

/* Few rows: tiles of 32 columns; of 64 where all multiprocessors have more than one, and where they are too few and k
 * is sliced; of 16 where it is too short for that.  As much on its way as there is room for.  By trials of 20 problems
 * on an H200 (results/h200/2026-11-30/defaults/learn-*.db.xz). */
static void few_default(const struct tcb_problem *problem, const struct tcb_target *target, struct tcb_geometry *out)
{
	enum { K = 64, STAGES = 8, SHORT_STAGES = 5, NARROWEST = 16, NARROW = 32, WIDE = 64 };
	const size_t m = tcb_most(16, tcb_power_of_two_up(problem->shape.m)), n = problem->shape.n;
	const size_t sms = tcb_most(target->cuda.sm_count, 1), wide = tcb_div_up(n, WIDE);
	const int is_many = 5 * wide >= 8 * sms, is_short = 4 * tcb_div_up(n, NARROW) < 3 * sms;
	const int slices = is_short ? slices_for(problem, target, wide) : 1;
	const size_t wanted = is_many || slices > 1 ? WIDE : is_short ? NARROWEST : NARROW;
	const size_t columns = tcb_least(wanted, tcb_most(16, tcb_power_of_two_up(n)));
	const size_t blocks = tcb_div_up(n, columns) * (size_t)slices;
	out->tile[TCB_MICRO] = (struct tcb_tile){ m, 16, K };
	out->tile[TCB_MIDI] = (struct tcb_tile){ m, columns, K };
	out->tile[TCB_MACRO] = (struct tcb_tile){ m, tcb_most(tcb_power_of_two_up(n), columns),
						  tcb_most(tcb_power_of_two_up(problem->shape.k), K) };
	out->knob[TCB_KNOB_SPLITK] = slices;
	out->knob[TCB_KNOB_STAGES] = is_many || blocks > 2 * sms ? SHORT_STAGES : STAGES;
	out->knob[TCB_KNOB_PDL] = target->cuda.capability >= 90;
}

/* OUT with as many warps as there are registers for. */
static void fit(const struct tcb_problem *problem, const struct tcb_target *target, struct tcb_geometry *out)
{
	struct tcb_footprint f;
	for (; out->tile[TCB_MIDI].n > out->tile[TCB_MICRO].n; out->tile[TCB_MIDI].n /= 2) {
		matmul_gpu_footprint(problem, target, out, &f);
		if (f.block_threads * tcb_round_up(f.thread_registers, 8) <= target->cuda.block_registers_max)
			return;
	}
}

/* The seed's tile of 128 x 128, smaller where the problem is, or where half of the multiprocessors had none: with
 * 8 x 8 sums a thread, or tensor cores.  What is done where tiles are few is by the model: 18x1696x19801 of halves in
 * 62 us instead of 405, 8x4096x4096 of floats in 38 instead of 197, 64x512x8192 in 54 instead of 367. */
static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const int is_f32 = problem->op->type == TCB_TYPE_F32;
	const size_t m = tcb_power_of_two_up(problem->shape.m), n = tcb_power_of_two_up(problem->shape.n);
	const size_t k = tcb_power_of_two_up(problem->shape.k), element = is_f32 ? 4 : 2;
	const size_t usual = tcb_div_up(problem->shape.m, 128) * tcb_div_up(problem->shape.n, 128);
	const int is_wgmma = !is_f32 && target->cuda.capability == 90 && problem->shape.k % 8 == 0 &&
			     problem->shape.n % 8 == 0 && !matmul_gpu_is_few(problem);
	const int is_few = 2 * usual <= target->cuda.sm_count;
	/* From this many rows on there are rules, whose register tiles are those of here. */
	const int is_thin = is_few && problem->shape.m < RULES_LEAST;
	const size_t most = (is_wgmma ? is_thin : is_few) ? 64 : 128;
	struct tcb_tile micro = { 32, is_f32 ? 64 : 32, is_f32 ? 8 : 32 };
	size_t vec = 16;
	while (vec > element && problem->shape.k * element % vec)
		vec /= 2;
	const int is_async = target->cuda.capability >= 80 && (is_f32 || (vec >= 4 && problem->shape.n % 2 == 0));
	if (is_wgmma)
		micro = (struct tcb_tile){ 64, n > 64 && !is_thin ? 128 : 64, 64 };
	else if (!is_f32) /* of few rows or columns, more warps: one would have too much to copy */
		micro = (struct tcb_tile){ m > 32 ? 32 : 16, n > 32 ? 32 : 16, is_few && is_async ? 64 : 32 };
	else if (is_few)
		micro = (struct tcb_tile){ 16, 32, 32 };
	const struct tcb_tile midi = { tcb_most(micro.m, tcb_least(is_wgmma ? 128 : most, m)),
				       tcb_most(micro.n, tcb_least(most, n)), micro.k };
	tcb_geometry_init(out);
	out->tile[TCB_MACRO] = (struct tcb_tile){ midi.m, tcb_most(n, midi.n), tcb_most(k, midi.k) };
	out->tile[TCB_MIDI] = midi;
	out->tile[TCB_MICRO] = micro;
	if (is_wgmma)
		set_knobs(out, TCB_ISA_WGMMA, 16, TCB_COPY_BULK, is_thin ? FEW_STAGES : 4);
	else
		set_knobs(out, is_f32 ? TCB_ISA_FMA : TCB_ISA_MMA, is_f32 ? 4 : vec,
			  is_async ? TCB_COPY_ASYNC : TCB_COPY_LDG, is_async ? 3 : 2);
	if (is_async && vec == 16 && matmul_gpu_is_few(problem)) {
		few_default(problem, target, out);
		return;
	}
	out->knob[TCB_KNOB_PDL] = target->cuda.capability >= 90 && (is_wgmma || is_few);
	if (is_wgmma)
		return;
	fit(problem, target, out);
	out->knob[TCB_KNOB_SPLITK] = slices_for(problem, target,
						tcb_div_up(problem->shape.m, out->tile[TCB_MIDI].m) *
							tcb_div_up(problem->shape.n, out->tile[TCB_MIDI].n));
}

/* Of the word bits: each output is one sum, to which products are added in the order of k, of halves 16 at a time: on
 * sm_90 mma.sync and wgmma, of any N, add 16 alike (src/ptx/emulate/tensor/emu_matrix.h says how that was measured). */
static const char *reorders(const struct tcb_problem *problem, const struct tcb_target *target,
			    const struct tcb_geometry *geometry)
{
	(void)problem, (void)target;
	if (geometry->knob[TCB_KNOB_SCHED] == TCB_SCHED_STREAMK)
		return "sched may not be streamk: tiles are cut anywhere along k";
	return geometry->knob[TCB_KNOB_SPLITK] != 1 ? "splitk must be 1: parts of k are other sums" : NULL;
}

const struct tcb_side_space matmul_gpu_space = { matmul_gpu_rules,   axes,
						 default_geometry,   matmul_gpu_footprint,
						 .family = "matmul", .reorders = reorders };
