/* SPDX-License-Identifier: MIT
 *
 * Candidates side by side: rounds in which each is called once.  In: geometries
 * that were ok when they were tried; out: their times in each round.  One that
 * fails is dropped, and the rest goes on with a new worker.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/kind.h"
#include "base/quiet.h"
#include "base/util.h"
#include "kernels/limit.h"
#include "worker/exchange.h"

enum { AGAIN_MOST = 5 };              /* of a call that others disturbed */
static const double SLICES_NS = 10e6; /* a few slices of time */

static enum tcb_status out_of_memory(struct tcb_error *err)
{
	return tcb_fail(err, TCB_E_NOMEM, "out of memory for a request to the worker");
}

struct finals {
	const struct tcb_geometry *geometries;
	size_t count, rounds;
	enum tcb_state state;
	unsigned char *failed;
	uint32_t *alive; /* indices of those that have not failed; position = index in the worker */
	size_t alive_count;
	uint32_t *order; /* of one round, in the worker's indices */
	double *ns_out, *limit_out, *lost_out;
	int is_prepared;
};

/* Drops the geometry that the worker was busy with.  The worker itself to blame: an error the second time. */
static enum tcb_status blame(struct finals *finals, const struct tcb_answer *answer, int *innocent_deaths,
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

static enum tcb_status prepare_finals(struct tcb_evaluator *evaluator, struct finals *finals, struct tcb_answer *answer,
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
	head.limit = finals->limit_out ? evaluator->limit : TCB_LIMIT_NONE;
	head.count = finals->alive_count;
	tcb_request_add(&request, &head, sizeof(head));
	for (size_t i = 0; i < finals->alive_count; i++)
		tcb_request_add(&request, &finals->geometries[finals->alive[i]], sizeof(struct tcb_geometry));
	enum tcb_status status = TCB_OK;
	for (size_t i = 0; i < finals->alive_count && status == TCB_OK; i++) {
		struct tcb_code code;
		status = tcb_evaluator_add_code(evaluator, &finals->geometries[finals->alive[i]], &request, &code, err);
	}
	const struct tcb_code_image *limit = NULL;
	if (status == TCB_OK && evaluator->code && finals->limit_out && evaluator->limit != TCB_LIMIT_INDEPENDENT)
		status = evaluator->limit == TCB_LIMIT_COMPUTE
				 ? tcb_shared_code_compute(evaluator->code, &limit, err)
				 : tcb_shared_code_limit(evaluator->code, evaluator->limit == TCB_LIMIT_OVERLAP, &limit,
							 err);
	tcb_request_code(&request, limit);
	if (status == TCB_OK)
		status = request.failed ? out_of_memory(err)
					: tcb_evaluator_ask(evaluator, TCB_MESSAGE_PREPARE, request.data, request.bytes,
							    TCB_MESSAGE_PREPARED, answer, err);
	free(request.data);
	if (status != TCB_OK || answer->how != TCB_ANSWERED)
		return status;
	struct tcb_prepared_reply reply;
	if (answer->message.bytes == sizeof(reply)) {
		memcpy(&reply, answer->message.payload, sizeof(reply));
		reply.limit_method[sizeof(reply.limit_method) - 1] = '\0';
		if (finals->limit_out)
			memcpy(evaluator->limit_method[finals->state], reply.limit_method, sizeof(reply.limit_method));
		finals->is_prepared = 1;
	} else {
		tcb_evaluator_note_death(evaluator, answer, "damaged reply (stray write?)");
	}
	tcb_message_fini(&answer->message);
	return TCB_OK;
}

/* Is it worth calling again, after NS of which others took LOST?  Hardly where a call takes longer than the slices of
 * time that others leave. */
static int may_be_undisturbed(double ns, double lost)
{
	return tcb_is_disturbed(lost) && ns * (1 - lost) < SLICES_NS;
}

/* Takes what came of *CALLS calls, where it is the first or better than before; leaves those in the order that are
 * worth another. */
static void take_times(struct finals *finals, size_t round, const double *times, size_t *calls)
{
	const double *shares = times + *calls;
	size_t left = 0;
	for (size_t i = 0; i < *calls; i++) {
		const uint32_t who = finals->order[i];
		const size_t row = who == TCB_ROUND_LIMIT ? finals->count : finals->alive[who];
		double *ns = who == TCB_ROUND_LIMIT ? &finals->limit_out[round]
						    : &finals->ns_out[row * finals->rounds + round];
		double *lost = &finals->lost_out[row * finals->rounds + round];
		if (isnan(*ns) || shares[i] < *lost) {
			*ns = times[i];
			*lost = shares[i];
		}
		if (may_be_undisturbed(*ns, *lost))
			finals->order[left++] = who;
	}
	*calls = left;
}

/* One request and its answer. */
static enum tcb_status call_in_order(struct tcb_evaluator *evaluator, struct finals *finals, size_t round,
				     size_t *calls, struct tcb_answer *answer, struct tcb_error *err)
{
	memset(answer, 0, sizeof(*answer));
	TCB_TRY(tcb_evaluator_exchange(evaluator, TCB_MESSAGE_ROUND, finals->order, *calls * sizeof(*finals->order),
				       TCB_MESSAGE_TIMES, answer, err));
	if (answer->how != TCB_ANSWERED)
		return TCB_OK;
	if (answer->message.bytes != 2 * *calls * sizeof(double))
		tcb_evaluator_note_death(evaluator, answer, "damaged reply (stray write?)");
	else
		take_times(finals, round, answer->message.payload, calls);
	tcb_message_fini(&answer->message);
	return TCB_OK;
}

/* All are called once, and at once again who was disturbed: close to the others, so that pairs stay pairs. */
static enum tcb_status run_round(struct tcb_evaluator *evaluator, struct finals *finals, size_t round,
				 struct tcb_rng *rng, struct tcb_answer *answer, struct tcb_error *err)
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
	for (int again = 0; calls > 0 && again <= AGAIN_MOST; again++) {
		if (again > 0 && tcb_deadline_is_over(evaluator->until))
			break;
		TCB_TRY(call_in_order(evaluator, finals, round, &calls, answer, err));
		if (answer->how != TCB_ANSWERED)
			return TCB_OK;
	}
	return TCB_OK;
}

enum tcb_status tcb_evaluator_interleave(struct tcb_evaluator *evaluator, const struct tcb_geometry *geometries,
					 size_t count, enum tcb_state state, size_t rounds, uint64_t seed,
					 double *ns_out, double *limit_out, double *lost_out, struct tcb_error *err)
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
				 .limit_out = limit_out,
				 .lost_out = lost_out };
	double *own = lost_out ? NULL : malloc(((count + 1) * rounds + 1) * sizeof *own);
	struct tcb_answer answer;
	enum tcb_status status = TCB_OK;
	int innocent_deaths = 0;
	size_t round = 0;
	struct tcb_rng rng;
	tcb_rng_init(&rng, seed);
	if (own)
		finals.lost_out = own;
	if (!finals.failed || !finals.alive || !finals.order || !finals.lost_out)
		status = tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu finalists", count);
	for (size_t i = 0; i < count * rounds; i++)
		ns_out[i] = NAN;
	for (size_t i = 0; limit_out && i < rounds; i++)
		limit_out[i] = NAN;
	for (size_t i = 0; finals.lost_out && i < (count + 1) * rounds; i++)
		finals.lost_out[i] = NAN;
	while (round < rounds && status == TCB_OK) {
		if (tcb_deadline_is_over(evaluator->until))
			break;
		if (!finals.is_prepared) {
			status = prepare_finals(evaluator, &finals, &answer, err);
			if (status == TCB_OK && answer.how == TCB_LATE)
				break;
			if (status == TCB_OK && !finals.is_prepared)
				status = blame(&finals, &answer, &innocent_deaths, err);
			continue;
		}
		if (finals.alive_count == 0 && !limit_out)
			break;
		if (tcb_evaluator_is_stopped(evaluator)) {
			status = tcb_fail(err, TCB_E_INTERRUPTED, "interrupted; what was finished is kept");
			break;
		}
		status = run_round(evaluator, &finals, round, &rng, &answer, err);
		if (status == TCB_OK && answer.how == TCB_ANSWERED)
			round++;
		else if (status == TCB_OK && answer.how == TCB_LATE)
			break;
		else if (status == TCB_OK)
			status = blame(&finals, &answer, &innocent_deaths, err);
	}
	/* What is missing because everybody failed was held. */
	evaluator->held = finals.alive_count == 0 && finals.is_prepared ? rounds : round;
	free(finals.failed);
	free(finals.alive);
	free(finals.order);
	free(own);
	return status;
}

int tcb_evaluator_use_limit(struct tcb_evaluator *evaluator, enum tcb_limit limit)
{
	if (limit == TCB_LIMIT_OVERLAP && !(evaluator->code && tcb_shared_code_has_overlap(evaluator->code)))
		return -1;
	if (limit == TCB_LIMIT_COMPUTE && evaluator->code && !tcb_has_compute_limit(&evaluator->place.device.target))
		return -1;
	if (limit == TCB_LIMIT_INDEPENDENT && !tcb_kind_of(&evaluator->place.device.target)->has_free_calls)
		return -1;
	evaluator->limit = limit;
	return 0;
}

const char *tcb_evaluator_limit_method(const struct tcb_evaluator *evaluator, enum tcb_state state)
{
	return evaluator->limit_method[state];
}
