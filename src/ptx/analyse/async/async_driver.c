/* SPDX-License-Identifier: MIT
 *
 * The driver of async.h: what occurs, and the families in turn.
 */
#include "ptx/analyse/async/async_private.h"
#include "ptx/ir/opcodes.h"

static void survey(struct tcb_ptx_async *a)
{
	for (uint32_t i = 0; i < a->function->reachable_count; i++)
		for (const struct tcb_ptx_ins *ins = a->function->order[i]->first; ins; ins = ins->next) {
			a->has[ins->op] = 1;
			a->is_foreign |= tcb_ptx_async_may_be(ins, "tcgen05") ||
					 tcb_ptx_async_may_be(ins, "mbarrier") ||
					 tcb_ptx_async_may_be(ins, "cp.async") || tcb_ptx_async_may_be(ins, "multimem");
		}
}

enum tcb_status tcb_ptx_check_async(struct tcb_ptx_affine *affine, struct tcb_ptx_function *function,
				    const struct tcb_ptx_sink *sink, const struct tcb_ptx_sink *block_sink,
				    struct tcb_error *err)
{
	struct tcb_ptx_async a = { .affine = affine, .function = function, .sink = sink, .block_sink = block_sink };

	a.has = tcb_arena_array(&a.arena, TCB_PTX_OP_COUNT, sizeof *a.has);
	a.has_failed = !a.has;
	if (a.has) {
		survey(&a);
		tcb_ptx_async_masks(&a);
		tcb_ptx_async_named(&a);
		tcb_ptx_async_registers(&a);
		tcb_ptx_async_dependent(&a);
		tcb_ptx_async_wgmma(&a);
		tcb_ptx_async_fragments(&a);
		tcb_ptx_async_tensor(&a);
		tcb_ptx_async_copies(&a);
		tcb_ptx_async_proxies(&a);
		tcb_ptx_async_mbarriers(&a);
		tcb_ptx_async_bulk(&a);
		tcb_ptx_async_reuse(&a);
		tcb_ptx_async_cluster(&a);
	}
	tcb_arena_fini(&a.arena);
	return a.has_failed ? tcb_fail(err, TCB_E_NOMEM, "out of memory for what is asynchronous in '%s'",
				       function->symbol->name)
			    : TCB_OK;
}
