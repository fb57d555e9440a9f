/* SPDX-License-Identifier: MIT
 *
 * What was read of foreign text only as text, or not at all.
 */
#ifndef TCB_PTX_UNREAD_H
#define TCB_PTX_UNREAD_H

#include "ptx/ir/finding.h"

/* Advice for each function with opaque instructions; a finding for each of them that breaks a rule, and for each part
 * that could not be read.  IS_ACCEPTED: an assembler takes the text, so none of this is an error. */
void tcb_ptx_report_unread(const struct tcb_ptx_module *module, int is_accepted, const struct tcb_ptx_sink *sink);

#endif
