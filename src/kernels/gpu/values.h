/* SPDX-License-Identifier: MIT
 *
 * The GPU kit, lowest part: the words in which emitters are written, and small
 * pieces of PTX that all of them need.  Nothing here knows of kernels or launches.
 *
 * How an emitter stands on the kit, from the bottom up:
 *   vocabulary.h  the words, one instruction each
 *   values.h   constants, vectors, halves, values of other lanes
 *   barrier.h  mbarriers, clusters, which block is the last
 *   ring.h     slots in shared memory that copies fill ahead
 *   frame.h    a kernel: its launch, its parameters with what they get, its threads
 *   gpu_rules.h  rules that knobs keep whatever the op
 * An op's emit calls tcb_kit_open, for each kernel tcb_kit_begin, its own arithmetic, tcb_kit_end, and tcb_kit_close.
 * reduce2d/reduce2d_gpu.c is the shortest example.
 */
#ifndef TCB_KERNELS_GPU_VALUES_H
#define TCB_KERNELS_GPU_VALUES_H

#include "kernels/gpu/hardware.h"
#include "kernels/gpu/vocabulary.h"

#define OP1 tcb_ptx_op1
#define OP2 tcb_ptx_op2
#define OP3 tcb_ptx_op3
#define OP4 tcb_ptx_op4

/* VALUE in a new register of TYPE ("u32"), where the assembler keeps it. */
kit_op tcb_kit_constant(struct tcb_ptx_build *b, const char *type, kit_op value);
/* BASE + INDEX * BYTES: INDEX .u32, the others .u64. */
kit_op tcb_kit_element(struct tcb_ptx_build *b, kit_op base, kit_op index, unsigned bytes);
/* BASE .u64 + OFFSET .u32 */
kit_op tcb_kit_behind(struct tcb_ptx_build *b, kit_op base, kit_op offset);

/* WIDTH registers that are one vector, or the only one of them. */
kit_op tcb_kit_vector(struct tcb_ptx_build *b, const kit_op *values, unsigned width);
/* "ld.shared", "f32", 4: the mnemonic of an access to as many of that type. */
const char *tcb_kit_access(struct tcb_ptx_build *b, const char *prefix, const char *type, unsigned width);
/* WIDTH values in one access: to new registers, to those that are there, and from them. */
void tcb_kit_load(struct tcb_ptx_build *b, const char *prefix, const char *type, kit_op address, kit_op *out,
		  unsigned width);
void tcb_kit_load_into(struct tcb_ptx_build *b, const char *prefix, const char *type, kit_op address, const kit_op *to,
		       unsigned width);
void tcb_kit_store(struct tcb_ptx_build *b, const char *prefix, const char *type, kit_op address, const kit_op *values,
		   unsigned width);

/* WORD as its two halves; as the floats that these are; and two floats as halves in a word, LOW in its lower one. */
void tcb_kit_halves(struct tcb_ptx_build *b, kit_op word, kit_op out[2]);
void tcb_kit_floats(struct tcb_ptx_build *b, kit_op word, kit_op out[2]);
kit_op tcb_kit_pack_f16(struct tcb_ptx_build *b, kit_op low, kit_op high);

/* VALUE of the lane whose number differs in the bit DISTANCE. */
kit_op tcb_kit_butterfly(struct tcb_ptx_build *b, kit_op value, unsigned distance);
/* VALUE combined by OP (f_max) over groups of LANES lanes, in every lane. */
kit_op tcb_kit_over_lanes(struct tcb_ptx_build *b, kit_word *op, kit_op value, unsigned lanes);
/* VALUES combined by OP in up to four chains, these in a tree. */
kit_op tcb_kit_fold(struct tcb_ptx_build *b, kit_word *op, const kit_op *values, unsigned count);
/* SUMS += A * X: 16 rows by 8 columns, 16 of k, halves to floats; in the order of mma.sync's registers. */
void tcb_kit_multiply_f16(struct tcb_ptx_build *b, kit_op sums[4], const kit_op a[4], const kit_op x[2]);
/* Begins a loop's body: the assembler leaves it as it is, and its registers as they are estimated. */
void tcb_kit_nounroll(struct tcb_ptx_build *b);

#endif
