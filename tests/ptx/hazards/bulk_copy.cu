// SPDX-License-Identifier: MIT
// Bulk copies: sizes, alignment, proxies, buffers that are used too early.
#include "hazard.cuh"

// == bytes_not_of_16: a row of 30 floats has 120 bytes, which is not a multiple of 16
// target: sm_90
// launch: --block 32
// run: --grid 1 --arg buf:f32[32]:ro=random --arg buf:f32[32]=zero
// rules: bulk-copy misaligned
extern "C" __global__ void bytes_not_of_16(const float *in, float *out)
{
	__shared__ __align__(128) float row[32];
	__shared__ u64 full;
	int t = threadIdx.x;

	if (t == 0) {
		mbarrier_init(&full, 1);
		mbarrier_init_fence();
		mbarrier_expect(&full, PLANTED(120) MENDED(128));
		bulk_load(row, in, PLANTED(120) MENDED(128), &full); //!
	}
	__syncthreads();
	mbarrier_wait(&full, 0);
	if (t < 30)
		out[t] = row[29 - t];
}

// == row_begins_anywhere: rows of 33 floats begin on multiples of 4 bytes
// target: sm_90
// launch: --block 32
// run: --grid 2 --arg buf:f32[72]:ro=random --arg buf:f32[64]=zero
// rules: bulk-copy misaligned
extern "C" __global__ void row_begins_anywhere(const float *in, float *out)
{
	__shared__ __align__(128) float row[32];
	__shared__ u64 full;
	int t = threadIdx.x;

	if (t == 0) {
		mbarrier_init(&full, 1);
		mbarrier_init_fence();
		mbarrier_expect(&full, 128);
		bulk_load(row, in + blockIdx.x * PLANTED(33) MENDED(36), 128, &full); //!
	}
	__syncthreads();
	mbarrier_wait(&full, 0);
	out[blockIdx.x * 32 + t] = row[31 - t];
}

// == tile_behind_barrier: the tile in dynamic memory begins 8 bytes behind its barrier
// target: sm_90
// launch: --block 32 --dynamic-shared 256
// run: --grid 1 --arg buf:f32[32]:ro=random --arg buf:f32[32]=zero
// rules: bulk-copy misaligned
extern "C" __global__ void tile_behind_barrier(const float *in, float *out)
{
	extern __shared__ __align__(128) unsigned char memory[];
	u64 *full = (u64 *)memory;
	float *row = (float *)(memory + PLANTED(8) MENDED(16));
	int t = threadIdx.x;

	if (t == 0) {
		mbarrier_init(full, 1);
		mbarrier_init_fence();
		mbarrier_expect(full, 128);
		bulk_load(row, in, 128, full); //!
	}
	__syncthreads();
	mbarrier_wait(full, 0);
	out[t] = row[31 - t];
}

// == stored_without_proxy_fence: threads fill a tile, and the copy engine may not see it yet
// target: sm_90
// launch: --block 64
// run: --grid 2 --arg buf:f32[128]:ro=random --arg buf:f32[128]=zero
// rules: proxy-fence
extern "C" __global__ void stored_without_proxy_fence(const float *in, float *out)
{
	__shared__ __align__(128) float tile[64];
	int t = threadIdx.x, base = blockIdx.x * 64;

	tile[63 - t] = in[base + t] * 2.0f; //!
	MENDED(proxy_fence();)
	__syncthreads();
	if (t == 0) {
		bulk_store(out + base, tile, sizeof tile); //!
		bulk_commit();
		bulk_wait();
	}
}

// == fence_behind_the_barrier: thread 0 alone fences, before the barrier, for what others write
// target: sm_90
// launch: --block 64
// run: --grid 1 --arg buf:f32[64]:ro=random --arg buf:f32[64]=zero
// rules: proxy-fence
extern "C" __global__ void fence_behind_the_barrier(const float *in, float *out)
{
	__shared__ __align__(128) float tile[64];
	int t = threadIdx.x;

	tile[t] = in[63 - t]; //!
	PLANTED(if (t == 0)) //!
		proxy_fence(); //!
	__syncthreads();
	if (t == 0) {
		bulk_store(out, tile, sizeof tile); //!
		bulk_commit();
		bulk_wait();
	}
}

// == refilled_before_it_left: the tile is filled again while the copy out of it may still read
// target: sm_90
// launch: --block 64
// run: --grid 1 --arg buf:f32[4x64]:ro=random --arg buf:f32[4x64]=zero
// rules: async-pending bulk-copy race shared-race
extern "C" __global__ void refilled_before_it_left(const float *in, float *out)
{
	__shared__ __align__(128) float tile[64];
	int t = threadIdx.x;

	for (int i = 0; i < 4; i++) {
		tile[t] = in[64 * i + 63 - t]; //!
		proxy_fence();
		__syncthreads();
		if (t == 0) {
			bulk_store(out + 64 * i, tile, sizeof tile); //!
			bulk_commit();
			MENDED(bulk_wait_read();)
		}
		__syncthreads();
	}
	if (t == 0)
		bulk_wait();
}

// == left_with_copy_pending: the kernel ends while the copy out of shared memory may still read it
// target: sm_90
// launch: --block 64
// run: --grid 1 --arg buf:f32[64]:ro=random --arg buf:f32[64]=zero
// rules: async-pending bulk-copy
extern "C" __global__ void left_with_copy_pending(const float *in, float *out)
{
	__shared__ __align__(128) float tile[64];
	int t = threadIdx.x;

	tile[t] = in[63 - t];
	proxy_fence();
	__syncthreads();
	if (t == 0) {
		bulk_store(out, tile, sizeof tile); //!
		bulk_commit();
		MENDED(bulk_wait();)
	}
}

// == group_not_committed: the copy is in no group, so that the wait waits for nothing
// target: sm_90
// launch: --block 64
// run: --grid 1 --arg buf:f32[64]:ro=random --arg buf:f32[64]=zero
// rules: async-pending bulk-copy
extern "C" __global__ void group_not_committed(const float *in, float *out)
{
	__shared__ __align__(128) float tile[64];
	int t = threadIdx.x;

	tile[t] = in[63 - t];
	proxy_fence();
	__syncthreads();
	if (t == 0) {
		bulk_store(out, tile, sizeof tile); //!
		MENDED(bulk_commit();)
		bulk_wait();
		tile[0] = 0; //!
	}
}

// == load_over_the_tile: the next load is begun while other warps read the tile
// target: sm_90
// launch: --block 128
// run: --grid 1 --arg buf:f32[4x128]:ro=random --arg buf:f32[128]=zero
// rules: race shared-race async-pending bulk-copy
extern "C" __global__ void load_over_the_tile(const float *in, float *out)
{
	__shared__ __align__(128) float tile[128];
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
			mbarrier_expect(&full, 512);
			bulk_load(tile, in + 128 * i, 512, &full); //!
		}
		mbarrier_wait(&full, i & 1);
		sum += tile[127 - t]; //!
		MENDED(__syncthreads();)
	}
	out[t] = sum;
}

// == over_the_end_of_the_tile: a copy of two rows into a tile of one
// target: sm_90
// launch: --block 32
// run: --grid 1 --arg buf:f32[64]:ro=random --arg buf:f32[32]=zero
// rules: out-of-bounds bulk-copy
extern "C" __global__ void over_the_end_of_the_tile(const float *in, float *out)
{
	__shared__ __align__(128) float row[PLANTED(32) MENDED(64)];
	__shared__ u64 full;
	int t = threadIdx.x;

	if (t == 0) {
		mbarrier_init(&full, 1);
		mbarrier_init_fence();
		mbarrier_expect(&full, 256);
		bulk_load(row, in, 256, &full); //!
	}
	__syncthreads();
	mbarrier_wait(&full, 0);
	out[t] = row[31 - t];
}
