/* SPDX-License-Identifier: MIT
 *
 * An integer value in all threads of a block, and the symbols in it (affine.h says
 * how it is found).
 */
#ifndef TCB_PTX_AFFINE_VALUE_H
#define TCB_PTX_AFFINE_VALUE_H

#include <stdint.h>

/* factor(thread) * symbol */
struct tcb_ptx_term {
	uint32_t symbol;
	uint64_t factor;
	const uint64_t *lanes; /* added to the factor, by thread; NULL: the same in all */
};

struct tcb_ptx_value {
	uint8_t known;
	uint8_t bits;    /* 1 (a predicate), 16, 32 or 64: all sums are modulo 2^bits */
	uint8_t assumes; /* holds unless index arithmetic wraps around */
	uint32_t open;   /* internal: the outermost unsettled loop variable that it rests on */
	uint32_t term_count;
	uint64_t constant;
	const uint64_t *lanes;            /* added to the constant, by thread; 0 for thread 0; NULL: the same in all */
	const struct tcb_ptx_term *terms; /* by rising symbol */
};

enum { TCB_PTX_BLOCK_THREADS_MAX = 1024, TCB_PTX_WARP = 32 };

enum tcb_ptx_symbol_kind {
	TCB_PTX_Y_PARAM,    /* a parameter */
	TCB_PTX_Y_SPECIAL,  /* a special register that is the same in all threads of a block */
	TCB_PTX_Y_ADDRESS,  /* the address of a variable */
	TCB_PTX_Y_WINDOW,   /* where a state space begins among generic addresses */
	TCB_PTX_Y_COUNTER,  /* times that a loop went back to its header */
	TCB_PTX_Y_COMPUTED, /* by operations that are not sums, or loaded */
	TCB_PTX_Y_CARRIED   /* a value that a loop changes in another way */
};

struct tcb_ptx_symbolic {
	enum tcb_ptx_symbol_kind kind;
	uint64_t align; /* a power of two that divides it */
	uint64_t max;   /* it lies in [0, max]; UINT64_MAX: unknown */
	uint64_t loops; /* bit i: may change from one round of loop i to the next; see affine_loop */
	uint32_t open;  /* internal, CARRIED: as in struct tcb_ptx_value */
	const struct tcb_ptx_symbol *variable; /* PARAM, ADDRESS */
	const struct tcb_ptx_block *header;    /* COUNTER, CARRIED */
};

static inline uint64_t tcb_ptx_value_mask(const struct tcb_ptx_value *v)
{
	return v->bits >= 64 ? UINT64_MAX : (UINT64_C(1) << v->bits) - 1;
}

/* The part that is known for THREAD: all but the terms. */
static inline uint64_t tcb_ptx_value_lane(const struct tcb_ptx_value *v, uint32_t thread)
{
	return (v->constant + (v->lanes ? v->lanes[thread] : 0)) & tcb_ptx_value_mask(v);
}

#endif
