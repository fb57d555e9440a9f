/* SPDX-License-Identifier: MIT
 *
 * Values that butterflies of shuffles make the same in a warp.  Of the uniformity
 * analysis only.
 */
#ifndef TCB_PTX_BUTTERFLY_H
#define TCB_PTX_BUTTERFLY_H

#include "ptx/analyse/values/lane_bits.h"

/* By register, in the module's arena: whether it is such a value.  Wants ENV's bits only.  NULL without memory. */
uint8_t *tcb_ptx_butterflies(struct tcb_ptx_lane_env *env);

#endif
