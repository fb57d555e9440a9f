/* SPDX-License-Identifier: MIT
 *
 * Ops and devices by name.
 */
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

uint32_t rt_device_find(const struct tcbrt *rt, const char *name)
{
	for (uint32_t i = 0; i < rt->device_count; i++)
		if (strcmp(rt->devices[i].name, name) == 0)
			return i;
	return RT_NONE;
}

enum tcb_status rt_device_add(struct tcbrt *rt, const char *name, uint32_t *out, struct tcb_error *err)
{
	struct rt_device *grown;

	*out = rt_device_find(rt, name);
	if (*out != RT_NONE || !rt_is_gpu_name(name))
		return TCB_OK;
	grown = realloc(rt->devices, (rt->device_count + 1) * sizeof(*grown));
	if (!grown)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a device");
	rt->devices = grown;
	grown = &grown[rt->device_count];
	memset(grown, 0, sizeof(*grown));
	strncpy(grown->name, name, sizeof(grown->name) - 1);
	grown->is_gpu = 1;
	rt_gpu_target(name, &grown->target);
	*out = rt->device_count++;
	return TCB_OK;
}

int rt_device_is_own(const struct tcbrt *rt, uint32_t device, const char *key)
{
	return device != RT_NONE && (rt->devices[device].is_gpu || strcmp(rt->devices[device].key, key) == 0);
}
