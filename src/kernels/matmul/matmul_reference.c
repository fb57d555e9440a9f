/* SPDX-License-Identifier: MIT
 *
 * The reference of the dense products: operands in, C in double, the sums of
 * |a||b| (in f32, with room for their own rounding) and what C's type rounds
 * away.  Blocks of A and B are widened to small panels; their product runs in
 * the widest vectors of the machine.
 */
#include <math.h>
#include <string.h>

#include "base/sizes.h"
#include "kernels/matmul/matmul.h"
#include "kernels/reference_tiles.h"

enum {
	STEP_K = 128,
	PANEL_N = 256,
	TASK_M = 256,
	TILE_VALUES = TCB_REFERENCE_M * TCB_REFERENCE_N,
};

/* Panels of TCB_REFERENCE_N columns of B (TCB_REFERENCE_M rows of A), values and magnitudes. */
struct panels {
	double b[STEP_K * PANEL_N], a[STEP_K * TCB_REFERENCE_M];
	float b_size[STEP_K * PANEL_N], a_size[STEP_K * TCB_REFERENCE_M];
};

/* What the tasks of a reference share; a task is a part of C, with panels of its own. */
struct job {
	enum tcb_type type;
	struct tcb_shape shape;
	void *const *operand;
	const struct tcb_reference_tiles *loops;
	struct tcb_reference *out;
	size_t m, n;   /* of what is wanted of C */
	size_t across; /* tasks side by side */
};

/* COLUMNS of row STEP of B from the wanted one N0 on. */
static void widen_b(const struct job *job, size_t step, size_t n0, size_t columns, float *row)
{
	const struct tcb_grid *grid = job->out->grid;
	const void *b = job->operand[MATMUL_B];
	if (!grid || !grid->columns)
		matmul_widen(job->type, b, step * job->shape.n + n0, columns, row);
	for (size_t j = 0; grid && grid->columns && j < columns; j++)
		matmul_widen(job->type, b, step * job->shape.n + grid->columns[n0 + j], 1, row + j);
}

static void pack_b(const struct job *job, size_t k0, size_t steps, size_t n0, size_t columns, struct panels *p)
{
	float row[PANEL_N] = { 0 };
	for (size_t s = 0; s < steps; s++) {
		widen_b(job, k0 + s, n0, columns, row);
		for (size_t j = 0; j < PANEL_N; j++) {
			const size_t at = (j / TCB_REFERENCE_N * STEP_K + s) * TCB_REFERENCE_N + j % TCB_REFERENCE_N;
			p->b[at] = (double)row[j];
			p->b_size[at] = fabsf(row[j]);
		}
	}
}

static void pack_a(const struct job *job, size_t m0, size_t rows, size_t k0, size_t steps, struct panels *p)
{
	for (size_t i = 0; i < TCB_REFERENCE_M; i++) {
		float row[STEP_K] = { 0 };
		if (i < rows)
			matmul_widen(job->type, job->operand[MATMUL_A],
				     tcb_grid_row(job->out->grid, m0 + i) * job->shape.k + k0, steps, row);
		for (size_t s = 0; s < steps; s++) {
			p->a[s * TCB_REFERENCE_M + i] = (double)row[s];
			p->a_size[s * TCB_REFERENCE_M + i] = fabsf(row[s]);
		}
	}
}

/* Adds one pair of panels to C's tile at (M0, N0). */
static void add_tile(const struct tcb_reference_tiles *with, const struct panels *p, size_t panel, size_t steps,
		     size_t n, size_t m0, size_t rows, size_t n0, size_t columns, struct tcb_reference *out)
{
	double sum[TILE_VALUES] = { 0 };
	float size[TILE_VALUES] = { 0 };
	const size_t from = panel * STEP_K * TCB_REFERENCE_N;
	with->wide(p->a, p->b + from, steps, sum);
	with->slim(p->a_size, p->b_size + from, steps, size);
	for (size_t i = 0; i < rows; i++)
		for (size_t j = 0; j < columns; j++) {
			out->y[(m0 + i) * n + n0 + j] += sum[i * TCB_REFERENCE_N + j];
			out->magnitude[(m0 + i) * n + n0 + j] += (double)size[i * TCB_REFERENCE_N + j];
		}
}

/* Half a unit in the last place of C's type for the stored value, which is off by less than 2^-10 of MAGNITUDE; the
 * other terms are those of numbers below the normal ones, of C's type and of the sums. */
static double storing_error(enum tcb_type type, double y, double magnitude, size_t k)
{
	static const double unit[] = { 0, 0x1p-11, 0x1p-8 }, tiny[] = { 0, 0x1p-25, 0x1p-134 };
	return unit[type] * (fabs(y) + 0x1p-10 * magnitude) + tiny[type] + 0x1p-149 * (double)k;
}

/* Sums of up to 2^20 magnitudes in f32 are off by less than this share of them: each tile adds STEP_K. */
#define SIZE_SLACK (1 + 1e-4)

/* Where C's type cannot hold Y, the result is infinite: bounds of distance do not apply then. */
static double held(enum tcb_type type, double y)
{
	return type == TCB_TYPE_F16 && fabs(y) >= 65520 ? copysign((double)INFINITY, y) : y;
}

/* Rows M0 to M0 + ROWS - 1 of the panel of columns at N0. */
static void add_panel(const struct job *job, size_t m_first, size_t m_rows, size_t n0, struct panels *panels)
{
	const struct tcb_shape *s = &job->shape;
	const size_t columns = tcb_least(PANEL_N, job->n - n0);
	for (size_t k0 = 0; k0 < s->k; k0 += STEP_K) {
		const size_t steps = tcb_least(STEP_K, s->k - k0);
		pack_b(job, k0, steps, n0, columns, panels);
		for (size_t m0 = m_first; m0 < m_first + m_rows; m0 += TCB_REFERENCE_M) {
			const size_t rows = tcb_least(TCB_REFERENCE_M, m_first + m_rows - m0);
			pack_a(job, m0, rows, k0, steps, panels);
			for (size_t j = 0; j < columns; j += TCB_REFERENCE_N)
				add_tile(job->loops, panels, j / TCB_REFERENCE_N, steps, job->n, m0, rows, n0 + j,
					 tcb_least(TCB_REFERENCE_N, columns - j), job->out);
		}
	}
}

static void run_task(void *ctx, size_t task, unsigned thread)
{
	const struct job *job = ctx;
	const size_t n = job->n, n0 = task % job->across * PANEL_N, m0 = task / job->across * TASK_M;
	const size_t rows = tcb_least(TASK_M, job->m - m0), columns = tcb_least(PANEL_N, n - n0);
	struct panels panels;
	(void)thread;
	for (size_t i = m0; i < m0 + rows; i++) {
		memset(job->out->y + i * n + n0, 0, columns * sizeof(double));
		memset(job->out->magnitude + i * n + n0, 0, columns * sizeof(double));
	}
	add_panel(job, m0, rows, n0, &panels);
	for (size_t i = m0; i < m0 + rows; i++)
		for (size_t at = i * n + n0; at < i * n + n0 + columns; at++) {
			job->out->magnitude[at] *= SIZE_SLACK;
			job->out->extra[at] =
				storing_error(job->type, job->out->y[at], job->out->magnitude[at], job->shape.k);
			job->out->y[at] = held(job->type, job->out->y[at]);
		}
}

static struct job make_job(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out)
{
	const struct tcb_shape *s = &problem->shape;
	return (struct job){ .type = problem->op->type,
			     .shape = *s,
			     .operand = operand,
			     .loops = tcb_reference_tiles(),
			     .out = out,
			     .m = out->grid ? out->grid->row_count : s->m,
			     .n = out->grid ? out->grid->column_count : s->n };
}

void matmul_reference(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out)
{
	struct job job = make_job(problem, operand, out);
	job.across = (job.n + PANEL_N - 1) / PANEL_N;
	tcb_reference_share(out, job.across * ((job.m + TASK_M - 1) / TASK_M), run_task, &job);
}

size_t matmul_drawn_columns(const struct tcb_problem *problem)
{
	(void)problem;
	return 1;
}

/* --- sums of outputs --- */

/* STEP_K rows of B, columns added up times their factors; and their sizes. */
struct added {
	double b[STEP_K * TCB_REFERENCE_N], size[STEP_K * TCB_REFERENCE_N];
};

/* STEPS rows of B from K0 on, COUNT sums from FIRST on. */
static void add_columns(const struct job *job, size_t k0, size_t steps, size_t first, size_t count, struct added *to)
{
	memset(to, 0, sizeof(*to));
	for (size_t s = 0; s < steps; s++)
		for (size_t lane = 0; lane < count; lane++) {
			const size_t n0 = (first + lane) * TCB_SUM_COLUMNS, at = s * TCB_REFERENCE_N + lane;
			const size_t columns = tcb_least(TCB_SUM_COLUMNS, job->n - n0);
			float row[TCB_SUM_COLUMNS];
			widen_b(job, k0 + s, n0, columns, row);
			for (size_t j = 0; j < columns; j++) {
				const double term = tcb_sum_factor(n0 + j) * (double)row[j];
				to->b[at] += term;
				to->size[at] += fabs(term);
			}
		}
}

static void add_products(const struct job *job, size_t k0, size_t steps, size_t first, size_t count, struct panels *p,
			 const struct added *sums)
{
	double a_size[STEP_K * TCB_REFERENCE_M];
	for (size_t m0 = 0; m0 < job->m; m0 += TCB_REFERENCE_M) {
		const size_t rows = tcb_least(TCB_REFERENCE_M, job->m - m0);
		double sum[TILE_VALUES] = { 0 }, size[TILE_VALUES] = { 0 };
		pack_a(job, m0, rows, k0, steps, p);
		for (size_t i = 0; i < STEP_K * TCB_REFERENCE_M; i++)
			a_size[i] = fabs(p->a[i]);
		job->loops->wide(p->a, sums->b, steps, sum);
		job->loops->wide(a_size, sums->size, steps, size);
		for (size_t i = 0; i < rows * count; i++) {
			const size_t m = i / count, at = (m0 + m) * job->across + first + i % count;
			job->out->y[at] += sum[m * TCB_REFERENCE_N + i % count];
			job->out->magnitude[at] += size[m * TCB_REFERENCE_N + i % count];
		}
	}
}

static void run_sums(void *ctx, size_t task, unsigned thread)
{
	const struct job *job = ctx;
	const size_t first = task * TCB_REFERENCE_N, count = tcb_least(TCB_REFERENCE_N, job->across - first);
	struct panels panels;
	struct added sums;
	(void)thread;
	memset(&panels, 0, sizeof(panels));
	for (size_t i = 0; i < job->m * count; i++) {
		const size_t at = i / count * job->across + first + i % count;
		job->out->y[at] = job->out->magnitude[at] = 0;
	}
	for (size_t k0 = 0; k0 < job->shape.k; k0 += STEP_K) {
		const size_t steps = tcb_least(STEP_K, job->shape.k - k0);
		add_columns(job, k0, steps, first, count, &sums);
		add_products(job, k0, steps, first, count, &panels, &sums);
	}
	for (size_t i = 0; i < job->m * count; i++) {
		const size_t at = i / count * job->across + first + i % count;
		const double magnitude = job->out->magnitude[at];
		/* Rounding of each output, which is no larger than its magnitude. */
		job->out->extra[at] = storing_error(job->type, magnitude, magnitude, job->shape.k) +
				      1.5 * TCB_SUM_COLUMNS * storing_error(job->type, 0, 0, job->shape.k);
	}
}

void matmul_reference_sums(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out)
{
	struct job job = make_job(problem, operand, out);
	job.across = tcb_div_up(job.n, TCB_SUM_COLUMNS);
	tcb_reference_share(out, tcb_div_up(job.across, TCB_REFERENCE_N), run_sums, &job);
}
