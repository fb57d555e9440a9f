/* SPDX-License-Identifier: MIT
 *
 * The recurrent ops on CPUs: how a geometry drives them.
 *
 * A task has midi.n values of one head of one sequence, whose parts of the state are rows that lie
 * together, and goes over all tokens.  The micro-kernel takes micro.n rows at a time through
 * all tokens: of the first token it reads them once for their products with key and query, and,
 * by then in the first cache, once more to write what becomes of them; between tokens they are in
 * the first cache.
 *
 * A prompt is gone over in blocks of midi.m tokens, whose keys and queries are in the first cache
 * while all of the task's values take them; between blocks their parts of the state are in f32 in
 * the workspace.  So a prompt's operations are those of the recurrence, 7 for each number of the state and
 * token where chunks (Yang et al. 2024, WY form) have 6 and more: it is vectors of fused products either way.
 *
 * macro.m is the tokens, rounded up to a power of two, and so is midi.m but for prompts; micro.m is 1; macro.n is n, so
 * rounded; tiles' k are the head's but micro's, which is 1.  prefetch is the distance in the state
 * in bytes.  stream=1 stores states past the caches.
 */
#ifndef TCB_KERNELS_DELTA_CPU_H
#define TCB_KERNELS_DELTA_CPU_H

#include "kernels/delta/delta.h"

/* delta_cpu_space.c */
extern const struct tcb_side_space delta_cpu_space;

/* delta_cpu.c */
#define DELTA_SIDE(state, ID, type, text, rule) \
	extern const struct tcb_side rule##_decode_##state##_cpu, rule##_prefill_##state##_cpu;
DELTA_STATE_LIST(DELTA_SIDE, delta)
DELTA_STATE_LIST(DELTA_SIDE, ssd)
#undef DELTA_SIDE

/* The micro-kernel: ROWS values of one head, TOKENS tokens. */
struct delta_call {
	size_t k, rows, tokens;
	const float *query, *key, *v; /* of the first token; the next one's are ROW floats behind */
	size_t row;
	const float *g, *beta; /* so, HEADS floats */
	size_t heads;
	float scale, skip; /* of queries; of values */
	const void *from;  /* the first value's part of the state; NULL: zeros */
	void *const *to;   /* by token, the same of what it becomes; NULL: it is not stored */
	float *y;          /* of the first token; the next one's are Y_ROW floats behind */
	size_t y_row;
	size_t prefetch;
	int stream; /* all of TO are aligned to 64 bytes then, and so are bytes of a value's part */
};
typedef void delta_micro_fn(const struct delta_call *call);

#endif
