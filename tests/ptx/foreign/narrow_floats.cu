/* SPDX-License-Identifier: MIT
 *
 * Conversions from and to floats of 8, 6 and 4 bits.
 */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

__global__ void narrow(const float2 *in, unsigned char *out)
{
	float2 x = in[threadIdx.x];
	__nv_fp8x2_storage_t eight = __nv_cvt_float2_to_fp8x2(x, __NV_SATFINITE, __NV_E4M3);
	__nv_fp6x2_storage_t six = __nv_cvt_float2_to_fp6x2(x, __NV_E2M3, cudaRoundNearest);
	__nv_fp4x2_storage_t four = __nv_cvt_float2_to_fp4x2(x, __NV_E2M1, cudaRoundNearest);

	out[threadIdx.x] = (unsigned char)(eight + six + four);
}

__global__ void widen(const unsigned short *in, float *out)
{
	unsigned short x = in[threadIdx.x];
	__half2_raw eight = __nv_cvt_fp8x2_to_halfraw2(x, __NV_E5M2);
	__half2_raw six = __nv_cvt_fp6x2_to_halfraw2(x, __NV_E3M2);
	__half2_raw four = __nv_cvt_fp4x2_to_halfraw2((unsigned char)x, __NV_E2M1);

	out[threadIdx.x] = __half2float(__half(__half2(eight).x)) + __half2float(__half(__half2(six).y)) +
			   __half2float(__half(__half2(four).x));
}

__global__ void scales(const float *in, unsigned char *out)
{
	out[threadIdx.x] = __nv_cvt_float_to_e8m0(in[threadIdx.x], __NV_SATFINITE, cudaRoundPosInf);
}

__global__ void brains(const __nv_bfloat162 *in, __nv_bfloat162 *out)
{
	__nv_bfloat162 x = in[threadIdx.x];

	out[threadIdx.x] = __hfma2(x, x, h2exp(x)) + __hmax2(x, h2rsqrt(x));
	atomicAdd(out, x);
}
