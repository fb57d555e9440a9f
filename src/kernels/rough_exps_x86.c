/* SPDX-License-Identifier: MIT
 *
 * Rough exponentials in the widest vectors of x86 that the file is compiled for.
 */
#include "kernels/rough_exps_loop.h"
#include "kernels/simd/simd.h"

void SIMD_NAME(tcb_rough_exps)(const float *x, float max, size_t count, double *e, double sums[2])
{
	rough_exps(x, max, count, e, sums);
}
