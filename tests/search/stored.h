/* SPDX-License-Identifier: MIT
 *
 * GPU candidates out of a tuning database, for programs that look at them again:
 * which problems there are results for, and the candidates of one of them, the
 * fastest first.
 */
#ifndef TCB_TESTS_STORED_H
#define TCB_TESTS_STORED_H

#include "db/db.h"
#include "device/gpu.h"
#include "kernels/op.h"

enum { STORED_PROBLEMS_MAX = 64 };

/* A problem with a measured winner on a GPU. */
struct stored_problem {
	const struct tcb_op *op;
	struct tcb_problem problem;
	char device_name[TCB_DEVICE_NAME_MAX], device_key[TCB_DEVICE_KEY_MAX], model[TCB_DEVICE_TEXT_MAX];
	unsigned threads;
};

/* What is wanted; NULL: any. */
struct stored_filter {
	const char *op, *device_name, *contract;
	const struct tcb_shape *shape;
};

/* The GPU that PROBLEM was measured on: attached, or its recorded specification; where there is neither, the one that
 * stands for its capability.  OUT's model tells which it is. */
enum tcb_status stored_gpu(const struct stored_problem *problem, struct tcb_gpu *out, struct tcb_error *err);

/* What to do with candidates that were measured with kernels that have changed since. */
enum stored_stale { STORED_LEAVE_STALE, STORED_TAKE_STALE };

enum tcb_status stored_problems(struct tcb_db *db, const struct stored_filter *filter,
				struct stored_problem out[STORED_PROBLEMS_MAX], size_t *count_out,
				struct tcb_error *err);

/* One candidate: its trial, and the time that it is ranked by. */
struct stored_candidate {
	const struct tcb_trial *trial; /* lent by the list */
	double ns;
	int is_final; /* of the finals; else of the screening */
};

struct stored_list {
	struct stored_candidate *candidates; /* those measured in the finals first, then by time */
	size_t count;
	size_t stale; /* measured with kernels that have changed since: left out, or among them if so asked */
	struct tcb_trial *trials;
	size_t trial_count;
};

/* The candidates of PROBLEM that were right, by their cold times.  Free with stored_list_fini. */
enum tcb_status stored_candidates(struct tcb_db *db, const struct stored_problem *problem, enum stored_stale stale,
				  struct stored_list *out, struct tcb_error *err);
void stored_list_fini(struct stored_list *list); /* a zeroed one is fine */

/* The counter of SOURCE and NAME in STATE; NAN if there is none. */
double stored_counter(const struct tcb_trial *trial, enum tcb_state state, const char *source, const char *name);

#endif
