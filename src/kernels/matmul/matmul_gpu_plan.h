/* SPDX-License-Identifier: MIT
 *
 * The dense products on GPUs: a geometry and a problem in numbers, for those who
 * write a kernel and those who judge it.
 */
#ifndef TCB_KERNELS_MATMUL_GPU_PLAN_H
#define TCB_KERNELS_MATMUL_GPU_PLAN_H

#include "kernels/matmul/matmul.h"

struct matmul_gpu {
	enum tcb_type type;
	enum tcb_isa isa;
	unsigned capability, element; /* bytes of an element */
	unsigned m, n, k;
	unsigned bm, bn, bk, wm, wn, wk; /* tiles of a block (with turns, of a turn), of a warp or warpgroup */
	unsigned warps_m, warps_n;       /* of these in a tile of a block: along m, along n */
	unsigned workers;                /* in all */
	unsigned threads;
	unsigned stages, splitk, resident, cluster, occ;
	enum tcb_copy copy;
	int pdl, turns, is_dealt;     /* is_dealt: sched=streamk */
	unsigned vec_a, vec_b, vec_c; /* bytes that a copy, a store of C takes */
	int a_is_transposed;          /* fma: k runs slowest in shared memory */
	unsigned pitch_a, pitch_b;    /* bytes of a row in shared memory */
	unsigned a_bytes, stage_bytes;
	unsigned barrier_at, out_at, flag_at, shared_bytes;
	/* not in the PTX: arguments and grid */
	unsigned tiles_m, tiles_n;   /* of a cluster, along m */
	unsigned group;              /* of these rows of tiles that are gone down together */
	unsigned steps, slice_steps; /* along k: in all, of one slice */
	unsigned grid;
	unsigned dealt_tiles, share, spare;  /* is_dealt: tiles; steps of a range, as many ranges have one more */
	unsigned parts;                      /* that a tile is in at most */
	size_t counters_at, workspace_bytes; /* is_dealt: counters are flags */
};

void matmul_gpu_plan(const struct tcb_problem *problem, const struct tcb_target *target,
		     const struct tcb_geometry *geometry, struct matmul_gpu *out);
/* Of 16 bits, so few rows that reading B is all that counts. */
int matmul_gpu_is_few(const struct tcb_problem *problem);
/* Registers that are enough for a thread (held against ptxas by a test). */
unsigned matmul_gpu_registers(const struct matmul_gpu *g);
/* The longest rounding chain of an output, in units of 2^-24. */
double matmul_gpu_chain(const struct matmul_gpu *g);

#endif
