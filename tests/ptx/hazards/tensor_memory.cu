// SPDX-License-Identifier: MIT
// Tensor Memory of sm_100: who has it, whose lanes are whose, and when loads are done.
#include "hazard.cuh"

static __device__ __forceinline__ void columns_take(unsigned *slot)
{
	asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 32;" ::"r"(shared_address(slot)) : "memory");
}

static __device__ __forceinline__ void columns_give(unsigned address)
{
	asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 32;" ::"r"(address) : "memory");
}

static __device__ __forceinline__ void lanes_store(unsigned address, unsigned x)
{
	asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%1};" ::"r"(address), "r"(x) : "memory");
}

// == columns_not_given_back: the block ends with its columns
// target: sm_100a
// launch: --block 32
// run: --grid 1 --arg buf:u32[32]:ro=random --arg buf:u32[32]=zero
// rules: tensor-memory
extern "C" __global__ void columns_not_given_back(const unsigned *in, unsigned *out)
{
	__shared__ unsigned slot;
	unsigned x;

	columns_take(&slot); //!
	__syncthreads();
	lanes_store(slot, in[threadIdx.x]);
	asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
	asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];\n\ttcgen05.wait::ld.sync.aligned;" : "=r"(x) : "r"(slot) : "memory");
	out[threadIdx.x] = x;
	MENDED(columns_give(slot);)
} //!

// == lanes_of_the_first_warp: each warp may touch 32 lanes of its own, and all ask for the first
// target: sm_100a
// launch: --block 128
// run: --grid 1 --arg buf:u32[128]:ro=random --arg buf:u32[128]=zero
// rules: tensor-memory
extern "C" __global__ void lanes_of_the_first_warp(const unsigned *in, unsigned *out)
{
	__shared__ unsigned slot;
	unsigned x, warp = threadIdx.x / 32;

	if (warp == 0)
		columns_take(&slot);
	__syncthreads();
	unsigned address = slot MENDED(+ (warp << 21)); //!
	lanes_store(address, in[threadIdx.x]); //!
	asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
	asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];\n\ttcgen05.wait::ld.sync.aligned;" : "=r"(x) : "r"(address) : "memory"); //!
	out[threadIdx.x] = x;
	__syncthreads();
	if (warp == 0)
		columns_give(slot);
}

// == address_not_awaited: the other warps read the address of the columns before it is there
// target: sm_100a
// launch: --block 64
// run: --grid 1 --arg buf:u32[64]=zero
// rules: race shared-race unwritten-shared tensor-memory
extern "C" __global__ void address_not_awaited(unsigned *out)
{
	__shared__ unsigned slot;
	unsigned warp = threadIdx.x / 32;

	if (warp == 0)
		columns_take(&slot); //!
	MENDED(__syncthreads();)
	unsigned address = slot; //!
	out[threadIdx.x] = address + threadIdx.x;
	__syncthreads();
	if (warp == 0)
		columns_give(address);
}
