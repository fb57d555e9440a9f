/* SPDX-License-Identifier: MIT
 *
 * The sums of emu_tensor_sums.c with the vectors of one instruction family; the
 * build compiles this file for each.
 */
#include "ptx/emulate/tensor/emu_tensor_sums_loop.h"

int tcb_ptx_tensor_sums_avx2(const struct tcb_ptx_product *p, const float *a, const float *b, float *d)
{
	return tensor_sums(p, a, b, d);
}
