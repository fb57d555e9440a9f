/* SPDX-License-Identifier: MIT
 *
 * Private to attention_prefill's WGSL kernels: what a geometry means in WebGPU.
 *
 * A workgroup has the query rows of a tile and goes over the KV tokens that they see, midi.n at a time, with a running
 * maximum and sum of each row.  An invocation has micro.m rows, with workgroup * micro.m / rows others, its team: the
 * scores of a share of the tokens, some next to each other, and sums of a share of the head's values.  Scores:
 * midi.k values of q and of K come to workgroup memory at a time, as f32, and are multiplied four (micro.k) at a time.
 * Weights and, some tokens at a time, V lie there for the sums.  tree is how a team's maxima are brought
 * together.  micro.n is midi.n, macro.n all tokens, rounded up to a power of two, macro.k the head size likewise.
 */
#ifndef TCB_KERNELS_ATTENTION_PREFILL_WGSL_H
#define TCB_KERNELS_ATTENTION_PREFILL_WGSL_H

#include "kernels/attention/attention_wgsl.h"

/* A geometry and a problem in numbers. */
struct attention_prefill_wgsl {
	struct attention_wgsl a;
	unsigned tile;           /* KV tokens at a time */
	unsigned own;            /* rows of an invocation */
	unsigned team, teams;    /* invocations that share rows; how many of these, so that rows are as far apart */
	unsigned keys;           /* KV tokens of an invocation */
	unsigned columns;        /* fours of the head of an invocation */
	unsigned step;           /* fours of a head at a time */
	unsigned v_tokens;       /* of V at a time */
	unsigned pitch, p_pitch; /* of workgroup memory, in fours: of q and K; of weights */
	unsigned tile_fours, weight_fours;
	/* not in the text */
	unsigned tiles; /* at most */
};

/* attention_prefill_wgsl_plan.c */
void attention_prefill_wgsl_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
				 struct attention_prefill_wgsl *out);
double attention_prefill_wgsl_chain(const struct tcb_problem *problem, const struct attention_prefill_wgsl *g);

#endif
