/* SPDX-License-Identifier: MIT
 *
 * Do the emulator's counters agree with the profiler's?
 *
 *   check_counters DATABASE [--op OP] [--contract C] [--shape MxNxK] [--device DEV] [--count N] [--rows N]
 *
 * Each candidate with stored CUPTI counters, the fastest N (20) of each problem,
 * is emulated at full size (or cut to --rows rows; sums are scaled then), several
 * at a time, and held against what was counted.  Needs no GPU: the database may
 * come from elsewhere.
 *
 * Exit: 0 all agree, 4 some do not, 77 no CUPTI counters to compare with, 2 usage, 1 else.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/pool.h"
#include "device/gpu.h"
#include "emulated_counters.h"
#include "stored.h"
#include "worker/verify.h"

enum { COUNT_DEFAULT = 20, COUNT_MAX = 1000, THREADS_MAX = 16, SEED = 1, SKIP = 77 };

/*
 * What is compared, and how far apart the two may be.
 *   X(id, title, tolerance, profiler's metrics, summed)
 * The tolerance is a share of the profiler's own value; of its wavefronts for conflicts (none is the best there is), so
 * that 1 % is what F313 allows.  Wavefronts are those of the instructions themselves:
 * the pipe's own count, shown beside it but not judged, has the cycles in it in which shuffles, and what copies write,
 * take the banks.  So has its count of conflicts.
 *
 * Divergence: branches at which a warp split, as a share of all branches.  ptxas turns short branches into guards, so
 * there may be fewer than the text says; and some guarded instructions into branches: up to one in each warp is
 * allowed. Threads an instruction are shown but not judged: a lane that polls for a copy executes as many instructions
 * as the copy takes, which no text tells.
 */
#define METRIC_LIST(X)                                                                                              \
	X(LOADS, "lds wavefr.", 0.01, "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", NULL)         \
	X(STORES, "sts wavefr.", 0.01, "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum", NULL)        \
	X(CONFLICTS, "conflicts", 0.01, NULL, NULL)                                                                 \
	X(REQUESTS, "requests", 0.01, "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", NULL)                      \
	X(SECTORS, "sectors", 0.01, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", NULL)                         \
	X(DIVERGENT, "divergent", 0.01, "sm__sass_branch_targets_threads_divergent.sum", NULL)                      \
	X(PIPE, "pipe's wavefr.", INFINITY, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",                 \
	  "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum")                                                   \
	X(PIPE_CONFLICTS, "pipe's conflicts", INFINITY, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", \
	  "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum")                                               \
	X(THREADS, "threads/instr.", INFINITY, "smsp__thread_inst_executed_per_inst_executed.ratio", NULL)

enum metric {
#define METRIC_ENUM(id, title, tolerance, name, other) METRIC_##id,
	METRIC_LIST(METRIC_ENUM)
#undef METRIC_ENUM
		METRIC_COUNT
};

static const struct {
	const char *title;
	double tolerance;
	const char *name[2];
} metrics[METRIC_COUNT] = {
#define METRIC_ROW(id, title, tolerance, name, other) { title, tolerance, { name, other } },
	METRIC_LIST(METRIC_ROW)
#undef METRIC_ROW
};

struct options {
	const char *database, *op, *contract, *shape, *device;
	size_t count, rows;
};

/* One candidate. */
struct comparison {
	struct tcb_geometry geometry; /* as it is at the emulated shape */
	char text[TCB_GEOMETRY_TEXT_MAX];
	double ns;
	double counted[METRIC_COUNT], emulated[METRIC_COUNT]; /* NAN: unknown */
	double branches;                                      /* counted */
	struct tcb_kernel kernel;
	struct emulated_counters counters;
	enum tcb_status status;
	struct tcb_error error;
};

/* The candidates of a problem. */
struct comparing {
	struct tcb_instance *instance;
	double scale; /* whole problem over what is emulated */
	struct comparison *list;
	size_t count;
};

struct tally {
	size_t compared, failed;
	size_t known[METRIC_COUNT], agreed[METRIC_COUNT];
	double worst[METRIC_COUNT];
};

/* --- one candidate --- */

static enum tcb_state state_of(const struct tcb_trial *trial)
{
	return isnan(stored_counter(trial, TCB_COLD, "cupti", metrics[METRIC_SECTORS].name[0])) ? TCB_HOT : TCB_COLD;
}

static int has_counters(const struct tcb_trial *trial)
{
	return !isnan(stored_counter(trial, state_of(trial), "cupti", metrics[METRIC_SECTORS].name[0]));
}

/* What the profiler counted; NAN where it did not. */
static double sum_of(const struct tcb_trial *trial, enum metric metric)
{
	double sum = metrics[metric].name[0] ? 0 : NAN;

	for (int i = 0; i < 2 && metrics[metric].name[i]; i++)
		sum += stored_counter(trial, state_of(trial), "cupti", metrics[metric].name[i]);
	return sum;
}

static void fill_emulated(struct comparison *comparison, double scale)
{
	const struct emulated_counters *counters = &comparison->counters;
	double *out = comparison->emulated;

	double *counted = comparison->counted;
	const double ideal = scale * (counters->shared_wavefronts - counters->shared_conflicts);

	out[METRIC_LOADS] = scale * counters->shared_loads;
	out[METRIC_STORES] = scale * counters->shared_stores;
	out[METRIC_CONFLICTS] = out[METRIC_PIPE_CONFLICTS] = scale * counters->shared_conflicts;
	out[METRIC_REQUESTS] = scale * counters->load_requests;
	out[METRIC_SECTORS] = scale * counters->load_sectors;
	out[METRIC_DIVERGENT] = scale * counters->divergent;
	out[METRIC_PIPE] = scale * counters->shared_wavefronts;
	out[METRIC_THREADS] = counters->warps > 0 ? counters->active / counters->warps : 0;
	counted[METRIC_CONFLICTS] = counted[METRIC_LOADS] + counted[METRIC_STORES] - ideal;
}

static void emulate_task(void *ctx, size_t task, unsigned thread)
{
	struct comparing *comparing = ctx;
	struct comparison *comparison = &comparing->list[task];

	(void)thread;
	if (comparison->status != TCB_OK)
		return;
	comparison->status =
		emulated_counters(&comparison->kernel, comparing->instance, &comparison->counters, &comparison->error);
	if (comparison->status == TCB_OK && comparison->counters.findings)
		comparison->status = tcb_fail(&comparison->error, TCB_E_VERIFY, "the emulator found %llu errors",
					      (unsigned long long)comparison->counters.findings);
	if (comparison->status == TCB_OK)
		fill_emulated(comparison, comparing->scale);
}

/* How far apart, as a share; NAN: nothing to compare. */
static double apart(const struct comparison *comparison, enum metric metric)
{
	double counted = comparison->counted[metric], emulated = comparison->emulated[metric], base = counted;

	if (metric == METRIC_CONFLICTS || metric == METRIC_PIPE_CONFLICTS)
		base = comparison->counted[METRIC_LOADS] + comparison->counted[METRIC_STORES];
	if (metric == METRIC_DIVERGENT)
		base = comparison->branches;
	if (isnan(counted) || isnan(emulated) || isnan(base))
		return NAN;
	if (base == 0)
		return counted == emulated ? 0 : INFINITY;
	return (emulated - counted) / base;
}

static int is_off(const struct comparison *comparison, enum metric metric, double difference)
{
	const double allowed = comparison->counters.launched / comparison->branches;

	if (metric == METRIC_DIVERGENT)
		return difference < -allowed - metrics[metric].tolerance;
	return fabs(difference) > metrics[metric].tolerance;
}

/* --- printing --- */

static void print_head(void)
{
	printf("%3s %9s", "#", "us");
	for (int m = 0; m < METRIC_COUNT; m++)
		printf(" | %11s %11s %7s", metrics[m].title, "emulated", "apart");
	printf(" | geometry\n");
}

static void print_comparison(const struct comparison *comparison, size_t rank, struct tally *tally)
{
	printf("%3zu %9.2f", rank, comparison->ns / 1000);
	if (comparison->status != TCB_OK) {
		printf(" not emulated: %s: %s\n", comparison->error.message, comparison->text);
		tally->failed++;
		return;
	}
	tally->compared++;
	for (int m = 0; m < METRIC_COUNT; m++) {
		double difference = apart(comparison, (enum metric)m);
		int off = is_off(comparison, (enum metric)m, difference);
		printf(" | %11.6g %11.6g", comparison->counted[m], comparison->emulated[m]);
		if (isnan(difference)) {
			printf(" %7s", "-");
			continue;
		}
		printf(" %5.1f%%%s", 100 * difference, off ? "!" : " ");
		tally->known[m]++;
		tally->agreed[m] += !off;
		if (fabs(difference) > fabs(tally->worst[m]))
			tally->worst[m] = difference;
	}
	printf(" | %s\n", comparison->text);
}

static int print_tally(const struct tally *tally)
{
	int agrees = tally->failed == 0;

	printf("\nemulator against CUPTI, %zu candidates%s\n", tally->compared,
	       tally->failed ? ", and some that could not be emulated" : "");
	for (int m = 0; m < METRIC_COUNT; m++) {
		if (isinf(metrics[m].tolerance))
			printf("%-16s not judged, worst %+.2f %%\n", metrics[m].title, 100 * tally->worst[m]);
		else
			printf("%-16s %zu of %zu within %.0f %%%s, worst %+.2f %%\n", metrics[m].title,
			       tally->agreed[m], tally->known[m], 100 * metrics[m].tolerance,
			       m == METRIC_CONFLICTS   ? " of all wavefronts"
			       : m == METRIC_DIVERGENT ? " of all branches and one per warp, or fewer"
						       : "",
			       100 * tally->worst[m]);
		agrees &= tally->agreed[m] == tally->known[m];
	}
	printf("decision: %s\n", agrees ? "they agree" : "they do not agree");
	return agrees;
}

/* --- a problem --- */

/* The problem cut to ROWS rows (0: whole), and the candidates' kernels there, with weights packed for each layout. */
static enum tcb_status prepare(struct comparing *comparing, const struct stored_problem *problem,
			       const struct tcb_target *target, size_t cut, struct tcb_error *err)
{
	struct tcb_problem emulated = problem->problem;
	size_t *dimension = emulated.shape.k ? &emulated.shape.n : &emulated.shape.m, all = *dimension;

	if (cut && cut < all)
		*dimension = cut;
	comparing->scale = (double)all / (double)*dimension;
	TCB_TRY(tcb_instance_create(problem->op, &emulated, SEED, NULL, &comparing->instance, err));
	for (size_t i = 0; i < comparing->count; i++) {
		struct comparison *comparison = &comparing->list[i];
		const struct tcb_packed *packed;
		struct tcb_shape shape = emulated.shape;
		if (*dimension != all) /* what is for more rows only is refused by emit */
			(void)tcb_verify_gpu_fit(&problem->problem, target, &shape, &comparison->geometry);
		comparison->status = tcb_kernel_emit(&emulated, target, &comparison->geometry, &comparison->kernel,
						     &comparison->error);
		if (comparison->status == TCB_OK)
			TCB_TRY(tcb_instance_packed(comparing->instance,
						    (enum tcb_layout)comparison->geometry.knob[TCB_KNOB_LAYOUT],
						    comparison->kernel.packed_bytes, &packed, err));
	}
	return TCB_OK;
}

/* The fastest candidates that were counted. */
static enum tcb_status choose(struct comparing *comparing, const struct stored_list *list, size_t most,
			      struct tcb_error *err)
{
	comparing->list = calloc(most, sizeof *comparing->list);
	if (!comparing->list)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu candidates", most);
	for (size_t i = 0; i < list->count && comparing->count < most; i++) {
		const struct tcb_trial *trial = list->candidates[i].trial;
		struct comparison *comparison = &comparing->list[comparing->count];
		if (!has_counters(trial))
			continue;
		comparing->count++;
		comparison->geometry = trial->geometry;
		comparison->ns = list->candidates[i].ns;
		tcb_geometry_print(&trial->geometry, comparison->text);
		for (int m = 0; m < METRIC_COUNT; m++)
			comparison->counted[m] = sum_of(trial, (enum metric)m);
		comparison->branches = stored_counter(trial, state_of(trial), "cupti", "sm__sass_branch_targets.sum");
	}
	return TCB_OK;
}

static void comparing_fini(struct comparing *comparing)
{
	for (size_t i = 0; i < comparing->count; i++)
		tcb_kernel_fini(&comparing->list[i].kernel);
	free(comparing->list);
	tcb_instance_destroy(comparing->instance);
}

static enum tcb_status compare_problem(struct tcb_db *db, const struct options *options,
				       const struct stored_problem *problem, struct tcb_pool *pool, struct tally *tally,
				       struct tcb_error *err)
{
	struct comparing comparing = { .scale = 1 };
	struct stored_list list;
	struct tcb_gpu gpu;
	char shape[TCB_SHAPE_TEXT_MAX];

	TCB_TRY(stored_gpu(problem, &gpu, err));
	TCB_TRY(stored_candidates(db, problem, STORED_LEAVE_STALE, &list, err));
	enum tcb_status status = choose(&comparing, &list, options->count, err);
	tcb_shape_print(&problem->problem.shape, shape);
	printf("\n%s %s %s, counted on %s: %zu candidates with counters\n", problem->op->name,
	       tcb_contract_text(problem->problem.contract), shape, problem->model, comparing.count);
	if (status == TCB_OK && strcmp(gpu.device.model, problem->model) != 0)
		printf("(no specification of it: emitted for %s)\n", gpu.device.model);
	if (status == TCB_OK && comparing.count > 0)
		status = prepare(&comparing, problem, &gpu.device.target, options->rows, err);
	if (status == TCB_OK && comparing.count > 0) {
		tcb_pool_run(pool, tcb_pool_threads(pool), TCB_SCHED_DYNAMIC, comparing.count, emulate_task,
			     &comparing);
		print_head();
		for (size_t i = 0; i < comparing.count; i++)
			print_comparison(&comparing.list[i], i + 1, tally);
	}
	comparing_fini(&comparing);
	stored_list_fini(&list);
	return status;
}

static enum tcb_status compare_all(const struct options *options, struct tally *tally, struct tcb_error *err)
{
	struct stored_filter filter = { options->op, options->device, options->contract, NULL };
	struct stored_problem problems[STORED_PROBLEMS_MAX];
	struct tcb_shape shape;
	struct tcb_db *db;
	struct tcb_pool *pool = NULL;
	size_t count = 0;
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	if (options->shape) {
		TCB_TRY(tcb_shape_parse(options->shape, &shape, err));
		filter.shape = &shape;
	}
	TCB_TRY(tcb_db_open(options->database, TCB_DB_READ, &db, err));
	enum tcb_status status = stored_problems(db, &filter, problems, &count, err);
	if (status == TCB_OK)
		status = tcb_pool_create(processors < 1             ? 1
					 : processors > THREADS_MAX ? THREADS_MAX
								    : (unsigned)processors,
					 NULL, &pool, err);
	for (size_t i = 0; i < count && status == TCB_OK; i++)
		status = compare_problem(db, options, &problems[i], pool, tally, err);
	tcb_pool_destroy(pool);
	tcb_db_close(db);
	return status;
}

/* -1: wrong usage */
static int read_options(int argc, char **argv, struct options *out)
{
	const struct {
		const char *name;
		const char **text;
		size_t *number;
	} table[] = { { "--op", &out->op, NULL },       { "--contract", &out->contract, NULL },
		      { "--shape", &out->shape, NULL }, { "--device", &out->device, NULL },
		      { "--count", NULL, &out->count }, { "--rows", NULL, &out->rows } };
	enum { ROWS = sizeof table / sizeof *table };

	if (argc < 2 || argc % 2)
		return -1;
	out->database = argv[1];
	for (int i = 2; i < argc; i += 2) {
		size_t t = 0;
		while (t < ROWS && strcmp(argv[i], table[t].name) != 0)
			t++;
		if (t == ROWS)
			return -1;
		if (table[t].text)
			*table[t].text = argv[i + 1];
		else
			*table[t].number = strtoul(argv[i + 1], NULL, 10);
	}
	return out->count > 0 && out->count <= COUNT_MAX ? 0 : -1;
}

int main(int argc, char **argv)
{
	struct options options = { .count = COUNT_DEFAULT };
	struct tally tally = { 0 };
	struct tcb_error err;

	if (read_options(argc, argv, &options) != 0) {
		fprintf(stderr, "usage: check_counters DATABASE [--op OP] [--contract C] [--shape MxNxK] [--device DEV]"
				" [--count N] [--rows N]\n");
		return tcb_status_exit(TCB_E_USAGE);
	}
	if (compare_all(&options, &tally, &err) != TCB_OK) {
		fprintf(stderr, "check_counters: %s\n", err.message);
		return tcb_status_exit(err.status);
	}
	if (tally.compared + tally.failed == 0) {
		printf("SKIPPED: %s holds no CUPTI counters of today's kernels\n", options.database);
		return SKIP;
	}
	return print_tally(&tally) ? 0 : tcb_status_exit(TCB_E_VERIFY);
}
