// SPDX-License-Identifier: MIT
// What blocks of a grid owe each other: strides, tickets, fences, locks and phases.
#include <cooperative_groups.h>

#include "hazard.cuh"

// == stride_of_one_block: a loop over the grid steps by one block, so that all blocks do the rest of the work again
// launch: --block 64
// run: --grid 3 --arg buf:f32[512]:ro=random --arg buf:f32[512]=random --arg u32=512
// rules: race global-race
extern "C" __global__ void stride_of_one_block(const float *x, float *y, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x MENDED(* gridDim.x))
		y[i] = 3 * x[i] + y[i]; //!
}

// == ticket_in_two_steps: a block takes its place by a load and a store
// launch: --block 32
// run: --grid 3 --arg buf:f32[96]:ro=random --arg buf:f32[96]=zero --arg buf:u32[1]=zero
// rules: race global-race
extern "C" __global__ void ticket_in_two_steps(const float *in, float *out, unsigned *next)
{
	__shared__ unsigned place;

	if (threadIdx.x == 0) {
		PLANTED(place = *next; *next = place + 1;) //!
		MENDED(place = atomicAdd(next, 1);)
	}
	__syncthreads();
	out[place * 32 + threadIdx.x] = in[blockIdx.x * 32 + threadIdx.x];
}

// == fence_of_the_block: the last block adds up what others stored behind a fence of their block's scope
// launch: --block 32
// run: --grid 4 --arg buf:f32[128]:ro=random --arg buf:f32[4]=zero --arg buf:u32[1]=zero --arg buf:f32[1]=zero
// rules: race global-race
extern "C" __global__ void fence_of_the_block(const float *in, float *part, unsigned *done, float *out)
{
	float v = in[blockIdx.x * 32 + threadIdx.x];

	for (int d = 16; d; d >>= 1)
		v += __shfl_xor_sync(0xffffffffu, v, d);
	if (threadIdx.x == 0) {
		part[blockIdx.x] = v; //!
		PLANTED(__threadfence_block();)
		MENDED(__threadfence();)
		if (atomicAdd(done, 1) == gridDim.x - 1) { //!
			float total = 0;

			PLANTED(__threadfence_block();)
			MENDED(__threadfence();)
			for (int i = 0; i < gridDim.x; i++)
				total += part[i]; //!
			*out = total;
		}
	}
}

// == one_fences_for_four: each warp stores its part, and thread 0 counts the block without waiting for the warps
// launch: --block 128
// run: --grid 3 --arg buf:f32[384]:ro=random --arg buf:f32[12]=zero --arg buf:u32[1]=zero --arg buf:f32[1]=zero
// rules: race global-race
extern "C" __global__ void one_fences_for_four(const float *in, float *part, unsigned *done, float *out)
{
	__shared__ bool last;
	int t = threadIdx.x;
	float v = in[blockIdx.x * 128 + t];

	for (int d = 16; d; d >>= 1)
		v += __shfl_xor_sync(0xffffffffu, v, d);
	if (t % 32 == 0)
		part[blockIdx.x * 4 + t / 32] = v; //!
	MENDED(__syncthreads();)
	if (t == 0) {
		__threadfence();
		last = atomicAdd(done, 1) == gridDim.x - 1; //!
		__threadfence();
	}
	__syncthreads();
	if (last && t == 0) {
		float total = 0;

		for (int i = 0; i < 4 * gridDim.x; i++)
			total += part[i]; //!
		*out = total;
	}
}

// == told_before_its_value: a chained scan of blocks publishes that its sum is there before the sum
// launch: --block 32
// run: --grid 4 --arg buf:f32[128]:ro=random --arg buf:f32[4]=zero --arg buf:u32[4]=zero
// rules: race global-race
extern "C" __global__ void told_before_its_value(const float *in, float *total, unsigned *told)
{
	int b = blockIdx.x;
	float v = in[b * 32 + threadIdx.x];

	for (int d = 16; d; d >>= 1)
		v += __shfl_xor_sync(0xffffffffu, v, d);
	if (threadIdx.x == 0) {
		float before = 0;

		if (b > 0) {
			while (atomicAdd(&told[b - 1], 0) == 0)
				;
			__threadfence();
			before = total[b - 1]; //!
		}
		MENDED(total[b] = before + v;)
		__threadfence();
		atomicExch(&told[b], 1); //!
		PLANTED(total[b] = before + v;) //!
	}
}

// == phases_of_a_grid: the second pass of a cooperative launch begins behind the block's barrier, not the grid's
// launch: --block 64
// run: --grid 3 --cooperative --arg buf:f32[192]:ro=random --arg buf:f32[192]=zero --arg buf:f32[192]=zero
// rules: race global-race
extern "C" __global__ void phases_of_a_grid(const float *in, float *half, float *out)
{
	int n = gridDim.x * 64, i = blockIdx.x * 64 + threadIdx.x;

	half[i] = 0.5f * in[i]; //!
	PLANTED(__syncthreads();)
	MENDED(cooperative_groups::this_grid().sync();)
	out[i] = half[n - 1 - i]; //!
}

// == own_result_as_constant: a block reads what it has just stored by loads for memory that nobody writes
// launch: --block 64
// run: --grid 2 --arg buf:f32[128]:ro=random --arg buf:f32[128]=zero --arg buf:f32[128]=zero
// rules: race global-race
extern "C" __global__ void own_result_as_constant(const float *in, float *half, float *out)
{
	int base = blockIdx.x * 64, t = threadIdx.x;

	half[base + t] = 0.5f * in[base + t]; //!
	__syncthreads();
	out[base + t] = PLANTED(__ldg(&half[base + 63 - t])) MENDED(half[base + 63 - t]); //!
}

// == lock_opened_plainly: a lock of the grid is opened by a plain store, without a fence
// launch: --block 32
// run: --grid 4 --arg buf:f32[128]:ro=random --arg buf:f32[1]=zero --arg buf:u32[1]=zero
// rules: race global-race
extern "C" __global__ void lock_opened_plainly(const float *in, float *sum, unsigned *lock)
{
	float v = in[blockIdx.x * 32 + threadIdx.x];

	for (int d = 16; d; d >>= 1)
		v += __shfl_xor_sync(0xffffffffu, v, d);
	if (threadIdx.x == 0) {
		while (atomicCAS(lock, 0, 1)) //!
			;
		__threadfence();
		*sum += v; //!
		PLANTED(*lock = 0;) //!
		MENDED(__threadfence();
		atomicExch(lock, 0);)
	}
}
