/* SPDX-License-Identifier: MIT
 *
 * Loads through the read-only path (ld.global.nc) of what the same launch stores.
 */
#ifndef TCB_PTX_NONCOHERENT_H
#define TCB_PTX_NONCOHERENT_H

#include "ptx/analyse/values/affine.h"

/* race: an error where a thread surely loads so what one surely stored before, a warning where only a condition decides
 * that both happen.  IS_EXACT: all threads of the block exist; else only what a thread does by itself is looked at, and
 * thread 0 alone surely exists.  AFFINE is of FUNCTION, an entry. */
enum tcb_status tcb_ptx_noncoherent(struct tcb_ptx_function *function, struct tcb_ptx_affine *affine, int is_exact,
				    const struct tcb_ptx_sink *sink, struct tcb_error *err);

#endif
