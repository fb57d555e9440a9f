/* SPDX-License-Identifier: MIT
 *
 * Private to the softmax op: y[r][c] = exp(x[r][c] - max_r) / sum_r, rows of f32.
 *
 * The geometry drives the loops (softmax.c):
 *   macro M x n x 1   a row's columns are cut into strips of n, one task each; n < N lets threads share a row
 *   midi  m x n x 1   one task: m rows of a strip, taken in column blocks of n
 *   micro 1 x n x 1   columns of one step of the micro-kernel: lanes x independent chains
 * Each block is reduced on its own (online softmax in blocks: Milakov and Gimelshein 2018): its maximum, its
 * exponentials against that maximum, their sum.  When all blocks of the row are known, each is scaled by
 * exp(block max - row max) / row sum.  So x is read from memory once and exp is computed once an element.
 * Where the exponentials wait: in y itself, or with stream=1 in scratch, so that y is written once, past the caches.
 *
 * On a GPU it drives kernels as kernels/rows/rows_gpu.h says.
 *
 * NaN anywhere in a row, +inf, or nothing but -inf makes the row NaN, as the formula does.
 */
#ifndef TCB_KERNELS_SOFTMAX_H
#define TCB_KERNELS_SOFTMAX_H

#include <stddef.h>

#include "kernels/op.h"

/*
 * Error of one exponential in ulp (2^-23 of the result), for every ISA: the largest over all floats in [-110, -2^-31]
 * is 0.681 scalar, 0.647 with FMA.  Results below 2^-126 are 0.  tests/kernels/test_softmax.c holds a sample to this.
 */
#define SOFTMAX_EXP_ULPS 0.75

/*
 * The same on a GPU: ex2.approx.ftz.f32 is within 2 ulp over its whole range (CUDA C++ Programming Guide 13.0, table of
 * functions: exp2f), half an ulp for the last rounding, and what the correction leaves.  Results below 2^-126 are 0.
 */
#define SOFTMAX_GPU_EXP_ULPS 2.625

enum softmax_stage {
	SOFTMAX_REDUCE, /* max_out, e = exp(x - max), sum_out */
	SOFTMAX_SCALE,  /* y = e * scale; e may be y */
};

/* One micro-kernel call: one block of one row. */
struct softmax_call {
	enum softmax_stage stage;
	size_t count; /* columns, >= 1 */
	const float *x;
	float *e;
	float *y;
	float scale;
	int stream;         /* SCALE: store past the caches; y is aligned to 64 bytes then */
	int fence;          /* SCALE: make this and earlier streamed stores visible to other threads before returning */
	size_t prefetch;    /* REDUCE: bytes ahead in x, 0 for none */
	enum tcb_hint hint; /* which cache level to prefetch to */
	float max_out, sum_out;
};
typedef void softmax_micro_fn(struct softmax_call *call);

/* softmax.c */
extern const struct tcb_op tcb_op_softmax;

extern const struct tcb_variant softmax_variants_scalar[];
extern const struct tcb_variant softmax_variants_avx2[];
extern const struct tcb_variant softmax_variants_avx512[];

/* softmax_space.c */
size_t softmax_lanes(enum tcb_isa isa); /* floats in a vector; 0 where nothing is built */
size_t softmax_axes(const struct tcb_problem *problem, const struct tcb_target *target,
		    struct tcb_axis out[TCB_AXES_MAX]);
void softmax_default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			      struct tcb_geometry *out);
void softmax_footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		       const struct tcb_geometry *geometry, struct tcb_footprint *out);

/* softmax_gpu.c */
size_t softmax_gpu_axes(const struct tcb_problem *problem, const struct tcb_target *target,
			struct tcb_axis out[TCB_AXES_MAX]);
void softmax_gpu_default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
				  struct tcb_geometry *out);
void softmax_gpu_footprint(const struct tcb_problem *problem, const struct tcb_target *target,
			   const struct tcb_geometry *geometry, struct tcb_footprint *out);
enum tcb_status softmax_emit(const struct tcb_problem *problem, const struct tcb_target *target,
			     const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err);
extern const struct tcb_variant softmax_gpu_variants[];

#endif
