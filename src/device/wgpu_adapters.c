/* SPDX-License-Identifier: MIT
 *
 * Adapters of WebGPU.  In: wgpu-native.  Out: struct tcb_device each, and places.
 * What the interface does not tell, shaders find out: how many invocations a
 * subgroup has, and whether products of four bytes are known.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/kind.h"
#include "base/kinds/wgpu_kind.h"
#include "base/sizes.h"
#include "base/util.h"
#include "device/apart.h"
#include "device/device.h"
#include "device/doctor_private.h"
#include "device/facts.h"
#include "device/wgpu.h"

enum { BINDINGS_MOST = 64, NUMBER_MOST = UINT16_MAX };

/* ---- what an adapter is ---- */

static void take_limits(const struct tcb_wgpu_limits *limits, struct tcb_wgpu_target *out)
{
	out->workgroup_most = (unsigned)tcb_least(limits->workgroup_invocations, NUMBER_MOST);
	for (int i = 0; i < 3; i++)
		out->size_most[i] = (unsigned)tcb_least(limits->workgroup_size[i], NUMBER_MOST);
	out->grid_most = (unsigned)tcb_least(limits->workgroups, NUMBER_MOST);
	out->bindings_most = (unsigned)tcb_least(limits->storage_buffers, BINDINGS_MOST);
	out->workgroup_bytes = limits->workgroup_bytes;
	out->binding_bytes = tcb_least(limits->storage_bytes, limits->buffer_bytes);
}

static void identify(const struct tcb_wgpu_session *session, struct tcb_device *out)
{
	struct tcb_wgpu_adapter_info info = { .next = NULL };
	struct utsname os;

	(void)session->wgpu->adapter_info(session->adapter, &info);
	tcb_wgpu_identify(&(struct tcb_wgpu_identity){ .vendor_id = info.vendor_id,
						       .device_id = info.device_id,
						       .version = session->wgpu->get_version(),
						       .backend = info.backend,
						       .type = info.type,
						       .device = info.device.data,
						       .device_bytes = info.device.length,
						       .description = info.description.data,
						       .description_bytes = info.description.length },
			  out);
	if (uname(&os) == 0)
		snprintf(out->os, sizeof out->os, "%.60s %.60s", os.sysname, os.release);
	session->wgpu->adapter_info_free(info);
}

/* ---- what shaders find out ---- */

/* One workgroup of TEXT's entry "probe", whose only binding is a buffer of COUNT words, NUMBERS.  0: it does not run.
 */
static int probe(struct tcb_wgpu_session *session, const char *text, uint32_t *numbers, size_t count)
{
	const struct tcb_wgpu *wgpu = session->wgpu;
	const size_t bytes = count * sizeof *numbers;
	const WGPUBuffer buffer = tcb_wgpu_buffer(session, bytes);
	const WGPUShaderModule module = tcb_wgpu_module(session, text, 1);
	const WGPUComputePipeline pipeline =
		session->error_type ? NULL : tcb_wgpu_pipeline(session, module, "probe", NULL, 0);
	char why[TCB_WGPU_WHY_MAX];
	int is_fine = pipeline && !session->error_type;

	if (is_fine) {
		const struct tcb_wgpu_binding binding = { .buffer = buffer, .bytes = bytes };
		const WGPUBindGroup group = tcb_wgpu_bind(session, pipeline, &binding, 1);
		const WGPUCommandEncoder encoder = wgpu->create_encoder(session->device, NULL);
		const WGPUComputePassEncoder pass = wgpu->begin_pass(encoder, NULL);

		wgpu->set_pipeline(pass, pipeline);
		wgpu->set_bind_group(pass, 0, group, 0, NULL);
		wgpu->dispatch(pass, 1, 1, 1);
		wgpu->end_pass(pass);
		wgpu->pass_release(pass);
		tcb_wgpu_submit(session, encoder);
		wgpu->bind_group_release(group);
		is_fine = tcb_wgpu_read(session, buffer, 0, bytes, numbers, NULL) == TCB_OK;
	}
	(void)tcb_wgpu_failed(session, why);
	if (pipeline)
		wgpu->pipeline_release(pipeline);
	if (module)
		wgpu->module_release(module);
	tcb_wgpu_buffer_free(session, buffer);
	return is_fine;
}

/* The sizes that workgroups of several sizes have seen, as a driver may choose by that. */
static void probe_subgroups(struct tcb_wgpu_session *session, struct tcb_wgpu_target *out)
{
	static const unsigned sizes[] = { 32, 64, 128, 256 };

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		uint32_t size = 0;
		char text[400];

		snprintf(text, sizeof text,
			 "@group(0) @binding(0) var<storage, read_write> seen: array<u32>;\n"
			 "@compute @workgroup_size(%u)\n"
			 "fn probe(@builtin(subgroup_size) size: u32, @builtin(local_invocation_index) local: u32) {\n"
			 "  if (local == 0u) { seen[0] = subgroupMax(size); }\n"
			 "}\n",
			 sizes[i]);
		if (!probe(session, text, &size, 1) || size == 0 || size > NUMBER_MOST) {
			out->features &= ~(1u << TCB_WGPU_SUBGROUPS);
			out->subgroup_least = out->subgroup_most = 0;
			return;
		}
		if (i == 0 || size < out->subgroup_least)
			out->subgroup_least = size;
		if (size > out->subgroup_most)
			out->subgroup_most = size;
	}
}

/* -1 * 2 + 3 * 4 + 5 * 6 + 7 * 8 */
static int has_dot(struct tcb_wgpu_session *session)
{
	static const char text[] = "@group(0) @binding(0) var<storage, read_write> seen: array<i32>;\n"
				   "@compute @workgroup_size(1)\n"
				   "fn probe() {\n"
				   "  seen[2] = dot4I8Packed(u32(seen[0]), u32(seen[1]));\n"
				   "  seen[3] = dot4I8Packed(0x070503ffu, 0x08060402u);\n"
				   "}\n";
	uint32_t seen[4] = { 0 };

	return probe(session, text, seen, 4) && seen[2] == 0 && seen[3] == 96;
}

static void take_features(struct tcb_wgpu_session *session, struct tcb_wgpu_target *out)
{
	out->features = session->features;
	if (out->features >> TCB_WGPU_SUBGROUPS & 1u)
		probe_subgroups(session, out);
	if (has_dot(session))
		out->features |= 1u << TCB_WGPU_DP4A;
}

/* ---- the list ---- */

static enum tcb_status describe(struct tcb_wgpu_session *session, struct tcb_device *out)
{
	*out = (struct tcb_device){ .has_ecc = -1 };
	out->target.wgpu.is_checked = 1;
	take_limits(&session->limits, &out->target.wgpu);
	take_features(session, &out->target.wgpu);
	identify(session, out);
	tcb_wgpu_complete(out);
	return TCB_OK;
}

static enum tcb_status ask_library(void *items, size_t capacity, size_t *count_out, struct tcb_error *err)
{
	struct tcb_device *devices = items;

	for (*count_out = 0; *count_out < capacity; ++*count_out) {
		struct tcb_wgpu_session session;
		enum tcb_status status = tcb_wgpu_session_open((unsigned)*count_out, &session, err);

		if (status == TCB_OK)
			status = describe(&session, &devices[*count_out]);
		tcb_wgpu_session_close(&session);
		if (status == TCB_E_NOT_FOUND && *count_out > 0) /* that was the last */
			break;
		TCB_TRY(status);
	}
	return TCB_OK;
}

enum tcb_status tcb_wgpu_list(struct tcb_device out[TCB_WGPU_ADAPTERS_MAX], size_t *count_out, struct tcb_error *err)
{
	return tcb_ask_apart(ask_library, out, sizeof *out, TCB_WGPU_ADAPTERS_MAX, count_out,
			     "the process that asked wgpu-native for its adapters died", err);
}

/* ---- as places ---- */

static void place(const struct tcb_device *device, size_t ordinal, struct tcb_place *out)
{
	*out = (struct tcb_place){ .device = *device, .source = "driver" };
	snprintf(out->address, sizeof out->address, "wgpu:%zu%s", ordinal,
		 device->target.wgpu.is_checked ? "" : TCB_WGPU_TRUSTED);
}

/* The first that NAME is the group of, or the group and the key; -1: none.  All are trusted, or none. */
static int find_stored(const char *name, const struct tcb_device *devices, size_t count)
{
	const char *key = NULL;
	char group[TCB_DEVICE_NAME_MAX];

	if (!tcb_kind_split(name, group, &key))
		return -1;
	for (size_t i = 0; i < count; i++)
		if (strcmp(devices[i].name, group) == 0 && (!key || strcmp(devices[i].key, key) == 0))
			return (int)i;
	return -1;
}

static enum tcb_status open_attached(const char *name, struct tcb_device *devices, struct tcb_place *out,
				     struct tcb_error *err)
{
	int ordinal = tcb_wgpu_ordinal(name);
	size_t count;

	TCB_TRY(tcb_wgpu_list(devices, &count, err));
	for (size_t i = 0; i < count && tcb_wgpu_is_trusted(name); i++)
		tcb_wgpu_trust(&devices[i]);
	if (ordinal < 0)
		ordinal = find_stored(name, devices, count);
	if (ordinal < 0 || (size_t)ordinal >= count)
		return tcb_fail(err, TCB_E_NOT_FOUND, "%s is not there: WebGPU has %zu adapter%s here", name, count,
				count == 1 ? "" : "s");
	place(&devices[ordinal], (size_t)ordinal, out);
	return TCB_OK;
}

static enum tcb_status open_place(const char *name, unsigned threads, int attached_only, struct tcb_place *out,
				  struct tcb_error *err)
{
	struct tcb_device *devices;
	enum tcb_status status;

	(void)threads;       /* of the host, which it has none of */
	(void)attached_only; /* what every device has is always there */
	if (strcmp(name, TCB_WGPU_PORTABLE_NAME) == 0 || strncmp(name, "wgpu-portable", 13) == 0) {
		tcb_wgpu_portable(&out->device);
		out->is_absent = 1;
		snprintf(out->address, sizeof out->address, "%s", name);
		return TCB_OK;
	}
	devices = calloc(TCB_WGPU_ADAPTERS_MAX, sizeof *devices);
	if (!devices)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the list of adapters");
	status = open_attached(name, devices, out, err);
	free(devices);
	return status;
}

static enum tcb_status list(struct tcb_place **out, size_t *count_out, struct tcb_error *err)
{
	struct tcb_device *devices = calloc(TCB_WGPU_ADAPTERS_MAX, sizeof *devices);
	enum tcb_status status = TCB_OK;

	*count_out = 0;
	*out = calloc(TCB_WGPU_ADAPTERS_MAX, sizeof **out);
	if (devices && *out)
		status = tcb_wgpu_list(devices, count_out, err);
	else
		status = tcb_fail(err, TCB_E_NOMEM, "out of memory for the list of adapters");
	for (size_t i = 0; status == TCB_OK && i < *count_out; i++)
		place(&devices[i], i, &(*out)[i]);
	free(devices);
	return status;
}

static void tell(const struct tcb_place *place, struct tcb_facts *out)
{
	static const char *const features[] = { [TCB_WGPU_TIMESTAMPS] = "timestamps",
						[TCB_WGPU_F16] = "f16",
						[TCB_WGPU_SUBGROUPS] = "subgroups",
						[TCB_WGPU_DP4A] = "dp4a" };
	const struct tcb_target *target = &place->device.target;
	const struct tcb_wgpu_target *wgpu = &target->wgpu;
	const struct tcb_kind_limit *limit = tcb_kind_of(target)->limits;
	char text[TCB_SIZE_TEXT_MAX], all[64] = "";

	tcb_size_text(wgpu->workgroup_bytes, text);
	tcb_fact_line(out, "workgroups", "of %u invocations, %s of memory, up to %u along a grid", wgpu->workgroup_most,
		      text, wgpu->grid_most);
	if (wgpu->subgroup_most)
		tcb_fact_line(out, "subgroups", "of %u to %u", wgpu->subgroup_least, wgpu->subgroup_most);
	tcb_size_text(wgpu->binding_bytes, text);
	tcb_fact_line(out, "buffers", "%u bound to a launch, %s each", wgpu->bindings_most, text);
	for (size_t i = 0; i < sizeof features / sizeof *features; i++)
		if (wgpu->features >> i & 1u)
			snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", all[0] ? ", " : "", features[i]);
	tcb_fact_line(out, "features", "%s", all[0] ? all : "none");
	if (wgpu->is_checked)
		tcb_fact_line(out, "checks",
			      "accesses and loops are kept within bounds, as in pages; %s" TCB_WGPU_TRUSTED
			      " is without",
			      place->address);
	else
		tcb_fact_line(out, "checks", "none: programs that trust their kernels; pages cannot");
	for (; limit->name; limit++)
		tcb_fact_member(out, limit->name, "%zu", tcb_kind_limit_of(target, limit));
}

const struct tcb_device_kind tcb_device_wgpu = {
	.open = open_place,
	.list = list,
	.tell = tell,
	.checks = tcb_doctor_wgpu,
};
