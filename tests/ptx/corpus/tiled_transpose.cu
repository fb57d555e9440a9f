// SPDX-License-Identifier: MIT
// nvcc -ptx -arch=sm_80: a transpose in tiles of 32 x 32, padded, by blocks of 32 x 8, with a loop over the tile's rows.

enum { TILE = 32, ROWS = 8 };

extern "C" __global__ void __launch_bounds__(TILE *ROWS)
	tiled_transpose(const float *__restrict__ in, float *__restrict__ out, int width, int height)
{
	__shared__ float tile[TILE][TILE + 1];
	int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;

#pragma unroll 1
	for (int j = 0; j < TILE; j += ROWS)
		if (x < width && y + j < height)
			tile[threadIdx.y + j][threadIdx.x] = in[(size_t)(y + j) * width + x];
	__syncthreads();
	x = blockIdx.y * TILE + threadIdx.x;
	y = blockIdx.x * TILE + threadIdx.y;
#pragma unroll 1
	for (int j = 0; j < TILE; j += ROWS)
		if (x < height && y + j < width)
			out[(size_t)(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}
