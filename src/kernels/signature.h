/* SPDX-License-Identifier: MIT
 *
 * Which kernel a result is of: the signature that is stored with it, and
 * whether today's kernel still has it.  What is written otherwise and does the
 * same keeps its signature: a comment changes none.
 *
 *   CPU  a variant's: its machine code, that of what it calls and runs with, and the constants that they read
 *        (code_signature.c, at build time).
 *   GPU  a candidate's own: its text, its launches with arguments and tensors, and what its layout makes of weights.
 *        It takes as long as writing the text, some milliseconds; judged.h remembers what came of it.
 *   loaded  a variant's, which its loader made of the source (tcb_source_sign), whatever that is.
 */
#ifndef TCB_KERNELS_SIGNATURE_H
#define TCB_KERNELS_SIGNATURE_H

#include "base/util.h"
#include "kernels/op.h"

/* Of a problem: hashes of what layouts make of its weights, as they are asked for.  Zeroed before the first use. */
struct tcb_packings {
	uint64_t hash[TCB_LAYOUT_COUNT];
	unsigned char is_known[TCB_LAYOUT_COUNT];
};

/* Adds all of KERNEL but its text: bytes and launches, a line each. */
void tcb_kernel_describe(const struct tcb_kernel *kernel, struct tcb_str *out);
/* The signature of a kernel by its SOURCE, text or bytes of any kind, and by the REST of what decides what it does. */
void tcb_source_sign(const struct tcb_str *source, const struct tcb_str *rest, char out[TCB_SIGNATURE_MAX]);
/* KERNEL's signature; TEXT: it printed (tcb_kernel_print).  PACKINGS is of KERNEL's problem.  TCB_E_NOMEM. */
enum tcb_status tcb_kernel_sign(const struct tcb_kernel *kernel, const struct tcb_str *text,
				struct tcb_packings *packings, char out[TCB_SIGNATURE_MAX], struct tcb_error *err);

/* The kernel of PROBLEM's candidate GEOMETRY on TARGET: its variant's name and its signature.  TCB_E_ILLEGAL, both
 * empty, where there is none. */
enum tcb_status tcb_candidate_identify(const struct tcb_problem *problem, const struct tcb_target *target,
				       const struct tcb_geometry *geometry, struct tcb_packings *packings,
				       char variant_out[TCB_VARIANT_NAME_MAX], char signature_out[TCB_SIGNATURE_MAX],
				       struct tcb_error *err);
/* Is a result that was stored with SIGNATURE one of today's kernel? */
int tcb_candidate_is_current(const struct tcb_problem *problem, const struct tcb_target *target,
			     const struct tcb_geometry *geometry, const char *signature, struct tcb_packings *packings);
/*
 * Of COUNT stored trials of PROBLEM those of today's kernels come first, in their order; how many they are.  All
 * processors look, from the last one on, where those are that finals took; after SECONDS (0: no limit) the rest is
 * unseen and taken for other kernels'.
 */
struct tcb_current {
	size_t count, unseen;
};
enum tcb_status tcb_trials_current(const struct tcb_problem *problem, const struct tcb_target *target,
				   struct tcb_trial *trials, size_t count, double seconds, struct tcb_current *out,
				   struct tcb_error *err);

/* same_kernels.c: signatures that earlier versions stored (hashes of sources), of kernels that are proven to be
 * today's: 1 if SIGNATURE is one of OP's VARIANT. */
int tcb_signature_is_proven(const struct tcb_op *op, const struct tcb_variant *variant, const char *signature);

#endif
