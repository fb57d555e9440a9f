/* SPDX-License-Identifier: MIT
 *
 * A contest in figures: its table, its JSON, its limits, what its first geometry is bound by.
 */
#include "cli/tune/contest.h"

#include <math.h>
#include <string.h>

#include "base/kind.h"
#include "cli/core/cli.h"
#include "cli/core/emit.h"
#include "cli/core/figures.h"
#include "search/rounds.h"

enum { WIDE = 7 /* columns of the table */, WIDE_TERMINAL = 110 };

int cli_contest_is_measured(const struct cli_contest *contest, size_t i)
{
	return contest->result.ns[contest->state][i].median > 0;
}

static struct tcb_interval inverse(const struct tcb_interval *ratio)
{
	if (!(ratio->median > 0))
		return (struct tcb_interval){ 0 };
	return (struct tcb_interval){ 1 / ratio->median, 1 / ratio->hi, 1 / ratio->lo };
}

static struct cli_limit limit_of(const struct cli_contest *contest, const struct tcb_interval *ns, const char *geometry)
{
	return cli_limit_make(cli_limit_name(contest->result.limit_method[contest->state]), ns,
			      &contest->result.limit_ns[contest->state], geometry);
}

static struct cli_limit compute_of(const struct cli_contest *contest, const struct tcb_interval *ns,
				   const char *geometry)
{
	return cli_limit_make("compute limit", ns, &contest->result.compute_ns[contest->state], geometry);
}

/* LIMIT's share of the first geometry, whose ends are those of the pairs. */
static struct tcb_interval first_share(const struct cli_limit *limit, const struct tcb_interval *limit_over_first)
{
	const struct tcb_interval paired = inverse(limit_over_first);

	return cli_limit_paired(&limit->of_limit, &paired);
}

static void add_row(struct cli_table *table, const struct cli_contest *contest, const char *role, const char *geometry,
		    const struct tcb_interval *ns, const struct tcb_interval *ratio)
{
	const struct tcb_problem *problem = &contest->problem->problem;
	double bytes = contest->problem->op->traffic(problem);
	double operations = contest->problem->op->flops(problem);
	const struct cli_limit limit = limit_of(contest, ns, geometry), compute = compute_of(contest, ns, geometry);
	const int is_wide = table->column_count == WIDE;
	char text[CLI_NUMBER_MAX];

	cli_table_cell(table, "%s", role);
	cli_text_us_interval(ns, text);
	cli_table_cell(table, "%s", text);
	if (is_wide)
		cli_table_cell(table, "%.2f", ns->median > 0 ? bytes / ns->median : 0);
	cli_limit_text(&limit, text);
	cli_table_cell(table, "%s", text);
	if (is_wide)
		cli_table_cell(table, "%.2f", ns->median > 0 ? operations / ns->median : 0);
	cli_limit_text(&compute, text);
	cli_table_cell(table, "%s", text);
	cli_text_ratio_interval(ratio, text);
	cli_table_cell(table, "%s", text);
	cli_table_note(table, geometry);
}

static void add_rows(struct cli_table *table, const struct cli_contest *contest)
{
	const struct tcb_bench_result *result = &contest->result;
	enum tcb_state state = contest->state;
	char text[TCB_GEOMETRY_TEXT_MAX];

	for (size_t i = 0; i < contest->count; i++) {
		if (!cli_contest_is_measured(contest, i))
			continue;
		tcb_geometry_print(&contest->geometry[i], text);
		add_row(table, contest, contest->role[i], text, &result->ns[state][i], &result->ratio[state][i]);
	}
	if (result->independent_ns[state].median > 0) {
		struct tcb_interval ratio = inverse(&result->independent_ratio[state]);

		add_row(table, contest, "independent", "the first, in calls that do not wait for each other",
			&result->independent_ns[state], &ratio);
	}
	if (result->limit_ns[state].median > 0) {
		struct tcb_interval ratio = inverse(&result->limit_ratio[state]);
		add_row(table, contest, cli_limit_name(result->limit_method[state]), result->limit_method[state],
			&result->limit_ns[state], &ratio);
	}
	if (result->overlap_ns[state].median > 0) {
		struct tcb_interval ratio = inverse(&result->overlap_ratio[state]);
		add_row(table, contest, "overlapped", "the read limit with programmatic dependent launch",
			&result->overlap_ns[state], &ratio);
	}
	if (result->compute_ns[state].median > 0) {
		struct tcb_interval ratio = inverse(&result->compute_ratio[state]);
		add_row(table, contest, "compute limit", result->compute_method[state], &result->compute_ns[state],
			&ratio);
	}
}

/* Where too few rounds were undisturbed to rest on these alone. */
static void add_disturbance(const struct cli_contest *contest, struct tcb_str *out)
{
	const size_t rounds = contest->result.rounds[contest->state],
		     quiet = contest->result.quiet_rounds[contest->state];

	if (quiet < rounds && quiet < TCB_QUIET_LEAST)
		cli_add_line(out,
			     "noisy: others disturbed %zu of %zu rounds; --wait-quiet 10m waits for a quiet machine",
			     rounds - quiet, rounds);
}

enum tcb_status cli_contest_add(const struct cli_contest *contest, struct tcb_str *out, struct tcb_error *err)
{
	static const struct cli_column wide[WIDE] = {
		{ "WHICH", 0 }, { "µs [95 %]", 1 }, { "GB/s", 1 },           { "% LIMIT", 1 },
		{ "GOP/s", 1 }, { "% COMPUTE", 1 }, { "x FIRST [95 %]", 1 },
	};
	static const struct cli_column narrow[] = {
		{ "WHICH", 0 }, { "µs [95 %]", 1 }, { "% LIMIT", 1 }, { "% COMPUTE", 1 }, { "x FIRST [95 %]", 1 },
	};
	const int is_wide = cli_terminal_width() >= WIDE_TERMINAL;
	struct cli_table table;
	char label[CLI_LABEL_MAX];
	enum tcb_status status;

	cli_table_init(&table, is_wide ? wide : narrow, is_wide ? WIDE : sizeof narrow / sizeof *narrow);
	add_rows(&table, contest);
	cli_problem_label(&contest->problem->problem, label);
	if (out->length)
		tcb_str_add(out, "\n");
	cli_add_line(out, "%s, %s", label, tcb_state_text(contest->state));
	status = cli_table_finish(&table, CLI_TABLE_TEXT, out, err);
	add_disturbance(contest, out);
	return status;
}

json_t *cli_contest_json(const struct cli_contest *contest, int *failed)
{
	const struct tcb_bench_result *result = &contest->result;
	const struct tcb_problem *problem = &contest->problem->problem;
	enum tcb_state state = contest->state;
	const struct cli_limit limit = limit_of(contest, &result->ns[state][0], "");
	const struct cli_limit compute = compute_of(contest, &result->ns[state][0], "");
	const struct tcb_interval of_limit = first_share(&limit, &result->limit_ratio[state]);
	const struct tcb_interval of_overlap = inverse(&result->overlap_ratio[state]);
	const struct tcb_interval of_compute = first_share(&compute, &result->compute_ratio[state]);
	double bytes = contest->problem->op->traffic(problem);
	json_t *object = json_object(), *rows = json_array();
	char text[TCB_GEOMETRY_TEXT_MAX];

	cli_json_set(object, "op", cli_json_text(problem->op_name), failed);
	cli_json_set(object, "contract", json_string(tcb_contract_text(problem->contract)), failed);
	cli_json_set(object, "shape", cli_json_shape(&problem->shape), failed);
	cli_json_set(object, "state", json_string(tcb_state_text(state)), failed);
	cli_json_set(object, "bytes", cli_json_real(bytes), failed);
	for (size_t i = 0; i < contest->count; i++) {
		if (!cli_contest_is_measured(contest, i))
			continue;
		tcb_geometry_print(&contest->geometry[i], text);
		cli_json_add(rows,
			     json_pack("{s:s, s:s, s:o, s:o, s:o}", "role", contest->role[i], "geometry", text, "ns",
				       cli_json_interval(&result->ns[state][i]), "gb_per_s",
				       cli_json_real(bytes / result->ns[state][i].median), "over_first",
				       cli_json_interval(&result->ratio[state][i])),
			     failed);
	}
	cli_json_set(object, "rows", rows, failed);
	cli_json_set(object, "rounds", result->rounds[state] ? cli_json_size(result->rounds[state]) : json_null(),
		     failed);
	cli_json_set(object, "quiet_rounds",
		     result->rounds[state] ? cli_json_size(result->quiet_rounds[state]) : json_null(), failed);
	cli_json_set(object, "limit_ns", cli_json_interval(&result->limit_ns[state]), failed);
	cli_json_set(object, "limit_method", cli_json_text(result->limit_method[state]), failed);
	cli_json_set(object, "limit_gb_per_s", cli_json_real(bytes / result->limit_ns[state].median), failed);
	cli_json_set(object, "of_limit", cli_json_interval(&of_limit), failed);
	cli_json_set(object, "limit_use",
		     cli_limit_is_known(&limit) ? json_string(cli_limit_use_text(&limit)) : json_null(), failed);
	cli_json_set(object, "overlap_ns", cli_json_interval(&result->overlap_ns[state]), failed);
	cli_json_set(object, "of_overlap", cli_json_interval(&of_overlap), failed);
	cli_json_set(object, "independent_ns", cli_json_interval(&result->independent_ns[state]), failed);
	cli_json_set(object, "operations", cli_json_real(contest->problem->op->flops(problem)), failed);
	cli_json_set(object, "compute_ns", cli_json_interval(&result->compute_ns[state]), failed);
	cli_json_set(object, "compute_method", cli_json_text(result->compute_method[state]), failed);
	cli_json_set(object, "of_compute", cli_json_interval(&of_compute), failed);
	return object;
}

/* The first geometry's row, as if it were stored. */
static struct tcb_best first_row(const struct cli_contest *contest, const struct tcb_device *device)
{
	const struct tcb_bench_result *result = &contest->result;
	struct tcb_best best = {
		.target = device->target,
		.threads = device->target.threads,
		.problem = contest->problem->problem,
		.state = contest->state,
		.ns = result->ns[contest->state][0],
		.limit_ns = result->limit_ns[contest->state],
		.bytes = contest->problem->op->traffic(&contest->problem->problem),
		.flops = contest->problem->op->flops(&contest->problem->problem),
	};

	memcpy(best.device_name, device->name, sizeof best.device_name);
	memcpy(best.device_key, device->key, sizeof best.device_key);
	memcpy(best.limit_method, result->limit_method[contest->state], sizeof best.limit_method);
	tcb_geometry_print(&contest->geometry[0], best.geometry);
	return best;
}

/* The read limit as the first geometry is to be held against it: with calls that overlap where its own do. */
static void find_read(const struct cli_contest *contest, const struct tcb_best *first, struct tcb_bottleneck_facts *out)
{
	const struct tcb_bench_result *result = &contest->result;
	const struct tcb_interval *overlapping = &result->overlap_ns[contest->state];
	struct cli_limit limit = limit_of(contest, &first->ns, first->geometry);

	out->is_limit_overlapped = out->is_overlapped && overlapping->median > 0;
	if (out->is_limit_overlapped)
		limit = cli_limit_make(limit.name, &first->ns, overlapping, first->geometry);
	out->read_use = limit.use;
	out->read = first_share(&limit, out->is_limit_overlapped ? &result->overlap_ratio[contest->state]
								 : &result->limit_ratio[contest->state]);
}

void cli_contest_bound(const struct cli_contest contests[TCB_STATE_COUNT], enum tcb_state state,
		       const struct tcb_device *device, const struct cli_bounds *bounds, struct tcb_bottleneck *out)
{
	const struct cli_contest *contest = &contests[state];
	const struct tcb_bench_result *result = &contest->result;
	const struct tcb_best cold = first_row(&contests[TCB_COLD], device),
			      hot = first_row(&contests[TCB_HOT], device), *best = state == TCB_COLD ? &cold : &hot;
	struct tcb_bottleneck_facts facts;

	cli_bounds_facts(bounds, best, contest->stored.counters, contest->stored.counter_count, &facts);
	find_read(contest, best, &facts);
	if (result->compute_ns[state].median > 0) {
		const struct cli_limit compute = compute_of(contest, &best->ns, best->geometry);

		facts.compute = first_share(&compute, &result->compute_ratio[state]);
		facts.compute_use = compute.use;
		facts.compute_source = "measured";
		facts.compute_is_specified = 0;
	}
	facts.core = facts.device->has_threads ? cli_core_share(&cold, &hot) : NAN;
	tcb_bottleneck_find(&facts, out);
}
