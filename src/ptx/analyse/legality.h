/* SPDX-License-Identifier: MIT
 *
 * Whether PTX is legal, rule by rule (finding.h lists them).
 *
 * Most of what ptxas rejects is rejected here with a better message, and some
 * things that it accepts though they fault or compute nonsense on the device;
 * tests/ptx/test_legality.c holds each rule against ptxas both ways.
 */
#ifndef TCB_PTX_LEGALITY_H
#define TCB_PTX_LEGALITY_H

#include "ptx/ir/finding.h"

enum {
	TCB_PTX_SHARED_STATIC_MAX = 48 * 1024, /* above it shared memory must be dynamic */
	TCB_PTX_PARAM_BYTES_OLD = 4352,        /* of an entry, up to PTX 8.0 or sm_6x */
	TCB_PTX_PARAM_BYTES_MAX = 32764
};

/* legality.c: every finding goes to SINK; returns their number.  Needs tcb_ptx_cfg; sets the registers' counts
 * (tcb_ptx_number). */
unsigned tcb_ptx_verify_each(struct tcb_ptx_module *module, const struct tcb_ptx_sink *sink);
/* The first finding, or register that any path leaves undefined, as an error: "FUNCTION:LINE: rule: what", or
 * "FUNCTION: 'instruction': rule: what" of what was built. */
enum tcb_status tcb_ptx_verify(struct tcb_ptx_module *module, struct tcb_error *err);

/* legality_ins.c: the rules of one instruction.  1 when it is legal, else FINDING holds the first that it breaks. */
int tcb_ptx_verify_ins(const struct tcb_ptx_function *function, const struct tcb_ptx_ins *ins,
		       struct tcb_ptx_finding *finding);

#endif
