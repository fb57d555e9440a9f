// SPDX-License-Identifier: MIT
// nvcc -ptx -arch=sm_80: C = A B in tiles through shared memory, loads predicated at the edges; and one with vectors and
// 8 x 8 results a thread for sizes that are multiples of the tile.

enum { TILE = 16 };

extern "C" __global__ void gemm_edges(const float *a, const float *b, float *c, int m, int n, int k)
{
	__shared__ float as[TILE][TILE], bs[TILE][TILE];
	int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
	float sum = 0;

	for (int step = 0; step < k; step += TILE) {
		as[threadIdx.y][threadIdx.x] =
			row < m && step + threadIdx.x < k ? a[(size_t)row * k + step + threadIdx.x] : 0;
		bs[threadIdx.y][threadIdx.x] =
			step + threadIdx.y < k && column < n ? b[(size_t)(step + threadIdx.y) * n + column] : 0;
		__syncthreads();
		for (int i = 0; i < TILE; i++)
			sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
		__syncthreads();
	}
	if (row < m && column < n)
		c[(size_t)row * n + column] = sum;
}

extern "C" __global__ void __launch_bounds__(256)
	gemm_registers(const float4 *__restrict__ a, const float4 *__restrict__ b, float4 *c, int n4, int k4)
{
	__shared__ float as[8][128];
	__shared__ float4 bs[8][32];
	int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
	float sum[8][8] = {};

	for (int step = 0; step < k4 * 4; step += 8) {
		int row = threadIdx.x / 2, part = threadIdx.x % 2;
		float4 v = a[(size_t)(blockIdx.y * 128 + row) * k4 + step / 4 + part];

		as[part * 4 + 0][row] = v.x;
		as[part * 4 + 1][row] = v.y;
		as[part * 4 + 2][row] = v.z;
		as[part * 4 + 3][row] = v.w;
		bs[threadIdx.x / 32][threadIdx.x % 32] =
			b[(size_t)(step + threadIdx.x / 32) * n4 + blockIdx.x * 32 + threadIdx.x % 32];
		__syncthreads();
#pragma unroll
		for (int i = 0; i < 8; i++) {
			float4 b0 = bs[i][tx * 2], b1 = bs[i][tx * 2 + 1];
			float bv[8] = { b0.x, b0.y, b0.z, b0.w, b1.x, b1.y, b1.z, b1.w };

#pragma unroll
			for (int y = 0; y < 8; y++)
#pragma unroll
				for (int x = 0; x < 8; x++)
					sum[y][x] += as[i][ty * 8 + y] * bv[x];
		}
		__syncthreads();
	}
#pragma unroll
	for (int y = 0; y < 8; y++) {
		float4 *to = c + (size_t)(blockIdx.y * 128 + ty * 8 + y) * n4 + blockIdx.x * 32 + tx * 2;

		to[0] = make_float4(sum[y][0], sum[y][1], sum[y][2], sum[y][3]);
		to[1] = make_float4(sum[y][4], sum[y][5], sum[y][6], sum[y][7]);
	}
}
