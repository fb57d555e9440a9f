/* SPDX-License-Identifier: MIT
 *
 * PTX that GPU kernels with quantised weights share: activations to 8 bits,
 * contract q8 (tcb_quant_codes() of quant.h, up to the rounding of the scale and
 * of its inverse).  A lane has eight consecutive values, neighbouring lanes the
 * rest of a group.
 */
#ifndef TCB_KERNELS_QUANT_GPU_H
#define TCB_KERNELS_QUANT_GPU_H

#include "ptx/build.h"

enum { TCB_QUANT_LANE_VALUES = 8 };

/* The bits of the largest magnitude of GROUP values, in all of its lanes; as integers, so that a NaN is larger than
 * any number. */
struct tcb_ptx_operand tcb_quant_write_largest(struct tcb_ptx_build *b, const struct tcb_ptx_operand value[],
					       unsigned group);
/* The lane's values to two words of codes; the group's scale, by its LARGEST, is returned. */
struct tcb_ptx_operand tcb_quant_write_codes(struct tcb_ptx_build *b, const struct tcb_ptx_operand value[],
					     struct tcb_ptx_operand largest, struct tcb_ptx_operand word_out[2]);
/* VALUE of the lane whose number differs in the bit DISTANCE. */
struct tcb_ptx_operand tcb_quant_write_butterfly(struct tcb_ptx_build *b, struct tcb_ptx_operand value,
						 unsigned distance);

#endif
