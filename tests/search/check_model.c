/* SPDX-License-Identifier: MIT
 *
 * Does the model rank as measurements do?
 *
 *   check_model DATABASE [--device DEV] [--contract C] [--shape MxNxK] [--memory GB/S] [--any-kernel]
 *               [--csv FILE]
 *
 * All candidates that a database has measured on GPUs are modelled as a sweep
 * without the GPU would: a sample is assembled for its registers, all are
 * simulated, the best are assembled and simulated again.  Measurements of
 * kernels that have changed since are left out, or with --any-kernel held against
 * today's kernel of the same geometry.  Printed for each
 * problem and cache state: the rank correlation (Spearman), the spread of the
 * ratio of the two times, the regret of the model's first choice and of the best
 * of its first 5 and 10, against the fastest that was measured.  The device's
 * specification is that of the attached GPU of this model, else of the recorded
 * one of its name, else of its capability with --memory for its bandwidth.
 *
 * Exit: 0, 4 where a correlation is below 0.5, 77 without GPU measurements, 2 usage, 1 else.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/gpu.h"
#include "search/model.h"
#include "stored.h"

enum { SKIP = 77, LEAST = 20, REFINED = 48, SEED = 1 };
static const double CORRELATION_LEAST = 0.5;

struct options {
	const char *database, *device, *contract, *shape, *csv;
	double memory_gb_s;
	enum stored_stale stale;
};

struct row {
	const struct tcb_trial *trial;
	double measured[TCB_STATE_COUNT], modelled[TCB_STATE_COUNT]; /* ns */
};

struct tally {
	size_t compared, below;
	FILE *csv;
};

static int read_options(int argc, char **argv, struct options *out)
{
	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : NULL;
		if (argv[i][0] != '-' && !out->database) {
			out->database = argv[i];
			continue;
		}
		if (strcmp(argv[i], "--any-kernel") == 0) {
			out->stale = STORED_TAKE_STALE;
			continue;
		}
		if (!value)
			return -1;
		if (strcmp(argv[i], "--device") == 0)
			out->device = value;
		else if (strcmp(argv[i], "--memory") == 0)
			out->memory_gb_s = strtod(value, NULL);
		else if (strcmp(argv[i], "--contract") == 0)
			out->contract = value;
		else if (strcmp(argv[i], "--shape") == 0)
			out->shape = value;
		else if (strcmp(argv[i], "--csv") == 0)
			out->csv = value;
		else
			return -1;
		i++;
	}
	return out->database ? 0 : -1;
}

/* The specification of the GPU that PROBLEM was measured on. */
static enum tcb_status find_gpu(const struct stored_problem *problem, const struct options *options,
				struct tcb_gpu *out, struct tcb_error *err)
{
	TCB_TRY(stored_gpu(problem, out, err));
	if (strcmp(out->device.model, problem->model) == 0)
		return TCB_OK;
	printf("no specification of %s: that of %s is taken", problem->model, out->device.model);
	if (options->memory_gb_s > 0) {
		out->read_bytes_s = 1e9 * options->memory_gb_s;
		printf(", with %.0f GB/s", options->memory_gb_s);
	}
	printf("\n");
	return TCB_OK;
}

/* The time of the finals, else of the screening. */
static double measured_time(const struct tcb_trial *trial, enum tcb_state state)
{
	double ns = NAN;
	int is_final = 0;
	for (size_t i = 0; i < trial->measurement_count; i++) {
		const struct tcb_measurement *m = &trial->measurements[i];
		if (m->state != state || (is_final && m->stage != TCB_STAGE_FINAL))
			continue;
		is_final = m->stage == TCB_STAGE_FINAL;
		ns = m->ns.median;
	}
	return ns;
}

/* --- figures --- */

static int by_value(const void *a, const void *b)
{
	const double *const *x = a, *const *y = b;
	return (**x > **y) - (**x < **y);
}

/* Ranks of VALUES from 1, equal ones with their mean; 0 without memory. */
static int rank(const double *values, size_t count, double *out)
{
	const double **order = malloc(count * sizeof *order);
	if (!order)
		return 0;
	for (size_t i = 0; i < count; i++)
		order[i] = &values[i];
	qsort(order, count, sizeof *order, by_value);
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i + 1; end < count && *order[end] == *order[i]; end++)
			;
		for (size_t k = i; k < end; k++)
			out[order[k] - values] = 0.5 * (double)(i + 1 + end);
	}
	free(order);
	return 1;
}

static double correlation(const double *x, const double *y, size_t count)
{
	double mx = 0, my = 0, xx = 0, yy = 0, xy = 0;
	for (size_t i = 0; i < count; i++) {
		mx += x[i] / (double)count;
		my += y[i] / (double)count;
	}
	for (size_t i = 0; i < count; i++) {
		xx += (x[i] - mx) * (x[i] - mx);
		yy += (y[i] - my) * (y[i] - my);
		xy += (x[i] - mx) * (y[i] - my);
	}
	return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : NAN;
}

/* The fastest measured among the FIRST by the model, over the fastest of all, less 1. */
static double regret(const double *measured, const double *modelled_rank, size_t count, double first)
{
	double best = INFINITY, of_first = INFINITY;
	for (size_t i = 0; i < count; i++) {
		best = fmin(best, measured[i]);
		if (modelled_rank[i] <= first)
			of_first = fmin(of_first, measured[i]);
	}
	return of_first / best - 1;
}

static enum tcb_status print_state(const struct stored_problem *problem, enum tcb_state state, const struct row *rows,
				   size_t row_count, struct tally *tally, struct tcb_error *err)
{
	char shape[TCB_SHAPE_TEXT_MAX];
	double *v = malloc(4 * row_count * sizeof *v), sum = 0, squares = 0;
	double *measured = v, *modelled = v + row_count, *rank_a = v + 2 * row_count, *rank_b = v + 3 * row_count;
	size_t count = 0;
	if (!v)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory");
	for (size_t i = 0; i < row_count; i++) {
		const double a = rows[i].measured[state], b = rows[i].modelled[state];
		if (isnan(a) || isnan(b))
			continue;
		measured[count] = a;
		modelled[count++] = b;
		sum += log(b / a);
		squares += log(b / a) * log(b / a);
	}
	if (count < LEAST || !rank(measured, count, rank_a) || !rank(modelled, count, rank_b)) {
		free(v);
		return TCB_OK;
	}
	const double rho = correlation(rank_a, rank_b, count), mean = sum / (double)count;
	tcb_shape_print(&problem->problem.shape, shape);
	printf("%s %s %s %s: rank correlation %.3f over %zu, ratio %.2f x/ %.2f, regret of the first %.1f %%, of 5 "
	       "%.1f %%, "
	       "of 10 %.1f %%\n",
	       problem->problem.op_name, tcb_contract_text(problem->problem.contract), shape, tcb_state_text(state),
	       rho, count, exp(mean), exp(sqrt(squares / (double)count - mean * mean)),
	       100 * regret(measured, rank_b, count, 1.5), 100 * regret(measured, rank_b, count, 5.5),
	       100 * regret(measured, rank_b, count, 10.5));
	tally->compared++;
	tally->below += !(rho >= CORRELATION_LEAST);
	free(v);
	return TCB_OK;
}

/* --- modelling --- */

struct ordered {
	double ns;
	size_t index;
};

static int by_ns(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;
	return (x->ns > y->ns) - (x->ns < y->ns);
}

/* Assembles the best of STATE and models them again. */
static enum tcb_status refine(const struct tcb_model *model, struct tcb_codes *codes, const struct tcb_space *space,
			      enum tcb_state state, double *const ns[TCB_STATE_COUNT], struct tcb_error *err)
{
	struct ordered *order = malloc(space->count * sizeof *order);
	enum tcb_status status = TCB_OK;
	if (!order)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory");
	for (size_t i = 0; i < space->count; i++)
		order[i] = (struct ordered){ isnan(ns[state][i]) ? INFINITY : ns[state][i], i };
	qsort(order, space->count, sizeof *order, by_ns);
	for (size_t i = 0; i < REFINED && i < space->count && status == TCB_OK; i++) {
		const struct tcb_geometry *geometry = &space->geometries[order[i].index];
		const struct tcb_code *code;
		double both[TCB_STATE_COUNT];
		status = tcb_codes_get(codes, geometry, &code, err);
		if (status != TCB_OK || code->outcome != TCB_OUTCOME_OK)
			continue;
		(void)tcb_model_time(model, geometry, code->resources.registers, both, NULL);
		for (int s = 0; s < TCB_STATE_COUNT; s++)
			ns[s][order[i].index] = both[s];
	}
	free(order);
	return status;
}

static enum tcb_status model_rows(const struct stored_problem *problem, const struct tcb_place *place, struct row *rows,
				  size_t count, struct tcb_error *err)
{
	struct tcb_geometry *geometries = malloc(count * sizeof *geometries);
	double *ns[TCB_STATE_COUNT] = { malloc(count * sizeof(double)), malloc(count * sizeof(double)) };
	struct tcb_space space = { .geometries = geometries, .count = count };
	struct tcb_codes *codes = NULL;
	struct tcb_model model;
	enum tcb_status status = geometries && ns[0] && ns[1] ? TCB_OK : tcb_fail(err, TCB_E_NOMEM, "out of memory");
	for (size_t i = 0; i < count && status == TCB_OK; i++)
		geometries[i] = rows[i].trial->geometry;
	if (status == TCB_OK)
		status = tcb_model_init(&model, problem->op, &problem->problem, place, err);
	if (status == TCB_OK)
		status = tcb_model_codes(&model, &codes, err);
	if (status == TCB_OK)
		status = tcb_model_calibrate(&model, &codes, &space, count, SEED, 0, err);
	if (status == TCB_OK)
		status = tcb_model_scores(&model, &space, ns, err);
	for (int s = 0; s < TCB_STATE_COUNT && status == TCB_OK; s++)
		status = refine(&model, codes, &space, (enum tcb_state)s, ns, err);
	for (size_t i = 0; i < count && status == TCB_OK; i++)
		for (int s = 0; s < TCB_STATE_COUNT; s++)
			rows[i].modelled[s] = ns[s][i];
	tcb_codes_destroy(codes);
	free(geometries);
	free(ns[0]);
	free(ns[1]);
	return status;
}

static void write_csv(const struct stored_problem *problem, const struct row *rows, size_t count, struct tally *tally)
{
	char shape[TCB_SHAPE_TEXT_MAX], geometry[TCB_GEOMETRY_TEXT_MAX];
	tcb_shape_print(&problem->problem.shape, shape);
	for (size_t i = 0; tally->csv && i < count; i++) {
		tcb_geometry_print(&rows[i].trial->geometry, geometry);
		for (int s = 0; s < TCB_STATE_COUNT; s++)
			fprintf(tally->csv, "%s;%s;%s;%s;%.0f;%.0f;%s\n", problem->problem.op_name,
				tcb_contract_text(problem->problem.contract), shape, tcb_state_text((enum tcb_state)s),
				rows[i].measured[s], rows[i].modelled[s], geometry);
	}
}

static enum tcb_status check_problem(struct tcb_db *db, const struct stored_problem *problem,
				     const struct options *options, struct tally *tally, struct tcb_error *err)
{
	struct stored_list list = { .candidates = NULL };
	struct tcb_gpu gpu;
	struct tcb_place place;
	TCB_TRY(find_gpu(problem, options, &gpu, err));
	tcb_gpu_place(&gpu, &place);
	TCB_TRY(stored_candidates(db, problem, options->stale, &list, err));
	struct row *rows = calloc(list.count + 1, sizeof *rows);
	enum tcb_status status = rows ? TCB_OK : tcb_fail(err, TCB_E_NOMEM, "out of memory");
	for (size_t i = 0; i < list.count && status == TCB_OK; i++) {
		rows[i].trial = list.candidates[i].trial;
		for (int s = 0; s < TCB_STATE_COUNT; s++)
			rows[i].measured[s] = measured_time(rows[i].trial, (enum tcb_state)s);
	}
	if (status == TCB_OK && list.stale)
		printf("%zu candidates were measured with other kernels than today's and are %s\n", list.stale,
		       options->stale == STORED_TAKE_STALE ? "held against today's" : "left out");
	if (status == TCB_OK && list.count >= LEAST) {
		status = model_rows(problem, &place, rows, list.count, err);
		for (int s = 0; s < TCB_STATE_COUNT && status == TCB_OK; s++)
			status = print_state(problem, (enum tcb_state)s, rows, list.count, tally, err);
		if (status == TCB_OK)
			write_csv(problem, rows, list.count, tally);
		fflush(stdout);
	}
	free(rows);
	stored_list_fini(&list);
	return status;
}

static enum tcb_status check_all(const struct options *options, struct tally *tally, struct tcb_error *err)
{
	struct stored_filter filter = { .device_name = options->device, .contract = options->contract };
	struct tcb_shape shape;
	struct stored_problem *problems = calloc(STORED_PROBLEMS_MAX, sizeof *problems);
	struct tcb_db *db = NULL;
	size_t count = 0;
	enum tcb_status status = problems ? TCB_OK : tcb_fail(err, TCB_E_NOMEM, "out of memory");
	if (status == TCB_OK && options->shape) {
		status = tcb_shape_parse(options->shape, &shape, err);
		filter.shape = &shape;
	}
	if (status == TCB_OK)
		status = tcb_db_open(options->database, TCB_DB_READ, &db, err);
	if (status == TCB_OK)
		status = stored_problems(db, &filter, problems, &count, err);
	for (size_t i = 0; i < count && status == TCB_OK; i++)
		status = check_problem(db, &problems[i], options, tally, err);
	tcb_db_close(db);
	free(problems);
	return status;
}

int main(int argc, char **argv)
{
	struct options options = { .database = NULL };
	struct tally tally = { 0 };
	struct tcb_error err;
	if (read_options(argc, argv, &options) != 0) {
		fprintf(stderr,
			"usage: check_model DATABASE [--device DEV] [--contract C] [--shape MxNxK] [--memory GB/S]"
			" [--any-kernel] [--csv FILE]\n");
		return tcb_status_exit(TCB_E_USAGE);
	}
	if (options.csv)
		tally.csv = fopen(options.csv, "w");
	const enum tcb_status status = check_all(&options, &tally, &err);
	if (tally.csv)
		fclose(tally.csv);
	if (status != TCB_OK) {
		fprintf(stderr, "check_model: %s\n", err.message);
		return tcb_status_exit(status);
	}
	if (!tally.compared) {
		printf("SKIPPED: %s has no problem with %d GPU candidates of today's kernels\n", options.database,
		       LEAST);
		return SKIP;
	}
	printf("decision: %zu of %zu rankings have a rank correlation of at least %.1f\n", tally.compared - tally.below,
	       tally.compared, CORRELATION_LEAST);
	return tally.below ? tcb_status_exit(TCB_E_VERIFY) : 0;
}
