/* SPDX-License-Identifier: MIT
 *
 * The WGSL kit: rules (struct tcb_rule) about what all its kernels have, and axes
 * that several have.  What rules are written with is gpu/gpu_rules.h's.
 */
#ifndef TCB_KERNELS_WGSL_WGSL_RULES_H
#define TCB_KERNELS_WGSL_WGSL_RULES_H

#include "kernels/gpu/gpu_rules.h"

/* Are all knobs of SET (KNOB_BIT) set, and of the others none but of FREE? */
int tcb_wgsl_sets_knobs(const struct tcb_geometry *geometry, uint64_t set, uint64_t free);

/* workgroup: a power of two, no more than kernels are written for. */
tcb_gpu_rule tcb_wgsl_rule_workgroup;
/* tree: subgroup where the device has subgroups. */
tcb_gpu_rule tcb_wgsl_rule_tree;
/* Every operand fits in a binding. */
tcb_gpu_rule tcb_wgsl_rule_bindings;
/* Bytes of every operand, rounded up, are numbers of 32 bits. */
tcb_gpu_rule tcb_wgsl_rule_size;

/* One more axis of OUT, the trees that TARGET has, of those that rule leaves. */
struct tcb_axis *tcb_wgsl_axis_tree(struct tcb_axis *out, size_t *count, const struct tcb_target *target);

#define TCB_WGSL_READS_TREE (TCB_FIELD_KNOB(WORKGROUP) | TCB_FIELD_KNOB(TREE))

#endif
