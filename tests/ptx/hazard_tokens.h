/* SPDX-License-Identifier: MIT
 *
 * A second proof that barriers can go: by the order that tokens give.
 */
#ifndef TCB_TESTS_HAZARD_TOKENS_H
#define TCB_TESTS_HAZARD_TOKENS_H

#include "ptx/analyse/hazards/tokens.h"

/* Proves that REMOVED can go: each two accesses that may meet and have an order with all barriers have one without
 * them.  TCB_E_FAILED names two that lose it.  Rounds of loops are not told apart: tcb_ptx_redundant_barriers sees
 * those. */
enum tcb_status prove_removal(struct tcb_ptx_hazards *hazards, struct tcb_ptx_ins *const *removed,
			      uint32_t removed_count, struct tcb_error *err);

#endif
