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
static const char *const counter_names[COUNTERS] = { "graphs",   "products", "experts",    "rows",   "attention",
						     "left",     "tokens",   "compute_ns", "packed", "pack_ns",
						     "unpacked", "gathered", "refused" };

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
	free(computer->ids);
	free(computer->products);
	ggml_host_turn_fini(&computer->turn);
	free(computer);
}

static int refuse(const char *what, const char *why)
{
	counter_add(COUNTER_REFUSED, 1);
	ggml_host_warn("%s: %s", what, why);
	return 0;
}

/* A workspace serves one execution after another of any plan that it is large enough for. */
static int reserve(struct computer *computer, const struct plan *plan)
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

/* *MEMORY of BYTES at least, whatever was in it; NULL: there is none. */
static void *at_least(void **memory, size_t *has, size_t bytes)
{
	if (bytes > *has) {
		free(*memory);
		*memory = malloc(bytes);
		*has = *memory ? bytes : 0;
	}
	return *memory;
}

/* X's rows beside each other; NULL: they cannot be had. */
static const void *take_rows(struct computer *computer, const struct activations *x)
{
	const size_t bytes = activations_rows(x) * x->count[0] * sizeof(float);

	if (activations_are_dense(x))
		return x->data;
	if (!computer_run(computer) || !at_least(&computer->rows, &computer->rows_bytes, bytes))
		return NULL;
	activations_gather(x, computer->rows);
	counter_add(COUNTER_GATHERED, 1);
	return computer->rows;
}

static int is_same_routing(const struct routing *a, const struct routing *b)
{
	return a->data == b->data && a->used == b->used && a->tokens == b->tokens && a->stride == b->stride;
}

/* Likewise a routing's numbers.  Several products follow one routing: it is gathered for the first of a graph. */
static const void *take_ids(struct computer *computer, const struct routing *routing)
{
	const size_t row = routing->used * sizeof(int32_t);

	if (routing->stride == row || routing->tokens == 1)
		return routing->data;
	if (is_same_routing(&computer->ids_of, routing))
		return computer->ids;
	if (!computer_run(computer) || !at_least(&computer->ids, &computer->ids_bytes, routing->tokens * row))
		return NULL;
	for (size_t i = 0; i < routing->tokens; i++)
		memcpy((char *)computer->ids + i * row, (const char *)routing->data + i * routing->stride, row);
	computer->ids_of = *routing;
	return computer->ids;
}

/* The product that WORK describes; NULL, after a line on standard error: there is none. */
static struct product *add(struct computer *computer, const struct weights *weights, const struct weights_work *work,
			   const struct activations *x, void *y)
{
	struct tcbrt_error err;
	const struct plan *plan;
	const void *rows;
	struct product *product;

	if (weights->refusal) {
		refuse("a product's weights cannot be used", weights->refusal);
		return NULL;
	}
	if (!(plan = weights_plan(weights->kind, work, &err))) {
		refuse("no plan for a product", err.message);
		return NULL;
	}
	if (!(rows = take_rows(computer, x)) || !reserve(computer, plan)) {
		refuse("no plan for a product", "out of memory");
		return NULL;
	}
	product = &computer->products[computer->count++];
	*product = (struct product){ .plan = plan };
	product->operand[plan->x] = (void *)rows;
	product->operand[plan->weights] = weights->packed;
	product->operand[plan->y] = y;
	counter_add(COUNTER_PRODUCTS, 1);
	counter_add(COUNTER_TOKENS, work->m);
	return product;
}

int computer_add(struct computer *computer, const struct weights *weights, const struct activations *x, void *y)
{
	const struct weights_work work = { .m = activations_rows(x), .threads = computer->threads };

	return add(computer, weights, &work, x, y) != NULL;
}

int computer_add_experts(struct computer *computer, const struct weights *weights, const struct activations *x,
			 const struct routing *routing, void *y)
{
	const struct weights_work work = { .m = routing->tokens,
					   .used = routing->used,
					   .has_rows_each = x->count[1] > 1,
					   .threads = computer->threads };
	const void *ids = take_ids(computer, routing);
	struct product *product;

	if (!ids)
		return refuse("no plan for a product", "out of memory");
	if (!(product = add(computer, weights, &work, x, y)))
		return 0;
	product->operand[product->plan->ids] = (void *)ids;
	counter_add(COUNTER_EXPERTS, 1);
	return 1;
}

/* The queries, dense and multiplied as the library's scores want them; NULL: there is no memory. */
static float *take_queries(struct computer *computer, const struct attention *attention)
{
	const struct activations *q = &attention->q;
	const size_t values = activations_rows(q) * q->count[0];
	const float factor = attention_factor(attention);

	if (factor == 1)
		return (float *)take_rows(computer, q);
	if (!computer_run(computer) || !at_least(&computer->rows, &computer->rows_bytes, values * sizeof(float)))
		return NULL;
	activations_gather(q, computer->rows);
	for (size_t i = 0; i < values; i++)
		((float *)computer->rows)[i] *= factor;
	return computer->rows;
}

int computer_add_attention(struct computer *computer, const struct attention *attention,
			   const struct attention_run *runs, size_t count)
{
	const size_t token = attention->heads * attention->head; /* values */
	float *q = take_queries(computer, attention);
	struct tcbrt_error err;

	for (size_t i = 0; i < count; i++) {
		const struct attention_run *run = &runs[i];
		const struct plan *plan = attention_plan(attention, run, computer->threads, &err);
		const size_t at = (run->sequence * attention->tokens + run->first) * token;
		const size_t cell = run->sequence * attention->k_sequence + run->from * attention->row;

		if (!plan)
			return refuse("no plan for attention", err.message);
		if (!q || !reserve(computer, plan))
			return refuse("no plan for attention", "out of memory");
		computer->products[computer->count++] =
			(struct product){ .plan = plan,
					  .operand = { [ATTENTION_Q] = q + at,
						       [ATTENTION_K] = (char *)attention->k + cell,
						       [ATTENTION_V] = (char *)attention->v + cell,
						       [ATTENTION_OUT] = attention->out + at },
					  .length = (int32_t)run->cells,
					  .is_attention = 1 };
	}
	counter_add(COUNTER_ATTENTION, 1);
	return 1;
}

int computer_leave(struct computer *computer, struct ggml_tensor *node)
{
	if (!computer_run(computer))
		return 0;
	if (!ggml_host_take_turn(&computer->turn, node, computer->threads))
		return refuse("attention was left to the host's CPU backend", "it failed");
	counter_add(COUNTER_LEFT, 1);
	return 1;
}

int computer_read_rows(struct computer *computer, const struct weights *weights, const int32_t *rows, size_t count,
		       size_t k, float *out)
{
	if (weights->refusal)
		return refuse("a table of weights cannot be used", weights->refusal);
	if (!computer_run(computer))
		return 0;
	for (size_t i = 0; i < count; i++)
		if (rows[i] < 0 || !weights_read_row(weights, (size_t)rows[i], out + i * k))
			return refuse("a table of weights was read", "where it has no row");
	counter_add(COUNTER_ROWS, count);
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

/* Lengths are read where they are now. */
static void find_lengths(struct computer *computer)
{
	for (size_t i = 0; i < computer->count; i++)
		if (computer->products[i].is_attention)
			computer->products[i].operand[ATTENTION_LENGTHS] = &computer->products[i].length;
}

int computer_run(struct computer *computer)
{
	struct region region = { .computer = computer };
	const unsigned long long began = counter_now_ns();

	if (computer->count == 0)
		return 1;
	find_lengths(computer);
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
	counter_add(COUNTER_COMPUTE_NS, counter_now_ns() - began);
	const int is_fine = !region.failed || refuse_bad_product(computer);

	computer_drop(computer);
	return is_fine;
}

void computer_drop(struct computer *computer)
{
	computer->count = 0;
	computer->ids_of = (struct routing){ .data = NULL };
}
