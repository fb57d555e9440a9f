/* SPDX-License-Identifier: MIT
 *
 * Loops without a way out.
 */
#ifndef TCB_PTX_ENDLESS_H
#define TCB_PTX_ENDLESS_H

#include "ptx/analyse/analyses.h"

/* Reports STEP_LIMIT: an error where nobody who begins FUNCTION ever ends, a warning where only some ways lead into
 * such a loop. */
void tcb_ptx_endless(struct tcb_ptx_function *function, const struct tcb_ptx_sink *sink);

#endif
