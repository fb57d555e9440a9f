/* SPDX-License-Identifier: MIT
 *
 * Opening an image: bytes that may come from a file that anybody wrote, or
 * that a disk lost half of.
 */
#include "rt/image.h"

#include <stddef.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

_Static_assert(sizeof(struct rt_key) == 40 + sizeof(struct tcb_words), "keys have no padding: they are part of a file");

size_t rt_section_item(enum rt_section section)
{
	static const size_t items[RT_SECTION_COUNT] = {
		[RT_OPS] = sizeof(struct rt_stored_op),
		[RT_DEVICES] = sizeof(struct rt_stored_device),
		[RT_GROUPS] = sizeof(struct rt_group),
		[RT_POINTS] = sizeof(struct rt_point),
		[RT_SLOTS] = sizeof(struct rt_slot),
		[RT_ENTRIES] = sizeof(struct rt_entry),
		[RT_TEXTS] = 1,
		[RT_REFUSALS] = 1,
	};

	return items[section];
}

uint64_t rt_image_checksum(const unsigned char *bytes)
{
	const struct rt_image_header *header = (const struct rt_image_header *)(const void *)bytes;
	uint64_t head = XXH3_64bits(bytes, offsetof(struct rt_image_header, checksum));

	return XXH3_64bits_withSeed(bytes + sizeof(*header), header->section[RT_ENTRIES].offset - sizeof(*header),
				    head);
}

static size_t texts_length(const struct rt_entry *entry)
{
	return (size_t)entry->geometry_length + entry->variant_length + entry->signature_length +
	       entry->measured_length + 4;
}

uint64_t rt_entry_checksum(const struct rt_entry *entry, const char *texts)
{
	uint64_t head = XXH3_64bits(entry, offsetof(struct rt_entry, checksum));

	return XXH3_64bits_withSeed(texts + entry->texts, texts_length(entry), head);
}

/* Are the sections within BYTES, one after the other? */
static int sections_fit(const struct rt_image_header *header)
{
	uint64_t end = sizeof(*header);

	for (int section = 0; section < RT_SECTION_COUNT; section++) {
		const uint64_t offset = header->section[section].offset, count = header->section[section].count;

		if (offset < end || offset > header->bytes || offset % 8 != 0 ||
		    count > (header->bytes - offset) / rt_section_item((enum rt_section)section) ||
		    (section < RT_TEXTS && count > RT_ENTRIES_MAX))
			return 0;
		end = offset + count * rt_section_item((enum rt_section)section);
	}
	return 1;
}

static int is_text(const char *text, size_t capacity)
{
	return memchr(text, '\0', capacity) != NULL;
}

static int names_are_texts(const struct rt_image *image)
{
	for (uint32_t i = 0; i < image->op_count; i++)
		if (!is_text(image->ops[i].name, sizeof(image->ops[i].name)))
			return 0;
	for (uint32_t i = 0; i < image->device_count; i++) {
		const struct rt_stored_device *device = &image->devices[i];

		if (!is_text(device->name, sizeof(device->name)) || !is_text(device->key, sizeof(device->key)) ||
		    !is_text(device->arch, sizeof(device->arch)) || !is_text(device->model, sizeof(device->model)))
			return 0;
	}
	return 1;
}

static int groups_fit(const struct rt_image *image)
{
	for (uint32_t i = 0; i < image->group_count; i++)
		if (image->groups[i].begin > image->groups[i].end || image->groups[i].end > image->point_count ||
		    image->groups[i].device >= image->device_count)
			return 0;
	return 1;
}

int rt_image_open(const unsigned char *bytes, size_t count, struct rt_image *out)
{
	const struct rt_image_header *header = (const struct rt_image_header *)(const void *)bytes;

	memset(out, 0, sizeof(*out));
	if (count < sizeof(*header) || memcmp(header->magic, RT_IMAGE_MAGIC, sizeof(header->magic)) != 0 ||
	    header->format != RT_IMAGE_FORMAT || header->byte_order != RT_IMAGE_BYTE_ORDER || header->bytes != count ||
	    !sections_fit(header) || rt_image_checksum(bytes) != header->checksum)
		return -1;
	*out = (struct rt_image){
		.bytes = bytes,
		.header = header,
		.ops = (const void *)(bytes + header->section[RT_OPS].offset),
		.devices = (const void *)(bytes + header->section[RT_DEVICES].offset),
		.groups = (const void *)(bytes + header->section[RT_GROUPS].offset),
		.points = (const void *)(bytes + header->section[RT_POINTS].offset),
		.slots = (const void *)(bytes + header->section[RT_SLOTS].offset),
		.entries = (const void *)(bytes + header->section[RT_ENTRIES].offset),
		.texts = (const char *)bytes + header->section[RT_TEXTS].offset,
		.op_count = (uint32_t)header->section[RT_OPS].count,
		.device_count = (uint32_t)header->section[RT_DEVICES].count,
		.group_count = (uint32_t)header->section[RT_GROUPS].count,
		.point_count = (uint32_t)header->section[RT_POINTS].count,
		.slot_count = (uint32_t)header->section[RT_SLOTS].count,
		.entry_count = (uint32_t)header->section[RT_ENTRIES].count,
		.text_bytes = header->section[RT_TEXTS].count,
	};
	/* A power of two: probes wrap by a mask. */
	if ((out->slot_count & (out->slot_count - 1)) != 0 || out->slot_count == 0 || !names_are_texts(out) ||
	    !groups_fit(out))
		return -1;
	return 0;
}

int rt_image_entry_is_sound(const struct rt_image *image, uint32_t index)
{
	const struct rt_entry *entry = &image->entries[index];
	const char *text;

	if (entry->texts > image->text_bytes || texts_length(entry) > image->text_bytes - entry->texts ||
	    entry->key.op >= image->op_count || entry->key.device >= image->device_count ||
	    entry->key.contract >= TCB_CONTRACT_COUNT || entry->key.state >= TCB_STATE_COUNT ||
	    entry->geometry_length >= TCB_GEOMETRY_TEXT_MAX || entry->variant_length >= TCB_VARIANT_NAME_MAX ||
	    rt_entry_checksum(entry, image->texts) != entry->checksum)
		return 0;
	text = image->texts + entry->texts;
	for (int i = 0; i < 4; i++) {
		const size_t length = i == 0   ? entry->geometry_length
				      : i == 1 ? entry->variant_length
				      : i == 2 ? entry->signature_length
					       : entry->measured_length;

		if (memchr(text, '\0', length + 1) != text + length)
			return 0;
		text += length + 1;
	}
	return 1;
}
