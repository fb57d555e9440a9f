/* SPDX-License-Identifier: MIT
 *
 * In: a kernel.  Out: the same without the barriers that order nothing.
 *
 * A barrier goes only when it is proved (hazards.h) that no access of one
 * thread before it can meet one of another thread behind it.  What threads
 * access depends on the size of the block; where .reqntid does not fix it,
 * addresses count as unknown, so that only barriers with nothing to order on
 * one side go.
 */
#include "ptx/analyse/hazards/hazards.h"
#include "ptx/optimise/passes.h"

enum tcb_status tcb_ptx_barrier_removal(struct tcb_ptx_function *function, const struct tcb_ptx_pass_options *options,
					unsigned *changed_out, struct tcb_error *err)
{
	static const uint32_t unknown[3] = { 0, 0, 0 };
	struct tcb_ptx_hazards *hazards = NULL;
	struct tcb_ptx_affine *affine = NULL;
	struct tcb_ptx_ins *const *found;
	enum tcb_status status;
	uint32_t count = 0;

	(void)options;
	*changed_out = 0;
	if (!function->is_entry || !function->first)
		return TCB_OK;
	TCB_TRY(tcb_ptx_cfg(function, err));
	tcb_ptx_number(function);
	status = tcb_ptx_affine_create(function, function->directives.reqntid[0] ? NULL : unknown, &affine, err);
	if (status == TCB_OK)
		status = tcb_ptx_hazards_create(affine, function, &hazards, err);
	if (status == TCB_OK)
		status = tcb_ptx_redundant_barriers(hazards, &found, &count, err);
	for (uint32_t i = 0; i < count; i++)
		tcb_ptx_ins_remove(found[i]);
	*changed_out = count;
	tcb_ptx_hazards_destroy(hazards);
	tcb_ptx_affine_destroy(affine);
	return status;
}
