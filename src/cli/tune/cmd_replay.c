/* SPDX-License-Identifier: MIT
 *
 * tcbtune replay: strategies over recorded spaces, as if they measured, and
 * what that says of them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "cli/core/cli.h"
#include "cli/core/emit.h"
#include "cli/core/progress.h"
#include "cli/tune/replay_input.h"
#include "cli/tune/replay_stable.h"
#include "search/model.h"
#include "search/replay/replay.h"

struct replay_args {
	const struct tcb_registry *ops;
	struct cli_list files, strategies;
	uint64_t repeats, seed;
	double until_stable; /* percent; 0: not asked for */
	int starts;          /* index in the words below */
	int json;
};

static const struct cli_option options[] = {
	{ NULL, "FILE", CLI_LIST, offsetof(struct replay_args, files),
	  "a recorded space (T4 or cache file, plain or gz) or a tuning database", .required = 1 },
	{ "strategy", "NAME", CLI_LIST, offsetof(struct replay_args, strategies),
	  "a search strategy: @STRATEGIES, or exec:PROGRAM; random is always run beside it",
	  .note = "the first of them" },
	{ "repeats", "N", CLI_COUNT, offsetof(struct replay_args, repeats),
	  "runs of each strategy over each space, each with another seed", .fallback = "25" },
	{ "starts", "WHICH", CLI_WORD, offsetof(struct replay_args, starts),
	  "stored: each space of a database begins with the winners of the other problems that the databases hold",
	  .words = "none|stored", .fallback = "none" },
	{ "until-stable", "PERCENT", CLI_NUMBER, offsetof(struct replay_args, until_stable),
	  "print when a sweep with this --until-stable would have stopped, 1 where it is not said, what it predicted, "
	  "and how far from the optimum it was",
	  .bare = "1", .note = "scores and curves instead" },
	CLI_OPTION_SEED(struct replay_args, "seed of the first run; the next has the next number"),
	CLI_OPTION_JSON(struct replay_args),
	CLI_OPTION_END,
};

enum { STRATEGIES_MAX = 32, REPEATS_MAX = 10000 };
static const char BASELINE[] = "random";

/* All that is run and what came of it. */
struct replaying {
	const struct replay_args *args;
	struct tcb_strategy found[STRATEGIES_MAX];
	const struct tcb_strategy *strategies[STRATEGIES_MAX]; /* FOUND's */
	size_t strategy_count;
	struct cli_spaces spaces;
	struct tcb_pool *pool;
	struct tcb_replay *replays;      /* [space] */
	struct tcb_replay_score *scores; /* [space * strategy_count + strategy] */
	/* of the space that is being run: [strategy * repeats + repeat] */
	const struct tcb_replay *now;
	struct tcb_replay_run *runs;
	struct tcb_error *failed;
};

/* --- running --- */

static enum tcb_status find_strategies(struct replaying *r, struct tcb_error *err)
{
	const struct cli_list *wanted = &r->args->strategies;
	int has_baseline = 0;
	if (wanted->count >= STRATEGIES_MAX)
		return tcb_fail(err, TCB_E_USAGE, "at most %d strategies at once", STRATEGIES_MAX - 1);
	for (size_t i = 0; i < wanted->count || i == 0; i++) {
		const char *name = wanted->count ? wanted->items[i] : NULL;
		r->strategies[r->strategy_count] = &r->found[r->strategy_count];
		TCB_TRY(tcb_strategy_get(name, NULL, &r->found[r->strategy_count++], err));
		has_baseline |= !strcmp(r->strategies[i]->name, BASELINE);
	}
	if (!has_baseline && !(r->args->until_stable > 0))
		r->strategies[r->strategy_count++] = tcb_strategy_find(BASELINE);
	return TCB_OK;
}

/* Files of other kinds among several are left out and named: that a folder holds notes beside its spaces is no error.
 */
static enum tcb_status read_files(struct replaying *r, struct tcb_error *err)
{
	const struct cli_list *files = &r->args->files;
	for (size_t i = 0; i < files->count; i++) {
		struct tcb_error why = { TCB_OK, "" };
		enum tcb_status status = cli_spaces_add(&r->spaces, files->items[i], &why);
		if (status == TCB_E_NOT_FOUND && (r->spaces.count || i + 1 < files->count))
			cli_say("left out: %s", why.message);
		else if (status != TCB_OK)
			return tcb_fail(err, status, "%s", why.message);
	}
	for (size_t i = 0; r->args->starts && i < r->spaces.count; i++)
		TCB_TRY(cli_replay_starts(&r->spaces.winners, &r->spaces.origins[i], &r->spaces.items[i], err));
	return TCB_OK;
}

static enum tcb_status allocate(struct replaying *r, struct tcb_error *err)
{
	const size_t runs = r->strategy_count * r->args->repeats;
	r->replays = calloc(r->spaces.count, sizeof *r->replays);
	r->scores = calloc(r->spaces.count * r->strategy_count, sizeof *r->scores);
	r->runs = calloc(runs, sizeof *r->runs);
	r->failed = calloc(runs, sizeof *r->failed);
	if (!r->replays || !r->scores || !r->runs || !r->failed)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu runs", runs);
	return TCB_OK;
}

static void run_one(void *ctx, size_t task, unsigned thread)
{
	struct replaying *r = ctx;
	const size_t repeats = r->args->repeats;
	(void)thread;
	(void)tcb_replay_run(r->now, r->strategies[task / repeats], r->args->seed + task % repeats, &r->runs[task],
			     &r->failed[task]);
}

/* Of the runs over SPACE. */
static enum tcb_status judge_space(struct replaying *r, size_t space, struct tcb_error *err)
{
	const size_t repeats = r->args->repeats, tasks = r->strategy_count * repeats;
	for (size_t t = 0; t < tasks; t++)
		if (r->failed[t].status != TCB_OK)
			return tcb_fail(err, r->failed[t].status, "%.100s: %.400s", r->now->space->name,
					r->failed[t].message);
	for (size_t s = 0; s < r->strategy_count; s++)
		TCB_TRY(tcb_replay_judge(r->now, r->runs + s * repeats, repeats,
					 &r->scores[space * r->strategy_count + s], err));
	return TCB_OK;
}

static enum tcb_status run_space(struct replaying *r, size_t space, struct tcb_error *err)
{
	const size_t repeats = r->args->repeats, tasks = r->strategy_count * repeats;
	TCB_TRY(tcb_replay_init(&r->replays[space], &r->spaces.items[space], err));
	r->now = &r->replays[space];
	tcb_pool_run(r->pool, tcb_pool_threads(r->pool), TCB_SCHED_DYNAMIC, tasks, run_one, r);
	enum tcb_status status = judge_space(r, space, err);
	for (size_t t = 0; t < tasks; t++)
		tcb_replay_run_fini(&r->runs[t]);
	return status;
}

/* The means over the spaces into OUT; of the curves, those of medians and of 90th percentiles. */
static void mean_score(const struct replaying *r, size_t strategy, struct tcb_replay_score *out)
{
	const double count = (double)r->spaces.count;
	*out = (struct tcb_replay_score){ 0 };
	for (size_t i = 0; i < r->spaces.count; i++) {
		const struct tcb_replay_score *score = &r->scores[i * r->strategy_count + strategy];
		out->score += score->score;
		for (size_t m = 0; m < TCB_REPLAY_MARKS; m++) {
			out->median[m] += score->median[m];
			out->worst[m] += score->worst[m];
		}
	}
	out->score /= count;
	for (size_t m = 0; m < TCB_REPLAY_MARKS; m++) {
		out->median[m] /= count; /* after the sum: the mean of ratios of 1 is 1 */
		out->worst[m] /= count;
	}
}

/* --- printing --- */

static void add_row(struct cli_table *table, const char *space, const char *trials, const char *strategy,
		    const struct tcb_replay_score *score)
{
	cli_table_cell(table, "%s", space);
	cli_table_cell(table, "%s", trials);
	cli_table_cell(table, "%s", strategy);
	cli_table_cell(table, "%.3f", score->score);
	for (size_t m = 0; m < TCB_REPLAY_MARKS; m++)
		cli_table_cell(table, "%.1f / %.1f", 100 * (score->median[m] - 1), 100 * (score->worst[m] - 1));
}

static enum tcb_status print_text(const struct replaying *r, struct tcb_error *err)
{
	static const struct cli_column columns[] = {
		{ "space", 0 },    { "budget", 1, 1 }, { "strategy", 0 }, { "score", 1 },
		{ "after 10", 1 }, { "30", 1 },        { "100", 1 },      { "300 trials", 1 },
	};
	struct cli_table table;
	struct tcb_str out = { 0 };
	cli_table_init(&table, columns, sizeof columns / sizeof *columns);
	for (size_t i = 0; i < r->spaces.count; i++) {
		char trials[CLI_NUMBER_MAX];
		(void)snprintf(trials, sizeof trials, "%zu of %zu", r->replays[i].trials,
			       r->spaces.items[i].lattice.count);
		for (size_t s = 0; s < r->strategy_count; s++)
			add_row(&table, s ? "" : r->spaces.items[i].name, s ? "" : trials, r->strategies[s]->name,
				&r->scores[i * r->strategy_count + s]);
	}
	for (size_t s = 0; s < r->strategy_count; s++) {
		struct tcb_replay_score mean;
		mean_score(r, s, &mean);
		add_row(&table, s ? "" : "mean", "", r->strategies[s]->name, &mean);
	}
	enum tcb_status status = cli_table_finish(&table, CLI_TABLE_TEXT, &out, err);
	tcb_str_addf(
		&out,
		"score: 0 is random search, 1 the optimum from the start; budget: of random search's trials, when the "
		"score ends\nafter N trials: percent over the optimum, median / 90th percentile of %llu seeds\n",
		(unsigned long long)r->args->repeats);
	return cli_emit_made(status, &out, err);
}

static json_t *json_score(const char *strategy, const struct tcb_replay_score *score, int *failed)
{
	json_t *object = json_object(), *curve = json_array();
	cli_json_set(object, "strategy", json_string(strategy), failed);
	cli_json_set(object, "score", cli_json_real(score->score), failed);
	for (size_t m = 0; m < TCB_REPLAY_MARKS; m++) {
		json_t *point = json_object();
		cli_json_set(point, "trials", cli_json_size(tcb_replay_marks[m]), failed);
		cli_json_set(point, "median", cli_json_real(score->median[m]), failed);
		cli_json_set(point, "p90", cli_json_real(score->worst[m]), failed);
		cli_json_add(curve, point, failed);
	}
	cli_json_set(object, "over_optimum", curve, failed);
	return object;
}

static json_t *json_space(const struct replaying *r, size_t space, int *failed)
{
	const struct tcb_recorded *recorded = &r->spaces.items[space];
	json_t *object = json_object(), *scores = json_array();
	cli_json_set(object, "name", cli_json_text(recorded->name), failed);
	cli_json_set(object, "candidates", cli_json_size(recorded->lattice.count), failed);
	cli_json_set(object, "valid", cli_json_size(recorded->valid), failed);
	cli_json_set(object, "budget_trials", cli_json_size(r->replays[space].trials), failed);
	for (size_t s = 0; s < r->strategy_count; s++)
		cli_json_add(scores,
			     json_score(r->strategies[s]->name, &r->scores[space * r->strategy_count + s], failed),
			     failed);
	cli_json_set(object, "scores", scores, failed);
	return object;
}

static enum tcb_status print_json(const struct replaying *r, struct tcb_error *err)
{
	int failed = 0;
	json_t *root = cli_json_start("tcbtune.replay.1", &failed), *spaces = json_array(), *means = json_array();
	for (size_t i = 0; i < r->spaces.count; i++)
		cli_json_add(spaces, json_space(r, i, &failed), &failed);
	for (size_t s = 0; s < r->strategy_count; s++) {
		struct tcb_replay_score mean;
		mean_score(r, s, &mean);
		cli_json_add(means, json_score(r->strategies[s]->name, &mean, &failed), &failed);
	}
	cli_json_set(root, "repeats", cli_json_size(r->args->repeats), &failed);
	cli_json_set(root, "seed", cli_json_size(r->args->seed), &failed);
	cli_json_set(root, "spaces", spaces, &failed);
	cli_json_set(root, "mean", means, &failed);
	return cli_emit_json(cli_json_end(root, failed), err);
}

/* --- the whole --- */

static void replaying_fini(struct replaying *r)
{
	for (size_t i = 0; r->replays && i < r->spaces.count; i++)
		tcb_replay_fini(&r->replays[i]);
	tcb_pool_destroy(r->pool);
	free(r->replays);
	free(r->scores);
	free(r->runs);
	free(r->failed);
	cli_spaces_fini(&r->spaces);
}

static enum tcb_status score(struct replaying *r, struct tcb_error *err)
{
	struct cli_progress progress;
	enum tcb_status status = allocate(r, err);
	cli_progress_begin(&progress, "space", 0);
	for (size_t i = 0; i < r->spaces.count && status == TCB_OK; i++) {
		cli_progress_count(&progress, i, r->spaces.count, r->spaces.items[i].name);
		status = run_space(r, i, err);
	}
	cli_progress_end(&progress);
	if (status != TCB_OK)
		return status;
	return r->args->json ? print_json(r, err) : print_text(r, err);
}

static enum tcb_status stop(const struct replaying *r, struct tcb_error *err)
{
	const struct cli_stable stable = { .spaces = r->spaces.items,
					   .space_count = r->spaces.count,
					   .strategies = r->strategies,
					   .strategy_count = r->strategy_count,
					   .repeats = r->args->repeats,
					   .seed = r->args->seed,
					   .until = r->args->until_stable / 100,
					   .pool = r->pool };
	return cli_replay_stable(&stable, r->args->json, err);
}

static enum tcb_status run_replay(const void *arguments, struct tcb_error *err)
{
	struct replaying r = { .args = arguments, .spaces.ops = ((const struct replay_args *)arguments)->ops };
	if (r.args->repeats < 1 || r.args->repeats > REPEATS_MAX)
		return tcb_fail(err, TCB_E_USAGE, "--repeats: from 1 to %d", REPEATS_MAX);
	TCB_TRY(find_strategies(&r, err));
	enum tcb_status status = read_files(&r, err);
	if (status == TCB_OK)
		status = tcb_pool_create(tcb_model_processors(), NULL, &r.pool, err);
	if (status == TCB_OK)
		status = r.args->until_stable > 0 ? stop(&r, err) : score(&r, err);
	replaying_fini(&r);
	return status;
}

const struct cli_command cli_command_replay = {
	.name = "replay",
	.summary = "run search strategies over recorded results and score them",
	.description =
		"Runs strategies over spaces of which every candidate was measured before, as if they measured, and "
		"prints the auto-tuning community's score for each space and in the mean: 0 is what random search is "
		"expected to reach in the same time, 1 the optimum from the start.  Beside it stands how far the best "
		"after 10, 30, 100 and 300 trials is from the optimum.  With --until-stable it prints instead when the "
		"rule of 'tcbtune sweep --until-stable' would have ended each run, and what that was worth.  Files are "
		"the community's T4 and cache files, plain or gz, and tuning databases, each problem of which is a "
		"space for each cache state.  Files of other kinds are left out and named.",
	.examples = "  tcbtune replay spaces/*.json.gz --strategy hillclimb\n  tcbtune replay tuning.db --json\n"
		    "  tcbtune replay tuning.db --until-stable 1\n",
	.options = options,
	.args_bytes = sizeof(struct replay_args),
	.run = run_replay,
};
