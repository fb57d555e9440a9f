/* SPDX-License-Identifier: MIT
 *
 * The innermost loops of the references of products, dense and quantised, by
 * instruction family: one tile of C from panels of A and B.
 */
#ifndef TCB_KERNELS_REFERENCE_TILES_H
#define TCB_KERNELS_REFERENCE_TILES_H

#include <stddef.h>

enum { TCB_REFERENCE_M = 8, TCB_REFERENCE_N = 16 };

/* C (TCB_REFERENCE_M x TCB_REFERENCE_N) += A * B: A has TCB_REFERENCE_M values for each of the K steps, B
 * TCB_REFERENCE_N. */
struct tcb_reference_tiles {
	void (*wide)(const double *a, const double *b, size_t k, double *c);
	void (*sizes)(const double *a, const double *b, size_t k, double *c); /* A * |B| */
	void (*slim)(const float *a, const float *b, size_t k, float *c);
};

/* The fastest that this machine has. */
const struct tcb_reference_tiles *tcb_reference_tiles(void);

/*
 * One of these loops in vectors of LANES: how they are loaded, spread from one value, multiply-added and stored.  ROWS
 * rows of two vectors at a time: as many sums as there are registers for.
 */
#define TCB_REFERENCE_TILE(name, type, vec, LANES, ROWS, load, spread, multiply_add, store)                        \
	static void name(const type *a, const type *b, size_t k, type *c)                                          \
	{                                                                                                          \
		enum { VECTORS = TCB_REFERENCE_N / LANES, TOGETHER = VECTORS < 2 ? VECTORS : 2 };                  \
		for (int part = 0; part < VECTORS / TOGETHER * (TCB_REFERENCE_M / ROWS); part++) {                 \
			const int i0 = part % (TCB_REFERENCE_M / ROWS) * ROWS;                                     \
			const int j0 = part / (TCB_REFERENCE_M / ROWS) * TOGETHER * LANES;                         \
			type *to = c + i0 * TCB_REFERENCE_N + j0;                                                  \
			vec sum[ROWS][TOGETHER];                                                                   \
			for (int i = 0; i < ROWS; i++)                                                             \
				for (int j = 0; j < TOGETHER; j++)                                                 \
					sum[i][j] = load(to + i * TCB_REFERENCE_N + j * LANES);                    \
			for (size_t p = 0; p < k; p++) {                                                           \
				const type *row = b + p * TCB_REFERENCE_N + j0,                                    \
					   *column = a + p * TCB_REFERENCE_M + i0;                                 \
				for (int i = 0; i < ROWS; i++)                                                     \
					for (int j = 0; j < TOGETHER; j++)                                         \
						sum[i][j] = multiply_add(spread(column[i]), load(row + j * LANES), \
									 sum[i][j]);                               \
			}                                                                                          \
			for (int i = 0; i < ROWS; i++)                                                             \
				for (int j = 0; j < TOGETHER; j++)                                                 \
					store(to + i * TCB_REFERENCE_N + j * LANES, sum[i][j]);                    \
		}                                                                                                  \
	}

extern const struct tcb_reference_tiles tcb_reference_tiles_avx2, tcb_reference_tiles_avx512;

#endif
