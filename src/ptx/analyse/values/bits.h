/* SPDX-License-Identifier: MIT
 *
 * Which bits of registers are known, for all threads and all times or for one
 * thread: alignment, uniformity and the counting of barriers rest on it.  Of
 * the analyses only.
 */
#ifndef TCB_PTX_BITS_H
#define TCB_PTX_BITS_H

#include "ptx/analyse/values/bits_launch.h"

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

#endif
