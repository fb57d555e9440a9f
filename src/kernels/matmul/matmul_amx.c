/* SPDX-License-Identifier: MIT
 *
 * The dense products of 16-bit types (matmul_amx.h) on the processor's tiles.
 */
#include "kernels/matmul/matmul_amx.h"

/* X(m, n, ...) over the sizes of register tiles. */
#define SIZES(X, ...) X(16, 16, __VA_ARGS__) X(16, 32, __VA_ARGS__) X(32, 16, __VA_ARGS__) X(32, 32, __VA_ARGS__)

#define TASK(m, n, type, id)                                                                      \
	static void task_##type##_##m##x##n(const struct matmul_task *task)                       \
	{                                                                                         \
		amx_task(task, id, m, n);                                                         \
	}                                                                                         \
	static const struct matmul_kernels *entry_##type##_##m##x##n(void)                        \
	{                                                                                         \
		static const struct matmul_kernels kernels = { .task = task_##type##_##m##x##n }; \
		return &kernels;                                                                  \
	}
SIZES(TASK, f16, TCB_TYPE_F16)
SIZES(TASK, bf16, TCB_TYPE_BF16)

const struct tcb_variant SIMD_NAME(matmul_f16_variants)[] = { SIZES(MATMUL_ROW, f16, F16, BOUNDED){ .name = NULL } };
const struct tcb_variant SIMD_NAME(matmul_bf16_variants)[] = { SIZES(MATMUL_ROW, bf16, F16, BOUNDED){ .name = NULL } };
