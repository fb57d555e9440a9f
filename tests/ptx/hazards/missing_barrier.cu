// SPDX-License-Identifier: MIT
// Shared memory across warps without a barrier between: read after write, write after read, write after write.
#include "hazard.cuh"

// == reduce_before_loaded: the tree begins before all values are stored
// launch: --block 256
// run: --grid 2 --arg buf:f32[512]:ro=random --arg buf:f32[2]=zero
// rules: shared-race race
extern "C" __global__ void reduce_before_loaded(const float *in, float *out)
{
	__shared__ float part[256];
	int t = threadIdx.x;

	part[t] = in[blockIdx.x * 256 + t]; //!
	MENDED(__syncthreads();)
	for (int s = 128; s > 0; s >>= 1) {
		if (t < s)
			part[t] += part[t + s]; //!
		__syncthreads();
	}
	if (t == 0)
		out[blockIdx.x] = part[0];
}

// == transpose_without_barrier: a tile is read by columns before its rows are there
// launch: --block 32x8
// run: --grid 2x2 --arg buf:f32[64x64]:ro=random --arg buf:f32[64x64]=zero --arg u32=64
// rules: shared-race race
extern "C" __global__ void transpose_without_barrier(const float *in, float *out, int n)
{
	__shared__ float tile[32][33];
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;

	for (int j = 0; j < 32; j += 8)
		tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x]; //!
	MENDED(__syncthreads();)
	x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
	for (int j = 0; j < 32; j += 8)
		out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j]; //!
}

// == scan_in_place: a Hillis-Steele scan in one buffer writes what a neighbour still has to read
// launch: --block 256
// run: --grid 1 --arg buf:s32[256]=random:0:9
// rules: shared-race race
extern "C" __global__ void scan_in_place(int *x)
{
	__shared__ int sum[256];
	int t = threadIdx.x;

	sum[t] = x[t];
	__syncthreads();
	for (int d = 1; d < 256; d <<= 1) {
		int left = t >= d ? sum[t - d] : 0; //!
		MENDED(__syncthreads();)
		sum[t] += left; //!
		__syncthreads();
	}
	x[t] = sum[t];
}

// == matmul_second_barrier: the next tiles are stored while others still multiply
// launch: --block 16x16
// run: --grid 2x2 --arg buf:f32[32x64]:ro=random --arg buf:f32[64x32]:ro=random --arg buf:f32[32x32]=zero --arg u32=32 --arg u32=64
// rules: shared-race race
extern "C" __global__ void matmul_second_barrier(const float *a, const float *b, float *c, int n, int k)
{
	__shared__ float as[16][16], bs[16][16];
	int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
	float sum = 0;

	for (int step = 0; step < k; step += 16) {
		as[y][x] = a[row * k + step + x]; //!
		bs[y][x] = b[(step + y) * n + column]; //!
		__syncthreads();
		for (int i = 0; i < 16; i++)
			sum += as[y][i] * bs[i][x]; //!
		MENDED(__syncthreads();)
	}
	c[row * n + column] = sum;
}

// == unrolled_steps: four unrolled steps of a smoothing share one buffer, without the barrier at the end of a step
// launch: --block 128
// run: --grid 1 --arg buf:f32[128]=random
// rules: shared-race race
extern "C" __global__ void unrolled_steps(float *x)
{
	__shared__ float line[130];
	int t = threadIdx.x;
	float v = x[t];

	if (t == 0)
		line[0] = line[129] = 0;
#pragma unroll
	for (int step = 0; step < 4; step++) {
		line[t + 1] = v; //!
		__syncthreads();
		v = 0.25f * line[t] + 0.5f * line[t + 1] + 0.25f * line[t + 2]; //!
		MENDED(__syncthreads();)
	}
	x[t] = v;
}

// == total_not_published: thread 0 writes the total, and all read it at once
// launch: --block 128
// run: --grid 1 --arg buf:f32[128]=random:1:2
// rules: shared-race race
extern "C" __global__ void total_not_published(float *x)
{
	__shared__ float part[4], total;
	int t = threadIdx.x;
	float v = x[t], sum = v;

	for (int d = 16; d; d >>= 1)
		sum += __shfl_xor_sync(0xffffffffu, sum, d);
	if (t % 32 == 0)
		part[t / 32] = sum;
	__syncthreads();
	if (t == 0)
		total = part[0] + part[1] + part[2] + part[3]; //!
	MENDED(__syncthreads();)
	x[t] = v / total; //!
}

// == bins_not_cleared_yet: votes are cast while other warps still clear the bins
// launch: --block 256
// run: --grid 2 --arg buf:u8[4096]:ro=random --arg buf:u32[256]=zero --arg u32=4096
// rules: shared-race race
extern "C" __global__ void bins_not_cleared_yet(const unsigned char *in, unsigned *out, int n)
{
	__shared__ unsigned bins[256];
	int t = threadIdx.x;

	bins[t] = 0; //!
	MENDED(__syncthreads();)
	for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256)
		atomicAdd(&bins[in[i]], 1); //!
	__syncthreads();
	atomicAdd(&out[t], bins[t]);
}

// == bins_read_too_early: the bins are written out while other warps still vote
// launch: --block 256
// run: --grid 2 --arg buf:u8[4096]:ro=random --arg buf:u32[256]=zero --arg u32=4096
// rules: shared-race race
extern "C" __global__ void bins_read_too_early(const unsigned char *in, unsigned *out, int n)
{
	__shared__ unsigned bins[256];
	int t = threadIdx.x;

	bins[t] = 0;
	__syncthreads();
	for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256)
		atomicAdd(&bins[in[i]], 1); //!
	MENDED(__syncthreads();)
	atomicAdd(&out[t], bins[t]); //!
}

// == both_buffers_the_same: a double buffer that forgets to switch
// launch: --block 64
// run: --grid 1 --arg buf:f32[8x64]:ro=random --arg buf:f32[64]=zero --arg u32=8
// rules: shared-race race
extern "C" __global__ void both_buffers_the_same(const float *in, float *out, int rows)
{
	__shared__ float row[2][64];
	int t = threadIdx.x;
	float sum = 0;

	row[0][t] = in[t];
	__syncthreads();
	for (int i = 0; i < rows; i++) {
		if (i + 1 < rows)
			row[PLANTED(i % 2) MENDED((i + 1) % 2)][t] = in[(i + 1) * 64 + t]; //!
		sum += row[i % 2][(t + 32) % 64]; //!
		__syncthreads();
	}
	out[t] = sum;
}

// == halo_not_awaited: the last threads load the halo, and the first ones do not wait for it
// launch: --block 128
// run: --grid 2 --arg buf:f32[258]:ro=random --arg buf:f32[256]=zero
// rules: shared-race race
extern "C" __global__ void halo_not_awaited(const float *in, float *out)
{
	__shared__ float line[130];
	int t = threadIdx.x, base = blockIdx.x * 128;

	line[t] = in[base + t];
	MENDED(if (t < 2)
		line[128 + t] = in[base + 128 + t];)
	__syncthreads();
	PLANTED(if (t < 2) //!
		line[128 + t] = in[base + 128 + t];) //!
	out[base + t] = line[t] + line[t + 1] + line[t + 2]; //!
}

// == warp_sums_unordered: the first warp adds up what the others have not stored yet
// launch: --block 256
// run: --grid 2 --arg buf:f32[512]:ro=random --arg buf:f32[2]=zero
// rules: shared-race race
extern "C" __global__ void warp_sums_unordered(const float *in, float *out)
{
	__shared__ float part[8];
	int t = threadIdx.x;
	float sum = in[blockIdx.x * 256 + t];

	for (int d = 16; d; d >>= 1)
		sum += __shfl_xor_sync(0xffffffffu, sum, d);
	if (t % 32 == 0)
		part[t / 32] = sum; //!
	MENDED(__syncthreads();)
	if (t < 32) {
		sum = t < 8 ? part[t] : 0.0f; //!
		for (int d = 4; d; d >>= 1)
			sum += __shfl_xor_sync(0xffffffffu, sum, d);
		if (t == 0)
			out[blockIdx.x] = sum;
	}
}

// == softmax_reuses_parts: the buffer of the maxima takes the sums while some still read maxima
// launch: --block 128
// run: --grid 2 --arg buf:f32[2x128]=random:-4:4
// rules: shared-race race
extern "C" __global__ void softmax_reuses_parts(float *x)
{
	__shared__ float part[4];
	int t = threadIdx.x, i = blockIdx.x * 128 + t;
	float v = x[i], most = v, sum;

	for (int d = 16; d; d >>= 1)
		most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, d));
	if (t % 32 == 0)
		part[t / 32] = most;
	__syncthreads();
	most = fmaxf(fmaxf(part[0], part[1]), fmaxf(part[2], part[3])); //!
	MENDED(__syncthreads();)
	v = sum = __expf(v - most);
	for (int d = 16; d; d >>= 1)
		sum += __shfl_xor_sync(0xffffffffu, sum, d);
	if (t % 32 == 0)
		part[t / 32] = sum; //!
	__syncthreads();
	x[i] = v / (part[0] + part[1] + part[2] + part[3]);
}

// == two_writers_in_turn: padding of zeros is written over values that other warps have stored
// launch: --block 64
// run: --grid 1 --arg buf:f32[48]:ro=random --arg buf:f32[64]=zero
// rules: shared-race race
extern "C" __global__ void two_writers_in_turn(const float *in, float *out)
{
	__shared__ float line[64];
	int t = threadIdx.x;

	line[63 - t] = 0; //!
	MENDED(__syncthreads();)
	if (t < 48)
		line[t] = in[t]; //!
	__syncthreads();
	out[t] = line[t] + line[t ^ 1];
}

// == bitonic_stage_unordered: the inner stages of a bitonic sort have no barrier
// launch: --block 128
// run: --grid 1 --arg buf:s32[128]=random
// rules: shared-race race
extern "C" __global__ void bitonic_stage_unordered(int *x)
{
	__shared__ int key[128];
	int t = threadIdx.x;

	key[t] = x[t];
	__syncthreads();
	for (int size = 2; size <= 128; size *= 2) {
		for (int d = size / 2; d; d /= 2) {
			int other = t ^ d;

			if (other > t) {
				int a = key[t], b = key[other]; //!

				if ((a > b) == ((t & size) == 0)) {
					key[t] = b; //!
					key[other] = a; //!
				}
			}
			MENDED(__syncthreads();)
		}
		PLANTED(__syncthreads();)
	}
	x[t] = key[t];
}
