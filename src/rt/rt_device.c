/* SPDX-License-Identifier: MIT
 *
 * Ops and devices by name.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "rt/runtime.h"

static uint32_t first_slot(const char *name, size_t length)
{
	return (uint32_t)XXH3_64bits(name, length) & (RT_OP_SLOTS - 1);
}

/* By a table, since there are dozens of ops. */
uint32_t rt_op_find(const struct tcbrt *rt, const char *name)
{
	const size_t length = strlen(name);

	for (uint32_t at = first_slot(name, length);; at = (at + 1) & (RT_OP_SLOTS - 1)) {
		const uint32_t op = rt->op_slots[at];

		if (op == RT_NONE || (rt->ops[op].length == length && memcmp(rt->ops[op].name, name, length) == 0))
			return op;
	}
}

void rt_op_add(struct tcbrt *rt, const struct tcb_op *op)
{
	const size_t length = strlen(op->name);
	uint32_t at = first_slot(op->name, length);

	if (rt->op_count == 0)
		memset(rt->op_slots, 0xff, sizeof(rt->op_slots)); /* RT_NONE everywhere */
	while (rt->op_slots[at] != RT_NONE)
		at = (at + 1) & (RT_OP_SLOTS - 1);
	rt->op_slots[at] = rt->op_count;
	strncpy(rt->ops[rt->op_count].name, op->name, sizeof(rt->ops->name) - 1);
	rt->ops[rt->op_count].length = length;
	rt->ops[rt->op_count++].op = op;
}

/* The device that is called by the first LENGTH characters of NAME. */
static uint32_t find_device(const struct tcbrt *rt, const char *name, size_t length)
{
	for (uint32_t i = 0; i < rt->device_count; i++)
		if (rt->devices[i].length == length && memcmp(rt->devices[i].name, name, length) == 0)
			return i;
	return RT_NONE;
}

uint32_t rt_device_find(const struct tcbrt *rt, const char *name)
{
	const uint32_t found = find_device(rt, name, strlen(name));
	const char *key;

	if (found == RT_NONE && tcb_kind_stored(name, &key) && key)
		return find_device(rt, name, (size_t)(key - name) - 1);
	return found;
}

static enum tcb_status add_device(struct tcbrt *rt, const struct rt_device *device, uint32_t *out,
				  struct tcb_error *err)
{
	struct rt_device *grown = realloc(rt->devices, (rt->device_count + 1) * sizeof(*grown));

	if (!grown)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a device");
	rt->devices = grown;
	grown[rt->device_count] = *device;
	grown[rt->device_count].length = strlen(device->name);
	*out = rt->device_count++;
	return TCB_OK;
}

enum tcb_status rt_device_add(struct tcbrt *rt, const char *name, uint32_t *out, struct tcb_error *err)
{
	struct rt_device device = { .kind = rt->device_count };
	const struct tcb_kind *kind;
	const char *key;

	*out = find_device(rt, name, strlen(name));
	if (*out != RT_NONE || !(kind = tcb_kind_stored(name, &key)) || key || !kind->describe)
		return TCB_OK;
	strncpy(device.name, name, sizeof(device.name) - 1);
	strncpy(device.arch, name, sizeof(device.arch) - 1);
	kind->describe(name, &device.target);
	return add_device(rt, &device, out, err);
}

void rt_device_take_limits(const struct tcb_target *measured_on, struct rt_device *device)
{
	if (tcb_kind_of(&device->target)->has_own_limits && measured_on->kind == device->target.kind)
		device->target = *measured_on;
}

enum tcb_status rt_device_add_model(struct tcbrt *rt, const struct rt_stored_device *stored, uint32_t *out,
				    struct tcb_error *err)
{
	const uint32_t kind = find_device(rt, stored->name, strlen(stored->name));
	struct rt_device model;

	*out = RT_NONE;
	if (kind == RT_NONE)
		return TCB_OK;
	model = rt->devices[kind];
	(void)snprintf(model.name, sizeof(model.name), "%s:%s", stored->name, stored->key);
	if (!tcb_kind_stored(model.name, NULL))
		return TCB_OK;
	rt_device_take_limits(&stored->measured_on, &model);
	*out = find_device(rt, model.name, strlen(model.name));
	return *out == RT_NONE ? add_device(rt, &model, out, err) : TCB_OK;
}
