// SPDX-License-Identifier: MIT
// Data that some threads hand to others: by mbarriers, flags, locks and tickets in shared memory.
#include "hazard.cuh"

static __device__ __forceinline__ void release(unsigned *flag, unsigned value)
{
	asm volatile("st.release.cta.shared.u32 [%0], %1;" ::"r"(shared_address(flag)), "r"(value) : "memory");
}

static __device__ __forceinline__ unsigned acquire(unsigned *flag)
{
	unsigned value;

	asm volatile("ld.acquire.cta.shared.u32 %0, [%1];" : "=r"(value) : "r"(shared_address(flag)) : "memory");
	return value;
}

// == lane_zero_arrives: all lanes store, lane 0 alone arrives, and nothing orders the lanes
// target: sm_90
// launch: --block 64
// run: --grid 1 --arg buf:f32[64]=random
// rules: shared-race race
extern "C" __global__ void lane_zero_arrives(float *x)
{
	__shared__ float line[32];
	__shared__ u64 full;
	int t = threadIdx.x;

	if (t == 0)
		mbarrier_init(&full, 1);
	__syncthreads();
	if (t < 32) {
		line[t] = x[t]; //!
		MENDED(__syncwarp();)
		if (t == 0)
			mbarrier_arrive(&full);
	} else {
		mbarrier_wait(&full, 0);
		x[t] = line[63 - t]; //!
	}
}

// == one_warp_of_two_arrives: two warps store, the first arrives for both
// target: sm_90
// launch: --block 96
// run: --grid 1 --arg buf:f32[96]=random
// rules: shared-race race
extern "C" __global__ void one_warp_of_two_arrives(float *x)
{
	__shared__ float line[64];
	__shared__ u64 full;
	int t = threadIdx.x;

	if (t == 0)
		mbarrier_init(&full, PLANTED(32) MENDED(64));
	__syncthreads();
	if (t < 64) {
		line[t] = x[t]; //!
		if (t < PLANTED(32) MENDED(64))
			mbarrier_arrive(&full);
	} else {
		mbarrier_wait(&full, 0);
		x[t] = line[t - 64] + line[t - 32]; //!
	}
}

// == lane_zero_gives_back: all lanes read, lane 0 alone tells the producer that the place is free
// target: sm_90
// launch: --block 64
// run: --grid 1 --arg buf:f32[64]=random
// rules: shared-race race
extern "C" __global__ void lane_zero_gives_back(float *x)
{
	__shared__ float line[32];
	__shared__ u64 empty;
	int t = threadIdx.x;

	if (t == 0)
		mbarrier_init(&empty, 1);
	if (t >= 32)
		line[t - 32] = x[t];
	__syncthreads();
	if (t < 32) {
		x[t] = line[t]; //!
		MENDED(__syncwarp();)
		if (t == 0)
			mbarrier_arrive(&empty);
	} else {
		mbarrier_wait(&empty, 0);
		line[t - 32] = 1.0f; //!
	}
}

// == shuffle_instead_of_syncwarp: a shuffle between the stores and the arrival orders no memory
// target: sm_90
// launch: --block 64
// run: --grid 1 --arg buf:f32[64]=random
// rules: shared-race race
extern "C" __global__ void shuffle_instead_of_syncwarp(float *x)
{
	__shared__ float line[32];
	__shared__ u64 full;
	int t = threadIdx.x;

	if (t == 0)
		mbarrier_init(&full, 1);
	__syncthreads();
	if (t < 32) {
		float v = x[t];

		line[t] = v; //!
		v = __shfl_xor_sync(~0u, v, 1);
		MENDED(__syncwarp();)
		if (t == 0)
			mbarrier_arrive(&full);
		x[t] = v;
	} else {
		mbarrier_wait(&full, 0);
		x[t] = line[t - 32]; //!
	}
}

// == flag_before_data: the flag is released before what it tells of is stored
// launch: --block 64
// run: --grid 1 --arg buf:f32[64]=random
// rules: shared-race race
extern "C" __global__ void flag_before_data(float *x)
{
	__shared__ unsigned flag;
	__shared__ float value;
	int t = threadIdx.x;

	if (t == 0)
		flag = 0;
	__syncthreads();
	if (t == 0) {
		PLANTED(release(&flag, 1);)
		value = x[0]; //!
		MENDED(release(&flag, 1);)
	}
	if (t == 32) {
		while (!acquire(&flag))
			;
		x[t] = value; //!
	}
}

// == flag_of_one_lane: a warp stores, lane 0 releases the flag without waiting for the others
// launch: --block 64
// run: --grid 1 --arg buf:f32[64]=random
// rules: shared-race race
extern "C" __global__ void flag_of_one_lane(float *x)
{
	__shared__ unsigned flag;
	__shared__ float line[32];
	int t = threadIdx.x;

	if (t == 0)
		flag = 0;
	__syncthreads();
	if (t < 32) {
		line[t] = x[t]; //!
		MENDED(__syncwarp();)
		if (t == 0)
			release(&flag, 1);
	} else {
		while (!acquire(&flag))
			;
		x[t] = line[63 - t]; //!
	}
}

// == plain_flag: the flag is volatile, and no fence stands beside it
// launch: --block 64
// run: --grid 1 --arg buf:f32[64]=random
// rules: shared-race race
extern "C" __global__ void plain_flag(float *x)
{
	__shared__ volatile unsigned flag;
	__shared__ float value;
	int t = threadIdx.x;

	if (t == 0)
		flag = 0;
	__syncthreads();
	if (t == 0) {
		value = x[0]; //!
		MENDED(__threadfence_block();)
		flag = 1;
	}
	if (t == 32) {
		while (!flag)
			;
		MENDED(__threadfence_block();)
		x[t] = value; //!
	}
}

// == waits_for_nothing: the flag is read once and not waited for
// launch: --block 64
// run: --grid 1 --arg buf:f32[64]=random
// rules: shared-race race
extern "C" __global__ void waits_for_nothing(float *x)
{
	__shared__ unsigned flag;
	__shared__ float value;
	int t = threadIdx.x;

	if (t == 0)
		flag = 0;
	__syncthreads();
	if (t == 0) {
		value = x[0]; //!
		release(&flag, 1);
	}
	if (t == 32) {
		PLANTED(x[33] = acquire(&flag);)
		MENDED(while (!acquire(&flag));)
		x[t] = value; //!
	}
}

// == lock_of_another: two locks, and the sum is changed under either
// launch: --block 64
// run: --grid 1 --arg buf:f32[64]=random
// rules: shared-race race
extern "C" __global__ void lock_of_another(float *x)
{
	__shared__ unsigned lock[2];
	__shared__ float sum;
	int t = threadIdx.x;

	if (t < 2)
		lock[t] = 0;
	if (t == 0)
		sum = 0;
	__syncthreads();
	if (t % 32 == 0) {
		unsigned *mine = &lock[PLANTED(t / 32) MENDED(0)];

		while (atomicCAS(mine, 0, 1))
			;
		__threadfence_block();
		sum += x[t]; //!
		__threadfence_block();
		atomicExch(mine, 0);
	}
	__syncthreads();
	if (t == 0)
		x[0] = sum;
}

// == sum_behind_the_lock: what the lock protects is stored after it was given back
// launch: --block 64
// run: --grid 1 --arg buf:f32[64]=random
// rules: shared-race race
extern "C" __global__ void sum_behind_the_lock(float *x)
{
	__shared__ unsigned lock;
	__shared__ float sum;
	int t = threadIdx.x;

	if (t == 0) {
		lock = 0;
		sum = 0;
	}
	__syncthreads();
	if (t % 32 == 0) {
		float v;

		while (atomicCAS(&lock, 0, 1))
			;
		__threadfence_block();
		v = sum + x[t];
		MENDED(sum = v;) //!
		__threadfence_block();
		atomicExch(&lock, 0);
		PLANTED(sum = v;) //!
	}
	__syncthreads();
	if (t == 0)
		x[0] = sum;
}

// == one_place_less: 64 threads take places of a list of 63
// launch: --block 64
// run: --grid 1 --arg buf:s32[64]=iota
// rules: out-of-bounds
extern "C" __global__ void one_place_less(int *x)
{
	__shared__ int count, list[PLANTED(63) MENDED(64)];
	int t = threadIdx.x;

	if (t == 0)
		count = 0;
	__syncthreads();
	list[atomicAdd(&count, 1)] = x[t]; //!
	__syncthreads();
	if (t < 63)
		x[t] = list[t];
}

// == places_from_one: the places of a list are counted from 1
// launch: --block 64
// run: --grid 1 --arg buf:s32[64]=iota
// rules: out-of-bounds unwritten-shared
extern "C" __global__ void places_from_one(int *x)
{
	__shared__ int count, list[64];
	int t = threadIdx.x;

	if (t == 0)
		count = PLANTED(1) MENDED(0); //!
	__syncthreads();
	list[atomicAdd(&count, 1)] = x[t]; //!
	__syncthreads();
	x[t] = list[t]; //!
}

// == initialised_again: an mbarrier is initialised for the second round while others still wait in the first
// target: sm_90
// launch: --block 64
// run: --grid 1 --arg buf:f32[64]=random
// rules: shared-race race mbarrier deadlock
extern "C" __global__ void initialised_again(float *x)
{
	__shared__ u64 ready;
	int t = threadIdx.x;

	if (t == 0)
		mbarrier_init(&ready, 64);
	__syncthreads();
	mbarrier_arrive(&ready);
	mbarrier_wait(&ready, 0); //!
	MENDED(__syncthreads();)
	if (t == 0)
		mbarrier_init(&ready, 64); //!
	__syncthreads();
	mbarrier_arrive(&ready);
	mbarrier_wait(&ready, 0);
	x[t] += 1.0f;
}

// == counts_unlike: who arrives at barrier 1 counts 64, who waits counts 128
// launch: --block 128
// run: --grid 1 --arg buf:f32[128]=random
// rules: barrier-divergent barrier-count deadlock
extern "C" __global__ void counts_unlike(float *x)
{
	__shared__ float line[64];
	int t = threadIdx.x;

	if (t < 64) {
		line[t] = x[t];
		asm volatile("bar.arrive 1, %0;" ::"n"(PLANTED(64) MENDED(128)) : "memory"); //!
	} else {
		asm volatile("bar.sync 1, 128;" ::: "memory"); //!
		x[t] = line[t - 64];
	}
}
