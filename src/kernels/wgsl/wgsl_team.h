/* SPDX-License-Identifier: MIT
 *
 * Bringing together values of teams: as many invocations as a power of two, next
 * to each other in a workgroup, which may have several of them.
 */
#ifndef TCB_KERNELS_WGSL_TEAM_H
#define TCB_KERNELS_WGSL_TEAM_H

#include "kernels/wgsl/wgsl.h"

/* What tcb_wgsl_add_tree adds, for each TEAM of the workgroup by itself.  Sums and maxima only. */
void tcb_wgsl_add_team_tree(struct tcb_wgsl *w, const struct tcb_wgsl_tree *tree, unsigned team);
/* Bytes of workgroup memory that it takes, and roundings that a value goes through. */
size_t tcb_wgsl_team_bytes(enum tcb_tree tree, unsigned workgroup, unsigned team);
unsigned tcb_wgsl_team_chain(enum tcb_tree tree, unsigned workgroup, unsigned team);

#endif
