/* SPDX-License-Identifier: MIT
 *
 * The one notion of "until when".  A command makes a deadline of its budget and
 * hands it down, to the sweep or the bench, its evaluator and the worker, whose
 * clock is the same (CLOCK_MONOTONIC).  Whoever begins something that takes long asks
 * how much is left; a share of what is left is a deadline, too.
 */
#ifndef TCB_BASE_DEADLINE_H
#define TCB_BASE_DEADLINE_H

#include <math.h>
#include <stdint.h>

#include "base/util.h"

/* A moment of tcb_clock_ns(); all zeros: there is none. */
struct tcb_deadline {
	uint64_t ns;
};

/* SECONDS on the clock, of which tcb_clock_ns() is the nanoseconds. */
static inline struct tcb_deadline tcb_deadline_at(double clock_s)
{
	return (struct tcb_deadline){ clock_s > 0 ? (uint64_t)(1e9 * clock_s) : 1 };
}

/* SECONDS from now. */
static inline struct tcb_deadline tcb_deadline_in(double seconds)
{
	return tcb_deadline_at(1e-9 * (double)tcb_clock_ns() + seconds);
}

/* Seconds until then, 0 once it is over; infinite where there is none. */
static inline double tcb_deadline_left_s(struct tcb_deadline deadline)
{
	const uint64_t now = tcb_clock_ns();
	if (deadline.ns == 0)
		return INFINITY;
	return deadline.ns > now ? 1e-9 * (double)(deadline.ns - now) : 0;
}

static inline int tcb_deadline_is_over(struct tcb_deadline deadline)
{
	return deadline.ns != 0 && tcb_clock_ns() >= deadline.ns;
}

/* The later of both. */
static inline struct tcb_deadline tcb_deadline_later(struct tcb_deadline a, struct tcb_deadline b)
{
	return a.ns == 0 || (b.ns != 0 && a.ns > b.ns) ? a : b;
}

#endif
