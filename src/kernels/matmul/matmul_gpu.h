/* SPDX-License-Identifier: MIT
 *
 * The dense products on GPUs: how a geometry drives their kernels.
 *
 *   macro m      rows of C that blocks which run together go down before they step to the right (L2)
 *   midi m x n   the tile of C of one block; midi k: the step along k that one stage of shared memory holds
 *   micro m x n  the tile of one warp (isa=fma, mma) or warpgroup (wgmma), in registers
 *   micro k      as midi k: the loop over a step is unrolled
 *   stages       steps of k in shared memory, the one in use included
 *   splitk       blocks that share a tile of C, each a part of k; the last one adds the parts in order
 *   copy         ldg: loads, then stores to shared memory; async: cp.async; bulk: tensor copies (wgmma)
 *   vec          bytes of a copy of A; fma: 4 puts A into shared memory with k running slowest
 *   blocks       0: a block a tile; 1 and more: as many blocks an SM, which stay for all tiles
 *   cluster      blocks, one below the other, that share what they copy of B
 *   occ          blocks an SM that the registers of a thread leave room for
 *   pdl          1: may be launched before the launch before it has ended
 */
#ifndef TCB_KERNELS_MATMUL_GPU_H
#define TCB_KERNELS_MATMUL_GPU_H

#include "kernels/matmul/matmul.h"
#include "ptx/build.h"

/* A geometry and a problem in numbers. */
struct matmul_gpu {
	enum matmul_type type;
	enum tcb_isa isa;
	unsigned capability, element; /* bytes of an element */
	unsigned m, n, k;
	unsigned bm, bn, bk, wm, wn, wk;    /* tiles of a block, of a warp or warpgroup */
	unsigned warps_m, warps_n, workers; /* of these: along m, along n, in all */
	unsigned threads;
	unsigned stages, splitk, resident, cluster, occ;
	enum tcb_copy copy;
	int pdl;
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
	size_t counters_at, workspace_bytes;
};

void matmul_gpu_plan(const struct tcb_problem *problem, const struct tcb_target *target,
		     const struct tcb_geometry *geometry, struct matmul_gpu *out);
/* Registers that are enough for a thread (held against ptxas by a test). */
unsigned matmul_gpu_registers(const struct matmul_gpu *g);
/* The longest rounding chain of an output, in units of 2^-24. */
double matmul_gpu_chain(const struct matmul_gpu *g);
/* Why G's copies do not fit its problem's rows; NULL if they do. */
const char *matmul_gpu_misfit(const struct matmul_gpu *g);
void matmul_gpu_footprint(const struct tcb_problem *problem, const struct tcb_target *target,
			  const struct tcb_geometry *geometry, struct tcb_footprint *out);
extern const struct tcb_rule matmul_gpu_rules[];

/* matmul_gpu_space.c */
size_t matmul_gpu_axes(const struct tcb_problem *problem, const struct tcb_target *target,
		       struct tcb_axis out[TCB_AXES_MAX]);
void matmul_gpu_default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
				 struct tcb_geometry *out);

typedef struct tcb_ptx_operand mm_op;

enum { MM_ACCUMULATORS_MAX = 256, MM_PASSES_MAX = 64, MM_GROUPS_MAX = 8 };

/* A kernel being written. */
struct mm_writer {
	struct tcb_ptx_build b;
	const struct matmul_gpu *g;
	mm_op a, b_, c;       /* addresses of the operands (fma, mma), maps (wgmma) */
	mm_op m, n, k, steps; /* steps: along k, of a slice */
	mm_op tiles_m, tiles_n, group, group_tiles;
	mm_op slices, counters; /* splitk > 1: of the workspace */
	mm_op shared;
	mm_op tid, lane, warp; /* warp: uniform */
	mm_op row, column;     /* where the block's tile begins */
	mm_op acc[MM_ACCUMULATORS_MAX];
};

/* matmul_gpu.c: what all kernels share. */
mm_op mm_constant(struct mm_writer *w, const char *type, mm_op value);
/* Tile number TILE: sets w->row (of the first block of a cluster) and w->column. */
void mm_write_tile(struct mm_writer *w, mm_op tile);
void mm_write_threads(struct mm_writer *w);
/* Waits until phase PARITY of the mbarrier is over; SCOPE "" or ".acquire.cluster". */
void mm_write_wait(struct mm_writer *w, mm_op barrier, mm_op parity, const char *scope);
enum tcb_status matmul_emit(const struct tcb_problem *problem, const struct tcb_target *target,
			    const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err);
extern const struct tcb_variant matmul_f32_gpu_variants[], matmul_f16_gpu_variants[], matmul_bf16_gpu_variants[];

/* matmul_gpu_wgmma.c */
void mm_write_wgmma(struct mm_writer *w);
/*
 * matmul_gpu_tile.c: fma and mma, whose threads copy by themselves.  They have a ring of stages too, but meet at
 * barriers of the block; fragments of the next step along k are loaded while those of one are multiplied.
 */
void mm_write_tiles(struct mm_writer *w);

/* matmul_gpu_copy.c: what a thread copies of A and B; the step along k that is next. */
struct mm_copy {
	mm_op a, b_;                                        /* where the block's part of the step begins */
	mm_op a_from[MM_PASSES_MAX], b_from[MM_PASSES_MAX]; /* the thread's bytes from there on, by pass */
	mm_op b_step;                                       /* bytes to B's rows of the next step */
	mm_op k, k_end;                                     /* of the step, of the slice */
	mm_op a_k, b_k;                           /* of the thread's values of A, of its first row of B, in the step */
	mm_op a_rows, b_is_inside[MM_GROUPS_MAX]; /* rows of A from its first on (signed); columns of B are there */
	mm_op a_to[MM_PASSES_MAX], b_to[MM_PASSES_MAX]; /* in a slot */
	mm_op slot;                                     /* where the step goes */
	int is_plain;                                   /* all of the tile is there in all steps: no piece is tested */
	mm_op more;                                     /* plain: there is such a step */
	mm_op held[MM_PASSES_MAX * 8];                  /* copy=ldg: values on their way */
};
/* Pieces that a thread takes of A or of B, whichever has more: MM_PASSES_MAX at most. */
unsigned mm_copy_pieces(const struct matmul_gpu *g);
/* Is the block's tile inside of C, and its part of k a multiple of midi k? */
mm_op mm_write_copy_is_plain(struct mm_writer *w, const struct mm_copy *copy);
void mm_write_copy_open(struct mm_writer *w, struct mm_copy *copy, mm_op k_first, mm_op k_end);
/* The copies of the next step: async, one group of them; ldg, to registers. */
void mm_write_copy_load(struct mm_writer *w, struct mm_copy *copy);
/* ldg: from registers to the slot. */
void mm_write_copy_store(struct mm_writer *w, struct mm_copy *copy);
/* 16-byte chunks of a row of PITCH bytes change places by row: what is exclusive-ored to the offset in row ROW. */
mm_op mm_write_swizzle(struct mm_writer *w, unsigned pitch, mm_op row);

/* Fragments of two steps along k. */
struct mm_fragments {
	mm_op a_at, b_at; /* where the lane reads in a slot */
	mm_op a_odd;      /* fma, A in rows: for every other row, where these are swizzled otherwise */
	mm_op a[2][128], b[2][64];
};
struct mm_math {
	unsigned steps; /* of a stage */
	void (*open)(struct mm_writer *w, struct mm_fragments *f);
	/* Fragments of step STEP of the stage in SLOT to set STEP % 2. */
	void (*load)(struct mm_writer *w, struct mm_fragments *f, mm_op slot, unsigned step);
	void (*multiply)(struct mm_writer *w, struct mm_fragments *f, unsigned step);
	/* Calls STORE for each COUNT values that lie side by side, from the accumulators. */
	void (*results)(struct mm_writer *w, void (*store)(struct mm_writer *w, mm_op row, mm_op column,
							   const mm_op *values, unsigned count));
};
struct mm_math mm_math_fma(const struct matmul_gpu *g);
struct mm_math mm_math_mma(const struct matmul_gpu *g);

#endif
