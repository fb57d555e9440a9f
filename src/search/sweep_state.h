/* SPDX-License-Identifier: MIT
 *
 * A sweep's state, of sweep.c and its parts.
 */
#ifndef TCB_SEARCH_SWEEP_STATE_H
#define TCB_SEARCH_SWEEP_STATE_H

#include "search/drift.h"
#include "search/finals.h"
#include "search/gain.h"
#include "search/spread.h"
#include "search/strategy.h"
#include "search/team.h"

struct tcb_sweep_entry {
	unsigned char decided, known;
	unsigned char final_only[TCB_STATE_COUNT]; /* ns is of an earlier sweep's finals for want of its screening */
	enum tcb_outcome outcome;
	enum tcb_class class_checked;
	double error_ratio, pack_ns, prepare_ns, verify_ns;
	double when_s;                           /* of the screening */
	double took_s;                           /* ... in this sweep; NaN of a known one */
	uint32_t member;                         /* of the team, who screened it */
	struct tcb_interval ns[TCB_STATE_COUNT]; /* of the screening; median NaN where not measured */
	double anchor_ns[TCB_STATE_COUNT]; /* of a known one: the default's in the sweep that NS is of; 0: unknown */
	/* Time over the anchor's, side by side; median NaN where the candidate never seemed to be the best so far. */
	struct tcb_interval checked[TCB_STATE_COUNT];
};

struct tcb_sweep {
	const struct tcb_op *op;
	const struct tcb_problem *problem;
	const struct tcb_target *target;
	const struct tcb_kind *kind;      /* of the target */
	const struct tcb_place *modelled; /* of a kind that a model knows; else NULL */
	const struct tcb_sweep_options *options;
	const struct tcb_sink *sink;
	struct tcb_sweep_result *out;
	const struct tcb_trial *known; /* of earlier sweeps */
	size_t known_count;
	struct tcb_space *space; /* the first out->space_count of it are the problem's; sweep_passes.c adds some */
	struct tcb_sweep_entry *entries; /* [space index] */
	struct tcb_team *team;           /* of one device, or of several GPUs */
	struct tcb_lattice lattice;      /* of the problem's space */
	struct tcb_strategy strategy;
	void *strategist;
	size_t anchor;                              /* space index; SIZE_MAX until a candidate is ok */
	struct tcb_drift (*drift)[TCB_STATE_COUNT]; /* of each member */
	struct tcb_spread spread[TCB_STATE_COUNT];  /* of the anchor, on all members */
	size_t best[TCB_STATE_COUNT];               /* space index, and its score; infinite until there is one */
	double best_score[TCB_STATE_COUNT];
	double limit_score[TCB_STATE_COUNT]; /* of the device's limit, as a candidate would have it; 0: not measured */
	struct tcb_gain gain[TCB_STATE_COUNT];
	size_t kept[TCB_STATE_COUNT]; /* what the sink knows as the best so far; SIZE_MAX: nothing */
	double start_s, screen_end_s, end_s, next_anchor_s, next_progress_s, next_keep_s;
	double waited_s; /* for a quiet machine, by which the ends above have moved, and for meters at the end */
	double try_s; /* what a candidate takes, running mean without the first of a weight layout; 0: not known yet */
	unsigned char has_layout[TCB_LAYOUT_COUNT]; /* a candidate of it was tried in this sweep, on a CPU */
	double layout_s;                            /* the most that the first candidate of a layout took longer */
	int has_skipped;                            /* a candidate, since its layout would have taken too long */
	double round_s[TCB_STATE_COUNT];            /* what one round of the anchor takes; 0: not known yet */
	int is_long;                                /* calls are: few rounds fit into the budget */
	size_t samples_max;
	size_t state_count, states_judged;
	struct tcb_progress progress;
};

static inline int tcb_sweep_measures(const struct tcb_sweep *sweep, int state)
{
	return sweep->options->states >> state & 1u;
}

static inline int tcb_sweep_is_stopped(const struct tcb_sweep *sweep)
{
	return sweep->options->stop && *sweep->options->stop;
}

static inline struct tcb_evaluator *tcb_sweep_lead(const struct tcb_sweep *sweep)
{
	return tcb_team_evaluator(sweep->team, tcb_team_lead(sweep->team));
}

/* PHASE to whoever watches, a few times a second, or NOW. */
void tcb_sweep_progress(struct tcb_sweep *sweep, const char *phase, double left_s, int now);
/* Times over the anchor's at the same moment; median NaN where the candidate was not measured or failed. */
struct tcb_interval tcb_sweep_score(const struct tcb_sweep *sweep, size_t index, enum tcb_state state);
enum tcb_status tcb_sweep_send(struct tcb_sweep *sweep, const struct tcb_trial *trial, struct tcb_error *err);

/* Lets the caller wait for a quiet machine; what the budget leaves begins after it. */
void tcb_sweep_await_quiet(struct tcb_sweep *sweep);

/* MOST rounds of COUNT candidates, or fewer where calls are so long that they take too much of the budget: then the
 * noise, which comes from others' time slices, is small against a call. */
size_t tcb_sweep_rounds_for(const struct tcb_sweep *sweep, enum tcb_state state, size_t count, size_t most);

/* A candidate that is not as options->require has it: to this sweep it failed, and nobody else is told. */
enum tcb_status tcb_sweep_refuse(struct tcb_sweep *sweep, const struct tcb_team_task *task);

/* sweep_recheck.c */
/* The best that an earlier sweep stored for STATE; SIZE_MAX where there is none to be measured again. */
enum tcb_status tcb_sweep_find_former(struct tcb_sweep *sweep, enum tcb_state state, size_t *index_out,
				      struct tcb_error *err);
/* Measures it beside the default geometry. */
enum tcb_status tcb_sweep_recheck(struct tcb_sweep *sweep, size_t index, enum tcb_state state, struct tcb_error *err);

/* sweep_known.c */
/* Known trials to their entries. */
void tcb_sweep_take_over(struct tcb_sweep *sweep);
void tcb_sweep_entry_clear(struct tcb_sweep_entry *entry);
/* What came of a candidate in this sweep. */
void tcb_sweep_entry_fill(struct tcb_sweep_entry *entry, const struct tcb_team_task *task);
/* Adds a known trial to its entry, but what was too slow for another budget beside another best. */
void tcb_sweep_entry_merge(struct tcb_sweep_entry *entry, const struct tcb_trial *trial);
/* Forgets what was measured in other states only. */
void tcb_sweep_entry_check(const struct tcb_sweep *sweep, struct tcb_sweep_entry *entry);

/* sweep_best.c: the best so far to the sink where it changed; unless NOW not sooner than a second after the last. */
enum tcb_status tcb_sweep_keep_best(struct tcb_sweep *sweep, int now, struct tcb_error *err);

/* What the screening says, where the finals held no round: OUT->provisional, or not valid where it says nothing. */
enum tcb_status tcb_sweep_decide_by_screening(const struct tcb_sweep *sweep, enum tcb_state state,
					      struct tcb_decision *out, struct tcb_error *err);

/* sweep_starts.c: candidates to try before the strategy is asked, the nearest winners' first, then a model's. */
enum tcb_status tcb_sweep_choose_starts(struct tcb_sweep *sweep, size_t chosen[TCB_SWEEP_STARTS_MAX], size_t *count_out,
					struct tcb_error *err);

/* sweep_limits.c */
/* What the device could do at all, where a sweep stops near it. */
enum tcb_status tcb_sweep_measure_limits(struct tcb_sweep *sweep, struct tcb_error *err);
/* After each trial of the strategy: what is expected of going on, and how far the best is from the limit. */
void tcb_sweep_count_trial(struct tcb_sweep *sweep);
/* Is the target reached, or going on not worth it?  Then RESULT->ended says which. */
int tcb_sweep_is_enough(struct tcb_sweep *sweep);
/* RESULT->ended of a screening that was not ended so; SPENT: there was no time left, or no trial. */
void tcb_sweep_say_ended(struct tcb_sweep *sweep, int spent);

/* sweep_passes.c */
/* A new candidate of the sweep, of which nothing is known. */
enum tcb_status tcb_sweep_add(struct tcb_sweep *sweep, const struct tcb_geometry *geometry, size_t *index_out,
			      struct tcb_error *err);
/* Adds what is known of candidates with passes=all: they take part in the finals, whether they are among today's best
 * or not. */
enum tcb_status tcb_sweep_take_over_passes(struct tcb_sweep *sweep, struct tcb_error *err);
/* Adds to it those of the best that are to be tried with them: CHOSEN, at most MOST of them, the best first. */
enum { TCB_SWEEP_PASSES = 6 };
enum tcb_status tcb_sweep_choose_passes(struct tcb_sweep *sweep, size_t most, size_t chosen[TCB_SWEEP_PASSES],
					size_t *count_out, struct tcb_error *err);

/* sweep_energy.c: the decisions by options->objective, unless that is time. */
enum tcb_status tcb_sweep_judge_energy(struct tcb_sweep *sweep, struct tcb_error *err);

/* sweep_finals.c: the finals of one state, in SECONDS. */
enum tcb_status tcb_sweep_judge(struct tcb_sweep *sweep, enum tcb_state state, double seconds, struct tcb_error *err);

#endif
