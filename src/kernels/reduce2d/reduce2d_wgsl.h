/* SPDX-License-Identifier: MIT
 *
 * Private to the reduce2d ops' WGSL kernels: what a geometry means in WebGPU.
 *
 * The matrix is its elements one after another.  An invocation takes a vector
 * of vec bytes at a time (micro); unroll vectors of each invocation, a workgroup's
 * width apart, are a step of the workgroup (midi, folded into the matrix); as many
 * steps as macro has, every so many steps apart, are a workgroup's share.  Several
 * workgroups leave a result each, which a second launch of one workgroup brings
 * together in a fixed order (join=launch).
 *
 * There is no f64 in WGSL, and a device may take it that there are no NaNs and
 * no infinities.  Sums are in f32 throughout, as form says: lanes adds every
 * value of a vector on to a sum of its own, kahan carries each sum's rounding
 * error along.  So a sum overflows where a partial one does, and the sign of one
 * that is 0 is the device's.  Maxima and minima are of words whose unsigned order
 * is that of the values (-0 below +0, a NaN above all): exact on all devices.
 * Reductions of one's own are of values' bits, and their workgroups go through
 * workgroup memory: subgroups have no such operation.
 */
#ifndef TCB_KERNELS_REDUCE2D_WGSL_H
#define TCB_KERNELS_REDUCE2D_WGSL_H

#include "kernels/reduce2d/reduce2d.h"
#include "kernels/wgsl/wgsl.h"

enum { REDUCE2D_WGSL_UNROLL_MAX = 8, REDUCE2D_WGSL_WIDTH_MAX = 4 };

/* A geometry and a problem in numbers. */
struct reduce2d_wgsl {
	enum tcb_form form;
	enum tcb_tree tree;
	int has_join;
	const struct reduce2d_program *program; /* of reductions that are one */
	unsigned width, workgroup, unroll;
	unsigned step;   /* vectors of a workgroup's step */
	unsigned rounds; /* steps of its share */
	/* not in the text */
	uint64_t count, vectors; /* whole ones */
	uint64_t steps, groups;
};

/* reduce2d_wgsl_plan.c */
void reduce2d_wgsl_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
			struct reduce2d_wgsl *out);
/* Roundings that a term goes through. */
double reduce2d_wgsl_chain(const struct reduce2d_wgsl *g);
extern const struct tcb_side_space reduce2d_wgsl_space;

/* reduce2d_wgsl_own.c */
uint32_t reduce2d_wgsl_bits(float value);
/* Functions of the module: combine of two u32, and of vectors of WIDTH combine_each. */
void reduce2d_wgsl_write_program(struct tcb_wgsl *w, const struct reduce2d_program *program, unsigned width);

/* reduce2d_wgsl.c */
extern const struct tcb_side reduce2d_sum_wgsl, reduce2d_max_wgsl, reduce2d_min_wgsl, reduce2d_absmax_wgsl;

#endif
