/* SPDX-License-Identifier: MIT
 *
 * Code of a CPU's candidates that a compiler makes (op.h's build), ahead of their turn: on processors that nothing is
 * measured on while candidates are measured, and on all of them while one is waited for.
 */
#ifndef TCB_WORKER_AHEAD_H
#define TCB_WORKER_AHEAD_H

#include <signal.h>

#include "base/deadline.h"
#include "device/device.h"
#include "kernels/op.h"

struct tcb_ahead;

/* NULL where no compiler is needed.  LIMIT_S: one compilation's.  No thread begins before the first candidate, so that
 * the caller can fork until then. */
enum tcb_status tcb_ahead_create(const struct tcb_problem *problem, const struct tcb_place *place, double limit_s,
				 struct tcb_ahead **out, struct tcb_error *err);
void tcb_ahead_destroy(struct tcb_ahead *ahead); /* NULL is fine */

/* Candidates that should be named ahead of their turn. */
size_t tcb_ahead_count(const struct tcb_ahead *ahead);
/* Names one of them. */
enum tcb_status tcb_ahead_want(struct tcb_ahead *ahead, const struct tcb_geometry *geometry, struct tcb_error *err);

/* What came of a candidate: OK, E_FORMAT and E_FAILED as of build. */
struct tcb_ahead_end {
	enum tcb_status status;
	char why[256];
};
/* Waits for GEOMETRY's code, until UNTIL or *STOP (nullable) is not 0: is it known what came of it?  Then nothing is
 * compiled where candidates are measured. */
enum tcb_status tcb_ahead_take(struct tcb_ahead *ahead, const struct tcb_geometry *geometry, struct tcb_deadline until,
			       const volatile sig_atomic_t *stop, int *is_known_out, struct tcb_ahead_end *out,
			       struct tcb_error *err);
/* Whoever was named and not taken is forgotten: nothing is compiled until the next is named. */
void tcb_ahead_rest(struct tcb_ahead *ahead);

#endif
