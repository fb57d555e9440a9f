/* SPDX-License-Identifier: MIT
 *
 * In: the flow of a kernel.  Out: places from which no way leads to its end.
 *
 * Ends are found backwards: what can end does, for all that is known here; a
 * condition that never holds is not noticed unless the compiler did.
 */
#include "ptx/analyse/flow/endless.h"

#include "ptx/ir/opcodes.h"

/* Whether a thread may end in BLOCK. */
static int may_end(const struct tcb_ptx_block *block)
{
	for (const struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
		if (ins->op == TCB_PTX_OP_EXIT || ins->op == TCB_PTX_OP_RET || ins->op == TCB_PTX_OP_TRAP ||
		    ins->op == TCB_PTX_OP_CALL || ins->op == TCB_PTX_OP_OPAQUE)
			return 1;
	return !block->succ_count;
}

void tcb_ptx_endless(struct tcb_ptx_function *function, const struct tcb_ptx_sink *sink)
{
	uint8_t *ends = tcb_arena_array(&function->module->arena, function->block_count + 1u, 1);
	int changed = ends != NULL;

	while (changed) {
		changed = 0;
		for (uint32_t i = function->reachable_count; i--;) {
			const struct tcb_ptx_block *block = function->order[i];
			int here = may_end(block);

			for (uint32_t s = 0; s < block->succ_count; s++)
				here |= ends[block->succ[s]->number];
			changed |= here && !ends[block->number];
			ends[block->number] |= (uint8_t)here;
		}
	}
	for (uint32_t i = 0; ends && i < function->reachable_count; i++) {
		const struct tcb_ptx_block *block = function->order[i];

		if (ends[block->number] || !block->first)
			continue;
		tcb_ptx_report(sink, TCB_PTX_RULE_STEP_LIMIT,
			       ends[function->order[0]->number] ? TCB_PTX_WARNING : TCB_PTX_ERROR, function,
			       block->first,
			       "no way leads from here to the end of the kernel: whoever comes here never ends");
		return;
	}
}
