/* SPDX-License-Identifier: MIT
 *
 * The dense products' loops on tiles (matmul_amx.h) with plain C's tile instructions.
 */
#ifndef TCB_TESTS_KERNELS_MATMUL_TILES_H
#define TCB_TESTS_KERNELS_MATMUL_TILES_H

#include "kernels/matmul/matmul_cpu.h"

struct matmul_tiles {
	const char *name;
	/* TASK, of an op of TYPE, in register tiles of its geometry. */
	void (*run)(enum tcb_type type, const struct matmul_task *task);
};
extern const struct matmul_tiles matmul_tiles_any;
extern const struct matmul_tiles matmul_tiles_avx512; /* x86: packed by vectors; needs AVX-512 */

#endif
