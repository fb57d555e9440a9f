// SPDX-License-Identifier: MIT
// Named barriers with counts and numbers that do not fit.
#include "hazard.cuh"

static __device__ __forceinline__ void meet(int id, int count)
{
	asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(count) : "memory");
}

static __device__ __forceinline__ void arrive(int id, int count)
{
	asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(count) : "memory");
}

// == counts_too_many: a pair of warps meets at a barrier for the whole block's count
// launch: --block 128
// run: --grid 1 --arg buf:f32[128]=random
// rules: deadlock barrier-divergent barrier-count
extern "C" __global__ void counts_too_many(float *x)
{
	__shared__ float line[128];
	int t = threadIdx.x;

	line[t] = x[t];
	if (t < 64) { //!
		meet(1, PLANTED(128) MENDED(64)); //!
		x[t] = line[63 - t];
	}
}

// == counts_too_few: two warps hand over to two others, and the count is that of two
// launch: --block 128
// run: --grid 1 --arg buf:f32[128]=random
// rules: deadlock barrier-divergent barrier-count race shared-race unwritten-shared
extern "C" __global__ void counts_too_few(float *x)
{
	__shared__ float line[64];
	int t = threadIdx.x, count = PLANTED(64) MENDED(128);

	if (t < 64) {
		line[t] = x[t]; //!
		arrive(1, count); //!
	} else {
		meet(1, count); //!
		x[t] += line[127 - t]; //!
	}
}

// == another_number: producers arrive at barrier 1, consumers wait at barrier 2
// launch: --block 64
// run: --grid 1 --arg buf:f32[64]=random
// rules: deadlock barrier-divergent barrier-count
extern "C" __global__ void another_number(float *x)
{
	__shared__ float line[32];
	int t = threadIdx.x;

	if (t < 32) {
		line[t] = x[t];
		arrive(1, 64); //!
	} else {
		meet(PLANTED(2) MENDED(1), 64); //!
		x[t] += line[63 - t];
	}
}

// == groups_share_a_number: two groups of warps mean to meet apart, at the same barrier
// launch: --block 128
// run: --grid 1 --arg buf:f32[128]=random
// rules: deadlock barrier-divergent barrier-count race shared-race
extern "C" __global__ void groups_share_a_number(float *x)
{
	__shared__ float line[2][64];
	int group = threadIdx.x / 64, t = threadIdx.x % 64;

	line[group][t] = x[threadIdx.x]; //!
	meet(PLANTED(1) MENDED(1 + group), 64); //!
	x[threadIdx.x] = line[group][63 - t]; //!
}

// == one_round_less: the producers of a ring go round once less than the consumers
// launch: --block 64
// run: --grid 1 --arg buf:f32[4x32]:ro=random --arg buf:f32[32]=zero
// rules: deadlock barrier-divergent barrier-count
extern "C" __global__ void one_round_less(const float *in, float *out)
{
	__shared__ float stage[32];
	int lane = threadIdx.x % 32;

	if (threadIdx.x < 32) {
		for (int i = 0; i < PLANTED(3) MENDED(4); i++) {
			stage[lane] = in[i * 32 + lane];
			meet(1, 64); //!
			meet(2, 64); //!
		}
	} else {
		float sum = 0;

		for (int i = 0; i < 4; i++) {
			meet(1, 64); //!
			sum += stage[31 - lane];
			meet(2, 64); //!
		}
		out[lane] = sum;
	}
}

// == not_a_multiple_of_32: the count of a barrier is that of the busy threads
// launch: --block 64
// run: --grid 1 --arg buf:f32[64]=random
// rules: deadlock barrier-divergent barrier-count immediate-range
extern "C" __global__ void not_a_multiple_of_32(float *x)
{
	__shared__ float line[64];
	int t = threadIdx.x;

	line[t] = x[t];
	meet(1, PLANTED(50) MENDED(64)); //!
	x[t] = line[63 - t];
}

// == arrives_and_waits: the producers arrive and then wait at the same barrier, and are counted twice
// launch: --block 64
// run: --grid 1 --arg buf:f32[64]=random
// rules: deadlock barrier-divergent barrier-count race shared-race unwritten-shared
extern "C" __global__ void arrives_and_waits(float *x)
{
	__shared__ float line[32];
	int t = threadIdx.x;

	if (t < 32) {
		line[t] = x[t]; //!
		PLANTED(arrive(1, 64);) //!
		meet(1, 64); //!
	} else {
		meet(1, 64); //!
		x[t] += line[63 - t]; //!
	}
}
