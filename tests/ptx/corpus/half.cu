// SPDX-License-Identifier: MIT
// Packed half precision and bfloat16.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void halves(__half2 *h, __nv_bfloat162 *z, const float *x, float *y, int n)
{
	int i = threadIdx.x;

	h[i] = __hfma2(h[i], h[i + 1], __hmul2(h[i + 2], __float2half2_rn(x[i])));
	h[i] = __hmax2(h[i], h2exp(h[i + n]));
	z[i] = __hadd2(z[i], __float22bfloat162_rn(make_float2(x[i], x[i + 1])));
	y[i] = __half2float(__low2half(h[i])) + __bfloat162float(__high2bfloat16(z[i]));
	y[i + n] = (float)__half2int_rn(__high2half(h[i])) + (__hlt(__low2half(h[i]), __high2half(h[i + 1])) ? 1.0f : x[i]);
}
