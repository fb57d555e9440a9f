/* SPDX-License-Identifier: MIT
 *
 * What a GPU can do at best with a problem's bytes: kernels that read all that
 * the op streams (or copy, where it writes as much as it reads), and compute
 * nothing.  Measured beside the candidates, they are the limit that results
 * are compared with.
 */
#ifndef TCB_KERNELS_LIMIT_H
#define TCB_KERNELS_LIMIT_H

#include "kernels/code.h"

/* One unit for each way of reading; the fastest is the limit.  DEPENDENT: with programmatic dependent launch.  The
 * image is the caller's: free(). */
enum tcb_status tcb_limit_image(const struct tcb_problem *problem, const struct tcb_target *target, int dependent,
				struct tcb_code_image **out, struct tcb_error *err);

#endif
