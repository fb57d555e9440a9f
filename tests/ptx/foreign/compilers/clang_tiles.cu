// SPDX-License-Identifier: MIT
// Products, transposes and stencils by tiles, for clang.
// block: 16x16
#include "clang_words.h"

template <int STAGES> static __device__ void product(const float *a, const float *b, float *c, int n)
{
	static __shared__ float as[STAGES][16][17], bs[STAGES][16][17];
	int x = BX * 16 + TX, y = BY * 16 + TY;
	float sum = 0;

	for (int k = 0; k < n; k += 16) {
		int s = k / 16 % STAGES;

		as[s][TY][TX] = y < n && k + (int)TX < n ? a[y * n + k + TX] : 0;
		bs[s][TY][TX] = x < n && k + (int)TY < n ? b[(k + TY) * n + x] : 0;
		block_meets();
		for (int i = 0; i < 16; i++)
			sum += as[s][TY][i] * bs[s][i][TX];
		if (STAGES == 1)
			block_meets();
	}
	if (x < n && y < n)
		c[y * n + x] = sum;
}

extern "C" __global__ void product_of_one_stage(const float *a, const float *b, float *c, int n) { product<1>(a, b, c, n); }
extern "C" __global__ void product_of_two_stages(const float *a, const float *b, float *c, int n) { product<2>(a, b, c, n); }

extern "C" __global__ void transposed(const double *x, double *y, int rows, int columns)
{
	static __shared__ double tile[16][17];
	int c = BX * 16 + TX, r = BY * 16 + TY;

	if (r < rows && c < columns)
		tile[TY][TX] = x[r * columns + c];
	block_meets();
	c = BY * 16 + TX, r = BX * 16 + TY;
	if (r < columns && c < rows)
		y[r * rows + c] = tile[TX][TY];
}

extern "C" __global__ void nine_points(const float *x, float *y, int rows, int columns)
{
	static __shared__ float tile[18][18];
	int c = BX * 16 + TX, r = BY * 16 + TY;

	for (int i = TY * 16 + TX; i < 18 * 18; i += 256) {
		int rr = (int)BY * 16 + i / 18 - 1, cc = (int)BX * 16 + i % 18 - 1;

		tile[i / 18][i % 18] = rr >= 0 && rr < rows && cc >= 0 && cc < columns ? x[rr * columns + cc] : 0;
	}
	block_meets();
	if (r >= rows || c >= columns)
		return;
	float sum = 0;
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 3; k++)
			sum += tile[TY + i][TX + k];
	y[r * columns + c] = sum / 9;
}
