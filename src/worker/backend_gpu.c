/* SPDX-License-Identifier: MIT
 *
 * Candidates on a GPU of any kind.  The worker owns the device's session and memory and the reference; a fault may
 * spoil the session, so it is told to the tuner, who replaces the worker.  Each candidate is verified on the device at
 * small odd shapes and at the problem itself before it is timed.
 */
#include "worker/gpu_worker.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/sizes.h"
#include "base/stats.h"
#include "base/util.h"
#include "kernels/compute_limit.h"
#include "worker/run_gpu.h"

enum {
	HOST_THREADS = 16,    /* that compute references and compare outputs */
	OWN_CALLS = 64,       /* independent ones, each of which writes memory of its own */
	LIMIT_SAMPLES = 5,    /* of each kernel that may be the limit */
	COMPUTE_TRIES = 12,   /* to find how many steps a call of the compute limit has */
	COMPUTE_GROWTH = 100, /* of them, from one try to the next: a launch's own time is most of the first's */
	L2_MULTIPLE = 8,      /* of a rotation */
};

/* A call of the compute limit: long against its launch, and until clocks are what power and heat allow. */
static const double COMPUTE_NS = 4e6;

/* ---- set-up ---- */

static enum tcb_status create(const struct tcb_worker_config *config, void **self_out, struct tcb_error *err)
{
	struct tcb_gpu_worker *worker = calloc(1, sizeof *worker);
	const struct tcb_device *device = &config->place->device;
	const unsigned processors = tcb_granted_processors();
	if (!worker)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the worker");
	*self_out = worker;
	worker->config = config;
	tcb_rng_init(&worker->rng, config->seed);
	tcb_watch_phase(config->watch, 0, "starting the GPU");
	TCB_TRY(tcb_gpu_session_open(config->place, &worker->session, err));
	TCB_TRY(tcb_pool_create(processors < HOST_THREADS ? processors : HOST_THREADS, NULL, &worker->pool, err));
	worker->rotation_bytes = config->rotation_bytes;
	if (worker->rotation_bytes == 0) {
		worker->rotation_bytes = tcb_most(L2_MULTIPLE * device->target.l2_bytes,
						  worker->session.driver->rotation_least(config->place));
	}
	if (device->memory_bytes && worker->rotation_bytes > device->memory_bytes / 8)
		worker->rotation_bytes = device->memory_bytes / 8;
	tcb_watch_phase(config->watch, 0, "filling the operands");
	return tcb_gpu_case_create(worker, &config->problem, config->seed, &worker->full, err);
}

/* ---- the backend ---- */

static enum tcb_status attempt(void *self, const struct tcb_work *work, const struct tcb_screen_rule *rule,
			       struct tcb_trial_reply *reply, double *samples, double *lost, struct tcb_error *err)
{
	(void)lost; /* what others take of the processors is nothing to a GPU's events */
	return tcb_gpu_try(self, work, rule, reply, samples, err);
}

static void release(void *self)
{
	struct tcb_gpu_worker *worker = self;
	for (size_t i = 0; i < worker->runner_count; i++)
		tcb_gpu_runner_fini(&worker->runners[i]);
	tcb_gpu_runner_fini(&worker->limit);
	tcb_gpu_own_fini(&worker->session, &worker->own);
	for (size_t i = 0; i < worker->image_count; i++)
		free(worker->images[i]);
	free(worker->runners);
	free(worker->images);
	worker->runners = NULL;
	worker->images = NULL;
	worker->runner_count = worker->image_count = 0;
	worker->compute_share = 0;
}

/* The request goes after it was served: the runners lend from a copy, aligned as the request need not be. */
static struct tcb_code_image *keep(struct tcb_gpu_worker *worker, const struct tcb_work *work, struct tcb_error *err)
{
	void *copy = work->code ? malloc(work->code_bytes) : NULL;
	if (copy)
		memcpy(copy, work->code, work->code_bytes);
	worker->images[worker->image_count++] = copy;
	if (copy && tcb_code_image_valid(worker->session.driver->language, copy, work->code_bytes))
		return copy;
	tcb_fail(err, copy ? TCB_E_FORMAT : TCB_E_NOMEM, "a finalist without usable code");
	return NULL;
}

static enum tcb_status load_finalist(struct tcb_gpu_worker *worker, const struct tcb_code_image *image, size_t unit,
				     struct tcb_gpu_runner *runner, struct tcb_error *err)
{
	enum tcb_gpu_fault what;
	char why[256];
	double pack_ns;
	enum tcb_status status = tcb_gpu_runner_init(runner, &worker->session, image, unit, &what, why, err);
	if (status == TCB_OK && what == TCB_GPU_FINE)
		status = tcb_gpu_record(worker, runner, worker->state, TCB_GPU_FINALIST, &pack_ns, &what, why, err);
	const int lost = tcb_gpu_is_lost(worker, status);
	if (!lost && (status != TCB_OK || what == TCB_GPU_FINE))
		return status;
	/* The context is of no use any more; the tuner sees a death and lays it at the subject's door. */
	fprintf(stderr, "%s\n", lost ? err->message : why);
	_exit(1);
}

/* Of the kernels that the image holds, the one that reads fastest. */
static enum tcb_status load_limit(struct tcb_gpu_worker *worker, const struct tcb_code_image *image, char method[64],
				  struct tcb_error *err)
{
	double best = 0;
	for (size_t unit = 0; unit < image->unit_count; unit++) {
		struct tcb_gpu_runner runner;
		char why[256];
		double least = 0;
		TCB_TRY(load_finalist(worker, image, unit, &runner, err));
		for (int i = 0; i < LIMIT_SAMPLES; i++) {
			double ns = tcb_gpu_sample(&runner, worker->state, why);
			least = i == 0 || ns < least ? ns : least;
		}
		if (unit > 0 && least >= best) {
			tcb_gpu_runner_fini(&runner);
			continue;
		}
		tcb_gpu_runner_fini(&worker->limit);
		worker->limit = runner;
		best = least;
		snprintf(method, 64, "%.60s", image->unit[unit].launch[0].entry);
	}
	return TCB_OK;
}

/* The first candidate, of IMAGE, whose calls do not wait for each other. */
static enum tcb_status load_independent(struct tcb_gpu_worker *worker, const struct tcb_code_image *image,
					char method[64], struct tcb_error *err)
{
	const enum tcb_layout layout = (enum tcb_layout)image->unit[0].layout;
	enum tcb_gpu_fault what = TCB_GPU_FINE;
	char why[256] = "";
	double pack_ns;

	TCB_TRY(tcb_gpu_runner_init(&worker->limit, &worker->session, image, 0, &what, why, err));
	if (what == TCB_GPU_FINE)
		TCB_TRY(tcb_gpu_record(worker, &worker->limit, worker->state, TCB_GPU_FINALIST, &pack_ns, &what, why,
				       err));
	if (what == TCB_GPU_FINE)
		TCB_TRY(tcb_gpu_runner_record_independent(&worker->limit, worker->full.memory, layout,
							  tcb_gpu_copies(worker, worker->limit.unit, worker->state),
							  worker->limit.calls < OWN_CALLS ? worker->limit.calls
											  : OWN_CALLS,
							  &worker->own, &what, why, err));
	snprintf(method, 64, "%.60s", image->unit[0].launch[0].entry);
	if (what == TCB_GPU_FINE)
		return TCB_OK;
	fprintf(stderr, "%s\n", why);
	_exit(1);
}

/* RUNNER with UNIT's steps so many that a call takes about COMPUTE_NS; how long the fastest of a few takes. */
static enum tcb_gpu_fault ready_compute(struct tcb_gpu_worker *worker, struct tcb_gpu_runner *runner,
					struct tcb_code_unit *unit, double *ns_out, char why[256])
{
	const struct tcb_gpu_buffer operand[TCB_OPERANDS_MAX] = { { 0 } };
	enum tcb_gpu_fault what = TCB_GPU_FINE;
	double ns = 0, steps = 1;
	for (int i = 0; i < COMPUTE_TRIES && what == TCB_GPU_FINE && ns < COMPUTE_NS / 2; i++) {
		steps *= ns > 0 ? fmin(fmax(COMPUTE_NS / ns, 2), COMPUTE_GROWTH) : 1;
		tcb_code_set_steps(unit, steps);
		what = tcb_gpu_runner_once(runner, operand, &ns, why);
	}
	if (what == TCB_GPU_FINE)
		what = tcb_gpu_runner_record(runner, worker->full.memory, TCB_LAYOUT_NATIVE, 1, 1, why);
	*ns_out = INFINITY;
	for (int i = 0; i < LIMIT_SAMPLES && what == TCB_GPU_FINE; i++) {
		ns = tcb_gpu_runner_sample(runner, why);
		what = ns < 0 ? TCB_GPU_CRASHED : what;
		*ns_out = fmin(ns, *ns_out);
	}
	return what;
}

/* Of the instructions that the image holds, the one that does most operations in a time. */
static enum tcb_status load_compute(struct tcb_gpu_worker *worker, struct tcb_code_image *image, char method[64],
				    struct tcb_error *err)
{
	const double wanted =
		tcb_compute_need(&worker->config->problem, &worker->config->place->device.target).operations;
	const size_t unpacked[TCB_OPERANDS_MAX] = { 0 };
	double best = 0, pack_ns;
	/* What a runner is recorded on, though these kernels touch no operand. */
	TCB_TRY(tcb_gpu_memory_need(worker->full.memory, TCB_LAYOUT_NATIVE, unpacked, 1, &pack_ns, err));
	for (size_t i = 0; i < image->unit_count; i++) {
		struct tcb_code_unit *unit = &image->unit[i];
		struct tcb_gpu_runner runner;
		enum tcb_gpu_fault what;
		char why[256];
		double ns = 0;
		TCB_TRY(tcb_gpu_runner_init(&runner, &worker->session, image, i, &what, why, err));
		if (what == TCB_GPU_FINE)
			what = ready_compute(worker, &runner, unit, &ns, why);
		if (what != TCB_GPU_FINE) {
			fprintf(stderr, "%s\n", why);
			_exit(1);
		}
		const double rate = tcb_code_operations(unit) / ns;
		if (i > 0 && rate <= best) {
			tcb_gpu_runner_fini(&runner);
			continue;
		}
		tcb_gpu_runner_fini(&worker->limit);
		worker->limit = runner;
		worker->compute_share = wanted / tcb_code_operations(unit);
		best = rate;
		snprintf(method, 64, "%.60s", unit->launch[0].entry);
	}
	return TCB_OK;
}

static enum tcb_status prepare(void *self, enum tcb_state state, const struct tcb_work *work, size_t count,
			       enum tcb_limit limit, char limit_method[64], struct tcb_error *err)
{
	struct tcb_gpu_worker *worker = self;
	struct tcb_code_image *image;
	release(worker);
	worker->state = state;
	worker->runners = calloc(count + 1, sizeof *worker->runners);
	worker->images = calloc(count + 1, sizeof *worker->images);
	if (!worker->runners || !worker->images)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu finalists", count);
	for (size_t i = 0; i < count; i++) {
		tcb_watch_subject(worker->config->watch, 0, (unsigned)i);
		if (!(image = keep(worker, &work[i], err)))
			return TCB_E_FORMAT;
		worker->runner_count = i + 1;
		TCB_TRY(load_finalist(worker, image, 0, &worker->runners[i], err));
	}
	tcb_watch_subject(worker->config->watch, 0, TCB_WATCH_NOBODY);
	if (limit == TCB_LIMIT_NONE)
		return TCB_OK;
	if (limit == TCB_LIMIT_INDEPENDENT && count > 0)
		return load_independent(worker, worker->images[0], limit_method, err);
	if (!(image = keep(worker, &work[count], err)))
		return TCB_E_FORMAT;
	return limit == TCB_LIMIT_COMPUTE ? load_compute(worker, image, limit_method, err)
					  : load_limit(worker, image, limit_method, err);
}

/* A candidate faulted: its last words are WHY. */
static _Noreturn void die(const char *why)
{
	fprintf(stderr, "%s\n", why);
	_exit(1);
}

static enum tcb_status time_one(void *self, uint32_t index, double *ns_out, struct tcb_error *err)
{
	struct tcb_gpu_worker *worker = self;
	char why[256] = "";
	(void)err;
	int is_limit = index == TCB_ROUND_LIMIT;
	tcb_watch_subject(worker->config->watch, !is_limit, is_limit ? TCB_WATCH_NOBODY : index);
	if (is_limit && worker->compute_share > 0)
		*ns_out = worker->compute_share * tcb_gpu_sample(&worker->limit, TCB_HOT, why);
	else
		*ns_out = tcb_gpu_sample(is_limit ? &worker->limit : &worker->runners[index], worker->state, why);
	if (*ns_out < 0)
		die(why);
	return TCB_OK;
}

/* Without writing over the last cache before each sample: that would be metered, too. */
static enum tcb_status go_on(void *self, size_t *calls_out, struct tcb_error *err)
{
	struct tcb_gpu_runner *runner = ((struct tcb_gpu_worker *)self)->runners;
	char why[256] = "";
	(void)err;
	runner->flush.bytes = 0;
	if (tcb_gpu_runner_sample(runner, why) < 0)
		die(why);
	*calls_out = runner->calls;
	return TCB_OK;
}

/* ---- counters ---- */

static enum tcb_status count_recorded(struct tcb_gpu_worker *worker, struct tcb_gpu_runner *runner,
				      enum tcb_state state, unsigned calls, struct tcb_counter *out, size_t capacity,
				      size_t *count_out, struct tcb_error *err)
{
	const size_t copies = tcb_gpu_copies(worker, runner->unit, state);
	struct tcb_gpu_buffer(*operands)[TCB_OPERANDS_MAX] = calloc(copies, sizeof *operands);
	if (!operands)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu copies", copies);
	for (size_t i = 0; i < copies; i++)
		tcb_gpu_memory_operands(worker->full.memory, (enum tcb_layout)runner->unit->layout, i, operands[i]);
	tcb_watch_phase(worker->config->watch, 1, "counting events, %s", tcb_state_text(state));
	enum tcb_status status = worker->session.driver->count(runner, worker->config->place, operands, copies, calls,
							       out, capacity, count_out, err);
	free(operands);
	return status;
}

static enum tcb_status count_events(void *self, const struct tcb_work *work, enum tcb_state state, unsigned calls,
				    struct tcb_counter *out, size_t capacity, size_t *count_out, struct tcb_error *err)
{
	struct tcb_gpu_worker *worker = self;
	struct tcb_gpu_runner runner = { .session = NULL };
	enum tcb_gpu_fault what = TCB_GPU_FINE;
	char why[256];
	double pack_ns;
	*count_out = 0;
	if (!worker->session.driver->count)
		return TCB_OK;
	if (!tcb_code_image_valid(worker->session.driver->language, work->code, work->code_bytes))
		return tcb_fail(err, TCB_E_FORMAT, "a candidate without usable code");
	enum tcb_status status = tcb_gpu_runner_init(&runner, &worker->session, work->code, 0, &what, why, err);
	if (status == TCB_OK && what == TCB_GPU_FINE)
		status = tcb_gpu_record(worker, &runner, state, TCB_GPU_FINALIST, &pack_ns, &what, why, err);
	if (status == TCB_OK && what == TCB_GPU_FINE)
		status = count_recorded(worker, &runner, state, calls, out, capacity, count_out, err);
	for (size_t i = 0; i < *count_out; i++)
		out[i].state = state;
	tcb_gpu_runner_fini(&runner);
	return status;
}

#define GPU_BACKEND(seconds)                                                                                        \
	{                                                                                                           \
		.timeout_s = (seconds), .create = create, .attempt = attempt, .prepare = prepare, .time = time_one, \
		.go_on = go_on, .release = release, .count = count_events, .run = tcb_run_gpu,                      \
	}
const struct tcb_backend tcb_backend_cuda = GPU_BACKEND(4);
/* Their drivers compile, too; and they may be processors. */
const struct tcb_backend tcb_backend_wgpu = GPU_BACKEND(20), tcb_backend_opencl = GPU_BACKEND(20);
