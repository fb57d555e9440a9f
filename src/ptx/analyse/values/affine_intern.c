/* SPDX-License-Identifier: MIT
 *
 * In: what a value has for each thread, and how symbols are computed.  Out: one
 * pointer for equal lanes, one number for equal symbols, so that the rest
 * compares neither.
 */
#include "ptx/analyse/values/affine_intern.h"
#include "ptx/analyse/values/affine_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"

/* The place of HASH among the entries for which SAME says yes; *FOUND tells whether there is one. */
static uint32_t *intern_slot(struct tcb_ptx_affine *a, struct tcb_ptx_intern *t, uint64_t hash,
			     int (*same)(struct tcb_ptx_affine *a, uint32_t entry, const void *key), const void *key)
{
	uint32_t at;

	if (t->count * 2 >= t->capacity) {
		uint32_t capacity = t->capacity ? t->capacity * 2 : 64;
		uint64_t *hashes = tcb_arena_array(&a->arena, capacity, sizeof *hashes);
		uint32_t *slots = tcb_arena_array(&a->arena, capacity, sizeof *slots);

		if (!hashes || !slots)
			return NULL;
		for (uint32_t i = 0; i < t->capacity; i++) {
			if (!t->slots[i])
				continue;
			at = (uint32_t)t->hashes[i] & (capacity - 1);
			while (slots[at])
				at = (at + 1) & (capacity - 1);
			slots[at] = t->slots[i];
			hashes[at] = t->hashes[i];
		}
		t->hashes = hashes;
		t->slots = slots;
		t->capacity = capacity;
	}
	at = (uint32_t)hash & (t->capacity - 1);
	while (t->slots[at] && !(t->hashes[at] == hash && same(a, t->slots[at] - 1, key)))
		at = (at + 1) & (t->capacity - 1);
	t->hashes[at] = hash;
	return &t->slots[at];
}

/* An array of COUNT elements with room for one more, or NULL. */
static void *with_room(struct tcb_ptx_affine *a, void *old, uint32_t count, uint32_t *capacity, size_t size)
{
	void *grown;

	if (count < *capacity)
		return old;
	grown = tcb_arena_regrow(&a->arena, old, count, *capacity ? *capacity * 2 : 32, size);
	if (grown)
		*capacity = *capacity ? *capacity * 2 : 32;
	return grown;
}

static int same_lanes(struct tcb_ptx_affine *a, uint32_t entry, const void *key)
{
	return memcmp(a->lane_sets[entry], key, a->threads * sizeof(uint64_t)) == 0;
}

/* The coefficient whose value for each thread stands in a->scratch. */
struct tcb_ptx_coefficient tcb_ptx_affine_keep(struct tcb_ptx_affine *a, unsigned bits)
{
	struct tcb_ptx_coefficient c = { a->scratch[0] & tcb_ptx_bits_mask(bits), NULL };
	size_t bytes = a->threads * sizeof(uint64_t);
	uint64_t any = 0, *copy;
	uint32_t *slot;

	for (uint32_t t = 0; t < a->threads; t++) {
		a->scratch[t] = (a->scratch[t] - c.constant) & tcb_ptx_bits_mask(bits);
		any |= a->scratch[t];
	}
	if (!any)
		return c;
	slot = intern_slot(a, &a->lane_index, tcb_hash64(a->scratch, bytes, 0), same_lanes, a->scratch);
	if (slot && !*slot) {
		uint64_t **sets = with_room(a, a->lane_sets, a->lane_count, &a->lane_capacity, sizeof *a->lane_sets);

		copy = tcb_arena_alloc(&a->arena, bytes);
		if (!sets || !copy) {
			a->failed = 1;
			return c;
		}
		memcpy(copy, a->scratch, bytes);
		a->lane_sets = sets;
		sets[a->lane_count++] = copy;
		a->lane_index.count++;
		*slot = a->lane_count;
	}
	if (!slot)
		a->failed = 1;
	else
		c.lanes = a->lane_sets[*slot - 1];
	return c;
}

static int same_key(struct tcb_ptx_affine *a, uint32_t entry, const void *key)
{
	const uint64_t *words = key, *kept = a->symbol_keys[entry];

	return kept[0] == words[0] && memcmp(kept, words, (size_t)(words[0] + 1) * sizeof *words) == 0;
}

uint32_t tcb_ptx_affine_symbol_for(struct tcb_ptx_affine *a, const uint64_t *key, uint32_t words,
				   const struct tcb_ptx_symbolic *like)
{
	size_t bytes = (words + 1) * sizeof *key;
	uint64_t *copy = tcb_arena_alloc(&a->arena, bytes);
	struct tcb_ptx_symbolic *symbols;
	uint32_t capacity = a->symbol_capacity, *slot;
	uint64_t **keys;

	if (copy) {
		copy[0] = words;
		memcpy(copy + 1, key, words * sizeof *key);
	}
	slot = copy ? intern_slot(a, &a->symbol_index, tcb_hash64(copy, bytes, 0), same_key, copy) : NULL;
	if (slot && *slot)
		return *slot - 1;
	keys = with_room(a, a->symbol_keys, a->symbol_count, &capacity, sizeof *keys);
	symbols = with_room(a, a->symbols, a->symbol_count, &a->symbol_capacity, sizeof *symbols);
	if (!slot || !keys || !symbols) {
		a->failed = 1;
		return 0;
	}
	a->symbol_keys = keys;
	a->symbols = symbols;
	keys[a->symbol_count] = copy;
	symbols[a->symbol_count] = *like;
	a->symbol_index.count++;
	*slot = ++a->symbol_count;
	return a->symbol_count - 1;
}
