/* SPDX-License-Identifier: MIT
 *
 * The tuner's side of evaluation.  In: geometries; out: trials and paired
 * times.  Everything that runs a candidate happens in the worker (worker.c);
 * here is what must not crash: deadlines, deaths, blame, and a new worker when
 * the old one is gone.
 */
#include "search/evaluate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/util.h"
#include "kernels/limit.h"
#include "search/channel.h"
#include "search/process.h"
#include "search/request.h"
#include "search/stats.h"
#include "search/verify.h"

enum {
	SLICE_MS = 100,            /* how often a wait looks at the stop flag and the worker's page */
	SLICE_MAX_NS = 1000000000, /* most that one look can charge: a tuner stopped by Ctrl-Z charges nobody */
	OWN_LIMIT_S = 600,         /* for the worker's own preparations, which no candidate pays for */
	MESSAGE_MAX = 256,
	COMPILE_LIMIT_S = 30,
};
static const double timeout_default_s = 20, timeout_gpu_s = 4;

struct tcb_evaluator {
	const struct tcb_op *op;
	struct tcb_problem problem;
	struct tcb_place place;
	struct tcb_sweep_options options;
	struct tcb_worker_config config;
	struct tcb_watch *watch;
	struct tcb_codes *codes;          /* of a GPU's candidates; NULL on a CPU */
	struct tcb_code_image *limits[2]; /* the GPU's read limit, plain and with dependent launch; owned */
	int limit;                        /* which of them */
	struct tcb_process process;
	size_t served; /* requests that this worker has answered */
	char limit_method[TCB_STATE_COUNT][64];
	/* what the last call lent out */
	struct tcb_trial trial;
	struct tcb_measurement measurements[TCB_STATE_COUNT];
	double *samples;
	struct tcb_counter *counters;
};

/* How a request ended. */
struct answer {
	enum { ANSWERED, DIED, TIMED_OUT } how;
	int ran; /* the candidate's own code had been running */
	unsigned subject;
	char what[MESSAGE_MAX]; /* DIED, TIMED_OUT: in words */
	struct tcb_message message;
};

/* ---- the worker and one exchange ---- */

static int is_stopped(const struct tcb_evaluator *evaluator)
{
	return evaluator->options.stop && *evaluator->options.stop;
}

static void copy_phase(const struct tcb_evaluator *evaluator, char out[TCB_WATCH_PHASE_MAX])
{
	memcpy(out, evaluator->watch->phase, TCB_WATCH_PHASE_MAX);
	out[TCB_WATCH_PHASE_MAX - 1] = '\0';
	for (char *c = out; *c; c++) {
		if (*c < ' ' || *c > '~')
			*c = '?';
	}
}

static void note_death(struct tcb_evaluator *evaluator, struct answer *answer, const char *damage)
{
	char phase[TCB_WATCH_PHASE_MAX], words[96], how[64];
	copy_phase(evaluator, phase);
	tcb_process_last_words(&evaluator->process, words, sizeof(words));
	if (damage) {
		tcb_process_retire(&evaluator->process, NULL, 0);
		snprintf(how, sizeof(how), "%s", damage);
	} else {
		tcb_process_reap(&evaluator->process, how, sizeof(how));
	}
	answer->how = DIED;
	answer->ran = atomic_load(&evaluator->watch->ran) != 0;
	answer->subject = atomic_load(&evaluator->watch->subject);
	snprintf(answer->what, sizeof(answer->what), "%s while %s%s%s", how, phase, *words ? ": " : "", words);
	tcb_message_fini(&answer->message);
}

/* Waits for the reply.  The candidate's clock runs only while its own code does; with PER_BEAT it starts anew
 * whenever the worker gets on. */
static enum tcb_status await(struct tcb_evaluator *evaluator, int per_beat, struct answer *answer,
			     struct tcb_error *err)
{
	double limit_ns = 1e9 * evaluator->options.timeout_s, spent_ns = 0, own_ns = 0;
	unsigned beat = atomic_load(&evaluator->watch->beat);
	uint64_t last = tcb_clock_ns();
	for (;;) {
		enum tcb_channel_state state = tcb_channel_receive(evaluator->process.fd, &answer->message);
		if (state == TCB_CHANNEL_DONE) {
			answer->how = ANSWERED;
			evaluator->served++;
			return TCB_OK;
		}
		if (state == TCB_CHANNEL_NOMEM)
			return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu bytes from the worker",
					answer->message.bytes);
		if (state != TCB_CHANNEL_MORE) {
			note_death(evaluator, answer,
				   state == TCB_CHANNEL_MALFORMED ? "damaged reply (stray write?)" : NULL);
			return TCB_OK;
		}
		if (is_stopped(evaluator)) {
			tcb_message_fini(&answer->message);
			tcb_process_retire(&evaluator->process, NULL, 0);
			return tcb_fail(err, TCB_E_INTERRUPTED, "interrupted; what was finished is kept");
		}
		double left_ms = (limit_ns - spent_ns) / 1e6 + 1;
		tcb_channel_wait(evaluator->process.fd, left_ms < SLICE_MS ? (int)left_ms : SLICE_MS);

		uint64_t now = tcb_clock_ns();
		double slice = now - last < SLICE_MAX_NS ? (double)(now - last) : (double)SLICE_MAX_NS;
		last = now;
		unsigned new_beat = atomic_load(&evaluator->watch->beat);
		if (new_beat != beat) {
			own_ns = 0;
			spent_ns = per_beat ? 0 : spent_ns;
		}
		beat = new_beat;
		if (atomic_load(&evaluator->watch->candidate))
			spent_ns += slice;
		else
			own_ns += slice;
		if (spent_ns < limit_ns && own_ns < 1e9 * OWN_LIMIT_S)
			continue;
		char phase[TCB_WATCH_PHASE_MAX];
		copy_phase(evaluator, phase);
		answer->how = TIMED_OUT;
		answer->ran = spent_ns >= limit_ns;
		answer->subject = atomic_load(&evaluator->watch->subject);
		snprintf(answer->what, sizeof(answer->what), "no end after %.3g s while %s",
			 answer->ran ? evaluator->options.timeout_s : (double)OWN_LIMIT_S, phase);
		tcb_message_fini(&answer->message);
		tcb_process_retire(&evaluator->process, NULL, 0);
		if (!answer->ran)
			return tcb_fail(err, TCB_E_FAILED, "the worker process hangs: %s", answer->what);
		return TCB_OK;
	}
}

/* Turns an ERROR reply into its status.  The worker goes: nobody knows what it has left half done. */
static enum tcb_status take_error(struct tcb_evaluator *evaluator, struct answer *answer, struct tcb_error *err)
{
	if (answer->how != ANSWERED || answer->message.kind != TCB_MESSAGE_ERROR)
		return TCB_OK;
	struct tcb_error error = { .status = TCB_E_FAILED };
	if (answer->message.bytes == sizeof(error))
		memcpy(&error, answer->message.payload, sizeof(error));
	error.message[sizeof(error.message) - 1] = '\0';
	if (error.status <= TCB_OK || error.status >= TCB_STATUS_COUNT)
		error.status = TCB_E_FAILED;
	tcb_message_fini(&answer->message);
	tcb_process_retire(&evaluator->process, NULL, 0);
	return tcb_fail(err, error.status, "%s", error.message);
}

static enum tcb_status start_worker(struct tcb_evaluator *evaluator, struct answer *answer, struct tcb_error *err)
{
	memset(evaluator->watch, 0, sizeof(*evaluator->watch));
	atomic_store(&evaluator->watch->subject, TCB_WATCH_NOBODY);
	TCB_TRY(tcb_process_start(&evaluator->process, &evaluator->config, err));
	TCB_TRY(await(evaluator, 0, answer, err));
	TCB_TRY(take_error(evaluator, answer, err));
	if (answer->how == ANSWERED && answer->message.kind == TCB_MESSAGE_READY)
		evaluator->served = 0;
	tcb_message_fini(&answer->message);
	return TCB_OK;
}

/* One request to a living worker and its answer, without second tries. */
static enum tcb_status exchange(struct tcb_evaluator *evaluator, enum tcb_message_kind kind, const void *payload,
				size_t bytes, enum tcb_message_kind wanted, struct answer *answer,
				struct tcb_error *err)
{
	/* A worker that died idle is found out by the reply that never comes. */
	atomic_store(&evaluator->watch->ran, 0);
	tcb_process_clear_words(&evaluator->process);
	(void)tcb_channel_send(evaluator->process.fd, kind, payload, bytes);
	TCB_TRY(await(evaluator, kind != TCB_MESSAGE_TRY, answer, err));
	TCB_TRY(take_error(evaluator, answer, err));
	if (answer->how == ANSWERED && answer->message.kind != (uint32_t)wanted) {
		tcb_message_fini(&answer->message);
		note_death(evaluator, answer, "damaged reply (stray write?)");
	}
	return TCB_OK;
}

/*
 * A request with a worker started where there is none.  A death is taken as the candidate's own only if its code ran
 * in a fresh worker: in a used one an earlier candidate may have damaged the memory, so it gets a second try.
 */
static enum tcb_status ask(struct tcb_evaluator *evaluator, enum tcb_message_kind kind, const void *payload,
			   size_t bytes, enum tcb_message_kind wanted, struct answer *answer, struct tcb_error *err)
{
	for (int attempt = 0; attempt < 2; attempt++) {
		memset(answer, 0, sizeof(*answer));
		if (is_stopped(evaluator))
			return tcb_fail(err, TCB_E_INTERRUPTED, "interrupted; what was finished is kept");
		if (evaluator->process.pid == 0) {
			TCB_TRY(start_worker(evaluator, answer, err));
			if (answer->how != ANSWERED)
				continue;
		}
		int was_fresh = evaluator->served == 0;
		TCB_TRY(exchange(evaluator, kind, payload, bytes, wanted, answer, err));
		if (answer->how != DIED || (was_fresh && answer->ran))
			return TCB_OK;
	}
	if (answer->ran)
		return TCB_OK;
	return tcb_fail(err, TCB_E_FAILED, "the worker process died before the candidate ran: %s", answer->what);
}

/* ---- requests ---- */

static enum tcb_status out_of_memory(struct tcb_error *err)
{
	return tcb_fail(err, TCB_E_NOMEM, "out of memory for a request to the worker");
}

/* The code of GEOMETRY; NULL on a CPU.  A candidate that could be compiled once can be again, unless memory is out. */
static enum tcb_status code_of(struct tcb_evaluator *evaluator, const struct tcb_geometry *geometry,
			       const struct tcb_code **out, struct tcb_error *err)
{
	*out = NULL;
	return evaluator->codes ? tcb_codes_get(evaluator->codes, geometry, out, err) : TCB_OK;
}

/* ---- create, destroy ---- */

/* A GPU's candidates are compiled here, ahead of need; so is its limit. */
static enum tcb_status start_compiling(struct tcb_evaluator *evaluator, struct tcb_error *err)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	const struct tcb_target *target = &evaluator->place.device.target;
	struct tcb_codes_setup setup = {
		.op = evaluator->op,
		.problem = &evaluator->problem,
		.target = target,
		.workers = processors > 2 ? (unsigned)processors - 1 : 2,
		.seconds_limit = COMPILE_LIMIT_S,
		.shapes_of = tcb_verify_gpu_shapes,
	};
	if (!evaluator->op->emit)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "op %s has no GPU kernels", evaluator->op->name);
	TCB_TRY(tcb_limit_image(evaluator->op, &evaluator->problem, target, 0, &evaluator->limits[0], err));
	if (target->capability >= 90)
		TCB_TRY(tcb_limit_image(evaluator->op, &evaluator->problem, target, 1, &evaluator->limits[1], err));
	return tcb_codes_create(&setup, &evaluator->codes, err);
}

enum tcb_status tcb_evaluator_create(const struct tcb_op *op, const struct tcb_problem *problem,
				     const struct tcb_place *place, const struct tcb_sweep_options *options,
				     struct tcb_evaluator **out, struct tcb_error *err)
{
	struct tcb_evaluator *evaluator = calloc(1, sizeof(*evaluator));
	if (!evaluator)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the evaluation of %s", op->name);
	evaluator->op = op;
	evaluator->problem = *problem;
	evaluator->place = *place;
	evaluator->options = *options;
	if (options->timeout_s <= 0)
		evaluator->options.timeout_s =
			place->device.target.kind == TCB_TARGET_CUDA ? timeout_gpu_s : timeout_default_s;
	void *page = mmap(NULL, sizeof(struct tcb_watch), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED) {
		free(evaluator);
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the page shared with the worker");
	}
	evaluator->watch = page;
	evaluator->config = (struct tcb_worker_config){
		.op = op,
		.problem = *problem,
		.place = &evaluator->place,
		.states = options->states,
		.rotation_bytes = options->rotation_bytes,
		.seed = options->seed,
		.watch = evaluator->watch,
	};
	struct answer answer = { .ran = 0 };
	enum tcb_status status = TCB_OK;
	if (place->device.target.kind == TCB_TARGET_CUDA)
		status = start_compiling(evaluator, err);
	if (status == TCB_OK)
		status = start_worker(evaluator, &answer, err);
	if (status == TCB_OK && answer.how != ANSWERED)
		status = tcb_fail(err, TCB_E_FAILED, "the worker process died at its start: %s", answer.what);
	if (status != TCB_OK) {
		tcb_evaluator_destroy(evaluator);
		return status;
	}
	*out = evaluator;
	return TCB_OK;
}

void tcb_evaluator_destroy(struct tcb_evaluator *evaluator)
{
	if (!evaluator)
		return;
	tcb_process_retire(&evaluator->process, NULL, 0);
	tcb_codes_destroy(evaluator->codes);
	munmap(evaluator->watch, sizeof(*evaluator->watch));
	free(evaluator->samples);
	free(evaluator->counters);
	free(evaluator->limits[0]);
	free(evaluator->limits[1]);
	free(evaluator);
}

/* ---- try ---- */

/* Copies the reply into the evaluator's trial; -1 if it makes no sense. */
static int take_trial(struct tcb_evaluator *evaluator, const struct tcb_message *message, int *damaged_out)
{
	struct tcb_trial_reply reply;
	if (message->bytes < sizeof(reply))
		return -1;
	memcpy(&reply, message->payload, sizeof(reply));
	size_t room = (message->bytes - sizeof(reply)) / sizeof(double), used = 0;
	if (reply.outcome >= TCB_OUTCOME_COUNT || reply.class_checked >= TCB_CLASS_COUNT ||
	    reply.measurement_count > TCB_STATE_COUNT)
		return -1;
	free(evaluator->samples);
	evaluator->samples = malloc(room ? room * sizeof(double) : 1);
	if (!evaluator->samples)
		return -1;
	memcpy(evaluator->samples, (const char *)message->payload + sizeof(reply), room * sizeof(double));

	struct tcb_trial *trial = &evaluator->trial;
	for (uint32_t i = 0; i < reply.measurement_count; i++) {
		size_t count = reply.measurements[i].sample_count;
		if (count > room - used || reply.measurements[i].state >= TCB_STATE_COUNT)
			return -1;
		evaluator->measurements[i] = (struct tcb_measurement){
			.state = (enum tcb_state)reply.measurements[i].state,
			.stage = TCB_STAGE_SCREEN,
			.ns = tcb_median_interval(evaluator->samples + used, count),
			.sample_count = count,
			.samples = evaluator->samples + used,
			.dropped_early = reply.measurements[i].dropped_early != 0,
		};
		used += count;
	}
	trial->outcome = (enum tcb_outcome)reply.outcome;
	reply.message[sizeof(reply.message) - 1] = '\0';
	snprintf(trial->message, sizeof(trial->message), "%s", reply.message);
	trial->class_checked = (enum tcb_class)reply.class_checked;
	trial->error_ratio = reply.error_ratio;
	trial->pack_ns = reply.pack_ns;
	trial->measurement_count = trial->outcome == TCB_OUTCOME_OK ? reply.measurement_count : 0;
	trial->measurements = evaluator->measurements;
	*damaged_out = reply.damaged != 0;
	return 0;
}

static void begin_trial(struct tcb_evaluator *evaluator, const struct tcb_geometry *geometry)
{
	struct tcb_trial *trial = &evaluator->trial;
	memset(trial, 0, sizeof(*trial));
	trial->geometry = *geometry;
	const struct tcb_variant *variant = tcb_variant_find(evaluator->op, evaluator->problem.contract, geometry);
	if (!variant)
		return;
	snprintf(trial->variant, sizeof(trial->variant), "%s", variant->name);
	snprintf(trial->signature, sizeof(trial->signature), "%s", variant->signature);
	trial->class_checked = variant->class;
}

size_t tcb_evaluator_ahead(const struct tcb_evaluator *evaluator)
{
	return evaluator->codes ? tcb_codes_ahead(evaluator->codes) : 1;
}

enum tcb_status tcb_evaluator_want(struct tcb_evaluator *evaluator, const struct tcb_geometry *geometry,
				   struct tcb_error *err)
{
	return evaluator->codes ? tcb_codes_want(evaluator->codes, geometry, err) : TCB_OK;
}

/* What compiling tells of a candidate, before it runs; its outcome. */
static enum tcb_outcome take_code(struct tcb_evaluator *evaluator, const struct tcb_code *code)
{
	struct tcb_trial *trial = &evaluator->trial;
	trial->outcome = code->outcome;
	snprintf(trial->message, sizeof(trial->message), "%s", code->message);
	return code->outcome;
}

enum tcb_status tcb_evaluator_try(struct tcb_evaluator *evaluator, const struct tcb_geometry *geometry,
				  const struct tcb_screen_rule *rule, const struct tcb_trial **out,
				  struct tcb_error *err)
{
	struct tcb_try_request head;
	const struct tcb_code *code;
	memset(&head, 0, sizeof(head));
	head.geometry = *geometry;
	head.rule = *rule;
	if (head.rule.samples_max < 1)
		head.rule.samples_max = 1;
	begin_trial(evaluator, geometry);
	struct tcb_trial *trial = &evaluator->trial;
	*out = trial;
	TCB_TRY(code_of(evaluator, geometry, &code, err));
	if (code && take_code(evaluator, code) != TCB_OUTCOME_OK)
		return TCB_OK;
	struct tcb_request request = { .data = NULL };
	tcb_request_add(&request, &head, sizeof(head));
	tcb_request_code(&request, code ? code->image : NULL);
	struct answer answer;
	enum tcb_status status = request.failed ? out_of_memory(err)
						: ask(evaluator, TCB_MESSAGE_TRY, request.data, request.bytes,
						      TCB_MESSAGE_TRIAL, &answer, err);
	free(request.data);
	TCB_TRY(status);
	if (answer.how == ANSWERED) {
		int damaged = 0;
		if (take_trial(evaluator, &answer.message, &damaged) != 0)
			note_death(evaluator, &answer, "damaged reply (stray write?)");
		else if (damaged)
			tcb_process_retire(&evaluator->process, NULL, 0);
		tcb_message_fini(&answer.message);
	}
	if (answer.how != ANSWERED) {
		trial->outcome = answer.how == DIED ? TCB_OUTCOME_CRASHED : TCB_OUTCOME_TIMEOUT;
		snprintf(trial->message, sizeof(trial->message), "%s", answer.what);
	}
	return TCB_OK;
}

/* ---- interleave ---- */

struct finals {
	const struct tcb_geometry *geometries;
	size_t count, rounds;
	enum tcb_state state;
	unsigned char *failed;
	uint32_t *alive; /* indices of those that have not failed; position = index in the worker */
	size_t alive_count;
	uint32_t *order; /* of one round, in the worker's indices */
	double *ns_out, *limit_out;
	int is_prepared;
};

/* Drops the geometry that the worker was busy with.  The worker itself to blame: an error the second time. */
static enum tcb_status blame(struct finals *finals, const struct answer *answer, int *innocent_deaths,
			     struct tcb_error *err)
{
	finals->is_prepared = 0;
	if (answer->ran && answer->subject < finals->alive_count) {
		finals->failed[finals->alive[answer->subject]] = 1;
		return TCB_OK;
	}
	if (++*innocent_deaths < 2)
		return TCB_OK;
	return tcb_fail(err, TCB_E_FAILED, "the worker process died twice in the finals: %s", answer->what);
}

static enum tcb_status prepare_finals(struct tcb_evaluator *evaluator, struct finals *finals, struct answer *answer,
				      struct tcb_error *err)
{
	finals->alive_count = 0;
	for (size_t i = 0; i < finals->count; i++) {
		if (!finals->failed[i])
			finals->alive[finals->alive_count++] = (uint32_t)i;
	}
	struct tcb_prepare_request head;
	struct tcb_request request = { .data = NULL };
	memset(&head, 0, sizeof(head));
	head.state = finals->state;
	head.with_limit = finals->limit_out != NULL;
	head.count = finals->alive_count;
	tcb_request_add(&request, &head, sizeof(head));
	for (size_t i = 0; i < finals->alive_count; i++)
		tcb_request_add(&request, &finals->geometries[finals->alive[i]], sizeof(struct tcb_geometry));
	enum tcb_status status = TCB_OK;
	for (size_t i = 0; i < finals->alive_count && status == TCB_OK; i++) {
		const struct tcb_code *code;
		status = code_of(evaluator, &finals->geometries[finals->alive[i]], &code, err);
		if (status == TCB_OK)
			tcb_request_code(&request, code ? code->image : NULL);
	}
	tcb_request_code(&request, evaluator->limits[evaluator->limit]);
	if (status == TCB_OK)
		status = request.failed ? out_of_memory(err)
					: ask(evaluator, TCB_MESSAGE_PREPARE, request.data, request.bytes,
					      TCB_MESSAGE_PREPARED, answer, err);
	free(request.data);
	if (status != TCB_OK || answer->how != ANSWERED)
		return status;
	struct tcb_prepared_reply reply;
	if (answer->message.bytes == sizeof(reply)) {
		memcpy(&reply, answer->message.payload, sizeof(reply));
		reply.limit_method[sizeof(reply.limit_method) - 1] = '\0';
		if (finals->limit_out)
			memcpy(evaluator->limit_method[finals->state], reply.limit_method, sizeof(reply.limit_method));
		finals->is_prepared = 1;
	} else {
		note_death(evaluator, answer, "damaged reply (stray write?)");
	}
	tcb_message_fini(&answer->message);
	return TCB_OK;
}

static enum tcb_status run_round(struct tcb_evaluator *evaluator, struct finals *finals, size_t round,
				 struct tcb_rng *rng, struct answer *answer, struct tcb_error *err)
{
	size_t calls = finals->alive_count;
	for (size_t i = 0; i < calls; i++)
		finals->order[i] = (uint32_t)i;
	if (finals->limit_out)
		finals->order[calls++] = TCB_ROUND_LIMIT;
	for (size_t i = calls; i > 1; i--) {
		size_t j = (size_t)tcb_rng_below(rng, i);
		uint32_t swap = finals->order[i - 1];
		finals->order[i - 1] = finals->order[j];
		finals->order[j] = swap;
	}
	memset(answer, 0, sizeof(*answer));
	TCB_TRY(exchange(evaluator, TCB_MESSAGE_ROUND, finals->order, calls * sizeof(*finals->order), TCB_MESSAGE_TIMES,
			 answer, err));
	if (answer->how != ANSWERED)
		return TCB_OK;
	if (answer->message.bytes != calls * sizeof(double)) {
		note_death(evaluator, answer, "damaged reply (stray write?)");
	} else {
		const double *times = answer->message.payload;
		for (size_t i = 0; i < calls; i++) {
			if (finals->order[i] == TCB_ROUND_LIMIT)
				finals->limit_out[round] = times[i];
			else
				finals->ns_out[finals->alive[finals->order[i]] * finals->rounds + round] = times[i];
		}
	}
	tcb_message_fini(&answer->message);
	return TCB_OK;
}

enum tcb_status tcb_evaluator_interleave(struct tcb_evaluator *evaluator, const struct tcb_geometry *geometries,
					 size_t count, enum tcb_state state, size_t rounds, uint64_t seed,
					 double *ns_out, double *limit_out, struct tcb_error *err)
{
	if (count >= TCB_ROUND_LIMIT)
		return tcb_fail(err, TCB_E_USAGE, "%zu geometries are too many to interleave; at most %d", count,
				TCB_ROUND_LIMIT - 1);
	struct finals finals = { .geometries = geometries,
				 .count = count,
				 .rounds = rounds,
				 .state = state,
				 .failed = calloc(count + 1, 1),
				 .alive = calloc(count + 1, sizeof(uint32_t)),
				 .order = calloc(count + 1, sizeof(uint32_t)),
				 .ns_out = ns_out,
				 .limit_out = limit_out };
	struct answer answer;
	enum tcb_status status = TCB_OK;
	int innocent_deaths = 0;
	struct tcb_rng rng;
	tcb_rng_init(&rng, seed);
	if (!finals.failed || !finals.alive || !finals.order)
		status = tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu finalists", count);
	for (size_t i = 0; i < count * rounds; i++)
		ns_out[i] = NAN;
	for (size_t i = 0; limit_out && i < rounds; i++)
		limit_out[i] = NAN;
	for (size_t round = 0; round < rounds && status == TCB_OK;) {
		if (!finals.is_prepared) {
			status = prepare_finals(evaluator, &finals, &answer, err);
			if (status == TCB_OK && !finals.is_prepared)
				status = blame(&finals, &answer, &innocent_deaths, err);
			continue;
		}
		if (finals.alive_count == 0 && !limit_out)
			break;
		if (is_stopped(evaluator)) {
			status = tcb_fail(err, TCB_E_INTERRUPTED, "interrupted; what was finished is kept");
			break;
		}
		status = run_round(evaluator, &finals, round, &rng, &answer, err);
		if (status == TCB_OK && answer.how == ANSWERED)
			round++;
		else if (status == TCB_OK)
			status = blame(&finals, &answer, &innocent_deaths, err);
	}
	free(finals.failed);
	free(finals.alive);
	free(finals.order);
	return status;
}

int tcb_evaluator_use_limit(struct tcb_evaluator *evaluator, int dependent)
{
	if (dependent && !evaluator->limits[1])
		return -1;
	evaluator->limit = dependent != 0;
	return 0;
}

const char *tcb_evaluator_limit_method(const struct tcb_evaluator *evaluator, enum tcb_state state)
{
	return evaluator->limit_method[state];
}

/* ---- counters ---- */

/* What the assembler says, beside what was counted. */
static enum tcb_status add_code_counters(struct tcb_evaluator *evaluator, const struct tcb_code *code,
					 enum tcb_state state, size_t *count, struct tcb_error *err)
{
	const struct tcb_ptx_resources *resources = &code->resources;
	const struct {
		const char *name;
		double value;
	} rows[] = {
		{ "registers", resources->registers },
		{ "spill_bytes", resources->spill_store_bytes + resources->spill_load_bytes },
		{ "static_shared_bytes", resources->shared_bytes },
		{ "occupancy_warps", code->occupancy.warps },
		{ "occupancy_blocks", code->occupancy.blocks },
	};
	enum { ROWS = sizeof rows / sizeof *rows };
	struct tcb_counter *grown = realloc(evaluator->counters, (*count + ROWS) * sizeof *grown);
	if (!grown)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for counters");
	evaluator->counters = grown;
	for (size_t i = 0; i < ROWS && resources->registers > 0; i++) {
		struct tcb_counter *counter = &grown[(*count)++];
		memset(counter, 0, sizeof *counter);
		snprintf(counter->name, sizeof counter->name, "%s", rows[i].name);
		snprintf(counter->source, sizeof counter->source, "assembler");
		counter->state = state;
		counter->value = rows[i].value;
	}
	return TCB_OK;
}

enum tcb_status tcb_evaluator_counters(struct tcb_evaluator *evaluator, const struct tcb_geometry *geometry,
				       enum tcb_state state, unsigned calls, const struct tcb_counter **out,
				       size_t *count_out, struct tcb_error *err)
{
	struct tcb_count_request head;
	const struct tcb_code *code;
	memset(&head, 0, sizeof(head));
	head.geometry = *geometry;
	head.state = state;
	head.calls = calls ? calls : 1;
	TCB_TRY(code_of(evaluator, geometry, &code, err));
	struct tcb_request request = { .data = NULL };
	tcb_request_add(&request, &head, sizeof(head));
	tcb_request_code(&request, code ? code->image : NULL);
	struct answer answer;
	enum tcb_status status = request.failed ? out_of_memory(err)
						: ask(evaluator, TCB_MESSAGE_COUNT, request.data, request.bytes,
						      TCB_MESSAGE_COUNTERS, &answer, err);
	free(request.data);
	TCB_TRY(status);
	if (answer.how != ANSWERED)
		return tcb_fail(err, TCB_E_FAILED, "no counters: %s", answer.what);
	free(evaluator->counters);
	evaluator->counters = answer.message.payload;
	*count_out = answer.message.bytes / sizeof(struct tcb_counter);
	if (code) {
		/* The profiler leaves hooks in the driver, and nothing is timed with them. */
		tcb_process_retire(&evaluator->process, NULL, 0);
		TCB_TRY(add_code_counters(evaluator, code, state, count_out, err));
	}
	for (size_t i = 0; i < *count_out; i++) {
		evaluator->counters[i].name[TCB_COUNTER_NAME_MAX - 1] = '\0';
		evaluator->counters[i].source[TCB_COUNTER_SOURCE_MAX - 1] = '\0';
	}
	*out = evaluator->counters;
	return TCB_OK;
}
