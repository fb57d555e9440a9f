/* SPDX-License-Identifier: MIT
 *
 * The tuner's side of evaluation.  In: geometries; out: trials and counters.
 * Everything that runs a candidate happens in the worker (worker_main.c); what must
 * not crash is here and in exchange.c.
 */
#include "worker/evaluate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/kind.h"
#include "base/quiet.h"
#include "base/util.h"
#include "worker/backend.h"
#include "worker/exchange.h"

static enum tcb_status out_of_memory(struct tcb_error *err)
{
	return tcb_fail(err, TCB_E_NOMEM, "out of memory for a request to the worker");
}

/* ---- create, destroy ---- */

/* SHARED (nullable): the code that it will use, compiled by another evaluator. */
static enum tcb_status create(const struct tcb_op *op, const struct tcb_problem *problem, const struct tcb_place *place,
			      const struct tcb_evaluate_options *options, struct tcb_shared_code *shared,
			      struct tcb_evaluator **out, struct tcb_error *err)
{
	struct tcb_evaluator *evaluator = calloc(1, sizeof(*evaluator));
	if (!evaluator)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the evaluation of %s", op->name);
	evaluator->op = op;
	evaluator->problem = *problem;
	evaluator->place = *place;
	evaluator->options = *options;
	evaluator->limit = TCB_LIMIT_READ;
	if (options->timeout_s <= 0)
		evaluator->options.timeout_s = tcb_backends[place->device.target.kind]->timeout_s;
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
		.budget_s = options->budget_s,
		.deadline = options->deadline,
		.watch = evaluator->watch,
	};
	enum tcb_status status = tcb_draw_create(problem, options->budget_s, options->seed, &evaluator->draw, err);
	evaluator->config.draw = evaluator->draw;
	evaluator->config.reference = tcb_shared_reference_create(op, problem, evaluator->draw);
	/* Before the first thread of ours: the assembler's begin with the first candidate. */
	if (status == TCB_OK)
		status = tcb_nursery_create(&evaluator->config, &evaluator->nursery, err);
	if (status == TCB_OK)
		status = tcb_op_require(op, &place->device.target, err);
	if (status == TCB_OK)
		status = tcb_evaluator_begin(evaluator, err);
	if (status == TCB_OK && shared) {
		tcb_shared_code_use(shared);
		evaluator->code = shared;
	} else if (status == TCB_OK && tcb_kind_of(&place->device.target)->is_emitted) {
		status = tcb_shared_code_create(problem, &place->device.target, options->require != NULL,
						&evaluator->code, err);
	} else if (status == TCB_OK) {
		status = tcb_ahead_create(problem, place, evaluator->options.timeout_s, &evaluator->ahead, err);
	}
	if (status != TCB_OK) {
		tcb_evaluator_destroy(evaluator);
		return status;
	}
	*out = evaluator;
	return TCB_OK;
}

enum tcb_status tcb_evaluator_create(const struct tcb_op *op, const struct tcb_problem *problem,
				     const struct tcb_place *place, const struct tcb_evaluate_options *options,
				     struct tcb_evaluator **out, struct tcb_error *err)
{
	return create(op, problem, place, options, NULL, out, err);
}

enum tcb_status tcb_evaluator_create_beside(const struct tcb_evaluator *first, const struct tcb_place *place,
					    struct tcb_evaluator **out, struct tcb_error *err)
{
	return create(first->op, &first->problem, place, &first->options, first->code, out, err);
}

void tcb_evaluator_renew(struct tcb_evaluator *evaluator)
{
	tcb_process_retire(&evaluator->process, NULL, 0);
}

void tcb_evaluator_until(struct tcb_evaluator *evaluator, struct tcb_deadline deadline)
{
	evaluator->until = deadline;
}

int tcb_evaluator_was_refused(const struct tcb_evaluator *evaluator)
{
	return evaluator->was_refused;
}

int tcb_evaluator_was_late(const struct tcb_evaluator *evaluator)
{
	return evaluator->was_late;
}

size_t tcb_evaluator_held(const struct tcb_evaluator *evaluator)
{
	return evaluator->held;
}

void tcb_evaluator_destroy(struct tcb_evaluator *evaluator)
{
	if (!evaluator)
		return;
	tcb_process_retire(&evaluator->process, NULL, 0);
	tcb_nursery_destroy(&evaluator->nursery);
	tcb_shared_reference_destroy(evaluator->config.reference);
	free(evaluator->draw);
	tcb_shared_code_leave(evaluator->code);
	tcb_ahead_destroy(evaluator->ahead);
	munmap(evaluator->watch, sizeof(*evaluator->watch));
	free(evaluator->samples);
	free(evaluator->counters);
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
	size_t room = (message->bytes - sizeof(reply)) / sizeof(double) / 2, used = 0, all = 0;
	if (reply.outcome >= TCB_OUTCOME_COUNT || reply.class_checked >= TCB_CLASS_COUNT ||
	    reply.measurement_count > TCB_STATE_COUNT)
		return -1;
	for (uint32_t i = 0; i < reply.measurement_count; i++) {
		if (reply.measurements[i].sample_count > room - all)
			return -1;
		all += reply.measurements[i].sample_count;
	}
	free(evaluator->samples);
	evaluator->samples = malloc(room ? 2 * room * sizeof(double) : 1);
	if (!evaluator->samples)
		return -1;
	memcpy(evaluator->samples, (const char *)message->payload + sizeof(reply), 2 * room * sizeof(double));

	struct tcb_trial *trial = &evaluator->trial;
	for (uint32_t i = 0; i < reply.measurement_count; i++) {
		size_t count = reply.measurements[i].sample_count;
		const double *lost = evaluator->samples + all + used;
		if (reply.measurements[i].state >= TCB_STATE_COUNT)
			return -1;
		evaluator->measurements[i] = (struct tcb_measurement){
			.state = (enum tcb_state)reply.measurements[i].state,
			.stage = TCB_STAGE_SCREEN,
			.ns = tcb_quiet_interval(evaluator->samples + used, lost, count),
			.sample_count = count,
			.samples = evaluator->samples + used,
			.lost = lost,
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
	trial->prepare_ns += reply.prepare_ns;
	trial->verify_ns = reply.verify_ns;
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
	trial->prepare_ns = trial->verify_ns = NAN;
	const struct tcb_variant *variant = tcb_variant_find(evaluator->op, evaluator->problem.contract, geometry);
	if (!variant)
		return;
	snprintf(trial->variant, sizeof(trial->variant), "%s", variant->name);
	const char *signature = tcb_variant_signature(variant);
	if (signature)
		snprintf(trial->signature, sizeof(trial->signature), "%s", signature);
	trial->class_checked = variant->class;
}

size_t tcb_evaluator_ahead(const struct tcb_evaluator *evaluator)
{
	return evaluator->code    ? tcb_shared_code_ahead(evaluator->code)
	       : evaluator->ahead ? tcb_ahead_count(evaluator->ahead)
				  : 1;
}

enum tcb_status tcb_evaluator_want(struct tcb_evaluator *evaluator, const struct tcb_geometry *geometry,
				   struct tcb_error *err)
{
	if (evaluator->ahead)
		return tcb_ahead_want(evaluator->ahead, geometry, err);
	return evaluator->code ? tcb_shared_code_want(evaluator->code, geometry, err) : TCB_OK;
}

void tcb_evaluator_rest(struct tcb_evaluator *evaluator)
{
	if (evaluator->ahead)
		tcb_ahead_rest(evaluator->ahead);
}

/* Waits for what a compiler makes of a CPU's candidate; into its trial, where that is all that comes of it. */
static enum tcb_status await_object(struct tcb_evaluator *evaluator, const struct tcb_geometry *geometry,
				    struct tcb_error *err)
{
	struct tcb_trial *trial = &evaluator->trial;
	struct tcb_ahead_end end;
	int is_known;
	if (!evaluator->ahead)
		return TCB_OK;
	TCB_TRY(tcb_ahead_take(evaluator->ahead, geometry, evaluator->until, evaluator->options.stop, &is_known, &end,
			       err));
	if (tcb_evaluator_is_stopped(evaluator))
		return tcb_fail(err, TCB_E_INTERRUPTED, "interrupted; what was finished is kept");
	evaluator->was_late = !is_known;
	if (is_known && end.status == TCB_OK)
		return TCB_OK;
	trial->outcome = !is_known                    ? TCB_OUTCOME_TOO_SLOW
			 : end.status == TCB_E_FAILED ? TCB_OUTCOME_TIMEOUT
						      : TCB_OUTCOME_COMPILE_FAILED;
	snprintf(trial->message, sizeof(trial->message), "%s", is_known ? end.why : "no time was left to compile it");
	return TCB_OK;
}

/* REQUEST's answer into the trial; the worker goes if it can be trusted no more. */
static enum tcb_status try_once(struct tcb_evaluator *evaluator, const struct tcb_request *request,
				struct tcb_error *err)
{
	struct tcb_trial *trial = &evaluator->trial;
	struct tcb_answer answer;
	int damaged = 0;
	const uint64_t start = tcb_clock_ns();
	TCB_TRY(tcb_evaluator_ask(evaluator, TCB_MESSAGE_TRY, request->data, request->bytes, TCB_MESSAGE_TRIAL, &answer,
				  err));
	if (answer.how == TCB_ANSWERED) {
		if (take_trial(evaluator, &answer.message, &damaged) != 0)
			tcb_evaluator_note_death(evaluator, &answer, "damaged reply (stray write?)");
		tcb_message_fini(&answer.message);
	}
	evaluator->was_late = answer.how == TCB_LATE;
	if (answer.how != TCB_ANSWERED) {
		trial->outcome = answer.how == TCB_LATE   ? TCB_OUTCOME_TOO_SLOW
				 : answer.how == TCB_DIED ? TCB_OUTCOME_CRASHED
							  : TCB_OUTCOME_TIMEOUT;
		snprintf(trial->message, sizeof(trial->message), "%s", answer.what);
		trial->verify_ns = (double)(tcb_clock_ns() - start); /* all that it took: nothing else came of it */
	}
	/* Nothing keeps a GPU's candidate from writing where the inputs are. */
	if (damaged || (evaluator->code && trial->outcome == TCB_OUTCOME_WRONG))
		tcb_process_retire(&evaluator->process, NULL, 0);
	return TCB_OK;
}

enum tcb_status tcb_evaluator_check(struct tcb_evaluator *evaluator, struct tcb_error *err)
{
	struct tcb_answer answer = { .ran = 0 };
	if (evaluator->process.pid != 0 && !evaluator->is_starting)
		return TCB_OK;
	const struct tcb_deadline until = evaluator->until;
	evaluator->until = (struct tcb_deadline){ 0 }; /* a device that is slow to start is not gone */
	enum tcb_status status = tcb_evaluator_start(evaluator, &answer, err);
	evaluator->until = until;
	TCB_TRY(status);
	if (answer.how == TCB_ANSWERED)
		return TCB_OK;
	return tcb_fail(err, TCB_E_FAILED, "the worker process died at its start: %s", answer.what);
}

/* After a candidate that a GPU faulted or hung at: is it the candidate, or is the GPU itself gone? */
static enum tcb_status check_gpu(struct tcb_evaluator *evaluator, struct tcb_error *err)
{
	struct tcb_error why;
	enum tcb_status status = tcb_evaluator_check(evaluator, &why);
	if (status == TCB_OK)
		return TCB_OK;
	if (status == TCB_E_INTERRUPTED || status == TCB_E_NOMEM)
		return tcb_fail(err, status, "%s", why.message);
	return tcb_fail(err, TCB_E_FAILED, "%s does not work any more: %.200s; the last candidate %.200s",
			evaluator->place.address, why.message, evaluator->trial.message);
}

static enum tcb_status try_code(struct tcb_evaluator *evaluator, const struct tcb_request *request,
				struct tcb_error *err)
{
	const struct tcb_trial *trial = &evaluator->trial;
	if (request->failed)
		return out_of_memory(err);
	size_t served = evaluator->process.pid ? evaluator->served : 0;
	TCB_TRY(try_once(evaluator, request, err));
	if (!evaluator->code)
		return TCB_OK;
	/* In a used worker an earlier candidate may have spoilt the inputs. */
	if (served > 0 && (trial->outcome == TCB_OUTCOME_WRONG || trial->outcome == TCB_OUTCOME_CRASHED)) {
		TCB_TRY(try_once(evaluator, request, err));
	}
	int is_lost = trial->outcome == TCB_OUTCOME_CRASHED || trial->outcome == TCB_OUTCOME_TIMEOUT;
	return is_lost ? check_gpu(evaluator, err) : TCB_OK;
}

/* Is it as required? */
static enum tcb_status judge_code(struct tcb_evaluator *evaluator, const struct tcb_code *code, struct tcb_error *err)
{
	const struct tcb_require *require = evaluator->code ? evaluator->options.require : NULL;
	int meets = 1;
	char why[160] = "";
	if (require)
		TCB_TRY(require->judge(require->ctx, &code->facts, &meets, why, err));
	evaluator->was_refused = !meets;
	if (!meets) {
		evaluator->trial.outcome = TCB_OUTCOME_LAUNCH_FAILED;
		snprintf(evaluator->trial.message, sizeof(evaluator->trial.message), "%s", why);
	}
	return TCB_OK;
}

enum tcb_status tcb_evaluator_try(struct tcb_evaluator *evaluator, const struct tcb_geometry *geometry,
				  const struct tcb_screen_rule *rule, const struct tcb_trial **out,
				  struct tcb_error *err)
{
	struct tcb_try_request head;
	struct tcb_code code;
	memset(&head, 0, sizeof(head));
	head.geometry = *geometry;
	head.rule = *rule;
	if (head.rule.samples_max < 1)
		head.rule.samples_max = 1;
	begin_trial(evaluator, geometry);
	evaluator->was_late = evaluator->was_refused = 0;
	struct tcb_trial *trial = &evaluator->trial;
	*out = trial;
	struct tcb_request request = { .data = NULL };
	tcb_request_add(&request, &head, sizeof(head));
	enum tcb_status status = tcb_evaluator_add_code(evaluator, geometry, &request, &code, err);
	/* What compiling tells of a candidate, before it runs. */
	trial->outcome = code.outcome;
	trial->prepare_ns = 1e9 * code.seconds;
	if (evaluator->code)
		memcpy(trial->signature, code.signature, sizeof(trial->signature));
	memcpy(trial->message, code.message, sizeof(trial->message));
	if (status == TCB_OK && code.outcome == TCB_OUTCOME_OK)
		status = judge_code(evaluator, &code, err);
	if (status == TCB_OK && trial->outcome == TCB_OUTCOME_OK)
		status = await_object(evaluator, geometry, err);
	if (status == TCB_OK && trial->outcome == TCB_OUTCOME_OK)
		status = try_code(evaluator, &request, err);
	free(request.data);
	return status;
}

/* ---- counters ---- */

/* What the checker sees in its text. */
static enum tcb_status add_facts(struct tcb_evaluator *evaluator, const struct tcb_geometry *geometry,
				 enum tcb_state state, size_t *count, struct tcb_error *err)
{
	static const enum tcb_fact shown[] = { TCB_FACT_bank_conflicts, TCB_FACT_conflict_ways, TCB_FACT_uncoalesced,
					       TCB_FACT_sector_ways,    TCB_FACT_unpredicted,   TCB_FACT_instructions };
	enum { ROWS = sizeof shown / sizeof *shown };
	const struct tcb_ptx_resources none = { .registers = 0 };
	struct tcb_static_facts facts;
	if (tcb_static_facts_find(&evaluator->problem, &evaluator->place.device.target, geometry, &none, &facts,
				  NULL) != TCB_OK)
		return TCB_OK; /* it ran: what the checker makes of it is no trouble */
	struct tcb_counter *grown = realloc(evaluator->counters, (*count + ROWS) * sizeof *grown);
	if (!grown)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for counters");
	evaluator->counters = grown;
	for (size_t i = 0; i < ROWS; i++) {
		if (isnan(facts.value[shown[i]]))
			continue;
		struct tcb_counter *counter = &grown[(*count)++];
		memset(counter, 0, sizeof *counter);
		snprintf(counter->name, sizeof counter->name, "%s", tcb_fact_names[shown[i]]);
		snprintf(counter->source, sizeof counter->source, "checker");
		counter->state = state;
		counter->value = facts.value[shown[i]];
	}
	return TCB_OK;
}

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
	struct tcb_code code;
	memset(&head, 0, sizeof(head));
	head.geometry = *geometry;
	head.state = state;
	head.calls = calls ? calls : 1;
	struct tcb_request request = { .data = NULL };
	tcb_request_add(&request, &head, sizeof(head));
	struct tcb_answer answer;
	enum tcb_status status = tcb_evaluator_add_code(evaluator, geometry, &request, &code, err);
	if (status == TCB_OK)
		status = request.failed ? out_of_memory(err)
					: tcb_evaluator_ask(evaluator, TCB_MESSAGE_COUNT, request.data, request.bytes,
							    TCB_MESSAGE_COUNTERS, &answer, err);
	free(request.data);
	TCB_TRY(status);
	if (answer.how != TCB_ANSWERED)
		return tcb_fail(err, TCB_E_FAILED, "no counters: %s", answer.what);
	free(evaluator->counters);
	evaluator->counters = answer.message.payload;
	*count_out = answer.message.bytes / sizeof(struct tcb_counter);
	if (evaluator->code) {
		/* The profiler leaves hooks in the driver, and nothing is timed with them. */
		tcb_process_retire(&evaluator->process, NULL, 0);
		TCB_TRY(add_code_counters(evaluator, &code, state, count_out, err));
		TCB_TRY(add_facts(evaluator, geometry, state, count_out, err));
	}
	for (size_t i = 0; i < *count_out; i++) {
		evaluator->counters[i].name[TCB_COUNTER_NAME_MAX - 1] = '\0';
		evaluator->counters[i].source[TCB_COUNTER_SOURCE_MAX - 1] = '\0';
	}
	*out = evaluator->counters;
	return TCB_OK;
}
