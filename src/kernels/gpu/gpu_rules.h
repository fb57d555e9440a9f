/* SPDX-License-Identifier: MIT
 *
 * The GPU kit: rules (struct tcb_rule) about knobs that mean the same in all GPU
 * kernels, and what the ops' own rules are written with.
 */
#ifndef TCB_KERNELS_GPU_RULES_H
#define TCB_KERNELS_GPU_RULES_H

#include "base/sizes.h"
#include "kernels/constraint.h"
#include "kernels/gpu/hardware.h"

/* The head of a rule's function: why GEOMETRY breaks it for PROBLEM on TARGET, or NULL. */
#define RULE(name)                                                                         \
	static const char *name(const struct tcb_problem *problem __attribute__((unused)), \
				const struct tcb_target *target __attribute__((unused)),   \
				const struct tcb_geometry *geometry __attribute__((unused)))

/* A knob's value as a count; 0 where it is not set. */
unsigned tcb_gpu_knob(const struct tcb_geometry *geometry, enum tcb_knob which);
/* The same of the geometry that is called GEOMETRY, by the knob's name alone: KNOB(WARPS). */
#define KNOB(id) tcb_gpu_knob(geometry, TCB_KNOB_##id)
/* At least 1, for divisors: the rules say what is wrong with other values. */
#define KNOB_COUNT(id) (KNOB(id) ? KNOB(id) : 1)

/* --- what rules share --- */

/* Are all knobs of SET (bits 1 << enum tcb_knob) set, and of the others none but of FREE, and passes? */
int tcb_gpu_sets_knobs(const struct tcb_geometry *geometry, uint64_t set, uint64_t free);
#define KNOB_BIT(id) (UINT64_C(1) << TCB_KNOB_##id)
/* Is GEOMETRY its op's default one, with passes or without?  That is always an element. */
int tcb_gpu_is_default(const struct tcb_problem *problem, const struct tcb_target *target,
		       const struct tcb_geometry *geometry);
/* Why a default space leaves GEOMETRY out: it has more than one of what is UNUSUAL, and is not the default geometry. */
const char *tcb_gpu_unusual(unsigned unusual, const struct tcb_problem *problem, const struct tcb_target *target,
			    const struct tcb_geometry *geometry);

/*
 * SMs that clusters of SIZE blocks, one per SM, can use: the rest of a GPC's that is too small for a cluster stays
 * idle. An H200 (132 SMs) has room for 66 clusters of 2, 30 of 4, 15 of 8 (cuOccupancyMaxActiveClusters).  A cluster
 * too many would begin when all the others end.
 */
unsigned tcb_gpu_cluster_sms(const struct tcb_target *target, unsigned size);

/*
 * Of the knob pdl, for places in a chain (libtcbrt's rt_chain.c finds them): of two calls that do not depend on each
 * other the first OPENS and the second runs BESIDE it (quant_matvec_gpu_emit.c); EARLY reads before it waits what no
 * call of the chain writes (rope_gpu_emit.c, attention_gpu_emit.c).
 */
enum { TCB_PDL_OPENS = 2, TCB_PDL_BESIDE, TCB_PDL_EARLY };

/* --- rules --- */

typedef const char *tcb_gpu_rule(const struct tcb_problem *problem, const struct tcb_target *target,
				 const struct tcb_geometry *geometry);

/* Kernels count rows and columns in 32 bits, with a sign. */
tcb_gpu_rule tcb_gpu_rule_shape;
/* The target has the instructions of isa. */
tcb_gpu_rule tcb_gpu_rule_isa;
/* occ: blocks that an SM is to hold, as many as stay (blocks) where any do. */
tcb_gpu_rule tcb_gpu_rule_occ;
/* pdl: 0 or 1, from sm_90 on. */
tcb_gpu_rule tcb_gpu_rule_pdl;
/* copy: async from sm_80 on, bulk from sm_90 on. */
tcb_gpu_rule tcb_gpu_rule_copy;

#endif
