/* SPDX-License-Identifier: MIT
 *
 * Which bits of registers are known, for all threads and all times or for one
 * thread: alignment, uniformity and the counting of barriers rest on it.  Of
 * the analyses only.
 */
#ifndef TCB_PTX_BITS_H
#define TCB_PTX_BITS_H

#include "ptx/ir.h"

/* A bit in neither is unknown.  All bits in both: no value has been seen yet. */
struct tcb_ptx_bits {
	uint64_t zeros, ones;
};

/* What is known or supposed of the launch. */
struct tcb_ptx_shape {
	uint32_t ntid[3];     /* threads of a block where .reqntid says it, else 0 */
	uint32_t ntid_max[3]; /* bounds */
	uint32_t threads_max; /* of a block */
	int whole_warps;      /* %ntid.x is a multiple of 32: warps lie along x */
};

struct tcb_ptx_bit_env {
	const struct tcb_ptx_function *function;
	struct tcb_ptx_shape shape;
	struct tcb_ptx_bits *reg; /* by register */
	const uint8_t *assumed; /* by register: log2 of what a loaded value is supposed to be a multiple of; or NULL */
	/* one thread, asked for register by register (tcb_ptx_bits_eval) */
	const uint32_t *tid; /* NULL: all threads */
	uint8_t *state;      /* by register */
	unsigned depth;
};

/* .reqntid says it all.  Without it a kernel that reads neither %tid.y nor %tid.z is supposed to be launched with
 * one-dimensional blocks of whole warps; any other may have any shape. */
void tcb_ptx_shape_of(const struct tcb_ptx_function *function, struct tcb_ptx_shape *out);

struct tcb_ptx_bits tcb_ptx_bits_special(const struct tcb_ptx_bit_env *env, enum tcb_ptx_special special);

/* Facts of all registers that hold for all threads: the fixed point over all definitions.  ASSUMED may be NULL.
 * The facts are in the arena. */
enum tcb_status tcb_ptx_bits_all(const struct tcb_ptx_function *function, const uint8_t *assumed,
				 struct tcb_ptx_bit_env *out, struct tcb_error *err);
/* The value of REG in the thread ENV->tid, as far as it follows from single definitions; ENV->reg and ENV->state
 * (zeroed for each thread) are the memory of what was found. */
struct tcb_ptx_bits tcb_ptx_bits_eval(struct tcb_ptx_bit_env *env, uint32_t reg);
/* OPERAND as an instruction of WIDTH bits reads it. */
struct tcb_ptx_bits tcb_ptx_bits_read(struct tcb_ptx_bit_env *env, const struct tcb_ptx_operand *operand,
				      unsigned width);
struct tcb_ptx_bits tcb_ptx_bits_add(struct tcb_ptx_bits a, struct tcb_ptx_bits b, int carry);

static inline uint64_t tcb_ptx_low_bits(unsigned count)
{
	return count >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << count) - 1;
}

static inline struct tcb_ptx_bits tcb_ptx_bits_constant(uint64_t value)
{
	return (struct tcb_ptx_bits){ ~value, value };
}

static inline int tcb_ptx_bits_is_constant(struct tcb_ptx_bits bits)
{
	return (bits.zeros ^ bits.ones) == ~(uint64_t)0;
}

/* BITS as a value of WIDTH bits: those above are 0. */
static inline struct tcb_ptx_bits tcb_ptx_bits_cut(struct tcb_ptx_bits bits, unsigned width)
{
	uint64_t mask = tcb_ptx_low_bits(width);

	return (struct tcb_ptx_bits){ bits.zeros | ~mask, bits.ones & mask };
}

/* A value that is at most MOST. */
static inline struct tcb_ptx_bits tcb_ptx_bits_below(uint64_t most)
{
	return tcb_ptx_bits_cut((struct tcb_ptx_bits){ 0, 0 }, most ? 64 - (unsigned)__builtin_clzll(most) : 0);
}

/* Low bits that are surely 0. */
static inline unsigned tcb_ptx_bits_trailing(struct tcb_ptx_bits bits)
{
	return ~bits.zeros ? (unsigned)__builtin_ctzll(~bits.zeros) : 64;
}

#endif
