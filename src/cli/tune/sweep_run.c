/* SPDX-License-Identifier: MIT
 *
 * Sweeps of one run: for each problem, the known trials come from the database,
 * the search tries the rest, every finished trial goes into the database, and
 * the winners are stored.  Here the search and the database meet.
 */
#include "cli/tune/sweep_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/build_info.h"
#include "base/kind.h"
#include "base/util.h"
#include "cli/core/cli.h"
#include "cli/core/progress.h"
#include "cli/core/stop.h"
#include "cli/tune/disturbance.h"
#include "cli/tune/former.h"
#include "cli/tune/measured_cache.h"
#include "cli/tune/recorded_starts.h"
#include "cli/tune/shard_option.h"
#include "cli/tune/stored_starts.h"
#include "cli/tune/strategy_option.h"
#include "cli/tune/sweep_cards.h"
#include "cli/tune/sweep_json.h"
#include "cli/tune/sweep_shards.h"
#include "db/rates.h"
#include "db/verdict.h"
#include "device/cache.h"
#include "kernels/compute_limit.h"
#include "kernels/signature.h"
#include "search/model.h"

/* A GPU's compute limit is measured in a sweep of at least so many seconds: compiling its kernels takes up to one. */
static const double COMPUTE_LEAST_S = 5;
static const double KNOWN_SHARE = 0.1; /* of the budget, for asking whose kernels are still the same */

/* One problem of a run. */
struct sweep_job {
	struct cli_sweeping *run;
	const struct cli_problem *problem;
	char label[CLI_LABEL_MAX + TCB_SHARD_TEXT_MAX + 8];
	int64_t sweep;
	struct tcb_trial *trials; /* as the database holds them, those of today's kernels first */
	size_t trial_count;
	size_t known_count, stale_count;
	struct cli_winners winners; /* of other problems */
	struct cli_former former;
	enum tcb_outcome first_failure; /* of the trials of this sweep, with its message */
	char first_message[256];
	struct tcb_sweep_result result;
	struct tcb_compute_rate rate;  /* of the device, as it is stored; 0: unknown */
	double others_busy, held_back; /* while it ran, once it has ended */
};

static enum tcb_status store_trial(void *ctx, const struct tcb_trial *trial, struct tcb_error *err)
{
	struct sweep_job *job = ctx;

	if (trial->outcome != TCB_OUTCOME_OK && trial->outcome != TCB_OUTCOME_TOO_SLOW &&
	    job->first_failure == TCB_OUTCOME_OK) {
		job->first_failure = trial->outcome;
		memcpy(job->first_message, trial->message, sizeof job->first_message);
	}
	return tcb_db_trial_put(job->run->db, job->sweep, trial, err);
}

/* Keeps the trials whose kernel is still the one that was measured. */
static enum tcb_status load_known(struct sweep_job *job, struct tcb_error *err)
{
	const struct tcb_problem *problem = &job->problem->problem;
	struct tcb_current current;

	if (job->run->args->fresh || job->run->args->again || job->run->args->require)
		return TCB_OK;
	TCB_TRY(cli_known_trials(job->run->db, job->problem, &job->run->place.device, job->run->args->rotation,
				 &job->trials, &job->trial_count, err));
	TCB_TRY(tcb_trials_current(problem, &job->run->place.device.target, job->trials, job->trial_count,
				   KNOWN_SHARE * job->run->limits.budget_s, &current, err));
	job->known_count = current.count;
	job->stale_count = job->trial_count - current.count - current.unseen;
	if (job->known_count)
		cli_say("%s: %zu %s known from earlier sweeps", job->label, job->known_count,
			job->known_count == 1 ? "candidate is" : "candidates are");
	if (job->stale_count)
		cli_say("%s: %zu stored trials are of kernels that have changed since; they are measured again",
			job->label, job->stale_count);
	if (current.unseen)
		cli_say("%s: %zu stored trials are left out: a tenth of the budget went into asking whose kernels are "
			"still the same; a longer budget knows them",
			job->label, current.unseen);
	return TCB_OK;
}

static enum tcb_status begin_sweep(struct sweep_job *job, const struct tcb_sweep_options *opts, struct tcb_error *err)
{
	const struct tcb_build_info *build = tcb_build_info();
	char signature[TCB_SIGNATURE_MAX];
	char shard[TCB_SHARD_TEXT_MAX];
	tcb_shard_print(&opts->shard, shard);
	const char *objective = opts->objective ? tcb_objective_text(opts->objective) : NULL;
	json_t *settings =
		json_pack("{s:i, s:f, s:I, s:f, s:i, s:b, s:b, s:i, s:s*, s:s*, s:s*}", "states", (int)opts->states,
			  "budget_s", opts->budget_s, "max_trials", (json_int_t)opts->max_trials, "timeout_s",
			  opts->timeout_s, "counters", (int)opts->counters, "any_size", opts->any_size, "fresh",
			  job->run->args->fresh || job->run->args->again, "finalists", (int)opts->finalists, "shard",
			  shard[0] ? shard : NULL, "objective", objective, "require", job->run->args->require);
	char *text = settings ? json_dumps(settings, JSON_COMPACT) : NULL;
	struct tcb_sweep_record record = {
		.device = &job->run->place.device,
		.problem = &job->problem->problem,
		.op_signature = signature,
		.git_commit = build->commit,
		.compiler = build->compiler,
		.version = build->version,
		.strategy = cli_strategy_name(opts->strategy),
		.seed = opts->seed,
		.rotation_bytes = opts->rotation_bytes,
		.settings_json = text,
	};
	enum tcb_status status;

	tcb_op_signature(job->problem->op, signature);
	status = text ? tcb_db_sweep_begin(job->run->db, &record, &job->sweep, err)
		      : tcb_fail(err, TCB_E_NOMEM, "out of memory");
	free(text);
	json_decref(settings);
	return status;
}

int cli_sweeping_is_modelled(const struct cli_sweeping *run)
{
	return tcb_kind_of(&run->place.device.target)->has_model &&
	       (run->place.is_absent || run->args->effort == CLI_EFFORT_ESTIMATE);
}

/* Of a sweep of a few trials nothing is to be told; that before it, of the same kernels, told of most of them. */
static double expected_gain(const struct sweep_job *job, const struct tcb_decision *decision)
{
	const struct cli_former *former = &job->former;

	if (isnan(decision->expected_gain) && former->asked[decision->state].valid)
		return former->row[decision->state].best.expected_gain;
	return decision->expected_gain;
}

static void fill_best(const struct sweep_job *job, const struct tcb_decision *decision, struct tcb_best *best)
{
	const struct tcb_device *device = &job->run->place.device;
	const struct tcb_problem *problem = &job->problem->problem;
	const struct tcb_finalist *winner = &decision->finalists[0];

	memset(best, 0, sizeof *best);
	memcpy(best->device_name, device->name, sizeof best->device_name);
	memcpy(best->device_key, device->key, sizeof best->device_key);
	memcpy(best->arch, device->arch, sizeof best->arch);
	memcpy(best->model, device->model, sizeof best->model);
	best->threads = device->target.threads;
	best->target = device->target;
	best->problem = *problem;
	best->state = decision->state;
	best->modelled = cli_sweeping_is_modelled(job->run);
	best->provisional =
		decision->provisional || /* the other shards' leaders were not there, or no time for finals */
		(job->run->shard.count > 1 && !best->modelled);
	tcb_geometry_print(&winner->geometry, best->geometry);
	memcpy(best->variant, winner->variant, sizeof best->variant);
	memcpy(best->signature, winner->signature, sizeof best->signature);
	best->ns = winner->ns;
	tcb_geometry_print(&decision->fallback.geometry, best->default_geometry);
	best->default_ns = decision->fallback.ns;
	best->speedup = decision->speedup;
	best->limit_ns = decision->limit_ns;
	memcpy(best->limit_method, decision->limit_method, sizeof best->limit_method);
	best->bytes = job->problem->op->traffic(problem);
	best->flops = job->problem->op->flops(problem);
	best->compute_rate[job->rate.kind] = job->rate.rate;
	best->regret = decision->regret;
	best->flip_probability = decision->flip_probability;
	best->expected_gain = expected_gain(job, decision);
	strcpy(best->objective, tcb_objective_text(decision->objective));
	best->joules = decision->joules > 0 ? decision->joules : NAN;
	best->default_joules = decision->default_joules > 0 ? decision->default_joules : NAN;
	best->others_busy = job->others_busy;
	best->held_back = job->held_back;
	best->final_rounds = decision->rounds;
	best->quiet_rounds = decision->quiet_rounds;
	best->tie_count = decision->tie_count;
	best->tried = job->result.known + job->result.tried;
	best->space_count = job->result.space_count;
	cli_text_now(best->measured_at);
	strncpy(best->git_commit, tcb_build_info()->commit, sizeof best->git_commit - 1);
}

/* Where the row that is there stays, since it is known better than what was found now. */
static void say_kept(const struct sweep_job *job, const struct tcb_best *best)
{
	const struct tcb_best *former = &job->former.row[best->state].best;

	if (job->former.asked[best->state].valid && tcb_best_is_noisy(best) && !tcb_best_is_noisy(former))
		cli_say("%s: %s: noisy, so the winner of %.10s, which is known better, stays in the database; "
			"--wait-quiet 10m waits for a quiet machine",
			job->label, tcb_state_text(best->state), former->measured_at);
}

/* Stores one state's winner with its tie set, and keeps a row of it for the table at the end. */
static enum tcb_status store_best(struct sweep_job *job, const struct tcb_decision *decision, struct tcb_error *err)
{
	struct tcb_best best;
	struct cli_best_row *row;
	char text[TCB_GEOMETRY_TEXT_MAX];

	fill_best(job, decision, &best);
	row = cli_best_rows_add(&job->run->rows, &best);
	for (size_t i = 0; row && i < decision->tie_count; i++) {
		tcb_geometry_print(&decision->tie_set[i], text);
		if (cli_best_row_add_tie(row, text) != 0)
			row = NULL;
	}
	if (!row)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the winners");
	say_kept(job, &best);
	return tcb_db_best_put(job->run->db, job->sweep, &best, (const char *const *)row->ties, row->tie_count, err);
}

/* The best so far, for whoever asks before the finals are held. */
static enum tcb_status store_provisional(void *ctx, const struct tcb_decision *decision, struct tcb_error *err)
{
	const struct sweep_job *job = ctx;
	struct tcb_best best;

	fill_best(job, decision, &best);
	best.provisional = 1;
	if (job->former.is_stale[decision->state]) /* lookups do not answer with it */
		memcpy(best.replaces, job->former.row[decision->state].best.signature, sizeof best.replaces);
	return tcb_db_best_put(job->run->db, job->sweep, &best, (const char *const[]){ best.geometry }, 1, err);
}

/* Every candidate failed: there is no winner to store. */
static enum tcb_status no_winner(const struct sweep_job *job, struct tcb_error *err)
{
	const struct tcb_sweep_result *result = &job->result;

	if (cli_sweeping_is_modelled(job->run))
		return tcb_fail(err, TCB_E_FAILED,
				"%s: no candidate could be modelled, %zu of %zu failed, %zu of them because %s; "
				"'tcbtune space' lists them",
				job->label, result->failed, result->space_count, result->failure_count,
				result->failure[0] ? result->failure : "no time was left");
	if (result->refused == result->space_count)
		return tcb_fail(err, TCB_E_NOT_FOUND, "%s: none of %zu candidates was tried: the first is %.160s",
				job->label, result->space_count, result->refusal);
	return tcb_fail(err, job->first_failure == TCB_OUTCOME_WRONG ? TCB_E_VERIFY : TCB_E_FAILED,
			"%s: no candidate could be measured, %zu of %zu failed%s%s%s%.200s; 'tcbtune space' lists them",
			job->label, result->failed, result->space_count,
			job->first_message[0] ? ", the first with " : "",
			job->first_message[0] ? tcb_outcome_text(job->first_failure) : "",
			job->first_message[0] ? ": " : "", job->first_message);
}

/* Why it stopped where there was time, and what going on would bring. */
static void print_ended(const struct sweep_job *job, char *out, size_t capacity)
{
	const struct tcb_sweep_result *result = &job->result;

	if (result->ended == TCB_ENDED_TARGET)
		(void)snprintf(out, capacity, "; stopped at %.2f x the limit cold, %.2f x hot (--target-ratio %g)",
			       result->of_limit[TCB_COLD], result->of_limit[TCB_HOT], job->run->args->target_ratio);
	else if (!result->complete && isfinite(result->expected_gain))
		(void)snprintf(out, capacity, "; %s%s expected to gain %.1f %%",
			       result->ended == TCB_ENDED_STABLE ? "stopped because " : "",
			       2 * (result->known + result->tried) < result->space_count ? "as many trials again are"
											 : "the rest is",
			       100 * result->expected_gain);
}

static void say_result(const struct sweep_job *job)
{
	const struct tcb_sweep_result *result = &job->result;
	char slow[64] = "", passes[64] = "", ended[160] = "";

	if (result->too_slow)
		snprintf(slow, sizeof slow, ", %zu too slow to run at full size", result->too_slow);
	if (result->with_passes)
		snprintf(passes, sizeof passes, "; the best %zu once more with passes=all", result->with_passes);
	print_ended(job, ended, sizeof ended);
	if (result->refused)
		cli_say("%s: %zu candidate%s not tried, the first since it is %s", job->label, result->refused,
			result->refused == 1 ? " was" : "s were", result->refusal);
	if (cli_sweeping_is_modelled(job->run))
		cli_say("%s: ranked %zu candidates of %zu by the model, %zu of them failed; nothing was measured, "
			"because %s%s%s",
			job->label, result->tried, result->space_count, result->failed,
			job->run->place.is_absent ? job->run->place.device.name : "--effort estimate says so",
			job->run->place.is_absent ? " is not attached" : "", ended);
	else if (job->run->args->finals_only)
		cli_say("%s: held the finals among the %zu candidates that are known, of %zu", job->label,
			result->known, result->space_count);
	else if (result->tried == 0 && result->complete)
		cli_say("%s: all %zu candidates are known%s; the finals were repeated", job->label, result->space_count,
			passes);
	else
		cli_say("%s: %zu of %zu candidates tried, %zu failed%s, %zu known before%s%s%s", job->label,
			result->tried, result->space_count, result->failed, slow, result->known, passes, ended,
			result->complete ? "" : "; the same command goes on from here");
}

static void add_json(struct sweep_job *job, size_t first_row)
{
	struct cli_sweeping *run = job->run;
	const struct cli_sweep_done done = { .problem = &job->problem->problem,
					     .shard = &run->shard,
					     .result = &job->result,
					     .stale_count = job->stale_count,
					     .winners = &job->winners,
					     .former = &job->former,
					     .is_again = run->args->again,
					     .rows = run->rows.rows + first_row,
					     .row_count = run->rows.count - first_row };

	cli_json_add(run->sweeps, cli_sweep_json(&done, &run->json_failed), &run->json_failed);
}

/* What is told while a sweep goes on, and looked at. */
struct attending {
	struct cli_sweeping *run;
	struct cli_progress line;
	struct cli_disturbance disturbance;
};

static void attend(void *ctx, const struct tcb_progress *now)
{
	struct attending *attending = ctx;

	cli_disturbance_look(&attending->disturbance, &attending->line);
	cli_progress_show(&attending->line, now);
}

/* For tcb_sweep_options.await_quiet; what others do meanwhile disturbs nothing. */
static double await_quiet(void *ctx)
{
	struct attending *attending = ctx;
	struct tcb_load before;

	if (!(attending->run->quiet.left_s > 0))
		return 0;
	tcb_load_look(&before);
	cli_progress_end(&attending->line);
	const double waited_s = cli_quiet_wait(&attending->run->quiet, &attending->run->place);
	cli_disturbance_leave_out(&attending->disturbance, &before);
	return waited_s;
}

static void fill_options(const struct cli_sweeping *run, struct attending *attending, struct tcb_sweep_options *out)
{
	const struct cli_sweep_args *args = run->args;

	*out = (struct tcb_sweep_options){
		.strategy = run->limits.strategy,
		.budget_s = run->limits.budget_s,
		.until_stable = run->limits.until_stable,
		.target_ratio = isinf(args->target_ratio) ? 0 : args->target_ratio,
		.max_trials = args->max_trials,
		.seed = args->seed + (uint64_t)args->again,
		.any_size = args->any_size,
		.shard = run->shard,
		.finals_only = args->finals_only,
		.model_starts = args->starts >> 1,
		.others = run->others,
		.other_count = run->other_count,
		.states = 1u << TCB_COLD | 1u << TCB_HOT,
		.rotation_bytes = args->rotation,
		.timeout_s = args->timeout_s,
		.finalists = run->limits.finalists,
		.counters = (enum tcb_counters_mode)args->counters,
		.objective = (enum tcb_objective)args->objective,
		.require = run->require.expression ? &run->require.require : NULL,
		.stop = &cli_stop_asked,
		.progress = attend,
		.progress_ctx = attending,
		.await_quiet = await_quiet,
		.await_ctx = attending,
	};
}

/* Is the device's compute limit to be measured?  One of emitted kernels once, but for another driver, and where all is
 * asked for afresh; on a CPU it takes milliseconds, and others on the machine make it seem slower than it is. */
static enum tcb_status want_rate(struct sweep_job *job, struct tcb_sweep_options *opts, struct tcb_error *err)
{
	const struct cli_sweeping *run = job->run;
	const struct tcb_device *device = &run->place.device;
	const int is_emitted = tcb_kind_of(&device->target)->is_emitted;
	int is_known;

	job->rate.kind = tcb_compute_need(&job->problem->problem, &device->target).kind;
	if (cli_sweeping_is_modelled(run))
		return TCB_OK;
	TCB_TRY(tcb_db_rate_get(run->db, device, job->rate.kind, &job->rate, &is_known, err));
	opts->wants_compute = !is_emitted || ((!is_known || run->args->fresh) &&
					      (opts->budget_s == 0 || opts->budget_s >= COMPUTE_LEAST_S));
	return TCB_OK;
}

/* What was measured, before the winners that it is shown with. */
static enum tcb_status store_rate(struct sweep_job *job, struct tcb_error *err)
{
	if (!(job->result.compute_rate > job->rate.rate))
		return TCB_OK;
	job->rate.rate = job->result.compute_rate;
	memcpy(job->rate.method, job->result.compute_method, sizeof job->rate.method);
	return tcb_db_rate_put(job->run->db, &job->run->place.device, &job->rate, err);
}

static void begin_progress(const struct sweep_job *job, struct cli_progress *progress)
{
	char label[sizeof job->label + sizeof job->run->part];

	(void)snprintf(label, sizeof label, "%s%s", job->run->part, job->label);
	cli_progress_begin(progress, label, job->problem->op->traffic(&job->problem->problem));
	progress->later_s = job->run->later_s;
}

/* The search itself, between a begun and an ended row of the table of sweeps. */
static enum tcb_status search_and_store(struct sweep_job *job, struct tcb_error *err)
{
	struct cli_sweeping *run = job->run;
	struct attending attending = { .run = run };
	struct tcb_sweep_options opts;
	struct tcb_sink sink = { .ctx = job, .trial = store_trial, .best = store_provisional };
	size_t first_row = run->rows.count;
	enum tcb_status status, ended;

	fill_options(run, &attending, &opts);
	opts.winners = job->winners.items;
	opts.winner_count = job->winners.count;
	opts.former = job->former.asked;
	opts.spent_s = 1e-9 * (double)(tcb_clock_ns() - run->begun_ns);
	opts.first_s = run->first_s;
	TCB_TRY(want_rate(job, &opts, err));
	TCB_TRY(begin_sweep(job, &opts, err));
	begin_progress(job, &attending.line);
	cli_disturbance_begin(&attending.disturbance, &run->place);
	attending.disturbance.has_warned = run->quiet.is_busy || cli_sweeping_is_modelled(run);
	if (cli_sweeping_is_modelled(run))
		status = tcb_model_sweep(job->problem->op, &job->problem->problem, &run->place, &opts, &job->result,
					 err);
	else
		status = tcb_sweep_run(job->problem->op, &job->problem->problem, &run->place, &opts, job->trials,
				       job->known_count, &sink, &job->result, err);
	cli_progress_end(&attending.line);
	cli_disturbance_end(&attending.disturbance, &job->others_busy, &job->held_back);
	if (status == TCB_OK)
		status = store_rate(job, err);
	for (int state = 0; state < TCB_STATE_COUNT && status == TCB_OK; state++)
		if (job->result.decision[state].valid)
			status = store_best(job, &job->result.decision[state], err);
	if (status == TCB_OK && run->rows.count == first_row)
		status = no_winner(job, err);
	/* After a failure of the sweep its own line is the one to show. */
	ended = tcb_db_sweep_end(run->db, job->sweep,
				 status != TCB_OK       ? "interrupted"
				 : job->result.complete ? "complete"
							: "budget",
				 status == TCB_OK ? err : NULL);
	if (status == TCB_OK)
		status = ended;
	if (status == TCB_OK) {
		say_result(job);
		cli_effort_say_late(&run->limits, job->label, &job->result);
		cli_former_say(&job->former, job->label, &job->result);
		run->refuted += run->args->again ? cli_former_say_again(&job->former, job->label, &job->result) : 0;
	}
	cli_starts_say(job->label, &job->result, &job->winners);
	cli_cards_say(job->label, &job->result);
	if (run->sweeps && (status == TCB_OK || status == TCB_E_INTERRUPTED))
		add_json(job, first_row);
	return status;
}

static enum tcb_status check_known(const struct sweep_job *job, struct tcb_error *err)
{
	const struct cli_sweeping *run = job->run;
	const struct cli_finals finals = { .device = &run->place.device,
					   .device_text = run->args->device,
					   .problem = &job->problem->problem,
					   .rotation_bytes = run->args->rotation,
					   .db_path = run->db_path,
					   .known_count = job->known_count,
					   .allow_missing = run->args->allow_missing };

	return run->args->finals_only ? cli_finals_check(run->db, &finals, err) : TCB_OK;
}

/* The cache that cold results go beyond, before the first sweep. */
static enum tcb_status know_cache(struct cli_sweeping *run, struct tcb_error *err)
{
	const size_t rotation = run->args->rotation;

	if (run->knows_cache || cli_sweeping_is_modelled(run))
		return TCB_OK;
	run->knows_cache = 1;
	TCB_TRY(rotation ? cli_cache_recall(run->db, &run->place, NULL, err)
			 : cli_cache_know(run->db, run->limits.budget_s, &run->place, err));
	if (rotation && rotation < 2 * tcb_cache_bytes(&run->place))
		cli_say("--rotation is less than twice the last cache (%zu MiB): cold results will be partly warm",
			tcb_cache_bytes(&run->place) >> 20);
	return TCB_OK;
}

/* What won elsewhere, and what was best in results of other tuners. */
static enum tcb_status read_starts(struct sweep_job *job, struct tcb_error *err)
{
	const struct tcb_device *device = &job->run->place.device;

	TCB_TRY(cli_winners_read(job->run->db, &job->problem->problem, device, &job->winners, err));
	return cli_recorded_starts(job->run->db, &job->problem->problem, device, &job->winners, err);
}

enum tcb_status cli_sweep_problem(struct cli_sweeping *run, const struct cli_problem *problem, struct tcb_error *err)
{
	struct sweep_job job = { .run = run, .problem = problem, .others_busy = NAN, .held_back = NAN };
	enum tcb_status status;

	cli_problem_label(&problem->problem, job.label);
	cli_shard_label(&run->shard, job.label);
	if (run->args->effort == CLI_EFFORT_ESTIMATE) {
		const struct cli_query query = { run->args->ops,     run->args->db, run->place.device.name,
						 run->args->threads, TCB_COLD,      0 };
		int is_known;

		TCB_TRY(cli_estimate(&run->estimates, &query, &problem->problem, cli_sweeping_is_modelled(run),
				     &is_known, err));
		if (is_known || !cli_sweeping_is_modelled(run))
			return TCB_OK;
	}
	status = load_known(&job, err);
	if (status == TCB_OK && (run->args->starts & 1) && !cli_sweeping_is_modelled(run))
		status = read_starts(&job, err);
	if (status == TCB_OK)
		status = cli_former_load(run->db, &run->place.device, &problem->problem, &job.former, err);
	status = check_known(&job, err);
	if (status == TCB_OK)
		status = know_cache(run, err);
	if (status == TCB_OK)
		status = search_and_store(&job, err);
	cli_former_fini(&job.former);
	tcb_sweep_result_fini(&job.result);
	tcb_db_trials_free(job.trials, job.trial_count);
	cli_winners_fini(&job.winners);
	return status;
}

/* Before anything is measured in vain. */
static enum tcb_status check_meter(const struct tcb_place *place, struct tcb_error *err)
{
	struct tcb_meter meter;

	TCB_TRY(tcb_meter_open(place, &meter, err));
	tcb_meter_close(&meter);
	return TCB_OK;
}

enum tcb_status cli_sweeping_open(struct cli_sweeping *run, struct tcb_error *err)
{
	const struct cli_sweep_args *args = run->args;

	TCB_TRY(cli_open_device(args->device, args->threads, &run->place, err));
	TCB_TRY(tcb_place_open_others(args->device, &run->others, &run->other_count, err));
	if ((args->measured_only || args->finals_only) && cli_sweeping_is_modelled(run))
		TCB_TRY(tcb_place_open(args->device, (unsigned)args->threads, 1, &run->place, err));
	TCB_TRY(cli_require_check(&run->require, &run->place, cli_sweeping_is_modelled(run), err));
	return args->objective ? check_meter(&run->place, err) : TCB_OK;
}

void cli_sweeping_close(struct cli_sweeping *run)
{
	json_decref(run->sweeps);
	cli_require_fini(&run->require);
	cli_best_rows_fini(&run->rows);
	free(run->estimates.items);
	free(run->others);
	cli_close_db(run->db);
}
