// SPDX-License-Identifier: MIT
// Launches that begin before the one before has ended (griddepcontrol).
#include "hazard.cuh"

static __device__ __forceinline__ void wait_for_launch()
{
	asm volatile("griddepcontrol.wait;" ::: "memory");
}

static __device__ __forceinline__ void launch_dependents()
{
	asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

// == never_waits: a kernel of a chain lets the next one begin and does not wait for the one before
// target: sm_90
// launch: --block 128
// run: --grid 1 --arg buf:f32[128]:ro=random --arg buf:f32[128]=zero
// rules: griddepcontrol dependent-launch race
extern "C" __global__ void never_waits(const float *in, float *out)
{
	int t = threadIdx.x;

	MENDED(wait_for_launch();)
	float v = in[t]; //!
	launch_dependents(); //!
	out[t] = v * v; //!
}

// == input_before_wait: the input is loaded before the wait, as if it were a constant
// target: sm_90
// launch: --block 128
// run: --grid 1 --arg buf:f32[128]=random --arg f32=2
// rules: griddepcontrol dependent-launch race
extern "C" __global__ void input_before_wait(float *x, float scale)
{
	int t = threadIdx.x;

	MENDED(wait_for_launch();)
	float v = x[t]; //!
	PLANTED(wait_for_launch();) //!
	x[t] = v * scale;
}

// == one_thread_waits: thread 0 waits, and the others read at once
// target: sm_90
// launch: --block 128
// run: --grid 1 --arg buf:f32[128]:ro=random --arg buf:f32[128]=zero
// rules: griddepcontrol dependent-launch race
extern "C" __global__ void one_thread_waits(const float *in, float *out)
{
	int t = threadIdx.x;

	PLANTED(if (t == 0)) //!
		wait_for_launch(); //!
	out[t] = in[t] + 1.0f; //!
}

// == output_before_wait: the output is cleared before the wait, while the launch before may still read it
// target: sm_90
// launch: --block 128
// run: --grid 1 --arg buf:f32[128]:ro=random --arg buf:f32[128]=zero
// rules: griddepcontrol dependent-launch race
extern "C" __global__ void output_before_wait(const float *in, float *out)
{
	int t = threadIdx.x;

	MENDED(wait_for_launch();)
	out[t] = 0; //!
	PLANTED(wait_for_launch();) //!
	if (in[t] > 0)
		out[t] = in[t];
}

// == counts_before_wait: an atomic counter of the chain is advanced before the wait
// target: sm_90
// launch: --block 32
// run: --grid 2 --arg buf:u32[1]=zero --arg buf:f32[64]:ro=random --arg buf:f32[64]=zero
// rules: griddepcontrol dependent-launch race
extern "C" __global__ void counts_before_wait(unsigned *next, const float *in, float *out)
{
	__shared__ unsigned tile;

	MENDED(wait_for_launch();)
	if (threadIdx.x == 0)
		tile = atomicAdd(next, 1); //!
	__syncthreads();
	PLANTED(wait_for_launch();) //!
	out[tile % 2 * 32 + threadIdx.x] = in[tile % 2 * 32 + threadIdx.x];
}

// == copied_before_wait: the first stage of a pipeline is copied before the wait
// target: sm_90
// launch: --block 64
// run: --grid 1 --arg buf:f32[128]:ro=random --arg buf:f32[64]=zero
// rules: griddepcontrol dependent-launch race
extern "C" __global__ void copied_before_wait(const float *in, float *out)
{
	__shared__ __align__(16) float stage[2][64];
	int t = threadIdx.x;

	MENDED(wait_for_launch();)
	copy4(&stage[0][t], &in[t]); //!
	copy_commit();
	PLANTED(wait_for_launch();) //!
	copy4(&stage[1][t], &in[64 + t]);
	copy_commit();
	copy_wait<0>();
	__syncthreads();
	out[t] = stage[0][63 - t] + stage[1][t];
}
