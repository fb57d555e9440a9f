/* SPDX-License-Identifier: MIT
 *
 * Candidates on the processors of this host.  Owns the buffers, the thread pool
 * and the reference, and runs what may crash.  It has no terminal, no database
 * and no files.
 */
#include "worker/backend.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cgroup.h"
#include "base/cpu_isas.h"
#include "base/stats.h"
#include "base/tiles.h"
#include "device/cpus.h"
#include "kernels/compute_limit.h"
#include "worker/measure.h"
#include "worker/verify.h"

enum {
	HOT_LOOPS = 4, /* of the limit, before a hot sample of it; one where no cache holds what it goes over */
	JUDGES_MAX = 64,
	LINE = 64, /* the read limit goes over whole lines */
};

/* What a good kernel takes at most, on any machine that is worth tuning for. */
static const double NS_A_FLOP = 0.05, NS_A_BYTE = 0.2;
/* A call that takes so long has not been waiting for a core alone. */
static const double CERTAINLY_LONG_NS = 50e6;
/* A call of so much of a budget that takes as many times as long as the best. */
static const double HOPELESS_SHARE = 0.02, HOPELESS = 5;
/* Of shorter calls a single one says little, and all that they cost is little. */
static const double LOOK_FROM_NS = 20e3;
/* Of a budget, for choosing the loop that a limit is measured with, and at least, unless that is too much of it. */
static const double LIMIT_SHARE = 0.02, LIMIT_LEAST_S = 0.3, LIMIT_SHARE_MOST = 0.03;
/* Of a budget, for huge pages below a set of copies. */
static const double HUGE_SHARE = 0.05;

struct cpu_worker {
	const struct tcb_worker_config *config;
	struct tcb_pool *pool;
	struct tcb_waits waits;  /* of the pool's threads */
	struct tcb_pool *judges; /* on every processor: computes references and compares outputs, never while timing */
	struct tcb_instance *instance;
	struct tcb_verifier *verifier;
	struct tcb_rotation *rotation;
	/* PREPARE .. ROUND */
	struct tcb_runner *runners;
	size_t runner_count;
	struct tcb_bandwidth *limit[TCB_STATE_COUNT];
	struct tcb_copies *borrowed; /* what the cold one reads, in its turn with the calls; NULL: it has its own */
	struct tcb_compute *compute;
	enum tcb_limit limit_used;
	int limit_loops; /* before a hot sample of the read limit */
	enum tcb_state state;
	/*
	 * Each hot sample is taken on the next copy.  On one buffer for all, a candidate's time depends on who used
	 * the buffer before it and in which order (what is left in L2): candidates of the layout with most finalists
	 * gained 8 %, and ratios moved by 2 % from run to run.
	 */
	size_t hot_turn;
	double fastest_ns; /* call of a candidate that was verified; 0: none yet */
};

static enum tcb_status start_pool(struct cpu_worker *worker, struct tcb_error *err)
{
	const struct tcb_cpus *cpus = tcb_cpus_of(worker->config->place);
	return tcb_pool_create(cpus->count, cpus->list, &worker->pool, err);
}

/* The processor of the caller, thread 0 of both pools, and all others that the process was given, as far as the control
 * groups' quota goes. */
static enum tcb_status start_judges(struct cpu_worker *worker, const cpu_set_t *given, struct tcb_error *err)
{
	const struct tcb_place *place = worker->config->place;
	struct tcb_cgroup granted;
	int cpus[JUDGES_MAX] = { tcb_cpus_of(place)->list[0] };
	unsigned count = 1;
	tcb_cgroup_read("", &granted);
	const unsigned most = granted.processors && granted.processors < JUDGES_MAX ? granted.processors : JUDGES_MAX;
	for (int cpu = 0; cpu < CPU_SETSIZE && count < most; cpu++)
		if (cpu != cpus[0] && CPU_ISSET(cpu, given))
			cpus[count++] = cpu;
	return tcb_pool_create(count, cpus, &worker->judges, err);
}

static enum tcb_status set_up(struct cpu_worker *worker, struct tcb_error *err)
{
	const struct tcb_worker_config *config = worker->config;
	cpu_set_t given;
	CPU_ZERO(&given);
	(void)sched_getaffinity(0, sizeof given, &given); /* before the pool pins this thread */
	tcb_watch_phase(config->watch, 0, "starting the worker");
	if (tcb_cpu_isas_tiled(config->place->device.target.isa_mask)) /* of the tuner's it was asked before */
		TCB_TRY(tcb_tiles_ask(err));
	TCB_TRY(start_pool(worker, err));
	tcb_waits_open(tcb_cpus_of(config->place)->list, config->place->device.target.threads,
		       &worker->waits); /* before there are others */
	TCB_TRY(start_judges(worker, &given, err));
	tcb_watch_phase(config->watch, 0, "filling the operands");
	TCB_TRY(tcb_instance_create(config->op, &config->problem, config->seed, worker->judges, &worker->instance,
				    err));
	worker->instance->draw = config->draw;
	worker->instance->shared = config->reference;
	TCB_TRY(tcb_verifier_create(worker->instance, config->seed, worker->pool, worker->judges, config->watch,
				    &worker->verifier, err));
	const struct tcb_rotation_size size = tcb_rotation_size(config->place);
	TCB_TRY(tcb_rotation_create(worker->instance, worker->pool, config->rotation_bytes, &size, 0, &worker->rotation,
				    err));
	tcb_rotation_hurry(worker->rotation, HUGE_SHARE * config->budget_s);
	return TCB_OK;
}

static enum tcb_status create(const struct tcb_worker_config *config, void **self_out, struct tcb_error *err)
{
	struct cpu_worker *worker = calloc(1, sizeof(*worker));
	if (!worker)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the worker");
	worker->config = config;
	*self_out = worker;
	return set_up(worker, err); /* a worker that cannot be set up ends with its process */
}

/* ---- TRY ---- */

/* Plans GEOMETRY at full size and packs its weights unless they are there.  E_ILLEGAL if the op refuses. */
static enum tcb_status ready_plan(struct cpu_worker *worker, const struct tcb_geometry *geometry, struct tcb_plan *plan,
				  struct tcb_error *err)
{
	memset(plan, 0, sizeof(*plan));
	TCB_TRY(tcb_plan_make(&worker->config->problem, geometry, plan, err));
	if (plan->threads > tcb_pool_threads(worker->pool))
		return tcb_fail(err, TCB_E_ILLEGAL, "the geometry needs %u threads, the device gives %u", plan->threads,
				tcb_pool_threads(worker->pool));
	int is_packed;
	TCB_TRY(tcb_instance_pack_prepare(worker->instance, plan->variant->layout, plan->packed_bytes, &is_packed,
					  err));
	if (is_packed)
		return TCB_OK;
	tcb_watch_phase(worker->config->watch, 1, "packing the weights");
	return tcb_instance_pack(worker->instance, plan->variant->layout, err);
}

static void add_measurement(struct tcb_trial_reply *reply, enum tcb_state state, size_t samples, int dropped)
{
	reply->measurements[reply->measurement_count].state = state;
	reply->measurements[reply->measurement_count].sample_count = samples;
	reply->measurements[reply->measurement_count].dropped_early = (uint32_t)dropped;
	reply->measurement_count++;
}

/* Are all calls long, since the fastest is?  On a machine that others use, short ones may all have waited for a core:
 * the problem must be large enough, too. */
static int is_long(const struct cpu_worker *worker)
{
	const struct tcb_worker_config *config = worker->config;
	const double most_ns =
		NS_A_FLOP * config->op->flops(&config->problem) + NS_A_BYTE * config->op->traffic(&config->problem);
	return worker->fastest_ns >= TCB_LONG_CALL_NS && most_ns >= TCB_LONG_CALL_NS;
}

/* Has a candidate that took CALL_NS when it was verified lost in every state? */
static int has_lost(const struct cpu_worker *worker, const struct tcb_screen_rule *rule, double call_ns)
{
	int lost = call_ns >= CERTAINLY_LONG_NS || is_long(worker);
	for (int state = 0; state < TCB_STATE_COUNT; state++)
		if (worker->config->states >> state & 1u)
			lost &= tcb_measure_has_lost(&call_ns, 1, call_ns, rule->lose_ns[state], NULL);
	return lost;
}

/*
 * Has a candidate whose plan is PLAN lost in every state by a few calls more?  CHECK is of its verification, and has
 * what the calls find.  SAMPLES gets *COUNT_OUT of them, if so.
 */
static int lost_at_a_look(struct cpu_worker *worker, const struct tcb_plan *plan, const struct tcb_screen_rule *rule,
			  struct tcb_check *check, double *samples, size_t *count_out)
{
	double calls[TCB_LOOK_CALLS] = { check->call_ns };
	const unsigned states = worker->config->states;
	enum tcb_look found = TCB_LOOK_OVER;
	size_t count = 1;
	if (calls[0] >= LOOK_FROM_NS)
		found = tcb_measure_look(calls, count, states, rule);
	while (found == TCB_LOOK_ON && check->outcome == TCB_OUTCOME_OK) {
		tcb_verifier_call(worker->verifier, plan, check);
		calls[count++] = check->call_ns;
		found = tcb_measure_look(calls, count, states, rule);
	}
	if (found != TCB_LOOK_LOST)
		return 0;
	*count_out = count - 1;
	memcpy(samples, calls + 1, (count - 1) * sizeof *samples);
	return 1;
}

/* A call that takes so long is not worth its time: 0 where there is time for everything. */
static double hopeless_ns(const struct cpu_worker *worker, const struct tcb_screen_rule *rule)
{
	double bar = 1e9 * HOPELESS_SHARE * worker->config->budget_s;
	if (bar <= 0 || !is_long(worker))
		return 0;
	for (int state = 0; state < TCB_STATE_COUNT; state++) {
		if (!(worker->config->states >> state & 1u))
			continue;
		if (rule->lose_ns[state] <= 0)
			return 0;
		bar = fmax(bar, HOPELESS * rule->lose_ns[state]);
	}
	return bar;
}

/* Times one state; SAMPLES has room for rule->samples_max more.  CALL_NS: what the call took that was verified. */
static enum tcb_status measure_state(struct cpu_worker *worker, const struct tcb_plan *plan, enum tcb_state state,
				     const struct tcb_screen_rule *rule, double call_ns, double *samples, double *lost,
				     struct tcb_trial_reply *reply, struct tcb_error *err)
{
	struct tcb_watch *watch = worker->config->watch;
	struct tcb_runner runner;
	int dropped;
	uint64_t since = tcb_clock_ns();
	tcb_watch_phase(watch, 0, "copying the operands to measure on");
	enum tcb_status status =
		tcb_runner_init(&runner, worker->config->op, plan, worker->pool, worker->rotation, state, err);
	if (status == TCB_OK) {
		void *got[TCB_OPERANDS_MAX];
		tcb_spend(&reply->prepare_ns, &since);
		runner.hot_copy = worker->hot_turn++;
		runner.warm_ns = is_long(worker) ? call_ns : 0;
		runner.waits = &worker->waits;
		runner.lost = lost;
		tcb_watch_phase(watch, 1, "measuring %s", tcb_state_text(state));
		size_t count = tcb_measure(&runner, rule, samples, &dropped, got);
		add_measurement(reply, state, count, dropped);
		/* What was timed must also be right: other memory than the verification's, other threads' caches. */
		tcb_watch_phase(watch, 0, "comparing the output after measuring");
		since = tcb_clock_ns();
		struct tcb_check check = { .outcome = TCB_OUTCOME_OK, .error_ratio = reply->error_ratio };
		status = tcb_judge_bound(worker->instance, plan, got, worker->judges, "in the timed runs", &check, err);
		reply->outcome = check.outcome;
		if (check.message[0])
			memcpy(reply->message, check.message, sizeof(reply->message));
		if (reply->class_checked != TCB_CLASS_EXACT || check.outcome != TCB_OUTCOME_OK)
			reply->error_ratio = check.error_ratio;
		tcb_spend(&reply->verify_ns, &since);
	}
	tcb_runner_fini(&runner);
	return status;
}

static enum tcb_status attempt(void *self, const struct tcb_work *work, const struct tcb_screen_rule *rule,
			       struct tcb_trial_reply *reply, double *samples, double *lost, struct tcb_error *err)
{
	struct cpu_worker *worker = self;
	struct tcb_check check;
	uint64_t since = tcb_clock_ns();
	TCB_TRY(tcb_verifier_check(worker->verifier, &work->geometry, hopeless_ns(worker, rule), &check, err));
	tcb_spend(&reply->verify_ns, &since);
	reply->outcome = check.outcome;
	reply->class_checked = check.class_checked;
	reply->error_ratio = check.error_ratio;
	reply->damaged = (uint32_t)check.damaged;
	memcpy(reply->message, check.message, sizeof(reply->message));
	if (check.outcome != TCB_OUTCOME_OK)
		return TCB_OK;

	struct tcb_plan plan;
	if (worker->fastest_ns <= 0 || check.call_ns < worker->fastest_ns)
		worker->fastest_ns = check.call_ns;
	/* Of long calls, a few copies are enough: there is no time for many of them. */
	const size_t cache = tcb_cache_bytes(worker->config->place);
	if (is_long(worker) && !worker->config->rotation_bytes && cache)
		tcb_rotation_cut(worker->rotation, 2 * cache);
	TCB_TRY(ready_plan(worker, &work->geometry, &plan, err));
	tcb_spend(&reply->prepare_ns, &since);
	reply->pack_ns = worker->instance->packed[plan.variant->layout].pack_ns;
	size_t used = 0, looks = 1;
	double told[TCB_LOOK_CALLS] = { check.call_ns };
	/* So slow that this one call is sample enough, or a few. */
	const int is_lost =
		has_lost(worker, rule, check.call_ns) || lost_at_a_look(worker, &plan, rule, &check, told, &looks);
	if (check.outcome != TCB_OUTCOME_OK) { /* it was right once */
		reply->outcome = check.outcome;
		reply->damaged = (uint32_t)check.damaged;
		memcpy(reply->message, check.message, sizeof(reply->message));
	}
	for (int state = 0; state < TCB_STATE_COUNT && reply->outcome == TCB_OUTCOME_OK; state++) {
		if (!(worker->config->states >> state & 1u))
			continue;
		if (is_lost) {
			memcpy(samples + used, told, looks * sizeof *samples);
			used += looks;
			add_measurement(reply, (enum tcb_state)state, looks, 1);
			continue;
		}
		TCB_TRY(measure_state(worker, &plan, (enum tcb_state)state, rule, check.call_ns, samples + used,
				      lost + used, reply, err));
		used += reply->measurements[reply->measurement_count - 1].sample_count;
	}
	tcb_say_drawn(worker->config, reply);
	return TCB_OK;
}

/* ---- PREPARE, ROUND ---- */

static void release(void *self)
{
	struct cpu_worker *worker = self;
	for (size_t i = 0; i < worker->runner_count; i++)
		tcb_runner_fini(&worker->runners[i]);
	free(worker->runners);
	worker->runners = NULL;
	worker->runner_count = 0;
	worker->limit_used = TCB_LIMIT_NONE;
	tcb_rotation_reserve(worker->rotation, NULL, 0, 0);
}

/* What is read cold lies in copies of the operands that are there: fresh memory is slow to get.  It takes the next copy
 * as a call would, so that neither finds in a cache what the other has read. */
static enum tcb_status ready_loop(struct cpu_worker *worker, enum tcb_state state, enum tcb_traffic kind, size_t bytes,
				  double seconds, struct tcb_error *err)
{
	const int may_borrow = state == TCB_COLD && kind == TCB_TRAFFIC_READ;
	const size_t rotation = state == TCB_COLD ? tcb_rotation_bytes(worker->rotation) : 0;
	struct tcb_copies *lent = may_borrow ? tcb_rotation_lend(worker->rotation, bytes, rotation) : NULL;
	struct tcb_bandwidth **limit = &worker->limit[state];
	const void *data = NULL;
	size_t lent_bytes = rotation;
	if (*limit && may_borrow && worker->borrowed && !lent) { /* the copies went, or became fewer */
		tcb_bandwidth_destroy(*limit);
		*limit = NULL;
	}
	if (state == TCB_COLD && (worker->borrowed || !*limit))
		worker->borrowed = lent;
	if (*limit)
		return TCB_OK;
	if (lent) { /* all copies, to choose the loop on */
		data = tcb_copies_stream(lent, 0, &lent_bytes);
		lent_bytes -= lent_bytes % ((bytes + LINE - 1) / LINE * LINE);
	}
	return tcb_bandwidth_create(worker->pool, worker->config->place->device.target.threads, kind, bytes, lent_bytes,
				    data, seconds, limit, err);
}

static double time_limit(struct cpu_worker *worker)
{
	struct tcb_bandwidth *limit = worker->limit[worker->state];
	size_t bytes;
	if (worker->state == TCB_COLD && worker->borrowed) {
		const void *copy = tcb_copies_stream(worker->borrowed, tcb_copies_next(worker->borrowed), &bytes);
		tcb_bandwidth_lend(limit, copy, bytes);
	}
	for (int i = 0; worker->state == TCB_HOT && i < worker->limit_loops; i++)
		tcb_bandwidth_call(limit);
	return tcb_bandwidth_call(limit);
}

/* The loop over as many bytes as a call of the op streams: a copy where it writes as much as it reads, or parts of
 * outputs. */
static enum tcb_status ready_limit(struct cpu_worker *worker, enum tcb_state state, struct tcb_error *err)
{
	struct tcb_instance *instance = worker->instance;
	size_t bytes = 0, written = 0;
	int is_partly = 0;
	for (size_t i = 0; i < instance->operand_count; i++) {
		const struct tcb_operand *operand = &instance->operands[i];
		size_t streamed = !operand->streams ? 0 : operand->touched ? operand->touched : operand->bytes;
		bytes += streamed;
		written += operand->role == TCB_ROLE_OUTPUT ? streamed : 0;
		is_partly |= operand->is_partly_written;
	}
	const int is_copy = written > 0 && (is_partly || written >= bytes - written);
	const enum tcb_traffic kind = is_copy ? TCB_TRAFFIC_COPY : TCB_TRAFFIC_READ;
	if (bytes == 0 || is_partly)
		bytes = (size_t)worker->config->op->traffic(&worker->config->problem);
	const size_t cache = tcb_cache_bytes(worker->config->place);
	worker->limit_loops = cache > 0 && bytes > 2 * cache ? 1 : HOT_LOOPS;
	tcb_watch_phase(worker->config->watch, 0, "measuring the limit");
	const double budget_s = worker->config->budget_s;
	const double least_s =
		LIMIT_LEAST_S < LIMIT_SHARE_MOST * budget_s ? LIMIT_LEAST_S : LIMIT_SHARE_MOST * budget_s;
	const double seconds = LIMIT_SHARE * budget_s > least_s ? LIMIT_SHARE * budget_s : least_s;
	return ready_loop(worker, state, kind, bytes, seconds, err);
}

/* As many operations as a call of the op has, in the contract's arithmetic. */
static struct tcb_compute_need need_of(const struct cpu_worker *worker)
{
	return tcb_compute_need(&worker->config->problem, &worker->config->place->device.target);
}

static enum tcb_status ready_compute(struct cpu_worker *worker, struct tcb_error *err)
{
	const struct tcb_place *place = worker->config->place;
	if (worker->compute)
		return TCB_OK;
	return tcb_compute_create(worker->pool, place->device.target.threads, place->device.target.isa_mask,
				  need_of(worker).kind, &worker->compute, err);
}

/* The runner of each of WORK, warmed up. */
static enum tcb_status ready_runners(struct cpu_worker *worker, const struct tcb_plan *plans, size_t count,
				     struct tcb_error *err)
{
	struct tcb_watch *watch = worker->config->watch;
	for (size_t i = 0; i < count; i++) {
		struct tcb_runner *runner = &worker->runners[i];
		tcb_watch_subject(watch, 0, (unsigned)i);
		worker->runner_count = i + 1;
		tcb_watch_phase(watch, 0, "copying the operands to measure on");
		TCB_TRY(tcb_runner_init(runner, worker->config->op, &plans[i], worker->pool, worker->rotation,
					worker->state, err));
		runner->hot_copy = worker->hot_turn++;
		runner->warm_ns = is_long(worker) ? worker->fastest_ns : 0;
		runner->waits = &worker->waits;
		tcb_watch_phase(watch, 1, "measuring %s in the finals", tcb_state_text(worker->state));
		tcb_runner_warm(runner);
	}
	tcb_watch_subject(watch, 0, TCB_WATCH_NOBODY);
	return TCB_OK;
}

/* Plans all of WORK before any copies are made: how many each layout needs depends on the others. */
static enum tcb_status ready_plans(struct cpu_worker *worker, const struct tcb_work *work, size_t count,
				   struct tcb_plan *plans, struct tcb_error *err)
{
	for (size_t i = 0; i < count; i++) {
		tcb_watch_phase(worker->config->watch, 0, "preparing the finals");
		tcb_watch_subject(worker->config->watch, 0, (unsigned)i);
		TCB_TRY(ready_plan(worker, &work[i].geometry, &plans[i], err));
	}
	return TCB_OK;
}

static enum tcb_status prepare(void *self, enum tcb_state state, const struct tcb_work *work, size_t count,
			       enum tcb_limit limit, char limit_method[64], struct tcb_error *err)
{
	struct cpu_worker *worker = self;
	release(worker);
	worker->state = state;
	worker->runners = calloc(count + 1, sizeof(*worker->runners));
	struct tcb_plan *plans = calloc(count + 1, sizeof(*plans));
	enum tcb_status status = worker->runners && plans
					 ? ready_plans(worker, work, count, plans, err)
					 : tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu finalists", count);
	if (status == TCB_OK) { /* a read limit goes over a set that is a rotation by itself */
		tcb_rotation_reserve(worker->rotation, plans, count, limit == TCB_LIMIT_NONE);
		status = ready_runners(worker, plans, count, err);
	}
	free(plans);
	TCB_TRY(status);
	if (limit == TCB_LIMIT_COMPUTE) {
		TCB_TRY(ready_compute(worker, err));
		snprintf(limit_method, 64, "%s", tcb_compute_method(worker->compute));
	} else if (limit != TCB_LIMIT_NONE) {
		TCB_TRY(ready_limit(worker, worker->state, err));
		snprintf(limit_method, 64, "%s", tcb_bandwidth_method(worker->limit[state]));
	}
	worker->limit_used = limit;
	return TCB_OK;
}

static enum tcb_status time_one(void *self, uint32_t index, double *ns_out, struct tcb_error *err)
{
	struct cpu_worker *worker = self;
	int is_hot = worker->state == TCB_HOT;
	if (index == TCB_ROUND_LIMIT && worker->limit_used != TCB_LIMIT_NONE) {
		tcb_watch_subject(worker->config->watch, 0, TCB_WATCH_NOBODY);
		if (worker->limit_used == TCB_LIMIT_COMPUTE) {
			*ns_out = tcb_compute_call(worker->compute, need_of(worker).operations);
			return TCB_OK;
		}
		*ns_out = time_limit(worker);
		return TCB_OK;
	}
	if (index >= worker->runner_count)
		return tcb_fail(err, TCB_E_FORMAT, "no finalist %u", index);
	tcb_watch_subject(worker->config->watch, 1, index);
	/* Hot: what the others left in the caches goes first.  Cold: the rotation has seen to it. */
	worker->runners[index].hot_copy = worker->hot_turn++;
	if (is_hot)
		tcb_runner_heat(&worker->runners[index]);
	*ns_out = tcb_runner_sample(&worker->runners[index]);
	return TCB_OK;
}

static enum tcb_status go_on(void *self, size_t *calls_out, struct tcb_error *err)
{
	struct cpu_worker *worker = self;
	(void)err;
	(void)tcb_runner_sample(&worker->runners[0]);
	*calls_out = worker->runners[0].batch;
	return TCB_OK;
}

static double look(void *self, int must)
{
	struct cpu_worker *worker = self;
	return tcb_waits_look(&worker->waits, must);
}

/* ---- COUNT ---- */

static void call_runner(void *ctx)
{
	tcb_runner_call(ctx);
}

/* Counters are inherited by threads made after they were opened, so the pool is made again around them; open
 * counters would cost time at each switch between processes, so they go afterwards. */
static enum tcb_status count_events(void *self, const struct tcb_work *work, enum tcb_state state, unsigned calls,
				    struct tcb_counter *out, size_t capacity, size_t *count_out, struct tcb_error *err)
{
	struct cpu_worker *worker = self;
	struct tcb_watch *watch = worker->config->watch;
	struct tcb_counters *counters = NULL;
	struct tcb_runner runner = { .batch = 0 };
	struct tcb_pool *outer = worker->pool;
	struct tcb_plan plan;
	TCB_TRY(ready_plan(worker, &work->geometry, &plan, err));
	tcb_watch_phase(watch, 0, "opening counters");
	TCB_TRY(tcb_counters_open(&counters, err));
	enum tcb_status status = start_pool(worker, err);
	struct tcb_pool *counted = worker->pool;
	worker->pool = outer;
	if (status != TCB_OK) {
		tcb_counters_close(counters);
		return status;
	}
	status = tcb_runner_init(&runner, worker->config->op, &plan, counted, worker->rotation, state, err);
	if (status == TCB_OK) {
		runner.warm_ns = is_long(worker) ? worker->fastest_ns : 0;
		tcb_watch_phase(watch, 1, "counting events, %s", tcb_state_text(state));
		tcb_runner_warm(&runner);
		*count_out = tcb_counters_measure(counters, call_runner, &runner, calls, out, capacity);
		for (size_t i = 0; i < *count_out; i++)
			out[i].state = state;
		tcb_watch_phase(watch, 0, "sending counters");
	}
	tcb_runner_fini(&runner);
	tcb_pool_destroy(counted);
	tcb_counters_close(counters);
	return status;
}

const struct tcb_backend tcb_backend_cpu = {
	.timeout_s = 20,
	.create = create,
	.attempt = attempt,
	.prepare = prepare,
	.time = time_one,
	.go_on = go_on,
	.look = look,
	.release = release,
	.count = count_events,
};
