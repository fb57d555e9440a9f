/* SPDX-License-Identifier: MIT
 *
 * A growing table of paired samples: rows are geometries, columns rounds.  In
 * a round each active geometry is called once, so that times of one column
 * share the state of the machine.  Rows that took no part hold NaN, and so does
 * what others disturbed, where it does not count.
 */
#ifndef TCB_SEARCH_ROUNDS_H
#define TCB_SEARCH_ROUNDS_H

#include "search/search.h"

struct tcb_rounds {
	const struct tcb_geometry *geometries; /* one per row, lent */
	size_t rows, rounds;
	double *limit;  /* [round]: the read limit, NaN where it was not measured or does not count */
	int knows_lost; /* what others took is known of a sample at least */
	/* private */
	size_t capacity;
	double *ns, *lost, *counted; /* [row * capacity + round] */
	double *limit_ns;            /* as it was measured */
	struct tcb_geometry *active_geometries;
	double *fresh;
	size_t fresh_capacity;
};

enum tcb_status tcb_rounds_init(struct tcb_rounds *rounds, const struct tcb_geometry *geometries, size_t rows,
				struct tcb_error *err);
void tcb_rounds_fini(struct tcb_rounds *rounds);
/* COUNT more rounds of the rows named by ACTIVE, fewer if the evaluator's time is over; the read limit beside them if
 * WITH_LIMIT. */
enum tcb_status tcb_rounds_add(struct tcb_rounds *rounds, struct tcb_evaluator *evaluator, enum tcb_state state,
			       const size_t *active, size_t active_count, size_t count, int with_limit, uint64_t seed,
			       struct tcb_error *err);
/* The samples of ROW from round FIRST on that count, the others NaN: rounds - FIRST of them. */
const double *tcb_rounds_row(const struct tcb_rounds *rounds, size_t row, size_t first);
/* All of them, and what others took of each (as struct tcb_measurement has it). */
const double *tcb_rounds_all(const struct tcb_rounds *rounds, size_t row, size_t first);
const double *tcb_rounds_lost(const struct tcb_rounds *rounds, size_t row, size_t first);
/* In how many rounds from FIRST on was none of the rows ACTIVE disturbed? */
size_t tcb_rounds_quiet(const struct tcb_rounds *rounds, const size_t *active, size_t active_count, size_t first);
/*
 * A decision on the rows ACTIVE rests on rounds that nobody disturbed: from FIRST on only these count for any row, or
 * all, where there are fewer than TCB_QUIET_LEAST of them.  Returns how many are undisturbed.
 */
enum { TCB_QUIET_LEAST = 9 /* their interval may lose its extremes */ };
size_t tcb_rounds_settle(struct tcb_rounds *rounds, const size_t *active, size_t active_count, size_t first);

#endif
