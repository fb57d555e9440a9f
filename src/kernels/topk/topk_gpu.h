/* SPDX-License-Identifier: MIT
 *
 * The op topk on GPUs: how a geometry drives the kernel.
 *
 * A score and its column are a key of 64 bits (as topk_keys.h, but that a NaN's rank is 1 and 0 is no key).  A block
 * has a slice of a row (midi.n), of which each thread holds `unroll` vectors of vec bytes in registers, so that a row
 * is read once.  It finds the best K of its keys in three steps:
 *   - threads are groups of neighbouring lanes, twice as many as K where the block has so many; of each the largest key
 *     is known, and of these the K-th largest, by counting for each how many are larger.  K keys are no smaller, so
 *     nothing below it is wanted;
 *   - keys that are no smaller gather in shared memory.  They are in K groups, so that there is room for all of them
 *     whatever the scores are; of scores in no order they are hardly more than K;
 *   - of each of these it is counted how many are larger, which is its place.
 * Where a row has several slices these go to the workspace, and the row's last block does the same with all of them; as
 * many at a time as threads have `ahead` of each, and the best so far with the next ones.
 */
#ifndef TCB_KERNELS_TOPK_GPU_H
#define TCB_KERNELS_TOPK_GPU_H

#include "kernels/topk/topk.h"

enum {
	TOPK_GPU_MOST = 1024,            /* K, or N where that is less */
	TOPK_GPU_COLUMNS_MOST = 1 << 27, /* N */
	TOPK_GPU_VALUES_MOST = 64,       /* of a thread */
	TOPK_GPU_AHEAD_MOST = 8
};

/* A geometry and a problem in numbers. */
struct topk_gpu {
	unsigned n, k;
	size_t m;
	unsigned width, warps, threads, unroll, together;
	int pdl, is_late;             /* the next launch is let begin when a block has found what its slice has */
	unsigned pass, slice, slices; /* columns of the block's vectors side by side; of a slice; slices of a row */
	unsigned groups, sharers;     /* of the block's threads; lanes of one */
	unsigned joined, ahead;       /* keys that the last block looks at; of these a thread's at a time */
	int is_joined_in_turns;       /* there are more */
	unsigned flag_at, count_at, least_at, groups_at, best_at, keys_at, shared_bytes;
	size_t counters_at, workspace_bytes;
};

/* topk_gpu_plan.c */
void topk_gpu_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry, struct topk_gpu *out);
extern const struct tcb_side_space topk_gpu_space;

/* topk_gpu.c */
extern const struct tcb_side topk_gpu;

#endif
