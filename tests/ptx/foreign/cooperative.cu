/* SPDX-License-Identifier: MIT
 *
 * Cooperative groups: tiles, reductions, scans, copies, the grid, and a cluster where there are any.
 */
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

__global__ void tiles(const int *in, int *out)
{
	auto block = cg::this_thread_block();
	auto tile = cg::tiled_partition<16>(block);
	auto odd = cg::binary_partition(tile, (bool)(threadIdx.x & 1));
	int sum = cg::reduce(tile, in[threadIdx.x], cg::plus<int>());
	int least = cg::reduce(odd, in[threadIdx.x], cg::less<int>());

	out[threadIdx.x] = sum + least + cg::inclusive_scan(tile, in[threadIdx.x]) + tile.shfl_xor(sum, 3) +
			   (int)tile.match_any(sum) + (int)odd.size();
	auto active = cg::coalesced_threads();
	if (active.thread_rank() == 0)
		atomicAdd(out, (int)active.size());
}

__global__ void grid_wide(float *data, float *partial, int n)
{
	__shared__ float room[256];
	auto grid = cg::this_grid();
	auto block = cg::this_thread_block();

	cg::memcpy_async(block, room, data + blockIdx.x * 256, sizeof room);
	cg::wait(block);
	data[grid.thread_rank() % n] = room[255 - threadIdx.x];
	grid.sync();
	if (grid.thread_rank() == 0)
		partial[0] = data[n - 1];
}

#if __CUDA_ARCH__ >= 900
__global__ void __cluster_dims__(4, 1, 1) cluster_wide(int *out)
{
	__shared__ int room[32];
	auto cluster = cg::this_cluster();

	room[threadIdx.x % 32] = (int)threadIdx.x;
	cluster.sync();
	out[threadIdx.x] = *cluster.map_shared_rank(&room[threadIdx.x % 32], (cluster.block_rank() + 1) % 4);
	cluster.sync();
}
#endif
