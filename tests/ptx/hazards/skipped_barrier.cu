// SPDX-License-Identifier: MIT
// Threads that leave the kernel before a barrier that counts them.
#include "hazard.cuh"

// == tail_returns: threads behind the end return before the barrier
// launch: --block 128
// run: --grid 2 --arg buf:f32[200]:ro=random --arg buf:f32[200]=zero --arg u32=200
// rules: barrier-skipped barrier-divergent deadlock
extern "C" __global__ void tail_returns(const float *in, float *out, int n)
{
	__shared__ float line[128];
	int t = threadIdx.x, i = blockIdx.x * 128 + t;

	PLANTED(if (i >= n) return;) //!
	line[t] = MENDED(i >= n ? 0.0f :) in[i];
	__syncthreads(); //!
	if (i < n)
		out[i] = 0.5f * (line[t] + line[t ? t - 1 : 0]);
}

// == image_edge_returns: pixels outside of the image return before the tile is whole
// launch: --block 16x16
// run: --grid 2x2 --arg buf:u8[20x24]:ro=random --arg buf:u8[20x24]=zero --arg u32=24 --arg u32=20
// rules: barrier-skipped barrier-divergent deadlock
extern "C" __global__ void image_edge_returns(const unsigned char *in, unsigned char *out, int width, int height)
{
	__shared__ unsigned char tile[16][16];
	int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
	bool inside = x < width && y < height;

	PLANTED(if (!inside) return;) //!
	tile[threadIdx.y][threadIdx.x] = MENDED(!inside ? 0 :) in[y * width + x];
	__syncthreads(); //!
	if (inside)
		out[y * width + x] = tile[threadIdx.y][threadIdx.x ^ 1] / 2 + tile[threadIdx.y ^ 1][threadIdx.x] / 2;
}

// == masked_out_returns: threads without work by a mask in memory return
// launch: --block 64
// run: --grid 1 --arg buf:s32[64]:ro=random:0:1 --arg buf:f32[64]=random
// rules: barrier-skipped barrier-divergent deadlock
extern "C" __global__ void masked_out_returns(const int *active, float *x)
{
	__shared__ float old[64];
	int t = threadIdx.x;

	PLANTED(if (!active[t]) return;) //!
	old[t] = x[t];
	__syncthreads(); //!
	if (active[t])
		x[t] = old[t] - old[(t + 63) % 64];
}

// == idle_warps_leave: warps without a row leave before the rows are added
// launch: --block 256
// run: --grid 1 --arg buf:f32[5x32]:ro=random --arg buf:f32[32]=zero --arg u32=5
// rules: barrier-skipped barrier-divergent deadlock
extern "C" __global__ void idle_warps_leave(const float *in, float *out, int rows)
{
	__shared__ float part[8][32];
	int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

	PLANTED(if (warp >= rows) return;) //!
	part[warp][lane] = MENDED(warp >= rows ? 0.0f :) in[warp * 32 + lane];
	__syncthreads(); //!
	if (warp == 0) {
		float sum = 0;

		for (int i = 0; i < rows; i++)
			sum += part[i][lane];
		out[lane] = sum;
	}
}

// == converged_threads_return: a thread that has converged returns in the middle of the iterations
// launch: --block 32x4
// run: --grid 1 --arg buf:f32[128]=random:0:8
// rules: barrier-skipped barrier-divergent deadlock
extern "C" __global__ void converged_threads_return(float *x)
{
	__shared__ float old[128];
	int t = threadIdx.y * 32 + threadIdx.x;
	float v = x[t];

	for (int step = 0; step < 8; step++) {
		old[t] = v;
		__syncthreads(); //!
		float next = 0.5f * (old[t] + old[t ^ 32]);
		PLANTED(if (fabsf(next - v) < 0.1f) { //!
			x[t] = next;
			return; //!
		})
		v = next;
		__syncthreads(); //!
	}
	x[t] = v;
}

// == exit_in_helper: a check in inline assembly ends the thread
// launch: --block 128
// run: --grid 1 --arg buf:s32[128]:ro=random:-100:100 --arg buf:s32[128]=zero
// rules: barrier-skipped barrier-divergent deadlock
static __device__ void refuse_negative(int v)
{
	asm volatile("{\n\t.reg .pred bad;\n\tsetp.lt.s32 bad, %0, 0;\n\t@bad exit;\n\t}" ::"r"(v)); //!
}

extern "C" __global__ void exit_in_helper(const int *in, int *out)
{
	__shared__ int value[128];
	int t = threadIdx.x, v = in[t];

	PLANTED(refuse_negative(v);) //!
	value[t] = v;
	__syncthreads(); //!
	MENDED(refuse_negative(v);)
	out[t] = value[127 - t];
}

// == spare_threads_leave: the threads that only helped to load leave, and a second barrier counts them
// launch: --block 128
// run: --grid 1 --arg buf:f32[128]:ro=random --arg buf:f32[32]=zero
// rules: barrier-skipped barrier-divergent deadlock
extern "C" __global__ void spare_threads_leave(const float *in, float *out)
{
	__shared__ float value[128], folded[32];
	int t = threadIdx.x;

	value[t] = in[t];
	__syncthreads();
	PLANTED(if (t >= 32) return;) //!
	if (t < 32)
		folded[t] = value[t] + value[t + 32] + value[t + 64] + value[t + 96];
	__syncthreads(); //!
	if (t < 32)
		out[t] = folded[31 - t];
}
