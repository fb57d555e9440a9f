/* SPDX-License-Identifier: MIT
 *
 * Tiles of bf16 of the quantised matmuls without AMX, for tests.
 */
#ifndef TCB_TESTS_KERNELS_BF16_MATMUL_IN_C_H
#define TCB_TESTS_KERNELS_BF16_MATMUL_IN_C_H

#include "kernels/quant_matmul/quant_matmul_layout.h"

/* Of 16x16, 16x32, 32x16 and 32x32 tokens and rows; fail the test that runs on misuse of tiles. */
extern const struct qmm_kernels bf16_matmul_in_c[4];

#endif
