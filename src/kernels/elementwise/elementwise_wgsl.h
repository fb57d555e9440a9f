/* SPDX-License-Identifier: MIT
 *
 * The element-wise ops in WGSL: how a geometry drives the kernel.
 *
 * An invocation takes vec bytes of each operand at a time (micro, a vector); unroll
 * vectors of each, a workgroup's width apart, are a step (midi, folded into the
 * matrix), all of whose inputs are asked for before any is used.  A workgroup takes one
 * step.  f16 is loaded and stored as words of two, and computed in f32: no device needs
 * f16 in its shaders for it.
 *
 * What is promised.  WGSL lets a device take it that there are no NaNs and no
 * infinities, round either way, and flush what is below the least normal number of its
 * type (WGSL, "Floating Point Evaluation").  So sums and products may be off by one in
 * the last place, and results beyond f16's range are the device's.  relu is of bits, as
 * the op says on every device.  gelu and silu never let an infinity arise on their own:
 * below the z of which exp is 2^126 they are 0.
 */
#ifndef TCB_KERNELS_ELEMENTWISE_WGSL_H
#define TCB_KERNELS_ELEMENTWISE_WGSL_H

#include "kernels/elementwise/elementwise.h"

enum { ELEMENTWISE_WGSL_UNROLL_MAX = 8 };

/* A geometry and a problem in numbers. */
struct elementwise_wgsl {
	enum elementwise_kind kind;
	enum tcb_type type;
	unsigned inputs, vec, words, width; /* of a vector: bytes, words, elements */
	unsigned workgroup, unroll;
	unsigned step; /* vectors of a workgroup's step */
	/* not in the text */
	uint64_t count, vectors; /* the last of which may be cut */
	uint32_t grid[2];
};

/* elementwise_wgsl_plan.c */
void elementwise_wgsl_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
			   struct elementwise_wgsl *out);
extern const struct tcb_side_space elementwise_wgsl_space;

#endif
