/* SPDX-License-Identifier: MIT
 *
 * Computing products and attention, one after another, on the host's number of threads.
 */
#ifndef TCB_GGML_PRODUCTS_H
#define TCB_GGML_PRODUCTS_H

#include <stdint.h>

#include "activations.h"
#include "host.h"
#include "host_attention.h"
#include "packed.h"

enum { PRODUCT_OPERANDS = 5 };

/* Or a run of attention, which has LENGTH cells. */
struct product {
	const struct plan *plan;
	void *operand[PRODUCT_OPERANDS];
	int32_t length;
	int is_attention;
};

/* Which matrices of a mixture each token uses: USED numbers, STRIDE bytes from one token to the next. */
struct routing {
	size_t used, tokens, stride;
	const void *data;
};

/* For one thread of the host at a time. */
struct computer {
	unsigned threads;
	struct product *products;
	size_t count, capacity;
	void *workspace;
	size_t workspace_bytes;
	void *rows; /* of activations that are not dense, those of the last product put */
	size_t rows_bytes;
	void *ids; /* of a routing whose tokens are apart */
	size_t ids_bytes;
	struct routing ids_of;   /* which; no data: none */
	struct tcbrt_pool *pool; /* where the host has no OpenMP runtime */
	unsigned pool_threads;
	struct ggml_host_turn turn; /* for attention whose mask is no intervals */
};

struct computer *computer_create(void);
void computer_destroy(struct computer *computer);

/*
 * Puts Y = X times WEIGHTS to what is computed next; 0, after a line on standard error, where it cannot.  Where X's
 * rows are to be gathered, what was put before is computed first: X may be of it.
 */
int computer_add(struct computer *computer, const struct weights *weights, const struct activations *x, void *y);
/* Of a mixture: Y has a row for each token and matrix that it uses; X's second dimension is these, or 1. */
int computer_add_experts(struct computer *computer, const struct weights *weights, const struct activations *x,
			 const struct routing *routing, void *y);
/* Of the RUNS that its mask is. */
int computer_add_attention(struct computer *computer, const struct attention *attention,
			   const struct attention_run *runs, size_t count);
/* NODE by the host's CPU backend, after what was put; 0 as above. */
int computer_leave(struct computer *computer, struct ggml_tensor *node);
/* Rows of WEIGHTS by their numbers, COUNT of them, to OUT, a row of K values each; what was put is computed first. */
int computer_read_rows(struct computer *computer, const struct weights *weights, const int32_t *rows, size_t count,
		       size_t k, float *out);
/* Computes what was put, in order, and forgets it; 0 as above. */
int computer_run(struct computer *computer);
/* Forgets it. */
void computer_drop(struct computer *computer);

/* What has been done, for tests and benchmarks. */
enum counter {
	COUNTER_GRAPHS,
	COUNTER_PRODUCTS,
	COUNTER_EXPERTS, /* products of mixtures, among them */
	COUNTER_ROWS,    /* read */
	COUNTER_ATTENTION,
	COUNTER_LEFT, /* attention that the host computed, since its mask is no intervals */
	COUNTER_TOKENS,
	COUNTER_COMPUTE_NS,
	COUNTER_PACKED,
	COUNTER_PACK_NS,
	COUNTER_UNPACKED,
	COUNTER_GATHERED,
	COUNTER_REFUSED,
	COUNTERS
};
void counter_add(enum counter counter, unsigned long long amount);
unsigned long long counter_now_ns(void);

#endif
