/* SPDX-License-Identifier: MIT
 *
 * Of affine.h: arithmetic on values.
 */
#ifndef TCB_PTX_AFFINE_OPS_H
#define TCB_PTX_AFFINE_OPS_H

#include "ptx/analyse/analyses.h"
#include "ptx/analyse/values/affine_value.h"

struct tcb_ptx_affine;

/* Whether it is the same in all threads of the block. */
int tcb_ptx_value_is_uniform(const struct tcb_ptx_value *v);
/* The greatest power of two (at most 2^32) that divides the terms in all threads. */
uint64_t tcb_ptx_affine_term_align(const struct tcb_ptx_affine *affine, const struct tcb_ptx_value *v);
struct tcb_ptx_value tcb_ptx_value_unknown(unsigned bits);
struct tcb_ptx_value tcb_ptx_value_number(unsigned bits, uint64_t number);
struct tcb_ptx_value tcb_ptx_value_symbol(struct tcb_ptx_affine *a, unsigned bits, uint32_t symbol);
/* LANES: one value per thread, copied. */
struct tcb_ptx_value tcb_ptx_value_of_lanes(struct tcb_ptx_affine *a, unsigned bits, const uint64_t *lanes);
int tcb_ptx_value_same(const struct tcb_ptx_value *x, const struct tcb_ptx_value *y);
uint64_t tcb_ptx_value_loops(const struct tcb_ptx_affine *a, const struct tcb_ptx_value *v);
/* The value with COUNTER times STEP added, thread by thread; STEP may have terms when they are uniform. */
struct tcb_ptx_value tcb_ptx_value_add(struct tcb_ptx_affine *a, const struct tcb_ptx_value *x,
				       const struct tcb_ptx_value *y);
struct tcb_ptx_value tcb_ptx_value_sub(struct tcb_ptx_affine *a, const struct tcb_ptx_value *x,
				       const struct tcb_ptx_value *y);
struct tcb_ptx_value tcb_ptx_value_mul(struct tcb_ptx_affine *a, const struct tcb_ptx_value *x,
				       const struct tcb_ptx_value *y);
/* OP: AND, OR, XOR of enum tcb_ptx_op. */
struct tcb_ptx_value tcb_ptx_value_bitwise(struct tcb_ptx_affine *a, unsigned op, const struct tcb_ptx_value *x,
					   const struct tcb_ptx_value *y);
/* Right by a number, with the sign when IS_SIGNED. */
struct tcb_ptx_value tcb_ptx_value_shr(struct tcb_ptx_affine *a, const struct tcb_ptx_value *x, unsigned by,
				       int is_signed);
/* The low BITS bits of X as a value of TO bits, with their sign when IS_SIGNED. */
struct tcb_ptx_value tcb_ptx_value_convert(struct tcb_ptx_affine *a, const struct tcb_ptx_value *x, unsigned bits,
					   unsigned to, int is_signed);
struct tcb_ptx_value tcb_ptx_value_select(struct tcb_ptx_affine *a, const struct tcb_ptx_value *p,
					  const struct tcb_ptx_value *x, const struct tcb_ptx_value *y);
/* Some function of uniform values: a symbol of its own.  TAG tells functions apart. */
struct tcb_ptx_value tcb_ptx_value_computed(struct tcb_ptx_affine *a, unsigned bits, uint64_t tag, unsigned count,
					    const struct tcb_ptx_value *x, uint64_t align, uint64_t max);

#endif
