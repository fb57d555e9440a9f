// SPDX-License-Identifier: MIT
// A dense switch (a branch table), loops that are left early, unrolling pragmas.
extern "C" __global__ void choose(const int *in, float *out, int n)
{
	int i = threadIdx.x;
	float x = (float)in[i];

	switch (in[i]) {
	case 0: x = x * x + 3.0f; break;
	case 1: x = __sinf(x) + out[0]; break;
	case 2: x = __fdividef(x, out[1]); break;
	case 3: x = sqrtf(x) - out[2]; break;
	case 4: x = rsqrtf(x); break;
	case 5: x = __log2f(x) + out[5]; break;
	case 6: x = exp2f(x); out[6] = x; break;
	case 7: x = tanhf(x); break;
	case 8: x = floorf(x) + out[8]; break;
	case 9: x = fmaxf(x, out[9]); break;
	}
#pragma unroll 1
	for (int k = 0; k < n; k++) {
		if (x > 1e6f)
			break;
		if (k % 3 == 0)
			continue;
		x = x * 1.5f + out[k];
	}
	out[i] = x;
}
