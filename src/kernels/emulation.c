/* SPDX-License-Identifier: MIT
 *
 * In: a kernel, its launches, random operands.  Out: what the emulator found
 * and counted, and how far the results are from the reference.
 */
#include "kernels/emulation.h"

#include <string.h>

#include "base/buffer.h"
#include "base/util.h"
#include "kernels/gpu/ptx_code.h"

enum { ALLOCATION_ALIGN = 256 }; /* what cuMemAlloc promises */

struct emulation {
	const struct tcb_op *op;
	const struct tcb_kernel *kernel;
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	size_t count;
	struct tcb_buffer data[TCB_OPERANDS_MAX], packed[TCB_OPERANDS_MAX], first_result[TCB_OPERANDS_MAX];
	void *pointers[TCB_OPERANDS_MAX]; /* of data */
	struct tcb_buffer workspace, reference_data;
	struct tcb_reference reference[TCB_OUTPUTS_MAX];
	struct tcb_ptx_memory *memory;
	uint64_t address[TCB_OPERANDS_MAX], workspace_address;
	struct tcb_ptx_program *program[TCB_LAUNCHES_MAX];
};

static void emulation_fini(struct emulation *e)
{
	for (size_t i = 0; i < TCB_LAUNCHES_MAX; i++)
		tcb_ptx_program_destroy(e->program[i]);
	tcb_ptx_memory_destroy(e->memory);
	for (size_t i = 0; i < TCB_OPERANDS_MAX; i++) {
		tcb_buffer_free(&e->data[i]);
		tcb_buffer_free(&e->packed[i]);
		tcb_buffer_free(&e->first_result[i]);
	}
	tcb_buffer_free(&e->workspace);
	tcb_buffer_free(&e->reference_data);
}

static enum tcb_status make_operands(struct emulation *e, uint64_t seed, struct tcb_error *err)
{
	const struct tcb_problem *problem = &e->kernel->problem;
	const enum tcb_layout layout = (enum tcb_layout)e->kernel->geometry.knob[TCB_KNOB_LAYOUT];

	e->count = e->op->operands(problem, e->operands);
	for (size_t i = 0; i < e->count; i++) {
		const size_t bytes = e->operands[i].bytes;
		TCB_TRY(tcb_buffer_alloc(TCB_BUFFER_PLAIN, bytes, &e->data[i], err));
		e->pointers[i] = e->data[i].data;
		if (e->operands[i].role == TCB_ROLE_OUTPUT)
			TCB_TRY(tcb_buffer_alloc(TCB_BUFFER_PLAIN, bytes, &e->first_result[i], err));
	}
	e->op->fill(problem, seed, e->pointers);
	const size_t doubles = tcb_references_lay_out(e->operands, e->count, NULL, NULL);
	TCB_TRY(tcb_buffer_alloc(TCB_BUFFER_PLAIN, doubles * sizeof(double), &e->reference_data, err));
	tcb_references_lay_out(e->operands, e->count, e->reference_data.data, e->reference);
	e->op->reference(problem, e->pointers, e->reference);
	if (e->reference[0].failure)
		return tcb_fail(err, TCB_E_FAILED, "the reference of %s: %.300s", e->op->name, e->reference[0].failure);
	for (size_t i = 0; i < e->count; i++) {
		if (!e->kernel->packed_bytes[i])
			continue;
		TCB_TRY(tcb_buffer_alloc(TCB_BUFFER_PLAIN, e->kernel->packed_bytes[i], &e->packed[i], err));
		e->op->pack(problem, i, layout, e->pointers[i], e->packed[i].data);
	}
	return TCB_OK;
}

static enum tcb_status map_memory(struct emulation *e, struct tcb_error *err)
{
	TCB_TRY(tcb_ptx_memory_create(&e->memory, err));
	for (size_t i = 0; i < e->count; i++) {
		const struct tcb_buffer *buffer = e->packed[i].data ? &e->packed[i] : &e->data[i];
		const int is_output = e->operands[i].role == TCB_ROLE_OUTPUT;
		TCB_TRY(tcb_ptx_memory_add(e->memory, e->operands[i].name, buffer->data, buffer->bytes,
					   ALLOCATION_ALIGN, is_output ? TCB_PTX_MAY_WRITE : TCB_PTX_READ_ONLY,
					   &e->address[i], err));
	}
	if (!e->kernel->workspace_bytes)
		return TCB_OK;
	TCB_TRY(tcb_buffer_alloc(TCB_BUFFER_PLAIN, e->kernel->workspace_bytes, &e->workspace, err));
	return tcb_ptx_memory_add(e->memory, "workspace", e->workspace.data, e->workspace.bytes, ALLOCATION_ALIGN,
				  TCB_PTX_MAY_WRITE, &e->workspace_address, err);
}

static enum tcb_status decode(struct emulation *e, struct tcb_ptx_module *module, struct tcb_error *err)
{
	for (size_t i = 0; i < e->kernel->launch_count; i++) {
		const char *entry = e->kernel->launch[i].entry;
		struct tcb_ptx_function *function = tcb_ptx_function_find(module, entry);
		if (!function)
			return tcb_fail(err, TCB_E_FAILED, "the module has no entry '%s'", entry);
		TCB_TRY(tcb_ptx_program_create(function, &e->program[i], err));
	}
	return TCB_OK;
}

static void add_counts(const struct tcb_ptx_emulation *from, struct tcb_kernel_emulation *to)
{
	const struct tcb_ptx_counts *c = &from->total;

	to->total.warps += c->warps;
	to->total.threads += c->threads;
	to->total.requests += c->requests;
	to->total.wavefronts += c->wavefronts;
	to->total.wavefronts_ideal += c->wavefronts_ideal;
	to->total.sectors += c->sectors;
	to->total.sectors_ideal += c->sectors_ideal;
	to->total.divergent += c->divergent;
	for (int i = 0; i < TCB_PTX_COUNT_CLASSES; i++)
		to->by_class[i] += from->by_class[i];
	to->global_read_bytes += from->global_read_bytes;
	to->global_write_bytes += from->global_write_bytes;
}

/* One call of the kernel: all its launches, into poisoned outputs. */
static enum tcb_status call(struct emulation *e, unsigned round, uint64_t seed, const struct tcb_ptx_sink *sink,
			    struct tcb_kernel_emulation *out, struct tcb_error *err)
{
	unsigned char params[TCB_PARAMETERS_MAX];
	struct tcb_ptx_emulation counts;

	for (size_t i = 0; i < e->count; i++)
		if (e->operands[i].role == TCB_ROLE_OUTPUT)
			memset(e->data[i].data, TCB_POISON, e->operands[i].bytes);
	for (size_t i = 0; i < e->kernel->launch_count && !out->findings; i++) {
		const struct tcb_launch *from = &e->kernel->launch[i];
		struct tcb_ptx_launch launch = { .dynamic_shared = from->shared_bytes,
						 .params = params,
						 .seed = round ? seed + round : 0 };
		memcpy(launch.grid, from->grid, sizeof launch.grid);
		memcpy(launch.block, from->block, sizeof launch.block);
		memcpy(launch.cluster, tcb_kernel_ptx(e->kernel)->launch[i].cluster, sizeof launch.cluster);
		launch.param_bytes =
			tcb_launch_parameters(e->kernel, i, e->address, e->workspace_address, params, sizeof params);
		TCB_TRY(tcb_ptx_emulate(e->program[i], &launch, e->memory, sink, &counts, err));
		out->findings += counts.findings;
		if (!round)
			add_counts(&counts, out);
	}
	return TCB_OK;
}

static void compare(struct emulation *e, unsigned round, struct tcb_kernel_emulation *out)
{
	const struct tcb_plan bound = { .chain = e->kernel->chain, .ulps = e->kernel->ulps };
	size_t output = 0, first_bad = 0;
	const double ratio =
		tcb_outputs_error_ratio(&bound, e->operands, e->count, e->reference, e->pointers, &output, &first_bad);

	if (ratio > out->error_ratio || !round) {
		out->error_ratio = ratio;
		out->output = e->operands[output].name;
		out->first_bad = first_bad;
	}
	for (size_t i = 0; i < e->count; i++) {
		const size_t bytes = e->first_result[i].bytes;
		if (!bytes)
			continue;
		out->findings += !tcb_operand_gaps_are(&e->operands[i], e->pointers[i], TCB_POISON);
		if (!round)
			memcpy(e->first_result[i].data, e->pointers[i], bytes);
		else
			out->calls_differ |= memcmp(e->first_result[i].data, e->pointers[i], bytes) != 0;
	}
}

enum tcb_status tcb_kernel_emulate(const struct tcb_op *op, const struct tcb_kernel *kernel,
				   struct tcb_ptx_module *module, uint64_t seed, const struct tcb_ptx_sink *sink,
				   struct tcb_kernel_emulation *out, struct tcb_error *err)
{
	struct emulation e = { .op = op, .kernel = kernel };
	uint64_t start = tcb_clock_ns();
	enum tcb_status status;

	memset(out, 0, sizeof *out);
	status = make_operands(&e, seed, err);
	if (status == TCB_OK)
		status = map_memory(&e, err);
	if (status == TCB_OK)
		status = decode(&e, module ? module : tcb_kernel_ptx(kernel)->module, err);
	for (unsigned round = 0; round < TCB_EMULATION_CALLS && status == TCB_OK && !out->findings; round++) {
		status = call(&e, round, seed, sink, out, err);
		if (status == TCB_OK && !out->findings)
			compare(&e, round, out);
	}
	emulation_fini(&e);
	out->seconds = (double)(tcb_clock_ns() - start) * 1e-9;
	return status;
}
