/* SPDX-License-Identifier: MIT
 *
 * Private to the quantised matmuls' WGSL kernels: what a geometry means in WebGPU.
 *
 * A workgroup has macro.m tokens times macro.n rows, and goes over k in steps of macro.k values, which are
 * whole pieces (wgsl/wgsl_quant.h) of all that lie across each other; midi is the same tile.  Each step
 * weights and activations come to workgroup memory: of contract q8 as codes, sixteen a vector, with
 * a scale (and what it is taken off with) a run; of contract f32 as floats, four a vector.  An
 * invocation has micro.m tokens times micro.n rows, each as far apart as there are invocations.  stages=2: the next
 * step's are loaded before this one's are multiplied.  Splitk workgroups share a tile, each some of its steps; a second
 * launch adds up what they leave in the workspace (join=launch).  Activations are quantised by a launch of their own.
 */
#ifndef TCB_KERNELS_QUANT_MATMUL_WGSL_H
#define TCB_KERNELS_QUANT_MATMUL_WGSL_H

#include "kernels/formats.h"
#include "kernels/op.h"

enum { QMM_WGSL_MICRO_MAX = 8, QMM_WGSL_LOADS_MAX = 32, QMM_WGSL_JOIN_WORKGROUP = 256 /* of the second launch */ };

/* A geometry and a problem in numbers. */
struct qmm_wgsl {
	const struct tcb_format *format;
	int is_q8, is_dp4a, has_offset;
	unsigned workgroup, stages, splitk;
	unsigned tile_m, tile_n, micro_m, micro_n;
	unsigned across_m, across_n; /* invocations */
	unsigned pitch_m, pitch_n;   /* of workgroup memory, in vectors: one more than the tile, so that banks differ */
	unsigned pieces, sixteens, vectors; /* of a step; vectors of four floats */
	unsigned run;                       /* sixteens with a scale of their own: 1 or 2 */
	unsigned runs;                      /* of a step */
	/* not in the text */
	unsigned k, n, tokens, steps, groups_m, groups_n, join_groups;
};

/* quant_matmul_wgsl_plan.c */
void qmm_wgsl_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry, struct qmm_wgsl *out);
/* Loads of an invocation for a step: of weights (pieces), of activations (vectors of codes or of floats). */
unsigned qmm_wgsl_weight_loads(const struct qmm_wgsl *g);
unsigned qmm_wgsl_x_loads(const struct qmm_wgsl *g);
extern const struct tcb_side_space qmm_wgsl_space;

/* quant_matmul_wgsl.c */
extern const struct tcb_side qmm_wgsl;

#endif
