// x / |x|, in one cooperative launch: tiles of 16 threads sum, then the grid, and after the grid's barrier each block adds
// what all left.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

extern "C" __global__ void __launch_bounds__(192) normalise(const float *x, float *y, float *of_block, int n)
{
	__shared__ float of_tile[192 / 16];
	const cg::grid_group grid = cg::this_grid();
	const cg::thread_block block = cg::this_thread_block();
	const cg::thread_block_tile<16> tile = cg::tiled_partition<16>(block);
	float sum = 0;

	for (int i = (int)grid.thread_rank(); i < n; i += (int)grid.size())
		sum += x[i] * x[i];
	sum = cg::reduce(tile, sum, cg::plus<float>());
	if (tile.thread_rank() == 0)
		of_tile[tile.meta_group_rank()] = sum;
	block.sync();
	if (block.thread_rank() == 0) {
		sum = 0;
		for (int i = 0; i < 192 / 16; i++)
			sum += of_tile[i];
		of_block[blockIdx.x] = sum;
	}
#ifdef DEFECT
	block.sync();
#else
	grid.sync();
#endif
	sum = 0;
	for (int i = 0; i < (int)gridDim.x; i++)
		sum += of_block[i]; // DEFECT: other blocks may not have written theirs
	for (int i = (int)grid.thread_rank(); i < n; i += (int)grid.size())
		y[i] = x[i] * rsqrtf(sum);
}
