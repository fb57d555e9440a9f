// SPDX-License-Identifier: MIT
// Work that is divided evenly, and what is left over.
#include "hazard.cuh"

// == rest_of_the_table_unset: each thread clears as many places as a floor division gives it
// launch: --block 128
// run: --grid 1 --arg buf:f32[128]=zero
// rules: unwritten-shared
extern "C" __global__ void rest_of_the_table_unset(float *out)
{
	__shared__ float table[1000];
	int t = threadIdx.x, each = 1000 / blockDim.x;

#pragma unroll 1
	for (int i = 0; i < PLANTED(each) MENDED((1000 + 127) / 128); i++)
		if (MENDED(i * 128 + t < 1000) PLANTED(1))
			table[i * 128 + t] = t; //!
	__syncthreads();
	out[t] = table[872 + t]; //!
}

// == rest_of_the_tile_unset: tiles of 96 leave the end of 1000 alone
// launch: --block 96
// run: --grid 1 --arg buf:f32[96]:ro=random --arg buf:f32[96]=zero
// rules: unwritten-shared
extern "C" __global__ void rest_of_the_tile_unset(const float *in, float *out)
{
	__shared__ float line[1000];
	int t = threadIdx.x;

	for (int tile = 0; tile < 1000 / 96 MENDED(+ 1); tile++)
		if (MENDED(tile * 96 + t < 1000) PLANTED(1))
			line[tile * 96 + t] = in[t]; //!
	__syncthreads();
	out[t] = line[999 - t]; //!
}
