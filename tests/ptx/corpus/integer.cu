// SPDX-License-Identifier: MIT
// dp4a, byte permutation, bit fields, funnel shifts, wide products, division.
extern "C" __global__ void integers(const int *a, const unsigned *b, long long *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, v = a[i];
	unsigned u = b[i];

	v = __dp4a(v, (int)u, v) + __dp2a_lo(v, (int)u, 5);
	u = __byte_perm(u, (unsigned)v, 0x5140) ^ __funnelshift_l(u, (unsigned)v, 7);
	u = (u & 0x0f0f0f0fu) | (~u & (unsigned)v);
	v += __popc(u) + __clz(v) + __ffs((int)u) + (int)__brev(u) + __mulhi(v, n) + __sad(v, n, u);
	v = v / n + (int)(u % 10u) + max(v, n) - min(v, 3) + abs(v);
	out[i] = (long long)v * n + (long long)__umul64hi(u, 77ull) + ((long long)u << 35 >> 3) + (v >> 31);
	out[i] += (signed char)a[i] + (unsigned short)b[i] + ((const signed char *)a)[i];
}
