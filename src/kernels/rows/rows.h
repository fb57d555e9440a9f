/* SPDX-License-Identifier: MIT
 *
 * What the ops on rows of f32 share (softmax, rmsnorm, layernorm): each row is reduced to a few statistics, and these
 * are applied to its elements.  An op fills a struct rows_op and writes a micro-kernel; the loops, the plan, the axes
 * of the space and the numbers for the constraints are here.  No op of the registry by itself.
 *
 * The geometry drives the loops (rows.c):
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
 * On a GPU a geometry drives kernels as rows_gpu.h says.
 */
#ifndef TCB_KERNELS_ROWS_H
#define TCB_KERNELS_ROWS_H

#include <stddef.h>

#include "kernels/op.h"

enum {
	ROWS_STATS_MAX = 2,
	ROWS_NO_OPERAND = -1,
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
	/* out: the row's numbers are so large that APPLY must be done in double, with these. */
	int is_wide;
	double wide_factor, wide_shift;
};

struct tcb_rows_math;

struct rows_op {
	const struct tcb_op *op;
	int x, y, weight, bias; /* operand numbers, or ROWS_NO_OPERAND */
	unsigned forms;         /* bit 1u << enum tcb_form: offered, the first one is the default */
	unsigned kept_forms;    /* of these, the ones that keep a value an element between REDUCE and APPLY */
	unsigned part_forms;    /* and the ones that go over a row in one call, in parts of midi.n */
	int has_groups;         /* the micro-kernel does GROUP */
	size_t stats;
	unsigned sums;      /* accumulators of a chain */
	unsigned registers; /* of the inner loop beside its accumulators */
	/* The default geometry of rows beyond a step, and of data beyond the caches (stages, asks). */
	enum tcb_form long_form;
	size_t long_lanes, long_chains; /* vectors of at most LANES, and how many of them */
	int32_t long_stages, long_asks;
	size_t long_part; /* midi.n, where LONG_FORM has parts */
	void (*combine)(struct rows_row *row);
	/* REDUCE and APPLY in scalar double, for blocks whose statistics are not finite in f32; NULL where f32 does. */
	void (*wide)(struct rows_call *call);
	/* The bound of the op's results (struct tcb_plan) for blocks of BLOCK columns, of which a statistic's longest
	 * chain of roundings is CHAIN. */
	void (*bound)(enum tcb_form form, size_t block, double chain, struct tcb_plan *plan);
	const struct tcb_rows_math *gpu; /* rows_gpu.h; NULL: no kernels for GPUs */
};

/* Whether a step of CHAINS vectors is built for rows that are longer, too; the others hold whole rows only. */
static inline int rows_has_loops(size_t chains)
{
	return chains == 2 || chains == ROWS_CHAINS_MOST;
}

/* rows.c */
enum tcb_status rows_check_shape(const struct tcb_op *op, const struct tcb_shape *shape, struct tcb_error *err);
enum tcb_status rows_plan(const struct rows_op *rows, const struct tcb_problem *problem,
			  const struct tcb_geometry *geometry, struct tcb_plan *out, struct tcb_error *err);
void rows_run(const struct rows_op *rows, const struct tcb_plan *plan, void *const operand[], void *workspace,
	      struct tcb_pool *pool);

/* rows_space.c */
size_t rows_lanes(enum tcb_isa isa); /* floats in a vector; 0 where nothing is built */
enum tcb_form rows_first_form(const struct rows_op *rows);
extern const struct tcb_rule rows_cpu_rules[];
size_t rows_axes(const struct rows_op *rows, const struct tcb_problem *problem, const struct tcb_target *target,
		 struct tcb_axis out[TCB_AXES_MAX]);
/* Whole rows and the widest vectors; of data beyond the caches with stores past them and prefetches of the next row. */
void rows_default_geometry(const struct rows_op *rows, const struct tcb_problem *problem,
			   const struct tcb_target *target, struct tcb_geometry *out);
void rows_footprint(const struct rows_op *rows, const struct tcb_problem *problem, const struct tcb_target *target,
		    const struct tcb_geometry *geometry, struct tcb_footprint *out);

/* The callbacks of struct tcb_op that need to know which op they are of: static functions OP_plan, OP_run, OP_axes,
 * OP_default_geometry and OP_footprint for the op that ROWS, a struct rows_op, describes. */
#define ROWS_CALLBACKS(op, rows)                                                                                 \
	static enum tcb_status op##_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry, \
					 struct tcb_plan *out, struct tcb_error *err)                            \
	{                                                                                                        \
		return rows_plan(&(rows), problem, geometry, out, err);                                          \
	}                                                                                                        \
	static void op##_run(const struct tcb_plan *plan, void *const operand[], void *workspace,                \
			     struct tcb_pool *pool)                                                              \
	{                                                                                                        \
		rows_run(&(rows), plan, operand, workspace, pool);                                               \
	}                                                                                                        \
	static size_t op##_axes(const struct tcb_problem *problem, const struct tcb_target *target,              \
				struct tcb_axis out[TCB_AXES_MAX])                                               \
	{                                                                                                        \
		return rows_axes(&(rows), problem, target, out);                                                 \
	}                                                                                                        \
	static void op##_default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,    \
					  struct tcb_geometry *out)                                              \
	{                                                                                                        \
		rows_default_geometry(&(rows), problem, target, out);                                            \
	}                                                                                                        \
	static void op##_footprint(const struct tcb_problem *problem, const struct tcb_target *target,           \
				   const struct tcb_geometry *geometry, struct tcb_footprint *out)               \
	{                                                                                                        \
		rows_footprint(&(rows), problem, target, geometry, out);                                         \
	}

#endif
