/* SPDX-License-Identifier: MIT
 *
 * Attached GPUs.  In: the driver.  Out: struct tcb_gpu each.  The driver is
 * asked in a child process that ends at once: the tuner forks its workers, and
 * a process that has started the driver must not.
 */
#include "device/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/kind.h"
#include "base/sizes.h"
#include "device/apart.h"
#include "device/cuda.h"
#include "device/doctor_private.h"
#include "device/energy/meter.h"
#include "device/facts.h"
#include "device/nvml.h"

/* Version of the kernel module, as "580.159.03"; empty where it cannot be read. */
static void module_version(char out[32])
{
	FILE *file = fopen("/sys/module/nvidia/version", "r");
	out[0] = '\0';
	if (!file)
		return;
	if (!fgets(out, 32, file))
		out[0] = '\0';
	out[strcspn(out, "\n")] = '\0';
	fclose(file);
}

static enum tcb_status describe(const struct tcb_cuda *cuda, int ordinal, struct tcb_gpu *gpu, struct tcb_error *err)
{
	unsigned char id[16];
	char module[32];
	int device;

	TCB_TRY(tcb_cuda_check(cuda, cuda->device_get(&device, ordinal), "asking for the GPU", err));
	TCB_TRY(tcb_gpu_describe(cuda, device, gpu, err));
	gpu->ordinal = ordinal;
	if (cuda->device_uuid(id, device) == TCB_CUDA_SUCCESS)
		snprintf(gpu->uuid, sizeof gpu->uuid,
			 "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", id[0], id[1],
			 id[2], id[3], id[4], id[5], id[6], id[7], id[8], id[9], id[10], id[11], id[12], id[13], id[14],
			 id[15]);
	if (cuda->device_pci(gpu->pci, sizeof gpu->pci, device) != TCB_CUDA_SUCCESS)
		gpu->pci[0] = '\0';
	module_version(module);
	snprintf(gpu->device.driver, sizeof gpu->device.driver, "%s%sCUDA %d.%d", module, module[0] ? ", " : "",
		 cuda->version / 1000, cuda->version % 1000 / 10);
	struct utsname os;
	if (uname(&os) == 0)
		snprintf(gpu->device.os, sizeof gpu->device.os, "%.60s %.60s", os.sysname, os.release);
	return TCB_OK;
}

static enum tcb_status ask_driver(void *items, size_t capacity, size_t *count_out, struct tcb_error *err)
{
	const struct tcb_cuda *cuda = tcb_cuda_open(err);
	struct tcb_gpu *gpus = items;
	int count = 0;

	if (!cuda)
		return err->status;
	TCB_TRY(tcb_cuda_check(cuda, cuda->device_count(&count), "counting GPUs", err));
	*count_out = tcb_least((size_t)count, capacity);
	for (size_t i = 0; i < *count_out; i++)
		TCB_TRY(describe(cuda, (int)i, &gpus[i], err));
	return TCB_OK;
}

enum tcb_status tcb_gpu_list(struct tcb_gpu out[TCB_GPUS_MAX], size_t *count_out, struct tcb_error *err)
{
	TCB_TRY(tcb_ask_apart(ask_driver, out, sizeof *out, TCB_GPUS_MAX, count_out,
			      "the process that asked the CUDA driver for its GPUs died; try nvidia-smi", err));
	for (size_t i = 0; i < *count_out; i++) {
		out[i].source = "driver"; /* the child's pointer is not ours */
		tcb_gpu_remember(&out[i]);
	}
	return TCB_OK;
}

/* Does NAME mean the attached GPU number ORDINAL? */
static int is_meant(const char *name, size_t ordinal, const struct tcb_device *device)
{
	unsigned capability;
	const char *key;
	if (!tcb_gpu_parse(name, &capability, &key))
		return (int)ordinal == tcb_gpu_ordinal(name);
	return device->target.cuda.capability == capability && (!key || strcmp(device->key, key) == 0);
}

enum tcb_status tcb_gpu_open_all(struct tcb_gpu out[TCB_GPUS_MAX], size_t *count_out, struct tcb_error *err)
{
	struct tcb_error missing = { .status = TCB_OK };
	if (tcb_gpu_list(out, count_out, &missing) != TCB_OK)
		return tcb_fail(err, TCB_E_NOT_FOUND, "no GPU is attached: %s", missing.message);
	for (size_t i = 1; i < *count_out; i++)
		if (strcmp(out[i].device.key, out[0].device.key) != 0)
			return tcb_fail(err, TCB_E_USAGE,
					"cuda:all needs identical cards, but cuda:0 is %s (%s, key %s) and cuda:%zu is "
					"%s (%s, key %s); name one of them, or hide the others with "
					"CUDA_VISIBLE_DEVICES",
					out[0].device.model, out[0].device.name, out[0].device.key, i,
					out[i].device.model, out[i].device.name, out[i].device.key);
	return TCB_OK;
}

enum tcb_status tcb_gpu_open(const char *name, int measured_only, struct tcb_gpu *out, struct tcb_error *err)
{
	unsigned capability = 0;
	size_t count = 0;
	if (!tcb_kind_cuda.is_asked(name))
		return tcb_fail(err, TCB_E_USAGE,
				"unknown GPU '%.60s'; use cuda:0, cuda:1, ..., cuda:all or sm_75 ... sm_120", name);
	struct tcb_gpu *gpus = calloc(TCB_GPUS_MAX, sizeof *gpus);
	if (!gpus)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the list of GPUs");
	struct tcb_error missing = { .status = TCB_OK };
	if (strcmp(name, "cuda:all") == 0) {
		enum tcb_status all = tcb_gpu_open_all(gpus, &count, err);
		if (all == TCB_OK)
			*out = gpus[0];
		free(gpus);
		return all;
	}
	tcb_gpu_parse(name, &capability, NULL);
	enum tcb_status status = tcb_gpu_list(gpus, &count, &missing);
	size_t found = count;
	for (size_t i = 0; i < count && found == count; i++) {
		if (is_meant(name, i, &gpus[i].device))
			found = i;
	}
	if (status == TCB_OK && found < count)
		*out = gpus[found];
	else if (capability && !strchr(name, ':') && !measured_only)
		status = tcb_gpu_table(capability, out, err);
	else if (status != TCB_OK)
		tcb_fail(err, status = TCB_E_NOT_FOUND, "%s is not attached: %s", name, missing.message);
	else
		status = tcb_fail(err, TCB_E_NOT_FOUND, "%s is not attached: the driver sees %zu GPU%s", name, count,
				  count == 1 ? "" : "s");
	free(gpus);
	return status;
}

/* ---- as places ---- */

void tcb_gpu_place(const struct tcb_gpu *gpu, struct tcb_place *out)
{
	*out = (struct tcb_place){ .device = gpu->device, .source = gpu->source };
	memcpy(out->own, gpu, sizeof *gpu);
	memcpy(out->uuid, gpu->uuid, sizeof out->uuid);
	out->is_absent = gpu->ordinal < 0;
	out->is_nearest = gpu->nearest != 0;
	if (out->is_absent)
		memcpy(out->address, gpu->device.name, sizeof out->address);
	else
		snprintf(out->address, sizeof out->address, "cuda:%d", gpu->ordinal);
}

static enum tcb_status open_place(const char *name, unsigned threads, int attached_only, struct tcb_place *out,
				  struct tcb_error *err)
{
	struct tcb_gpu gpu;
	(void)threads; /* of the host, which it has none of */
	TCB_TRY(tcb_gpu_open(name, attached_only, &gpu, err));
	tcb_gpu_place(&gpu, out);
	return TCB_OK;
}

static enum tcb_status open_others(const char *name, struct tcb_place **others_out, size_t *count_out,
				   struct tcb_error *err)
{
	size_t count = 0;
	if (strcmp(name, "cuda:all") != 0)
		return TCB_OK;
	struct tcb_gpu *gpus = calloc(TCB_GPUS_MAX, sizeof *gpus);
	if (!gpus)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the list of GPUs");
	enum tcb_status status = tcb_gpu_open_all(gpus, &count, err);
	if (status == TCB_OK && count > 1) {
		*others_out = calloc(count - 1, sizeof **others_out);
		if (!*others_out)
			status = tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu GPUs", count);
		for (size_t i = 1; *others_out && i < count; i++) {
			tcb_gpu_place(&gpus[i], &(*others_out)[i - 1]);
			*count_out = i;
		}
	}
	free(gpus);
	return status;
}

static enum tcb_status watch(const struct tcb_place *place, struct tcb_nvml **out, struct tcb_error *err)
{
	return tcb_nvml_open(place->uuid, out, err);
}

static enum tcb_status meter(const struct tcb_place *place, struct tcb_meter *out, struct tcb_error *err)
{
	return tcb_meter_nvml(place->uuid, out, err);
}

static enum tcb_status list(struct tcb_place **out, size_t *count_out, struct tcb_error *err)
{
	struct tcb_gpu *gpus = calloc(TCB_GPUS_MAX, sizeof *gpus);
	size_t count = 0;
	*count_out = 0;
	*out = NULL;
	if (!gpus)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the list of GPUs");
	enum tcb_status status = tcb_gpu_list(gpus, &count, err);
	if (status == TCB_OK && count) {
		*out = calloc(count, sizeof **out);
		if (!*out)
			status = tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu GPUs", count);
	}
	for (size_t i = 0; *out && i < count; i++) {
		tcb_gpu_place(&gpus[i], &(*out)[i]);
		*count_out = i + 1;
	}
	free(gpus);
	return status;
}

static int specified(size_t index, struct tcb_place *out)
{
	struct tcb_gpu gpu;
	if (!tcb_gpu_table_row(index, &gpu))
		return 0;
	tcb_gpu_place(&gpu, out);
	return 1;
}

static void tell(const struct tcb_place *place, struct tcb_facts *out)
{
	const struct tcb_device *device = &place->device;
	const struct tcb_target *target = &device->target;
	const double read_bytes_s = tcb_gpu_of(place)->read_bytes_s;
	char shared[TCB_SIZE_TEXT_MAX];
	tcb_size_text(target->cuda.shared_optin_bytes, shared);
	tcb_fact_line(out, "processors", "%u multiprocessors at %u MHz, %s of shared memory a block",
		      target->cuda.sm_count, device->clock_khz / 1000, shared);
	tcb_fact_member(out, "sm_count", "%u", target->cuda.sm_count);
	tcb_fact_member(out, "clock_khz", "%u", device->clock_khz);
	tcb_fact_member(out, "shared_optin_bytes", "%zu", target->cuda.shared_optin_bytes);
	tcb_fact_size(out, "L2", "l2_bytes", target->l2_bytes);
	tcb_fact_line(out, "bandwidth", "%.0f GB/s%s", read_bytes_s / 1e9, device->has_ecc > 0 ? ", ECC" : "");
	tcb_fact_member(out, "read_bytes_s", "%.17g", read_bytes_s);
	tcb_fact_member(out, "has_ecc", "%s", device->has_ecc > 0 ? "true" : "false");
}

const struct tcb_device_kind tcb_device_cuda = {
	.open = open_place,
	.open_others = open_others,
	.list = list,
	.specified = specified,
	.tell = tell,
	.told_as = "gpus",
	.checks = tcb_doctor_cuda,
	.watch = watch,
	.meter = meter,
};
