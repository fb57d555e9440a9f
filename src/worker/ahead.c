/* SPDX-License-Identifier: MIT
 *
 * In: geometries; out: that their code is compiled, or why not.  Threads with a processor of their own compile all the
 * time; those whose processors are measured on begin only while the caller waits.
 */
#include "worker/ahead.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cgroup.h"
#include "base/sizes.h"
#include "base/util.h"
#include "device/cpus.h"
#include "worker/verify.h"

enum {
	THREADS_MAX = 16,
	STEP_NS = 50000000 /* how often who waits looks at the stop flag */
};

struct job {
	struct job *next;
	struct tcb_geometry geometry;
	enum { WAITING, RUNNING, DONE } state;
	struct tcb_ahead_end end;
};

struct compiler {
	struct tcb_ahead *ahead;
	pthread_t thread;
	int is_apart; /* none of its processors is measured on */
};

struct tcb_ahead {
	struct tcb_problem problem;
	double limit_s;
	cpu_set_t apart; /* the processors that nothing is measured on */
	unsigned apart_count, count;
	atomic_int stop;      /* what is under way */
	pthread_mutex_t lock; /* over all that follows */
	pthread_cond_t changed;
	struct job *jobs; /* in the order in which they were named */
	struct compiler compilers[THREADS_MAX];
	unsigned begun;      /* of them */
	unsigned running[2]; /* of those that are not apart, and of those that are */
	int is_open;         /* all may begin */
	int is_over;
};

/* --- compiling --- */

static void build(const struct tcb_ahead *ahead, const struct tcb_geometry *geometry, struct tcb_ahead_end *out)
{
	const struct tcb_op *op = ahead->problem.op;
	struct tcb_shape shapes[TCB_VERIFY_SHAPES_MAX];
	const size_t count = tcb_verify_shapes(op, &ahead->problem.shape, geometry, shapes);
	struct tcb_error why = { .status = TCB_OK };

	out->status = tcb_op_cpu(op)->build(&ahead->problem, geometry, ahead->limit_s, &ahead->stop, &why);
	snprintf(out->why, sizeof out->why, "%.250s", out->status == TCB_OK ? "" : why.message);
	for (size_t i = 0; i < count && out->status == TCB_OK; i++) {
		struct tcb_problem small = ahead->problem;

		small.shape = shapes[i]; /* what does not compile there, the verification will find */
		(void)tcb_op_cpu(op)->build(&small, geometry, ahead->limit_s, &ahead->stop, NULL);
	}
}

/* Locked. */
static struct job *next_job(const struct tcb_ahead *ahead)
{
	struct job *job = ahead->jobs;

	while (job && job->state != WAITING)
		job = job->next;
	return job;
}

static void *serve(void *ctx)
{
	const struct compiler *compiler = ctx;
	struct tcb_ahead *ahead = compiler->ahead;

	if (compiler->is_apart)
		(void)sched_setaffinity(0, sizeof ahead->apart, &ahead->apart); /* which compilers inherit */
	pthread_mutex_lock(&ahead->lock);
	while (!ahead->is_over) {
		struct job *job = compiler->is_apart || ahead->is_open ? next_job(ahead) : NULL;

		if (!job) {
			pthread_cond_wait(&ahead->changed, &ahead->lock);
			continue;
		}
		job->state = RUNNING;
		ahead->running[compiler->is_apart]++;
		pthread_mutex_unlock(&ahead->lock);
		build(ahead, &job->geometry, &job->end);
		pthread_mutex_lock(&ahead->lock);
		job->state = DONE;
		ahead->running[compiler->is_apart]--;
		pthread_cond_broadcast(&ahead->changed);
	}
	pthread_mutex_unlock(&ahead->lock);
	return NULL;
}

/* Locked. */
static void begin_threads(struct tcb_ahead *ahead)
{
	for (; ahead->begun < ahead->count; ahead->begun++) {
		struct compiler *compiler = &ahead->compilers[ahead->begun];

		*compiler = (struct compiler){ .ahead = ahead, .is_apart = ahead->begun < ahead->apart_count };
		if (pthread_create(&compiler->thread, NULL, serve, compiler) != 0)
			return;
	}
}

/* --- jobs --- */

/* Locked. */
static struct job **find(struct tcb_ahead *ahead, const struct tcb_geometry *geometry)
{
	struct job **at = &ahead->jobs;

	while (*at && !tcb_geometry_equal(&(*at)->geometry, geometry))
		at = &(*at)->next;
	return at;
}

/* Locked.  GEOMETRY's job, before all others where IS_FIRST says so. */
static struct job *name(struct tcb_ahead *ahead, const struct tcb_geometry *geometry, int is_first)
{
	struct job **at = find(ahead, geometry), *job = *at;

	if (job && !is_first)
		return job;
	if (job) {
		*at = job->next;
	} else {
		job = calloc(1, sizeof *job);
		if (!job)
			return NULL;
		job->geometry = *geometry; /* written once: who compiles it reads it */
	}
	at = is_first ? &ahead->jobs : at;
	job->next = *at;
	*at = job;
	begin_threads(ahead);
	pthread_cond_broadcast(&ahead->changed);
	return job;
}

/* Locked. */
static void forget(struct tcb_ahead *ahead, const struct job *job)
{
	struct job **at = find(ahead, &job->geometry), *gone = *at;

	*at = gone->next;
	free(gone);
}

enum tcb_status tcb_ahead_want(struct tcb_ahead *ahead, const struct tcb_geometry *geometry, struct tcb_error *err)
{
	pthread_mutex_lock(&ahead->lock);
	const struct job *job = name(ahead, geometry, 0);
	pthread_mutex_unlock(&ahead->lock);
	return job ? TCB_OK : tcb_fail(err, TCB_E_NOMEM, "out of memory for a candidate's code");
}

/* Locked, but while it waits for a change. */
static void wait_a_step(struct tcb_ahead *ahead)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += STEP_NS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	(void)pthread_cond_timedwait(&ahead->changed, &ahead->lock, &until);
}

enum tcb_status tcb_ahead_take(struct tcb_ahead *ahead, const struct tcb_geometry *geometry, struct tcb_deadline until,
			       const volatile sig_atomic_t *stop, int *is_known_out, struct tcb_ahead_end *out,
			       struct tcb_error *err)
{
	pthread_mutex_lock(&ahead->lock);
	struct job *job = name(ahead, geometry, 1);
	*is_known_out = 0;
	if (!job || !ahead->begun) {
		pthread_mutex_unlock(&ahead->lock);
		return tcb_fail(err, TCB_E_FAILED, "no thread could be started to compile candidates");
	}
	while (job->state != DONE && !tcb_deadline_is_over(until) && !(stop && *stop)) {
		ahead->is_open = 1;
		pthread_cond_broadcast(&ahead->changed);
		wait_a_step(ahead);
	}
	ahead->is_open = 0;
	while (job->state == DONE && ahead->running[0] > 0 && !tcb_deadline_is_over(until) && !(stop && *stop))
		wait_a_step(ahead);
	*is_known_out = job->state == DONE && ahead->running[0] == 0;
	if (*is_known_out) {
		*out = job->end;
		forget(ahead, job);
	}
	pthread_mutex_unlock(&ahead->lock);
	return TCB_OK;
}

/* Locked. */
static void forget_all(struct tcb_ahead *ahead)
{
	atomic_store(&ahead->stop, 1);
	for (struct job *job = ahead->jobs; job; job = job->next)
		if (job->state == WAITING)
			job->state = DONE;
	while (ahead->running[0] + ahead->running[1] > 0)
		pthread_cond_wait(&ahead->changed, &ahead->lock);
	for (struct job *job = ahead->jobs, *next; job; job = next) {
		next = job->next;
		free(job);
	}
	ahead->jobs = NULL;
	atomic_store(&ahead->stop, 0);
}

void tcb_ahead_rest(struct tcb_ahead *ahead)
{
	pthread_mutex_lock(&ahead->lock);
	forget_all(ahead);
	pthread_mutex_unlock(&ahead->lock);
}

size_t tcb_ahead_count(const struct tcb_ahead *ahead)
{
	return 2 * (size_t)ahead->count + 1;
}

/* --- create, destroy --- */

/* As many as this process may keep busy, first those whose processors are none of PLACE's. */
static void count_threads(struct tcb_ahead *ahead, const struct tcb_place *place)
{
	const struct tcb_cpus *measured = tcb_cpus_of(place);

	CPU_ZERO(&ahead->apart);
	(void)sched_getaffinity(0, sizeof ahead->apart, &ahead->apart);
	for (unsigned i = 0; i < measured->count; i++)
		CPU_CLR((size_t)measured->list[i], &ahead->apart);
	ahead->count = (unsigned)tcb_least(tcb_granted_processors(), THREADS_MAX);
	ahead->apart_count = (unsigned)tcb_least((size_t)CPU_COUNT(&ahead->apart), ahead->count);
}

enum tcb_status tcb_ahead_create(const struct tcb_problem *problem, const struct tcb_place *place, double limit_s,
				 struct tcb_ahead **out, struct tcb_error *err)
{
	const struct tcb_side *side = tcb_op_side(problem->op, &place->device.target);
	pthread_condattr_t attributes;

	*out = NULL;
	if (!side || !side->build)
		return TCB_OK;
	struct tcb_ahead *ahead = calloc(1, sizeof *ahead);
	if (!ahead)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for compiling candidates");
	ahead->problem = *problem;
	ahead->limit_s = limit_s;
	count_threads(ahead, place);
	pthread_mutex_init(&ahead->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&ahead->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	*out = ahead;
	return TCB_OK;
}

void tcb_ahead_destroy(struct tcb_ahead *ahead)
{
	if (!ahead)
		return;
	pthread_mutex_lock(&ahead->lock);
	forget_all(ahead);
	ahead->is_over = 1;
	pthread_cond_broadcast(&ahead->changed);
	pthread_mutex_unlock(&ahead->lock);
	for (unsigned i = 0; i < ahead->begun; i++)
		pthread_join(ahead->compilers[i].thread, NULL);
	pthread_cond_destroy(&ahead->changed);
	pthread_mutex_destroy(&ahead->lock);
	free(ahead);
}
