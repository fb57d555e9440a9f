/* SPDX-License-Identifier: MIT
 *
 * In: a decoded kernel.  Out: for each access of shared or global memory the
 * wavefronts or sectors that the first warp of the first block takes for it, the
 * first time round.
 *
 * Each lane goes through the kernel once, computing what addresses and control
 * depend on; a loop is left after its first round.
 */
#include "ptx/model/simulate_scout.h"

#include <stdlib.h>
#include <string.h>

#include "ptx/analyse/predict.h"
#include "ptx/ir/opcodes.h"
#include "ptx/model/simulate_value.h"

enum { STEPS_MAX = 100000 };

/* What an access touched. */
struct touched {
	uint64_t address[TCB_PTX_WARP];
	uint32_t active, unknown;
};

static int is_back(const struct tcb_sim_program *program, const struct tcb_sim_op *op)
{
	return op->target <= (uint32_t)(op - program->ops);
}

static void walk(const struct tcb_sim_program *program, struct tcb_sim_lane *lane, unsigned number,
		 struct touched *touched)
{
	const uint32_t bit = UINT32_C(1) << number;
	uint32_t at = 0;
	for (unsigned steps = 0; at < program->op_count && steps < STEPS_MAX; steps++) {
		const struct tcb_sim_op *op = &program->ops[at];
		const int is_branch = op->kind == TCB_SIM_BRANCH;
		struct touched *here = &touched[at];
		at++;
		if (!tcb_sim_guarded(program, op, lane, !is_branch))
			continue;
		if (is_branch && !is_back(program, op))
			at = op->target;
		if (op->kind == TCB_SIM_EXIT)
			return;
		if (op->is_access && !(here->active & bit)) {
			here->active |= bit;
			if (!tcb_sim_address(program, op, op->address, lane, &here->address[number]))
				here->unknown |= bit;
		}
		if (op->is_scouted)
			tcb_sim_compute(program, op, lane);
	}
}

static void judge(struct tcb_sim_op *op, const struct touched *t)
{
	struct tcb_ptx_access access;
	unsigned count, ideal;
	if (!t->active || t->unknown || !tcb_ptx_access(op->ins, op->address, &access) || !access.bytes ||
	    access.bytes > 16)
		return;
	if (op->kind == TCB_SIM_SHARED) {
		count = tcb_ptx_wavefronts(t->address, t->active, access.bytes, op->ins->op == TCB_PTX_OP_LD, &ideal);
	} else {
		count = tcb_ptx_sectors(t->address, t->active, access.bytes, &ideal);
		op->bytes = ideal * 32;
	}
	op->wavefronts = (uint16_t)count;
	op->wavefronts_ideal = (uint16_t)ideal;
}

enum tcb_status tcb_sim_scout(struct tcb_sim_program *program, struct tcb_error *err)
{
	struct touched *touched = calloc(program->op_count + 1, sizeof *touched);
	struct tcb_sim_lane lane = { .value = calloc(program->value_count + 1, sizeof *lane.value),
				     .known = malloc(program->value_count + 1) };
	const uint32_t *block = program->launch->block;
	const uint32_t threads = block[0] * block[1] * block[2];
	const int fine = touched && lane.value && lane.known;
	for (unsigned i = 0; fine && i < TCB_PTX_WARP && i < threads; i++) {
		memset(lane.known, 0, program->value_count + 1);
		lane.tid = i;
		walk(program, &lane, i, touched);
	}
	for (uint32_t i = 0; fine && i < program->op_count; i++)
		if (program->ops[i].is_access)
			judge(&program->ops[i], &touched[i]);
	free(touched);
	free(lane.value);
	free(lane.known);
	return fine ? TCB_OK : tcb_fail(err, TCB_E_NOMEM, "out of memory for a kernel");
}
