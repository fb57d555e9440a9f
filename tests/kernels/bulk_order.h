/* SPDX-License-Identifier: MIT
 *
 * For tests of GPU kernels whose warps ask for bulk copies into what they have read themselves.  A bulk copy does not
 * queue behind loads, and a barrier of a warp that has converged becomes nothing in machine code: only what needs a
 * loaded value comes after its load is done.  No run in the emulator shows that, where loads are done at once.
 */
#ifndef TCB_TESTS_BULK_ORDER_H
#define TCB_TESTS_BULK_ORDER_H

#include "kernels/op.h"

/* In the text's order: the first bulk copy of a kernel's last function before which a load from shared memory is whose
 * value nothing has used yet; from 1 on, 0: there is none. */
unsigned bulk_order_early(const struct tcb_kernel *kernel);
/* Makes it so: repeats the last bulk copy behind the last load from shared memory before it. */
void bulk_order_break(const struct tcb_kernel *kernel);

#endif
