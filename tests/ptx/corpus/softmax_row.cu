// SPDX-License-Identifier: MIT
// nvcc -ptx -arch=sm_80: softmax, a block a row: maximum and sum found together, then written.

extern "C" __global__ void __launch_bounds__(256) softmax_row(const float *__restrict__ in, float *__restrict__ out,
							       int columns)
{
	__shared__ float maxima[8], sums[8];
	const float *from = in + (size_t)blockIdx.x * columns;
	float *to = out + (size_t)blockIdx.x * columns;
	float most = -INFINITY, sum = 0;
	int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;

	for (int i = threadIdx.x; i < columns; i += blockDim.x) {
		float x = from[i], now = fmaxf(most, x);

		sum = sum * __expf(most - now) + __expf(x - now);
		most = now;
	}
	for (int step = 16; step; step >>= 1) {
		float other = __shfl_xor_sync(0xffffffff, most, step), more = __shfl_xor_sync(0xffffffff, sum, step),
		      now = fmaxf(most, other);

		if (now > -INFINITY)
			sum = sum * __expf(most - now) + more * __expf(other - now);
		most = now;
	}
	if (lane == 0) {
		maxima[warp] = most;
		sums[warp] = sum;
	}
	__syncthreads();
	most = maxima[0];
	for (int i = 1; i < warps; i++)
		most = fmaxf(most, maxima[i]);
	sum = 0;
	for (int i = 0; i < warps; i++)
		sum += sums[i] * __expf(maxima[i] - most);
	for (int i = threadIdx.x; i < columns; i += blockDim.x)
		to[i] = __expf(from[i] - most) / sum;
}
