/* SPDX-License-Identifier: MIT
 *
 * softmax in WGSL: what it does with a row of rows_wgsl.h.  A part is a maximum
 * and the sum of exp(x - maximum) (Milakov and Gimelshein 2018).
 *
 * What is not there counts as the lowest float, and as 0 in sums.
 */
#include <math.h>
#include <stdio.h>

#include "base/sizes.h"
#include "kernels/rows/rows_wgsl.h"
#include "kernels/softmax/softmax.h"

static void begin(struct rows_wgsl_writer *w, enum rows_wgsl_sweep sweep)
{
	if (sweep != ROWS_WGSL_SECOND)
		tcb_wgsl_add(&w->w, "var largest = " TCB_WGSL_LOWEST ";\n");
	if (sweep != ROWS_WGSL_FIRST)
		tcb_wgsl_add(&w->w, "var sum = 0.0;\n");
}

/* Vectors become their exponentials against TOP. */
static void write_exps(struct rows_wgsl_writer *w, const char *top)
{
	for (unsigned i = 0; i < w->g->unroll; i++)
		tcb_wgsl_add(&w->w, "v%u = select(%s(0.0), exp(v%u - %s), has%u);\n", i, w->vector, i, top, i);
}

static void add(struct rows_wgsl_writer *w, enum rows_wgsl_sweep sweep)
{
	char values[ROWS_WGSL_EXPRESSION_MAX];
	struct tcb_wgsl *t = &w->w;

	rows_wgsl_largest(w, "v", values);
	if (sweep == ROWS_WGSL_FIRST) {
		tcb_wgsl_add(t, "largest = max(largest, largest_of(%s));\n", values);
		return;
	}
	if (sweep == ROWS_WGSL_ONLINE)
		tcb_wgsl_add(t, "let now = max(largest, largest_of(%s));\n", values);
	write_exps(w, sweep == ROWS_WGSL_ONLINE ? "now" : "top");
	rows_wgsl_sum(w, "v", values);
	if (sweep == ROWS_WGSL_SECOND)
		tcb_wgsl_add(t, "sum += sum_of(%s);\n", values);
	else
		tcb_wgsl_add(t,
			     "sum = sum * exp(largest - now) + sum_of(%s);\n"
			     "largest = now;\n",
			     values);
}

static void close_row(struct rows_wgsl_writer *w, enum rows_wgsl_sweep sweep)
{
	if (sweep != ROWS_WGSL_SECOND)
		tcb_wgsl_add(&w->w, "let top = largest_of_row(largest, %s);\n", w->here);
	if (sweep == ROWS_WGSL_ONLINE)
		tcb_wgsl_add(&w->w, "sum = select(sum * exp(largest - top), 0.0, sum == 0.0);\n");
	if (sweep != ROWS_WGSL_FIRST)
		tcb_wgsl_add(&w->w, "let total = sum_of_row(sum, %s);\n", w->here);
}

static void take(struct rows_wgsl_writer *w)
{
	tcb_wgsl_add(&w->w, "let now = max(largest, part.x);\n"
			    "sum = sum * exp(largest - now) + part.y * exp(part.x - now);\n"
			    "largest = now;\n");
}

static void finish(struct rows_wgsl_writer *w)
{
	tcb_wgsl_add(&w->w, "let scale = 1.0 / total;\n");
}

static void result(struct rows_wgsl_writer *w, unsigned i, int is_held, const char *const weights[],
		   char out[ROWS_WGSL_EXPRESSION_MAX])
{
	(void)w, (void)weights;
	snprintf(out, ROWS_WGSL_EXPRESSION_MAX, is_held ? "v%u * scale" : "exp(v%u - top) * scale", i);
}

/*
 * The element's exponential, 1 / sum, and their product.  In the sum errors that grow with the depth below the maximum
 * count as much as their terms, and the mean depth of those is at most ln(n): it is the entropy of the results less
 * the logarithm of the sum.  Where a sum is rescaled the depths of the steps add up to the term's, and each exponential
 * has TCB_WGSL_EXP_ULPS, and the product's rounding, of its own.
 */
static void bound(const struct rows_wgsl *g, struct tcb_kernel *out)
{
	const double steps = rows_wgsl_steps(g), n = (double)g->columns * g->width;

	out->chain = rows_wgsl_chain(g) + steps + TCB_WGSL_DIVISION;
	out->ulps = TCB_WGSL_EXP_ULPS + TCB_WGSL_EXP_DEPTH * TCB_WGSL_DEPTH_MOST + TCB_WGSL_EXP_ULPS * (1 + steps) +
		    TCB_WGSL_EXP_DEPTH * log(n) + 1;
}

const struct rows_wgsl_math softmax_wgsl_math = {
	.name = "softmax",
	.input = SOFTMAX_X,
	.output = SOFTMAX_Y,
	.has_max = 1,
	.has_sweeps = 1,
	.absent = TCB_WGSL_LOWEST,
	.begin = begin,
	.add = add,
	.close = close_row,
	.part = "vec2<f32>(top, total)",
	.take = take,
	.finish = finish,
	.result = result,
	.bound = bound,
};

ROWS_WGSL_SIDE(softmax);
