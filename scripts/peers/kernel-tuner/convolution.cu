/* SPDX-License-Identifier: MIT
 *
 * A convolution of an image of WIDTH x HEIGHT f32, which has a border, with a filter of 17 x 17: a block has
 * block_size_x * TILE_X columns and block_size_y * TILE_Y rows, a thread TILE_X x TILE_Y of them.
 */
enum { FILTER = 17, IN_WIDTH = WIDTH + FILTER - 1 };
enum { TILE_COLUMNS = block_size_x * TILE_X, TILE_ROWS = block_size_y * TILE_Y };

static __device__ float fetch(const float *from)
{
#if READ_ONLY
	return __ldg(from);
#else
	return *from;
#endif
}

extern "C" __global__ void __launch_bounds__(block_size_x *block_size_y) convolution(const float *image, const float *filter,
									   float *out)
{
	const int x = blockIdx.x * TILE_COLUMNS, y = blockIdx.y * TILE_ROWS;
	const int tx = threadIdx.x, ty = threadIdx.y;
	float sum[TILE_Y][TILE_X] = {};
#if SHARED
	__shared__ float tile[TILE_ROWS + FILTER - 1][TILE_COLUMNS + FILTER - 1 + PADDING];

	for (int i = ty; i < TILE_ROWS + FILTER - 1; i += block_size_y)
		for (int j = tx; j < TILE_COLUMNS + FILTER - 1; j += block_size_x)
			tile[i][j] = fetch(&image[(size_t)(y + i) * IN_WIDTH + x + j]);
	__syncthreads();
#define PIXEL(i, j) tile[i][j]
#else
#define PIXEL(i, j) fetch(&image[(size_t)(y + (i)) * IN_WIDTH + x + (j)])
#endif
#pragma unroll UNROLL
	for (int i = 0; i < FILTER; i++)
#pragma unroll
		for (int j = 0; j < FILTER; j++) {
			const float weight = fetch(&filter[i * FILTER + j]);
#pragma unroll
			for (int v = 0; v < TILE_Y; v++)
#pragma unroll
				for (int u = 0; u < TILE_X; u++)
					sum[v][u] += PIXEL(ty + v * block_size_y + i, tx + u * block_size_x + j) * weight;
		}
#pragma unroll
	for (int v = 0; v < TILE_Y; v++)
#pragma unroll
		for (int u = 0; u < TILE_X; u++)
			out[(size_t)(y + ty + v * block_size_y) * WIDTH + x + tx + u * block_size_x] = sum[v][u];
}
