/* SPDX-License-Identifier: MIT
 *
 * Attention as the host asks for it: which of it is taken, what its mask says, and
 * the plans that compute it.
 */
#ifndef TCB_GGML_HOST_ATTENTION_H
#define TCB_GGML_HOST_ATTENTION_H

#include "activations.h"
#include "plans.h"

/*
 * out = softmax(q K^T scale + mask) V, of SEQUENCES apart; with a CAP c scores are c tanh(s / c) before the mask is
 * added.  K and V have a row of all KV heads, side by side, for each cell of a cache.
 */
struct attention {
	const char *kv; /* of K and V, as the library's ops are named: "f16" */
	size_t head, heads, kv_heads, tokens, cells, sequences;
	int is_whole;         /* of the cache all cells, which no more can come to */
	float scale, cap;     /* no CAP: 0 */
	struct activations q; /* [sequence][token][head][value] */
	const char *k, *v;
	size_t row, k_sequence, v_sequence; /* bytes of a cell; from one sequence to the next */
	const char *mask;                   /* binary16, [sequence][token][cell]; NULL: all is seen */
	size_t mask_row, mask_sequence;     /* bytes */
	float *out;                         /* [sequence][token][head][value] */
};

/* The name in the library's ops of what the host calls NAME; NULL: no op has such K and V. */
const char *attention_kv(const char *name);

/* Until it is called nothing is taken: the plug-in's test of attention passed. */
void attention_enable(void);
/* The only rule for what is taken, of what the library can compute. */
bool attention_is_taken(const struct attention *of);

/* Query tokens, one after another, that see intervals of cells: CELLS cells from FROM on are what the last of them
 * sees.  IS_CAUSAL: each that comes before sees one less, with a WINDOW that many at most; else all see the same. */
struct attention_run {
	size_t sequence, first, rows, from, cells, window;
	int is_causal;
};
enum { ATTENTION_RUNS_MAX = 64 };

/* What the mask says, as runs in order; 0: it cannot be said so. */
size_t attention_runs(const struct attention *of, struct attention_run out[ATTENTION_RUNS_MAX]);

/* Operands of the plans. */
enum { ATTENTION_Q, ATTENTION_K, ATTENTION_V, ATTENTION_LENGTHS, ATTENTION_OUT, ATTENTION_OPERANDS };
/* What to multiply q with for them: their scores are divided by the root of the head. */
float attention_factor(const struct attention *of);
/* NULL, and why in ERR.  Any threads at once. */
const struct plan *attention_plan(const struct attention *of, const struct attention_run *run, unsigned threads,
				  struct tcbrt_error *err);

#endif
