/* SPDX-License-Identifier: MIT
 *
 * The worker process and its protocol: one request, one reply (channel.h).
 * Payloads are the structs below; what comes back is checked by the tuner.
 *
 *   (start)          -> READY
 *   TRY              -> TRIAL      geometry, rule, code | outcome, measurements, samples
 *   PREPARE          -> PREPARED   geometries, state, codes | how the limit was read
 *   ROUND            -> TIMES      an order | nanoseconds in that order, and what others took of each
 *   COUNT            -> COUNTERS   geometry, state, calls, code | counters
 *   METER            -> METERED    seconds | what they took of the first geometry prepared
 *   anything         -> ERROR      a struct tcb_error of the tuner's own
 */
#ifndef TCB_WORKER_WORKER_H
#define TCB_WORKER_WORKER_H

#include "worker/evaluate.h"
#include "worker/instance.h"
#include "worker/watch.h"

enum tcb_message_kind {
	TCB_MESSAGE_READY = 1,
	TCB_MESSAGE_TRY,
	TCB_MESSAGE_TRIAL,
	TCB_MESSAGE_PREPARE,
	TCB_MESSAGE_PREPARED,
	TCB_MESSAGE_ROUND,
	TCB_MESSAGE_TIMES,
	TCB_MESSAGE_COUNT,
	TCB_MESSAGE_COUNTERS,
	TCB_MESSAGE_ERROR,
	TCB_MESSAGE_METER,
	TCB_MESSAGE_METERED,
};

/* A candidate's code follows its request: uint64_t length, then so many bytes; none on a CPU (length 0). */

struct tcb_try_request {
	struct tcb_geometry geometry;
	struct tcb_screen_rule rule;
	/* then its code */
};

struct tcb_trial_reply {
	uint32_t outcome, class_checked, damaged;
	double error_ratio, pack_ns;
	double prepare_ns, verify_ns; /* what it took besides measuring, compiling left out */
	char message[256];
	uint32_t measurement_count;
	struct {
		uint32_t state, dropped_early;
		uint64_t sample_count;
	} measurements[TCB_STATE_COUNT];
	/* then all samples, double, in the order of the measurements, and as many shares that others took */
};

struct tcb_prepare_request {
	uint32_t state, limit; /* enum tcb_limit */
	uint64_t count;
	struct tcb_geometry geometries[];
	/* then the code of each, and of the limit */
};

struct tcb_prepared_reply {
	char limit_method[64];
};

/* The index of the read limit in an order. */
enum { TCB_ROUND_LIMIT = UINT16_MAX - 1 };
/* ROUND's payload: uint32_t indices into the geometries prepared last; TIMES': as many doubles, and as
 * many shares that others took meanwhile. */

struct tcb_count_request {
	struct tcb_geometry geometry;
	uint32_t state, calls;
	/* then its code */
};
/* COUNTERS' payload: struct tcb_counter each. */

/* METER's payload: a double, seconds; METERED's a struct tcb_energy. */

/* What the worker inherits; lives in memory that its nursery's fork copied. */
struct tcb_worker_config {
	const struct tcb_op *op;
	struct tcb_problem problem;
	const struct tcb_place *place;
	unsigned states;
	size_t rotation_bytes;
	uint64_t seed;
	double budget_s; /* of the sweep; 0: none */
	struct tcb_deadline deadline;
	struct tcb_watch *watch;
	const struct tcb_draw *draw;            /* which outputs of the problem are compared; NULL: all */
	struct tcb_shared_reference *reference; /* of the problem; NULL: each worker computes its own */
};

/* Serves requests on FD until it is closed; never returns.  worker_main.c */
_Noreturn void tcb_worker_main(int fd, const struct tcb_worker_config *config);

#endif
