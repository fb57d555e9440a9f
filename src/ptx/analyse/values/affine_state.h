/* SPDX-License-Identifier: MIT
 *
 * What the files of affine.h know of a function.  Each uses those before it: affine_intern.c
 * (things kept once), affine_ops.c (arithmetic on values), affine_loops.c,
 * affine_leaf.c (operands that nothing computes), affine_eval.c (what each
 * instruction computes), affine_read.c (which value a register has where),
 * affine_control.c (who is there), affine.c.  Nobody else includes this.
 */
#ifndef TCB_PTX_AFFINE_STATE_H
#define TCB_PTX_AFFINE_STATE_H

#include "ptx/analyse/analyses.h"
#include "ptx/analyse/flow/reaching.h"
#include "ptx/analyse/values/affine_value.h"
#include "ptx/ir/opcodes.h"

enum { TCB_PTX_NOT_OPEN = UINT32_MAX };

/* An open table of things that are kept once: lanes by contents, symbols by how they are computed. */
struct tcb_ptx_intern {
	uint64_t *hashes;
	uint32_t *slots; /* 1 + index of the entry */
	uint32_t count, capacity;
};

struct tcb_ptx_memo {
	uint64_t key; /* 0: free */
	struct tcb_ptx_value value;
	uint32_t depth; /* of the call that computes it */
	uint8_t state;  /* 1: being computed, 2: done, 3: withdrawn */
};

struct tcb_ptx_affine {
	struct tcb_ptx_function *function;
	struct tcb_arena arena;
	struct tcb_ptx_dominators dominators;
	struct tcb_ptx_reaching *reaching;
	uint32_t block[3], threads;
	int exact, failed; /* FAILED: memory ran out; everything is unknown from then on */

	struct tcb_ptx_symbolic *symbols;
	uint64_t **symbol_keys; /* [0]: words that follow */
	uint32_t symbol_count, symbol_capacity;
	struct tcb_ptx_intern symbol_index;

	uint64_t **lane_sets;
	uint32_t lane_count, lane_capacity;
	struct tcb_ptx_intern lane_index;
	uint64_t *scratch; /* one value per thread */

	struct tcb_ptx_memo *memo;
	uint32_t memo_count, memo_capacity;
	uint64_t *trail; /* keys in the order in which they were computed */
	uint32_t trail_count, trail_capacity;
	uint32_t open_count, depth;
	uint32_t cut_at; /* least depth of a value that was needed for itself: what lies between is not final */
	uint64_t fuel;

	uint32_t *loop_of; /* by block->number of a header: its place among the loops */
	uint8_t *together; /* likewise: enum tcb_ptx_leaving */
	/* likewise, in text order: all of a loop's blocks lie between them, few others do */
	const struct tcb_ptx_block **loop_first, **loop_last;
	uint64_t *active; /* by block->number */
	uint64_t **taken; /* by block->number: the threads that take its branch, where that is known for all */
	uint8_t *presence, *optional;
	uint32_t words; /* of one block's threads in ACTIVE */

	/* How affine_eval.c asks for what an instruction reads: that rests on what other instructions compute. */
	struct tcb_ptx_value (*read_operand)(struct tcb_ptx_affine *a, const struct tcb_ptx_ins *ins,
					     const struct tcb_ptx_operand *operand);
	struct tcb_ptx_value (*read_address)(struct tcb_ptx_affine *a, const struct tcb_ptx_ins *ins, unsigned index);
};

/* Whether all threads of a block leave a loop in the same round. */
enum tcb_ptx_leaving { TCB_PTX_NOT_ASKED, TCB_PTX_NOT_TOGETHER, TCB_PTX_TOGETHER };

static inline uint64_t tcb_ptx_bits_mask(unsigned bits)
{
	return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

static inline int64_t tcb_ptx_bits_extend(uint64_t x, unsigned bits)
{
	unsigned up = bits >= 64 ? 0 : 64 - bits;

	return (int64_t)(x << up) >> up;
}

#endif
