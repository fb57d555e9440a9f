/* SPDX-License-Identifier: MIT
 *
 * The GPU kit: the frame of an emission.  A problem and a geometry come in; a
 * module, its kernels in the order in which they are launched, and what their
 * parameters get go out.  A parameter and its argument are declared together, so
 * that kernel and launch cannot disagree:
 *
 *     struct writer { struct tcb_kit kit; ... } w;
 *     TCB_TRY(tcb_kit_open(&w.kit, problem, target, 0, geometry, out, err));
 *     tcb_kit_begin(&w.kit, "sum", &(struct tcb_kit_kernel){ .threads = 256, .blocks_together = 2, .grid = { 132 } });
 *     x = tcb_kit_operand(&w.kit, "x", 16, OPERAND_X);
 *     count = tcb_kit_number(&w.kit, "count", n);
 *     tcb_kit_dependents(&w.kit, 1);
 *     ...
 *     tcb_kit_end(&w.kit);
 *     return tcb_kit_close(&w.kit, err);
 *
 * The caller of tcb_kit_close then sets class, chain, ulps, packed_bytes and workspace_bytes.
 */
#ifndef TCB_KERNELS_GPU_FRAME_H
#define TCB_KERNELS_GPU_FRAME_H

#include "kernels/gpu/ptx_code.h"
#include "kernels/gpu/values.h"

/* The first member of an emitter's writer. */
struct tcb_kit {
	struct tcb_ptx_build b;
	struct tcb_kernel *out;
	struct tcb_launch *launch;  /* of the kernel being written, */
	struct tcb_launch_ptx *own; /* one of these: the code's */
	struct tcb_launch_ptx owns[TCB_LAUNCHES_MAX];
	/* set by tcb_kit_threads, tcb_kit_memory */
	kit_op tid, lane, warp;
	kit_op shared; /* .u32 */
};

/* How a kernel is launched.  Zeros count as one; a CLUSTER of zeros is none. */
struct tcb_kit_kernel {
	unsigned threads;
	unsigned blocks_together; /* that a thread's registers leave room for: without it ptxas takes a number of its
				   * own, and spills a register or two to reach it */
	uint32_t grid[3], cluster[3];
	int is_cluster_fixed; /* the kernel says CLUSTER, too */
	uint32_t shared_bytes;
	int is_dependent;
};

/* Begins OUT, which it clears; FEATURE: 'a' for instructions of one architecture alone, else 0.  GEOMETRY: NULL for a
 * kernel that is no candidate. */
enum tcb_status tcb_kit_open(struct tcb_kit *kit, const struct tcb_problem *problem, const struct tcb_target *target,
			     char feature, const struct tcb_geometry *geometry, struct tcb_kernel *out,
			     struct tcb_error *err);
enum tcb_status tcb_kit_close(struct tcb_kit *kit, struct tcb_error *err);

/* NAME is a literal, or lives as long as the module (tcb_ptx_namef). */
void tcb_kit_begin(struct tcb_kit *kit, const char *name, const struct tcb_kit_kernel *kernel);
void tcb_kit_end(struct tcb_kit *kit);

/* Parameters, in order: the address of an operand, or of the workspace from AT on, aligned to ALIGN; a number. */
kit_op tcb_kit_operand(struct tcb_kit *kit, const char *name, unsigned align, size_t operand);
kit_op tcb_kit_workspace(struct tcb_kit *kit, const char *name, unsigned align, size_t at);
kit_op tcb_kit_number(struct tcb_kit *kit, const char *name, size_t value);
/* A tensor map: its generic address. */
kit_op tcb_kit_tensor(struct tcb_kit *kit, const char *name, const struct tcb_tensor *tensor);

/* Under dependent launch (is_dependent): lets the next launch begin; and, IS_WAITING, waits for the one before. */
void tcb_kit_dependents(struct tcb_kit *kit, int is_waiting);
void tcb_kit_depend(struct tcb_kit *kit);
/* The thread's number in the block, in its warp, and its warp's. */
void tcb_kit_threads(struct tcb_kit *kit);
/* From lane 0, so that the assembler sees that it is the same in the whole warp and keeps what follows from it once. */
void tcb_kit_uniform_warp(struct tcb_kit *kit);
/* The block's dynamic shared memory. */
void tcb_kit_memory(struct tcb_kit *kit, unsigned align);
/* Thread 0's scope. */
void tcb_kit_one_begin(struct tcb_kit *kit);

#endif
