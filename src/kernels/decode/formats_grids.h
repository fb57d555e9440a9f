/* SPDX-License-Identifier: MIT
 *
 * What the codes of the IQ formats stand for: each names an entry of a grid,
 * eight or four values, a byte each, the first in the lowest.  And masks: bit I of
 * the place says whether byte I is 0xff or 0.
 */
#ifndef TCB_KERNELS_FORMATS_GRIDS_H
#define TCB_KERNELS_FORMATS_GRIDS_H

#include <stdint.h>

extern const uint64_t tcb_grid_iq2_xxs[256], tcb_grid_iq2_xs[512], tcb_grid_iq2_s[1024];
extern const uint32_t tcb_grid_iq3_xxs[256], tcb_grid_iq3_s[512];
extern const uint64_t tcb_grid_iq1[2048]; /* signed, eighths: -8, 0 or 8 */

extern const uint64_t tcb_bit_masks[256];

#endif
