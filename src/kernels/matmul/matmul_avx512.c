/* SPDX-License-Identifier: MIT
 *
 * Register tiles of the dense products (matmul_tile.h) with 512-bit vectors: up
 * to 30 sums, so that 32 registers hold them, a row of B and a value of A.
 */
#include "kernels/matmul/matmul_tile.h"

#define SIZES(X, ...)         \
	X(1, 64, __VA_ARGS__) \
	X(2, 64, __VA_ARGS__) \
	X(4, 64, __VA_ARGS__) \
	X(6, 64, __VA_ARGS__) \
	X(8, 32, __VA_ARGS__) \
	X(8, 48, __VA_ARGS__) X(12, 32, __VA_ARGS__) X(14, 32, __VA_ARGS__) X(30, 16, __VA_ARGS__)
MATMUL_FAMILY(SIZES, avx512, AVX512)
