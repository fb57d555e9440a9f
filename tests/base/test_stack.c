/* SPDX-License-Identifier: MIT
 *
 * tcb_stack_call: here where there is room, else in a thread that has it, with the
 * caller's signals; and what threads have by default.
 */
#include "cmocka_all.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "base/stack.h"

struct seen {
	pthread_t thread;
	sigset_t mask;
	enum tcb_status status;
};

/* Uses a megabyte. */
static void look(void *ctx)
{
	volatile char room[1 << 20];
	struct seen *seen = ctx;

	for (size_t i = 0; i < sizeof(room); i += 4096)
		room[i] = 1;
	seen->thread = pthread_self();
	pthread_sigmask(SIG_SETMASK, NULL, &seen->mask);
}

static void *call(void *ctx)
{
	struct seen *seen = ctx;
	struct tcb_error err;
	sigset_t blocked, after;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	pthread_sigmask(SIG_SETMASK, &blocked, NULL);
	seen->status = tcb_stack_call(look, seen, &err);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	if (!sigismember(&after, SIGUSR1) || sigismember(&after, SIGINT))
		seen->status = TCB_E_FAILED;
	return NULL;
}

/* Whether a thread with BYTES of stack had it done by another. */
static int goes_elsewhere(size_t bytes)
{
	pthread_attr_t attributes;
	struct seen seen;
	pthread_t thread;

	memset(&seen, 0, sizeof(seen));
	assert_int_equal(pthread_attr_init(&attributes), 0);
	assert_int_equal(pthread_attr_setstacksize(&attributes, bytes), 0);
	assert_int_equal(pthread_create(&thread, &attributes, call, &seen), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	pthread_attr_destroy(&attributes);
	assert_int_equal(seen.status, TCB_OK);
	assert_int_equal(sigismember(&seen.mask, SIGUSR1), 1);
	assert_int_equal(sigismember(&seen.mask, SIGINT), 0);
	return !pthread_equal(seen.thread, thread);
}

static void small_stacks_are_left(void **state)
{
	(void)state;
	assert_int_equal(goes_elsewhere(128 << 10), 1);
	assert_int_equal(goes_elsewhere(TCB_STACK_LEAST / 2), 1); /* larger ones may get what was freed of a larger */
	assert_int_equal(goes_elsewhere(2 * TCB_STACK_LEAST), 0);
}

static void threads_get_enough(void **state)
{
	pthread_attr_t attributes;
	size_t bytes;

	(void)state;
	assert_int_equal(pthread_attr_init(&attributes), 0);
	assert_int_equal(pthread_attr_setstacksize(&attributes, 256 << 10), 0);
	assert_int_equal(pthread_setattr_default_np(&attributes), 0);
	pthread_attr_destroy(&attributes);
	tcb_stack_of_threads();
	assert_int_equal(pthread_getattr_default_np(&attributes), 0);
	assert_int_equal(pthread_attr_getstacksize(&attributes, &bytes), 0);
	assert_int_equal(bytes, TCB_STACK_BYTES);
	pthread_attr_destroy(&attributes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_stacks_are_left),
		cmocka_unit_test(threads_get_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
