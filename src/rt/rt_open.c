/* SPDX-License-Identifier: MIT
 *
 * Opening: every winner of the database becomes an entry with its geometry
 * parsed and its kernel looked up in this library, so that lookups have
 * nothing left to do; then the entries are indexed and the database is closed.
 */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

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

struct loading {
	struct tcbrt *rt;
	uint32_t device; /* of the last entry: entries of one device follow each other */
	int failed;
};

/* Room for COUNT more items of ITEM_BYTES; 0, or -1 for lack of memory. */
static int reserve(void **items, size_t used, size_t *capacity, size_t count, size_t item_bytes)
{
	size_t want = *capacity;
	void *grown;

	if (count <= *capacity - used)
		return 0;
	while (want - used < count)
		want = want ? 2 * want : 64;
	grown = realloc(*items, want * item_bytes);
	if (!grown)
		return -1;
	*items = grown;
	*capacity = want;
	return 0;
}

static int add_string(struct tcbrt *rt, const char *text, uint32_t *offset, uint16_t *length)
{
	size_t bytes = strlen(text) + 1;
	void *strings = rt->strings;

	if (rt->string_bytes + bytes > UINT32_MAX ||
	    reserve(&strings, rt->string_bytes, &rt->string_capacity, bytes, 1))
		return -1;
	rt->strings = strings;
	memcpy(rt->strings + rt->string_bytes, text, bytes);
	*offset = (uint32_t)rt->string_bytes;
	if (length)
		*length = (uint16_t)(bytes - 1);
	rt->string_bytes += bytes;
	return 0;
}

static uint32_t find_op(struct tcbrt *rt, const char *name)
{
	struct rt_op *grown;

	for (uint32_t i = 0; i < rt->op_count; i++)
		if (strcmp(rt->ops[i].name, name) == 0)
			return i;
	grown = realloc(rt->ops, (rt->op_count + 1) * sizeof(*grown));
	if (!grown)
		return RT_NONE;
	rt->ops = grown;
	grown = &grown[rt->op_count];
	memset(grown, 0, sizeof(*grown));
	strncpy(grown->name, name, sizeof(grown->name) - 1);
	grown->op = tcb_op_find(name);
	grown->begin = grown->end = rt->entry_count;
	return rt->op_count++;
}

static uint32_t find_device(struct tcbrt *rt, uint32_t hint, const struct tcb_best *best)
{
	struct rt_device *grown;

	for (uint32_t i = 0; i <= rt->device_count; i++) {
		uint32_t at = i == 0 ? hint : i - 1;

		if (at < rt->device_count && strcmp(rt->devices[at].name, best->device_name) == 0 &&
		    strcmp(rt->devices[at].key, best->device_key) == 0) {
			rt->devices[at].measured_on = best->target; /* recorded GPUs are listed before any database */
			return at;
		}
	}
	grown = realloc(rt->devices, (rt->device_count + 1) * sizeof(*grown));
	if (!grown)
		return RT_NONE;
	rt->devices = grown;
	grown = &grown[rt->device_count];
	memset(grown, 0, sizeof(*grown));
	memcpy(grown->name, best->device_name, sizeof(grown->name));
	memcpy(grown->key, best->device_key, sizeof(grown->key));
	grown->is_gpu = rt_is_gpu_name(best->device_name);
	if (grown->is_gpu)
		rt_gpu_target(best->device_name, &grown->target);
	grown->measured_on = best->target;
	memcpy(grown->arch, best->arch, sizeof(grown->arch));
	memcpy(grown->model, best->model, sizeof(grown->model));
	return rt->device_count++;
}

/* Other machines' entries are judged when a near one is looked for: what is legal there nobody knows here. */
static int is_legal(const struct rt_device *device, const struct tcb_op *op, const struct tcb_best *best,
		    const struct tcb_geometry *geometry)
{
	struct tcb_target target = device->target;
	struct tcb_problem problem;

	if (!device->is_this_host && !device->is_gpu)
		return 1;
	if (device->is_gpu && best->threads != 0)
		return 0;
	target.threads = best->threads;
	return tcb_problem_init(op, best->problem.contract, &best->problem.shape, &problem, NULL) == TCB_OK &&
	       rt_is_legal(op, &problem, &target, geometry, NULL);
}

static enum rt_refusal judge(const struct rt_device *device, const struct tcb_op *op, const struct tcb_best *best,
			     struct tcb_geometry *geometry)
{
	const struct tcb_variant *variant;

	if (tcb_geometry_parse(best->geometry, geometry, NULL) != TCB_OK)
		return RT_OTHER_GEOMETRY;
	if (!op)
		return RT_NO_OP;
	variant = tcb_variant_find(op, best->problem.contract, geometry);
	if (!variant || strcmp(variant->name, best->variant) != 0)
		return RT_NO_VARIANT;
	if (variant->signature && strcmp(variant->signature, best->signature) != 0)
		return RT_OTHER_KERNEL;
	if (!is_legal(device, op, best, geometry))
		return RT_ILLEGAL;
	return variant->signature ? RT_FINE : RT_UNSEEN;
}

static float log2_of(size_t value)
{
	return value ? log2f((float)value) : 0;
}

/* Winners of one op often share the kernel: its name and signature are kept once as long as they do not change. */
static int add_texts(struct tcbrt *rt, struct rt_entry *entry, const struct tcb_best *best)
{
	const struct rt_entry *last = rt->entry_count ? entry - 1 : NULL;

	if (add_string(rt, best->geometry, &entry->text, &entry->text_length) ||
	    add_string(rt, best->measured_at, &entry->measured_at, NULL))
		return -1;
	if (last && strcmp(rt->strings + last->variant, best->variant) == 0 &&
	    strcmp(rt->strings + last->signature, best->signature) == 0) {
		entry->variant = last->variant;
		entry->variant_length = last->variant_length;
		entry->signature = last->signature;
		return 0;
	}
	return add_string(rt, best->variant, &entry->variant, &entry->variant_length) ||
	       add_string(rt, best->signature, &entry->signature, NULL);
}

static int add_entry(void *ctx, const struct tcb_best *best)
{
	struct loading *loading = ctx;
	struct tcbrt *rt = loading->rt;
	const struct tcb_shape *shape = &best->problem.shape;
	size_t capacity = rt->entry_capacity;
	void *entries = rt->entries;
	uint32_t op = find_op(rt, best->problem.op_name);
	struct rt_entry *entry;

	loading->device = find_device(rt, loading->device, best);
	loading->failed = 1;
	if (op == RT_NONE || loading->device == RT_NONE || rt->entry_count == RT_NONE - 1 ||
	    reserve(&entries, rt->entry_count, &capacity, 1, sizeof(*entry)))
		return 1;
	rt->entries = entries;
	rt->entry_capacity = (uint32_t)capacity;
	entry = &rt->entries[rt->entry_count];
	memset(entry, 0, sizeof(*entry));
	entry->key = (struct rt_key){ op,
				      loading->device,
				      (uint16_t)best->problem.contract,
				      (uint16_t)best->state,
				      best->threads,
				      shape->m,
				      shape->n,
				      shape->k };
	entry->ns = best->ns;
	entry->speedup = best->speedup;
	entry->modelled = best->modelled != 0;
	entry->provisional = best->provisional != 0;
	entry->log_m = log2_of(shape->m);
	entry->log_n = log2_of(shape->n);
	entry->log_k = log2_of(shape->k);
	atomic_init(&entry->refusal,
		    (uint8_t)judge(&rt->devices[loading->device], rt->ops[op].op, best, &entry->geometry));
	if (add_texts(rt, entry, best))
		return 1;
	/* Ops of this library that came before in the table have empty ranges until their entries come. */
	if (rt->ops[op].begin == rt->ops[op].end)
		rt->ops[op].begin = rt->entry_count;
	rt->ops[op].end = ++rt->entry_count;
	loading->failed = 0;
	return 0;
}

static enum tcb_status create(struct tcbrt **out, struct tcb_error *err)
{
	struct tcbrt *rt = calloc(1, sizeof(*rt));
	size_t count;
	const struct tcb_op *const *ops = tcb_ops(&count);

	*out = rt;
	if (!rt || !(rt->devices = calloc(RT_HOST_DEVICES_MAX + RT_GPU_DEVICES_MAX, sizeof(*rt->devices))))
		return tcb_fail(err, TCB_E_NOMEM, "out of memory while opening the tuning results");
	for (size_t i = 0; i < count; i++)
		if (find_op(rt, ops[i]->name) == RT_NONE)
			return tcb_fail(err, TCB_E_NOMEM, "out of memory while opening the tuning results");
	rt_host_processors(&rt->processors, &rt->cores);
	rt->host_device_count = rt_host_devices(rt->devices, RT_HOST_DEVICES_MAX, err);
	rt->device_count =
		rt->host_device_count + rt_gpu_devices(rt->devices + rt->host_device_count, RT_GPU_DEVICES_MAX);
	return rt->host_device_count ? TCB_OK : TCB_E_UNSUPPORTED;
}

static enum tcb_status load(struct tcbrt *rt, const char *path, struct tcb_error *err)
{
	struct loading loading = { .rt = rt };
	char resolved[512];
	struct tcb_db *db;
	enum tcb_status status;

	TCB_TRY(tcb_db_path(path, TCB_DB_READ, resolved, sizeof(resolved), err));
	TCB_TRY(tcb_db_open(resolved, TCB_DB_READ, &db, err));
	status = tcb_db_best_each(db, NULL, add_entry, &loading, err);
	rt->unreadable = tcb_db_unreadable(db, NULL);
	tcb_db_close(db);
	if (status == TCB_OK && loading.failed)
		status = tcb_fail(err, TCB_E_NOMEM, "%s: out of memory while loading it", resolved);
	return status;
}

/* EMPTY: without any database. */
static int open_results(const char *path, int empty, struct tcbrt **out, struct tcbrt_error *err)
{
	struct tcb_error error = { .message = "" };
	struct tcbrt *rt = NULL;
	enum tcb_status status = out ? create(&rt, &error)
				     : tcb_fail(&error, TCB_E_USAGE, "there is no place for the results: OUT is NULL");

	if (status == TCB_OK && !empty)
		status = load(rt, path, &error);
	if (status == TCB_OK)
		status = rt_table_build(rt, &error);
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
	return open_results(path, 0, out, err);
}

int tcbrt_open_empty(struct tcbrt **out, struct tcbrt_error *err)
{
	return open_results(NULL, 1, out, err);
}

void tcbrt_close(struct tcbrt *rt)
{
	if (!rt)
		return;
	free(rt->entries);
	free(rt->strings);
	free(rt->ops);
	free(rt->devices);
	free(rt->slots);
	free(rt);
}
