/* SPDX-License-Identifier: MIT
 *
 * What is asynchronous in a kernel, judged without running it: copies that are
 * read before they are there, mbarriers, proxies, wgmma, launches that overlap,
 * registers that warps hand to each other, and masks of warps.  docs/ptx.md has
 * the rules with the sections of the PTX ISA that they are from.
 */
#ifndef TCB_PTX_ASYNC_H
#define TCB_PTX_ASYNC_H

#include "ptx/analyse/values/affine.h"

/* AFFINE is of FUNCTION.  BLOCK_SINK gets what is of threads of AFFINE's block, SINK the rest.  An error is a proof. */
enum tcb_status tcb_ptx_check_async(struct tcb_ptx_affine *affine, struct tcb_ptx_function *function,
				    const struct tcb_ptx_sink *sink, const struct tcb_ptx_sink *block_sink,
				    struct tcb_error *err);

#endif
