/* SPDX-License-Identifier: MIT
 *
 * In: a problem and a GPU's specification.  Out: decisions as of a sweep, by the
 * model.  A strategy proposes candidates as it does in a sweep; the processors
 * emit and simulate them in parallel; the best of each cache state are then
 * assembled and simulated again with the registers that they really have.
 */
#include "search/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "kernels/defaults/learned.h"
#include "kernels/signature.h"
#include "search/strategy.h"

enum {
	BATCH = 128,    /* candidates between two looks at the clock */
	ASSEMBLED = 48, /* of each cache state */
	FINALISTS = 12,
	TIES_MOST = 64,
	REASONS = 16,        /* different ones of failures, that are counted */
	ASSEMBLED_BATCH = 16 /* assembled between two looks at the clock */
};
/* Of a budget: what assembling a sample may take, and the most that is kept for assembling the best. */
static const double SAMPLE_PART = 0.2, BEST_PART = 0.3;
static const double LAST_PART = 0.05; /* for what is under way when the time is over */
/* The model's usual error in the order of good candidates: docs/model.md. */
static const double MODEL_ERROR = 0.08;
static const double PROGRESS_EVERY_S = 0.25;

struct modelling {
	struct tcb_model model;
	const struct tcb_sweep_options *options;
	struct tcb_space *space;
	struct tcb_pool *pool;
	double *ns[TCB_STATE_COUNT]; /* [space index]; NaN: not modelled, or not possible */
	unsigned char *is_tried;
	size_t batch[BATCH], batch_count;
	unsigned registers[BATCH];
	struct tcb_error why[BATCH]; /* of those that cannot be modelled */
	struct reason {
		char text[sizeof(((struct tcb_error *)0)->message)];
		size_t count;
	} reasons[REASONS];
	struct tcb_lattice lattice;
	const struct tcb_place *place;
	struct tcb_strategy strategy;
	void *strategist;
	struct tcb_progress progress;
	struct tcb_sweep_result *out;
	double start_s, next_progress_s;
	double model_until_s, until_s; /* by the budget; infinite without one */
	int is_estimated;              /* there was no time to assemble any */
	double stop_s;                 /* what is not begun until then is left out */
};

static double now_s(void)
{
	return 1e-9 * (double)tcb_clock_ns();
}

/* --- a batch --- */

static int models(const struct modelling *m, int state)
{
	return m->options->states >> state & 1u;
}

static void model_one(void *ctx, size_t task, unsigned thread)
{
	struct modelling *m = ctx;
	const size_t index = m->batch[task];
	(void)thread;
	double ns[TCB_STATE_COUNT];
	if (now_s() >= m->stop_s)
		return;
	m->why[task].message[0] = '\0';
	(void)tcb_model_time(&m->model, &m->space->geometries[index], m->registers[task], ns, &m->why[task]);
	for (int s = 0; s < TCB_STATE_COUNT; s++)
		m->ns[s][index] = ns[s];
	m->is_tried[index] = 1;
}

static void model_batch(struct modelling *m)
{
	tcb_pool_run(m->pool, tcb_pool_threads(m->pool), TCB_SCHED_DYNAMIC, m->batch_count, model_one, m);
}

static void show_progress(struct modelling *m, const char *phase, int now)
{
	const double time = now_s();
	if (!m->options->progress || (!now && time < m->next_progress_s))
		return;
	m->next_progress_s = time + PROGRESS_EVERY_S;
	m->progress.phase = phase;
	m->progress.elapsed_s = time - m->start_s;
	m->progress.left_s = m->progress.done ? m->progress.elapsed_s / (double)m->progress.done *
							(double)(m->progress.total - m->progress.done)
					      : -1;
	m->options->progress(m->options->progress_ctx, &m->progress);
}

/* Counts WHY among the reasons of failures; the most frequent one is the sweep's. */
static void count_failure(struct modelling *m, const char *why)
{
	struct reason *reason = m->reasons;
	while (reason < m->reasons + REASONS - 1 && reason->count && strcmp(reason->text, why) != 0)
		reason++;
	if (!reason->count)
		snprintf(reason->text, sizeof reason->text, "%s", why);
	if (++reason->count <= m->out->failure_count)
		return;
	m->out->failure_count = reason->count;
	snprintf(m->out->failure, sizeof m->out->failure, "%.159s", reason->text);
}

static void tell(struct modelling *m, size_t task)
{
	const size_t index = m->batch[task];
	struct tcb_told told = { .outcome = TCB_OUTCOME_OK, .seconds = NAN };
	for (int s = 0; s < TCB_STATE_COUNT; s++) {
		const double ns = models(m, s) ? m->ns[s][index] : NAN;
		const double default_ns = models(m, s) ? m->ns[s][m->space->default_index] : NAN;
		told.cost[s] = isnan(default_ns) ? ns : ns / default_ns;
		if (!models(m, s))
			continue;
		if (isnan(ns)) {
			told.outcome = TCB_OUTCOME_LAUNCH_FAILED;
			told.cost[s] = INFINITY;
		} else if (!m->progress.best[s] || ns < m->progress.best_ns[s]) {
			m->progress.best[s] = &m->space->geometries[index];
			m->progress.best_ns[s] = ns;
		}
	}
	m->out->tried++;
	m->out->failed += told.outcome != TCB_OUTCOME_OK;
	if (told.outcome != TCB_OUTCOME_OK)
		count_failure(m, m->why[task].message);
	m->progress.done++;
	m->progress.failed = m->out->failed;
	m->strategy.tell(m->strategist, index, &told);
}

/* What reading the operands takes at least. */
static double limit_ns(const struct modelling *m, int state)
{
	const double bytes = m->model.op->traffic(m->model.problem);
	const int is_cached = state == TCB_HOT && bytes <= (double)m->model.machine.cache_bytes;
	return 1e9 * bytes / (is_cached ? m->model.machine.cache_bytes_s : m->model.read_bytes_s);
}

/* Is the best so far as near to the limit as asked for? */
static int is_at_target(struct modelling *m)
{
	int is_near = m->options->target_ratio > 0;
	for (int s = 0; s < TCB_STATE_COUNT; s++) {
		if (!models(m, s) || !m->progress.best[s])
			continue;
		m->out->of_limit[s] = m->progress.best_ns[s] / limit_ns(m, s);
		is_near &= m->out->of_limit[s] <= m->options->target_ratio;
	}
	return is_near && m->out->tried > m->out->failed;
}

/* --- the space --- */

static double spent(const struct modelling *m)
{
	double share = 0;
	if (m->options->budget_s > 0)
		share = (now_s() - m->start_s) / (m->model_until_s - m->start_s);
	if (m->options->max_trials)
		share = fmax(share, (double)m->out->tried / (double)m->options->max_trials);
	return share;
}

/* Candidates that the time left is enough for; at least one a processor. */
static size_t batch_size(const struct modelling *m, double modelling_since_s)
{
	const double now = now_s(), each = (now - modelling_since_s) / (double)(m->out->tried ? m->out->tried : 1);
	const double fitting = (m->model_until_s - now) / each;
	const size_t least = tcb_pool_threads(m->pool);
	size_t most = fitting < (double)least ? least : fitting < BATCH ? (size_t)fitting : BATCH;
	if (m->options->max_trials && m->options->max_trials < m->out->tried + most)
		most = m->options->max_trials - m->out->tried;
	return most < BATCH ? most : BATCH;
}

/* The default, and what is predicted to be the fastest by what was learned of other problems. */
static void begin_batch(struct modelling *m)
{
	size_t best[TCB_STARTS_LEARNED];
	const size_t most =
		m->options->model_starts && (!m->options->max_trials || m->options->max_trials > TCB_STARTS_LEARNED)
			? TCB_STARTS_LEARNED
			: 0;
	const size_t found = tcb_learned_fastest(m->model.problem, m->model.target, m->space->geometries,
						 m->space->count, most, best);
	m->batch[0] = m->space->default_index;
	m->batch_count = 1;
	for (size_t i = 0; i < found; i++) {
		if (best[i] == m->space->default_index)
			continue;
		m->out->starts[m->out->start_count++] =
			(struct tcb_sweep_start){ .geometry = m->space->geometries[best[i]], .is_learned = 1 };
		m->batch[m->batch_count++] = best[i];
	}
}

static enum tcb_status model_space(struct modelling *m, struct tcb_error *err)
{
	const double since = now_s();
	begin_batch(m);
	m->stop_s = INFINITY;
	for (;;) {
		model_batch(m);
		m->stop_s = m->model_until_s;
		for (size_t i = 0; i < m->batch_count; i++) {
			if (!m->is_tried[m->batch[i]])
				continue;
			tell(m, i);
			for (int s = 0; s < TCB_STATE_COUNT; s++)
				if (models(m, s) && m->batch[i] == m->space->default_index &&
				    !isnan(m->ns[s][m->batch[i]]))
					m->progress.default_ns[s] = m->ns[s][m->batch[i]];
		}
		show_progress(m, "model", 0);
		if (m->options->stop && *m->options->stop)
			return tcb_fail(err, TCB_E_INTERRUPTED, "interrupted");
		if (is_at_target(m))
			break;
		const size_t most = batch_size(m, since);
		m->batch_count = 0;
		while (m->batch_count < most && spent(m) < 1) {
			const size_t index = m->strategy.ask(m->strategist, spent(m));
			if (index == TCB_ASK_NONE) {
				TCB_TRY(tcb_strategy_failed(&m->strategy, m->strategist, err));
				break;
			}
			m->batch[m->batch_count++] = index;
		}
		if (!m->batch_count)
			break;
	}
	m->out->complete = m->out->tried == m->space->count;
	m->out->ended = m->out->complete ? TCB_ENDED_COMPLETE : is_at_target(m) ? TCB_ENDED_TARGET : TCB_ENDED_BUDGET;
	return TCB_OK;
}

/* --- the best --- */

/* Indices of the at most COUNT best of STATE, the best first; returns how many. */
static size_t best_of(const struct modelling *m, int state, size_t *out, size_t count)
{
	size_t found = 0;
	for (size_t i = 0; i < m->space->count; i++) {
		const double ns = m->is_tried[i] ? m->ns[state][i] : NAN;
		if (isnan(ns) || (found == count && !(ns < m->ns[state][out[found - 1]])))
			continue;
		size_t at = found < count ? found++ : found - 1;
		for (; at > 0 && ns < m->ns[state][out[at - 1]]; at--)
			out[at] = out[at - 1];
		out[at] = i;
	}
	return found;
}

static void fail_candidate(struct modelling *m, size_t index, const char *why)
{
	for (int s = 0; s < TCB_STATE_COUNT; s++)
		if (models(m, s))
			m->ns[s][index] = NAN;
	m->out->failed++;
	count_failure(m, why);
}

/* Is there a candidate in each cache state that was assembled and modelled? */
static int has_all_states(const struct modelling *m)
{
	size_t best;
	for (int s = 0; s < TCB_STATE_COUNT; s++)
		if (models(m, s) && !best_of(m, s, &best, 1))
			return 0;
	return 1;
}

/* Assembles CANDIDATES and models them again by what the assembler says of them, as long as there is time. */
static enum tcb_status assemble(struct modelling *m, struct tcb_codes *codes, const size_t *candidates, size_t count,
				struct tcb_error *err)
{
	const double start_s = now_s();
	for (size_t next = 0, wanted = 0; next < count; next += ASSEMBLED_BATCH) {
		m->batch_count = 0;
		for (size_t i = next; i < count && i < next + ASSEMBLED_BATCH; i++) {
			/* Whatever is under way then is waited for: as long as one takes from begin to end. */
			const double one_s =
				i ? (now_s() - start_s) / (double)i * (double)tcb_pool_threads(m->pool) : 0;
			if (now_s() + one_s >= m->until_s)
				break;
			const uint64_t end_ns = isfinite(m->until_s) ? (uint64_t)(1e9 * m->until_s) : INT64_MAX;
			const struct tcb_code *code;
			int is_there;
			for (; wanted < count && wanted < i + tcb_codes_ahead(codes) &&
			       (wanted == i || now_s() < m->until_s);
			     wanted++)
				TCB_TRY(tcb_codes_want(codes, &m->space->geometries[candidates[wanted]], err));
			TCB_TRY(tcb_codes_wait(codes, &m->space->geometries[candidates[i]], end_ns, &is_there, err));
			if (!is_there)
				break;
			TCB_TRY(tcb_codes_get(codes, &m->space->geometries[candidates[i]], &code, err));
			show_progress(m, "assemble", 0);
			if (code->outcome != TCB_OUTCOME_OK) {
				fail_candidate(m, candidates[i], code->message);
				continue;
			}
			m->registers[m->batch_count] = code->resources.registers;
			m->batch[m->batch_count++] = candidates[i];
			if (m->options->stop && *m->options->stop)
				return tcb_fail(err, TCB_E_INTERRUPTED, "interrupted");
		}
		m->stop_s = isfinite(m->until_s) && has_all_states(m) ? m->start_s + m->options->budget_s : INFINITY;
		model_batch(m);
	}
	return TCB_OK;
}

static void add_candidate(size_t *candidates, size_t *count, size_t index)
{
	for (size_t i = 0; i < *count; i++)
		if (candidates[i] == index)
			return;
	candidates[(*count)++] = index;
}

/* The default, then the best of all states in turn: what there is no time for are the least of each.  Where there is no
 * time for any, the estimated registers stand. */
static enum tcb_status assemble_best(struct modelling *m, struct tcb_codes *codes, struct tcb_error *err)
{
	size_t candidates[TCB_STATE_COUNT * ASSEMBLED + 1], count = 0;
	size_t best[TCB_STATE_COUNT][ASSEMBLED], found[TCB_STATE_COUNT];
	for (int s = 0; s < TCB_STATE_COUNT; s++)
		found[s] = models(m, s) ? best_of(m, s, best[s], ASSEMBLED) : 0;
	if (m->is_tried[m->space->default_index])
		add_candidate(candidates, &count, m->space->default_index);
	for (size_t i = 0; i < ASSEMBLED; i++)
		for (int s = 0; s < TCB_STATE_COUNT; s++)
			if (i < found[s])
				add_candidate(candidates, &count, best[s][i]);
	unsigned char *modelled = malloc(m->space->count);
	if (!modelled)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu candidates", m->space->count);
	memcpy(modelled, m->is_tried, m->space->count);
	memset(m->is_tried, 0, m->space->count); /* from now on: assembled */
	const enum tcb_status status = assemble(m, codes, candidates, count, err);
	m->is_estimated = !has_all_states(m) && now_s() >= m->until_s;
	if (m->is_estimated)
		memcpy(m->is_tried, modelled, m->space->count);
	free(modelled);
	return status;
}

/* --- decisions --- */

static struct tcb_interval point(double value)
{
	return (struct tcb_interval){ value, value, value };
}

static enum tcb_status fill_finalist(const struct modelling *m, int state, size_t index, size_t winner,
				     struct tcb_finalist *out, struct tcb_error *err)
{
	struct tcb_packings packings = { .is_known = { 0 } };
	memset(out, 0, sizeof *out);
	out->geometry = m->space->geometries[index];
	out->ns = point(m->ns[state][index]);
	out->ratio = point(m->ns[state][index] / m->ns[state][winner]);
	out->tied = out->ratio.median <= 1 + MODEL_ERROR;
	return tcb_candidate_identify(m->model.problem, m->model.target, &out->geometry, &packings, out->variant,
				      out->signature, err);
}

static enum tcb_status judge(const struct modelling *m, int state, const char *assembler, struct tcb_error *err)
{
	struct tcb_decision *decision = &m->out->decision[state];
	size_t best[TIES_MOST];
	const size_t count = best_of(m, state, best, TIES_MOST);
	if (!count)
		return TCB_OK;
	decision->finalist_count = count < FINALISTS ? count : FINALISTS;
	decision->finalists = calloc(decision->finalist_count, sizeof *decision->finalists);
	decision->tie_set = calloc(count, sizeof *decision->tie_set);
	if (!decision->finalists || !decision->tie_set)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the model's best");
	for (size_t i = 0; i < decision->finalist_count; i++)
		TCB_TRY(fill_finalist(m, state, best[i], best[0], &decision->finalists[i], err));
	for (size_t i = 0; i < count && m->ns[state][best[i]] <= (1 + MODEL_ERROR) * m->ns[state][best[0]]; i++)
		decision->tie_set[decision->tie_count++] = m->space->geometries[best[i]];
	TCB_TRY(fill_finalist(m, state, m->space->default_index, best[0], &decision->fallback, err));
	decision->speedup = point(decision->fallback.ns.median / decision->finalists[0].ns.median);
	decision->regret = decision->flip_probability = decision->expected_gain = NAN;
	decision->limit_ns = point(limit_ns(m, state));
	snprintf(decision->limit_method, sizeof decision->limit_method, "nominal bandwidth; model with %.32s",
		 m->is_estimated || strstr(assembler, "driver") ? "estimated registers" : assembler);
	decision->valid = 1;
	return TCB_OK;
}

/* --- the whole --- */

static enum tcb_status prepare(struct modelling *m, struct tcb_error *err)
{
	TCB_TRY(tcb_space_create(m->model.op, m->model.problem, m->model.target, m->options->any_size, &m->space, err));
	tcb_shard_narrow(&m->options->shard, m->space);
	m->out->space_count = m->progress.total = m->space->count;
	m->is_tried = calloc(m->space->count, 1);
	for (int s = 0; s < TCB_STATE_COUNT; s++)
		m->ns[s] = calloc(m->space->count, sizeof *m->ns[s]);
	if (!m->is_tried || !m->ns[TCB_COLD] || !m->ns[TCB_HOT])
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu candidates", m->space->count);
	TCB_TRY(tcb_lattice_of_geometries(&m->lattice, m->space->geometries, m->space->count, err));
	TCB_TRY(tcb_strategy_get(m->options->strategy, m->place, &m->strategy, err));
	const struct tcb_named_space named = tcb_named_geometries(m->space->geometries, m->space->count);
	/* Its own order would be found by what is to be done here: without it, they come at random. */
	const struct tcb_strategy_setup setup = {
		.lattice = &m->lattice,
		.named = &named,
		.program = m->strategy.program,
		.answer_s = m->options->timeout_s,
		.start = m->space->default_index,
		.states = m->options->states,
		.seed = m->options->seed,
		.problem = m->model.problem,
		.space = m->space,
	};
	TCB_TRY(m->strategy.create(&setup, &m->strategist, err));
	return tcb_pool_create(tcb_model_processors(), NULL, &m->pool, err);
}

/* What is left for the space when the best are assembled at the pace of the sample, which took SECONDS. */
static void divide_budget(struct modelling *m, double seconds)
{
	const double budget = m->options->budget_s;
	const double kept = fmin(BEST_PART * budget, BEST_PART / SAMPLE_PART * seconds);
	m->until_s = budget > 0 ? m->start_s + (1 - LAST_PART) * budget : INFINITY;
	m->model_until_s = m->until_s - (budget > 0 ? kept : 0);
}

static enum tcb_status run(struct modelling *m, struct tcb_error *err)
{
	const size_t trials = m->options->max_trials ? m->options->max_trials : m->space->count;
	const double sample_s = SAMPLE_PART * m->options->budget_s, before_s = now_s();
	struct tcb_codes *codes = NULL;
	TCB_TRY(tcb_model_codes(&m->model, &codes, err));
	enum tcb_status status =
		tcb_model_calibrate(&m->model, &codes, m->space, trials, m->options->seed, sample_s, err);
	divide_budget(m, now_s() - before_s);
	if (status == TCB_OK)
		status = model_space(m, err);
	if (status == TCB_OK)
		status = assemble_best(m, codes, err);
	for (int s = 0; s < TCB_STATE_COUNT && status == TCB_OK; s++)
		if (models(m, s))
			status = judge(m, s, tcb_codes_assembler(codes), err);
	tcb_codes_destroy(codes);
	return status;
}

enum tcb_status tcb_model_sweep(const struct tcb_op *op, const struct tcb_problem *problem,
				const struct tcb_place *place, const struct tcb_sweep_options *options,
				struct tcb_sweep_result *out, struct tcb_error *err)
{
	struct modelling *m = calloc(1, sizeof *m);
	*out = (struct tcb_sweep_result){ .expected_gain = NAN, .of_limit = { NAN, NAN } };
	for (int s = 0; s < TCB_STATE_COUNT; s++)
		out->decision[s].state = (enum tcb_state)s;
	if (!m)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a model");
	m->options = options;
	m->place = place;
	m->out = out;
	m->start_s = now_s() - options->spent_s;
	m->progress.expected_gain = NAN;
	enum tcb_status status = tcb_model_init(&m->model, op, problem, place, err);
	if (status == TCB_OK)
		status = prepare(m, err);
	if (status == TCB_OK)
		status = run(m, err);
	if (m->strategist)
		m->strategy.destroy(m->strategist);
	out->took_s = now_s() - m->start_s;
	tcb_lattice_fini(&m->lattice);
	tcb_pool_destroy(m->pool);
	for (int s = 0; s < TCB_STATE_COUNT; s++)
		free(m->ns[s]);
	free(m->is_tried);
	tcb_space_destroy(m->space);
	free(m);
	return status;
}
