/* SPDX-License-Identifier: MIT
 *
 * Rough exponentials for any machine, and which of the families to take.
 */
#include "kernels/rough_exps_loop.h"

static void of_any_machine(const float *x, float max, size_t count, double *e, double sums[2])
{
	rough_exps(x, max, count, e, sums);
}

tcb_rough_exps_fn *tcb_rough_exps(void)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
		return tcb_rough_exps_avx512;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return tcb_rough_exps_avx2;
#endif
	return of_any_machine;
}
