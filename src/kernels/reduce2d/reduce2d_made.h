/* SPDX-License-Identifier: MIT
 *
 * An op made of an identity and a combine (reduce2d_program.h) while a program runs, to be
 * added to its registry: reduce2d_NAME.  Its variants are signed by what combines and by the
 * machine code that interprets it, so that stored results go stale with either.
 */
#ifndef TCB_KERNELS_REDUCE2D_MADE_H
#define TCB_KERNELS_REDUCE2D_MADE_H

#include "kernels/op.h"

struct reduce2d_made;

/* TCB_E_USAGE with what is wrong of the texts.  NAME: what the registry says of names is its business. */
enum tcb_status reduce2d_make(const char *name, const char *identity, const char *combine, struct reduce2d_made **out,
			      struct tcb_error *err);
void reduce2d_made_destroy(struct reduce2d_made *made);
const struct tcb_op *reduce2d_made_op(const struct reduce2d_made *made);

#endif
