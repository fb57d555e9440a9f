/* SPDX-License-Identifier: MIT
 *
 * Opening: each database becomes an image (rt_build.c), or its snapshot is
 * mapped where it was made of the database as it is now; the database is closed
 * again.  The user's comes first, the system's below it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/judged.h"
#include "rt/rt_plan.h"
#include "rt/runtime.h"

#define SAME_CODE(name) _Static_assert((int)TCBRT_##name == (int)TCB_##name, "codes are those of base/status.h")
SAME_CODE(OK);
SAME_CODE(E_FAILED);
SAME_CODE(E_USAGE);
SAME_CODE(E_NOT_FOUND);
SAME_CODE(E_NOMEM);
SAME_CODE(E_IO);
SAME_CODE(E_FORMAT);
SAME_CODE(E_OVERFLOW);
SAME_CODE(E_UNSUPPORTED);
SAME_CODE(E_BUSY);
SAME_CODE(E_VERSION);

static enum tcb_status create(const struct tcb_registry *ops, struct tcbrt **out, struct tcb_error *err)
{
	struct tcbrt *rt = calloc(1, sizeof(*rt));

	*out = rt;
	if (!rt || !(rt->devices = calloc(RT_KNOWN_DEVICES_MAX, sizeof(*rt->devices))) ||
	    !(rt->ops = calloc(ops->count + 1, sizeof(*rt->ops))))
		return tcb_fail(err, TCB_E_NOMEM, "out of memory while opening the tuning results");
	if (ops->count > RT_OP_SLOTS / 2)
		return tcb_fail(err, TCB_E_OVERFLOW, "%zu ops are more than %d", ops->count, RT_OP_SLOTS / 2);
	for (size_t i = 0; i < ops->count; i++)
		rt_op_add(rt, ops->ops[i]);
	rt->is_verbose = rt_is_verbose();
	rt_host_processors(&rt->processors, &rt->cores);
	rt->device_count = rt_known_devices(rt->devices, RT_KNOWN_DEVICES_MAX, &rt->host_device_count, err);
	for (uint32_t i = 0; i < rt->device_count; i++) {
		rt->devices[i].kind = i;
		rt->devices[i].length = strlen(rt->devices[i].name);
	}
	return rt->host_device_count ? TCB_OK : TCB_E_UNSUPPORTED;
}

/* So few are read in less than two milliseconds: no snapshot is kept of them. */
enum { SNAPSHOT_ENTRIES_MIN = 256 };

/* The database as an image in memory, and as a snapshot for the next time. */
static enum tcb_status read_database(struct tcbrt *rt, const struct tcb_db_stamp *stamp, int is_settled,
				     struct rt_layer *layer, struct tcb_error *err)
{
	struct tcb_db *db;
	enum tcb_status status;
	size_t bytes = 0;

	TCB_TRY(tcb_db_open(layer->path, layer->is_system ? TCB_DB_READ_SYSTEM : TCB_DB_READ, &db, err));
	status = rt_build(rt, db, stamp, &layer->memory, &bytes, err);
	tcb_db_close(db);
	TCB_TRY(status);
	if (rt_image_open(layer->memory, bytes, &layer->image))
		return tcb_fail(err, TCB_E_FAILED, "%s: its results cannot be indexed", layer->path);
	if (is_settled && layer->image.entry_count >= SNAPSHOT_ENTRIES_MIN)
		rt_snapshot_save(layer);
	return TCB_OK;
}

/* What was found out about the kernels of an installed database when it was made. */
static void read_judged(const char *database)
{
	char path[sizeof(((struct rt_layer *)NULL)->path) + sizeof(TCB_JUDGED_SUFFIX)];

	(void)snprintf(path, sizeof(path), "%s" TCB_JUDGED_SUFFIX, database);
	if (access(path, R_OK) != 0)
		return;
	tcb_judged_begin(tcb_kernels_id());
	tcb_judged_read(path);
}

static enum tcb_status load(struct tcbrt *rt, const char *path, int is_system, struct tcb_error *err)
{
	struct rt_layer layer = { .is_system = is_system };
	struct tcb_db_stamp stamp;
	int is_settled;
	enum tcb_status status = TCB_OK;

	(void)snprintf(layer.path, sizeof(layer.path), "%s", path);
	read_judged(path);
	/* Before it is read: what is written meanwhile makes the snapshot stale. */
	if (tcb_db_stamp_take(path, &stamp, &is_settled) == 0)
		rt_snapshot_load(path, &stamp, rt_stamp_library(rt), &layer);
	if (!layer.memory)
		status = read_database(rt, &stamp, is_settled, &layer, err);
	if (status == TCB_OK)
		return rt_layer_add(rt, &layer, err);
	free(layer.memory);
	return status;
}

/* Below the user's database that of the system; where that cannot be read it is left out. */
static enum tcb_status load_layers(struct tcbrt *rt, struct tcb_error *err)
{
	char path[512], system[512];
	enum tcb_status status;
	struct tcb_error system_error = { .message = "" };

	TCB_TRY(tcb_db_path(NULL, TCB_DB_READ, path, sizeof(path), err));
	status = load(rt, path, 0, err);
	if (status != TCB_OK && status != TCB_E_NOT_FOUND)
		return status;
	if (!tcb_db_system_path(system, sizeof(system)) || strcmp(system, path) == 0)
		return status;
	if (load(rt, system, 1, &system_error) == TCB_OK)
		return TCB_OK;
	(void)snprintf(rt->left_out, sizeof(rt->left_out), "the system database is left out: %.110s",
		       system_error.message);
	return status;
}

int rt_open(const struct tcb_registry *ops, const char *path, int is_empty, struct tcbrt **out, struct tcbrt_error *err)
{
	struct tcb_error error = { .message = "" };
	struct tcbrt *rt = NULL;
	char resolved[512];
	enum tcb_status status = out ? create(ops, &rt, &error)
				     : tcb_fail(&error, TCB_E_USAGE, "there is no place for the results: OUT is NULL");

	if (status == TCB_OK && !is_empty && !path)
		status = load_layers(rt, &error);
	if (status == TCB_OK && !is_empty && path) {
		status = tcb_db_path(path, TCB_DB_READ, resolved, sizeof(resolved), &error);
		if (status == TCB_OK)
			status = load(rt, resolved, 0, &error);
	}
	if (status != TCB_OK) {
		tcbrt_close(rt);
		rt = NULL;
	}
	if (out)
		*out = rt;
	return rt_report(status, &error, err);
}

int tcbrt_open(const char *path, struct tcbrt **out, struct tcbrt_error *err)
{
	const struct tcb_registry ops = tcb_registry_built_in();

	return rt_open(&ops, path, 0, out, err);
}

int tcbrt_open_empty(struct tcbrt **out, struct tcbrt_error *err)
{
	const struct tcb_registry ops = tcb_registry_built_in();

	return rt_open(&ops, NULL, 1, out, err);
}

void tcbrt_close(struct tcbrt *rt)
{
	if (!rt)
		return;
	for (unsigned i = 0; i < rt->layer_count; i++)
		rt_layer_fini(&rt->layers[i]);
	free(rt->ops);
	free(rt->devices);
	free(rt);
}
