/* SPDX-License-Identifier: MIT
 *
 * The reference of products of experts, in double: the plain products'
 * (quant_reference.c) of as many rows at a time as that takes together, those
 * that use the same expert.  Bounds are the plain products', too, with a bias as
 * one term more; of a sum over experts each counts as much as its factor is large,
 * and the sum's own roundings are of the chain.
 */
#include <math.h>
#include <string.h>

#include "base/sizes.h"
#include "kernels/quant_experts/quant_experts.h"

enum { COLUMNS = 128, ROWS = 8 };

/* One call; its tasks have COLUMNS columns each of all rows that are wanted. */
struct job {
	const struct tcb_problem *problem;
	void *const *operand;
	struct tcb_reference *out;
	size_t rows, columns;
};

/* Some rows of an expert. */
struct batch {
	size_t count;
	uint32_t x[ROWS]; /* rows of x */
	size_t row[ROWS]; /* of what is wanted */
	double factor[ROWS];
};

/* Results of a batch. */
struct sums {
	double y[ROWS * COLUMNS], magnitude[ROWS * COLUMNS], extra[ROWS * COLUMNS];
};

static size_t matrix_bytes(const struct tcb_problem *problem)
{
	return problem->shape.n * tcb_quant_row_bytes(problem->op->format, problem->shape.k);
}

/* BATCH times COUNT columns from FIRST on of EXPERT's matrix in operand WHICH. */
static void multiply(const struct job *job, size_t which, size_t expert, const struct batch *batch, size_t first,
		     size_t count, struct sums *sums)
{
	uint32_t columns[COLUMNS];
	void *operand[TCB_QUANT_OPERANDS] = {
		[TCB_QUANT_WEIGHTS] = (uint8_t *)job->operand[which] + expert * matrix_bytes(job->problem),
		[TCB_QUANT_X] = job->operand[TCB_QUANT_X],
	};
	for (size_t j = 0; j < count; j++)
		columns[j] = (uint32_t)tcb_grid_column(job->out->grid, first + j);
	const struct tcb_grid grid = { batch->x, columns, batch->count, count };
	struct tcb_reference out = { .y = sums->y, .magnitude = sums->magnitude, .extra = sums->extra, .grid = &grid };
	tcb_quant_reference_fused(job->problem, operand, &(struct tcb_quant_fused){ .norm = NULL }, &out);
}

/* The bias of EXPERT in operand WHICH, if there is one, to SUMS of COUNT columns from FIRST on. */
static void add_bias(const struct job *job, size_t which, size_t expert, const struct batch *batch, size_t first,
		     size_t count, struct sums *sums)
{
	const size_t n = job->problem->shape.n;
	if (!job->problem->shape.words.bias)
		return;
	for (size_t i = 0; i < batch->count * count; i++) {
		const size_t column = tcb_grid_column(job->out->grid, first + i % count);
		const double bias = (double)((const float *)job->operand[which])[expert * n + column];
		sums->y[i] += bias;
		sums->magnitude[i] += fabs(bias);
	}
}

static void add_batch(const struct job *job, size_t expert, const struct batch *batch, size_t first, size_t count)
{
	const size_t bias = qex_bias(job->problem);
	struct sums sums, up;
	multiply(job, TCB_QUANT_WEIGHTS, expert, batch, first, count, &sums);
	add_bias(job, bias, expert, batch, first, count, &sums);
	if (qex_kind(job->problem)->is_gated) {
		const struct tcb_quant_gate gate = tcb_quant_gate_of(&job->problem->shape.words);
		multiply(job, QEX_UP, expert, batch, first, count, &up);
		add_bias(job, bias + 1, expert, batch, first, count, &up);
		tcb_quant_reference_gate(
			&gate, job->problem->shape.k, batch->count * count,
			&(struct tcb_reference){ .y = sums.y, .magnitude = sums.magnitude, .extra = sums.extra },
			&(struct tcb_reference){ .y = up.y, .magnitude = up.magnitude, .extra = up.extra });
	}
	for (size_t i = 0; i < batch->count; i++)
		for (size_t j = 0; j < count; j++) {
			const size_t from = i * count + j, to = batch->row[i] * job->columns + first + j;
			job->out->y[to] += batch->factor[i] * sums.y[from];
			job->out->magnitude[to] += fabs(batch->factor[i]) * sums.magnitude[from];
			job->out->extra[to] += fabs(batch->factor[i]) * sums.extra[from];
		}
}

/* Products that the wanted row I of y is made of: COUNT from FIRST on. */
static void pairs_of(const struct job *job, size_t i, size_t *first, size_t *count)
{
	const size_t row = tcb_grid_row(job->out->grid, i), used = qex_used(&job->problem->shape);
	*count = qex_kind(job->problem)->is_summed ? used : 1;
	*first = row * *count;
}

static void run_task(void *ctx, size_t task, unsigned thread)
{
	const struct job *job = ctx;
	const size_t used = qex_used(&job->problem->shape);
	const int32_t *ids = job->operand[QEX_IDS];
	const float *factors = qex_kind(job->problem)->is_summed ? job->operand[QEX_FACTORS] : NULL;
	const size_t column = task * COLUMNS, columns = tcb_least(COLUMNS, job->columns - column);
	(void)thread;
	for (size_t i = 0; i < job->rows; i++)
		for (size_t j = 0, at = i * job->columns + column; j < columns; j++, at++)
			job->out->y[at] = job->out->magnitude[at] = job->out->extra[at] = 0;
	for (size_t e = 0; e < qex_experts(&job->problem->shape); e++) {
		struct batch batch = { .count = 0 };
		for (size_t i = 0; i < job->rows; i++) {
			size_t first, count;
			pairs_of(job, i, &first, &count);
			for (size_t pair = first; pair < first + count; pair++) {
				if (ids[pair] != (int32_t)e)
					continue;
				const size_t x = qex_has_rows_each(job->problem) ? pair : pair / used;
				batch.x[batch.count] = (uint32_t)x;
				batch.row[batch.count] = i;
				batch.factor[batch.count++] = factors ? (double)factors[pair] : 1;
				if (batch.count == ROWS) {
					add_batch(job, e, &batch, column, columns);
					batch.count = 0;
				}
			}
		}
		if (batch.count)
			add_batch(job, e, &batch, column, columns);
	}
}

void qex_reference(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out)
{
	const struct tcb_shape *s = &problem->shape;
	struct job job = { problem, operand, out, qex_kind(problem)->is_summed ? s->m : qex_pairs(s), s->n };
	if (out->grid) {
		job.rows = out->grid->row_count;
		job.columns = out->grid->column_count;
	}
	tcb_reference_share(out, tcb_div_up(job.columns, COLUMNS), run_task, &job);
}
