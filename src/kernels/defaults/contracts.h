/* SPDX-License-Identifier: MIT
 *
 * Which contracts may stand for each other: f32 is more exact than f16, and that than q8.  A caller who would be
 * content with one of them can be served under a more exact one, where operands are of the same types.
 */
#ifndef TCB_KERNELS_DEFAULTS_CONTRACTS_H
#define TCB_KERNELS_DEFAULTS_CONTRACTS_H

#include "kernels/op.h"

/* OP's contracts at SHAPE that are at least as exact as LEAST, one of OP's, and take the same operands: bit 1u << enum
 * tcb_contract.  With TARGET (NULL: any) only those that OP has kernels for there; LEAST itself is always among them,
 * and with the word bits alone. */
unsigned tcb_contracts_from(const struct tcb_op *op, const struct tcb_shape *shape, const struct tcb_target *target,
			    enum tcb_contract least);
/* Of CONTRACTS, which hold LEAST, the one to take at SHAPE where nothing was measured. */
enum tcb_contract tcb_contract_usual(const struct tcb_op *op, const struct tcb_shape *shape,
				     const struct tcb_target *target, unsigned contracts, enum tcb_contract least);

#endif
