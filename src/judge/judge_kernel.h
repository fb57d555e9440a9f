/* SPDX-License-Identifier: MIT
 *
 * A kernel that a model or a stranger wrote: is it right, and really that fast?
 * Before anything that it must not know is drawn, it is compiled and loaded, in a process of its own, at
 * all sizes that it will be asked for.
 */
#ifndef TCB_JUDGE_JUDGE_KERNEL_H
#define TCB_JUDGE_JUDGE_KERNEL_H

#include "judge/ruling.h"

enum { TCB_JUDGE_SIZES = 2 }; /* others than the one that is timed */

/* A status is the judge's trouble; whatever the kernel does is in VERDICT. */
enum tcb_status tcb_judge_kernel(const struct tcb_judge_options *options, struct tcb_ruling *verdict,
				 struct tcb_error *err);
/* FILE's arguments are those of TASK.  TCB_E_USAGE says what differs. */
enum tcb_status tcb_judge_alike(const struct tcb_kernel_file *task, const struct tcb_kernel_file *file,
				struct tcb_error *err);
/* The options of FILE for its compiler make code, and run no programs. */
enum tcb_status tcb_judge_compiler_options(const struct tcb_kernel_file *file, struct tcb_error *err);

#endif
