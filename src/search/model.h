/* SPDX-License-Identifier: MIT
 *
 * Ranking a GPU's space by a model where the GPU is absent, and as a prior
 * where it is there.  Each candidate's kernel is emitted and one multiprocessor
 * simulated (kernels/timing.h); the best are assembled, so that their registers
 * are the assembler's and none of them spills.
 */
#ifndef TCB_SEARCH_MODEL_H
#define TCB_SEARCH_MODEL_H

#include "device/gpu.h"
#include "kernels/timing.h"
#include "search/search.h"

/* What the simulation needs to know of GPU. */
void tcb_model_machine(const struct tcb_gpu *gpu, struct tcb_ptx_machine *out);

/* The times of one candidate in nanoseconds; NaN where it cannot be modelled, and then ERR says why.  REGISTERS: from
 * the assembler; 0: estimated. */
enum tcb_status tcb_model_time(const struct tcb_op *op, const struct tcb_problem *problem,
			       const struct tcb_target *target, const struct tcb_ptx_machine *machine,
			       const struct tcb_geometry *geometry, unsigned registers, double ns[TCB_STATE_COUNT],
			       struct tcb_error *err);

/* The same of all of SPACE: NS[state][index]. */
enum tcb_status tcb_model_scores(const struct tcb_op *op, const struct tcb_problem *problem, const struct tcb_gpu *gpu,
				 const struct tcb_space *space, double *const ns[TCB_STATE_COUNT],
				 struct tcb_error *err);

/*
 * As tcb_sweep_run, but by the model: proposes, times and tells without any device.  Verdicts hold what the model says
 * of the best; intervals have no width; the tie set is all that the model's usual error cannot hold apart from the
 * winner; there is no regret.  The limit is the bytes over the nominal bandwidth.
 */
enum tcb_status tcb_model_sweep(const struct tcb_op *op, const struct tcb_problem *problem,
				const struct tcb_place *place, const struct tcb_sweep_options *options,
				struct tcb_sweep_result *out, struct tcb_error *err);

#endif
