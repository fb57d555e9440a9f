/* SPDX-License-Identifier: MIT
 *
 * The tuner's side of one exchange with the worker.  In: a request; out: its
 * answer, or how the worker died or hung over it.  Deadlines, deaths, blame, and
 * a new worker when the old one is gone.
 */
#include "worker/exchange.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "worker/starved.h"

enum {
	SLICE_MS = 100,            /* how often a wait looks at the stop flag and the worker's page */
	SLICE_MAX_NS = 1000000000, /* most that one look can charge: a tuner stopped by Ctrl-Z charges nobody */
	OWN_LIMIT_S = 600,         /* for the worker's own preparations, which no candidate pays for */
};
/* Of the time between two looks, at least: what hangs comes to an end also where it waits for a processor. */
static const double CHARGED_LEAST = 1.0 / 16;

int tcb_evaluator_is_stopped(const struct tcb_evaluator *evaluator)
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

void tcb_evaluator_note_death(struct tcb_evaluator *evaluator, struct tcb_answer *answer, const char *damage)
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
	answer->how = TCB_DIED;
	answer->ran = atomic_load(&evaluator->watch->ran) != 0;
	answer->subject = atomic_load(&evaluator->watch->subject);
	snprintf(answer->what, sizeof(answer->what), "%s while %s%s%s", how, phase, *words ? ": " : "", words);
	tcb_message_fini(&answer->message);
}

/* There is no time left for a reply: the worker goes, and what it was at is nobody's fault. */
static void give_up(struct tcb_evaluator *evaluator, struct tcb_answer *answer)
{
	char phase[TCB_WATCH_PHASE_MAX];
	copy_phase(evaluator, phase);
	answer->how = TCB_LATE;
	answer->subject = TCB_WATCH_NOBODY;
	snprintf(answer->what, sizeof(answer->what), "no time was left while %s", phase);
	tcb_message_fini(&answer->message);
	tcb_process_retire(&evaluator->process, NULL, 0);
}

/* What the worker has to answer for of ELAPSED_NS: not the time that others kept it from running. */
static double charge(struct tcb_starved *starved, pid_t worker, double elapsed_ns)
{
	return fmax(elapsed_ns - tcb_starved_look(starved, worker), CHARGED_LEAST * elapsed_ns);
}

/* Waits for the reply.  The candidate's clock runs only while its own code does; with PER_BEAT it starts again
 * whenever the worker gets on. */
static enum tcb_status await(struct tcb_evaluator *evaluator, int per_beat, struct tcb_answer *answer,
			     struct tcb_error *err)
{
	double limit_ns = 1e9 * evaluator->options.timeout_s, spent_ns = 0, own_ns = 0;
	unsigned beat = atomic_load(&evaluator->watch->beat);
	uint64_t last = tcb_clock_ns();
	struct tcb_starved starved = { .count = 0 };
	tcb_starved_look(&starved, evaluator->process.pid);
	for (;;) {
		enum tcb_channel_state state = tcb_channel_receive(evaluator->process.fd, &answer->message);
		if (state == TCB_CHANNEL_DONE) {
			answer->how = TCB_ANSWERED;
			evaluator->served++;
			return TCB_OK;
		}
		if (state == TCB_CHANNEL_NOMEM)
			return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu bytes from the worker",
					answer->message.bytes);
		if (state != TCB_CHANNEL_MORE) {
			tcb_evaluator_note_death(evaluator, answer,
						 state == TCB_CHANNEL_MALFORMED ? "damaged reply (stray write?)"
										: NULL);
			return TCB_OK;
		}
		if (tcb_evaluator_is_stopped(evaluator)) {
			tcb_message_fini(&answer->message);
			tcb_process_retire(&evaluator->process, NULL, 0);
			return tcb_fail(err, TCB_E_INTERRUPTED, "interrupted; what was finished is kept");
		}
		const double until_ms = 1e3 * tcb_deadline_left_s(evaluator->until);
		if (until_ms <= 0) {
			give_up(evaluator, answer);
			return TCB_OK;
		}
		double left_ms = fmin((limit_ns - spent_ns) / 1e6, until_ms) + 1;
		tcb_channel_wait(evaluator->process.fd, left_ms < SLICE_MS ? (int)left_ms : SLICE_MS);

		uint64_t now = tcb_clock_ns();
		const double elapsed = now - last < SLICE_MAX_NS ? (double)(now - last) : (double)SLICE_MAX_NS;
		const double slice = charge(&starved, evaluator->process.pid, elapsed);
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
		answer->how = TCB_TIMED_OUT;
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
static enum tcb_status take_error(struct tcb_evaluator *evaluator, struct tcb_answer *answer, struct tcb_error *err)
{
	if (answer->how != TCB_ANSWERED || answer->message.kind != TCB_MESSAGE_ERROR)
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

enum tcb_status tcb_evaluator_begin(struct tcb_evaluator *evaluator, struct tcb_error *err)
{
	memset(evaluator->watch, 0, sizeof(*evaluator->watch));
	atomic_store(&evaluator->watch->subject, TCB_WATCH_NOBODY);
	evaluator->served = 0;
	evaluator->is_starting = 1;
	return tcb_process_start(&evaluator->process, &evaluator->nursery, err);
}

enum tcb_status tcb_evaluator_start(struct tcb_evaluator *evaluator, struct tcb_answer *answer, struct tcb_error *err)
{
	if (evaluator->process.pid == 0)
		TCB_TRY(tcb_evaluator_begin(evaluator, err));
	evaluator->is_starting = 0;
	TCB_TRY(await(evaluator, 0, answer, err));
	TCB_TRY(take_error(evaluator, answer, err));
	if (answer->how == TCB_ANSWERED && answer->message.kind == TCB_MESSAGE_READY)
		evaluator->served = 0;
	tcb_message_fini(&answer->message);
	return TCB_OK;
}

enum tcb_status tcb_evaluator_exchange(struct tcb_evaluator *evaluator, enum tcb_message_kind kind, const void *payload,
				       size_t bytes, enum tcb_message_kind wanted, struct tcb_answer *answer,
				       struct tcb_error *err)
{
	/* A worker that died idle is found out by the reply that never comes. */
	atomic_store(&evaluator->watch->ran, 0);
	tcb_process_clear_words(&evaluator->process);
	(void)tcb_channel_send(evaluator->process.fd, kind, payload, bytes);
	TCB_TRY(await(evaluator, kind != TCB_MESSAGE_TRY, answer, err));
	TCB_TRY(take_error(evaluator, answer, err));
	if (answer->how == TCB_ANSWERED && answer->message.kind != (uint32_t)wanted) {
		tcb_message_fini(&answer->message);
		tcb_evaluator_note_death(evaluator, answer, "damaged reply (stray write?)");
	}
	return TCB_OK;
}

enum tcb_status tcb_evaluator_ask(struct tcb_evaluator *evaluator, enum tcb_message_kind kind, const void *payload,
				  size_t bytes, enum tcb_message_kind wanted, struct tcb_answer *answer,
				  struct tcb_error *err)
{
	for (int attempt = 0; attempt < 2; attempt++) {
		memset(answer, 0, sizeof(*answer));
		if (tcb_evaluator_is_stopped(evaluator))
			return tcb_fail(err, TCB_E_INTERRUPTED, "interrupted; what was finished is kept");
		if (tcb_deadline_is_over(evaluator->until)) {
			answer->how = TCB_LATE;
			snprintf(answer->what, sizeof(answer->what), "no time was left");
			return TCB_OK;
		}
		if (evaluator->process.pid == 0 || evaluator->is_starting) {
			TCB_TRY(tcb_evaluator_start(evaluator, answer, err));
			if (answer->how == TCB_LATE)
				return TCB_OK;
			if (answer->how != TCB_ANSWERED)
				continue;
		}
		int was_fresh = evaluator->served == 0;
		TCB_TRY(tcb_evaluator_exchange(evaluator, kind, payload, bytes, wanted, answer, err));
		/* What the system kills, together with the nursery, is not to blame. */
		if (answer->how != TCB_DIED || (was_fresh && answer->ran && !tcb_nursery_is_gone(&evaluator->nursery)))
			return TCB_OK;
	}
	if (answer->ran)
		return TCB_OK;
	return tcb_fail(err, TCB_E_FAILED, "the worker process died before the candidate ran: %s", answer->what);
}

/* Where code goes. */
struct addition {
	struct tcb_request *request;
	struct tcb_code *code;
};

static void add_code(const struct tcb_code *code, void *ctx)
{
	const struct addition *addition = ctx;
	*addition->code = *code;
	addition->code->image = NULL;
	tcb_request_code(addition->request, code->image);
}

enum tcb_status tcb_evaluator_add_code(struct tcb_evaluator *evaluator, const struct tcb_geometry *geometry,
				       struct tcb_request *request, struct tcb_code *code_out, struct tcb_error *err)
{
	struct addition addition = { request, code_out };
	memset(code_out, 0, sizeof(*code_out));
	if (evaluator->code)
		return tcb_shared_code_get(evaluator->code, geometry, add_code, &addition, err);
	tcb_request_code(request, NULL);
	return TCB_OK;
}
