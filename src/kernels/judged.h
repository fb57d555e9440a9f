/* SPDX-License-Identifier: MIT
 *
 * Which stored results of GPUs are of today's kernels, remembered: to tell, a
 * kernel is written as PTX, which takes milliseconds, and the answer changes only
 * with the code that writes it.  Answers are kept in files that name that code
 * by its hash; those of other code are not believed, so that a changed kernel
 * is seen at once.
 */
#ifndef TCB_KERNELS_JUDGED_H
#define TCB_KERNELS_JUDGED_H

#include <stdint.h>

#include "kernels/op.h"

/* A file that is installed with a database has the database's name and this. */
#define TCB_JUDGED_SUFFIX ".judged"

/* From now on answers are remembered in this process, as those of CODE; what other code's are known is forgotten.
 * Before, nothing is remembered. */
void tcb_judged_begin(uint64_t code);
/* Forgets all, as before tcb_judged_begin. */
void tcb_judged_end(void);
/* Adds what the file at PATH has of the same code.  Whatever is wrong with it, it is as if it were not there.  A file
 * that others may write to is not believed. */
void tcb_judged_read(const char *path);
/* Puts all that is known into the file at PATH, where something is known that was not read: beside its place, then
 * renamed.  Its folder must be there; a failure costs the next process the same work, and no more. */
void tcb_judged_write(const char *path);

enum tcb_judgement { TCB_JUDGED_NOT, TCB_JUDGED_CURRENT, TCB_JUDGED_OTHER };
/* What was asked: a result of GEOMETRY, stored with SIGNATURE.  Any thread may ask and add at any time. */
uint64_t tcb_judged_claim(const struct tcb_problem *problem, const struct tcb_target *target,
			  const struct tcb_geometry *geometry, const char *signature);
enum tcb_judgement tcb_judged_find(uint64_t claim);
void tcb_judged_add(uint64_t claim, int is_current);

/* kernels_id.c, generated at build time: the hash of all code that writes kernels. */
uint64_t tcb_kernels_id(void);

#endif
