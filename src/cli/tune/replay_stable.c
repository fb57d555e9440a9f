/* SPDX-License-Identifier: MIT
 *
 * In: recorded spaces, strategies and a threshold; out: a row of each space and
 * strategy, and one of all runs of a strategy together, which says what the
 * prediction is worth.
 */
#include "cli/tune/replay_stable.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/core/emit.h"
#include "search/replay/replay_stop.h"

struct stopping {
	const struct cli_stable *asked;
	struct tcb_replay_stop
		*runs; /* [(strategy * spaces + space) * repeats + repeat], so all of a strategy's are together */
	struct tcb_replay_stops *spaces; /* [strategy * spaces + space] */
	struct tcb_replay_stops *all;    /* [strategy] */
	/* of the space that is being run */
	struct tcb_replay replay;
	size_t space;
	struct tcb_error *failed; /* [strategy * repeats + repeat] */
};

/* --- running --- */

static struct tcb_replay_stop *runs_of(const struct stopping *s, size_t strategy, size_t space)
{
	return s->runs + (strategy * s->asked->space_count + space) * s->asked->repeats;
}

static void run_one(void *ctx, size_t task, unsigned thread)
{
	struct stopping *s = ctx;
	const size_t strategy = task / s->asked->repeats, repeat = task % s->asked->repeats;
	(void)thread;
	(void)tcb_replay_stop(&s->replay, s->asked->strategies[strategy], s->asked->seed + repeat, s->asked->until,
			      &runs_of(s, strategy, s->space)[repeat], &s->failed[task]);
}

static enum tcb_status run_space(struct stopping *s, struct tcb_error *err)
{
	const struct cli_stable *asked = s->asked;
	const size_t tasks = asked->strategy_count * asked->repeats;
	TCB_TRY(tcb_replay_init(&s->replay, &asked->spaces[s->space], err));
	tcb_pool_run(asked->pool, tcb_pool_threads(asked->pool), TCB_SCHED_DYNAMIC, tasks, run_one, s);
	tcb_replay_fini(&s->replay);
	for (size_t t = 0; t < tasks; t++)
		if (s->failed[t].status != TCB_OK)
			return tcb_fail(err, s->failed[t].status, "%.100s: %.400s", asked->spaces[s->space].name,
					s->failed[t].message);
	for (size_t i = 0; i < asked->strategy_count; i++)
		TCB_TRY(tcb_replay_stops_judge(runs_of(s, i, s->space), asked->repeats,
					       &s->spaces[i * asked->space_count + s->space], err));
	return TCB_OK;
}

static enum tcb_status run_all(struct stopping *s, struct tcb_error *err)
{
	const struct cli_stable *asked = s->asked;
	const size_t rows = asked->strategy_count * asked->space_count;
	s->runs = calloc(rows * asked->repeats, sizeof *s->runs);
	s->spaces = calloc(rows, sizeof *s->spaces);
	s->all = calloc(asked->strategy_count, sizeof *s->all);
	s->failed = calloc(asked->strategy_count * asked->repeats, sizeof *s->failed);
	if (!s->runs || !s->spaces || !s->all || !s->failed)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu runs", rows * asked->repeats);
	for (s->space = 0; s->space < asked->space_count; s->space++)
		TCB_TRY(run_space(s, err));
	for (size_t i = 0; i < asked->strategy_count; i++)
		TCB_TRY(tcb_replay_stops_judge(runs_of(s, i, 0), asked->space_count * asked->repeats, &s->all[i], err));
	return TCB_OK;
}

/* --- printing --- */

static void add_row(struct cli_table *table, const char *space, const char *strategy,
		    const struct tcb_replay_stops *stops)
{
	cli_table_cell(table, "%s", space);
	cli_table_cell(table, "%s", strategy);
	cli_table_cell(table, "%zu of %zu", stops->stopped, stops->count);
	if (stops->stopped) {
		cli_table_cell(table, "%.0f / %.0f", stops->trials_median, stops->trials_high);
		cli_table_cell(table, "%.2f", 100 * stops->predicted);
		cli_table_cell(table, "%.2f / %.2f", 100 * stops->again, 100 * stops->again_high);
		cli_table_cell(table, "%.0f %%", 100 * (double)stops->exceeded / (double)stops->stopped);
		cli_table_cell(table, "%.2f / %.2f", 100 * stops->gap_median, 100 * stops->gap_high);
	} else {
		for (int i = 0; i < 5; i++)
			cli_table_cell(table, "-");
	}
}

static enum tcb_status print_text(const struct stopping *s, struct tcb_error *err)
{
	static const struct cli_column columns[] = {
		{ "space", 0 },     { "strategy", 0 },      { "stopped", 1 },  { "after trials", 1 },
		{ "predicted", 1 }, { "as many again", 1 }, { "exceeded", 1 }, { "gap", 1 },
	};
	const struct cli_stable *asked = s->asked;
	struct cli_table table;
	struct tcb_str out = { 0 };
	cli_table_init(&table, columns, sizeof columns / sizeof *columns);
	for (size_t space = 0; space < asked->space_count; space++)
		for (size_t i = 0; i < asked->strategy_count; i++)
			add_row(&table, i ? "" : asked->spaces[space].name, asked->strategies[i]->name,
				&s->spaces[i * asked->space_count + space]);
	for (size_t i = 0; i < asked->strategy_count; i++)
		add_row(&table, i ? "" : "all", asked->strategies[i]->name, &s->all[i]);
	enum tcb_status status = cli_table_finish(&table, CLI_TABLE_TEXT, &out, err);
	tcb_str_addf(&out,
		     "stopped: runs in which, within %d trials, as many again were expected to gain less than %g %%; "
		     "of those:\nafter trials, median / 90th percentile; what was predicted, mean, and what as many "
		     "again brought,\nmean / 90th percentile, in percent; exceeded: runs in which that was more than "
		     "predicted; gap: percent over the optimum when they stopped, median / 90th percentile\n",
		     TCB_REPLAY_STOP_MOST, 100 * asked->until);
	return cli_emit_made(status, &out, err);
}

static json_t *json_stops(const char *strategy, const struct tcb_replay_stops *stops, int *failed)
{
	json_t *object = json_object();
	cli_json_set(object, "strategy", json_string(strategy), failed);
	cli_json_set(object, "runs", cli_json_size(stops->count), failed);
	cli_json_set(object, "stopped", cli_json_size(stops->stopped), failed);
	cli_json_set(object, "trials_median", cli_json_real(stops->trials_median), failed);
	cli_json_set(object, "trials_p90", cli_json_real(stops->trials_high), failed);
	cli_json_set(object, "predicted_mean", cli_json_real(stops->predicted), failed);
	cli_json_set(object, "again_mean", cli_json_real(stops->again), failed);
	cli_json_set(object, "again_p90", cli_json_real(stops->again_high), failed);
	cli_json_set(object, "exceeded", cli_json_size(stops->exceeded), failed);
	cli_json_set(object, "gap_median", cli_json_real(stops->gap_median), failed);
	cli_json_set(object, "gap_p90", cli_json_real(stops->gap_high), failed);
	return object;
}

static json_t *json_space(const struct stopping *s, size_t space, int *failed)
{
	const struct cli_stable *asked = s->asked;
	json_t *object = json_object(), *results = json_array();
	cli_json_set(object, "name", cli_json_text(asked->spaces[space].name), failed);
	cli_json_set(object, "candidates", cli_json_size(asked->spaces[space].lattice.count), failed);
	for (size_t i = 0; i < asked->strategy_count; i++)
		cli_json_add(results,
			     json_stops(asked->strategies[i]->name, &s->spaces[i * asked->space_count + space], failed),
			     failed);
	cli_json_set(object, "results", results, failed);
	return object;
}

static enum tcb_status print_json(const struct stopping *s, struct tcb_error *err)
{
	const struct cli_stable *asked = s->asked;
	int failed = 0;
	json_t *root = cli_json_start("tcbtune.replay-stable.1", &failed), *spaces = json_array(), *all = json_array();
	for (size_t space = 0; space < asked->space_count; space++)
		cli_json_add(spaces, json_space(s, space, &failed), &failed);
	for (size_t i = 0; i < asked->strategy_count; i++)
		cli_json_add(all, json_stops(asked->strategies[i]->name, &s->all[i], &failed), &failed);
	cli_json_set(root, "repeats", cli_json_size(asked->repeats), &failed);
	cli_json_set(root, "seed", cli_json_size(asked->seed), &failed);
	cli_json_set(root, "until_stable", cli_json_real(asked->until), &failed);
	cli_json_set(root, "most_trials", cli_json_size(TCB_REPLAY_STOP_MOST), &failed);
	cli_json_set(root, "spaces", spaces, &failed);
	cli_json_set(root, "all", all, &failed);
	return cli_emit_json(cli_json_end(root, failed), err);
}

enum tcb_status cli_replay_stable(const struct cli_stable *stable, int json, struct tcb_error *err)
{
	struct stopping s = { .asked = stable };
	enum tcb_status status = run_all(&s, err);
	if (status == TCB_OK)
		status = json ? print_json(&s, err) : print_text(&s, err);
	free(s.runs);
	free(s.spaces);
	free(s.all);
	free(s.failed);
	return status;
}
