/* SPDX-License-Identifier: MIT
 *
 * Between the files of affine.h, each of which uses those before it: affine_intern.c
 * (things kept once), affine_ops.c (arithmetic on values), affine_loops.c,
 * affine_leaf.c (operands that nothing computes), affine_eval.c (what each
 * instruction computes), affine_read.c (which value a register has where),
 * affine_control.c (who is there), affine.c.  Nobody else includes this.
 */
#ifndef TCB_PTX_AFFINE_PRIVATE_H
#define TCB_PTX_AFFINE_PRIVATE_H

#include "ptx/analyse/affine.h"
#include "ptx/analyse/reaching.h"
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

/* --- affine_intern.c --- */
struct tcb_ptx_coefficient {
	uint64_t constant;
	const uint64_t *lanes;
};
/* The coefficient whose value for each thread stands in a->scratch, modulo 2^BITS. */
struct tcb_ptx_coefficient tcb_ptx_affine_keep(struct tcb_ptx_affine *a, unsigned bits);
/* The symbol for KEY (WORDS words, the first its kind); made as LIKE says when it is new. */
uint32_t tcb_ptx_affine_symbol_for(struct tcb_ptx_affine *a, const uint64_t *key, uint32_t words,
				   const struct tcb_ptx_symbolic *like);

/* --- affine_ops.c --- */
struct tcb_ptx_value tcb_ptx_value_unknown(unsigned bits);
struct tcb_ptx_value tcb_ptx_value_number(unsigned bits, uint64_t number);
struct tcb_ptx_value tcb_ptx_value_symbol(struct tcb_ptx_affine *a, unsigned bits, uint32_t symbol);
/* LANES: one value per thread, copied. */
struct tcb_ptx_value tcb_ptx_value_of_lanes(struct tcb_ptx_affine *a, unsigned bits, const uint64_t *lanes);
int tcb_ptx_value_same(const struct tcb_ptx_value *x, const struct tcb_ptx_value *y);
uint64_t tcb_ptx_value_loops(const struct tcb_ptx_affine *a, const struct tcb_ptx_value *v);
/* The value with COUNTER times STEP added, thread by thread; STEP may have terms when they are uniform. */
struct tcb_ptx_value tcb_ptx_value_add(struct tcb_ptx_affine *a, const struct tcb_ptx_value *x,
				       const struct tcb_ptx_value *y);
struct tcb_ptx_value tcb_ptx_value_sub(struct tcb_ptx_affine *a, const struct tcb_ptx_value *x,
				       const struct tcb_ptx_value *y);
struct tcb_ptx_value tcb_ptx_value_mul(struct tcb_ptx_affine *a, const struct tcb_ptx_value *x,
				       const struct tcb_ptx_value *y);
/* OP: AND, OR, XOR of enum tcb_ptx_op. */
struct tcb_ptx_value tcb_ptx_value_bitwise(struct tcb_ptx_affine *a, unsigned op, const struct tcb_ptx_value *x,
					   const struct tcb_ptx_value *y);
/* Right by a number, with the sign when IS_SIGNED. */
struct tcb_ptx_value tcb_ptx_value_shr(struct tcb_ptx_affine *a, const struct tcb_ptx_value *x, unsigned by,
				       int is_signed);
/* The low BITS bits of X as a value of TO bits, with their sign when IS_SIGNED. */
struct tcb_ptx_value tcb_ptx_value_convert(struct tcb_ptx_affine *a, const struct tcb_ptx_value *x, unsigned bits,
					   unsigned to, int is_signed);
struct tcb_ptx_value tcb_ptx_value_select(struct tcb_ptx_affine *a, const struct tcb_ptx_value *p,
					  const struct tcb_ptx_value *x, const struct tcb_ptx_value *y);
/* Some function of uniform values: a symbol of its own.  TAG tells functions apart. */
struct tcb_ptx_value tcb_ptx_value_computed(struct tcb_ptx_affine *a, unsigned bits, uint64_t tag, unsigned count,
					    const struct tcb_ptx_value *x, uint64_t align, uint64_t max);

/* --- affine_eval.c --- */
/* What INS computes for REG, from what its operands hold; its guard is left out. */
struct tcb_ptx_value tcb_ptx_affine_eval(struct tcb_ptx_affine *a, const struct tcb_ptx_ins *ins, uint32_t reg);

/* --- affine_leaf.c --- */
struct tcb_ptx_value tcb_ptx_affine_special(struct tcb_ptx_affine *a, enum tcb_ptx_special special);
struct tcb_ptx_value tcb_ptx_affine_symbol_address(struct tcb_ptx_affine *a, const struct tcb_ptx_symbol *symbol);

/* --- affine_loops.c --- */
/* The symbol for how often the loop with that header went back to it. */
uint32_t tcb_ptx_affine_counter(struct tcb_ptx_affine *a, const struct tcb_ptx_block *header);
int tcb_ptx_affine_is_inside(const struct tcb_ptx_block *block, const struct tcb_ptx_loop *loop);

/* --- affine_control.c --- */
void tcb_ptx_affine_bound_counters(struct tcb_ptx_affine *a);
enum tcb_status tcb_ptx_affine_control(struct tcb_ptx_affine *a, struct tcb_error *err);

#endif
