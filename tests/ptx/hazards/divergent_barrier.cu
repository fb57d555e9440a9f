// SPDX-License-Identifier: MIT
// Barriers that only a part of a block or warp reaches.
#include "hazard.cuh"

// == tree_barrier_inside: the barrier of a tree reduction stands inside of the halving condition
// launch: --block 256
// run: --grid 2 --arg buf:f32[512]:ro=random --arg buf:f32[2]=zero
// rules: barrier-divergent barrier-predicated deadlock
extern "C" __global__ void tree_barrier_inside(const float *in, float *out)
{
	__shared__ float part[256];
	int t = threadIdx.x;

	part[t] = in[blockIdx.x * 256 + t];
	__syncthreads();
	for (int s = 128; s > 0; s >>= 1) {
		if (t < s) { //!
			part[t] += part[t + s];
			PLANTED(__syncthreads();) //!
		}
		MENDED(__syncthreads();)
	}
	if (t == 0)
		out[blockIdx.x] = part[0];
}

// == tile_guard_around_barrier: the guard of the last rows is around load, barrier and store
// launch: --block 32x8
// run: --grid 1x3 --arg buf:f32[20x32]:ro=random --arg buf:f32[20x32]=zero --arg u32=20
// rules: barrier-divergent barrier-predicated barrier-skipped deadlock
extern "C" __global__ void tile_guard_around_barrier(const float *in, float *out, int rows)
{
	__shared__ float tile[8][33];
	int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 8 + y;

	PLANTED(if (row < rows) { //!
		tile[y][x] = in[row * 32 + x];
		__syncthreads(); //!
		out[row * 32 + x] = tile[y][31 - x];
	})
	MENDED(if (row < rows)
		tile[y][x] = in[row * 32 + x];
	__syncthreads();
	if (row < rows)
		out[row * 32 + x] = tile[y][31 - x];)
}

// == stride_loop_barrier: the trip count of a loop with barriers depends on the thread
// launch: --block 128
// run: --grid 1 --arg buf:f32[300]:ro=random --arg buf:f32[300]=zero --arg u32=300
// rules: barrier-divergent barrier-predicated deadlock
extern "C" __global__ void stride_loop_barrier(const float *in, float *out, int n)
{
	__shared__ float line[128];
	int t = threadIdx.x;

	for (int i = PLANTED(t; i < n) MENDED(t; i < (n + 127) / 128 * 128); i += 128) { //!
		line[t] = i < n ? in[i] : 0.0f;
		__syncthreads(); //!
		if (i < n)
			out[i] = line[127 - t];
		__syncthreads(); //!
	}
}

// == only_workers_meet: one arm of a role switch has a barrier that the other lacks
// launch: --block 128
// run: --grid 1 --arg buf:f32[64]:ro=random --arg buf:f32[64]=zero
// rules: barrier-divergent barrier-predicated deadlock race shared-race unwritten-shared
extern "C" __global__ void only_workers_meet(const float *in, float *out)
{
	__shared__ float stage[64];
	int t = threadIdx.x;

	if (t < 64) { //!
		stage[t] = in[t]; //!
		__syncthreads(); //!
	} else {
		MENDED(__syncthreads();)
		out[t - 64] = 2.0f * stage[t - 64]; //!
	}
}

// == role_without_barrier: of three roles the last one forgets the barrier of the second stage
// launch: --block 96
// run: --grid 1 --arg buf:s32[96]:ro=iota --arg buf:s32[96]=zero
// rules: barrier-divergent barrier-predicated deadlock
extern "C" __global__ void role_without_barrier(const int *in, int *out)
{
	__shared__ int first[32], second[32];
	int lane = threadIdx.x % 32;

	switch (threadIdx.x / 32) { //!
	case 0:
		first[lane] = in[lane];
		__syncthreads(); //!
		__syncthreads(); //!
		out[lane] = second[lane];
		break;
	case 1:
		__syncthreads(); //!
		second[lane] = first[31 - lane] + in[32 + lane];
		__syncthreads(); //!
		out[32 + lane] = 0;
		break;
	default:
		__syncthreads(); //!
		MENDED(__syncthreads();)
		out[64 + lane] = in[64 + lane];
	}
}

// == leave_loop_early: threads that have converged leave a loop with a barrier
// launch: --block 64
// run: --grid 1 --arg buf:f32[64]=random:1:100
// rules: barrier-divergent barrier-predicated barrier-skipped deadlock
extern "C" __global__ void leave_loop_early(float *x)
{
	__shared__ float now[64];
	int t = threadIdx.x;
	float v = x[t];

	for (int step = 0; step < 20; step++) {
		PLANTED(if (v < 1.0f) break;) //!
		now[t] = v;
		__syncthreads(); //!
		v = MENDED(v < 1.0f ? v :) 0.5f * fminf(now[t], now[(t + 1) % 64]);
		__syncthreads(); //!
	}
	x[t] = v;
}

// == barrier_by_warp_vote: a vote is uniform in a warp, not in the block
// launch: --block 128
// run: --grid 1 --arg buf:f32[128]:ro=iota --arg buf:f32[128]=zero
// rules: barrier-divergent barrier-predicated deadlock race shared-race
extern "C" __global__ void barrier_by_warp_vote(const float *in, float *out)
{
	__shared__ float kept[128];
	int t = threadIdx.x;
	float v = in[t];

	kept[t] = v;
	if (PLANTED(__any_sync(0xffffffffu, v > 100.0f)) MENDED(__syncthreads_or(v > 100.0f))) { //!
		__syncthreads(); //!
		v = kept[127 - t];
	}
	out[t] = v;
}

// == block_function_in_one_warp: a function for whole blocks is called by the first warps
// launch: --block 128
// run: --grid 1 --arg buf:f32[128]:ro=random --arg buf:f32[1]=zero
// rules: barrier-divergent barrier-predicated deadlock
static __device__ float sum_of_block(float v, float *part)
{
	for (int d = 16; d; d >>= 1)
		v += __shfl_xor_sync(0xffffffffu, v, d);
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = v;
	__syncthreads(); //!
	return part[0] + part[1] + part[2] + part[3];
}

extern "C" __global__ void block_function_in_one_warp(const float *in, float *out)
{
	__shared__ float part[4];
	float v = in[threadIdx.x], sum = 0;

	if (threadIdx.x < 4)
		part[threadIdx.x] = 0;
	__syncthreads();
	PLANTED(if (threadIdx.x < 64)) //!
		sum = sum_of_block(v, part); //!
	if (threadIdx.x == 0)
		out[0] = sum;
}

// == counted_barrier_by_data: __syncthreads_count under a condition of the thread's own data
// launch: --block 128
// run: --grid 1 --arg buf:s32[128]:ro=random:-9:9 --arg buf:s32[128]=zero
// rules: barrier-divergent barrier-predicated deadlock
extern "C" __global__ void counted_barrier_by_data(const int *in, int *out)
{
	int v = in[threadIdx.x], count = 0;

	PLANTED(if (v > 0) //!
		count = __syncthreads_count(v > 4);) //!
	MENDED(count = __syncthreads_count(v > 4);)
	out[threadIdx.x] = v > 0 ? count : 0;
}

// == barrier_of_lane_zero: inline assembly lets lane 0 alone come to the barrier
// launch: --block 128
// run: --grid 1 --arg buf:f32[128]:ro=random --arg buf:f32[128]=zero
// rules: barrier-divergent barrier-predicated deadlock
extern "C" __global__ void barrier_of_lane_zero(const float *in, float *out)
{
	__shared__ float part[4];
	int t = threadIdx.x;

	if (t % 32 == 0)
		part[t / 32] = in[t];
	asm volatile("{\n\t.reg .pred leader;\n\tsetp.eq.u32 leader, %0, 0;\n\t" PLANTED("@leader ") //!
		     "bar.sync 0;\n\t}" ::"r"(t % 32) : "memory"); //!
	out[t] = part[3 - t / 32];
}
