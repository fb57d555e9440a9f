/* SPDX-License-Identifier: MIT
 *
 * What the ops on rows of f32 share (softmax, rmsnorm, layernorm): each row is reduced to a few statistics, and these
 * are applied to its elements.  An op fills a struct rows_op (rows_op.h) and writes a micro-kernel; the loops, the
 * plan, the axes of the space and the numbers for the constraints are here.  No op of the registry by itself.
 *
 * The geometry drives the loops (rows_run.c):
 *   macro M x n x 1   a row's columns are cut into strips of n, one task each; n < N lets threads share a row
 *   midi  m x n x 1   one task: m rows of a strip, taken in column blocks of n; of some forms the parts of one call
 *   micro 1 x n x 1   columns of one step of the micro-kernel: lanes x independent chains; rows that fit into one step
 *                     stay in registers from load to store, longer ones are taken in steps of 2 or 4 chains
 * stages=1: x is prefetched while a row is reduced; 2: while the row before it is stored, so that memory is read and
 * written at the same time; 3: a row is stored by the loop that reduces the next one, so that arithmetic goes on
 * meanwhile, too; 4: the same with the midi.m rows of a task, which take turns at every block of columns, so that what
 * rows share (weights) is still in the first cache when the next row needs it.  prefetch is the distance in bytes; of
 * stages above 1 a row's length is the one to try, of 4 that of a task's rows, to the second cache (hint=t1).  asks is
 * how often each line is asked for (rows_vec.h says why more than once).
 * Each block is reduced on its own; when all blocks of a row are known the op combines them in double, in order, so
 * results depend on the geometry's columns only and never on threads.
 *
 * On a GPU a geometry drives kernels as rows_gpu.h says, in WGSL as rows_wgsl.h does, which promises less of NaNs,
 * infinities and overflow than the ops do elsewhere.
 */
#ifndef TCB_KERNELS_ROWS_H
#define TCB_KERNELS_ROWS_H

#include <stddef.h>

#include "kernels/rows/rows_op.h"
#include "kernels/simd/isas.h"

enum {
	ROWS_STATS_MAX = 2,
	ROWS_ASKS_MAX = 4,
	ROWS_CHAINS_MOST = 4,
	ROWS_STAGES_GROUPED = 4,
	ROWS_GROUP_MAX = 8, /* rows of a task then: their elements wait in the second cache, twice */
};

enum rows_stage {
	ROWS_REDUCE, /* statistics of one block; some forms leave e for APPLY */
	ROWS_APPLY,  /* results of one block from x, or from e where the form left it */
	ROWS_WHOLE,  /* all of several rows of at most micro.n columns each */
	ROWS_GROUP   /* REDUCE of several rows, which take turns at every part of their columns */
};

/* What an operation of the reference takes one thread: 12 ns and more per element, most of it for fresh memory, which
 * the three doubles take. */
#define ROWS_REFERENCE_FLOP_NS 3

/* One micro-kernel call. */
struct rows_row;
struct rows_call {
	enum rows_stage stage;
	enum tcb_form form;
	size_t count; /* columns, >= 1 */
	const float *x;
	float *e; /* REDUCE writes it and APPLY reads it, in forms that keep it; may be y */
	float *y;
	const float *weight, *bias; /* of these columns; NULL where the op has none */
	size_t part;                /* of forms with parts, and of GROUP: columns of each */
	float *parts;               /* of such forms: a factor of each part, which REDUCE writes and APPLY reads */
	const double *before; /* REDUCE: statistics of the block before this one in the strip; NULL for the first */
	float factor, shift;  /* APPLY: as combine() says */
	double wide_factor, wide_shift;
	size_t rows, stride; /* WHOLE, GROUP: rows, and floats from one to the next in x and y */
	int stream;          /* APPLY, WHOLE: store past the caches; rows of y are aligned to 64 bytes then */
	int fence;           /* make this and earlier streamed stores visible to other threads before returning */
	size_t prefetch;     /* bytes ahead in x, 0 for none */
	enum tcb_hint hint;  /* which cache level to prefetch to */
	int asks;            /* 1, or with hint=t1 also 2 or ROWS_ASKS_MAX */
	const struct rows_call
		*late; /* REDUCE: the APPLY to do on the way, of the row before and as many columns; or NULL */
	const struct rows_row *done; /* GROUP: what tells about each row of late, which is the first of as many */
	double *group_stats;         /* GROUP: out, [row][rows_op.stats] */
	double stat[ROWS_STATS_MAX]; /* out, REDUCE */
	size_t rows_done;            /* out, WHOLE: less than rows where a row needs the wide path */
	double eps;                  /* of a norm */
};
typedef void rows_micro_fn(struct rows_call *call);

/* The statistics of all blocks of one row come in; what APPLY needs goes out. */
struct rows_row {
	rows_micro_fn *micro;
	enum tcb_form form;
	size_t n, block, blocks; /* columns; of a block, the last one may have fewer; blocks */
	const double *stats;     /* [block][rows_op.stats] */
	float *factors;          /* out: [block] */
	float shift;             /* out */
	double eps;              /* of a norm */
	/* out: the row's numbers are so large that APPLY must be done in double, with these. */
	int is_wide;
	double wide_factor, wide_shift;
};

/* Of norms. */
enum { ROWS_NORM_WORDS = 1u << TCB_WORD_EPS | 1u << TCB_WORD_ADD | 1u << TCB_WORD_X_TYPE | 1u << TCB_WORD_Y_TYPE };
/* What a norm adds to what it divides by the root of. */
#define ROWS_EPS 1e-5
static inline double rows_eps(const struct tcb_shape *shape)
{
	return shape->words.eps ? tcb_words_power(shape->words.eps) : ROWS_EPS;
}

/* Whether a step of CHAINS vectors is built for rows that are longer, too; the others hold whole rows only. */
static inline int rows_has_loops(size_t chains)
{
	return chains == 2 || chains == ROWS_CHAINS_MOST;
}

/* rows_plan.c */
size_t rows_operands(const struct tcb_problem *problem, struct tcb_operand out[TCB_OPERANDS_MAX]);
double rows_flops(const struct tcb_problem *problem);
double rows_traffic(const struct tcb_problem *problem);
enum tcb_status rows_check_shape(const struct tcb_op *op, const struct tcb_shape *shape, struct tcb_error *err);
enum tcb_status rows_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry, struct tcb_plan *out,
			  struct tcb_error *err);
/* rows_run.c */
void rows_run(const struct tcb_plan *plan, void *const operand[], void *workspace, struct tcb_pool *pool);

/* rows_reference.c */
size_t rows_fill_parts(const struct tcb_problem *problem);
void rows_fill_part(const struct tcb_problem *problem, uint64_t seed, void *const operand[], size_t part);
void rows_reference(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out);
void rows_reference_sums(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out);
size_t rows_drawn_columns(const struct tcb_problem *problem); /* a row's come together */

/* rows_cpu_space.c */
extern const struct tcb_side_space rows_cpu_space;
enum tcb_form rows_first_form(const struct rows_op *rows);

/* The op NAME and its side for CPUs, with what it does not share with the others on rows; a struct rows_op tells more.
 * NAME_gpu is its side for GPUs (ROWS_GPU_SIDE). */
/* WORDS: of its shapes. */
#define ROWS_OP(name_, rows_, words_, summary_, ...)                                               \
	static const struct tcb_shape default_shapes[] = { __VA_ARGS__ };                          \
	TCB_VARIANT_TABLES(variants, TCB_ISAS_FLOATS, name_##_variants)                            \
	static const struct tcb_side name_##_cpu = {                                               \
		.variants = variants, .space = &rows_cpu_space, .plan = rows_plan, .run = rows_run \
	};                                                                                         \
	const struct tcb_op tcb_op_##name_ = {                                                     \
		.name = #name_,                                                                    \
		.summary = summary_,                                                               \
		.shape_form = "MxN",                                                               \
		.words = (words_) | UINT64_C(1) << TCB_WORD_BITS,                                  \
		.member = &(rows_),                                                                \
		.contracts = 1u << TCB_CONTRACT_F32,                                               \
		.default_contract = TCB_CONTRACT_F32,                                              \
		.default_shapes = default_shapes,                                                  \
		.default_shape_count = sizeof(default_shapes) / sizeof(default_shapes[0]),         \
		.side = TCB_SIDES(&name_##_cpu, &name_##_gpu, &name_##_wgsl),                      \
		.check_shape = rows_check_shape,                                                   \
		.operands = rows_operands,                                                         \
		.fill = tcb_fill_in_parts,                                                         \
		.fill_parts = rows_fill_parts,                                                     \
		.fill_part = rows_fill_part,                                                       \
		.reference = rows_reference,                                                       \
		.drawn_columns = rows_drawn_columns,                                               \
		.reference_flop_ns = ROWS_REFERENCE_FLOP_NS,                                       \
		.reference_sums = rows_reference_sums,                                             \
		.flops = rows_flops,                                                               \
		.traffic = rows_traffic,                                                           \
	}

#endif
