// SPDX-License-Identifier: MIT
// Barriers in loops and under conditions that are the same in all threads, and what they leave without an order.
#include "hazard.cuh"

// == barrier_if_large: the barrier stands under a condition that need not hold
// launch: --block 128
// run: --grid 1 --arg buf:f32[128]=random --arg s32=0
// rules: shared-race race
extern "C" __global__ void barrier_if_large(float *x, int n)
{
	__shared__ float line[128];
	int t = threadIdx.x;

	line[t] = x[t]; //!
	PLANTED(if (n > 4)) //!
		__syncthreads();
	x[t] = line[127 - t]; //!
}

// == reuse_behind_the_loop: the tile is written behind a loop whose last reads nothing ends
// launch: --block 128
// run: --grid 1 --arg buf:f32[512]=random --arg s32=4
// rules: shared-race race
extern "C" __global__ void reuse_behind_the_loop(float *x, int n)
{
	__shared__ float line[128];
	int t = threadIdx.x;
	float sum = 0;

	for (int i = 0; i < n; i++) {
		line[t] = x[i * 128 + t]; //!
		__syncthreads();
		sum += line[127 - t]; //!
		PLANTED(if (i + 1 < n))
			__syncthreads();
	}
	line[t ^ 32] = sum; //!
	__syncthreads();
	x[t] = line[127 - t];
}

// == next_round_unordered: a round reads what the next one writes
// launch: --block 64
// run: --grid 1 --arg buf:f32[256]=random --arg s32=4
// rules: shared-race race
extern "C" __global__ void next_round_unordered(float *x, int n)
{
	__shared__ float line[64];
	int t = threadIdx.x;
	float sum = 0;

#pragma unroll 1
	for (int i = 0; i < n; i++) {
		line[t] = x[i * 64 + t]; //!
		__syncthreads();
		sum += line[63 - t]; //!
		MENDED(__syncthreads();)
	}
	x[t] = sum;
}

// == one_warp_meets_first: a branch of one warp holds a barrier of its own and a store that others read
// launch: --block 64
// run: --grid 1 --arg buf:f32[64]=random
// rules: shared-race race
extern "C" __global__ void one_warp_meets_first(float *x)
{
	__shared__ float line[32];
	int t = threadIdx.x;

	if (t < 32) {
		line[t] = x[t]; //!
		asm volatile("bar.sync 1, 32;" ::: "memory");
	}
	MENDED(__syncthreads();)
	if (t >= 32)
		x[t] = line[63 - t]; //!
}

// == tiles_of_one_stage: a product with two stages whose number does not change
// launch: --block 256
// run: --grid 1 --arg buf:f32[1024]=random --arg s32=4
// rules: shared-race race
extern "C" __global__ void tiles_of_one_stage(float *x, int n)
{
	__shared__ float tile[2][256];
	int t = threadIdx.x;
	float sum = 0;

	tile[0][t] = x[t]; //!
	__syncthreads();
#pragma unroll 1
	for (int i = 0; i < n; i++) {
		int now = PLANTED(0) MENDED(i & 1);

		if (i + 1 < n)
			tile[PLANTED(0) MENDED(now ^ 1)][t] = x[(i + 1) * 256 + t]; //!
		sum += tile[now][255 - t]; //!
		__syncthreads();
	}
	x[t] = sum;
}

// == epilogue_without_barrier: a tiled product hands its sums through the tile that is still read
// launch: --block 16x16
// run: --grid 1 --arg buf:f32[4096]:ro=random --arg buf:f32[4096]:ro=random --arg buf:f32[256]=zero --arg s32=64
// rules: shared-race race
extern "C" __global__ void epilogue_without_barrier(const float *a, const float *b, float *c, int k)
{
	__shared__ float ta[16][16], tb[16][16];
	int x = threadIdx.x, y = threadIdx.y;
	float sum = 0;

#pragma unroll 1
	for (int i = 0; i < k; i += 16) {
		ta[y][x] = a[y * k + i + x];
		tb[y][x] = b[(i + y) * 16 + x];
		__syncthreads();
		for (int j = 0; j < 16; j++)
			sum += ta[y][j] * tb[j][x]; //!
		PLANTED(if (i + 16 < k))
			__syncthreads();
	}
	ta[x][y] = sum; //!
	__syncthreads();
	c[y * 16 + x] = ta[y][x];
}

// == flag_decides_the_barrier: the condition of the barrier was written by the threads before it
// launch: --block 64
// run: --grid 1 --arg buf:f32[64]=random --arg s32=1
// rules: shared-race race barrier-divergent
extern "C" __global__ void flag_decides_the_barrier(float *x, int n)
{
	__shared__ int any;
	__shared__ float line[64];
	int t = threadIdx.x;

	if (t == 0)
		any = n; //!
	MENDED(__syncthreads();)
	line[t] = x[t];
	if (any) //!
		__syncthreads();
	MENDED(__syncthreads();)
	x[t] = line[t];
}

// == skipped_when_empty: a first store that only the loop's barrier ends
// launch: --block 64
// run: --grid 1 --arg buf:f32[64]=random --arg s32=0
// rules: shared-race race
extern "C" __global__ void skipped_when_empty(float *x, int n)
{
	__shared__ float line[64];
	int t = threadIdx.x;
	float sum = 0;

	line[t] = x[t]; //!
	MENDED(__syncthreads();)
#pragma unroll 1
	for (int i = 0; i < n; i++) {
		__syncthreads();
		sum += i;
	}
	x[t] = line[63 - t] + sum; //!
}

// == both_sides_of_a_uniform_if: the store is on one side, and the barrier on the other
// launch: --block 64
// run: --grid 1 --arg buf:f32[64]=random --arg s32=1
// rules: shared-race race
extern "C" __global__ void both_sides_of_a_uniform_if(float *x, int n)
{
	__shared__ float line[64];
	int t = threadIdx.x;

	line[t] = 0;
	__syncthreads();
	if (n) {
		line[t] = x[t]; //!
		MENDED(__syncthreads();)
	} else {
		x[t] = 1;
		__syncthreads();
	}
	x[t] += line[63 - t]; //!
}

// == three_warps_multiply: one warp of a group skips the product
// target: sm_90a
// launch: --block 128
// run: --grid 1 --arg buf:f16[1024]:ro=random --arg buf:f16[128]:ro=random --arg buf:f32[512]=zero
// rules: wgmma-order barrier-divergent deadlock
extern "C" __global__ void three_warps_multiply(const uint4 *a, const uint4 *b, float *c)
{
	__shared__ __align__(128) uint4 as[128], bs[16];
	int t = threadIdx.x;
	float d[4] = { 0.0f, 0.0f, 0.0f, 0.0f };

	as[t] = a[t];
	if (t < 16)
		bs[t] = b[t];
	proxy_fence();
	__syncthreads();
	if (t >= PLANTED(32) MENDED(0)) { //!
		wgmma_fence(); //!
		wgmma(d, matrix(as), matrix(bs)); //!
		wgmma_commit();
		wgmma_wait<0>();
	}
	for (int i = 0; i < 4; i++)
		c[t * 4 + i] = d[i];
}

// == never_below_zero: an unsigned counter is never less than zero
// launch: --block 32
// run: --grid 1 --step-limit 100000 --arg buf:s32[32]=random --arg u32=4
// rules: deadlock step-limit endless out-of-bounds
extern "C" __global__ void never_below_zero(int *x, unsigned n)
{
	unsigned i = n;

	do { //!
		x[threadIdx.x] += (int)i; //!
		i -= 2;
	} while (PLANTED(i >= 0) MENDED(i && i < n));
}
