// SPDX-License-Identifier: MIT
// Calls, structures by value, switches, recursion, local arrays and tables, for clang.
// block: 128
#include "clang_words.h"

struct view {
	const float *data;
	int rows, columns;
	long stride;
};

static __device__ __noinline float at(struct view v, int r, int c)
{
	return v.data[r * v.stride + c];
}

extern "C" __global__ void rows_of_view(struct view v, float *y)
{
	int r = BX * 128 + TX;
	float sum = 0;

	if (r >= v.rows)
		return;
	for (int c = 0; c < v.columns; c++)
		sum += at(v, r, c);
	y[r] = sum;
}

static __device__ __noinline int ackermann(int m, int n)
{
	return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

extern "C" __global__ void recursive(int *y) { y[TX] = ackermann(2, TX % 3); }

extern "C" __global__ void by_operation(const int *op, const float *x, float *y, int n)
{
	int i = BX * 128 + TX;

	if (i >= n)
		return;
	switch (op[i]) {
	case 0: y[i] = x[i] + 1; break;
	case 1: y[i] = x[i] * 2; break;
	case 2: y[i] = -x[i]; break;
	case 3: y[i] = x[i] / 3; break;
	case 4: y[i] = x[i] * x[i]; break;
	case 5: y[i] = 1 / x[i]; break;
	case 6: y[i] = 0; break;
	default: y[i] = x[i];
	}
}

__constant__ const int order[8] = { 3, 1, 4, 7, 5, 0, 2, 6 };

extern "C" __global__ void small_sort(const float *x, float *y)
{
	float v[8];
	int i = BX * 128 + TX;

	for (int k = 0; k < 8; k++)
		v[k] = x[i * 8 + order[k]];
	for (int k = 0; k < 8; k++)
		for (int j = 0; j + 1 < 8 - k; j++)
			if (v[j] > v[j + 1]) {
				float w = v[j];

				v[j] = v[j + 1], v[j + 1] = w;
			}
	for (int k = 0; k < 8; k++)
		y[i * 8 + k] = v[k];
}

extern "C" __global__ void by_pointer(float (*const *table)(float), const float *x, float *y)
{
	y[TX] = table[TX % 2](x[TX]);
}

extern "C" __global__ void wide_numbers(const unsigned long *a, const unsigned long *b, unsigned long *q, double *d)
{
	int i = BX * 128 + TX;

	q[i] = a[i] / (b[i] | 1) + a[i] % (b[i] | 1);
	d[i] = (double)a[i] / (double)(b[i] | 1);
}
