/* SPDX-License-Identifier: MIT
 *
 * What sgemm.cu and convolution.cu compute, in double.
 */
#include <stddef.h>

#ifdef M
void sgemm(const float *a, const float *b, float *c)
{
#pragma omp parallel for
	for (int i = 0; i < M; i++) {
		double sum[N];

		for (int j = 0; j < N; j++)
			sum[j] = 0;
		for (int t = 0; t < K; t++)
			for (int j = 0; j < N; j++)
				sum[j] += (double)a[(size_t)i * K + t] * (double)b[(size_t)t * N + j];
		for (int j = 0; j < N; j++)
			c[(size_t)i * N + j] = (float)sum[j];
	}
}
#else
void convolution(const float *image, const float *filter, float *out)
{
	enum { FILTER = 17, IN_WIDTH = WIDTH + FILTER - 1 };

#pragma omp parallel for
	for (int y = 0; y < HEIGHT; y++) {
		double sum[WIDTH];

		for (int x = 0; x < WIDTH; x++)
			sum[x] = 0;
		for (int i = 0; i < FILTER; i++)
			for (int j = 0; j < FILTER; j++)
				for (int x = 0; x < WIDTH; x++)
					sum[x] += (double)image[(size_t)(y + i) * IN_WIDTH + x + j] *
						  (double)filter[i * FILTER + j];
		for (int x = 0; x < WIDTH; x++)
			out[(size_t)y * WIDTH + x] = (float)sum[x];
	}
}
#endif
