/* SPDX-License-Identifier: MIT
 *
 * Algorithms as thrust has them.
 */
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/unique.h>

void run(float *x, int *keys, int n)
{
	thrust::sort_by_key(thrust::device, keys, keys + n, x);
	thrust::transform(thrust::device, x, x + n, x, [] __device__(float v) { return v * v; });
	thrust::inclusive_scan(thrust::device, x, x + n, x);
	thrust::unique(thrust::device, keys, keys + n);
	thrust::stable_sort(thrust::device, x, x + n, [] __device__(float a, float b) { return a > b; });
	*keys = (int)thrust::reduce(thrust::device, x, x + n);
}
