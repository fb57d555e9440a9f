// SPDX-License-Identifier: MIT
// Rings of stages and what counts their phases: the slips of a pipeline that somebody else has to extend.
#include "hazard.cuh"

// == phase_of_every_round: a ring of two stages, and the wait takes the parity of the round, not of the trip
// target: sm_90
// launch: --block 64
// run: --grid 1 --arg buf:f32[6x32]:ro=random --arg buf:f32[32]=zero
// rules: mbarrier async-pending race shared-race deadlock unwritten-shared
extern "C" __global__ void phase_of_every_round(const float *in, float *out)
{
	__shared__ __align__(128) float stage[2][32];
	__shared__ u64 full[2], empty[2];
	int t = threadIdx.x;

	if (t == 0) {
		for (int i = 0; i < 2; i++) {
			mbarrier_init(&full[i], 1);
			mbarrier_init(&empty[i], 32);
		}
		mbarrier_init_fence();
	}
	__syncthreads();
	if (t == 32) {
		for (int i = 0; i < 6; i++) {
			mbarrier_wait(&empty[i % 2], (i / 2 + 1) & 1);
			mbarrier_expect(&full[i % 2], 128);
			bulk_load(stage[i % 2], in + 32 * i, 128, &full[i % 2]); //!
		}
	} else if (t < 32) {
		float sum = 0;

		for (int i = 0; i < 6; i++) {
			mbarrier_wait(&full[i % 2], PLANTED(i & 1) MENDED(i / 2 & 1)); //!
			sum += stage[i % 2][31 - t]; //!
			mbarrier_arrive(&empty[i % 2]);
		}
		out[t] = sum;
	}
}

// == runs_ahead_by_one: the producer begins to wait for free stages one round too late
// target: sm_90
// launch: --block 64
// run: --grid 1 --arg buf:f32[6x32]:ro=random --arg buf:f32[32]=zero
// rules: mbarrier async-pending race shared-race deadlock
extern "C" __global__ void runs_ahead_by_one(const float *in, float *out)
{
	__shared__ __align__(128) float stage[2][32];
	__shared__ u64 full[2], empty[2];
	int t = threadIdx.x;

	if (t == 0) {
		for (int i = 0; i < 2; i++) {
			mbarrier_init(&full[i], 1);
			mbarrier_init(&empty[i], 32);
		}
		mbarrier_init_fence();
	}
	__syncthreads();
	if (t == 32) {
		for (int i = 0; i < 6; i++) {
			if (i >= PLANTED(3) MENDED(2)) //!
				mbarrier_wait(&empty[i % 2], (i / 2 + 1) & 1); //!
			mbarrier_expect(&full[i % 2], 128); //!
			bulk_load(stage[i % 2], in + 32 * i, 128, &full[i % 2]); //!
		}
	} else if (t < 32) {
		float sum = 0;

		for (int i = 0; i < 6; i++) {
			mbarrier_wait(&full[i % 2], i / 2 & 1); //!
			sum += stage[i % 2][31 - t]; //!
			mbarrier_arrive(&empty[i % 2]);
		}
		out[t] = sum;
	}
}

// == tells_the_other_stage: a copy into one stage reports its bytes to the barrier of the other
// target: sm_90
// launch: --block 32
// run: --grid 1 --arg buf:f32[2x32]:ro=random --arg buf:f32[32]=zero
// rules: mbarrier async-pending race shared-race
extern "C" __global__ void tells_the_other_stage(const float *in, float *out)
{
	__shared__ __align__(128) float stage[2][32];
	__shared__ u64 full[2];
	int t = threadIdx.x;
	float sum = 0;

	if (t == 0) {
		mbarrier_init(&full[0], 1);
		mbarrier_init(&full[1], 1);
		mbarrier_init_fence();
		for (int i = 0; i < 2; i++) {
			mbarrier_expect(&full[i], 128);
			bulk_load(stage[i], in + 32 * i, 128, &full[PLANTED(i ^ 1) MENDED(i)]); //!
		}
	}
	__syncthreads();
	for (int i = 0; i < 2; i++) {
		mbarrier_wait(&full[i], 0); //!
		sum += stage[i][31 - t]; //!
	}
	out[t] = sum;
}

// == copies_count_themselves: an arrival for copies that also raises the count, at a barrier that counts it already
// target: sm_90
// launch: --block 32
// run: --grid 1 --arg buf:f32[32]:ro=random --arg buf:f32[32]=zero
// rules: mbarrier deadlock
extern "C" __global__ void copies_count_themselves(const float *in, float *out)
{
	__shared__ __align__(16) float row[32];
	__shared__ u64 full;
	int t = threadIdx.x;

	if (t == 0)
		mbarrier_init(&full, 32);
	__syncthreads();
	copy4(&row[t], &in[t]);
	asm volatile("cp.async.mbarrier.arrive" MENDED(".noinc") ".shared::cta.b64 [%0];" ::"r"(shared_address(&full)) : "memory"); //!
	mbarrier_wait(&full, 0); //!
	out[t] = row[31 - t];
}

// == leaves_without_drop: a quarter of the threads leaves after the first round, and the barrier still counts them
// target: sm_90
// launch: --block 64
// run: --grid 1 --arg buf:s32[64]:ro=iota --arg buf:s32[64]=zero
// rules: mbarrier deadlock
extern "C" __global__ void leaves_without_drop(const int *in, int *out)
{
	__shared__ int seen[2][64];
	__shared__ u64 met;
	int t = threadIdx.x, sum = 0;

	if (t == 0)
		mbarrier_init(&met, 64); //!
	__syncthreads();
	for (int r = 0; r < 3; r++) {
		if (r == 1 && t >= 48) { //!
			MENDED(asm volatile("mbarrier.arrive_drop.shared::cta.b64 _, [%0];" ::"r"(shared_address(&met)) : "memory");)
			return;
		}
		seen[r & 1][t] = in[t] + r;
		mbarrier_arrive(&met); //!
		mbarrier_wait(&met, r & 1); //!
		sum += seen[r & 1][t ^ 1];
	}
	out[t] = sum;
}

// == tells_a_block_that_left: a block reads its neighbour's tile and says so, and the neighbour did not wait for that
// target: sm_90
// launch: --block 32
// run: --grid 2 --arg buf:f32[32]:ro=random --arg buf:f32[32]=zero
// rules: cluster race out-of-bounds
extern "C" __global__ void __cluster_dims__(2, 1, 1) tells_a_block_that_left(const float *in, float *out)
{
	__shared__ float tile[32];
	__shared__ u64 done;
	int t = threadIdx.x;

	if (t == 0) {
		mbarrier_init(&done, 1);
		mbarrier_init_fence();
	}
	tile[t] = in[t];
	cluster_arrive();
	cluster_wait();
	if (cluster_rank() == 1) {
		out[t] = remote_load(mapa(&tile[31 - t], 0)); //!
		__syncwarp();
		if (t == 0)
			asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(mapa(&done, 0)) : "memory"); //!
	} MENDED(else mbarrier_wait(&done, 0);)
}

// == multicast_to_the_uninformed: one block copies to both, and the other one's barrier expects no bytes
// target: sm_90
// launch: --block 32
// run: --grid 2 --arg buf:f32[32]:ro=random --arg buf:f32[64]=zero
// rules: mbarrier async-pending race deadlock bulk-copy
extern "C" __global__ void __cluster_dims__(2, 1, 1) multicast_to_the_uninformed(const float *in, float *out)
{
	__shared__ __align__(128) float row[32];
	__shared__ u64 full;
	int t = threadIdx.x;
	unsigned rank = cluster_rank();

	if (t == 0) {
		mbarrier_init(&full, 1);
		mbarrier_init_fence();
		if (rank == 0 MENDED(|| true))
			mbarrier_expect(&full, 128); //!
		else
			mbarrier_arrive(&full); //!
	}
	cluster_arrive();
	cluster_wait();
	if (rank == 0 && t == 0)
		asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], 128, [%2], %3;" ::"r"(shared_address(row)), "l"(in), "r"(shared_address(&full)), "h"((unsigned short)3) : "memory"); //!
	mbarrier_wait(&full, 0); //!
	out[rank * 32 + t] = row[31 - t]; //!
	cluster_arrive();
	cluster_wait();
}

// == waits_for_the_other_stage: the consumer waits for the stage after the one that it reads, at named barriers
// launch: --block 64
// run: --grid 1 --arg buf:f32[6x32]:ro=random --arg buf:f32[32]=zero
// rules: race shared-race barrier-divergent deadlock barrier-count
extern "C" __global__ void waits_for_the_other_stage(const float *in, float *out)
{
	__shared__ float stage[2][32];
	int t = threadIdx.x % 32;

	if (threadIdx.x >= 32) {
		for (int i = 0; i < 6; i++) {
			if (i >= 2)
				asm volatile("bar.sync %0, 64;" ::"r"(3 + i % 2) : "memory"); //!
			stage[i % 2][t] = in[32 * i + t]; //!
			asm volatile("bar.arrive %0, 64;" ::"r"(1 + i % 2) : "memory"); //!
		}
	} else {
		float sum = 0;

		for (int i = 0; i < 6; i++) {
			asm volatile("bar.sync %0, 64;" ::"r"(1 + (i PLANTED(+ 1)) % 2) : "memory"); //!
			sum += stage[i % 2][31 - t]; //!
			if (i < 4)
				asm volatile("bar.arrive %0, 64;" ::"r"(3 + i % 2) : "memory"); //!
		}
		out[t] = sum;
	}
}
