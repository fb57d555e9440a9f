// SPDX-License-Identifier: MIT
// Atomic accesses beside plain ones of the same place.
#include "hazard.cuh"

// == counter_read_plain: a counter is read while others still count
// launch: --block 128
// run: --grid 1 --arg buf:s32[128]:ro=random --arg buf:s32[128]=zero
// rules: shared-race race
extern "C" __global__ void counter_read_plain(const int *in, int *out)
{
	__shared__ int count;
	int t = threadIdx.x;

	if (t == 0)
		count = 0;
	__syncthreads();
	if (in[t] > 0)
		atomicAdd(&count, 1); //!
	MENDED(__syncthreads();)
	out[t] = count; //!
}

// == counter_reset_early: the counter of a round is cleared while others still append in it
// launch: --block 64
// run: --grid 1 --arg buf:s32[4x64]:ro=random --arg buf:s32[4x64]=zero
// rules: shared-race race
extern "C" __global__ void counter_reset_early(const int *in, int *out)
{
	__shared__ int used, queue[64];
	int t = threadIdx.x;

	for (int round = 0; round < 4; round++) {
		if (t == 0)
			used = 0; //!
		MENDED(__syncthreads();)
		int v = in[64 * round + t];
		if (v > 0)
			queue[atomicAdd(&used, 1)] = v; //!
		__syncthreads();
		out[64 * round + t] = t < used ? queue[t] : 0;
		__syncthreads();
	}
}

// == maximum_stored_plain: one warp stores a maximum plainly beside the atomic ones
// launch: --block 64
// run: --grid 1 --arg buf:s32[64]:ro=random --arg buf:s32[1]=zero
// rules: shared-race race
extern "C" __global__ void maximum_stored_plain(const int *in, int *out)
{
	__shared__ int most;
	int t = threadIdx.x;

	MENDED(if (t == 0) most = in[0]; __syncthreads();)
	PLANTED(if (t == 0) most = in[0];) //!
	atomicMax(&most, in[t]); //!
	__syncthreads();
	if (t == 0)
		out[0] = most;
}

// == sum_partly_atomic: some threads add atomically, one adds plainly
// launch: --block 128
// run: --grid 1 --arg buf:f32[128]:ro=random --arg buf:f32[1]=zero --arg f32=0.5
// rules: shared-race race
extern "C" __global__ void sum_partly_atomic(const float *in, float *out, float bias)
{
	__shared__ float sum;
	int t = threadIdx.x;

	if (t == 0)
		sum = 0;
	__syncthreads();
	atomicAdd(&sum, in[t]); //!
	if (t == 127)
		PLANTED(sum += bias) MENDED(atomicAdd(&sum, bias)); //!
	__syncthreads();
	if (t == 0)
		out[0] = sum;
}

// == slot_taken_but_not_filled: others read the queue as soon as its length says that something is there
// launch: --block 64
// run: --grid 1 --arg buf:s32[64]:ro=random:1:9 --arg buf:s32[64]=zero
// rules: shared-race race unwritten-shared
extern "C" __global__ void slot_taken_but_not_filled(const int *in, int *out)
{
	__shared__ int length, queue[64];
	int t = threadIdx.x;

	if (t == 0)
		length = 0;
	__syncthreads();
	if (t < 32)
		queue[atomicAdd(&length, 1)] = in[t]; //!
	MENDED(__syncthreads();)
	if (t >= 32) {
		while (atomicAdd(&length, 0) <= t - 32)
			;
		out[t - 32] = queue[t - 32]; //!
	}
}

// == atomic_of_some_bins: neighbouring bins are atomic in one warp and plain in the other
// launch: --block 64
// run: --grid 1 --arg buf:s32[64]:ro=random:0:15 --arg buf:s32[16]=zero
// rules: shared-race race
extern "C" __global__ void atomic_of_some_bins(const int *in, int *out)
{
	__shared__ int bins[16];
	int t = threadIdx.x, v = in[t] & 15;

	if (t < 16)
		bins[t] = 0;
	__syncthreads();
	if (t < 32)
		atomicAdd(&bins[v], 1); //!
	else
		PLANTED(bins[v] = bins[v] + 1) MENDED(atomicAdd(&bins[v], 1)); //!
	__syncthreads();
	if (t < 16)
		out[t] = bins[t];
}

// == block_scope_across_blocks: an atomic of the block's scope counts for all blocks
// launch: --block 64
// run: --grid 4 --arg buf:u32[1]=zero
// rules: race
extern "C" __global__ void block_scope_across_blocks(unsigned *count)
{
	PLANTED(atomicAdd_block(count, 1);) //!
	MENDED(atomicAdd(count, 1);)
}
