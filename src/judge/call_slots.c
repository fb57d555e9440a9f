/* SPDX-License-Identifier: MIT
 *
 * Operands come in, where they stand goes out; and what is done with a slot as memory.
 */
#include "judge/call_slots.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/sizes.h"

enum { LINE = 64, ZONE_LEAST = 128, ZONE_MOST = 4096 };
/* From operand to operand, 13 lines: where operands lie alike in their pages, loads wait for stores that they have
 * nothing to do with. */
enum { APART = 13 * LINE, PAGE = 4096 };

static size_t up(size_t bytes)
{
	return (bytes + LINE - 1) / LINE * LINE;
}

/* The first place from AT on that lies in its page as LIKE does. */
static size_t next_like(size_t at, size_t like)
{
	return at + (like % PAGE + PAGE - at % PAGE) % PAGE;
}

enum tcb_status tcb_slots_lay(const struct tcb_operand *operands, size_t count, size_t most_bytes,
			      struct tcb_slots *out, struct tcb_error *err)
{
	size_t all = 0, virtual = 0; /* as if all operands stood behind each other */

	*out = (struct tcb_slots){ .operand_count = count };
	for (size_t i = 0; i < count; i++)
		if (operands[i].bytes > PTRDIFF_MAX / TCB_OPERANDS_MAX / 4)
			return tcb_fail(err, TCB_E_OVERFLOW, "the operands have more bytes than there are");
		else
			all += operands[i].bytes;
	out->zone = up(all / 8 < ZONE_LEAST ? ZONE_LEAST : all / 8 > ZONE_MOST ? ZONE_MOST : all / 8);
	for (size_t i = 0; i < count; i++) {
		const int is_output = operands[i].role == TCB_ROLE_OUTPUT;
		const enum tcb_region_kind kind = is_output ? TCB_REGION_OUTPUTS : TCB_REGION_INPUTS;

		out->operand[i].region = kind;
		out->operand[i].bytes = operands[i].bytes;
		virtual += APART + out->zone;
		out->operand[i].first = next_like(out->stride[kind] + out->zone, virtual);
		virtual += out->zone + up(operands[i].bytes);
		out->stride[kind] = out->operand[i].first + up(operands[i].bytes) + out->zone;
	}
	for (int kind = 0; kind < TCB_REGION_COUNT; kind++)
		out->stride[kind] = tcb_round_up(out->stride[kind], PAGE);
	out->count = most_bytes / (out->stride[TCB_REGION_INPUTS] + 2 * out->stride[TCB_REGION_OUTPUTS] + 1);
	out->count = out->count < 2 ? 2 : tcb_least(out->count, TCB_SLOTS_MAX);
	return TCB_OK;
}

size_t tcb_slots_first(const struct tcb_slots *slots, size_t slot, size_t i)
{
	return slot * slots->stride[slots->operand[i].region] + slots->operand[i].first;
}

size_t tcb_slots_bytes(const struct tcb_slots *slots, enum tcb_region_kind kind)
{
	return slots->count * slots->stride[kind] + LINE;
}

/* --- regions --- */

enum tcb_status tcb_region_create(size_t bytes, struct tcb_region *out, struct tcb_error *err)
{
	char path[40];

	*out = (struct tcb_region){ .fd = memfd_create("tcb-slots", MFD_CLOEXEC | MFD_ALLOW_SEALING), .read_fd = -1 };
	if (out->fd >= 0 && ftruncate(out->fd, (off_t)bytes) == 0) {
		(void)fcntl(out->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
		out->at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, out->fd, 0);
		out->at = out->at == MAP_FAILED ? NULL : out->at;
	}
	if (!out->at) {
		const int why = errno;

		tcb_region_destroy(out);
		return tcb_fail(err, TCB_E_NOMEM, "no %zu bytes of memory that processes share (%s)", bytes,
				strerror(why));
	}
	out->bytes = bytes;
	(void)madvise(out->at, bytes, MADV_DONTFORK);
	snprintf(path, sizeof path, "/proc/self/fd/%d", out->fd);
	out->read_fd = open(path, O_RDONLY | O_CLOEXEC);
	return TCB_OK;
}

void tcb_region_destroy(struct tcb_region *region)
{
	if (region->at)
		munmap(region->at, region->bytes);
	if (region->bytes && region->read_fd >= 0)
		close(region->read_fd);
	if (region->at || region->fd > 0)
		close(region->fd);
	memset(region, 0, sizeof *region);
}

void *tcb_region_map(const struct tcb_region *region, int is_writable)
{
	const int fd = !is_writable && region->read_fd >= 0 ? region->read_fd : region->fd;
	void *at = mmap(NULL, region->bytes, is_writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);

	return at == MAP_FAILED ? NULL : at;
}

/* --- a slot's memory --- */

/* The zones before and behind operand I, and the gap that its alignment leaves. */
static void zones_of(const struct tcb_slots *slots, size_t slot, size_t i, size_t first[2], size_t bytes[2])
{
	const size_t at = tcb_slots_first(slots, slot, i), end = at + slots->operand[i].bytes;

	first[0] = at - slots->zone;
	bytes[0] = slots->zone;
	first[1] = end;
	bytes[1] = up(slots->operand[i].bytes) - slots->operand[i].bytes + slots->zone;
}

/* The byte at place AT of a region whose words are of KEY; never 0, nor a byte of the poison. */
static unsigned char word_at(uint64_t key, size_t at)
{
	const unsigned char byte = (unsigned char)(key >> 8 * (at % 8)) ^ (unsigned char)(at / 8 * 29);

	return byte == 0 || byte == 0xff ? 0x5a : byte;
}

void tcb_slots_guard(const struct tcb_slots *slots, struct tcb_region *region, enum tcb_region_kind kind, size_t slot,
		     uint64_t key)
{
	size_t first[2], bytes[2];

	for (size_t i = 0; i < slots->operand_count; i++) {
		if (slots->operand[i].region != kind)
			continue;
		zones_of(slots, slot, i, first, bytes);
		for (int side = 0; side < 2; side++)
			for (size_t b = 0; b < bytes[side]; b++)
				region->at[first[side] + b] = (char)word_at(key, first[side] + b);
	}
}

int tcb_slots_damaged(const struct tcb_slots *slots, const struct tcb_region *region, enum tcb_region_kind kind,
		      size_t slot, uint64_t key)
{
	size_t first[2], bytes[2];

	for (size_t i = 0; i < slots->operand_count; i++) {
		if (slots->operand[i].region != kind)
			continue;
		zones_of(slots, slot, i, first, bytes);
		for (int side = 0; side < 2; side++)
			for (size_t b = 0; b < bytes[side]; b++)
				if ((unsigned char)region->at[first[side] + b] != word_at(key, first[side] + b))
					return (int)i;
	}
	return -1;
}

int tcb_slots_flush_line(const char *at)
{
#if defined(__x86_64__)
	__asm__ volatile("clflush %0" : : "m"(*at) : "memory");
	return 1;
#elif defined(__aarch64__)
	__asm__ volatile("dc civac, %0" : : "r"(at) : "memory");
	return 1;
#else
	(void)at;
	return 0;
#endif
}

int tcb_slots_flush(const struct tcb_slots *slots, const struct tcb_region *region, enum tcb_region_kind kind,
		    size_t slot)
{
	int can = 1;

	for (size_t i = 0; i < slots->operand_count; i++)
		for (size_t b = 0; slots->operand[i].region == kind && b < slots->operand[i].bytes; b += LINE)
			can = tcb_slots_flush_line(region->at + tcb_slots_first(slots, slot, i) + b);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return can;
}

void tcb_slots_touch(const struct tcb_slots *slots, const struct tcb_region *region, enum tcb_region_kind kind,
		     size_t slot)
{
	for (size_t i = 0; i < slots->operand_count; i++)
		for (size_t b = 0; slots->operand[i].region == kind && b < slots->operand[i].bytes; b += LINE)
			(void)*(const volatile char *)(region->at + tcb_slots_first(slots, slot, i) + b);
}
