/* SPDX-License-Identifier: MIT
 *
 * Arithmetic loops (compute_loops.h) in portable code.  Of bytes a compiler
 * makes what it likes; a product and a sum of 32 bits is the least it has to do.
 */
#include "device/compute_loops.h"

enum { CHAINS = 8 };

/* Volatile: the compiler must not know them. */
static volatile int32_t byte_a = 3, byte_b = -1;
static volatile float float_a = 1.0f, float_b = 0.5f;

static double bytes(size_t iterations)
{
	const int32_t a = byte_a;
	int32_t b[CHAINS], acc[CHAINS], all = 0;
	for (int i = 0; i < CHAINS; i++) {
		b[i] = byte_b;
		acc[i] = 0;
	}
	for (size_t n = 0; n < iterations; n++)
		for (int i = 0; i < CHAINS; i++) {
			acc[i] += a * b[i];
			__asm__ volatile("" : "+r"(acc[i]), "+r"(b[i]));
		}
	for (int i = 0; i < CHAINS; i++)
		all += acc[i];
	return all;
}

static double floats(size_t iterations)
{
	const float a = float_a, b = float_b;
	float acc[CHAINS] = { 0 };
	double all = 0;
	for (size_t n = 0; n < iterations; n++)
		for (int i = 0; i < CHAINS; i++) {
			acc[i] = acc[i] * a + b;
#if defined(__x86_64__)
			__asm__ volatile("" : "+x"(acc[i]));
#else
			__asm__ volatile("" : "+w"(acc[i]));
#endif
		}
	for (int i = 0; i < CHAINS; i++)
		all += (double)acc[i];
	return all;
}

const struct tcb_compute_loop tcb_compute_loops_scalar[] = {
	{ TCB_ISA_SCALAR, TCB_COMPUTE_INT8, "multiply and add", 2.0 * CHAINS, bytes, -3.0 * CHAINS },
	{ TCB_ISA_SCALAR, TCB_COMPUTE_F32, "multiply and add", 2.0 * CHAINS, floats, 0.5 * CHAINS },
	{ .run = NULL },
};
