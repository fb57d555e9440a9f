/* SPDX-License-Identifier: MIT
 *
 * Which of this host's processors a place is.
 */
#ifndef TCB_DEVICE_CPUS_H
#define TCB_DEVICE_CPUS_H

#include "device/device.h"

/* What a place has that is processors. */
struct tcb_cpus {
	unsigned count;         /* == device.target.threads */
	int list[TCB_CPUS_MAX]; /* OS processor numbers, one per physical core first, powerful cores first */
};
_Static_assert(sizeof(struct tcb_cpus) <= TCB_PLACE_OWN_MAX, "a place has room for it");

static inline struct tcb_cpus *tcb_place_cpus(struct tcb_place *place)
{
	return (void *)place->own;
}

/* Of a place that was opened here; lent. */
static inline const struct tcb_cpus *tcb_cpus_of(const struct tcb_place *place)
{
	return (const void *)place->own;
}

#endif
