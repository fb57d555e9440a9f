/* SPDX-License-Identifier: MIT
 *
 * A growing table of paired samples: rows are geometries, columns rounds.  In
 * a round each active geometry is called once, so that times of one column
 * share the state of the machine.  Rows that took no part hold NaN.
 */
#ifndef TCB_SEARCH_ROUNDS_H
#define TCB_SEARCH_ROUNDS_H

#include "search/search.h"

struct tcb_rounds {
	const struct tcb_geometry *geometries; /* one per row, lent */
	size_t rows, rounds;
	double *limit; /* [round]: the read limit, NaN where it was not measured */
	/* private */
	size_t capacity;
	double *ns;
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
/* The samples of ROW from round FIRST on: rounds - FIRST of them. */
const double *tcb_rounds_row(const struct tcb_rounds *rounds, size_t row, size_t first);

#endif
