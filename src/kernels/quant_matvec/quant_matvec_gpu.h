/* SPDX-License-Identifier: MIT
 *
 * Private to the quantised matvec's GPU kernels: what a geometry means on a
 * GPU, what a weight format is there, and the parts that write a kernel.
 *
 * How a geometry drives a kernel.  micro.n rows are a group: one warp computes
 * them together.  warps / ksplit groups of a block go side by side (midi.n =
 * micro.n * warps / ksplit rows); ksplit warps share a group, each with a
 * consecutive part of the block's superblocks.  blocks = 0: each block computes
 * midi.n rows and ends; else blocks * SMs blocks stay, each with a consecutive
 * range of groups.  splitk blocks share a row (grid y); tokens are grid z.
 *
 * A superblock is 256 values of any format: one block, or eight of 32 values.
 * In a warp it is spread over (128, or 256 where a value is a byte) / vec lanes,
 * each with vec bytes of codes (a piece); a warp so takes several superblocks at
 * once (a step).  Values of a piece: the low nibbles, then the high ones, which
 * are 2^log_run values further on.  Layouts native and p have runs of 32 (Q4_K,
 * Q5_K) or 64 (Q6_K) values; layout s, and Q4_0 as stored, of 16, so that 16
 * bytes are one sub-block of 32 values.
 */
#ifndef TCB_KERNELS_QUANT_MATVEC_GPU_H
#define TCB_KERNELS_QUANT_MATVEC_GPU_H

#include "kernels/quant.h"
#include "kernels/quant_matvec/quant_matvec.h"
#include "ptx/build.h"

enum {
	QMV_GPU_VEC_MAX = 16,
	QMV_GPU_ROWS_MAX = 8,
	QMV_GPU_WORDS_MAX = QMV_GPU_VEC_MAX / 4,
	QMV_GPU_STEPS_MAX = 16, /* unrolled */
	QMV_GPU_STAGES_MAX = 8,
	QMV_GPU_X_AHEAD = 4, /* superblocks of activations that a warp loads before it uses the first */
	QMV_VALUES = 256,    /* of a superblock */
	QMV_TILE_ROWS = 16,  /* isa=mma: of a tile */
	QMV_PIECES_MAX = 4,  /* isa=mma: 16-byte pieces that a lane has of a row */
	QMV_PARTS_MAX = 2,   /* isa=mma: of an activation */
	QMV_B_WORDS = 16     /* isa=mma: registers of activations for each of them */
};

/* What a superblock is made of, in the order of the planes of a packed matrix. */
enum qmv_part { QMV_CODES, QMV_HIGH, QMV_D, QMV_SCALES, QMV_PARTS };

/* K: d, dmin and 6-bit scales and mins in 16 bytes.  HALVES: an f16 for 32 values.  BYTES: an int8 for 16, and d. */
enum qmv_scales { QMV_SCALES_K, QMV_SCALES_HALVES, QMV_SCALES_BYTES };

/* A weight format as these kernels see it. */
struct qmv_format {
	enum tcb_format_id id;
	enum qmv_scales scales;
	unsigned bytes[QMV_PARTS];     /* of a superblock; 0: it has no such part */
	unsigned native_at[QMV_PARTS]; /* where a superblock as stored, or its first block, has them */
	unsigned block;                /* bytes of a block of 32 values; 0 where a superblock is one block */
	unsigned high_bits;            /* of a code, beyond its nibble */
	unsigned log_run;              /* of native and p (see above); 8: a code is a byte */
	unsigned centre;               /* that is taken off the codes */
	int has_mins;
};
/* quant_matvec_planes.c: formats, and whole matrices in the layouts p, s and f. */
const struct qmv_format *qmv_format(const struct tcb_problem *problem);
size_t qmv_packed_bytes(const struct tcb_problem *problem, enum tcb_layout layout);
void qmv_plane_pack(const struct tcb_problem *problem, enum tcb_layout layout, const void *weights, void *packed);
void qmv_plane_unpack(const struct tcb_problem *problem, enum tcb_layout layout, const void *packed, void *weights);

/* The prepared activations of a block's slice: where their parts lie, in bytes from the start. */
struct qmv_gpu_image {
	unsigned blocks;                  /* superblocks, one of zeros included where steps may be partial */
	unsigned high, scale, sum, bytes; /* codes of high nibbles (q8), scales, sums; all of it */
	unsigned code_stride;             /* a superblock's codes (of one half), or values, in bytes */
	unsigned scale_stride, sum_stride;
};

/* Bytes of the weights that lie together: everything (native), or one part. */
struct qmv_stream {
	unsigned stride; /* from a superblock to the next */
	unsigned copied, slot_at,
		pitch; /* rings: bytes of a row; where a slot has its rows, and from one to the next */
};

/*
 * A geometry and a problem in numbers.  isa=mma (quant_matvec_gpu_mma.c): what is said of rows holds for tiles of
 * sixteen, whose superblocks lie together (layout f).
 */
struct qmv_gpu {
	const struct qmv_format *format;
	unsigned capability;
	int is_q8, is_half; /* else f32 */
	unsigned group;     /* q8: activations that share a scale, 32 or 256; else 256 */
	enum tcb_layout layout;
	enum tcb_copy copy;
	int is_mma, x_in_regs, own_launch, pdl;
	unsigned vec, rows, warps, ksplit, row_warps, splitk, stages, lead, resident, together;
	unsigned group_rows, sums; /* rows of a group; sums of them that a lane adds up */
	unsigned n, k, tokens;
	unsigned row_blocks, slice, share; /* superblocks of a row, of a block's part of it, of a warp's part of that */
	unsigned log_run, halves;          /* of the layout; values of a byte of codes */
	unsigned piece_lanes, step;        /* lanes of a superblock; superblocks that a warp takes at once */
	unsigned steps, unroll;            /* of a warp's share; in flight together */
	unsigned chunks;                   /* rings: of a warp's share, each as long as a slot */
	int is_partial;                    /* the last step has fewer superblocks */
	int is_narrow;                     /* codes are aligned to two bytes only */
	unsigned parts;                    /* isa=mma: of an activation */
	unsigned runs, is_split;           /* sums of a superblock's activations; a piece has two of them */
	unsigned scales_apart; /* group 32: sub-blocks from that of a piece's low codes to that of its high ones */
	/* Not in the PTX, which serves any number of rows and of SMs: they are in the grid and in arguments. */
	unsigned groups, grid;  /* groups of rows; blocks along x */
	unsigned least, longer; /* groups of a block; one more in the first LONGER blocks */
	unsigned block_rows;    /* most rows of a block */
	/* weights */
	unsigned stream_count, stream_of[QMV_PARTS];
	struct qmv_stream stream[QMV_PARTS];
	unsigned high_words; /* of a lane's piece */
	/* shared memory: rings, barriers, activations, a flag and partial sums; bytes in all */
	unsigned slot_bytes, slot_copied; /* of a stage; of these copied */
	unsigned barrier_at, image_at, flag_at, part_at, shared_bytes;
	struct qmv_gpu_image image;
	/* workspace: images of the tokens; partial sums of the slices; how many slices are done, by token and block */
	size_t slices_at, counters_at, workspace_bytes;
};

typedef struct tcb_ptx_operand qmv_op;

/* A kernel being written. */
struct qmv_writer {
	struct tcb_ptx_build b;
	const struct qmv_gpu *g;
	qmv_op weights[QMV_PARTS], x,
		y;               /* global addresses: a stream's weights of row 0; activations, results of the token */
	qmv_op x_values;         /* how many activations the slice has, or a constant */
	qmv_op rows, last_row;   /* N, N - 1 */
	qmv_op slices, counters; /* splitk > 1: the workspace's */
	qmv_op shared, image;    /* base addresses: .u32 of shared memory; of the image in SPACE */
	const char *image_space; /* "shared" or "global" (.u64) */
	qmv_op tid, lane, warp, ks, rw;
	qmv_op first, end; /* the block's groups of rows */
	/* constants of a lane: its piece, its superblock within a step; its bytes of a superblock's parts */
	qmv_op piece, within, part[QMV_PARTS];
	qmv_op sub_block, sum_run; /* of its low codes; of the sum that it takes off, or of the first of two */
	qmv_op is_first;           /* of the lanes that share such a sum; the others take zero */
	qmv_op shift_high;         /* its bits within words of high bits */
	qmv_op column;             /* isa=mma: of what comes out of a product */
	qmv_op is_column[QMV_PIECES_MAX], b_words[QMV_PIECES_MAX][QMV_B_WORDS];
	qmv_op is_late;                                /* K: its scales are in the last four sub-blocks */
	qmv_op select_pair, select_low, select_min;    /* K, native and p: prmt selectors */
	qmv_op mask_early, mask_top, mask_c, mask_d;   /* K, native and p */
	qmv_op select_field, shift, shift_min, mask_m; /* K, s */
};

/* A lane's activations of one step, in registers. */
struct qmv_lane_x {
	qmv_op low[QMV_GPU_VEC_MAX], high[QMV_GPU_VEC_MAX]; /* words of codes (q8), values (f32) */
	qmv_op scale[2], sum[2];
};
/* A lane's weights of one row and step, as loaded. */
struct qmv_lane_w {
	qmv_op code[2 * QMV_PIECES_MAX * QMV_GPU_WORDS_MAX], high[2 * QMV_GPU_WORDS_MAX]; /* one more where narrow */
	qmv_op scale[8], d[2];
	qmv_op select[2]; /* narrow: of code and high */
};

/* quant_matvec_gpu_plan.c: the numbers; GEOMETRY keeps the rules. */
void qmv_gpu_plan(const struct tcb_problem *problem, const struct tcb_target *target,
		  const struct tcb_geometry *geometry, struct qmv_gpu *out);
void qmv_gpu_footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		       const struct tcb_geometry *geometry, struct tcb_footprint *out);
/* Registers that are enough for a thread. */
unsigned qmv_gpu_registers(const struct qmv_gpu *g);
/* The longest rounding chain of an output. */
double qmv_gpu_chain(const struct qmv_gpu *g);
/* Tiles' k at the innermost level. */
unsigned qmv_gpu_micro_k(const struct tcb_problem *problem);

/* quant_matvec_gpu_rules.c */
extern const struct tcb_rule qmv_gpu_rules[];

/* quant_matvec_gpu_space.c */
size_t qmv_gpu_axes(const struct tcb_problem *problem, const struct tcb_target *target,
		    struct tcb_axis out[TCB_AXES_MAX]);
void qmv_gpu_default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			      struct tcb_geometry *out);

/* quant_matvec_gpu_x.c: the image of the activations, made by all warps of a block. */
struct qmv_x_loads {
	qmv_op value[QMV_GPU_X_AHEAD][8];
};
/* Asks for the first superblocks; prepares these and the others and stores them. */
void qmv_write_x_load(struct qmv_writer *w, struct qmv_x_loads *loads);
void qmv_write_x_prepare(struct qmv_writer *w, struct qmv_x_loads *loads);
/* One superblock, by the calling warp, where the image has it. */
void qmv_write_x_block(struct qmv_writer *w, qmv_op block);
/* The image of the token from X (global memory) to shared memory. */
void qmv_write_x_copy(struct qmv_writer *w);
/* A store to the image: "v2.b32". */
void qmv_write_x_store(struct qmv_writer *w, const char *type, qmv_op address, unsigned offset, const qmv_op *values,
		       unsigned count);
/* Where a lane reads superblock BLOCK (.u32) of the image. */
struct qmv_x_bases {
	qmv_op codes, scale, sum;
	qmv_op values[4]; /* f32: by the four orders of lanes */
};
void qmv_write_x_bases(struct qmv_writer *w, qmv_op block, struct qmv_x_bases *out);
void qmv_write_x_lane(struct qmv_writer *w, const struct qmv_x_bases *bases, unsigned step, struct qmv_lane_x *out);
/* Moves the bases on by BLOCKS superblocks. */
void qmv_write_x_advance(struct qmv_writer *w, struct qmv_x_bases *bases, unsigned blocks);
/* The superblock of the image for the lane's place in the last, partial step: the zeros where it has none. */
qmv_op qmv_write_x_last(struct qmv_writer *w);

/* quant_matvec_gpu_lane.c: a lane's place in a superblock, its weights from memory to registers, and its codes. */
void qmv_write_lane_constants(struct qmv_writer *w);
/* Addresses (.u64 or .u32) of a lane's parts of a superblock; of the last words of code and high where narrow. */
struct qmv_where {
	qmv_op at[QMV_PARTS], tail[2], select[2];
};
/* From addresses of the parts: narrow ones rounded down to words. */
void qmv_write_where(struct qmv_writer *w, const char *type, struct qmv_where *where);
/* Loads LOAD ("ld.shared") from OFFSET[part] behind WHERE into OUT, whose registers exist already if IS_AGAIN. */
void qmv_write_lane_load(struct qmv_writer *w, const char *load, const struct qmv_where *where,
			 const int64_t offset[QMV_PARTS], int is_again, struct qmv_lane_w *out);
/* Aligns narrow words, once, before the other two are called. */
void qmv_write_lane_align(struct qmv_writer *w, const struct qmv_lane_w *loaded, struct qmv_lane_w *out);
/* Word I of the low or high codes, a byte each; those of four bits come 16 times as large if high. */
qmv_op qmv_write_codes(struct qmv_writer *w, const struct qmv_lane_w *weights, unsigned i, int is_high);
/* Two of them, bytes 0 and 2, or 1 and 3: halves of 2^-24 times the code. */
qmv_op qmv_write_halves(struct qmv_writer *w, const struct qmv_lane_w *weights, unsigned i, int is_high, int is_odd);

/* quant_matvec_gpu_mma.c: the same for isa=mma, where a lane has parts of sixteen rows and sums of two. */
void qmv_write_mma_constants(struct qmv_writer *w);
void qmv_write_mma_load(struct qmv_writer *w, const char *prefix, const struct qmv_where *where,
			const int64_t offset[QMV_PARTS], int is_again, struct qmv_lane_w *out);
/* Where the image has a lane's eight values of a superblock; stores them, from ADDRESS on. */
qmv_op qmv_write_mma_place(struct qmv_writer *w);
void qmv_write_mma_values(struct qmv_writer *w, const qmv_op value[8], qmv_op address);
/* What a superblock's activations are multiplied by under contract f32, and 2^10 over that. */
qmv_op qmv_write_mma_scale(struct qmv_writer *w, qmv_op largest, qmv_op *inverse);
void qmv_write_mma_open(struct qmv_writer *w);
/* Where the image has the activations of a lane's first piece. */
qmv_op qmv_write_mma_base(struct qmv_writer *w, qmv_op superblock);
void qmv_write_mma_unit(struct qmv_writer *w, const struct qmv_lane_w *weights, const struct qmv_x_bases *bases,
			unsigned step, qmv_op sum[2], qmv_op mins[2]);
/* Rows g and g + 8 over the four lanes that share them: lane (g, t) gets that of row g + 8 (t mod 2). */
qmv_op qmv_write_mma_sum(struct qmv_writer *w, qmv_op value[2]);

/* quant_matvec_gpu_math.c */
/* Adds to SUM what a lane has of one row and step, and to MINS what the mins take off. */
void qmv_write_unit(struct qmv_writer *w, const struct qmv_lane_w *weights, const struct qmv_lane_x *x, qmv_op sum,
		    qmv_op mins);
/* VALUES of COUNT rows added over the warp; a lane gets that of row lane / (32 / COUNT).  VALUES are used up. */
qmv_op qmv_write_warp_sum(struct qmv_writer *w, qmv_op *values, unsigned count);
/* mov.TYPE of VALUE to a new register. */
qmv_op qmv_write_constant(struct qmv_writer *w, const char *type, qmv_op value);

/* quant_matvec_gpu_ring.c: a warp's own ring of tiles in shared memory. */
struct qmv_ring {
	qmv_op first_slot, first_barrier; /* of the warp */
	qmv_op slot, barrier, parity;     /* of the tile in use */
	qmv_op source[QMV_PARTS];         /* global: the warp's part of row 0, by stream */
	struct qmv_where lane, last;      /* a lane's parts in a slot; the same in a partial step */
	qmv_op slots_end;                 /* past the warp's last slot */
};
void qmv_write_ring_open(struct qmv_writer *w, struct qmv_ring *ring);
/* Asks for CHUNK of GROUP, if the block has it, into slot number SLOT, or into the one in use (-1). */
void qmv_write_ring_fill(struct qmv_writer *w, struct qmv_ring *ring, qmv_op group, unsigned chunk, int slot);
void qmv_write_ring_wait(struct qmv_writer *w, struct qmv_ring *ring);
/* A unit of the slot in use: STEP counts from the chunk's first. */
void qmv_write_ring_take(struct qmv_writer *w, struct qmv_ring *ring, unsigned row, unsigned step,
			 struct qmv_lane_w *out);
void qmv_write_ring_next(struct qmv_writer *w, struct qmv_ring *ring);

/* quant_matvec_gpu.c */
/* Row I of GROUP (.u32), or its tile: the last of all where there is no such row. */
qmv_op qmv_write_row(struct qmv_writer *w, qmv_op group, unsigned i);
enum tcb_status qmv_emit(const struct tcb_problem *problem, const struct tcb_target *target,
			 const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err);
/* By format; each row ends with one without a name. */
enum { QMV_GPU_VARIANTS = 6 };
extern const struct tcb_variant qmv_gpu_variants[TCB_FORMAT_COUNT][QMV_GPU_VARIANTS];

#endif
