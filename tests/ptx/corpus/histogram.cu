// SPDX-License-Identifier: MIT
// nvcc -ptx -arch=sm_80: a histogram of bytes by atomics in shared memory; the block that comes last adds up all blocks'.

extern "C" __global__ void histogram(const uchar4 *__restrict__ in, unsigned *partial, unsigned *out, unsigned *ticket,
				     int count)
{
	__shared__ unsigned bins[256];
	__shared__ int is_last;

	for (int i = threadIdx.x; i < 256; i += blockDim.x)
		bins[i] = 0;
	__syncthreads();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
		uchar4 v = in[i];

		atomicAdd(&bins[v.x], 1);
		atomicAdd(&bins[v.y], 1);
		atomicAdd(&bins[v.z], 1);
		atomicAdd(&bins[v.w], 1);
	}
	__syncthreads();
	for (int i = threadIdx.x; i < 256; i += blockDim.x)
		partial[blockIdx.x * 256 + i] = bins[i];
	__threadfence();
	__syncthreads();
	if (threadIdx.x == 0)
		is_last = atomicAdd(ticket, 1) == gridDim.x - 1;
	__syncthreads();
	if (is_last) {
		for (int i = threadIdx.x; i < 256; i += blockDim.x) {
			unsigned sum = 0;

			for (unsigned b = 0; b < gridDim.x; b++)
				sum += partial[b * 256 + i];
			bins[i] = sum;
		}
		__syncthreads();
		for (int i = threadIdx.x; i < 256; i += blockDim.x)
			out[i] = bins[255 - i];
	}
}
