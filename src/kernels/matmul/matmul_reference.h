/* SPDX-License-Identifier: MIT
 *
 * The loops of the reference, by instruction family.
 */
#ifndef TCB_KERNELS_MATMUL_REFERENCE_H
#define TCB_KERNELS_MATMUL_REFERENCE_H

#include <stddef.h>

enum { REFERENCE_M = 8, REFERENCE_N = 16 };

/* C (REFERENCE_M x REFERENCE_N) += A * B: A has REFERENCE_M values for each of the K steps, B REFERENCE_N. */
struct matmul_reference_loops {
	void (*wide)(const double *a, const double *b, size_t k, double *c);
	void (*slim)(const float *a, const float *b, size_t k, float *c);
};

/* One of these loops in vectors of LANES: how they are loaded, spread from one value, multiply-added and stored. */
#define REFERENCE_TILE(name, type, vec, LANES, load, spread, multiply_add, store)                                \
	static void name(const type *a, const type *b, size_t k, type *c)                                        \
	{                                                                                                        \
		enum { VECTORS = REFERENCE_N / LANES, TOGETHER = VECTORS < 2 ? VECTORS : 2 };                    \
		for (int v = 0; v < VECTORS; v += TOGETHER) {                                                    \
			vec sum[REFERENCE_M][TOGETHER];                                                          \
			for (int i = 0; i < REFERENCE_M; i++)                                                    \
				for (int j = 0; j < TOGETHER; j++)                                               \
					sum[i][j] = load(c + i * REFERENCE_N + (v + j) * LANES);                 \
			for (size_t p = 0; p < k; p++) {                                                         \
				const type *row = b + p * REFERENCE_N + v * LANES;                               \
				for (int i = 0; i < REFERENCE_M; i++)                                            \
					for (int j = 0; j < TOGETHER; j++)                                       \
						sum[i][j] = multiply_add(spread(a[p * REFERENCE_M + (size_t)i]), \
									 load(row + j * LANES), sum[i][j]);      \
			}                                                                                        \
			for (int i = 0; i < REFERENCE_M; i++)                                                    \
				for (int j = 0; j < TOGETHER; j++)                                               \
					store(c + i * REFERENCE_N + (v + j) * LANES, sum[i][j]);                 \
		}                                                                                                \
	}

extern const struct matmul_reference_loops matmul_reference_loops_avx2, matmul_reference_loops_avx512;

#endif
