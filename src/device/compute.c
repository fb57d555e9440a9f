/* SPDX-License-Identifier: MIT
 *
 * In: a pool, threads, the instruction families that may be used, bytes, bf16
 * or floats.  Out: the fastest arithmetic that these have, from registers only,
 * ready to be timed between the calls of kernels.
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/pool.h"
#include "base/util.h"
#include "device/compute_loops.h"

enum {
	TRIALS = 5,
	ROUNDS = 3, /* over all loops, so that a moment that the machine takes away costs none of them its place */
	FIRST_ITERATIONS = 1000,
};
/* Long against the clock and the start of threads; at most as long as a kernel, so that what else runs on the machine
 * interrupts both alike. */
static const double call_ns = 500e3, call_ns_most = 100e6;

/* What a thread has computed; on a cache line of its own. */
struct computed {
	_Alignas(64) double sum;
};

struct tcb_compute {
	struct tcb_pool *pool;
	unsigned threads;
	const struct tcb_compute_loop *loop;
	size_t iterations; /* of the call under way, each thread */
	double rate;       /* operations a nanosecond and thread */
	char method[64];
	struct computed *computed; /* [threads] */
};

const struct tcb_compute_loop *const *tcb_compute_lists(void)
{
	static const struct tcb_compute_loop *const lists[] = {
#define LOOPS(isa, ID, ...) tcb_compute_loops_##isa,
		TCB_ISAS_ALL(LOOPS, ) NULL,
#undef LOOPS
	};
	return lists;
}

static void compute_task(void *ctx, size_t task, unsigned thread)
{
	struct tcb_compute *compute = ctx;
	(void)task;
	compute->computed[thread].sum = compute->loop->run(compute->iterations);
}

static double pass(struct tcb_compute *compute)
{
	const uint64_t start = tcb_clock_ns();
	tcb_pool_each(compute->pool, compute->threads, compute_task, compute);
	return (double)(tcb_clock_ns() - start);
}

/* Operations a nanosecond of one thread with LOOP. */
static double rate_of(const struct tcb_compute_loop *loop)
{
	size_t iterations = FIRST_ITERATIONS;
	double best = 0;
	for (int i = 0; i < TRIALS;) {
		const uint64_t start = tcb_clock_ns();
		volatile double sum = loop->run(iterations);
		const double ns = (double)(tcb_clock_ns() - start);
		(void)sum;
		if (ns < call_ns / 10) {
			iterations *= 2;
			continue;
		}
		const double rate = loop->operations * (double)iterations / ns;
		best = rate > best ? rate : best;
		i++;
	}
	return best;
}

/* Sums of products of bf16 are floats: where nothing multiplies bf16, floats are multiplied. */
static int serves(const struct tcb_compute_loop *loop, enum tcb_compute_kind kind)
{
	return loop->kind == kind || (kind == TCB_COMPUTE_BF16 && loop->kind == TCB_COMPUTE_F32);
}

static double choose(struct tcb_compute *compute, uint32_t isa_mask, enum tcb_compute_kind kind)
{
	double best = 0;
	for (int round = 0; round < ROUNDS; round++)
		for (const struct tcb_compute_loop *const *list = tcb_compute_lists(); *list; list++)
			for (const struct tcb_compute_loop *loop = *list; loop->run; loop++) {
				if (!serves(loop, kind) || !(isa_mask >> loop->isa & 1u))
					continue;
				const double rate = rate_of(loop);
				if (rate > best) {
					best = rate;
					compute->loop = loop;
				}
			}
	return best;
}

enum tcb_status tcb_compute_create(struct tcb_pool *pool, unsigned threads, uint32_t isa_mask,
				   enum tcb_compute_kind kind, struct tcb_compute **out, struct tcb_error *err)
{
	*out = NULL;
	if (threads == 0 || threads > tcb_pool_threads(pool))
		return tcb_fail(err, TCB_E_USAGE, "cannot compute with %u threads of a pool of %u", threads,
				tcb_pool_threads(pool));
	struct tcb_compute *compute = calloc(1, sizeof *compute);
	if (!compute)
		return tcb_fail(err, TCB_E_NOMEM, "no memory for the compute limit");
	compute->pool = pool;
	compute->threads = threads;
	compute->computed = aligned_alloc(_Alignof(struct computed), threads * sizeof *compute->computed);
	const double rate = compute->computed ? choose(compute, isa_mask, kind) : 0;
	if (!compute->computed || !compute->loop) {
		const int is_memory = !compute->computed;
		tcb_compute_destroy(compute);
		return is_memory ? tcb_fail(err, TCB_E_NOMEM, "no memory for the compute limit")
				 : tcb_fail(err, TCB_E_UNSUPPORTED, "no arithmetic loop for these instructions");
	}
	compute->rate = rate;
	snprintf(compute->method, sizeof compute->method, "%s: %s", tcb_isa_text(compute->loop->isa),
		 compute->loop->what);
	*out = compute;
	return TCB_OK;
}

void tcb_compute_destroy(struct tcb_compute *compute)
{
	if (!compute)
		return;
	free(compute->computed);
	free(compute);
}

double tcb_compute_call(struct tcb_compute *compute, double operations)
{
	const double like_kernel = operations / compute->threads;
	const double each = fmin(fmax(like_kernel, compute->rate * call_ns), compute->rate * call_ns_most);
	compute->iterations = (size_t)(each / compute->loop->operations) + 1;
	const double done = compute->loop->operations * (double)compute->iterations * compute->threads;
	return pass(compute) / done * operations;
}

const char *tcb_compute_method(const struct tcb_compute *compute)
{
	return compute->method;
}
