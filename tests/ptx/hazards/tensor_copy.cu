// SPDX-License-Identifier: MIT
// Copies of boxes by tensor maps.
#include <cuda.h>
#include "hazard.cuh"

// == box_of_another_size: the bytes expected are those of another box than the map's
// target: sm_90
// launch: --block 64
// run: --grid 1 --arg tmap:f32[32x32]:box=16x8:ro=random --arg buf:f32[128]=zero
// rules: mbarrier deadlock async-pending race
extern "C" __global__ void box_of_another_size(const __grid_constant__ CUtensorMap map, float *out)
{
	__shared__ __align__(128) float box[8][16];
	__shared__ u64 full;
	int t = threadIdx.x;

	if (t == 0) {
		mbarrier_init(&full, 1);
		mbarrier_init_fence();
		mbarrier_expect(&full, PLANTED(16 * 16 * 4) MENDED(sizeof box)); //!
		tensor_load(box, &map, 0, 8, &full); //!
	}
	__syncthreads();
	mbarrier_wait(&full, 0); //!
	out[t] = box[t / 16][t % 16];
	out[t + 64] = box[4 + t / 16][t % 16];
}

// == box_at_64_bytes: a box in shared memory begins on 128 bytes, not on 64
// target: sm_90
// launch: --block 32
// run: --grid 1 --arg tmap:f32[16x16]:box=8x4:ro=random --arg buf:f32[32]=zero
// rules: bulk-copy misaligned
extern "C" __global__ void box_at_64_bytes(const __grid_constant__ CUtensorMap map, float *out)
{
	__shared__ __align__(128) float memory[96];
	__shared__ u64 full;
	float *box = memory + PLANTED(16) MENDED(32);
	int t = threadIdx.x;

	if (t == 0) {
		mbarrier_init(&full, 1);
		mbarrier_init_fence();
		mbarrier_expect(&full, 128);
		tensor_load(box, &map, 0, 0, &full); //!
	}
	__syncthreads();
	mbarrier_wait(&full, 0);
	out[t] = box[31 - t];
}

// == two_dimensions_of_three: the map has three dimensions, the copy gives coordinates of two
// target: sm_90
// launch: --block 32
// run: --grid 1 --arg tmap:f32[16x16x2]:box=8x4x1:ro=random --arg buf:f32[32]=zero
// rules: bulk-copy coordinates
extern "C" __global__ void two_dimensions_of_three(const __grid_constant__ CUtensorMap map, float *out)
{
	__shared__ __align__(128) float box[32];
	__shared__ u64 full;
	int t = threadIdx.x;

	if (t == 0) {
		mbarrier_init(&full, 1);
		mbarrier_init_fence();
		mbarrier_expect(&full, 128);
		PLANTED(tensor_load(box, &map, 0, 4, &full);) //!
		MENDED(asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(shared_address(box)), "l"(&map), "r"(0), "r"(4), "r"(1), "r"(shared_address(&full)) : "memory");)
	}
	__syncthreads();
	mbarrier_wait(&full, 0);
	out[t] = box[31 - t];
}

// == box_stored_without_fence: a box that threads have filled is stored by the map without a fence of proxies
// target: sm_90
// launch: --block 32
// run: --grid 1 --arg tmap:f32[16x16]:box=8x4=zero --arg buf:f32[32]:ro=random
// rules: proxy-fence
extern "C" __global__ void box_stored_without_fence(const __grid_constant__ CUtensorMap map, const float *in)
{
	__shared__ __align__(128) float box[32];
	int t = threadIdx.x;

	box[t] = in[31 - t]; //!
	MENDED(proxy_fence();)
	__syncthreads();
	if (t == 0) {
		tensor_store(&map, 8, 4, box); //!
		bulk_commit();
		bulk_wait();
	}
}

// == box_refilled_early: the box is filled for the next store while the first may still read
// target: sm_90
// launch: --block 32
// run: --grid 1 --arg tmap:f32[16x16]:box=8x4=zero --arg buf:f32[64]:ro=random
// rules: async-pending bulk-copy race shared-race
extern "C" __global__ void box_refilled_early(const __grid_constant__ CUtensorMap map, const float *in)
{
	__shared__ __align__(128) float box[32];
	int t = threadIdx.x;

	for (int i = 0; i < 2; i++) {
		box[t] = in[32 * i + t]; //!
		proxy_fence();
		__syncthreads();
		if (t == 0) {
			tensor_store(&map, 8 * i, 0, box); //!
			bulk_commit();
			MENDED(bulk_wait_read();)
		}
		__syncthreads();
	}
	if (t == 0)
		bulk_wait();
}

// == swizzled_at_512: a swizzle of 128 bytes repeats after 1024, and the box begins at 512
// target: sm_90
// launch: --block 32 --dynamic-shared 4096
// run: --grid 1 --arg tmap:f16[64x64]:box=64x8:swizzle=128:ro=random --arg buf:u32[32]=zero
// rules: bulk-copy misaligned alignment
extern "C" __global__ void swizzled_at_512(const __grid_constant__ CUtensorMap map, unsigned *out)
{
	extern __shared__ __align__(1024) unsigned char memory[];
	__shared__ u64 full;
	unsigned char *box = memory + PLANTED(64) MENDED(1024);
	int t = threadIdx.x;

	if (t == 0) {
		mbarrier_init(&full, 1);
		mbarrier_init_fence();
		mbarrier_expect(&full, 1024);
		tensor_load(box, &map, 0, 0, &full); //!
	}
	__syncthreads();
	mbarrier_wait(&full, 0);
	out[t] = *(unsigned *)(box + 4 * t);
}
