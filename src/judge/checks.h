/* SPDX-License-Identifier: MIT
 *
 * Calls that are not timed, each of which a kernel gets wrong that does not compute its
 * answer from its inputs when it is called.
 */
#ifndef TCB_JUDGE_CHECKS_H
#define TCB_JUDGE_CHECKS_H

#include "judge/hearing.h"

/* What the task's values are like: would an answer pass that does not depend on the inputs?  Then tolerances become
 * narrower, HEARING's, or the verdict falls.  The rival is held against who says what is right. */
enum tcb_status tcb_checks_survey(struct tcb_hearing *hearing, struct tcb_error *err);
/* All checks at HEARING's size; IS_MAIN: at the one that is timed. */
enum tcb_status tcb_checks_run(struct tcb_hearing *hearing, int is_main, struct tcb_error *err);

#endif
