/* SPDX-License-Identifier: MIT
 *
 * What ops on rows (softmax, norms) share on a GPU.  In: a problem of M rows of
 * N floats, a geometry, and what the op does with a row (struct tcb_rows_math).
 * Out: a module of PTX and its launches.
 *
 * Every such op is the same in form.  Each warp reduces what it has of a row to
 * a part, a few floats; the parts of all warps that share the row are joined to
 * the row's statistics, once, in a fixed order; with these a lane turns each
 * value into a result.
 *
 * How a geometry drives a kernel.  ksplit warps of a block and splitk blocks
 * share a row; warps / ksplit rows (midi.m) go side by side in a block.  A lane
 * takes vec bytes at a time (a vector); the threads of a block that share a row
 * take neighbouring vectors, so many columns are a pass.  Where a row waits
 * between its statistics and its results, xin: in registers, in shared memory,
 * or it is read again (l2).  Registers hold all of a lane's vectors; else unroll
 * vectors are in flight.  Rows come by loads (copy=ldg) or are copied to shared
 * memory ahead (async: by each lane what it needs, bulk: by one thread whole
 * rows).  blocks = 0: a block ends after its rows; else blocks * SMs blocks stay
 * and `stages` rows of each are on their way.  Blocks that share a row join
 * their parts through distributed shared memory (join=cluster), by a second
 * launch (launch), or do without: each reduces the whole row (whole).
 * lead = 1: arrays of a value per column are loaded before the rows.
 *
 * Rows that do not fit into a block wait in those of a cluster (join=cluster), and are read once.  With stages=1 and
 * blocks above 0 each warp has a share of the row for itself, one run of columns, which comes by bulk copies in pieces
 * of `unroll` vectors per lane, into a ring of its own of as many slots as the block's memory has room for.  Statistics
 * are taken of a piece when it is there; where its results are out, its slot takes the next piece that is not on its
 * way yet, of this row or of the block's next.  So warps wait for each other at nothing but the row's statistics, and
 * copies go on meanwhile.
 *
 * With the word add rows are x + added, by loads alone, and results go out beside the sums; these may be where x is, so
 * nobody reads of it what another block writes.  Rows of f16 or bf16 come by loads, too, and are floats in registers;
 * a sum is rounded to their type before anything is made of it.
 *
 * Rows whose length is not a multiple of a vector begin anywhere in one.  Their vectors are those of the array (a
 * shifted row): whole ones, from the first that begins in the row on, as in other rows; the few values before and
 * behind them are the row's edge, one each for the row's first threads.  A value per column is then put together of two
 * vectors.
 */
#ifndef TCB_KERNELS_ROWS_GPU_H
#define TCB_KERNELS_ROWS_GPU_H

#include "kernels/gpu/ring.h"
#include "kernels/rows/rows_op.h"

enum {
	TCB_ROWS_CLUSTER_MOST = 16, /* blocks, where they are not bound to run on every GPU with clusters */
	TCB_ROWS_VALUES_MAX = 128,  /* of a row in a lane's registers */
	TCB_ROWS_PART_MAX = 4,      /* floats of a part */
	TCB_ROWS_STAT_MAX = 4,
	TCB_ROWS_STATE_MAX = 4,
	TCB_ROWS_WEIGHTS_MAX = 2,
	TCB_ROWS_CHUNKS_MAX = 8, /* parts that a lane joins */
	TCB_ROWS_UNROLL_MAX = 8,
	TCB_ROWS_STAGES_MAX = 4,
	TCB_ROWS_N_MAX = 1 << 28,
	TCB_ROWS_PIECES_MIN = 1 << 14 /* values of a row, for in pieces in a default space */
};

/* Squares of a row of the largest floats add up when they are taken this many times. */
#define TCB_ROWS_RESCUE 0x1p-80f

/* A geometry and a problem in numbers. */
struct tcb_rows_gpu {
	unsigned capability;
	unsigned n, m;
	unsigned width;       /* floats of a vector */
	unsigned shifted;     /* rows begin anywhere in a vector */
	unsigned least, most; /* columns in whole vectors that another is behind, and in whole vectors, of any row; n */
	unsigned warps, ksplit, rows, splitk, stages, resident, together, unroll, lead;
	enum tcb_copy copy;
	enum tcb_xin keep;
	enum tcb_join join;
	int pdl, stream;
	int is_added;                 /* the word add */
	enum tcb_type x_type, y_type; /* of x, what is added and the sums; of y */
	unsigned x_bytes, y_bytes;    /* of an element */
	unsigned pass, passes, slice; /* columns of a pass; passes and columns of a block's part of a row */
	unsigned parts;               /* of a row */
	unsigned tiles, grid;         /* not in the PTX */
	/* rows in pieces: the slice is a warp's; columns of a piece, slots of a warp's ring */
	int has_pieces;
	unsigned piece, slots;
	/* shared memory: ring of rows, barriers, parts; in pieces and lead: a value per column */
	unsigned slot_bytes, edge_at, barrier_at, parts_at, parts_bytes, lead_at, lead_bytes, shared_bytes;
	size_t workspace_bytes;
};

/* Consecutive vectors of a lane. */
struct tcb_rows_values {
	unsigned count; /* vectors; as many times width values */
	unsigned edge;  /* 1: a value of the edge behind them, as if it were a vector */
	kit_op value[TCB_ROWS_VALUES_MAX + 1];
	/* of each vector: is it a column of the row?  Only where UNSURE. */
	kit_op present[TCB_ROWS_VALUES_MAX + 1];
	unsigned char unsure[TCB_ROWS_VALUES_MAX + 1];
};

struct tcb_rows_writer;

/* What an op does with a row. */
struct tcb_rows_math {
	const char *name; /* of the kernels */
	unsigned input, output, weights,
		weight[TCB_ROWS_WEIGHTS_MAX]; /* operands; how many arrays of a value per column */
	unsigned part;                        /* floats: 1, 2 or 4 */
	float absent;                         /* what columns past the end read as */
	struct {
		/* The warp's part of values held in registers, in every lane; VALUES may become what RESULT takes. */
		void (*reduce)(struct tcb_rows_writer *w, struct tcb_rows_values *values, kit_op *part);
		/* The same of values that come one after another: a lane's state (registers), the warp's part in the
		 * end. */
		void (*begin)(struct tcb_rows_writer *w, kit_op *state);
		void (*add)(struct tcb_rows_writer *w, const struct tcb_rows_values *values, kit_op *state);
		void (*close)(struct tcb_rows_writer *w, const kit_op *state, kit_op *part);
		/* Is PART not to be had in f32?  Then it is worked out again of values times TCB_ROWS_RESCUE
		 * (w->is_rescue).  NULL: it always is. */
		kit_op (*is_lost)(struct tcb_rows_writer *w, const kit_op *part);
	} to_part;
	/* Statistics of the row.  Lanes hold COUNT parts each, repeated every LANES lanes; OWN is the warp's. */
	void (*join)(struct tcb_rows_writer *w, kit_op (*parts)[TCB_ROWS_PART_MAX], unsigned count, unsigned lanes,
		     const kit_op *own, kit_op *stat);
	/* Results in place of VALUES: as REDUCE left them, or as read (IS_RAW). */
	void (*result)(struct tcb_rows_writer *w, struct tcb_rows_values *values, const struct tcb_rows_values *weights,
		       const kit_op *stat, int is_raw);
	/* The bound of the results (struct tcb_kernel: chain and ulps). */
	void (*bound)(const struct tcb_rows_gpu *g, struct tcb_kernel *out);
	unsigned registers;   /* of a lane beside values, weights and the ring */
	unsigned temporaries; /* one more for as many values held; 0: none */
};

/* Where a shifted row is. */
struct tcb_rows_shift {
	kit_op head;   /* .u32: columns before the first vector */
	kit_op bit[2]; /* of head */
	/* In x, and in y: bytes from the array's beginning to the first vector, .u64; columns in whole vectors */
	kit_op from[2], end;
	/* The thread's value of the edge: is there one, here and in any block of the row; its column; bytes from the
	 * array's beginning, in x and in y, .u64. */
	kit_op has_edge, is_edge, edge_column, edge[2];
};

/* A kernel being written. */
struct tcb_rows_writer {
	struct tcb_kit kit;
	const struct tcb_rows_gpu *g;
	const struct tcb_rows_math *math;
	kit_op x, y, weight[TCB_ROWS_WEIGHTS_MAX];                /* global: the lane's first column of row 0 */
	kit_op x_base, y_base, weight_base[TCB_ROWS_WEIGHTS_MAX]; /* shifted rows: the arrays */
	kit_op parts;                                             /* join=launch: the workspace's */
	kit_op added, sum;      /* the word add: bytes from x to what is added, and to the sums, .u64 */
	kit_op last_row, tiles; /* M - 1; tiles of rows */
	kit_op ks, rw, thread;  /* the row's of the block, the last one among these threads */
	kit_op slice;           /* of the block */
	/* The lane's first column in the slice; in the row; the slice's end there.  The first in bytes, of f32. */
	kit_op place, column, end, place_bytes;
	kit_op row, has_row; /* the warp's of the tile; is it one (rows > 1) */
	kit_op buffer;       /* bytes: which of the two sets of parts (resident) */
	int is_met;          /* the cluster's blocks are known to have started */
	struct tcb_rows_values held;
	struct tcb_rows_shift shift; /* of the row */
	int is_rescue;               /* values count TCB_ROWS_RESCUE times */
	struct tcb_kit_ring ring;    /* of the warp's row; in pieces: where its next statistics are */
	kit_op is_filler, slice_bytes;
	/* in pieces: where the row's results are, in the same ring; columns of the share; where values per column
	 * are */
	struct tcb_kit_ring back;
	kit_op columns, lead, lead_barrier;
	struct {
		kit_op tile, step, left, from; /* the next piece to ask for: its row; columns from it on; address */
		kit_op to_next_row;            /* bytes, from behind a row's last piece */
	} fill;
};

/* rows_gpu_plan.c */
void tcb_rows_gpu_plan(const struct tcb_problem *problem, const struct tcb_target *target,
		       const struct tcb_geometry *geometry, struct tcb_rows_gpu *out);
void tcb_rows_gpu_footprint(const struct tcb_problem *problem, const struct tcb_target *target,
			    const struct tcb_geometry *geometry, struct tcb_footprint *out);
/* Additions that a term of a sum over a row goes through, and times that a running state is rescaled. */
unsigned tcb_rows_gpu_chain(const struct tcb_rows_gpu *g);
unsigned tcb_rows_gpu_steps(const struct tcb_rows_gpu *g);

/* Do rows wait in pieces: blocks that stay, and do not have whole rows on their way? */
int tcb_rows_gpu_has_pieces(const struct tcb_geometry *geometry);
/* Columns of the slice that each of BLOCKS has of a row of N values that is not shifted: whole passes, or where the
 * last block had none then, as many as the others. */
size_t tcb_rows_gpu_slice(size_t n, unsigned blocks, unsigned pass, unsigned passes);
/* In pieces: columns of the share that each of WARPS has of a row of N values, and vectors that each of its lanes has.
 */
size_t tcb_rows_gpu_share(size_t n, size_t warps);
unsigned tcb_rows_gpu_vectors(size_t n, unsigned warps);
/* The most blocks of a cluster; of a kernel of another GPU's: 1. */
unsigned tcb_rows_gpu_cluster_most(const struct tcb_target *target);

/* rows_gpu_rules.c */
/* The rules of all row ops; those of ops without arrays of a value per column. */
/* rows_gpu_rules.c: can a kernel be written for GEOMETRY, is it of the default space but for what is unusual, and does
 * a multiprocessor hold it?  (What is unusual is none of the default's business, which asks this.) */
int tcb_rows_gpu_is_built(const struct tcb_problem *problem, const struct tcb_target *target,
			  const struct tcb_geometry *geometry);
extern const struct tcb_rule tcb_rows_gpu_rules[], tcb_rows_gpu_plain_rules[];

/* Bytes of vectors that all rows of N values begin at multiples of; of the widest that they are taken in. */
unsigned tcb_rows_gpu_even(size_t n);
unsigned tcb_rows_gpu_widest(size_t n);
/* The most blocks that share a row so that there are enough of them. */
size_t tcb_rows_gpu_shares(const struct tcb_problem *problem, const struct tcb_target *target);
extern const struct tcb_side_space tcb_rows_gpu_space, tcb_rows_gpu_plain_space;

/* rows_gpu_shift.c: shifted rows. */
/* Values of all of VALUES' vectors and of their edge. */
unsigned tcb_rows_floats(const struct tcb_rows_writer *w, const struct tcb_rows_values *values);
/* Is the vector AHEAD columns behind COLUMN before END?  In the slice it is as far behind the lane's, and DONE. */
kit_op tcb_rows_is_vector(struct tcb_rows_writer *w, kit_op column, kit_op end, kit_op done, unsigned ahead);
void tcb_rows_write_shift(struct tcb_rows_writer *w, kit_op row, struct tcb_rows_shift *out);
/* Of vectors FIRST passes behind the lane's column AT: are they there?  Those that may not be are marked. */
void tcb_rows_write_presence(struct tcb_rows_writer *w, const struct tcb_rows_shift *shift,
			     struct tcb_rows_values *values);
/* The values per column of array INDEX that belong to VALUES, whose first vector is BYTES (.u64) behind the lane's. */
void tcb_rows_write_shifted_weights(struct tcb_rows_writer *w, unsigned index, kit_op bytes,
				    struct tcb_rows_values *values);

/* rows_gpu_io.c: values on their way.  FROM and TO are addresses of the lane's first vector. */
enum tcb_rows_source { TCB_ROWS_ONCE, TCB_ROWS_TWICE, TCB_ROWS_WEIGHT, TCB_ROWS_SHARED };
/* VALUES (count, present and unsure are set) to new registers; with AGAIN_IF to those there, if it holds. */
void tcb_rows_write_load(struct tcb_rows_writer *w, enum tcb_rows_source source, kit_op from,
			 struct tcb_rows_values *values, const kit_op *again_if);
void tcb_rows_write_store(struct tcb_rows_writer *w, kit_op to, const struct tcb_rows_values *values);
/* With the word add: the sums, which VALUES are still, AT bytes behind FROM, where x has them. */
void tcb_rows_write_sums(struct tcb_rows_writer *w, kit_op from, int64_t at, const struct tcb_rows_values *values);
/* A ring of rows in shared memory for each row of a tile. */
void tcb_rows_write_ring_open(struct tcb_rows_writer *w);
/* Asks for TILE, if there is one, into slot WHICH (tcb_kit_ring_slot). */
void tcb_rows_write_ring_fill(struct tcb_rows_writer *w, kit_op tile, int which);

/* rows_gpu_pieces.c: rows in pieces. */
/* Where the thread's share of all rows is. */
void tcb_rows_write_share(struct tcb_rows_writer *w);
/* Sets up the rings and asks for the first pieces, from row TILE on; every STEP-th row is the block's. */
void tcb_rows_write_pieces_open(struct tcb_rows_writer *w, kit_op tile, kit_op step);
/* The row's statistics to STATE; its results to w->row, with the statistics STAT. */
void tcb_rows_write_pieces_statistics(struct tcb_rows_writer *w, kit_op *state);
void tcb_rows_write_pieces_results(struct tcb_rows_writer *w, const kit_op *stat);

/* rows_gpu.c */
enum tcb_status tcb_rows_gpu_emit(const struct tcb_problem *problem, const struct tcb_target *target,
				  const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err);

/* Of all lanes' COUNT parts each, repeated every LANES lanes, the smallest of what their values were multiplied with (1
 * or TCB_ROWS_RESCUE), which is float AT of a part; and what brings PART to SCALE. */
kit_op tcb_rows_least_scale(struct tcb_rows_writer *w, kit_op (*parts)[TCB_ROWS_PART_MAX], unsigned at, unsigned count,
			    unsigned lanes);
kit_op tcb_rows_to_scale(struct tcb_rows_writer *w, const kit_op *part, unsigned at, kit_op scale);

/* The side for GPUs of the op NAME, whose geometries are of SPACE. */
#define ROWS_GPU_SIDE(name_, space_)                                                                         \
	const struct tcb_side name_##_gpu = { .variants = TCB_EMITTED(                                       \
						      TCB_EMITTED_ROW(#name_ "_f32_ptx", F32, FMA, APPROX)), \
					      .space = &(space_),                                            \
					      .emit = tcb_rows_gpu_emit }

#endif
