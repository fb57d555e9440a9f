/* SPDX-License-Identifier: MIT
 *
 * Threads.  The host's other nodes run on the workers of its OpenMP runtime,
 * which spin between parallel regions; more threads of our own would fight with
 * them for the processors.  So where the host has such a runtime (GNU's
 * interface), the same workers are borrowed: a region of it is opened and each
 * thread of it takes its seat in tcbrt_execute_thread.  A region runs all
 * products of a graph: each ends with a barrier of its own.
 */
#include "products.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host.h"
#include "plugin.h"

static atomic_ullong counters[COUNTERS];
static const char *const counter_names[COUNTERS] = { "graphs",  "products", "tokens",   "compute_ns", "packed",
						     "pack_ns", "unpacked", "gathered", "refused" };

void counter_add(enum counter counter, unsigned long long amount)
{
	atomic_fetch_add_explicit(&counters[counter], amount, memory_order_relaxed);
}

unsigned long long tcbtune_ggml_counter(const char *name)
{
	for (int i = 0; i < COUNTERS; i++)
		if (strcmp(counter_names[i], name) == 0)
			return atomic_load(&counters[i]);
	return 0;
}

unsigned long long counter_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned long long)now.tv_sec * 1000000000ULL + (unsigned long long)now.tv_nsec;
}

struct computer *computer_create(void)
{
	struct computer *computer = calloc(1, sizeof(*computer));

	if (computer)
		computer->threads = 1;
	return computer;
}

void computer_destroy(struct computer *computer)
{
	tcbrt_pool_destroy(computer->pool);
	free(computer->workspace);
	free(computer->rows);
	free(computer->products);
	free(computer);
}

static int refuse(const char *what, const char *why)
{
	counter_add(COUNTER_REFUSED, 1);
	ggml_host_warn("%s: %s", what, why);
	return 0;
}

/* A workspace serves one execution after another of any plan that it is large enough for. */
static int reserve(struct computer *computer, const struct weights_plan *plan)
{
	size_t bytes = (plan->workspace_bytes + TCBRT_ALIGNMENT - 1) / TCBRT_ALIGNMENT * TCBRT_ALIGNMENT;

	if (computer->count == computer->capacity) {
		const size_t capacity = computer->capacity ? 2 * computer->capacity : 16;
		struct product *products = realloc(computer->products, capacity * sizeof(*products));

		if (!products)
			return 0;
		computer->products = products;
		computer->capacity = capacity;
	}
	if (bytes <= computer->workspace_bytes)
		return 1;
	free(computer->workspace);
	computer->workspace_bytes = 0;
	if (!(computer->workspace = aligned_alloc(TCBRT_ALIGNMENT, bytes)))
		return 0;
	computer->workspace_bytes = bytes;
	return tcbrt_workspace_init(plan->plan, computer->workspace) == TCBRT_OK;
}

/* X's rows beside each other; NULL: they cannot be had. */
static const void *take_rows(struct computer *computer, const struct activations *x)
{
	const size_t bytes = activations_rows(x) * x->count[0] * sizeof(float);

	if (activations_are_dense(x))
		return x->data;
	if (!computer_run(computer))
		return NULL;
	if (bytes > computer->rows_bytes) {
		free(computer->rows);
		computer->rows = malloc(bytes);
		computer->rows_bytes = computer->rows ? bytes : 0;
	}
	if (computer->rows)
		activations_gather(x, computer->rows);
	counter_add(COUNTER_GATHERED, 1);
	return computer->rows;
}

int computer_add(struct computer *computer, const struct weights *weights, const struct activations *x, void *y)
{
	const size_t m = activations_rows(x);
	struct tcbrt_error err;
	const struct weights_plan *plan;
	const void *rows;
	struct product *product;

	if (weights->refusal)
		return refuse("a product's weights cannot be used", weights->refusal);
	if (!(plan = weights_plan(weights->kind, m, computer->threads, &err)))
		return refuse("no plan for a product", err.message);
	if (!(rows = take_rows(computer, x)) || !reserve(computer, plan))
		return refuse("no plan for a product", "out of memory");
	product = &computer->products[computer->count++];
	product->plan = plan;
	product->operand[plan->x] = (void *)rows;
	product->operand[plan->weights] = weights->packed;
	product->operand[plan->y] = y;
	counter_add(COUNTER_TOKENS, m);
	return 1;
}

struct region {
	const struct computer *computer;
	atomic_int failed;
};

static void run_seat(void *arg)
{
	struct region *region = arg;
	const struct computer *computer = region->computer;
	const unsigned thread = (unsigned)ggml_host.thread(), threads = (unsigned)ggml_host.threads();

	for (size_t i = 0; i < computer->count; i++)
		if (tcbrt_execute_thread(computer->products[i].plan->plan, computer->products[i].operand,
					 computer->workspace, thread, threads) != TCBRT_OK)
			atomic_store(&region->failed, 1);
}

/* The pool of as many threads as the host wants now; NULL: one thread, or none could be started. */
static struct tcbrt_pool *take_pool(struct computer *computer)
{
	if (computer->pool && computer->pool_threads != computer->threads) {
		tcbrt_pool_destroy(computer->pool);
		computer->pool = NULL;
	}
	if (!computer->pool && computer->threads > 1 &&
	    tcbrt_pool_create(computer->threads, &computer->pool, NULL) == TCBRT_OK)
		computer->pool_threads = computer->threads;
	return computer->pool;
}

/* Says what is wrong with the first product that cannot be computed. */
static int refuse_bad_product(const struct computer *computer)
{
	struct tcbrt_error err = { .message = "" };

	for (size_t i = 0; i < computer->count; i++)
		if (tcbrt_execute_check(computer->products[i].plan->plan, computer->products[i].operand,
					computer->workspace, &err) != TCBRT_OK)
			break;
	return refuse("a product was not computed", err.message);
}

int computer_run(struct computer *computer)
{
	struct region region = { .computer = computer };
	const unsigned long long began = counter_now_ns();

	if (computer->count == 0)
		return 1;
	if (computer->threads > 1 && ggml_host.parallel) {
		ggml_host.parallel(run_seat, &region, computer->threads, 0);
	} else {
		struct tcbrt_pool *pool = take_pool(computer);

		for (size_t i = 0; i < computer->count; i++)
			if (tcbrt_execute(computer->products[i].plan->plan, computer->products[i].operand,
					  computer->workspace, pool) != TCBRT_OK)
				region.failed = 1;
	}
	counter_add(COUNTER_GRAPHS, 1);
	counter_add(COUNTER_PRODUCTS, computer->count);
	counter_add(COUNTER_COMPUTE_NS, counter_now_ns() - began);
	const int is_fine = !region.failed || refuse_bad_product(computer);

	computer->count = 0;
	return is_fine;
}
