// SPDX-License-Identifier: MIT
// Indices whose arithmetic goes wrong: overflow, signs, ends that belong to nobody, packed records.
#include <cuda_fp16.h>

#include "hazard.cuh"

// == share_overflows: the share of each thread is its number times the length, in 32 bits
// launch: --block 128
// run: --grid 1 --arg buf:u8[20000000]:ro=iota --arg buf:u8[128]=zero --arg u32=20000000
// rules: out-of-bounds
extern "C" __global__ void share_overflows(const unsigned char *in, unsigned char *out, int n)
{
	int t = threadIdx.x;
	int begin = PLANTED(t * n / 128) MENDED((int)((long long)t * n / 128)); //!

	out[t] = in[begin]; //!
}

// == hash_is_negative: the remainder of a negative hash is negative
// launch: --block 64
// run: --grid 1 --arg buf:s32[64]:ro=random --arg buf:u32[64]=zero
// rules: out-of-bounds
extern "C" __global__ void hash_is_negative(const int *key, unsigned *bins)
{
	int hash = key[threadIdx.x] * 40503 ^ key[threadIdx.x] >> 7;

	atomicAdd(&bins[PLANTED(hash % 64) MENDED((unsigned)hash % 64)], 1u); //!
}

// == clamp_of_unsigned: the left edge is clamped at zero in a type that has nothing below
// launch: --block 64
// run: --grid 2 --arg buf:f32[128]:ro=random --arg buf:f32[128]=zero --arg u32=2
// rules: out-of-bounds
extern "C" __global__ void clamp_of_unsigned(const float *in, float *out, unsigned radius)
{
	unsigned i = blockIdx.x * 64 + threadIdx.x;
	unsigned left = PLANTED(max(i - radius, 0u)) MENDED((unsigned)max((int)i - (int)radius, 0)); //!

	out[i] = in[left] + in[i]; //!
}

// == end_of_row_included: a row of a sparse matrix takes the first element of the next one along
// launch: --block 64
// run: --grid 1 --arg buf:u32[65]:ro=iota --arg buf:u32[64]:ro=iota --arg buf:f32[64]:ro=random --arg buf:f32[64]=zero
// rules: out-of-bounds
extern "C" __global__ void end_of_row_included(const unsigned *row, const unsigned *column, const float *x, float *y)
{
	float sum = 0;

	for (unsigned j = row[threadIdx.x]; j PLANTED(<=) MENDED(<) row[threadIdx.x + 1]; j++)
		sum += x[column[j]]; //!
	y[threadIdx.x] = sum;
}

// == words_of_22_bytes: the codes of packed blocks, two bytes of scale and twenty of codes, are read as words
// launch: --block 32
// run: --grid 1 --arg buf:u8[704]:ro=iota --arg buf:u32[32]=zero
// rules: misaligned alignment-unproved
extern "C" __global__ void words_of_22_bytes(const unsigned char *blocks, unsigned *out)
{
	const unsigned char *codes = blocks + 22 * threadIdx.x + 2;
	PLANTED(unsigned word = *(const unsigned *)codes;) //!
	MENDED(const unsigned short *half = (const unsigned short *)codes; unsigned word = half[0] | half[1] << 16;)

	out[threadIdx.x] = word & 0x0f0f0f0f;
}

// == pair_added_at_odd: two halves are added at once at the place of any one of them
// launch: --block 32
// run: --grid 1 --arg buf:f16[64]:ro=random --arg buf:f16[128]=zero
// rules: misaligned alignment-unproved
extern "C" __global__ void pair_added_at_odd(const __half *in, __half *sum)
{
	int t = threadIdx.x;
	__half2 pair = __halves2half2(in[t], in[t + 32]);

	atomicAdd((__half2 *)&sum[PLANTED(3) MENDED(2) * t], pair); //!
}

// == one_tap_too_many: the taps of a filter are in constant memory, and the loop takes one more
// launch: --block 32
// run: --grid 1 --arg buf:f32[64]:ro=random --arg buf:f32[32]=zero --arg u32=5
// rules: out-of-bounds
__constant__ float taps[5] = { 0.1f, 0.2f, 0.4f, 0.2f, 0.1f };

extern "C" __global__ void one_tap_too_many(const float *in, float *out, int reach)
{
	float sum = 0;

#pragma unroll 1
	for (int k = 0; k PLANTED(<=) MENDED(<) reach; k++)
		sum += taps[k] * in[threadIdx.x + k]; //!
	out[threadIdx.x] = sum;
}

// == shows_its_own_stack: thread 0 gives the others the address of an array of its own
// launch: --block 32
// run: --grid 1 --arg buf:f32[32]:ro=random --arg buf:f32[32]=zero --arg u32=3
// rules: out-of-bounds race unwritten-register local
extern "C" __global__ void shows_its_own_stack(const float *in, float *out, int turn)
{
	__shared__ float *volatile best;
	__shared__ float kept[4];
	int t = threadIdx.x;

	if (t == 0) {
		float mine[4];

		for (int k = 0; k < 4; k++) {
			mine[(k + turn) % 4] = in[k]; //!
			MENDED(kept[(k + turn) % 4] = in[k];)
		}
		best = PLANTED(mine) MENDED(kept); //!
	}
	__syncthreads();
	out[t] = best[t % 4] + in[t]; //!
}

// == tail_of_the_unrolled: four rows at a time, though their number need not be one of four
// launch: --block 32
// run: --grid 1 --arg buf:f32[10x32]:ro=random --arg buf:f32[32]=zero --arg u32=10
// rules: out-of-bounds
extern "C" __global__ void tail_of_the_unrolled(const float *in, float *out, int rows)
{
	float sum = 0;
	int r = 0;

	for (; r PLANTED() MENDED(+ 3) < rows; r += 4)
		sum += in[r * 32 + threadIdx.x] + in[(r + 1) * 32 + threadIdx.x] + in[(r + 2) * 32 + threadIdx.x] + in[(r + 3) * 32 + threadIdx.x]; //!
	for (; r < rows; r++)
		sum += in[r * 32 + threadIdx.x];
	out[threadIdx.x] = sum;
}
