/* SPDX-License-Identifier: MIT
 *
 * Micro-kernels of the dense products in portable C.  In: packed panels.  Out:
 * a register tile of sums, each a chain in the order of k.
 */
#include "kernels/matmul/matmul.h"

#define TILE(m, n)                                                                                            \
	static void tile_##m##x##n(const struct matmul_call *call)                                            \
	{                                                                                                     \
		float sum[m][n];                                                                              \
		for (int i = 0; i < m; i++)                                                                   \
			for (int j = 0; j < n; j++)                                                           \
				sum[i][j] = call->accumulate ? call->c[i * n + j] : 0;                        \
		for (size_t k = 0; k < call->k; k++)                                                          \
			for (int i = 0; i < m; i++)                                                           \
				for (int j = 0; j < n; j++)                                                   \
					sum[i][j] += call->a[k * m + (size_t)i] * call->b[k * n + (size_t)j]; \
		for (int i = 0; i < m; i++)                                                                   \
			for (int j = 0; j < n; j++)                                                           \
				call->c[i * n + j] = sum[i][j];                                               \
	}
TILE(2, 4)
TILE(4, 2)
TILE(4, 4)

#define ROW(type, contract_, m_, n_)                                                                           \
	{                                                                                                      \
		.name = "matmul_" #type "_scalar_" #m_ "x" #n_, .contract = contract_, .isa = TCB_ISA_SCALAR,  \
		.micro = { m_, n_, 1 }, .unroll = 1, .class = TCB_CLASS_BOUNDED, .signature = TCB_SOURCE_HASH, \
		.entry = (void (*)(void))tile_##m_##x##n_,                                                     \
	}
#define LIST(type, contract)                                           \
	const struct tcb_variant matmul_##type##_variants_scalar[] = { \
		ROW(type, contract, 2, 4),                             \
		ROW(type, contract, 4, 2),                             \
		ROW(type, contract, 4, 4),                             \
		{ .name = NULL },                                      \
	};
LIST(f32, TCB_CONTRACT_F32)
LIST(f16, TCB_CONTRACT_F16)
LIST(bf16, TCB_CONTRACT_F16)
