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

/*
 * One of these loops in vectors of LANES: how they are loaded, spread from one value, multiply-added and stored.  ROWS
 * rows of two vectors at a time: as many sums as there are registers for.
 */
#define REFERENCE_TILE(name, type, vec, LANES, ROWS, load, spread, multiply_add, store)                            \
	static void name(const type *a, const type *b, size_t k, type *c)                                          \
	{                                                                                                          \
		enum { VECTORS = REFERENCE_N / LANES, TOGETHER = VECTORS < 2 ? VECTORS : 2 };                      \
		for (int part = 0; part < VECTORS / TOGETHER * (REFERENCE_M / ROWS); part++) {                     \
			const int i0 = part % (REFERENCE_M / ROWS) * ROWS;                                         \
			const int j0 = part / (REFERENCE_M / ROWS) * TOGETHER * LANES;                             \
			type *to = c + i0 * REFERENCE_N + j0;                                                      \
			vec sum[ROWS][TOGETHER];                                                                   \
			for (int i = 0; i < ROWS; i++)                                                             \
				for (int j = 0; j < TOGETHER; j++)                                                 \
					sum[i][j] = load(to + i * REFERENCE_N + j * LANES);                        \
			for (size_t p = 0; p < k; p++) {                                                           \
				const type *row = b + p * REFERENCE_N + j0, *column = a + p * REFERENCE_M + i0;    \
				for (int i = 0; i < ROWS; i++)                                                     \
					for (int j = 0; j < TOGETHER; j++)                                         \
						sum[i][j] = multiply_add(spread(column[i]), load(row + j * LANES), \
									 sum[i][j]);                               \
			}                                                                                          \
			for (int i = 0; i < ROWS; i++)                                                             \
				for (int j = 0; j < TOGETHER; j++)                                                 \
					store(to + i * REFERENCE_N + j * LANES, sum[i][j]);                        \
		}                                                                                                  \
	}

extern const struct matmul_reference_loops matmul_reference_loops_avx2, matmul_reference_loops_avx512;

#endif
