// SPDX-License-Identifier: MIT
// Locks, flags, tickets and queues by clang's relaxed atomics between fences (clang 19 has no stores that release).
// block: 64
#include "clang_words.h"

extern "C" __global__ void sum_under_lock(const float *x, float *sum, unsigned *lock)
{
	if (TX == 0) {
		unsigned open = 0;

		while (!__atomic_compare_exchange_n(lock, &open, 1u, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			open = 0;
		__nvvm_membar_gl();
		*sum += x[BX];
		__nvvm_membar_gl();
		__atomic_store_n(lock, 0u, __ATOMIC_RELAXED);
	}
}

extern "C" __global__ void flag_in_shared(const float *x, float *y)
{
	static __shared__ float line[32];
	static __shared__ unsigned flag;
	unsigned t = TX;

	if (t == 0)
		__atomic_store_n(&flag, 0u, __ATOMIC_RELAXED);
	block_meets();
	if (t < 32) {
		line[t] = 2 * x[t];
		__nvvm_bar_warp_sync(0xffffffffu);
		if (t == 0) {
			__nvvm_membar_cta();
			__atomic_store_n(&flag, 1u, __ATOMIC_RELAXED);
		}
	} else {
		while (!__atomic_load_n(&flag, __ATOMIC_RELAXED))
			;
		__nvvm_membar_cta();
		y[t - 32] = line[63 - t];
	}
}

extern "C" __global__ void last_block_adds(const float *x, float *part, unsigned *done, float *out)
{
	static __shared__ int last;
	float v = x[BX * 64 + TX];

	for (int d = 16; d; d /= 2)
		v += from_lane_below(v, d);
	static __shared__ float two[2];
	if (TX % 32 == 0)
		two[TX / 32] = v;
	block_meets();
	if (TX == 0) {
		part[BX] = two[0] + two[1];
		__nvvm_membar_gl();
		last = __atomic_fetch_add(done, 1u, __ATOMIC_RELAXED) == GX - 1;
		__nvvm_membar_gl();
	}
	block_meets();
	if (last && TX == 0) {
		float total = 0;

		for (unsigned i = 0; i < GX; i++)
			total += part[i];
		*out = total;
	}
}

extern "C" __global__ void queue_of_block(const int *x, int *y, unsigned *count)
{
	static __shared__ int queue[64];
	static __shared__ unsigned length, base;
	unsigned t = TX;
	int v = x[BX * 64 + t];

	if (t == 0)
		length = 0;
	block_meets();
	if (v > 0)
		queue[__atomic_fetch_add(&length, 1u, __ATOMIC_RELAXED)] = v;
	block_meets();
	if (t == 0)
		base = __atomic_fetch_add(count, length, __ATOMIC_RELAXED);
	block_meets();
	if (t < length)
		y[base + t] = queue[t];
}
