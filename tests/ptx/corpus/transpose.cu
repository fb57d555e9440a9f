// SPDX-License-Identifier: MIT
// Transpose through padded shared memory: static, and dynamic with vectors.
extern "C" __global__ void transpose(const float *in, float *out, int rows, int columns)
{
	__shared__ float tile[32][33];
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;

	for (int k = 0; k < 32; k += 8)
		if (x < columns && y + k < rows)
			tile[threadIdx.y + k][threadIdx.x] = in[(size_t)(y + k) * columns + x];
	__syncthreads();
	x = blockIdx.y * 32 + threadIdx.x;
	y = blockIdx.x * 32 + threadIdx.y;
	for (int k = 0; k < 32; k += 8)
		if (x < rows && y + k < columns)
			out[(size_t)(y + k) * rows + x] = tile[threadIdx.x][threadIdx.y + k];
}

extern "C" __global__ void copy_vectors(const float4 *in, float4 *out, int count)
{
	extern __shared__ float4 staged[];
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		staged[threadIdx.x] = __ldg(in + i);
	__syncthreads();
	if (i < count)
		__stcs(out + i, staged[blockDim.x - 1 - threadIdx.x]);
}
