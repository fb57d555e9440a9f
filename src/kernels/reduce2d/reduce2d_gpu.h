/* SPDX-License-Identifier: MIT
 *
 * Private to the reduce2d ops' GPU kernels: what a geometry means on a GPU.
 *
 * The matrix is its elements one after another.  A lane takes vec bytes at a
 * time (micro, a vector); unroll vectors of each thread, a block's width apart,
 * are a step of the block (midi, folded into the matrix).  blocks = 0: a block
 * takes one step and ends; else blocks * SMs blocks stay and share the steps in
 * turn, and with stages = 2 the next step is asked for before this one is added.
 * join says how the blocks' results come together: by the block that is last
 * (last), by a second launch (launch), both in a fixed order, or by atomic
 * operations as they come (atomic).  One block needs none of them (none).
 * One PTX serves all shapes: what depends on them is in arguments and grid.
 *
 * Sums of a lane are in f32, as form says: lanes adds every value of a vector on
 * to a sum of its own, pairwise adds up the values of a step in a tree, in f32,
 * and steps in f64, kahan carries each sum's rounding error along.  From a lane
 * on everything is in f64.  A warp whose sums are not finite adds its elements
 * again in f64: a sum overflows only if it is too large itself.  Programs are in
 * f32 up to the result, each of their steps an instruction.
 */
#ifndef TCB_KERNELS_REDUCE2D_GPU_H
#define TCB_KERNELS_REDUCE2D_GPU_H

#include "kernels/reduce2d/reduce2d.h"

enum { REDUCE2D_GPU_UNROLL_MAX = 8, REDUCE2D_GPU_WIDTH_MAX = 4 };

enum reduce2d_kind { REDUCE2D_SUM, REDUCE2D_MAX, REDUCE2D_MIN, REDUCE2D_OWN };

/* A geometry and a problem in numbers. */
struct reduce2d_gpu {
	unsigned capability;
	enum reduce2d_kind kind;
	const struct reduce2d_program *program; /* of OWN */
	enum tcb_form form;
	enum tcb_join join;
	unsigned width, warps, threads, unroll, stages, resident, together;
	int pdl;
	unsigned step; /* vectors of a block's step */
	/* not in the PTX */
	uint64_t vectors; /* whole ones */
	unsigned rest;    /* elements beyond them */
	uint64_t steps;   /* of all blocks */
	unsigned grid, rounds;
	size_t partials_at, workspace_bytes;
};

/* reduce2d_gpu_plan.c */
extern const struct tcb_side_space reduce2d_gpu_space;
void reduce2d_gpu_plan(const struct tcb_problem *problem, const struct tcb_target *target,
		       const struct tcb_geometry *geometry, struct reduce2d_gpu *out);
double reduce2d_gpu_chain(const struct reduce2d_gpu *g);

/* reduce2d_gpu.c */
extern const struct tcb_side reduce2d_sum_gpu, reduce2d_max_gpu, reduce2d_min_gpu, reduce2d_absmax_gpu;

#endif
