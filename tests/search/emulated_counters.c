/* SPDX-License-Identifier: MIT
 *
 * In: a kernel and its operands.  Out: counters in the profiler's terms.
 *
 * The emulator counts each instruction of the text.  CUPTI's metrics are of one
 * kind of instruction each, so what belongs to which is decided here: bulk
 * copies and mbarriers do not go through the load-store unit's data pipe, and
 * asynchronous copies have metrics of their own.
 */
#include "emulated_counters.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "kernels/gpu/ptx_code.h"
#include "ptx/emulate/emulate.h"
#include "ptx/ir/opcodes.h"

enum { ALLOCATION_ALIGN = 256, WARP = 32 };

struct emulating {
	const struct tcb_kernel *kernel;
	const struct tcb_instance *instance;
	struct tcb_ptx_memory *memory;
	struct tcb_buffer output[TCB_OPERANDS_MAX], workspace;
	uint64_t address[TCB_OPERANDS_MAX], workspace_address;
	struct emulated_counters *out;
};

static const void *operand_data(const struct emulating *e, size_t index, size_t *bytes)
{
	const struct tcb_instance *instance = e->instance;

	*bytes = instance->operands[index].bytes;
	if (e->output[index].data)
		return e->output[index].data;
	if (e->kernel->packed_bytes[index] == 0)
		return instance->data[index].data;
	*bytes = e->kernel->packed_bytes[index];
	return instance->packed[e->kernel->geometry.knob[TCB_KNOB_LAYOUT]].buffer[index].data;
}

static enum tcb_status map_memory(struct emulating *e, struct tcb_error *err)
{
	const struct tcb_instance *instance = e->instance;

	TCB_TRY(tcb_ptx_memory_create(&e->memory, err));
	for (size_t i = 0; i < instance->operand_count; i++) {
		const int is_output = instance->operands[i].role == TCB_ROLE_OUTPUT;
		size_t bytes;
		if (is_output)
			TCB_TRY(tcb_buffer_alloc(TCB_BUFFER_PLAIN, instance->operands[i].bytes, &e->output[i], err));
		/* What is mapped as read-only is not written. */
		void *data = (void *)(uintptr_t)operand_data(e, i, &bytes);
		TCB_TRY(tcb_ptx_memory_add(e->memory, instance->operands[i].name, data, bytes, ALLOCATION_ALIGN,
					   is_output ? TCB_PTX_MAY_WRITE : TCB_PTX_READ_ONLY, &e->address[i], err));
	}
	if (e->kernel->workspace_bytes == 0)
		return TCB_OK;
	TCB_TRY(tcb_buffer_alloc(TCB_BUFFER_PLAIN, e->kernel->workspace_bytes, &e->workspace, err));
	return tcb_ptx_memory_add(e->memory, "workspace", e->workspace.data, e->workspace.bytes, ALLOCATION_ALIGN,
				  TCB_PTX_MAY_WRITE, &e->workspace_address, err);
}

/* Where the address of a memory instruction leads; NO_WORD where it is none that moves data of each lane. */
static enum tcb_ptx_word space_of(const struct tcb_ptx_ins *ins, int *is_load)
{
	struct tcb_ptx_access access;

	*is_load = ins->op == TCB_PTX_OP_LD || ins->op == TCB_PTX_OP_LDU;
	if (!*is_load && ins->op != TCB_PTX_OP_ST && ins->op != TCB_PTX_OP_ATOM && ins->op != TCB_PTX_OP_RED &&
	    ins->op != TCB_PTX_OP_LDMATRIX && ins->op != TCB_PTX_OP_STMATRIX)
		return TCB_PTX_NO_WORD;
	for (unsigned i = 0; i < ins->operand_count; i++)
		if (tcb_ptx_access(ins, i, &access))
			return access.space;
	return TCB_PTX_NO_WORD;
}

/*
 * The threads of a warp that reach the instructions of BLOCK, a share: the profiler counts them whether or not a guard
 * holds, the emulator only where it does.  Unguarded instructions of the block tell; without one, the guarded.
 */
static double reach_of(const struct tcb_ptx_block *block, const struct tcb_ptx_counts *counts)
{
	double share = 0;

	for (const struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next) {
		const struct tcb_ptx_counts *c = &counts[ins->number];
		double mine = c->warps ? (double)c->threads / (double)c->warps : 0;
		if (ins->guard == TCB_PTX_NO_REG && c->warps)
			return mine;
		share = mine > share ? mine : share;
	}
	return share;
}

static void add_launch(const struct tcb_ptx_function *function, const struct tcb_ptx_counts *counts,
		       struct emulated_counters *out)
{
	for (const struct tcb_ptx_block *block = function->first; block; block = block->next) {
		double reach = reach_of(block, counts);
		for (const struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next) {
			const struct tcb_ptx_counts *c = &counts[ins->number];
			int is_load;
			enum tcb_ptx_word space = space_of(ins, &is_load);
			out->warps += (double)c->warps;
			out->active += reach * (double)c->warps;
			out->branches += ins->op == TCB_PTX_OP_BRA ? (double)c->warps : 0;
			out->divergent += (double)c->divergent;
			if (space == TCB_PTX_SHARED) {
				out->shared_wavefronts += (double)c->wavefronts;
				*(is_load ? &out->shared_loads : &out->shared_stores) += (double)c->wavefronts;
				out->shared_conflicts += (double)(c->wavefronts - c->wavefronts_ideal);
			} else if (space == TCB_PTX_GLOBAL && is_load) {
				out->load_requests += (double)c->requests;
				out->load_sectors += (double)c->sectors;
			}
		}
	}
}

static enum tcb_status run_launch(struct emulating *e, size_t index, struct tcb_error *err)
{
	const struct tcb_launch *from = &e->kernel->launch[index];
	unsigned char params[TCB_PARAMETERS_MAX];
	struct tcb_ptx_launch launch = { .dynamic_shared = from->shared_bytes, .params = params };
	struct tcb_ptx_function *function = tcb_ptx_function_find(tcb_kernel_ptx(e->kernel)->module, from->entry);
	struct tcb_ptx_program *program;
	struct tcb_ptx_emulation counts;

	if (!function)
		return tcb_fail(err, TCB_E_FAILED, "the module has no entry '%s'", from->entry);
	TCB_TRY(tcb_ptx_program_create(function, &program, err));
	memcpy(launch.grid, from->grid, sizeof launch.grid);
	memcpy(launch.block, from->block, sizeof launch.block);
	memcpy(launch.cluster, tcb_kernel_ptx(e->kernel)->launch[index].cluster, sizeof launch.cluster);
	launch.param_bytes =
		tcb_launch_parameters(e->kernel, index, e->address, e->workspace_address, params, sizeof params);
	enum tcb_status status = tcb_ptx_emulate(program, &launch, e->memory, NULL, &counts, err);
	if (status == TCB_OK) {
		const double threads = (double)launch.block[0] * launch.block[1] * launch.block[2];
		e->out->launched += ceil(threads / WARP) * launch.grid[0] * launch.grid[1] * launch.grid[2];
		e->out->findings += counts.findings;
		add_launch(function, counts.by_ins, e->out);
	}
	tcb_ptx_program_destroy(program);
	return status;
}

enum tcb_status emulated_counters(const struct tcb_kernel *kernel, const struct tcb_instance *instance,
				  struct emulated_counters *out, struct tcb_error *err)
{
	struct emulating e = { .kernel = kernel, .instance = instance, .out = out };
	uint64_t start = tcb_clock_ns();

	memset(out, 0, sizeof *out);
	enum tcb_status status = map_memory(&e, err);
	for (size_t i = 0; i < kernel->launch_count && status == TCB_OK; i++)
		status = run_launch(&e, i, err);
	tcb_ptx_memory_destroy(e.memory);
	for (size_t i = 0; i < TCB_OPERANDS_MAX; i++)
		tcb_buffer_free(&e.output[i]);
	tcb_buffer_free(&e.workspace);
	out->seconds = 1e-9 * (double)(tcb_clock_ns() - start);
	return status;
}
