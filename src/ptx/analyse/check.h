/* SPDX-License-Identifier: MIT
 *
 * Judging PTX that anybody wrote, without running it: is it legal, are its
 * barriers safe, its accesses aligned, conflict-free and coalesced, and how
 * many registers will it need.  `tcbtune ptx check` is a shell around this.
 *
 *     tcb_ptx_check(module, &options, &sink, &report, err);
 */
#ifndef TCB_PTX_CHECK_H
#define TCB_PTX_CHECK_H

#include "ptx/analyse/predict.h"

/* How a kernel is launched. */
struct tcb_ptx_check_launch {
	const char *entry; /* NULL: every kernel */
	uint32_t block[3]; /* threads; zeros: what .reqntid or .maxntid says, else 256 x 1 x 1 */
	uint64_t dynamic_shared;
	int is_for_all; /* BLOCK was given for several kernels at once: it is this one's only if its directives allow
			 * it, and what it proves is no error */
};

struct tcb_ptx_check_options {
	struct tcb_ptx_target target; /* the device that it is for; 0: the module's own */
	const struct tcb_ptx_check_launch *launches;
	size_t launch_count;
	int is_accepted; /* an assembler takes the text: what cannot be read is the parser's fault */
};

enum tcb_ptx_block_source { TCB_PTX_BLOCK_GIVEN, TCB_PTX_BLOCK_BOUNDS, TCB_PTX_BLOCK_ASSUMED };

/* One memory access of a kernel and what it will cost. */
struct tcb_ptx_check_access {
	const struct tcb_ptx_ins *ins;
	unsigned operand;
	struct tcb_ptx_prediction prediction;
};

/* What was found of one kernel. */
struct tcb_ptx_check_kernel {
	const struct tcb_ptx_function *function;
	uint32_t block[3];
	enum tcb_ptx_block_source block_source;
	int is_for_all;          /* the block was given for several kernels at once */
	uint64_t dynamic_shared; /* of the launch */
	unsigned instructions, blocks, loops;
	unsigned errors; /* found of it, or by the verifier of the module */
	unsigned pressure, predicate_pressure;
	unsigned register_estimate, register_least, register_most; /* nine of ten kernels are in that range */
	uint32_t peak_line;                                        /* where the pressure is highest; 0: nowhere */
	uint64_t shared_static; /* bytes of its own and of the module's variables that it names */
	int uses_dynamic_shared;
	/* of shared and global memory, in the order of the text; in the module's arena */
	struct tcb_ptx_check_access *accesses;
	size_t access_count;
};

struct tcb_ptx_check_report {
	struct tcb_ptx_check_kernel *kernels; /* in the module's arena */
	size_t kernel_count;
	unsigned count[3]; /* findings, by enum tcb_ptx_severity */
};

/* Every finding goes to SINK.  MODULE computes the same afterwards, but is not to be printed: see webs.h.  A status is
 * for what is wrong with the call, not with the PTX. */
enum tcb_status tcb_ptx_check(struct tcb_ptx_module *module, const struct tcb_ptx_check_options *options,
			      const struct tcb_ptx_sink *sink, struct tcb_ptx_check_report *out, struct tcb_error *err);

#endif
