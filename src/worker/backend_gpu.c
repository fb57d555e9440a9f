/* SPDX-License-Identifier: MIT
 *
 * Candidates on a GPU of any kind.  The worker owns the device's session and memory and the reference; a fault may
 * spoil the session, so it is told to the tuner, who replaces the worker.  Each candidate is verified on the device at
 * small odd shapes and at the problem itself before it is timed.
 */
#include "worker/backend.h"

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
#include "worker/gpu_runner.h"
#include "worker/judge.h"
#include "worker/look_again.h"
#include "worker/measure.h"
#include "worker/run_gpu.h"

enum {
	CASES_MAX = 24,       /* small instances kept */
	HOST_THREADS = 16,    /* that compute references and compare outputs */
	COPIES_MIN = 4,       /* of a rotation, however large one copy is */
	COPIES_MAX = 512,     /* however small: a graph of more calls takes longer to make than to run */
	CALLS_MIN = 32,       /* in a graph, where calls are short */
	OWN_CALLS = 64,       /* independent ones, each of which writes memory of its own */
	HOT_CALLS = 64,       /* the first finds the L2 cold, and a run before the sample sees to that */
	LIMIT_SAMPLES = 5,    /* of each kernel that may be the limit */
	COMPUTE_TRIES = 12,   /* to find how many steps a call of the compute limit has */
	COMPUTE_GROWTH = 100, /* of them, from one try to the next: a launch's own time is most of the first's */
	L2_MULTIPLE = 8,      /* of a rotation */
	FLUSH_MULTIPLE = 2,   /* of what drives a rotation that is smaller out of the L2 */
};

/* So long a graph needs no more calls: what lies between two of them, and the clock, are thousandths of it. */
static const double GRAPH_NS = 4e6;
/* In the screening a sample need not be as good: a hundredth of it is what lies between two. */
static const double SCREEN_NS = 1e6;
/* Of a single call that is shorter, its launch is much. */
static const double LOOK_FROM_NS = 200e3;
/* A call of the compute limit: long against its launch, and until clocks are what power and heat allow. */
static const double COMPUTE_NS = 4e6;

/* A problem on the host and on the device. */
struct gpu_case {
	struct tcb_instance *instance;
	struct tcb_gpu_memory *memory;
};

struct gpu_worker {
	const struct tcb_worker_config *config;
	struct tcb_gpu_session session;
	struct tcb_pool *pool; /* of host threads */
	struct gpu_case full;
	struct gpu_case small[CASES_MAX]; /* a ring */
	size_t small_count, small_next;
	size_t rotation_bytes;
	struct tcb_gpu_buffer flush;             /* made when first needed */
	struct tcb_rng rng;                      /* of samples of outputs */
	struct tcb_buffer got[TCB_OPERANDS_MAX]; /* outputs on the host */
	/* prepared */
	enum tcb_state state;
	struct tcb_gpu_runner *runners;
	size_t runner_count;
	struct tcb_gpu_runner limit;
	struct tcb_gpu_own own; /* of its calls, where they are independent */
	/* Of the compute limit: what the op's operations are of those of one call; 0 of the other limits. */
	double compute_share;
	void **images; /* owned copies of the codes that the runners lend; the limit's last */
	size_t image_count;
};

/* ---- set-up ---- */

static enum tcb_status make_case(struct gpu_worker *worker, const struct tcb_problem *problem, uint64_t seed,
				 struct gpu_case *out, struct tcb_error *err)
{
	TCB_TRY(tcb_instance_create(worker->config->op, problem, seed, worker->pool, &out->instance, err));
	if (out == &worker->full) {
		out->instance->draw = worker->config->draw;
		out->instance->shared = worker->config->reference;
	}
	enum tcb_status status = tcb_gpu_memory_create(&worker->session, out->instance, &out->memory, err);
	if (status != TCB_OK) {
		tcb_instance_destroy(out->instance);
		out->instance = NULL;
	}
	return status;
}

static enum tcb_status create(const struct tcb_worker_config *config, void **self_out, struct tcb_error *err)
{
	struct gpu_worker *worker = calloc(1, sizeof *worker);
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
	return make_case(worker, &config->problem, config->seed, &worker->full, err);
}

static enum tcb_status small_case(struct gpu_worker *worker, const struct tcb_shape *shape, struct gpu_case **out,
				  struct tcb_error *err)
{
	for (size_t i = 0; i < worker->small_count; i++) {
		const struct tcb_shape *known = &worker->small[i].instance->problem.shape;
		if (tcb_shape_equal(known, shape)) {
			*out = &worker->small[i];
			return TCB_OK;
		}
	}
	struct gpu_case made;
	struct tcb_problem problem = worker->config->problem;
	problem.shape = *shape;
	uint64_t seed = worker->config->seed + 0x9e3779b97f4a7c15u * (shape->m + 131 * shape->n + 65537 * shape->k);
	TCB_TRY(make_case(worker, &problem, seed, &made, err));
	size_t at = worker->small_count < CASES_MAX ? worker->small_count++ : worker->small_next++ % CASES_MAX;
	tcb_gpu_memory_destroy(worker->small[at].memory);
	tcb_instance_destroy(worker->small[at].instance);
	worker->small[at] = made;
	*out = &worker->small[at];
	return TCB_OK;
}

/* ---- verification ---- */

static void fault(struct tcb_trial_reply *reply, enum tcb_gpu_fault what, const char *why)
{
	reply->outcome = what == TCB_GPU_CRASHED   ? TCB_OUTCOME_CRASHED
			 : what == TCB_GPU_NO_CODE ? TCB_OUTCOME_COMPILE_FAILED
						   : TCB_OUTCOME_LAUNCH_FAILED;
	reply->damaged |= what == TCB_GPU_CRASHED; /* the context is lost */
	snprintf(reply->message, sizeof reply->message, "%.*s", (int)sizeof reply->message - 1, why);
}

/* Whether what failed with STATUS failed since the device is gone. */
static int is_lost(const struct gpu_worker *worker, enum tcb_status status)
{
	const struct tcb_gpu_driver *driver = worker->session.driver;
	return status != TCB_OK && driver->is_lost && driver->is_lost(worker->session.own);
}

/* Compares the outputs on the device with the reference. */
static enum tcb_status judge(struct gpu_worker *worker, const struct gpu_case *where, const struct tcb_code_unit *unit,
			     const char *when, struct tcb_trial_reply *reply, struct tcb_error *err)
{
	void *got[TCB_OPERANDS_MAX];
	TCB_TRY(tcb_gpu_memory_outputs(where->memory, worker->got, err));
	for (size_t i = 0; i < TCB_OPERANDS_MAX; i++)
		got[i] = worker->got[i].data;
	struct tcb_plan bound = { .chain = unit->chain, .ulps = unit->ulps };
	struct tcb_check check = { .outcome = TCB_OUTCOME_OK };
	TCB_TRY(tcb_judge_bound(where->instance, &bound, got, worker->pool, when, &check, err));
	if (check.outcome != TCB_OUTCOME_OK || check.error_ratio > reply->error_ratio)
		memcpy(reply->message, check.message, sizeof reply->message);
	if (check.error_ratio > reply->error_ratio)
		reply->error_ratio = check.error_ratio;
	if (check.outcome != TCB_OUTCOME_OK)
		reply->outcome = check.outcome;
	return TCB_OK;
}

/* The same of what a candidate whose first outputs were right leaves in later calls. */
static enum tcb_status again(struct gpu_worker *worker, const struct gpu_case *where, const struct tcb_code_unit *unit,
			     const char *when, struct tcb_trial_reply *reply, struct tcb_error *err)
{
	int is_same;
	TCB_TRY(tcb_look_again(where->instance, &(struct tcb_plan){ .chain = unit->chain, .ulps = unit->ulps },
			       &worker->rng, tcb_gpu_memory_fetch, where->memory, &is_same, err));
	return is_same ? TCB_OK : judge(worker, where, unit, when, reply, err);
}

/* Twice on a poisoned output: the second call finds the workspace as the first left it. */
static enum tcb_status check_runs(struct gpu_worker *worker, const struct gpu_case *where,
				  struct tcb_gpu_runner *runner, struct tcb_trial_reply *reply, struct tcb_error *err)
{
	char shape[TCB_SHAPE_TEXT_MAX], why[256];
	struct tcb_gpu_buffer operand[TCB_OPERANDS_MAX];
	enum tcb_layout layout = (enum tcb_layout)runner->unit->layout;
	const char *outside = NULL;
	tcb_shape_print(&where->instance->problem.shape, shape);
	tcb_gpu_memory_operands(where->memory, layout, 0, operand);
	for (int call = 0; call < 2 && reply->outcome == TCB_OUTCOME_OK; call++) {
		TCB_TRY(tcb_gpu_memory_poison(where->memory, err));
		tcb_watch_phase(worker->config->watch, 1, "verifying %s", shape);
		enum tcb_gpu_fault what = tcb_gpu_runner_call(runner, operand, call, why);
		if (what == TCB_GPU_FINE)
			what = tcb_gpu_wait(runner->session, why);
		tcb_watch_phase(worker->config->watch, 0, "comparing %s with the reference", shape);
		if (what != TCB_GPU_FINE) {
			fault(reply, what, why);
			return TCB_OK;
		}
		TCB_TRY((call == 0 ? judge : again)(worker, where, runner->unit, "", reply, err));
	}
	if (reply->outcome != TCB_OUTCOME_OK)
		return TCB_OK;
	TCB_TRY(tcb_gpu_memory_check(where->memory, layout, &outside, err));
	int damaged = 0;
	if (!outside && runner->workspace.base)
		TCB_TRY(tcb_gpu_buffer_check(runner->session, &runner->workspace, &damaged, err));
	if (outside || damaged) {
		reply->outcome = TCB_OUTCOME_WRONG;
		reply->damaged = 1;
		snprintf(reply->message, sizeof reply->message, "at %s wrote outside of %s (guard zone)", shape,
			 outside ? outside : "its workspace");
	}
	return TCB_OK;
}

/* ---- measuring ---- */

static size_t copies_for(const struct gpu_worker *worker, const struct tcb_code_unit *unit, enum tcb_state state)
{
	if (state == TCB_HOT)
		return 1;
	size_t bytes = tcb_gpu_memory_streamed(worker->full.memory, unit->packed_bytes);
	size_t copies = bytes ? (worker->rotation_bytes + bytes - 1) / bytes : 1;
	return copies < COPIES_MIN ? COPIES_MIN : copies > COPIES_MAX ? COPIES_MAX : copies;
}

/* COPIES that do not reach beyond the L2 are driven out of it before each sample. */
static enum tcb_status need_flush(struct gpu_worker *worker, struct tcb_gpu_runner *runner, size_t copies,
				  struct tcb_error *err)
{
	const size_t l2 = worker->config->place->device.target.l2_bytes;
	const size_t bytes = tcb_gpu_memory_streamed(worker->full.memory, runner->unit->packed_bytes);
	if (copies < COPIES_MAX || copies * bytes >= worker->rotation_bytes || !l2)
		return TCB_OK;
	if (!worker->flush.bytes)
		TCB_TRY(tcb_gpu_buffer_alloc(&worker->session, FLUSH_MULTIPLE * l2, &worker->flush, err));
	runner->flush = worker->flush;
	return TCB_OK;
}

/* How many calls of NS each a graph of GRAPH_NS is to have, MOST where they are short. */
static size_t calls_for(double graph_ns, double ns, size_t most)
{
	const double calls = ns > 0 ? ceil(graph_ns / ns) : (double)most;
	return calls < (double)most ? (size_t)calls : most;
}

/* RUNNER's graph for STATE, of about GRAPH_NS: whole turns of the rotation, unless its driver goes on with it. */
static enum tcb_status record(struct gpu_worker *worker, struct tcb_gpu_runner *runner, enum tcb_state state,
			      double graph_ns, double *pack_ns, enum tcb_gpu_fault *fault_out, char why[256],
			      struct tcb_error *err)
{
	enum tcb_layout layout = (enum tcb_layout)runner->unit->layout;
	size_t copies = copies_for(worker, runner->unit, state);
	struct tcb_gpu_buffer operand[TCB_OPERANDS_MAX];
	double ns;
	tcb_watch_phase(worker->config->watch, 0, "copying the operands to measure on");
	TCB_TRY(tcb_gpu_memory_need(worker->full.memory, layout, runner->unit->packed_bytes, copies, pack_ns, err));
	runner->flush.bytes = 0;
	if (state == TCB_COLD)
		TCB_TRY(need_flush(worker, runner, copies, err));
	tcb_watch_phase(worker->config->watch, 1, "measuring %s", tcb_state_text(state));
	tcb_gpu_memory_operands(worker->full.memory, layout, 0, operand);
	*fault_out = tcb_gpu_runner_once(runner, operand, &ns, why);
	if (*fault_out != TCB_GPU_FINE)
		return TCB_OK;
	size_t calls = calls_for(graph_ns, ns, state == TCB_COLD ? CALLS_MIN : HOT_CALLS);
	if (state == TCB_COLD && !runner->session->driver->goes_on)
		calls = (calls + copies - 1) / copies * copies;
	*fault_out = tcb_gpu_runner_record(runner, worker->full.memory, layout, copies, calls, why);
	return TCB_OK;
}

static double sample(const struct gpu_worker *worker, struct tcb_gpu_runner *runner, enum tcb_state state,
		     char why[256])
{
	(void)worker;
	if (state == TCB_HOT && tcb_gpu_runner_sample(runner, why) < 0) /* what others left in the L2 goes */
		return -1;
	return tcb_gpu_runner_sample(runner, why);
}

/* Samples of RUNNER until they are enough; how many. */
static size_t take_samples(struct gpu_worker *worker, struct tcb_gpu_runner *runner, enum tcb_state state,
			   const struct tcb_screen_rule *rule, double *samples, int *dropped_out,
			   enum tcb_gpu_fault *fault_out, char why[256])
{
	const double warm = sample(worker, runner, state, why);
	size_t count = 0;
	*dropped_out = 0;
	if (warm < 0)
		*fault_out = TCB_GPU_CRASHED;
	while (*fault_out == TCB_GPU_FINE && count < rule->samples_max && !*dropped_out) {
		const double ns = tcb_gpu_runner_sample(runner, why); /* nobody else ran since the last */
		if (ns < 0) {
			*fault_out = TCB_GPU_CRASHED;
			break;
		}
		samples[count++] = ns;
		*dropped_out = tcb_measure_has_lost(samples, count, warm, rule->lose_ns[state], rule->over[state]);
		const struct tcb_interval interval = tcb_median_interval(samples, count);
		if (tcb_measure_is_enough(&interval, count, rule))
			break;
	}
	return count;
}

static void add_measurement(struct tcb_trial_reply *reply, enum tcb_state state, size_t samples, int dropped)
{
	reply->measurements[reply->measurement_count].state = state;
	reply->measurements[reply->measurement_count].sample_count = samples;
	reply->measurements[reply->measurement_count].dropped_early = (uint32_t)dropped;
	reply->measurement_count++;
}

/* Times RUNNER, the problem's own, in one state; SAMPLES has room for rule->samples_max more. */
static enum tcb_status measure(struct gpu_worker *worker, struct tcb_gpu_runner *runner, enum tcb_state state,
			       const struct tcb_screen_rule *rule, double *samples, struct tcb_trial_reply *reply,
			       struct tcb_error *err)
{
	enum tcb_gpu_fault what = TCB_GPU_FINE;
	char why[256] = "";
	double pack_ns = 0;
	size_t count = 0;
	int dropped = 0;
	uint64_t since = tcb_clock_ns();
	TCB_TRY(record(worker, runner, state, SCREEN_NS, &pack_ns, &what, why, err));
	tcb_spend(&reply->prepare_ns, &since);
	if (what == TCB_GPU_FINE)
		count = take_samples(worker, runner, state, rule, samples, &dropped, &what, why);
	tcb_watch_phase(worker->config->watch, 0, "comparing the output after measuring");
	since = tcb_clock_ns();
	if (what != TCB_GPU_FINE) {
		fault(reply, what, why);
		return TCB_OK;
	}
	add_measurement(reply, state, count, dropped);
	reply->pack_ns = pack_ns;
	/* What the timed launches left, which overlapped each other. */
	TCB_TRY(tcb_gpu_runner_begin_anew(runner, worker->full.memory, worker->full.instance, &what, why, err));
	if (what != TCB_GPU_FINE)
		fault(reply, what, why);
	else
		TCB_TRY(again(worker, &worker->full, runner->unit, "in the timed runs", reply, err));
	tcb_spend(&reply->verify_ns, &since);
	return TCB_OK;
}

/* Has RUNNER, which was right, lost in every state by a few single calls?  Then these are its samples. */
static int lost_at_a_look(struct gpu_worker *worker, struct tcb_gpu_runner *runner, const struct tcb_screen_rule *rule,
			  struct tcb_trial_reply *reply, double *samples)
{
	const unsigned states = worker->config->states;
	struct tcb_gpu_buffer operand[TCB_OPERANDS_MAX];
	double calls[TCB_LOOK_CALLS];
	enum tcb_look found = TCB_LOOK_ON;
	enum tcb_gpu_fault what;
	char why[256];
	size_t count = 0, used = 0;
	tcb_gpu_memory_operands(worker->full.memory, (enum tcb_layout)runner->unit->layout, 0, operand);
	tcb_watch_phase(worker->config->watch, 1, "looking how long a call is");
	while (found == TCB_LOOK_ON) {
		what = tcb_gpu_runner_once(runner, operand, &calls[count++], why);
		if (what != TCB_GPU_FINE) {
			fault(reply, what, why);
			return 1;
		}
		found = calls[0] < LOOK_FROM_NS ? TCB_LOOK_OVER : tcb_measure_look(calls, count, states, rule);
	}
	for (int state = 0; found == TCB_LOOK_LOST && state < TCB_STATE_COUNT; state++) {
		if (!(states >> state & 1u))
			continue;
		memcpy(samples + used, calls + 1, (count - 1) * sizeof *samples);
		used += count - 1;
		add_measurement(reply, (enum tcb_state)state, count - 1, 1);
	}
	return found == TCB_LOOK_LOST;
}

/* ---- the backend ---- */

/* Unit INDEX of IMAGE in WHERE: its kernel into RUNNER, to be finished whatever comes back, and whether it is right. */
static enum tcb_status check_unit(struct gpu_worker *worker, const struct tcb_code_image *image, size_t index,
				  const struct gpu_case *where, struct tcb_gpu_runner *runner,
				  struct tcb_trial_reply *reply, struct tcb_error *err)
{
	const struct tcb_code_unit *unit = &image->unit[index];
	enum tcb_gpu_fault what = TCB_GPU_FINE;
	char why[256];
	double pack_ns;
	uint64_t since = tcb_clock_ns();
	TCB_TRY(tcb_gpu_memory_need(where->memory, (enum tcb_layout)unit->layout, unit->packed_bytes, 1, &pack_ns,
				    err));
	TCB_TRY(tcb_gpu_runner_init(runner, &worker->session, image, index, &what, why, err));
	tcb_spend(&reply->prepare_ns, &since);
	if (what != TCB_GPU_FINE)
		fault(reply, what, why);
	else
		TCB_TRY(check_runs(worker, where, runner, reply, err));
	tcb_spend(&reply->verify_ns, &since);
	return TCB_OK;
}

static enum tcb_status check_small(struct gpu_worker *worker, const struct tcb_code_image *image, size_t index,
				   struct tcb_trial_reply *reply, struct tcb_error *err)
{
	struct tcb_gpu_runner runner = { .session = NULL };
	struct gpu_case *where;
	TCB_TRY(small_case(worker, &image->unit[index].shape, &where, err));
	const enum tcb_status status = check_unit(worker, image, index, where, &runner, reply, err);
	tcb_gpu_runner_fini(&runner);
	return status;
}

/* The problem itself: what is right, and not lost at once, is measured. */
static enum tcb_status try_full(struct gpu_worker *worker, const struct tcb_code_image *image,
				struct tcb_gpu_runner *runner, const struct tcb_screen_rule *rule,
				struct tcb_trial_reply *reply, double *samples, struct tcb_error *err)
{
	size_t used = 0;
	TCB_TRY(check_unit(worker, image, 0, &worker->full, runner, reply, err));
	if (reply->outcome != TCB_OUTCOME_OK || lost_at_a_look(worker, runner, rule, reply, samples))
		return TCB_OK;
	for (int state = 0; state < TCB_STATE_COUNT && reply->outcome == TCB_OUTCOME_OK; state++) {
		if (!(worker->config->states >> state & 1u))
			continue;
		TCB_TRY(measure(worker, runner, (enum tcb_state)state, rule, samples + used, reply, err));
		if (reply->measurement_count > 0)
			used += reply->measurements[reply->measurement_count - 1].sample_count;
	}
	return TCB_OK;
}

static enum tcb_status try_image(struct gpu_worker *worker, const struct tcb_code_image *image,
				 const struct tcb_screen_rule *rule, struct tcb_trial_reply *reply, double *samples,
				 struct tcb_error *err)
{
	struct tcb_gpu_runner runner = { .session = NULL };
	reply->outcome = TCB_OUTCOME_OK;
	reply->class_checked = image->unit[0].class;
	/* The small ones first: they are cut at every edge. */
	for (size_t i = image->unit_count; i-- > 1 && reply->outcome == TCB_OUTCOME_OK;)
		TCB_TRY(check_small(worker, image, i, reply, err));
	if (reply->outcome != TCB_OUTCOME_OK)
		return TCB_OK;
	const enum tcb_status status = try_full(worker, image, &runner, rule, reply, samples, err);
	tcb_gpu_runner_fini(&runner);
	return status;
}

static enum tcb_status attempt(void *self, const struct tcb_work *work, const struct tcb_screen_rule *rule,
			       struct tcb_trial_reply *reply, double *samples, double *lost, struct tcb_error *err)
{
	(void)lost; /* what others take of the processors is nothing to a GPU's events */
	struct gpu_worker *worker = self;
	if (!tcb_code_image_valid(worker->session.driver->language, work->code, work->code_bytes))
		return tcb_fail(err, TCB_E_FORMAT, "a candidate without usable code");
	struct tcb_error why;
	const enum tcb_status status = try_image(worker, work->code, rule, reply, samples, &why);
	if (is_lost(worker, status))
		fault(reply, TCB_GPU_CRASHED, why.message);
	else if (status != TCB_OK)
		return tcb_fail(err, status, "%s", why.message);
	tcb_say_drawn(worker->config, reply);
	return TCB_OK;
}

static void release(void *self)
{
	struct gpu_worker *worker = self;
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
static struct tcb_code_image *keep(struct gpu_worker *worker, const struct tcb_work *work, struct tcb_error *err)
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

static enum tcb_status load_finalist(struct gpu_worker *worker, const struct tcb_code_image *image, size_t unit,
				     struct tcb_gpu_runner *runner, struct tcb_error *err)
{
	enum tcb_gpu_fault what;
	char why[256];
	double pack_ns;
	enum tcb_status status = tcb_gpu_runner_init(runner, &worker->session, image, unit, &what, why, err);
	if (status == TCB_OK && what == TCB_GPU_FINE)
		status = record(worker, runner, worker->state, GRAPH_NS, &pack_ns, &what, why, err);
	const int lost = is_lost(worker, status);
	if (!lost && (status != TCB_OK || what == TCB_GPU_FINE))
		return status;
	/* The context is of no use any more; the tuner sees a death and lays it at the subject's door. */
	fprintf(stderr, "%s\n", lost ? err->message : why);
	_exit(1);
}

/* Of the kernels that the image holds, the one that reads fastest. */
static enum tcb_status load_limit(struct gpu_worker *worker, const struct tcb_code_image *image, char method[64],
				  struct tcb_error *err)
{
	double best = 0;
	for (size_t unit = 0; unit < image->unit_count; unit++) {
		struct tcb_gpu_runner runner;
		char why[256];
		double least = 0;
		TCB_TRY(load_finalist(worker, image, unit, &runner, err));
		for (int i = 0; i < LIMIT_SAMPLES; i++) {
			double ns = sample(worker, &runner, worker->state, why);
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
static enum tcb_status load_independent(struct gpu_worker *worker, const struct tcb_code_image *image, char method[64],
					struct tcb_error *err)
{
	const enum tcb_layout layout = (enum tcb_layout)image->unit[0].layout;
	enum tcb_gpu_fault what = TCB_GPU_FINE;
	char why[256] = "";
	double pack_ns;

	TCB_TRY(tcb_gpu_runner_init(&worker->limit, &worker->session, image, 0, &what, why, err));
	if (what == TCB_GPU_FINE)
		TCB_TRY(record(worker, &worker->limit, worker->state, GRAPH_NS, &pack_ns, &what, why, err));
	if (what == TCB_GPU_FINE)
		TCB_TRY(tcb_gpu_runner_record_independent(&worker->limit, worker->full.memory, layout,
							  copies_for(worker, worker->limit.unit, worker->state),
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
static enum tcb_gpu_fault ready_compute(struct gpu_worker *worker, struct tcb_gpu_runner *runner,
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
static enum tcb_status load_compute(struct gpu_worker *worker, struct tcb_code_image *image, char method[64],
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
	struct gpu_worker *worker = self;
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
	struct gpu_worker *worker = self;
	char why[256] = "";
	(void)err;
	int is_limit = index == TCB_ROUND_LIMIT;
	tcb_watch_subject(worker->config->watch, !is_limit, is_limit ? TCB_WATCH_NOBODY : index);
	if (is_limit && worker->compute_share > 0)
		*ns_out = worker->compute_share * sample(worker, &worker->limit, TCB_HOT, why);
	else
		*ns_out = sample(worker, is_limit ? &worker->limit : &worker->runners[index], worker->state, why);
	if (*ns_out < 0)
		die(why);
	return TCB_OK;
}

/* Without writing over the last cache before each sample: that would be metered, too. */
static enum tcb_status go_on(void *self, size_t *calls_out, struct tcb_error *err)
{
	struct tcb_gpu_runner *runner = ((struct gpu_worker *)self)->runners;
	char why[256] = "";
	(void)err;
	runner->flush.bytes = 0;
	if (tcb_gpu_runner_sample(runner, why) < 0)
		die(why);
	*calls_out = runner->calls;
	return TCB_OK;
}

/* ---- counters ---- */

static enum tcb_status count_recorded(struct gpu_worker *worker, struct tcb_gpu_runner *runner, enum tcb_state state,
				      unsigned calls, struct tcb_counter *out, size_t capacity, size_t *count_out,
				      struct tcb_error *err)
{
	const size_t copies = copies_for(worker, runner->unit, state);
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
	struct gpu_worker *worker = self;
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
		status = record(worker, &runner, state, GRAPH_NS, &pack_ns, &what, why, err);
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
