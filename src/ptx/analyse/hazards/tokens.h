/* SPDX-License-Identifier: MIT
 *
 * Memory-order tokens: a graph of memory operations of one thread block, where
 * each operation takes a token and gives one, and happens after all operations
 * whose tokens went into the one it took.
 *
 *     uint32_t begin = tcb_ptx_token_make(t);
 *     uint32_t a = tcb_ptx_token_op(t, &store, begin), b = tcb_ptx_token_op(t, &other, begin);
 *     uint32_t both = tcb_ptx_token_join(t, (uint32_t[]){ a, b }, 2);
 *     tcb_ptx_tokens_check(t, &sink, err);
 *
 * Tokens order operations; they do not make threads wait: only a barrier does.
 * A graph without cycles may still race: two operations on the same bytes, one
 * of them a write, with no path between them.
 */
#ifndef TCB_PTX_TOKENS_H
#define TCB_PTX_TOKENS_H

#include "ptx/analyse/hazards/hazards.h"

enum { TCB_PTX_NO_TOKEN = UINT32_MAX };

enum tcb_ptx_token_kind {
	TCB_PTX_TOKEN_MAKE,
	TCB_PTX_TOKEN_JOIN,
	TCB_PTX_TOKEN_LOAD,
	TCB_PTX_TOKEN_STORE,
	TCB_PTX_TOKEN_ATOMIC,
	TCB_PTX_TOKEN_FENCE,
	TCB_PTX_TOKEN_BARRIER
};

/* What an operation does.  Operations on the same PLACE touch each other when their bytes overlap. */
struct tcb_ptx_token_what {
	enum tcb_ptx_token_kind kind; /* LOAD to BARRIER */
	enum tcb_ptx_word order;      /* WEAK (or NO_WORD), RELAXED, ACQUIRE, RELEASE, ACQ_REL, SC, VOLATILE */
	enum tcb_ptx_word scope;      /* CTA, CLUSTER, GPU, SYS or NO_WORD */
	uint64_t place, offset;
	unsigned bytes;
	const struct tcb_ptx_ins *ins; /* where it comes from; may be NULL */
};

struct tcb_ptx_tokens;

enum tcb_status tcb_ptx_tokens_create(struct tcb_ptx_tokens **out, struct tcb_error *err);
void tcb_ptx_tokens_destroy(struct tcb_ptx_tokens *tokens);

/* Each returns a new token, or NO_TOKEN when memory is exhausted (then tcb_ptx_tokens_check fails, too).  A token names
 * the operation that gave it. */
uint32_t tcb_ptx_token_make(struct tcb_ptx_tokens *tokens);
uint32_t tcb_ptx_token_join(struct tcb_ptx_tokens *tokens, const uint32_t *joined, uint32_t count);
uint32_t tcb_ptx_token_op(struct tcb_ptx_tokens *tokens, const struct tcb_ptx_token_what *what, uint32_t token);
/* Lets the operation that gave USER take TOKEN, too, which may be made later than it: this is how cycles come about. */
void tcb_ptx_token_take(struct tcb_ptx_tokens *tokens, uint32_t user, uint32_t token);

/* The operation that gave TOKEN; kinds MAKE and JOIN have only that. */
const struct tcb_ptx_token_what *tcb_ptx_token_what(const struct tcb_ptx_tokens *tokens, uint32_t token);

/* Why an operation of KIND may not have ORDER at SCOPE for code of TARGET; NULL when it may. */
const char *tcb_ptx_token_illegal(enum tcb_ptx_token_kind kind, enum tcb_ptx_word order, enum tcb_ptx_word scope,
				  const struct tcb_ptx_target *target);

/* How far apart two threads are. */
enum tcb_ptx_distance { TCB_PTX_SAME_BLOCK, TCB_PTX_SAME_CLUSTER, TCB_PTX_SAME_DEVICE, TCB_PTX_SAME_SYSTEM };
/* Whether operations of two threads, at SCOPE_A and SCOPE_B, can order each other's memory: both scopes must hold both
 * threads. */
int tcb_ptx_scopes_meet(enum tcb_ptx_word scope_a, enum tcb_ptx_word scope_b, enum tcb_ptx_distance distance);

/* TCB_E_FAILED when there is a cycle (named, with the lines of its operations) or an operation is illegal for TARGET
 * (NULL: any).  All questions below need it to have returned TCB_OK since the last change. */
enum tcb_status tcb_ptx_tokens_check(struct tcb_ptx_tokens *tokens, const struct tcb_ptx_target *target,
				     struct tcb_error *err);

/* Whether the operation that gave A happens before the one that gave B. */
int tcb_ptx_token_before(struct tcb_ptx_tokens *tokens, uint32_t a, uint32_t b);
/* Calls SEE for each two operations that touch the same bytes, one a write, not both atomic, neither before the other;
 * returns how many. */
uint32_t tcb_ptx_tokens_races(struct tcb_ptx_tokens *tokens, void (*see)(void *ctx, uint32_t a, uint32_t b), void *ctx);
/* Calls SEE for each two weak loads, or stores, of neighbouring bytes that nothing orders, so that one wider access
 * could do for both; returns how many. */
uint32_t tcb_ptx_tokens_fusible(struct tcb_ptx_tokens *tokens, void (*see)(void *ctx, uint32_t a, uint32_t b),
				void *ctx);
/* Takes away makes and joins whose tokens no operation takes, and joins of one token; returns how many.  Order between
 * operations stays; token numbers do, too. */
uint32_t tcb_ptx_tokens_prune(struct tcb_ptx_tokens *tokens);
/* Whether TOKEN was taken away. */
int tcb_ptx_token_is_gone(const struct tcb_ptx_tokens *tokens, uint32_t token);

#endif
