/* SPDX-License-Identifier: MIT
 *
 * What attention_decode and attention_prefill share in WGSL: where q, K, V and
 * results are, which tokens a query sees, and the rules that follow.
 *
 * A workgroup has the query rows of a tile, midi.m query tokens by `heads` query heads that share a KV head: row R is
 * of token R / heads and head R % heads.  Rows that there are none of are those of the last token or head once more,
 * and are not stored.  An invocation loads K and V as vectors of vec bytes (of Q8_0: of codes); they and q are read
 * as words, whatever their type, and all arithmetic is in f32, for both contracts: contract f16 is a type of q and out
 * alone.  The text is that of the geometry, the contract, the head size and whether there are pages.
 *
 * What is promised.  WGSL lets a device take it that there are no NaNs and no infinities: results are within the bound
 * for finite values whose scores are finite in f32, and nothing is promised for others.  What no query sees does not
 * matter; tokens behind the last that a tile sees are loaded as that one.
 */
#ifndef TCB_KERNELS_ATTENTION_WGSL_H
#define TCB_KERNELS_ATTENTION_WGSL_H

#include "kernels/attention/attention.h"
#include "kernels/wgsl/wgsl.h"
#include "kernels/wgsl/wgsl_rules.h"

enum {
	ATTENTION_WGSL_FOUR = 4, /* values of a vec4<f32> */
	ATTENTION_WGSL_VEC_MOST = 16,
	ATTENTION_WGSL_EXPRESSION_MAX = 96,
};

/* A geometry and a problem in numbers, for both ops. */
struct attention_wgsl {
	enum tcb_kv kv;
	enum tcb_type io;
	int has_pages;
	unsigned k, width;      /* values of a head; of a vector */
	unsigned tokens, heads; /* of a tile */
	unsigned rows;          /* their product */
	unsigned workgroup;
	enum tcb_tree tree;
	/* not in the text */
	unsigned queries, sequences, kv_heads, sharing; /* sharing: query heads of a KV head */
	unsigned token_tiles, head_tiles;
};

/* A module being written. */
struct attention_wgsl_writer {
	struct tcb_wgsl w;
	const struct attention_wgsl *g;
	const char *here;                 /* what functions that bring values together are told */
	int q, k, v, lengths, out, pages; /* bindings; pages: 0 where there are none */
};

/* attention_wgsl.c */
void attention_wgsl_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
			 struct attention_wgsl *out);
/* Begins a module: bindings and numbers. */
enum tcb_status attention_wgsl_open(struct attention_wgsl_writer *w, const struct tcb_problem *problem,
				    const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err);
/*
 * Functions:
 *     fn row_of(sequence: u32, kv_head: u32, token: u32, head: u32) -> u32    a row of q and out
 *     fn q_at(row: u32, four: u32) -> vec4<f32>                               times 1 / sqrt(k)
 *     fn put(row: u32, four: u32, values: vec4<f32>)                          to out
 *     fn kv_row(sequence: u32, token: u32, kv_head: u32) -> u32               a row of K and V
 *     fn k_at(row: u32, vector: u32) -> Stored, fn v_at                       a vector as loaded
 *     fn begin_of(length: u32, token: u32) -> u32, fn end_of                  the tokens that a query token sees
 *     fn capped(score: f32) -> f32
 */
void attention_wgsl_functions(struct attention_wgsl_writer *w);
/* Four values, number I, of a vector NAME as loaded. */
void attention_wgsl_four(const struct attention_wgsl *g, const char *name, unsigned i,
			 char out[ATTENTION_WGSL_EXPRESSION_MAX]);
/* Lines: TO0, TO1, ... are NAME0, NAME1, ..., COUNT of them, brought together by FUNCTION, as many at a time as a
 * vector of the language has (a chunk); what FUNCTION takes. */
void attention_wgsl_together(struct attention_wgsl_writer *w, const char *to, const char *function, const char *name,
			     unsigned count);
unsigned attention_wgsl_chunk(unsigned count);
const char *attention_wgsl_chunk_type(unsigned count);
/* What an entry has that reads q, K and V, and writes TO and OTHER (0: it does not), up to a 0. */
void attention_wgsl_uses(const struct attention_wgsl_writer *w, int to, int other, int uses[TCB_WGSL_BINDINGS_MAX + 1]);
/* Lines of an entry: of its tile kv_head, first_head, sequence, first_query, length, and the tokens that it sees, begin
 * and end.  SEQUENCE and TILE, of query tokens: which they are. */
void attention_wgsl_tile(struct attention_wgsl_writer *w, const char *sequence, const char *tile);
/* Roundings of a term of sums of weights times values, and of a weight: STEPS times a sum is rescaled, ADDED additions.
 */
double attention_wgsl_chain(double steps, double added);

/* Bytes of the narrowest vector; the widest has ATTENTION_WGSL_VEC_MOST. */
unsigned attention_wgsl_vec_least(const struct tcb_problem *problem);
/* The tile's heads and tokens, and vec. */
tcb_gpu_rule attention_wgsl_rule_heads, attention_wgsl_rule_vec;
#define ATTENTION_WGSL_READS_HEADS (TCB_FIELD_KNOB(HEADS) | TCB_FIELD_TILES)

/* attention_decode_wgsl_plan.c, attention_prefill_wgsl_plan.c */
extern const struct tcb_side_space attention_decode_wgsl_space, attention_prefill_wgsl_space;

/* attention_decode_wgsl.c, attention_prefill_wgsl.c */
#define ATTENTION_WGSL_SIDE(kv, ...) \
	extern const struct tcb_side attention_decode_##kv##_wgsl, attention_prefill_##kv##_wgsl;
TCB_KV_ALL_LIST(ATTENTION_WGSL_SIDE, )
#undef ATTENTION_WGSL_SIDE

#endif
