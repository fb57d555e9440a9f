/* SPDX-License-Identifier: MIT
 *
 * The reference's loops with 256-bit vectors.
 */
#include <immintrin.h>

#include "kernels/matmul/matmul_reference.h"

typedef __m256d wide;
typedef __m256 slim;
enum { WIDE_LANES = 4, SLIM_LANES = 8 };

#define wide_load _mm256_loadu_pd
#define wide_store _mm256_storeu_pd
#define wide_spread _mm256_set1_pd
#define wide_multiply_add _mm256_fmadd_pd
#define slim_load _mm256_loadu_ps
#define slim_store _mm256_storeu_ps
#define slim_spread _mm256_set1_ps
#define slim_multiply_add _mm256_fmadd_ps
REFERENCE_TILE(tile_wide, double, wide, WIDE_LANES, 4, wide_load, wide_spread, wide_multiply_add, wide_store)
REFERENCE_TILE(tile_slim, float, slim, SLIM_LANES, 4, slim_load, slim_spread, slim_multiply_add, slim_store)

const struct matmul_reference_loops matmul_reference_loops_avx2 = { tile_wide, tile_slim };
