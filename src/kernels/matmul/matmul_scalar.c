/* SPDX-License-Identifier: MIT
 *
 * Register tiles of the dense products (matmul_tile.h) in portable C.
 */
#include "kernels/matmul/matmul_tile.h"

#define SIZES(X, ...) X(2, 4, __VA_ARGS__) X(4, 2, __VA_ARGS__) X(4, 4, __VA_ARGS__)
MATMUL_FAMILY(SIZES, scalar, SCALAR)
