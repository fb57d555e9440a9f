/* SPDX-License-Identifier: MIT
 *
 * Of affine.h: operands that nothing computes.
 */
#ifndef TCB_PTX_AFFINE_LEAF_H
#define TCB_PTX_AFFINE_LEAF_H

#include "ptx/analyse/analyses.h"
#include "ptx/analyse/values/affine_value.h"

struct tcb_ptx_affine;

/* The state space of an address whose instruction names none: SHARED, GLOBAL, LOCAL, CONST, or NO_WORD. */
enum tcb_ptx_word tcb_ptx_affine_space(const struct tcb_ptx_affine *affine, const struct tcb_ptx_value *address);
/* The one variable that ADDRESS is based on, and the symbol that its address is; NULL when there is none. */
const struct tcb_ptx_symbol *tcb_ptx_affine_variable(const struct tcb_ptx_affine *affine,
						     const struct tcb_ptx_value *address, uint32_t *symbol_out);
struct tcb_ptx_value tcb_ptx_affine_special(struct tcb_ptx_affine *a, enum tcb_ptx_special special);
struct tcb_ptx_value tcb_ptx_affine_symbol_address(struct tcb_ptx_affine *a, const struct tcb_ptx_symbol *symbol);

#endif
