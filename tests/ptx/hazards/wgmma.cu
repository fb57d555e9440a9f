// SPDX-License-Identifier: MIT
// wgmma: fences, groups, and operands and accumulators that are touched while it works.
#include "hazard.cuh"

// == first_without_fence: the accumulators are set by moves, and no fence orders them before the product
// target: sm_90a
// launch: --block 128
// run: --grid 1 --arg buf:f16[1024]:ro=random --arg buf:f16[128]:ro=random --arg buf:f32[512]=zero
// rules: wgmma-order
extern "C" __global__ void first_without_fence(const uint4 *a, const uint4 *b, float *c)
{
	__shared__ __align__(128) uint4 as[128], bs[16];
	int t = threadIdx.x;
	float d[4] = { 0.0f, 0.0f, 0.0f, 0.0f };

	as[t] = a[t];
	if (t < 16)
		bs[t] = b[t];
	proxy_fence();
	__syncthreads();
	MENDED(wgmma_fence();)
	wgmma(d, matrix(as), matrix(bs)); //!
	wgmma_commit();
	wgmma_wait<0>();
	for (int i = 0; i < 4; i++)
		c[i * 128 + t] = d[i];
}

// == product_not_committed: the product is in no group, so that the wait waits for nothing
// target: sm_90a
// launch: --block 128
// run: --grid 1 --arg buf:f16[1024]:ro=random --arg buf:f16[128]:ro=random --arg buf:f32[512]=zero
// rules: wgmma-order async-pending
extern "C" __global__ void product_not_committed(const uint4 *a, const uint4 *b, float *c)
{
	__shared__ __align__(128) uint4 as[128], bs[16];
	int t = threadIdx.x;
	float d[4] = { 0.0f, 0.0f, 0.0f, 0.0f };

	as[t] = a[t];
	if (t < 16)
		bs[t] = b[t];
	proxy_fence();
	__syncthreads();
	wgmma_fence();
	wgmma(d, matrix(as), matrix(bs)); //!
	MENDED(wgmma_commit();)
	wgmma_wait<0>();
	for (int i = 0; i < 4; i++)
		c[i * 128 + t] = d[i]; //!
}

// == one_group_pending: the wait lets one group be pending, and its sums are used
// target: sm_90a
// launch: --block 128
// run: --grid 1 --arg buf:f16[1024]:ro=random --arg buf:f16[128]:ro=random --arg buf:f32[512]=zero
// rules: wgmma-order async-pending
extern "C" __global__ void one_group_pending(const uint4 *a, const uint4 *b, float *c)
{
	__shared__ __align__(128) uint4 as[128], bs[16];
	int t = threadIdx.x;
	float d[4] = { 0.0f, 0.0f, 0.0f, 0.0f };

	as[t] = a[t];
	if (t < 16)
		bs[t] = b[t];
	proxy_fence();
	__syncthreads();
	wgmma_fence();
	wgmma(d, matrix(as), matrix(bs));
	wgmma_commit();
	PLANTED(wgmma_wait<1>()) MENDED(wgmma_wait<0>()); //!
	for (int i = 0; i < 4; i++)
		c[i * 128 + t] = 0.5f * d[i]; //!
}

// == sums_stored_before_wait: the sums are stored behind the commit, and the wait comes after
// target: sm_90a
// launch: --block 128
// run: --grid 1 --arg buf:f16[1024]:ro=random --arg buf:f16[128]:ro=random --arg buf:f32[512]=zero
// rules: wgmma-order async-pending
extern "C" __global__ void sums_stored_before_wait(const uint4 *a, const uint4 *b, float *c)
{
	__shared__ __align__(128) uint4 as[128], bs[16];
	int t = threadIdx.x;
	float d[4] = { 0.0f, 0.0f, 0.0f, 0.0f };

	as[t] = a[t];
	if (t < 16)
		bs[t] = b[t];
	proxy_fence();
	__syncthreads();
	wgmma_fence();
	wgmma(d, matrix(as), matrix(bs));
	wgmma_commit();
	MENDED(wgmma_wait<0>();)
	for (int i = 0; i < 4; i++)
		c[i * 128 + t] = d[i]; //!
	PLANTED(wgmma_wait<0>();)
}

// == tiles_unseen: threads fill the operands, and no fence shows them to the tensor cores
// target: sm_90a
// launch: --block 128
// run: --grid 1 --arg buf:f16[1024]:ro=random --arg buf:f16[128]:ro=random --arg buf:f32[512]=zero
// rules: proxy-fence
extern "C" __global__ void tiles_unseen(const uint4 *a, const uint4 *b, float *c)
{
	__shared__ __align__(128) uint4 as[128], bs[16];
	int t = threadIdx.x;
	float d[4] = { 0.0f, 0.0f, 0.0f, 0.0f };

	as[t] = a[t]; //!
	if (t < 16)
		bs[t] = b[t]; //!
	MENDED(proxy_fence();)
	__syncthreads();
	wgmma_fence();
	wgmma(d, matrix(as), matrix(bs)); //!
	wgmma_commit();
	wgmma_wait<0>();
	for (int i = 0; i < 4; i++)
		c[i * 128 + t] = d[i];
}

// == tile_refilled_early: the next tile is stored over the one that the product may still read
// target: sm_90a
// launch: --block 128
// run: --grid 1 --arg buf:f16[4096]:ro=random --arg buf:f16[128]:ro=random --arg buf:f32[512]=zero
// rules: wgmma-order async-pending race shared-race
extern "C" __global__ void tile_refilled_early(const uint4 *a, const uint4 *b, float *c)
{
	__shared__ __align__(128) uint4 as[128], bs[16];
	int t = threadIdx.x;
	float d[4] = { 0.0f, 0.0f, 0.0f, 0.0f };

	if (t < 16)
		bs[t] = b[t];
	for (int step = 0; step < 4; step++) {
		as[t] = a[step * 128 + t]; //!
		proxy_fence();
		__syncthreads();
		wgmma_fence();
		wgmma(d, matrix(as), matrix(bs)); //!
		wgmma_commit();
		MENDED(wgmma_wait<0>();)
		__syncthreads();
	}
	wgmma_wait<0>();
	for (int i = 0; i < 4; i++)
		c[i * 128 + t] = d[i];
}

// == scaled_between_products: the sums are scaled between two products without a fence behind
// target: sm_90a
// launch: --block 128
// run: --grid 1 --arg buf:f16[1024]:ro=random --arg buf:f16[128]:ro=random --arg buf:f32[512]=zero --arg f32=0.5
// rules: wgmma-order async-pending
extern "C" __global__ void scaled_between_products(const uint4 *a, const uint4 *b, float *c, float scale)
{
	__shared__ __align__(128) uint4 as[128], bs[16];
	int t = threadIdx.x;
	float d[4] = { 0.0f, 0.0f, 0.0f, 0.0f };

	as[t] = a[t];
	if (t < 16)
		bs[t] = b[t];
	proxy_fence();
	__syncthreads();
	wgmma_fence();
	wgmma(d, matrix(as), matrix(bs));
	wgmma_commit();
	wgmma_wait<0>();
	for (int i = 0; i < 4; i++)
		d[i] *= scale; //!
	MENDED(wgmma_fence();)
	wgmma(d, matrix(as), matrix(bs)); //!
	wgmma_commit();
	wgmma_wait<0>();
	for (int i = 0; i < 4; i++)
		c[i * 128 + t] = d[i];
}

// == three_warps_of_four: the product stands in a branch that one warp of the group does not take
// target: sm_90a
// launch: --block 128
// run: --grid 1 --arg buf:f16[1024]:ro=random --arg buf:f16[128]:ro=random --arg buf:f32[512]=zero
// rules: wgmma-order barrier-divergent deadlock
extern "C" __global__ void three_warps_of_four(const uint4 *a, const uint4 *b, float *c)
{
	__shared__ __align__(128) uint4 as[128], bs[16];
	int t = threadIdx.x;
	float d[4] = { 0.0f, 0.0f, 0.0f, 0.0f };

	as[t] = a[t];
	if (t < 16)
		bs[t] = b[t];
	proxy_fence();
	__syncthreads();
	PLANTED(if (t < 96)) { //!
		wgmma_fence(); //!
		wgmma(d, matrix(as), matrix(bs)); //!
		wgmma_commit();
		wgmma_wait<0>();
	}
	for (int i = 0; i < 4; i++)
		c[i * 128 + t] = d[i];
}
