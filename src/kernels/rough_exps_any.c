/* SPDX-License-Identifier: MIT
 *
 * Rough exponentials for any machine, and which of the families to take.
 */
#include "kernels/rough_exps_loop.h"

const struct tcb_rough_exps *tcb_rough_exps(void)
{
	static const struct tcb_rough_exps any = { rough_largest, rough_add };
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
		return &tcb_rough_exps_avx512;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return &tcb_rough_exps_avx2;
#endif
	return &any;
}
