// SPDX-License-Identifier: MIT
// Shared and local memory, static and dynamic, left at either end.
#include "hazard.cuh"

// == halo_of_one_too_few: a tile with a halo at both sides has room for one
// launch: --block 128
// run: --grid 1 --arg buf:f32[130]:ro=random --arg buf:f32[128]=zero
// rules: out-of-bounds
extern "C" __global__ void halo_of_one_too_few(const float *in, float *out)
{
	__shared__ float line[PLANTED(129) MENDED(130)];
	int t = threadIdx.x;

	line[t] = in[t];
	if (t < 2)
		line[128 + t] = in[128 + t]; //!
	__syncthreads();
	out[t] = line[t] + line[t + 1] + line[t + 2]; //!
}

// == warp_sums_for_eight: partial sums for eight warps, and a block of sixteen
// launch: --block 512
// run: --grid 1 --arg buf:f32[512]:ro=random --arg buf:f32[1]=zero
// rules: out-of-bounds
extern "C" __global__ void warp_sums_for_eight(const float *in, float *out)
{
	__shared__ float part[PLANTED(8) MENDED(16)];
	int t = threadIdx.x;
	float sum = in[t];

	for (int d = 16; d; d >>= 1)
		sum += __shfl_xor_sync(0xffffffffu, sum, d);
	if (t % 32 == 0)
		part[t / 32] = sum; //!
	__syncthreads();
	if (t < 16) {
		sum = part[t]; //!
		for (int d = 8; d; d >>= 1)
			sum += __shfl_xor_sync(0xffffu, sum, d);
		if (t == 0)
			out[0] = sum;
	}
}

// == bin_256_of_256: values up to 256 are counted in 256 bins
// launch: --block 128
// run: --grid 1 --arg buf:s32[256]:ro=random:250:260 --arg buf:u32[257]=zero
// rules: out-of-bounds
extern "C" __global__ void bin_256_of_256(const int *in, unsigned *out)
{
	__shared__ unsigned bins[PLANTED(256) MENDED(257)];
	int t = threadIdx.x;

	for (int i = t; i < PLANTED(256) MENDED(257); i += 128)
		bins[i] = 0;
	__syncthreads();
	for (int i = t; i < 256; i += 128)
		atomicAdd(&bins[min(max(in[i], 0), 256)], 1); //!
	__syncthreads();
	for (int i = t; i < PLANTED(256) MENDED(257); i += 128)
		out[i] = bins[i];
}

// == left_of_the_first: thread 0 has no left neighbour
// launch: --block 256
// run: --grid 1 --arg buf:s32[256]=random
// rules: out-of-bounds
extern "C" __global__ void left_of_the_first(int *x)
{
	__shared__ int line[256];
	int t = threadIdx.x;

	line[t] = x[t];
	__syncthreads();
	x[t] = line[t] - PLANTED(line[t - 1]) MENDED((t ? line[t - 1] : 0)); //!
}

// == rows_and_columns_swapped: a tile of 8 rows of 32 is indexed as 32 rows of 8
// launch: --block 32x8
// run: --grid 1 --arg buf:f32[256]:ro=random --arg buf:f32[256]=zero
// rules: out-of-bounds
extern "C" __global__ void rows_and_columns_swapped(const float *in, float *out)
{
	__shared__ float tile[8][33];
	int x = threadIdx.x, y = threadIdx.y;

	tile PLANTED([x][y]) MENDED([y][x]) = in[y * 32 + x]; //!
	__syncthreads();
	out[y * 32 + x] = tile PLANTED([31 - x][y]) MENDED([y][31 - x]); //!
}

// == vector_over_the_end: the last vector of four goes over the end of the row
// launch: --block 32
// run: --grid 1 --arg buf:f32[128]:ro=random --arg buf:f32[128]=zero
// rules: out-of-bounds
extern "C" __global__ void vector_over_the_end(const float4 *in, float4 *out)
{
	__shared__ __align__(16) float row[PLANTED(126) MENDED(128)];
	int t = threadIdx.x;

	*(float4 *)&row[4 * t] = in[t]; //!
	__syncwarp();
	out[31 - t] = *(float4 *)&row[4 * t]; //!
}

// == stack_of_eight: a walk through a tree pushes more than its stack in local memory holds
// launch: --block 32
// run: --grid 1 --arg buf:s32[32]:ro=random:10:14 --arg buf:s32[32]=zero
// rules: out-of-bounds
extern "C" __global__ void stack_of_eight(const int *depth, int *out)
{
	int stack[PLANTED(8) MENDED(16)], top = 0, sum = 0, n = depth[threadIdx.x];

	for (int i = 0; i < n; i++)
		stack[top++] = i * n; //!
	while (top)
		sum = sum * 3 + stack[--top]; //!
	out[threadIdx.x] = sum;
}

// == insertion_past_the_list: the four best are kept in a list, and the shift begins one too far
// launch: --block 32
// run: --grid 1 --arg buf:f32[32x8]:ro=random --arg buf:f32[32]=zero --arg u32=3
// rules: out-of-bounds
extern "C" __global__ void insertion_past_the_list(const float *in, float *out, int take)
{
	float best[4] = { -1e9f, -1e9f, -1e9f, -1e9f };

#pragma unroll 1
	for (int i = 0; i < 8; i++) {
		float v = in[threadIdx.x * 8 + i];
		int at = PLANTED(4) MENDED(3);

#pragma unroll 1
		while (at > 0 && best[at - 1] < v) {
			best[at] = best[at - 1]; //!
			at--;
		}
		PLANTED(best[at] = v;) //!
		MENDED(if (best[at] < v)
			best[at] = v;)
	}
	out[threadIdx.x] = best[take];
}

// == table_by_digit: a table with an entry per digit is asked with what was no digit
// launch: --block 32
// run: --grid 1 --arg buf:u8[32]:ro=random:48:61 --arg buf:s32[32]=zero
// rules: out-of-bounds
extern "C" __global__ void table_by_digit(const unsigned char *text, int *out)
{
	int seen[10];

	for (int i = 0; i < 10; i++)
		seen[i] = 0;
	for (int i = 0; i < 32; i++) {
		int digit = text[i] - '0';

		if (digit >= 0 MENDED(&& digit < 10))
			seen[digit]++; //!
	}
	out[threadIdx.x] = seen[threadIdx.x % 10];
}
