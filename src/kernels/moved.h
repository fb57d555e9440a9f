/* SPDX-License-Identifier: MIT
 *
 * The bytes that a problem cannot do without, as kernels that compute nothing
 * read or copy them: what limits are measured with, in any language.
 */
#ifndef TCB_KERNELS_MOVED_H
#define TCB_KERNELS_MOVED_H

#include "kernels/op.h"

enum { TCB_MOVED_PIECE = 16, TCB_MOVED_FROM_MAX = 2 };

/* The operands that are read, and where one is copied to, the outputs one after another; two are brought together in
 * one output. */
struct tcb_moved {
	size_t from[TCB_MOVED_FROM_MAX], count;
	size_t bytes, other_bytes; /* of the first; of the second: as many, or less where nothing is written */
	size_t to[TCB_OUTPUTS_MAX], pieces[TCB_OUTPUTS_MAX], outputs; /* 0: nothing is written */
};

struct tcb_moved tcb_moved_find(const struct tcb_problem *problem);

#endif
