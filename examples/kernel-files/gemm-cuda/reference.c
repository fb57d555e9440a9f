/* SPDX-License-Identifier: MIT
 *
 * What gemm.cu computes, in double.
 */
#include <stddef.h>

void gemm(const _Float16 *a, const _Float16 *b, float *c, int m, int n, int k)
{
#pragma omp parallel for
	for (int i = 0; i < m; i++) {
		double sum[N];

		for (int j = 0; j < n; j++)
			sum[j] = 0;
		for (int t = 0; t < k; t++)
			for (int j = 0; j < n; j++)
				sum[j] += (double)a[(size_t)i * k + t] * (double)b[(size_t)t * n + j];
		for (int j = 0; j < n; j++)
			c[(size_t)i * n + j] = (float)sum[j];
	}
}
