/* SPDX-License-Identifier: MIT
 *
 * The op topk in WGSL: how a geometry drives it.
 *
 * A score and its column are a key of two words (as topk_keys.h, but that a NaN's rank is 1 and 0 is no key), made of
 * the score's bits, so that NaNs and infinities are what they are on every device.  A workgroup has a slice of a row
 * (midi.n), over which it goes again and again, by vectors of vec bytes: digit by digit, of 8 bits, from the highest
 * one on, it counts keys that have the digits so far, until the K-th largest is known or all that are left are wanted,
 * which of scores in no order is soon.  Keys that are no smaller gather in workgroup memory (midi.k), and of each of
 * these it is counted how many are larger, which is its place.  Splitk workgroups share a row; what they find goes to
 * the workspace, of which a second launch (join=launch) finds the same.
 */
#ifndef TCB_KERNELS_TOPK_WGSL_H
#define TCB_KERNELS_TOPK_WGSL_H

#include "kernels/topk/topk.h"

enum { TOPK_WGSL_MOST = 1024 /* K, or N where that is less */ };

/* A geometry and a problem in numbers. */
struct topk_wgsl {
	unsigned width, workgroup, splitk, room;
	/* not in the text */
	size_t rows, scores, k, kept; /* of a row: all, those wanted, those that there are of these */
	size_t vectors, slice;        /* of a row, of a workgroup */
	uint32_t grid[3];
};

/* topk_wgsl_plan.c */
void topk_wgsl_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry, struct topk_wgsl *out);
extern const struct tcb_side_space topk_wgsl_space;

/* topk_wgsl.c */
extern const struct tcb_side topk_wgsl;

#endif
