// SPDX-License-Identifier: MIT
// __syncwarp with masks that are wrong.
#include "hazard.cuh"

// == half_mask_by_all: all lanes come with the mask of the lower half
// launch: --block 32
// run: --grid 1 --arg buf:f32[32]=random
// rules: shuffle-divergent shuffle-mask warp-barrier shared-race race deadlock
extern "C" __global__ void half_mask_by_all(float *x)
{
	__shared__ float line[32];
	int t = threadIdx.x;

	line[t] = x[t];
	__syncwarp(PLANTED(0xffffu) MENDED(0xffffffffu)); //!
	x[t] = line[31 - t]; //!
}

// == masks_differ: each half waits with a mask of its own, though values cross over
// launch: --block 32
// run: --grid 1 --arg buf:f32[32]=random
// rules: shuffle-divergent shuffle-mask warp-barrier shared-race race deadlock
extern "C" __global__ void masks_differ(float *x)
{
	__shared__ float line[32];
	int t = threadIdx.x;

	line[t] = x[t]; //!
	__syncwarp(PLANTED(0xffffu << (t & 16)) MENDED(0xffffffffu)); //!
	x[t] = line[t ^ 16]; //!
}

// == tile_of_eight: the mask of a group of eight is shifted by the lane within it
// launch: --block 32
// run: --grid 1 --arg buf:s32[32]=iota
// rules: shuffle-divergent shuffle-mask warp-barrier shared-race race deadlock
extern "C" __global__ void tile_of_eight(int *x)
{
	__shared__ int line[32];
	int t = threadIdx.x;

	line[t] = x[t]; //!
	__syncwarp(0xffu << PLANTED((t & 7)) MENDED((t & 24))); //!
	x[t] = line[t ^ 7]; //!
}

// == waits_for_the_other_arm: in one arm a barrier names all lanes, and the others are in a loop for them
// launch: --block 32
// run: --grid 1 --arg buf:s32[32]:ro=iota --arg buf:s32[32]=zero
// rules: shuffle-divergent shuffle-mask warp-barrier deadlock
extern "C" __global__ void waits_for_the_other_arm(const int *in, int *out)
{
	__shared__ int ready;
	int t = threadIdx.x;

	if (t == 0)
		ready = 0;
	__syncwarp();
	if (t < 16) { //!
		out[t] = in[t];
		__syncwarp(PLANTED(0xffffffffu) MENDED(0xffffu)); //!
		if (t == 0)
			atomicExch(&ready, 1);
	} else {
		while (!atomicAdd(&ready, 0)) //!
			;
		out[t] = in[t] + 1;
	}
}

// == not_in_own_mask: the leader's mask leaves the leader out
// launch: --block 32
// run: --grid 1 --arg buf:s32[32]=iota
// rules: shuffle-divergent shuffle-mask warp-barrier shared-race race deadlock
extern "C" __global__ void not_in_own_mask(int *x)
{
	__shared__ int sum;
	int t = threadIdx.x;
	unsigned mask = 0xfffffffeu MENDED(| 1);

	if (t == 0)
		sum = x[0] * 2; //!
	__syncwarp(mask); //!
	x[t] += sum; //!
}

// == mask_from_memory_of_a_vote: lanes of a filter wait by the vote of an older, wider filter
// launch: --block 32
// run: --grid 1 --arg buf:s32[32]=iota
// rules: shuffle-divergent shuffle-mask warp-barrier shared-race race deadlock
extern "C" __global__ void mask_from_memory_of_a_vote(int *x)
{
	__shared__ int line[32];
	int t = threadIdx.x, v = x[t];
	unsigned wide = __ballot_sync(0xffffffffu, v < 30), narrow = __ballot_sync(0xffffffffu, v < 16);

	if (v < 16) { //!
		line[t] = v;
		__syncwarp(PLANTED(wide) MENDED(narrow)); //!
		v = line[15 - t];
	}
	MENDED(__syncwarp();)
	PLANTED(if (v < 30 || t >= 30) __syncwarp(0xffffffffu);) //!
	x[t] = v;
}
