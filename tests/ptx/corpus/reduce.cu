// SPDX-License-Identifier: MIT
// Block reduction of rows with shuffles and static shared memory.
extern "C" __global__ void __launch_bounds__(256) reduce_rows(const float *__restrict__ in, float *out, int length)
{
	__shared__ float partial[8];
	const float *row = in + (size_t)blockIdx.x * length;
	float sum = 0.0f;

	for (int i = threadIdx.x; i < length; i += blockDim.x)
		sum += row[i];
	for (int step = 16; step > 0; step >>= 1)
		sum += __shfl_down_sync(0xffffffffu, sum, step);
	if (threadIdx.x % 32 == 0)
		partial[threadIdx.x / 32] = sum;
	__syncthreads();
	if (threadIdx.x < 8) {
		sum = partial[threadIdx.x];
		for (int step = 4; step > 0; step >>= 1)
			sum += __shfl_xor_sync(0xffu, sum, step);
		if (threadIdx.x == 0)
			out[blockIdx.x] = sum;
	}
}
