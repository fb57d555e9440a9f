// Counts bytes: each block in shared memory, then into the total.
#define BINS 256

extern "C" __global__ void __launch_bounds__(192) histogram(const unsigned char *x, unsigned *total, int n)
{
	__shared__ unsigned bins[BINS];

	for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x)
		bins[bin] = 0;
	__syncthreads();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
#ifdef DEFECT
		bins[x[i]]++; // DEFECT: threads count the same byte at once
#else
		atomicAdd(&bins[x[i]], 1);
#endif
	__syncthreads();
	for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x)
		if (bins[bin])
			atomicAdd(&total[bin], bins[bin]);
}
