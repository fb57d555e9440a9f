// SPDX-License-Identifier: MIT
// Pairs of half precision that begin at odd elements.
#include "hazard.cuh"

// == pair_at_each_element: every thread reads the pair that begins at its own element
// launch: --block 64
// run: --grid 1 --arg buf:u16[66]:ro=random --arg buf:u32[64]=zero --arg u32=64
// rules: misaligned
extern "C" __global__ void pair_at_each_element(const unsigned short *in, unsigned *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		PLANTED(out[i] = *(const unsigned *)(in + i);) //!
		MENDED(out[i] = in[i] | (unsigned)in[i + 1] << 16;)
}

// == rows_of_odd_length_as_pairs: rows of 33 are read as pairs
// launch: --block 16x4
// run: --grid 2 --arg buf:u16[8x34]:ro=random --arg buf:u32[8x16]=zero --arg u32=8
// rules: misaligned
extern "C" __global__ void rows_of_odd_length_as_pairs(const unsigned short *in, unsigned *out, int rows)
{
	int y = blockIdx.x * 4 + threadIdx.y, x = threadIdx.x;

	if (y < rows)
		out[y * 16 + x] = *(const unsigned *)(in + y * PLANTED(33) MENDED(34) + 2 * x); //!
}

// == pairs_stored_from_one_on: pairs are stored behind one element, in a loop
// launch: --block 32
// run: --grid 1 --arg buf:u16[258]=zero --arg buf:u32[128]:ro=random --arg u32=128
// rules: misaligned
extern "C" __global__ void pairs_stored_from_one_on(unsigned short *out, const unsigned *in, int n)
{
#pragma unroll 1
	for (int i = threadIdx.x; i < n; i += 32)
		*(unsigned *)(out + PLANTED(1) MENDED(2) + 2 * i) = in[i]; //!
}
