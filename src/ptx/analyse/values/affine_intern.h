/* SPDX-License-Identifier: MIT
 *
 * Of affine.h: things that are kept once.
 */
#ifndef TCB_PTX_AFFINE_INTERN_H
#define TCB_PTX_AFFINE_INTERN_H

#include "ptx/analyse/analyses.h"
#include "ptx/analyse/values/affine_value.h"

struct tcb_ptx_affine;

struct tcb_ptx_coefficient {
	uint64_t constant;
	const uint64_t *lanes;
};
/* The coefficient whose value for each thread stands in a->scratch, modulo 2^BITS. */
struct tcb_ptx_coefficient tcb_ptx_affine_keep(struct tcb_ptx_affine *a, unsigned bits);
/* The symbol for KEY (WORDS words, the first its kind); made as LIKE says when it is new. */
uint32_t tcb_ptx_affine_symbol_for(struct tcb_ptx_affine *a, const uint64_t *key, uint32_t words,
				   const struct tcb_ptx_symbolic *like);

#endif
