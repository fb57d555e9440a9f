/* SPDX-License-Identifier: MIT
 *
 * Recurrent layers with a matrix for a state: the gated delta rule (Yang et al. 2024, Gated
 * Delta Networks; three of four layers of Qwen3-Next and 3.5) and the recurrence of Mamba-2
 * (Dao and Gu 2024, SSD), which is the same without the correction.  Of shape m x n x k with
 * DELTA_WORDS: each sequence gets m new tokens at most; h32/16: 32 heads, each with values of
 * n and a state of its own, which share 16 heads of queries and keys of k.  Of one head and
 * token, with the state S of k x n:
 *
 *     S   = exp(g) S
 *     S  += key (beta (v - S' key))'        of ssd_*: S += key (beta v)'
 *     y   = S' query / sqrt(k)              of ssd_*: y = S' query + skip v
 *
 * In Mamba-2's words key is B, query is C, v is x, beta is dt, exp(g) is exp(dt A), skip is D.
 *
 * qkv has a row for each token of each sequence: heads of queries, of keys, of values, as the
 * convolution before leaves them.  g and beta have a number for each token and head.  delta_*
 * take queries and keys as x / sqrt(x'x + 1e-6), which they work out.  key_heads says which
 * queries and keys a head has: i / 2 of head i, say, as models have them, or i % 16, as GGUF files.
 *
 * counts says how many new tokens a sequence has, its rows' first ones, 0 to m; nothing is read or
 * written of the others'.
 *
 * A state is in a slot of a pool: [slots][heads][n][k], so that what a value takes in from all keys
 * lies together, in f32 or bf16 by the op's name; arithmetic is in f32, and a bf16 state is
 * rounded where it is stored, not from token to token.  slots has a row for each sequence: which
 * slot of `states` it goes on from (negative: from zeros), then which of `states_out` its state
 * goes to (negative: nowhere): of *_decode_* behind each of its m tokens, so that to roll back to a
 * token is to go on from its slot, of *_prefill_* behind its last one.  A pool may have any number of slots; one pool
 * can be both operands, even where a sequence's new state takes the place of its old one, but no sequence may read or
 * write the slots that another one writes.
 *
 * How exact results are: delta_reference.c.
 */
#ifndef TCB_KERNELS_DELTA_H
#define TCB_KERNELS_DELTA_H

#include "kernels/op.h"

/* DELTA_SKIP: of ssd_* only. */
enum {
	DELTA_QKV,
	DELTA_G,
	DELTA_BETA,
	DELTA_Y,
	DELTA_STATES_OUT,
	DELTA_STATES,
	DELTA_KEY_HEADS,
	DELTA_COUNTS,
	DELTA_SLOTS,
	DELTA_SKIP
};
enum { DELTA_WORDS = 1u << TCB_WORD_QUERY | 1u << TCB_WORD_KV | 1u << TCB_WORD_SEQUENCES | 1u << TCB_WORD_RAGGED };
/* Roundings around a sum over k (delta_reference.c). */
enum { DELTA_CHAIN = 24 };
/* Tokens that chunks may have, and roundings around their sums beside those of a sum over k and over the chunk. */
enum { DELTA_CHUNK_LEAST = 16, DELTA_CHUNK_MAX = 64, DELTA_CHUNK_CHAIN = 112 };
enum { DELTA_KEY_UNIT = 16, DELTA_KEY_MAX = 256, DELTA_DECODE_TOKENS_MAX = 16 };
#define DELTA_NORM_EPSILON 1e-6f

/* X(state, ID, TYPE, text, ...): what states may be, an op of each family a line. */
#define DELTA_STATE_LIST(X, ...)                                \
	X(f32, F32, TCB_TYPE_F32, "states in f32", __VA_ARGS__) \
	X(bf16, BF16, TCB_TYPE_BF16, "states in bf16", __VA_ARGS__)

/* What tells the ops apart (op->member). */
struct delta_op {
	enum tcb_type state;
	int has_correction; /* delta_*; else ssd_* */
	int is_prefill;     /* *_prefill_*: any number of tokens; else *_decode_* */
};
static inline const struct delta_op *delta_of(const struct tcb_problem *problem)
{
	return problem->op->member;
}

/* Of a row of qkv. */
static inline size_t delta_row(const struct tcb_shape *shape)
{
	return 2 * (size_t)shape->words.kv * shape->k + (size_t)shape->words.query * shape->n;
}
/* Elements of a sequence's state. */
static inline size_t delta_state(const struct tcb_shape *shape)
{
	return shape->words.query * shape->n * shape->k;
}
/* States that a sequence may keep, and what a row of slots has: where it goes on from, and where these go. */
static inline size_t delta_kept(const struct tcb_problem *problem)
{
	return delta_of(problem)->is_prefill ? 1 : problem->shape.m;
}
static inline size_t delta_slots_row(const struct tcb_problem *problem)
{
	return 1 + delta_kept(problem);
}
/* Where in the row the slot is that the state behind TOKEN of COUNT goes to; 0: it goes nowhere. */
static inline size_t delta_slot_of(const struct tcb_problem *problem, size_t token, size_t count)
{
	return !delta_of(problem)->is_prefill ? 1 + token : token + 1 == count;
}

/* delta_ops.c: of test data and of measurements, as all ops have them that go with these states. */
/* New tokens of SEQUENCE: as the lengths of KV caches are, of m. */
size_t delta_count_of(const struct tcb_shape *shape, size_t sequence);
/* Does SEQUENCE go on from a state; is that behind TOKEN kept? */
int delta_goes_on(const struct tcb_shape *shape, size_t sequence);
int delta_is_kept(const struct tcb_shape *shape, size_t sequence, size_t token);
void delta_fill_slots(const struct tcb_problem *problem, struct tcb_rng *rng, int32_t *slots);

/* delta_reference.c */
void delta_reference(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out);

#endif
