/* SPDX-License-Identifier: MIT
 *
 * c = a * b of f32: a thread has THREAD_M x THREAD_N of c, a block those of block_size_y x block_size_x threads, BLOCK_K
 * of the sums at a time in shared memory.  VECTOR floats are copied at once, PAD lie behind a row of a, and a thread's elements are
 * STRIDED over the block or beside each other.
 */
#define BLOCK_M (block_size_y * THREAD_M)
#define BLOCK_N (block_size_x * THREAD_N)
#define THREADS (block_size_x * block_size_y)
#if VECTOR == 4
typedef float4 vector;
#elif VECTOR == 2
typedef float2 vector;
#else
typedef float vector;
#endif

static __device__ int row_of(int thread, int i)
{
	return STRIDED ? thread + i * block_size_y : thread * THREAD_M + i;
}

static __device__ int column_of(int thread, int j)
{
	return STRIDED ? thread + j * block_size_x : thread * THREAD_N + j;
}

extern "C" __global__ void __launch_bounds__(THREADS) sgemm(const float *a, const float *b, float *c)
{
	__shared__ __align__(16) float a_tile[BLOCK_K][BLOCK_M + PAD];
	__shared__ __align__(16) float b_tile[BLOCK_K][BLOCK_N];
	const int tx = threadIdx.x, ty = threadIdx.y, thread = ty * block_size_x + tx;
	const int row = blockIdx.y * BLOCK_M, column = blockIdx.x * BLOCK_N;
	float sum[THREAD_M][THREAD_N] = {};

	for (int k = 0; k < K; k += BLOCK_K) {
		for (int i = thread; i < BLOCK_M * BLOCK_K / VECTOR; i += THREADS) {
			const int m = i / (BLOCK_K / VECTOR), t = i % (BLOCK_K / VECTOR) * VECTOR;
			const vector got = *(const vector *)&a[(size_t)(row + m) * K + k + t];
			const float *each = (const float *)&got;
#pragma unroll
			for (int v = 0; v < VECTOR; v++)
				a_tile[t + v][m] = each[v];
		}
		for (int i = thread; i < BLOCK_K * BLOCK_N / VECTOR; i += THREADS) {
			const int t = i / (BLOCK_N / VECTOR), n = i % (BLOCK_N / VECTOR) * VECTOR;
			*(vector *)&b_tile[t][n] = *(const vector *)&b[(size_t)(k + t) * N + column + n];
		}
		__syncthreads();
#pragma unroll UNROLL
		for (int t = 0; t < BLOCK_K; t++) {
			float left[THREAD_M], right[THREAD_N];
#pragma unroll
			for (int i = 0; i < THREAD_M; i++)
				left[i] = a_tile[t][row_of(ty, i)];
#pragma unroll
			for (int j = 0; j < THREAD_N; j++)
				right[j] = b_tile[t][column_of(tx, j)];
#pragma unroll
			for (int i = 0; i < THREAD_M; i++)
#pragma unroll
				for (int j = 0; j < THREAD_N; j++)
					sum[i][j] += left[i] * right[j];
		}
		__syncthreads();
	}
#pragma unroll
	for (int i = 0; i < THREAD_M; i++)
#pragma unroll
		for (int j = 0; j < THREAD_N; j++)
			c[(size_t)(row + row_of(ty, i)) * N + column + column_of(tx, j)] = sum[i][j];
}
