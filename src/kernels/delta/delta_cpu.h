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
 * A prompt is gone over token by token (micro.m=1) in blocks of midi.m tokens, whose keys and queries are in the first
 * cache while all of the task's values take them; between blocks their parts of the state are in f32 in the workspace.
 * Or, micro.m of them in a register tile with micro.n values, in chunks of midi.m tokens, 16, 32 or 64: products of
 * matrices (delta_chunk_kernels.c).  Both are vectors of fused products, for each number of the state and token four
 * and, of chunks, three and what a chunk's tokens have to do with each other; but of these operands are in registers.
 *
 * macro.m is the tokens, rounded up to a power of two, and so is midi.m but for prompts; micro.m is 1; macro.n is n, so
 * rounded; tiles' k are the head's but micro's, which is 1.  prefetch is the distance in the state
 * in bytes.  stream=1 stores states past the caches.  Chunks have neither.
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

/* The micro-kernel for a chunk: all of a task's values in panels of micro.n, [panel][k][micro.n], which STATE has, in
 * ROOM of DELTA_CHUNK_ROOM floats; FROM, TO, PREFETCH and STREAM are not looked at. */
typedef void delta_chunk_fn(const struct delta_call *call, float *state, float *room);
#define DELTA_CHUNK_ROOM(k, tokens, n) ((tokens) * (3 * (k) + 2 * (tokens) + (n)))

static inline int delta_is_chunked(const struct tcb_geometry *geometry)
{
	return geometry->tile[TCB_MICRO].m > 1;
}

/* What a task works on, and what the tasks of a call share. */
struct delta_run {
	const struct tcb_plan *plan;
	void *const *operand;
	float *room; /* of prefill: plan's workspace */
	int stream;
};
/* A task's values: of one head of one sequence, from FIRST on. */
struct delta_place {
	size_t sequence, head, first, values;
};

/* delta_places.c */
struct delta_place delta_place_of(const struct delta_run *run, size_t index);
/* The part of PLACE in SLOT of the pool that is operand WHICH; NULL: there is no such slot. */
void *delta_state_at(const struct delta_run *run, size_t which, int32_t slot, const struct delta_place *place);
/* From TOKEN of the sequence's on, as far as states have nothing to do with it. */
struct delta_call delta_call_of(const struct delta_run *run, const struct delta_place *place, size_t token);

/* delta_chunk_cpu.c */
size_t delta_chunk_workspace(const struct tcb_problem *problem, const struct tcb_geometry *geometry); /* of a thread */
void delta_chunk_task(void *ctx, size_t index, unsigned thread);

#endif
