// SPDX-License-Identifier: MIT
// Races in global memory between the threads of one block.
#include "hazard.cuh"

// == workspace_unordered: a block reads from its workspace what other warps of it write
// launch: --block 128
// run: --grid 2 --arg buf:f32[256]:ro=random --arg buf:f32[256]=zero --arg buf:f32[256]=zero
// rules: race global-race
extern "C" __global__ void workspace_unordered(const float *in, float *work, float *out)
{
	int t = threadIdx.x;

	work += blockIdx.x * 128;
	work[t] = in[blockIdx.x * 128 + t] * 2.0f; //!
	MENDED(__syncthreads();)
	out[blockIdx.x * 128 + t] = work[127 - t]; //!
}

// == smooth_in_place: a stencil whose output is its input
// launch: --block 128
// run: --grid 1 --arg buf:f32[130]=random
// rules: race global-race
extern "C" __global__ void smooth_in_place(float *x)
{
	int t = threadIdx.x + 1;
	float v = 0.25f * x[t - 1] + 0.5f * x[t] + 0.25f * x[t + 1]; //!

	MENDED(__syncthreads();)
	x[t] = v; //!
}

// == fold_in_global: a tree reduction in global memory without barriers
// launch: --block 256
// run: --grid 1 --arg buf:f32[256]=random
// rules: race global-race
extern "C" __global__ void fold_in_global(float *x)
{
	int t = threadIdx.x;

	for (int s = 128; s; s >>= 1) {
		if (t < s)
			x[t] += x[t + s]; //!
		MENDED(__syncthreads();)
	}
}

// == offset_not_published: thread 0 reserves space in the output, and all use the place before it is written
// launch: --block 64
// run: --grid 2 --arg buf:s32[128]:ro=random --arg buf:u32[3]=zero --arg buf:s32[128]=zero
// rules: race global-race
extern "C" __global__ void offset_not_published(const int *in, unsigned *state, int *out)
{
	int t = threadIdx.x;

	if (t == 0)
		state[1 + blockIdx.x] = atomicAdd(&state[0], 64); //!
	MENDED(__syncthreads();)
	out[state[1 + blockIdx.x] + t] = in[blockIdx.x * 64 + t]; //!
}

// == rotate_in_place: elements move along by one without a copy between
// launch: --block 96
// run: --grid 1 --arg buf:s32[96]=iota
// rules: race global-race
extern "C" __global__ void rotate_in_place(int *x)
{
	int t = threadIdx.x, v = x[t]; //!

	MENDED(__syncthreads();)
	x[(t + 1) % 96] = v; //!
}

// == matrix_rows_then_columns: a pass along rows and one along columns of the same matrix
// launch: --block 64
// run: --grid 1 --arg buf:f32[64x64]=random
// rules: race global-race
extern "C" __global__ void matrix_rows_then_columns(float *a)
{
	int t = threadIdx.x;

	for (int i = 1; i < 64; i++)
		a[t * 64 + i] += a[t * 64 + i - 1]; //!
	MENDED(__syncthreads();)
	for (int i = 1; i < 64; i++)
		a[i * 64 + t] += a[(i - 1) * 64 + t]; //!
}

// == index_list_has_duplicates: a gradient is added to rows by an index list, plainly
// launch: --block 64
// run: --grid 1 --arg buf:s32[64]:ro=random:0:7 --arg buf:f32[64]:ro=random --arg buf:f32[8]=zero
// rules: race global-race
extern "C" __global__ void index_list_has_duplicates(const int *row, const float *gradient, float *weight)
{
	int t = threadIdx.x;

	PLANTED(weight[row[t]] += gradient[t];) //!
	MENDED(atomicAdd(&weight[row[t]], gradient[t]);)
}
