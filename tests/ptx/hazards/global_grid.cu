// SPDX-License-Identifier: MIT
// Races in global memory between blocks.
#include "hazard.cuh"

// == smooth_in_place_blocks: a stencil in place reads what the neighbour block writes
// launch: --block 64
// run: --grid 3 --arg buf:f32[194]=random --arg buf:f32[194]=zero
// rules: race global-race
extern "C" __global__ void smooth_in_place_blocks(float *x, float *y)
{
	int i = blockIdx.x * 64 + threadIdx.x + 1;
	float v = 0.5f * (x[i - 1] + x[i + 1]); //!

	__syncthreads();
	PLANTED(x[i] = v;) //!
	MENDED(y[i] = v;)
}

// == sums_added_plainly: each block adds its sum to the total without an atomic
// launch: --block 32
// run: --grid 4 --arg buf:f32[128]:ro=random --arg buf:f32[1]=zero
// rules: race global-race
extern "C" __global__ void sums_added_plainly(const float *in, float *total)
{
	float sum = in[blockIdx.x * 32 + threadIdx.x];

	for (int d = 16; d; d >>= 1)
		sum += __shfl_xor_sync(0xffffffffu, sum, d);
	if (threadIdx.x == 0) {
		PLANTED(*total += sum;) //!
		MENDED(atomicAdd(total, sum);)
	}
}

// == last_block_without_fence: the last block adds up the partial sums, which no fence has made visible
// launch: --block 64
// run: --grid 4 --arg buf:f32[256]:ro=random --arg buf:f32[4]=zero --arg buf:u32[1]=zero --arg buf:f32[1]=zero
// rules: race global-race
extern "C" __global__ void last_block_without_fence(const float *in, float *part, unsigned *done, float *out)
{
	__shared__ float sum[2];
	__shared__ bool last;
	int t = threadIdx.x;
	float v = in[blockIdx.x * 64 + t];

	for (int d = 16; d; d >>= 1)
		v += __shfl_xor_sync(0xffffffffu, v, d);
	if (t % 32 == 0)
		sum[t / 32] = v;
	__syncthreads();
	if (t == 0) {
		part[blockIdx.x] = sum[0] + sum[1]; //!
		MENDED(__threadfence();)
		last = atomicAdd(done, 1) == gridDim.x - 1; //!
		MENDED(__threadfence();)
	}
	__syncthreads();
	if (last && t == 0) {
		float total = 0;

		for (int i = 0; i < gridDim.x; i++)
			total += part[i]; //!
		*out = total;
	}
}

// == tiles_overlap: tiles are laid 120 apart and are 128 wide
// launch: --block 128
// run: --grid 3 --arg buf:f32[384]:ro=random --arg buf:f32[384]=zero
// rules: race global-race
extern "C" __global__ void tiles_overlap(const float *in, float *out)
{
	int i = blockIdx.x * PLANTED(120) MENDED(128) + threadIdx.x;

	out[i] = in[i] + blockIdx.x; //!
}

// == block_index_forgotten: every block writes its sums to the same elements
// launch: --block 64
// run: --grid 4 --arg buf:f32[256]:ro=random --arg buf:f32[256]=zero
// rules: race global-race
extern "C" __global__ void block_index_forgotten(const float *in, float *out)
{
	int t = threadIdx.x;

	out[MENDED(blockIdx.x * 64 +) t] = in[blockIdx.x * 64 + t] * 3.0f; //!
}

// == flag_between_blocks: block 1 waits for a plain flag that block 0 sets behind its data
// launch: --block 32
// run: --grid 2 --arg buf:f32[32]:ro=random --arg buf:f32[32]=zero --arg buf:u32[1]=zero --arg buf:f32[32]=zero
// rules: race global-race
extern "C" __global__ void flag_between_blocks(const float *in, float *data, unsigned *flag, float *out)
{
	int t = threadIdx.x;

	if (blockIdx.x == 0) {
		data[t] = in[t] * in[t]; //!
		__syncthreads();
		if (t == 0) {
			MENDED(__threadfence();)
			PLANTED(*(volatile unsigned *)flag = 1) MENDED(atomicExch(flag, 1)); //!
		}
	} else {
		if (t == 0) {
			while (PLANTED(*(volatile unsigned *)flag) MENDED(atomicAdd(flag, 0)) == 0) //!
				;
			MENDED(__threadfence();)
		}
		__syncthreads();
		out[t] = data[31 - t]; //!
	}
}

// == split_k_without_atomics: blocks along k add their part of a product to the same tile
// launch: --block 16x16
// run: --grid 1x1x2 --arg buf:f32[16x32]:ro=random --arg buf:f32[32x16]:ro=random --arg buf:f32[16x16]=zero
// rules: race global-race
extern "C" __global__ void split_k_without_atomics(const float *a, const float *b, float *c)
{
	int x = threadIdx.x, y = threadIdx.y;
	float sum = 0;

	for (int k = blockIdx.z * 16; k < blockIdx.z * 16 + 16; k++)
		sum += a[y * 32 + k] * b[k * 16 + x];
	PLANTED(c[y * 16 + x] += sum;) //!
	MENDED(atomicAdd(&c[y * 16 + x], sum);)
}
