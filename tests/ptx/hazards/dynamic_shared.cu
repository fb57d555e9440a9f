// SPDX-License-Identifier: MIT
// Dynamic shared memory of which the launch gives too little.
#include "hazard.cuh"

// == none_given: the third launch parameter was forgotten
// launch: --block 128
// mended: --dynamic-shared 512
// run: --grid 1 --arg buf:f32[128]=random
// rules: out-of-bounds
extern "C" __global__ void none_given(float *x)
{
	extern __shared__ float line[];
	int t = threadIdx.x;

	line[t] = x[t]; //!
	__syncthreads();
	x[t] = line[127 - t]; //!
}

// == elements_for_bytes: the launch gives the number of elements, not of bytes
// launch: --block 256
// planted: --dynamic-shared 256
// mended: --dynamic-shared 1024
// run: --grid 2 --arg buf:f32[512]:ro=random --arg buf:f32[2]=zero
// rules: out-of-bounds
extern "C" __global__ void elements_for_bytes(const float *in, float *out)
{
	extern __shared__ float part[];
	int t = threadIdx.x;

	part[t] = in[blockIdx.x * 256 + t]; //!
	__syncthreads();
	for (int s = 128; s; s >>= 1) {
		if (t < s)
			part[t] += part[t + s]; //!
		__syncthreads();
	}
	if (t == 0)
		out[blockIdx.x] = part[0];
}

// == second_array_forgotten: two arrays in dynamic memory, and the bytes of one
// launch: --block 64
// planted: --dynamic-shared 256
// mended: --dynamic-shared 512
// run: --grid 1 --arg buf:s32[64]:ro=random --arg buf:s32[64]=zero
// rules: out-of-bounds
extern "C" __global__ void second_array_forgotten(const int *in, int *out)
{
	extern __shared__ int keys[];
	int *values = keys + 64, t = threadIdx.x;

	keys[t] = in[t];
	values[t] = t; //!
	__syncthreads();
	out[t] = keys[63 - t] * values[t ^ 1]; //!
}

// == halo_without_bytes: the size of the tile was given, without that of its halo
// launch: --block 128
// planted: --dynamic-shared 512
// mended: --dynamic-shared 520
// run: --grid 1 --arg buf:f32[130]:ro=random --arg buf:f32[128]=zero
// rules: out-of-bounds
extern "C" __global__ void halo_without_bytes(const float *in, float *out)
{
	extern __shared__ float line[];
	int t = threadIdx.x;

	line[t + 1] = in[t + 1]; //!
	if (t == 0) {
		line[0] = in[0];
		line[129] = in[129]; //!
	}
	__syncthreads();
	out[t] = line[t] - 2 * line[t + 1] + line[t + 2]; //!
}

// == doubles_for_floats: the kernel was changed to double, its launch was not
// launch: --block 64
// planted: --dynamic-shared 256
// mended: --dynamic-shared 512
// run: --grid 1 --arg buf:f64[64]=random
// rules: out-of-bounds
extern "C" __global__ void doubles_for_floats(double *x)
{
	extern __shared__ double wide[];
	int t = threadIdx.x;

	wide[t] = x[t]; //!
	__syncthreads();
	x[t] = wide[t ^ 32]; //!
}

// == stages_of_a_ring: three stages are used, and two were paid for
// launch: --block 128
// planted: --dynamic-shared 1024
// mended: --dynamic-shared 1536
// run: --grid 1 --arg buf:f32[6x128]:ro=random --arg buf:f32[128]=zero
// rules: out-of-bounds
extern "C" __global__ void stages_of_a_ring(const float *in, float *out)
{
	extern __shared__ float ring[];
	int t = threadIdx.x;
	float sum = 0;

	for (int i = 0; i < 3; i++)
		ring[i * 128 + t] = in[i * 128 + t]; //!
	__syncthreads();
	for (int i = 0; i < 6; i++) {
		sum += ring[i % 3 * 128 + 127 - t]; //!
		__syncthreads();
		if (i + 3 < 6)
			ring[i % 3 * 128 + t] = in[(i + 3) * 128 + t]; //!
		__syncthreads();
	}
	out[t] = sum;
}

// == warp_slots_by_lanes: each warp has a slot of 32 words, and the launch counted warps in words
// launch: --block 256
// planted: --dynamic-shared 32
// mended: --dynamic-shared 1024
// run: --grid 1 --arg buf:f32[256]=random
// rules: out-of-bounds
extern "C" __global__ void warp_slots_by_lanes(float *x)
{
	extern __shared__ float slot[];
	int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

	slot[warp * 32 + lane] = x[threadIdx.x]; //!
	__syncwarp();
	x[threadIdx.x] = slot[warp * 32 + 31 - lane]; //!
}
