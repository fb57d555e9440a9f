/* SPDX-License-Identifier: MIT
 *
 * Members and their threads.  The caller's thread works for member 0; each
 * other member has a thread that lives as long as the team.  All do the same
 * piece of work at a time, and the caller waits for them.
 */
#include "search/team.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

enum { BATCH = 4 /* candidates for each member: few enough to wait for, enough that nobody waits long */ };

struct member {
	struct tcb_team *team;
	size_t index;
	struct tcb_evaluator *evaluator;
	pthread_t thread;
	int has_thread, is_lost;
	struct tcb_error error; /* of the piece of work; status TCB_OK: none.  Why it was given up */
};

struct tcb_team {
	struct member *members;
	size_t count;
	pthread_mutex_t lock;
	pthread_cond_t begin, end;
	unsigned long round; /* of work; changes when there is a new piece */
	size_t busy;         /* threads that have not finished it */
	int is_over;
	void (*work)(struct member *member, void *ctx);
	void *ctx;
};

/* ---- threads ---- */

static void *serve(void *ctx)
{
	struct member *member = ctx;
	struct tcb_team *team = member->team;
	unsigned long seen = 0;
	pthread_mutex_lock(&team->lock);
	for (;;) {
		while (team->round == seen && !team->is_over)
			pthread_cond_wait(&team->begin, &team->lock);
		if (team->is_over)
			break;
		seen = team->round;
		pthread_mutex_unlock(&team->lock);
		if (!member->is_lost)
			team->work(member, team->ctx);
		pthread_mutex_lock(&team->lock);
		if (--team->busy == 0)
			pthread_cond_signal(&team->end);
	}
	pthread_mutex_unlock(&team->lock);
	return NULL;
}

/* WORK for every member that was not given up. */
static void everybody(struct tcb_team *team, void (*work)(struct member *member, void *ctx), void *ctx)
{
	for (size_t i = 0; i < team->count; i++)
		if (!team->members[i].is_lost)
			team->members[i].error.status = TCB_OK;
	pthread_mutex_lock(&team->lock);
	team->work = work;
	team->ctx = ctx;
	team->round++;
	team->busy = team->count - 1;
	pthread_cond_broadcast(&team->begin);
	pthread_mutex_unlock(&team->lock);
	if (!team->members[0].is_lost)
		work(&team->members[0], ctx);
	pthread_mutex_lock(&team->lock);
	while (team->busy > 0)
		pthread_cond_wait(&team->end, &team->lock);
	pthread_mutex_unlock(&team->lock);
}

/* ---- members ---- */

enum tcb_status tcb_team_create(const struct tcb_op *op, const struct tcb_problem *problem,
				const struct tcb_place *place, const struct tcb_sweep_options *options,
				struct tcb_team **out, struct tcb_error *err)
{
	struct tcb_team *team = calloc(1, sizeof *team);
	if (team)
		team->members = calloc(1 + options->other_count, sizeof *team->members);
	if (!team || !team->members) {
		free(team);
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu devices", 1 + options->other_count);
	}
	pthread_mutex_init(&team->lock, NULL);
	pthread_cond_init(&team->begin, NULL);
	pthread_cond_init(&team->end, NULL);
	const struct tcb_evaluate_options evaluation = tcb_sweep_evaluation(options);
	enum tcb_status status =
		tcb_evaluator_create(op, problem, place, &evaluation, &team->members[0].evaluator, err);
	for (size_t i = 0; i <= options->other_count && status == TCB_OK; i++) {
		struct member *member = &team->members[i];
		*member = (struct member){ .team = team, .index = i, .evaluator = member->evaluator };
		team->count++;
		if (i == 0)
			continue;
		status = tcb_evaluator_create_beside(team->members[0].evaluator, &options->others[i - 1],
						     &member->evaluator, err);
	}
	/* All processes before the first thread. */
	for (size_t i = 1; i < team->count && status == TCB_OK; i++) {
		struct member *member = &team->members[i];
		member->has_thread = pthread_create(&member->thread, NULL, serve, member) == 0;
		if (!member->has_thread)
			status = tcb_fail(err, TCB_E_FAILED, "cannot start a thread for a GPU");
	}
	if (status != TCB_OK) {
		tcb_team_destroy(team);
		return status;
	}
	*out = team;
	return TCB_OK;
}

void tcb_team_destroy(struct tcb_team *team)
{
	if (!team)
		return;
	for (size_t i = team->count; i-- > 0;)
		tcb_evaluator_destroy(team->members[i].evaluator);
	pthread_mutex_lock(&team->lock);
	team->is_over = 1;
	pthread_cond_broadcast(&team->begin);
	pthread_mutex_unlock(&team->lock);
	for (size_t i = 0; i < team->count; i++)
		if (team->members[i].has_thread)
			pthread_join(team->members[i].thread, NULL);
	pthread_mutex_destroy(&team->lock);
	pthread_cond_destroy(&team->begin);
	pthread_cond_destroy(&team->end);
	free(team->members);
	free(team);
}

size_t tcb_team_size(const struct tcb_team *team)
{
	return team->count;
}

static size_t living(const struct tcb_team *team)
{
	size_t count = 0;
	for (size_t i = 0; i < team->count; i++)
		count += !team->members[i].is_lost;
	return count;
}

size_t tcb_team_lead(const struct tcb_team *team)
{
	size_t lead = 0;
	while (lead + 1 < team->count && team->members[lead].is_lost)
		lead++;
	return lead;
}

struct tcb_evaluator *tcb_team_evaluator(struct tcb_team *team, size_t member)
{
	return team->members[member].evaluator;
}

void tcb_team_until(struct tcb_team *team, struct tcb_deadline deadline)
{
	for (size_t i = 0; i < team->count; i++)
		tcb_evaluator_until(team->members[i].evaluator, deadline);
}

void tcb_team_rest(struct tcb_team *team)
{
	for (size_t i = 0; i < team->count; i++)
		tcb_evaluator_rest(team->members[i].evaluator);
}

const char *tcb_team_lost(const struct tcb_team *team, size_t member)
{
	return team->members[member].is_lost ? team->members[member].error.message : NULL;
}

size_t tcb_team_batch(const struct tcb_team *team)
{
	return team->count > 1 ? BATCH * living(team) : 1;
}

/* Is MEMBER to be given up after STATUS?  Not for what would happen to the next one, too, nor alone. */
static int is_dead(const struct member *member, enum tcb_status status)
{
	if (member->team->count == 1 || status == TCB_OK || status == TCB_E_INTERRUPTED || status == TCB_E_NOMEM)
		return 0;
	return tcb_evaluator_check(member->evaluator, NULL) != TCB_OK;
}

/* The first error of those who are still there, or that nobody is. */
static enum tcb_status sum_up(const struct tcb_team *team, struct tcb_error *err)
{
	for (size_t i = 0; i < team->count; i++) {
		const struct tcb_error *error = &team->members[i].error;
		if (!team->members[i].is_lost && error->status != TCB_OK)
			return tcb_fail(err, error->status, "%s", error->message);
	}
	if (living(team) > 0)
		return TCB_OK;
	return tcb_fail(err, TCB_E_FAILED, "all %zu GPUs are lost; the last: %.400s", team->count,
			team->members[team->count - 1].error.message);
}

int tcb_team_next_lead(struct tcb_team *team, enum tcb_status status, const struct tcb_error *why)
{
	struct member *lead = &team->members[tcb_team_lead(team)];
	if (!is_dead(lead, status))
		return 0;
	if (why)
		lead->error = *why;
	lead->is_lost = 1;
	return living(team) > 0;
}

/* ---- trying ---- */

struct batch {
	struct tcb_team_task *tasks;
	size_t count;
	const struct tcb_screen_rule *rules;
	int is_stopped; /* somebody has an error: nobody begins another */
};

void tcb_team_task_fini(struct tcb_team_task *task)
{
	free(task->samples);
	memset(task, 0, sizeof *task);
}

static struct tcb_team_task *take_task(struct tcb_team *team, struct batch *batch)
{
	struct tcb_team_task *task = NULL;
	pthread_mutex_lock(&team->lock);
	for (size_t i = 0; i < batch->count && !task && !batch->is_stopped; i++)
		if (!batch->tasks[i].is_taken)
			task = &batch->tasks[i];
	if (task)
		task->is_taken = 1;
	pthread_mutex_unlock(&team->lock);
	return task;
}

/* What the evaluator lends until its next trial, for good. */
static enum tcb_status keep(struct tcb_team_task *task, const struct tcb_trial *trial, struct tcb_error *err)
{
	size_t count = 0;
	for (size_t m = 0; m < trial->measurement_count; m++)
		count += trial->measurements[m].sample_count;
	task->samples = malloc((2 * count + 1) * sizeof *task->samples);
	if (!task->samples)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a trial");
	task->trial = *trial;
	task->trial.measurements = task->measurements;
	double *at = task->samples;
	for (size_t m = 0; m < trial->measurement_count; m++) {
		task->measurements[m] = trial->measurements[m];
		task->measurements[m].samples = at;
		memcpy(at, trial->measurements[m].samples, trial->measurements[m].sample_count * sizeof *at);
		at += trial->measurements[m].sample_count;
		if (!trial->measurements[m].lost)
			continue;
		task->measurements[m].lost = at;
		memcpy(at, trial->measurements[m].lost, trial->measurements[m].sample_count * sizeof *at);
		at += trial->measurements[m].sample_count;
	}
	return TCB_OK;
}

static double now_s(void)
{
	return 1e-9 * (double)tcb_clock_ns();
}

static void try_tasks(struct member *member, void *ctx)
{
	struct batch *batch = ctx;
	struct tcb_team *team = member->team;
	struct tcb_team_task *task;
	while (!member->is_lost && (task = take_task(team, batch))) {
		const struct tcb_trial *trial;
		const double start_s = now_s();
		enum tcb_status status = tcb_evaluator_try(member->evaluator, task->geometry,
							   &batch->rules[member->index], &trial, &member->error);
		if (status == TCB_OK)
			status = keep(task, trial, &member->error);
		task->member = member->index;
		task->when_s = now_s();
		task->took_s = task->when_s - start_s;
		task->is_done = status == TCB_OK;
		task->was_late = status == TCB_OK && tcb_evaluator_was_late(member->evaluator);
		task->is_refused = status == TCB_OK && tcb_evaluator_was_refused(member->evaluator);
		member->error.status = status;
		if (status == TCB_OK)
			continue;
		member->is_lost = is_dead(member, status);
		pthread_mutex_lock(&team->lock);
		task->is_taken = 0;
		batch->is_stopped |= !member->is_lost;
		pthread_mutex_unlock(&team->lock);
		return;
	}
}

enum tcb_status tcb_team_try(struct tcb_team *team, struct tcb_team_task *tasks, size_t count,
			     const struct tcb_screen_rule *rules, struct tcb_error *err)
{
	struct batch batch = { .tasks = tasks, .count = count, .rules = rules };
	size_t done = 0;
	while (done < count) {
		everybody(team, try_tasks, &batch);
		TCB_TRY(sum_up(team, err));
		/* A member that died last leaves its task behind. */
		for (done = 0; done < count && tasks[done].is_done;)
			done++;
	}
	return TCB_OK;
}

/* ---- interleaving ---- */

enum tcb_status tcb_team_interleave(struct tcb_team *team, const struct tcb_geometry *geometries, size_t count,
				    enum tcb_state state, size_t rounds, uint64_t seed, double *ns_out,
				    struct tcb_error *err)
{
	struct tcb_error why;
	enum tcb_status status;
	do {
		status = tcb_evaluator_interleave(team->members[tcb_team_lead(team)].evaluator, geometries, count,
						  state, rounds, seed, ns_out, NULL, NULL, &why);
	} while (status != TCB_OK && tcb_team_next_lead(team, status, &why));
	return status == TCB_OK ? TCB_OK : tcb_fail(err, status, "%s", why.message);
}

struct side_by_side {
	const struct tcb_geometry *geometries;
	size_t count, rounds;
	enum tcb_state state;
	uint64_t seed;
	double *ns_out;
};

static void interleave(struct member *member, void *ctx)
{
	const struct side_by_side *work = ctx;
	size_t cells = work->count * work->rounds;
	double *ns = work->ns_out + member->index * cells;
	enum tcb_status status = tcb_evaluator_interleave(member->evaluator, work->geometries, work->count, work->state,
							  work->rounds, work->seed, ns, NULL, NULL, &member->error);
	member->error.status = status;
	if (status == TCB_OK)
		return;
	for (size_t i = 0; i < cells; i++)
		ns[i] = NAN;
	member->is_lost = is_dead(member, status);
}

enum tcb_status tcb_team_interleave_each(struct tcb_team *team, const struct tcb_geometry *geometries, size_t count,
					 enum tcb_state state, size_t rounds, uint64_t seed, double *ns_out,
					 struct tcb_error *err)
{
	struct side_by_side work = { geometries, count, rounds, state, seed, ns_out };
	for (size_t i = 0; i < team->count * count * rounds; i++)
		ns_out[i] = NAN;
	everybody(team, interleave, &work);
	return sum_up(team, err);
}
