/* SPDX-License-Identifier: MIT
 *
 * The judged kernel's time beside its rival's: batches of calls in turns, on values that
 * both see for the first time, and whose answers are compared.
 */
#ifndef TCB_JUDGE_PAIRED_H
#define TCB_JUDGE_PAIRED_H

#include "judge/hearing.h"

/* Times go to the hearing's verdict, which falls where an answer is wrong. */
enum tcb_status tcb_paired_run(struct tcb_hearing *hearing, struct tcb_error *err);

#endif
