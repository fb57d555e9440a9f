/* SPDX-License-Identifier: MIT
 *
 * The GPU kernels of all ops, as their default geometries have them, in the
 * emulator and in the assembler.
 */
#ifndef TCB_VERIFY_MEASURE_EMULATED_H
#define TCB_VERIFY_MEASURE_EMULATED_H

#include "kernels/emulation.h"
#include "verify/claim.h"

/* What a kernel did; 0 returned by EACH goes on. */
typedef int tcb_emulated_fn(void *ctx, const struct tcb_op *op, const struct tcb_kernel_emulation *emulation);

/* Of the ops that the lab asks for, on CAPABILITY, at a small shape: of whole tiles, or with IS_ODD of none.  Calls
 * EACH for those that can be emulated.  0: OUT says why not. */
int tcb_emulate_ops(struct tcb_claim_lab *lab, unsigned capability, int is_odd, tcb_emulated_fn *each, void *ctx,
		    struct tcb_finding *out);

struct tcb_assembled_sum {
	unsigned kernels, spill_bytes, registers_most;
	char first_spilled[40]; /* op; empty: none */
};
/* All ops' defaults at their first shapes on CAPABILITY; REGISTERS: held to so many, 0: as they are.  0: OUT says why
 * not. */
int tcb_assemble_ops(struct tcb_claim_lab *lab, unsigned capability, unsigned registers, struct tcb_assembled_sum *sum,
		     struct tcb_finding *out);

#endif
