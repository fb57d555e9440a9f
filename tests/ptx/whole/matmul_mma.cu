// C = A B in f16 with sums in f32, by ldmatrix and mma.sync; sizes need not be multiples of the tile.
#include <cuda_fp16.h>

#define TILE 64
#define DEPTH 32
#ifdef DEFECT
#define PAD 4 // rows that are no multiple of 16 bytes
#else
#define PAD 8
#endif

__device__ void load_a(unsigned fragment[4], const half *at)
{
	const unsigned address = (unsigned)__cvta_generic_to_shared(at);

	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
		     : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3])
		     : "r"(address)
		     : "memory");
}

__device__ void load_b(unsigned fragment[2], const half *at)
{
	const unsigned address = (unsigned)__cvta_generic_to_shared(at);

	asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
		     : "=r"(fragment[0]), "=r"(fragment[1])
		     : "r"(address)
		     : "memory");
}

__device__ void multiply(float sum[4], const unsigned a[4], const unsigned b[2])
{
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
		     "{%0, %1, %2, %3};"
		     : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
		     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

extern "C" __global__ void __launch_bounds__(128) matmul_mma(const half *a, const half *b, float *c, int m, int n, int k)
{
	__shared__ alignas(16) half tile_a[TILE][DEPTH + PAD];
	__shared__ alignas(16) half tile_b[DEPTH][TILE + 8];
	const int row = blockIdx.y * TILE, column = blockIdx.x * TILE;
	const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
	float sum[TILE / 8][4] = {};

	for (int depth = 0; depth < k; depth += DEPTH) {
		for (int i = threadIdx.x; i < TILE * DEPTH; i += blockDim.x) {
			const int y = i / DEPTH, x = i % DEPTH;

			tile_a[y][x] = row + y < m && depth + x < k ? a[(row + y) * k + depth + x] : half(0.0f);
		}
		for (int i = threadIdx.x; i < DEPTH * TILE; i += blockDim.x) {
			const int y = i / TILE, x = i % TILE;

			tile_b[y][x] = depth + y < k && column + x < n ? b[(depth + y) * n + column + x] : half(0.0f);
		}
		__syncthreads();
		for (int step = 0; step < DEPTH; step += 16) {
			unsigned of_a[4], of_b[2];

			load_a(of_a, &tile_a[warp * 16 + lane % 16][step + lane / 16 * 8]); // DEFECT: not all of them are aligned
			for (int part = 0; part < TILE / 8; part++) {
				load_b(of_b, &tile_b[step + lane % 16][part * 8]);
				multiply(sum[part], of_a, of_b);
			}
		}
		__syncthreads();
	}
	for (int part = 0; part < TILE / 8; part++)
		for (int i = 0; i < 4; i++) {
			const int y = row + warp * 16 + lane / 4 + i / 2 * 8, x = column + part * 8 + lane % 4 * 2 + i % 2;

			if (y < m && x < n)
				c[y * n + x] = sum[part][i];
		}
}
