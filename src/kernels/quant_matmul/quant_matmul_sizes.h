/* SPDX-License-Identifier: MIT
 *
 * The sizes of register tiles of the quantised matmul that there are of the
 * instruction family whose flags the including file has.
 */
#ifndef TCB_KERNELS_QUANT_MATMUL_SIZES_H
#define TCB_KERNELS_QUANT_MATMUL_SIZES_H

#include "kernels/simd/simd.h"

/* X(m, n, ...) for each: contract q8, of one token and of several, then f32, in which VNNI and AMX change nothing. */
#if defined(__AMX_INT8__)
#define QMM_SIZES_ONE(X, ...)
#define QMM_SIZES_FEW(X, ...) \
	X(16, 16, __VA_ARGS__) X(16, 32, __VA_ARGS__) X(32, 16, __VA_ARGS__) X(32, 32, __VA_ARGS__)
#define QMM_SIZES_F32(X, ...)
#elif LANES == 1
#define QMM_SIZES_ONE(X, ...) X(1, 16, __VA_ARGS__)
#define QMM_SIZES_FEW(X, ...) X(4, 16, __VA_ARGS__)
#define QMM_SIZES_F32(X, ...) X(1, 16, __VA_ARGS__) X(4, 16, __VA_ARGS__)
#elif LANES == 4
#define QMM_SIZES_ONE(X, ...) X(1, 16, __VA_ARGS__)
#define QMM_SIZES_FEW(X, ...) X(2, 16, __VA_ARGS__) X(4, 8, __VA_ARGS__) X(4, 16, __VA_ARGS__)
#define QMM_SIZES_F32(X, ...) X(1, 16, __VA_ARGS__) X(4, 16, __VA_ARGS__) X(8, 8, __VA_ARGS__)
#elif LANES == 8
#define QMM_SIZES_ONE(X, ...) X(1, 8, __VA_ARGS__)
#define QMM_SIZES_FEW(X, ...) X(2, 8, __VA_ARGS__) X(4, 8, __VA_ARGS__) X(2, 16, __VA_ARGS__) X(4, 16, __VA_ARGS__)
#define QMM_SIZES_F32(X, ...) \
	X(1, 8, __VA_ARGS__) X(4, 8, __VA_ARGS__) X(8, 8, __VA_ARGS__) X(2, 16, __VA_ARGS__) X(4, 16, __VA_ARGS__)
#elif defined(SIMD_HAS_DOT)
#define QMM_SIZES_ONE(X, ...) X(1, 16, __VA_ARGS__) X(1, 32, __VA_ARGS__)
#define QMM_SIZES_FEW(X, ...) \
	X(2, 16, __VA_ARGS__) \
	X(2, 32, __VA_ARGS__) \
	X(4, 16, __VA_ARGS__) \
	X(4, 32, __VA_ARGS__) X(8, 16, __VA_ARGS__) X(8, 32, __VA_ARGS__) X(16, 16, __VA_ARGS__)
#define QMM_SIZES_F32(X, ...)
#else
#define QMM_SIZES_ONE(X, ...) X(1, 16, __VA_ARGS__)
#define QMM_SIZES_FEW(X, ...) X(4, 16, __VA_ARGS__) X(8, 16, __VA_ARGS__) X(4, 32, __VA_ARGS__)
#define QMM_SIZES_F32(X, ...) \
	X(1, 16, __VA_ARGS__) \
	X(4, 16, __VA_ARGS__) X(8, 16, __VA_ARGS__) X(16, 16, __VA_ARGS__) X(4, 32, __VA_ARGS__) X(8, 32, __VA_ARGS__)
#endif
#define QMM_SIZES(X, ...) QMM_SIZES_ONE(X, __VA_ARGS__) QMM_SIZES_FEW(X, __VA_ARGS__)
/* Contract f16 of weights with codes: where there are tiles of bf16. */
#if defined(__AMX_INT8__)
#define QMM_SIZES_F16 QMM_SIZES_FEW
#else
#define QMM_SIZES_F16(X, ...)
#endif

#endif
