// SPDX-License-Identifier: MIT
// Shuffles and votes: masks that are wrong, lanes that are not there.
#include "hazard.cuh"

// == full_mask_in_branch: the full mask where only a part of the warp comes
// launch: --block 32
// run: --grid 1 --arg buf:f32[32]:ro=random --arg buf:f32[1]=zero
// rules: shuffle-divergent shuffle-exited shuffle-mask deadlock
extern "C" __global__ void full_mask_in_branch(const float *in, float *out)
{
	int t = threadIdx.x;
	float v = in[t];

	if (t < 16) { //!
		for (int d = 8; d; d >>= 1)
			v += __shfl_xor_sync(PLANTED(0xffffffffu) MENDED(0xffffu), v, d); //!
		if (t == 0)
			out[0] = v;
	}
}

// == tail_lanes_have_left: lanes behind the end return, and the rest shuffles with all
// launch: --block 64
// run: --grid 1 --arg buf:f32[50]:ro=random --arg buf:f32[2]=zero --arg u32=50
// rules: shuffle-divergent shuffle-exited shuffle-mask deadlock
extern "C" __global__ void tail_lanes_have_left(const float *in, float *out, int n)
{
	int t = threadIdx.x;

	PLANTED(if (t >= n) return;) //!
	float v = MENDED(t >= n ? 0.0f :) in[t];
	for (int d = 16; d; d >>= 1)
		v += __shfl_down_sync(0xffffffffu, v, d); //!
	if (t % 32 == 0)
		out[t / 32] = v;
}

// == block_of_48: the second warp of a block of 48 threads has 16 lanes
// launch: --block 48
// run: --grid 1 --arg buf:f32[48]:ro=random --arg buf:f32[3]=zero
// rules: shuffle-divergent shuffle-exited shuffle-mask
extern "C" __global__ void block_of_48(const float *in, float *out)
{
	int t = threadIdx.x;
	float v = in[t];

	for (int d = PLANTED(16) MENDED(8); d; d >>= 1)
		v += __shfl_xor_sync(PLANTED(0xffffffffu) MENDED(t < 32 ? 0xffffffffu : 0xffffu), v, d); //!
	if (t % PLANTED(32) MENDED(16) == 0)
		out[t / PLANTED(32) MENDED(16)] = v;
}

// == source_lane_is_elsewhere: sixteen lanes take the value of a lane that is not among them
// launch: --block 32
// run: --grid 1 --arg buf:f32[32]:ro=random --arg buf:f32[32]=zero
// rules: shuffle-divergent shuffle-exited shuffle-mask
extern "C" __global__ void source_lane_is_elsewhere(const float *in, float *out)
{
	int t = threadIdx.x;
	float v = in[t];

	if (t < 16) //!
		v -= __shfl_sync(0xffffu, v, PLANTED(31) MENDED(15)); //!
	out[t] = v;
}

// == shuffle_in_uneven_loop: lanes go round a loop with a shuffle as often as they have neighbours
// launch: --block 32
// run: --grid 1 --arg buf:s32[33]:ro=iota --arg buf:f32[600]:ro=random --arg buf:f32[32]=zero
// rules: shuffle-divergent shuffle-exited shuffle-mask deadlock
extern "C" __global__ void shuffle_in_uneven_loop(const int *length, const float *value, float *out)
{
	int t = threadIdx.x, n = length[t] % 5 + 1, most = n;
	float sum = 0;

	for (int d = 16; d; d >>= 1)
		most = max(most, __shfl_xor_sync(0xffffffffu, most, d));
	for (int i = 0; i < PLANTED(n) MENDED(most); i++) //!
		sum += __shfl_sync(0xffffffffu, value[i * 32 + t], i); //!
	out[t] = sum;
}

// == vote_behind_condition: && evaluates the vote for some lanes only
// launch: --block 64
// run: --grid 1 --arg buf:s32[64]:ro=random --arg buf:s32[64]=zero
// rules: shuffle-divergent shuffle-exited shuffle-mask deadlock
extern "C" __global__ void vote_behind_condition(const int *in, int *out)
{
	int t = threadIdx.x, v = in[t];

	out[t] = 0;
	PLANTED(if (v > 0 && __all_sync(0xffffffffu, v > -1000)) //!
		out[t] = 1;) //!
	MENDED(bool all = __all_sync(0xffffffffu, v > -1000);
	if (v > 0 && all)
		out[t] = 1;)
}

// == mask_of_the_wrong_half: the upper sixteen lanes shuffle with the mask of the lower
// launch: --block 32
// run: --grid 1 --arg buf:f32[32]:ro=random --arg buf:f32[2]=zero
// rules: shuffle-divergent shuffle-exited shuffle-mask deadlock
extern "C" __global__ void mask_of_the_wrong_half(const float *in, float *out)
{
	int t = threadIdx.x;
	float v = in[t];
	unsigned mask = PLANTED(0xffffu) MENDED(0xffffu << (t & 16)); //!

	for (int d = 8; d; d >>= 1)
		v += __shfl_xor_sync(mask, v, d); //!
	if (t % 16 == 0)
		out[t / 16] = v;
}

// == shuffle_in_both_arms: lanes of two arms want to exchange values, each by a shuffle of its own
// launch: --block 32
// run: --grid 1 --arg buf:s32[32]:ro=iota --arg buf:s32[32]=zero
// rules: shuffle-divergent shuffle-exited shuffle-mask deadlock
extern "C" __global__ void shuffle_in_both_arms(const int *in, int *out)
{
	int t = threadIdx.x, v = in[t];

	PLANTED(if (t & 1) //!
		out[t] = __shfl_xor_sync(0xffffffffu, v + 1, 1); //!
	else
		out[t] = __shfl_xor_sync(0xffffffffu, v * 3, 1);) //!
	MENDED(out[t] = __shfl_xor_sync(0xffffffffu, t & 1 ? v + 1 : v * 3, 1);)
}

// == ballot_is_stale: the mask was voted on before more lanes went away
// launch: --block 32
// run: --grid 1 --arg buf:s32[32]:ro=iota --arg buf:s32[1]=zero
// rules: shuffle-divergent shuffle-exited shuffle-mask deadlock
extern "C" __global__ void ballot_is_stale(const int *in, int *out)
{
	int t = threadIdx.x, v = in[t];
	unsigned mask = __ballot_sync(0xffffffffu, v < PLANTED(24) MENDED(20));

	if (v < 20) { //!
		int least = __reduce_min_sync(mask, v + 5); //!

		if (t == 0)
			out[0] = least;
	}
}

// == scan_from_idle_lane: a segment's scan takes values from lanes that stayed outside
// launch: --block 32
// run: --grid 1 --arg buf:f32[32]:ro=random --arg buf:f32[32]=zero --arg u32=8
// rules: shuffle-divergent shuffle-exited shuffle-mask deadlock
extern "C" __global__ void scan_from_idle_lane(const float *in, float *out, int first)
{
	int t = threadIdx.x;
	float v = in[t];

	PLANTED(if (t >= first) { //!
		unsigned mask = __activemask();

		v += __shfl_sync(mask, v, t - 8); //!
	})
	MENDED(float left = __shfl_sync(0xffffffffu, v, t - 8);
	if (t >= first)
		v += left;)
	out[t] = v;
}

// == match_among_absent: lanes look for equal keys among all, though some have none
// launch: --block 32
// run: --grid 1 --arg buf:s32[32]:ro=random:0:9 --arg buf:s32[10]=zero
// rules: shuffle-divergent shuffle-exited shuffle-mask deadlock
extern "C" __global__ void match_among_absent(const int *key, int *count)
{
	int t = threadIdx.x, k = key[t];
	unsigned with_key = __ballot_sync(0xffffffffu, k < 7);

	if (k < 7) { //!
		unsigned same = __match_any_sync(PLANTED(0xffffffffu) MENDED(with_key), k); //!

		if (__ffs(same) - 1 == t)
			atomicAdd(&count[k], __popc(same));
	}
}
