/* SPDX-License-Identifier: MIT
 *
 * The register tiles of Q4_K's MatVec under contract q8 that vectors of 256 and of
 * 512 bits both have.  A file with native_rows and group_rows gets the kernels
 * and their table rows; MORE stands for those that it has besides.
 */
#ifndef TCB_KERNELS_Q4K_MATVEC_Q8_ROWS_H
#define TCB_KERNELS_Q4K_MATVEC_Q8_ROWS_H

#include "kernels/quant_matvec/q4k_matvec.h"
#include "kernels/quant_matvec/quant_matvec_micro.h"

#define Q4K_Q8_NATIVE(rows, unroll) QMV_KERNEL_LONG(native_##rows##_u##unroll, native_rows, rows, unroll)
#define Q4K_Q8_KERNELS(MORE)                                                                     \
	Q4K_Q8_NATIVE(1, 1)                                                                      \
	Q4K_Q8_NATIVE(1, 2)                                                                      \
	Q4K_Q8_NATIVE(2, 1)                                                                      \
	Q4K_Q8_NATIVE(2, 2)                                                                      \
	Q4K_Q8_NATIVE(4, 1)                                                                      \
	Q4K_Q8_NATIVE(4, 2)                                                                      \
	MORE QMV_KERNEL(group_r4, group_rows, 4, 0) QMV_KERNEL(group_r8, group_rows, 8, 0)       \
		QMV_KERNEL(group_r16, group_rows, 16, 0) QMV_KERNEL(group_r8w, group_rows, 8, 1) \
			QMV_KERNEL(group_r16w, group_rows, 16, 1)

#define Q4K_Q8_ROW(kind, class, layout, LAYOUT, rows, unroll, function) \
	Q4K_ROW(kind, q8, Q8, layout, LAYOUT, rows, unroll, class, function),
#define Q4K_Q8_ROWS(kind, class, MORE)                                                                                 \
	Q4K_Q8_ROW(kind, class, native, NATIVE, 1, 1, native_1_u1)                                                     \
	Q4K_Q8_ROW(kind, class, native, NATIVE, 1, 2, native_1_u2)                                                     \
	Q4K_Q8_ROW(kind, class, native, NATIVE, 2, 1, native_2_u1)                                                     \
	Q4K_Q8_ROW(kind, class, native, NATIVE, 2, 2, native_2_u2)                                                     \
	Q4K_Q8_ROW(kind, class, native, NATIVE, 4, 1, native_4_u1)                                                     \
	Q4K_Q8_ROW(kind, class, native, NATIVE, 4, 2, native_4_u2)                                                     \
	MORE Q4K_Q8_ROW(kind, class, r4, R4, 4, 1, group_r4) Q4K_Q8_ROW(kind, class, r8, R8, 8, 1, group_r8)           \
		Q4K_Q8_ROW(kind, class, r16, R16, 16, 1, group_r16) Q4K_Q8_ROW(kind, class, r8w, R8W, 8, 1, group_r8w) \
			Q4K_Q8_ROW(kind, class, r16w, R16W, 16, 1, group_r16w)

#endif
