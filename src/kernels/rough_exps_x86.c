/* SPDX-License-Identifier: MIT
 *
 * Rough exponentials in the widest vectors of x86 that the file is compiled for.
 */
#include "kernels/rough_exps_loop.h"
#include "kernels/simd/simd.h"

const struct tcb_rough_exps SIMD_NAME(tcb_rough_exps) = { rough_largest, rough_add };
