/* SPDX-License-Identifier: MIT
 *
 * A small op whose GPU kernels misbehave in every way that the evaluation must
 * survive.  The knob unroll picks the behaviour; the rest of the geometry is
 * honest: y[n] = sum over k of x[k] * w[n][k], all f32, a thread an output.
 */
#ifndef TCB_TESTS_PLANTED_GPU_H
#define TCB_TESTS_PLANTED_GPU_H

#include "kernels/op.h"

/* X(id) */
#define PLANTED_GPU_LIST(X) \
	X(GOOD)             \
	X(KEEPS)            \
	X(SPOILS)           \
	X(WRONG)            \
	X(WRONG_FULL)       \
	X(WRONG_LATER)      \
	X(PAST_OUTPUT)      \
	X(ILLEGAL_WRITE)    \
	X(ILLEGAL_READ)     \
	X(MISALIGNED)       \
	X(ENDLESS)          \
	X(BIG_SHARED)       \
	X(MANY_THREADS)     \
	X(DIRTY)            \
	X(NO_STORE)         \
	X(NOT_A_NUMBER)     \
	X(TRAPS)            \
	X(TOO_NEW)          \
	X(UNEMITTED)        \
	X(PAST_WORKSPACE)   \
	X(WRITES_INPUT)     \
	X(CRASHES_LATER)    \
	X(SPILLS)           \
	X(REJECTED)         \
	X(ODD_MISSING)

/* The last three are for assemblers: one needs more registers than it may have, one more shared memory than ptxas
 * gives, and one cannot be emitted at small shapes. */
enum planted_gpu {
#define PLANTED_GPU_ENUM(id) PLANTED_GPU_##id,
	PLANTED_GPU_LIST(PLANTED_GPU_ENUM) PLANTED_GPU_COUNT
#undef PLANTED_GPU_ENUM
};

enum { PLANTED_GPU_N = 40, PLANTED_GPU_K = 8 };

/* Its space: 200 good candidates (warps, layouts, and stages, which only cost time: the fewer the faster), and 20 bad
 * ones of ten kinds. */
extern const struct tcb_op planted_gpu_op;

void planted_gpu_problem(struct tcb_problem *out);
void planted_gpu_geometry(enum planted_gpu behaviour, int is_packed, unsigned warps, unsigned stages,
			  struct tcb_geometry *out);

#endif
