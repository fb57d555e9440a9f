/* SPDX-License-Identifier: MIT
 *
 * Checks over the geometries of all ops: the constraints, what they refuse and
 * what they suggest instead (items 4, 6, 11, 13, 14).
 */
#ifndef TCB_VERIFY_MEASURE_GEOMETRY_H
#define TCB_VERIFY_MEASURE_GEOMETRY_H

#include "verify/claim.h"

/* Random changes of legal geometries that break a constraint of GPU kernels: is any of them emitted? */
void tcb_claim_refused_before_code(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out);
/* Is each op's default legal on the CPU, on its families alone, and on every GPU of the table? */
void tcb_claim_agnostic(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out);
/* The same of the ops on f32, f16 and bf16, and whether their spaces hold anything else. */
void tcb_claim_half_types(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out);
/* Does what a refusal suggests satisfy every constraint? */
void tcb_claim_suggestions(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out);
/* Shared memory and threads of a block over spaces of one token and of many. */
void tcb_claim_batches_fit(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out);

#endif
