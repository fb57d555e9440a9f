// SPDX-License-Identifier: MIT
// Tensor core products fed by ldmatrix, as inline PTX.
extern "C" __global__ void mma_f16(const unsigned *a, const unsigned *b, float *c)
{
	__shared__ __align__(16) unsigned tile[256];
	unsigned f[4], g[2], address;
	float d[4] = { 0, 0, 0, 0 };

	tile[threadIdx.x] = a[threadIdx.x];
	tile[threadIdx.x + 128] = b[threadIdx.x];
	__syncthreads();
	address = (unsigned)__cvta_generic_to_shared(tile + threadIdx.x % 32 * 4);
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
		     : "=r"(f[0]), "=r"(f[1]), "=r"(f[2]), "=r"(f[3])
		     : "r"(address));
	asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
		     : "=r"(g[0]), "=r"(g[1])
		     : "r"(address + 512));
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
		     "{%0, %1, %2, %3};"
		     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
		     : "r"(f[0]), "r"(f[1]), "r"(f[2]), "r"(f[3]), "r"(g[0]), "r"(g[1]));
	for (int i = 0; i < 4; i++)
		c[threadIdx.x * 4 + i] = d[i];
}
