/* SPDX-License-Identifier: MIT
 *
 * The element-wise ops on GPUs: how a geometry drives the kernel.
 *
 * A thread takes vec bytes of each operand at a time (micro, a vector); unroll vectors of
 * each thread, a block's width apart, are a step of the block (midi, folded into the
 * matrix), all of whose inputs are asked for before any is used.  blocks=0: a block takes
 * one step and ends; else blocks * SMs blocks stay and share the steps in turn.  stream=1:
 * results are stored for no one to read soon.  Elements beyond the last whole vector are the
 * first block's, one a thread.  f16 is loaded and stored in pairs; sums and products are of
 * pairs, too, the rest is in f32.  One PTX serves all shapes.
 */
#ifndef TCB_KERNELS_ELEMENTWISE_GPU_H
#define TCB_KERNELS_ELEMENTWISE_GPU_H

#include "kernels/elementwise/elementwise.h"

enum { ELEMENTWISE_UNROLL_MAX = 8, ELEMENTWISE_WORDS_MAX = 4 };

/* A geometry and a problem in numbers. */
struct elementwise_gpu {
	enum elementwise_kind kind;
	enum tcb_type type;
	unsigned inputs, vec, words, width; /* of a vector: bytes, registers, elements */
	unsigned warps, threads, unroll, resident, together;
	int pdl, stream;
	unsigned step; /* vectors of a block's step */
	/* not in the PTX */
	uint64_t vectors; /* whole ones */
	unsigned rest;    /* elements beyond them */
	uint64_t steps;   /* of all blocks */
	unsigned grid;
};

/* elementwise_gpu_plan.c */
void elementwise_gpu_plan(const struct tcb_problem *problem, const struct tcb_target *target,
			  const struct tcb_geometry *geometry, struct elementwise_gpu *out);
extern const struct tcb_side_space elementwise_gpu_space;

#endif
