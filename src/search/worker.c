/* SPDX-License-Identifier: MIT
 *
 * The worker process: owns the buffers, the thread pool and the reference, and
 * runs what may crash.  In: requests; out: replies, and the shared page that
 * says what is going on.  It has no terminal, no database and no files.
 */
#include "search/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "search/channel.h"
#include "search/fault.h"
#include "search/measure.h"
#include "search/stats.h"
#include "search/verify.h"

/*
 * Calls before a hot sample among other candidates.  Caches learn: on an Emerald Rapids the second call on 9 MiB takes
 * 237 us, and from the third on 158 with a static schedule; with a dynamic one, whose rows change cores, 217, 185, 167,
 * and 162 from the fifth on.
 */
enum { HOT_CALLS = 4 };

struct worker {
	int fd;
	const struct tcb_worker_config *config;
	struct tcb_pool *pool;
	struct tcb_instance *instance;
	struct tcb_verifier *verifier;
	struct tcb_rotation *rotation;
	/* PREPARE .. ROUND */
	struct tcb_runner *runners;
	size_t runner_count;
	struct tcb_bandwidth *limit[TCB_STATE_COUNT];
	struct tcb_bandwidth *limit_used; /* NULL: not asked for */
	double *times;
	enum tcb_state state;
	/*
	 * Each hot sample is taken on the next copy.  On one buffer for all, a candidate's time depends on who used
	 * the buffer before it and in which order (what is left in L2): candidates of the layout with most finalists
	 * gained 8 %, and ratios moved by 2 % from run to run.
	 */
	size_t hot_turn;
};

static enum tcb_status start_pool(struct worker *worker, struct tcb_error *err)
{
	const struct tcb_cpu *cpu = worker->config->cpu;
	return tcb_pool_create(cpu->cpu_count, cpu->cpus, &worker->pool, err);
}

static enum tcb_status set_up(struct worker *worker, struct tcb_error *err)
{
	const struct tcb_worker_config *config = worker->config;
	tcb_watch_phase(config->watch, 0, "starting the worker");
	TCB_TRY(start_pool(worker, err));
	tcb_watch_phase(config->watch, 0, "filling the operands");
	TCB_TRY(tcb_instance_create(config->op, &config->problem, config->seed, &worker->instance, err));
	TCB_TRY(tcb_verifier_create(worker->instance, config->seed, worker->pool, config->watch, &worker->verifier,
				    err));
	return tcb_rotation_create(worker->instance, worker->pool, config->rotation_bytes,
				   config->cpu->device.target.llc_bytes, 0, &worker->rotation, err);
}

/* ---- TRY ---- */

/* Plans GEOMETRY at full size and packs its weights unless they are there.  E_ILLEGAL if the op refuses. */
static enum tcb_status ready_plan(struct worker *worker, const struct tcb_geometry *geometry, struct tcb_plan *plan,
				  struct tcb_error *err)
{
	memset(plan, 0, sizeof(*plan));
	TCB_TRY(worker->config->op->plan(&worker->config->problem, geometry, plan, err));
	if (plan->threads > tcb_pool_threads(worker->pool))
		return tcb_fail(err, TCB_E_ILLEGAL, "the geometry needs %u threads, the device gives %u", plan->threads,
				tcb_pool_threads(worker->pool));
	int is_packed;
	TCB_TRY(tcb_instance_pack_prepare(worker->instance, plan, &is_packed, err));
	if (is_packed)
		return TCB_OK;
	tcb_watch_phase(worker->config->watch, 1, "packing the weights");
	return tcb_instance_pack(worker->instance, plan, err);
}

/* Times one state; SAMPLES has room for rule->samples_max more. */
static enum tcb_status measure_state(struct worker *worker, const struct tcb_plan *plan, enum tcb_state state,
				     const struct tcb_screen_rule *rule, double *samples, struct tcb_trial_reply *reply,
				     struct tcb_error *err)
{
	struct tcb_watch *watch = worker->config->watch;
	struct tcb_runner runner;
	int dropped;
	tcb_watch_phase(watch, 0, "copying the operands to measure on");
	enum tcb_status status =
		tcb_runner_init(&runner, worker->config->op, plan, worker->pool, worker->rotation, state, err);
	if (status == TCB_OK) {
		runner.hot_copy = worker->hot_turn++;
		tcb_watch_phase(watch, 1, "measuring %s", tcb_state_text(state));
		size_t count = tcb_measure(&runner, rule, samples, &dropped);
		reply->measurements[reply->measurement_count].state = state;
		reply->measurements[reply->measurement_count].sample_count = count;
		reply->measurements[reply->measurement_count].dropped_early = (uint32_t)dropped;
		reply->measurement_count++;
		/* What was timed must also be right: other memory than the verification's, other threads' caches. */
		const float *got = tcb_runner_check_call(&runner, worker->instance->output);
		tcb_watch_phase(watch, 0, "comparing the output after measuring");
		struct tcb_check check = { .outcome = TCB_OUTCOME_OK, .error_ratio = reply->error_ratio };
		status = tcb_judge_bound(worker->instance, plan, got, worker->pool, "in the timed runs", &check, err);
		if (check.outcome != TCB_OUTCOME_OK) {
			reply->outcome = check.outcome;
			snprintf(reply->message, sizeof(reply->message), "%s", check.message);
		}
		if (reply->class_checked != TCB_CLASS_EXACT || check.outcome != TCB_OUTCOME_OK)
			reply->error_ratio = check.error_ratio;
	}
	tcb_runner_fini(&runner);
	return status;
}

static enum tcb_status try_candidate(struct worker *worker, const struct tcb_try_request *request,
				     struct tcb_trial_reply *reply, double *samples, struct tcb_error *err)
{
	struct tcb_check check;
	TCB_TRY(tcb_verifier_check(worker->verifier, &request->geometry, &check, err));
	reply->outcome = check.outcome;
	reply->class_checked = check.class_checked;
	reply->error_ratio = check.error_ratio;
	reply->damaged = (uint32_t)check.damaged;
	memcpy(reply->message, check.message, sizeof(reply->message));
	if (check.outcome != TCB_OUTCOME_OK)
		return TCB_OK;

	struct tcb_plan plan;
	TCB_TRY(ready_plan(worker, &request->geometry, &plan, err));
	if (plan.packed_bytes > 0)
		reply->pack_ns = worker->instance->packed[plan.variant->layout].pack_ns;
	size_t used = 0;
	for (int state = 0; state < TCB_STATE_COUNT && reply->outcome == TCB_OUTCOME_OK; state++) {
		if (!(worker->config->states >> state & 1u))
			continue;
		TCB_TRY(measure_state(worker, &plan, (enum tcb_state)state, &request->rule, samples + used, reply,
				      err));
		used += reply->measurements[reply->measurement_count - 1].sample_count;
	}
	return TCB_OK;
}

static enum tcb_status serve_try(struct worker *worker, const struct tcb_message *message, struct tcb_error *err)
{
	const struct tcb_try_request *request = message->payload;
	size_t room = request->rule.samples_max * TCB_STATE_COUNT;
	struct tcb_trial_reply *reply = calloc(1, sizeof(*reply) + room * sizeof(double));
	if (!reply)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu samples", room);
	double *samples = (double *)(void *)(reply + 1);
	enum tcb_status status = try_candidate(worker, request, reply, samples, err);
	if (status == TCB_OK) {
		size_t count = 0;
		for (size_t i = 0; i < reply->measurement_count; i++)
			count += reply->measurements[i].sample_count;
		if (tcb_channel_send(worker->fd, TCB_MESSAGE_TRIAL, reply, sizeof(*reply) + count * sizeof(double)) !=
		    0)
			status = tcb_fail(err, TCB_E_IO, "the tuner is gone");
	}
	free(reply);
	return status;
}

/* ---- PREPARE, ROUND ---- */

static void release_runners(struct worker *worker)
{
	for (size_t i = 0; i < worker->runner_count; i++)
		tcb_runner_fini(&worker->runners[i]);
	free(worker->runners);
	free(worker->times);
	worker->runners = NULL;
	worker->times = NULL;
	worker->runner_count = 0;
	worker->limit_used = NULL;
	tcb_rotation_reserve(worker->rotation, 1);
}

/* The read loop over as many bytes as a call of the op streams. */
static enum tcb_status ready_limit(struct worker *worker, enum tcb_state state, struct tcb_error *err)
{
	struct tcb_instance *instance = worker->instance;
	size_t bytes = 0;
	for (size_t i = 0; i < instance->operand_count; i++)
		bytes += instance->operands[i].streams ? instance->operands[i].bytes : 0;
	if (bytes == 0)
		bytes = (size_t)worker->config->op->traffic(&worker->config->problem);
	tcb_watch_phase(worker->config->watch, 0, "measuring the read limit");
	if (!worker->limit[state])
		TCB_TRY(tcb_bandwidth_create(worker->pool, worker->config->cpu->cpu_count, bytes,
					     state == TCB_COLD ? tcb_rotation_bytes(worker->rotation) : 0,
					     &worker->limit[state], err));
	worker->limit_used = worker->limit[state];
	return TCB_OK;
}

static size_t distinct_layouts(const struct tcb_geometry *geometries, size_t count)
{
	uint32_t seen = 0;
	for (size_t i = 0; i < count; i++) {
		int32_t layout = geometries[i].knob[TCB_KNOB_LAYOUT];
		seen |= 1u << (layout == TCB_KNOB_UNSET ? TCB_LAYOUT_NATIVE : layout);
	}
	return (size_t)__builtin_popcount(seen);
}

static enum tcb_status serve_prepare(struct worker *worker, const struct tcb_message *message, struct tcb_error *err)
{
	const struct tcb_prepare_request *request = message->payload;
	struct tcb_watch *watch = worker->config->watch;
	struct tcb_prepared_reply reply;
	memset(&reply, 0, sizeof(reply));
	release_runners(worker);
	worker->state = (enum tcb_state)request->state;
	worker->runners = calloc(request->count + 1, sizeof(*worker->runners));
	worker->times = calloc(request->count + 1, sizeof(double));
	if (!worker->runners || !worker->times)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu finalists", (size_t)request->count);
	tcb_rotation_reserve(worker->rotation, distinct_layouts(request->geometries, request->count));
	for (size_t i = 0; i < request->count; i++) {
		struct tcb_plan plan;
		tcb_watch_phase(watch, 0, "preparing the finals");
		tcb_watch_subject(watch, 0, (unsigned)i);
		TCB_TRY(ready_plan(worker, &request->geometries[i], &plan, err));
		worker->runner_count = i + 1;
		tcb_watch_phase(watch, 0, "copying the operands to measure on");
		TCB_TRY(tcb_runner_init(&worker->runners[i], worker->config->op, &plan, worker->pool, worker->rotation,
					worker->state, err));
		worker->runners[i].hot_copy = worker->hot_turn++;
		tcb_watch_phase(watch, 1, "measuring %s in the finals", tcb_state_text(worker->state));
		tcb_runner_warm(&worker->runners[i]);
	}
	tcb_watch_subject(watch, 0, TCB_WATCH_NOBODY);
	if (request->with_limit) {
		TCB_TRY(ready_limit(worker, worker->state, err));
		snprintf(reply.limit_method, sizeof(reply.limit_method), "%s",
			 tcb_bandwidth_method(worker->limit_used));
	}
	if (tcb_channel_send(worker->fd, TCB_MESSAGE_PREPARED, &reply, sizeof(reply)) != 0)
		return tcb_fail(err, TCB_E_IO, "the tuner is gone");
	return TCB_OK;
}

static double time_one(struct worker *worker, uint32_t index)
{
	int is_hot = worker->state == TCB_HOT;
	if (index == TCB_ROUND_LIMIT) {
		tcb_watch_subject(worker->config->watch, 0, TCB_WATCH_NOBODY);
		for (int i = 0; is_hot && i < HOT_CALLS; i++)
			tcb_bandwidth_call(worker->limit_used);
		return tcb_bandwidth_call(worker->limit_used);
	}
	tcb_watch_subject(worker->config->watch, 1, index);
	/* Hot: what the others left in the caches goes first.  Cold: the rotation has seen to it. */
	worker->runners[index].hot_copy = worker->hot_turn++;
	for (int i = 0; is_hot && i < HOT_CALLS; i++)
		tcb_runner_call(&worker->runners[index]);
	return tcb_runner_sample(&worker->runners[index]);
}

static enum tcb_status serve_round(struct worker *worker, const struct tcb_message *message, struct tcb_error *err)
{
	const uint32_t *order = message->payload;
	size_t count = message->bytes / sizeof(*order);
	if (count > worker->runner_count + 1)
		return tcb_fail(err, TCB_E_FORMAT, "a round of %zu calls for %zu finalists", count,
				worker->runner_count);
	tcb_watch_phase(worker->config->watch, 0, "measuring %s in the finals", tcb_state_text(worker->state));
	for (size_t i = 0; i < count; i++) {
		int is_limit = order[i] == TCB_ROUND_LIMIT && worker->limit_used;
		if (!is_limit && order[i] >= worker->runner_count)
			return tcb_fail(err, TCB_E_FORMAT, "no finalist %u", order[i]);
		worker->times[i] = time_one(worker, order[i]);
	}
	tcb_watch_subject(worker->config->watch, 0, TCB_WATCH_NOBODY);
	if (tcb_channel_send(worker->fd, TCB_MESSAGE_TIMES, worker->times, count * sizeof(double)) != 0)
		return tcb_fail(err, TCB_E_IO, "the tuner is gone");
	return TCB_OK;
}

/* ---- COUNT ---- */

static void call_runner(void *ctx)
{
	tcb_runner_call(ctx);
}

/* Counters are inherited by threads made after they were opened, so the pool is made anew around them; open
 * counters would cost time at each switch between processes, so they go afterwards. */
static enum tcb_status serve_count(struct worker *worker, const struct tcb_message *message, struct tcb_error *err)
{
	enum { CAPACITY = 64 };
	const struct tcb_count_request *request = message->payload;
	enum tcb_state state = (enum tcb_state)request->state;
	struct tcb_watch *watch = worker->config->watch;
	struct tcb_counters *counters = NULL;
	struct tcb_counter *found = calloc(CAPACITY, sizeof(*found));
	struct tcb_runner runner = { .batch = 0 };
	struct tcb_pool *outer = worker->pool;
	struct tcb_plan plan;
	enum tcb_status status = found ? TCB_OK : tcb_fail(err, TCB_E_NOMEM, "out of memory for %d counters", CAPACITY);
	if (status == TCB_OK)
		status = ready_plan(worker, &request->geometry, &plan, err);
	tcb_watch_phase(watch, 0, "opening counters");
	if (status == TCB_OK)
		status = tcb_counters_open(&counters, err);
	if (status == TCB_OK)
		status = start_pool(worker, err);
	struct tcb_pool *counted = worker->pool;
	worker->pool = outer;
	if (status != TCB_OK)
		goto done;
	status = tcb_runner_init(&runner, worker->config->op, &plan, counted, worker->rotation, state, err);
	if (status == TCB_OK) {
		tcb_watch_phase(watch, 1, "counting events, %s", tcb_state_text(state));
		tcb_runner_warm(&runner);
		size_t count = tcb_counters_measure(counters, call_runner, &runner, request->calls, found, CAPACITY);
		for (size_t i = 0; i < count; i++)
			found[i].state = state;
		tcb_watch_phase(watch, 0, "sending counters");
		if (tcb_channel_send(worker->fd, TCB_MESSAGE_COUNTERS, found, count * sizeof(*found)) != 0)
			status = tcb_fail(err, TCB_E_IO, "the tuner is gone");
	}
	tcb_runner_fini(&runner);
	tcb_pool_destroy(counted);
done:
	tcb_counters_close(counters);
	free(found);
	return status;
}

/* ---- the loop ---- */

static enum tcb_status serve(struct worker *worker, const struct tcb_message *message, struct tcb_error *err)
{
	atomic_store(&worker->config->watch->ran, 0);
	tcb_watch_subject(worker->config->watch, 0, TCB_WATCH_NOBODY);
	if (message->kind != TCB_MESSAGE_ROUND && message->kind != TCB_MESSAGE_PREPARE)
		release_runners(worker);
	switch (message->kind) {
	case TCB_MESSAGE_TRY:
		return serve_try(worker, message, err);
	case TCB_MESSAGE_PREPARE:
		return serve_prepare(worker, message, err);
	case TCB_MESSAGE_ROUND:
		return serve_round(worker, message, err);
	case TCB_MESSAGE_COUNT:
		return serve_count(worker, message, err);
	default:
		return tcb_fail(err, TCB_E_FORMAT, "the worker does not know request %u", message->kind);
	}
}

static void send_error(int fd, enum tcb_status status, struct tcb_error *err)
{
	err->status = status;
	(void)tcb_channel_send(fd, TCB_MESSAGE_ERROR, err, sizeof(*err));
}

_Noreturn void tcb_worker_main(int fd, const struct tcb_worker_config *config)
{
	struct worker worker;
	struct tcb_error err;
	memset(&worker, 0, sizeof(worker));
	memset(&err, 0, sizeof(err));
	worker.fd = fd;
	worker.config = config;
	tcb_fault_install();
	enum tcb_status status = set_up(&worker, &err);
	if (status != TCB_OK) {
		send_error(fd, status, &err);
		_exit(1);
	}
	(void)tcb_channel_send(fd, TCB_MESSAGE_READY, NULL, 0);
	for (;;) {
		struct tcb_message message = { .kind = 0 };
		enum tcb_channel_state got;
		tcb_watch_phase(config->watch, 0, "waiting for the next candidate");
		while ((got = tcb_channel_receive(fd, &message)) == TCB_CHANNEL_MORE)
			tcb_channel_wait(fd, -1);
		/* The tuner is gone or makes no sense: no memory is worth tidying up, the process ends. */
		if (got != TCB_CHANNEL_DONE)
			_exit(got == TCB_CHANNEL_CLOSED ? 0 : 1);
		status = serve(&worker, &message, &err);
		if (status != TCB_OK)
			send_error(fd, status, &err);
		tcb_message_fini(&message);
	}
}
