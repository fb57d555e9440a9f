// C = A B' in f16 with sums in f32 on Hopper: one warp fetches boxes of A and B by tensor maps into a ring of stages, and
// a group of four warps multiplies them by wgmma.
#include "tma.cuh"

#define M 64
#define N 64
#define K 64
#define STAGES 3

__device__ unsigned long long descriptor(const void *at)
{
	// rows of 128 bytes, swizzled; groups of eight rows are 1024 bytes apart
	return (shared(at) & 0x3ffff) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

__device__ void multiply(float (&sum)[32], unsigned long long a, unsigned long long b)
{
	asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, "
		     "%12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
		     "%32, %33, 1, 1, 1, 0, 0;"
		     : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]), "+f"(sum[4]), "+f"(sum[5]), "+f"(sum[6]),
		       "+f"(sum[7]), "+f"(sum[8]), "+f"(sum[9]), "+f"(sum[10]), "+f"(sum[11]), "+f"(sum[12]), "+f"(sum[13]),
		       "+f"(sum[14]), "+f"(sum[15]), "+f"(sum[16]), "+f"(sum[17]), "+f"(sum[18]), "+f"(sum[19]),
		       "+f"(sum[20]), "+f"(sum[21]), "+f"(sum[22]), "+f"(sum[23]), "+f"(sum[24]), "+f"(sum[25]),
		       "+f"(sum[26]), "+f"(sum[27]), "+f"(sum[28]), "+f"(sum[29]), "+f"(sum[30]), "+f"(sum[31])
		     : "l"(a), "l"(b));
}

extern "C" __global__ void __launch_bounds__(160)
	gemm_wgmma(const __grid_constant__ tensor_map a, const __grid_constant__ tensor_map b, float *c, int m, int n, int k)
{
	extern __shared__ __align__(1024) char memory[];
	__shared__ unsigned long long full[STAGES], empty[STAGES];
	char *stage_a = memory, *stage_b = memory + STAGES * M * K * 2;
	const int row = blockIdx.y * M, column = blockIdx.x * N, steps = (k + K - 1) / K;
	const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

	if (threadIdx.x == 0) {
		for (int i = 0; i < STAGES; i++) {
			barrier_init(&full[i], 1);
			barrier_init(&empty[i], 128);
		}
		asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
	}
	__syncthreads();
	if (warp == 4) {
		if (lane)
			return;
		for (int step = 0; step < steps; step++) {
			const int at = step % STAGES;

			barrier_wait(&empty[at], (step / STAGES & 1) ^ 1);
			barrier_expect(&full[at], (M + N) * K * 2);
			fetch_box(stage_a + at * M * K * 2, &a, step * K, row, &full[at]); // DEFECT: over what is still read
			fetch_box(stage_b + at * N * K * 2, &b, step * K, column, &full[at]);
		}
		return;
	}

	float sum[32] = {};

	for (int step = 0; step < steps; step++) {
		const int at = step % STAGES;

		barrier_wait(&full[at], step / STAGES & 1);
		asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
		for (int i = 0; i < K; i += 16)
			multiply(sum, descriptor(stage_a + at * M * K * 2 + i * 2), descriptor(stage_b + at * N * K * 2 + i * 2));
		asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#ifdef DEFECT
		barrier_arrive(&empty[at]); // while wgmma still reads the stage: see the boxes above
#endif
		asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#ifndef DEFECT
		barrier_arrive(&empty[at]);
#endif
	}
	for (int i = 0; i < 32; i++) {
		const int y = row + warp * 16 + lane / 4 + i / 2 % 2 * 8, x = column + i / 4 * 8 + lane % 4 * 2 + i % 2;

		if (y < m && x < n)
			c[y * n + x] = sum[i];
	}
}
