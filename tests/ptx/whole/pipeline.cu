// Weighted sums of rows: tiles of a row come by cp.async into a ring of stages while the one before is summed.
#include <cuda_pipeline.h>

#define STAGES 3
#define THREADS 128
#define TILE (THREADS * 4)

__device__ void fetch(float *stage, const float *row, int tile, int n)
{
	const int at = tile * TILE + threadIdx.x * 4;
	const int left = max(0, min(4, n - at)) * (int)sizeof *row;

	if (tile * TILE < n)
		__pipeline_memcpy_async(stage + threadIdx.x * 4, row + (left ? at : 0), 16, 16 - left);
	__pipeline_commit();
}

// The threads that fetched and those that read are not the same.
extern "C" __global__ void __launch_bounds__(THREADS) pipeline(const float *x, const float *weight, float *y, int n)
{
	__shared__ alignas(16) float stage[STAGES][TILE];
	__shared__ float of_warp[THREADS / 32];
	const float *row = x + (size_t)blockIdx.x * n;
	const int tiles = (n + TILE - 1) / TILE;
	float sum = 0;

	for (int tile = 0; tile < STAGES - 1; tile++)
		fetch(stage[tile], row, tile, n);
	for (int tile = 0; tile < tiles; tile++) {
#ifdef DEFECT
		__pipeline_wait_prior(STAGES - 1);
#else
		__pipeline_wait_prior(STAGES - 2);
#endif
		__syncthreads();
		fetch(stage[(tile + STAGES - 1) % STAGES], row, tile + STAGES - 1, n);
		for (int i = threadIdx.x; i < TILE && tile * TILE + i < n; i += THREADS)
			sum += weight[tile * TILE + i] * stage[tile % STAGES][i]; // DEFECT: may still be on its way
	}
	for (int step = 16; step; step /= 2)
		sum += __shfl_down_sync(0xffffffff, sum, step);
	if (threadIdx.x % 32 == 0)
		of_warp[threadIdx.x / 32] = sum;
	__syncthreads();
	if (threadIdx.x == 0)
		y[blockIdx.x] = of_warp[0] + of_warp[1] + of_warp[2] + of_warp[3];
}
