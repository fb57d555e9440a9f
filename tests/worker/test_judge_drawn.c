/* SPDX-License-Identifier: MIT
 *
 * Large outputs judged by drawn ones: the reference of a grid and the sums
 * against the whole reference, what is drawn, and faults planted outside of what
 * was drawn.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"

#include "base/util.h"
#include "worker/judge.h"

static const struct {
	const char *op;
	struct tcb_shape shape;
	enum tcb_contract contract;
} larges[] = {
	{ "q4k_matmul", { .m = 137, .n = 1500, .k = 512 }, TCB_CONTRACT_Q8 },
	{ "q6k_matmul", { .m = 130, .n = 1111, .k = 256 }, TCB_CONTRACT_F16 },
	{ "q40_matmul", { .m = 141, .n = 1300, .k = 288 }, TCB_CONTRACT_F32 },
	{ "matmul_f32", { .m = 139, .n = 1201, .k = 200 }, TCB_CONTRACT_F32 },
	{ "matmul_f16", { .m = 150, .n = 1100, .k = 136 }, TCB_CONTRACT_F16 },
	{ "matmul_bf16", { .m = 133, .n = 1403, .k = 72 }, TCB_CONTRACT_F16 },
	{ "softmax", { .m = 130, .n = 1003 }, TCB_CONTRACT_F32 },
	{ "rmsnorm", { .m = 131, .n = 900 }, TCB_CONTRACT_F32 },
	{ "layernorm", { .m = 132, .n = 1100 }, TCB_CONTRACT_F32 },
	{ "attention_prefill_f16",
	  { .m = 90, .n = 150, .k = 64, .words = { .query = 6, .kv = 2, .sequences = 3, .causal = 1 } },
	  TCB_CONTRACT_F16 },
	{ "attention_decode_q80",
	  { .m = 2, .n = 300, .k = 64, .words = { .query = 8, .kv = 4, .sequences = 40, .ragged = 1 } },
	  TCB_CONTRACT_F16 },
	{ "attention_decode_f16",
	  { .m = 2, .n = 60, .k = 576, .words = { .query = 4, .kv = 2, .sequences = 40, .ragged = 1 } },
	  TCB_CONTRACT_F16 },
};
enum { LARGES = sizeof(larges) / sizeof(larges[0]), PRODUCTS = 6, ROW_OPS = 3, SUMMED = PRODUCTS + ROW_OPS };

static struct tcb_pool *pool;
static struct tcb_op op; /* of the registry, with a reference that is dear */

/* One problem with the whole reference, and the same with a drawn one. */
struct pair {
	struct tcb_problem problem;
	struct tcb_instance *whole, *drawn;
	struct tcb_draw *draw;
	void *got, *operand[TCB_OPERANDS_MAX]; /* the output, also in its place among the operands */
	struct tcb_plan plan;
};

static void open_pair(size_t large, struct pair *p)
{
	memset(p, 0, sizeof(*p));
	op = *tcb_op_find(larges[large].op);
	op.reference_flop_ns = 1e6;
	assert_int_equal(tcb_problem_init(&op, larges[large].contract, &larges[large].shape, &p->problem, NULL),
			 TCB_OK);
	assert_int_equal(tcb_draw_create(&p->problem, 1, 7, &p->draw, NULL), TCB_OK);
	assert_non_null(p->draw);
	assert_int_equal(tcb_instance_create(&op, &p->problem, 1, NULL, &p->whole, NULL), TCB_OK);
	assert_int_equal(tcb_instance_create(&op, &p->problem, 1, NULL, &p->drawn, NULL), TCB_OK);
	p->drawn->draw = p->draw;
	assert_int_equal(tcb_instance_reference(p->whole, pool, NULL), TCB_OK);
	assert_int_equal(tcb_instance_reference(p->drawn, pool, NULL), TCB_OK);
	p->got = malloc(p->whole->operands[p->whole->output[0].operand].bytes);
	assert_non_null(p->got);
	p->operand[p->whole->output[0].operand] = p->got;
	p->plan.chain = 300;
}

static void close_pair(struct pair *p)
{
	tcb_instance_destroy(p->whole);
	tcb_instance_destroy(p->drawn);
	free(p->draw);
	free(p->got);
}

static double allowed_at(const struct pair *p, size_t at)
{
	const struct tcb_reference *whole = &p->whole->reference[0];
	return tcb_gamma(p->plan.chain) * whole->magnitude[at] + whole->extra[at];
}

static void put(struct pair *p, size_t at, double value)
{
	const struct tcb_operand *output = &p->whole->operands[p->whole->output[0].operand];
	const float single = (float)value;
	tcb_type_from_f32(output->type, &single, 1, (char *)p->got + at * tcb_type_bytes(output->type));
}

/* What a kernel would compute: off by a few hundredths of what is allowed. */
static void compute(struct pair *p)
{
	struct tcb_rng rng;
	tcb_rng_init(&rng, 3);
	for (size_t i = 0; i < p->whole->output[0].count; i++)
		put(p, i, p->whole->reference[0].y[i] + 0.01 * (double)tcb_rng_normal(&rng) * allowed_at(p, i));
}

static struct tcb_check judge(struct pair *p)
{
	struct tcb_check check = { .outcome = TCB_OUTCOME_OK };
	assert_int_equal(tcb_judge_bound(p->drawn, &p->plan, p->operand, pool, "", &check, NULL), TCB_OK);
	assert_int_equal(check.outcome == TCB_OUTCOME_WRONG, check.error_ratio > 1);
	return check;
}

static int has_row(const struct pair *p, size_t row)
{
	const struct tcb_grid *grid = &p->draw->grid[0];
	for (size_t i = 0; i < grid->row_count; i++)
		if (grid->rows[i] == row)
			return 1;
	return 0;
}

static int has_column(const struct pair *p, size_t column)
{
	const struct tcb_grid *grid = &p->draw->grid[p->draw->grid_count - 1];
	for (size_t i = 0; grid->columns && i < grid->column_count; i++)
		if (grid->columns[i] == column)
			return 1;
	return 0;
}

static void grids_are_parts_of_the_whole(void **state)
{
	(void)state;
	for (size_t large = 0; large < LARGES; large++) {
		struct pair p;
		open_pair(large, &p);
		const size_t columns = p.whole->operands[p.whole->output[0].operand].cols;
		const struct tcb_reference *whole = &p.whole->reference[0];
		assert_true(p.draw->count < p.whole->output[0].count);
		for (size_t g = 0; g < p.draw->grid_count; g++) {
			const struct tcb_reference *part = &p.drawn->drawn[g];
			for (size_t i = 0; i < part->grid->row_count * part->grid->column_count; i++) {
				const size_t at = tcb_grid_row(part->grid, i / part->grid->column_count) * columns +
						  tcb_grid_column(part->grid, i % part->grid->column_count);
				assert_true(fabs(part->y[i] - whole->y[at]) <= 1e-12 * whole->magnitude[at]);
				assert_true(fabs(part->magnitude[i] - whole->magnitude[at]) <=
					    1e-12 * whole->magnitude[at]);
				/* An attention's error counts the tokens that the rows of a task see together. */
				const double slack = large < SUMMED ? 1 + 1e-9 : 5;
				assert_true(part->extra[i] <= whole->extra[at] * slack);
				assert_true(part->extra[i] >= whole->extra[at] / slack);
			}
		}
		close_pair(&p);
	}
}

static void sums_are_sums(void **state)
{
	(void)state;
	for (size_t large = 0; large < SUMMED; large++) {
		struct pair p;
		open_pair(large, &p);
		const size_t n = p.whole->operands[p.whole->output[0].operand].cols;
		const struct tcb_reference *whole = &p.whole->reference[0], *sums = &p.drawn->sums;
		assert_int_equal(p.draw->sums, (n + TCB_SUM_COLUMNS - 1) / TCB_SUM_COLUMNS);
		for (size_t i = 0; i < p.draw->sum_count; i++) {
			const size_t from = i % p.draw->sums * TCB_SUM_COLUMNS;
			double y = 0, magnitude = 0, extra = 0;
			for (size_t j = from; j < n && j < from + TCB_SUM_COLUMNS; j++) {
				const size_t at = i / p.draw->sums * n + j;
				const double factor = tcb_sum_factor(j);
				assert_true(fabs(factor) >= 0.5 && fabs(factor) < 1.5);
				y += factor * whole->y[at];
				magnitude += fabs(factor) * whole->magnitude[at];
				extra += fabs(factor) * whole->extra[at];
			}
			/* Those of softmax are of rough exponentials. */
			assert_true(fabs(sums->y[i] - y) <= (large < PRODUCTS ? 1e-12 : 1e-10) * magnitude);
			/* Those of the dense ops are bounds, their sizes being added in f32. */
			assert_true(fabs(sums->magnitude[i] - magnitude) <= 2e-4 * magnitude);
			assert_true(sums->extra[i] >= extra * (1 - 1e-9));
		}
		close_pair(&p);
	}
}

static void draws_cross_every_edge(void **state)
{
	(void)state;
	struct pair p, again;
	open_pair(0, &p);
	const size_t m = p.problem.shape.m, n = p.problem.shape.n;
	/* Rows are whole and so are columns: between them they cross whatever lies between two tiles. */
	assert_int_equal(p.draw->grid_count, 2);
	assert_int_equal(p.draw->grid[0].column_count, n);
	assert_null(p.draw->grid[0].columns);
	assert_int_equal(p.draw->grid[1].row_count, m);
	assert_null(p.draw->grid[1].rows);
	assert_true(has_row(&p, 0) && has_row(&p, m - 1) && has_column(&p, 0) && has_column(&p, n - 1));
	tcb_draw_create(&p.problem, 1, 7, &again.draw, NULL);
	assert_memory_equal(again.draw->index, p.draw->index,
			    (p.draw->grid[0].row_count + p.draw->grid[1].column_count) * sizeof(uint32_t));
	free(again.draw);
	/* What is cheap, against the budget or without one, is compared whole. */
	op.reference_flop_ns = 0.1;
	tcb_draw_create(&p.problem, 1, 7, &again.draw, NULL);
	assert_null(again.draw);
	op.reference_flop_ns = 1e9 / op.flops(&p.problem); /* a second */
	tcb_draw_create(&p.problem, 60, 7, &again.draw, NULL);
	assert_null(again.draw);
	tcb_draw_create(&p.problem, 0, 7, &again.draw, NULL);
	assert_null(again.draw);
	tcb_draw_create(&p.problem, 20, 7, &again.draw, NULL);
	assert_non_null(again.draw);
	/* With that much time: the sides of the first and last edge of tiles of each power of two. */
	again.problem = p.problem;
	for (size_t tile = 8; tile < n; tile *= 2)
		assert_true(has_column(&again, tile - 1) && has_column(&again, tile) &&
			    has_column(&again, (n - 1) / tile * tile) && has_column(&again, (n - 1) / tile * tile - 1));
	for (size_t tile = 16; tile < m; tile *= 2)
		assert_true(has_row(&again, tile - 1) && has_row(&again, tile));
	free(again.draw);
	close_pair(&p);
}

/* ---- planted faults ---- */

/* Rows and columns from which on SIZE are not drawn. */
static void find_gap(const struct pair *p, size_t size, size_t *row, size_t *column)
{
	size_t rows = 0, columns = 0;
	for (*row = 0; rows < size; ++*row)
		rows = has_row(p, *row) ? 0 : rows + 1;
	for (*column = 0; columns < size; ++*column)
		columns = has_column(p, *column) ? 0 : columns + 1;
	*row -= size;
	*column -= size;
	assert_true(*row + size < p->problem.shape.m && *column + size < p->problem.shape.n);
}

enum fault {
	FINE,
	ONE_OUTPUT,    /* four times as far off as is allowed; of 16 bits, whose rounding drowns it, 40 times */
	NOT_A_NUMBER,  /* one output */
	INFINITE,      /* one output */
	NOT_WRITTEN,   /* one output */
	ROW_PART,      /* of a tile not written */
	OTHER_TILE,    /* two tiles swapped */
	OTHER_ROW,     /* a tile's rows swapped */
	SLICE_MISSING, /* a part of k left out in a tile */
	SHIFTED,       /* each output of a tile, by as much */
	FAULTS
};

enum { TILE = 6 };

static void plant(struct pair *p, enum fault fault, size_t row, size_t column)
{
	const size_t n = p->problem.shape.n, at = row * n + column;
	const size_t bytes = tcb_type_bytes(p->whole->operands[p->whole->output[0].operand].type);
	const double *y = p->whole->reference[0].y, off = bytes == sizeof(float) ? 4 : 40;
	if (fault == ONE_OUTPUT)
		put(p, at, y[at] + off * allowed_at(p, at));
	if (fault == NOT_A_NUMBER || fault == INFINITE)
		put(p, at, fault == INFINITE ? (double)INFINITY : (double)NAN);
	if (fault == NOT_WRITTEN || fault == ROW_PART)
		memset((char *)p->got + at * bytes, TCB_POISON, bytes * (fault == ROW_PART ? TILE : 1));
	for (size_t i = 0; i < TILE; i++)
		for (size_t j = 0; j < TILE; j++) {
			const size_t to = at + i * n + j, far = to - at + (n - TILE - 1) + 3 * n;
			if (fault == OTHER_TILE) {
				put(p, to, y[far]);
				put(p, far, y[to]);
			} else if (fault == OTHER_ROW) {
				put(p, to, y[at + (i ^ 1) * n + j]);
			} else if (fault == SLICE_MISSING) { /* as random as the whole, an eighth of its variance */
				put(p, to, y[to] + sqrt(1.0 / 8) * y[far]);
			} else if (fault == SHIFTED) {
				put(p, to, y[to] + off * allowed_at(p, to));
			}
		}
}

/* Faults that no drawn output shows, in the first and in a later candidate.  What stays within the bound is right. */
static void planted_faults_are_found(void **state)
{
	(void)state;
	for (size_t large = 0; large < SUMMED; large++) {
		struct pair p;
		size_t row, column;
		open_pair(large, &p);
		find_gap(&p, TILE, &row, &column);
		if (large >= PRODUCTS) /* of softmax: a row whose results are of like size, as a product's are */
			row += 2 - row % 3;
		for (int later = 0; later < 2; later++)
			for (enum fault fault = later ? FINE : ONE_OUTPUT; fault < FAULTS; fault++) {
				double worst = 0;
				compute(&p);
				plant(&p, fault, row, column);
				struct tcb_check all = { .outcome = TCB_OUTCOME_OK };
				assert_int_equal(tcb_judge_bound(p.whole, &p.plan, p.operand, pool, "", &all, NULL),
						 TCB_OK);
				const struct tcb_check check = judge(&p);
				if (check.outcome != all.outcome)
					print_error("%s fault %d later %d: whole %g drawn %g\n", larges[large].op,
						    (int)fault, later, all.error_ratio, check.error_ratio);
				assert_int_equal(check.outcome, all.outcome);
				worst = all.error_ratio;
				assert_true(fault == FINE ? worst <= 1 : worst > 1 || fault >= OTHER_TILE);
				if (fault == NOT_WRITTEN || fault == ROW_PART)
					assert_non_null(strstr(check.message, "never written"));
			}
		close_pair(&p);
	}
}

/* The same in every row and column, one output far enough off to be seen among the 64 of its sum. */
static void one_output_anywhere(void **state)
{
	(void)state;
	struct pair p;
	struct tcb_rng rng;
	open_pair(0, &p);
	compute(&p);
	tcb_rng_init(&rng, 5);
	for (int i = 0; i < 300; i++) {
		const size_t at = (size_t)tcb_rng_below(&rng, p.whole->output[0].count);
		float before;
		memcpy(&before, (char *)p.got + at * sizeof before, sizeof before);
		put(&p, at, p.whole->reference[0].y[at] + (i % 2 ? 4 : -4) * allowed_at(&p, at));
		const struct tcb_check check = judge(&p);
		char where[32];
		snprintf(where, sizeof where, "[%zu][%zu]", at / p.problem.shape.n, at % p.problem.shape.n);
		assert_int_equal(check.outcome, TCB_OUTCOME_WRONG);
		assert_non_null(strstr(check.message, where));
		put(&p, at, (double)before);
	}
	assert_int_equal(judge(&p).outcome, TCB_OUTCOME_OK);
	close_pair(&p);
}

/* ---- rows ---- */

static size_t asked; /* outputs that the op's reference was asked for */
static void (*asked_reference)(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out);

static void count_asked(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out)
{
	const struct tcb_grid *grid = out->grid;
	asked += grid ? grid->row_count * grid->column_count : problem->shape.m * problem->shape.n;
	asked_reference(problem, operand, out);
}

static void whole_rows_are_drawn(void **state)
{
	(void)state;
	for (size_t large = PRODUCTS; large < SUMMED; large++) {
		struct pair p;
		open_pair(large, &p);
		const size_t m = p.problem.shape.m, n = p.problem.shape.n;
		assert_int_equal(p.draw->grid_count, 1);
		assert_null(p.draw->grid[0].columns);
		assert_int_equal(p.draw->grid[0].column_count, n);
		assert_int_equal(p.draw->grid[0].row_count, 2);
		assert_true(has_row(&p, 0) && has_row(&p, m - 1));
		assert_non_null(strstr(p.draw->text, "verified on 2 drawn rows of "));
		assert_non_null(strstr(p.draw->text, "outputs, all of them in sums"));
		/* A judgement asks for the drawn rows and for what looks odd: 32 blocks at most. */
		tcb_instance_destroy(p.drawn);
		asked = 0;
		asked_reference = op.reference;
		op.reference = count_asked;
		assert_int_equal(tcb_instance_create(&op, &p.problem, 1, NULL, &p.drawn, NULL), TCB_OK);
		p.drawn->draw = p.draw;
		compute(&p);
		assert_int_equal(judge(&p).outcome, TCB_OUTCOME_OK);
		assert_in_range(asked, 2 * n, 2 * n + 32 * TCB_SUM_COLUMNS);
		assert_true(asked < m * n / 4);
		free(p.draw);
		/* With time for it there are the sides of the first and the last edge of tiles, and random ones. */
		op.reference_flop_ns = 1e9 / op.flops(&p.problem); /* a second */
		assert_int_equal(tcb_draw_create(&p.problem, 10, 7, &p.draw, NULL), TCB_OK);
		assert_in_range(p.draw->grid[0].row_count, m / 5, m / 3);
		for (size_t tile = 16; tile < m; tile *= 2)
			assert_true(has_row(&p, tile - 1) && has_row(&p, tile) && has_row(&p, (m - 1) / tile * tile));
		close_pair(&p);
	}
}

enum row_fault {
	RIGHT,
	LAST_ROW,      /* of a sum that lacks a thousandth: all of the row is off */
	NEXT_ROW,      /* the results of the row below */
	ROWS_LEFT,     /* the rows of a thread block were never written */
	ROWS_OF_ZEROS, /* past a wave of blocks */
	ROW_END,       /* the columns after the last whole vector were left out */
	TILE_EDGE,     /* two columns changed places where two strips of columns meet */
	ROW_FAULTS
};

static void plant_row(struct pair *p, enum row_fault fault, size_t row)
{
	const size_t n = p->problem.shape.n, at = row * n, edge = at + 512;
	const double *y = p->whole->reference[0].y;
	for (size_t c = 0; c < n; c++) {
		if (fault == LAST_ROW)
			put(p, at + c, y[at + c] * 1.001 + (y[at + c] == 0));
		if (fault == NEXT_ROW)
			put(p, at + c, y[at + n + c]);
		for (size_t r = 0; fault == ROWS_OF_ZEROS && r < 4; r++)
			put(p, at + r * n + c, 0);
	}
	if (fault == ROWS_LEFT)
		memset((char *)p->got + at * sizeof(float), TCB_POISON, 4 * n * sizeof(float));
	if (fault == ROW_END)
		memset((char *)p->got + (at + n / 8 * 8) * sizeof(float), TCB_POISON, n % 8 * sizeof(float));
	if (fault == TILE_EDGE) {
		put(p, edge, y[edge - 1]);
		put(p, edge - 1, y[edge]);
	}
}

/* What kernels of rows get wrong, in rows that are not drawn. */
static void faults_of_rows_are_found(void **state)
{
	(void)state;
	for (size_t large = PRODUCTS; large < SUMMED; large++) {
		struct pair p;
		open_pair(large, &p);
		for (enum row_fault fault = RIGHT; fault < ROW_FAULTS; fault++)
			for (size_t row = 60; row < 66; row++) {
				struct tcb_check all = { .outcome = TCB_OUTCOME_OK };
				assert_false(has_row(&p, row));
				compute(&p);
				plant_row(&p, fault, fault == LAST_ROW ? p.problem.shape.m - 2 : row);
				assert_int_equal(tcb_judge_bound(p.whole, &p.plan, p.operand, pool, "", &all, NULL),
						 TCB_OK);
				const struct tcb_check check = judge(&p);
				if (check.outcome != all.outcome)
					print_error("%s fault %d row %zu: whole %g drawn %g\n", larges[large].op,
						    (int)fault, row, all.error_ratio, check.error_ratio);
				assert_int_equal(check.outcome, all.outcome);
				assert_true(fault == RIGHT || fault == TILE_EDGE || all.outcome == TCB_OUTCOME_WRONG);
			}
		close_pair(&p);
	}
}

/* An op without sums: against the output that was right last. */
static void later_attentions_are_compared_with_the_first(void **state)
{
	(void)state;
	for (size_t large = SUMMED; large < LARGES; large++) {
		struct pair p;
		open_pair(large, &p);
		const size_t columns = p.whole->operands[p.whole->output[0].operand].cols, head = p.problem.shape.k;
		size_t at = 0;
		while (has_row(&p, at / columns) || has_column(&p, at % columns))
			at += at % columns + head < columns ? head : columns - at % columns;
		compute(&p);
		put(&p, at, (double)NAN);
		assert_int_equal(judge(&p).outcome, TCB_OUTCOME_WRONG);
		compute(&p);
		assert_int_equal(judge(&p).outcome, TCB_OUTCOME_OK);
		for (size_t i = 0; i < head; i++)
			put(&p, at + i, -p.whole->reference[0].y[at + i] - 8 * allowed_at(&p, at + i));
		assert_int_equal(judge(&p).outcome, TCB_OUTCOME_WRONG);
		compute(&p);
		put(&p, at, p.whole->reference[0].y[at] + 0.2 * allowed_at(&p, at)); /* odd and right */
		assert_int_equal(judge(&p).outcome, TCB_OUTCOME_OK);
		close_pair(&p);
	}
}

static int set_up(void **state)
{
	(void)state;
	return tcb_pool_create(2, NULL, &pool, NULL) == TCB_OK ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	tcb_pool_destroy(pool);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(grids_are_parts_of_the_whole), TEST(sums_are_sums),
		TEST(draws_cross_every_edge),       TEST(planted_faults_are_found),
		TEST(whole_rows_are_drawn),         TEST(faults_of_rows_are_found),
		TEST(one_output_anywhere),          TEST(later_attentions_are_compared_with_the_first),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
