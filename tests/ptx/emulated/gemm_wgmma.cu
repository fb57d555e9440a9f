// SPDX-License-Identifier: MIT
// C = A * B on Hopper: a ring of tiles filled by tensor copies (128-byte swizzling) and
// emptied by wgmma; A is M x K, B is N x K, both f16 in rows; C is M x N in f32.  A
// block of 128 threads makes 64 x 64 of C in steps of 64 along K.
// nvcc -ptx -arch=sm_90a -o gemm_wgmma.ptx gemm_wgmma.cu
#include <cuda.h>

enum { STAGES = 3, TILE = 64 * 64 * 2 };

__device__ __forceinline__ void wait(unsigned barrier, unsigned parity)
{
	asm volatile("{\n\t.reg .pred done;\n"
		     "again:\n\t"
		     "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"
		     "@!done bra again;\n\t}" ::"r"(barrier),
		     "r"(parity)
		     : "memory");
}

__device__ __forceinline__ void load(unsigned to, const CUtensorMap *map, int x, int y, unsigned barrier)
{
	asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], "
		     "[%4];" ::"r"(to),
		     "l"(map), "r"(x), "r"(y), "r"(barrier)
		     : "memory");
}

__device__ __forceinline__ unsigned long long descriptor(unsigned address)
{
	return (address & 0x3ffff) >> 4 | 1ull << 16 | (1024ull >> 4) << 32 | 1ull << 62;
}

extern "C" __global__ void __launch_bounds__(128)
	gemm_wgmma(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b, float *c, int n,
		   int k)
{
	extern __shared__ __align__(1024) unsigned char tiles[];
	__shared__ __align__(8) unsigned long long full[STAGES], empty[STAGES];
	unsigned tile = (unsigned)__cvta_generic_to_shared(tiles);
	unsigned filled = (unsigned)__cvta_generic_to_shared(full), freed = (unsigned)__cvta_generic_to_shared(empty);
	int row = blockIdx.y * 64, column = blockIdx.x * 64, steps = k / 64;
	float d[32];

	if (threadIdx.x == 0) {
		for (int s = 0; s < STAGES; s++) {
			asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(filled + 8 * s) : "memory");
			asm volatile("mbarrier.init.shared::cta.b64 [%0], 128;" ::"r"(freed + 8 * s) : "memory");
		}
		asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
	}
	__syncthreads();
#pragma unroll
	for (int i = 0; i < 32; i++)
		d[i] = 0;
	for (int step = -(STAGES - 1); step < steps; step++) {
		int ahead = step + STAGES - 1, stage = ahead % STAGES;

		if (threadIdx.x == 0 && ahead < steps) {
			wait(freed + 8 * stage, (ahead / STAGES + 1) & 1);
			asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(filled + 8 * stage),
				     "r"(2 * TILE)
				     : "memory");
			load(tile + 2 * TILE * stage, &map_a, 64 * ahead, row, filled + 8 * stage);
			load(tile + 2 * TILE * stage + TILE, &map_b, 64 * ahead, column, filled + 8 * stage);
		}
		if (step < 0)
			continue;
		stage = step % STAGES;
		__syncwarp();
		wait(filled + 8 * stage, step / STAGES & 1);
		asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
		for (int part = 0; part < 4; part++)
			asm volatile(
				"wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, "
				"%10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, "
				"%28, %29, %30, %31}, %32, %33, 1, 1, 1, 0, 0;"
				: "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
				  "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
				  "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]),
				  "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]),
				  "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
				: "l"(descriptor(tile + 2 * TILE * stage + 32 * part)),
				  "l"(descriptor(tile + 2 * TILE * stage + TILE + 32 * part)));
		asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
		asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
		asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(freed + 8 * stage) : "memory");
	}
#pragma unroll
	for (int i = 0; i < 32; i++) {
		int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

		c[(row + 16 * warp + lane / 4 + 8 * (i / 2 % 2)) * n + column + i / 4 * 8 + lane % 4 * 2 + i % 2] = d[i];
	}
}
