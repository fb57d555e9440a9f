// SPDX-License-Identifier: MIT
// Loops over all elements whose step forgets that there are more blocks.
#include "hazard.cuh"

// == goes_on_by_a_block: the loop goes on by a block, not by the grid
// launch: --block 64
// run: --grid 4 --arg buf:f32[512]=random --arg u32=512
// rules: race
extern "C" __global__ void goes_on_by_a_block(float *x, int n)
{
#pragma unroll 1
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x MENDED(* gridDim.x)) //!
		x[i] = 2.0f * x[i]; //!
}

// == rows_of_one_block: rows of 32 are taken in turn by the rows of threads of one block
// launch: --block 32x4
// run: --grid 1x3 --arg buf:f32[24x32]=zero --arg buf:f32[24x32]:ro=random --arg u32=24
// rules: race
extern "C" __global__ void rows_of_one_block(float *x, const float *y, int rows)
{
#pragma unroll 1
	for (int r = blockIdx.y * blockDim.y + threadIdx.y; r < rows; r += blockDim.y MENDED(* gridDim.y)) //!
		x[r * 32 + threadIdx.x] += y[r * 32 + threadIdx.x]; //!
}

// == rows_into_one_row: every block adds up its own row, and all of them store it to the same one
// launch: --block 64
// run: --grid 3 --arg buf:f32[3x200]:ro=random --arg buf:f32[3x200]=zero --arg u32=200
// rules: race
extern "C" __global__ void rows_into_one_row(const float *in, float *out, int n)
{
	const float *row = in + blockIdx.x * n;

	MENDED(out += blockIdx.x * n;)
#pragma unroll 1
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		out[i] = 0.5f * row[i]; //!
}
