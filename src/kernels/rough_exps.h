/* SPDX-License-Identifier: MIT
 *
 * Softmax in sums, for outputs that are looked at and not for what one is held
 * against (struct tcb_op, reference_sums): exponentials in double, ten digits of
 * them, a fifth of the C library's time.
 */
#ifndef TCB_KERNELS_ROUGH_EXPS_H
#define TCB_KERNELS_ROUGH_EXPS_H

#include <stddef.h>

/* Of neighbours in a row: e = exp(x - max), depth = max - x; |factor| is a factor's size. */
struct tcb_rough_sums {
	double e, e_depth;
	double factor_e, size_e, size_e_depth;
};

struct tcb_rough_exps {
	float (*largest)(const float *x, size_t count);
	/* COUNT times x <= MAX, all finite, each with its FACTOR.  What is below exp(-700) counts as that. */
	struct tcb_rough_sums (*add)(const float *x, float max, const double *factor, size_t count);
};

/* The fastest that this machine has. */
const struct tcb_rough_exps *tcb_rough_exps(void);

extern const struct tcb_rough_exps tcb_rough_exps_avx2, tcb_rough_exps_avx512;

#endif
