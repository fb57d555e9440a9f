// SPDX-License-Identifier: MIT
// Calls of functions that are not inlined, by name and through pointers; a recursive one.
struct pair {
	float a, b;
};

__device__ __noinline__ pair swapped(pair p, int k)
{
	pair r = { p.b * k, p.a };
	return r;
}

__device__ __noinline__ int fibonacci(int n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__device__ float twice(float x)
{
	return x * 2.0f;
}

__device__ float half_of(float x)
{
	return x * 0.5f;
}

typedef float (*unary)(float);
__device__ unary functions[2] = { twice, half_of };

extern "C" __global__ void calls(float *out, int n)
{
	int i = threadIdx.x;
	pair p = { out[i], out[i + 1] };

	p = swapped(p, n);
	p = swapped(p, i);
	out[i] = functions[i & 1](p.a) + (float)fibonacci(n & 7) + p.b;
	if (n < 0)
		__trap();
}
