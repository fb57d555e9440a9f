/* SPDX-License-Identifier: MIT
 *
 * A second opinion on what a kernel takes, which shares nothing with tcbtune: the kernel's shared object is
 * loaded and called over copies of its operands in memory of malloc, all of them flushed from the caches before each
 * batch of calls.
 *
 *     cc -O3 -march=native -DM=... -DN=... -DK=... -shared -fPIC -o kernel.so kernel.c
 *     cc -O2 -DM=... -DN=... -DK=... -o time_kernel time_kernel.c && ./time_kernel ./kernel.so COPIES BATCHES
 *
 * prints the nanoseconds of a call, a line per batch.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static void flush(const void *from, size_t bytes)
{
#if defined(__x86_64__)
	for (size_t i = 0; i < bytes; i += 64)
		__asm__ volatile("clflush %0" : : "m"(*((const char *)from + i)) : "memory");
	__asm__ volatile("mfence" : : : "memory");
#else
	(void)from, (void)bytes;
#endif
}

/* Operand NUMBER lies 13 lines further in its page than the one before: where operands lie alike, some kernels take
 * twice as long, and that is not what is compared here. */
static float *fill(size_t count, size_t number)
{
	char *memory = aligned_alloc(4096, (count * sizeof(float) / 4096 + 2) * 4096);
	float *values = memory ? (float *)(void *)(memory + 832 * number) : NULL;

	for (size_t i = 0; values && i < count; i++)
		values[i] = (float)rand() / (float)RAND_MAX * 2 - 1;
	return values;
}

int main(int argc, char **argv)
{
	const size_t copies = argc > 3 ? strtoul(argv[2], NULL, 10) : 0,
		     batches = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
	void *library = copies ? dlopen(argv[1], RTLD_NOW) : NULL;
	void (*gemm)(const float *, const float *, float *) =
		library ? (void (*)(const float *, const float *, float *))(uintptr_t)dlsym(library, "gemm") : NULL;
	float **a = calloc(copies + 1, sizeof *a), **b = calloc(copies + 1, sizeof *b),
	      **c = calloc(copies + 1, sizeof *c);

	if (!gemm || !batches || !a || !b || !c)
		return 2;
	for (size_t i = 0; i < copies; i++)
		if (!(a[i] = fill((size_t)M * K, 1)) || !(b[i] = fill((size_t)K * N, 2)) ||
		    !(c[i] = fill((size_t)M * N, 3)))
			return 2;
	for (size_t batch = 0; batch <= batches; batch++) {
		for (size_t i = 0; i < copies; i++) {
			flush(a[i], sizeof(float) * M * K);
			flush(b[i], sizeof(float) * K * N);
			flush(c[i], sizeof(float) * M * N);
		}
		const double from = now_ns();

		for (size_t i = 0; i < copies; i++)
			gemm(a[i], b[i], c[i]);
		const double ns = (now_ns() - from) / (double)copies;

		if (batch) /* the first one is for warming up */
			printf("%.1f\n", ns);
	}
	return 0;
}
