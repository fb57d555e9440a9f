/* SPDX-License-Identifier: MIT
 *
 * Weights as the plug-in keeps them, packed once in one layout for any number
 * of tokens and threads, and the plans that multiply by them.
 */
#ifndef TCB_GGML_PACKED_H
#define TCB_GGML_PACKED_H

#include <stddef.h>

#include "plans.h"

/* What a plan is for.  Mixtures of experts: USED matrices for each token, which has a row of activations for each where
 * HAS_ROWS_EACH, else one; USED is 0 where there is one matrix for all tokens. */
struct weights_work {
	size_t m; /* tokens */
	size_t used;
	int has_rows_each;
	unsigned threads; /* no gaps: it is a key, byte for byte */
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
/* What was opened. */
const struct tcbrt *weights_runtime(void);

/* MATRICES of N rows of K values.  NULL: no kernel here computes with weights of that TYPE (its number in a GGUF file)
 * and shape. */
struct weights_kind *weights_kind(int type, size_t matrices, size_t n, size_t k);
size_t weights_bytes(const struct weights_kind *kind);

/* Takes SIZE stored bytes from OFFSET on; any pieces, in any order.  Without memory it refuses the weights for good. */
void weights_set(struct weights *weights, const void *data, size_t offset, size_t size);
/* Gives stored bytes back; 0: there is no memory. */
int weights_get(const struct weights *weights, void *data, size_t offset, size_t size);
/* The K values of row ROW of the only matrix, as f32; 0: there is no such row. */
int weights_read_row(const struct weights *weights, size_t row, float *out);

/* The plan for WORK, made on first use; NULL, and why in ERR.  Any threads at once; none waits. */
const struct plan *weights_plan(struct weights_kind *kind, const struct weights_work *work, struct tcbrt_error *err);

#endif
