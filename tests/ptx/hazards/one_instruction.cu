// SPDX-License-Identifier: MIT
// Threads that write different values to one place by the same instruction.
#include "hazard.cuh"

// == flag_of_anybody: all threads write their own number into one word
// launch: --block 128
// run: --grid 1 --arg buf:s32[128]:ro=random --arg buf:s32[1]=zero
// rules: shared-race race
extern "C" __global__ void flag_of_anybody(const int *in, int *out)
{
	__shared__ int found;
	int t = threadIdx.x;

	if (t == 0)
		found = -1;
	__syncthreads();
	if (in[t] > 0)
		PLANTED(found = t) MENDED(atomicMax(&found, t)); //!
	__syncthreads();
	if (t == 0)
		out[0] = found;
}

// == bins_without_atomics: a histogram whose bins are counted up plainly
// launch: --block 128
// run: --grid 1 --arg buf:u8[128]:ro=random --arg buf:u32[256]=zero
// rules: shared-race race
extern "C" __global__ void bins_without_atomics(const unsigned char *in, unsigned *out)
{
	__shared__ unsigned bins[16];
	int t = threadIdx.x;

	if (t < 16)
		bins[t] = 0;
	__syncthreads();
	PLANTED(bins[in[t] / 16]++;) //!
	MENDED(atomicAdd(&bins[in[t] / 16], 1);)
	__syncthreads();
	if (t < 16)
		out[t] = bins[t];
}

// == two_threads_per_slot: pairs of threads write to one slot, which was meant for one of them
// launch: --block 64
// run: --grid 1 --arg buf:f32[64]:ro=random --arg buf:f32[32]=zero
// rules: shared-race race
extern "C" __global__ void two_threads_per_slot(const float *in, float *out)
{
	__shared__ float half[32];
	int t = threadIdx.x;

	MENDED(if (t % 2 == 0))
		half[t / 2] = in[t]; //!
	__syncthreads();
	if (t < 32)
		out[t] = half[t];
}

// == block_larger_than_tile: a tile for 32 threads is filled by 64
// launch: --block 64
// run: --grid 1 --arg buf:f32[64]:ro=random --arg buf:f32[64]=zero
// rules: shared-race race
extern "C" __global__ void block_larger_than_tile(const float *in, float *out)
{
	__shared__ float tile[PLANTED(32) MENDED(64)];
	int t = threadIdx.x;

	tile[t % PLANTED(32) MENDED(64)] = in[t]; //!
	__syncthreads();
	out[t] = tile[(t + 1) % PLANTED(32) MENDED(64)];
}

// == vectors_overlap: vectors of four are stored two elements apart
// launch: --block 32
// run: --grid 1 --arg buf:f32[64]:ro=random --arg buf:f32[32]=zero
// rules: shared-race race
extern "C" __global__ void vectors_overlap(const float2 *in, float *out)
{
	__shared__ __align__(16) float line[136];
	int t = threadIdx.x;
	float2 v = in[t];

	*(float2 *)&line[t * PLANTED(1) MENDED(2) / 2 * 2] = v; //!
	__syncthreads();
	out[t] = line[t * 2 / 2];
}

// == all_lanes_write_the_sum: after a prefix sum every lane writes its own as the warp's
// launch: --block 128
// run: --grid 1 --arg buf:s32[128]:ro=random:0:9 --arg buf:s32[4]=zero
// rules: shared-race race
extern "C" __global__ void all_lanes_write_the_sum(const int *in, int *out)
{
	__shared__ int total[4];
	int t = threadIdx.x, lane = t % 32, sum = in[t];

	for (int d = 1; d < 32; d <<= 1) {
		int left = __shfl_up_sync(0xffffffffu, sum, d);

		if (lane >= d)
			sum += left;
	}
	MENDED(if (lane == 31))
		total[t / 32] = sum; //!
	__syncthreads();
	if (t < 4)
		out[t] = total[t];
}

// == scatter_by_key: sorting by counting without a place of one's own among equal keys
// launch: --block 64
// run: --grid 1 --arg buf:u8[64]:ro=random --arg buf:s32[256]=zero
// rules: shared-race race
extern "C" __global__ void scatter_by_key(const unsigned char *key, int *out)
{
	__shared__ int place[64], next[4];
	int t = threadIdx.x, k = key[t] & 3;

	place[t] = -1;
	if (t < 4)
		next[t] = 0;
	__syncthreads();
	int at = PLANTED(next[k]) MENDED(atomicAdd(&next[k], 1));
	if (at < 16)
		place[16 * k + at] = t; //!
	__syncthreads();
	out[t] = place[t];
}
