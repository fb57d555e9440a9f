/* SPDX-License-Identifier: MIT
 *
 * Verdicts about GPUs' kernels that outlive the process: to compare a kernel with
 * the one that was measured it is written, which takes milliseconds.  They are
 * the last section of a snapshot, and its only one that is written in place: a
 * checksum tells whether another process was about it or died meanwhile, and
 * then they are found out again.  Those of another build of the library, whose
 * kernels may differ, are not believed.
 */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/file.h"
#include "rt/runtime.h"

/* ---- which build this is ---- */

struct build {
	uintptr_t within; /* an address of this library's code */
	uint64_t stamp;
};

/* The hash of the build id among NOTES, which the linker made of all that it linked. */
static uint64_t find_build_id(const char *notes, size_t bytes)
{
	static const char name[] = "GNU";
	size_t at = 0;

	while (bytes - at >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *note = (const void *)(notes + at);
		const size_t from = at + sizeof(*note) + (note->n_namesz + 3) / 4 * 4;
		const size_t end = from + (note->n_descsz + 3) / 4 * 4;

		if (end > bytes)
			break;
		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == sizeof(name) &&
		    memcmp(notes + at + sizeof(*note), name, sizeof(name)) == 0)
			return XXH3_64bits(notes + from, note->n_descsz);
		at = end;
	}
	return 0;
}

/* Of the object that the code lies in; nonzero: no need to go on. */
static int look_at_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct build *build = ctx;
	int is_here = 0;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];

		is_here |= part->p_type == PT_LOAD && build->within - (info->dlpi_addr + part->p_vaddr) < part->p_memsz;
	}
	for (int i = 0; is_here && !build->stamp && i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];

		if (part->p_type == PT_NOTE)
			build->stamp = find_build_id((const char *)(info->dlpi_addr + part->p_vaddr), part->p_memsz);
	}
	return is_here;
}

static uint64_t build_stamp(void)
{
	struct build build = { .within = (uintptr_t)build_stamp };

	dl_iterate_phdr(look_at_object, &build);
	return build.stamp;
}

/* ---- reading and writing ---- */

static size_t kept_bytes(const struct rt_image *image)
{
	return sizeof(struct rt_kept) + image->entry_count;
}

/* Of the refusals of one build about one image. */
static uint64_t checksum_of(const struct rt_image *image, const struct rt_kept *kept)
{
	return XXH3_64bits_withSeed(kept->refusal, image->entry_count, kept->build ^ image->header->checksum);
}

static int is_believed(const struct rt_image *image, const struct rt_kept *kept)
{
	return kept->build != 0 && kept->build == build_stamp() && kept->checksum == checksum_of(image, kept);
}

void rt_kept_load(struct rt_layer *layer)
{
	const struct rt_image *image = &layer->image;
	const struct rt_kept *kept = (const void *)(image->bytes + image->header->section[RT_REFUSALS].offset);
	struct rt_kept *copy;

	if (image->header->section[RT_REFUSALS].count != kept_bytes(image) || kept->build == 0)
		return;
	/* A copy: another process may write to it. */
	copy = malloc(kept_bytes(image));
	if (!copy)
		return;
	memcpy(copy, kept, kept_bytes(image));
	if (is_believed(image, copy)) {
		layer->kept = malloc((size_t)image->entry_count + 1);
		if (layer->kept)
			memcpy(layer->kept, copy->refusal, image->entry_count);
	}
	free(copy);
}

/* Adds what is known here to what another process may have put there meanwhile. */
static void add_known(const struct rt_layer *layer, struct rt_kept *kept)
{
	if (!is_believed(&layer->image, kept))
		memset(kept, 0, kept_bytes(&layer->image));
	for (uint32_t i = 0; i < layer->image.entry_count; i++) {
		const enum rt_refusal known = rt_known(layer, i);
		const char *device = layer->image.devices[layer->image.entries[i].key.device].name;
		const struct tcb_kind *kind = tcb_kind_stored(device, NULL);

		if ((known == RT_FINE || known == RT_OTHER_KERNEL) && kind && kind->is_emitted)
			kept->refusal[i] = (uint8_t)known;
	}
	kept->build = build_stamp();
	kept->checksum = checksum_of(&layer->image, kept);
}

/* FD is the snapshot, if it is still the one that LAYER has. */
static void save(const struct rt_layer *layer, int fd, struct rt_kept *kept)
{
	const struct rt_image_header *own = layer->image.header;
	const off_t offset = (off_t)own->section[RT_REFUSALS].offset;
	const size_t bytes = kept_bytes(&layer->image);
	struct rt_image_header header;
	struct stat info;

	if (fstat(fd, &info) != 0 || info.st_uid != geteuid() ||
	    pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
	    memcmp(&header, own, sizeof(header)) != 0 || pread(fd, kept, bytes, offset) != (ssize_t)bytes)
		return;
	add_known(layer, kept);
	/* Cut short it is not believed. */
	(void)!pwrite(fd, kept, bytes, offset);
}

void rt_kept_save(const struct rt_layer *layer)
{
	const struct rt_image *image = &layer->image;
	struct rt_kept *kept;
	int fd;

	if (image->header->section[RT_REFUSALS].count != kept_bytes(image) || build_stamp() == 0)
		return;
	fd = tcb_file_open_regular(layer->snapshot, O_RDWR | O_NOFOLLOW);
	kept = fd < 0 ? NULL : malloc(kept_bytes(image));
	if (kept)
		save(layer, fd, kept);
	free(kept);
	if (fd >= 0)
		close(fd);
}
