/* SPDX-License-Identifier: MIT
 *
 * Private to the loops of ops on rows: the sizes of a plan, which rows_plan.c makes and rows_run.c runs.
 */
#ifndef TCB_KERNELS_ROWS_DIMS_H
#define TCB_KERNELS_ROWS_DIMS_H

#include "kernels/rows/rows.h"

enum {
	ROWS_STAGES_OVERLAPPED = 3,
	/*
	 * A load waits for an earlier store whose address looks alike: on a Zen 4 one with the same offset in its page,
	 * or nearly so.  What is kept of two rows in turn lies half a page apart, and the first as x does: loops over
	 * rows of whole KiB then load nothing that looks like what they store.  It costs half as much again where two
	 * kept rows are whole pages apart, or a line more.
	 */
	ROWS_PAGE_FLOATS = 1024,
	ROWS_LINE_FLOATS = 16, /* 64 bytes: what threads write lies on lines of their own */
	ROWS_OWN = 2           /* own rows of a thread: x's and y's */
};

/* The sizes that rows_plan() and rows_run() share. */
struct rows_dims {
	size_t m, n;
	size_t strips, tasks;   /* strips of a row; tasks of a phase */
	size_t strip_blocks;    /* column blocks in a strip */
	size_t blocks;          /* in a row, counted as if every strip had as many */
	size_t block;           /* columns of each */
	size_t row_blocks;      /* in a row: the last strip may have fewer than the others */
	size_t rows_kept;       /* rows whose block statistics are kept at a time */
	size_t row_stats;       /* doubles of one row */
	size_t factor_floats;   /* of one row */
	size_t factor_rows;     /* of one thread */
	size_t scratch_row;     /* kept elements of one row, where they cannot wait in y */
	size_t part_floats;     /* factors of the parts of a strip of one row, where the form has some */
	size_t turns;           /* rows whose scratch and factors a thread keeps: 1 or 2 */
	size_t kept_parts;      /* floats: of all rows, where threads share rows */
	size_t own_row;         /* floats of a row that a thread keeps as f32 where x or y is of 16 bits; 0: none is */
	size_t thread_floats;   /* of one thread: factors, scratch, own rows and parts, unless kept */
	size_t workspace_bytes; /* statistics of the kept rows, and their parts; per thread: factors, scratch, parts */
};

/* rows_plan.c */
enum tcb_status rows_dims_init(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
			       struct rows_dims *out, struct tcb_error *err);

#endif
