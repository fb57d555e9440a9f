/* SPDX-License-Identifier: MIT
 *
 * Asynchronous copies and barriers as libcu++ has them.
 */
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>

__global__ void staged(const float *in, float *out, int tiles)
{
	constexpr int stages = 2;
	__shared__ float room[stages][128];
	__shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
	auto block = cooperative_groups::this_thread_block();
	auto pipe = cuda::make_pipeline(block, &state);
	float sum = 0;

	for (int put = 0, take = 0; take < tiles; take++) {
		for (; put < tiles && put < take + stages; put++) {
			pipe.producer_acquire();
			cuda::memcpy_async(block, room[put % stages], in + put * 128, cuda::aligned_size_t<16>(512),
					   pipe);
			pipe.producer_commit();
		}
		pipe.consumer_wait();
		sum += room[take % stages][threadIdx.x];
		pipe.consumer_release();
	}
	out[threadIdx.x] = sum;
}

__global__ void phases(int *out, cuda::atomic<int, cuda::thread_scope_device> *turn)
{
#pragma nv_diag_suppress static_var_with_dynamic_init
	__shared__ cuda::barrier<cuda::thread_scope_block> ready;

	if (threadIdx.x == 0)
		init(&ready, blockDim.x);
	__syncthreads();
	out[threadIdx.x] = turn->fetch_add(1, cuda::memory_order_acq_rel);
	ready.arrive_and_wait();
	while (turn->load(cuda::memory_order_acquire) < (int)blockDim.x)
		;
	out[threadIdx.x] += out[blockDim.x - 1 - threadIdx.x];
	turn->compare_exchange_strong(out[0], 7, cuda::memory_order_relaxed);
}
