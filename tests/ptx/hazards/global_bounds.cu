// SPDX-License-Identifier: MIT
// Global memory beyond its end, by a guard that is wrong or missing: what a run on data sees.
#include "hazard.cuh"

// == guard_lets_one_more: <= for <
// launch: --block 64
// run: --grid 2 --arg buf:f32[100]:ro=random --arg buf:f32[100]=zero --arg u32=100
// rules: out-of-bounds
extern "C" __global__ void guard_lets_one_more(const float *in, float *out, int n)
{
	int i = blockIdx.x * 64 + threadIdx.x;

	if (i PLANTED(<=) MENDED(<) n)
		out[i] = in[i] + 1.0f; //!
}

// == no_guard: the grid is rounded up, and nobody asks whether there is an element
// launch: --block 128
// run: --grid 2 --arg buf:f32[200]=random --arg u32=200
// rules: out-of-bounds
extern "C" __global__ void no_guard(float *x, int n)
{
	int i = blockIdx.x * 128 + threadIdx.x;

	MENDED(if (i < n))
		x[i] *= 2.0f; //!
}

// == width_for_height: the guard of rows asks for columns
// launch: --block 8x8
// run: --grid 2x2 --arg buf:f32[10x16]:ro=random --arg buf:f32[16x10]=zero --arg u32=16 --arg u32=10
// rules: out-of-bounds
extern "C" __global__ void width_for_height(const float *in, float *out, int width, int height)
{
	int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;

	if (x < width && y < PLANTED(width) MENDED(height))
		out[x * height + y] = in[y * width + x]; //!
}

// == last_vector: vectors of four are read while fewer than four are left
// launch: --block 32
// run: --grid 1 --arg buf:f32[126]:ro=random --arg buf:f32[32]=zero --arg u32=126
// rules: out-of-bounds
extern "C" __global__ void last_vector(const float *in, float *out, int n)
{
	int t = threadIdx.x;
	float sum = 0;

	if (4 * t + PLANTED(0) MENDED(3) < n) {
		float4 v = *(const float4 *)&in[4 * t]; //!

		sum = v.x + v.y + v.z + v.w;
	}
	MENDED(else for (int i = 4 * t; i < n; i++) sum += in[i];)
	out[t] = sum;
}

// == left_edge: the first column has no left neighbour
// launch: --block 64
// run: --grid 1 --arg buf:f32[64]:ro=random --arg buf:f32[64]=zero
// rules: out-of-bounds
extern "C" __global__ void left_edge(const float *in, float *out)
{
	int t = threadIdx.x;

	out[t] = 0.5f * (in[t] + in[PLANTED(t - 1) MENDED(max(t - 1, 0))]); //!
}

// == index_from_a_list: an index list that counts from one
// launch: --block 32
// run: --grid 1 --arg buf:f32[32]:ro=random --arg buf:s32[32]:ro=iota --arg buf:f32[32]=zero
// rules: out-of-bounds
extern "C" __global__ void index_from_a_list(const float *table, const int *index, float *out)
{
	int t = threadIdx.x;

	out[t] = table[index[t] PLANTED(+ 1)]; //!
}

// == row_of_the_next_matrix: the batch index is multiplied by another size than the matrix has
// launch: --block 32
// run: --grid 3 --arg buf:f32[3x8x32]:ro=random --arg buf:f32[96]=zero --arg u32=8
// rules: out-of-bounds
extern "C" __global__ void row_of_the_next_matrix(const float *in, float *out, int rows)
{
	const float *matrix = in + blockIdx.x * (rows PLANTED(+ 1)) * 32;
	float sum = 0;

	for (int i = 0; i < rows; i++)
		sum += matrix[i * 32 + threadIdx.x]; //!
	out[blockIdx.x * 32 + threadIdx.x] = sum;
}
