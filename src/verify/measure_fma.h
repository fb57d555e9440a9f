/* SPDX-License-Identifier: MIT
 *
 * Times of fused multiply-adds on this processor's vectors (items 20, 23, 24),
 * by pairs of loops that differ in nothing else.  x86-64 with AVX2 only.
 */
#ifndef TCB_VERIFY_MEASURE_FMA_H
#define TCB_VERIFY_MEASURE_FMA_H

#include "verify/claim.h"

/* A dot product in the first cache, unfused over fused. */
void tcb_claim_fma_faster(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out);
/* A dot product with 1 accumulator over that with 4. */
void tcb_claim_fma_unrolled(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out);
/* Independent fma over independent mul, in registers. */
void tcb_claim_fma_throughput(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out);

#endif
