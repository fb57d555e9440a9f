/* SPDX-License-Identifier: MIT
 *
 * How values differ between threads, one instruction at a time: the inner half
 * of the uniformity analysis.
 */
#ifndef TCB_PTX_LANE_BITS_H
#define TCB_PTX_LANE_BITS_H

#include "ptx/analyse/analyses.h"
#include "ptx/analyse/values/bits.h"

/* How a value differs: BETWEEN warps (UNIFORM_GRID: not at all; UNIFORM_BLOCK: between blocks only; UNIFORM_WARP), and
 * in which bits between the threads of one warp. */
struct tcb_ptx_spread {
	uint64_t lanes;
	enum tcb_ptx_variance between;
};

struct tcb_ptx_lane_env {
	const struct tcb_ptx_function *function;
	struct tcb_ptx_bit_env bits; /* of all threads */
	struct tcb_ptx_spread *reg;  /* by register */
	struct tcb_ptx_spread carry; /* the flag that add.cc sets and addc reads */
	int writes_global;           /* something in the function may change global memory */
	int has_local;               /* generic addresses may be of local memory */
};

static inline enum tcb_ptx_variance tcb_ptx_spread_level(struct tcb_ptx_spread spread)
{
	return spread.lanes ? TCB_PTX_VARYING : spread.between;
}

/* ENV's facts about the whole function; its registers are the caller's. */
void tcb_ptx_lane_env_scan(struct tcb_ptx_lane_env *env);
/* How result ITEM of INS differs, its guard left out. */
struct tcb_ptx_spread tcb_ptx_result_spread(struct tcb_ptx_lane_env *env, const struct tcb_ptx_ins *ins, unsigned item);
struct tcb_ptx_spread tcb_ptx_operand_spread(const struct tcb_ptx_lane_env *env, const struct tcb_ptx_operand *operand);

#endif
