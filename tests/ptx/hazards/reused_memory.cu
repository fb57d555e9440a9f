// SPDX-License-Identifier: MIT
// Shared memory that serves twice, overlaps, or belongs to another block than its author thought.
#include "hazard.cuh"

// == union_of_two_steps: the memory of a sum is that of the ranks of the next step, and nothing is between
// launch: --block 64
// run: --grid 1 --arg buf:f32[64]:ro=random --arg buf:s32[64]=zero --arg buf:f32[2]=zero
// rules: race shared-race
extern "C" __global__ void union_of_two_steps(const float *in, int *out, float *least)
{
	__shared__ union {
		float value[64];
		int rank[64];
	} memory;
	int t = threadIdx.x;
	float v = in[t];

	memory.value[t] = v;
	__syncthreads();
	int rank = 0;
	for (int i = 0; i < 64; i++)
		rank += memory.value[i] < v; //!
	MENDED(__syncthreads();)
	memory.rank[63 - t] = rank; //!
	__syncthreads();
	out[t] = memory.rank[t];
	if (t < 2)
		least[t] = v;
}

// == carved_by_elements: the second array in dynamic memory begins as many bytes on as the first has elements
// launch: --block 64 --dynamic-shared 512
// run: --grid 1 --arg buf:f32[64]:ro=random --arg buf:f32[64]=zero --arg u32=64
// rules: race shared-race
extern "C" __global__ void carved_by_elements(const float *in, float *out, int n)
{
	extern __shared__ __align__(16) unsigned char memory[];
	float *value = (float *)memory;
	int *key = (int *)(memory + n MENDED(* sizeof(float)));
	int t = threadIdx.x;

	value[t] = in[t]; //!
	key[t] = 63 - t; //!
	__syncthreads();
	out[t] = value[key[t] & 63]; //!
}

// == matrices_before_the_others: a warp loads matrices of which another warp stores the rows
// launch: --block 64
// run: --grid 1 --arg buf:u32[256]:ro=random --arg buf:u32[256]=zero
// rules: race shared-race unwritten-shared
extern "C" __global__ void matrices_before_the_others(const uint4 *in, uint4 *out)
{
	__shared__ __align__(16) uint4 tile[64];
	int t = threadIdx.x;
	uint4 m;

	tile[t] = in[t]; //!
	PLANTED(__syncwarp();)
	MENDED(__syncthreads();)
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(m.x), "=r"(m.y), "=r"(m.z), "=r"(m.w) : "r"(shared_address(&tile[(t + 16) % 64])) : "memory"); //!
	out[t] = m;
}

// == matrices_stored_unseen: matrices are stored by warps and copied out without a fence of proxies
// target: sm_90
// launch: --block 32
// run: --grid 1 --arg buf:u32[128]:ro=random --arg buf:u32[128]=zero
// rules: proxy-fence
extern "C" __global__ void matrices_stored_unseen(const uint4 *in, uint4 *out)
{
	__shared__ __align__(128) uint4 tile[32];
	int t = threadIdx.x;
	uint4 m = in[t];

	asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(&tile[t])), "r"(m.x), "r"(m.y), "r"(m.z), "r"(m.w) : "memory"); //!
	MENDED(proxy_fence();)
	__syncthreads();
	if (t == 0) {
		bulk_store(out, tile, 512); //!
		bulk_commit();
		bulk_wait();
	}
}

// == cleared_by_the_first_block: a counter in shared memory is cleared as if the grid had one
// launch: --block 64
// run: --grid 2 --arg buf:s32[128]:ro=random --arg buf:u32[2]=zero
// rules: unwritten-shared
extern "C" __global__ void cleared_by_the_first_block(const int *in, unsigned *out)
{
	__shared__ unsigned count;

	if (threadIdx.x == 0 PLANTED(&& blockIdx.x == 0)) //!
		count = 0;
	__syncthreads();
	if (in[blockIdx.x * 64 + threadIdx.x] > 0)
		atomicAdd(&count, 1u); //!
	__syncthreads();
	if (threadIdx.x == 0)
		out[blockIdx.x] = count; //!
}

// == slots_of_the_first_round: partial sums of a round are read by all, and the next round stores its own at once
// launch: --block 64
// run: --grid 1 --arg buf:f32[4x64]:ro=random --arg buf:f32[4x64]=zero --arg u32=4
// rules: race shared-race
extern "C" __global__ void slots_of_the_first_round(const float *in, float *out, int rows)
{
	__shared__ float part[2];
	int t = threadIdx.x;

	for (int r = 0; r < rows; r++) {
		float v = in[r * 64 + t], sum = v;

		for (int d = 16; d; d >>= 1)
			sum += __shfl_xor_sync(0xffffffffu, sum, d);
		MENDED(__syncthreads();)
		if (t % 32 == 0)
			part[t / 32] = sum; //!
		__syncthreads();
		out[r * 64 + t] = v / (part[0] + part[1]); //!
	}
}
