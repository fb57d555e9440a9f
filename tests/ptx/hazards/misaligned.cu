// SPDX-License-Identifier: MIT
// Accesses that are not aligned to their size.
#include "hazard.cuh"

// == vector_behind_header: vectors of four begin behind a header of one element
// launch: --block 32
// run: --grid 1 --arg buf:f32[129]:ro=random --arg buf:f32[128]=zero
// rules: misaligned alignment-unproved
extern "C" __global__ void vector_behind_header(const float *in, float4 *out)
{
	out[threadIdx.x] = *(const float4 *)(in + PLANTED(1) MENDED(0) + 4 * threadIdx.x); //!
}

// == odd_pitch: rows of 33 are read as vectors
// launch: --block 8x4
// run: --grid 1 --arg buf:f32[4x36]:ro=random --arg buf:f32[4x32]=zero
// rules: misaligned alignment-unproved
extern "C" __global__ void odd_pitch(const float *in, float *out)
{
	int x = threadIdx.x, y = threadIdx.y;
	float4 v = *(const float4 *)&in[y * PLANTED(33) MENDED(36) + 4 * x]; //!

	*(float4 *)&out[y * 32 + 4 * x] = v; //!
}

// == padded_tile_by_vectors: the padding against bank conflicts spoils the alignment of vectors
// launch: --block 8x8
// run: --grid 1 --arg buf:f32[8x32]:ro=random --arg buf:f32[8x32]=zero
// rules: misaligned alignment-unproved
extern "C" __global__ void padded_tile_by_vectors(const float4 *in, float *out)
{
	__shared__ __align__(16) float tile[8][PLANTED(33) MENDED(36)];
	int x = threadIdx.x, y = threadIdx.y;

	*(float4 *)&tile[y][4 * x] = in[y * 8 + x]; //!
	__syncthreads();
	for (int i = 0; i < 4; i++)
		out[y * 32 + i * 8 + x] = tile[x][4 * y + i];
}

// == double_behind_three_floats: a double in shared memory behind three floats
// launch: --block 32
// run: --grid 1 --arg buf:f64[32]=random
// rules: misaligned alignment-unproved
extern "C" __global__ void double_behind_three_floats(double *x)
{
	__shared__ __align__(16) float words[4 + 64];
	double *wide = (double *)(words + PLANTED(3) MENDED(4));
	int t = threadIdx.x;

	if (t < 3)
		words[t] = 0;
	wide[t] = x[t]; //!
	__syncwarp();
	x[t] = wide[31 - t] + words[t % 3]; //!
}

// == halves_at_odd_index: pairs of half precision are read from an odd element on
// launch: --block 32
// run: --grid 1 --arg buf:u16[66]:ro=random --arg buf:u32[32]=zero
// rules: misaligned alignment-unproved
extern "C" __global__ void halves_at_odd_index(const unsigned short *in, unsigned *out)
{
	out[threadIdx.x] = *(const unsigned *)&in[2 * threadIdx.x + PLANTED(1) MENDED(2)]; //!
}

// == carved_behind_bytes: floats in dynamic memory begin where a list of 30 bytes ends
// launch: --block 32 --dynamic-shared 256
// run: --grid 1 --arg buf:u8[32]:ro=random --arg buf:f32[32]=zero
// rules: misaligned alignment-unproved
extern "C" __global__ void carved_behind_bytes(const unsigned char *in, float *out)
{
	extern __shared__ __align__(16) unsigned char memory[];
	float *value = (float *)(memory + PLANTED(30) MENDED(32));
	int t = threadIdx.x;

	if (t < 30)
		memory[t] = in[t];
	value[t] = in[t] * 0.5f; //!
	__syncwarp();
	out[t] = value[t ^ 1] + memory[t % 30]; //!
}

// == record_of_twelve: records of twelve bytes are written as one of eight and one of four
// launch: --block 32
// run: --grid 1 --arg buf:u32[32]:ro=random --arg buf:u32[32x4]=zero
// rules: misaligned alignment-unproved
extern "C" __global__ void record_of_twelve(const unsigned *in, unsigned char *out)
{
	int t = threadIdx.x;
	unsigned char *record = out + t * PLANTED(12) MENDED(16);

	*(u64 *)record = in[t] * 3ull; //!
	*(unsigned *)(record + 8) = in[t];
}

// == matrix_rows_of_five_words: ldmatrix wants rows on 16 bytes, and they are 20 apart
// launch: --block 32
// run: --grid 1 --arg buf:u32[32]:ro=random --arg buf:u32[32]=zero
// rules: misaligned alignment-unproved
extern "C" __global__ void matrix_rows_of_five_words(const unsigned *in, unsigned *out)
{
	__shared__ __align__(16) unsigned row[8][PLANTED(5) MENDED(8)];
	int t = threadIdx.x;
	unsigned x;

	row[t / 4][t % 4] = in[t];
	__syncwarp();
	asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(x) : "r"(shared_address(row[t % 8])) : "memory"); //!
	out[t] = x;
}
