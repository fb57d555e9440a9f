/* SPDX-License-Identifier: MIT
 *
 * The GPU kit: who waits for whom.  mbarriers in shared memory, which count
 * arrivals and copied bytes; the blocks of a cluster; and the block that is the
 * last of several to be done with its part.
 */
#ifndef TCB_KERNELS_GPU_BARRIER_H
#define TCB_KERNELS_GPU_BARRIER_H

#include "kernels/gpu/frame.h"

/* COUNT barriers, 8 bytes each from FIRST on, whose phases end after ARRIVALS and the bytes announced.  By one thread,
 * which then says with tcb_kit_barriers_ready that copies may count on them, before any other thread uses them. */
void tcb_kit_barriers_init(struct tcb_ptx_build *b, kit_op first, unsigned count, unsigned arrivals);
void tcb_kit_barriers_ready(struct tcb_ptx_build *b);
/* One arrival, and BYTES more to come, at BARRIER (an address). */
void tcb_kit_expect(struct tcb_ptx_build *b, kit_op barrier, kit_op bytes);
/* Waits until BARRIER's phase of PARITY is over; and acquires what others in the cluster released. */
void tcb_kit_wait(struct tcb_ptx_build *b, kit_op barrier, kit_op parity);
void tcb_kit_wait_cluster(struct tcb_ptx_build *b, kit_op barrier, kit_op parity);

/* All threads of the block; of its warp; of the cluster (cluster_arrive, cluster_wait: in two steps). */
void tcb_kit_block_barrier(struct tcb_ptx_build *b);
void tcb_kit_warp_barrier(struct tcb_ptx_build *b);
void tcb_kit_cluster_barrier(struct tcb_ptx_build *b);

/*
 * Opens a scope for the last of LAST + 1 blocks that come here; its threads then see what all of them wrote.  Thread 0
 * counts on the word at COUNTER, which is 0 again afterwards, and tells the others through shared memory at FLAG.
 * Between the two calls COUNTER may be worked out by thread 0 alone.  Where other threads than 0 wrote, the block has
 * met at a barrier before.
 */
void tcb_kit_last_begin(struct tcb_kit *kit);
void tcb_kit_last_of(struct tcb_kit *kit, kit_op counter, kit_op last, unsigned flag_at);
/* The counting alone, by a thread: how many were there before. */
kit_op tcb_kit_arrive(struct tcb_ptx_build *b, kit_op counter, kit_op last);

#endif
