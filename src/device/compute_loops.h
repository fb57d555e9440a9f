/* SPDX-License-Identifier: MIT
 *
 * Private to src/device: the arithmetic loops that compute.c chooses from.
 *
 * A loop keeps CHAINS independent accumulators in registers and updates each
 * once an iteration: nothing but arithmetic, enough chains for the latency of
 * any of today's processors.  The value returned depends on every update.
 */
#ifndef TCB_DEVICE_COMPUTE_LOOPS_H
#define TCB_DEVICE_COMPUTE_LOOPS_H

#include <stddef.h>
#include <stdint.h>

#include "base/cpu_isas.h"
#include "device/device.h"

struct tcb_compute_loop {
	enum tcb_isa isa;
	enum tcb_compute_kind kind;
	const char *what;  /* "512-bit dpbusd" */
	double operations; /* of an iteration: two for each product that is added */
	double (*run)(size_t iterations);
	double result; /* of one iteration, for tests */
};

/* Each list ends with a row whose run is NULL. */
#define TCB_COMPUTE_LIST_OF(isa, ID, ...) extern const struct tcb_compute_loop tcb_compute_loops_##isa[];
TCB_ISAS_ALL(TCB_COMPUTE_LIST_OF, )
#undef TCB_COMPUTE_LIST_OF

/* compute.c, for tests: the lists, NULL at the end. */
const struct tcb_compute_loop *const *tcb_compute_lists(void);

/* A vector register; with AVX-512 and on Arm any of the 32. */
#if defined(__AVX512F__)
#define TCB_COMPUTE_REGISTER "+v"
#elif defined(__aarch64__)
#define TCB_COMPUTE_REGISTER "+w"
#else
#define TCB_COMPUTE_REGISTER "+x"
#endif

/*
 * The loop NAME: TYPE accumulators, UPDATE(acc) gives the next one, SUM(acc) its
 * value.  The empty assembler statement takes each accumulator through a
 * register, so that no update is left out or merged with the next.
 */
#define TCB_COMPUTE_LOOP(name, type, chains, start, update, sum)                                \
	static double name(size_t iterations)                                                   \
	{                                                                                       \
		type acc[chains];                                                               \
		double all = 0;                                                                 \
		_Pragma("GCC unroll 32") for (int i = 0; i < (chains); i++) acc[i] = start;     \
		for (size_t n = 0; n < iterations; n++) {                                       \
			_Pragma("GCC unroll 32") for (int i = 0; i < (chains); i++)             \
			{                                                                       \
				acc[i] = update(acc[i]);                                        \
				__asm__ volatile("" : TCB_COMPUTE_REGISTER(acc[i]));            \
			}                                                                       \
		}                                                                               \
		_Pragma("GCC unroll 32") for (int i = 0; i < (chains); i++) all += sum(acc[i]); \
		return all;                                                                     \
	}

#endif
