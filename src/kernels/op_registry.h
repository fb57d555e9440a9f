/* SPDX-License-Identifier: MIT
 *
 * The ops that a program knows: those of this build (registry.c), and those
 * that were loaded beside them while it runs.  A registry is made where a
 * program begins, in the command line and in libtcbrt's context, and handed
 * down; a worker process has its tuner's, since it is its fork.
 */
#ifndef TCB_KERNELS_OP_REGISTRY_H
#define TCB_KERNELS_OP_REGISTRY_H

#include "kernels/op.h"

struct tcb_registry {
	const struct tcb_op *const *ops; /* COUNT of them, those of this build first; then NULL */
	size_t count;
	const struct tcb_op **grown; /* OPS, once there are others; owned */
};

/* The ops of this build; finish it with tcb_registry_fini where any are added. */
struct tcb_registry tcb_registry_built_in(void);
void tcb_registry_fini(struct tcb_registry *registry);
/* Adds OP, which must outlive REGISTRY.  TCB_E_USAGE with a line that says why where its name cannot be one (a-z, 0-9
 * and underscores; "all" is every op's) or is taken, where OP lacks what every op has,
 * or where its parameters will not do. */
enum tcb_status tcb_registry_add(struct tcb_registry *registry, const struct tcb_op *op, struct tcb_error *err);
/* NULL if unknown. */
const struct tcb_op *tcb_registry_find(const struct tcb_registry *registry, const char *name);
/* The same for what knows no ops but hands out problems (base/problem.h). */
struct tcb_op_names tcb_registry_names(const struct tcb_registry *registry);

#endif
