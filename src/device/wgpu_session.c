/* SPDX-License-Identifier: MIT
 *
 * A device of WebGPU and what is done with one: buffers, shaders, errors.  The
 * library tells errors through a callback from within the call that made them;
 * the first is kept until somebody looks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sizes.h"
#include "device/wgpu.h"

enum { STAGING_BYTES = 32 << 20 };

/* ---- errors ---- */

static void keep_error(const WGPUDevice *device, int type, struct tcb_wgpu_text message, void *first, void *second)
{
	struct tcb_wgpu_session *session = first;

	(void)device;
	(void)second;
	if (session->error_type)
		return;
	session->error_type = type;
	snprintf(session->error, sizeof session->error, "%.*s", (int)tcb_least(message.length, sizeof session->error),
		 message.data);
}

static void keep_loss(const WGPUDevice *device, int reason, struct tcb_wgpu_text message, void *first, void *second)
{
	struct tcb_wgpu_session *session = first;

	session->is_lost = 1;
	keep_error(device, reason, message, first, second);
}

/* One line of a message of many: white space goes, and what frames a picture of the source; and what of a shader's
 * comes before what is wrong with it. */
static void flatten(const char *text, char out[TCB_WGPU_WHY_MAX])
{
	static const char *const heads[] = { "parsing error:", "validation error:", "Validation Error" };
	size_t length = 0;

	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
		const char *at = strstr(text, heads[i]);

		if (!at)
			continue;
		text = at + strlen(heads[i]);
		break;
	}
	for (; *text && length < TCB_WGPU_WHY_MAX - 1; text++) {
		const unsigned char c = (unsigned char)*text;
		const int is_blank = c <= ' ' || c >= 0x80;

		if (is_blank && (length == 0 || out[length - 1] == ' '))
			continue;
		out[length++] = is_blank ? ' ' : (char)c;
	}
	out[length - (length && out[length - 1] == ' ')] = '\0';
}

int tcb_wgpu_failed(struct tcb_wgpu_session *session, char why[TCB_WGPU_WHY_MAX])
{
	why[0] = '\0';
	if (!session->error_type)
		return 0;
	flatten(session->error, why);
	session->error_type = 0;
	return 1;
}

enum tcb_status tcb_wgpu_check(struct tcb_wgpu_session *session, const char *what, struct tcb_error *err)
{
	char why[TCB_WGPU_WHY_MAX];

	return tcb_wgpu_failed(session, why) ? tcb_fail(err, TCB_E_FAILED, "%s: %s", what, why) : TCB_OK;
}

/* ---- open, close ---- */

static enum tcb_status find_adapter(unsigned ordinal, struct tcb_wgpu_session *session, struct tcb_error *err)
{
	const struct tcb_wgpu_enumerate all = { .backends = TCB_WGPU_BACKENDS_PRIMARY };
	const struct tcb_wgpu *wgpu = session->wgpu;
	const size_t count = wgpu->enumerate_adapters(session->instance, &all, NULL);
	WGPUAdapter *adapters = calloc(count + 1, sizeof *adapters);

	if (!adapters)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu adapters", count);
	wgpu->enumerate_adapters(session->instance, &all, adapters);
	for (size_t i = 0; i < count; i++) {
		if (i == ordinal)
			session->adapter = adapters[i];
		else
			wgpu->adapter_release(adapters[i]);
	}
	free(adapters);
	return session->adapter ? TCB_OK
				: tcb_fail(err, TCB_E_NOT_FOUND, "wgpu:%u is not there: WebGPU has %zu adapter%s here",
					   ordinal, count, count == 1 ? "" : "s");
}

static void take_device(int status, WGPUDevice device, struct tcb_wgpu_text message, void *first, void *second)
{
	struct tcb_wgpu_session *session = first;

	(void)second;
	session->device = device;
	if (status != TCB_WGPU_SUCCESS)
		keep_error(NULL, status, message, session, NULL);
}

static enum tcb_status make_device(struct tcb_wgpu_session *session, struct tcb_error *err)
{
	static const struct {
		int number;
		enum tcb_wgpu_feature feature;
	} all[] = { { TCB_WGPU_FEATURE_TIMESTAMPS, TCB_WGPU_TIMESTAMPS },
		    { TCB_WGPU_FEATURE_F16, TCB_WGPU_F16 },
		    { TCB_WGPU_FEATURE_SUBGROUPS, TCB_WGPU_SUBGROUPS } };
	const struct tcb_wgpu *wgpu = session->wgpu;
	int features[sizeof all / sizeof *all];
	struct tcb_wgpu_device with = {
		.features = features,
		.limits = &session->limits,
		.lost = { .mode = TCB_WGPU_ALLOW_SPONTANEOUS, .call = (void (*)(void))keep_loss, .first = session },
		.error = { .call = keep_error, .first = session },
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		/* A bool: the rest of the register is anything. */
		if (!(wgpu->adapter_has(session->adapter, all[i].number) & 0xff))
			continue;
		features[with.feature_count++] = all[i].number;
		session->features |= 1u << all[i].feature;
	}
	if (wgpu->adapter_limits(session->adapter, &session->limits) != TCB_WGPU_SUCCESS)
		return tcb_fail(err, TCB_E_FAILED, "an adapter of WebGPU does not tell its limits");
	session->limits.next = NULL;
	(void)wgpu->request_device(session->adapter, &with,
				   (struct tcb_wgpu_callback){ .mode = TCB_WGPU_ALLOW_SPONTANEOUS,
							       .call = (void (*)(void))take_device,
							       .first = session });
	TCB_TRY(tcb_wgpu_check(session, "making a device of WebGPU", err));
	if (!session->device)
		return tcb_fail(err, TCB_E_FAILED, "making a device of WebGPU: no answer");
	session->queue = wgpu->device_queue(session->device);
	session->tick_ns =
		session->features >> TCB_WGPU_TIMESTAMPS & 1u ? (double)wgpu->timestamp_period(session->queue) : 0;
	return TCB_OK;
}

enum tcb_status tcb_wgpu_session_open(unsigned ordinal, struct tcb_wgpu_session *out, struct tcb_error *err)
{
	/* Mesa's drivers look for a display there and complain aloud where the variable is not set. */
	(void)setenv("XDG_RUNTIME_DIR", "/run", 0);
	const struct tcb_wgpu_instance_extras extras = { .chain = { NULL, TCB_WGPU_CHAIN_INSTANCE },
							 .backends = TCB_WGPU_BACKENDS_PRIMARY };
	const struct tcb_wgpu_instance with = { .next = &extras.chain };

	memset(out, 0, sizeof *out);
	out->wgpu = tcb_wgpu_open(err);
	if (!out->wgpu)
		return TCB_E_UNSUPPORTED;
	out->instance = out->wgpu->create_instance(&with);
	if (!out->instance)
		return tcb_fail(err, TCB_E_FAILED, "wgpu-native makes no instance");
	TCB_TRY(find_adapter(ordinal, out, err));
	return make_device(out, err);
}

void tcb_wgpu_session_close(struct tcb_wgpu_session *session)
{
	const struct tcb_wgpu *wgpu = session->wgpu;

	if (!wgpu)
		return;
	tcb_wgpu_buffer_free(session, session->staging);
	if (session->queue)
		wgpu->queue_release(session->queue);
	if (session->device)
		wgpu->device_release(session->device);
	if (session->adapter)
		wgpu->adapter_release(session->adapter);
	if (session->instance)
		wgpu->instance_release(session->instance);
	memset(session, 0, sizeof *session);
}

void tcb_wgpu_wait(struct tcb_wgpu_session *session)
{
	(void)session->wgpu->device_poll(session->device, 1, NULL);
}

/* ---- buffers ---- */

static WGPUBuffer make_buffer(struct tcb_wgpu_session *session, size_t bytes, uint64_t usage)
{
	return session->wgpu->create_buffer(
		session->device, &(struct tcb_wgpu_buffer){ .usage = usage, .bytes = tcb_round_up(bytes, 4) });
}

WGPUBuffer tcb_wgpu_buffer(struct tcb_wgpu_session *session, size_t bytes)
{
	return make_buffer(session, bytes, TCB_WGPU_USE_STORAGE | TCB_WGPU_USE_COPY_FROM | TCB_WGPU_USE_COPY_TO);
}

void tcb_wgpu_buffer_free(const struct tcb_wgpu_session *session, WGPUBuffer buffer)
{
	if (!buffer)
		return;
	session->wgpu->buffer_destroy(buffer);
	session->wgpu->buffer_release(buffer);
}

void tcb_wgpu_submit(struct tcb_wgpu_session *session, WGPUCommandEncoder encoder)
{
	const WGPUCommandBuffer command = session->wgpu->finish(encoder, NULL);

	session->wgpu->encoder_release(encoder);
	if (!command)
		return;
	if (!session->error_type) /* the library ends the process for what is invalid here */
		session->wgpu->submit(session->queue, 1, &command);
	session->wgpu->command_release(command);
}

static void take_map(int status, struct tcb_wgpu_text message, void *first, void *second)
{
	int *out = second;

	*out = status;
	if (status != TCB_WGPU_SUCCESS)
		keep_error(NULL, status, message, first, NULL);
}

/* Not every loss is told: a device that makes no buffer of a few bytes is gone, too. */
int tcb_wgpu_is_lost(struct tcb_wgpu_session *session)
{
	char why[TCB_WGPU_WHY_MAX];

	if (session->is_lost)
		return 1;
	tcb_wgpu_buffer_free(session, tcb_wgpu_buffer(session, 4));
	session->is_lost |= tcb_wgpu_failed(session, why);
	return session->is_lost;
}

/* AT and BYTES are multiples of 4, BYTES no more than the staging buffer has. */
static enum tcb_status read_piece(struct tcb_wgpu_session *session, WGPUBuffer buffer, size_t at, size_t bytes,
				  size_t skip, size_t count, void *to, struct tcb_error *err)
{
	const struct tcb_wgpu *wgpu = session->wgpu;
	const WGPUCommandEncoder encoder = wgpu->create_encoder(session->device, NULL);
	int status = 0;

	wgpu->copy_buffer(encoder, buffer, at, session->staging, 0, bytes);
	tcb_wgpu_submit(session, encoder);
	TCB_TRY(tcb_wgpu_check(session, "copying from the GPU", err));
	(void)wgpu->buffer_map(session->staging, TCB_WGPU_MAP_READ, 0, bytes,
			       (struct tcb_wgpu_callback){ .mode = TCB_WGPU_ALLOW_SPONTANEOUS,
							   .call = (void (*)(void))take_map,
							   .first = session,
							   .second = &status });
	tcb_wgpu_wait(session);
	TCB_TRY(tcb_wgpu_check(session, "reading from the GPU", err));
	const char *mapped = status == TCB_WGPU_SUCCESS ? wgpu->buffer_mapped(session->staging, 0, bytes) : NULL;
	if (!mapped)
		return tcb_fail(err, TCB_E_FAILED, "reading from the GPU: its memory cannot be mapped");
	memcpy(to, mapped + skip, count);
	wgpu->buffer_unmap(session->staging);
	return TCB_OK;
}

enum tcb_status tcb_wgpu_read(struct tcb_wgpu_session *session, WGPUBuffer buffer, size_t at, size_t bytes, void *to,
			      struct tcb_error *err)
{
	if (!session->staging)
		session->staging = make_buffer(session, STAGING_BYTES, TCB_WGPU_USE_MAP_READ | TCB_WGPU_USE_COPY_TO);
	TCB_TRY(tcb_wgpu_check(session, "making a buffer to read through", err));
	for (char *out = to; bytes > 0;) {
		const size_t skip = at % 4, count = tcb_least(bytes, STAGING_BYTES - 4);

		TCB_TRY(read_piece(session, buffer, at - skip, tcb_round_up(skip + count, 4), skip, count, out, err));
		at += count;
		bytes -= count;
		out += count;
	}
	return TCB_OK;
}

enum tcb_status tcb_wgpu_write(struct tcb_wgpu_session *session, WGPUBuffer buffer, size_t at, const void *from,
			       size_t bytes, struct tcb_error *err)
{
	/* Each piece takes as much memory until it is submitted. */
	for (const char *in = from; bytes > 0;) {
		const size_t count = tcb_least(bytes, STAGING_BYTES);

		session->wgpu->write_buffer(session->queue, buffer, at, in, count);
		session->wgpu->submit(session->queue, 0, NULL);
		at += count;
		bytes -= count;
		in += count;
	}
	return tcb_wgpu_check(session, "copying to the GPU", err);
}

/* ---- shaders ---- */

WGPUShaderModule tcb_wgpu_module(struct tcb_wgpu_session *session, const char *text, int is_checked)
{
	static const char directive[] = "enable subgroups;";
	struct tcb_wgpu_source source = { .chain = { NULL, TCB_WGPU_CHAIN_WGSL }, .code = tcb_wgpu_text(text) };
	const struct tcb_wgpu_named with = { .next = &source.chain };
	const char *at = strstr(text, directive);
	char *copy = at ? strdup(text) : NULL;
	WGPUShaderModule module;

	if (copy) {
		memset(copy + (at - text), ' ', sizeof directive - 1);
		source.code.data = copy;
	}
	module = is_checked ? session->wgpu->create_module(session->device, &with)
			    : session->wgpu->create_module_trusted(session->device, &with, 0);
	free(copy);
	return module;
}

WGPUComputePipeline tcb_wgpu_pipeline(struct tcb_wgpu_session *session, WGPUShaderModule module, const char *entry,
				      const struct tcb_wgpu_constant *constants, size_t constant_count)
{
	return session->wgpu->create_pipeline(
		session->device, &(struct tcb_wgpu_pipeline){ .compute = { .module = module,
									   .entry = tcb_wgpu_text(entry),
									   .constant_count = constant_count,
									   .constants = constants } });
}

WGPUBindGroup tcb_wgpu_bind(struct tcb_wgpu_session *session, WGPUComputePipeline pipeline,
			    const struct tcb_wgpu_binding *entries, size_t count)
{
	const struct tcb_wgpu *wgpu = session->wgpu;
	const WGPUBindGroupLayout layout = wgpu->pipeline_layout(pipeline, 0);
	const WGPUBindGroup group = wgpu->create_bind_group(
		session->device, &(struct tcb_wgpu_bind_group){ .layout = layout, .count = count, .entries = entries });

	wgpu->layout_release(layout);
	return group;
}
