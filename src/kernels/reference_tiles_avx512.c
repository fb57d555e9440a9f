/* SPDX-License-Identifier: MIT
 *
 * The reference's loops with 512-bit vectors.
 */
#include <immintrin.h>

#include "kernels/reference_tiles.h"

typedef __m512d wide;
typedef __m512 slim;
enum { WIDE_LANES = 8, SLIM_LANES = 16 };

#define wide_load _mm512_loadu_pd
#define wide_store _mm512_storeu_pd
#define wide_spread _mm512_set1_pd
#define wide_multiply_add _mm512_fmadd_pd
#define slim_load _mm512_loadu_ps
#define slim_store _mm512_storeu_ps
#define slim_spread _mm512_set1_ps
#define slim_multiply_add _mm512_fmadd_ps

static inline wide wide_load_size(const double *from)
{
	return _mm512_andnot_pd(_mm512_set1_pd(-0.0), _mm512_loadu_pd(from));
}

TCB_REFERENCE_TILE(tile_wide, double, wide, WIDE_LANES, 8, wide_load, wide_spread, wide_multiply_add, wide_store)
TCB_REFERENCE_TILE(tile_sizes, double, wide, WIDE_LANES, 8, wide_load_size, wide_spread, wide_multiply_add, wide_store)
TCB_REFERENCE_TILE(tile_slim, float, slim, SLIM_LANES, 8, slim_load, slim_spread, slim_multiply_add, slim_store)

const struct tcb_reference_tiles tcb_reference_tiles_avx512 = { tile_wide, tile_sizes, tile_slim };
