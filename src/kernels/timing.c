/* SPDX-License-Identifier: MIT
 *
 * In: a kernel as its op emitted it.  Out: what the simulation makes of its
 * launches.  Operands and workspace get addresses that tell them apart; operands
 * of whole numbers, such as lengths, get test data, since control depends on them.
 */
#include "kernels/timing.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/gpu/ptx_code.h"

enum { WORKSPACE = TCB_OPERANDS_MAX, SEED = 1 };

static uint32_t streamed_operands(const struct tcb_op *op, const struct tcb_kernel *kernel,
				  const struct tcb_ptx_machine *machine, enum tcb_state state)
{
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	const size_t count = op->operands(&kernel->problem, operands);
	uint32_t streamed = 0;
	double bytes = 0;
	for (size_t i = 0; i < count; i++) {
		bytes += (double)operands[i].bytes;
		if (operands[i].streams)
			streamed |= UINT32_C(1) << i;
	}
	return state == TCB_HOT && bytes <= (double)machine->cache_bytes ? 0 : streamed;
}

/* The operands of whole numbers, in memory that the caller frees; NULL for the others. */
static enum tcb_status fill_numbers(const struct tcb_op *op, const struct tcb_kernel *kernel,
				    struct tcb_ptx_contents contents[TCB_PTX_ARRAYS_MAX], void **memory,
				    struct tcb_error *err)
{
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	void *operand[TCB_OPERANDS_MAX] = { NULL };
	const size_t count = op->operands(&kernel->problem, operands);
	size_t bytes = 0;
	for (size_t i = 0; i < count; i++)
		bytes += operands[i].type == TCB_TYPE_I32 ? operands[i].bytes : 0;
	*memory = NULL;
	if (!bytes)
		return TCB_OK;
	char *at = *memory = malloc(bytes);
	if (!at)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a simulation");
	for (size_t i = 0; i < count; i++) {
		if (operands[i].type != TCB_TYPE_I32)
			continue;
		operand[i] = at;
		contents[i] = (struct tcb_ptx_contents){ at, operands[i].bytes };
		at += operands[i].bytes;
	}
	op->fill(&kernel->problem, SEED, operand);
	return TCB_OK;
}

enum tcb_status tcb_kernel_time(const struct tcb_op *op, const struct tcb_kernel *kernel,
				const struct tcb_ptx_machine *machine, unsigned registers,
				struct tcb_ptx_timing out[TCB_STATE_COUNT], struct tcb_error *err)
{
	struct tcb_ptx_timed_launch launches[TCB_LAUNCHES_MAX];
	unsigned char params[TCB_LAUNCHES_MAX][TCB_PARAMETERS_MAX];
	uint64_t address[TCB_OPERANDS_MAX];
	struct tcb_ptx_contents contents[TCB_PTX_ARRAYS_MAX] = { { NULL, 0 } };
	const struct tcb_kernel_ptx *ptx = tcb_kernel_ptx(kernel);
	void *memory;
	if (kernel->not_simulated)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "%s", kernel->not_simulated);
	memset(launches, 0, sizeof launches);
	for (unsigned i = 0; i < TCB_OPERANDS_MAX; i++)
		address[i] = TCB_PTX_ARRAY(i);
	for (size_t i = 0; i < kernel->launch_count; i++) {
		const struct tcb_launch *from = &kernel->launch[i];
		struct tcb_ptx_timed_launch *to = &launches[i];
		to->function = tcb_ptx_function_find(ptx->module, from->entry);
		if (!to->function)
			return tcb_fail(err, TCB_E_FAILED, "the module has no entry '%s'", from->entry);
		memcpy(to->grid, from->grid, sizeof to->grid);
		memcpy(to->block, from->block, sizeof to->block);
		to->dynamic_shared = from->shared_bytes;
		to->is_dependent = ptx->launch[i].is_dependent;
		to->registers = i + 1 == kernel->launch_count ? registers : 0;
		to->params = params[i];
		to->param_bytes = tcb_launch_parameters(kernel, i, address, TCB_PTX_ARRAY(WORKSPACE), params[i],
							sizeof params[i]);
		to->contents = contents;
	}
	const struct tcb_ptx_timed what = { launches, kernel->launch_count };
	uint32_t streamed[TCB_STATE_COUNT];
	for (int state = 0; state < TCB_STATE_COUNT; state++)
		streamed[state] = streamed_operands(op, kernel, machine, (enum tcb_state)state);
	TCB_TRY(fill_numbers(op, kernel, contents, &memory, err));
	const enum tcb_status status = tcb_ptx_time(machine, &what, streamed, TCB_STATE_COUNT, out, err);
	free(memory);
	return status;
}
