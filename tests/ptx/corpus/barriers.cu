// SPDX-License-Identifier: MIT
// Barriers as people write them: all needed in sgemm and hgemm, one too many in each of the others.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

// Two stages in shared memory, one barrier a step.
extern "C" __global__ void __launch_bounds__(256) sgemm(const float *a, const float *b, float *c, int n, int k)
{
	__shared__ float as[2][8][128], bs[2][8][128];
	int t = threadIdx.x, x = t % 16, y = t / 16, ar = t / 2, ac = t % 2 * 4, br = t / 32, bc = t % 32 * 4, stage = 0;
	const float *from_a = a + (size_t)(blockIdx.y * 128 + ar) * k + ac;
	const float *from_b = b + (size_t)br * n + blockIdx.x * 128 + bc;
	float4 next_a = *(const float4 *)from_a, next_b = *(const float4 *)from_b;
	float sum[8][8] = {};

	as[0][ac][ar] = next_a.x, as[0][ac + 1][ar] = next_a.y, as[0][ac + 2][ar] = next_a.z, as[0][ac + 3][ar] = next_a.w;
	*(float4 *)&bs[0][br][bc] = next_b;
	__syncthreads();
	for (int i = 8; i <= k; i += 8) {
		if (i < k) {
			next_a = *(const float4 *)(from_a + i);
			next_b = *(const float4 *)(from_b + (size_t)i * n);
		}
		for (int s = 0; s < 8; s++)
			for (int p = 0; p < 8; p++)
				for (int q = 0; q < 8; q++)
					sum[p][q] += as[stage][s][y * 8 + p] * bs[stage][s][x * 8 + q];
		if (i < k) {
			stage ^= 1;
			as[stage][ac][ar] = next_a.x, as[stage][ac + 1][ar] = next_a.y;
			as[stage][ac + 2][ar] = next_a.z, as[stage][ac + 3][ar] = next_a.w;
			*(float4 *)&bs[stage][br][bc] = next_b;
			__syncthreads();
		}
	}
	for (int p = 0; p < 8; p++)
		for (int q = 0; q < 8; q++)
			c[(size_t)(blockIdx.y * 128 + y * 8 + p) * n + blockIdx.x * 128 + x * 8 + q] = sum[p][q];
}

// Asynchronous copies into swizzled chunks, read by ldmatrix.
extern "C" __global__ void __launch_bounds__(128) hgemm(const half *a, const half *b, float *c, int k, int n)
{
	__shared__ __align__(128) half as[2][64 * 32], bs[2][32 * 64];
	int t = threadIdx.x, warp = t / 32, lane = t % 32;
	float sum[4][4] = {};

	for (int i = 0; i < k + 32; i += 32) {
		int stage = i / 32 & 1;
		if (i < k) {
			for (int j = t; j < 256; j += 128) {
				int chunk_a = j / 4 * 4 + (j % 4 ^ (j / 8 & 3)), chunk_b = j / 8 * 8 + (j % 8 ^ (j / 8 & 7));
				__pipeline_memcpy_async(&as[stage][chunk_a * 8], a + (size_t)(j / 4) * k + i + j % 4 * 8, 16);
				__pipeline_memcpy_async(&bs[stage][chunk_b * 8], b + (size_t)(i + j / 8) * n + j % 8 * 8, 16);
			}
		}
		__pipeline_commit();
		if (i == 0)
			continue;
		__pipeline_wait_prior(1);
		__syncthreads();
		for (int s = 0; s < 2; s++) {
			int row = warp * 16 + lane % 16, chunk = row * 4 + (s * 2 + lane / 16 ^ (row / 2 & 3));
			unsigned at = (unsigned)__cvta_generic_to_shared(&as[stage ^ 1][chunk * 8]), x[4];
			asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
				     : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
				     : "r"(at));
			for (int q = 0; q < 4; q++) {
				int r = s * 16 + lane % 16;
				unsigned y[2];
				at = (unsigned)__cvta_generic_to_shared(&bs[stage ^ 1][(r * 8 + (q ^ (r & 7))) * 8]);
				asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
					     : "=r"(y[0]), "=r"(y[1])
					     : "r"(at));
				asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
					     "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
					     : "+f"(sum[q][0]), "+f"(sum[q][1]), "+f"(sum[q][2]), "+f"(sum[q][3])
					     : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
			}
		}
		__syncthreads();
	}
	for (int q = 0; q < 4; q++) {
		float *to = c + (size_t)(warp * 16 + lane / 4) * n + q * 8 + lane % 4 * 2;
		to[0] = sum[q][0], to[1] = sum[q][1];
		to[8 * (size_t)n] = sum[q][2], to[8 * (size_t)n + 1] = sum[q][3];
	}
}

// The last barrier orders nothing: each thread reads what it wrote.
extern "C" __global__ void __launch_bounds__(256) scan(const int *in, int *out)
{
	__shared__ int s[256];
	int t = threadIdx.x;

	s[t] = in[t];
	__syncthreads();
	for (int d = 1; d < 256; d *= 2) {
		int v = t >= d ? s[t - d] : 0;
		__syncthreads();
		s[t] += v;
		__syncthreads();
	}
	out[t] = s[t];
}

// So does this one.
extern "C" __global__ void __launch_bounds__(256) tree(const float *in, float *out)
{
	__shared__ float s[256];
	int t = threadIdx.x;

	s[t] = in[blockIdx.x * 256 + t];
	__syncthreads();
	for (int d = 128; d > 0; d /= 2) {
		if (t < d)
			s[t] += s[t + d];
		__syncthreads();
	}
	if (t == 0)
		out[blockIdx.x] = s[0];
}

// The barrier before the sums are written, where two others stand between their readers and writers already.
extern "C" __global__ void __launch_bounds__(256) softmax(const float *in, float *out, int n)
{
	__shared__ float part[8], whole;
	const float *row = in + (size_t)blockIdx.x * n;
	int t = threadIdx.x;
	float most = -INFINITY, sum = 0;

	for (int i = t; i < n; i += 256)
		most = fmaxf(most, row[i]);
	for (int d = 16; d; d /= 2)
		most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
	if (t % 32 == 0)
		part[t / 32] = most;
	__syncthreads();
	if (t < 32) {
		float v = t < 8 ? part[t] : -INFINITY;
		for (int d = 4; d; d /= 2)
			v = fmaxf(v, __shfl_xor_sync(~0u, v, d));
		if (t == 0)
			whole = v;
	}
	__syncthreads();
	most = whole;
	for (int i = t; i < n; i += 256)
		sum += __expf(row[i] - most);
	for (int d = 16; d; d /= 2)
		sum += __shfl_xor_sync(~0u, sum, d);
	__syncthreads();
	if (t % 32 == 0)
		part[t / 32] = sum;
	__syncthreads();
	if (t < 32) {
		float v = t < 8 ? part[t] : 0;
		for (int d = 4; d; d /= 2)
			v += __shfl_xor_sync(~0u, v, d);
		if (t == 0)
			whole = v;
	}
	__syncthreads();
	for (int i = t; i < n; i += 256)
		out[(size_t)blockIdx.x * n + i] = __expf(row[i] - most) / whole;
}
