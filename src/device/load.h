/* SPDX-License-Identifier: MIT
 *
 * Who had the processors: how much of their time went to others than this
 * process and its descendants, from /proc.  Time that the host of a virtual
 * machine took away counts as others'.
 */
#ifndef TCB_DEVICE_LOAD_H
#define TCB_DEVICE_LOAD_H

#include <stdint.h>

/* A look; units are ticks of the kernel's clock, of the processors that this process may use. */
struct tcb_load {
	uint64_t total, busy, own; /* total 0: unknown here */
};

/* TCBTUNE_OTHERS=ignore in the environment: nothing is asked of what others do, as if no machine told. */
int tcb_others_are_ignored(void);
void tcb_load_look(struct tcb_load *out);
/* The share of others between two looks, 0 to 1; NaN where it is unknown, or there is too little between them. */
double tcb_load_others(const struct tcb_load *before, const struct tcb_load *after);

#endif
