// SPDX-License-Identifier: MIT
// C = A * B with ldmatrix and mma.sync: A is M x K in rows, B is N x K in rows (its
// columns), both f16; C is M x N in f32.  A block of 64 threads makes 32 x 16 of C.
// nvcc -ptx -arch=sm_80 -o gemm_mma.ptx gemm_mma.cu
#include <cuda_fp16.h>

extern "C" __global__ void __launch_bounds__(64) gemm_mma(const __half *a, const __half *b, float *c, int n, int k)
{
	__shared__ __align__(16) __half tile_a[32][24], tile_b[16][24]; // 48 bytes a row: no bank conflicts
	int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	int row = blockIdx.y * 32, column = blockIdx.x * 16;
	float sum[2][4] = {};

	for (int at = 0; at < k; at += 16) {
		for (int i = threadIdx.x; i < 32 * 2; i += 64)
			*(uint4 *)&tile_a[i / 2][i % 2 * 8] = *(const uint4 *)&a[(row + i / 2) * k + at + i % 2 * 8];
		if (threadIdx.x < 32)
			*(uint4 *)&tile_b[lane / 2][lane % 2 * 8] =
				*(const uint4 *)&b[(column + lane / 2) * k + at + lane % 2 * 8];
		__syncthreads();
		unsigned x[4], y[4];
		unsigned from_a = (unsigned)__cvta_generic_to_shared(&tile_a[warp * 16 + lane % 16][lane / 16 * 8]);
		unsigned from_b =
			(unsigned)__cvta_generic_to_shared(&tile_b[lane % 8 + lane / 16 * 8][lane / 8 % 2 * 8]);
		asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
			     : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
			     : "r"(from_a));
		asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
			     : "=r"(y[0]), "=r"(y[1]), "=r"(y[2]), "=r"(y[3])
			     : "r"(from_b));
		for (int j = 0; j < 2; j++)
			asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
				     "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
				     : "+f"(sum[j][0]), "+f"(sum[j][1]), "+f"(sum[j][2]), "+f"(sum[j][3])
				     : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[2 * j]), "r"(y[2 * j + 1]));
		__syncthreads();
	}
	for (int j = 0; j < 2; j++)
		for (int i = 0; i < 4; i++)
			c[(row + warp * 16 + lane / 4 + i / 2 * 8) * n + column + j * 8 + lane % 4 * 2 + i % 2] = sum[j][i];
}
