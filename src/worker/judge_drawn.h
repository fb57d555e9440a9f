/* SPDX-License-Identifier: MIT
 *
 * The one output of an op whose reference is drawn (draw.h): the drawn outputs are held
 * against their bounds, and all outputs are looked at in blocks of neighbours in
 * a row.  What looks odd is held against a reference made for it.
 */
#ifndef TCB_WORKER_JUDGE_DRAWN_H
#define TCB_WORKER_JUDGE_DRAWN_H

#include "worker/instance.h"

/* What was found by comparing outputs. */
struct tcb_finding {
	double error_ratio;         /* the largest */
	size_t bad;                 /* output that is beyond its bound; SIZE_MAX: none */
	double y, magnitude, extra; /* its reference */
};

/* The instance has a draw and its reference. */
enum tcb_status tcb_judge_drawn(const struct tcb_instance *instance, const struct tcb_plan *plan, const void *got,
				struct tcb_pool *pool, struct tcb_finding *out, struct tcb_error *err);

#endif
