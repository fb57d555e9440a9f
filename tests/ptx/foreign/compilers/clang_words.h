// SPDX-License-Identifier: MIT
// The words of CUDA C++ that clang leaves to NVIDIA's headers, so that it needs none of them.
#pragma once

#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __noinline __attribute__((noinline))
#define BOUND(n) __attribute__((launch_bounds(n)))

#define TX __nvvm_read_ptx_sreg_tid_x()
#define TY __nvvm_read_ptx_sreg_tid_y()
#define BX __nvvm_read_ptx_sreg_ctaid_x()
#define BY __nvvm_read_ptx_sreg_ctaid_y()
#define NX __nvvm_read_ptx_sreg_ntid_x()
#define GX __nvvm_read_ptx_sreg_nctaid_x()

static inline __device__ void block_meets()
{
	__syncthreads();
}

static inline __device__ float from_lane_below(float x, int d)
{
	return __nvvm_shfl_sync_down_f32(0xffffffffu, x, d, 31);
}
