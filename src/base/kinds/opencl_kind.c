/* SPDX-License-Identifier: MIT
 *
 * Devices of OpenCL, whoever made them: "opencl:0" is the first of this machine's
 * platforms.  Results are of devices, "opencl-nvidia:KEY"; processors, which share
 * a host's memory, are a group whoever made them.
 */
#include "base/kinds/opencl_kind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/kind.h"
#include "base/sizes.h"

enum { KIB = 1024, MIB = 1024 * KIB, ORDINAL_MOST = 1000 };

static const char prefix[] = "opencl-", address[] = "opencl:";
static const char *const vendors[TCB_OPENCL_VENDOR_COUNT] = {
	[TCB_OPENCL_CPU] = "cpu",           [TCB_OPENCL_OTHER] = "other", [TCB_OPENCL_NVIDIA] = "nvidia",
	[TCB_OPENCL_AMD] = "amd",           [TCB_OPENCL_INTEL] = "intel", [TCB_OPENCL_ARM] = "arm",
	[TCB_OPENCL_QUALCOMM] = "qualcomm",
};

int tcb_opencl_ordinal(const char *name)
{
	const size_t length = sizeof address - 1;
	char *end;
	unsigned long value;

	if (strncmp(name, address, length) != 0 || name[length] < '0' || name[length] > '9')
		return -1;
	value = strtoul(name + length, &end, 10);
	return *end || value > ORDINAL_MOST ? -1 : (int)value;
}

/* "opencl-nvidia", and with ":KEY" behind it; both outs are nullable. */
static int is_group(const char *name, enum tcb_opencl_vendor *vendor_out, const char **key_out)
{
	const char *of = name + sizeof prefix - 1, *colon;
	size_t length;

	if (strncmp(name, prefix, sizeof prefix - 1) != 0)
		return 0;
	colon = strchr(of, ':');
	length = colon ? (size_t)(colon - of) : strlen(of);
	if (colon && (strspn(colon + 1, "0123456789abcdef") != TCB_DEVICE_KEY_MAX - 1 || colon[TCB_DEVICE_KEY_MAX]))
		return 0;
	for (int vendor = 0; vendor < TCB_OPENCL_VENDOR_COUNT; vendor++) {
		if (strlen(vendors[vendor]) != length || strncmp(vendors[vendor], of, length) != 0)
			continue;
		if (vendor_out)
			*vendor_out = (enum tcb_opencl_vendor)vendor;
		if (key_out)
			*key_out = colon ? colon + 1 : NULL;
		return 1;
	}
	return 0;
}

static int is_asked(const char *name)
{
	return tcb_opencl_ordinal(name) >= 0 || is_group(name, NULL, NULL);
}

static void add_forms(struct tcb_str *out)
{
	tcb_str_add(out, "opencl:0, opencl:1, ...");
}

static void add_names(struct tcb_str *out)
{
	tcb_str_add(out, " opencl:0");
}

static const struct tcb_alias words[] = {
	{ "opencl", "opencl:0", NULL },
	{ "ocl", "opencl:0", NULL },
	{ "pocl", NULL, "PoCL's device is one of opencl:0, opencl:1, ... ('tcbtune devices' lists them)" },
	{ NULL, NULL, NULL },
};

static int is_stored(const char *name, const char **key_out)
{
	return is_group(name, NULL, key_out);
}

static void complete(struct tcb_target *target)
{
	target->kind = TCB_TARGET_OPENCL;
	target->isa_mask = 1u << TCB_ISA_OPENCL;
}

/* More than that, what ran there ran: nobody knows a smaller limit. */
static void describe(const char *name, struct tcb_target *out)
{
	enum tcb_opencl_vendor vendor = TCB_OPENCL_OTHER;

	(void)is_group(name, &vendor, NULL);
	*out = (struct tcb_target){ .opencl = {
					    .vendor = vendor,
					    .features = 1u << TCB_OPENCL_F64 | 1u << TCB_OPENCL_F16,
					    .workgroup_most = 8192,
					    .side_most = { 8192, 8192, 8192 },
					    .local_bytes = MIB,
					    .buffer_bytes = (size_t)64 * KIB * MIB,
				    } };
	complete(out);
}

static void name_arch(const struct tcb_target *target, char *out, size_t capacity)
{
	const unsigned vendor = target->opencl.vendor;

	snprintf(out, capacity, "%s%s", prefix, vendors[vendor < TCB_OPENCL_VENDOR_COUNT ? vendor : TCB_OPENCL_OTHER]);
}

/* --- identity --- */

static enum tcb_opencl_vendor vendor_of(const struct tcb_opencl_identity *identity)
{
	static const struct {
		uint32_t id; /* of PCI */
		enum tcb_opencl_vendor vendor;
	} rows[] = { { 0x10de, TCB_OPENCL_NVIDIA },
		     { 0x1002, TCB_OPENCL_AMD },
		     { 0x8086, TCB_OPENCL_INTEL },
		     { 0x13b5, TCB_OPENCL_ARM },
		     { 0x5143, TCB_OPENCL_QUALCOMM } };

	if (identity->is_cpu)
		return TCB_OPENCL_CPU;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].id == identity->vendor_id)
			return rows[i].vendor;
	return TCB_OPENCL_OTHER;
}

void tcb_opencl_identify(const struct tcb_opencl_identity *identity, struct tcb_device *device)
{
	char text[640];

	complete(&device->target);
	device->target.opencl.vendor = vendor_of(identity);
	name_arch(&device->target, device->name, sizeof device->name);
	name_arch(&device->target, device->arch, sizeof device->arch);
	snprintf(device->model, sizeof device->model, "%.120s", identity->device);
	snprintf(device->driver, sizeof device->driver, "%.60s, %.60s", identity->platform, identity->driver);
	/* A processor's times are of as many of its cores as there are. */
	snprintf(text, sizeof text, "opencl|%x|%s|%s|%s|%s|%u", identity->vendor_id, identity->platform,
		 identity->platform_version, device->model, identity->driver, device->target.opencl.compute_units);
	tcb_hash_hex(text, strlen(text), device->key);
}

/* The groups: what is known of one serves its devices. */
static size_t known(struct tcb_device *out, size_t capacity, struct tcb_error *err)
{
	size_t count = 0;

	(void)err;
	for (; count < capacity && count < TCB_OPENCL_VENDOR_COUNT; count++) {
		struct tcb_device *device = &out[count];

		*device = (struct tcb_device){ .has_ecc = -1 };
		snprintf(device->name, sizeof device->name, "%s%s", prefix, vendors[count]);
		snprintf(device->arch, sizeof device->arch, "%s%s", prefix, vendors[count]);
		describe(device->name, &device->target);
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

/* Whoever asks for a grid is told by the driver: OpenCL has no number for it. */
static void block_limits(const struct tcb_target *target, struct tcb_block_limits *out)
{
	*out = (struct tcb_block_limits){
		.shared_bytes = target->opencl.local_bytes,
		.threads = target->opencl.workgroup_most,
		.threads_step = 1,
	};
}

static const struct tcb_kind_limit limits[] = {
	{ "vendor", offsetof(struct tcb_target, opencl.vendor), 0 },
	{ "features", offsetof(struct tcb_target, opencl.features), 0 },
	{ "compute_units", offsetof(struct tcb_target, opencl.compute_units), 0 },
	{ "workgroup_most", offsetof(struct tcb_target, opencl.workgroup_most), 0 },
	{ "side_x_most", offsetof(struct tcb_target, opencl.side_most[0]), 0 },
	{ "side_y_most", offsetof(struct tcb_target, opencl.side_most[1]), 0 },
	{ "side_z_most", offsetof(struct tcb_target, opencl.side_most[2]), 0 },
	{ "local_bytes", offsetof(struct tcb_target, opencl.local_bytes), 1 },
	{ "buffer_bytes", offsetof(struct tcb_target, opencl.buffer_bytes), 1 },
	{ NULL, 0, 0 },
};

const struct tcb_kind tcb_kind_opencl = {
	.name = "opencl",
	.side = TCB_TARGET_OPENCL,
	.is_emitted = 1,
	.has_own_limits = 1,
	.unit = TCB_MIDI,
	.knobs = TCB_SCOPE_GPU,
	.advice = { .launch = "fewer and larger launches",
		    .compute = "cheaper operations: smaller types",
		    .issue = "fewer instructions per value: wider vectors, larger tiles per work-item",
		    .latency = "more bytes in flight: wider vectors, more work-groups",
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
