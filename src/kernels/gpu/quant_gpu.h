/* SPDX-License-Identifier: MIT
 *
 * PTX that GPU kernels with quantised weights share: activations to 8 bits,
 * contract q8 (tcb_quant_codes() of quant.h, up to the rounding of the scale and
 * of its inverse).  A lane has eight consecutive values, neighbouring lanes the
 * rest of a group.
 */
#ifndef TCB_KERNELS_GPU_QUANT_GPU_H
#define TCB_KERNELS_GPU_QUANT_GPU_H

#include "kernels/gpu/values.h"

enum { TCB_QUANT_LANE_VALUES = 8 };

/* The bits of the largest magnitude of GROUP values, in all of its lanes; as integers, so that a NaN is larger than
 * any number. */
kit_op tcb_quant_write_largest(struct tcb_ptx_build *b, const kit_op value[], unsigned group);
/* The lane's values to two words of codes; the group's scale, by its LARGEST, is returned. */
kit_op tcb_quant_write_codes(struct tcb_ptx_build *b, const kit_op value[], kit_op largest, kit_op word_out[2]);

#endif
