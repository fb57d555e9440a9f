// SPDX-License-Identifier: MIT
// Groups of lanes and of warps: their masks, their leaders, and what they share.
#include <cooperative_groups.h>

#include "hazard.cuh"

// == aggregated_with_old_mask: one lane counts for its warp, by a mask of before the condition
// launch: --block 64
// run: --grid 1 --arg buf:s32[64]:ro=random:-9:9 --arg buf:s32[64]=zero --arg buf:u32[1]=zero
// rules: shuffle-divergent shuffle-mask out-of-bounds race unwritten-register
extern "C" __global__ void aggregated_with_old_mask(const int *in, int *out, unsigned *count)
{
	int v = in[threadIdx.x];
	unsigned lane = threadIdx.x % 32, base = 0;
	unsigned lanes = PLANTED(__activemask()) MENDED(__ballot_sync(0xffffffffu, v > 0)); //!

	if (v > 0) {
		int leader = __ffs(lanes) - 1;

		if (lane == leader)
			base = atomicAdd(count, __popc(lanes)); //!
		base = __shfl_sync(lanes, base, leader); //!
		out[base + __popc(lanes & ((1u << lane) - 1))] = v; //!
	}
}

// == sum_of_the_few_by_all: twenty lanes of a warp add up, in the name of all 32
// launch: --block 64
// run: --grid 1 --arg buf:s32[64]:ro=iota --arg buf:s32[64]=zero
// rules: shuffle-divergent shuffle-mask deadlock
extern "C" __global__ void sum_of_the_few_by_all(const int *in, int *out)
{
	int t = threadIdx.x;

	if (t % 32 < 20)
		out[t] = __reduce_add_sync(PLANTED(0xffffffffu) MENDED(0xfffffu), in[t]); //!
}

// == tile_of_16_unordered: half a warp exchanges through shared memory as if it ran in step
// launch: --block 64
// run: --grid 1 --arg buf:f32[64]:ro=random --arg buf:f32[64]=zero
// rules: race shared-race
extern "C" __global__ void tile_of_16_unordered(const float *in, float *out)
{
	auto tile = cooperative_groups::tiled_partition<16>(cooperative_groups::this_thread_block());
	__shared__ float line[64];
	int t = threadIdx.x;

	line[t] = in[t]; //!
	MENDED(tile.sync();)
	out[t] = line[t ^ 15] + tile.size(); //!
}

// == warp_barrier_for_two: a group of 32 became one of 64, and its barrier stayed that of a warp
// launch: --block 128
// run: --grid 1 --arg buf:f32[128]:ro=random --arg buf:f32[128]=zero
// rules: race shared-race
extern "C" __global__ void warp_barrier_for_two(const float *in, float *out)
{
	__shared__ float line[2][64];
	int t = threadIdx.x % 64, group = threadIdx.x / 64;

	line[group][t] = in[threadIdx.x]; //!
	PLANTED(__syncwarp();)
	MENDED(asm volatile("bar.sync %0, 64;" ::"r"(1 + group) : "memory");)
	out[threadIdx.x] = line[group][63 - t]; //!
}

// == elected_writes_alone: an elected lane takes a place for its warp, and the others read it at once
// target: sm_90
// launch: --block 64
// run: --grid 1 --arg buf:f32[64]:ro=random --arg buf:f32[64]=zero --arg buf:u32[1]=zero
// rules: race shared-race unwritten-shared
extern "C" __global__ void elected_writes_alone(const float *in, float *out, unsigned *next)
{
	__shared__ unsigned base[2];
	unsigned t = threadIdx.x, leads;

	asm volatile("{\n\t.reg .pred p;\n\telect.sync _|p, 0xffffffff;\n\tselp.u32 %0, 1, 0, p;\n\t}" : "=r"(leads));
	if (leads)
		base[t / 32] = atomicAdd(next, 32); //!
	MENDED(__syncwarp();)
	out[base[t / 32] + t % 32] = in[t]; //!
}

// == leader_reads_the_halves: the last step of a sum in shared memory is lane 0's, which waits for nobody
// launch: --block 64
// run: --grid 1 --arg buf:f32[64]:ro=random --arg buf:f32[2]=zero
// rules: race shared-race
extern "C" __global__ void leader_reads_the_halves(const float *in, float *out)
{
	__shared__ float part[64];
	int t = threadIdx.x, lane = t % 32;

	part[t] = in[t];
	__syncwarp();
	for (int d = 16; d > 1; d >>= 1) {
		if (lane < d)
			part[t] += part[t + d]; //!
		PLANTED(if (d > 2)) __syncwarp(); //!
	}
	if (lane == 0)
		out[t / 32] = part[t] + part[t + 1]; //!
}

// == changed_reset_too_soon: the flag of a fixed-point loop is cleared while other warps still look at it
// launch: --block 64
// run: --grid 1 --arg buf:s32[64]=random
// rules: race shared-race barrier-divergent deadlock
extern "C" __global__ void changed_reset_too_soon(int *x)
{
	__shared__ int line[64];
	__shared__ int changed;
	int t = threadIdx.x;

	line[t] = x[t];
	do {
		MENDED(__syncthreads();)
		if (t == 0)
			changed = 0; //!
		__syncthreads();
		int left = line[t ? t - 1 : 0];
		__syncthreads();
		if (left < line[t]) {
			line[t] = left;
			atomicOr(&changed, 1);
		}
		__syncthreads();
	} while (changed); //!
	x[t] = line[t];
}
