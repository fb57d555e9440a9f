/* SPDX-License-Identifier: MIT
 *
 * Judging a large output.  In: an output, a drawn reference; out: the first
 * output that is beyond its bound.
 *
 * Every block of neighbours in a row gets a mark, how odd it looks: of a product
 * its sum, with random factors, against what that should be (R. Freivalds'
 * check, a block at a time), as a share of the sum of what its outputs are
 * allowed; of other ops how far it is from the block of the output that was found
 * right last.  A NaN, an infinity and the poison are as odd as can be.  A mark
 * condemns nobody: what a right block's mark is, rounding says, and the median
 * tells how much that is here.  The oddest blocks far above it, and a few more,
 * are compared output by output with a reference in double made for them.
 */
#include "worker/judge_drawn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/sizes.h"

enum {
	LANES = 8,
	PIECE = 4096, /* outputs widened at a time */
	TASK_OUTPUTS = 1 << 18,
	SUSPECTS_MAX = 32,  /* blocks that are looked at closely */
	SUSPECTS_LEAST = 2, /* ... however even they are */
	BLOCK_MAX = 576,    /* outputs of a block: the widest head */
	SAMPLE = 4095,      /* marks that their median is told from */
};

/* Medians.  Rounding errors of a block's sum are about normal: 5.4 standard deviations, where the median is 0.67 of
 * one, which one right block in ten million exceeds. */
static const double ODD = 8;

struct scan {
	const struct tcb_instance *instance;
	const struct tcb_operand *output;
	const void *got;
	size_t width, across, rows_together; /* outputs of a block, blocks of a row, rows of a task */
	double gamma;                        /* share of a magnitude that an output may be off by */
	const double *factor;                /* of each column; NULL: blocks are compared with what was right */
	float *mark;                         /* of each block */
};

struct suspect {
	float mark;
	size_t row, column;
};

/* ---- marks ---- */

typedef double vector __attribute__((vector_size(LANES * sizeof(double))));
typedef float narrow __attribute__((vector_size(LANES * sizeof(float))));

/* Of COUNT values the sum of products with FACTOR. */
static double sum_of(const float *values, const double *factor, size_t count)
{
	vector sums = { 0 };
	double sum = 0;
	size_t i = 0;
	for (; i + LANES <= count; i += LANES) {
		narrow some;
		vector factors;
		memcpy(&some, values + i, sizeof some);
		memcpy(&factors, factor + i, sizeof factors);
		sums += __builtin_convertvector(some, vector) * factors;
	}
	for (int lane = 0; lane < LANES; lane++)
		sum += sums[lane];
	for (; i < count; i++)
		sum += (double)values[i] * factor[i];
	return sum;
}

static double mark_of_sum(const struct scan *scan, size_t row, size_t block, const float *values, size_t count)
{
	const struct tcb_reference *sums = &scan->instance->sums;
	const size_t at = row * scan->across + block;
	const double off = sum_of(values, scan->factor + block * scan->width, count) - sums->y[at];
	return fabs(off) / (scan->gamma * sums->magnitude[at] + sums->extra[at]);
}

/* How far VALUES are from those of the output that was right last, as a share of their size. */
static double mark_of_difference(const struct scan *scan, size_t first, const float *values, size_t count)
{
	const struct tcb_buffer *right = &scan->instance->output[0].right.output;
	double off = 0, size = 0x1p-1000;
	float known[BLOCK_MAX];
	if (right->map)
		tcb_operand_to_f32(scan->output, right->data, first, count, known);
	else
		memcpy(known, values, count * sizeof *known);
	for (size_t i = 0; i < count; i++) {
		const double difference = (double)values[i] - (double)known[i];
		off += difference * difference;
		size += (double)known[i] * (double)known[i];
	}
	return sqrt(off / size);
}

static void mark_rows(void *ctx, size_t task, unsigned thread)
{
	const struct scan *scan = ctx;
	const size_t columns = scan->output->cols, first_row = task * scan->rows_together;
	const size_t end_row = tcb_least(first_row + scan->rows_together, scan->output->rows);
	const size_t together = PIECE / scan->width * scan->width;
	float values[PIECE];
	(void)thread;
	for (size_t row = first_row; row < end_row; row++)
		for (size_t from = 0; from < columns; from += together) {
			const size_t piece = tcb_least(together, columns - from);
			tcb_operand_to_f32(scan->output, scan->got, row * columns + from, piece, values);
			for (size_t i = 0; i < piece; i += scan->width) {
				const size_t block = (from + i) / scan->width,
					     count = tcb_least(scan->width, piece - i);
				const double mark = scan->factor ? mark_of_sum(scan, row, block, values + i, count)
								 : mark_of_difference(scan, row * columns + from + i,
										      values + i, count);
				scan->mark[row * scan->across + block] = isfinite(mark) ? (float)mark : INFINITY;
			}
		}
}

/* ---- the oddest ---- */

static int by_size(const void *a, const void *b)
{
	const float x = *(const float *)a, y = *(const float *)b;
	return (x > y) - (x < y);
}

static float median_of(const float *marks, size_t count)
{
	float some[SAMPLE];
	const size_t step = tcb_div_up(count, SAMPLE);
	size_t taken = 0;
	for (size_t i = 0; i < count; i += step)
		some[taken++] = marks[i];
	qsort(some, taken, sizeof *some, by_size);
	return some[taken / 2];
}

/* The blocks with the largest marks, the oddest first; none without a mark.  Returns how many are worth a look. */
static size_t find_suspects(const struct scan *scan, struct suspect out[SUSPECTS_MAX])
{
	const size_t blocks = scan->output->rows * scan->across;
	const float bar = (float)ODD * median_of(scan->mark, blocks);
	size_t count = 0, worth = 0;
	for (size_t b = 0; b < blocks; b++) {
		const float mark = scan->mark[b];
		size_t at = count;
		if (!(mark > 0) || (count == SUSPECTS_MAX && mark <= out[count - 1].mark))
			continue;
		count += count < SUSPECTS_MAX;
		for (at = count - 1; at > 0 && out[at - 1].mark < mark; at--)
			out[at] = out[at - 1];
		out[at] = (struct suspect){ mark, b / scan->across, b % scan->across * scan->width };
	}
	while (worth < count && (worth < SUSPECTS_LEAST || out[worth].mark > bar))
		worth++;
	return worth;
}

/* ---- comparing ---- */

/* Adds what is found where PART's grid is. */
static void compare(const struct scan *scan, const struct tcb_plan *plan, const struct tcb_reference *part,
		    struct tcb_finding *out)
{
	const struct tcb_grid *grid = part->grid;
	for (size_t i = 0; i < grid->row_count; i++)
		for (size_t j = 0, count; j < grid->column_count; j += count) {
			const size_t row = tcb_grid_row(grid, i) * scan->output->cols;
			const size_t at = i * grid->column_count + j;
			const struct tcb_reference some = { .y = part->y + at,
							    .magnitude = part->magnitude + at,
							    .extra = part->extra + at };
			float values[PIECE];
			size_t bad = SIZE_MAX;
			count = tcb_least(PIECE, grid->column_count - j);
			if (!grid->columns)
				tcb_operand_to_f32(scan->output, scan->got, row + j, count, values);
			for (size_t c = 0; grid->columns && c < count; c++)
				tcb_operand_to_f32(scan->output, scan->got, row + grid->columns[j + c], 1, values + c);
			out->error_ratio = fmax(out->error_ratio, tcb_error_ratio(plan, &some, values, count, &bad));
			if (bad == SIZE_MAX || out->bad != SIZE_MAX)
				continue;
			out->bad = row + tcb_grid_column(grid, j + bad);
			out->y = some.y[bad];
			out->magnitude = some.magnitude[bad];
			out->extra = some.extra[bad];
		}
}

/* A suspect and the reference made for it. */
struct hearing {
	struct tcb_reference reference;
	struct tcb_grid grid;
	uint32_t row, columns[BLOCK_MAX];
	double y[BLOCK_MAX], magnitude[BLOCK_MAX], extra[BLOCK_MAX];
};

struct court {
	const struct scan *scan;
	const struct suspect *suspects;
	struct hearing *hearings;
};

static void refer_suspect(void *ctx, size_t task, unsigned thread)
{
	const struct court *court = ctx;
	const struct suspect *suspect = &court->suspects[task];
	struct hearing *hearing = &court->hearings[task];
	const size_t count = tcb_least(court->scan->width, court->scan->output->cols - suspect->column);
	(void)thread;
	hearing->row = (uint32_t)suspect->row;
	for (size_t i = 0; i < count; i++)
		hearing->columns[i] = (uint32_t)(suspect->column + i);
	hearing->grid = (struct tcb_grid){ &hearing->row, hearing->columns, 1, count };
	hearing->reference = (struct tcb_reference){
		.y = hearing->y, .magnitude = hearing->magnitude, .extra = hearing->extra, .grid = &hearing->grid
	};
	tcb_instance_refer(court->scan->instance, &hearing->reference);
}

static enum tcb_status hear_suspects(const struct scan *scan, const struct tcb_plan *plan, struct tcb_pool *pool,
				     struct tcb_finding *out, struct tcb_error *err)
{
	struct suspect suspects[SUSPECTS_MAX];
	const size_t count = find_suspects(scan, suspects);
	if (count == 0)
		return TCB_OK;
	struct court court = { scan, suspects, malloc(count * sizeof(*court.hearings)) };
	if (!court.hearings)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory while comparing %zu blocks of outputs", count);
	tcb_pool_run(pool, tcb_pool_threads(pool), TCB_SCHED_DYNAMIC, count, refer_suspect, &court);
	enum tcb_status status = TCB_OK;
	for (size_t i = 0; i < count && status == TCB_OK; i++)
		if (court.hearings[i].reference.failure)
			status = tcb_fail(err, TCB_E_FAILED, "the reference of %s: %.300s", scan->instance->op->name,
					  court.hearings[i].reference.failure);
		else
			compare(scan, plan, &court.hearings[i].reference, out);
	free(court.hearings);
	return status;
}

enum tcb_status tcb_judge_drawn(const struct tcb_instance *instance, const struct tcb_plan *plan, const void *got,
				struct tcb_pool *pool, struct tcb_finding *out, struct tcb_error *err)
{
	const struct tcb_draw *draw = instance->draw;
	const struct tcb_operand *output = &instance->operands[instance->output[0].operand];
	const size_t unit = instance->op->drawn_columns(&instance->problem);
	struct scan scan = { .instance = instance,
			     .output = output,
			     .got = got,
			     .width = draw->sums ? TCB_SUM_COLUMNS : unit,
			     .gamma = tcb_gamma(plan->chain) + plan->ulps * 0x1p-23 };
	scan.across = tcb_div_up(output->cols, scan.width);
	scan.rows_together = tcb_most(TASK_OUTPUTS / output->cols, 1);
	*out = (struct tcb_finding){ .bad = SIZE_MAX };
	if (scan.width > BLOCK_MAX)
		return tcb_fail(err, TCB_E_FAILED,
				"%s: %zu columns of its output come together, at most %d can be judged",
				instance->op->name, scan.width, BLOCK_MAX);
	double *factor = draw->sums ? malloc(output->cols * sizeof *factor) : NULL;
	scan.mark = malloc(output->rows * scan.across * sizeof *scan.mark);
	enum tcb_status status = TCB_OK;
	if (!scan.mark || (draw->sums && !factor)) {
		status = tcb_fail(err, TCB_E_NOMEM, "out of memory while comparing %zu outputs",
				  instance->output[0].count);
		goto done;
	}
	for (size_t i = 0; draw->sums && i < output->cols; i++)
		factor[i] = tcb_sum_factor(i);
	scan.factor = factor;
	for (size_t g = 0; g < draw->grid_count; g++)
		compare(&scan, plan, &instance->drawn[g], out);
	tcb_pool_run(pool, tcb_pool_threads(pool), TCB_SCHED_DYNAMIC, tcb_div_up(output->rows, scan.rows_together),
		     mark_rows, &scan);
	status = hear_suspects(&scan, plan, pool, out, err);
done:
	free(factor);
	free(scan.mark);
	return status;
}
