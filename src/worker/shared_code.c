/* SPDX-License-Identifier: MIT
 *
 * In: geometries; out: their code, and that of the limits.
 */
#include "worker/shared_code.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/cgroup.h"
#include "kernels/compute_limit.h"
#include "kernels/limit.h"
#include "worker/verify.h"

enum { COMPILE_LIMIT_S = 30, LIMITS = 2 /* plain, and with dependent launch */ };

struct tcb_shared_code {
	pthread_mutex_t lock; /* over all that follows */
	size_t users;
	struct tcb_codes *codes;
	/* The limits; the thread's until it is joined. */
	struct tcb_problem problem;
	struct tcb_target target;
	pthread_t thread;
	int has_begun, has_thread;
	struct tcb_code_image *limits[LIMITS];
	struct tcb_error error;
	struct tcb_code_image *compute; /* made when it is first asked for */
};

enum tcb_status tcb_shared_code_create(const struct tcb_problem *problem, const struct tcb_target *target,
				       int wants_facts, struct tcb_shared_code **out, struct tcb_error *err)
{
	const unsigned processors = tcb_granted_processors();
	const struct tcb_codes_setup setup = {
		.problem = problem,
		.target = target,
		.workers = processors > 2 ? processors - 1 : 2,
		.seconds_limit = COMPILE_LIMIT_S,
		.wants_facts = wants_facts,
		.shapes_of = tcb_verify_gpu_shapes,
	};
	struct tcb_shared_code *shared = calloc(1, sizeof(*shared));
	if (!shared)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for compiling candidates");
	pthread_mutex_init(&shared->lock, NULL);
	shared->users = 1;
	shared->problem = *problem;
	shared->target = *target;
	const enum tcb_status status = tcb_codes_create(&setup, &shared->codes, err);
	if (status != TCB_OK) {
		tcb_shared_code_leave(shared);
		return status;
	}
	*out = shared;
	return TCB_OK;
}

void tcb_shared_code_use(struct tcb_shared_code *shared)
{
	pthread_mutex_lock(&shared->lock);
	shared->users++;
	pthread_mutex_unlock(&shared->lock);
}

/* Locked. */
static void end_limits(struct tcb_shared_code *shared)
{
	if (shared->has_thread)
		pthread_join(shared->thread, NULL);
	shared->has_thread = 0;
}

void tcb_shared_code_leave(struct tcb_shared_code *shared)
{
	if (!shared)
		return;
	pthread_mutex_lock(&shared->lock);
	const size_t left = --shared->users;
	if (left == 0)
		end_limits(shared);
	pthread_mutex_unlock(&shared->lock);
	if (left > 0)
		return;
	tcb_codes_destroy(shared->codes);
	for (int i = 0; i < LIMITS; i++)
		free(shared->limits[i]);
	free(shared->compute);
	pthread_mutex_destroy(&shared->lock);
	free(shared);
}

/* ---- candidates ---- */

size_t tcb_shared_code_ahead(struct tcb_shared_code *shared)
{
	return tcb_codes_ahead(shared->codes);
}

static void *make_limits(void *ctx)
{
	struct tcb_shared_code *shared = ctx;
	const int count = tcb_shared_code_has_overlap(shared) ? LIMITS : 1;
	shared->error.status = TCB_OK;
	for (int i = 0; i < count && shared->error.status == TCB_OK; i++)
		shared->error.status =
			tcb_limit_image(&shared->problem, &shared->target, i, &shared->limits[i], &shared->error);
	return NULL;
}

/* Locked.  The limits are a second of compiling that the finals are the first to need. */
static void begin_limits(struct tcb_shared_code *shared)
{
	if (shared->has_begun)
		return;
	shared->has_begun = 1;
	shared->has_thread = pthread_create(&shared->thread, NULL, make_limits, shared) == 0;
	if (!shared->has_thread)
		make_limits(shared);
}

enum tcb_status tcb_shared_code_want(struct tcb_shared_code *shared, const struct tcb_geometry *geometry,
				     struct tcb_error *err)
{
	pthread_mutex_lock(&shared->lock);
	const enum tcb_status status = tcb_codes_want(shared->codes, geometry, err);
	begin_limits(shared);
	pthread_mutex_unlock(&shared->lock);
	return status;
}

enum tcb_status tcb_shared_code_get(struct tcb_shared_code *shared, const struct tcb_geometry *geometry,
				    void (*use)(const struct tcb_code *code, void *ctx), void *ctx,
				    struct tcb_error *err)
{
	const struct tcb_code *code;
	pthread_mutex_lock(&shared->lock);
	const enum tcb_status status = tcb_codes_get(shared->codes, geometry, &code, err);
	if (status == TCB_OK)
		use(code, ctx);
	begin_limits(shared);
	pthread_mutex_unlock(&shared->lock);
	return status;
}

/* ---- limits ---- */

int tcb_shared_code_has_overlap(const struct tcb_shared_code *shared)
{
	return shared->target.cuda.capability >= 90;
}

enum tcb_status tcb_shared_code_limit(struct tcb_shared_code *shared, int overlap, const struct tcb_code_image **out,
				      struct tcb_error *err)
{
	pthread_mutex_lock(&shared->lock);
	begin_limits(shared);
	end_limits(shared);
	const struct tcb_error error = shared->error;
	*out = shared->limits[overlap != 0];
	pthread_mutex_unlock(&shared->lock);
	return error.status == TCB_OK ? TCB_OK : tcb_fail(err, error.status, "%s", error.message);
}

enum tcb_status tcb_shared_code_compute(struct tcb_shared_code *shared, const struct tcb_code_image **out,
					struct tcb_error *err)
{
	enum tcb_status status = TCB_OK;
	pthread_mutex_lock(&shared->lock);
	if (!shared->compute)
		status = tcb_compute_limit_image(&shared->problem, &shared->target, &shared->compute, err);
	*out = shared->compute;
	pthread_mutex_unlock(&shared->lock);
	return status;
}
