/* SPDX-License-Identifier: MIT
 *
 * One candidate on a GPU: verified at small odd shapes and at the problem itself, and, unless a few calls tell that it
 * has lost, timed.
 */
#include <stdio.h>
#include <string.h>

#include "base/sizes.h"
#include "base/stats.h"
#include "base/util.h"
#include "worker/gpu_worker.h"
#include "worker/judge.h"
#include "worker/look_again.h"
#include "worker/measure.h"

/* Of a single call that is shorter, its launch is much. */
static const double LOOK_FROM_NS = 200e3;

/* ---- cases ---- */

enum tcb_status tcb_gpu_case_create(struct tcb_gpu_worker *worker, const struct tcb_problem *problem, uint64_t seed,
				    struct tcb_gpu_case *out, struct tcb_error *err)
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

static enum tcb_status small_case(struct tcb_gpu_worker *worker, const struct tcb_shape *shape,
				  struct tcb_gpu_case **out, struct tcb_error *err)
{
	for (size_t i = 0; i < worker->small_count; i++) {
		const struct tcb_shape *known = &worker->small[i].instance->problem.shape;
		if (tcb_shape_equal(known, shape)) {
			*out = &worker->small[i];
			return TCB_OK;
		}
	}
	struct tcb_gpu_case made;
	struct tcb_problem problem = worker->config->problem;
	problem.shape = *shape;
	uint64_t seed = worker->config->seed + 0x9e3779b97f4a7c15u * (shape->m + 131 * shape->n + 65537 * shape->k);
	TCB_TRY(tcb_gpu_case_create(worker, &problem, seed, &made, err));
	size_t at = worker->small_count < TCB_GPU_CASES_MAX ? worker->small_count++
							    : worker->small_next++ % TCB_GPU_CASES_MAX;
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

/* Compares the outputs on the device with the reference. */
static enum tcb_status judge(struct tcb_gpu_worker *worker, const struct tcb_gpu_case *where,
			     const struct tcb_code_unit *unit, const char *when, struct tcb_trial_reply *reply,
			     struct tcb_error *err)
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
static enum tcb_status again(struct tcb_gpu_worker *worker, const struct tcb_gpu_case *where,
			     const struct tcb_code_unit *unit, const char *when, struct tcb_trial_reply *reply,
			     struct tcb_error *err)
{
	int is_same;
	TCB_TRY(tcb_look_again(where->instance, &(struct tcb_plan){ .chain = unit->chain, .ulps = unit->ulps },
			       &worker->rng, tcb_gpu_memory_fetch, where->memory, &is_same, err));
	return is_same ? TCB_OK : judge(worker, where, unit, when, reply, err);
}

/* Twice on a poisoned output: the second call finds the workspace as the first left it. */
static enum tcb_status check_runs(struct tcb_gpu_worker *worker, const struct tcb_gpu_case *where,
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
		snprintf(reply->message, sizeof reply->message, "at %.200s wrote outside of %s (guard zone)", shape,
			 outside ? outside : "its workspace");
	}
	return TCB_OK;
}

/* ---- screening ---- */

/* Samples of RUNNER until they are enough; how many. */
static size_t take_samples(struct tcb_gpu_runner *runner, enum tcb_state state, const struct tcb_screen_rule *rule,
			   double *samples, int *dropped_out, enum tcb_gpu_fault *fault_out, char why[256])
{
	const double warm = tcb_gpu_sample(runner, state, why);
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
static enum tcb_status measure(struct tcb_gpu_worker *worker, struct tcb_gpu_runner *runner, enum tcb_state state,
			       const struct tcb_screen_rule *rule, double *samples, struct tcb_trial_reply *reply,
			       struct tcb_error *err)
{
	enum tcb_gpu_fault what = TCB_GPU_FINE;
	char why[256] = "";
	double pack_ns = 0;
	size_t count = 0;
	int dropped = 0;
	uint64_t since = tcb_clock_ns();
	TCB_TRY(tcb_gpu_record(worker, runner, state, TCB_GPU_SCREENED, &pack_ns, &what, why, err));
	tcb_spend(&reply->prepare_ns, &since);
	if (what == TCB_GPU_FINE)
		count = take_samples(runner, state, rule, samples, &dropped, &what, why);
	if (what != TCB_GPU_FINE) {
		fault(reply, what, why);
		return TCB_OK;
	}
	add_measurement(reply, state, count, dropped);
	reply->pack_ns = pack_ns;
	return TCB_OK;
}

/* What the timed launches of RUNNER left, which overlapped each other. */
static enum tcb_status check_after(struct tcb_gpu_worker *worker, struct tcb_gpu_runner *runner,
				   struct tcb_trial_reply *reply, struct tcb_error *err)
{
	enum tcb_gpu_fault what;
	char why[256] = "";
	uint64_t since = tcb_clock_ns();
	tcb_watch_phase(worker->config->watch, 0, "comparing the output after measuring");
	TCB_TRY(tcb_gpu_runner_begin_anew(runner, worker->full.memory, worker->full.instance, &what, why, err));
	if (what != TCB_GPU_FINE)
		fault(reply, what, why);
	else
		TCB_TRY(again(worker, &worker->full, runner->unit, "in the timed runs", reply, err));
	tcb_spend(&reply->verify_ns, &since);
	return TCB_OK;
}

/* Has RUNNER, which was right, lost in every state by a few single calls?  Then these are its samples. */
static int lost_at_a_look(struct tcb_gpu_worker *worker, struct tcb_gpu_runner *runner,
			  const struct tcb_screen_rule *rule, struct tcb_trial_reply *reply, double *samples)
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

/* Unit INDEX of IMAGE in WHERE: its kernel into RUNNER, to be finished whatever comes back, and whether it is right. */
static enum tcb_status check_unit(struct tcb_gpu_worker *worker, const struct tcb_code_image *image, size_t index,
				  const struct tcb_gpu_case *where, struct tcb_gpu_runner *runner,
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

static enum tcb_status check_small(struct tcb_gpu_worker *worker, const struct tcb_code_image *image, size_t index,
				   struct tcb_trial_reply *reply, struct tcb_error *err)
{
	struct tcb_gpu_runner runner = { .session = NULL };
	struct tcb_gpu_case *where;
	TCB_TRY(small_case(worker, &image->unit[index].shape, &where, err));
	const enum tcb_status status = check_unit(worker, image, index, where, &runner, reply, err);
	tcb_gpu_runner_fini(&runner);
	return status;
}

/* The problem itself: what is right, and not lost at once, is measured. */
static enum tcb_status try_full(struct tcb_gpu_worker *worker, const struct tcb_code_image *image,
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
	return reply->outcome == TCB_OUTCOME_OK ? check_after(worker, runner, reply, err) : TCB_OK;
}

static enum tcb_status try_image(struct tcb_gpu_worker *worker, const struct tcb_code_image *image,
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

enum tcb_status tcb_gpu_try(struct tcb_gpu_worker *worker, const struct tcb_work *work,
			    const struct tcb_screen_rule *rule, struct tcb_trial_reply *reply, double *samples,
			    struct tcb_error *err)
{
	if (!tcb_code_image_valid(worker->session.driver->language, work->code, work->code_bytes))
		return tcb_fail(err, TCB_E_FORMAT, "a candidate without usable code");
	struct tcb_error why;
	const enum tcb_status status = try_image(worker, work->code, rule, reply, samples, &why);
	if (tcb_gpu_is_lost(worker, status))
		fault(reply, TCB_GPU_CRASHED, why.message);
	else if (status != TCB_OK)
		return tcb_fail(err, status, "%s", why.message);
	tcb_say_drawn(worker->config, reply);
	return TCB_OK;
}
