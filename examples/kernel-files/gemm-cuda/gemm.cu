// SPDX-License-Identifier: MIT
//
// c = a b in f16 with sums of f32, by tensor cores: blocks of BLOCK_M x BLOCK_N, a tile of WARP_M x WARP_N a warp,
// STEP terms at a time through shared memory.
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

enum {
    WARPS_M = BLOCK_M / WARP_M,
    WARPS_N = BLOCK_N / WARP_N,
    THREADS = 32 * WARPS_M * WARPS_N,
    A_PITCH = STEP + PAD,
    B_PITCH = BLOCK_N + PAD,
};

__device__ static void copy(__half *to, int pitch, const __half *from, int from_pitch, int rows, int columns)
{
    for (int i = threadIdx.x; i < rows * columns / 8; i += THREADS) {
        const int row = i / (columns / 8), column = i % (columns / 8) * 8;
        *reinterpret_cast<uint4 *>(to + row * pitch + column) =
            *reinterpret_cast<const uint4 *>(from + (size_t)row * from_pitch + column);
    }
}

__global__ void __launch_bounds__(THREADS) gemm(const __half *a, const __half *b, float *c, int m, int n, int k)
{
    __shared__ __align__(16) __half a_tile[BLOCK_M * A_PITCH], b_tile[STEP * B_PITCH];
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[WARP_M / 16][WARP_N / 16];
    const int warp = threadIdx.x / 32, row = warp / WARPS_N * WARP_M, column = warp % WARPS_N * WARP_N;

    a += (size_t)blockIdx.y * BLOCK_M * k;
    b += blockIdx.x * BLOCK_N;
    for (int i = 0; i < WARP_M / 16; i++)
        for (int j = 0; j < WARP_N / 16; j++)
            wmma::fill_fragment(sum[i][j], 0.0f);
    for (int at = 0; at < k; at += STEP) {
        copy(a_tile, A_PITCH, a + at, k, BLOCK_M, STEP);
        copy(b_tile, B_PITCH, b + (size_t)at * n, n, STEP, BLOCK_N);
        __syncthreads();
        for (int t = 0; t < STEP; t += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> x[WARP_M / 16];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> y;
            for (int i = 0; i < WARP_M / 16; i++)
                wmma::load_matrix_sync(x[i], a_tile + (row + 16 * i) * A_PITCH + t, A_PITCH);
            for (int j = 0; j < WARP_N / 16; j++) {
                wmma::load_matrix_sync(y, b_tile + t * B_PITCH + column + 16 * j, B_PITCH);
                for (int i = 0; i < WARP_M / 16; i++)
                    wmma::mma_sync(sum[i][j], x[i], y, sum[i][j]);
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < WARP_M / 16; i++)
        for (int j = 0; j < WARP_N / 16; j++)
            wmma::store_matrix_sync(c + (size_t)(blockIdx.y * BLOCK_M + row + 16 * i) * n + blockIdx.x * BLOCK_N +
                                        column + 16 * j,
                                    sum[i][j], n, wmma::mem_row_major);
}
