/* SPDX-License-Identifier: MIT
 *
 * tcbtune devices: this host as results are keyed by it.
 */
#include "cli/cli.h"
#include "cli/emit.h"
#include "cli/setup.h"

struct devices_args {
	int json;
};

static const struct cli_option options[] = {
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

static enum tcb_status print_text(const struct tcb_place *place, struct tcb_error *err)
{
	const struct tcb_device *device = &place->device;
	struct tcb_str out = { 0 };
	char memory[CLI_NUMBER_MAX];

	tcb_str_addf(&out, "cpu: %s%s\n", device->model, device->is_virtual ? " (virtual machine)" : "");
	tcb_str_addf(&out, "  %-12s %s\n  %-12s %s\n", "key", device->key, "architecture", device->arch);
	tcb_str_addf(&out, "  %-12s", "families");
	add_isas(&out, &device->target);
	tcb_str_addf(&out, "\n  %-12s %u cores, default %u threads\n", "processors", device->cores,
		     device->target.threads);
	add_cache(&out, "L1d", device->target.l1d_bytes);
	add_cache(&out, "L2", device->target.l2_bytes);
	add_cache(&out, "last cache", device->target.llc_bytes);
	cli_text_bytes(device->memory_bytes, memory);
	tcb_str_addf(&out, "  %-12s %s\n  %-12s %s\n", "memory", memory, "kernel", device->os);
	tcb_str_add(&out, "  devices      cpu");
	for (int isa = 0; isa < TCB_ISA_COUNT; isa++)
		if (tcb_target_has(&device->target, (enum tcb_isa)isa))
			tcb_str_addf(&out, ", cpu:%s", tcb_isa_text((enum tcb_isa)isa));
	tcb_str_add(&out, "\n");
	return cli_emit(&out, err);
}

static enum tcb_status print_json(const struct tcb_place *place, struct tcb_error *err)
{
	const struct tcb_device *device = &place->device;
	const struct tcb_target *target = &device->target;
	int failed = 0;
	json_t *root = cli_json_start("tcbtune.devices.1", &failed);
	json_t *row = json_object(), *families = json_array(), *rows = json_array(), *pinned = json_array();

	for (int isa = 0; isa < TCB_ISA_COUNT; isa++)
		if (tcb_target_has(target, (enum tcb_isa)isa))
			cli_json_add(families, json_string(tcb_isa_text((enum tcb_isa)isa)), &failed);
	for (unsigned i = 0; i < place->cpu_count; i++)
		cli_json_add(pinned, json_integer(place->cpus[i]), &failed);
	cli_json_set(row, "name", json_string(device->name), &failed);
	cli_json_set(row, "key", json_string(device->key), &failed);
	cli_json_set(row, "arch", json_string(device->arch), &failed);
	cli_json_set(row, "model", json_string(device->model), &failed);
	cli_json_set(row, "os", json_string(device->os), &failed);
	cli_json_set(row, "is_virtual", json_boolean(device->is_virtual), &failed);
	cli_json_set(row, "families", families, &failed);
	cli_json_set(row, "cores", cli_json_size(device->cores), &failed);
	cli_json_set(row, "threads", cli_json_size(target->threads), &failed);
	cli_json_set(row, "processors", pinned, &failed);
	cli_json_set(row, "line_bytes", cli_json_size(target->line_bytes), &failed);
	cli_json_set(row, "l1d_bytes", cli_json_size(target->l1d_bytes), &failed);
	cli_json_set(row, "l2_bytes", cli_json_size(target->l2_bytes), &failed);
	cli_json_set(row, "llc_bytes", cli_json_size(target->llc_bytes), &failed);
	cli_json_set(row, "memory_bytes", cli_json_size(device->memory_bytes), &failed);
	cli_json_add(rows, row, &failed);
	cli_json_set(root, "devices", rows, &failed);
	return cli_emit_json(cli_json_end(root, failed), err);
}

static enum tcb_status run_devices(const void *arguments, struct tcb_error *err)
{
	const struct devices_args *args = arguments;
	struct tcb_place place;

	TCB_TRY(tcb_cpu_open("cpu", 0, &place, err));
	return args->json ? print_json(&place, err) : print_text(&place, err);
}

const struct cli_command cli_command_devices = {
	.name = "devices",
	.summary = "show this machine as results are keyed by it",
	.description =
		"Prints the processor's model, key, instruction families, caches and default thread count, and the "
		"names that --device takes here.",
	.options = options,
	.args_bytes = sizeof(struct devices_args),
	.run = run_devices,
};
