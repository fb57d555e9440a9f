/* SPDX-License-Identifier: MIT
 *
 * How much of a thread's stack is left is asked of the thread library; what does
 * not fit goes to a thread of its own, which has the caller's signal mask, while
 * the caller waits with all signals blocked: handlers run where the work is, so
 * that its system calls are interrupted as they would be.
 */
#include "base/stack.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

struct bounds {
	uintptr_t lowest; /* that may be used */
	size_t bytes;
};

/* Of this thread's stack; no bytes where nobody can say. */
static struct bounds find_bounds(void)
{
	pthread_attr_t attributes;
	size_t bytes = 0, guard = 0;
	void *lowest = NULL;

	if (pthread_getattr_np(pthread_self(), &attributes))
		return (struct bounds){ 0, 0 };
	const int is_known = !pthread_attr_getstack(&attributes, &lowest, &bytes) &&
			     !pthread_attr_getguardsize(&attributes, &guard) && guard < bytes;
	pthread_attr_destroy(&attributes);
	return is_known ? (struct bounds){ (uintptr_t)lowest + guard, bytes - guard } : (struct bounds){ 0, 0 };
}

static size_t bytes_left(void)
{
	/* Asking for the first thread's reads a file of the kernel's. */
	static _Thread_local struct bounds bounds;
	const uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	if (!bounds.bytes)
		bounds = find_bounds();
	/* A caller may be on a stack of its own making (a coroutine's), of which nothing is known. */
	return here - bounds.lowest < bounds.bytes ? here - bounds.lowest : 0;
}

struct call {
	void (*fn)(void *ctx);
	void *ctx;
	sigset_t mask;
};

static void *run(void *argument)
{
	const struct call *call = argument;

	pthread_sigmask(SIG_SETMASK, &call->mask, NULL);
	call->fn(call->ctx);
	return NULL;
}

static int start(struct call *call, pthread_t *thread)
{
	pthread_attr_t attributes;
	int error = pthread_attr_init(&attributes);

	if (error)
		return error;
	error = pthread_attr_setstacksize(&attributes, TCB_STACK_BYTES);
	if (!error)
		error = pthread_create(thread, &attributes, run, call);
	pthread_attr_destroy(&attributes);
	return error;
}

enum tcb_status tcb_stack_call(void (*fn)(void *ctx), void *ctx, struct tcb_error *err)
{
	struct call call = { .fn = fn, .ctx = ctx };
	int could_be_cancelled, error;
	pthread_t thread;
	sigset_t all;

	if (bytes_left() >= TCB_STACK_LEAST) {
		fn(ctx);
		return TCB_OK;
	}
	sigfillset(&all);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &could_be_cancelled); /* CTX may be on this stack */
	pthread_sigmask(SIG_SETMASK, &all, &call.mask);
	error = start(&call, &thread);
	if (!error)
		error = pthread_join(thread, NULL);
	pthread_sigmask(SIG_SETMASK, &call.mask, NULL);
	pthread_setcancelstate(could_be_cancelled, NULL);
	if (error)
		return tcb_fail(err, TCB_E_NOMEM,
				"this thread's stack is too small, and one of %d MiB cannot be made (%s)",
				TCB_STACK_BYTES >> 20, strerror(error));
	return TCB_OK;
}

void tcb_stack_of_threads(void)
{
	pthread_attr_t attributes;
	size_t bytes;

	if (pthread_getattr_default_np(&attributes))
		return;
	if (!pthread_attr_getstacksize(&attributes, &bytes) && bytes < TCB_STACK_BYTES &&
	    !pthread_attr_setstacksize(&attributes, TCB_STACK_BYTES))
		pthread_setattr_default_np(&attributes);
	pthread_attr_destroy(&attributes);
}
