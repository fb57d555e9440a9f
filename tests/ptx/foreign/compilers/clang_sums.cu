// SPDX-License-Identifier: MIT
// Sums, scans and histograms of blocks, for clang.
// block: 256
#include "clang_words.h"

extern "C" __global__ void tree_sum(const float *x, float *out, int n)
{
	static __shared__ float part[256];
	unsigned t = TX, i = BX * 256 + t;

	part[t] = i < n ? x[i] : 0;
	block_meets();
	for (unsigned d = 128; d; d /= 2) {
		if (t < d)
			part[t] += part[t + d];
		block_meets();
	}
	if (t == 0)
		out[BX] = part[0];
}

extern "C" __global__ void BOUND(256) warp_sums(const float *x, float *out, int n)
{
	static __shared__ float part[8];
	unsigned t = TX;
	float v = 0;

	for (unsigned i = BX * NX + t; i < n; i += NX * GX)
		v += x[i];
	for (int d = 16; d; d /= 2)
		v += from_lane_below(v, d);
	if (t % 32 == 0)
		part[t / 32] = v;
	block_meets();
	if (t < 32) {
		v = t < 8 ? part[t] : 0;
		for (int d = 4; d; d /= 2)
			v += from_lane_below(v, d);
		if (t == 0)
			out[BX] = v;
	}
}

extern "C" __global__ void scan_twice(const int *x, int *y)
{
	static __shared__ int line[2][256];
	unsigned t = TX, now = 0;

	line[0][t] = x[BX * 256 + t];
	for (unsigned d = 1; d < 256; d *= 2) {
		block_meets();
		line[1 - now][t] = line[now][t] + (t >= d ? line[now][t - d] : 0);
		now = 1 - now;
	}
	block_meets();
	y[BX * 256 + t] = line[now][255 - t];
}

extern "C" __global__ void histogram(const unsigned char *x, unsigned *bins, int n)
{
	static __shared__ unsigned mine[256];
	unsigned t = TX;

	mine[t] = 0;
	block_meets();
	for (unsigned i = BX * NX + t; i < n; i += NX * GX)
		__atomic_fetch_add(&mine[x[i]], 1u, __ATOMIC_RELAXED);
	block_meets();
	__atomic_fetch_add(&bins[t], mine[t], __ATOMIC_RELAXED);
}

extern "C" __global__ void softmax_rows(const float *x, float *y, int n)
{
	static __shared__ float part[256];
	unsigned t = TX;
	const float *row = x + (unsigned long)BX * n;
	float most = -3e38f, sum = 0;

	for (int i = t; i < n; i += 256)
		most = most > row[i] ? most : row[i];
	part[t] = most;
	block_meets();
	for (int d = 128; d; d /= 2) {
		if (t < d)
			part[t] = part[t] > part[t + d] ? part[t] : part[t + d];
		block_meets();
	}
	most = part[0];
	block_meets();
	for (int i = t; i < n; i += 256)
		sum += __nvvm_ex2_approx_f((row[i] - most) * 1.442695f);
	part[t] = sum;
	block_meets();
	for (int d = 128; d; d /= 2) {
		if (t < d)
			part[t] += part[t + d];
		block_meets();
	}
	for (int i = t; i < n; i += 256)
		y[(unsigned long)BX * n + i] = __nvvm_ex2_approx_f((row[i] - most) * 1.442695f) / part[0];
}
