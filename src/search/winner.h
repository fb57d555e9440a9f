/* SPDX-License-Identifier: MIT
 *
 * Who wins the finals, and how sure that is.
 */
#ifndef TCB_SEARCH_WINNER_H
#define TCB_SEARCH_WINNER_H

#include <stddef.h>
#include <stdint.h>

#include "base/geometry.h"
#include "base/status.h"
#include "base/trial.h"
#include "search/legs.h"

/* By what a candidate gets into the finals, or does not. */
enum tcb_winner_key { TCB_KEY_SCORE, TCB_KEY_RUNGS, TCB_KEY_COUNT };

/* Who may be as fast but was not in the finals, for want of time. */
struct tcb_winner_other {
	struct tcb_geometry geometry;
	enum tcb_winner_key kind; /* the later of those that it has */
	struct tcb_interval key;
};

/* All that were in the finals, and the others. */
struct tcb_winner_field {
	const double *samples;                 /* [candidate * rounds + round]: its time; none is NaN */
	const struct tcb_geometry *geometries; /* [candidate] */
	size_t count, rounds;
	const struct tcb_legs *legs; /* of the rounds; NULL: all in one process */
	size_t anchor;               /* a candidate; SIZE_MAX: none */
	size_t places;               /* so many candidates get into the finals at most, beside the anchor */
	double spread;               /* of the logarithm of a ratio, from one process to the next */
	double score_noise;          /* of a score's logarithm beside its interval */
	/* [kind][candidate]: its own score in the screening, over the anchor's time, and its level on the rungs; NaN:
	 * unknown. */
	const struct tcb_interval *keys[TCB_KEY_COUNT];
	const struct tcb_winner_other *others;
	size_t other_count;
};

/* The fastest, by the median of its times over the median of each round, or of those that cannot be told from it and
 * are nearly as fast the simplest: that is the one which the next finals choose, too.  TCB_E_NOMEM. */
enum tcb_status tcb_winner_choose(const struct tcb_winner_field *field, size_t *winner_out, struct tcb_error *err);
/*
 * As resampling the legs (the rounds, where there is one leg) and the others' keys tells: how much slower the WINNER
 * is in the mean than the fastest of all, as a ratio - 1, and how probable it is that the same sweep, held again, names
 * another one: who gets into those finals is drawn, too.  Both are NaN of one candidate alone, and of others without an
 * anchor.
 */
enum tcb_status tcb_winner_judge(const struct tcb_winner_field *field, size_t winner, uint64_t seed, double *regret_out,
				 double *flip_out, struct tcb_error *err);

#endif
