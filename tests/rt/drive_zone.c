/* SPDX-License-Identifier: MIT
 *
 * The random driver's guarded memory.
 */
#include "drive.h"

enum { MARGIN = 256 };

struct drive_zone drive_zone(size_t bytes, size_t alignment)
{
	struct drive_zone zone = { .bytes = bytes };
	struct tcb_error err;
	const size_t whole = (bytes + 3 * MARGIN) / MARGIN * MARGIN;

	if (tcb_buffer_alloc(TCB_BUFFER_GUARD, whole, &zone.buffer, &err) != TCB_OK)
		drive_fail("%s", err.message);
	const size_t back = drive_once_in(2) ? 0 : drive_below(MARGIN);
	uintptr_t at = ((uintptr_t)zone.buffer.data + whole - bytes - back) & ~(uintptr_t)(alignment - 1);
	if (at % (2 * alignment) == 0 && drive_once_in(2) && at - alignment >= (uintptr_t)zone.buffer.data)
		at -= alignment;
	zone.at = (void *)at;
	return zone;
}

void drive_zone_check(const struct drive_zone *zone, const char *what)
{
	const unsigned char *begin = zone->buffer.data, *end = begin + zone->buffer.bytes;
	const unsigned char *at = zone->at;

	if (!begin)
		return;
	for (const unsigned char *byte = begin; byte < end; byte++) {
		if (byte == at)
			byte += zone->bytes;
		if (byte < end && *byte != TCB_POISON)
			drive_fail("%s was written at byte %td of %zu", what, byte - at, zone->bytes);
	}
	DRIVE_CHECK(tcb_buffer_check(&zone->buffer) == 0, "%s was written far from its bytes", what);
}

void drive_zone_protect(struct drive_zone *zone, int read_only)
{
	struct tcb_error err;

	if (zone->buffer.data && tcb_buffer_protect(&zone->buffer, read_only, &err) != TCB_OK)
		drive_fail("%s", err.message);
}
