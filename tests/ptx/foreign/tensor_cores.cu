/* SPDX-License-Identifier: MIT
 *
 * Matrix products of a warp by the nvcuda::wmma interface, in the types that the architecture has.
 */
#include <mma.h>

using namespace nvcuda;

template <typename In, typename Sum, int M, int N, int K, typename Layout>
__device__ void product(const In *a, const In *b, Sum *c, unsigned pitch)
{
	wmma::fragment<wmma::matrix_a, M, N, K, In, wmma::row_major> left;
	wmma::fragment<wmma::matrix_b, M, N, K, In, Layout> right;
	wmma::fragment<wmma::accumulator, M, N, K, Sum> sum;

	wmma::fill_fragment(sum, Sum(0));
	for (unsigned k = 0; k < 4; k++) {
		wmma::load_matrix_sync(left, a + k * K, pitch);
		wmma::load_matrix_sync(right, b + k * K, pitch);
		wmma::mma_sync(sum, left, right, sum);
	}
	wmma::store_matrix_sync(c, sum, pitch, wmma::mem_row_major);
}

__global__ void halves(const half *a, const half *b, float *c)
{
	product<half, float, 16, 16, 16, wmma::col_major>(a, b, c, 64);
	product<half, float, 32, 8, 16, wmma::row_major>(a, b, c + 512, 64);
}

__global__ void halves_alone(const half *a, const half *b, half *c)
{
	product<half, half, 8, 32, 16, wmma::col_major>(a, b, c, 64);
}

__global__ void bytes(const signed char *a, const signed char *b, int *c)
{
	product<signed char, int, 16, 16, 16, wmma::col_major>(a, b, c, 64);
}

__global__ void in_shared(const half *in, float *out)
{
	__shared__ half room[1024];
	__shared__ float sums[256];

	for (unsigned i = threadIdx.x; i < 1024; i += 32)
		room[i] = in[i];
	__syncwarp();
	product<half, float, 16, 16, 16, wmma::col_major>(room, room + 16, sums, 16);
	__syncwarp();
	out[threadIdx.x] = sums[threadIdx.x];
}

#if __CUDA_ARCH__ >= 800
__global__ void doubles(const double *a, const double *b, double *c)
{
	product<double, double, 8, 8, 4, wmma::col_major>(a, b, c, 64);
}

__global__ void brains(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *c)
{
	product<__nv_bfloat16, float, 16, 16, 16, wmma::col_major>(a, b, c, 64);
}
#endif
