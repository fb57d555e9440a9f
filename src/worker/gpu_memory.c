/* SPDX-License-Identifier: MIT
 *
 * Device memory of one problem.  In: an instance on the host; out: its operands
 * on the device, copied once and multiplied there.
 */
#include "worker/gpu_memory.h"

#include <stdlib.h>
#include <string.h>

enum { GUARD = 256 }; /* bytes before and after; the alignment that candidates may count on */

struct layout_copies {
	size_t count, capacity;
	size_t packed_bytes[TCB_OPERANDS_MAX];
	double pack_ns;
	struct tcb_gpu_operands *copies; /* [0] owns all, the others what streams */
};

struct tcb_gpu_memory {
	const struct tcb_gpu_session *session;
	struct tcb_instance *instance;
	struct tcb_gpu_buffer shared[TCB_OPERANDS_MAX]; /* what does not stream; the first copy's outputs */
	struct layout_copies layout[TCB_LAYOUT_COUNT];
};

enum tcb_status tcb_gpu_buffer_alloc(const struct tcb_gpu_session *session, size_t bytes, struct tcb_gpu_buffer *out,
				     struct tcb_error *err)
{
	const struct tcb_gpu_driver *driver = session->driver;
	memset(out, 0, sizeof *out);
	/* Allocations are 512-byte aligned: 256 more makes the data 256-byte aligned and not 512. */
	size_t total = bytes + 2 * GUARD;
	TCB_TRY(driver->alloc(session->own, total, &out->base, err));
	out->first = GUARD;
	out->bytes = bytes;
	return driver->fill(session->own, out->base, 0, TCB_POISON, total, err);
}

void tcb_gpu_buffer_free(const struct tcb_gpu_session *session, struct tcb_gpu_buffer *buffer)
{
	if (buffer->base)
		session->driver->free(session->own, buffer->base);
	memset(buffer, 0, sizeof *buffer);
}

enum tcb_status tcb_gpu_buffer_check(const struct tcb_gpu_session *session, const struct tcb_gpu_buffer *buffer,
				     int *damaged_out, struct tcb_error *err)
{
	const struct tcb_gpu_driver *driver = session->driver;
	unsigned char zone[2 * GUARD];
	TCB_TRY(driver->copy_out(session->own, buffer->base, buffer->first - GUARD, GUARD, zone, err));
	TCB_TRY(driver->copy_out(session->own, buffer->base, buffer->first + buffer->bytes, GUARD, zone + GUARD, err));
	*damaged_out = 0;
	for (size_t i = 0; i < sizeof zone; i++)
		*damaged_out |= zone[i] != TCB_POISON;
	return TCB_OK;
}

/* Does operand INDEX have a buffer in every copy? */
static int is_copied(const struct tcb_gpu_memory *memory, size_t index)
{
	const struct tcb_operand *operand = &memory->instance->operands[index];
	return operand->streams && operand->role != TCB_ROLE_OUTPUT;
}

/* An output that streams is written somewhere else in each copy; that of the first copy is looked at. */
static int is_other_output(const struct tcb_gpu_memory *memory, size_t index, size_t copy)
{
	const struct tcb_operand *operand = &memory->instance->operands[index];
	return copy > 0 && operand->role == TCB_ROLE_OUTPUT && operand->streams;
}

enum tcb_status tcb_gpu_memory_create(const struct tcb_gpu_session *session, struct tcb_instance *instance,
				      struct tcb_gpu_memory **out, struct tcb_error *err)
{
	struct tcb_gpu_memory *memory = calloc(1, sizeof *memory);
	if (!memory)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a problem on the GPU");
	memory->session = session;
	memory->instance = instance;
	enum tcb_status status = TCB_OK;
	for (size_t i = 0; i < instance->operand_count && status == TCB_OK; i++) {
		const struct tcb_operand *operand = &instance->operands[i];
		if (is_copied(memory, i))
			continue;
		status = tcb_gpu_buffer_alloc(session, operand->bytes, &memory->shared[i], err);
		if (status == TCB_OK && operand->role != TCB_ROLE_OUTPUT)
			status = session->driver->copy_in(session->own, memory->shared[i].base, memory->shared[i].first,
							  instance->data[i].data, operand->bytes, err);
	}
	if (status != TCB_OK) {
		tcb_gpu_memory_destroy(memory);
		return status;
	}
	*out = memory;
	return TCB_OK;
}

void tcb_gpu_memory_destroy(struct tcb_gpu_memory *memory)
{
	if (!memory)
		return;
	for (size_t i = 0; i < TCB_OPERANDS_MAX; i++)
		tcb_gpu_buffer_free(memory->session, &memory->shared[i]);
	for (size_t l = 0; l < TCB_LAYOUT_COUNT; l++) {
		for (size_t c = 0; c < memory->layout[l].count; c++)
			for (size_t i = 0; i < TCB_OPERANDS_MAX; i++)
				tcb_gpu_buffer_free(memory->session, &memory->layout[l].copies[c].buffer[i]);
		free(memory->layout[l].copies);
	}
	free(memory);
}

int tcb_gpu_memory_is_output(const struct tcb_gpu_memory *memory, size_t index)
{
	return index < memory->instance->operand_count && memory->instance->operands[index].role == TCB_ROLE_OUTPUT;
}

static size_t operand_bytes(const struct tcb_gpu_memory *memory, size_t index, const size_t packed_bytes[])
{
	return packed_bytes[index] ? packed_bytes[index] : memory->instance->operands[index].bytes;
}

size_t tcb_gpu_memory_streamed(const struct tcb_gpu_memory *memory, const size_t packed_bytes[TCB_OPERANDS_MAX])
{
	size_t bytes = 0;
	for (size_t i = 0; i < memory->instance->operand_count; i++)
		if (memory->instance->operands[i].streams)
			bytes += operand_bytes(memory, i, packed_bytes);
	return bytes;
}

/* What output INDEX begins with, into BUFFER of it, where that is not poison. */
static enum tcb_status begin_output(const struct tcb_gpu_memory *memory, size_t index,
				    const struct tcb_gpu_buffer *buffer, struct tcb_error *err)
{
	const struct tcb_gpu_session *session = memory->session;
	const void *start = tcb_instance_start(memory->instance, index);
	return start ? session->driver->copy_in(session->own, buffer->base, buffer->first, start, buffer->bytes, err)
		     : TCB_OK;
}

/* The first copy comes from the host, the others from the first. */
static enum tcb_status add_copy(struct tcb_gpu_memory *memory, struct layout_copies *set,
				const struct tcb_packed *packed, struct tcb_error *err)
{
	const struct tcb_gpu_session *session = memory->session;
	const struct tcb_instance *instance = memory->instance;
	struct tcb_gpu_operands *copy = &set->copies[set->count++];
	for (size_t i = 0; i < instance->operand_count; i++) {
		if (is_other_output(memory, i, set->count - 1)) {
			TCB_TRY(tcb_gpu_buffer_alloc(session, instance->operands[i].bytes, &copy->buffer[i], err));
			TCB_TRY(begin_output(memory, i, &copy->buffer[i], err));
		}
		if (!is_copied(memory, i))
			continue;
		size_t bytes = operand_bytes(memory, i, set->packed_bytes);
		struct tcb_gpu_buffer *to = &copy->buffer[i];
		const struct tcb_gpu_buffer *first = &set->copies[0].buffer[i];
		TCB_TRY(tcb_gpu_buffer_alloc(session, bytes, to, err));
		if (set->count == 1)
			TCB_TRY(session->driver->copy_in(
				session->own, to->base, to->first,
				(set->packed_bytes[i] ? packed->buffer : instance->data)[i].data, bytes, err));
		else
			TCB_TRY(session->driver->copy(session->own, to->base, to->first, first->base, first->first,
						      bytes, err));
	}
	return TCB_OK;
}

enum tcb_status tcb_gpu_memory_need(struct tcb_gpu_memory *memory, enum tcb_layout layout,
				    const size_t packed_bytes[TCB_OPERANDS_MAX], size_t copies, double *pack_ns_out,
				    struct tcb_error *err)
{
	struct layout_copies *set = &memory->layout[layout];
	struct tcb_instance *instance = memory->instance;
	const struct tcb_packed *packed = NULL;
	*pack_ns_out = set->pack_ns;
	if (set->count >= copies)
		return TCB_OK;
	if (set->capacity < copies) {
		struct tcb_gpu_operands *grown = realloc(set->copies, copies * sizeof *grown);
		if (!grown)
			return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu copies", copies);
		memset(grown + set->capacity, 0, (copies - set->capacity) * sizeof *grown);
		set->copies = grown;
		set->capacity = copies;
	}
	memcpy(set->packed_bytes, packed_bytes, sizeof set->packed_bytes);
	if (set->count == 0) {
		TCB_TRY(tcb_instance_packed(instance, layout, packed_bytes, &packed, err));
		set->pack_ns = packed->pack_ns;
	}
	while (set->count < copies)
		TCB_TRY(add_copy(memory, set, packed, err));
	*pack_ns_out = set->pack_ns;
	return memory->session->driver->sync(memory->session->own, err);
}

void tcb_gpu_memory_operands(const struct tcb_gpu_memory *memory, enum tcb_layout layout, size_t index,
			     struct tcb_gpu_buffer operand[TCB_OPERANDS_MAX])
{
	const struct tcb_gpu_operands *copy = &memory->layout[layout].copies[index];
	for (size_t i = 0; i < memory->instance->operand_count; i++)
		operand[i] =
			is_copied(memory, i) || is_other_output(memory, i, index) ? copy->buffer[i] : memory->shared[i];
}

enum tcb_status tcb_gpu_memory_poison(struct tcb_gpu_memory *memory, struct tcb_error *err)
{
	for (size_t i = 0; i < memory->instance->output_count; i++) {
		const size_t operand = memory->instance->output[i].operand;
		const struct tcb_gpu_buffer *output = &memory->shared[operand];
		if (!tcb_instance_start(memory->instance, operand))
			TCB_TRY(memory->session->driver->fill(memory->session->own, output->base, output->first,
							      TCB_POISON, output->bytes, err));
		TCB_TRY(begin_output(memory, operand, output, err));
	}
	return memory->session->driver->sync(memory->session->own, err);
}

enum tcb_status tcb_gpu_memory_fetch(void *ctx, size_t output, size_t first, size_t bytes, void *to,
				     struct tcb_error *err)
{
	const struct tcb_gpu_memory *memory = ctx;
	const struct tcb_gpu_buffer *buffer = &memory->shared[output];
	return memory->session->driver->copy_out(memory->session->own, buffer->base, buffer->first + first, bytes, to,
						 err);
}

enum tcb_status tcb_gpu_memory_outputs(struct tcb_gpu_memory *memory, struct tcb_buffer got[TCB_OPERANDS_MAX],
				       struct tcb_error *err)
{
	for (size_t i = 0; i < memory->instance->output_count; i++) {
		const size_t output = memory->instance->output[i].operand, bytes = memory->shared[output].bytes;
		if (got[output].bytes < bytes) {
			tcb_buffer_free(&got[output]);
			TCB_TRY(tcb_buffer_alloc(TCB_BUFFER_PLAIN, bytes, &got[output], err));
		}
		TCB_TRY(tcb_gpu_memory_fetch(memory, output, 0, bytes, got[output].data, err));
	}
	return TCB_OK;
}

enum tcb_status tcb_gpu_memory_check(struct tcb_gpu_memory *memory, enum tcb_layout layout, const char **what_out,
				     struct tcb_error *err)
{
	const struct layout_copies *set = &memory->layout[layout];
	*what_out = NULL;
	for (size_t i = 0; i < memory->instance->operand_count; i++) {
		const struct tcb_gpu_buffer *buffer =
			is_copied(memory, i) ? &set->copies[0].buffer[i] : &memory->shared[i];
		int damaged;
		TCB_TRY(tcb_gpu_buffer_check(memory->session, buffer, &damaged, err));
		if (damaged)
			*what_out = memory->instance->operands[i].name;
	}
	return TCB_OK;
}
