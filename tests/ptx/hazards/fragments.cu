// SPDX-License-Identifier: MIT
// wgmma whose registers are overwritten while it works.
#include "hazard.cuh"

static __device__ __forceinline__ void wgmma_of_registers(float d[4], const unsigned a[4], u64 b)
{
	asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, 1, 1, "
		     "1, 0;"
		     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
		     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

// == fragments_refilled_early: the fragments of the next step are loaded while the product still reads the last ones
// target: sm_90a
// launch: --block 128
// run: --grid 1 --arg buf:f16[4096]:ro=random --arg buf:f16[128]:ro=random --arg buf:f32[512]=zero
// rules: wgmma-order async-pending
extern "C" __global__ void fragments_refilled_early(const unsigned *a, const uint4 *b, float *c)
{
	__shared__ __align__(128) uint4 bs[16];
	int t = threadIdx.x;
	float d[4] = { 0.0f, 0.0f, 0.0f, 0.0f };

	if (t < 16)
		bs[t] = b[t];
	proxy_fence();
	__syncthreads();
#pragma unroll 1
	for (int step = 0; step < 4; step++) {
		unsigned f[4];

		for (int i = 0; i < 4; i++)
			f[i] = a[step * 512 + i * 128 + t]; //!
		wgmma_fence();
		wgmma_of_registers(d, f, matrix(bs)); //!
		wgmma_commit();
		wgmma_wait<PLANTED(1) MENDED(0)>(); //!
	}
	wgmma_wait<0>();
	for (int i = 0; i < 4; i++)
		c[i * 128 + t] = d[i];
}

// == sums_as_fragments_too_early: the second product takes the sums of the first as its fragments before they are there
// target: sm_90a
// launch: --block 128
// run: --grid 1 --arg buf:f16[1024]:ro=random --arg buf:f16[128]:ro=random --arg buf:f32[512]=zero
// rules: wgmma-order async-pending
extern "C" __global__ void sums_as_fragments_too_early(const uint4 *a, const uint4 *b, float *c)
{
	__shared__ __align__(128) uint4 as[128], bs[16];
	int t = threadIdx.x;
	float d[4] = { 0.0f, 0.0f, 0.0f, 0.0f }, e[4] = { 0.0f, 0.0f, 0.0f, 0.0f };
	unsigned f[4];

	as[t] = a[t];
	if (t < 16)
		bs[t] = b[t];
	proxy_fence();
	__syncthreads();
	wgmma_fence();
	wgmma(d, matrix(as), matrix(bs)); //!
	wgmma_commit();
	MENDED(wgmma_wait<0>();)
	for (int i = 0; i < 4; i++) /* or the compiler moves the sums' use before the wait */
		asm volatile("" : "+f"(d[i])::"memory");
	for (int i = 0; i < 4; i++)
		f[i] = __float_as_uint(d[i]) & 0x3c003c00; //!
	wgmma_fence();
	wgmma_of_registers(e, f, matrix(bs)); //!
	wgmma_commit();
	wgmma_wait<0>();
	for (int i = 0; i < 4; i++)
		c[i * 128 + t] = e[i];
}
