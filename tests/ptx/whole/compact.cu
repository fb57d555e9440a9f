// Keeps the numbers that divide by three: the threads of a warp that have one take their places with one atomic together.
// Those that divide by seven also go on a stack, whose head is swapped with compare-and-swap.
extern "C" __global__ void __launch_bounds__(128)
	compact(const int *x, int *kept, unsigned *count, int *next, unsigned long long *head, int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	if (x[i] % 3 == 0) {
		const unsigned with = __activemask(), lane = threadIdx.x % 32;
		const int leader = __ffs(with) - 1;
		unsigned base = 0;

		if ((int)lane == leader)
			base = atomicAdd(count, __popc(with));
#ifdef DEFECT
		base = __shfl_sync(with, base, 0); // DEFECT: lane 0 may not be here
#else
		base = __shfl_sync(with, base, leader);
#endif
		kept[base + __popc(with & ((1u << lane) - 1))] = x[i];
	}
	if (x[i] % 7 == 0) {
		unsigned long long before = atomicAdd(head, 0), after;

		do {
			after = before;
			next[i] = (int)(unsigned)after;
			__threadfence();
			before = atomicCAS(head, after, (after >> 32) + 1 << 32 | (unsigned)(i + 1));
		} while (before != after);
	}
}
