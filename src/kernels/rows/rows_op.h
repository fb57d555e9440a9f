/* SPDX-License-Identifier: MIT
 *
 * What an op on rows of f32 says of itself to those who plan, run and write it (rows.h, rows_gpu.h).
 */
#ifndef TCB_KERNELS_ROWS_OP_H
#define TCB_KERNELS_ROWS_OP_H

#include "kernels/op.h"

enum { ROWS_NO_OPERAND = -1 };

struct rows_call;
struct rows_row;
struct tcb_rng;
struct tcb_rows_math;
struct rows_wgsl_math;

/* One row as the reference sees it (rows_reference.c). */
struct rows_line {
	const float *x, *weight, *bias; /* NULL where the op has none */
	size_t n;
	double eps;     /* of a norm */
	double *kept;   /* room for N values, from statistics to results; NULL: there is none */
	double stat[3]; /* the op's */
};

struct rows_op {
	int x, y, weight, bias; /* operand numbers, or ROWS_NO_OPERAND */
	unsigned forms;         /* bit 1u << enum tcb_form: offered, the first one is the default */
	unsigned kept_forms;    /* of these, the ones that keep a value an element between REDUCE and APPLY */
	unsigned part_forms;    /* and the ones that go over a row in one call, in parts of midi.n */
	int has_groups;         /* the micro-kernel does GROUP */
	size_t stats;
	unsigned sums;      /* accumulators of a chain */
	unsigned registers; /* of the inner loop beside its accumulators */
	struct {            /* the default geometry of rows beyond a step, and of data beyond the caches (stages) */
		enum tcb_form form;
		size_t part;          /* midi.n, where FORM has parts */
		size_t lanes, chains; /* vectors of at most LANES, and how many of them */
		int32_t stages;
	} long_rows;
	void (*combine)(struct rows_row *row);
	/* REDUCE and APPLY in scalar double, for blocks whose statistics are not finite in f32; NULL where f32 does. */
	void (*wide)(struct rows_call *call);
	/* The bound of the op's results (struct tcb_plan) for blocks of BLOCK columns, of which a statistic's longest
	 * chain of roundings is CHAIN. */
	void (*bound)(enum tcb_form form, size_t block, double chain, struct tcb_plan *plan);
	struct {
		/* Random values of row R of a problem: rows of several kinds in turn. */
		void (*fill_row)(struct tcb_rng *rng, size_t r, size_t n, float *x);
		/* The reference in double: what all results of LINE depend on, to its stat and kept; then COUNT of them
		 * from column FIRST on, to arrays that begin there (struct tcb_reference), of which Y may be where KEPT
		 * is. */
		void (*statistics)(struct rows_line *line);
		void (*results)(const struct rows_line *line, size_t first, size_t count, double *y, double *magnitude,
				double *extra);
		/* Sums of LINE's results (reference_sums), of as many blocks as there are, FACTOR of each column; NULL:
		 * what statistics and results say, added up.  All of x is finite. */
		void (*add_up)(struct rows_line *line, const double *factor, double *y, double *magnitude,
			       double *extra);
	} reference;
	double flops;                      /* of an element */
	const struct tcb_rows_math *gpu;   /* rows_gpu.h */
	const struct rows_wgsl_math *wgsl; /* rows_wgsl.h */
};

/* Operands without words; with the word add two more, what is added to x, and the sum, which is normalised. */
static inline size_t rows_count(const struct rows_op *rows)
{
	return 2 + (size_t)(rows->weight >= 0) + (size_t)(rows->bias >= 0);
}
static inline size_t rows_added(const struct rows_op *rows)
{
	return rows_count(rows);
}
static inline size_t rows_sum(const struct rows_op *rows)
{
	return rows_count(rows) + 1;
}

static inline const struct rows_op *rows_of(const struct tcb_problem *problem)
{
	return problem->op->member;
}

/* Of x, of what is added to it and of their sum; and of y. */
static inline enum tcb_type rows_x_type(const struct tcb_problem *problem)
{
	return tcb_worded_type(problem->shape.words.x_type, TCB_TYPE_F32);
}
static inline enum tcb_type rows_y_type(const struct tcb_problem *problem)
{
	return tcb_worded_type(problem->shape.words.y_type, TCB_TYPE_F32);
}
static inline int rows_has_halves(const struct tcb_problem *problem)
{
	return rows_x_type(problem) != TCB_TYPE_F32 || rows_y_type(problem) != TCB_TYPE_F32;
}

#endif
