/* SPDX-License-Identifier: MIT
 *
 * Weights as the plug-in keeps them, packed once in one layout for any number
 * of tokens and threads, and the plans that multiply by them.
 */
#ifndef TCB_GGML_PACKED_H
#define TCB_GGML_PACKED_H

#include <stddef.h>

#include "tcbrt.h"

/* A plan for M tokens on so many threads. */
struct weights_plan {
	struct tcbrt_plan *plan;
	size_t m, workspace_bytes;
	unsigned threads;
	int x, weights, y; /* which operand is which */
	struct weights_plan *next;
};

/* All weights of one format and shape: they share layout and plans.  Never freed: a host has a few dozen. */
struct weights_kind;

/* The weights of one tensor. */
struct weights {
	struct weights_kind *kind;
	void *packed;
	const char *refusal; /* why they cannot be used; NULL: they can */
	struct weights *next;
};

/* Opens the tuning database, or goes on without one; 0 where neither can be. */
int weights_open(void);
int weights_has_database(void);
/* "q4_K, q6_K, ..." */
const char *weights_formats(void);

/* NULL: no kernel here computes with weights of that TYPE (its number in a GGUF file) and shape. */
struct weights_kind *weights_kind(int type, size_t n, size_t k);
size_t weights_bytes(const struct weights_kind *kind);
size_t weights_columns(const struct weights_kind *kind);
size_t weights_rows(const struct weights_kind *kind);

/* Takes SIZE stored bytes from OFFSET on; any pieces, in any order.  Without memory it refuses the weights for good. */
void weights_set(struct weights *weights, const void *data, size_t offset, size_t size);
/* Gives stored bytes back; 0: there is no memory. */
int weights_get(const struct weights *weights, void *data, size_t offset, size_t size);

/* The plan for M tokens on THREADS, made on first use; NULL, and why in ERR.  Any threads at once; none waits. */
const struct weights_plan *weights_plan(struct weights_kind *kind, size_t m, unsigned threads, struct tcbrt_error *err);

#endif
