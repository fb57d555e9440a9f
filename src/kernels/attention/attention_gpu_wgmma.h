/* SPDX-License-Identifier: MIT
 *
 * attention_decode with wgmma (sm_90): many query heads of a KV head, as of latent attention.
 *
 * A tile's `heads` query heads and 64 / heads query tokens are a warpgroup's 64 rows of attention_prefill's kernel
 * (attention_prefill_wgmma.c): tensor copies bring tiles of micro.n KV tokens to a ring, once for all rows; with vk V
 * is read from K's.  splitk blocks have a part of the KV tokens each, and the second launch merges them
 * (attention_gpu_merge.c).  `warps` are those that multiply: a warpgroup, where V has more than 256 values two, with
 * half of these each.
 */
#ifndef TCB_KERNELS_ATTENTION_GPU_WGMMA_H
#define TCB_KERNELS_ATTENTION_GPU_WGMMA_H

#include "kernels/attention/attention_gpu.h"
#include "kernels/attention/attention_prefill_gpu.h"

enum { ATTENTION_WGMMA_HEADS_MIN = 4 };

/* attention_gpu_wgmma.c */

/* Whether a geometry has it; whether there are any for PROBLEM on TARGET. */
int attention_is_wgmma(const struct tcb_geometry *geometry);
int attention_has_wgmma(const struct tcb_problem *problem, const struct tcb_target *target);
/* The most query heads of a tile: a power of two that divides the group, up to 64. */
unsigned attention_wgmma_heads(const struct tcb_problem *problem);
/* Where most of the rows have a query. */
int attention_wgmma_is_usual(const struct tcb_problem *problem, const struct tcb_target *target);
/* OUT, a plan of attention_gpu_plan's, becomes this kernel's; TILES_OUT: of what multiplies. */
void attention_wgmma_plan(const struct tcb_problem *problem, const struct tcb_target *target,
			  const struct tcb_geometry *geometry, struct attention_gpu *out,
			  struct prefill_gpu *tiles_out);
void attention_wgmma_footprint(const struct tcb_problem *problem, const struct tcb_target *target,
			       const struct tcb_geometry *geometry, struct tcb_footprint *out);
/* A rule. */
const char *attention_rule_wgmma(const struct tcb_problem *problem, const struct tcb_target *target,
				 const struct tcb_geometry *geometry);
void attention_wgmma_default(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out);
/* Both launches; W's kit is open. */
void attention_write_wgmma(struct attention_writer *w, const struct prefill_gpu *tiles);
double attention_wgmma_chain(const struct attention_gpu *g, const struct prefill_gpu *tiles);

#endif
