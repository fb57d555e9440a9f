/* SPDX-License-Identifier: MIT
 *
 * Private to the dense products' WGSL kernels: what a geometry means in WebGPU.
 *
 * A workgroup has midi.m rows times midi.n columns of C, and goes over k in steps of midi.k; macro is the same tile.
 * Each step four values at a time come to workgroup memory, as f32: of A with k running slowest, so that
 * an invocation finds values of four rows together.  An invocation has micro.m rows times micro.n columns, four
 * of either next to each other, the next four as far apart as there are invocations; micro.k is midi.k: the loop over a
 * step is unrolled.  vec is the bytes of a load: of four elements where rows of A and B are whole numbers of
 * them, else of one.  stages=2: the next step's values are loaded before this one's are multiplied.
 *
 * Types of 16 bits are read and stored as words of two, so that a device needs nothing but what all have.
 * Where rows are no whole numbers of four, halves of C's words are stored one by one, by atomics.
 */
#ifndef TCB_KERNELS_MATMUL_WGSL_H
#define TCB_KERNELS_MATMUL_WGSL_H

#include "kernels/matmul/matmul.h"

enum { MATMUL_WGSL_FOUR = 4 }; /* values of a vector */

/* A geometry and a problem in numbers. */
struct matmul_wgsl {
	enum tcb_type type;
	int is_wide; /* loads of four elements */
	unsigned workgroup, stages;
	unsigned tile_m, tile_n, step;
	unsigned rows, columns;      /* of an invocation, in fours */
	unsigned across_m, across_n; /* invocations */
	unsigned pitch_a, pitch_b;   /* of workgroup memory, in vectors; A's are one more, so that banks differ */
	unsigned a_loads, b_loads;   /* vectors of an invocation for a step */
	/* not in the text */
	unsigned m, n, k, steps, groups_m, groups_n;
	int is_whole; /* every tile and every step is */
};

/* matmul_wgsl_plan.c */
void matmul_wgsl_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry, struct matmul_wgsl *out);
extern const struct tcb_side_space matmul_wgsl_space;

/* matmul_wgsl.c */
extern const struct tcb_side matmul_f32_wgsl, matmul_f16_wgsl, matmul_bf16_wgsl;

#endif
