// SPDX-License-Identifier: MIT
// A pipeline of asynchronous copies.
#include <cuda_pipeline.h>

extern "C" __global__ void staged_sum(const float4 *in, float *out, int steps)
{
	__shared__ float4 stage[2][128];
	float sum = 0;

	__pipeline_memcpy_async(&stage[0][threadIdx.x], in + threadIdx.x, 16);
	__pipeline_commit();
	for (int k = 0; k < steps; k++) {
		if (k + 1 < steps)
			__pipeline_memcpy_async(&stage[(k + 1) & 1][threadIdx.x], in + (k + 1) * 128 + threadIdx.x, 16);
		__pipeline_commit();
		__pipeline_wait_prior(1);
		__syncthreads();
		float4 v = stage[k & 1][127 - threadIdx.x];
		sum += v.x + v.y * v.z - v.w;
		__syncthreads();
	}
	out[blockIdx.x * 128 + threadIdx.x] = sum;
}
