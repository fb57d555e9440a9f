/* SPDX-License-Identifier: MIT
 *
 * What a GPU's kernel does that a GPU does not tell: races, accesses beside its operands,
 * memory that nobody wrote; found by running it in the emulator of PTX.
 */
#ifndef TCB_JUDGE_RACES_H
#define TCB_JUDGE_RACES_H

#include "judge/ruling.h"

/* The judged kernel at SHAPE.  Where it is in no PTX, cannot be emulated or takes too long, the verdict says that this
 * was not tried. */
enum tcb_status tcb_races_look(const struct tcb_judge_options *options, const struct tcb_shape *shape,
			       struct tcb_ruling *verdict, struct tcb_error *err);

#endif
