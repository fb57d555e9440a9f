/* SPDX-License-Identifier: MIT
 *
 * The machine code of a cubin in figures: how long it is, how much of it lies in
 * loops, and whether two cubins have the same.
 */
#ifndef TCB_TESTS_CUBIN_TEXT_H
#define TCB_TESTS_CUBIN_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct cubin_text {
	uint64_t hash;         /* of all machine code */
	unsigned instructions; /* of all kernels */
	unsigned in_loops;     /* of them between a branch backwards and where it goes to */
	unsigned registers;    /* the most that a kernel's thread has */
};

/* 0 unless DATA is an ELF file with machine code of sm_70 or later. */
int cubin_text_read(const void *data, size_t bytes, struct cubin_text *out);

#endif
