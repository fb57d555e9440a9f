/* SPDX-License-Identifier: MIT
 *
 * Chunks of tokens on a GPU's tensor cores: what the parts of the emitter share.  delta_gpu_plan.h says how a geometry
 * drives it, delta_chunk_kernels.c what is computed.
 *
 * Everything is turned: a warp has 16 values, rows of S', and tokens and keys are columns.  Of mma.sync's registers
 * those that sums come in are then those that a factor of 16 rows is taken from, if the order of what is summed over is
 * changed alike in the other factor: columns 2j and 2j + 1 of eight stand where j and j + 4 should.  So the state,
 * what tokens add, and what is between them go from product to product in registers, and factors of tokens are read
 * from shared memory in pairs.
 *
 * A float is multiplied as two tf32, of which the product of the small parts is left out: 2^-22 of a product.
 */
#ifndef TCB_KERNELS_DELTA_CHUNK_GPU_H
#define TCB_KERNELS_DELTA_CHUNK_GPU_H

#include "kernels/delta/delta_gpu_plan.h"
#include "kernels/gpu/barrier.h"

/* A float as the tf32 nearest to it and that of the rest. */
struct chunk_terms {
	kit_op high, low;
};

struct chunk_writer {
	struct tcb_kit kit;
	const struct delta_gpu *g;
	kit_op qkv, decay, beta, key_heads, counts, slots, states, y, states_out, skips;
	kit_op head, sequence, count, skip;
	kit_op quad, pair; /* of the lane: / 4, % 4 */
	kit_op value[2], is_there[2];
	kit_op query_at, v_at, number_at, y_at; /* of the sequence's first token: elements of arrays */
	/* Shared memory: a chunk's keys and queries, and what is prepared of them; those that the code being written
	 * uses, and registers that go round, the chunk in use first. */
	kit_op slot, numbers, numbers_of_pair, by_keys, by_queries;
	kit_op ring[3], set, sets_sum;
	kit_op first;    /* token of the chunk */
	kit_op preparer; /* of those warps that prepare */
	kit_op state[DELTA_KEY_MAX / CHUNK_EIGHT][4];
	/* By eight tokens, two values of two tokens: v, what tokens add, y. */
	kit_op v[DELTA_CHUNK_MAX / CHUNK_EIGHT][4], added[DELTA_CHUNK_MAX / CHUNK_EIGHT][4],
		out[DELTA_CHUNK_MAX / CHUNK_EIGHT][4];
};

/* delta_chunk_gpu_terms.c */
void chunk_split(struct tcb_ptx_build *b, kit_op x, struct chunk_terms *out);
/* SUMS += A X, floats as terms; X: two of COUNT columns. */
void chunk_multiply(struct tcb_ptx_build *b, kit_op sums[4], const struct chunk_terms a[4],
		    const struct chunk_terms x[2]);
/* A pair of floats in shared memory as terms. */
void chunk_load_pair(struct tcb_ptx_build *b, kit_op at, int64_t offset, struct chunk_terms out[2]);

/* delta_chunk_gpu.c */
enum tcb_status delta_chunk_emit(const struct tcb_problem *problem, const struct tcb_target *target,
				 const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err);

/* delta_chunk_gpu_math.c: what a warp does with its values. */
void chunk_load_state(struct chunk_writer *w);
void chunk_store_state(struct chunk_writer *w);
void chunk_load_values(struct chunk_writer *w);
void chunk_multiply_state(struct chunk_writer *w);
void chunk_write_rest(struct chunk_writer *w);

#endif
