/* SPDX-License-Identifier: MIT
 *
 * What the tuner sees of its worker without asking: one shared page that says
 * what is going on, so that a death or a hang can be laid at the right door.
 * The worker writes, the tuner reads; a candidate may scribble over it, so the
 * tuner only ever copies bounded text out of it.
 */
#ifndef TCB_WORKER_WATCH_H
#define TCB_WORKER_WATCH_H

#include <stdatomic.h>
#include <stdint.h>

enum { TCB_WATCH_PHASE_MAX = 96, TCB_WATCH_NOBODY = UINT16_MAX };

struct tcb_watch {
	atomic_uint beat;      /* changes when the worker gets on */
	atomic_uint candidate; /* the candidate's own code runs now: its time counts */
	atomic_uint ran;       /* the candidate's own code ran since the request came */
	atomic_uint subject;   /* which of several geometries, TCB_WATCH_NOBODY outside of all */
	char phase[TCB_WATCH_PHASE_MAX];
};

/* CANDIDATE: whether its own code (pack, run) follows.  FORMAT completes "while ...".  WATCH may be NULL. */
void tcb_watch_phase(struct tcb_watch *watch, int candidate, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same without a new text, for use between timed calls. */
void tcb_watch_subject(struct tcb_watch *watch, int candidate, unsigned subject);

#endif
