// The mean of each point's four neighbours, zero outside of the grid: a box with its border comes by a tensor map, which
// fills what lies outside, and the result goes back by another, which cuts what lies outside.
#include "tma.cuh"

#define WIDTH 32
#define HEIGHT 16
#define SIDE 4 // boxes begin at multiples of 16 bytes, and so do their rows

extern "C" __global__ void __launch_bounds__(WIDTH *HEIGHT / 2)
	stencil_tma(const __grid_constant__ tensor_map from, const __grid_constant__ tensor_map to)
{
	__shared__ alignas(128) float box[HEIGHT + 2][WIDTH + 2 * SIDE];
	__shared__ alignas(128) float result[HEIGHT][WIDTH];
	__shared__ unsigned long long arrived;
	const int x = blockIdx.x * WIDTH, y = blockIdx.y * HEIGHT;

	if (threadIdx.x == 0 && threadIdx.y == 0) {
		barrier_init(&arrived, 1);
		asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
		barrier_expect(&arrived, sizeof box);
		fetch_box(box, &from, x - SIDE, y - 1, &arrived);
	}
	__syncthreads();
	barrier_wait(&arrived, 0);
	for (int row = threadIdx.y; row < HEIGHT; row += blockDim.y) {
		const int column = threadIdx.x + SIDE;

		result[row][threadIdx.x] = (box[row][column] + box[row + 2][column] + box[row + 1][column - 1] +
					    box[row + 1][column + 1]) / 4;
	}
#ifndef DEFECT
	asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
	__syncthreads();
	if (threadIdx.x == 0 && threadIdx.y == 0)
		store_box(&to, x, y, result); // DEFECT: the copy may not see what the threads wrote
}
