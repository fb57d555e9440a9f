/* SPDX-License-Identifier: MIT
 *
 * What is stored for the very shape, over all layers: of one number of threads
 * the best proven, the user's before the system's.  Where the query leaves the
 * threads open it is the full count, unless another was measured to be faster
 * than that; what was measured with fewer alone says nothing of the full count.
 */
#include <string.h>

#include "db/verdict.h"
#include "rt/runtime.h"

/* Of one layer. */
struct place {
	const struct rt_layer *layer;
	uint32_t op, device; /* stored ones */
};

/* Where KEY's shape may be in LAYER, on the stored device that is KEY's own; 0: nowhere. */
static inline int find_place(const struct rt_layer *layer, const struct rt_key *key, struct place *out)
{
	out->layer = layer;
	out->op = layer->ops[key->op];
	out->device = key->device < layer->own_count ? layer->own[key->device] : RT_NONE;
	return out->op != RT_NONE && out->device != RT_NONE;
}

/* Is entry INDEX what its maker wrote? */
static inline int is_sound(const struct rt_layer *layer, uint32_t index)
{
	const enum rt_refusal known = rt_known(layer, index);

	return (known == RT_UNSEEN ? rt_look_at(layer, index) : known) != RT_DAMAGED;
}

/* The first entry of KEY's shape there, or RT_NONE. */
static inline uint32_t find_first(struct place place, const struct rt_key *key, int *is_damaged)
{
	const struct rt_image *image = &place.layer->image;
	const uint64_t hash = rt_key_hash(key, place.op, place.device);
	const uint32_t mask = image->slot_count - 1;

	/* As often as there are slots, in case a damaged table has no free one. */
	for (uint32_t i = 0, at = (uint32_t)hash & mask; i <= mask; i++, at = (at + 1) & mask) {
		const struct rt_slot slot = image->slots[at];

		if (slot.entry == RT_NONE)
			break;
		if (slot.tag != (uint32_t)(hash >> 32) || slot.entry >= image->entry_count)
			continue;
		if (!is_sound(place.layer, slot.entry))
			*is_damaged = 1;
		else if (rt_key_is_shape(&image->entries[slot.entry].key, key, place.op, place.device))
			return slot.entry;
	}
	return RT_NONE;
}

/* The one after AT. */
static uint32_t find_next(struct place place, const struct rt_key *key, uint32_t at, int *is_damaged)
{
	const struct rt_image *image = &place.layer->image;

	if (!image->entries[at].has_next || ++at >= image->entry_count)
		return RT_NONE;
	if (is_sound(place.layer, at))
		return rt_key_is_shape(&image->entries[at].key, key, place.op, place.device) ? at : RT_NONE;
	*is_damaged = 1;
	return RT_NONE;
}

/* Calls EACH for the entries of KEY's shape, the user's database first, until it returns nonzero.  Inline, so that EACH
 * is: a lookup takes some tens of nanoseconds. */
static inline __attribute__((always_inline)) void each_entry(const struct tcbrt *rt, const struct rt_key *key,
							     int (*each)(void *ctx, const struct rt_found *found),
							     void *ctx, int *is_damaged)
{
	for (unsigned i = 0; i < rt->layer_count; i++) {
		const struct rt_layer *layer = &rt->layers[i];
		struct place place;

		if (!find_place(layer, key, &place))
			continue;
		for (uint32_t at = find_first(place, key, is_damaged); at != RT_NONE;
		     at = find_next(place, key, at, is_damaged)) {
			const struct rt_found found = { layer, &layer->image.entries[at] };

			if (each(ctx, &found))
				return;
		}
	}
}

/* Than today's default, as far as its samples tell. */
static int may_be_slower(const struct rt_entry *entry)
{
	return entry->unserved != TCB_UNSERVED_NOT;
}

/* So much that it is believed of today's kernel. */
static int gained_much(const struct rt_entry *entry)
{
	return rt_proof(entry) == 2 && !entry->other_default && entry->unserved == TCB_UNSERVED_NOT &&
	       tcb_gain_is_believed(&entry->speedup, entry->tried);
}

struct choosing {
	const struct tcbrt *rt;
	unsigned threads; /* the number that is asked for, or the full count */
	int is_open;
	struct rt_found best;
	struct rt_exact *out;
};

/* Keeps the best proven entry of the threads. */
static inline int choose(void *ctx, const struct rt_found *found)
{
	struct choosing *choosing = ctx;
	struct rt_exact *out = choosing->out;
	enum rt_refusal refusal;

	if (found->entry->key.threads != choosing->threads) {
		if (found->entry->key.threads > out->other_threads)
			out->other_threads = found->entry->key.threads;
		return 0;
	}
	/* Only then is it worth looking at its kernel. */
	if (choosing->best.layer && rt_proof(found->entry) <= rt_proof(choosing->best.entry))
		return 0;
	refusal = rt_refusal(choosing->rt, found);
	if (refusal == RT_FINE)
		choosing->best = *found;
	else if (!out->refused.layer)
		out->refused = *found;
	if (refusal == RT_OTHER_KERNEL && !out->earlier.layer && gained_much(found->entry))
		out->earlier = *found;
	/* Nothing is better than proven; of other numbers of threads no more is to be known. */
	return !choosing->is_open && choosing->best.layer && rt_proof(choosing->best.entry) == 2;
}

struct outrunning {
	const struct tcbrt *rt;
	const struct rt_entry *full;
	double ns; /* to be beaten */
	struct rt_found found;
};

static inline int outrun(void *ctx, const struct rt_found *found)
{
	struct outrunning *outrunning = ctx;
	const struct rt_entry *entry = found->entry, *full = outrunning->full;

	/* Of few candidates a winner says little, of fewer threads nothing. */
	if (entry->key.threads < full->key.threads && entry->tried < TCB_THIN_TRIED)
		return 0;
	if (entry->key.threads == full->key.threads || entry->key.threads > outrunning->rt->processors ||
	    entry->modelled || rt_proof(entry) < rt_proof(full) || may_be_slower(entry) ||
	    !(entry->ns.median < outrunning->ns) || rt_refusal(outrunning->rt, found) != RT_FINE)
		return 0;
	outrunning->ns = entry->ns.median;
	outrunning->found = *found;
	return 0;
}

/* The fastest that was measured with another number of threads, where it beats FULL and the default beside it. */
static struct rt_found find_faster(const struct tcbrt *rt, const struct rt_key *key, const struct rt_entry *full)
{
	struct outrunning outrunning = { rt, full, full->ns.median, { NULL, NULL } };
	int is_damaged = 0;

	if (full->unserved == TCB_UNSERVED_SLOWER)
		outrunning.ns *= full->speedup.median;
	each_entry(rt, key, outrun, &outrunning, &is_damaged);
	return outrunning.found;
}

/* With every layer and number of threads in sight. */
static __attribute__((noinline)) void choose_of_all(const struct tcbrt *rt, const struct rt_key *key, unsigned threads,
						    int is_open, struct rt_exact *out)
{
	struct choosing choosing = { rt, threads, is_open, { NULL, NULL }, out };
	struct rt_found best;

	memset(out, 0, sizeof(*out));
	each_entry(rt, key, choose, &choosing, &out->is_damaged);
	best = choosing.best;
	if (!is_open)
		out->other_threads = 0;
	if (!best.layer)
		return;
	if (best.entry->modelled) {
		out->model = best;
		return;
	}
	if (out->other_threads)
		out->found = find_faster(rt, key, best.entry);
	if (out->found.layer)
		return;
	if (may_be_slower(best.entry))
		out->slower = best;
	else
		out->found = best;
}

/* Of most lookups the first entry of the first layer is the answer, and nothing else can be; NULL: look at all. */
static const struct rt_entry *find_at_once(const struct tcbrt *rt, const struct rt_key *key, unsigned threads,
					   int is_open)
{
	const struct rt_layer *layer = &rt->layers[0];
	const struct rt_entry *entry;
	struct place place;
	uint32_t at;
	int is_damaged;

	if (rt->layer_count == 0 || (is_open && rt->layer_count > 1) || !find_place(layer, key, &place))
		return NULL;
	at = find_first(place, key, &is_damaged);
	if (at == RT_NONE)
		return NULL;
	entry = &layer->image.entries[at];
	if (entry->key.threads != threads || rt_proof(entry) != 2 || may_be_slower(entry) ||
	    (is_open && entry->has_next))
		return NULL;
	if (rt_known(layer, at) == RT_FINE)
		return entry;
	return rt_refusal(rt, &(struct rt_found){ layer, entry }) == RT_FINE ? entry : NULL;
}

void rt_exact(const struct tcbrt *rt, const struct rt_key *key, struct rt_exact *out)
{
	const int is_open = key->threads == 0 && rt_has_threads(&rt->devices[key->device]);
	const unsigned threads = is_open ? rt->cores : key->threads;
	const struct rt_entry *entry = find_at_once(rt, key, threads, is_open);

	if (!entry) {
		choose_of_all(rt, key, threads, is_open, out);
		return;
	}
	out->found.layer = &rt->layers[0];
	out->found.entry = entry;
}

struct rt_found rt_exact_modelled(const struct tcbrt *rt, const struct rt_key *key)
{
	const uint32_t kind = rt->devices[key->device].kind;
	int is_damaged;

	for (unsigned i = 0; i < rt->layer_count; i++) {
		const struct rt_layer *layer = &rt->layers[i];
		struct place place = { layer, layer->ops[key->op], 0 };

		for (; place.op != RT_NONE && place.device < layer->image.device_count; place.device++) {
			struct rt_found found = { layer, NULL };
			uint32_t at;

			if (layer->relations[place.device].kin != kind)
				continue;
			at = find_first(place, key, &is_damaged);
			if (at == RT_NONE)
				continue;
			found.entry = &layer->image.entries[at];
			if (found.entry->modelled && rt_refusal(rt, &found) == RT_FINE)
				return found;
		}
	}
	return (struct rt_found){ NULL, NULL };
}
