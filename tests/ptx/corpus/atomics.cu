// SPDX-License-Identifier: MIT
// Atomics on global and shared memory, fences and scopes.
#include <cuda_fp16.h>

__device__ unsigned tickets;

extern "C" __global__ void atomics(unsigned *words, unsigned long long *wide, float *sum, __half2 *halves, int n)
{
	__shared__ unsigned histogram[64];
	unsigned i = threadIdx.x;

	histogram[i % 64] = 0;
	__syncthreads();
	atomicAdd(&histogram[words[i] % 64], 1u);
	__syncthreads();
	atomicMax(words + i, histogram[i % 64]);
	atomicAdd(sum, (float)i);
	atomicAdd(halves, __float2half2_rn(1.0f));
	atomicCAS(wide, (unsigned long long)i, 7ull);
	atomicExch_block(words, i);
	atomicAnd_system(words + 1, ~i);
	__threadfence();
	if (atomicInc(&tickets, n) == n - 1)
		words[n] = atomicSub(words + 2, 3u);
	__threadfence_system();
	__threadfence_block();
}
