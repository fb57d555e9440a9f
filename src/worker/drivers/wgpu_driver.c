/* SPDX-License-Identifier: MIT
 *
 * Candidates on a WebGPU device.  A sample is one pass of many dispatches, with
 * timestamps at its ends; dispatches that write the same buffer wait for each
 * other, as those of an engine do.  Verification binds what lies behind the
 * operands, too: an access out of bounds then meets poison, and not the zeros that it would
 * meet where memory is bound as engines do it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/kinds/wgpu_kind.h"
#include "base/sizes.h"
#include "base/util.h"
#include "device/cuda.h"
#include "gpu/wgpu_launch.h"
#include "kernels/language.h"
#include "worker/gpu_driver.h"

enum {
	ROTATION_LEAST = 1 << 29,    /* bytes */
	ROTATION_SOFTWARE = 1 << 26, /* a host's caches are smaller, and it is slow */
	EXTRA = 128,                 /* bytes behind an operand that verification binds; of a guard zone */
	POISON_BYTES = 1 << 22,      /* at a time */
	TICKS = 2 * sizeof(uint64_t),
};

struct session {
	struct tcb_wgpu_session wgpu;
	int is_checked;
	WGPUQuerySet set; /* NULL: the clock around it must do */
	WGPUBuffer resolved;
	WGPUBuffer poison; /* POISON_BYTES of it */
	/* What keeps NVIDIA's clocks up, and the devices that have a context for that, a bit each. */
	const struct tcb_cuda *cuda;
	uint32_t held;
};

/* A runner's. */
struct runner {
	struct tcb_wgpu_code code;
	struct tcb_wgpu_bound *bound; /* of each copy */
	size_t copies;
};

static struct session *session_of(const struct tcb_gpu_runner *runner)
{
	return runner->session->own;
}

static WGPUBuffer handle(uint64_t base)
{
	return (WGPUBuffer)(uintptr_t)base;
}

/* ---- open, close ---- */

static enum tcb_status make_queries(struct session *session, struct tcb_error *err)
{
	struct tcb_wgpu_session *s = &session->wgpu;

	if (!(s->tick_ns > 0))
		return TCB_OK;
	session->set = s->wgpu->create_query_set(
		s->device, &(struct tcb_wgpu_query_set){ .type = TCB_WGPU_QUERY_TIMESTAMP, .count = 2 });
	session->resolved = s->wgpu->create_buffer(
		s->device,
		&(struct tcb_wgpu_buffer){ .usage = TCB_WGPU_USE_RESOLVE | TCB_WGPU_USE_COPY_FROM, .bytes = TICKS });
	return tcb_wgpu_check(s, "making timestamps", err);
}

static enum tcb_status make_poison(struct session *session, struct tcb_error *err)
{
	void *poison = malloc(POISON_BYTES);
	enum tcb_status status;

	if (!poison)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a device's session");
	memset(poison, TCB_POISON, POISON_BYTES);
	session->poison = tcb_wgpu_buffer(&session->wgpu, POISON_BYTES);
	status = tcb_wgpu_write(&session->wgpu, session->poison, 0, poison, POISON_BYTES, err);
	free(poison);
	return status;
}

/*
 * NVIDIA's driver lowers a GPU's clocks while a Vulkan program lets it wait, as one does that compiles between
 * measurements: an H100's to 345 MHz of 1980, for seconds after there is work again.  It does not where CUDA has a
 * context.  WebGPU does not say which of several GPUs of a name an adapter is.
 */
static void keep_clocks_up(struct session *session, const char *model)
{
	const struct tcb_cuda *cuda = tcb_cuda_open(NULL);
	char name[TCB_DEVICE_TEXT_MAX];
	int count = 0, device;

	session->cuda = cuda;
	if (!cuda || cuda->device_count(&count) != 0)
		return;
	for (int i = 0; i < count && i < 32; i++) {
		CUcontext context;

		if (cuda->device_get(&device, i) == 0 && cuda->device_name(name, sizeof name, device) == 0 &&
		    strcmp(name, model) == 0 && cuda->context_retain(&context, device) == 0)
			session->held |= (uint32_t)1 << i;
	}
}

static void let_clocks_go(const struct session *session)
{
	int device;

	for (int i = 0; i < 32; i++)
		if (session->held >> i & 1u && session->cuda->device_get(&device, i) == 0)
			(void)session->cuda->context_release(device);
}

static enum tcb_status open_session(const struct tcb_place *place, void **own_out, struct tcb_error *err)
{
	struct session *session;

	if (place->is_absent)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "%s is %s: nothing runs on it", place->address,
				place->device.model);
	session = calloc(1, sizeof *session);
	if (!session)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a device's session");
	*own_out = session;
	session->is_checked = place->device.target.wgpu.is_checked != 0;
	TCB_TRY(tcb_wgpu_session_open((unsigned)tcb_wgpu_ordinal(place->address), &session->wgpu, err));
	if (place->device.target.wgpu.vendor == TCB_WGPU_NVIDIA)
		keep_clocks_up(session, place->device.model);
	TCB_TRY(make_poison(session, err));
	return make_queries(session, err);
}

static void close_session(void *own)
{
	struct session *session = own;

	if (session->set)
		session->wgpu.wgpu->query_set_release(session->set);
	if (session->resolved)
		session->wgpu.wgpu->buffer_release(session->resolved);
	tcb_wgpu_buffer_free(&session->wgpu, session->poison);
	tcb_wgpu_session_close(&session->wgpu);
	let_clocks_go(session);
	free(session);
}

static int is_lost(void *own)
{
	return tcb_wgpu_is_lost(&((struct session *)own)->wgpu);
}

static size_t rotation_least(const struct tcb_place *place)
{
	return place->device.target.wgpu.vendor == TCB_WGPU_SOFTWARE ? ROTATION_SOFTWARE : ROTATION_LEAST;
}

/* ---- memory ---- */

static enum tcb_status alloc_memory(void *own, size_t bytes, uint64_t *base_out, struct tcb_error *err)
{
	struct session *session = own;

	*base_out = (uintptr_t)tcb_wgpu_buffer(&session->wgpu, bytes);
	return tcb_wgpu_check(&session->wgpu, "allocating device memory", err);
}

static void free_memory(void *own, uint64_t base)
{
	tcb_wgpu_buffer_free(&((struct session *)own)->wgpu, handle(base));
}

static enum tcb_status fill(void *own, uint64_t base, size_t first, unsigned char value, size_t bytes,
			    struct tcb_error *err)
{
	struct session *session = own;
	struct tcb_wgpu_session *s = &session->wgpu;
	const WGPUCommandEncoder encoder = s->wgpu->create_encoder(s->device, NULL);

	if (value == 0)
		s->wgpu->clear_buffer(encoder, handle(base), first, tcb_round_up(bytes, 4));
	for (size_t at = 0; value && at < bytes; at += POISON_BYTES)
		s->wgpu->copy_buffer(encoder, session->poison, 0, handle(base), first + at,
				     tcb_round_up(tcb_least(bytes - at, POISON_BYTES), 4));
	tcb_wgpu_submit(s, encoder);
	return tcb_wgpu_check(s, "filling device memory", err);
}

/* What is left of the last word stays poison. */
static enum tcb_status copy_in(void *own, uint64_t base, size_t first, const void *from, size_t bytes,
			       struct tcb_error *err)
{
	struct session *session = own;
	const size_t whole = bytes / 4 * 4;
	unsigned char last[4];

	TCB_TRY(tcb_wgpu_write(&session->wgpu, handle(base), first, from, whole, err));
	if (whole == bytes)
		return TCB_OK;
	memset(last, TCB_POISON, sizeof last);
	memcpy(last, (const char *)from + whole, bytes - whole);
	return tcb_wgpu_write(&session->wgpu, handle(base), first + whole, last, sizeof last, err);
}

static enum tcb_status copy_out(void *own, uint64_t base, size_t first, size_t bytes, void *to, struct tcb_error *err)
{
	return tcb_wgpu_read(&((struct session *)own)->wgpu, handle(base), first, bytes, to, err);
}

static enum tcb_status copy(void *own, uint64_t to, size_t to_first, uint64_t from, size_t from_first, size_t bytes,
			    struct tcb_error *err)
{
	struct tcb_wgpu_session *s = &((struct session *)own)->wgpu;
	const WGPUCommandEncoder encoder = s->wgpu->create_encoder(s->device, NULL);

	s->wgpu->copy_buffer(encoder, handle(from), from_first, handle(to), to_first, tcb_round_up(bytes, 4));
	tcb_wgpu_submit(s, encoder);
	return tcb_wgpu_check(s, "copying on the GPU", err);
}

static enum tcb_status sync(void *own, struct tcb_error *err)
{
	struct tcb_wgpu_session *s = &((struct session *)own)->wgpu;

	tcb_wgpu_wait(s);
	return tcb_wgpu_check(s, "waiting for the GPU", err);
}

/* ---- code ---- */

/* The faults of a candidate that was loaded. */
static enum tcb_gpu_fault fault_of(struct session *session, const char *what, char why[TCB_GPU_WHY_MAX])
{
	char text[TCB_WGPU_WHY_MAX];

	if (!tcb_wgpu_failed(&session->wgpu, text))
		return TCB_GPU_FINE;
	snprintf(why, TCB_GPU_WHY_MAX, "%s: %.230s", what, text);
	return tcb_wgpu_is_lost(&session->wgpu) ? TCB_GPU_CRASHED : TCB_GPU_REFUSED;
}

static enum tcb_gpu_fault load(struct tcb_gpu_runner *runner, const struct tcb_code_image *image,
			       char why[TCB_GPU_WHY_MAX])
{
	struct session *session = session_of(runner);
	struct runner *own = calloc(1, sizeof *own);
	char text[TCB_WGPU_WHY_MAX];

	runner->own = own;
	if (!own) {
		snprintf(why, TCB_GPU_WHY_MAX, "out of memory for a kernel");
		return TCB_GPU_REFUSED;
	}
	if (tcb_wgpu_code_load(&session->wgpu, image, (size_t)(runner->unit - image->unit), session->is_checked,
			       &own->code, text) == 0)
		return TCB_GPU_FINE;
	snprintf(why, TCB_GPU_WHY_MAX, "compiling it: %.230s", text);
	return tcb_wgpu_is_lost(&session->wgpu) ? TCB_GPU_CRASHED : TCB_GPU_NO_CODE;
}

static void forget(struct runner *own)
{
	for (size_t i = 0; i < own->copies; i++)
		tcb_wgpu_code_unbind(&own->code, &own->bound[i]);
	free(own->bound);
	own->bound = NULL;
	own->copies = 0;
}

static void unload(struct tcb_gpu_runner *runner)
{
	struct runner *own = runner->own;

	if (!own)
		return;
	forget(own);
	tcb_wgpu_code_unload(&own->code);
	free(own);
}

static struct tcb_wgpu_part part_of(const struct tcb_gpu_buffer *buffer)
{
	return (struct tcb_wgpu_part){ handle(buffer->base), buffer->first, buffer->bytes };
}

/* MEMORY: its workspace. */
static int bind(struct tcb_gpu_runner *runner, const struct tcb_gpu_buffer operand[TCB_OPERANDS_MAX],
		const struct tcb_gpu_buffer *memory, size_t extra, struct tcb_wgpu_bound *out,
		char why[TCB_GPU_WHY_MAX])
{
	const struct runner *own = runner->own;
	const struct tcb_wgpu_part workspace = part_of(memory);
	struct tcb_wgpu_part parts[TCB_OPERANDS_MAX];
	char text[TCB_WGPU_WHY_MAX];

	for (size_t i = 0; i < TCB_OPERANDS_MAX; i++)
		parts[i] = part_of(&operand[i]);
	if (tcb_wgpu_code_bind(&own->code, parts, &workspace, extra, out, text) == 0)
		return 0;
	snprintf(why, TCB_GPU_WHY_MAX, "binding its operands: %.230s", text);
	return -1;
}

/* One pass of CALLS calls with what is BOUND to COPIES, in turn, submitted. */
static void submit_calls(struct tcb_gpu_runner *runner, const struct tcb_wgpu_bound *bound, size_t copies, size_t calls)
{
	struct session *session = session_of(runner);
	struct tcb_wgpu_session *s = &session->wgpu;
	const struct runner *own = runner->own;
	const struct tcb_wgpu_timestamps times = { .set = session->set, .begin = 0, .end = 1 };
	const struct tcb_wgpu_pass with = { .timestamps = session->set ? &times : NULL };
	const WGPUCommandEncoder encoder = s->wgpu->create_encoder(s->device, NULL);
	const WGPUComputePassEncoder pass = s->wgpu->begin_pass(encoder, &with);

	for (size_t i = 0; i < calls; i++)
		tcb_wgpu_code_dispatch(&own->code, &bound[i % copies], pass);
	s->wgpu->end_pass(pass);
	s->wgpu->pass_release(pass);
	if (session->set)
		s->wgpu->resolve(encoder, session->set, 0, 2, session->resolved, 0);
	tcb_wgpu_submit(s, encoder);
}

static enum tcb_gpu_fault call(struct tcb_gpu_runner *runner, const struct tcb_gpu_buffer operand[TCB_OPERANDS_MAX],
			       int overlap, char why[TCB_GPU_WHY_MAX])
{
	const struct runner *own = runner->own;
	struct tcb_wgpu_bound bound;
	enum tcb_gpu_fault fault = TCB_GPU_REFUSED;

	(void)overlap;
	if (bind(runner, operand, &runner->workspace, EXTRA, &bound, why) == 0) {
		submit_calls(runner, &bound, 1, 1);
		fault = fault_of(session_of(runner), "launching it", why);
	}
	tcb_wgpu_code_unbind(&own->code, &bound);
	return fault;
}

static enum tcb_gpu_fault wait_for(void *own, char why[TCB_GPU_WHY_MAX])
{
	struct session *session = own;

	tcb_wgpu_wait(&session->wgpu);
	return fault_of(session, "running it", why);
}

/* ---- timing ---- */

/* NS_OUT: what the calls took, by timestamps where the device has them. */
static enum tcb_gpu_fault time_calls(struct tcb_gpu_runner *runner, const struct tcb_wgpu_bound *bound, size_t copies,
				     size_t calls, double *ns_out, char why[TCB_GPU_WHY_MAX])
{
	struct session *session = session_of(runner);
	uint64_t ticks[2];
	struct tcb_error error;
	const uint64_t start = tcb_clock_ns();

	submit_calls(runner, bound, copies, calls);
	const enum tcb_gpu_fault fault = wait_for(session, why);
	*ns_out = (double)(tcb_clock_ns() - start);
	if (fault != TCB_GPU_FINE || !session->set)
		return fault;
	if (tcb_wgpu_read(&session->wgpu, session->resolved, 0, sizeof ticks, ticks, &error) != TCB_OK) {
		snprintf(why, TCB_GPU_WHY_MAX, "%.250s", error.message);
		return TCB_GPU_CRASHED;
	}
	*ns_out = (double)(ticks[1] - ticks[0]) * session->wgpu.tick_ns;
	return TCB_GPU_FINE;
}

static enum tcb_gpu_fault once(struct tcb_gpu_runner *runner, const struct tcb_gpu_buffer operand[TCB_OPERANDS_MAX],
			       double *ns_out, char why[TCB_GPU_WHY_MAX])
{
	const struct runner *own = runner->own;
	struct tcb_wgpu_bound bound;
	enum tcb_gpu_fault fault = TCB_GPU_REFUSED;

	*ns_out = 0;
	if (bind(runner, operand, &runner->workspace, 0, &bound, why) == 0)
		fault = time_calls(runner, &bound, 1, 1, ns_out, why);
	tcb_wgpu_code_unbind(&own->code, &bound);
	return fault;
}

static enum tcb_gpu_fault record(struct tcb_gpu_runner *runner,
				 const struct tcb_gpu_buffer (*operands)[TCB_OPERANDS_MAX], size_t copies,
				 char why[TCB_GPU_WHY_MAX])
{
	struct runner *own = runner->own;
	double ns;

	forget(own);
	own->bound = calloc(copies, sizeof *own->bound);
	if (!own->bound) {
		snprintf(why, TCB_GPU_WHY_MAX, "out of memory for %zu copies", copies);
		return TCB_GPU_REFUSED;
	}
	own->copies = copies;
	for (size_t i = 0; i < copies; i++) {
		const struct tcb_gpu_buffer *workspace =
			runner->workspaces ? &runner->workspaces[i] : &runner->workspace;

		if (bind(runner, operands[i], workspace, 0, &own->bound[i], why) != 0)
			return TCB_GPU_REFUSED;
	}
	return time_calls(runner, own->bound, copies, runner->calls, &ns, why);
}

static double sample(struct tcb_gpu_runner *runner, char why[TCB_GPU_WHY_MAX])
{
	const struct runner *own = runner->own;
	struct tcb_error error;
	double ns;

	if (runner->flush.bytes && fill(runner->session->own, runner->flush.base, runner->flush.first, TCB_POISON,
					runner->flush.bytes, &error) != TCB_OK) {
		snprintf(why, TCB_GPU_WHY_MAX, "%.250s", error.message);
		return -1;
	}
	return time_calls(runner, own->bound, own->copies, runner->calls, &ns, why) == TCB_GPU_FINE ? ns : -1;
}

const struct tcb_gpu_driver tcb_gpu_driver_wgpu = {
	.language = &tcb_language_wgsl,
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
