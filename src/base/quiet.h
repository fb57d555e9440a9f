/* SPDX-License-Identifier: MIT
 *
 * Samples and what others took meanwhile: which of them count.
 */
#ifndef TCB_BASE_QUIET_H
#define TCB_BASE_QUIET_H

#include <stddef.h>

#include "base/trial.h"

/* A sample is disturbed if more than this share of its time was lost to others: wake-ups of the system's own take up to
 * some 10 us, of short calls that share a look some hundredths. */
#define TCB_LOST_MOST 0.03

/* LOST: as struct tcb_measurement has it; what is unknown is not disturbed. */
static inline int tcb_is_disturbed(double lost)
{
	return lost > TCB_LOST_MOST;
}

/* The median of the samples that are not disturbed, or of all, where fewer than half of them and of three are not. */
struct tcb_interval tcb_quiet_interval(const double *samples, const double *lost, size_t count);

#endif
