/* SPDX-License-Identifier: MIT
 *
 * What a kernel does wrong whatever its arguments are: its first cluster of
 * blocks is executed with arguments, memory and a grid that nobody knows, as far
 * as it goes without knowing them.  For pipelines of mbarriers, named barriers
 * and copies, whose order is counted and not seen in the text.
 *
 *     tcb_ptx_check(module, &options, &sink, &report, err);
 *     tcb_ptx_certain(&report, &sink, err);
 */
#ifndef TCB_PTX_CERTAIN_H
#define TCB_PTX_CERTAIN_H

#include "ptx/analyse/check.h"

/* Of the kernels of REPORT, as tcb_ptx_check left them and their module, those whose block is certain and in which it
 * found no error.  Findings go to SINK and are counted in REPORT.  A status is for want of memory only. */
enum tcb_status tcb_ptx_certain(struct tcb_ptx_check_report *report, const struct tcb_ptx_sink *sink,
				struct tcb_error *err);

#endif
