/* SPDX-License-Identifier: MIT
 *
 * Memory by mmap.  A guarded buffer lies between two inaccessible pages, its
 * end as near the second as 64-byte alignment allows; the slack on both sides
 * holds poison that tcb_buffer_check looks at.
 */
#include "base/buffer.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/problem.h"
#include "base/sizes.h"

enum { HUGE_PAGE = 2 << 20, ALIGNMENT = 64 };

static enum tcb_status map_failed(size_t bytes, struct tcb_error *err)
{
	return tcb_fail(err, TCB_E_NOMEM,
			"cannot get %zu MiB of memory (%s): close other programs or use a smaller shape", bytes >> 20,
			strerror(errno));
}

/* Maps BYTES at a multiple of 2 MiB, so that whole huge pages can back them. */
static void *map_huge_aligned(size_t bytes)
{
	char *map = mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *start;

	if (map == MAP_FAILED)
		return MAP_FAILED;
	start = (char *)tcb_round_up((uintptr_t)map, HUGE_PAGE);
	if (start > map)
		munmap(map, (size_t)(start - map));
	if (start < map + HUGE_PAGE)
		munmap(start + bytes, (size_t)(map + HUGE_PAGE - start));
	/* Refusal (a kernel without transparent huge pages) is no error: the pages are then small. */
	madvise(start, bytes, MADV_HUGEPAGE);
	return start;
}

enum tcb_status tcb_buffer_alloc(enum tcb_buffer_kind kind, size_t bytes, struct tcb_buffer *out, struct tcb_error *err)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const int is_guarded = kind == TCB_BUFFER_GUARD || kind == TCB_BUFFER_GUARD_BARE;
	size_t guard = is_guarded ? page : 0;
	struct tcb_buffer buffer = { .bytes = bytes };

	if (bytes > SIZE_MAX / 2) {
		errno = ENOMEM;
		return map_failed(bytes, err);
	}
	buffer.map_bytes = tcb_round_up(bytes ? bytes : 1, kind == TCB_BUFFER_HUGE ? HUGE_PAGE : page) + 2 * guard;
	if (kind == TCB_BUFFER_HUGE)
		buffer.map = map_huge_aligned(buffer.map_bytes);
	else
		buffer.map = mmap(NULL, buffer.map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (buffer.map == MAP_FAILED)
		return map_failed(bytes, err);
	buffer.data = buffer.map;
	if (is_guarded) {
		char *inner = (char *)buffer.map + guard;
		size_t inner_bytes = buffer.map_bytes - 2 * guard;

		buffer.slack_before = (inner_bytes - bytes) / ALIGNMENT * ALIGNMENT;
		buffer.slack_after = inner_bytes - bytes - buffer.slack_before;
		buffer.data = inner + buffer.slack_before;
		memset(inner, TCB_POISON, kind == TCB_BUFFER_GUARD ? inner_bytes : buffer.slack_before);
		memset((char *)buffer.data + bytes, TCB_POISON, buffer.slack_after);
		if (mprotect(buffer.map, guard, PROT_NONE) || mprotect(inner + inner_bytes, guard, PROT_NONE)) {
			enum tcb_status status =
				tcb_fail(err, TCB_E_NOMEM, "cannot protect guard pages: %s", strerror(errno));

			munmap(buffer.map, buffer.map_bytes);
			return status;
		}
	}
	*out = buffer;
	return TCB_OK;
}

void tcb_buffer_free(struct tcb_buffer *buffer)
{
	if (buffer->map)
		munmap(buffer->map, buffer->map_bytes);
	memset(buffer, 0, sizeof *buffer);
}

int tcb_buffer_check(const struct tcb_buffer *buffer)
{
	const unsigned char *before = (const unsigned char *)buffer->data - buffer->slack_before;
	const unsigned char *after = (const unsigned char *)buffer->data + buffer->bytes;

	for (size_t i = 0; i < buffer->slack_before; i++)
		if (before[i] != TCB_POISON)
			return -1;
	for (size_t i = 0; i < buffer->slack_after; i++)
		if (after[i] != TCB_POISON)
			return -1;
	return 0;
}

enum tcb_status tcb_buffer_protect(struct tcb_buffer *buffer, int read_only, struct tcb_error *err)
{
	char *start = (char *)buffer->data - buffer->slack_before;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t bytes = tcb_round_up(buffer->slack_before + buffer->bytes + buffer->slack_after, page);

	if (bytes && mprotect(start, bytes, read_only ? PROT_READ : PROT_READ | PROT_WRITE))
		return tcb_fail(err, TCB_E_FAILED, "cannot change the protection of %zu bytes: %s", bytes,
				strerror(errno));
	return TCB_OK;
}

void tcb_buffer_small_pages(const struct tcb_buffer *buffer)
{
	madvise(buffer->map, buffer->map_bytes, MADV_NOHUGEPAGE);
}

size_t tcb_buffer_huge_bytes(const struct tcb_buffer *buffer)
{
	FILE *file = fopen("/proc/self/smaps", "r");
	uintptr_t map_start = (uintptr_t)buffer->map, map_end = map_start + buffer->map_bytes;
	size_t huge_kib = 0;
	char line[512];
	int inside = 0;

	if (!file)
		return 0;
	while (fgets(line, sizeof line, file)) {
		unsigned long start, end, kib;

		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			inside = start < map_end && end > map_start;
		else if (inside && sscanf(line, "AnonHugePages: %lu kB", &kib) == 1)
			huge_kib += kib;
	}
	fclose(file);
	return huge_kib << 10;
}
