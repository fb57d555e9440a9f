/* SPDX-License-Identifier: MIT
 *
 * Private to the quantised matmuls' GPU kernels, contracts f16 and q8: what a
 * geometry means on a GPU, and the parts that write a kernel.
 *
 * Weights are the matrix instructions' A, 16 rows a warp, expanded from codes to
 * halves in registers; tokens are B's columns, so that 8 tokens waste nothing.
 * Layout f has the codes in the order of A's registers, activations are halves in
 * tiles of 8 tokens by 64 of k, 128 bytes a token, swizzled by 16-byte chunks.
 * Eight runs of k with scales of their own take turns along k, so that a lane's
 * registers hold two of them alone, one in their lower and one in their upper halves,
 * and a lane takes apart one pair of scales a row (qmm_k_of()).
 *
 * Contract q8, integers of 8 bits: each product is of one run, since its sums are scaled before they are added up.
 * Layout g has k in its order, nibbles of a row in the low and of another in the high halves of the bytes that they
 * become.  Activations come in records of 8 tokens and 256 of k: codes in two tiles as above, 128 of k each, then what
 * they are scaled with (quant_matmul_gpu_x_s8.c).
 *
 * How a geometry drives a kernel.
 *   isa=mma    micro.n rows are a group, computed by one warp for midi.m tokens.
 *              warps / ksplit groups of a block go side by side; ksplit warps share a group, each with a consecutive
 *              part of the block's k.  Each warp has a ring of its own with tiles of micro.n rows by unroll units of
 *              256 along k.  The block has the activations of its k in shared memory for good; or, with xstages
 *              (copy=async, prep=launch), in a ring of its own of as many slots, a unit each, that all its warps fill.
 *   isa=wgmma  micro.n rows are a group, computed by four warps; the rest is as with mma if xstages = 1.  Else
 *              (prep=launch) the activations are streamed: one more warp asks for the copies, a ring of tiles of midi.n
 *              rows by 256 of k, and one of activations, midi.m tokens by 64 of k; cluster blocks of neighbouring rows
 *              fetch a part each and send it to all of them.
 *   both       blocks = 0: each block computes midi.n rows and ends; else blocks * SMs blocks stay, each with a
 *              consecutive range of groups.  splitk blocks share a row (grid y) and join their parts through a
 *              cluster's shared memory or the workspace.  Tiles of midi.m tokens are grid z.
 */
#ifndef TCB_KERNELS_QUANT_MATMUL_GPU_H
#define TCB_KERNELS_QUANT_MATMUL_GPU_H

#include "kernels/formats.h"
#include "kernels/op.h"
#include "ptx/build.h"

enum {
	QMM_UNIT_ROWS = 16,
	QMM_UNIT_VALUES = 256,
	QMM_CHUNK = 64, /* values along k of a tile of activations, and of a lane's 16 bytes of nibbles */
	QMM_CHUNKS = QMM_UNIT_VALUES / QMM_CHUNK,
	QMM_GROUP_TOKENS = 8,
	QMM_TILE_BYTES = QMM_GROUP_TOKENS * QMM_CHUNK * 2, /* of activations: 128 bytes a token */
	QMM_SCALE_STRIDE = 16,                             /* q8: bytes from two tokens' scales to the next two's */
	QMM_CHUNK_STEPS = 4,                               /* of 16 along k in a chunk */
	QMM_STAGES_MAX = 16,
	QMM_ROW_TILES_MAX = 4,
	QMM_WGMMA_TILES_MAX = 2, /* of 64 rows */
	QMM_TOKENS_MAX = 256,
	QMM_CHAINS_MAX = 4,
	QMM_PREPARE_WARPS = 8,
	QMM_PREPARE_TOKENS = 4 /* that a warp prepares */
};

/* quant_matmul_fragments.c: layouts f and g.  A unit is 16 rows by 256 of k, in as many bytes as they have as stored.
 */
struct qmm_unit {
	enum tcb_format_id format;
	unsigned run;                         /* values that share a scale: 16 or 32 */
	unsigned code_words;                  /* of a lane, a chunk */
	unsigned high_words, high_bits;       /* of a lane, a unit, of a code: bits beyond four */
	unsigned high_at, header_at, last_at; /* bytes within the unit; last: Q6_K's d */
	unsigned bytes;
};
void qmm_unit_of(enum tcb_format_id format, struct qmm_unit *out);
/*
 * Where the upper bits are of the first or second (ODD) code of register REG of a step: word of the lane's, bit from
 * which on.  Turned right by TURN, registers 0 and 1, or 2 and 3, have them at bits 4 and 8, where their nibbles end.
 */
struct qmm_high_place {
	unsigned word, bit, turn;
};
void qmm_high_at(const struct qmm_unit *unit, unsigned chunk, unsigned step, unsigned reg, unsigned odd,
		 struct qmm_high_place *out);
size_t qmm_units_along_k(size_t k);
size_t qmm_fragments_bytes(enum tcb_format_id format, size_t n, size_t k);
void qmm_fragments_pack(enum tcb_format_id format, enum tcb_layout layout, size_t n, size_t k, const void *weights,
			void *packed);
void qmm_fragments_unpack(enum tcb_format_id format, enum tcb_layout layout, size_t n, size_t k, const void *packed,
			  void *weights);
/*
 * Layout f: which of a unit's 256 values is at place KK of the matrix instructions' k.  A lane's pairs have a run of
 * the unit's first half and the one 128 values behind it.  Four neighbours of a run go to the same place of four tiles,
 * or to chunks 64 bytes apart of two: so a warp reads activations 512 bytes at a time and stores them without bank
 * conflicts.
 */
static inline unsigned qmm_k_of(unsigned run, unsigned kk)
{
	const unsigned tile = kk / QMM_CHUNK, chunk = kk % QMM_CHUNK / 8, turn = tile / 2;
	const unsigned first = QMM_UNIT_VALUES / 2 * (kk % 2) + kk % 8 / 2 * run;
	if (run == 32)
		return first + 4 * chunk + tile;
	return first + 4 * run * turn + 4 * (chunk % 4) + 2 * (tile % 2) + (chunk / 4 ^ turn);
}

/* A geometry and a problem in numbers. */
struct qmm_gpu {
	unsigned capability;
	struct qmm_unit unit;
	unsigned group; /* contract q8: activations that share a scale; f16: 0 */
	int is_wgmma, own_launch, pdl;
	int is_streamed; /* wgmma: activations pass through a ring that a warp of its own fills */
	int is_rolling;  /* mma: through a ring that all warps fill */
	enum tcb_copy copy;
	enum tcb_join join;
	unsigned rows, row_tiles;       /* of a group: rows, 16-row (mma) or 64-row (wgmma) tiles */
	unsigned tokens, token_groups;  /* of a block: tokens, groups of 8 */
	unsigned warps, threads;        /* that compute; of a block */
	unsigned chains;                /* sums of each output that a warp adds to in turn, so that products
					 * of few tokens need not wait for each other */
	unsigned ksplit, side, splitk;  /* warps of a group; groups side by side; blocks of a row */
	unsigned stages, lead, xstages; /* tiles of weights in flight, before the activations; tiles of activations */
	unsigned cast;                  /* streamed: blocks along x that fetch activations for each other */
	unsigned resident, together;
	unsigned n, m, k;
	unsigned row_units, slice,
		share;          /* units along k: of a row, of a block's part of it, of a warp's part of that */
	unsigned unroll, steps; /* units of a tile, tiles of a share */
	/* In the grid and in arguments, not in the PTX. */
	unsigned groups, token_tiles, grid;
	unsigned least, longer; /* groups of a block; one more in the first LONGER blocks */
	/* memory */
	unsigned block_rows; /* most rows of a block */
	unsigned tile_bytes; /* of weights */
	/* activations: of a unit, tiles (f16) or one record (q8); their bytes, of 8 tokens and of all */
	unsigned unit_tiles, x_group_bytes, x_tile_bytes;
	unsigned x_scale_at, x_sum_at, x_power_at; /* within a record */
	int has_parts;
	unsigned own_rows;               /* most of the block's rows that it adds parts of */
	unsigned part_pitch, part_bytes; /* floats from a row to the next; bytes of a part */
	int x_is_bulk;                   /* the block's activations come by bulk copies, counted by a barrier a unit */
	unsigned x_barrier_at;
	unsigned barrier_at, image_at, part_at, flag_at, shared_bytes;
	unsigned launch_bytes; /* that a launch asks for: no SM holds more blocks than are to be */
	size_t image_bytes, slices_at, counters_at, workspace_bytes;
};

typedef struct tcb_ptx_operand qmm_op;

/* A kernel being written. */
struct qmm_writer {
	struct tcb_ptx_build b;
	const struct qmm_gpu *g;
	qmm_op weights, x, y; /* global; x: the activations, or their image */
	qmm_op rows, tokens;  /* N and M */
	qmm_op padded;        /* own launch: tokens of the image */
	qmm_op slices, counters;
	qmm_op x_barrier, join_barrier;
	qmm_op shared;
	qmm_op tid, lane, warp, ks, side; /* side: which of the groups side by side */
	qmm_op quad, pair;                /* lane / 4: row within 8; lane % 4 */
	qmm_op first_token;               /* of the block */
	qmm_op first, end;                /* the block's groups */
	/* constants in registers */
	qmm_op bias_low, bias_high;    /* what codes in the low, in the high nibbles of a byte are above */
	qmm_op minus_1024, mins_bias;  /* the same of scales and mins of 6 bits */
	qmm_op select_one, select_two; /* a lane's bytes of headers */
	qmm_op start[4];               /* q8: what products are added to */
	int is_direct;                 /* weights come from global memory, not from a ring in shared memory */
};

/* A lane's weights of a unit, as loaded, and its scales: pairs of halves, of its two rows. */
struct qmm_raw {
	qmm_op code[QMM_CHUNKS][8], high[8], header[2][4], last[2];
};
enum { QMM_TURNS_MAX = 2 };
struct qmm_scales {
	qmm_op scale[2][QMM_TURNS_MAX], offset[2]; /* a pair of runs each; offset: what is added */
};

/* What a warp sums up, in the order of the matrix instructions' D. */
struct qmm_sums {
	qmm_op of[QMM_CHAINS_MAX][QMM_ROW_TILES_MAX][QMM_TOKENS_MAX / 8][4];
};

/* quant_matmul_gpu_plan.c: the numbers; GEOMETRY keeps the rules. */
void qmm_gpu_plan(const struct tcb_problem *problem, const struct tcb_target *target,
		  const struct tcb_geometry *geometry, struct qmm_gpu *out);
extern const struct tcb_rule qmm_gpu_rules[];
void qmm_gpu_footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		       const struct tcb_geometry *geometry, struct tcb_footprint *out);

double qmm_gpu_chain(const struct qmm_gpu *g); /* the longest rounding chain of an output */

/* quant_matmul_gpu_space.c */
size_t qmm_gpu_axes(const struct tcb_problem *problem, const struct tcb_target *target,
		    struct tcb_axis out[TCB_AXES_MAX]);
void qmm_gpu_default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			      struct tcb_geometry *out);

/* quant_matmul_gpu_weights.c */
void qmm_write_weight_constants(struct qmm_writer *w);
/* Where a lane's words of a unit at UNIT are; loads of what is AT bytes behind it. */
struct qmm_lane_at {
	qmm_op codes, header, last, high; /* high: layout g */
};
/* A word, two or four; half a word.  To the registers of OUT if it has any, else to new ones. */
void qmm_write_load(struct qmm_writer *w, qmm_op address, unsigned at, qmm_op *out, unsigned count);
void qmm_write_load_half(struct qmm_writer *w, qmm_op address, unsigned at, qmm_op *out);
void qmm_write_lane_at(struct qmm_writer *w, qmm_op unit, struct qmm_lane_at *out);
/* To the registers that OUT has, or new ones where it has none (zeroed). */
void qmm_write_load_header(struct qmm_writer *w, const struct qmm_lane_at *lane, unsigned at, struct qmm_raw *out);
void qmm_write_load_codes(struct qmm_writer *w, const struct qmm_lane_at *lane, unsigned at, unsigned chunk,
			  struct qmm_raw *out);
void qmm_write_scales(struct qmm_writer *w, const struct qmm_raw *raw, struct qmm_scales *out);
/* Minus the mins of runs p and p + 4, exact, lane p of four's, by a row's header. */
qmm_op qmm_write_minus_mins(struct qmm_writer *w, const qmm_op word[4]);
/* The four registers of A of step STEP (16 of k) of chunk CHUNK; those that A has, or new ones. */
void qmm_write_fragment(struct qmm_writer *w, const struct qmm_raw *raw, const struct qmm_scales *scales,
			unsigned chunk, unsigned step, qmm_op a[4]);

/* quant_matmul_gpu_s8.c: contract q8. */
void qmm_write_s8_constants(struct qmm_writer *w);
/* SUMS += a unit's products, its codes and header in RAW, or, where weights come
 * from a ring, AT bytes behind LANE and TILE_ROWS from one tile of rows to the next.  X_AT: where the lane reads of a
 * record of activations, X_OFFSET bytes before the unit's. */
enum qmm_x_part { QMM_X_LOW, QMM_X_HIGH, QMM_X_SUMS, QMM_X_SCALES, QMM_X_PARTS };
void qmm_write_unit_s8(struct qmm_writer *w, const struct qmm_lane_at *lane, unsigned at, unsigned tile_rows,
		       struct qmm_raw raw[], const qmm_op x_at[QMM_X_PARTS], unsigned x_offset,
		       qmm_op sums[][QMM_TOKENS_MAX / 8][4]);

/* quant_matmul_gpu_x_s8.c: 8 consecutive values a lane, 256 a warp, of the token in row ROW of the record at RECORD, in
 * shared or in global memory. */
void qmm_write_x_codes(struct qmm_writer *w, int is_global, qmm_op record, qmm_op row, const qmm_op value[]);

/* quant_matmul_gpu_x.c: activations. */
/* By all threads of a block, of its k and tokens, to shared memory at IMAGE. */
void qmm_write_x_prepare(struct qmm_writer *w, qmm_op image);
/* The same from the image that a launch of its own made: what comes first, and asking; where x_is_bulk each unit of the
 * block's slice has a barrier at X_BARRIER, whose first phase ends when it is there. */
void qmm_write_x_open(struct qmm_writer *w);
void qmm_write_x_copy(struct qmm_writer *w, qmm_op image);
/* By all threads: copies of unit UNIT of the block's slice to a slot, which are waited for by groups. */
void qmm_write_x_ask(struct qmm_writer *w, qmm_op slot, qmm_op unit);
/* Where a lane's row of matrices is in tiles at BASE: ldmatrix.x4 reads 32 of k there, and the tile's other 32. */
void qmm_write_lane_rows(struct qmm_writer *w, qmm_op base, qmm_op out[2]);
/* That launch: QMM_PREPARE_TOKENS tokens by 256 of k a warp. */
void qmm_write_prepare_kernel(struct qmm_writer *w);

/* quant_matmul_gpu_join.c: results. */
/* Before anything is computed; and before the first results: by all of a block's threads. */
void qmm_write_join_open(struct qmm_writer *w);
void qmm_write_join_meet(struct qmm_writer *w);
/* Sums of a warp, in new registers; then those of group GROUP, chains added: to y, or to the parts in shared memory. */
void qmm_write_zero(struct qmm_writer *w, struct qmm_sums *sums);
void qmm_write_results(struct qmm_writer *w, qmm_op group, struct qmm_sums *sums);
/* After all groups: what warps and blocks have of the same rows is added, to y. */
void qmm_write_join(struct qmm_writer *w);
void qmm_write_cluster_barrier(struct qmm_writer *w);
/* Which of the CAST blocks of neighbouring rows this one is. */
qmm_op qmm_write_cast_rank(struct qmm_writer *w);

/* quant_matmul_gpu_mma.c, quant_matmul_gpu_stream.c: a kernel, from its parameters on. */
void qmm_write_mma(struct qmm_writer *w);
void qmm_write_stream(struct qmm_writer *w);
/* SUMS += A * X, 16 of k. */
void qmm_write_multiply(struct qmm_writer *w, qmm_op sums[4], const qmm_op a[4], const qmm_op x[2]);

/* quant_matmul_gpu_wgmma.c: A of two chunks, expanded in turn, so that one can be expanded while the tensor cores read
 * the other. */
struct qmm_chunks {
	qmm_op a[2][QMM_WGMMA_TILES_MAX][QMM_CHUNK_STEPS][4];
	struct qmm_raw raw[QMM_WGMMA_TILES_MAX];
	struct qmm_scales scales[QMM_WGMMA_TILES_MAX];
};
/* The registers of A, which loops then share. */
void qmm_write_chunks_open(struct qmm_writer *w, struct qmm_chunks *c);
/* Chunk CHUNK of the unit that LANE is at, of tiles of 64 rows TILE_BYTES apart; chunk 0 comes first. */
void qmm_write_expand(struct qmm_writer *w, struct qmm_chunks *c, const struct qmm_lane_at *lane, unsigned at,
		      unsigned tile_bytes, unsigned chunk);
/* SUMS += that chunk times the tile of activations at TILE; then waits for all products but these. */
void qmm_write_products(struct qmm_writer *w, struct qmm_chunks *c, unsigned chunk, qmm_op tile, struct qmm_sums *sums);

/* quant_matmul_gpu.c */
void qmm_write_begin(struct qmm_writer *w, const char *name, unsigned threads, unsigned blocks);
/* What every kernel begins with: parameters, threads, the block's groups. */
void qmm_write_parameters(struct qmm_writer *w);
qmm_op qmm_write_constant(struct qmm_writer *w, const char *type, qmm_op value); /* in a new register */
/* BASE + INDEX * BYTES, in global memory. */
qmm_op qmm_write_element(struct qmm_writer *w, qmm_op base, qmm_op index, unsigned bytes);
/* The address of the 16 rows I of group GROUP in the packed weights, from the block's k on; those of the last rows
 * where there are none. */
qmm_op qmm_write_rows_at(struct qmm_writer *w, qmm_op group, qmm_op i);
/* Waits for BARRIER's phase of PARITY. */
void qmm_write_wait(struct qmm_writer *w, qmm_op barrier, qmm_op parity);
enum tcb_status qmm_emit(const struct tcb_problem *problem, const struct tcb_target *target,
			 const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err);
extern const struct tcb_variant qmm_gpu_variants[];

#endif
