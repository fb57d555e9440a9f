/* SPDX-License-Identifier: MIT
 *
 * The references' tiles in the widest vectors of x86 that the file is compiled for.
 */
#include <immintrin.h>

#include "kernels/reference_tiles.h"
#include "kernels/simd/simd.h"

#ifdef __AVX512F__
#define VECTOR(name) _mm512_##name
typedef __m512d wide;
typedef __m512 slim;
enum { TILE_ROWS = 8 };
#else
#define VECTOR(name) _mm256_##name
typedef __m256d wide;
typedef __m256 slim;
enum { TILE_ROWS = 4 };
#endif
enum { WIDE_LANES = sizeof(wide) / sizeof(double), SLIM_LANES = sizeof(slim) / sizeof(float) };

static inline wide load_size(const double *from)
{
	return VECTOR(andnot_pd)(VECTOR(set1_pd)(-0.0), VECTOR(loadu_pd)(from));
}

TCB_REFERENCE_TILE(tile_wide, double, wide, WIDE_LANES, TILE_ROWS, VECTOR(loadu_pd), VECTOR(set1_pd), VECTOR(fmadd_pd),
		   VECTOR(storeu_pd))
TCB_REFERENCE_TILE(tile_sizes, double, wide, WIDE_LANES, TILE_ROWS, load_size, VECTOR(set1_pd), VECTOR(fmadd_pd),
		   VECTOR(storeu_pd))
TCB_REFERENCE_TILE(tile_slim, float, slim, SLIM_LANES, TILE_ROWS, VECTOR(loadu_ps), VECTOR(set1_ps), VECTOR(fmadd_ps),
		   VECTOR(storeu_ps))

const struct tcb_reference_tiles SIMD_NAME(tcb_reference_tiles) = { tile_wide, tile_sizes, tile_slim };
