// SPDX-License-Identifier: MIT
// Code that takes the lanes of a warp for synchronous, without __syncwarp.
#include "hazard.cuh"

// == last_warp_unrolled: the last six steps of a reduction, as they were written before Volta
// launch: --block 128
// run: --grid 2 --arg buf:f32[256]:ro=random --arg buf:f32[2]=zero
// rules: shared-race race
extern "C" __global__ void last_warp_unrolled(const float *in, float *out)
{
	__shared__ PLANTED(volatile) float part[128];
	int t = threadIdx.x;

	part[t] = in[blockIdx.x * 128 + t];
	__syncthreads();
	if (t < 64)
		part[t] += part[t + 64];
	__syncthreads();
	if (t < 32) {
		float v = part[t];
#pragma unroll
		for (int d = 32; d; d >>= 1) {
			v += part[t + d]; //!
			MENDED(__syncwarp();)
			part[t] = v; //!
			MENDED(__syncwarp();)
		}
		if (t == 0)
			out[blockIdx.x] = v;
	}
}

// == warp_scan_in_shared: a scan within a warp through shared memory
// launch: --block 64
// run: --grid 1 --arg buf:s32[64]=random:0:9
// rules: shared-race race
extern "C" __global__ void warp_scan_in_shared(int *x)
{
	__shared__ int line[2][64];
	int lane = threadIdx.x % 32;
	volatile int *mine = line[threadIdx.x / 32];
	int v = x[threadIdx.x];

	mine[lane] = 0;
	mine[lane + 32] = v;
	MENDED(__syncwarp();)
	for (int d = 1; d < 32; d <<= 1) {
		v += mine[lane + 32 - d]; //!
		MENDED(__syncwarp();)
		mine[lane + 32] = v; //!
		MENDED(__syncwarp();)
	}
	x[threadIdx.x] = v;
}

// == warp_transpose: each warp turns its own tile, and the lanes do not wait for each other
// launch: --block 64
// run: --grid 1 --arg buf:f32[2x8x32]:ro=random --arg buf:f32[2x8x32]=zero
// rules: shared-race race
extern "C" __global__ void warp_transpose(const float *in, float *out)
{
	__shared__ float tile[2][8][33];
	int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

	for (int i = 0; i < 8; i++)
		tile[warp][i][lane] = in[(warp * 8 + i) * 32 + lane]; //!
	MENDED(__syncwarp();)
	for (int i = 0; i < 8; i++)
		out[warp * 256 + i * 32 + lane] = tile[warp][lane % 8][i * 4 + lane / 8]; //!
}

// == lane_zero_tells_the_rest: lane 0 looks the row's beginning up, the others read it from shared memory
// launch: --block 128
// run: --grid 1 --arg buf:s32[5]:ro=iota --arg buf:f32[64]:ro=random --arg buf:f32[128]=zero
// rules: shared-race race
extern "C" __global__ void lane_zero_tells_the_rest(const int *start, const float *value, float *out)
{
	__shared__ int begin[4];
	int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

	if (lane == 0)
		begin[warp] = start[warp]; //!
	MENDED(__syncwarp();)
	out[threadIdx.x] = value[begin[warp] + lane]; //!
}

// == compact_through_shared: lanes put what they keep side by side and read it at once
// launch: --block 32
// run: --grid 1 --arg buf:s32[32]:ro=random --arg buf:s32[32]=zero
// rules: shared-race race unwritten-shared
extern "C" __global__ void compact_through_shared(const int *in, int *out)
{
	__shared__ int kept[32];
	int lane = threadIdx.x, v = in[lane];
	unsigned votes = __ballot_sync(0xffffffffu, v > 0);

	if (v > 0)
		kept[__popc(votes & ((1u << lane) - 1))] = v; //!
	MENDED(__syncwarp();)
	out[lane] = lane < __popc(votes) ? kept[lane] : 0; //!
}

// == neighbour_through_shared: a stencil within the warp overwrites before all have read
// launch: --block 32x2
// run: --grid 1 --arg buf:f32[64]=random
// rules: shared-race race
extern "C" __global__ void neighbour_through_shared(float *x)
{
	__shared__ float row[2][32];
	int lane = threadIdx.x;
	volatile float *mine = row[threadIdx.y];
	float v = x[threadIdx.y * 32 + lane];

	mine[lane] = v;
	__syncwarp();
	for (int step = 0; step < 3; step++) {
		v = 0.5f * (mine[(lane + 31) % 32] + mine[(lane + 1) % 32]); //!
		MENDED(__syncwarp();)
		mine[lane] = v; //!
		__syncwarp();
	}
	x[threadIdx.y * 32 + lane] = v;
}

// == sums_of_half_warps: two halves of a warp exchange their sums through shared memory
// launch: --block 32
// run: --grid 1 --arg buf:f32[32]:ro=random --arg buf:f32[32]=zero
// rules: shared-race race
extern "C" __global__ void sums_of_half_warps(const float *in, float *out)
{
	__shared__ float half[2];
	int lane = threadIdx.x;
	float sum = in[lane];

	for (int d = 8; d; d >>= 1)
		sum += __shfl_xor_sync(0xffffffffu, sum, d);
	if (lane % 16 == 0)
		half[lane / 16] = sum; //!
	MENDED(__syncwarp();)
	out[lane] = sum - half[1 - lane / 16]; //!
}
