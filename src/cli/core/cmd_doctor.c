/* SPDX-License-Identifier: MIT
 *
 * tcbtune doctor: what tcbtune can use on this machine, what is missing and
 * how to get it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/kind.h"
#include "cli/core/cli.h"
#include "cli/core/emit.h"
#include "cli/core/setup.h"
#include "cli/report/best_rows.h"
#include "cli/tune/measured_cache.h"
#include "device/cache.h"

enum { ROWS_MAX = 96, DEVICES_MAX = 65 };

struct doctor_args {
	const struct tcb_registry *ops;
	const char *db;
	int json;
};

static const struct cli_option options[] = {
	CLI_OPTION_DB(struct doctor_args),
	CLI_OPTION_JSON(struct doctor_args),
	CLI_OPTION_END,
};

static const char *state_text(enum tcb_doctor_state state)
{
	switch (state) {
	case TCB_DOCTOR_OK:
		return "ok";
	case TCB_DOCTOR_LIMITED:
		return "limited";
	case TCB_DOCTOR_MISSING:
		return "missing";
	}
	return "missing";
}

/* The database that commands would use now. */
static void database_row(const struct doctor_args *args, struct tcb_doctor_row *row)
{
	struct tcb_error err = { .status = TCB_OK };
	struct tcb_db *db = NULL;
	struct tcb_db_info info;
	char path[CLI_PATH_MAX] = "";
	enum tcb_status status = cli_open_db(args->ops, args->db, TCB_DB_READ, path, &db, &err);

	memset(row, 0, sizeof *row);
	row->what = "database";
	if (status == TCB_OK)
		status = tcb_db_info(db, &info, &err);
	if (status == TCB_OK) {
		row->state = TCB_DOCTOR_OK;
		snprintf(row->found, sizeof row->found, "%.100s: %llu trials, SQLite %s", path,
			 (unsigned long long)info.trials, info.sqlite_version);
	} else if (status == TCB_E_NOT_FOUND) {
		row->state = TCB_DOCTOR_LIMITED;
		snprintf(row->found, sizeof row->found, "none yet at %.130s", path);
		snprintf(row->advice, sizeof row->advice, "the first 'tcbtune sweep' creates it");
	} else {
		row->state = TCB_DOCTOR_MISSING;
		snprintf(row->found, sizeof row->found, "%.130s cannot be used", path);
		snprintf(row->advice, sizeof row->advice, "%.199s", err.message);
	}
	tcb_db_close(db);
}

/* Winners of one of this machine's devices. */
struct winners {
	char key[TCB_DEVICE_KEY_MAX], model[TCB_DEVICE_TEXT_MAX];
	size_t current, earlier, stale; /* earlier: their kernels have changed, and they are served still */
};

struct counting {
	struct winners devices[DEVICES_MAX]; /* of several that share results, one */
	size_t device_count, all;
};

static void add_device(struct counting *counting, const struct tcb_device *device)
{
	struct winners *winners = &counting->devices[counting->device_count];

	for (size_t i = 0; i < counting->device_count; i++)
		if (strcmp(counting->devices[i].key, device->key) == 0)
			return;
	if (counting->device_count == DEVICES_MAX)
		return;
	snprintf(winners->key, sizeof winners->key, "%s", device->key);
	snprintf(winners->model, sizeof winners->model, "%s", device->model);
	counting->device_count++;
}

static void find_devices(struct counting *counting)
{
	for (size_t kind = 0; tcb_kinds[kind]; kind++) {
		struct tcb_place *places = NULL;
		size_t count = 0;

		(void)tcb_device_kinds[kind]->list(&places, &count, NULL);
		for (size_t i = 0; i < count; i++)
			add_device(counting, &places[i].device);
		free(places);
	}
}

static int count_winner(void *ctx, const struct tcb_best *best)
{
	struct counting *counting = ctx;

	counting->all++;
	for (size_t i = 0; i < counting->device_count; i++) {
		struct winners *winners = &counting->devices[i];
		if (strcmp(winners->key, best->device_key) != 0)
			continue;
		if (!cli_best_is_stale(best))
			winners->current++;
		else if (cli_served_of(best, 1) == CLI_SERVED_EARLIER)
			winners->earlier++;
		else
			winners->stale++;
	}
	return 0;
}

static void winners_row(const struct winners *winners, struct tcb_doctor_row *row)
{
	*row = (struct tcb_doctor_row){ .what = "shipped winners", .state = TCB_DOCTOR_OK };
	snprintf(row->found, sizeof row->found, "%.80s: %zu current, %zu earlier, %zu stale", winners->model,
		 winners->current, winners->earlier, winners->stale);
	if (winners->current)
		return;
	row->state = TCB_DOCTOR_LIMITED;
	snprintf(row->advice, sizeof row->advice, "%s: 'tcbtune model' or 'tcbtune sweep' tunes this device",
		 winners->earlier ? "their kernels have changed since; programs get the winners that surely gained "
				    "much, else the defaults"
		 : winners->stale ? "their kernels have changed since, so programs get the defaults"
				  : "no result of this device is shipped, so programs get the defaults");
}

/* The database of the installation, and what it has for this machine's devices; returns how many rows. */
static size_t system_rows(const struct tcb_registry *ops, struct tcb_doctor_row *rows, size_t capacity)
{
	struct counting counting = { .device_count = 0 };
	struct tcb_error err = { .status = TCB_OK };
	struct tcb_db *db = NULL;
	char path[CLI_PATH_MAX];
	size_t count = 1;
	enum tcb_status status;

	rows[0] = (struct tcb_doctor_row){ .what = "system database", .state = TCB_DOCTOR_LIMITED };
	if (!tcb_db_system_path(path, sizeof path)) {
		snprintf(rows[0].found, sizeof rows[0].found, "none");
		snprintf(rows[0].advice, sizeof rows[0].advice,
			 "an installed release build has one (share/tcbtune/system.db); TCBTUNE_SYSTEM_DB names "
			 "another");
		return count;
	}
	find_devices(&counting);
	status = cli_open_db_file(ops, path, TCB_DB_READ_SYSTEM, &db, &err);
	if (status == TCB_OK)
		status = tcb_db_best_each(db, NULL, count_winner, &counting, &err);
	tcb_db_close(db);
	if (status != TCB_OK) {
		rows[0].state = TCB_DOCTOR_MISSING;
		snprintf(rows[0].found, sizeof rows[0].found, "%.130s cannot be used", path);
		snprintf(rows[0].advice, sizeof rows[0].advice, "%.199s", err.message);
		return count;
	}
	rows[0].state = TCB_DOCTOR_OK;
	snprintf(rows[0].found, sizeof rows[0].found, "%.120s: %zu winners", path, counting.all);
	for (size_t i = 0; i < counting.device_count && count < capacity; i++)
		winners_row(&counting.devices[i], &rows[count++]);
	return count;
}

/* What cold calls on PLACE go beyond. */
static void cache_row(const struct tcb_place *place, struct tcb_doctor_row *row)
{
	char reported[TCB_SIZE_TEXT_MAX], measured[TCB_SIZE_TEXT_MAX], rotation[TCB_SIZE_TEXT_MAX];

	*row = (struct tcb_doctor_row){ .what = "cache", .state = TCB_DOCTOR_LIMITED };
	tcb_size_text(place->device.target.llc_bytes, reported);
	tcb_size_text(place->cache_bytes, measured);
	tcb_size_text(tcb_rotation_size(place).bytes, rotation);
	if (place->cache_bytes) {
		row->state = TCB_DOCTOR_OK;
		snprintf(row->found, sizeof row->found, "%s measured, %s reported: cold calls rotate through %s",
			 measured, reported, rotation);
		return;
	}
	snprintf(row->found, sizeof row->found, "%s reported, not measured yet: cold calls rotate through %s", reported,
		 rotation);
	snprintf(row->advice, sizeof row->advice, "the first 'tcbtune sweep' on the processor measures it");
}

/* Of the kinds whose cache is measured; returns how many rows. */
static size_t cache_rows(const char *option, struct tcb_doctor_row *rows, size_t capacity)
{
	size_t count = 0;

	for (size_t kind = 0; tcb_kinds[kind]; kind++) {
		struct tcb_place *places = NULL;
		size_t found = 0;

		if (!tcb_device_kinds[kind]->measure_cache)
			continue;
		(void)tcb_device_kinds[kind]->list(&places, &found, NULL);
		for (size_t i = 0; i < found && count < capacity; i++)
			if (cli_cache_recall_from(option, &places[i], NULL) == TCB_OK)
				cache_row(&places[i], &rows[count++]);
		free(places);
	}
	return count;
}

static enum tcb_status print_text(const struct tcb_doctor_row *rows, size_t count, struct tcb_error *err)
{
	static const struct cli_column columns[] = { { "STATE", 0 }, { "WHAT", 0 }, { "FOUND", 0 } };
	struct cli_table table;
	struct tcb_str out = { 0 };
	size_t advised = 0;
	enum tcb_status status;

	cli_table_init(&table, columns, sizeof columns / sizeof *columns);
	for (size_t i = 0; i < count; i++) {
		cli_table_cell(&table, "%s", state_text(rows[i].state));
		cli_table_cell(&table, "%s", rows[i].what);
		cli_table_cell(&table, "%s", rows[i].found);
	}
	status = cli_table_finish(&table, CLI_TABLE_TEXT, &out, err);
	for (size_t i = 0; i < count; i++)
		advised += rows[i].advice[0] != '\0';
	tcb_str_add(&out, advised ? "\n" : "");
	for (size_t i = 0; i < count; i++)
		if (rows[i].advice[0])
			cli_add_line(&out, "%s: %s", rows[i].what, rows[i].advice);
	return cli_emit_made(status, &out, err);
}

static enum tcb_status print_json(const struct tcb_doctor_row *rows, size_t count, struct tcb_error *err)
{
	int failed = 0;
	json_t *root = cli_json_start("tcbtune.doctor.1", &failed), *list = json_array();

	for (size_t i = 0; i < count; i++)
		cli_json_add(list,
			     json_pack("{s:s, s:s, s:s, s:s}", "what", rows[i].what, "state", state_text(rows[i].state),
				       "found", rows[i].found, "advice", rows[i].advice),
			     &failed);
	cli_json_set(root, "rows", list, &failed);
	return cli_emit_json(cli_json_end(root, failed), err);
}

static enum tcb_status run_doctor(const void *arguments, struct tcb_error *err)
{
	const struct doctor_args *args = arguments;
	struct tcb_doctor_row rows[ROWS_MAX];
	size_t count = tcb_doctor(rows, ROWS_MAX / 2);

	count += cache_rows(args->db, &rows[count], ROWS_MAX / 4);
	database_row(args, &rows[count++]);
	count += system_rows(args->ops, &rows[count], ROWS_MAX - count);
	return args->json ? print_json(rows, count, err) : print_text(rows, count, err);
}

const struct cli_command cli_command_doctor = {
	.name = "doctor",
	.summary = "say what tcbtune can use here and what is missing",
	.description =
		"One row for each thing that tcbtune can use: found (ok), found with limits (limited) or not found "
		"(missing), and below the table what to do about it. The last rows are of the databases: your own, the "
		"one that was installed with tcbtune, and how many of its winners are of this machine's devices: "
		"current, earlier (of another version of their kernels, and served still) or stale.",
	.options = options,
	.args_bytes = sizeof(struct doctor_args),
	.run = run_doctor,
};
