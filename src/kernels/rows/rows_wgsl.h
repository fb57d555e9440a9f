/* SPDX-License-Identifier: MIT
 *
 * What ops on rows (softmax, norms) share in WGSL.  In: a problem of M rows of N
 * floats, a geometry, and what the op does with a row (struct rows_wgsl_math).
 * Out: a module and its launches.
 *
 * How a geometry drives a kernel.  A workgroup has midi.m rows side by side, of each as many invocations next to
 * each other: a row's team.  An invocation takes vec bytes at a time (a vector, micro), which rows are whole numbers
 * of; unroll vectors of each, a team apart, are a step.  Where a row waits between its statistics and its results,
 * xin: in registers (regs, of rows that are one step), or it is read again (l2).  What is read again is gone over
 * as form says: twopass takes the maximum or the mean first, onepass keeps up a running one.  Splitk workgroups
 * share a row (midi.n), whose parts a second launch brings together (join=launch).  lead=1: arrays of a value per
 * column are loaded before the statistics are known.  With the word add rows are x + added, wherever they are read,
 * and go out beside the results.  Of halves (the words xf16, ybf16, ...) a vector takes half of vec bytes, in words of
 * two: rows have an even number of values then.
 *
 * What is promised.  WGSL lets a device take it that there are no NaNs and no infinities, and flush what is below
 * 2^-126 (WGSL, "Floating Point Evaluation").  So results are within the bound for rows of finite values
 * whose sums, of squares for norms, are finite in f32, and nothing is promised for others: neither what the
 * op's header says of NaNs and infinities, nor that rows of large values are rescued (rmsnorm of a row of 1e18 is 0).
 * lavapipe does what the formula says for both; tests/worker/test_wgsl_rows.c holds it to that.  No kernel lets an
 * infinity stand for what is not there.
 */
#ifndef TCB_KERNELS_ROWS_WGSL_H
#define TCB_KERNELS_ROWS_WGSL_H

#include "kernels/rows/rows_op.h"
#include "kernels/wgsl/wgsl.h"

enum {
	ROWS_WGSL_HELD_MAX = 16,  /* vectors of an invocation in registers, */
	ROWS_WGSL_UNROLL_MAX = 8, /* and in a step of a loop */
	ROWS_WGSL_WEIGHTS_MAX = 2,
	ROWS_WGSL_EXPRESSION_MAX = 512
};

/* inverseSqrt's ulps (WGSL, "Accuracy of Concrete Floating Point Expressions"). */
#define ROWS_WGSL_RSQRT_ULPS 2

/* A geometry and a problem in numbers. */
struct rows_wgsl {
	enum tcb_tree tree;
	enum tcb_form form;
	int is_held; /* xin=regs */
	int lead;
	int is_added;                 /* the word add */
	double eps;                   /* of a norm */
	enum tcb_type x_type, y_type; /* of x, what is added and the sums; of y */
	unsigned width, workgroup, rows, team, unroll, splitk;
	unsigned step; /* vectors of a team's step */
	/* not in the text */
	uint64_t columns, slice; /* vectors of a row, and of a workgroup's part of one */
	uint64_t passes;         /* steps of that */
	uint64_t tiles;          /* workgroups for all rows */
	uint32_t grid[3];
	int is_whole; /* every vector of every step is there */
};

/* What goes over a row: both statistics at once, or one after the other. */
enum rows_wgsl_sweep { ROWS_WGSL_ONLINE, ROWS_WGSL_FIRST, ROWS_WGSL_SECOND };

/* A module being written. */
struct rows_wgsl_writer {
	struct tcb_wgsl w;
	const struct rows_wgsl *g;
	const struct rows_wgsl_math *math;
	char vector[16];  /* the type "vec4<f32>" */
	const char *here; /* what functions of teams are told */
	int x, y, added, sum, weight[ROWS_WGSL_WEIGHTS_MAX], parts;
};

/*
 * What an op does with a row, as lines of WGSL.  In them are v0, v1, ... an invocation's vectors of a step, and has0,
 * has1, ...: are they the row's?  With has_size size is how many values the statistics are of, f32.  Functions:
 * sum_of_row(value, here), of a team, and with has_max largest_of_row; sum_of(vector) and largest_of.
 */
struct rows_wgsl_math {
	const char *name;
	unsigned input, output, weights, weight[ROWS_WGSL_WEIGHTS_MAX]; /* operands */
	int has_max, has_size;
	int has_sweeps;     /* two statistics, the second of which needs the first; else ONLINE is all there is */
	const char *absent; /* what vectors that are not there hold, f32 */
	/* An invocation's state; a step into it; the team's, from which come the row's statistics. */
	void (*begin)(struct rows_wgsl_writer *w, enum rows_wgsl_sweep sweep);
	void (*add)(struct rows_wgsl_writer *w, enum rows_wgsl_sweep sweep);
	void (*close)(struct rows_wgsl_writer *w, enum rows_wgsl_sweep sweep);
	/* What a workgroup leaves of it for others, a vec2<f32>; taking such a PART, number I, into the state of
	 * ONLINE. */
	const char *part;
	void (*take)(struct rows_wgsl_writer *w);
	void (*finish)(struct rows_wgsl_writer *w);
	/* The result of vector number I.  IS_HELD: as SECOND left it. */
	void (*result)(struct rows_wgsl_writer *w, unsigned i, int is_held, const char *const weights[],
		       char out[ROWS_WGSL_EXPRESSION_MAX]);
	/* The bound of the results (struct tcb_kernel: chain and ulps). */
	void (*bound)(const struct rows_wgsl *g, struct tcb_kernel *out);
};

/* rows_wgsl_plan.c */
void rows_wgsl_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry, struct rows_wgsl *out);
/* Additions that a term of a sum over a row goes through; steps of a running state, others' parts among them. */
double rows_wgsl_chain(const struct rows_wgsl *g);
double rows_wgsl_steps(const struct rows_wgsl *g);
/* Its default is what a textbook has: a workgroup of 256 per row that is held where it can be, fewer for short rows,
 * several of which are in a workgroup. */
extern const struct tcb_side_space rows_wgsl_space;

/* rows_wgsl.c */
/* COUNT of NAME0, NAME1, ..., as many as a step has, added up in halves or their maximum. */
void rows_wgsl_sum(const struct rows_wgsl_writer *w, const char *name, char out[ROWS_WGSL_EXPRESSION_MAX]);
void rows_wgsl_largest(const struct rows_wgsl_writer *w, const char *name, char out[ROWS_WGSL_EXPRESSION_MAX]);
enum tcb_status rows_wgsl_emit(const struct tcb_problem *problem, const struct tcb_target *target,
			       const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err);

/* The side in WGSL of the op NAME. */
#define ROWS_WGSL_SIDE(name_)                                                                                   \
	const struct tcb_side name_##_wgsl = { .variants = TCB_EMITTED(                                         \
						       TCB_EMITTED_ROW(#name_ "_f32_wgsl", F32, WGSL, APPROX)), \
					       .space = &rows_wgsl_space,                                       \
					       .emit = rows_wgsl_emit }

#endif
