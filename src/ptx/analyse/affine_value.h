/* SPDX-License-Identifier: MIT
 *
 * An integer value in all threads of a block (affine.h says how it is found).
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
