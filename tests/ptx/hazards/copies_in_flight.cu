// SPDX-License-Identifier: MIT
// Copies and products whose end is taken for granted: groups, what a wait is for, operands in registers.
#include "hazard.cuh"

// == read_back_too_soon: the wait is for the source to be free, and the block reads what was to be written
// target: sm_90
// launch: --block 32
// run: --grid 1 --arg buf:f32[32]:ro=random --arg buf:f32[32]=zero --arg buf:f32[32]=zero
// rules: async-pending race bulk-copy
extern "C" __global__ void read_back_too_soon(const float *in, float *middle, float *out)
{
	__shared__ __align__(128) float row[32];
	int t = threadIdx.x;

	row[t] = in[t];
	proxy_fence();
	__syncthreads();
	if (t == 0) {
		bulk_store(middle, row, 128); //!
		bulk_commit();
		PLANTED(bulk_wait_read();) //!
		MENDED(bulk_wait(); asm volatile("fence.proxy.async.global;" ::: "memory");)
	}
	__syncthreads();
	out[t] = middle[31 - t]; //!
}

// == committed_after_the_wait: the wait comes first and the commit second
// launch: --block 64
// run: --grid 1 --arg buf:f32[256]:ro=random --arg buf:f32[64]=zero --arg u32=4
// rules: async-pending cp-async
extern "C" __global__ void committed_after_the_wait(const float *in, float *out, int steps)
{
	__shared__ __align__(16) float tile[64];
	int t = threadIdx.x;
	float sum = 0;

	for (int i = 0; i < steps; i++) {
		copy4(&tile[t], &in[64 * i + t]); //!
		PLANTED(copy_wait<0>(); copy_commit();) //!
		MENDED(copy_commit(); copy_wait<0>();)
		__syncthreads();
		sum += tile[63 - t]; //!
		__syncthreads();
	}
	out[t] = sum;
}

// == one_group_for_two: two tiles are copied as one group, and the wait lets one group be pending
// launch: --block 64
// run: --grid 1 --arg buf:f32[64]:ro=random --arg buf:f32[64]:ro=random --arg buf:f32[64]=zero
// rules: async-pending cp-async
extern "C" __global__ void one_group_for_two(const float *a, const float *b, float *out)
{
	__shared__ __align__(16) float as[64], bs[64];
	int t = threadIdx.x;

	copy4(&as[t], &a[t]); //!
	MENDED(copy_commit();)
	copy4(&bs[t], &b[t]);
	copy_commit();
	copy_wait<1>(); //!
	__syncthreads();
	float v = as[63 - t]; //!
	copy_wait<0>();
	__syncthreads();
	out[t] = v * bs[63 - t];
}

// == operands_reloaded: the product's operand is in registers, which are loaded anew while it runs
// target: sm_90a
// launch: --block 128
// run: --grid 1 --arg buf:u32[1024]:ro=random:0:100 --arg buf:f16[128]:ro=random --arg buf:f32[512]=zero
// rules: wgmma-order
extern "C" __global__ void operands_reloaded(const uint4 *a, const uint4 *b, float *c)
{
	__shared__ __align__(128) uint4 as[256], bs[16];
	int t = threadIdx.x;
	float d[4] = {};

	as[t] = a[t];
	as[t + 128] = a[t + 128];
	if (t < 16)
		bs[t] = b[t];
	proxy_fence();
	__syncthreads();
	asm volatile("{\n\t.reg .b32 a0, a1, a2, a3;\n\t"
		     "ld.shared.v4.b32 {a0, a1, a2, a3}, [%4];\n\twgmma.fence.sync.aligned;\n\t"
		     "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, {a0, a1, a2, a3}, %6, 1, 1, 1, 0;\n\t"
		     "wgmma.commit_group.sync.aligned;\n\t"
		     MENDED("wgmma.wait_group.sync.aligned 0;\n\t")
		     "ld.shared.v4.b32 {a0, a1, a2, a3}, [%5];\n\twgmma.fence.sync.aligned;\n\t"
		     "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, {a0, a1, a2, a3}, %6, 1, 1, 1, 0;\n\t"
		     "wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;\n\t}" //!
		     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
		     : "r"(shared_address(&as[t])), "r"(shared_address(&as[t + 128])), "l"(matrix(bs)) //!
		     : "memory"); //!
	for (int i = 0; i < 4; i++)
		c[i * 128 + t] = d[i];
}

// == ring_of_stores_too_lenient: two buffers leave in turn, and the wait lets both still be read
// target: sm_90
// launch: --block 32
// run: --grid 1 --arg buf:f32[6x32]:ro=random --arg buf:f32[6x32]=zero --arg u32=6
// rules: async-pending race shared-race bulk-copy
extern "C" __global__ void ring_of_stores_too_lenient(const float *in, float *out, int rows)
{
	__shared__ __align__(128) float row[2][32];
	int t = threadIdx.x;

	for (int i = 0; i < rows; i++) {
		if (t == 0)
			asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PLANTED(2) MENDED(1)) : "memory"); //!
		__syncthreads();
		row[i % 2][t] = 2 * in[32 * i + t]; //!
		proxy_fence();
		__syncthreads();
		if (t == 0) {
			bulk_store(out + 32 * i, row[i % 2], 128); //!
			bulk_commit();
		}
	}
	if (t == 0)
		bulk_wait();
}

// == another_thread_waits: the copies out are thread 0's, and thread 32 waits for its own, which are none
// target: sm_90
// launch: --block 64
// run: --grid 1 --arg buf:f32[128]:ro=random --arg buf:f32[128]=zero
// rules: async-pending race shared-race bulk-copy
extern "C" __global__ void another_thread_waits(const float *in, float *out)
{
	__shared__ __align__(128) float row[64];
	int t = threadIdx.x;

	for (int i = 0; i < 2; i++) {
		row[t] = 2 * in[64 * i + t]; //!
		proxy_fence();
		__syncthreads();
		if (t == 0) {
			bulk_store(out + 64 * i, row, 256); //!
			bulk_commit();
		}
		if (t == PLANTED(32) MENDED(0))
			bulk_wait(); //!
		__syncthreads();
	}
	PLANTED(if (t == 0)
		bulk_wait();)
}
