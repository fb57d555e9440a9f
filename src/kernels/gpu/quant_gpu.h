/* SPDX-License-Identifier: MIT
 *
 * PTX that GPU kernels with quantised weights share: activations to 8 bits,
 * contract q8 (tcb_quant_codes() of quant.h, up to the rounding of the scale and
 * of its inverse), where a lane has some consecutive values, neighbouring lanes the
 * rest of a group; weights' codes that are in a table; gates.
 */
#ifndef TCB_KERNELS_GPU_QUANT_GPU_H
#define TCB_KERNELS_GPU_QUANT_GPU_H

#include <stdint.h>

#include "kernels/gpu/values.h"
#include "kernels/quant.h"

enum { TCB_QUANT_LANE_VALUES = 8, TCB_QUANT_LANE_MAX = 16 };

/* The bits of the largest magnitude of GROUP values, in all of its lanes, each of which has COUNT of them; as integers,
 * so that a NaN is larger than any number.  COUNT, the lanes of a group: powers of two. */
kit_op tcb_quant_write_largest(struct tcb_ptx_build *b, const kit_op value[], unsigned count, unsigned group);
/* The lane's COUNT values to words of four codes each, of two values one whose upper half is 0; the group's scale, by
 * its LARGEST, is returned: of a group with a NaN or an infinity a NaN. */
kit_op tcb_quant_write_codes(struct tcb_ptx_build *b, const kit_op value[], unsigned count, kit_op largest,
			     kit_op word_out[]);

/* WIDTH activations, as floats to registers TO, which keep what they have where HAS (NULL: everywhere) does not hold;
 * and a result.  In memory they are of TYPE, f32, f16 or bf16; of 16 bits WIDTH is 1 or even. */
void tcb_quant_load_floats(struct tcb_ptx_build *b, const kit_op *has, enum tcb_kit_memory memory, enum tcb_type type,
			   kit_op at, const kit_op *to, unsigned width);
/* VALUE rounded to TYPE; WIDTH (1, 2 or 4) of them stored as that, where a guard says so. */
kit_op tcb_quant_rounded(struct tcb_ptx_build *b, enum tcb_type type, kit_op value);
void tcb_quant_store_floats(struct tcb_ptx_build *b, enum tcb_kit_memory memory, enum tcb_type type, kit_op at,
			    const kit_op *values, unsigned width);
void tcb_quant_put_float(struct tcb_ptx_build *b, const kit_op *has, enum tcb_type type, kit_op at, kit_op value);

/* A table of 16 bytes in registers; and what the eight nibbles of WORD stand for: those of its lower half, then those
 * of its upper one. */
void tcb_quant_write_table(struct tcb_ptx_build *b, const uint8_t bytes[16], kit_op table_out[4]);
void tcb_quant_write_lookup(struct tcb_ptx_build *b, const kit_op table[4], kit_op word, kit_op out[2]);

/* Gate P and up U joined as HOW says, by p / (1 + 2^(-p slope log2(e))); and the ulps of that beside the rounding of
 * exp's argument, which is of the chain: ex2.approx 2^-22.5; the sum and two products half an ulp each; rcp.approx 1.
 * Of gpt-oss's a sum more, and the factor's rounding is one more of the chain. */
kit_op tcb_quant_write_gate(struct tcb_ptx_build *b, const struct tcb_quant_gate *how, kit_op p, kit_op u);
#define TCB_QUANT_SILU_ULPS (1.42 + 1.5 + 1 + 0.1)
#define TCB_QUANT_OAI_ULPS (TCB_QUANT_SILU_ULPS + 0.5)

#endif
