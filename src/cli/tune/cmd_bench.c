/* SPDX-License-Identifier: MIT
 *
 * tcbtune bench: the best geometry against the default, against the scalar one
 * nearest to it, and against the read limit, in paired interleaved rounds,
 * cold and hot.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/kind.h"
#include "cli/core/cli.h"
#include "cli/core/emit.h"
#include "cli/core/nearby.h"
#include "cli/core/problems.h"
#include "cli/core/progress.h"
#include "cli/report/best_rows.h"
#include "cli/report/bound_facts.h"
#include "cli/tune/contest.h"
#include "cli/tune/disturbance.h"
#include "cli/tune/measured_cache.h"
#include "kernels/constraint.h"
#include "kernels/default_rules.h"
#include "kernels/space.h"
#include "search/search.h"

struct bench_args {
	const struct tcb_registry *ops;
	const char *op, *device, *contract, *db;
	struct cli_list shapes, geometries;
	uint64_t threads, seed, rotation;
	double budget_s, timeout_s, wait_quiet_s;
	int cross, json;
};

static const struct cli_option options[] = {
	CLI_OPTION_OP(struct bench_args, 1, "the op to measure"),
	CLI_OPTION_DEVICE(struct bench_args),
	CLI_OPTION_THREADS(struct bench_args),
	CLI_OPTION_SHAPES(struct bench_args),
	CLI_OPTION_CONTRACTS(struct bench_args, "the op's own"),
	{ "geometry", "G", CLI_LIST, offsetof(struct bench_args, geometries), "a geometry to compare with the others",
	  .note = "the best one in the database" },
	{ "cross", NULL, CLI_FLAG, offsetof(struct bench_args, cross),
	  "also measure the best geometries of other shapes in the database, carried over to this one: what using one "
	  "shape's best on another costs" },
	CLI_OPTION_DB(struct bench_args),
	{ "budget", "TIME", CLI_SECONDS, offsetof(struct bench_args, budget_s),
	  "time for one shape, both cache states together; it ends sooner once the intervals are tight",
	  .fallback = "40s" },
	CLI_OPTION_SEED(struct bench_args, "seed of data and order"),
	CLI_OPTION_ROTATION(struct bench_args),
	CLI_OPTION_TIMEOUT(struct bench_args),
	CLI_OPTION_WAIT_QUIET(struct bench_args),
	CLI_OPTION_JSON(struct bench_args),
	CLI_OPTION_END,
};

enum { GIVEN_MAX = TCB_BENCH_MOST - 2, OTHERS_MAX = TCB_BENCH_MOST - 4 };
/* Of the budget, for ending the workers; and seconds that a state has at least. */
static const double ENDING_SHARE = 0.05, LEAST_S = 0.1;
static const double SCALAR_OPERATIONS_MAX = 1e9; /* about a second of scalar code */

/* One run of the command. */
struct benching {
	const struct bench_args *args;
	struct tcb_place place;
	struct tcb_db *db; /* NULL where there is none */
	struct cli_bounds bounds;
	struct tcb_str out;
	double begun_s;       /* on the clock: the command, then each problem after the first */
	size_t number, count; /* of the problem that is measured, from 0, and of all */
	struct cli_quiet quiet;
	struct cli_progress progress; /* of the state that is measured */
	json_t *contests;
	int failed;
};

static void add_contender(struct cli_contest *contest, const struct tcb_geometry *geometry, const char *role)
{
	for (size_t i = 0; i < contest->count; i++)
		if (tcb_geometry_equal(&contest->geometry[i], geometry))
			return;
	contest->geometry[contest->count] = *geometry;
	snprintf(contest->role[contest->count++], CLI_ROLE_MAX, "%s", role);
}

static int collect_counter(void *ctx, const struct tcb_counter *counter)
{
	return cli_best_row_add_counter(ctx, counter);
}

static void find_nearby(const struct benching *run, const struct cli_contest *contest, char out[CLI_NEARBY_MAX])
{
	const struct tcb_problem *problem = &contest->problem->problem;
	const struct tcb_device *device = &run->place.device;
	const struct cli_near_to wanted = { .op = problem->op_name,
					    .device_name = device->name,
					    .device_key = device->key,
					    .threads = device->target.threads,
					    .contract = (int)problem->contract,
					    .state = (int)contest->state,
					    .shape = &problem->shape };

	cli_nearby(run->bounds.list, run->bounds.count, &wanted, out);
}

static enum tcb_status add_best(struct benching *run, struct cli_contest *contest, struct tcb_error *err)
{
	const struct tcb_problem *problem = &contest->problem->problem;
	struct tcb_best best;
	struct tcb_geometry geometry;
	char label[CLI_LABEL_MAX], nearby[CLI_NEARBY_MAX];
	struct tcb_error refused;
	int is_found = 0;

	if (run->db)
		TCB_TRY(cli_best_find(run->db, &run->place.device, problem, contest->state, &best, &is_found, err));
	cli_problem_label(problem, label);
	if (!is_found) {
		find_nearby(run, contest, nearby);
		cli_say("%s: no %s result in the database%s%s, so the default is measured; 'tcbtune sweep' finds a "
			"better one",
			label, tcb_state_text(contest->state), nearby[0] ? "; " : "", nearby);
	} else if (cli_best_is_stale(&best)) {
		cli_say("%s: the kernel of the stored best has changed since; 'tcbtune sweep' measures it again",
			label);
	} else if (cli_find_geometry(contest->problem->op, problem, &run->place.device.target, best.geometry, &geometry,
				     &refused) != TCB_OK) {
		cli_say("%s: the stored best is not usable any more (%s); 'tcbtune sweep' finds another", label,
			refused.message);
	} else {
		add_contender(contest, &geometry, "best");
		contest->stored.best = best;
		return tcb_db_counters_each(run->db, &best, collect_counter, &contest->stored, err);
	}
	return TCB_OK;
}

/* The stored best of the same shape with the word bits, whose ratio is what that costs. */
static enum tcb_status add_bits(struct benching *run, struct cli_contest *contest, struct tcb_error *err)
{
	struct tcb_problem problem = contest->problem->problem;
	struct tcb_geometry geometry;
	struct tcb_best best;
	int is_found = 0;

	if (!run->db || problem.shape.words.bits || !(problem.op->words >> TCB_WORD_BITS & 1u))
		return TCB_OK;
	problem.shape.words.bits = 1;
	TCB_TRY(cli_best_find(run->db, &run->place.device, &problem, contest->state, &best, &is_found, err));
	if (is_found && !cli_best_is_stale(&best) &&
	    cli_find_geometry(problem.op, &contest->problem->problem, &run->place.device.target, best.geometry,
			      &geometry, NULL) == TCB_OK)
		add_contender(contest, &geometry, "bits");
	return TCB_OK;
}

static enum tcb_status add_given(const struct benching *run, struct cli_contest *contest, struct tcb_error *err)
{
	for (size_t i = 0; i < run->args->geometries.count; i++) {
		struct tcb_geometry geometry;

		TCB_TRY(cli_find_geometry(contest->problem->op, &contest->problem->problem, &run->place.device.target,
					  run->args->geometries.items[i], &geometry, err));
		add_contender(contest, &geometry, "given");
	}
	return TCB_OK;
}

/* The bests of other shapes of this device: the first few in the order of the database. */
struct others {
	const struct benching *run;
	const struct cli_contest *contest;
	struct tcb_best best[OTHERS_MAX];
	size_t count;
};

static int match_other(void *ctx, const struct tcb_best *best)
{
	struct others *others = ctx;
	const struct tcb_device *device = &others->run->place.device;
	const struct tcb_problem *problem = &others->contest->problem->problem;

	if (best->state == others->contest->state && strcmp(best->device_key, device->key) == 0 &&
	    best->threads == device->target.threads && best->problem.contract == problem->contract &&
	    !cli_best_is_stale(best) && !tcb_shape_equal(&best->problem.shape, &problem->shape))
		others->best[others->count++] = *best;
	return others->count == OTHERS_MAX;
}

static enum tcb_status add_others(struct benching *run, struct cli_contest *contest, struct tcb_error *err)
{
	struct others others = { .run = run, .contest = contest };
	const struct tcb_best_filter filter = { contest->problem->op->name, run->place.device.name };
	const struct tcb_problem *problem = &contest->problem->problem;

	if (!run->args->cross || !run->db) /* with given geometries there is none */
		return TCB_OK;
	TCB_TRY(tcb_db_best_each(run->db, &filter, match_other, &others, err));
	for (size_t i = 0; i < others.count; i++) {
		const struct tcb_best *best = &others.best[i];
		struct tcb_geometry geometry;
		char role[CLI_ROLE_MAX], shape[TCB_SHAPE_TEXT_MAX], why[TCB_WHY_MAX];

		TCB_TRY(tcb_geometry_parse_of(best->geometry, problem->op->parameters, &geometry, err));
		tcb_geometry_carry_over(&geometry, &best->problem.shape, &problem->shape);
		tcb_shape_print(&best->problem.shape, shape);
		snprintf(role, sizeof role, "of %s", shape);
		if (tcb_constraint_violated(contest->problem->op, problem, &run->place.device.target, &geometry, 1,
					    why))
			cli_say("the best of %s cannot serve here: %s", shape, why);
		else
			add_contender(contest, &geometry, role);
	}
	return TCB_OK;
}

/* How far apart two geometries are: octaves between tile sizes, one for each knob that differs. */
static double distance(const struct tcb_geometry *a, const struct tcb_geometry *b)
{
	double sum = 0;

	for (int level = 0; level < TCB_LEVEL_COUNT; level++) {
		const struct tcb_tile *p = &a->tile[level], *q = &b->tile[level];
		sum += fabs(log2((double)p->m / (double)q->m)) + fabs(log2((double)p->n / (double)q->n)) +
		       fabs(log2((double)p->k / (double)q->k));
	}
	for (int knob = 0; knob < TCB_KNOBS_MAX; knob++)
		if (knob != TCB_KNOB_ISA)
			sum += a->knob[knob] != b->knob[knob];
	return sum;
}

/* The scalar candidate nearest to contender 0: what the same tiling gives without vectors.  Left out where a call would
 * take seconds. */
static enum tcb_status add_scalar(struct benching *run, struct cli_contest *contest, struct tcb_error *err)
{
	struct tcb_target target = run->place.device.target;
	struct tcb_space *space = NULL;
	double least = INFINITY;
	size_t nearest = 0;

	if (!tcb_target_has(&target, TCB_ISA_SCALAR) ||
	    contest->problem->op->flops(&contest->problem->problem) > SCALAR_OPERATIONS_MAX)
		return TCB_OK;
	target.isa_mask = 1u << TCB_ISA_SCALAR;
	const enum tcb_status status =
		tcb_space_create(contest->problem->op, &contest->problem->problem, &target, 0, &space, err);
	if (status == TCB_E_NOT_FOUND) /* contract f16 may be of tiles alone */
		return TCB_OK;
	TCB_TRY(status);
	for (size_t i = 0; i < space->count; i++) {
		double apart = distance(&space->geometries[i], &contest->geometry[0]);
		if (apart < least) {
			least = apart;
			nearest = i;
		}
	}
	add_contender(contest, &space->geometries[nearest], "scalar");
	tcb_space_destroy(space);
	return TCB_OK;
}

static void begin_progress(const struct benching *run, const struct cli_contest *contest, struct cli_progress *out)
{
	char label[CLI_LABEL_MAX + 64], name[CLI_LABEL_MAX];

	cli_problem_label(&contest->problem->problem, name);
	if (run->count > 1)
		snprintf(label, sizeof label, "problem %zu of %zu: %s", run->number + 1, run->count, name);
	else
		snprintf(label, sizeof label, "%s", name);
	cli_progress_begin(out, label, contest->problem->op->traffic(&contest->problem->problem));
}

/* Those that there was no time for. */
static void say_left_out(const struct cli_contest *contest)
{
	char label[CLI_LABEL_MAX];

	cli_problem_label(&contest->problem->problem, label);
	for (size_t i = 0; i < contest->count; i++)
		if (!cli_contest_is_measured(contest, i))
			cli_say("%s: %s, %s: left out, its calls are too long for the budget; --budget gives more",
				label, tcb_state_text(contest->state), contest->role[i]);
}

/* For tcb_sweep_options.await_quiet: what the budget pays for begins so much later. */
static double await_quiet(void *ctx)
{
	struct benching *run = ctx;

	cli_progress_end(&run->progress);
	const double waited_s = cli_quiet_wait(&run->quiet, &run->place);
	run->begun_s += waited_s;
	return waited_s;
}

/* Measures one state within SHARE of the budget that is left. */
static enum tcb_status bench_state(struct benching *run, struct cli_contest *contest, double share,
				   struct tcb_error *err)
{
	const struct tcb_deadline deadline = tcb_deadline_at(run->begun_s + (1 - ENDING_SHARE) * run->args->budget_s);
	const struct cli_problem *problem = contest->problem;
	struct tcb_geometry fallback;
	struct tcb_sweep_options opts = {
		.seed = run->args->seed,
		.states = 1u << contest->state,
		.rotation_bytes = run->args->rotation,
		.timeout_s = run->args->timeout_s,
		.progress = cli_progress_show,
		.progress_ctx = &run->progress,
		.await_quiet = await_quiet,
		.await_ctx = run,
	};
	enum tcb_status status;

	if (run->args->geometries.count)
		TCB_TRY(add_given(run, contest, err));
	else
		TCB_TRY(add_best(run, contest, err));
	tcb_default_geometry(&problem->problem, &run->place.device.target, &fallback);
	add_contender(contest, &fallback, "default");
	TCB_TRY(add_bits(run, contest, err));
	opts.bench_needed = contest->count;
	TCB_TRY(add_scalar(run, contest, err));
	TCB_TRY(add_others(run, contest, err));
	/* A GPU's tell what else binds; on a CPU those that there are decide nothing. */
	if (tcb_kind_of(&run->place.device.target)->is_emitted && contest->stored.counter_count == 0) {
		opts.count = collect_counter;
		opts.count_ctx = &contest->stored;
	}
	begin_progress(run, contest, &run->progress);
	opts.spent_s = 1e-9 * (double)tcb_clock_ns() - run->begun_s;
	opts.budget_s = opts.spent_s + fmax(share * tcb_deadline_left_s(deadline), LEAST_S);
	status = tcb_bench_run(problem->op, &problem->problem, &run->place, &opts, contest->geometry, contest->count,
			       &contest->result, err);
	cli_progress_end(&run->progress);
	if (status != TCB_OK)
		return status;
	say_left_out(contest);
	if (!run->args->json)
		return cli_contest_add(contest, &run->out, err);
	contest->json = cli_contest_json(contest, &run->failed);
	cli_json_add(run->contests, contest->json, &run->failed);
	return TCB_OK;
}

/* What the first geometry of STATE is bound by. */
static void add_bound(struct benching *run, const struct cli_contest contests[TCB_STATE_COUNT], enum tcb_state state)
{
	struct tcb_bottleneck bottleneck;
	char label[CLI_LABEL_MAX], indent[CLI_LABEL_MAX + 16];

	cli_contest_bound(contests, state, &run->place.device, &run->bounds, &bottleneck);
	if (contests[state].json)
		cli_json_set(contests[state].json, "bottleneck", cli_bottleneck_json(&bottleneck, &run->failed),
			     &run->failed);
	cli_problem_label(&contests[state].problem->problem, label);
	snprintf(indent, sizeof indent, "%s %s: ", label, tcb_state_text(state));
	cli_bottleneck_add(&run->out, indent, &bottleneck);
}

static enum tcb_status bench_problem(struct benching *run, const struct cli_problem *problem, struct tcb_error *err)
{
	struct cli_contest contests[TCB_STATE_COUNT];
	enum tcb_status status = TCB_OK;

	memset(contests, 0, sizeof contests);
	for (int state = 0; state < TCB_STATE_COUNT && status == TCB_OK; state++) {
		contests[state].problem = problem;
		contests[state].state = (enum tcb_state)state;
		(void)await_quiet(run);
		status = bench_state(run, &contests[state], 1.0 / (TCB_STATE_COUNT - state), err);
	}
	for (int state = 0; state < TCB_STATE_COUNT && status == TCB_OK; state++)
		add_bound(run, contests, (enum tcb_state)state);
	for (int state = 0; state < TCB_STATE_COUNT; state++)
		free(contests[state].stored.counters);
	return status;
}

static enum tcb_status print_results(struct benching *run, struct tcb_error *err)
{
	json_t *root;

	if (run->args->json) {
		root = cli_json_start("tcbtune.bench.1", &run->failed);
		cli_json_set(root, "device", cli_json_text(run->place.device.name), &run->failed);
		cli_json_set(root, "device_key", cli_json_text(run->place.device.key), &run->failed);
		cli_json_set(root, "model", cli_json_text(run->place.device.model), &run->failed);
		cli_json_set(root, "threads", cli_json_size(run->place.device.target.threads), &run->failed);
		cli_json_set(root, "results", run->contests, &run->failed);
		run->contests = NULL;
		return cli_emit_json(cli_json_end(root, run->failed), err);
	}
	return cli_emit_text(&run->out, err);
}

/* Without the database of everyday the default is measured; one that was named and is not there is a slip. */
static enum tcb_status open_db(struct benching *run, struct tcb_error *err)
{
	char path[CLI_PATH_MAX];
	enum tcb_status status;

	if (run->args->geometries.count)
		return TCB_OK;
	status = cli_open_db(run->args->ops, run->args->db, TCB_DB_READ, path, &run->db, err);
	if (status == TCB_OK)
		status = cli_bounds_load(run->db, &run->bounds, err);
	return status == TCB_E_NOT_FOUND && !run->args->db ? TCB_OK : status;
}

static enum tcb_status run_bench(const void *arguments, struct tcb_error *err)
{
	const struct bench_args *args = arguments;
	struct benching run = { .args = args,
				.begun_s = 1e-9 * (double)tcb_clock_ns(),
				.quiet.left_s = args->wait_quiet_s };
	struct cli_problems problems;
	enum tcb_status status;

	if (args->geometries.count > GIVEN_MAX)
		return tcb_fail(err, TCB_E_USAGE, "--geometry is given %zu times; at most %d are measured together",
				args->geometries.count, GIVEN_MAX);
	TCB_TRY(cli_problems_make(args->ops, args->op, args->contract, &args->shapes, NULL, &problems, err));
	run.contests = args->json ? json_array() : NULL;
	status = cli_open_device(args->device, args->threads, &run.place, err);
	if (status == TCB_OK)
		status = cli_problems_keep(&problems, &run.place.device.target, err);
	if (status == TCB_OK)
		status = open_db(&run, err);
	if (status == TCB_OK && !args->rotation)
		status = cli_cache_know_from(args->db, args->budget_s, &run.place, err);
	run.count = problems.count;
	for (size_t i = 0; i < problems.count && status == TCB_OK; i++, run.number++) {
		status = bench_problem(&run, &problems.list[i], err);
		run.begun_s = 1e-9 * (double)tcb_clock_ns();
	}
	if (status == TCB_OK)
		status = print_results(&run, err);
	json_decref(run.contests);
	tcb_str_fini(&run.out);
	cli_bounds_fini(&run.bounds);
	cli_close_db(run.db);
	cli_problems_fini(&problems);
	return status;
}

const struct cli_command cli_command_bench = {
	.name = "bench",
	.summary = "measure the best geometry against the default and the read limit",
	.description =
		"For each shape, cold and hot: the best geometry of the database (or those given), the op's default, "
		"the database's best with the word bits, where there is one (its ratio is what that word costs), "
		"the scalar candidate nearest to the first, and a loop that only reads the same bytes (or copies them, "
		"where the op writes as much as it reads), all in paired interleaved rounds, so that drift of the "
		"machine cancels; on a CPU in up to six worker processes, one after another, since ratios move by some "
		"per cent from one to the next, with the pages that memory lies in.  Ratios are times over the first "
		"row's time, with 95 % intervals.  On WebGPU calls wait for each other, as an engine's do; "
		"'independent' is the first row in calls that do not.  Below, of the first row: what it is bound by "
		"(bandwidth, compute, "
		"issue, latency, launch), from which figures (on a GPU with counters, which are read where a sweep has "
		"stored none), and what would have to change (docs/bottleneck.md).",
	.examples = "  tcbtune bench --op @OP --shape 1x4096x4096\n",
	.options = options,
	.args_bytes = sizeof(struct bench_args),
	.run = run_bench,
};
