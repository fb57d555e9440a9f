/* SPDX-License-Identifier: MIT
 *
 * The hash table over the entries of this host: linear probing at a load of at
 * most one half, XXH3 over the 40 bytes of the key.  A slot keeps 32 bits of
 * the hash, so that one cache line of slots decides most probes.
 *
 * For a query that leaves the number of threads open, the key with threads 0
 * leads to the fastest entry that needs no more processors than there are.
 */
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "rt/runtime.h"

_Static_assert(sizeof(struct rt_key) == 40, "keys have no padding: they are hashed as they lie in memory");

static int key_is(const struct tcbrt *rt, const struct rt_slot *slot, const struct rt_key *key)
{
	const struct rt_key *have = &rt->entries[slot->entry].key;

	return slot->threads == key->threads && have->m == key->m && have->n == key->n && have->k == key->k &&
	       have->op == key->op && have->device == key->device && have->contract == key->contract &&
	       have->state == key->state;
}

/* The slot of KEY, or the free one where it belongs. */
static struct rt_slot *find_slot(const struct tcbrt *rt, const struct rt_key *key)
{
	XXH64_hash_t hash = XXH3_64bits(key, sizeof(*key));
	uint32_t tag = (uint32_t)(hash >> 32), mask = rt->slot_count - 1;

	for (uint32_t at = (uint32_t)hash & mask;; at = (at + 1) & mask) {
		struct rt_slot *slot = &rt->slots[at];

		if (slot->entry == RT_NONE || (slot->tag == tag && key_is(rt, slot, key)))
			return slot;
	}
}

static int is_refused(const struct rt_entry *entry)
{
	return entry->refusal != RT_FINE && entry->refusal != RT_UNSEEN;
}

/* May ENTRY stand in for any number of threads instead of OLD? */
static int is_better(const struct tcbrt *rt, const struct rt_entry *entry, const struct rt_entry *old)
{
	if (!old || is_refused(old) != is_refused(entry))
		return !old || is_refused(old);
	if ((old->key.threads <= rt->processors) != (entry->key.threads <= rt->processors))
		return old->key.threads > rt->processors;
	if (rt_proof(old) != rt_proof(entry))
		return rt_proof(old) < rt_proof(entry);
	return entry->ns.median < old->ns.median;
}

static void insert(struct tcbrt *rt, const struct rt_key *key, uint32_t index)
{
	struct rt_slot *slot = find_slot(rt, key);
	const struct rt_entry *old = slot->entry == RT_NONE ? NULL : &rt->entries[slot->entry];

	if (old && !is_better(rt, &rt->entries[index], old))
		return;
	slot->tag = (uint32_t)(XXH3_64bits(key, sizeof(*key)) >> 32);
	slot->threads = key->threads;
	slot->entry = index;
}

/* Can a lookup find entry INDEX? */
static int is_asked_for(const struct tcbrt *rt, uint32_t index)
{
	const struct rt_device *device = &rt->devices[rt->entries[index].key.device];

	return device->is_this_host || device->is_gpu;
}

enum tcb_status rt_table_build(struct tcbrt *rt, struct tcb_error *err)
{
	size_t slots = 16, used = 0;

	for (uint32_t i = 0; i < rt->entry_count; i++)
		used += is_asked_for(rt, i) ? 2 : 0;
	while (slots < 2 * used)
		slots *= 2;
	if (slots > UINT32_MAX || !(rt->slots = malloc(slots * sizeof(*rt->slots))))
		return tcb_fail(err, TCB_E_NOMEM, "out of memory while indexing %u tuning results", rt->entry_count);
	rt->slot_count = (uint32_t)slots;
	memset(rt->slots, 0xff, slots * sizeof(*rt->slots)); /* RT_NONE everywhere */
	for (uint32_t i = 0; i < rt->entry_count; i++) {
		struct rt_key key = rt->entries[i].key;

		if (!is_asked_for(rt, i))
			continue;
		insert(rt, &key, i);
		if (key.threads > rt->processors)
			continue;
		key.threads = 0;
		insert(rt, &key, i);
	}
	return TCB_OK;
}

const struct rt_entry *rt_table_find(const struct tcbrt *rt, const struct rt_key *key)
{
	const struct rt_slot *slot = find_slot(rt, key);

	return slot->entry == RT_NONE ? NULL : &rt->entries[slot->entry];
}
