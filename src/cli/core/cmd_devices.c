/* SPDX-License-Identifier: MIT
 *
 * tcbtune devices: what this machine has of each kind, as results are keyed by
 * it, and the devices that are known by their specification only.
 */
#include <stdlib.h>
#include <string.h>

#include "base/kind.h"
#include "cli/core/cli.h"
#include "cli/core/emit.h"
#include "cli/core/setup.h"
#include "cli/tune/measured_cache.h"
#include "device/facts.h"

enum { NAMES_MAX = 64 };

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

/* What PLACE's kind tells of it, else its limits. */
static void tell(const struct tcb_place *place, struct tcb_facts *out)
{
	const struct tcb_target *target = &place->device.target;
	const struct tcb_kind_limit *limit = tcb_kind_of(target)->limits;

	if (tcb_device_kinds[target->kind]->tell) {
		tcb_device_kinds[target->kind]->tell(place, out);
		return;
	}
	for (; limit->name; limit++) {
		const size_t value = tcb_kind_limit_of(target, limit);

		tcb_fact_line(out, limit->name, "%zu", value);
		tcb_fact_member(out, limit->name, "%zu", value);
	}
}

/* Of those of its kind that are known here, the others that are PLACE by another name: "cpu:avx2", "sm_90". */
static void add_names(struct tcb_str *out, const struct tcb_place *place)
{
	const struct tcb_device *device = &place->device;
	struct tcb_device others[NAMES_MAX];
	const size_t count = tcb_kind_of(&device->target)->known(others, NAMES_MAX, NULL);

	tcb_str_addf(out, "  %-12s %s", "devices", place->address);
	if (strcmp(device->name, place->address) != 0)
		tcb_str_addf(out, ", %s", device->name);
	for (size_t i = 0; i < count; i++)
		if (strcmp(others[i].key, device->key) == 0 && strcmp(others[i].name, device->name) != 0)
			tcb_str_addf(out, ", %s", others[i].name);
	tcb_str_add(out, "\n");
}

static void add_line_if(struct tcb_str *out, const char *label, const char *text)
{
	if (text[0])
		cli_add_line(out, "  %-12s %s", label, text);
}

static void add_place(struct tcb_str *out, const struct tcb_place *place)
{
	const struct tcb_device *device = &place->device;
	struct tcb_facts facts = { .lines = { 0 } };
	char memory[TCB_SIZE_TEXT_MAX];

	tell(place, &facts);
	tcb_size_text(device->memory_bytes, memory);
	cli_add_line(out, "%s: %s%s", place->address, device->model, device->is_virtual ? " (virtual machine)" : "");
	tcb_str_addf(out, "  %-12s %s\n  %-12s %s\n", "key", device->key, "architecture", device->arch);
	tcb_str_add(out, facts.lines.data ? facts.lines.data : "");
	add_line_if(out, "memory", device->memory_bytes ? memory : "");
	add_line_if(out, "driver", device->driver);
	add_line_if(out, "UUID", place->uuid);
	add_line_if(out, "kernel", device->os);
	add_names(out, place);
	out->failed |= facts.lines.failed;
	tcb_facts_fini(&facts);
}

static json_t *place_json(const struct tcb_place *place, int *failed)
{
	const struct tcb_device *device = &place->device;
	struct tcb_facts facts = { .lines = { 0 } };
	struct tcb_str object = { 0 };
	json_t *row = json_object(), *own;

	tell(place, &facts);
	cli_json_set(row, "kind", cli_json_text(tcb_kind_of(&device->target)->name), failed);
	cli_json_set(row, "name", cli_json_text(place->address), failed);
	cli_json_set(row, "attached", json_boolean(!place->is_absent), failed);
	cli_json_set(row, "key", cli_json_text(device->key), failed);
	cli_json_set(row, "arch", cli_json_text(device->arch), failed);
	cli_json_set(row, "model", cli_json_text(device->model), failed);
	cli_json_set(row, "source", cli_json_text(place->source ? place->source : "system"), failed);
	cli_json_set(row, "driver", cli_json_text(device->driver), failed);
	cli_json_set(row, "uuid", cli_json_text(place->uuid), failed);
	cli_json_set(row, "os", cli_json_text(device->os), failed);
	cli_json_set(row, "is_virtual", json_boolean(device->is_virtual), failed);
	cli_json_set(row, "memory_bytes", cli_json_size(device->memory_bytes), failed);
	tcb_str_addf(&object, "{%s}", facts.members.data ? facts.members.data + 1 : "");
	own = object.failed ? NULL : json_loads(object.data, 0, NULL);
	*failed |= facts.members.failed || json_object_update(row, own) != 0;
	json_decref(own);
	tcb_str_fini(&object);
	tcb_facts_fini(&facts);
	return row;
}

/* Each kind's: PLACES are here, or MISSING says why there are none. */
struct found {
	struct tcb_place *places; /* owned */
	size_t count;
	struct tcb_error missing;
};

static enum tcb_status print_text(const struct found *found, struct tcb_error *err)
{
	struct tcb_str out = { 0 }, specified = { 0 };
	struct tcb_place place;

	for (size_t kind = 0; tcb_kinds[kind]; kind++) {
		for (size_t i = 0; i < found[kind].count; i++)
			add_place(&out, &found[kind].places[i]);
		if (found[kind].count == 0)
			cli_add_line(&out, "%s: none: %s", tcb_kinds[kind]->name, found[kind].missing.message);
		for (size_t i = 0; tcb_device_kinds[kind]->specified && tcb_device_kinds[kind]->specified(i, &place);
		     i++)
			tcb_str_addf(&specified, "  %-7s %s (%s)\n", place.address, place.device.model, place.source);
	}
	tcb_str_add(&out, "known by specification, to be ranked by a model when they are absent:\n");
	tcb_str_add(&out, specified.data ? specified.data : "");
	out.failed |= specified.failed;
	tcb_str_fini(&specified);
	return cli_emit_text(&out, err);
}

static enum tcb_status print_json(const struct found *found, struct tcb_error *err)
{
	int failed = 0;
	json_t *root = cli_json_start("tcbtune.devices.1", &failed);
	struct tcb_place place;

	for (size_t kind = 0; tcb_kinds[kind]; kind++) {
		const struct tcb_device_kind *of = tcb_device_kinds[kind];
		const char *name = of->told_as ? of->told_as : "devices";
		if (!json_object_get(root, name))
			cli_json_set(root, name, json_array(), &failed);
		json_t *list = json_object_get(root, name);
		for (size_t i = 0; i < found[kind].count; i++)
			cli_json_add(list, place_json(&found[kind].places[i], &failed), &failed);
		for (size_t i = 0; of->specified && of->specified(i, &place); i++)
			cli_json_add(list, place_json(&place, &failed), &failed);
	}
	return cli_emit_json(cli_json_end(root, failed), err);
}

static enum tcb_status find(const struct devices_args *args, size_t kind, struct found *out, struct tcb_error *err)
{
	(void)tcb_device_kinds[kind]->list(&out->places, &out->count, &out->missing);
	for (size_t i = 0; i < out->count; i++)
		TCB_TRY(cli_cache_recall_from(args->db, &out->places[i], err));
	return TCB_OK;
}

static enum tcb_status run_devices(const void *arguments, struct tcb_error *err)
{
	const struct devices_args *args = arguments;
	enum tcb_status status = TCB_OK;
	struct found *found;
	size_t kinds = 0;

	while (tcb_kinds[kinds])
		kinds++;
	found = calloc(kinds, sizeof *found);
	if (!found)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the devices");
	for (size_t kind = 0; kind < kinds && status == TCB_OK; kind++)
		status = find(args, kind, &found[kind], err);
	if (status == TCB_OK)
		status = args->json ? print_json(found, err) : print_text(found, err);
	for (size_t kind = 0; kind < kinds; kind++)
		free(found[kind].places);
	free(found);
	return status;
}

const struct cli_command cli_command_devices = {
	.name = "devices",
	.summary = "show this machine as results are keyed by it",
	.description = "Prints the processor's model, key, instruction families, caches (the last one as the system "
		       "reports it, and as a sweep has measured it, if one has) and default thread count, the GPUs "
		       "that the driver sees, and the names that --device takes here.",
	.options = options,
	.args_bytes = sizeof(struct devices_args),
	.run = run_devices,
};
