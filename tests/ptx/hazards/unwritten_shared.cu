// SPDX-License-Identifier: MIT
// Shared memory that is read before anybody has written it.
#include "hazard.cuh"

// == bins_never_cleared: shared memory is not zero at the start
// launch: --block 256
// run: --grid 2 --arg buf:u8[2048]:ro=random --arg buf:u32[256]=zero
// rules: unwritten-shared
extern "C" __global__ void bins_never_cleared(const unsigned char *in, unsigned *out)
{
	__shared__ unsigned bins[256];
	int t = threadIdx.x;

	MENDED(bins[t] = 0; __syncthreads();)
	for (int i = 0; i < 4; i++)
		atomicAdd(&bins[in[blockIdx.x * 1024 + i * 256 + t]], 1); //!
	__syncthreads();
	atomicAdd(&out[t], bins[t]); //!
}

// == half_the_bins_cleared: a block of 128 clears 128 of 256 bins
// launch: --block 128
// run: --grid 1 --arg buf:u8[128]:ro=random --arg buf:u32[256]=zero
// rules: unwritten-shared
extern "C" __global__ void half_the_bins_cleared(const unsigned char *in, unsigned *out)
{
	__shared__ unsigned bins[256];
	int t = threadIdx.x;

	bins[t] = 0;
	MENDED(bins[t + 128] = 0;)
	__syncthreads();
	atomicAdd(&bins[in[t]], 1); //!
	__syncthreads();
	out[t] = bins[t];
	out[t + 128] = bins[t + 128]; //!
}

// == halo_never_loaded: the right halo is read and nobody loads it
// launch: --block 128
// run: --grid 1 --arg buf:f32[130]:ro=random --arg buf:f32[128]=zero
// rules: unwritten-shared
extern "C" __global__ void halo_never_loaded(const float *in, float *out)
{
	__shared__ float line[130];
	int t = threadIdx.x;

	line[t + 1] = in[t + 1];
	if (t == 0)
		line[0] = in[0];
	MENDED(if (t == 127)
		line[129] = in[129];)
	__syncthreads();
	out[t] = line[t] + line[t + 1] + line[t + 2]; //!
}

// == all_32_of_8_sums: the last warp reads 32 partial sums, and 8 warps have written one each
// launch: --block 256
// run: --grid 1 --arg buf:f32[256]:ro=random --arg buf:f32[1]=zero
// rules: unwritten-shared
extern "C" __global__ void all_32_of_8_sums(const float *in, float *out)
{
	__shared__ float part[32];
	int t = threadIdx.x;
	float sum = in[t];

	for (int d = 16; d; d >>= 1)
		sum += __shfl_xor_sync(0xffffffffu, sum, d);
	if (t % 32 == 0)
		part[t / 32] = sum;
	__syncthreads();
	if (t < 32) {
		sum = PLANTED(part[t]) MENDED(t < 8 ? part[t] : 0.0f); //!
		for (int d = 16; d; d >>= 1)
			sum += __shfl_xor_sync(0xffffffffu, sum, d);
		if (t == 0)
			out[0] = sum;
	}
}

// == tail_of_tile_not_zeroed: beyond the end of the matrix the tile keeps what was there
// launch: --block 16x16
// run: --grid 1 --arg buf:f32[12x16]:ro=random --arg buf:f32[16x16]:ro=random --arg buf:f32[12x16]=zero --arg u32=12
// rules: unwritten-shared
extern "C" __global__ void tail_of_tile_not_zeroed(const float *a, const float *b, float *c, int rows)
{
	__shared__ float as[16][16], bs[16][16];
	int x = threadIdx.x, y = threadIdx.y;
	float sum = 0;

	if (y < rows)
		as[y][x] = a[y * 16 + x];
	MENDED(else
		as[y][x] = 0;)
	bs[y][x] = b[y * 16 + x];
	__syncthreads();
	for (int i = 0; i < 16; i++)
		sum += as[y][i] * bs[i][x]; //!
	if (y < rows)
		c[y * 16 + x] = sum;
}

// == flag_before_it_is_set: whether anybody found something is asked though nobody may have set it
// launch: --block 64
// run: --grid 1 --arg buf:s32[64]:ro=random:0:5 --arg buf:s32[1]=zero
// rules: unwritten-shared
extern "C" __global__ void flag_before_it_is_set(const int *in, int *out)
{
	__shared__ int found;
	int t = threadIdx.x;

	MENDED(if (t == 0) found = 0; __syncthreads();)
	if (in[t] > 7)
		atomicExch(&found, 1);
	__syncthreads();
	if (t == 0)
		out[0] = found; //!
}

// == accumulates_into_dynamic: sums are added to dynamic shared memory that nobody cleared
// launch: --block 64 --dynamic-shared 256
// run: --grid 1 --arg buf:f32[4x64]:ro=random --arg buf:f32[64]=zero
// rules: unwritten-shared
extern "C" __global__ void accumulates_into_dynamic(const float *in, float *out)
{
	extern __shared__ float sum[];
	int t = threadIdx.x;

	MENDED(sum[t] = 0;)
	for (int i = 0; i < 4; i++) {
		sum[(t + i) % 64] += in[i * 64 + t]; //!
		__syncthreads();
	}
	out[t] = sum[t];
}
