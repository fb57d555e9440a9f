/* SPDX-License-Identifier: MIT
 *
 * Calls: of functions that are not inlined, by pointer, virtual, recursive, of printf, assert and malloc.
 */
#include <assert.h>
#include <stdio.h>

struct shape {
	__device__ virtual float area(float x) const = 0;
	__device__ virtual ~shape()
	{
	}
};

struct square : shape {
	__device__ float area(float x) const override
	{
		return x * x;
	}
};

struct circle : shape {
	__device__ float area(float x) const override
	{
		return 3.14159f * x * x;
	}
};

__device__ __noinline__ int fibonacci(int n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__device__ __noinline__ float3 scaled(float3 v, float by)
{
	return make_float3(v.x * by, v.y * by, v.z * by);
}

typedef int operation(int);
__device__ int twice(int x)
{
	return 2 * x;
}
__device__ int next(int x)
{
	return x + 1;
}
__device__ operation *table[2] = { twice, next };

__global__ void calls(int *out, float *areas, int which)
{
	float3 v = scaled(make_float3(1, 2, 3), (float)which);
	shape *one = which ? (shape *)new square : (shape *)new circle;

	assert(which < 100);
	out[threadIdx.x] = table[which & 1](fibonacci((int)threadIdx.x % 8));
	areas[threadIdx.x] = one->area(v.x) + v.y + v.z;
	delete one;
	if (threadIdx.x == 0)
		printf("%d %f %s\n", out[0], areas[0], "done");
	switch (which) {
	case 1:
		out[1] = 3;
		break;
	case 2:
		out[2] = fibonacci(3);
		break;
	case 3:
		areas[3] = sinf(areas[2]);
		break;
	case 4:
		out[4] = __popc(out[3]);
		break;
	case 5:
		__trap();
	default:
		out[which % 7] = 9;
	}
}
