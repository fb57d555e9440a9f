// SPDX-License-Identifier: MIT
// Registers that warp groups hand to each other.
#include "hazard.cuh"

template <int N> static __device__ __forceinline__ void give_registers()
{
	asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
}

template <int N> static __device__ __forceinline__ void take_registers()
{
	asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
}

// == more_than_there_are: three groups want more registers together than the multiprocessor has
// target: sm_90a
// launch: --block 384
// run: --grid 1 --arg buf:f32[384]=random
// rules: setmaxnreg deadlock registers
extern "C" __global__ void __launch_bounds__(384, 1) more_than_there_are(float *x)
{
	int t = threadIdx.x;

	if (t < 128) {
		give_registers<40>();
		x[t] *= 2.0f;
	} else {
		PLANTED(take_registers<240>()) MENDED(take_registers<232>()); //!
		x[t] = x[t] * x[t] + 1.0f;
	}
}

// == nobody_gives: the consumers take registers that the producers keep
// target: sm_90a
// launch: --block 384
// run: --grid 1 --arg buf:f32[384]=random
// rules: setmaxnreg deadlock registers
extern "C" __global__ void __launch_bounds__(384, 1) nobody_gives(float *x)
{
	int t = threadIdx.x;

	if (t < 128) {
		MENDED(give_registers<40>();)
		x[t] *= 2.0f;
	} else {
		take_registers<232>(); //!
		x[t] = x[t] * x[t] + 1.0f;
	}
}

// == one_warp_gives: the producer warp gives registers, and the rest of its warp group does not come
// target: sm_90a
// launch: --block 256
// run: --grid 1 --arg buf:f32[256]=random
// rules: setmaxnreg deadlock barrier-divergent
extern "C" __global__ void __launch_bounds__(256, 1) one_warp_gives(float *x)
{
	int t = threadIdx.x;

	if (t < PLANTED(32) MENDED(128)) { //!
		give_registers<40>(); //!
		x[t] *= 2.0f;
	} else if (t < 128) {
		x[t] = 0;
	} else {
		take_registers<232>();
		x[t] = x[t] * x[t] + 1.0f;
	}
}

// == two_counts_in_a_group: the warps of one warp group ask for different numbers
// target: sm_90a
// launch: --block 256
// run: --grid 1 --arg buf:f32[256]=random
// rules: setmaxnreg deadlock barrier-divergent
extern "C" __global__ void __launch_bounds__(256, 1) two_counts_in_a_group(float *x)
{
	int t = threadIdx.x;

	if (t < 64)
		give_registers<40>(); //!
	else if (t < 128)
		PLANTED(give_registers<56>()) MENDED(give_registers<40>()); //!
	else
		take_registers<208>();
	x[t] *= 2.0f;
}

// == gives_too_little: one group of four gives less than the other three take
// target: sm_90a
// launch: --block 512
// run: --grid 1 --arg buf:f32[512]=random
// rules: setmaxnreg deadlock registers
extern "C" __global__ void __launch_bounds__(512, 1) gives_too_little(float *x)
{
	int t = threadIdx.x;

	if (t < 128) {
		PLANTED(give_registers<40>()) MENDED(give_registers<24>()); //!
		x[t] *= 2.0f;
	} else {
		take_registers<160>(); //!
		x[t] = x[t] * x[t] + 1.0f;
	}
}

// == in_divergent_loop: registers are taken in a loop that not all lanes enter
// target: sm_90a
// launch: --block 128
// run: --grid 1 --arg buf:s32[128]=random:0:3
// rules: setmaxnreg deadlock barrier-divergent shuffle-divergent
extern "C" __global__ void __launch_bounds__(128, 1) in_divergent_loop(int *x)
{
	int t = threadIdx.x, v = x[t];

	MENDED(give_registers<64>();)
	if (v > 1) { //!
		PLANTED(give_registers<64>();) //!
		v = v * 3 + 1;
	}
	x[t] = v;
}
