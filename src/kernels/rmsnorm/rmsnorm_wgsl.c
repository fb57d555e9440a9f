/* SPDX-License-Identifier: MIT
 *
 * rmsnorm in WGSL: what it does with a row of rows_wgsl.h.  A part is a sum of
 * squares.
 */
#include <stdio.h>

#include "kernels/rmsnorm/rmsnorm.h"
#include "kernels/rows/rows_wgsl.h"

static void begin(struct rows_wgsl_writer *w, enum rows_wgsl_sweep sweep)
{
	(void)sweep;
	tcb_wgsl_add(&w->w, "var sum = 0.0;\n");
}

static void add(struct rows_wgsl_writer *w, enum rows_wgsl_sweep sweep)
{
	char squares[ROWS_WGSL_EXPRESSION_MAX];

	(void)sweep;
	for (unsigned i = 0; i < w->g->unroll; i++)
		tcb_wgsl_add(&w->w, "let squares%u = v%u * v%u;\n", i, i, i);
	rows_wgsl_sum(w, "squares", squares);
	tcb_wgsl_add(&w->w, "sum += sum_of(%s);\n", squares);
}

static void close_row(struct rows_wgsl_writer *w, enum rows_wgsl_sweep sweep)
{
	(void)sweep;
	tcb_wgsl_add(&w->w, "let total = sum_of_row(sum, %s);\n", w->here);
}

static void take(struct rows_wgsl_writer *w)
{
	tcb_wgsl_add(&w->w, "sum += part.x;\n");
}

static void finish(struct rows_wgsl_writer *w)
{
	tcb_wgsl_add(&w->w, "let factor = inverseSqrt(total / f32(columns * %uu) + %g);\n", w->g->width, w->g->eps);
}

static void result(struct rows_wgsl_writer *w, unsigned i, int is_held, const char *const weights[],
		   char out[ROWS_WGSL_EXPRESSION_MAX])
{
	(void)w, (void)is_held;
	snprintf(out, ROWS_WGSL_EXPRESSION_MAX, "v%u * factor * %s", i, weights[0]);
}

/* Of the sum's relative error, the square, the mean's division, n's own rounding, eps and its sum included, half
 * reaches the result; then the root and two products, half an ulp each. */
static void bound(const struct rows_wgsl *g, struct tcb_kernel *out)
{
	out->chain = (rows_wgsl_chain(g) + TCB_WGSL_DIVISION + 4) / 2.0;
	out->ulps = ROWS_WGSL_RSQRT_ULPS + 1.01;
}

const struct rows_wgsl_math rmsnorm_wgsl_math = {
	.name = "rmsnorm",
	.input = RMSNORM_X,
	.output = RMSNORM_Y,
	.weights = 1,
	.weight = { RMSNORM_W },
	.absent = "0.0",
	.begin = begin,
	.add = add,
	.close = close_row,
	.part = "vec2<f32>(total, 0.0)",
	.take = take,
	.finish = finish,
	.result = result,
	.bound = bound,
};

ROWS_WGSL_SIDE(rmsnorm);
