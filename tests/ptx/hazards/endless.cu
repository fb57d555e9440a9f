// SPDX-License-Identifier: MIT
// Waits and loops that never end.
#include "hazard.cuh"

// == waits_for_a_later_block: a block waits for what a block after it writes, and nobody else does
// launch: --block 32
// run: --grid 1 --arg buf:u32[2]=zero --arg buf:f32[32]=random
// rules: deadlock step-limit endless
extern "C" __global__ void waits_for_a_later_block(unsigned *flag, float *x)
{
	if (threadIdx.x == 0) {
		atomicExch(&flag[blockIdx.x], 1);
		while (atomicAdd(&flag[PLANTED(blockIdx.x + 1) MENDED(blockIdx.x)], 0) == 0) //!
			;
	}
	__syncthreads();
	x[threadIdx.x] *= 2.0f;
}

// == unsigned_counts_down: an unsigned number is never below zero
// launch: --block 32
// run: --grid 1 --arg buf:s32[32]=random --arg u32=4
// rules: deadlock step-limit endless out-of-bounds
extern "C" __global__ void unsigned_counts_down(int *x, unsigned n)
{
	int v = x[threadIdx.x];

	for (unsigned i = n - 1; PLANTED(i >= 0) MENDED(i < n); i--) //!
		v = v * 3 + i; //!
	x[threadIdx.x] = v;
}

// == lock_never_released: of a lock's critical section one way out does not release it
// launch: --block 64
// run: --grid 1 --arg buf:s32[1]=zero --arg buf:s32[64]:ro=iota --arg buf:s32[1]=zero
// rules: deadlock step-limit endless
extern "C" __global__ void lock_never_released(int *lock, const int *in, volatile int *most)
{
	int t = threadIdx.x;

	if (t % 32 == 0) {
		while (atomicCAS(lock, 0, 1)) //!
			;
		__threadfence();
		if (in[t] >= *most) {
			*most = in[t];
			__threadfence();
			PLANTED(if (in[t] > 1000)) //!
				atomicExch(lock, 0);
		} else
			atomicExch(lock, 0);
	}
}

// == flag_under_the_barrier: threads wait for a flag that is set behind a barrier they have not reached
// launch: --block 64
// run: --grid 1 --arg buf:f32[64]=random
// rules: deadlock step-limit endless
extern "C" __global__ void flag_under_the_barrier(float *x)
{
	__shared__ int ready;
	int t = threadIdx.x;

	if (t == 0)
		ready = 0;
	__syncthreads();
	MENDED(if (t == 0) atomicExch(&ready, 1);)
	if (t >= 32)
		while (!atomicAdd(&ready, 0)) //!
			;
	__syncthreads(); //!
	PLANTED(if (t == 0) atomicExch(&ready, 1);)
	x[t] = -x[t];
}

// == stride_of_zero: the stride comes from a division that gives zero
// launch: --block 32
// run: --grid 1 --step-limit 100000 --arg buf:f32[96]:ro=random --arg buf:f32[32]=zero --arg u32=96 --arg u32=128
// rules: deadlock step-limit endless
extern "C" __global__ void stride_of_zero(const float *in, float *out, int n, int parts)
{
	float sum = 0;

	for (int i = threadIdx.x; i < n; i += PLANTED(n / parts) MENDED((n + parts - 1) / parts)) //!
		sum += in[i]; //!
	out[threadIdx.x] = sum;
}

// == ticket_not_advanced: a ticket lock whose owner does not call the next one
// launch: --block 96
// run: --grid 1 --arg buf:u32[2]=zero --arg buf:f32[1]=zero
// rules: deadlock step-limit endless
extern "C" __global__ void ticket_not_advanced(unsigned *ticket, volatile float *sum)
{
	if (threadIdx.x % 32 == 0) {
		unsigned mine = atomicAdd(&ticket[0], 1);

		while (atomicAdd(&ticket[1], 0) != mine) //!
			;
		__threadfence();
		*sum = *sum + 1.0f;
		__threadfence();
		atomicExch(&ticket[1], mine MENDED(+ 1)); //!
	}
}
