/* SPDX-License-Identifier: MIT
 *
 * Private to the quantised MatVecs' WGSL kernels: what a geometry means in WebGPU.
 *
 * micro.n rows are taken together by some invocations that follow each other (lanes); midi.n rows by a
 * workgroup at once, so that workgroup * micro.n / midi.n lanes share a row; macro.n rows by a
 * workgroup, one midi tile after another.  A lane takes pieces of 32 values
 * (wgsl/wgsl_quant.h), lanes pieces apart, unroll of them at once (a step).  stages=2: the next step's
 * pieces are asked for before this one's are multiplied, the first before the activations are there.  Rounds and steps
 * are written one after another where they are few: a page's loops are counted once more by what runs
 * them, and not unrolled.
 *
 * Contract q8: activations are quantised by each workgroup (prep=block) or by a launch of its own; they
 * are read from workgroup memory (xin=shared), or from where the launch left them (xin=l2).  f32: from workgroup
 * memory, or as they are.  tree=subgroup: lanes are part of a subgroup.
 */
#ifndef TCB_KERNELS_QUANT_MATVEC_WGSL_H
#define TCB_KERNELS_QUANT_MATVEC_WGSL_H

#include "kernels/formats.h"
#include "kernels/op.h"

enum { QMV_WGSL_ROWS_MAX = 4, QMV_WGSL_UNROLL_MAX = 8, QMV_WGSL_AT_ONCE_MAX = 8 };

/* A geometry and a problem in numbers. */
struct qmv_wgsl {
	const struct tcb_format *format;
	enum tcb_layout layout;
	enum tcb_tree tree;
	int is_q8, is_dp4a, own_launch, x_in_shared;
	int x_by_lanes; /* those of a subgroup quantise a group together */
	int is_looped;  /* over rounds and steps: too many to write one after another */
	int keeps_x;    /* a lane's activations stay in it for all of its rows */
	unsigned group; /* q8: activations that share a scale */
	unsigned workgroup, lanes, rows, unroll, stages;
	unsigned at_once, rounds; /* rows of a workgroup; how often */
	unsigned k, step;         /* pieces of a step of all lanes */
	unsigned pieces, steps;
	/* not in the text */
	unsigned tokens, n, groups;
};

/* quant_matvec_wgsl_plan.c; GEOMETRY keeps the rules, but where it says. */
void qmv_wgsl_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry, struct qmv_wgsl *out);
double qmv_wgsl_chain(const struct qmv_wgsl *g);
extern const struct tcb_side_space qmv_wgsl_space;

/* quant_matvec_wgsl.c: qXX_matvec alone has a side. */
#define QMV_DECLARE_SIDE(id, name, op, ...) extern const struct tcb_side qmv_##op##_wgsl;
TCB_FORMAT_FIELD_LIST(QMV_DECLARE_SIDE)
#undef QMV_DECLARE_SIDE

#endif
