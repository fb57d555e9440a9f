/* SPDX-License-Identifier: MIT
 *
 * The inside of the evaluator, shared by the files that make it up: exchange.c
 * (the worker, one request and its answer), evaluate_trial.c (trials, counters) and
 * interleave.c (candidates side by side).
 */
#ifndef TCB_WORKER_EXCHANGE_H
#define TCB_WORKER_EXCHANGE_H

#include "kernels/code.h"
#include "worker/ahead.h"
#include "worker/channel.h"
#include "worker/evaluate.h"
#include "worker/process.h"
#include "worker/request.h"
#include "worker/shared_code.h"
#include "worker/worker.h"

enum { TCB_ANSWER_TEXT_MAX = 256 };

struct tcb_evaluator {
	const struct tcb_op *op;
	struct tcb_problem problem;
	struct tcb_place place;
	struct tcb_evaluate_options options;
	struct tcb_worker_config config;
	struct tcb_watch *watch;
	struct tcb_draw *draw;        /* config lends it to the workers */
	struct tcb_shared_code *code; /* NULL on a CPU */
	struct tcb_ahead *ahead;      /* of what a compiler makes for a CPU; NULL: nothing is */
	enum tcb_limit limit;         /* what rounds with a limit measure */
	struct tcb_nursery nursery;
	struct tcb_process process;
	struct tcb_deadline until;
	int was_late;    /* the last trial was given up for it */
	int was_refused; /* it was not made */
	size_t held;     /* rounds of the last interleaving */
	int is_starting; /* the process has begun, and nobody has seen yet that it is ready */
	size_t served;   /* requests that this worker has answered */
	char limit_method[TCB_STATE_COUNT][64];
	/* what the last call lent out */
	struct tcb_trial trial;
	struct tcb_measurement measurements[TCB_STATE_COUNT];
	double *samples;
	struct tcb_counter *counters;
};

/* How a request ended. */
struct tcb_answer {
	enum { TCB_ANSWERED, TCB_DIED, TCB_TIMED_OUT, TCB_LATE } how;
	int ran; /* the candidate's own code had been running */
	unsigned subject;
	char what[TCB_ANSWER_TEXT_MAX]; /* unless TCB_ANSWERED: in words */
	struct tcb_message message;
};

/* Begins the worker and does not wait for it: what it prepares takes as long as the caller has other things to do. */
enum tcb_status tcb_evaluator_begin(struct tcb_evaluator *evaluator, struct tcb_error *err);
/* Begins the worker if need be and waits for it; ANSWER says whether it lives. */
enum tcb_status tcb_evaluator_start(struct tcb_evaluator *evaluator, struct tcb_answer *answer, struct tcb_error *err);
/*
 * A request with a worker started where there is none.  A death is taken as the candidate's own only if its code ran
 * in a fresh worker: in a used one an earlier candidate may have damaged the memory, so it gets a second try.
 */
enum tcb_status tcb_evaluator_ask(struct tcb_evaluator *evaluator, enum tcb_message_kind kind, const void *payload,
				  size_t bytes, enum tcb_message_kind wanted, struct tcb_answer *answer,
				  struct tcb_error *err);
/* One request to a living worker and its answer, without second tries. */
enum tcb_status tcb_evaluator_exchange(struct tcb_evaluator *evaluator, enum tcb_message_kind kind, const void *payload,
				       size_t bytes, enum tcb_message_kind wanted, struct tcb_answer *answer,
				       struct tcb_error *err);
/* Turns ANSWER into a death of the worker, which goes; DAMAGE: what is wrong with what it sent. */
void tcb_evaluator_note_death(struct tcb_evaluator *evaluator, struct tcb_answer *answer, const char *damage);
int tcb_evaluator_is_stopped(const struct tcb_evaluator *evaluator);
/*
 * Adds GEOMETRY's code to REQUEST (nothing on a CPU); CODE_OUT: what came of compiling it, without its image.  A
 * candidate that could be compiled once can be again, unless memory is out.
 */
enum tcb_status tcb_evaluator_add_code(struct tcb_evaluator *evaluator, const struct tcb_geometry *geometry,
				       struct tcb_request *request, struct tcb_code *code_out, struct tcb_error *err);

#endif
