/* SPDX-License-Identifier: MIT
 *
 * A layer: which of an image's ops and devices are which of this process.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rt/runtime.h"

static enum tcb_status relate(struct tcbrt *rt, struct rt_layer *layer, uint32_t stored, struct tcb_error *err)
{
	const struct rt_stored_device *device = &layer->image.devices[stored];
	struct rt_relation *relation = &layer->relations[stored];

	uint32_t kind;

	*relation = (struct rt_relation){ RT_NONE, RT_NONE };
	TCB_TRY(rt_device_add(rt, device->name, &kind, err));
	if (kind == RT_NONE)
		return TCB_OK;
	if (strcmp(rt->devices[kind].arch, device->arch) == 0)
		relation->kin = kind;
	if (tcb_kind_of(&rt->devices[kind].target)->describe)
		return rt_device_add_model(rt, device, &relation->own, err);
	if (strcmp(rt->devices[kind].key, device->key) == 0)
		relation->own = kind;
	return TCB_OK;
}

/* Names and keys of stored devices are unique. */
static void number_devices(const struct tcbrt *rt, struct rt_layer *layer)
{
	for (uint32_t i = 0; i < rt->device_count; i++)
		layer->own[i] = RT_NONE;
	for (uint32_t i = 0; i < layer->image.device_count; i++)
		if (layer->relations[i].own != RT_NONE)
			layer->own[layer->relations[i].own] = i;
}

static void number_ops(const struct tcbrt *rt, struct rt_layer *layer)
{
	for (uint32_t i = 0; i < rt->op_count; i++)
		layer->ops[i] = RT_NONE;
	for (uint32_t i = 0; i < layer->image.op_count; i++) {
		const uint32_t op = rt_op_find(rt, layer->image.ops[i].name);

		if (op != RT_NONE)
			layer->ops[op] = i;
	}
}

enum tcb_status rt_layer_add(struct tcbrt *rt, struct rt_layer *layer, struct tcb_error *err)
{
	enum tcb_status status = TCB_OK;

	layer->refusals = calloc((size_t)layer->image.entry_count + RT_MARK_COUNT, 1);
	layer->ops = calloc((size_t)rt->op_count + 1, sizeof(*layer->ops));
	layer->relations = calloc((size_t)layer->image.device_count + 1, sizeof(*layer->relations));
	if (!layer->refusals || !layer->ops || !layer->relations)
		status = tcb_fail(err, TCB_E_NOMEM, "%s: out of memory while loading it", layer->path);
	for (uint32_t i = 0; status == TCB_OK && i < layer->image.device_count; i++)
		status = relate(rt, layer, i, err);
	/* GPUs that a layer below adds are none of this one's: it has no entries of them. */
	layer->own = status == TCB_OK ? calloc((size_t)rt->device_count + 1, sizeof(*layer->own)) : NULL;
	layer->own_count = rt->device_count;
	if (status == TCB_OK && !layer->own)
		status = tcb_fail(err, TCB_E_NOMEM, "%s: out of memory while loading it", layer->path);
	if (status != TCB_OK) {
		rt_layer_fini(layer);
		return status;
	}
	rt_kept_load(layer);
	number_devices(rt, layer);
	number_ops(rt, layer);
	rt->layers[rt->layer_count++] = *layer;
	return TCB_OK;
}

void rt_layer_fini(struct rt_layer *layer)
{
	/* What is damaged is made again when it is next asked for. */
	if (layer->is_mapped && layer->refusals && rt_mark(layer, RT_HAS_DAMAGE))
		unlink(layer->snapshot);
	else if (layer->snapshot[0] && layer->refusals && rt_mark(layer, RT_HAS_NEWS))
		rt_kept_save(layer);
	if (layer->is_mapped)
		munmap(layer->memory, (size_t)layer->image.header->bytes);
	else
		free(layer->memory);
	free(layer->refusals);
	free(layer->kept);
	free(layer->ops);
	free(layer->relations);
	free(layer->own);
}
