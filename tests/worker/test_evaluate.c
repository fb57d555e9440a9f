/* SPDX-License-Identifier: MIT
 *
 * Candidates that crash, hang, lie or stray: each costs its own trial only and
 * is named for what it did.  The worker keeps off the terminal and dies with
 * the tuner.
 */
#include <stddef.h>
#include <stdint.h>

#include "cmocka_all.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"
#include "planted.h"
#include "worker/evaluate.h"

enum { THREADS = 2 };

static volatile sig_atomic_t stop;
static const struct tcb_screen_rule few_samples = { .samples_min = 5, .samples_max = 8, .width = 0.01 };

static struct tcb_evaluator *evaluator_with(double timeout_s, unsigned states)
{
	struct tcb_problem problem;
	struct tcb_place cpu;
	planted_problem(&problem);
	planted_cpu(THREADS, &cpu);
	struct tcb_evaluate_options options = {
		.seed = 5, .states = states, .rotation_bytes = 8 << 20, .timeout_s = timeout_s, .stop = &stop
	};
	struct tcb_evaluator *evaluator = NULL;
	struct tcb_error err;
	if (tcb_evaluator_create(&planted_op, &problem, &cpu, &options, &evaluator, &err) != TCB_OK)
		fail_msg("%s", err.message);
	return evaluator;
}

static const struct tcb_trial *try(struct tcb_evaluator *evaluator, enum planted behaviour, int is_packed)
{
	struct tcb_geometry geometry;
	const struct tcb_trial *trial = NULL;
	struct tcb_error err;
	planted_geometry(behaviour, is_packed, THREADS, &geometry);
	if (tcb_evaluator_try(evaluator, &geometry, &few_samples, &trial, &err) != TCB_OK)
		fail_msg("%s", err.message);
	assert_true(tcb_geometry_equal(&trial->geometry, &geometry));
	return trial;
}

static void assert_good(const struct tcb_trial *trial)
{
	if (trial->outcome != TCB_OUTCOME_OK)
		fail_msg("%s: %s", trial->variant, trial->message);
	assert_string_equal(trial->message, "");
	assert_int_equal(trial->measurement_count, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct tcb_measurement *measurement = &trial->measurements[i];
		assert_int_equal(measurement->state, i == 0 ? TCB_COLD : TCB_HOT);
		assert_int_equal(measurement->stage, TCB_STAGE_SCREEN);
		assert_in_range(measurement->sample_count, 3, 8);
		assert_false(measurement->dropped_early);
		for (size_t s = 0; s < measurement->sample_count; s++)
			assert_true(measurement->samples[s] > 100);
		assert_true(measurement->ns.lo <= measurement->ns.median &&
			    measurement->ns.median <= measurement->ns.hi);
	}
}

static void good_candidates(void **state)
{
	(void)state;
	struct tcb_evaluator *evaluator = evaluator_with(120, 3);
	const struct tcb_trial *trial = try(evaluator, PLANTED_GOOD, 0);
	assert_good(trial);
	assert_string_equal(trial->variant, "planted_f32_scalar_good");
	assert_true(trial->prepare_ns > 0 && trial->prepare_ns < 20e9);
	assert_true(trial->verify_ns > 0 && trial->verify_ns < 20e9);
	assert_string_equal(trial->signature, "planted-1");
	assert_int_equal(trial->class_checked, TCB_CLASS_BOUNDED);
	assert_true(trial->error_ratio > 0 && trial->error_ratio < 1);
	assert_true(trial->pack_ns == 0);
	trial = try(evaluator, PLANTED_GOOD, 1);
	assert_good(trial);
	assert_string_equal(trial->variant, "planted_f32_scalar_good_r4");
	assert_true(trial->pack_ns > 0);
	trial = try(evaluator, PLANTED_EXACT, 0);
	assert_good(trial);
	assert_int_equal(trial->class_checked, TCB_CLASS_EXACT);
	assert_true(trial->error_ratio == 0);
	assert_good(try(evaluator, PLANTED_EXACT, 1));
	assert_good(try(evaluator, PLANTED_BABBLES, 0));
	tcb_evaluator_destroy(evaluator);
	tcb_evaluator_destroy(NULL);
}

static void one_state_only(void **state)
{
	(void)state;
	for (int which = 0; which < TCB_STATE_COUNT; which++) {
		struct tcb_evaluator *evaluator = evaluator_with(120, 1u << which);
		const struct tcb_trial *trial = try(evaluator, PLANTED_GOOD, 1);
		assert_int_equal(trial->outcome, TCB_OUTCOME_OK);
		assert_int_equal(trial->measurement_count, 1);
		assert_int_equal(trial->measurements[0].state, which);
		tcb_evaluator_destroy(evaluator);
	}
}

/* Every misbehaviour, its outcome, and what the message must say; a good candidate after each. */
static void planted_ones(void **state)
{
	(void)state;
	static const struct {
		enum planted behaviour;
		enum tcb_outcome outcome;
		const char *words[3];
	} expected[] = {
		{ PLANTED_NULL_WRITE, TCB_OUTCOME_CRASHED, { "SIGSEGV", "verifying 1x1x16", "null pointer" } },
		{ PLANTED_WRONG, TCB_OUTCOME_WRONG, { "at 1x1x16", "output [0][0] is", "within" } },
		{ PLANTED_WRONG_LAST, TCB_OUTCOME_WRONG, { "output [0][0] is" } },
		{ PLANTED_WRONG_ODD, TCB_OUTCOME_WRONG, { "at 2x37x48", "output [1][36] is" } },
		{ PLANTED_WRONG_FULL, TCB_OUTCOME_WRONG, { "at 2x512x256", "output [0][7] is" } },
		{ PLANTED_WRONG_LATER, TCB_OUTCOME_WRONG, { "in the timed runs", "output [0][3] is" } },
		{ PLANTED_WRONG_SHARE, TCB_OUTCOME_WRONG, { "was never written" } },
		{ PLANTED_ONE_ULP, TCB_OUTCOME_WRONG, { "not exactly" } },
		{ PLANTED_PAST_OUTPUT, TCB_OUTCOME_WRONG, { "outside of its output" } },
		{ PLANTED_FAR_OUTSIDE, TCB_OUTCOME_CRASHED, { "SIGSEGV", "before the start of output 'y'" } },
		{ PLANTED_PAST_SCRATCH, TCB_OUTCOME_WRONG, { "outside of its workspace" } },
		{ PLANTED_STALE_SCRATCH, TCB_OUTCOME_WRONG, { "output [0][0] is" } },
		{ PLANTED_WRITES_INPUT, TCB_OUTCOME_CRASHED, { "SIGSEGV", "read-only input 'x'" } },
		{ PLANTED_NOTHING, TCB_OUTCOME_WRONG, { "output [0][0] was never written" } },
		{ PLANTED_NOT_A_NUMBER, TCB_OUTCOME_WRONG, { "is nan" } },
		{ PLANTED_ABORTS, TCB_OUTCOME_CRASHED, { "SIGABRT", "planted: giving up" } },
		{ PLANTED_EXITS, TCB_OUTCOME_CRASHED, { "exit status", "verifying 1x1x16" } },
		{ PLANTED_HANGS_UP, TCB_OUTCOME_CRASHED, { "while " } },
		{ PLANTED_CRASHES_LATER, TCB_OUTCOME_CRASHED, { "SIGSEGV", "measuring cold" } },
		{ PLANTED_UNPLANNED, TCB_OUTCOME_LAUNCH_FAILED, { "no variant was built" } },
	};
	struct tcb_evaluator *evaluator = evaluator_with(120, 3);
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		for (int is_packed = 0; is_packed < 2; is_packed++) {
			const struct tcb_trial *trial = try(evaluator, expected[i].behaviour, is_packed);
			if (trial->outcome != expected[i].outcome)
				fail_msg("%s: %s, %s", trial->variant, tcb_outcome_text(trial->outcome),
					 trial->message);
			for (size_t w = 0; w < 3 && expected[i].words[w]; w++) {
				if (!strstr(trial->message, expected[i].words[w]))
					fail_msg("%s: no '%s' in '%s'", trial->variant, expected[i].words[w],
						 trial->message);
			}
			assert_null(strchr(trial->message, '\n'));
			assert_int_equal(trial->measurement_count, 0);
		}
		assert_good(try(evaluator, PLANTED_GOOD, (int)(i % 2)));
	}
	tcb_evaluator_destroy(evaluator);
}

static void hangs_time_out(void **state)
{
	(void)state;
	struct tcb_evaluator *evaluator = evaluator_with(1.5, 3);
	uint64_t start = tcb_clock_ns();
	const struct tcb_trial *trial = try(evaluator, PLANTED_ENDLESS, 0);
	double seconds = (double)(tcb_clock_ns() - start) / 1e9;
	assert_int_equal(trial->outcome, TCB_OUTCOME_TIMEOUT);
	assert_true(trial->verify_ns > 1e8); /* all that was waited */
	assert_non_null(strstr(trial->message, "1.5 s"));
	assert_non_null(strstr(trial->message, "verifying"));
	assert_true(seconds >= 1.5); /* longer where others keep it from running */
	assert_good(try(evaluator, PLANTED_GOOD, 0));
	tcb_evaluator_destroy(evaluator);
}

/* A candidate that dies of what an earlier one left in the worker gets a second, fresh chance. */
static void blame_falls_on_the_right_one(void **state)
{
	(void)state;
	struct tcb_evaluator *evaluator = evaluator_with(120, 3);
	assert_int_equal(try(evaluator, PLANTED_TIME_BOMB, 0)->outcome, TCB_OUTCOME_OK);
	assert_good(try(evaluator, PLANTED_GOOD, 0));
	tcb_evaluator_destroy(evaluator);
}

static void losers_are_dropped(void **state)
{
	(void)state;
	struct tcb_evaluator *evaluator = evaluator_with(120, 3);
	struct tcb_geometry geometry;
	const struct tcb_trial *trial;
	planted_geometry(PLANTED_SLOWER, 0, THREADS, &geometry);
	/* 5 ms against 1 ms: out after two.  Against 3.9 ms: after three.  Against 10 ms: never. */
	const struct {
		double lose_ns;
		size_t samples;
		int dropped;
	} cases[] = { { 1e6, 2, 1 }, { 3.9e6, 3, 1 }, { 1e8, 20, 0 } };
	for (size_t i = 0; i < 3; i++) {
		struct tcb_screen_rule rule = { .samples_min = 20,
						.samples_max = 20,
						.lose_ns = { cases[i].lose_ns, cases[i].lose_ns } };
		assert_int_equal(tcb_evaluator_try(evaluator, &geometry, &rule, &trial, NULL), TCB_OK);
		assert_int_equal(trial->outcome, TCB_OUTCOME_OK);
		for (size_t m = 0; m < 2; m++) {
			assert_in_range(trial->measurements[m].sample_count, 1, cases[i].samples);
			assert_int_equal(trial->measurements[m].dropped_early, cases[i].dropped);
			assert_true(trial->measurements[m].ns.median >= 5e6);
		}
		/* What is dropped is dropped by calls on the operands that it was verified on, for both states. */
		assert_int_equal(trial->measurements[0].samples[0] == trial->measurements[1].samples[0],
				 cases[i].dropped);
	}
	/* A wide interval is enough. */
	struct tcb_screen_rule rule = { .samples_min = 6, .samples_max = 50, .width = 1e6 };
	assert_int_equal(tcb_evaluator_try(evaluator, &geometry, &rule, &trial, NULL), TCB_OK);
	assert_int_equal(trial->measurements[0].sample_count, TCB_SCREEN_CALLS);
	tcb_evaluator_destroy(evaluator);
}

/* A loser is looked at more than once, and what it does then is its own fault, not the next one's.  One whose first
 * call others kept from the processor for long is not, so that there are some attempts, each in workers of its own. */
static void losers_are_watched(void **state)
{
	(void)state;
	enum { ATTEMPTS = 8 };
	const struct tcb_screen_rule rule = { .samples_min = 6, .samples_max = 8, .lose_ns = { 1e4, 1e4 } };
	const double delayed_ns = 10e6; /* it spins for 1 ms */
	struct tcb_geometry geometry;
	int is_delayed = 1;
	planted_geometry(PLANTED_PAST_LATER, 0, THREADS, &geometry);
	for (int attempt = 0; is_delayed && attempt < ATTEMPTS; attempt++) {
		struct tcb_evaluator *evaluator = evaluator_with(120, 3);
		const struct tcb_trial *trial;
		assert_int_equal(tcb_evaluator_try(evaluator, &geometry, &rule, &trial, NULL), TCB_OK);
		is_delayed = trial->outcome == TCB_OUTCOME_OK && trial->measurement_count > 0 &&
			     trial->measurements[0].samples[0] > delayed_ns;
		if (!is_delayed) {
			assert_int_equal(trial->outcome, TCB_OUTCOME_WRONG);
			assert_non_null(strstr(trial->message, "outside of its workspace"));
			assert_int_equal(trial->measurement_count, 0);
			assert_good(try(evaluator, PLANTED_GOOD, 0));
		}
		tcb_evaluator_destroy(evaluator);
	}
	assert_false(is_delayed);
}

/* As many samples as the rule says, whole. */
static void many_samples(void **state)
{
	(void)state;
	enum { COUNT = 700 };
	struct tcb_evaluator *evaluator = evaluator_with(60, 1u << TCB_HOT);
	struct tcb_geometry geometry;
	const struct tcb_trial *trial;
	planted_geometry(PLANTED_GOOD, 0, 1, &geometry);
	const struct tcb_screen_rule rule = { .samples_min = COUNT, .samples_max = COUNT };
	assert_int_equal(tcb_evaluator_try(evaluator, &geometry, &rule, &trial, NULL), TCB_OK);
	assert_int_equal(trial->outcome, TCB_OUTCOME_OK);
	assert_int_equal(trial->measurements[0].sample_count, COUNT);
	for (size_t i = 0; i < COUNT; i++)
		assert_true(trial->measurements[0].samples[i] > 0);
	tcb_evaluator_destroy(evaluator);
}

static double fastest_of(const double *ns, size_t count)
{
	double fastest = ns[0];
	for (size_t i = 1; i < count; i++)
		fastest = ns[i] < fastest ? ns[i] : fastest;
	return fastest;
}

static void interleaved_finals(void **state)
{
	(void)state;
	enum { ROUNDS = 15, COUNT = 4 };
	struct tcb_evaluator *evaluator = evaluator_with(120, 3);
	struct tcb_geometry geometries[COUNT];
	planted_geometry(PLANTED_SLOW, 0, THREADS, &geometries[0]);
	planted_geometry(PLANTED_GOOD, 1, THREADS, &geometries[1]);
	planted_geometry(PLANTED_SLOWER, 0, 1, &geometries[2]);
	planted_geometry(PLANTED_GOOD, 0, 1, &geometries[3]);
	assert_string_equal(tcb_evaluator_limit_method(evaluator, TCB_COLD), "");
	for (int s = 0; s < TCB_STATE_COUNT; s++) {
		double ns[COUNT * ROUNDS], limit[ROUNDS], lost[(COUNT + 1) * ROUNDS];
		struct tcb_error err;
		if (tcb_evaluator_interleave(evaluator, geometries, COUNT, (enum tcb_state)s, ROUNDS, 3, ns, limit,
					     lost, &err) != TCB_OK)
			fail_msg("%s", err.message);
		for (size_t i = 0; i < COUNT * ROUNDS; i++)
			assert_true(ns[i] > 0);
		for (size_t r = 0; r < ROUNDS; r++)
			assert_true(limit[r] > 0);
		for (size_t i = 0; i < (COUNT + 1) * ROUNDS; i++) /* written, of the limit too, where it is known */
			assert_true(isnan(lost[i]) || (lost[i] >= 0 && lost[i] <= 1));
		/* Every time in its own row: what spins is never faster, and what does not is, once at least, unless
		 * others had the processor for much of each round. */
		assert_true(fastest_of(ns, ROUNDS) >= 1e6 && fastest_of(ns + 2 * ROUNDS, ROUNDS) >= 5e6);
		assert_true(fastest_of(lost + 3 * ROUNDS, ROUNDS) > 0.3 ||
			    fastest_of(ns + 3 * ROUNDS, ROUNDS) < fastest_of(ns + 2 * ROUNDS, ROUNDS));
		assert_true(strlen(tcb_evaluator_limit_method(evaluator, (enum tcb_state)s)) > 0);
	}
	tcb_evaluator_destroy(evaluator);
}

/* One that fails in the finals is NaN from then on; the others have all their rounds. */
static void failing_in_the_finals(void **state)
{
	(void)state;
	enum { ROUNDS = 20, COUNT = 4 };
	struct tcb_evaluator *evaluator = evaluator_with(2, 3);
	struct tcb_geometry geometries[COUNT];
	planted_geometry(PLANTED_GOOD, 0, THREADS, &geometries[0]);
	planted_geometry(PLANTED_CRASHES_LATER, 0, THREADS, &geometries[1]);
	planted_geometry(PLANTED_ENDLESS, 0, THREADS, &geometries[2]);
	planted_geometry(PLANTED_SLOW, 1, THREADS, &geometries[3]);
	double ns[COUNT * ROUNDS];
	struct tcb_error err;
	if (tcb_evaluator_interleave(evaluator, geometries, COUNT, TCB_HOT, ROUNDS, 3, ns, NULL, NULL, &err) != TCB_OK)
		fail_msg("%s", err.message);
	size_t crashing = 0;
	for (size_t r = 0; r < ROUNDS; r++) {
		assert_true(ns[r] > 0);
		assert_true(ns[3 * ROUNDS + r] > 0);
		assert_true(isnan(ns[2 * ROUNDS + r]));
		if (!isnan(ns[ROUNDS + r])) {
			assert_int_equal(crashing, r);
			crashing++;
		}
	}
	assert_true(crashing < ROUNDS);
	/* All of them failing is data, too. */
	if (tcb_evaluator_interleave(evaluator, &geometries[2], 1, TCB_COLD, 3, 3, ns, NULL, NULL, &err) != TCB_OK)
		fail_msg("%s", err.message);
	for (size_t r = 0; r < 3; r++)
		assert_true(isnan(ns[r]));
	assert_good(try(evaluator, PLANTED_GOOD, 0));
	tcb_evaluator_destroy(evaluator);
}

/* A worker that took the place of another one dies and hangs over its candidates: the others lose no round. */
static void another_worker(void **state)
{
	(void)state;
	enum { ROUNDS = 20, COUNT = 4 };
	struct tcb_evaluator *evaluator = evaluator_with(2, 3);
	struct tcb_geometry geometries[COUNT];
	planted_geometry(PLANTED_GOOD, 0, THREADS, &geometries[0]);
	planted_geometry(PLANTED_SLOW, 1, THREADS, &geometries[1]);
	planted_geometry(PLANTED_CRASHES_LATER, 0, THREADS, &geometries[2]);
	planted_geometry(PLANTED_ENDLESS, 0, THREADS, &geometries[3]);
	double ns[COUNT * ROUNDS];
	struct tcb_error err;
	tcb_evaluator_renew(evaluator);
	tcb_evaluator_renew(evaluator);
	for (size_t count = 2; count <= COUNT; count++) {
		if (tcb_evaluator_interleave(evaluator, geometries, count, TCB_HOT, ROUNDS, 3, ns, NULL, NULL, &err) !=
		    TCB_OK)
			fail_msg("%zu: %s", count, err.message);
		for (size_t r = 0; r < 2 * ROUNDS; r++)
			assert_true(ns[r] > 0);
		for (size_t g = 2; g < count; g++)
			assert_true(isnan(ns[g * ROUNDS + ROUNDS - 1]));
		tcb_evaluator_renew(evaluator);
	}
	assert_good(try(evaluator, PLANTED_GOOD, 0));
	tcb_evaluator_destroy(evaluator);
}

static void counted_events(void **state)
{
	(void)state;
	struct tcb_evaluator *evaluator = evaluator_with(120, 3);
	struct tcb_geometry geometry;
	const struct tcb_counter *counters;
	size_t count;
	struct tcb_error err;
	planted_geometry(PLANTED_GOOD, 1, THREADS, &geometry);
	if (tcb_evaluator_counters(evaluator, &geometry, TCB_HOT, 3, &counters, &count, &err) != TCB_OK)
		fail_msg("%s", err.message);
	for (size_t i = 0; i < count; i++) {
		assert_true(strlen(counters[i].name) > 0 && strlen(counters[i].source) > 0);
		assert_int_equal(counters[i].state, TCB_HOT);
	}
	assert_good(try(evaluator, PLANTED_GOOD, 0));
	planted_geometry(PLANTED_NULL_WRITE, 0, THREADS, &geometry);
	assert_int_equal(tcb_evaluator_counters(evaluator, &geometry, TCB_HOT, 3, &counters, &count, &err),
			 TCB_E_FAILED);
	assert_non_null(strstr(err.message, "SIGSEGV"));
	assert_good(try(evaluator, PLANTED_GOOD, 0));
	tcb_evaluator_destroy(evaluator);
}

/* An int that processes share, 0 at first; free it with munmap. */
static atomic_int *shared_number(void)
{
	atomic_int *number = mmap(NULL, sizeof *number, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(number, MAP_FAILED);
	return number;
}

/* Until the candidate that never ends runs; the test's time limit is that of the wait. */
static void await_begun(void)
{
	while (!atomic_load(planted_begun))
		sched_yield();
}

static void forget_begun(void)
{
	munmap(planted_begun, sizeof *planted_begun);
	planted_begun = NULL;
}

static void set_stop(int number)
{
	(void)number;
	stop = 1;
}

/* Ctrl-C in the middle of a candidate: the whole process group gets the signal, the tuner decides, soon. */
static void interrupt_is_prompt(void **state)
{
	(void)state;
	struct sigaction action = { .sa_handler = set_stop }, old;
	sigaction(SIGINT, &action, &old);
	planted_begun = shared_number();
	struct tcb_evaluator *evaluator = evaluator_with(120, 3);
	pid_t group = fork();
	if (group == 0) {
		await_begun();
		kill(getppid(), SIGINT);
		_exit(0);
	}
	struct tcb_geometry geometry;
	const struct tcb_trial *trial;
	struct tcb_error err;
	planted_geometry(PLANTED_ENDLESS, 0, THREADS, &geometry);
	uint64_t start = tcb_clock_ns();
	assert_int_equal(tcb_evaluator_try(evaluator, &geometry, &few_samples, &trial, &err), TCB_E_INTERRUPTED);
	assert_true((double)(tcb_clock_ns() - start) < 1.5e9);
	int status;
	assert_int_equal(waitpid(group, &status, 0), group);
	/* Asked again it refuses at once; after the flag is taken back it goes on. */
	assert_int_equal(tcb_evaluator_try(evaluator, &geometry, &few_samples, &trial, &err), TCB_E_INTERRUPTED);
	stop = 0;
	assert_good(try(evaluator, PLANTED_GOOD, 0));
	sigaction(SIGINT, &old, NULL);
	tcb_evaluator_destroy(evaluator);
	forget_begun();
}

/* Standard output and error of a tuner whose candidates babble, crash and abort stay empty. */
static void keeps_off_the_terminal(void **state)
{
	(void)state;
	int log_fd = memfd_create("terminal", 0);
	assert_true(log_fd >= 0);
	fflush(NULL);
	pid_t tuner = fork();
	if (tuner == 0) {
		dup2(log_fd, 1);
		dup2(log_fd, 2);
		setvbuf(stdout, NULL, _IOFBF, 1 << 16);
		printf("once\n"); /* in the buffer that the worker inherits */
		struct tcb_evaluator *evaluator = evaluator_with(120, 3);
		try(evaluator, PLANTED_BABBLES, 0);
		try(evaluator, PLANTED_ABORTS, 0);
		try(evaluator, PLANTED_EXITS, 0);
		try(evaluator, PLANTED_NULL_WRITE, 0);
		tcb_evaluator_destroy(evaluator);
		fflush(stdout);
		_exit(0);
	}
	int status;
	assert_int_equal(waitpid(tuner, &status, 0), tuner);
	assert_int_equal(status, 0);
	char text[256];
	ssize_t length = pread(log_fd, text, sizeof(text) - 1, 0);
	assert_true(length >= 0);
	text[length] = '\0';
	assert_string_equal(text, "once\n");
	close(log_fd);
}

/* kill -9 of the tuner in the middle of a candidate takes the worker along. */
static void dies_with_the_tuner(void **state)
{
	(void)state;
	planted_begun = shared_number();
	/* Orphans come to us, so that the worker's death can be seen. */
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	pid_t tuner = fork();
	if (tuner == 0) {
		struct tcb_evaluator *evaluator = evaluator_with(120, 3);
		try(evaluator, PLANTED_ENDLESS, 0);
		_exit(0);
	}
	await_begun();
	assert_int_equal(kill(tuner, SIGKILL), 0);
	int status, reaped = 0, ended = 0;
	for (int i = 0; i < 500; i++) {
		pid_t gone = waitpid(-1, &status, WNOHANG);
		if (gone > 0) {
			/* The nursery may have seen the end of its socket before it was killed. */
			const int is_over = WIFEXITED(status) && WEXITSTATUS(status) == 0;
			assert_true(is_over || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
			ended += is_over;
			reaped++;
		} else if (gone < 0) {
			assert_int_equal(errno, ECHILD);
			break;
		}
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
	assert_int_equal(reaped, 3); /* tuner, nursery and worker */
	assert_true(ended <= 1);
	forget_begun();
}

static void *allocate(void *ctx)
{
	atomic_int *is_over = ctx;
	void *volatile memory;
	while (!atomic_load(is_over)) {
		memory = malloc(100);
		free(memory);
	}
	return NULL;
}

/* A worker forked beside a thread that holds the allocator's lock would hang (AddressSanitizer's allocator does not
 * mind forks). */
static void threads_of_the_tuner_harm_no_worker(void **state)
{
	(void)state;
	enum { ALLOCATING = 4, WORKERS = 20 };
	struct tcb_evaluator *evaluator = evaluator_with(120, 3);
	pthread_t threads[ALLOCATING];
	atomic_int is_over = 0;
	for (int i = 0; i < ALLOCATING; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, allocate, &is_over), 0);
	for (int i = 0; i < WORKERS; i++)
		assert_int_equal(try(evaluator, PLANTED_NULL_WRITE, 0)->outcome, TCB_OUTCOME_CRASHED);
	assert_good(try(evaluator, PLANTED_GOOD, 0));
	atomic_store(&is_over, 1);
	for (int i = 0; i < ALLOCATING; i++)
		pthread_join(threads[i], NULL);
	tcb_evaluator_destroy(evaluator);
}

/* The system may kill the nursery, for want of memory: another takes its place, and no candidate is blamed. */
static void another_nursery(void **state)
{
	(void)state;
	planted_orphans = shared_number();
	struct tcb_evaluator *evaluator = evaluator_with(120, 3);
	atomic_store(planted_orphans, 1);
	assert_good(try(evaluator, PLANTED_ORPHANED, 0)); /* in a fresh worker */
	assert_good(try(evaluator, PLANTED_GOOD, 0));
	atomic_store(planted_orphans, 1);
	assert_good(try(evaluator, PLANTED_ORPHANED, 0)); /* in a used one */
	assert_int_equal(try(evaluator, PLANTED_ABORTS, 0)->outcome, TCB_OUTCOME_CRASHED);
	assert_good(try(evaluator, PLANTED_GOOD, 0));
	tcb_evaluator_destroy(evaluator);
	munmap(planted_orphans, sizeof *planted_orphans);
	planted_orphans = NULL;
}

/* Descriptors of the tuner (its database) are not the worker's. */
static void holds_no_foreign_descriptors(void **state)
{
	(void)state;
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	struct tcb_evaluator *evaluator = evaluator_with(120, 3);
	close(ends[1]);
	char byte;
	/* End of file: nobody else holds the writing end. */
	assert_int_equal(read(ends[0], &byte, 1), 0);
	close(ends[0]);
	tcb_evaluator_destroy(evaluator);
}

static size_t one_column(const struct tcb_problem *problem)
{
	(void)problem;
	return 1;
}

/* An op whose reference is too dear for the budget: the trial says by what it was found right, and wrong ones are. */
static void drawn_outputs_are_told(void **state)
{
	(void)state;
	struct tcb_op dear = planted_op;
	struct tcb_problem problem;
	struct tcb_place cpu;
	struct tcb_evaluator *evaluator = NULL;
	dear.drawn_columns = one_column;
	dear.reference_flop_ns = 1e6;
	planted_problem(&problem);
	problem.op = &dear;
	planted_cpu(THREADS, &cpu);
	const struct tcb_evaluate_options options = {
		.seed = 5, .states = 3, .rotation_bytes = 8 << 20, .timeout_s = 60, .budget_s = 1000
	};
	assert_int_equal(tcb_evaluator_create(&dear, &problem, &cpu, &options, &evaluator, NULL), TCB_OK);
	for (int turn = 0; turn < 2; turn++) {
		const struct tcb_trial *trial = try(evaluator, PLANTED_GOOD, turn);
		assert_int_equal(trial->outcome, TCB_OUTCOME_OK);
		assert_non_null(strstr(trial->message, "verified on 2 drawn rows and "));
		trial = try(evaluator, PLANTED_WRONG_FULL, turn);
		assert_int_equal(trial->outcome, TCB_OUTCOME_WRONG);
		assert_non_null(strstr(trial->message, "[0][7]"));
	}
	tcb_evaluator_destroy(evaluator);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(drawn_outputs_are_told),
		cmocka_unit_test(good_candidates),
		cmocka_unit_test(one_state_only),
		cmocka_unit_test(planted_ones),
		cmocka_unit_test(hangs_time_out),
		cmocka_unit_test(blame_falls_on_the_right_one),
		cmocka_unit_test(losers_are_dropped),
		cmocka_unit_test(losers_are_watched),
		cmocka_unit_test(many_samples),
		cmocka_unit_test(interleaved_finals),
		cmocka_unit_test(failing_in_the_finals),
		cmocka_unit_test(another_worker),
		cmocka_unit_test(counted_events),
		cmocka_unit_test(interrupt_is_prompt),
		cmocka_unit_test(keeps_off_the_terminal),
		cmocka_unit_test(dies_with_the_tuner),
		cmocka_unit_test(threads_of_the_tuner_harm_no_worker),
		cmocka_unit_test(another_nursery),
		cmocka_unit_test(holds_no_foreign_descriptors),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
