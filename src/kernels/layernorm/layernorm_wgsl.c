/* SPDX-License-Identifier: MIT
 *
 * layernorm in WGSL: what it does with a row of rows_wgsl.h.  A part is the mean
 * of its values and the sum of the squared deviations from it, which are joined
 * by the formula of Chan, Golub and LeVeque (1979).
 */
#include <stdio.h>

#include "kernels/layernorm/layernorm.h"
#include "kernels/rows/rows_wgsl.h"

static void begin(struct rows_wgsl_writer *w, enum rows_wgsl_sweep sweep)
{
	if (sweep == ROWS_WGSL_FIRST)
		tcb_wgsl_add(&w->w, "var sum = 0.0;\n");
	else if (sweep == ROWS_WGSL_SECOND)
		tcb_wgsl_add(&w->w, "var apart = 0.0;\n");
	else
		tcb_wgsl_add(&w->w, "var count = 0.0;\n"
				    "var middle = 0.0;\n"
				    "var apart = 0.0;\n");
}

/* The sum of squared deviations from MEAN of what is there, an expression. */
static void write_squares(struct rows_wgsl_writer *w, const char *mean, char out[ROWS_WGSL_EXPRESSION_MAX])
{
	for (unsigned i = 0; i < w->g->unroll; i++)
		tcb_wgsl_add(&w->w,
			     "let far%u = select(%s(0.0), v%u - %s, has%u);\n"
			     "let squares%u = far%u * far%u;\n",
			     i, w->vector, i, mean, i, i, i, i);
	rows_wgsl_sum(w, "squares", out);
}

/* MORE values, their mean and the sum of their squared deviations, to the state. */
static void write_join(struct rows_wgsl_writer *w, const char *mean, const char *squares)
{
	tcb_wgsl_add(&w->w,
		     "let all = count + more;\n"
		     "let way = %s - middle;\n"
		     "let share = more / all;\n"
		     "apart += %s + way * way * share * count;\n"
		     "middle += way * share;\n"
		     "count = all;\n",
		     mean, squares);
}

static void add(struct rows_wgsl_writer *w, enum rows_wgsl_sweep sweep)
{
	char values[ROWS_WGSL_EXPRESSION_MAX], squares[ROWS_WGSL_EXPRESSION_MAX + 16];
	struct tcb_wgsl *t = &w->w;

	rows_wgsl_sum(w, "v", values);
	if (sweep == ROWS_WGSL_FIRST)
		tcb_wgsl_add(t, "sum += sum_of(%s);\n", values);
	else if (sweep == ROWS_WGSL_SECOND) {
		write_squares(w, "mean", squares);
		tcb_wgsl_add(t, "apart += sum_of(%s);\n", squares);
	} else {
		tcb_wgsl_add(t, "var there = 0u;\n");
		for (unsigned i = 0; i < w->g->unroll; i++)
			tcb_wgsl_add(t, "there += select(0u, %uu, has%u);\n", w->g->width, i);
		tcb_wgsl_add(t,
			     "let more = f32(there);\n"
			     "let near = sum_of(%s) / more;\n",
			     values);
		write_squares(w, "near", values);
		snprintf(squares, sizeof squares, "sum_of(%s)", values);
		write_join(w, "near", squares);
	}
}

static void close_row(struct rows_wgsl_writer *w, enum rows_wgsl_sweep sweep)
{
	struct tcb_wgsl *t = &w->w;

	if (sweep == ROWS_WGSL_FIRST)
		tcb_wgsl_add(t, "let mean = sum_of_row(sum, %s) / size;\n", w->here);
	if (sweep == ROWS_WGSL_ONLINE)
		tcb_wgsl_add(t,
			     "let mean = sum_of_row(middle * (count / size), %s);\n"
			     "apart += (middle - mean) * (middle - mean) * count;\n",
			     w->here);
	if (sweep != ROWS_WGSL_FIRST)
		tcb_wgsl_add(t, "let total = sum_of_row(apart, %s);\n", w->here);
}

static void take(struct rows_wgsl_writer *w)
{
	tcb_wgsl_add(&w->w, "let more = f32((min((i + 1u) * slice, columns) - i * slice) * %uu);\n", w->g->width);
	write_join(w, "part.x", "part.y");
}

static void finish(struct rows_wgsl_writer *w)
{
	tcb_wgsl_add(&w->w, "let factor = inverseSqrt(total / f32(columns * %uu) + %g);\n", w->g->width, w->g->eps);
}

static void result(struct rows_wgsl_writer *w, unsigned i, int is_held, const char *const weights[],
		   char out[ROWS_WGSL_EXPRESSION_MAX])
{
	(void)w, (void)is_held;
	snprintf(out, ROWS_WGSL_EXPRESSION_MAX, "(v%u - mean) * factor * %s + %s", i, weights[0], weights[1]);
}

/*
 * Beside the additions of the mean's terms and then of their squares: shares, weights, deviations and their squares, at
 * most four roundings each, and divisions, of the team and of the row; of a running state two divisions and eight
 * roundings a step.  inverseSqrt is off by three roundings more than one that is correctly rounded, which the reference
 * has, and n by one.
 */
static void bound(const struct rows_wgsl *g, struct tcb_kernel *out)
{
	out->chain = rows_wgsl_chain(g) + (2 * TCB_WGSL_DIVISION + 8) * rows_wgsl_steps(g) + 3 * TCB_WGSL_DIVISION +
		     2 * ROWS_WGSL_RSQRT_ULPS + 14;
	out->ulps = 0.51;
}

const struct rows_wgsl_math layernorm_wgsl_math = {
	.name = "layernorm",
	.input = LAYERNORM_X,
	.output = LAYERNORM_Y,
	.weights = 2,
	.weight = { LAYERNORM_W, LAYERNORM_B },
	.has_size = 1,
	.has_sweeps = 1,
	.absent = "0.0",
	.begin = begin,
	.add = add,
	.close = close_row,
	.part = "vec2<f32>(mean, total)",
	.take = take,
	.finish = finish,
	.result = result,
	.bound = bound,
};

ROWS_WGSL_SIDE(layernorm);
