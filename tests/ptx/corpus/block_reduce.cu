// SPDX-License-Identifier: MIT
// nvcc -ptx -arch=sm_80: sums through shared memory and shuffles: a block a row, a warp a row, and any number of blocks.

__device__ float warp_sum(float x)
{
	for (int step = 16; step; step >>= 1)
		x += __shfl_xor_sync(0xffffffff, x, step);
	return x;
}

extern "C" __global__ void __launch_bounds__(256) block_a_row(const float *in, float *out, int columns)
{
	__shared__ float partial[8];
	const float *row = in + (size_t)blockIdx.x * columns;
	float sum = 0;

	for (int i = threadIdx.x; i < columns; i += blockDim.x)
		sum += row[i];
	sum = warp_sum(sum);
	if (threadIdx.x % 32 == 0)
		partial[threadIdx.x / 32] = sum;
	__syncthreads();
	if (threadIdx.x < 32) {
		sum = threadIdx.x < 8 ? partial[threadIdx.x] : 0;
		sum = warp_sum(sum);
		if (threadIdx.x == 0)
			out[blockIdx.x] = sum;
	}
}

extern "C" __global__ void warp_a_row(const float *in, float *out, int rows, int columns)
{
	int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
	float sum = 0;

	if (row >= rows)
		return;
	for (int i = lane; i < columns; i += 32)
		sum += in[(size_t)row * columns + i];
	sum = warp_sum(sum);
	if (lane == 0)
		out[row] = sum;
}

extern "C" __global__ void tree(const float *in, float *out, int count)
{
	extern __shared__ float data[];
	unsigned i = threadIdx.x, at = blockIdx.x * blockDim.x * 2 + threadIdx.x;

	data[i] = (at < count ? in[at] : 0) + (at + blockDim.x < count ? in[at + blockDim.x] : 0);
	__syncthreads();
	for (unsigned half = blockDim.x / 2; half; half >>= 1) {
		if (i < half)
			data[i] += data[i + half];
		__syncthreads();
	}
	if (i == 0)
		out[blockIdx.x] = data[0];
}
