/* SPDX-License-Identifier: MIT
 *
 * Several identical GPUs (or one device) that share a sweep's screening: an
 * evaluator each, and a thread each that only waits for its worker.  One of
 * them is the lead, which holds the finals.  A GPU that dies is given up, and
 * the candidate that was on it goes to another.
 */
#ifndef TCB_SEARCH_TEAM_H
#define TCB_SEARCH_TEAM_H

#include "search/search.h"

struct tcb_team;

/* On PLACE and options->others. */
enum tcb_status tcb_team_create(const struct tcb_op *op, const struct tcb_problem *problem,
				const struct tcb_place *place, const struct tcb_sweep_options *options,
				struct tcb_team **out, struct tcb_error *err);
void tcb_team_destroy(struct tcb_team *team);      /* NULL is fine */
size_t tcb_team_size(const struct tcb_team *team); /* members, those given up included */
size_t tcb_team_lead(const struct tcb_team *team); /* the first member that was not given up */
struct tcb_evaluator *tcb_team_evaluator(struct tcb_team *team, size_t member);
/* Why MEMBER was given up; NULL: it was not. */
const char *tcb_team_lost(const struct tcb_team *team, size_t member);
/* How many candidates it is worth trying at a time; 1 on one device. */
size_t tcb_team_batch(const struct tcb_team *team);

/* One candidate; starts zeroed but for its geometry (lent). */
struct tcb_team_task {
	const struct tcb_geometry *geometry;
	/* out */
	int is_done, was_late;  /* late: given up for want of time, nothing is known of it */
	int is_refused;         /* not as required: not tried */
	size_t member;          /* who tried it */
	double when_s, took_s;  /* when it was done, by the clock; how long that took its member */
	struct tcb_trial trial; /* owned by the task */
	/* private */
	int is_taken;
	struct tcb_measurement measurements[TCB_STATE_COUNT];
	double *samples;
};
void tcb_team_task_fini(struct tcb_team_task *task);
/* Tries COUNT candidates, each on the next member that is free; RULES are by member.  When it fails, some of the tasks
 * may be done all the same. */
enum tcb_status tcb_team_try(struct tcb_team *team, struct tcb_team_task *tasks, size_t count,
			     const struct tcb_screen_rule *rules, struct tcb_error *err);

/* tcb_evaluator_until and tcb_evaluator_rest of every member. */
void tcb_team_until(struct tcb_team *team, struct tcb_deadline deadline);
void tcb_team_rest(struct tcb_team *team);
/* tcb_evaluator_interleave on the lead, or on the next one when it dies over it. */
enum tcb_status tcb_team_interleave(struct tcb_team *team, const struct tcb_geometry *geometries, size_t count,
				    enum tcb_state state, size_t rounds, uint64_t seed, double *ns_out,
				    struct tcb_error *err);
/* The same on each member at the same time: NS_OUT[member][geometry][round], NaN for members that were given up and
 * in rounds that there was no time for. */
enum tcb_status tcb_team_interleave_each(struct tcb_team *team, const struct tcb_geometry *geometries, size_t count,
					 enum tcb_state state, size_t rounds, uint64_t seed, double *ns_out,
					 struct tcb_error *err);
/* After STATUS, an error of the lead: gives the lead up if it is dead and another one lives.  1: try again. */
int tcb_team_next_lead(struct tcb_team *team, enum tcb_status status, const struct tcb_error *why);

/* cards.c: what RESULT says of several GPUs; nothing of one device. */
enum tcb_status tcb_cards_begin(const struct tcb_team *team, const struct tcb_place *place,
				const struct tcb_sweep_options *options, struct tcb_sweep_result *result,
				struct tcb_error *err);
/* The winner and the default of VERDICT, the finals of the lead, measured on all members. */
enum tcb_status tcb_cards_compare(struct tcb_team *team, const struct tcb_decision *decision, uint64_t seed,
				  struct tcb_sweep_result *result, struct tcb_error *err);
/* Why members were given up, while TEAM knows it. */
void tcb_cards_end(const struct tcb_team *team, struct tcb_sweep_result *result);
void tcb_cards_fini(struct tcb_sweep_result *result);

#endif
