/* SPDX-License-Identifier: MIT
 *
 * Register tiles of the dense products (matmul_tile.h) with 128-bit vectors of
 * 64-bit Arm: up to 24 sums, so that 32 registers hold them, a row of B and a
 * value of A.
 */
#include "kernels/matmul/matmul_tile.h"

#define SIZES(X, ...)         \
	X(1, 32, __VA_ARGS__) \
	X(2, 32, __VA_ARGS__) X(4, 16, __VA_ARGS__) X(6, 16, __VA_ARGS__) X(8, 12, __VA_ARGS__) X(12, 8, __VA_ARGS__)
MATMUL_FAMILY(SIZES, neon, NEON)
