/* SPDX-License-Identifier: MIT
 *
 * Writing PTX: a builder stands at the end of one block of one function and
 * appends instructions by their mnemonic, as the opcode table knows them:
 *
 *     struct tcb_ptx_operand row = tcb_ptx_op2(b, "mad.lo.s32", ...);
 *     tcb_ptx_load(b, "ld.global.nc.v4.b32", tcb_ptx_at(w, 16), q, 4);
 *
 * Values are operands by value.  Results are new registers of the type that the
 * mnemonic implies; tcb_ptx_into writes a register that exists, as a loop's
 * carried values need.  Every instruction is held against the legality rules
 * when it is appended, alignment when the kernel ends.  The first error sticks:
 * everything after it does nothing and returns the sink operand, and
 * tcb_ptx_build_finish reports it with the rule's name and the instruction.
 *
 * Alignment: a vector access (and whatever else faults: cp.async, ldmatrix,
 * bulk copies) is accepted only where the builder can prove it.  What is known
 * of a register (its rest modulo a power of two, for all its definitions
 * together) follows from parameters, symbols, constants, shifts, additions,
 * multiplications and logic, and from tcb_ptx_assume_aligned.  Shared memory is
 * reached through symbols only, also by way of registers.
 */
#ifndef TCB_PTX_BUILD_H
#define TCB_PTX_BUILD_H

#include "base/util.h"
#include "ptx/ir/ir.h"

enum { TCB_PTX_LOOP_DEPTH_MAX = 16, TCB_PTX_SCOPES_MAX = 32 };

/* An if or a loop that was begun. */
struct tcb_ptx_scope {
	struct tcb_ptx_block *otherwise, *join; /* of an if */
	int has_else;
	struct tcb_ptx_loop *loop; /* of a loop */
	struct tcb_ptx_block *header, *exit;
	struct tcb_ptx_operand iv, end, step;
};

struct tcb_ptx_build {
	struct tcb_ptx_module *module;
	struct tcb_ptx_function *function;
	struct tcb_ptx_block *block; /* where the next instruction goes */
	struct tcb_ptx_loop *loop;   /* the innermost open one */
	uint32_t guard;              /* predicate of the next instructions; TCB_PTX_NO_REG for none */
	int guard_negated;
	unsigned label_count;
	struct tcb_ptx_symbol *dynamic;    /* the kernel's dynamic shared memory */
	struct tcb_ptx_build_cache *cache; /* mnemonics resolved before */
	struct tcb_ptx_scope scope[TCB_PTX_SCOPES_MAX];
	unsigned depth; /* how many of them are open */
	enum tcb_status status;
	struct tcb_error error;
};

/* --- a module: from create to finish --- */

/* A module for TARGET, at the least .version that it and the instructions used need (raised as they are appended). */
enum tcb_status tcb_ptx_build_init(struct tcb_ptx_build *b, const struct tcb_ptx_target *target, struct tcb_error *err);
/* Verifies and hands the module over (owned by the caller); on error the module is gone and ERR names the rule. */
enum tcb_status tcb_ptx_build_finish(struct tcb_ptx_build *b, struct tcb_ptx_module **module_out,
				     struct tcb_error *err);

/* Opens an entry; parameters come before the first instruction. */
struct tcb_ptx_function *tcb_ptx_kernel_begin(struct tcb_ptx_build *b, const char *name,
					      const struct tcb_ptx_directives *directives);
/* Closes it; appends ret where the last block lacks a terminator. */
void tcb_ptx_kernel_end(struct tcb_ptx_build *b);
/* A parameter of scalar TYPE ("u32"): its value, loaded. */
struct tcb_ptx_operand tcb_ptx_param(struct tcb_ptx_build *b, const char *type, const char *name);
/* A pointer to global memory that the caller promises to align to ALIGN bytes: its value as a global address. */
struct tcb_ptx_operand tcb_ptx_param_pointer(struct tcb_ptx_build *b, const char *name, unsigned align);
/* A parameter of BYTES bytes passed by value (as a tensor map): its symbol. */
struct tcb_ptx_operand tcb_ptx_param_bytes(struct tcb_ptx_build *b, const char *name, unsigned align, uint64_t bytes);
/* Static shared memory: its symbol, whose address is known to be aligned. */
struct tcb_ptx_operand tcb_ptx_shared(struct tcb_ptx_build *b, const char *name, unsigned align, uint64_t bytes);
/* The block's dynamic shared memory (one per kernel): extern .shared NAME[]. */
struct tcb_ptx_operand tcb_ptx_shared_dynamic(struct tcb_ptx_build *b, const char *name, unsigned align);
/* COUNT words of global memory that nobody writes, WORDS, aligned to 16 bytes: their symbol, the same for all kernels
 * of the module that name them. */
struct tcb_ptx_operand tcb_ptx_words(struct tcb_ptx_build *b, const char *name, const uint32_t *words, size_t count);
/* Keeps NAME for the life of the module and formats it: kernel and symbol names are not copied otherwise. */
const char *tcb_ptx_namef(struct tcb_ptx_build *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* --- operands --- */

struct tcb_ptx_operand tcb_ptx_int(int64_t value);
struct tcb_ptx_operand tcb_ptx_f32(float value);
struct tcb_ptx_operand tcb_ptx_sink_operand(void); /* _ */
struct tcb_ptx_operand tcb_ptx_not(struct tcb_ptx_operand predicate);
/* "tid.x" and the like, as a register. */
struct tcb_ptx_operand tcb_ptx_special(struct tcb_ptx_build *b, const char *name);
/* [base + offset]: BASE a register, a symbol, or an address to move on. */
struct tcb_ptx_operand tcb_ptx_at(struct tcb_ptx_operand base, int64_t offset);
/* [map, {coordinates}] of a tensor copy. */
struct tcb_ptx_operand tcb_ptx_at_tile(struct tcb_ptx_build *b, struct tcb_ptx_operand map,
				       const struct tcb_ptx_operand *coordinates, unsigned count);
/* x|y: two results, as of shfl and setp; either may be the sink. */
struct tcb_ptx_operand tcb_ptx_pair(struct tcb_ptx_build *b, struct tcb_ptx_operand x, struct tcb_ptx_operand y);
/* {items} */
struct tcb_ptx_operand tcb_ptx_vector(struct tcb_ptx_build *b, const struct tcb_ptx_operand *items, unsigned count);
/* A new register of TYPE ("f32", "b32", "pred"). */
struct tcb_ptx_operand tcb_ptx_reg(struct tcb_ptx_build *b, const char *type);
/* States that VALUE (a register) is a multiple of ALIGN, which the builder cannot see; returns VALUE. */
struct tcb_ptx_operand tcb_ptx_assume_aligned(struct tcb_ptx_build *b, struct tcb_ptx_operand value, unsigned align);

/* --- instructions --- */

/* Appends MNEMONIC with SOURCES; returns its result (a new register), or the sink when it has none. */
struct tcb_ptx_operand tcb_ptx_op(struct tcb_ptx_build *b, const char *mnemonic, unsigned count,
				  const struct tcb_ptx_operand *sources);
struct tcb_ptx_operand tcb_ptx_op0(struct tcb_ptx_build *b, const char *mnemonic);
struct tcb_ptx_operand tcb_ptx_op1(struct tcb_ptx_build *b, const char *mnemonic, struct tcb_ptx_operand x);
struct tcb_ptx_operand tcb_ptx_op2(struct tcb_ptx_build *b, const char *mnemonic, struct tcb_ptx_operand x,
				   struct tcb_ptx_operand y);
struct tcb_ptx_operand tcb_ptx_op3(struct tcb_ptx_build *b, const char *mnemonic, struct tcb_ptx_operand x,
				   struct tcb_ptx_operand y, struct tcb_ptx_operand z);
struct tcb_ptx_operand tcb_ptx_op4(struct tcb_ptx_build *b, const char *mnemonic, struct tcb_ptx_operand x,
				   struct tcb_ptx_operand y, struct tcb_ptx_operand z, struct tcb_ptx_operand w);
/* The same with all operands given, results first (mma, shfl with its predicate, carried values). */
void tcb_ptx_into(struct tcb_ptx_build *b, const char *mnemonic, unsigned count,
		  const struct tcb_ptx_operand *operands);
void tcb_ptx_into1(struct tcb_ptx_build *b, const char *mnemonic, struct tcb_ptx_operand d, struct tcb_ptx_operand x);
void tcb_ptx_into2(struct tcb_ptx_build *b, const char *mnemonic, struct tcb_ptx_operand d, struct tcb_ptx_operand x,
		   struct tcb_ptx_operand y);
void tcb_ptx_into3(struct tcb_ptx_build *b, const char *mnemonic, struct tcb_ptx_operand d, struct tcb_ptx_operand x,
		   struct tcb_ptx_operand y, struct tcb_ptx_operand z);
/* COUNT new registers from ADDRESS (as the mnemonic's vector says); OUT receives them. */
void tcb_ptx_load(struct tcb_ptx_build *b, const char *mnemonic, struct tcb_ptx_operand address,
		  struct tcb_ptx_operand *out, unsigned count);
void tcb_ptx_store(struct tcb_ptx_build *b, const char *mnemonic, struct tcb_ptx_operand address,
		   const struct tcb_ptx_operand *values, unsigned count);
/* All instructions until the next call are guarded by PREDICATE (which may be negated). */
void tcb_ptx_guard(struct tcb_ptx_build *b, struct tcb_ptx_operand predicate);
void tcb_ptx_unguard(struct tcb_ptx_build *b);

/* --- control --- */

/* Each end is that of the innermost scope. */
void tcb_ptx_if_begin(struct tcb_ptx_build *b, struct tcb_ptx_operand predicate);
void tcb_ptx_if_else(struct tcb_ptx_build *b);
void tcb_ptx_if_end(struct tcb_ptx_build *b);
/* A counted loop: iv = begin; while (iv < end) { body; iv += step }, tested at the bottom, entered under a guard.
 * Returns iv, .u32.  BEGIN, END, STEP: .u32 registers or immediates.  Without NEVER_EMPTY the loop is skipped when
 * BEGIN >= END. */
struct tcb_ptx_operand tcb_ptx_for_begin(struct tcb_ptx_build *b, struct tcb_ptx_operand begin,
					 struct tcb_ptx_operand end, struct tcb_ptx_operand step, int never_empty);
void tcb_ptx_for_end(struct tcb_ptx_build *b);
/* do { body } while (PREDICATE): for waiting loops. */
void tcb_ptx_repeat_begin(struct tcb_ptx_build *b);
void tcb_ptx_repeat_end(struct tcb_ptx_build *b, struct tcb_ptx_operand predicate);

#endif
