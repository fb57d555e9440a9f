/* SPDX-License-Identifier: MIT
 *
 * Of bounds.h: indices that are computed in 32 bits, do not fit them, and are
 * widened to become part of an address.
 */
#ifndef TCB_PTX_BOUNDS_OVERFLOW_H
#define TCB_PTX_BOUNDS_OVERFLOW_H

#include "ptx/analyse/bounds_rounds.h"
#include "ptx/analyse/witness.h"

/* index-overflow: an error where a signed index of one of the first THREADS, which surely comes, does not fit; a
 * warning where it is unsigned, since that wraps around by definition.  FITS: zeros, one for each instruction. */
void tcb_ptx_bounds_overflow(struct tcb_ptx_rounds *rounds, const struct tcb_ptx_coming *coming, uint32_t threads,
			     uint8_t *fits, const struct tcb_ptx_sink *sink);

#endif
