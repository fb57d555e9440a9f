/* SPDX-License-Identifier: MIT
 *
 * Devices of WebGPU, whoever made them: "wgpu:0" is an adapter of this machine,
 * "wgpu:portable" what kernels that run anywhere may count on.  Results are of
 * devices, "wgpu-nvidia:KEY", and what is known of a group, "wgpu-nvidia", serves
 * its devices; a device in software is a group of its own, so that its times
 * are never another's.  So is a device of a program that trusts its kernels, which pages never do:
 * "wgpu:0:trusted", of "wgpu-nvidia-trusted".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/kind.h"
#include "base/kinds/wgpu_kind.h"
#include "base/sizes.h"

enum { KIB = 1024, MIB = 1024 * KIB };

static const char prefix[] = "wgpu-", trusted[] = "-trusted";
static const char *const vendors[TCB_WGPU_VENDOR_COUNT] = {
	[TCB_WGPU_PORTABLE] = "portable", [TCB_WGPU_SOFTWARE] = "software", [TCB_WGPU_OTHER] = "other",
	[TCB_WGPU_NVIDIA] = "nvidia",     [TCB_WGPU_AMD] = "amd",           [TCB_WGPU_INTEL] = "intel",
	[TCB_WGPU_APPLE] = "apple",       [TCB_WGPU_QUALCOMM] = "qualcomm", [TCB_WGPU_ARM] = "arm",
};

int tcb_wgpu_ordinal(const char *name)
{
	char *end;
	unsigned long value;

	if (strncmp(name, "wgpu:", 5) != 0 || name[5] < '0' || name[5] > '9')
		return -1;
	value = strtoul(name + 5, &end, 10);
	return (*end && strcmp(end, TCB_WGPU_TRUSTED) != 0) || value > 1000 ? -1 : (int)value;
}

int tcb_wgpu_is_trusted(const char *name)
{
	const char *end = strrchr(name, ':');

	if (strncmp(name, prefix, sizeof prefix - 1) == 0)
		return strstr(name, trusted) != NULL;
	return end && strcmp(end, TCB_WGPU_TRUSTED) == 0;
}

/* "wgpu-nvidia", "wgpu-nvidia-trusted", and with ":KEY" behind them; KEY_OUT and VENDOR_OUT are nullable. */
static int is_group(const char *name, enum tcb_wgpu_vendor *vendor_out, const char **key_out)
{
	const char *of = name + sizeof prefix - 1, *colon;
	size_t length;

	if (strncmp(name, prefix, sizeof prefix - 1) != 0)
		return 0;
	colon = strchr(of, ':');
	length = colon ? (size_t)(colon - of) : strlen(of);
	if (colon && (strspn(colon + 1, "0123456789abcdef") != TCB_DEVICE_KEY_MAX - 1 || colon[TCB_DEVICE_KEY_MAX]))
		return 0;
	for (int vendor = 0; vendor < TCB_WGPU_VENDOR_COUNT; vendor++) {
		const size_t own = strlen(vendors[vendor]);
		const int is_trusted = vendor != TCB_WGPU_PORTABLE && length == own + sizeof trusted - 1 &&
				       strncmp(of + own, trusted, sizeof trusted - 1) == 0;

		if ((length != own && !is_trusted) || strncmp(vendors[vendor], of, own) != 0)
			continue;
		if (vendor_out)
			*vendor_out = (enum tcb_wgpu_vendor)vendor;
		if (key_out)
			*key_out = colon ? colon + 1 : NULL;
		return 1;
	}
	return 0;
}

static int is_asked(const char *name)
{
	return tcb_wgpu_ordinal(name) >= 0 || strcmp(name, TCB_WGPU_PORTABLE_NAME) == 0 || is_group(name, NULL, NULL);
}

static void add_forms(struct tcb_str *out)
{
	tcb_str_add(out, "wgpu:0, wgpu:0" TCB_WGPU_TRUSTED ", wgpu:1, ... and " TCB_WGPU_PORTABLE_NAME);
}

static void add_names(struct tcb_str *out)
{
	tcb_str_add(out, " wgpu:0 wgpu:0" TCB_WGPU_TRUSTED " " TCB_WGPU_PORTABLE_NAME);
}

#define ANY_MAKERS "GPUs of any maker are wgpu:0, wgpu:1, ..., through WebGPU"
static const struct tcb_alias words[] = {
	{ "wgpu", "wgpu:0", NULL },
	{ "webgpu", "wgpu:0", NULL },
	{ "vulkan", NULL, ANY_MAKERS },
	{ "amd", NULL, ANY_MAKERS "; an AMD processor is cpu" },
	{ "intel", NULL, ANY_MAKERS "; an Intel processor is cpu" },
	{ "rocm", NULL, ANY_MAKERS },
	{ "hip", NULL, ANY_MAKERS },
	{ "metal", NULL, ANY_MAKERS },
	{ "mps", NULL, ANY_MAKERS },
	{ "sycl", NULL, ANY_MAKERS },
	{ NULL, NULL, NULL },
};

static int is_stored(const char *name, const char **key_out)
{
	return is_group(name, NULL, key_out);
}

static void complete(struct tcb_target *target)
{
	target->kind = TCB_TARGET_WGPU;
	target->isa_mask = 1u << TCB_ISA_WGSL;
	if (target->wgpu.features >> TCB_WGPU_DP4A & 1u)
		target->isa_mask |= 1u << TCB_ISA_WGSL_DP4A;
}

/* What every device has that calls itself one (WebGPU, "Limits"). */
static const struct tcb_wgpu_target guaranteed = {
	.workgroup_most = 256,
	.size_most = { 256, 256, 64 },
	.grid_most = 65535,
	.bindings_most = 8,
	.is_checked = 1,
	.workgroup_bytes = 16 * KIB,
	.binding_bytes = 128 * MIB,
};

void tcb_wgpu_guarantee(struct tcb_wgpu_target *target)
{
	unsigned *const numbers[] = { &target->workgroup_most, &target->size_most[0], &target->size_most[1],
				      &target->size_most[2],   &target->grid_most,    &target->bindings_most };
	const unsigned least[] = { guaranteed.workgroup_most, guaranteed.size_most[0], guaranteed.size_most[1],
				   guaranteed.size_most[2],   guaranteed.grid_most,    guaranteed.bindings_most };

	for (size_t i = 0; i < sizeof least / sizeof *least; i++)
		if (!*numbers[i])
			*numbers[i] = least[i];
	if (!target->workgroup_bytes)
		target->workgroup_bytes = guaranteed.workgroup_bytes;
	if (!target->binding_bytes)
		target->binding_bytes = guaranteed.binding_bytes;
}

/* What subgroups have with devices of a group, as their makers' documents say; of others, and in software, any. */
static const unsigned short subgroups[TCB_WGPU_VENDOR_COUNT][2] = {
	[TCB_WGPU_SOFTWARE] = { 4, 4 }, [TCB_WGPU_OTHER] = { 4, 4 },       [TCB_WGPU_NVIDIA] = { 32, 32 },
	[TCB_WGPU_AMD] = { 32, 64 },    [TCB_WGPU_INTEL] = { 8, 32 },      [TCB_WGPU_APPLE] = { 32, 32 },
	[TCB_WGPU_ARM] = { 4, 16 },     [TCB_WGPU_QUALCOMM] = { 64, 128 },
};

/* More than that, what ran there ran: nobody knows a smaller limit. */
static void describe(const char *name, struct tcb_target *out)
{
	enum tcb_wgpu_vendor vendor = TCB_WGPU_OTHER;

	(void)is_group(name, &vendor, NULL);
	*out = (struct tcb_target){ .wgpu = guaranteed };
	out->wgpu.vendor = vendor;
	out->wgpu.is_checked = !tcb_wgpu_is_trusted(name);
	if (vendor != TCB_WGPU_PORTABLE) {
		out->wgpu.features = 1u << TCB_WGPU_F16 | 1u << TCB_WGPU_SUBGROUPS | 1u << TCB_WGPU_DP4A;
		out->wgpu.workgroup_most = out->wgpu.size_most[0] = out->wgpu.size_most[1] = 1024;
		out->wgpu.bindings_most = 16;
		out->wgpu.subgroup_least = subgroups[vendor][0];
		out->wgpu.subgroup_most = subgroups[vendor][1];
		out->wgpu.workgroup_bytes = 64 * KIB;
		out->wgpu.binding_bytes = (size_t)4096 * MIB;
	}
	complete(out);
}

void tcb_wgpu_complete(struct tcb_device *device)
{
	complete(&device->target);
	tcb_kind_wgpu.name_arch(&device->target, device->name, sizeof device->name);
	tcb_kind_wgpu.name_arch(&device->target, device->arch, sizeof device->arch);
}

/* --- identity --- */

static enum tcb_wgpu_vendor vendor_of(const struct tcb_wgpu_identity *identity)
{
	static const struct {
		uint32_t id; /* of PCI, or of Vulkan's list */
		enum tcb_wgpu_vendor vendor;
	} rows[] = { { 0x10de, TCB_WGPU_NVIDIA }, { 0x1002, TCB_WGPU_AMD },      { 0x8086, TCB_WGPU_INTEL },
		     { 0x106b, TCB_WGPU_APPLE },  { 0x5143, TCB_WGPU_QUALCOMM }, { 0x13b5, TCB_WGPU_ARM } };

	if (identity->type == TCB_WGPU_ADAPTER_CPU)
		return TCB_WGPU_SOFTWARE;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].id == identity->vendor_id)
			return rows[i].vendor;
	return TCB_WGPU_OTHER;
}

static const char *backend_text(int backend)
{
	static const char *const names[] = { "", "null", "WebGPU", "D3D11", "D3D12", "Metal", "Vulkan", "GL", "GLES" };

	return backend >= 0 && backend < (int)(sizeof names / sizeof *names) ? names[backend] : "unknown";
}

static int shown(size_t bytes)
{
	return (int)tcb_least(bytes, TCB_DEVICE_TEXT_MAX);
}

void tcb_wgpu_identify(const struct tcb_wgpu_identity *identity, struct tcb_device *device)
{
	const uint32_t version = identity->version;
	char text[512], implementation[40] = "another implementation";

	device->target.wgpu.vendor = vendor_of(identity);
	if (version)
		snprintf(implementation, sizeof implementation, "wgpu-native %u.%u.%u.%u", version >> 24,
			 version >> 16 & 0xff, version >> 8 & 0xff, version & 0xff);
	snprintf(device->model, sizeof device->model, "%.*s", shown(identity->device_bytes),
		 identity->device ? identity->device : "");
	snprintf(device->driver, sizeof device->driver, "%s, %.*s, %s", backend_text(identity->backend),
		 shown(identity->description_bytes), identity->description ? identity->description : "",
		 implementation);
	snprintf(text, sizeof text, "wgpu|%x|%x|%s|%s|%u", identity->vendor_id, identity->device_id, device->model,
		 device->driver, device->target.wgpu.is_checked);
	tcb_hash_hex(text, strlen(text), device->key);
}

void tcb_wgpu_trust(struct tcb_device *device)
{
	char identity[TCB_DEVICE_KEY_MAX + sizeof trusted];

	snprintf(identity, sizeof identity, "%s%s", device->key, trusted);
	tcb_hash_hex(identity, strlen(identity), device->key);
	device->target.wgpu.is_checked = 0;
	tcb_wgpu_complete(device);
}

void tcb_wgpu_portable(struct tcb_device *out)
{
	*out = (struct tcb_device){ .has_ecc = -1 };
	describe("wgpu-portable", &out->target);
	tcb_wgpu_complete(out);
	snprintf(out->model, sizeof out->model, "what every WebGPU device has");
	tcb_hash_hex(out->name, strlen(out->name), out->key);
}

/* The groups: what is known of one serves its devices. */
static size_t known(struct tcb_device *out, size_t capacity, struct tcb_error *err)
{
	size_t count = 0;

	(void)err;
	for (; count < capacity && count < 2 * TCB_WGPU_VENDOR_COUNT - 1; count++) {
		const int is_trusted = count >= TCB_WGPU_VENDOR_COUNT; /* of all but what is portable, the first */
		char name[TCB_DEVICE_NAME_MAX];

		snprintf(name, sizeof name, "%s%s%s", prefix,
			 vendors[is_trusted ? count - TCB_WGPU_VENDOR_COUNT + 1 : count], is_trusted ? trusted : "");
		out[count] = (struct tcb_device){ .has_ecc = -1 };
		describe(name, &out[count].target);
		tcb_wgpu_complete(&out[count]);
	}
	return count;
}

static int recall(struct tcb_device *device)
{
	if (!is_group(device->arch, NULL, NULL))
		return 0;
	describe(device->arch, &device->target);
	return 1;
}

static void name_arch(const struct tcb_target *target, char *out, size_t capacity)
{
	snprintf(out, capacity, "%s%s%s", prefix,
		 vendors[target->wgpu.vendor < TCB_WGPU_VENDOR_COUNT ? target->wgpu.vendor : TCB_WGPU_OTHER],
		 target->wgpu.is_checked ? "" : trusted);
}

static void block_limits(const struct tcb_target *target, struct tcb_block_limits *out)
{
	const struct tcb_wgpu_target *wgpu = &target->wgpu;

	*out = (struct tcb_block_limits){
		.shared_bytes = wgpu->workgroup_bytes,
		/* Workgroups are along x. */
		.threads = wgpu->workgroup_most < wgpu->size_most[0] ? wgpu->workgroup_most : wgpu->size_most[0],
		.threads_step = 1,
		.grid = { wgpu->grid_most, wgpu->grid_most, wgpu->grid_most },
	};
}

static const struct tcb_kind_limit limits[] = {
	{ "vendor", offsetof(struct tcb_target, wgpu.vendor), 0 },
	{ "features", offsetof(struct tcb_target, wgpu.features), 0 },
	{ "workgroup_most", offsetof(struct tcb_target, wgpu.workgroup_most), 0 },
	{ "size_x_most", offsetof(struct tcb_target, wgpu.size_most[0]), 0 },
	{ "size_y_most", offsetof(struct tcb_target, wgpu.size_most[1]), 0 },
	{ "size_z_most", offsetof(struct tcb_target, wgpu.size_most[2]), 0 },
	{ "grid_most", offsetof(struct tcb_target, wgpu.grid_most), 0 },
	{ "bindings_most", offsetof(struct tcb_target, wgpu.bindings_most), 0 },
	{ "subgroup_least", offsetof(struct tcb_target, wgpu.subgroup_least), 0 },
	{ "subgroup_most", offsetof(struct tcb_target, wgpu.subgroup_most), 0 },
	{ "is_checked", offsetof(struct tcb_target, wgpu.is_checked), 0 },
	{ "workgroup_bytes", offsetof(struct tcb_target, wgpu.workgroup_bytes), 1 },
	{ "binding_bytes", offsetof(struct tcb_target, wgpu.binding_bytes), 1 },
	{ NULL, 0, 0 },
};

const struct tcb_kind tcb_kind_wgpu = {
	.name = "wgpu",
	.side = TCB_TARGET_WGPU,
	.is_emitted = 1,
	.has_own_limits = 1,
	.has_free_calls = 1,
	.unit = TCB_MIDI,
	.knobs = TCB_SCOPE_GPU,
	.advice = { .launch = "fewer and larger dispatches: what depends on the one before waits for all of it",
		    .compute = "cheaper operations: a contract of smaller types (q8, f16)",
		    .issue = "fewer instructions per value: wider vectors, larger tiles per invocation, subgroups",
		    .latency = "more bytes in flight: wider vectors, a larger unroll, more workgroups",
		    .cache = "the last cache" },
	.limits = limits,
	.complete = complete,
	.block_limits = block_limits,
	.is_asked = is_asked,
	.words = words,
	.add_names = add_names,
	.add_forms = add_forms,
	.is_stored = is_stored,
	.known = known,
	.describe = describe,
	.recall = recall,
	.name_arch = name_arch,
};
