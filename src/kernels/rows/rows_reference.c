/* SPDX-License-Identifier: MIT
 *
 * Data and references of all ops on rows.  In: a problem and the op's functions of
 * one row (rows_op.h); out: inputs, results in double, of some rows or columns
 * only where a grid says so, and sums of neighbours (struct tcb_op).  Threads take
 * rows.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/sizes.h"
#include "base/util.h"
#include "kernels/rows/rows.h"

enum {
	PART_VALUES = 1 << 20, /* of a part of the data */
	TASK_VALUES = 1 << 19, /* that one task adds up */
	KEPT_MOST = 1 << 22,   /* values of a row that are kept meanwhile */
	PIECE = 8 * TCB_SUM_COLUMNS,
};

/* ---- data ---- */

static size_t part_rows(const struct tcb_problem *problem)
{
	return tcb_most(PART_VALUES / problem->shape.n, 1);
}

size_t rows_fill_parts(const struct tcb_problem *problem)
{
	return tcb_div_up(problem->shape.m, part_rows(problem));
}

/* The last part has what is one for all rows, too. */
void rows_fill_part(const struct tcb_problem *problem, uint64_t seed, void *const operand[], size_t part)
{
	const struct rows_op *rows = rows_of(problem);
	const size_t n = problem->shape.n, first = part * part_rows(problem);
	const size_t end = tcb_least(first + part_rows(problem), problem->shape.m);
	struct tcb_rng rng;
	tcb_part_rng(seed, part, &rng);
	for (size_t r = first; r < end; r++)
		rows->fill_row(&rng, r, n, (float *)operand[rows->x] + r * n);
	if (end < problem->shape.m)
		return;
	for (size_t c = 0; c < n; c++) {
		if (rows->weight >= 0)
			((float *)operand[rows->weight])[c] = 1 + 0.25f * tcb_rng_normal(&rng);
		if (rows->bias >= 0)
			((float *)operand[rows->bias])[c] = 0.1f * tcb_rng_normal(&rng);
	}
}

/* ---- the reference ---- */

struct job {
	const struct rows_op *rows;
	void *const *operand;
	struct tcb_reference *out;
	size_t m, n;
	/* For sums: rows of a task, and of each column what it counts, and its size. */
	size_t rows_together;
	const double *factor, *sizes;
};

static struct job job_of(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out)
{
	return (struct job){
		.rows = rows_of(problem), .operand = operand, .out = out, .m = problem->shape.m, .n = problem->shape.n
	};
}

static struct rows_line line_at(const struct job *job, size_t row)
{
	const struct rows_op *rows = job->rows;
	return (struct rows_line){ .x = (const float *)job->operand[rows->x] + row * job->n,
				   .weight = rows->weight < 0 ? NULL : job->operand[rows->weight],
				   .bias = rows->bias < 0 ? NULL : job->operand[rows->bias],
				   .n = job->n };
}

static void refer_row(void *ctx, size_t task, unsigned thread)
{
	const struct job *job = ctx;
	const struct tcb_reference *out = job->out;
	const struct tcb_grid *grid = out->grid;
	const size_t columns = grid ? grid->column_count : job->n, at = task * columns;
	struct rows_line line = line_at(job, tcb_grid_row(grid, task));
	(void)thread;
	if (!grid || !grid->columns) {
		line.kept = out->y + at;
		job->rows->statistics(&line);
		job->rows->results(&line, 0, columns, out->y + at, out->magnitude + at, out->extra + at);
		return;
	}
	job->rows->statistics(&line);
	for (size_t j = 0, count; j < columns; j += count) { /* neighbours together */
		count = 1;
		while (j + count < columns && grid->columns[j + count] == grid->columns[j] + count)
			count++;
		job->rows->results(&line, grid->columns[j], count, out->y + at + j, out->magnitude + at + j,
				   out->extra + at + j);
	}
}

void rows_reference(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out)
{
	struct job job = job_of(problem, operand, out);
	tcb_reference_share(out, out->grid ? out->grid->row_count : job.m, refer_row, &job);
}

size_t rows_drawn_columns(const struct tcb_problem *problem)
{
	return problem->shape.n;
}

/* ---- sums of outputs ---- */

enum { LANES = 8 };
typedef double vector __attribute__((vector_size(LANES * sizeof(double))));

/* The sum of products of COUNT values. */
static double sum_of(const double *values, const double *factor, size_t count)
{
	vector sums = { 0 };
	double sum = 0;
	size_t i = 0;
	for (; i + LANES <= count; i += LANES) {
		vector some, factors;
		memcpy(&some, values + i, sizeof(some));
		memcpy(&factors, factor + i, sizeof(factors));
		sums += some * factors;
	}
	for (int lane = 0; lane < LANES; lane++)
		sum += sums[lane];
	for (; i < count; i++)
		sum += values[i] * factor[i];
	return sum;
}

static void set_factors(size_t first, size_t count, double *factor, double *sizes)
{
	for (size_t i = 0; i < count; i++) {
		factor[i] = tcb_sum_factor(first + i);
		sizes[i] = fabs(factor[i]);
	}
}

/* Results of PIECE columns of LINE, added up to element AT on. */
static void add_piece(const struct job *job, const struct rows_line *line, size_t first, size_t piece, size_t at)
{
	const struct tcb_reference *out = job->out;
	const double *factor = job->factor ? job->factor + first : NULL;
	const double *sizes = job->factor ? job->sizes + first : NULL;
	double y[PIECE], magnitude[PIECE], extra[PIECE], made[2][PIECE];
	if (!factor) { /* there was no room for those of all columns */
		set_factors(first, piece, made[0], made[1]);
		factor = made[0];
		sizes = made[1];
	}
	job->rows->results(line, first, piece, y, magnitude, extra);
	for (size_t i = 0; i < piece; i += TCB_SUM_COLUMNS, at++) {
		const size_t count = tcb_least(TCB_SUM_COLUMNS, piece - i);
		out->y[at] = sum_of(y + i, factor + i, count);
		out->magnitude[at] = sum_of(magnitude + i, sizes + i, count);
		out->extra[at] = sum_of(extra + i, sizes + i, count);
	}
}

static void add_rows(void *ctx, size_t task, unsigned thread)
{
	const struct job *job = ctx;
	const size_t first_row = task * job->rows_together, across = tcb_div_up(job->n, TCB_SUM_COLUMNS);
	const size_t end_row = tcb_least(first_row + job->rows_together, job->m);
	const int keeps = job->rows->keeps && job->n <= KEPT_MOST;
	double *kept = keeps ? malloc(job->n * sizeof(*kept)) : NULL; /* without it they are computed twice */
	(void)thread;
	for (size_t row = first_row; row < end_row; row++) {
		struct rows_line line = line_at(job, row);
		line.is_rough = 1;
		line.kept = kept;
		job->rows->statistics(&line);
		for (size_t first = 0; first < job->n; first += PIECE)
			add_piece(job, &line, first, tcb_least(PIECE, job->n - first),
				  row * across + first / TCB_SUM_COLUMNS);
	}
	free(kept);
}

void rows_reference_sums(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out)
{
	struct job job = job_of(problem, operand, out);
	double *factors = malloc(2 * job.n * sizeof(*factors));
	if (factors) {
		set_factors(0, job.n, factors, factors + job.n);
		job.factor = factors;
		job.sizes = factors + job.n;
	}
	job.rows_together = tcb_most(TASK_VALUES / job.n, 1);
	tcb_reference_share(out, tcb_div_up(job.m, job.rows_together), add_rows, &job);
	free(factors);
}
