/* SPDX-License-Identifier: MIT
 *
 * What happens before what: vectors of ticks by warp.  A release writes down
 * how far a warp has come and what it knows of others; whoever acquires that
 * has all of it behind him.
 *
 * Atomics and flags in memory pass such vectors on through the place that they
 * touch: a release (or a fence before a relaxed write) leaves one there, an
 * acquire (or a fence after a relaxed read) takes it.  The last element of a
 * vector stands for all clusters that ran before.
 */
#include "ptx/emulate/emu_program.h"

#include <stdlib.h>
#include <string.h>

struct tcb_emu_places {
	const void **key;
	uint32_t *vectors; /* [capacity][agents] */
	uint32_t count, capacity;
};

static void merge(uint32_t *to, const uint32_t *from, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (to[i] < from[i])
			to[i] = from[i];
}

void tcb_emu_release(struct tcb_emu_warp *warp, uint32_t *to)
{
	uint32_t now = ++warp->run->tick;

	merge(to, warp->seen, warp->run->agents);
	to[warp->agent] = now;
}

void tcb_emu_acquire(struct tcb_emu_warp *warp, const uint32_t *from)
{
	merge(warp->seen, from, warp->run->agents);
	if (warp->synced < from[warp->agent])
		warp->synced = from[warp->agent];
}

void tcb_emu_release_async(struct tcb_emu_run *run, uint32_t *to)
{
	to[run->agents - 2] = ++run->tick;
}

void tcb_emu_fence_proxy(struct tcb_emu_warp *warp)
{
	struct tcb_emu_run *run = warp->run;

	if (!run->program->reads_async)
		return;
	merge(warp->seen + run->warps, warp->seen, run->warps);
	warp->seen[run->warps + warp->agent] = ++run->tick;
}

void tcb_emu_fence(struct tcb_emu_warp *warp)
{
	merge(warp->seen, warp->heard, warp->run->agents);
	tcb_emu_release(warp, warp->fenced);
}

/* --- places --- */

static uint32_t slot_of(const struct tcb_emu_places *places, const void *key)
{
	uint32_t at = (uint32_t)(((uintptr_t)key >> 2) * 0x9e3779b97f4a7c15ull >> 32) & (places->capacity - 1);

	while (places->key[at] && places->key[at] != key)
		at = (at + 1) & (places->capacity - 1);
	return at;
}

static int grow(struct tcb_emu_run *run)
{
	struct tcb_emu_places *old = run->places, *grown = calloc(1, sizeof *grown);

	if (!grown)
		return 0;
	grown->capacity = old ? old->capacity * 2 : 64;
	grown->key = calloc(grown->capacity, sizeof *grown->key);
	grown->vectors = calloc((size_t)grown->capacity * run->agents, sizeof *grown->vectors);
	if (!grown->key || !grown->vectors) {
		free(grown->key);
		free(grown->vectors);
		free(grown);
		return 0;
	}
	for (uint32_t i = 0; old && i < old->capacity; i++)
		if (old->key[i]) {
			uint32_t at = slot_of(grown, old->key[i]);

			grown->key[at] = old->key[i];
			memcpy(grown->vectors + (size_t)at * run->agents, old->vectors + (size_t)i * run->agents,
			       run->agents * sizeof *old->vectors);
			grown->count++;
		}
	tcb_emu_places_free(run);
	run->places = grown;
	return 1;
}

void tcb_emu_places_free(struct tcb_emu_run *run)
{
	if (!run->places)
		return;
	free(run->places->key);
	free(run->places->vectors);
	free(run->places);
	run->places = NULL;
}

/* The cluster is over: its warps become "earlier clusters". */
void tcb_emu_places_fold(struct tcb_emu_run *run)
{
	for (uint32_t i = 0; run->places && i < run->places->capacity; i++) {
		uint32_t *vector = run->places->vectors + (size_t)i * run->agents, most = 0;

		for (uint32_t k = 0; k < run->agents; k++) {
			most = most < vector[k] ? vector[k] : most;
			vector[k] = 0;
		}
		vector[run->agents - 1] = most;
	}
}

void tcb_emu_strong(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, const void *key, unsigned flags)
{
	struct tcb_emu_run *run = warp->run;
	enum tcb_ptx_word order = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_ORDER);
	uint32_t at, *vector;

	if ((!run->places || run->places->count * 2 >= run->places->capacity) && !grow(run)) {
		tcb_emu_no_memory(run);
		return;
	}
	at = slot_of(run->places, key);
	if (!run->places->key[at]) {
		run->places->key[at] = key;
		run->places->count++;
	}
	vector = run->places->vectors + (size_t)at * run->agents;
	if (flags & TCB_EMU_READ) {
		if (order == TCB_PTX_ACQUIRE || order == TCB_PTX_ACQ_REL)
			tcb_emu_acquire(warp, vector);
		else
			merge(warp->heard, vector, run->agents);
	}
	if (flags & TCB_EMU_WRITE) {
		if (order == TCB_PTX_RELEASE || order == TCB_PTX_ACQ_REL)
			tcb_emu_release(warp, vector);
		else
			merge(vector, warp->fenced, run->agents);
	}
}
