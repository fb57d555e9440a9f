/* SPDX-License-Identifier: MIT
 *
 * Exponentials in double for sums that are looked at, not for what a result is
 * held against: ten digits, in a fifth of the C library's time.
 */
#ifndef TCB_KERNELS_ROUGH_EXPS_H
#define TCB_KERNELS_ROUGH_EXPS_H

#include <stddef.h>

/* COUNT times E = exp(x - MAX), where x <= MAX are finite; adds them up to SUMS[0], each times MAX - x to SUMS[1]. What
 * is below exp(-700) is that. */
typedef void tcb_rough_exps_fn(const float *x, float max, size_t count, double *e, double sums[2]);

/* The fastest that this machine has. */
tcb_rough_exps_fn *tcb_rough_exps(void);

extern tcb_rough_exps_fn tcb_rough_exps_avx2, tcb_rough_exps_avx512;

#endif
