/* SPDX-License-Identifier: MIT
 *
 * Integer values of a kernel, thread by thread: each is a constant, plus a part
 * that is known for every thread of a block, plus multiples of symbols that
 * stand for what is the same in all of them (parameters, block indices, how
 * often a loop has gone round).  Whatever follows from the thread's index alone
 * is computed for each thread, so masks, shifts and XOR swizzles are exact.
 *
 *     tcb_ptx_affine_create(function, block, &affine, err);
 *     tcb_ptx_affine_address(affine, ins, index, &value);
 *     if (value.known) ... tcb_ptx_value_lane(&value, thread) ...
 *
 * What is not proved is unknown, never guessed.  Two assumptions are made and
 * marked in `assumes`: index arithmetic that is widened to 64 bits does not
 * wrap around, as compilers of C assume too.
 */
#ifndef TCB_PTX_AFFINE_H
#define TCB_PTX_AFFINE_H

#include "ptx/analyse/affine_value.h"
#include "ptx/analyse/analyses.h"

enum { TCB_PTX_BLOCK_THREADS_MAX = 1024, TCB_PTX_WARP = 32 };

enum tcb_ptx_symbol_kind {
	TCB_PTX_Y_PARAM,    /* a parameter */
	TCB_PTX_Y_SPECIAL,  /* a special register that is the same in all threads of a block */
	TCB_PTX_Y_ADDRESS,  /* the address of a variable */
	TCB_PTX_Y_WINDOW,   /* where a state space begins among generic addresses */
	TCB_PTX_Y_COUNTER,  /* times that a loop went back to its header */
	TCB_PTX_Y_COMPUTED, /* by operations that are not sums, or loaded */
	TCB_PTX_Y_CARRIED   /* a value that a loop changes in another way */
};

struct tcb_ptx_symbolic {
	enum tcb_ptx_symbol_kind kind;
	uint64_t align; /* a power of two that divides it */
	uint64_t max;   /* it lies in [0, max]; UINT64_MAX: not known */
	uint64_t loops; /* bit i: may change from one round of loop i to the next; see affine_loop */
	uint32_t open;  /* internal, CARRIED: as in struct tcb_ptx_value */
	const struct tcb_ptx_symbol *variable; /* PARAM, ADDRESS */
	const struct tcb_ptx_block *header;    /* COUNTER, CARRIED */
};

struct tcb_ptx_affine;

/* BLOCK: threads along x, y, z; NULL: from .reqntid, else .maxntid where the kernel reads no index but tid.x.  Where
 * the size is not known, nothing that depends on a thread's index is.  Computes dominators and loops of FUNCTION, which
 * must not change while the result lives. */
enum tcb_status tcb_ptx_affine_create(struct tcb_ptx_function *function, const uint32_t block[3],
				      struct tcb_ptx_affine **out, struct tcb_error *err);
void tcb_ptx_affine_destroy(struct tcb_ptx_affine *affine);

/* 0: not known */
uint32_t tcb_ptx_affine_threads(const struct tcb_ptx_affine *affine);
/* Whether the block's size is exact: given, or .reqntid. */
int tcb_ptx_affine_exact(const struct tcb_ptx_affine *affine);
const struct tcb_ptx_dominators *tcb_ptx_affine_dominators(const struct tcb_ptx_affine *affine);
const struct tcb_ptx_symbolic *tcb_ptx_affine_symbol(const struct tcb_ptx_affine *affine, uint32_t symbol);
/* Bit of `loops` for the loop with that header; several share the last one. */
uint64_t tcb_ptx_affine_loop_bit(const struct tcb_ptx_affine *affine, const struct tcb_ptx_block *header);
/* The loops around BLOCK. */
uint64_t tcb_ptx_affine_loops_of(const struct tcb_ptx_affine *affine, const struct tcb_ptx_block *block);

/* The value that INS reads as OPERAND (a register, number, symbol or special register), or as its guard. */
struct tcb_ptx_value tcb_ptx_affine_operand(struct tcb_ptx_affine *affine, const struct tcb_ptx_ins *ins,
					    const struct tcb_ptx_operand *operand);
struct tcb_ptx_value tcb_ptx_affine_guard(struct tcb_ptx_affine *affine, const struct tcb_ptx_ins *ins);
/* The address in operand INDEX of INS, offset included.  A value that left the loop that changed it is known only where
 * all threads leave it in the same round. */
struct tcb_ptx_value tcb_ptx_affine_address(struct tcb_ptx_affine *affine, const struct tcb_ptx_ins *ins,
					    unsigned index);
/* What register REG holds after INS wrote it. */
struct tcb_ptx_value tcb_ptx_affine_result(struct tcb_ptx_affine *affine, const struct tcb_ptx_ins *ins, uint32_t reg);

/* Whether it is the same in all threads of the block. */
int tcb_ptx_value_is_uniform(const struct tcb_ptx_value *v);
/* The greatest power of two (at most 2^32) that divides the terms in all threads. */
uint64_t tcb_ptx_affine_term_align(const struct tcb_ptx_affine *affine, const struct tcb_ptx_value *v);
/* The state space of an address whose instruction names none: SHARED, GLOBAL, LOCAL, CONST, or NO_WORD. */
enum tcb_ptx_word tcb_ptx_affine_space(const struct tcb_ptx_affine *affine, const struct tcb_ptx_value *address);

/* --- who is there (affine_control.c) --- */

enum tcb_ptx_presence {
	TCB_PTX_ALL_ALIKE, /* the threads that ACTIVE tells, or (where a condition is the same for all) none */
	TCB_PTX_SPLIT,     /* as ALL_ALIKE, but not all threads of the block */
	TCB_PTX_AT_MOST /* some of the threads that ACTIVE tells: a condition differs between threads and is unknown */
};
/* The threads that may run BLOCK: bit t % 64 of word t / 64. */
const uint64_t *tcb_ptx_affine_active(const struct tcb_ptx_affine *affine, const struct tcb_ptx_block *block);
enum tcb_ptx_presence tcb_ptx_affine_presence(const struct tcb_ptx_affine *affine, const struct tcb_ptx_block *block);
/* Whether a condition that is the same in all threads, but unknown, decides if BLOCK runs. */
int tcb_ptx_affine_is_optional(const struct tcb_ptx_affine *affine, const struct tcb_ptx_block *block);

#endif
