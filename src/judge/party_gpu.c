/* SPDX-License-Identifier: MIT
 *
 * In: compiled code of a GPU and questions; out: outputs, which are copied to where the
 * judge sees them.  Such a kernel has no way to this process's memory or clock: what it could do, it does on
 * the device, so that times are taken here, by events and by the host's clock, and waiting for the whole device
 * afterwards must take no time.
 */
#include "judge/party_gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "worker/gpu_runner.h"

enum { FLUSH_TIMES = 3, FLUSH_UNKNOWN = 256 << 20 };

struct gpu {
	const struct tcb_party_process *process;
	struct tcb_gpu_session session;
	struct tcb_gpu_runner runner, recorded; /* RECORDED: with the graph of a batch */
	struct tcb_gpu_buffer (*slot)[TCB_OPERANDS_MAX];
	size_t count; /* of slots that have memory */
	struct tcb_gpu_buffer flush;
	int is_refused; /* its code cannot be loaded */
	char why[TCB_GPU_WHY_MAX];
};

static size_t bytes_of(const struct gpu *gpu, size_t i)
{
	return gpu->process->how->slots->operand[i].bytes;
}

static int is_output(const struct gpu *gpu, size_t i)
{
	return gpu->process->how->slots->operand[i].region == TCB_REGION_OUTPUTS;
}

static char *host_at(const struct gpu *gpu, size_t slot, size_t i)
{
	const size_t first = tcb_slots_first(gpu->process->how->slots, slot, i);

	return is_output(gpu, i) ? gpu->process->outputs + first : (char *)(uintptr_t)gpu->process->inputs + first;
}

/* --- memory --- */

/* Slots 0 to COUNT have memory. */
static enum tcb_status need(struct gpu *gpu, size_t count, struct tcb_error *err)
{
	for (; gpu->count < count; gpu->count++)
		for (size_t i = 0; i < gpu->process->how->slots->operand_count; i++)
			TCB_TRY(tcb_gpu_buffer_alloc(&gpu->session, bytes_of(gpu, i), &gpu->slot[gpu->count][i], err));
	return TCB_OK;
}

/* Everything as the judge has it, poison included. */
static enum tcb_status copy_in(struct gpu *gpu, size_t slot, struct tcb_error *err)
{
	const struct tcb_gpu_driver *driver = gpu->session.driver;

	for (size_t i = 0; i < gpu->process->how->slots->operand_count; i++)
		TCB_TRY(driver->copy_in(gpu->session.own, gpu->slot[slot][i].base, gpu->slot[slot][i].first,
					host_at(gpu, slot, i), bytes_of(gpu, i), err));
	return TCB_OK;
}

/* -1 in *WRITTEN_OUT, or an input that is no longer what the judge has. */
static enum tcb_status compare_input(struct gpu *gpu, size_t slot, size_t i, int32_t *written_out,
				     struct tcb_error *err)
{
	char *copy = malloc(bytes_of(gpu, i));
	enum tcb_status status;

	if (!copy)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory");
	status = gpu->session.driver->copy_out(gpu->session.own, gpu->slot[slot][i].base, gpu->slot[slot][i].first,
					       bytes_of(gpu, i), copy, err);
	if (status == TCB_OK && memcmp(copy, host_at(gpu, slot, i), bytes_of(gpu, i)) != 0)
		*written_out = (int32_t)i;
	free(copy);
	return status;
}

static enum tcb_status copy_out(struct gpu *gpu, size_t slot, struct tcb_error *err)
{
	const struct tcb_gpu_driver *driver = gpu->session.driver;
	struct tcb_party_page *page = gpu->process->page;
	int damaged;

	for (size_t i = 0; i < gpu->process->how->slots->operand_count; i++) {
		const struct tcb_gpu_buffer *buffer = &gpu->slot[slot][i];

		TCB_TRY(tcb_gpu_buffer_check(&gpu->session, buffer, &damaged, err));
		if (damaged)
			page->damaged = (int32_t)i;
		if (is_output(gpu, i))
			TCB_TRY(driver->copy_out(gpu->session.own, buffer->base, buffer->first, buffer->bytes,
						 host_at(gpu, slot, i), err));
		else
			TCB_TRY(compare_input(gpu, slot, i, &page->written, err));
	}
	return TCB_OK;
}

/* --- calls --- */

static enum tcb_status fault(const struct gpu *gpu, struct tcb_error *err)
{
	return tcb_fail(err, TCB_E_FAILED, "%s", gpu->why);
}

/* The graph of the page's calls, in slots 0 to its count; it is run once, before values are there. */
static enum tcb_status record(struct gpu *gpu, struct tcb_error *err)
{
	const size_t calls = gpu->process->page->count;
	enum tcb_gpu_fault found;

	if (gpu->recorded.calls == calls)
		return TCB_OK;
	tcb_gpu_runner_fini(&gpu->recorded);
	TCB_TRY(tcb_gpu_runner_init(&gpu->recorded, &gpu->session, gpu->process->how->image, 0, &found, gpu->why, err));
	gpu->recorded.calls = calls;
	if (found != TCB_GPU_FINE ||
	    gpu->session.driver->record(&gpu->recorded, (const struct tcb_gpu_buffer(*)[TCB_OPERANDS_MAX])gpu->slot,
					calls, gpu->why) != TCB_GPU_FINE)
		return fault(gpu, err);
	return TCB_OK;
}

/* The page's calls one by one. */
static enum tcb_status call_each(struct gpu *gpu, struct tcb_error *err)
{
	struct tcb_party_page *page = gpu->process->page;
	double ns;

	for (uint32_t i = 0; i < page->count; i++) {
		if (tcb_gpu_runner_once(&gpu->runner, gpu->slot[page->slot[i]], &ns, gpu->why) != TCB_GPU_FINE)
			return fault(gpu, err);
		page->event_ns += ns;
	}
	return TCB_OK;
}

/* What pushes everything out of the last cache. */
static size_t flush_bytes(const struct tcb_place *place)
{
	const size_t l2 = place->device.target.l2_bytes;

	return l2 ? FLUSH_TIMES * l2 : FLUSH_UNKNOWN;
}

/* All of them in a row, after the caches were written over where they are to be cold. */
static enum tcb_status call_batch(struct gpu *gpu, struct tcb_error *err)
{
	const struct tcb_gpu_driver *driver = gpu->session.driver;
	struct tcb_party_page *page = gpu->process->page;

	if (!page->is_hot && !gpu->flush.base)
		TCB_TRY(tcb_gpu_buffer_alloc(&gpu->session, flush_bytes(gpu->process->how->place), &gpu->flush, err));
	if (!page->is_hot)
		TCB_TRY(driver->fill(gpu->session.own, gpu->flush.base, gpu->flush.first, TCB_POISON, gpu->flush.bytes,
				     err));
	TCB_TRY(driver->sync(gpu->session.own, err));
	const uint64_t start = tcb_clock_ns();

	page->event_ns = driver->sample(&gpu->recorded, gpu->why);
	const uint64_t end = tcb_clock_ns();

	if (page->event_ns < 0)
		return fault(gpu, err);
	TCB_TRY(driver->sync(gpu->session.own, err));
	page->wall_ns = (double)(end - start);
	page->rest_ns = (double)(tcb_clock_ns() - end);
	return TCB_OK;
}

static enum tcb_status call_all(struct gpu *gpu, struct tcb_error *err)
{
	struct tcb_party_page *page = gpu->process->page;

	page->damaged = page->written = -1;
	page->event_ns = page->wall_ns = page->rest_ns = 0;
	for (uint32_t i = 0; i < page->count; i++)
		TCB_TRY(need(gpu, page->slot[i] + 1, err));
	if (page->is_timed)
		TCB_TRY(record(gpu, err));
	for (uint32_t i = 0; i < page->count; i++)
		TCB_TRY(copy_in(gpu, page->slot[i], err));
	TCB_TRY(gpu->session.driver->sync(gpu->session.own, err));
	TCB_TRY(page->is_timed ? call_batch(gpu, err) : call_each(gpu, err));
	for (uint32_t i = 0; i < page->count; i++)
		TCB_TRY(copy_out(gpu, page->slot[i], err));
	return TCB_OK;
}

static enum tcb_status open_gpu(struct gpu *gpu, struct tcb_error *err)
{
	const struct tcb_party_start *how = gpu->process->how;
	enum tcb_gpu_fault found;

	gpu->slot = calloc(how->slots->count, sizeof *gpu->slot);
	if (!gpu->slot)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory");
	TCB_TRY(tcb_gpu_session_open(how->place, &gpu->session, err));
	TCB_TRY(tcb_gpu_runner_init(&gpu->runner, &gpu->session, how->image, 0, &found, gpu->why, err));
	gpu->is_refused = found != TCB_GPU_FINE;
	if (gpu->is_refused)
		return fault(gpu, err);
	return TCB_OK;
}

_Noreturn void tcb_party_gpu(const struct tcb_party_process *process)
{
	static struct gpu gpu;
	struct tcb_error error = { .status = TCB_OK };
	unsigned asked = 0;

	gpu.process = process;
	if (open_gpu(&gpu, &error) != TCB_OK) {
		tcb_party_page_fail(process->page, gpu.is_refused ? TCB_PARTY_REFUSED : TCB_PARTY_UNABLE, "%s",
				    error.message);
		_exit(0);
	}
	tcb_party_page_set(process->page, TCB_PARTY_READY);
	for (;;) {
		asked = tcb_party_page_wait(process->page, asked);
		if (process->page->wish == TCB_WISH_CALLS && call_all(&gpu, &error) != TCB_OK)
			snprintf(process->page->words, sizeof process->page->words, "%.250s", error.message);
		tcb_party_page_answer(process->page, asked);
	}
}
