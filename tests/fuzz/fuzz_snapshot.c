/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a snapshot whose checksums are right: looked over, and where that
 * finds nothing, looked up in.  Nothing outside of it is read.
 */
#include <string.h>

#include "fuzz.h"
#include "rt/runtime.h"

/* Where the sections allow it, the checksums of index and entries. */
static void sign(unsigned char *bytes, size_t count)
{
	struct rt_image_header *header = (void *)bytes;
	struct rt_image image;

	memcpy(header->magic, RT_IMAGE_MAGIC, sizeof(header->magic));
	header->format = RT_IMAGE_FORMAT;
	header->byte_order = RT_IMAGE_BYTE_ORDER;
	header->bytes = count;
	if (header->section[RT_ENTRIES].offset < sizeof(*header) || header->section[RT_ENTRIES].offset > count)
		return;
	header->checksum = rt_image_checksum(bytes);
	if (rt_image_open(bytes, count, &image))
		return;
	for (uint32_t i = 0; i < image.entry_count; i++) {
		struct rt_entry *entry = (struct rt_entry *)&image.entries[i];
		const size_t texts = (size_t)entry->geometry_length + entry->variant_length + entry->signature_length +
				     entry->measured_length + 4;

		if (entry->texts <= image.text_bytes && texts <= image.text_bytes - entry->texts)
			entry->checksum = rt_entry_checksum(entry, image.texts);
	}
}

static int see(void *ctx, const struct tcbrt_entry *entry)
{
	(void)ctx;
	FUZZ_CHECK(entry->op && entry->geometry && strlen(entry->geometry) < TCBRT_GEOMETRY_MAX && entry->database);
	return 0;
}

static void look_up(const struct tcbrt *rt)
{
	static const size_t sizes[] = { 1, 7, 2048, 4096, 8192, 65536 };

	for (size_t i = 0; i < 4 * sizeof(sizes) / sizeof(sizes[0]); i++) {
		const struct tcbrt_query query = { .op = "fake_matvec",
						   .device = i & 1 ? "sm_90" : NULL,
						   .threads = i & 2 ? 1 : 0,
						   .m = 1,
						   .n = sizes[i / 4],
						   .k = 4096 };
		struct tcbrt_tuning tuning;
		const int code = tcbrt_lookup(rt, &query, &tuning);

		FUZZ_CHECK(tuning.reason[0] && memchr(tuning.reason, 0, sizeof(tuning.reason)));
		FUZZ_CHECK(memchr(tuning.geometry, 0, sizeof(tuning.geometry)));
		FUZZ_CHECK((code == TCBRT_OK) == (tuning.source != TCBRT_SOURCE_NONE));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct rt_layer layer = { .path = "fuzzed" };
	struct tcbrt *rt;

	if (bytes < sizeof(struct rt_image_header))
		return 0;
	layer.memory = malloc(bytes);
	FUZZ_CHECK(layer.memory && tcbrt_open_empty(&rt, NULL) == TCBRT_OK);
	memcpy(layer.memory, data, bytes);
	sign(layer.memory, bytes);
	if (rt_image_open(layer.memory, bytes, &layer.image) == 0) {
		FUZZ_CHECK(rt_layer_add(rt, &layer, NULL) == TCB_OK);
		look_up(rt);
		tcbrt_each(rt, see, NULL);
		tcbrt_count(rt, NULL);
	} else {
		free(layer.memory);
	}
	tcbrt_close(rt);
	return 0;
}
