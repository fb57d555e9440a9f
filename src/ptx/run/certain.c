/* SPDX-License-Identifier: MIT
 *
 * Executes kernels without their arguments.  The emulator leaves out what they
 * decide (emu_known.c); here is which kernels are worth it, and which of the
 * emulator's findings are certain then.
 */
#include "ptx/run/certain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/emulate/emulate.h"
#include "ptx/ir/opcodes.h"

enum {
	STEPS_MAX = 100000, /* warp instructions of a kernel: some tens of milliseconds */
	SHARED_MAX = 227 * 1024
};

static int has_any(const struct tcb_ptx_function *function, int (*is)(const struct tcb_ptx_ins *ins))
{
	for (const struct tcb_ptx_block *block = function->first; block; block = block->next)
		for (const struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
			if (is(ins))
				return 1;
	return 0;
}

static int names_cluster(const struct tcb_ptx_ins *ins)
{
	for (unsigned i = 0; i < ins->operand_count; i++)
		if (ins->operands[i].kind == TCB_PTX_O_SPECIAL && ins->operands[i].special >= TCB_PTX_SR_CLUSTERID_X &&
		    ins->operands[i].special <= TCB_PTX_SR_IS_EXPLICIT_CLUSTER)
			return 1;
	return ins->op == TCB_PTX_OP_BARRIER_CLUSTER_ARRIVE || ins->op == TCB_PTX_OP_MAPA ||
	       ins->mod[TCB_PTX_SLOT_MULTICAST];
}

/* Blocks that others of their cluster act on, in a cluster whose size the launch decides. */
static int needs_cluster(const struct tcb_ptx_function *function)
{
	if (function->directives.reqnctapercluster[0])
		return 0;
	if (function->directives.explicitcluster || function->directives.maxclusterrank)
		return 1;
	return has_any(function, names_cluster);
}

/* What is ordered by counting, and judged by running: the rest the analyses see in the text. */
static int is_counted(const struct tcb_ptx_ins *ins)
{
	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_BAR_SYNC:
	case TCB_PTX_OP_BARRIER_SYNC:
		return ins->operand_count > 1;
	case TCB_PTX_OP_BAR_ARRIVE:
	case TCB_PTX_OP_BARRIER_ARRIVE:
	case TCB_PTX_OP_MBARRIER_INIT:
	case TCB_PTX_OP_CP_ASYNC:
	case TCB_PTX_OP_CP_ASYNC_BULK:
	case TCB_PTX_OP_WGMMA:
	case TCB_PTX_OP_TCGEN05_ALLOC:
	case TCB_PTX_OP_SHFL:
	case TCB_PTX_OP_REDUX:
	case TCB_PTX_OP_BAR_WARP_SYNC:
		return 1;
	default:
		return 0;
	}
}

static int is_worth_it(const struct tcb_ptx_check_kernel *kernel)
{
	const struct tcb_ptx_function *function = kernel->function;

	if (kernel->errors || kernel->is_for_all || needs_cluster(function) ||
	    !(kernel->block_source == TCB_PTX_BLOCK_GIVEN || function->directives.reqntid[0]))
		return 0;
	return has_any(function, is_counted);
}

struct seen {
	const struct tcb_ptx_sink *sink;
	struct tcb_ptx_check_report *report;
	unsigned of_kernel; /* findings told of the one that runs */
};

/* What may be an accident of what was supposed, or is judged better without running, is not told: places in memory,
 * values that were left out, lanes of one warp. */
static void see(void *ctx, const struct tcb_ptx_finding *finding)
{
	struct seen *seen = ctx;
	struct tcb_ptx_finding certain = *finding;
	const size_t used = strlen(certain.message);

	switch (finding->rule) {
	case TCB_PTX_RULE_RACE:
		if (strstr(finding->message, "of the same warp") || !strstr(finding->message, "shared memory"))
			return;
		break;
	case TCB_PTX_RULE_DEADLOCK: /* of those who wait the first, and of what led there what was told */
		if (seen->of_kernel)
			return;
		break;
	case TCB_PTX_RULE_BARRIER_DIVERGENT:
	case TCB_PTX_RULE_SHUFFLE_DIVERGENT:
	case TCB_PTX_RULE_SHUFFLE_MASK:
	case TCB_PTX_RULE_SETMAXNREG:
	case TCB_PTX_RULE_ASYNC_PENDING:
	case TCB_PTX_RULE_MBARRIER:
	case TCB_PTX_RULE_WGMMA_ORDER:
	case TCB_PTX_RULE_TENSOR_MEMORY:
	case TCB_PTX_RULE_CLUSTER:
	case TCB_PTX_RULE_PROXY_FENCE:
		break;
	default:
		return;
	}
	snprintf(certain.message + used, sizeof certain.message - used, " whatever the arguments are");
	seen->of_kernel++;
	seen->report->count[certain.severity]++;
	seen->sink->see(seen->sink->ctx, &certain);
}

static enum tcb_status execute(const struct tcb_ptx_check_kernel *kernel, struct tcb_ptx_memory *memory,
			       uint64_t anywhere, const struct tcb_ptx_sink *sink, struct tcb_error *err)
{
	struct tcb_ptx_function *function = (struct tcb_ptx_function *)(uintptr_t)kernel->function;
	const size_t param_bytes = tcb_ptx_param_total(function);
	struct tcb_ptx_launch launch = {
		.grid = { 1, 1, 1 }, .param_bytes = param_bytes, .step_limit = STEPS_MAX, .anywhere = anywhere
	};
	struct tcb_ptx_program *program;
	enum tcb_status status;

	memcpy(launch.block, kernel->block, sizeof launch.block);
	for (int i = 0; i < 3; i++)
		if (function->directives.reqnctapercluster[i])
			launch.grid[i] = function->directives.reqnctapercluster[i];
	if (kernel->uses_dynamic_shared && kernel->shared_static < SHARED_MAX)
		launch.dynamic_shared = kernel->dynamic_shared
						? (uint32_t)kernel->dynamic_shared
						: (SHARED_MAX - (uint32_t)kernel->shared_static) & ~1023u;
	launch.params = calloc(param_bytes + 1, 1);
	if (!launch.params)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory");
	status = tcb_ptx_program_create(function, &program, err);
	if (status == TCB_OK) {
		status = tcb_ptx_emulate(program, &launch, memory, sink, NULL, err);
		tcb_ptx_program_destroy(program);
	}
	free((void *)(uintptr_t)launch.params);
	/* instructions that are not emulated, a block that no launch has: others have told it */
	return status == TCB_E_NOMEM ? status : TCB_OK;
}

enum tcb_status tcb_ptx_certain(struct tcb_ptx_check_report *report, const struct tcb_ptx_sink *sink,
				struct tcb_error *err)
{
	struct seen seen = { sink, report };
	const struct tcb_ptx_sink certain = { see, &seen };
	struct tcb_ptx_memory *memory = NULL;
	enum tcb_status status = TCB_OK;
	uint8_t *bytes = NULL;
	uint64_t anywhere = 0;

	for (size_t i = 0; i < report->kernel_count && status == TCB_OK; i++) {
		if (!is_worth_it(&report->kernels[i]))
			continue;
		if (!memory) {
			bytes = calloc(1, TCB_PTX_ANYWHERE);
			status = bytes ? tcb_ptx_memory_create(&memory, err)
				       : tcb_fail(err, TCB_E_NOMEM, "out of memory");
			if (status == TCB_OK)
				status = tcb_ptx_memory_add(memory, "memory that nobody knows", bytes, TCB_PTX_ANYWHERE,
							    256, TCB_PTX_READ_ONLY, &anywhere, err);
			if (status != TCB_OK)
				break;
		}
		seen.of_kernel = 0;
		status = execute(&report->kernels[i], memory, anywhere + TCB_PTX_ANYWHERE / 2, &certain, err);
	}
	if (memory)
		tcb_ptx_memory_destroy(memory);
	free(bytes);
	return status;
}
