// SPDX-License-Identifier: MIT
// Masks that were right before lanes went away.
#include "hazard.cuh"

// == match_then_return: the equal keys are found by all lanes, and some of them return before they are counted
// launch: --block 32
// run: --grid 1 --arg buf:s32[32]:ro=iota --arg buf:s32[32]=zero
// rules: shuffle-divergent shuffle-exited shuffle-mask
extern "C" __global__ void match_then_return(const int *in, int *out)
{
	int t = threadIdx.x, v = in[t];
	unsigned same = __match_any_sync(0xffffffffu, t >> PLANTED(4) MENDED(3));

	if (t >= 24) //!
		return;
	out[t] = __shfl_sync(same, v, 31 - __clz(same)); //!
}

// == active_before_the_branch: the active lanes are asked for before the branch, and only half of them come
// launch: --block 64
// run: --grid 1 --arg buf:s32[64]:ro=iota --arg buf:s32[64]=zero
// rules: shuffle-divergent shuffle-exited shuffle-mask deadlock
extern "C" __global__ void active_before_the_branch(const int *in, int *out)
{
	int t = threadIdx.x, lane = t & 31, v = in[t];
	unsigned active = __activemask();

	if (lane < 16) //!
		v += __shfl_xor_sync(PLANTED(active) MENDED(0xffffu), v, 1); //!
	out[t] = v;
}

// == ballot_of_more_than_come: the ballot is of 24 lanes, and 20 of them go on
// launch: --block 32
// run: --grid 1 --arg buf:s32[32]:ro=iota --arg buf:s32[32]=zero
// rules: shuffle-divergent shuffle-exited shuffle-mask deadlock
extern "C" __global__ void ballot_of_more_than_come(const int *in, int *out)
{
	int t = threadIdx.x, v = in[t];
	unsigned mask = __ballot_sync(0xffffffffu, t < PLANTED(24) MENDED(20));

	if (t < 20) //!
		v = __reduce_max_sync(mask, v); //!
	out[t] = v;
}

// == half_a_mask_too_wide: sixteen lanes are named where eight come
// launch: --block 32
// run: --grid 1 --arg buf:f32[32]:ro=random --arg buf:f32[32]=zero
// rules: shuffle-divergent shuffle-exited shuffle-mask barrier-divergent deadlock
extern "C" __global__ void half_a_mask_too_wide(const float *in, float *out)
{
	__shared__ float s[32];
	int t = threadIdx.x;

	s[t] = in[t];
	__syncwarp();
	if (t < 8) { //!
		float v = s[t + 8];

		__syncwarp(PLANTED(0xffffu) MENDED(0xffu)); //!
		s[t] = v;
	}
	out[t] = s[t];
}
