/* SPDX-License-Identifier: MIT
 *
 * A small op whose variants misbehave in every way that the evaluation must
 * survive.  The knob unroll picks the behaviour; the rest of the geometry is
 * honest: y[m][n] = sum over k of x[m][k] * w[n][k], all f32, K a multiple of 16.
 */
#ifndef TCB_TESTS_PLANTED_H
#define TCB_TESTS_PLANTED_H

#include <stdatomic.h>

#include "device/device.h"
#include "kernels/op.h"

/* X(id, text, class) */
#define PLANTED_LIST(X)                            \
	X(GOOD, "good", BOUNDED)                   \
	X(SLOW, "slow", BOUNDED)                   \
	X(SLOWER, "slower", BOUNDED)               \
	X(EXACT, "exact", EXACT)                   \
	X(ONE_ULP, "one_ulp", EXACT)               \
	X(NULL_WRITE, "null_write", BOUNDED)       \
	X(ENDLESS, "endless", BOUNDED)             \
	X(WRONG, "wrong", BOUNDED)                 \
	X(WRONG_LAST, "wrong_last", BOUNDED)       \
	X(WRONG_ODD, "wrong_odd", BOUNDED)         \
	X(WRONG_FULL, "wrong_full", BOUNDED)       \
	X(WRONG_LATER, "wrong_later", BOUNDED)     \
	X(WRONG_SHARE, "wrong_share", BOUNDED)     \
	X(PAST_OUTPUT, "past_output", BOUNDED)     \
	X(FAR_OUTSIDE, "far_outside", BOUNDED)     \
	X(PAST_LATER, "past_later", BOUNDED)       \
	X(PAST_SCRATCH, "past_scratch", BOUNDED)   \
	X(STALE_SCRATCH, "stale_scratch", BOUNDED) \
	X(WRITES_INPUT, "writes_input", BOUNDED)   \
	X(NOTHING, "nothing", BOUNDED)             \
	X(NOT_A_NUMBER, "nan", BOUNDED)            \
	X(ABORTS, "aborts", BOUNDED)               \
	X(EXITS, "exits", BOUNDED)                 \
	X(HANGS_UP, "hangs_up", BOUNDED)           \
	X(BABBLES, "babbles", BOUNDED)             \
	X(CRASHES_LATER, "crashes_later", BOUNDED) \
	X(TIME_BOMB, "time_bomb", BOUNDED)         \
	X(ORPHANED, "orphaned", BOUNDED)           \
	X(UNPLANNED, "unplanned", BOUNDED)

enum planted {
#define PLANTED_ENUM(id, text, class_id) PLANTED_##id,
	PLANTED_LIST(PLANTED_ENUM) PLANTED_COUNT
#undef PLANTED_ENUM
};

enum { PLANTED_M = 2, PLANTED_N = 512, PLANTED_K = 256 }; /* the full size that the behaviours know */

extern const struct tcb_op planted_op;
/* So many calls of ORPHANED, by any process, have the worker's nursery killed, and then wait; NULL: none. */
extern atomic_int *planted_orphans;
/* Shared memory, or NULL: set when PLANTED_ENDLESS begins. */
extern atomic_int *planted_begun;

void planted_problem(struct tcb_problem *out);
/* A geometry of BEHAVIOUR, native layout or rows interleaved by four. */
void planted_geometry(enum planted behaviour, int is_packed, unsigned threads, struct tcb_geometry *out);
/* This host with THREADS threads, without looking for more. */
void planted_cpu(unsigned threads, struct tcb_place *out);

#endif
