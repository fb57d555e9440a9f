/* SPDX-License-Identifier: MIT
 *
 * Candidates on an OpenCL device.  Programs are built here, by the device's driver; a
 * call's time is what its event says, from the start of its work to its end, so
 * that neither the queue nor the host counts.
 *
 * Kernels get parts of buffers, which begin where the device lets them: a store
 * beside one is a store into its guard zone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/kinds/opencl_kind.h"
#include "base/sizes.h"
#include "base/util.h"
#include "gpu/opencl_launch.h"
#include "kernels/language.h"
#include "worker/gpu_driver.h"

enum {
	ROTATION_LEAST = 1 << 29, /* bytes */
	ROTATION_CPU = 1 << 26,   /* a host's caches are smaller, and it is slow */
	FIRST = 256,              /* where operands begin in an allocation (gpu_memory.c) */
	BUILT_MAX = 8,            /* programs kept */
};

/* A program that was built. */
struct built {
	uint64_t hash; /* of its text and folder */
	tcb_cl_program program;
};

struct session {
	struct tcb_opencl_session opencl;
	size_t align;
	int is_lost;
	struct built built[BUILT_MAX]; /* a ring */
	size_t built_next;
};

/* An allocation, and the part of it that kernels were given last. */
struct memory {
	tcb_cl_memory whole, part;
	size_t shift; /* before its first byte, so that operands are aligned */
	size_t part_first, part_bytes;
};

/* A runner's. */
struct runner {
	tcb_cl_kernel kernel;
	struct tcb_gpu_buffer (*operands)[TCB_OPERANDS_MAX]; /* of each copy */
	size_t copies, next;
	tcb_cl_event *events; /* of each call */
};

static struct session *session_of(const struct tcb_gpu_runner *runner)
{
	return runner->session->own;
}

static struct memory *memory_of(uint64_t base)
{
	return (struct memory *)(uintptr_t)base;
}

/* ---- open, close ---- */

static enum tcb_status fail(const char *what, int32_t code, struct tcb_error *err)
{
	return code == TCB_CL_SUCCESS ? TCB_OK : tcb_fail(err, TCB_E_FAILED, "%s: %s", what, tcb_opencl_text(code));
}

static enum tcb_status open_session(const struct tcb_place *place, void **own_out, struct tcb_error *err)
{
	const int ordinal = tcb_opencl_ordinal(place->address);
	tcb_cl_device devices[TCB_OPENCL_DEVICES_MAX];
	struct session *session = calloc(1, sizeof *session);
	uint32_t bits = 0;
	int32_t code;
	size_t count;

	*own_out = session;
	if (!session)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a device's session");
	session->opencl.cl = tcb_opencl_open(err);
	if (!session->opencl.cl)
		return TCB_E_UNSUPPORTED;
	TCB_TRY(tcb_opencl_devices(session->opencl.cl, devices, TCB_OPENCL_DEVICES_MAX, &count, err));
	if (ordinal < 0 || (size_t)ordinal >= count)
		return tcb_fail(err, TCB_E_NOT_FOUND, "%s is gone", place->address);
	session->opencl.device = devices[ordinal];
	session->opencl.local_bytes = place->device.target.opencl.local_bytes;
	(void)session->opencl.cl->device_info(session->opencl.device, TCB_CL_DEVICE_ALIGN_BITS, sizeof bits, &bits,
					      NULL);
	session->align = tcb_most(bits / 8, FIRST);
	session->opencl.context =
		session->opencl.cl->create_context(NULL, 1, &session->opencl.device, NULL, NULL, &code);
	TCB_TRY(fail("opening the device", session->opencl.context ? TCB_CL_SUCCESS : code, err));
	session->opencl.queue = session->opencl.cl->create_queue(session->opencl.context, session->opencl.device,
								 TCB_CL_QUEUE_PROFILING, &code);
	return fail("making a queue with times", session->opencl.queue ? TCB_CL_SUCCESS : code, err);
}

static void close_session(void *own)
{
	struct session *session = own;

	for (size_t i = 0; i < BUILT_MAX; i++)
		if (session->built[i].program)
			(void)session->opencl.cl->release_program(session->built[i].program);
	if (session->opencl.queue)
		(void)session->opencl.cl->release_queue(session->opencl.queue);
	if (session->opencl.context)
		(void)session->opencl.cl->release_context(session->opencl.context);
	free(session);
}

static int is_lost(void *own)
{
	return ((const struct session *)own)->is_lost;
}

static size_t rotation_least(const struct tcb_place *place)
{
	return place->device.target.opencl.vendor == TCB_OPENCL_CPU ? ROTATION_CPU : ROTATION_LEAST;
}

/* ---- memory ---- */

static void free_memory(void *own, uint64_t base)
{
	const struct session *session = own;
	struct memory *memory = memory_of(base);

	if (memory->part)
		(void)session->opencl.cl->release_memory(memory->part);
	if (memory->whole)
		(void)session->opencl.cl->release_memory(memory->whole);
	free(memory);
}

static enum tcb_status alloc_memory(void *own, size_t bytes, uint64_t *base_out, struct tcb_error *err)
{
	struct session *session = own;
	struct memory *memory = calloc(1, sizeof *memory);
	int32_t code = TCB_CL_OUT_OF_HOST_MEMORY;

	*base_out = 0;
	if (memory) {
		memory->shift = tcb_round_up(FIRST, session->align) - FIRST;
		memory->whole = session->opencl.cl->create_buffer(session->opencl.context, TCB_CL_MEM_READ_WRITE,
								  memory->shift + tcb_round_up(bytes, sizeof(uint32_t)),
								  NULL, &code);
	}
	if (memory && memory->whole) {
		*base_out = (uintptr_t)memory;
		return TCB_OK;
	}
	free(memory);
	return tcb_fail(err, TCB_E_NOMEM, "%zu bytes on the device: %s", bytes, tcb_opencl_text(code));
}

/* CODE of what was done to memory; where a queue fails, a candidate may have broken it. */
static enum tcb_status done(struct session *session, const char *what, int32_t code, struct tcb_error *err)
{
	session->is_lost |= code != TCB_CL_SUCCESS;
	return fail(what, code, err);
}

static enum tcb_status fill(void *own, uint64_t base, size_t first, unsigned char value, size_t bytes,
			    struct tcb_error *err)
{
	struct session *session = own;
	const struct memory *memory = memory_of(base);
	const uint32_t word = value * 0x01010101u;

	return done(session, "filling device memory",
		    session->opencl.cl->fill_buffer(session->opencl.queue, memory->whole, &word, sizeof word,
						    memory->shift + first, tcb_round_up(bytes, sizeof word), 0, NULL,
						    NULL),
		    err);
}

static enum tcb_status copy_in(void *own, uint64_t base, size_t first, const void *from, size_t bytes,
			       struct tcb_error *err)
{
	struct session *session = own;
	const struct memory *memory = memory_of(base);

	return done(session, "copying to the device",
		    session->opencl.cl->write_buffer(session->opencl.queue, memory->whole, TCB_CL_TRUE,
						     memory->shift + first, bytes, from, 0, NULL, NULL),
		    err);
}

static enum tcb_status copy_out(void *own, uint64_t base, size_t first, size_t bytes, void *to, struct tcb_error *err)
{
	struct session *session = own;
	const struct memory *memory = memory_of(base);

	return done(session, "copying from the device",
		    session->opencl.cl->read_buffer(session->opencl.queue, memory->whole, TCB_CL_TRUE,
						    memory->shift + first, bytes, to, 0, NULL, NULL),
		    err);
}

static enum tcb_status copy(void *own, uint64_t to, size_t to_first, uint64_t from, size_t from_first, size_t bytes,
			    struct tcb_error *err)
{
	struct session *session = own;

	return done(session, "copying on the device",
		    session->opencl.cl->copy_buffer(session->opencl.queue, memory_of(from)->whole, memory_of(to)->whole,
						    memory_of(from)->shift + from_first,
						    memory_of(to)->shift + to_first, bytes, 0, NULL, NULL),
		    err);
}

static enum tcb_status sync(void *own, struct tcb_error *err)
{
	struct session *session = own;

	return done(session, "waiting for the device", session->opencl.cl->finish(session->opencl.queue), err);
}

/* What BUFFER is to kernels; a NULL handle where CODE_OUT says why. */
static tcb_cl_memory part_of(const struct session *session, const struct tcb_gpu_buffer *buffer, int32_t *code_out)
{
	struct memory *memory = memory_of(buffer->base);
	const struct tcb_cl_region region = { memory->shift + buffer->first, buffer->bytes };

	*code_out = TCB_CL_SUCCESS;
	if (memory->part && memory->part_first == buffer->first && memory->part_bytes == buffer->bytes)
		return memory->part;
	if (memory->part)
		(void)session->opencl.cl->release_memory(memory->part);
	memory->part = session->opencl.cl->create_part(memory->whole, TCB_CL_MEM_READ_WRITE, TCB_CL_BUFFER_REGION,
						       &region, code_out);
	memory->part_first = buffer->first;
	memory->part_bytes = buffer->bytes;
	return memory->part;
}

/* ---- code ---- */

/* The program of RUNNER's unit, which the session keeps.  Nonzero: WHY. */
static int find_program(struct session *session, const struct tcb_gpu_runner *runner,
			const struct tcb_code_image *image, tcb_cl_program *out, char why[TCB_GPU_WHY_MAX])
{
	const uint64_t hash = tcb_opencl_unit_hash(image, runner->unit);
	struct built *place = &session->built[session->built_next % BUILT_MAX];

	for (size_t i = 0; i < BUILT_MAX; i++) {
		*out = session->built[i].program;
		if (*out && session->built[i].hash == hash)
			return 0;
	}
	if (tcb_opencl_build(&session->opencl, image, runner->unit, out, why) != 0)
		return -1;
	if (place->program)
		(void)session->opencl.cl->release_program(place->program);
	*place = (struct built){ hash, *out };
	session->built_next++;
	return 0;
}

static enum tcb_gpu_fault load(struct tcb_gpu_runner *runner, const struct tcb_code_image *image,
			       char why[TCB_GPU_WHY_MAX])
{
	struct session *session = session_of(runner);
	struct runner *own = calloc(1, sizeof *own);
	tcb_cl_program program;

	runner->own = own;
	if (!own) {
		snprintf(why, TCB_GPU_WHY_MAX, "out of memory for a kernel");
		return TCB_GPU_REFUSED;
	}
	if (find_program(session, runner, image, &program, why) != 0)
		return TCB_GPU_NO_CODE;
	const int found = tcb_opencl_kernel(&session->opencl, program, &runner->unit->launch[0], &own->kernel, why);
	return found < 0 ? TCB_GPU_NO_CODE : found > 0 ? TCB_GPU_REFUSED : TCB_GPU_FINE;
}

static void forget(struct runner *own)
{
	free(own->operands);
	free(own->events);
	own->operands = NULL;
	own->events = NULL;
	own->copies = own->next = 0;
}

static void unload(struct tcb_gpu_runner *runner)
{
	struct runner *own = runner->own;

	if (!own)
		return;
	forget(own);
	if (own->kernel)
		(void)session_of(runner)->opencl.cl->release_kernel(own->kernel);
	free(own);
}

/* ---- calls ---- */

/* Of a status that WHY tells of already. */
static enum tcb_gpu_fault crashed(struct session *session)
{
	session->is_lost = 1;
	return TCB_GPU_CRASHED;
}

/* One call, submitted; EVENT_OUT (nullable) is the caller's to release. */
static enum tcb_gpu_fault submit(struct tcb_gpu_runner *runner, const struct tcb_gpu_buffer operand[TCB_OPERANDS_MAX],
				 tcb_cl_event *event_out, char why[TCB_GPU_WHY_MAX])
{
	struct session *session = session_of(runner);
	const struct runner *own = runner->own;
	const struct tcb_code_launch *launch = &runner->unit->launch[0];
	tcb_cl_memory memory[TCB_ARGUMENTS_MAX] = { NULL };

	for (uint32_t i = 0; i < launch->argument_count; i++) {
		const struct tcb_argument *argument = &launch->argument[i];
		int32_t code = TCB_CL_SUCCESS;

		if (argument->kind == TCB_ARGUMENT_OPERAND || argument->kind == TCB_ARGUMENT_WORKSPACE)
			memory[i] = part_of(session,
					    argument->kind == TCB_ARGUMENT_OPERAND ? &operand[argument->value]
										   : &runner->workspace,
					    &code);
		if (code == TCB_CL_SUCCESS)
			continue;
		snprintf(why, TCB_GPU_WHY_MAX, "the memory of argument %u: %s", i + 1, tcb_opencl_text(code));
		return TCB_GPU_REFUSED;
	}
	if (tcb_opencl_launch(&session->opencl, own->kernel, launch, memory, event_out, why) == TCB_CL_SUCCESS)
		return TCB_GPU_FINE;
	/* A call before it may have faulted meanwhile, which the queue then says, too. */
	return session->opencl.cl->finish(session->opencl.queue) == TCB_CL_SUCCESS ? TCB_GPU_REFUSED : crashed(session);
}

static enum tcb_gpu_fault call(struct tcb_gpu_runner *runner, const struct tcb_gpu_buffer operand[TCB_OPERANDS_MAX],
			       int overlap, char why[TCB_GPU_WHY_MAX])
{
	(void)overlap;
	return submit(runner, operand, NULL, why);
}

static enum tcb_gpu_fault wait_for(void *own, char why[TCB_GPU_WHY_MAX])
{
	struct session *session = own;

	const int32_t code = session->opencl.cl->finish(session->opencl.queue);

	if (code == TCB_CL_SUCCESS)
		return TCB_GPU_FINE;
	snprintf(why, TCB_GPU_WHY_MAX, "running it: %s", tcb_opencl_text(code));
	return crashed(session);
}

/* ---- timing ---- */

/* Adds to *NS what EVENT, which is done, says that its command took. */
static enum tcb_gpu_fault add_time(struct session *session, tcb_cl_event event, double *ns, char why[TCB_GPU_WHY_MAX])
{
	uint64_t start = 0, end = 0;
	int32_t outcome = 0;
	int32_t code = session->opencl.cl->event_info(event, TCB_CL_EVENT_STATUS, sizeof outcome, &outcome, NULL);

	if (code == TCB_CL_SUCCESS && outcome < 0) {
		snprintf(why, TCB_GPU_WHY_MAX, "running it: %s", tcb_opencl_text(outcome));
		return crashed(session);
	}
	if (code == TCB_CL_SUCCESS)
		code = session->opencl.cl->event_times(event, TCB_CL_EVENT_START, sizeof start, &start, NULL);
	if (code == TCB_CL_SUCCESS)
		code = session->opencl.cl->event_times(event, TCB_CL_EVENT_END, sizeof end, &end, NULL);
	*ns += end > start ? (double)(end - start) : 0;
	if (code == TCB_CL_SUCCESS)
		return TCB_GPU_FINE;
	snprintf(why, TCB_GPU_WHY_MAX, "its time: %s", tcb_opencl_text(code));
	return TCB_GPU_REFUSED;
}

/* CALLS calls over the copies that RUNNER keeps, on from the last one, waited for; NS_OUT: the sum of what they took.
 */
static enum tcb_gpu_fault time_calls(struct tcb_gpu_runner *runner, size_t calls, double *ns_out,
				     char why[TCB_GPU_WHY_MAX])
{
	struct session *session = session_of(runner);
	struct runner *own = runner->own;
	enum tcb_gpu_fault fault = TCB_GPU_FINE;
	size_t count = 0;

	*ns_out = 0;
	for (; count < calls && fault == TCB_GPU_FINE; count++) {
		const size_t copy = own->next++ % own->copies;

		own->events[count] = NULL;
		fault = submit(runner, own->operands[copy], &own->events[count], why);
	}
	if (fault == TCB_GPU_FINE)
		fault = wait_for(session, why);
	for (size_t i = 0; i < count; i++) {
		if (own->events[i] && fault == TCB_GPU_FINE)
			fault = add_time(session, own->events[i], ns_out, why);
		if (own->events[i])
			(void)session->opencl.cl->release_event(own->events[i]);
	}
	return fault;
}

/* Room for CALLS over OPERANDS of COPIES. */
static enum tcb_gpu_fault keep(struct tcb_gpu_runner *runner, const struct tcb_gpu_buffer (*operands)[TCB_OPERANDS_MAX],
			       size_t copies, size_t calls, char why[TCB_GPU_WHY_MAX])
{
	struct runner *own = runner->own;

	forget(own);
	own->operands = calloc(copies, sizeof *own->operands);
	own->events = calloc(calls, sizeof(tcb_cl_event));
	if (!own->operands || !own->events) {
		snprintf(why, TCB_GPU_WHY_MAX, "out of memory for %zu copies", copies);
		return TCB_GPU_REFUSED;
	}
	memcpy(own->operands, operands, copies * sizeof *own->operands);
	own->copies = copies;
	return TCB_GPU_FINE;
}

static enum tcb_gpu_fault once(struct tcb_gpu_runner *runner, const struct tcb_gpu_buffer operand[TCB_OPERANDS_MAX],
			       double *ns_out, char why[TCB_GPU_WHY_MAX])
{
	const struct tcb_gpu_buffer(*operands)[TCB_OPERANDS_MAX] = (const void *)operand;
	const enum tcb_gpu_fault fault = keep(runner, operands, 1, 1, why);

	*ns_out = 0;
	return fault == TCB_GPU_FINE ? time_calls(runner, 1, ns_out, why) : fault;
}

static enum tcb_gpu_fault record(struct tcb_gpu_runner *runner,
				 const struct tcb_gpu_buffer (*operands)[TCB_OPERANDS_MAX], size_t copies,
				 char why[TCB_GPU_WHY_MAX])
{
	const enum tcb_gpu_fault fault = keep(runner, operands, copies, runner->calls, why);
	double ns;

	return fault == TCB_GPU_FINE ? time_calls(runner, runner->calls, &ns, why) : fault;
}

static double sample(struct tcb_gpu_runner *runner, char why[TCB_GPU_WHY_MAX])
{
	struct tcb_error error;
	double ns;

	if (runner->flush.bytes && fill(runner->session->own, runner->flush.base, runner->flush.first, TCB_POISON,
					runner->flush.bytes, &error) != TCB_OK) {
		snprintf(why, TCB_GPU_WHY_MAX, "%.250s", error.message);
		return -1;
	}
	return time_calls(runner, runner->calls, &ns, why) == TCB_GPU_FINE ? ns : -1;
}

const struct tcb_gpu_driver tcb_gpu_driver_opencl = {
	.language = &tcb_language_opencl,
	.goes_on = 1,
	.rotation_least = rotation_least,
	.open = open_session,
	.close = close_session,
	.is_lost = is_lost,
	.alloc = alloc_memory,
	.free = free_memory,
	.fill = fill,
	.copy_in = copy_in,
	.copy_out = copy_out,
	.copy = copy,
	.sync = sync,
	.load = load,
	.unload = unload,
	.call = call,
	.wait = wait_for,
	.once = once,
	.record = record,
	.sample = sample,
};
