/* SPDX-License-Identifier: MIT
 *
 * The sums of tensor cores (emu_matrix.h says how they add) in single precision,
 * four or eight columns at a time: the same bits as row_tensor of emu_matrix.c,
 * in a tenth of the time.  In: a product whose numbers are finite and so near 1
 * that products and their scaled parts are exact in float, as nearly all are.
 * What is not so near is refused.
 */
#include "ptx/emulate/tensor/emu_tensor_sums_loop.h"

int tcb_ptx_tensor_sums(const struct tcb_ptx_product *p, const float *a, const float *b, float *d)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2"))
		return tcb_ptx_tensor_sums_avx2(p, a, b, d);
#endif
	return tensor_sums(p, a, b, d);
}
