/* SPDX-License-Identifier: MIT
 *
 * Micro-kernels of q4k_matvec, contract q8, AVX-512 VNNI:
 * the generics of q4k_matvec_q8_zmm.h with fused dot products.
 */
#include "kernels/quant_matvec/q4k_matvec_q8_zmm.h"

#define NATIVE(rows, unroll) QMV_KERNEL_LONG(native_##rows##_u##unroll, native_rows, rows, unroll)
NATIVE(1, 1)
NATIVE(1, 2)
NATIVE(2, 1)
NATIVE(2, 2)
NATIVE(4, 1)
NATIVE(4, 2)
NATIVE(8, 1)
QMV_KERNEL(group_r4, group_rows, 4, 0)
QMV_KERNEL(group_r8, group_rows, 8, 0)
QMV_KERNEL(group_r16, group_rows, 16, 0)
QMV_KERNEL(group_r8w, group_rows, 8, 1)
QMV_KERNEL(group_r16w, group_rows, 16, 1)

#define ROW(layout, LAYOUT, rows, unroll, function) \
	Q4K_ROW(q8, Q8, avx512vnni, AVX512VNNI, layout, LAYOUT, rows, unroll, TCB_CLASS_BOUNDED, function)
const struct tcb_variant q4k_variants_q8_avx512vnni[] = {
	ROW(native, NATIVE, 1, 1, native_1_u1),
	ROW(native, NATIVE, 1, 2, native_1_u2),
	ROW(native, NATIVE, 2, 1, native_2_u1),
	ROW(native, NATIVE, 2, 2, native_2_u2),
	ROW(native, NATIVE, 4, 1, native_4_u1),
	ROW(native, NATIVE, 4, 2, native_4_u2),
	ROW(native, NATIVE, 8, 1, native_8_u1),
	ROW(r4, R4, 4, 1, group_r4),
	ROW(r8, R8, 8, 1, group_r8),
	ROW(r16, R16, 16, 1, group_r16),
	ROW(r8w, R8W, 8, 1, group_r8w),
	ROW(r16w, R16W, 16, 1, group_r16w),
	{ .name = NULL },
};
