// SPDX-License-Identifier: MIT
// Loads through the read-only path of what the same launch stores.
#include "hazard.cuh"

// == ldg_behind_the_barrier: the neighbour's result is read back through the read-only path
// launch: --block 128
// run: --grid 1 --arg buf:f32[128]=random --arg buf:f32[128]=zero
// rules: race read-only
extern "C" __global__ void ldg_behind_the_barrier(float *x, float *out)
{
	int t = threadIdx.x;

	x[t] = 2.0f * x[t] + 1.0f; //!
	__syncthreads();
	out[t] = PLANTED(__ldg(&x[t ^ 1])) MENDED(x[t ^ 1]); //!
}

// == ldg_of_its_own_sum: each thread reads its own sum again through the read-only path
// launch: --block 64
// run: --grid 2 --arg buf:f32[100]=zero --arg buf:f32[100]:ro=random --arg buf:f32[100]=zero --arg u32=100
// rules: race read-only
extern "C" __global__ void ldg_of_its_own_sum(float *sum, const float *in, float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n) {
		atomicAdd(&sum[i], in[i]); //!
		out[i] = 0.5f * PLANTED(__ldg(&sum[i])) MENDED(*(volatile float *)&sum[i]); //!
	}
}

// == ldg_of_neighbours: a smoothing in place reads its neighbours through the read-only path
// launch: --block 128
// run: --grid 1 --arg buf:f32[128]=random
// rules: race read-only
extern "C" __global__ void ldg_of_neighbours(float *x)
{
	int t = threadIdx.x;
	float left = __ldg(&x[(t + 127) & 127]), right = __ldg(&x[(t + 1) & 127]); //!

	MENDED(__syncthreads();)
	x[t] = 0.5f * (left + right); //!
}

// == ldg_in_the_next_step: each step reads what the one before stored
// launch: --block 64
// run: --grid 1 --arg buf:f32[320]=random
// rules: race read-only
extern "C" __global__ void ldg_in_the_next_step(float *x)
{
	int t = threadIdx.x;

#pragma unroll 1
	for (int step = 0; step < 4; step++) {
		x[step * 64 + 64 + t] = 0.5f * x[step * 64 + t]; //!
		__syncthreads();
		x[step * 64 + t] = PLANTED(__ldg(&x[step * 64 + 64 + (t ^ 3)])) MENDED(x[step * 64 + 64 + (t ^ 3)]); //!
		__syncthreads();
	}
}
