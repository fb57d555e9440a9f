/* SPDX-License-Identifier: MIT
 *
 * Drawing outputs.  In: a problem and what time there is; out: rows and columns.
 * Each drawn row crosses every edge between tiles of n, each drawn column every
 * edge between tiles of m; among them are the ends and both sides of the first
 * and the last edge of tiles of every power of two, and random ones.
 */
#include "worker/draw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sizes.h"
#include "base/util.h"

enum {
	TILE_LEAST = 8,                /* smaller tiles have these edges, too */
	INDICES_MAX = 4 * 32 + 2 + 16, /* of one dimension: four for each power of two, the ends, random ones */
	ROWS_RANDOM = 6,
	COLUMNS_RANDOM = 16,
	ROWS_LEAST = 8,     /* tokens that the reference of a product takes together */
	COLUMNS_LEAST = 16, /* the same of columns */
	WHOLE_ROWS_LEAST = 2,
};

/*
 * Thread seconds that a whole reference may take: always; without a budget; as a share of one.  And what a drawn one
 * should take, which also has to pay for taking the weights apart once.
 */
static const double FULL_S = 0.25, FULL_UNBOUND_S = 10, FULL_SHARE = 0.02;
static const double DRAWN_S = 0.25, DRAWN_SHARE = 0.01;

/* What is drawn of one dimension: SIZE indices, or units of columns. */
struct list {
	size_t size, most; /* indices there are; how many are wanted */
	size_t count;
	uint32_t index[INDICES_MAX];
};

static void add(struct list *list, size_t index)
{
	if (index >= list->size || list->count >= list->most)
		return;
	for (size_t i = 0; i < list->count; i++)
		if (list->index[i] == index)
			return;
	list->index[list->count++] = (uint32_t)index;
}

static int ascending(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

/*
 * The ends, some random ones, then both sides of the edges of the larger and the smaller tiles, as many as are wanted;
 * random ones up to a multiple of TOGETHER, which cost nothing.  Dimensions that repeat every PERIOD (tokens of
 * sequences) have their edges in any of the repetitions.
 */
static void draw(struct list *list, size_t period, size_t most, size_t random, size_t together, struct tcb_rng *rng)
{
	const size_t repeats = list->size / period;
	list->most = tcb_least(tcb_least(tcb_round_up(most, together), INDICES_MAX / together * together), list->size);
	add(list, 0);
	add(list, list->size - 1);
	for (size_t i = 0; i < random; i++)
		add(list, (size_t)tcb_rng_below(rng, list->size));
	for (size_t tile = tcb_power_of_two_up(period); tile >= TILE_LEAST; tile /= 2) {
		const size_t last = (period - 1) / tile * tile;
		const size_t edges[] = { last - 1, last, tile - 1, tile };
		for (size_t i = 0; i < 4; i++)
			if (edges[i] < period)
				add(list, (size_t)tcb_rng_below(rng, repeats) * period + edges[i]);
	}
	const size_t wanted = tcb_least(tcb_round_up(list->count, together), list->most);
	for (size_t tries = 0; list->count < wanted && tries < 64 * INDICES_MAX; tries++)
		add(list, (size_t)tcb_rng_below(rng, list->size));
	qsort(list->index, list->count, sizeof(list->index[0]), ascending);
}

/* Room for a grid's indices, of rows and of units of columns, in DRAW. */
static const uint32_t *keep(struct tcb_draw *draw, size_t *used, const struct list *list, size_t unit)
{
	uint32_t *to = draw->index + *used;
	for (size_t i = 0; i < list->count * unit; i++)
		to[i] = list->index[i / unit] * (uint32_t)unit + (uint32_t)(i % unit);
	*used += list->count * unit;
	return to;
}

static void add_grid(struct tcb_draw *draw, const uint32_t *rows, size_t row_count, const uint32_t *columns,
		     size_t column_count)
{
	draw->grid[draw->grid_count++] = (struct tcb_grid){ rows, columns, row_count, column_count };
	draw->count += row_count * column_count;
}

/* A cross: rows are dearer, so columns come first.  SHARE of all outputs is what there is time for. */
static void draw_cross(double share, struct list *rows, struct list *columns, struct tcb_rng *rng)
{
	draw(columns, columns->size, tcb_most((size_t)(share / 2 * (double)columns->size), COLUMNS_LEAST),
	     COLUMNS_RANDOM, COLUMNS_LEAST, rng);
	const double left = share - (double)columns->count / (double)columns->size;
	draw(rows, rows->size, tcb_most(left > 0 ? (size_t)(left * (double)rows->size) : 0, ROWS_LEAST), ROWS_RANDOM,
	     ROWS_LEAST, rng);
}

/* Whole rows, random ones beside the edges as long as there is time. */
static void draw_whole_rows(double share, struct list *rows, struct tcb_rng *rng)
{
	const size_t wanted = tcb_least((size_t)(share * (double)rows->size), INDICES_MAX);
	const size_t most = tcb_most(wanted, WHOLE_ROWS_LEAST);
	draw(rows, rows->size, most, ROWS_RANDOM, most, rng);
}

/* Rows for some of the units of columns alone: heads. */
static void draw_units(double share, size_t period, struct list *rows, struct list *units, struct tcb_rng *rng)
{
	const double outputs = share * (double)rows->size * (double)units->size;
	draw(rows, period, tcb_most((size_t)tcb_least((size_t)outputs, INDICES_MAX), ROWS_LEAST), ROWS_RANDOM,
	     ROWS_LEAST, rng);
	draw(units, units->size, tcb_most((size_t)(outputs / (double)rows->count), 1), INDICES_MAX, 1, rng);
}

/* COLUMNS drawn ones, or heads where a unit is more than one column; 0: rows alone. */
static void describe(struct tcb_draw *draw, size_t rows, size_t columns, size_t unit, const struct tcb_operand *output)
{
	char across[64] = "";
	if (columns)
		snprintf(across, sizeof(across), unit == 1 ? " and %zu drawn columns" : " of %zu drawn heads", columns);
	snprintf(draw->text, sizeof(draw->text), "verified on %zu drawn rows%s of %zux%zu outputs, all of them %s",
		 rows, across, output->rows, output->cols, draw->sums ? "in sums" : "finite");
}

enum tcb_status tcb_draw_create(const struct tcb_problem *problem, double budget_s, uint64_t seed,
				struct tcb_draw **out, struct tcb_error *err)
{
	const struct tcb_op *op = problem->op;
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	*out = NULL;
	if (!op->drawn_columns)
		return TCB_OK;
	const double whole_s = 1e-9 * op->reference_flop_ns * op->flops(problem);
	if (whole_s <= (budget_s > 0 ? fmax(FULL_S, FULL_SHARE * budget_s) : FULL_UNBOUND_S))
		return TCB_OK;
	const size_t count = op->operands(problem, operands);
	const int output = tcb_operand_output(operands, count);
	if (tcb_operand_output(operands + output + 1, count - (size_t)output - 1) >= 0)
		return TCB_OK; /* with some words there are several outputs, which are not drawn */
	const size_t m = operands[output].rows, n = operands[output].cols, unit = op->drawn_columns(problem);
	const double share = fmax(DRAWN_S, DRAWN_SHARE * budget_s) / whole_s;
	const int is_whole = op->reference_sums && unit > 1; /* a row's outputs come all together */
	struct list rows = { .size = m }, columns = { .size = n / unit };
	struct tcb_rng rng;
	tcb_rng_init(&rng, seed);
	if (is_whole)
		draw_whole_rows(share, &rows, &rng);
	else if (unit == 1)
		draw_cross(share, &rows, &columns, &rng);
	else
		draw_units(share, problem->shape.m, &rows, &columns, &rng);
	const size_t indices = rows.count + columns.count * unit;
	struct tcb_draw *made = calloc(1, sizeof(*made) + indices * sizeof(uint32_t));
	if (!made)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu drawn rows and columns", indices);
	size_t used = 0;
	const uint32_t *row_index = keep(made, &used, &rows, 1), *column_index = keep(made, &used, &columns, unit);
	if (is_whole || unit == 1)
		add_grid(made, row_index, rows.count, NULL, n);
	else
		add_grid(made, row_index, rows.count, column_index, columns.count * unit);
	if (unit == 1 && !is_whole)
		add_grid(made, NULL, m, column_index, columns.count);
	if (op->reference_sums) {
		made->sums = tcb_div_up(n, TCB_SUM_COLUMNS);
		made->sum_count = m * made->sums;
		made->count += made->sum_count;
	}
	describe(made, rows.count, is_whole ? 0 : columns.count, unit, &operands[output]);
	*out = made;
	return TCB_OK;
}
