/* SPDX-License-Identifier: MIT
 *
 * tcbtune devices: this host and its GPUs as results are keyed by them, and the
 * GPUs that are known by their specification only.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/core/cli.h"
#include "cli/core/emit.h"
#include "cli/core/setup.h"
#include "cli/tune/measured_cache.h"
#include "device/cpu_device.h"
#include "device/gpu.h"

struct devices_args {
	const struct tcb_registry *ops;
	const char *db;
	int json;
};

static const struct cli_option options[] = {
	CLI_OPTION_DB(struct devices_args),
	CLI_OPTION_JSON(struct devices_args),
	CLI_OPTION_END,
};

static void add_isas(struct tcb_str *out, const struct tcb_target *target)
{
	for (int isa = 0; isa < TCB_ISA_COUNT; isa++)
		if (tcb_target_has(target, (enum tcb_isa)isa))
			tcb_str_addf(out, " %s", tcb_isa_text((enum tcb_isa)isa));
}

static void add_cache(struct tcb_str *out, const char *name, size_t bytes)
{
	char text[CLI_NUMBER_MAX];

	cli_text_bytes(bytes, text);
	tcb_str_addf(out, "  %-12s %s\n", name, bytes ? text : "unknown");
}

/* What there is in GPUs: those attached, and why there are none. */
struct gpus {
	struct tcb_gpu *list; /* owned */
	size_t count;
	struct tcb_error missing;
};

static void add_gpu(struct tcb_str *out, const struct tcb_gpu *gpu)
{
	const struct tcb_device *device = &gpu->device;
	char memory[CLI_NUMBER_MAX], l2[CLI_NUMBER_MAX], shared[CLI_NUMBER_MAX];

	cli_text_bytes(device->memory_bytes, memory);
	cli_text_bytes(device->target.l2_bytes, l2);
	cli_text_bytes(device->target.cuda.shared_optin_bytes, shared);
	cli_add_line(out, "cuda:%d: %s", gpu->ordinal, device->model);
	tcb_str_addf(out, "  %-12s %s\n  %-12s %s\n", "key", device->key, "architecture", device->arch);
	tcb_str_addf(out, "  %-12s %u multiprocessors at %u MHz, %s of shared memory a block\n", "processors",
		     device->target.cuda.sm_count, device->clock_khz / 1000, shared);
	tcb_str_addf(out, "  %-12s %s\n  %-12s %s at %.0f GB/s%s\n", "L2", l2, "memory", memory,
		     gpu->read_bytes_s / 1e9, device->has_ecc > 0 ? ", ECC" : "");
	cli_add_line(out, "  %-12s %s", "driver", device->driver);
	cli_add_line(out, "  %-12s %s", "UUID", gpu->uuid);
	tcb_str_addf(out, "  devices      cuda:%d, %s\n", gpu->ordinal, device->name);
}

static void add_gpus(struct tcb_str *out, const struct gpus *gpus)
{
	struct tcb_gpu row;

	for (size_t i = 0; i < gpus->count; i++)
		add_gpu(out, &gpus->list[i]);
	if (gpus->count == 0)
		cli_add_line(out, "cuda: none: %s", gpus->missing.message);
	tcb_str_add(out, "known by specification, to be ranked by a model when they are absent:\n");
	for (size_t i = 0; tcb_gpu_table_row(i, &row); i++)
		tcb_str_addf(out, "  %-7s %s (%s)\n", row.device.name, row.device.model, row.source);
}

static enum tcb_status print_text(const struct tcb_place *place, const struct gpus *gpus, struct tcb_error *err)
{
	const struct tcb_device *device = &place->device;
	struct tcb_str out = { 0 };
	char memory[CLI_NUMBER_MAX];

	cli_add_line(&out, "cpu: %s%s", device->model, device->is_virtual ? " (virtual machine)" : "");
	tcb_str_addf(&out, "  %-12s %s\n  %-12s %s\n", "key", device->key, "architecture", device->arch);
	tcb_str_addf(&out, "  %-12s", "families");
	add_isas(&out, &device->target);
	tcb_str_addf(&out, "\n  %-12s %u cores, default %u threads\n", "processors", device->cores,
		     device->target.threads);
	add_cache(&out, "L1d", device->target.l1d_bytes);
	add_cache(&out, "L2", device->target.l2_bytes);
	add_cache(&out, "last cache", device->target.llc_bytes);
	if (place->cache_bytes) {
		cli_text_bytes(place->cache_bytes, memory);
		tcb_str_addf(&out, "  %-12s %s, by all %u threads: what cold calls go beyond\n", "measured", memory,
			     device->target.threads);
	}
	cli_text_bytes(device->memory_bytes, memory);
	tcb_str_addf(&out, "  %-12s %s\n  %-12s %s\n", "memory", memory, "kernel", device->os);
	tcb_str_add(&out, "  devices      cpu");
	for (int isa = 0; isa < TCB_ISA_COUNT; isa++)
		if (tcb_target_has(&device->target, (enum tcb_isa)isa))
			tcb_str_addf(&out, ", cpu:%s", tcb_isa_text((enum tcb_isa)isa));
	tcb_str_add(&out, "\n");
	add_gpus(&out, gpus);
	return cli_emit_text(&out, err);
}

static json_t *gpu_json(const struct tcb_gpu *gpu, int *failed)
{
	const struct tcb_device *device = &gpu->device;
	const struct tcb_target *target = &device->target;
	json_t *row = json_object();
	char name[32];

	snprintf(name, sizeof name, gpu->ordinal < 0 ? "sm_%u" : "cuda:%u",
		 gpu->ordinal < 0 ? target->cuda.capability : (unsigned)gpu->ordinal);
	cli_json_set(row, "name", cli_json_text(name), failed);
	cli_json_set(row, "attached", json_boolean(gpu->ordinal >= 0), failed);
	cli_json_set(row, "key", cli_json_text(device->key), failed);
	cli_json_set(row, "arch", cli_json_text(device->arch), failed);
	cli_json_set(row, "model", cli_json_text(device->model), failed);
	cli_json_set(row, "source", cli_json_text(gpu->source), failed);
	cli_json_set(row, "driver", cli_json_text(device->driver), failed);
	cli_json_set(row, "uuid", cli_json_text(gpu->uuid), failed);
	cli_json_set(row, "sm_count", cli_json_size(target->cuda.sm_count), failed);
	cli_json_set(row, "clock_khz", cli_json_size(device->clock_khz), failed);
	cli_json_set(row, "l2_bytes", cli_json_size(target->l2_bytes), failed);
	cli_json_set(row, "shared_optin_bytes", cli_json_size(target->cuda.shared_optin_bytes), failed);
	cli_json_set(row, "memory_bytes", cli_json_size(device->memory_bytes), failed);
	cli_json_set(row, "read_bytes_s", json_real(gpu->read_bytes_s), failed);
	cli_json_set(row, "has_ecc", json_boolean(device->has_ecc > 0), failed);
	return row;
}

static json_t *gpus_json(const struct gpus *gpus, int *failed)
{
	json_t *rows = json_array();
	struct tcb_gpu row;

	for (size_t i = 0; i < gpus->count; i++)
		cli_json_add(rows, gpu_json(&gpus->list[i], failed), failed);
	for (size_t i = 0; tcb_gpu_table_row(i, &row); i++)
		cli_json_add(rows, gpu_json(&row, failed), failed);
	return rows;
}

static enum tcb_status print_json(const struct tcb_place *place, const struct gpus *gpus, struct tcb_error *err)
{
	const struct tcb_device *device = &place->device;
	const struct tcb_target *target = &device->target;
	int failed = 0;
	json_t *root = cli_json_start("tcbtune.devices.1", &failed);
	json_t *row = json_object(), *families = json_array(), *rows = json_array(), *pinned = json_array();

	for (int isa = 0; isa < TCB_ISA_COUNT; isa++)
		if (tcb_target_has(target, (enum tcb_isa)isa))
			cli_json_add(families, json_string(tcb_isa_text((enum tcb_isa)isa)), &failed);
	for (unsigned i = 0; i < tcb_cpus_of(place)->count; i++)
		cli_json_add(pinned, json_integer(tcb_cpus_of(place)->list[i]), &failed);
	cli_json_set(row, "name", cli_json_text(device->name), &failed);
	cli_json_set(row, "key", cli_json_text(device->key), &failed);
	cli_json_set(row, "arch", cli_json_text(device->arch), &failed);
	cli_json_set(row, "model", cli_json_text(device->model), &failed);
	cli_json_set(row, "os", cli_json_text(device->os), &failed);
	cli_json_set(row, "is_virtual", json_boolean(device->is_virtual), &failed);
	cli_json_set(row, "families", families, &failed);
	cli_json_set(row, "cores", cli_json_size(device->cores), &failed);
	cli_json_set(row, "threads", cli_json_size(target->threads), &failed);
	cli_json_set(row, "processors", pinned, &failed);
	cli_json_set(row, "line_bytes", cli_json_size(target->line_bytes), &failed);
	cli_json_set(row, "l1d_bytes", cli_json_size(target->l1d_bytes), &failed);
	cli_json_set(row, "l2_bytes", cli_json_size(target->l2_bytes), &failed);
	cli_json_set(row, "llc_bytes", cli_json_size(target->llc_bytes), &failed);
	cli_json_set(row, "cache_bytes", place->cache_bytes ? cli_json_size(place->cache_bytes) : json_null(), &failed);
	cli_json_set(row, "memory_bytes", cli_json_size(device->memory_bytes), &failed);
	cli_json_add(rows, row, &failed);
	cli_json_set(root, "devices", rows, &failed);
	cli_json_set(root, "gpus", gpus_json(gpus, &failed), &failed);
	return cli_emit_json(cli_json_end(root, failed), err);
}

static enum tcb_status run_devices(const void *arguments, struct tcb_error *err)
{
	const struct devices_args *args = arguments;
	struct tcb_place place;

	struct gpus gpus = { .list = calloc(TCB_GPUS_MAX, sizeof *gpus.list) };
	enum tcb_status status;

	if (!gpus.list)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the list of GPUs");
	(void)tcb_gpu_list(gpus.list, &gpus.count, &gpus.missing);
	status = tcb_cpu_open("cpu", 0, &place, err);
	if (status == TCB_OK)
		status = cli_cache_recall_from(args->db, &place, err);
	if (status == TCB_OK)
		status = args->json ? print_json(&place, &gpus, err) : print_text(&place, &gpus, err);
	free(gpus.list);
	return status;
}

const struct cli_command cli_command_devices = {
	.name = "devices",
	.summary = "show this machine as results are keyed by it",
	.description = "Prints the processor's model, key, instruction families, caches (the last one as the system "
		       "reports it, and as a "
		       "sweep has measured it, if one has) and default thread count, the GPUs "
		       "that the driver sees, and the names that --device takes here.",
	.options = options,
	.args_bytes = sizeof(struct devices_args),
	.run = run_devices,
};
