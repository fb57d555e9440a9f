/* SPDX-License-Identifier: MIT
 *
 * The reference's loops with 512-bit vectors.
 */
#include "kernels/reference_tiles_x86.h"

const struct tcb_reference_tiles tcb_reference_tiles_avx512 = { tile_wide, tile_sizes, tile_slim };
