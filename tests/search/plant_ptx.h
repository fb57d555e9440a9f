/* SPDX-License-Identifier: MIT
 *
 * Defects planted in an op's GPU kernel: what a checker must find, or it finds
 * nothing.  The controls of compute-sanitizer and of the emulator.
 */
#ifndef TCB_TESTS_PLANT_PTX_H
#define TCB_TESTS_PLANT_PTX_H

#include "kernels/op.h"

/* X(id, text) */
#define PLANT_LIST(X)     \
	X(NONE, "none")   \
	X(STORE, "store") \
	X(BARRIER, "barrier")

enum plant {
#define PLANT_ENUM(id, text) PLANT_##id,
	PLANT_LIST(PLANT_ENUM)
#undef PLANT_ENUM
		PLANT_COUNT
};

/* PLANT_COUNT if there is none called TEXT. */
enum plant plant_find(const char *text);
/*
 * Mutates KERNEL.  STORE: plain stores to global memory of the last launch land one element further, so that the last
 * row is written past the end of the output.  BARRIER: the kernels no longer wait for each other's writes to shared
 * memory.  Returns how many instructions were changed; 0: the kernel has nothing of the kind.
 */
unsigned plant_into(struct tcb_kernel *kernel, enum plant what);

#endif
