/* SPDX-License-Identifier: MIT
 *
 * Private to the dense products' CPU kernels: how A and B lie in memory on
 * their way to the register tiles, and what one tile is called with.
 *
 * The blocking is that of Goto and van de Geijn (Anatomy of High-Performance
 * Matrix Multiplication, 2008), with rows and columns as row-major C wants them:
 *   macro m x n  one task of the pool: a part of C, all of k
 *   midi n x k   a block of B, packed into panels of micro.n columns (decode=panel: third or second cache), or taken
 *                as stored (decode=regs)
 *   midi m x k   a block of A, packed into panels of micro.m rows (second cache)
 *   micro m x n  the register tile of the variant: one panel of each
 * Of B a panel stays in the first cache while the panels of A pass.  Panels are in f32, whatever the operands' type.
 * A panel has its micro.m (micro.n) values for each step of k side by side; what is past the edge of a matrix is 0.
 *
 * Tiles (matmul_amx.h) have loops and panels of their own.
 *
 * Within a block of k a sum is one chain in its order; the blocks' sums are added to C in theirs.  C itself is where
 * they are added with f32, the thread's workspace with types that would round them.
 */
#ifndef TCB_KERNELS_MATMUL_CPU_H
#define TCB_KERNELS_MATMUL_CPU_H

#include "kernels/matmul/matmul.h"

enum {
	MATMUL_LINE = 64,      /* bytes that panels are aligned to */
	MATMUL_TILE_STEP = 32, /* values of k that tiles multiply at a time */
	MATMUL_SLACK = 16,     /* floats that may be written past the last panel of a block of A */
};

/* One register tile along a block of k. */
struct matmul_call {
	const float *a;       /* a panel */
	const void *b;        /* a panel, or the first of micro.n columns of B as stored */
	size_t b_stride;      /* elements from a row of B to the next; as stored only */
	size_t prefetch;      /* bytes ahead along rows of B, to the second cache, 0 for none; as stored only */
	float *c;             /* of the tile's first row and column */
	size_t c_stride;      /* from a row to the next, in elements */
	size_t k;             /* steps, >= 1 */
	size_t rows, columns; /* to be written, 1 to micro.m and micro.n; fewer only at the edges */
	int accumulate;       /* the sums are added to C, else they replace it */
};
typedef void matmul_tile_fn(const struct matmul_call *call);

/* A rectangle of an operand as stored: ROWS of COUNT elements of TYPE. */
struct matmul_part {
	enum tcb_type type;
	const void *first;
	size_t stride; /* elements from a row to the next */
	size_t rows, count;
};

/* How one instruction family moves values. */
struct matmul_movers {
	/* Rows of A into panels of WIDE rows.  Writes up to MATMUL_SLACK floats past the last one. */
	void (*pack_a)(const struct matmul_part *part, size_t wide, float *out);
	/* Rows of B, one per step, into panels of WIDE columns; PREFETCH as in struct matmul_call. */
	void (*pack_b)(const struct matmul_part *part, size_t wide, size_t prefetch, float *out);
	/* COUNT sums to f16 or bf16. */
	void (*narrow)(enum tcb_type type, const float *sums, size_t count, void *out);
};

/* A thread's part of the workspace: its block of A, of B and of sums; in elements of what they hold, ALL with what
 * brings the next thread's to a page of its own. */
struct matmul_room {
	size_t a, b, sums, all;
};

/* A part of C and a thread to compute it, for a family with loops of its own (matmul_amx.h), whose room is in bytes. */
struct matmul_task {
	const struct tcb_plan *plan;
	const struct matmul_room *room;
	const char *a, *b;
	char *c;
	size_t m, rows, n, columns; /* of C */
	char *workspace;            /* the thread's */
};
typedef void matmul_task_fn(const struct matmul_task *task);

/* What a variant's entry gives: how matmul_cpu.c's loops move and multiply, or, with a TASK, loops instead of them. */
struct matmul_kernels {
	matmul_tile_fn *panel, *stored;
	const struct matmul_movers *movers;
	matmul_task_fn *task;
};
typedef const struct matmul_kernels *matmul_kernels_fn(void);

/* The row of a variant's table, of entry_TYPE_MxN. */
#define MATMUL_ROW(m_, n_, type, contract_, class_)                    \
	{                                                              \
		.name = "matmul_" #type "_" SIMD_TEXT "_" #m_ "x" #n_, \
		.contract = TCB_CONTRACT_##contract_,                  \
		.isa = SIMD_ISA_ID,                                    \
		.micro = { m_, n_, 1 },                                \
		.unroll = 1,                                           \
		.class = TCB_CLASS_##class_,                           \
		.signed_in = tcb_signed_variants,                      \
		.entry = (void (*)(void))entry_##type##_##m_##x##n_,   \
	},

/* matmul_cpu.c */
/* What a geometry with tiles (matmul_amx.h) takes of the workspace; -1: more than there can be. */
double matmul_chain(const struct tcb_problem *problem, const struct tcb_geometry *geometry); /* struct tcb_plan's */
int matmul_tiles_room(const struct tcb_problem *problem, const struct tcb_geometry *geometry, struct matmul_room *out);
extern const struct tcb_side matmul_f32_cpu, matmul_f16_cpu, matmul_bf16_cpu;
void matmul_exact(const struct tcb_plan *plan, void *const operand[], float *y);

/* matmul_cpu_space.c */
extern const struct tcb_side_space matmul_cpu_space;
/* Why no variant can run GEOMETRY, NULL if one can. */
const char *matmul_refused(const struct tcb_problem *problem, const struct tcb_geometry *geometry);

#endif
