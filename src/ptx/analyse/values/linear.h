/* SPDX-License-Identifier: MIT
 *
 * What divides a sum of products, where the same register comes in several times:
 * known bits of each summand alone (bits.h) do not see that 3 x + x is 4 x.  And
 * what an address is a multiple of, where values are unknown thread by thread.
 */
#ifndef TCB_PTX_LINEAR_H
#define TCB_PTX_LINEAR_H

#include "ptx/analyse/values/bits.h"

/* Of the address in OPERAND: the trailing zeros that it has at all times, at most 31.  ENV knows the bits of registers.
 * Needs tcb_ptx_number. */
unsigned tcb_ptx_linear_trailing(const struct tcb_ptx_function *function, struct tcb_ptx_bit_env *env,
				 const struct tcb_ptx_operand *operand);

/* NUMBER bytes and FACTOR times REG behind a variable. */
struct tcb_ptx_linear {
	const struct tcb_ptx_symbol *variable;
	uint32_t number, reg, factor;
};
/* Whether the address in OPERAND is that, modulo 2^32. */
int tcb_ptx_linear_of(const struct tcb_ptx_function *function, const struct tcb_ptx_operand *operand,
		      struct tcb_ptx_linear *out);

#endif
