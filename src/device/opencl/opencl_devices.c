/* SPDX-License-Identifier: MIT
 *
 * Devices of OpenCL.  In: the library.  Out: struct tcb_device each, and places.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/kind.h"
#include "base/kinds/opencl_kind.h"
#include "base/sizes.h"
#include "base/util.h"
#include "device/apart.h"
#include "device/device.h"
#include "device/doctor_private.h"
#include "device/facts.h"
#include "device/opencl/opencl.h"

enum { PLATFORMS_MAX = 16, NUMBER_MOST = UINT16_MAX, EXTENSIONS_MAX = 16384 };

enum tcb_status tcb_opencl_devices(const struct tcb_opencl *cl, tcb_cl_device out[], size_t capacity, size_t *count_out,
				   struct tcb_error *err)
{
	tcb_cl_platform platforms[PLATFORMS_MAX];
	uint32_t count = 0;

	*count_out = 0;
	if (cl->platform_ids(PLATFORMS_MAX, platforms, &count) != TCB_CL_SUCCESS)
		count = 0;
	for (uint32_t i = 0; i < tcb_least(count, PLATFORMS_MAX); i++) {
		uint32_t more = 0;
		const uint32_t room = (uint32_t)(capacity - *count_out);

		if (room && cl->device_ids(platforms[i], TCB_CL_TYPE_ALL, room, out + *count_out, &more) == 0)
			*count_out += tcb_least(more, room);
	}
	return *count_out ? TCB_OK
			  : tcb_fail(err, TCB_E_NOT_FOUND,
				     "OpenCL is here, and %s: install its driver (of a GPU its maker's; Debian's "
				     "pocl-opencl-icd is one for processors)",
				     count ? "no platform of it has a device" : "it has no platform");
}

/* ---- what a device is ---- */

/* The library and one of its devices. */
struct asked {
	const struct tcb_opencl *cl;
	tcb_cl_device device;
};

/* A number of 4 or 8 bytes; 0 where it is not told. */
static uint64_t number(const struct asked *of, uint32_t what)
{
	uint64_t value = 0; /* little end first */

	return of->cl->device_info(of->device, what, sizeof value, &value, NULL) == TCB_CL_SUCCESS ? value : 0;
}

static void text(const struct asked *of, uint32_t what, char *out, size_t capacity)
{
	if (of->cl->device_info(of->device, what, capacity, out, NULL) != TCB_CL_SUCCESS)
		snprintf(out, capacity, "unknown");
	out[capacity - 1] = '\0';
}

static void take_limits(const struct asked *of, struct tcb_device *out)
{
	struct tcb_opencl_target *opencl = &out->target.opencl;
	size_t sides[16] = { 0 };
	char extensions[EXTENSIONS_MAX];

	(void)of->cl->device_info(of->device, TCB_CL_DEVICE_SIDES_MOST, sizeof sides, sides, NULL);
	for (int d = 0; d < 3; d++)
		opencl->side_most[d] = (unsigned)tcb_least(tcb_most(sides[d], 1), NUMBER_MOST);
	opencl->workgroup_most = (unsigned)tcb_least(number(of, TCB_CL_DEVICE_WORKGROUP_MOST), NUMBER_MOST);
	opencl->compute_units = (unsigned)tcb_least(number(of, TCB_CL_DEVICE_COMPUTE_UNITS), NUMBER_MOST);
	opencl->local_bytes = number(of, TCB_CL_DEVICE_LOCAL_BYTES);
	opencl->buffer_bytes = number(of, TCB_CL_DEVICE_BUFFER_BYTES);
	text(of, TCB_CL_DEVICE_EXTENSIONS, extensions, sizeof extensions);
	opencl->features = (number(of, TCB_CL_DEVICE_F64) != 0) << TCB_OPENCL_F64 |
			   (strstr(extensions, "cl_khr_fp16") != NULL) << TCB_OPENCL_F16;
	out->target.l2_bytes = number(of, TCB_CL_DEVICE_CACHE_BYTES);
	out->target.line_bytes = number(of, TCB_CL_DEVICE_CACHE_LINE);
	out->memory_bytes = number(of, TCB_CL_DEVICE_MEMORY_BYTES);
	out->clock_khz = (unsigned)tcb_least(number(of, TCB_CL_DEVICE_CLOCK_MHZ), NUMBER_MOST) * 1000;
	out->has_ecc = number(of, TCB_CL_DEVICE_HAS_ECC) != 0;
}

static void describe(const struct asked *of, tcb_cl_platform platform, struct tcb_device *out)
{
	char model[TCB_DEVICE_TEXT_MAX], driver[TCB_DEVICE_TEXT_MAX];
	char name[TCB_DEVICE_TEXT_MAX] = "unknown", version[TCB_DEVICE_TEXT_MAX] = "unknown";
	struct utsname os;

	*out = (struct tcb_device){ .has_ecc = -1 };
	take_limits(of, out);
	text(of, TCB_CL_DEVICE_NAME, model, sizeof model);
	text(of, TCB_CL_DRIVER_VERSION, driver, sizeof driver);
	(void)of->cl->platform_info(platform, TCB_CL_PLATFORM_NAME, sizeof name, name, NULL);
	(void)of->cl->platform_info(platform, TCB_CL_PLATFORM_VERSION, sizeof version, version, NULL);
	name[sizeof name - 1] = version[sizeof version - 1] = '\0';
	tcb_opencl_identify(
		&(struct tcb_opencl_identity){
			.vendor_id = (uint32_t)number(of, TCB_CL_DEVICE_VENDOR_ID),
			.is_cpu = (number(of, TCB_CL_DEVICE_TYPE) & TCB_CL_TYPE_CPU) != 0,
			.platform = name,
			.platform_version = version,
			.device = model,
			.driver = driver,
		},
		out);
	if (uname(&os) == 0)
		snprintf(out->os, sizeof out->os, "%.60s %.60s", os.sysname, os.release);
}

/* ---- the list ---- */

static enum tcb_status ask_library(void *items, size_t capacity, size_t *count_out, struct tcb_error *err)
{
	const struct tcb_opencl *cl = tcb_opencl_open(err);
	struct tcb_device *devices = items;
	tcb_cl_device handles[TCB_OPENCL_DEVICES_MAX];

	*count_out = 0;
	if (!cl)
		return err ? err->status : TCB_E_UNSUPPORTED;
	TCB_TRY(tcb_opencl_devices(cl, handles, tcb_least(capacity, TCB_OPENCL_DEVICES_MAX), count_out, err));
	for (size_t i = 0; i < *count_out; i++) {
		const struct asked of = { cl, handles[i] };
		tcb_cl_platform platform = NULL;

		(void)cl->device_info(handles[i], TCB_CL_DEVICE_PLATFORM, sizeof(void *), (void *)&platform, NULL);
		describe(&of, platform, &devices[i]);
	}
	return TCB_OK;
}

enum tcb_status tcb_opencl_list(struct tcb_device out[TCB_OPENCL_DEVICES_MAX], size_t *count_out, struct tcb_error *err)
{
	return tcb_ask_apart(ask_library, out, sizeof *out, TCB_OPENCL_DEVICES_MAX, count_out,
			     "the process that asked OpenCL for its devices died", err);
}

/* ---- as places ---- */

static void place(const struct tcb_device *device, size_t ordinal, struct tcb_place *out)
{
	*out = (struct tcb_place){ .device = *device, .source = "driver" };
	snprintf(out->address, sizeof out->address, "opencl:%zu", ordinal);
}

static enum tcb_status ask(struct tcb_device **out, size_t *count_out, struct tcb_error *err)
{
	*count_out = 0;
	*out = calloc(TCB_OPENCL_DEVICES_MAX, sizeof **out);
	return *out ? tcb_opencl_list(*out, count_out, err)
		    : tcb_fail(err, TCB_E_NOMEM, "out of memory for the list of devices");
}

/* Which of them NAME is: by its number, its group, or its group and key. */
static size_t find(const char *name, const struct tcb_device *devices, size_t count)
{
	const int ordinal = tcb_opencl_ordinal(name);
	const char *key = NULL;
	char group[TCB_DEVICE_NAME_MAX] = "";
	size_t i = 0;

	if (ordinal >= 0 || !tcb_kind_split(name, group, &key))
		return ordinal < 0 ? count : (size_t)ordinal;
	while (i < count && (strcmp(devices[i].name, group) != 0 || (key && strcmp(devices[i].key, key) != 0)))
		i++;
	return i;
}

static enum tcb_status open_place(const char *name, unsigned threads, int attached_only, struct tcb_place *out,
				  struct tcb_error *err)
{
	struct tcb_device *devices;
	size_t count, which;
	enum tcb_status status = ask(&devices, &count, err);

	(void)threads, (void)attached_only; /* its threads are its own, and nothing is recorded of others */
	which = status == TCB_OK ? find(name, devices, count) : 0;
	if (status == TCB_OK && which >= count)
		status = tcb_fail(err, TCB_E_NOT_FOUND, "%s is not there: OpenCL has %zu device%s here", name, count,
				  count == 1 ? "" : "s");
	if (status == TCB_OK)
		place(&devices[which], which, out);
	free(devices);
	return status;
}

static enum tcb_status list(struct tcb_place **out, size_t *count_out, struct tcb_error *err)
{
	struct tcb_device *devices;
	enum tcb_status status = ask(&devices, count_out, err);

	*out = status == TCB_OK ? calloc(*count_out, sizeof **out) : NULL;
	if (status == TCB_OK && !*out)
		status = tcb_fail(err, TCB_E_NOMEM, "out of memory for the list of devices");
	for (size_t i = 0; status == TCB_OK && i < *count_out; i++)
		place(&devices[i], i, &(*out)[i]);
	free(devices);
	return status;
}

static void tell(const struct tcb_place *place, struct tcb_facts *out)
{
	const struct tcb_target *target = &place->device.target;
	const struct tcb_opencl_target *opencl = &target->opencl;
	const struct tcb_kind_limit *limit = tcb_kind_of(target)->limits;
	const int has_f64 = opencl->features >> TCB_OPENCL_F64 & 1, has_f16 = opencl->features >> TCB_OPENCL_F16 & 1;
	char text[TCB_SIZE_TEXT_MAX];

	tcb_size_text(opencl->local_bytes, text);
	tcb_fact_line(out, "work-groups", "of %u work-items (%u x %u x %u at most), %s of local memory",
		      opencl->workgroup_most, opencl->side_most[0], opencl->side_most[1], opencl->side_most[2], text);
	tcb_fact_line(out, "compute units", "%u", opencl->compute_units);
	tcb_size_text(opencl->buffer_bytes, text);
	tcb_fact_line(out, "buffers", "of %s", text);
	tcb_fact_line(out, "types", "float%s%s", has_f64 ? ", double" : "", has_f16 ? ", half" : "");
	for (; limit->name; limit++)
		tcb_fact_member(out, limit->name, "%zu", tcb_kind_limit_of(target, limit));
}

/* ---- the doctor ---- */

static void look_at_devices(const char *root, struct tcb_doctor_row *row)
{
	struct tcb_device *devices;
	struct tcb_error why;
	size_t count;

	(void)root;
	if (ask(&devices, &count, &why) == TCB_OK) {
		tcb_doctor_found(row, TCB_DOCTOR_OK, "%.90s (%.40s), %zu device%s", devices[0].model, devices[0].driver,
				 count, count == 1 ? "" : "s");
	} else if (why.status == TCB_E_NOT_FOUND) {
		tcb_doctor_found(row, TCB_DOCTOR_LIMITED, "no device");
		tcb_doctor_advise(row,
				  "install a driver: a GPU's is its maker's; pocl-opencl-icd is one for processors");
	} else {
		tcb_doctor_found(row, TCB_DOCTOR_MISSING, "%.150s", why.message);
		tcb_doctor_advise(row,
				  "install ocl-icd-libopencl1 and a driver (pocl-opencl-icd for processors), or let "
				  "TCBTUNE_OPENCL name its library");
	}
	free(devices);
}

static const struct tcb_doctor_check checks[] = { { "OpenCL", look_at_devices }, { NULL, NULL } };

const struct tcb_device_kind tcb_device_opencl = {
	.open = open_place,
	.list = list,
	.tell = tell,
	.checks = checks,
};
