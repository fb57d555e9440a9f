/* SPDX-License-Identifier: MIT
 *
 * Private to q4k_matvec's GPU kernels: what a geometry means on a GPU, and the
 * parts that write a kernel.
 *
 * How a geometry drives a kernel.  micro.n rows are a group: one warp computes
 * them together.  warps / ksplit groups of a block go side by side (midi.n =
 * micro.n * warps / ksplit rows); ksplit warps share a group, each with a
 * consecutive part of the block's superblocks.  blocks = 0: each block computes
 * midi.n rows and ends; else blocks * SMs blocks stay, each with a consecutive
 * range of groups.  splitk blocks share a row (grid y); tokens are grid z.
 *
 * In a warp a superblock is spread over 128 / vec lanes, each with vec bytes of
 * codes (a piece); a warp so takes vec / 4 superblocks at once (a step).
 * Values of a piece: the low nibbles, then the high ones.  Layouts native and p
 * have sub-block 2 i in the low nibbles of 32 bytes and 2 i + 1 in the high
 * ones; layout s has a sub-block's first half in the low nibbles of 16 bytes
 * and its second half in the high ones.
 */
#ifndef TCB_KERNELS_QUANT_MATVEC_GPU_H
#define TCB_KERNELS_QUANT_MATVEC_GPU_H

#include "kernels/quant_matvec/quant_matvec.h"
#include "ptx/build.h"

enum {
	Q4K_GPU_VEC_MAX = 16,
	Q4K_GPU_ROWS_MAX = 8,
	Q4K_GPU_WORDS_MAX = Q4K_GPU_VEC_MAX / 4,
	Q4K_GPU_STEPS_MAX = 16, /* unrolled */
	Q4K_GPU_STAGES_MAX = 8,
	Q4K_GPU_X_AHEAD = 4 /* superblocks of activations that a warp loads before it uses the first */
};

/* The prepared activations of a block's slice: where their parts lie, in bytes from the start. */
struct q4k_gpu_image {
	unsigned blocks;                  /* superblocks, one of zeros included where steps may be partial */
	unsigned high, scale, sum, bytes; /* codes of high nibbles (q8), scales, sums of sub-blocks; all of it */
};

/* A geometry and a problem in numbers. */
struct q4k_gpu {
	unsigned capability;
	int is_q8;
	unsigned group; /* q8: activations that share a scale, 32 or 256; f32: 256 */
	enum tcb_layout layout;
	enum tcb_copy copy;
	int x_in_regs, own_launch, pdl;
	unsigned vec, rows, warps, ksplit, row_warps, splitk, stages, lead, resident, together;
	unsigned n, tokens;
	unsigned row_blocks, slice, share; /* superblocks of a row, of a block's part of it, of a warp's part of that */
	unsigned piece_lanes, step;        /* lanes of a superblock; superblocks that a warp takes at once */
	unsigned steps, unroll;            /* of a warp's share; in flight together */
	int is_partial;                    /* the last step has fewer superblocks */
	/* Not in the PTX, which serves any number of rows and of SMs: they are in the grid and in arguments. */
	unsigned groups, grid;  /* groups of rows; blocks along x */
	unsigned least, longer; /* groups of a block; one more in the first LONGER blocks */
	unsigned block_rows;    /* most rows of a block */
	/* weights: bytes from a superblock to the next, codes and headers */
	unsigned code_stride, header_stride;
	/* shared memory: rings, barriers, activations, a flag and partial sums; bytes in all */
	unsigned slot_bytes, slot_headers; /* of a stage; where its headers begin */
	unsigned barrier_at, image_at, flag_at, part_at, shared_bytes;
	struct q4k_gpu_image image;
	/* workspace: images of the tokens; partial sums of the slices; how many slices are done, by token and block */
	size_t slices_at, counters_at, workspace_bytes;
};

typedef struct tcb_ptx_operand q4k_op;

/* A kernel being written. */
struct q4k_writer {
	struct tcb_ptx_build b;
	const struct q4k_gpu *g;
	q4k_op codes, headers, x, y; /* global addresses: weights of row 0; activations and results of the token */
	q4k_op rows, last_row;       /* N, N - 1 */
	q4k_op slices, counters;     /* splitk > 1: the workspace's */
	q4k_op shared, image;        /* base addresses: .u32 of shared memory; of the image in SPACE */
	const char *image_space;     /* "shared" or "global" (.u64) */
	q4k_op tid, lane, warp, ks, rw;
	q4k_op first, end; /* the block's groups of rows */
	/* constants of a lane: its piece, its superblock within a step; sub-blocks of its low codes and of its min */
	q4k_op piece, within, sub_block, min_block;
	q4k_op is_late;                                /* its scales are in the last four sub-blocks */
	q4k_op select_pair, select_low, select_min;    /* native, p: prmt selectors */
	q4k_op mask_early, mask_top, mask_c, mask_d;   /* native, p */
	q4k_op select_field, shift, shift_min, mask_m; /* s */
};

/* A lane's activations of one step, in registers. */
struct q4k_lane_x {
	q4k_op low[Q4K_GPU_VEC_MAX], high[Q4K_GPU_VEC_MAX]; /* words of codes (q8), values (f32) */
	q4k_op scale[2], sum;
};
/* A lane's weights of one row and step. */
struct q4k_lane_w {
	q4k_op code[Q4K_GPU_WORDS_MAX], header[4];
};

/* quant_matvec_gpu_plan.c: the numbers; GEOMETRY keeps the rules. */
void q4k_gpu_plan(const struct tcb_problem *problem, const struct tcb_target *target,
		  const struct tcb_geometry *geometry, struct q4k_gpu *out);
extern const struct tcb_rule q4k_gpu_rules[];
void q4k_gpu_footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		       const struct tcb_geometry *geometry, struct tcb_footprint *out);
/* Registers that are enough for a thread. */
unsigned q4k_gpu_registers(const struct q4k_gpu *g);
/* The longest rounding chain of an output. */
double q4k_gpu_chain(const struct q4k_gpu *g);

/* quant_matvec_gpu_space.c */
size_t q4k_gpu_axes(const struct tcb_problem *problem, const struct tcb_target *target,
		    struct tcb_axis out[TCB_AXES_MAX]);
void q4k_gpu_default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			      struct tcb_geometry *out);

/* quant_matvec_gpu_x.c: the image of the activations, made by all warps of a block. */
struct q4k_x_loads {
	q4k_op value[Q4K_GPU_X_AHEAD][8];
};
/* Asks for the first superblocks; prepares these and the others and stores them. */
void q4k_write_x_load(struct q4k_writer *w, struct q4k_x_loads *loads);
void q4k_write_x_prepare(struct q4k_writer *w, struct q4k_x_loads *loads);
/* One superblock, by the calling warp, where the image has it. */
void q4k_write_x_block(struct q4k_writer *w, q4k_op block);
/* The image of the token from X (global memory) to shared memory. */
void q4k_write_x_copy(struct q4k_writer *w);
/* Where a lane reads superblock BLOCK (.u32) of the image. */
struct q4k_x_bases {
	q4k_op codes, scale, sum;
	q4k_op values[4]; /* f32: by the four orders of lanes */
};
void q4k_write_x_bases(struct q4k_writer *w, q4k_op block, struct q4k_x_bases *out);
void q4k_write_x_lane(struct q4k_writer *w, const struct q4k_x_bases *bases, unsigned step, struct q4k_lane_x *out);
/* The superblock of the image for the lane's place in the last, partial step: the zeros where it has none. */
q4k_op q4k_write_x_last(struct q4k_writer *w);

/* quant_matvec_gpu_math.c */
void q4k_write_lane_constants(struct q4k_writer *w);
/* Adds to SUM what a lane has of one row and step, and to MINS what the mins take off. */
void q4k_write_unit(struct q4k_writer *w, const struct q4k_lane_w *weights, const struct q4k_lane_x *x, q4k_op sum,
		    q4k_op mins);
/* VALUES of COUNT rows added over the warp; a lane gets that of row lane / (32 / COUNT).  VALUES are used up. */
q4k_op q4k_write_warp_sum(struct q4k_writer *w, q4k_op *values, unsigned count);
/* mov.TYPE of VALUE to a new register. */
q4k_op q4k_write_constant(struct q4k_writer *w, const char *type, q4k_op value);

/* quant_matvec_gpu_ring.c: a warp's own ring of tiles in shared memory. */
struct q4k_ring {
	q4k_op first_slot, first_barrier; /* of the warp */
	q4k_op slot, barrier, parity;     /* of the tile in use */
	q4k_op codes, headers;            /* global: the warp's part of row 0; async: and the lane's chunk */
	q4k_op code_lane, header_lane;    /* where a lane's piece and header are in a slot */
	q4k_op code_last, header_last;    /* the same in a partial step */
	q4k_op slots_end;                 /* past the warp's last slot */
};
void q4k_write_ring_open(struct q4k_writer *w, struct q4k_ring *ring);
/* Asks for GROUP, if the block has it, into slot number SLOT, or into the one in use (-1). */
void q4k_write_ring_fill(struct q4k_writer *w, struct q4k_ring *ring, q4k_op group, int slot);
void q4k_write_ring_wait(struct q4k_writer *w, struct q4k_ring *ring);
void q4k_write_ring_take(struct q4k_writer *w, struct q4k_ring *ring, unsigned row, unsigned step,
			 struct q4k_lane_w *out);
void q4k_write_ring_next(struct q4k_writer *w, struct q4k_ring *ring);

/* quant_matvec_gpu.c */
/* Row I of GROUP (.u32): the last row of all where there is no such row. */
q4k_op q4k_write_row(struct q4k_writer *w, q4k_op group, unsigned i);
enum tcb_status q4k_emit(const struct tcb_problem *problem, const struct tcb_target *target,
			 const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err);

extern const struct tcb_variant q4k_gpu_variants[];

#endif
