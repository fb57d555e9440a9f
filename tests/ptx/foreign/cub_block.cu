/* SPDX-License-Identifier: MIT
 *
 * Collectives of a block and a warp as CUB has them.
 */
#include <cub/cub.cuh>

__global__ void reduce(const float *in, float *out)
{
	using Reduce = cub::BlockReduce<float, 256>;
	__shared__ typename Reduce::TempStorage room;
	float sum = Reduce(room).Sum(in[blockIdx.x * 256 + threadIdx.x]);

	if (threadIdx.x == 0)
		out[blockIdx.x] = sum;
}

__global__ void scan(const int *in, int *out)
{
	using Scan = cub::BlockScan<int, 128, cub::BLOCK_SCAN_WARP_SCANS>;
	using Load = cub::BlockLoad<int, 128, 4, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
	using Store = cub::BlockStore<int, 128, 4, cub::BLOCK_STORE_TRANSPOSE>;
	__shared__ union {
		typename Scan::TempStorage scan;
		typename Load::TempStorage load;
		typename Store::TempStorage store;
	} room;
	int items[4];

	Load(room.load).Load(in + blockIdx.x * 512, items);
	__syncthreads();
	Scan(room.scan).ExclusiveSum(items, items);
	__syncthreads();
	Store(room.store).Store(out + blockIdx.x * 512, items);
}

__global__ void sort(unsigned *keys, int *values)
{
	using Sort = cub::BlockRadixSort<unsigned, 128, 4, int>;
	__shared__ typename Sort::TempStorage room;
	unsigned key[4];
	int value[4];

	cub::LoadDirectBlocked(threadIdx.x, keys, key);
	cub::LoadDirectBlocked(threadIdx.x, values, value);
	Sort(room).Sort(key, value);
	cub::StoreDirectStriped<128>(threadIdx.x, keys, key);
	cub::StoreDirectStriped<128>(threadIdx.x, values, value);
}

__global__ void merge(const double *in, double *out)
{
	using Sort = cub::WarpMergeSort<double, 4, 32>;
	__shared__ typename Sort::TempStorage room[4];
	unsigned warp = threadIdx.x / 32;
	double items[4];

	for (int i = 0; i < 4; i++)
		items[i] = in[threadIdx.x * 4 + i];
	Sort(room[warp]).Sort(items, [] __device__(double a, double b) { return a < b; });
	for (int i = 0; i < 4; i++)
		out[threadIdx.x * 4 + i] = items[i];
}

__global__ void histogram(const unsigned char *in, unsigned *out)
{
	using Histogram = cub::BlockHistogram<unsigned char, 128, 8, 256, cub::BLOCK_HISTO_ATOMIC>;
	__shared__ typename Histogram::TempStorage room;
	__shared__ unsigned bins[256];
	unsigned char items[8];

	cub::LoadDirectStriped<128>(threadIdx.x, in, items);
	Histogram(room).Histogram(items, bins);
	__syncthreads();
	for (unsigned i = threadIdx.x; i < 256; i += 128)
		atomicAdd(&out[i], bins[i]);
}
