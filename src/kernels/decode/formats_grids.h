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

/* The same entries as places in the list of magnitudes (tables of formats.h): of two bits those of an entry's first
 * four values, then of the last four; of three, each in a nibble, those of the first two, then of the last two. */
extern const uint8_t tcb_places_iq2_xxs[2][256], tcb_places_iq2_xs[2][512], tcb_places_iq3_xxs[2][256];

extern const uint64_t tcb_bit_masks[256];

#endif
