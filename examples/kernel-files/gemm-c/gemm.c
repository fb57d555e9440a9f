/* SPDX-License-Identifier: MIT
 *
 * c = a b, row-major, in tiles of TILE_M rows, TILE_N columns and TILE_K terms.  What is in capitals is
 * gemm.json's to choose; M, N and K come with the problem.
 */
#include <string.h>

enum { LANES = 8 };
typedef float lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

/* Sums of MICRO_M rows and MICRO_N columns stay in registers while all terms of the tile are added. */
static void micro(const float *a, const float *b, size_t pitch, float *c, int terms)
{
	lanes sum[MICRO_M][MICRO_N / LANES];

#pragma GCC unroll 16
	for (int r = 0; r < MICRO_M; r++)
#pragma GCC unroll 16
		for (int v = 0; v < MICRO_N / LANES; v++)
			sum[r][v] = *(const lanes *)(c + (size_t)r * N + LANES * v);
	for (int k = 0; k < terms; k++)
#pragma GCC unroll 16
		for (int r = 0; r < MICRO_M; r++)
#pragma GCC unroll 16
			for (int v = 0; v < MICRO_N / LANES; v++)
				sum[r][v] += a[(size_t)r * K + k] * *(const lanes *)(b + k * pitch + LANES * v);
#pragma GCC unroll 16
	for (int r = 0; r < MICRO_M; r++)
#pragma GCC unroll 16
		for (int v = 0; v < MICRO_N / LANES; v++)
			*(lanes *)(c + (size_t)r * N + LANES * v) = sum[r][v];
}

static void tile(const float *a, const float *b, size_t pitch, float *c)
{
	for (int i = 0; i < TILE_M; i += MICRO_M)
		for (int j = 0; j < TILE_N; j += MICRO_N)
			micro(a + (size_t)i * K, b + j, pitch, c + (size_t)i * N + j, TILE_K);
}

void gemm(const float *a, const float *b, float *c)
{
#if USE_COPY
	static float copy[TILE_K * TILE_N];
#endif

	memset(c, 0, sizeof(float) * M * N);
	for (int k = 0; k < K; k += TILE_K)
		for (int n = 0; n < N; n += TILE_N) {
#if USE_COPY
			for (int i = 0; i < TILE_K; i++)
				memcpy(copy + (size_t)i * TILE_N, b + (size_t)(k + i) * N + n, sizeof(float) * TILE_N);
			const float *from = copy;
			const size_t pitch = TILE_N;
#else
			const float *from = b + (size_t)k * N + n;
			const size_t pitch = N;
#endif
			for (int m = 0; m < M; m += TILE_M)
				tile(a + (size_t)m * K + k, from, pitch, c + (size_t)m * N + n);
		}
}

void gemm_plain(const float *a, const float *b, float *c)
{
	for (int i = 0; i < M; i++)
		for (int j = 0; j < N; j++) {
			double sum = 0;

			for (int k = 0; k < K; k++)
				sum += (double)a[(size_t)i * K + k] * b[(size_t)k * N + j];
			c[(size_t)i * N + j] = (float)sum;
		}
}
