/* SPDX-License-Identifier: MIT
 *
 * Algorithms of a device as CUB has them: the kernels that their calls instantiate.
 */
#include <cub/cub.cuh>

void run(const float *in, float *out, unsigned *keys, int *values, int *count, int n)
{
	size_t bytes = 0;

	cub::DeviceReduce::Sum(nullptr, bytes, in, out, n);
	cub::DeviceScan::InclusiveSum(nullptr, bytes, in, out, n);
	cub::DeviceSelect::If(nullptr, bytes, in, out, count, n, [] __device__(float x) { return x > 0; });
	cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys, keys, values, values, n);
	cub::DeviceHistogram::HistogramEven(nullptr, bytes, values, values, 65, 0, 64, n);
}
