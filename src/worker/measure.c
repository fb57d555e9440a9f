/* SPDX-License-Identifier: MIT
 *
 * Timing (SPEC section 7).  In: a planned and packed candidate; out: the
 * nanoseconds of single calls.  Only the op's run lies between two readings of the
 * clock.
 */
#include "worker/measure.h"

#include <math.h>
#include <string.h>

#include "base/quiet.h"
#include "base/util.h"

enum {
	SAMPLE_LEAST_NS = 20000, /* a reading of the clock costs about 25 ns: below 0.3 % of a sample */
	BATCH_MAX = 4096,
	WARM_CALLS = 3,
	WARM_AGAIN = 5,      /* more of them while others disturb them all */
	ENOUGH_NS = 1000000, /* so long a call needs no third warm-up */
	/*
	 * Calls before a hot sample among other candidates.  Caches learn: on an Emerald Rapids the second call on 9
	 * MiB takes 237 us, and from the third on 158 with a static schedule; with a dynamic one, whose rows change
	 * cores, 217, 185, 167, and 162 from the fifth on.
	 */
	HOT_CALLS = 4,
	PIECES = 16, /* in which a thread looks at an operand */
	LINE = 64,
};

/* The screening drops a candidate whose fastest call is worse than the bar by these factors, unless it knows better:
 * noise makes samples longer, hardly ever shorter, but a few alone may all have been hit by it: two time slices given
 * to somebody else make a sample and a warm-up 14 times as long. */
static const double lost_after[TCB_SCREEN_CALLS] = { INFINITY, 3, 1.25 };
/* So long they take together, if fewer do. */
static const double HOT_NS = 2e6;
/* One call alone tells when it is long beyond this, too: a few time slices. */
static const double SLICES_NS = 20e6;
static const double SAME = 0.05; /* long calls that differ by no more agree */
/* Of the width: so near to each other, fewer samples than the least are enough, too. */
static const double NARROW = 0.25;

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
	if (plan->workspace_bytes > 0) /* its page faults are no part of a first call */
		memset(runner->workspace.data, 0, plan->workspace_bytes);
	return TCB_OK;
}

void tcb_runner_fini(struct tcb_runner *runner)
{
	tcb_buffer_free(&runner->workspace);
}

static size_t next_copy(struct tcb_runner *runner)
{
	struct tcb_copies *copies = runner->copies;
	return runner->state == TCB_COLD ? tcb_copies_next(copies) : runner->hot_copy % tcb_copies_count(copies);
}

static void next_operands(struct tcb_runner *runner, void *operand[TCB_OPERANDS_MAX])
{
	tcb_copies_operands(runner->copies, next_copy(runner), operand);
}

void tcb_runner_call(struct tcb_runner *runner)
{
	void *operand[TCB_OPERANDS_MAX];
	next_operands(runner, operand);
	tcb_op_cpu(runner->op)->run(&runner->plan, operand, runner->workspace.data, runner->pool);
}

double tcb_runner_sample(struct tcb_runner *runner)
{
	if (runner->batch == 1) {
		void *operand[TCB_OPERANDS_MAX];
		next_operands(runner, operand);
		uint64_t start = tcb_clock_ns();
		tcb_op_cpu(runner->op)->run(&runner->plan, operand, runner->workspace.data, runner->pool);
		return (double)(tcb_clock_ns() - start);
	}
	uint64_t start = tcb_clock_ns();
	for (size_t i = 0; i < runner->batch; i++)
		tcb_runner_call(runner);
	return (double)(tcb_clock_ns() - start) / (double)runner->batch;
}

struct look {
	const unsigned char *data;
	size_t bytes, pieces;
};

static void look_at_piece(void *ctx, size_t task, unsigned thread)
{
	const struct look *look = ctx;
	const size_t each = look->bytes / look->pieces;
	const size_t end = task + 1 == look->pieces ? look->bytes : each * (task + 1);
	unsigned seen = 0;
	(void)thread;
	for (size_t at = each * task; at < end; at += LINE)
		seen += look->data[at];
	__asm__ volatile("" : : "r"(seen)); /* the loads are all that is wanted */
}

void tcb_runner_heat(struct tcb_runner *runner)
{
	if (runner->warm_ns < TCB_LONG_CALL_NS) {
		const int calls =
			HOT_NS < HOT_CALLS * runner->warm_ns ? 1 + (int)(HOT_NS / runner->warm_ns) : HOT_CALLS;
		for (int i = 0; i < calls; i++)
			tcb_runner_call(runner);
		return;
	}
	void *operand[TCB_OPERANDS_MAX];
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	const size_t count = runner->op->operands(&runner->plan.problem, operands);
	const unsigned threads = tcb_pool_threads(runner->pool);
	next_operands(runner, operand);
	for (size_t i = 0; i < count; i++) {
		const size_t packed = runner->plan.packed_bytes[i];
		struct look look = { operand[i], packed ? packed : operands[i].bytes, (size_t)threads * PIECES };
		tcb_pool_run(runner->pool, threads, TCB_SCHED_STATIC, look.pieces, look_at_piece, &look);
	}
}

void tcb_runner_warm(struct tcb_runner *runner)
{
	runner->batch = 1;
	if (runner->warm_ns >= TCB_LONG_CALL_NS)
		return;
	double ns = INFINITY;
	/* The first call takes the page faults; the others tell how long a call is. */
	tcb_runner_call(runner);
	if (runner->waits)
		tcb_waits_begin(runner->waits);
	for (int i = 1; i < WARM_CALLS && !(i > 1 && ns > ENOUGH_NS); i++) {
		double once = tcb_runner_sample(runner);
		ns = once < ns ? once : ns;
	}
	/* How long a call is decides how it is measured: of two candidates, one must not seem long for others' sake. */
	for (int i = 0; i < WARM_AGAIN && runner->waits && tcb_is_disturbed(tcb_waits_look(runner->waits, 1)); i++)
		ns = fmin(ns, tcb_runner_sample(runner));
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

/* One call on the instance's own data, on poisoned outputs, or on what they begin with; OPERAND gets its operands,
 * valid until the next call.
 * NS_OUT (nullable): what the call took. */
static void check_call(struct tcb_runner *runner, void *operand[TCB_OPERANDS_MAX], double *ns_out)
{
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	const size_t count = runner->op->operands(&runner->plan.problem, operands);
	tcb_copies_operands(runner->copies, next_copy(runner) % tcb_copies_count(runner->copies), operand);
	for (size_t i = 0; i < count; i++)
		if (operands[i].role == TCB_ROLE_OUTPUT && tcb_copies_start(runner->copies, i))
			memcpy(operand[i], tcb_copies_start(runner->copies, i), operands[i].bytes);
		else if (operands[i].role == TCB_ROLE_OUTPUT)
			memset(operand[i], TCB_POISON, operands[i].bytes);
	if (runner->state == TCB_HOT && runner->warm_ns >= TCB_LONG_CALL_NS)
		tcb_runner_heat(runner);
	uint64_t start = tcb_clock_ns();
	tcb_op_cpu(runner->op)->run(&runner->plan, operand, runner->workspace.data, runner->pool);
	if (ns_out)
		*ns_out = (double)(tcb_clock_ns() - start);
}

int tcb_measure_has_lost(const double *samples, size_t count, double warm_ns, double lose_ns,
			 const double over[TCB_SCREEN_CALLS])
{
	if (lose_ns <= 0 || count == 0)
		return 0;
	const size_t calls = (count < TCB_SCREEN_CALLS ? count : TCB_SCREEN_CALLS) - 1;
	double factor = lost_after[calls];
	if (over && over[calls] > 0 && over[calls] < factor)
		factor = over[calls];
	double fastest = warm_ns;
	for (size_t i = 0; i < count; i++) {
		if (samples[i] < fastest)
			fastest = samples[i];
	}
	return fastest > fmin(lose_ns * factor, lose_ns * lost_after[TCB_SCREEN_CALLS - 1] + SLICES_NS);
}

enum tcb_look tcb_measure_look(const double *calls, size_t count, unsigned states, const struct tcb_screen_rule *rule)
{
	double fastest = INFINITY;
	int lost = 1;
	for (size_t i = 0; i < count; i++)
		fastest = fmin(fastest, calls[i]);
	for (int state = 0; state < TCB_STATE_COUNT; state++) {
		const double lose_ns = rule->lose_ns[state];
		if (!(states >> state & 1u))
			continue;
		if (lose_ns <= 0 || fastest <= lose_ns)
			return TCB_LOOK_OVER;
		lost &= tcb_measure_has_lost(calls + 1, count - 1, calls[0], lose_ns, rule->over[state]);
	}
	if (lost && count > 1)
		return TCB_LOOK_LOST;
	return count < TCB_LOOK_CALLS && count <= rule->samples_max ? TCB_LOOK_ON : TCB_LOOK_OVER;
}

int tcb_measure_is_enough(const struct tcb_interval *interval, size_t count, const struct tcb_screen_rule *rule)
{
	const double width = rule->width * (count < rule->samples_min ? NARROW : 1);
	return count >= TCB_SCREEN_CALLS && interval->hi - interval->lo <= width * interval->median;
}

/* Is a first sample enough of a long call?  Of one that is not among the best, or that took as long before. */
static int is_enough(double ns, double before_ns, double lose_ns)
{
	return (lose_ns > 0 && ns > lose_ns) || fabs(ns - before_ns) <= SAME * before_ns;
}

/* Where the caller found calls long: the checked call is the first sample.  0: they are not. */
static size_t measure_long(struct tcb_runner *runner, const struct tcb_screen_rule *rule, double *samples,
			   int *dropped_out, void *operand[TCB_OPERANDS_MAX])
{
	const double lose_ns = rule->lose_ns[runner->state], before_ns = runner->warm_ns;
	size_t count = 1;
	if (runner->waits)
		tcb_waits_begin(runner->waits);
	check_call(runner, operand, &samples[0]);
	if (runner->waits && runner->lost)
		runner->lost[0] = tcb_waits_look(runner->waits, 1);
	if (samples[0] < TCB_LONG_CALL_NS)
		return 0;
	if (rule->samples_max > 1 && !is_enough(samples[0], before_ns, lose_ns)) {
		if (runner->state == TCB_HOT)
			tcb_runner_heat(runner);
		samples[count++] = tcb_runner_sample(runner);
		if (runner->waits && runner->lost)
			runner->lost[1] = tcb_waits_look(runner->waits, 1);
	}
	*dropped_out = tcb_measure_has_lost(samples, count, INFINITY, lose_ns, NULL);
	return count;
}

/* Samples of which the first `looked` are known to be disturbed or not. */
struct taking {
	struct tcb_runner *runner;
	size_t count, looked, again; /* again: how many may still be taken a second time */
};

/* What others took of the samples since the last look; those that they disturbed go, if they may be taken again. */
static void look(struct taking *taking, int must)
{
	struct tcb_runner *runner = taking->runner;
	const size_t fresh = taking->count - taking->looked;
	const double lost = fresh == 0 ? -1 : runner->waits ? tcb_waits_look(runner->waits, must) : NAN;
	if (lost < 0)
		return;
	for (size_t i = taking->looked; i < taking->count && runner->lost; i++)
		runner->lost[i] = lost;
	if (tcb_is_disturbed(lost) && fresh <= taking->again) {
		taking->again -= fresh;
		taking->count = taking->looked;
	}
	taking->looked = taking->count;
}

/* Those of a call that is not long. */
static size_t measure_short(struct tcb_runner *runner, const struct tcb_screen_rule *rule, double *samples,
			    int *dropped_out)
{
	struct taking taking = { .runner = runner, .again = rule->samples_max };
	runner->warm_ns = 0;
	tcb_runner_warm(runner);
	if (runner->waits)
		tcb_waits_begin(runner->waits);
	while (taking.count < rule->samples_max) {
		samples[taking.count++] = tcb_runner_sample(runner);
		const size_t count = taking.count;
		const int is_lost = tcb_measure_has_lost(samples, count, runner->warm_ns, rule->lose_ns[runner->state],
							 rule->over[runner->state]);
		look(&taking, is_lost || count == rule->samples_max);
		if (taking.count < count)
			continue;
		if (is_lost) {
			*dropped_out = 1;
			break;
		}
		struct tcb_interval interval = tcb_quiet_interval(samples, runner->lost, count);
		if (!tcb_measure_is_enough(&interval, count, rule))
			continue;
		look(&taking, 1);
		if (taking.count == count)
			break;
	}
	return taking.count;
}

size_t tcb_measure(struct tcb_runner *runner, const struct tcb_screen_rule *rule, double *samples, int *dropped_out,
		   void *operand[TCB_OPERANDS_MAX])
{
	size_t count = 0;
	*dropped_out = 0;
	runner->batch = 1;
	for (size_t i = 0; i < rule->samples_max && runner->lost; i++)
		runner->lost[i] = NAN;
	if (runner->warm_ns >= TCB_LONG_CALL_NS)
		count = measure_long(runner, rule, samples, dropped_out, operand);
	if (count > 0)
		return count;
	count = measure_short(runner, rule, samples, dropped_out);
	check_call(runner, operand, NULL);
	return count;
}
