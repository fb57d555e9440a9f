/* SPDX-License-Identifier: MIT
 *
 * Private to attention_decode's WGSL kernels: what a geometry means in WebGPU.
 *
 * Splitk workgroups share a tile's KV, each a part of macro.n tokens of it (fewer where a sequence is shorter); what
 * they leave in the workspace a second launch brings together (join=launch).  An invocation has micro.k values of
 * a head (of heads of 96, which tiles have as 128, three quarters of that), so that some invocations next to each
 * other, a team, have a KV token; teams of a workgroup
 * take micro.n tokens each at a time, together midi.n, and all query rows of the tile, whose scores are brought
 * together as tree says: each invocation of a team has all of them then; or, with tree=exchange, shares of them. Halves
 * of the scores go back and forth between lanes of a subgroup until each lane has the sums of a few, of which it alone
 * takes the exponentials; the others are told the weights.  A team has a running maximum and sum of its own; they meet
 * at the end.  stages=2: V of tokens is asked for before their scores are there, and K of the next ones before V is
 * added up.
 */
#ifndef TCB_KERNELS_ATTENTION_DECODE_WGSL_H
#define TCB_KERNELS_ATTENTION_DECODE_WGSL_H

#include "kernels/attention/attention_wgsl.h"

enum {
	ATTENTION_DECODE_WGSL_ROWS_MAX = 8,
	ATTENTION_DECODE_WGSL_TOGETHER_MAX = 4,
	ATTENTION_DECODE_WGSL_JOIN_WORKGROUP = 128 /* of the second launch, a row each */
};

/* A geometry and a problem in numbers. */
struct attention_decode_wgsl {
	struct attention_wgsl a;
	unsigned team, teams;
	unsigned vectors, fours; /* of an invocation, of a token */
	unsigned together;       /* KV tokens of a team at a time */
	unsigned piece;          /* of all teams */
	unsigned splitk, stages;
	int exchanges;  /* tree=exchange; otherwise the next three are not meant */
	unsigned own;   /* scores of an invocation's after the exchange, of together * rows, a token's rows next to each
			   other */
	unsigned alike; /* invocations next to each other that have the same */
	unsigned states;      /* rows of which an invocation has the maximum and its part of the sum */
	unsigned merged;      /* rows whose sums teams leave in workgroup memory at a time */
	unsigned join_shares; /* groups of a workgroup that share a row's parts */
	/* not in the text */
	unsigned steps; /* pieces of a part, at most */
	uint32_t grid[3];
	uint32_t join_rows;
};

/* attention_decode_wgsl_plan.c */
void attention_decode_wgsl_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
				struct attention_decode_wgsl *out);
double attention_decode_wgsl_chain(const struct attention_decode_wgsl *g);

#endif
