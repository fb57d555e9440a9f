// SPDX-License-Identifier: MIT
// cp.async: copies that are read before they are there, or overwritten while they are read.
#include "hazard.cuh"

// == tile_without_wait: a tile is copied, and a barrier alone does not wait for copies
// launch: --block 128
// run: --grid 2 --arg buf:f32[256]:ro=random --arg buf:f32[256]=zero
// rules: async-pending cp-async
extern "C" __global__ void tile_without_wait(const float *in, float *out)
{
	__shared__ __align__(16) float tile[128];
	int t = threadIdx.x, base = blockIdx.x * 128;

	copy4(&tile[t], &in[base + t]); //!
	copy_commit();
	MENDED(copy_wait<0>();)
	__syncthreads();
	out[base + t] = tile[127 - t]; //!
}

// == pipeline_one_too_lenient: with two stages in flight the wait lets both be pending
// launch: --block 64
// run: --grid 1 --arg buf:f32[8x256]:ro=random --arg buf:f32[256]=zero --arg u32=8
// rules: async-pending cp-async
extern "C" __global__ void pipeline_one_too_lenient(const float *in, float *out, int steps)
{
	__shared__ __align__(16) float stage[3][256];
	int t = threadIdx.x;
	float4 sum = {};

	for (int i = 0; i < 2; i++) {
		copy16(&stage[i][4 * t], &in[i * 256 + 4 * t]); //!
		copy_commit();
	}
	for (int i = 0; i < steps; i++) {
		PLANTED(copy_wait<2>()) MENDED(copy_wait<1>()); //!
		__syncthreads();
		float4 v = *(float4 *)&stage[i % 3][4 * (63 - t)]; //!

		sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
		if (i + 2 < steps)
			copy16(&stage[(i + 2) % 3][4 * t], &in[(i + 2) * 256 + 4 * t]); //!
		copy_commit();
	}
	*(float4 *)&out[4 * t] = sum;
}

// == wait_without_barrier: each thread waits for its own copies and reads those of others
// launch: --block 128
// run: --grid 1 --arg buf:f32[128]:ro=random --arg buf:f32[128]=zero
// rules: async-pending cp-async shared-race race
extern "C" __global__ void wait_without_barrier(const float *in, float *out)
{
	__shared__ __align__(16) float tile[128];
	int t = threadIdx.x;

	copy4(&tile[t], &in[t]); //!
	copy_commit();
	copy_wait<0>();
	MENDED(__syncthreads();)
	out[t] = tile[(t + 64) % 128]; //!
}

// == commit_forgotten: copies are in no group, and the wait is for groups
// launch: --block 64
// run: --grid 1 --arg buf:f32[256]:ro=random --arg buf:f32[256]=zero
// rules: async-pending cp-async
extern "C" __global__ void commit_forgotten(const float *in, float *out)
{
	__shared__ __align__(16) float tile[256];
	int t = threadIdx.x;

	copy16(&tile[4 * t], &in[4 * t]); //!
	MENDED(copy_commit();)
	copy_wait<0>();
	__syncthreads();
	for (int i = 0; i < 4; i++)
		out[t + 64 * i] = tile[255 - t - 64 * i]; //!
}

// == refill_under_the_readers: the next copy goes to the stage that other warps still read
// launch: --block 64
// run: --grid 1 --arg buf:f32[6x64]:ro=random --arg buf:f32[64]=zero --arg u32=6
// rules: async-pending cp-async shared-race race
extern "C" __global__ void refill_under_the_readers(const float *in, float *out, int steps)
{
	__shared__ __align__(16) float stage[64];
	int t = threadIdx.x;
	float sum = 0;

	for (int i = 0; i < steps; i++) {
		copy4(&stage[t], &in[i * 64 + t]); //!
		copy_commit();
		copy_wait<0>();
		__syncthreads();
		sum += stage[63 - t]; //!
		MENDED(__syncthreads();)
	}
	out[t] = sum;
}

// == only_loaders_wait: half of the threads copy twice and the other half waits
// launch: --block 64
// run: --grid 1 --arg buf:f32[128]:ro=random --arg buf:f32[64]=zero
// rules: async-pending cp-async
extern "C" __global__ void only_loaders_wait(const float *in, float *out)
{
	__shared__ __align__(16) float tile[128];
	int t = threadIdx.x;

	if (t < 32) {
		copy16(&tile[4 * t], &in[4 * t]); //!
		copy_commit();
	}
	if (t PLANTED(>=) MENDED(<) 32)
		copy_wait<0>(); //!
	__syncthreads();
	out[t] = tile[t] + tile[127 - t]; //!
}

// == last_steps_not_drained: the tail of a pipeline without further commits needs stricter waits
// launch: --block 32
// run: --grid 1 --arg buf:f32[6x32]:ro=random --arg buf:f32[32]=zero
// rules: async-pending cp-async
extern "C" __global__ void last_steps_not_drained(const float *in, float *out)
{
	__shared__ __align__(16) float stage[3][32];
	int t = threadIdx.x;
	float sum = 0;

	for (int i = 0; i < 2; i++) {
		copy4(&stage[i][t], &in[i * 32 + t]);
		copy_commit();
	}
	for (int i = 0; i < 6; i++) {
		if (i + 2 < 6) {
			copy4(&stage[(i + 2) % 3][t], &in[(i + 2) * 32 + t]); //!
			copy_commit();
			copy_wait<2>();
		} else
			PLANTED(copy_wait<1>()) MENDED(copy_wait<0>()); //!
		__syncwarp();
		sum += stage[i % 3][31 - t]; //!
		__syncwarp();
	}
	out[t] = sum;
}

// == sixteen_bytes_from_anywhere: copies of 16 bytes begin at any element
// launch: --block 32
// run: --grid 1 --arg buf:f32[136]:ro=random --arg buf:f32[128]=zero --arg u32=3
// rules: misaligned
extern "C" __global__ void sixteen_bytes_from_anywhere(const float *in, float *out, int first)
{
	__shared__ __align__(16) float tile[128];
	int t = threadIdx.x;

	copy16(&tile[4 * t], &in[PLANTED(first) MENDED(first / 4 * 4) + 4 * t]); //!
	copy_commit();
	copy_wait<0>();
	__syncwarp();
	for (int i = 0; i < 4; i++)
		out[t + 32 * i] = tile[t + 32 * i];
}

// == store_under_the_copy: a border is zeroed in the tile while its copy is still in flight
// launch: --block 64
// run: --grid 1 --arg buf:f32[64]:ro=random --arg buf:f32[64]=zero
// rules: async-pending cp-async shared-race race
extern "C" __global__ void store_under_the_copy(const float *in, float *out)
{
	__shared__ __align__(16) float tile[64];
	int t = threadIdx.x;

	copy4(&tile[t], &in[t]); //!
	copy_commit();
	MENDED(copy_wait<0>(); __syncthreads();)
	if (t == 0 || t == 63)
		tile[t] = 0; //!
	copy_wait<0>();
	__syncthreads();
	out[t] = tile[63 - t];
}
