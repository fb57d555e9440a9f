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

/*
 * Of tcb_kit_exp: ex2.approx.ftz.f32 is within 2 ulp over its whole range (CUDA C++ Programming Guide 13.0, table of
 * functions: exp2f), half an ulp for the last rounding, and what the correction leaves.
 */
#define TCB_KIT_EXP_ULPS 2.625

/* X / Y and what is left, X - whole * Y; for a constant Y the assembler multiplies. */
struct kit_split {
	kit_op whole, rest;
};
struct kit_split u_split(struct tcb_ptx_build *b, kit_op x, kit_op y);
/* X / N, rounded up */
kit_op u_div_up(struct tcb_ptx_build *b, kit_op x, unsigned n);
/* BASE + INDEX * BYTES: INDEX .u32, the others .u64. */
kit_op tcb_kit_element(struct tcb_ptx_build *b, kit_op base, kit_op index, unsigned bytes);
/* BASE .u64 + OFFSET .u32 */
/* BASE, where rows are BYTES further apart than they are long, for ROW as if they were not. */
kit_op tcb_kit_past_gaps(struct tcb_ptx_build *b, kit_op base, kit_op row, size_t bytes);
kit_op tcb_kit_behind(struct tcb_ptx_build *b, kit_op base, kit_op offset);

/* WIDTH registers that are one vector, or the only one of them. */
kit_op tcb_kit_vector(struct tcb_ptx_build *b, const kit_op *values, unsigned width);
/* Where a value is, and what is said of it: INPUT, nobody writes it while the kernel runs; ONCE, it is not asked for
 * again, PASSING, hardly; OTHERS, blocks that ran or run wrote it; STREAM, nobody reads it soon; CLUSTER, shared memory
 * of a block of the cluster; RELAXED and ACQUIRE, a flag between blocks. */
enum tcb_kit_memory {
	TCB_KIT_SHARED,
	TCB_KIT_CLUSTER,
	TCB_KIT_GLOBAL,
	TCB_KIT_GLOBAL_ONCE,
	TCB_KIT_INPUT,
	TCB_KIT_INPUT_ONCE,
	TCB_KIT_INPUT_PASSING,
	TCB_KIT_OTHERS,
	TCB_KIT_STREAM,
	TCB_KIT_RELAXED,
	TCB_KIT_ACQUIRE
};
/* INPUT, unless the kernel before may still write it: IS_DEPENDENT. */
enum tcb_kit_memory tcb_kit_input(int is_dependent);
enum tcb_kit_memory tcb_kit_input_once(int is_dependent);

/* WIDTH values of TYPE ("f32") at ADDRESS (a register, or with tcb_ptx_at some bytes behind it) in one access: to new
 * registers, to those that are there, and from them. */
void tcb_kit_load(struct tcb_ptx_build *b, enum tcb_kit_memory memory, const char *type, kit_op address, kit_op *out,
		  unsigned width);
void tcb_kit_load_into(struct tcb_ptx_build *b, enum tcb_kit_memory memory, const char *type, kit_op address,
		       const kit_op *to, unsigned width);
void tcb_kit_store(struct tcb_ptx_build *b, enum tcb_kit_memory memory, const char *type, kit_op address,
		   const kit_op *values, unsigned width);
/* The same of one value. */
kit_op tcb_kit_get(struct tcb_ptx_build *b, enum tcb_kit_memory memory, const char *type, kit_op address);
void tcb_kit_put(struct tcb_ptx_build *b, enum tcb_kit_memory memory, const char *type, kit_op address, kit_op value);
/* The same only in threads for which WHERE holds. */
void tcb_kit_load_where(struct tcb_ptx_build *b, kit_op where, enum tcb_kit_memory memory, const char *type,
			kit_op address, const kit_op *to, unsigned width);
void tcb_kit_store_where(struct tcb_ptx_build *b, kit_op where, enum tcb_kit_memory memory, const char *type,
			 kit_op address, const kit_op *values, unsigned width);
void tcb_kit_put_where(struct tcb_ptx_build *b, kit_op where, enum tcb_kit_memory memory, const char *type,
		       kit_op address, kit_op value);
/* Number INDEX of those, .u32, at BASE. */
kit_op tcb_kit_entry(struct tcb_ptx_build *b, enum tcb_kit_memory memory, kit_op base, kit_op index);

/* Copies in the background, to shared memory: BYTES (4, 8 or 16), of these SOME and then zeros (NULL: all), by each
 * thread; IS_SHARED: its neighbours copy from the same sectors. */
void tcb_kit_copy(struct tcb_ptx_build *b, kit_op to, kit_op from, unsigned bytes, int is_shared, const kit_op *some);

/* WIDE, of 64 bits, as its two words, the lower one first, and back. */
void tcb_kit_words(struct tcb_ptx_build *b, kit_op wide, kit_op out[2]);
kit_op tcb_kit_wide(struct tcb_ptx_build *b, kit_op low, kit_op high);
/* WORD as its two halves; as the floats that these are. */
void tcb_kit_halves(struct tcb_ptx_build *b, kit_op word, kit_op out[2]);
void tcb_kit_floats(struct tcb_ptx_build *b, kit_op word, kit_op out[2]);
/* The four bytes of WORD, E4M3, as halves that are 2^-8 of them: bytes 0 and 1, 2 and 3.  A NaN: one, or 480. */
void tcb_kit_e4m3(struct tcb_ptx_build *b, kit_op word, kit_op out[2]);
/* The same as they are, and NaNs. */
void tcb_kit_e4m3_f16(struct tcb_ptx_build *b, kit_op word, kit_op out[2]);
/* Two floats as halves in a word, LOW in its lower one. */
kit_op tcb_kit_pack_f16(struct tcb_ptx_build *b, kit_op low, kit_op high);
/* The same as halves of TYPE, "f16" or "bf16". */
kit_op tcb_kit_pack(struct tcb_ptx_build *b, const char *type, kit_op low, kit_op high);

/* VALUE of the lane whose number differs in the bit DISTANCE. */
kit_op tcb_kit_butterfly(struct tcb_ptx_build *b, kit_op value, unsigned distance);
/* VALUE combined by OP (f_max) over groups of LANES lanes, in every lane. */
kit_op tcb_kit_over_lanes(struct tcb_ptx_build *b, kit_word *op, kit_op value, unsigned lanes);
/* The same of a .u64 and its maximum. */
kit_op tcb_kit_largest_wide(struct tcb_ptx_build *b, kit_op value, unsigned lanes);
/* exp of a T of at most 0, within TCB_KIT_EXP_ULPS ulps of it (2^-23 of the result); results below 2^-126 are 0.  NaN
 * stays NaN. */
kit_op tcb_kit_exp(struct tcb_ptx_build *b, kit_op t);
/* VALUES combined by OP in up to four chains, these in a tree. */
kit_op tcb_kit_fold(struct tcb_ptx_build *b, kit_word *op, const kit_op *values, unsigned count);
/* SUMS = BEFORE + A * X: 16 rows by 8 columns, K of k; "f16", "bf16" or "tf32" to floats; in the order of mma.sync's
 * registers. */
void tcb_kit_multiply(struct tcb_ptx_build *b, const char *type, unsigned k, const kit_op sums[4],
		      const kit_op before[4], const kit_op *a, const kit_op *x);
/* The same of bytes (A's have no sign without A_IS_SIGNED) to .s32: ROWS, 16 or 8, by 8 columns. */
void tcb_kit_multiply_bytes(struct tcb_ptx_build *b, unsigned rows, unsigned k, int a_is_signed, const kit_op *sums,
			    const kit_op *before, const kit_op *a, const kit_op *x);
/* COUNT matrices of 8 by 8 halves from shared memory, of which each lane says where a row is, to new registers
 * or those that are there; IS_TURNED: rows as columns. */
void tcb_kit_load_matrices(struct tcb_ptx_build *b, int is_turned, kit_op address, kit_op *out, unsigned count);
void tcb_kit_load_matrices_into(struct tcb_ptx_build *b, int is_turned, kit_op address, const kit_op *to,
				unsigned count);
/* SUMS += A * X: 16 rows by 8 columns, 16 of k, halves to floats; on any GPU that has such. */
void tcb_kit_multiply_f16(struct tcb_ptx_build *b, kit_op sums[4], const kit_op a[4], const kit_op x[2]);
/* Begins a loop's body: the assembler leaves it as it is, and its registers as they are estimated. */
void tcb_kit_nounroll(struct tcb_ptx_build *b);

#endif
