/* SPDX-License-Identifier: MIT
 *
 * The value of one instruction whose sources are constants.
 */
#ifndef TCB_PTX_FOLD_VALUE_H
#define TCB_PTX_FOLD_VALUE_H

#include "ptx/ir/opcodes.h"

/* SOURCE: raw bits of each operand, by its index (results included, unused).  1 and the bits of the one result,
 * sign- or zero-extended to 64 as its type says; 0 when the instruction is not computed here or its result is not the
 * same on every device: division by zero, anything that is NaN, approximations. */
int tcb_ptx_fold_value(const struct tcb_ptx_ins *ins, const uint64_t *source, uint64_t *out);
/* VALUE cut to the size of TYPE, then extended as its signedness says. */
uint64_t tcb_ptx_extend(enum tcb_ptx_word type, uint64_t value);

#endif
