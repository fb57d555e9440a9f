// SPDX-License-Identifier: MIT
// mbarriers: initialisation, counts, bytes, phases.
#include "hazard.cuh"

// == never_initialised: a barrier is used as shared memory holds it
// target: sm_90
// launch: --block 64
// run: --grid 1 --arg buf:f32[64]=random
// rules: mbarrier unwritten-shared
extern "C" __global__ void never_initialised(float *x)
{
	__shared__ float line[64];
	__shared__ u64 ready;
	int t = threadIdx.x;

	MENDED(if (t == 0) mbarrier_init(&ready, 64); __syncthreads();)
	line[t] = x[t];
	mbarrier_arrive(&ready); //!
	mbarrier_wait(&ready, 0); //!
	x[t] = line[63 - t];
}

// == init_not_awaited: others arrive before thread 0 has initialised
// target: sm_90
// launch: --block 128
// run: --grid 1 --arg buf:f32[128]=random
// rules: mbarrier race shared-race unwritten-shared
extern "C" __global__ void init_not_awaited(float *x)
{
	__shared__ float line[128];
	__shared__ u64 ready;
	int t = threadIdx.x;

	if (t == 0)
		mbarrier_init(&ready, 128); //!
	MENDED(__syncthreads();)
	line[t] = x[t];
	mbarrier_arrive(&ready); //!
	mbarrier_wait(&ready, 0); //!
	x[t] = line[127 - t];
}

// == init_unseen_by_copies: no fence makes the initialised barrier known to the copy engine
// target: sm_90
// launch: --block 64
// run: --grid 1 --arg buf:f32[64]:ro=random --arg buf:f32[64]=zero
// rules: mbarrier proxy-fence
extern "C" __global__ void init_unseen_by_copies(const float *in, float *out)
{
	__shared__ __align__(128) float tile[64];
	__shared__ u64 full;
	int t = threadIdx.x;

	if (t == 0) {
		mbarrier_init(&full, 1); //!
		MENDED(mbarrier_init_fence();)
	}
	__syncthreads();
	if (t == 0) {
		mbarrier_expect(&full, sizeof tile);
		bulk_load(tile, in, sizeof tile, &full); //!
	}
	mbarrier_wait(&full, 0);
	out[t] = tile[63 - t];
}

// == expects_elements: the bytes that come are given as elements
// target: sm_90
// launch: --block 64
// run: --grid 1 --arg buf:f32[64]:ro=random --arg buf:f32[64]=zero
// rules: mbarrier deadlock async-pending race shared-race
extern "C" __global__ void expects_elements(const float *in, float *out)
{
	__shared__ __align__(128) float tile[64];
	__shared__ u64 full;
	int t = threadIdx.x;

	if (t == 0) {
		mbarrier_init(&full, 1);
		mbarrier_init_fence();
	}
	__syncthreads();
	if (t == 0) {
		mbarrier_expect(&full, PLANTED(64) MENDED(256)); //!
		bulk_load(tile, in, 256, &full); //!
	}
	mbarrier_wait(&full, 0); //!
	out[t] = tile[63 - t]; //!
}

// == expects_two_tiles: the bytes of two tiles are expected, and the second is copied only sometimes
// target: sm_90
// launch: --block 64
// run: --grid 1 --arg buf:f32[128]:ro=random --arg buf:f32[64]=zero --arg u32=1
// rules: mbarrier deadlock
extern "C" __global__ void expects_two_tiles(const float *in, float *out, int tiles)
{
	__shared__ __align__(128) float tile[2][64];
	__shared__ u64 full;
	int t = threadIdx.x;

	tile[1][t] = 0;
	if (t == 0) {
		mbarrier_init(&full, 1);
		mbarrier_init_fence();
	}
	__syncthreads();
	if (t == 0) {
		mbarrier_expect(&full, PLANTED(512) MENDED(256 * tiles)); //!
		bulk_load(tile[0], in, 256, &full);
		if (tiles > 1) {
			asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
			bulk_load(tile[1], in + 64, 256, &full);
		}
	}
	mbarrier_wait(&full, 0); //!
	out[t] = tile[0][63 - t] + tile[1][t];
}

// == parity_stays_zero: the second round waits for the first phase again
// target: sm_90
// launch: --block 64
// run: --grid 1 --arg buf:f32[4x64]:ro=random --arg buf:f32[64]=zero
// rules: mbarrier async-pending race shared-race
extern "C" __global__ void parity_stays_zero(const float *in, float *out)
{
	__shared__ __align__(128) float tile[64];
	__shared__ u64 full;
	int t = threadIdx.x;
	float sum = 0;

	if (t == 0) {
		mbarrier_init(&full, 1);
		mbarrier_init_fence();
	}
	__syncthreads();
	for (int i = 0; i < 4; i++) {
		if (t == 0) {
			mbarrier_expect(&full, 256);
			bulk_load(tile, in + 64 * i, 256, &full);
		}
		mbarrier_wait(&full, PLANTED(0) MENDED(i & 1)); //!
		sum += tile[63 - t]; //!
		__syncthreads();
	}
	out[t] = sum;
}

// == waits_for_the_wrong_phase: the first wait of a fresh barrier is for the phase before
// target: sm_90
// launch: --block 64
// run: --grid 1 --arg buf:f32[64]:ro=random --arg buf:f32[64]=zero
// rules: mbarrier async-pending race shared-race unwritten-shared
extern "C" __global__ void waits_for_the_wrong_phase(const float *in, float *out)
{
	__shared__ float line[64];
	__shared__ u64 ready;
	int t = threadIdx.x;

	if (t == 0)
		mbarrier_init(&ready, 64);
	__syncthreads();
	line[t] = in[t]; //!
	mbarrier_arrive(&ready);
	mbarrier_wait(&ready, PLANTED(1) MENDED(0)); //!
	out[t] = line[63 - t]; //!
}

// == counts_warps_for_threads: the barrier counts threads, and one lane per warp arrives
// target: sm_90
// launch: --block 128
// run: --grid 1 --arg buf:f32[128]=random
// rules: mbarrier deadlock
extern "C" __global__ void counts_warps_for_threads(float *x)
{
	__shared__ float line[128];
	__shared__ u64 ready;
	int t = threadIdx.x;

	if (t == 0)
		mbarrier_init(&ready, PLANTED(128) MENDED(4)); //!
	__syncthreads();
	line[t] = x[t];
	__syncwarp();
	if (t % 32 == 0)
		mbarrier_arrive(&ready); //!
	mbarrier_wait(&ready, 0); //!
	x[t] = line[127 - t];
}

// == counts_one_of_four: all warps arrive at a barrier that counts one
// target: sm_90
// launch: --block 128
// run: --grid 1 --arg buf:f32[128]=random
// rules: mbarrier race shared-race unwritten-shared
extern "C" __global__ void counts_one_of_four(float *x)
{
	__shared__ float line[128];
	__shared__ u64 ready;
	int t = threadIdx.x;

	if (t == 0)
		mbarrier_init(&ready, PLANTED(1) MENDED(4)); //!
	__syncthreads();
	line[t] = x[t]; //!
	__syncwarp();
	if (t % 32 == 0)
		mbarrier_arrive(&ready); //!
	mbarrier_wait(&ready, 0);
	x[t] = line[127 - t]; //!
}

// == stage_never_freed: the consumers of a ring do not give stages back
// target: sm_90
// launch: --block 64
// run: --grid 1 --arg buf:f32[6x32]:ro=random --arg buf:f32[32]=zero
// rules: mbarrier deadlock
extern "C" __global__ void stage_never_freed(const float *in, float *out)
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
			mbarrier_wait(&empty[i % 2], (i / 2 + 1) & 1); //!
			mbarrier_expect(&full[i % 2], 128);
			bulk_load(stage[i % 2], in + 32 * i, 128, &full[i % 2]);
		}
	} else if (t < 32) {
		float sum = 0;

		for (int i = 0; i < 6; i++) {
			mbarrier_wait(&full[i % 2], i / 2 & 1); //!
			sum += stage[i % 2][31 - t];
			MENDED(mbarrier_arrive(&empty[i % 2]);)
		}
		out[t] = sum;
	}
}

// == freed_before_read: the consumers give the stage back before they have read it
// target: sm_90
// launch: --block 64
// run: --grid 1 --arg buf:f32[6x32]:ro=random --arg buf:f32[32]=zero
// rules: mbarrier race shared-race async-pending
extern "C" __global__ void freed_before_read(const float *in, float *out)
{
	__shared__ __align__(128) float stage[32];
	__shared__ u64 full, empty;
	int t = threadIdx.x;

	if (t == 0) {
		mbarrier_init(&full, 1);
		mbarrier_init(&empty, 32);
		mbarrier_init_fence();
	}
	__syncthreads();
	if (t == 32) {
		for (int i = 0; i < 6; i++) {
			mbarrier_wait(&empty, (i + 1) & 1);
			mbarrier_expect(&full, 128);
			bulk_load(stage, in + 32 * i, 128, &full); //!
		}
	} else if (t < 32) {
		float sum = 0;

		for (int i = 0; i < 6; i++) {
			mbarrier_wait(&full, i & 1);
			PLANTED(mbarrier_arrive(&empty);) //!
			sum += stage[31 - t]; //!
			MENDED(mbarrier_arrive(&empty);)
		}
		out[t] = sum;
	}
}

// == no_transaction_expected: a plain arrival lets the phase end before the copy has come
// target: sm_90
// launch: --block 32
// run: --grid 1 --arg buf:f32[32]:ro=random --arg buf:f32[32]=zero
// rules: mbarrier race shared-race async-pending unwritten-shared
extern "C" __global__ void no_transaction_expected(const float *in, float *out)
{
	__shared__ __align__(128) float tile[32];
	__shared__ u64 full;
	int t = threadIdx.x;

	if (t == 0) {
		mbarrier_init(&full, 1);
		mbarrier_init_fence();
	}
	__syncthreads();
	if (t == 0) {
		PLANTED(mbarrier_arrive(&full)) MENDED(mbarrier_expect(&full, 128)); //!
		bulk_load(tile, in, 128, &full); //!
	}
	mbarrier_wait(&full, 0); //!
	out[t] = tile[31 - t]; //!
}
