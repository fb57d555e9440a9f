/* SPDX-License-Identifier: MIT
 *
 * In: a kernel as an op emits it.  Out: the same with one defect.
 */
#include "plant_ptx.h"

#include <string.h>

#include "kernels/gpu/ptx_code.h"
#include "ptx/ir/opcodes.h"

enum plant plant_find(const char *text)
{
	static const char *const texts[] = {
#define PLANT_TEXT(id, text) text,
		PLANT_LIST(PLANT_TEXT)
#undef PLANT_TEXT
	};
	int i = 0;

	while (i < PLANT_COUNT && strcmp(texts[i], text) != 0)
		i++;
	return (enum plant)i;
}

/* One element further: all that a lane stores, so that vectors stay aligned. */
static unsigned move_store(struct tcb_ptx_ins *ins)
{
	unsigned moved = 0;

	if (ins->op != TCB_PTX_OP_ST)
		return 0;
	for (unsigned i = 0; i < ins->operand_count; i++) {
		struct tcb_ptx_access access;
		if (!tcb_ptx_access(ins, i, &access) || !access.writes || access.space != TCB_PTX_GLOBAL)
			continue;
		ins->operands[i].bits += access.bytes;
		moved++;
	}
	return moved;
}

static unsigned drop_barrier(struct tcb_ptx_ins *ins)
{
	if (ins->op != TCB_PTX_OP_BAR_SYNC && ins->op != TCB_PTX_OP_BARRIER_SYNC)
		return 0;
	tcb_ptx_ins_remove(ins);
	return 1;
}

unsigned plant_into(struct tcb_kernel *kernel, enum plant what)
{
	unsigned changed = 0;

	for (size_t i = what == PLANT_STORE ? kernel->launch_count - 1 : 0; i < kernel->launch_count; i++) {
		struct tcb_ptx_function *function =
			tcb_ptx_function_find(tcb_kernel_ptx(kernel)->module, kernel->launch[i].entry);
		for (struct tcb_ptx_block *block = function ? function->first : NULL; block; block = block->next) {
			for (struct tcb_ptx_ins *ins = block->first, *next; ins; ins = next) {
				next = ins->next;
				changed += what == PLANT_STORE     ? move_store(ins)
					   : what == PLANT_BARRIER ? drop_barrier(ins)
								   : 0;
			}
		}
	}
	return changed;
}
