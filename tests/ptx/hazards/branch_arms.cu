// SPDX-License-Identifier: MIT
// Races between the two arms of a branch.
#include "hazard.cuh"

// == count_and_use: thread 0 sets the count in one arm, the others read it in the other
// launch: --block 64
// run: --grid 1 --arg buf:s32[64]:ro=iota --arg buf:s32[64]=zero
// rules: shared-race race unwritten-shared
extern "C" __global__ void count_and_use(const int *in, int *out)
{
	__shared__ int count;
	int t = threadIdx.x;

	MENDED(if (t == 0) count = in[0] + 3; __syncthreads();)
	if (t == 0) {
		PLANTED(count = in[0] + 3;) //!
		out[0] = 0;
	} else
		out[t] = in[t] * count; //!
}

// == producer_without_handover: one warp produces in its arm, another consumes in the other, and nothing is between
// launch: --block 64
// run: --grid 1 --arg buf:f32[32]:ro=random --arg buf:f32[32]=zero
// rules: shared-race race unwritten-shared
extern "C" __global__ void producer_without_handover(const float *in, float *out)
{
	__shared__ float stage[32];
	int lane = threadIdx.x % 32;

	if (threadIdx.x < 32) {
		stage[lane] = sqrtf(fabsf(in[lane])); //!
		MENDED(asm volatile("bar.arrive 1, 64;" ::: "memory");)
	} else {
		MENDED(asm volatile("bar.sync 1, 64;" ::: "memory");)
		out[lane] = stage[31 - lane]; //!
	}
}

// == both_arms_write: two arms write to the same place what later counts
// launch: --block 64
// run: --grid 1 --arg buf:s32[64]:ro=random --arg buf:s32[1]=zero
// rules: shared-race race
extern "C" __global__ void both_arms_write(const int *in, int *out)
{
	__shared__ int best[2];
	int t = threadIdx.x;

	if (t == 0)
		best[0] = in[0]; //!
	else if (t == 32)
		best[PLANTED(0) MENDED(1)] = in[32]; //!
	__syncthreads();
	if (t == 0)
		out[0] = best[0] + MENDED(best[1]) PLANTED(1);
}

// == refill_in_the_other_arm: one half refills the half tile that the other half is reading
// launch: --block 128
// run: --grid 1 --arg buf:f32[256]:ro=random --arg buf:f32[128]=zero
// rules: shared-race race
extern "C" __global__ void refill_in_the_other_arm(const float *in, float *out)
{
	__shared__ float tile[128];
	int t = threadIdx.x;

	tile[t] = in[t];
	__syncthreads();
	if (t < 64)
		out[t] = tile[t] * tile[t + 64]; //!
	else {
		MENDED(out[t] = 0;)
		PLANTED(tile[t] = in[t + 128];) //!
	}
	MENDED(__syncthreads();
	if (t >= 64)
		tile[t] = in[t + 128];)
	__syncthreads();
	out[t] += tile[64 + t % 64];
}

// == flag_in_switch: one role stops the others by a flag that they read in theirs
// launch: --block 96
// run: --grid 1 --arg buf:s32[96]:ro=random:5:9 --arg buf:s32[96]=zero
// rules: shared-race race
extern "C" __global__ void flag_in_switch(const int *in, int *out)
{
	__shared__ int stop;
	int t = threadIdx.x;

	if (t == 0)
		stop = 0;
	__syncthreads();
	switch (t / 32) {
	case 0:
		if (in[t] == 7)
			PLANTED(stop = 1) MENDED(atomicExch(&stop, 1)); //!
		break;
	case 1:
		out[t] = PLANTED(stop) MENDED(atomicOr(&stop, 0)) ? 0 : in[t]; //!
		break;
	default:
		out[t] = in[t];
	}
}

// == odd_lanes_read_even: even lanes write and odd lanes read, in one warp, without __syncwarp
// launch: --block 32
// run: --grid 1 --arg buf:f32[32]:ro=random --arg buf:f32[32]=zero
// rules: shared-race race unwritten-shared
extern "C" __global__ void odd_lanes_read_even(const float *in, float *out)
{
	__shared__ float pair[16];
	int t = threadIdx.x;

	if (t % 2 == 0) {
		pair[t / 2] = in[t]; //!
		out[t] = in[t];
	}
	MENDED(__syncwarp();)
	if (t % 2)
		out[t] = in[t] - pair[t / 2]; //!
}

// == leader_of_each_row: in a block of rows the leader of one row writes what the others read in the else arm
// launch: --block 32x4
// run: --grid 1 --arg buf:f32[4x32]:ro=random --arg buf:f32[4x32]=zero
// rules: shared-race race unwritten-shared
extern "C" __global__ void leader_of_each_row(const float *in, float *out)
{
	__shared__ float scale[4];
	int x = threadIdx.x, y = threadIdx.y;

	MENDED(if (y == 0 && x < 4) scale[x] = in[32 * x]; __syncthreads();)
	if (y == 0) {
		PLANTED(if (x < 4) scale[x] = in[32 * x];) //!
		out[x] = in[x];
	} else
		out[32 * y + x] = in[32 * y + x] * scale[y]; //!
}
