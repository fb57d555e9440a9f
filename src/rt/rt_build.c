/* SPDX-License-Identifier: MIT
 *
 * A database becomes an image: its winners are read, judged and sorted, and
 * indexed by shape (a hash table) and by nearness (groups of points).
 *
 * What a near shape may take is a proven winner that is surely no worse than
 * the default at its own shape and whose kernel is today's, as far as that is
 * known without writing a GPU's.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "db/verdict.h"
#include "kernels/default_rules.h"
#include "rt/runtime.h"

struct building {
	struct tcbrt *rt;
	struct rt_stored_op *ops;
	struct rt_stored_device *devices;
	struct rt_entry *entries;
	char *texts;
	size_t op_count, op_room, device_count, device_room, entry_count, entry_room, text_bytes, text_room;
	size_t device; /* of the last entry: entries of one device follow each other */
	int failed;
};

/* Room for COUNT more items of ITEM_BYTES, which are zeroed; 0, or -1 for lack of memory. */
static int reserve(void **items, size_t used, size_t *room, size_t count, size_t item_bytes)
{
	size_t want = *room;
	void *grown;

	if (count > *room - used) {
		while (want - used < count)
			want = want ? 2 * want : 64;
		grown = realloc(*items, want * item_bytes);
		if (!grown)
			return -1;
		*items = grown;
		*room = want;
	}
	memset((char *)*items + used * item_bytes, 0, count * item_bytes);
	return 0;
}

#define RESERVE(items, used, room, count) reserve((void **)&(items), used, &(room), count, sizeof(*(items)))

static size_t find_op(struct building *building, const char *name)
{
	for (size_t i = building->op_count; i-- > 0;)
		if (strcmp(building->ops[i].name, name) == 0)
			return i;
	if (RESERVE(building->ops, building->op_count, building->op_room, 1))
		return RT_NONE;
	memcpy(building->ops[building->op_count].name, name, strlen(name));
	return building->op_count++;
}

static size_t find_device(struct building *building, const struct tcb_best *best)
{
	struct rt_stored_device *device;

	for (size_t i = 0; i <= building->device_count; i++) {
		const size_t at = i == 0 ? building->device : i - 1;

		if (at < building->device_count && strcmp(building->devices[at].name, best->device_name) == 0 &&
		    strcmp(building->devices[at].key, best->device_key) == 0)
			return at;
	}
	if (RESERVE(building->devices, building->device_count, building->device_room, 1))
		return RT_NONE;
	device = &building->devices[building->device_count];
	memcpy(device->name, best->device_name, strlen(best->device_name));
	memcpy(device->key, best->device_key, strlen(best->device_key));
	memcpy(device->arch, best->arch, strlen(best->arch));
	memcpy(device->model, best->model, strlen(best->model));
	device->measured_on = best->target;
	return building->device_count++;
}

static int add_text(struct building *building, const char *text, uint16_t *length_out)
{
	const size_t bytes = strlen(text) + 1;

	if (RESERVE(building->texts, building->text_bytes, building->text_room, bytes))
		return -1;
	memcpy(building->texts + building->text_bytes, text, bytes);
	building->text_bytes += bytes;
	*length_out = (uint16_t)(bytes - 1);
	return 0;
}

/* Was the gain of BEST measured against what is the default today? */
static int has_todays_default(const struct tcbrt *rt, const struct tcb_op *op, const struct tcb_best *best)
{
	const uint32_t device = rt_device_find(rt, best->device_name);
	struct tcb_target target = best->target;
	struct tcb_geometry measured, today;
	struct tcb_problem problem;

	if (device != RT_NONE && rt_has_threads(&rt->devices[device])) {
		target = rt->devices[device].target;
		target.threads = best->threads;
	}
	if (tcb_problem_init(op, best->problem.contract, &best->problem.shape, &problem, NULL) != TCB_OK ||
	    tcb_geometry_parse_of(best->default_geometry, op->parameters, &measured, NULL) != TCB_OK)
		return 0;
	(void)tcb_default_geometry(&problem, &target, &today);
	return tcb_geometry_equal(&measured, &today);
}

/* Whether the kernel has changed since, lookups ask when they come to an entry. */
static uint8_t verdict_of(const struct tcb_best *best)
{
	static const uint8_t verdicts[TCB_VERDICT_COUNT] = {
		[TCB_VERDICT_TUNED] = TCBRT_VERDICT_TUNED,       [TCB_VERDICT_THIN] = TCBRT_VERDICT_THIN,
		[TCB_VERDICT_NOISY] = TCBRT_VERDICT_NOISY,       [TCB_VERDICT_PROVISIONAL] = TCBRT_VERDICT_PROVISIONAL,
		[TCB_VERDICT_MODELLED] = TCBRT_VERDICT_MODELLED,
	};

	return verdicts[tcb_best_verdict(best, 0)];
}

static void judge(const struct tcbrt *rt, const struct tcb_best *best, struct rt_entry *entry)
{
	const uint32_t op = rt_op_find(rt, best->problem.op_name);
	const struct rt_claim claim = { best->problem.contract, best->problem.shape, best->threads,
					best->geometry,         best->variant,       best->signature };
	struct tcb_geometry geometry;
	const uint32_t number = rt_device_find(rt, best->device_name);
	struct rt_device device = { .length = 0 };
	int is_known = number != RT_NONE;
	enum rt_refusal refusal;

	if (is_known) {
		device = rt->devices[number];
		rt_device_take_limits(&best->target, &device);
	}
	/* What is legal on another machine's CPU nobody knows here. */
	if (is_known && rt_has_threads(&device) && strcmp(device.key, best->device_key) != 0)
		is_known = 0;
	refusal = rt_judge(op == RT_NONE ? NULL : rt->ops[op].op, is_known ? &device : NULL, &claim, &geometry);
	/* Member by member: what lies between them stays zero. */
	memcpy(entry->geometry.tile, geometry.tile, sizeof(geometry.tile));
	memcpy(entry->geometry.knob, geometry.knob, sizeof(geometry.knob));
	/* Of older kernels, too: rt_exact.c says when they answer. */
	entry->other_default =
		(refusal == RT_FINE || refusal == RT_OTHER_KERNEL) && !has_todays_default(rt, rt->ops[op].op, best);
	entry->unserved = (uint8_t)tcb_best_unserved(best, 0, entry->other_default) & UINT8_MAX >> 1;
	/* Written so that a NaN does not pass. */
	entry->may_serve = refusal == RT_FINE && !entry->other_default && entry->unserved == TCB_UNSERVED_NOT &&
			   best->tried >= TCB_THIN_TRIED && !best->modelled && !best->provisional &&
			   best->speedup.lo >= 1;
}

static int add_entry(void *ctx, const struct tcb_best *best)
{
	struct building *building = ctx;
	const struct tcb_shape *shape = &best->problem.shape;
	const size_t op = find_op(building, best->problem.op_name);
	struct rt_entry *entry;
	uint32_t kind;

	building->device = find_device(building, best);
	building->failed = 1;
	if (op == RT_NONE || building->device == RT_NONE || building->entry_count == RT_ENTRIES_MAX ||
	    rt_device_add(building->rt, best->device_name, &kind, NULL) != TCB_OK ||
	    RESERVE(building->entries, building->entry_count, building->entry_room, 1))
		return 1;
	entry = &building->entries[building->entry_count];
	entry->key = (struct rt_key){ (uint32_t)op,
				      (uint32_t)building->device,
				      (uint16_t)best->problem.contract,
				      (uint16_t)best->state,
				      best->threads,
				      shape->m,
				      shape->n,
				      shape->k,
				      shape->words };
	entry->ns = best->ns;
	entry->speedup = best->speedup;
	entry->plain_ns = best->plain_ns > 0 ? best->plain_ns : 0;
	entry->modelled = best->modelled != 0;
	entry->provisional = best->provisional != 0;
	entry->verdict = verdict_of(best);
	entry->tried = best->tried < UINT16_MAX ? (uint16_t)best->tried : UINT16_MAX;
	entry->texts = building->text_bytes;
	if (add_text(building, best->geometry, &entry->geometry_length) ||
	    add_text(building, best->variant, &entry->variant_length) ||
	    add_text(building, best->signature, &entry->signature_length) ||
	    add_text(building, best->measured_at, &entry->measured_length))
		return 1;
	judge(building->rt, best, entry);
	building->entry_count++;
	building->failed = 0;
	return 0;
}

/* --- order --- */

#define ORDER(a, b)                                \
	do {                                       \
		if ((a) != (b))                    \
			return (a) < (b) ? -1 : 1; \
	} while (0)

static int by_key(const void *left, const void *right, void *ctx)
{
	const struct rt_entry *entries = ctx;
	const struct rt_key *a = &entries[*(const uint32_t *)left].key;
	const struct rt_key *b = &entries[*(const uint32_t *)right].key;

	ORDER(a->op, b->op);
	ORDER(a->device, b->device);
	ORDER(a->contract, b->contract);
	ORDER(a->m, b->m);
	ORDER(a->n, b->n);
	ORDER(a->k, b->k);
	ORDER(memcmp(&a->words, &b->words, sizeof(a->words)), 0);
	ORDER(a->state, b->state);
	ORDER(a->threads, b->threads);
	return 0;
}

/* In the image: by group, then as it comes. */
static int by_group(const void *left, const void *right, void *ctx)
{
	const struct rt_entry *entries = ctx;
	const uint32_t i = *(const uint32_t *)left, j = *(const uint32_t *)right;
	const struct rt_key *a = &entries[i].key, *b = &entries[j].key;

	ORDER(a->op, b->op);
	ORDER(a->contract, b->contract);
	ORDER(a->state, b->state);
	ORDER(a->threads, b->threads);
	ORDER(rt_key_depth(a), rt_key_depth(b));
	ORDER(rt_words_kind(&a->words), rt_words_kind(&b->words));
	ORDER(a->device, b->device);
	ORDER(i, j);
	return 0;
}

/* --- laying it out --- */

static size_t slots_for(size_t entries)
{
	size_t slots = 16;

	while (slots < 2 * entries)
		slots *= 2;
	return slots;
}

static void lay_out(const struct building *building, size_t groups, size_t points, struct rt_image_header *header)
{
	const size_t counts[RT_SECTION_COUNT] = {
		[RT_OPS] = building->op_count,
		[RT_DEVICES] = building->device_count,
		[RT_GROUPS] = groups,
		[RT_POINTS] = points,
		[RT_SLOTS] = slots_for(building->entry_count),
		[RT_ENTRIES] = building->entry_count,
		[RT_TEXTS] = building->text_bytes,
		[RT_REFUSALS] = sizeof(struct rt_kept) + building->entry_count,
	};
	uint64_t offset = sizeof(*header);

	for (int section = 0; section < RT_SECTION_COUNT; section++) {
		offset = (offset + 63) / 64 * 64;
		header->section[section].offset = offset;
		header->section[section].count = counts[section];
		offset += counts[section] * rt_section_item((enum rt_section)section);
	}
	header->bytes = offset;
}

static int is_same_shape(const struct rt_key *a, const struct rt_key *b)
{
	return rt_key_is_shape(a, b, b->op, b->device);
}

/* The entries in their order, each followed in the texts by its own. */
static void put_entries(const struct building *building, const uint32_t *order, struct rt_entry *out, char *texts)
{
	uint64_t at = 0;

	for (size_t i = 0; i < building->entry_count; i++) {
		const struct rt_entry *from = &building->entries[order[i]];
		const size_t bytes = (size_t)from->geometry_length + from->variant_length + from->signature_length +
				     from->measured_length + 4;

		memcpy(&out[i], from, sizeof(*from));
		memcpy(texts + at, building->texts + from->texts, bytes);
		out[i].texts = at;
		out[i].has_next = i + 1 < building->entry_count &&
				  is_same_shape(&from->key, &building->entries[order[i + 1]].key);
		out[i].checksum = rt_entry_checksum(&out[i], texts);
		at += bytes;
	}
}

static void put_slots(const struct rt_entry *entries, size_t count, struct rt_slot *slots, size_t slot_count)
{
	memset(slots, 0xff, slot_count * sizeof(*slots)); /* RT_NONE everywhere */
	for (size_t i = 0; i < count; i++) {
		const struct rt_key *key = &entries[i].key;
		const uint64_t hash = rt_key_hash(key, key->op, key->device);
		size_t at = hash & (slot_count - 1);

		if (i > 0 && is_same_shape(&entries[i - 1].key, &entries[i].key))
			continue;
		while (slots[at].entry != RT_NONE)
			at = (at + 1) & (slot_count - 1);
		slots[at] = (struct rt_slot){ (uint32_t)(hash >> 32), (uint32_t)i };
	}
}

static int is_of_group(const struct rt_group *group, const struct rt_key *key)
{
	return group->op == key->op && group->contract == key->contract && group->state == key->state &&
	       group->threads == key->threads && group->depth == rt_key_depth(key) &&
	       group->words == rt_words_kind(&key->words) && group->device == key->device;
}

/* Sorts the numbers of the COUNT entries by group; with GROUPS and POINTS NULL only counts those. */
static void put_groups(const struct rt_entry *entries, size_t count, uint32_t *grouped, struct rt_group *groups,
		       struct rt_point *points, size_t counts_out[2])
{
	struct rt_group group = { .op = RT_NONE };
	size_t group_count = 0, point_count = 0;

	for (uint32_t i = 0; i < count; i++)
		grouped[i] = i;
	qsort_r(grouped, count, sizeof(*grouped), by_group, (void *)entries);
	for (size_t i = 0; i < count; i++) {
		const struct rt_entry *entry = &entries[grouped[i]];
		const struct rt_key *key = &entry->key;

		if (!is_of_group(&group, key)) {
			group = (struct rt_group){ .op = key->op,
						   .contract = key->contract,
						   .state = key->state,
						   .threads = key->threads,
						   .depth = rt_key_depth(key),
						   .words = rt_words_kind(&key->words),
						   .device = key->device,
						   .begin = (uint32_t)point_count };
			group_count++;
		}
		group.stored++;
		if (entry->may_serve) {
			if (points) {
				points[point_count] =
					(struct rt_point){ .ns = (float)entry->ns.median, .entry = grouped[i] };
				rt_key_axes(key, points[point_count].at);
			}
			point_count++;
		}
		group.end = (uint32_t)point_count;
		if (groups)
			groups[group_count - 1] = group;
	}
	for (size_t i = 0; groups && i < group_count; i++)
		rt_points_build(points + groups[i].begin, groups[i].end - groups[i].begin);
	counts_out[0] = group_count;
	counts_out[1] = point_count;
}

static void put(unsigned char *bytes, const struct rt_image_header *header, enum rt_section section, const void *items)
{
	const size_t count = (size_t)header->section[section].count * rt_section_item(section);

	if (count)
		memcpy(bytes + header->section[section].offset, items, count);
}

/* NUMBERS have room for every entry's. */
static enum tcb_status assemble(const struct building *building, const struct rt_image_header *head, uint32_t *numbers,
				void **image_out, struct tcb_error *err)
{
	struct rt_image_header header = *head;
	const size_t count = building->entry_count;
	struct rt_entry *entries;
	unsigned char *bytes;
	size_t counts[2];

	put_groups(building->entries, count, numbers, NULL, NULL, counts);
	lay_out(building, counts[0], counts[1], &header);
	*image_out = bytes = aligned_alloc(64, (header.bytes + 63) / 64 * 64);
	if (!bytes)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory while indexing %zu tuning results", count);
	memset(bytes, 0, (size_t)header.section[RT_ENTRIES].offset);
	memset(bytes + header.section[RT_TEXTS].offset - 64, 0, 64); /* what lies between entries and texts */
	memset(bytes + header.section[RT_TEXTS].offset + building->text_bytes, 0,
	       (size_t)(header.bytes - header.section[RT_TEXTS].offset) - building->text_bytes);
	memcpy(bytes, &header, sizeof(header));
	put(bytes, &header, RT_OPS, building->ops);
	put(bytes, &header, RT_DEVICES, building->devices);
	entries = (void *)(bytes + header.section[RT_ENTRIES].offset);
	for (uint32_t i = 0; i < count; i++)
		numbers[i] = i;
	qsort_r(numbers, count, sizeof(*numbers), by_key, building->entries);
	put_entries(building, numbers, entries, (char *)bytes + header.section[RT_TEXTS].offset);
	put_slots(entries, count, (void *)(bytes + header.section[RT_SLOTS].offset),
		  (size_t)header.section[RT_SLOTS].count);
	put_groups(entries, count, numbers, (void *)(bytes + header.section[RT_GROUPS].offset),
		   (void *)(bytes + header.section[RT_POINTS].offset), counts);
	((struct rt_image_header *)(void *)bytes)->checksum = rt_image_checksum(bytes);
	return TCB_OK;
}

static enum tcb_status finish(const struct building *building, const struct rt_image_header *header, void **image_out,
			      struct tcb_error *err)
{
	uint32_t *numbers = calloc(building->entry_count + 1, sizeof(*numbers));
	enum tcb_status status = numbers ? assemble(building, header, numbers, image_out, err)
					 : tcb_fail(err, TCB_E_NOMEM, "out of memory while sorting tuning results");

	free(numbers);
	return status;
}

enum tcb_status rt_build(struct tcbrt *rt, struct tcb_db *db, const struct tcb_db_stamp *stamp, void **image_out,
			 size_t *bytes_out, struct tcb_error *err)
{
	struct building building = { .rt = rt };
	struct rt_image_header header = { .magic = RT_IMAGE_MAGIC,
					  .format = RT_IMAGE_FORMAT,
					  .byte_order = RT_IMAGE_BYTE_ORDER,
					  .library = rt_stamp_library(rt),
					  .database = *stamp };
	enum tcb_status status = tcb_db_best_each(db, NULL, add_entry, &building, err);

	*image_out = NULL;
	header.unreadable = tcb_db_unreadable(db, NULL);
	if (status == TCB_OK && building.failed)
		status = tcb_fail(err, TCB_E_NOMEM, "out of memory while loading tuning results");
	if (status == TCB_OK)
		status = finish(&building, &header, image_out, err);
	if (status == TCB_OK)
		*bytes_out = (size_t)((const struct rt_image_header *)*image_out)->bytes;
	free(building.ops);
	free(building.devices);
	free(building.entries);
	free(building.texts);
	return status;
}

static uint64_t hash_more(const void *data, size_t bytes, uint64_t hash)
{
	return XXH3_64bits_withSeed(data, bytes, hash);
}

uint64_t rt_stamp_library(const struct tcbrt *rt)
{
	const size_t sizes[] = { TCBRT_VERSION,           RT_IMAGE_FORMAT,
				 sizeof(struct rt_entry), sizeof(struct rt_stored_device),
				 sizeof(struct rt_group), TCB_KNOBS_MAX };
	uint64_t hash = hash_more(sizes, sizeof(sizes), 0);

	for (uint32_t i = 0; i < rt->op_count; i++) {
		char signature[TCB_SIGNATURE_MAX];

		tcb_op_signature(rt->ops[i].op, signature);
		hash = hash_more(rt->ops[i].name, strlen(rt->ops[i].name), hash);
		hash = hash_more(signature, strlen(signature), hash);
	}
	for (uint32_t i = 0; i < rt->host_device_count; i++) {
		const struct rt_device *device = &rt->devices[i];
		const uint64_t target[] = { device->target.isa_mask, device->target.line_bytes,
					    device->target.l1d_bytes, device->target.l2_bytes,
					    device->target.llc_bytes };

		hash = hash_more(device->name, strlen(device->name), hash);
		hash = hash_more(device->key, strlen(device->key), hash);
		hash = hash_more(device->arch, strlen(device->arch), hash);
		hash = hash_more(target, sizeof(target), hash);
	}
	return hash;
}
