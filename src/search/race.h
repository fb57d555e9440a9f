/* SPDX-License-Identifier: MIT
 *
 * Candidates that are measured side by side, in rounds: what the finals (finals_elimination.c) and their decision
 * (decision.c) have in common.
 */
#ifndef TCB_SEARCH_RACE_H
#define TCB_SEARCH_RACE_H

#include "search/finals.h"
#include "search/legs.h"
#include "search/rounds.h"

struct ranked {
	double key;
	size_t item;
};

int tcb_compare_ranked(const void *a, const void *b); /* for qsort: by key, then by item */

enum { TCB_RACE_LEADERS = 7 };
enum row_state { ROW_WAITING, ROW_IN, ROW_OUT, ROW_FAILED };

struct race {
	const struct tcb_finals_setup *setup;
	size_t rows;
	size_t *index;                 /* [row]: space index */
	struct tcb_geometry *geometry; /* [row] */
	enum row_state *state;         /* [row] */
	double *level;                 /* [row]: median time over the centre of its round */
	size_t *active;                /* rows on this rung; active_count of them */
	size_t active_count;
	size_t leaders[TCB_RACE_LEADERS], leader_count; /* rows; chosen before the rounds that are judged by them */
	size_t anchor;                                  /* row */
	double *out_lo;                                 /* [row]: who is out is so much slower than a leader at least */
	int changes, is_new;  /* each rung has another worker; these rounds are of another worker than those that were
				 judged before */
	struct tcb_legs legs; /* of the finals proper, by their rounds */
	struct tcb_rounds rounds;
	size_t first_rung, end_of_rungs; /* the rounds by which finalists were chosen; equal: by their scores */
	size_t places;                   /* of finalists */
	struct ranked *ranked;           /* room for sorting */
	double *room, *centre;
	size_t centre_capacity;
	int is_over;               /* the evaluator's time is: no more rounds are to be had */
	double deadline_s, call_s; /* seconds of one call, overhead included */
	double renew_s;            /* what a new worker takes until it can measure; 0: there is only one */
	double reachable;          /* a time over the anchor's that some candidate certainly reaches */
};

/* Zeroed but for the setup, with room for CAPACITY rows; TCB_E_NOMEM.  To be freed with tcb_race_fini in every case. */
enum tcb_status tcb_race_init(struct race *race, const struct tcb_finals_setup *setup, size_t capacity,
			      struct tcb_error *err);
void tcb_race_fini(struct race *race);
void tcb_race_add_row(struct race *race, size_t index);
/* The rows from FIRST up to END that are in STATE. */
void tcb_race_activate(struct race *race, enum row_state state, size_t first, size_t end);
double tcb_race_left_s(const struct race *race);
/* Seconds of ROUNDS rounds of COUNT rows in one piece. */
double tcb_race_cost_s(const struct race *race, size_t rounds, size_t count);
/* COUNT rounds of the active rows, fewer if TIMED and the time is over, or if the evaluator's is.  In pieces of equal
 * size that take a few seconds each. */
enum tcb_status tcb_race_run(struct race *race, size_t count, int with_limit, int timed, struct tcb_error *err);
/* Fills centre[] with the medians of ROWS in each round from FIRST on. */
enum tcb_status tcb_race_fill_centre(struct race *race, const size_t *rows, size_t row_count, size_t first,
				     struct tcb_error *err);
struct tcb_interval tcb_race_ratio_to_centre(const struct race *race, size_t row, size_t first);
/* Fills level[] of the active rows from round FIRST on: relative to the round's median, which takes the drift out and
 * adds next to no noise. */
enum tcb_status tcb_race_fill_levels(struct race *race, size_t first, struct tcb_error *err);
struct tcb_interval tcb_race_ratio(const struct race *race, size_t row, size_t reference, size_t first);
/* The same in the finals proper, which began with round FIRST, with what its legs tell; alone where REFERENCE is
 * SIZE_MAX. */
struct tcb_interval tcb_race_final(const struct race *race, size_t row, size_t reference, size_t first);
/* In how many rounds from FIRST on was none of the active rows disturbed? */
size_t tcb_race_quiet(const struct race *race, size_t first);
size_t tcb_race_lowest(const struct race *race);
/* The active rows by their levels, the lowest first. */
void tcb_race_sort(struct race *race);

/* decision.c: of the active rows by their rounds from FIRST on; the field are all candidates with a score, the best
 * first. */
enum tcb_status tcb_decision_fill(struct race *race, const struct ranked *field, size_t count, size_t first,
				  struct tcb_decision *out, struct tcb_error *err);

#endif
