/* SPDX-License-Identifier: MIT
 *
 * A specimen: a small kernel of PTX text on which a claim is tried: checked,
 * changed by a pass, or run in the emulator.  Registers %r (32 bits), %rd, %rs,
 * %f, %fd and %p are declared, 64 of each.
 */
#ifndef TCB_VERIFY_SPECIMEN_H
#define TCB_VERIFY_SPECIMEN_H

#include "ptx/run/run.h"
#include "verify/claim.h"

struct tcb_specimen {
	struct tcb_ptx_module *module;
	struct tcb_ptx_function *kernel;
	struct tcb_ptx_run *run; /* of the last run */
};

enum { TCB_SPECIMEN_ARGUMENTS = 6 };
struct tcb_specimen_run {
	const char *arguments[TCB_SPECIMEN_ARGUMENTS]; /* as of tcb_ptx_run_argument, up to a NULL */
	const void *data[TCB_SPECIMEN_ARGUMENTS];      /* of a buffer, in place of its FILL; NULL: as that says */
	unsigned grid, block;
	uint64_t seed; /* order of warps */
	/* out */
	struct tcb_ptx_emulation counts;
	unsigned found[TCB_PTX_RULE_COUNT]; /* errors by rule */
	unsigned errors;
};

/* Each is 0 after a failure, of which OUT then tells as not run. */
int tcb_specimen_open(struct tcb_specimen *specimen, const char *parameters, const char *body, struct tcb_finding *out);
int tcb_specimen_run(struct tcb_specimen *specimen, struct tcb_specimen_run *run, struct tcb_finding *out);
/* CHANGED_OUT: instructions that the pass NAME changed or removed. */
int tcb_specimen_pass(struct tcb_specimen *specimen, const char *name, unsigned *changed_out, struct tcb_finding *out);
/* FOUND[rule]: errors and warnings; of BLOCK threads.  The specimen is good for nothing else afterwards. */
int tcb_specimen_check(struct tcb_specimen *specimen, unsigned block, unsigned found[TCB_PTX_RULE_COUNT],
		       struct tcb_finding *out);
void tcb_specimen_close(struct tcb_specimen *specimen);

/* The data of argument INDEX of the last run. */
const uint8_t *tcb_specimen_buffer(const struct tcb_specimen *specimen, unsigned index);
/* Instructions whose mnemonic begins with PREFIX; "" counts all. */
unsigned tcb_specimen_count(const struct tcb_specimen *specimen, const char *prefix);
/* The kernel as text; finish with tcb_str_fini. */
void tcb_specimen_text(const struct tcb_specimen *specimen, struct tcb_str *out);

#endif
