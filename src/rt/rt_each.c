/* SPDX-License-Identifier: MIT
 *
 * Walking over what is loaded, layer by layer.
 */
#include "rt/runtime.h"

/* A damaged entry has no names: nothing in it is followed. */
static void show(const struct tcbrt *rt, const struct rt_found *found, char words[TCB_WORDS_TEXT_MAX],
		 struct tcbrt_entry *out)
{
	const struct rt_layer *layer = found->layer;
	const struct rt_entry *entry = found->entry;
	const enum rt_refusal refusal = rt_refusal(rt, found);
	const struct rt_stored_device *device;
	struct rt_texts texts;
	uint32_t own;

	*out = (struct tcbrt_entry){ .op = "",
				     .contract = "",
				     .state = "",
				     .device = "",
				     .device_key = "",
				     .arch = "",
				     .model = "",
				     .geometry = "",
				     .variant = "",
				     .signature = "",
				     .measured_at = "",
				     .words = "",
				     .refused = refusal == RT_FINE ? NULL : rt_refusal_text(refusal),
				     .database = layer->path,
				     .is_system = layer->is_system };
	if (refusal == RT_DAMAGED)
		return;
	texts = rt_entry_texts(found);
	device = &layer->image.devices[entry->key.device];
	own = layer->relations[entry->key.device].own;
	out->op = layer->image.ops[entry->key.op].name;
	out->contract = tcb_contract_text((enum tcb_contract)entry->key.contract);
	out->state = tcb_state_text((enum tcb_state)entry->key.state);
	out->device = device->name;
	out->device_key = device->key;
	out->arch = device->arch;
	out->model = device->model;
	out->is_this_host = own != RT_NONE && rt_has_threads(&rt->devices[own]);
	out->threads = entry->key.threads;
	out->m = (size_t)entry->key.m;
	out->n = (size_t)entry->key.n;
	out->k = (size_t)entry->key.k;
	tcb_words_print(&entry->key.words, words);
	out->words = words;
	out->geometry = texts.geometry;
	out->variant = texts.variant;
	out->signature = texts.signature;
	out->measured_at = texts.measured_at;
	out->modelled = entry->modelled;
	out->provisional = entry->provisional;
	out->ns = entry->ns.median;
	out->ns_lo = entry->ns.lo;
	out->ns_hi = entry->ns.hi;
	out->speedup = entry->speedup.median;
	out->speedup_lo = entry->speedup.lo;
	out->speedup_hi = entry->speedup.hi;
}

int tcbrt_each(const struct tcbrt *rt, int (*each)(void *ctx, const struct tcbrt_entry *entry), void *ctx)
{
	for (unsigned l = 0; rt && each && l < rt->layer_count; l++) {
		const struct rt_layer *layer = &rt->layers[l];

		for (uint32_t i = 0; i < layer->image.entry_count; i++) {
			const struct rt_found found = { layer, &layer->image.entries[i] };
			char words[TCB_WORDS_TEXT_MAX];
			struct tcbrt_entry shown;
			int stop;

			show(rt, &found, words, &shown);
			stop = each(ctx, &shown);
			if (stop)
				return stop;
		}
	}
	return 0;
}

size_t tcbrt_unreadable(const struct tcbrt *rt)
{
	uint64_t unreadable = 0;

	for (unsigned l = 0; rt && l < rt->layer_count; l++)
		unreadable += rt->layers[l].image.header->unreadable;
	return (size_t)unreadable;
}

size_t tcbrt_count(const struct tcbrt *rt, size_t *refused_out)
{
	size_t all = 0, refused = 0;

	for (unsigned l = 0; rt && l < rt->layer_count; l++) {
		const struct rt_layer *layer = &rt->layers[l];
		const uint64_t unreadable = layer->image.header->unreadable;

		all += layer->image.entry_count + unreadable;
		refused += unreadable;
		for (uint32_t i = 0; refused_out && i < layer->image.entry_count; i++) {
			const struct rt_found found = { layer, &layer->image.entries[i] };

			refused += rt_refusal(rt, &found) != RT_FINE;
		}
	}
	if (refused_out)
		*refused_out = refused;
	return all;
}
