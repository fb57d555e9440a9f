/* SPDX-License-Identifier: MIT
 *
 * How much cache the processors of a place really have for this process, and
 * how many bytes copies of operands must go over so that a call finds nothing
 * of them in it.  What the system reports is the host's cache in many virtual
 * machines, of which the guest has a slice, and nothing in others.
 */
#ifndef TCB_DEVICE_CACHE_H
#define TCB_DEVICE_CACHE_H

#include <stddef.h>

#include "base/deadline.h"
#include "base/status.h"

struct tcb_place;

/*
 * What a line takes to be read, in nanoseconds, after BYTES of others were read since: the least that was seen, so that
 * others who use the cache meanwhile do not hide it; and after it was flushed.
 */
struct tcb_cache_point {
	size_t bytes;
	double warm_ns, cold_ns;
};

/*
 * The least bytes of POINTS, whose bytes ascend, from which on all are cold: a fifth at most of the lines are still in
 * a cache of any level.  0 where the points do not tell: flushed lines take hardly longer than others, or fewer than
 * two points at the end are cold.
 */
size_t tcb_cache_knee(const struct tcb_cache_point *points, size_t count);

enum { TCB_CACHE_POINTS_MAX = 24 };
struct tcb_cache {
	size_t bytes; /* the knee; 0: it was not found */
	int is_sure;  /* enough of the samples were taken without being interrupted: worth keeping */
	struct tcb_cache_point points[TCB_CACHE_POINTS_MAX];
	size_t count;
};

/* Measures that of PLACE's processors together, as many as they are; goes on until the knee is found or until
 * DEADLINE.  Takes 0.1 to 0.5 s and up to four times the reported cache of memory. */
enum tcb_status tcb_cache_measure(const struct tcb_place *place, struct tcb_deadline deadline, struct tcb_cache *out,
				  struct tcb_error *err);

/* What of it is used: the measured size where it is known, though not less than what is reported of up to 64 MiB (a
 * busy machine may have hidden so much); else the reported size, 0 where nothing is. */
size_t tcb_cache_bytes(const struct tcb_place *place);

/* Of a rotation: how many bytes copies go over, and how many are enough where there is no time for more. */
struct tcb_rotation_size {
	size_t bytes, enough;
};
/* Twice what tcb_cache_bytes() says; where nothing was measured at least 512 MiB, and four times the reported size is
 * enough. */
struct tcb_rotation_size tcb_rotation_size(const struct tcb_place *place);

#endif
