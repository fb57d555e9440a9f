/* SPDX-License-Identifier: MIT
 *
 * Timing (SPEC section 7).  In: a planned and packed candidate; out: the
 * nanoseconds of single calls.  Only op->run lies between two readings of the
 * clock.
 */
#include "search/measure.h"

#include <math.h>
#include <string.h>

#include "base/util.h"
#include "search/stats.h"

enum {
	SAMPLE_LEAST_NS = 20000, /* a reading of the clock costs about 25 ns: below 0.3 % of a sample */
	BATCH_MAX = 4096,
	WARM_CALLS = 3,
	LONG_CALL_NS = 1000000, /* so long a call needs no third warm-up */
};

/* The screening drops a candidate whose fastest sample is worse than the bar by these factors: noise makes samples
 * longer, hardly ever shorter, but a few alone may all have been hit by it: two time slices given to somebody else make
 * a sample and a warm-up 14 times as long. */
static const double lost_after_three = 1.25, lost_after_two = 3.0;

enum tcb_status tcb_runner_init(struct tcb_runner *runner, const struct tcb_op *op, const struct tcb_plan *plan,
				struct tcb_pool *pool, struct tcb_rotation *rotation, enum tcb_state state,
				struct tcb_error *err)
{
	memset(runner, 0, sizeof(*runner));
	runner->op = op;
	runner->plan = *plan;
	runner->pool = pool;
	runner->state = state;
	runner->batch = 1;
	TCB_TRY(tcb_rotation_get(rotation, plan, state == TCB_COLD, &runner->copies, err));
	if (plan->workspace_bytes > 0)
		TCB_TRY(tcb_buffer_alloc(TCB_BUFFER_PLAIN, plan->workspace_bytes, &runner->workspace, err));
	return TCB_OK;
}

void tcb_runner_fini(struct tcb_runner *runner)
{
	tcb_buffer_free(&runner->workspace);
}

static void next_operands(struct tcb_runner *runner, void *operand[TCB_OPERANDS_MAX])
{
	struct tcb_copies *copies = runner->copies;
	size_t index =
		runner->state == TCB_COLD ? tcb_copies_next(copies) : runner->hot_copy % tcb_copies_count(copies);
	tcb_copies_operands(copies, index, operand);
}

void tcb_runner_call(struct tcb_runner *runner)
{
	void *operand[TCB_OPERANDS_MAX];
	next_operands(runner, operand);
	runner->op->run(&runner->plan, operand, runner->workspace.data, runner->pool);
}

double tcb_runner_sample(struct tcb_runner *runner)
{
	if (runner->batch == 1) {
		void *operand[TCB_OPERANDS_MAX];
		next_operands(runner, operand);
		uint64_t start = tcb_clock_ns();
		runner->op->run(&runner->plan, operand, runner->workspace.data, runner->pool);
		return (double)(tcb_clock_ns() - start);
	}
	uint64_t start = tcb_clock_ns();
	for (size_t i = 0; i < runner->batch; i++)
		tcb_runner_call(runner);
	return (double)(tcb_clock_ns() - start) / (double)runner->batch;
}

void tcb_runner_warm(struct tcb_runner *runner)
{
	runner->batch = 1;
	double ns = INFINITY;
	/* The first call takes the page faults; the others tell how long a call is. */
	tcb_runner_call(runner);
	for (int i = 1; i < WARM_CALLS && !(i > 1 && ns > LONG_CALL_NS); i++) {
		double once = tcb_runner_sample(runner);
		ns = once < ns ? once : ns;
	}
	runner->warm_ns = ns;
	if (ns >= SAMPLE_LEAST_NS)
		return;
	double batch = ceil(SAMPLE_LEAST_NS / (ns > 1 ? ns : 1));
	runner->batch = batch < BATCH_MAX ? (size_t)batch : BATCH_MAX;
	/* A cold batch stays within one turn of the rotation. */
	size_t count = tcb_copies_count(runner->copies);
	if (runner->state == TCB_COLD && runner->batch > count)
		runner->batch = count;
	for (size_t i = 0; i < runner->batch; i++)
		tcb_runner_call(runner);
}

const float *tcb_runner_check_call(struct tcb_runner *runner, size_t output)
{
	void *operand[TCB_OPERANDS_MAX];
	next_operands(runner, operand);
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	runner->op->operands(&runner->plan.problem, operands);
	memset(operand[output], TCB_POISON, operands[output].bytes);
	runner->op->run(&runner->plan, operand, runner->workspace.data, runner->pool);
	return operand[output];
}

int tcb_measure_has_lost(const double *samples, size_t count, double warm_ns, double lose_ns)
{
	if (lose_ns <= 0 || count < 2)
		return 0;
	double fastest = warm_ns;
	for (size_t i = 0; i < count; i++) {
		if (samples[i] < fastest)
			fastest = samples[i];
	}
	return fastest > lose_ns * (count >= 3 ? lost_after_three : lost_after_two);
}

size_t tcb_measure(struct tcb_runner *runner, const struct tcb_screen_rule *rule, double *samples, int *dropped_out)
{
	size_t count = 0;
	*dropped_out = 0;
	tcb_runner_warm(runner);
	while (count < rule->samples_max) {
		samples[count++] = tcb_runner_sample(runner);
		if (tcb_measure_has_lost(samples, count, runner->warm_ns, rule->lose_ns[runner->state])) {
			*dropped_out = 1;
			break;
		}
		if (count < rule->samples_min || count < 3)
			continue;
		struct tcb_interval interval = tcb_median_interval(samples, count);
		if (interval.hi - interval.lo <= rule->width * interval.median)
			break;
	}
	return count;
}
