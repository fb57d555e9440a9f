/* SPDX-License-Identifier: MIT
 *
 * Data and references of all ops on rows.  In: a problem and the op's functions of
 * one row (rows_op.h); out: inputs, results in double, of some rows or columns
 * only where a grid says so, and sums of neighbours (struct tcb_op).  Threads take
 * rows.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/sizes.h"
#include "base/util.h"
#include "kernels/rows/rows.h"

enum {
	PART_VALUES = 1 << 20, /* of a part of the data */
	TASK_VALUES = 1 << 19, /* that one task adds up */
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

/* Row R of OPERAND, which is x or what is added to it. */
static void fill_row(const struct tcb_problem *problem, struct tcb_rng *rng, size_t r, void *operand)
{
	const enum tcb_type type = rows_x_type(problem);
	const size_t n = problem->shape.n;
	char *row = (char *)operand + r * n * tcb_type_bytes(type);
	if (type == TCB_TYPE_F32) {
		rows_of(problem)->reference.fill_row(rng, r, n, (float *)(void *)row);
		return;
	}
	float *values = malloc(n * sizeof(*values));
	if (!values)
		abort();
	rows_of(problem)->reference.fill_row(rng, r, n, values);
	tcb_type_from_f32(type, values, n, row);
	free(values);
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
		fill_row(problem, &rng, r, operand[rows->x]);
	for (size_t r = first; problem->shape.words.add && r < end; r++)
		fill_row(problem, &rng, r, operand[rows_added(rows)]);
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
	double eps;
	int is_added; /* the word add: OUT has the sums behind the results, all of both */
	enum tcb_type x_type, y_type;
	/* For sums: rows of a task, and what each column counts. */
	size_t rows_together;
	const double *factor;
};

static struct job job_of(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out)
{
	return (struct job){ .rows = rows_of(problem),
			     .operand = operand,
			     .out = out,
			     .m = problem->shape.m,
			     .n = problem->shape.n,
			     .eps = rows_eps(&problem->shape),
			     .is_added = problem->shape.words.add != 0,
			     .x_type = rows_x_type(problem),
			     .y_type = rows_y_type(problem) };
}

/* OUT += what is added to row ROW, in f32, rounded to the type of both. */
static void add_to(const struct job *job, size_t row, float *out)
{
	const size_t each = tcb_type_bytes(job->x_type);
	const char *added = (const char *)job->operand[rows_added(job->rows)] + row * job->n * each;
	for (size_t i = 0; i < job->n; i++) {
		float other;
		uint32_t rounded;
		tcb_type_to_f32(job->x_type, added + i * each, 1, &other);
		other += out[i];
		tcb_type_from_f32(job->x_type, &other, 1, &rounded);
		tcb_type_to_f32(job->x_type, &rounded, 1, &out[i]);
	}
}

/* Row ROW to OUT, and to *OWN its values where they are not in memory as floats, to be freed; 0: there is no room. */
static int open_line(const struct job *job, size_t row, struct rows_line *out, float **own)
{
	const struct rows_op *rows = job->rows;
	const char *x = (const char *)job->operand[rows->x] + row * job->n * tcb_type_bytes(job->x_type);
	*out = (struct rows_line){ .x = (const float *)(const void *)x,
				   .weight = rows->weight < 0 ? NULL : job->operand[rows->weight],
				   .bias = rows->bias < 0 ? NULL : job->operand[rows->bias],
				   .n = job->n,
				   .eps = job->eps };
	*own = NULL;
	if (job->x_type == TCB_TYPE_F32 && !job->is_added)
		return 1;
	*own = malloc(job->n * sizeof(**own));
	if (!*own)
		return 0;
	tcb_type_to_f32(job->x_type, x, job->n, *own);
	if (job->is_added)
		add_to(job, row, *own);
	out->x = *own;
	return 1;
}

/* COUNT results of OUT from AT on, of which nothing is known. */
static void say_nothing(const struct tcb_reference *out, size_t at, size_t count)
{
	for (size_t i = at; i < at + count; i++)
		out->y[i] = out->magnitude[i] = out->extra[i] = (double)NAN;
}

/* The word add: the sums, which are rounded once and then what the op is of. */
static void refer_sums(const struct job *job, size_t row, const struct rows_line *line)
{
	const struct tcb_reference *sums = job->out + 1;
	for (size_t i = 0; i < job->n; i++) {
		sums->y[row * job->n + i] = (double)line->x[i];
		sums->magnitude[row * job->n + i] = sums->extra[row * job->n + i] = 0;
	}
}

static void refer_row(void *ctx, size_t task, unsigned thread)
{
	const struct job *job = ctx;
	const struct tcb_reference *out = job->out;
	const struct tcb_grid *grid = out->grid;
	const size_t columns = grid ? grid->column_count : job->n, at = task * columns;
	struct rows_line line;
	float *own;
	(void)thread;
	if (!open_line(job, tcb_grid_row(grid, task), &line, &own)) {
		say_nothing(out, at, columns);
		if (job->is_added)
			say_nothing(out + 1, at, columns);
		return;
	}
	if (job->is_added)
		refer_sums(job, task, &line);
	const int is_whole = !grid || !grid->columns;
	line.kept = is_whole ? out->y + at : NULL;
	job->rows->reference.statistics(&line);
	for (size_t j = 0, count; j < columns; j += count) { /* neighbours together */
		if (is_whole) {
			count = columns;
			job->rows->reference.results(&line, 0, count, out->y + at, out->magnitude + at,
						     out->extra + at);
			continue;
		}
		count = 1;
		while (j + count < columns && grid->columns[j + count] == grid->columns[j] + count)
			count++;
		job->rows->reference.results(&line, grid->columns[j], count, out->y + at + j, out->magnitude + at + j,
					     out->extra + at + j);
	}
	tcb_reference_round(
		&(struct tcb_reference){ .y = out->y + at, .magnitude = out->magnitude + at, .extra = out->extra + at },
		job->y_type, columns);
	free(own);
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
typedef int64_t bits __attribute__((vector_size(LANES * sizeof(int64_t))));

/* COUNT columns' factors times Y, and their sizes times MAGNITUDE and EXTRA, added up to SUMS. */
static void add_block(const double *factor, const double *y, const double *magnitude, const double *extra, size_t count,
		      double sums[3])
{
	vector lanes[3] = { 0 };
	size_t i = 0;
	for (; i + LANES <= count; i += LANES) {
		vector factors, some[3];
		memcpy(&factors, factor + i, sizeof(factors));
		memcpy(&some[0], y + i, sizeof(vector));
		memcpy(&some[1], magnitude + i, sizeof(vector));
		memcpy(&some[2], extra + i, sizeof(vector));
		const vector size = (vector)((bits)factors & INT64_MAX);
		lanes[0] += factors * some[0];
		lanes[1] += size * some[1];
		lanes[2] += size * some[2];
	}
	for (int s = 0; s < 3; s++)
		for (int lane = 0; lane < LANES; lane++)
			sums[s] += lanes[s][lane];
	for (; i < count; i++) {
		sums[0] += factor[i] * y[i];
		sums[1] += fabs(factor[i]) * magnitude[i];
		sums[2] += fabs(factor[i]) * extra[i];
	}
}

/* What the op's functions say of LINE, added up. */
static void add_results(const struct job *job, struct rows_line *line, double *y, double *magnitude, double *extra)
{
	double ys[PIECE], magnitudes[PIECE], extras[PIECE];
	size_t at = 0;
	job->rows->reference.statistics(line);
	for (size_t first = 0; first < job->n; first += PIECE) {
		const size_t piece = tcb_least(PIECE, job->n - first);
		job->rows->reference.results(line, first, piece, ys, magnitudes, extras);
		tcb_reference_round(&(struct tcb_reference){ .y = ys, .magnitude = magnitudes, .extra = extras },
				    job->y_type, piece);
		for (size_t i = 0; i < piece; i += TCB_SUM_COLUMNS, at++) {
			double sums[3] = { 0 };
			add_block(job->factor + first + i, ys + i, magnitudes + i, extras + i,
				  tcb_least(TCB_SUM_COLUMNS, piece - i), sums);
			y[at] = sums[0];
			magnitude[at] = sums[1];
			extra[at] = sums[2];
		}
	}
}

static void add_rows(void *ctx, size_t task, unsigned thread)
{
	const struct job *job = ctx;
	const size_t first = task * job->rows_together, across = tcb_div_up(job->n, TCB_SUM_COLUMNS);
	const size_t end = tcb_least(first + job->rows_together, job->m);
	(void)thread;
	for (size_t row = first; row < end; row++) {
		struct rows_line line;
		float *own;
		double *y = job->out->y + row * across, *magnitude = job->out->magnitude + row * across;
		double *extra = job->out->extra + row * across;
		if (!open_line(job, row, &line, &own))
			say_nothing(job->out, row * across, across);
		else if (job->rows->reference.add_up)
			job->rows->reference.add_up(&line, job->factor, y, magnitude, extra);
		else
			add_results(job, &line, y, magnitude, extra);
		free(own);
	}
}

/* Without room for the factors no sum is known: what is to be looked at then is chance. */
void rows_reference_sums(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out)
{
	struct job job = job_of(problem, operand, out);
	double *factor = malloc(job.n * sizeof(*factor));
	if (!factor) {
		for (size_t i = 0; i < job.m * tcb_div_up(job.n, TCB_SUM_COLUMNS); i++)
			out->y[i] = out->magnitude[i] = out->extra[i] = (double)NAN;
		return;
	}
	for (size_t c = 0; c < job.n; c++)
		factor[c] = tcb_sum_factor(c);
	job.factor = factor;
	job.rows_together = tcb_most(TASK_VALUES / job.n, 1);
	tcb_reference_share(out, tcb_div_up(job.m, job.rows_together), add_rows, &job);
	free(factor);
}
