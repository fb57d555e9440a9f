/* SPDX-License-Identifier: MIT
 *
 * Plans by what they are for, made on first use and kept: a host asks for a few dozen.
 */
#ifndef TCB_GGML_PLANS_H
#define TCB_GGML_PLANS_H

#include <stddef.h>

#include "tcbrt.h"

enum { PLAN_KEY_MAX = 96, PLAN_BUCKETS = 64 };

struct plan {
	struct tcbrt_plan *plan;
	size_t workspace_bytes;
	int x, weights, y, ids; /* of products: which operand is which; IDS of mixtures */
	unsigned char key[PLAN_KEY_MAX];
	struct plan *next;
};

/* Zeros: empty. */
struct plan_table {
	_Atomic(struct plan *) bucket[PLAN_BUCKETS];
};

/* Makes the plan that CTX describes; a code of tcbrt. */
typedef int plan_make_fn(const void *ctx, struct tcbrt_plan **out, struct tcbrt_error *err);

/* The plan for KEY, of BYTES up to PLAN_KEY_MAX, all of which count; NULL, and why in ERR.  Any threads at once; none
 * waits. */
const struct plan *plan_find(struct plan_table *table, const void *key, size_t bytes, plan_make_fn *make,
			     const void *ctx, struct tcbrt_error *err);

#endif
