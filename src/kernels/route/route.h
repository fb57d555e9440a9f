/* SPDX-License-Identifier: MIT
 *
 * route_f32: what a mixture has between its router's product and those of its experts.  Of shape m x n x k: of each of
 * m tokens' n scores the k largest are found, the largest first, of equal ones the first:
 *
 *     ids[t][u] = which expert that is,  factors[t][u] = exp(s_u - s_0) / sum over v of exp(s_v - s_0)
 *
 * which is the softmax of the chosen, or that of all, divided by the chosen ones' sum (Qwen3-MoE, gpt-oss, Mixtral).
 * Whatever the scores are, ids are k different experts, as products of mixtures take them: what is beyond the largest
 * float counts as that float, and a NaN as the lowest.
 */
#ifndef TCB_KERNELS_ROUTE_H
#define TCB_KERNELS_ROUTE_H

#include "kernels/op.h"

enum { ROUTE_SCORES, ROUTE_IDS, ROUTE_FACTORS, ROUTE_OPERANDS };
enum { ROUTE_EXPERTS_MAX = 4096, ROUTE_USED_MAX = 256 }; /* as mixtures have them (base/shape_words.h) */
/* Roundings of a share beside its sum's: two of exp and its argument's, the quotient. */
enum { ROUTE_CHAIN = 6 };

/* A token. */
struct route_call {
	const float *scores;
	int32_t *ids;
	float *factors;
	size_t experts, used;
};
typedef void route_micro_fn(const struct route_call *call);

extern const struct tcb_side route_cpu;

#endif
