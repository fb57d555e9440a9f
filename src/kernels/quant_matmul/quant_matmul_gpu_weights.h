/* SPDX-License-Identifier: MIT
 *
 * The quantised matmuls on GPUs: a lane's weights of a unit, from memory to the
 * registers of A.
 */
#ifndef TCB_KERNELS_QUANT_MATMUL_GPU_WEIGHTS_H
#define TCB_KERNELS_QUANT_MATMUL_GPU_WEIGHTS_H

#include "kernels/quant_matmul/quant_matmul_gpu_writer.h"

/* A lane's weights of a unit, as loaded, and its scales: pairs of halves, of its two rows.  Of expanded formats code[i]
 * and high[i] are of piece i % 2 of row i / 2, a row's header the one or two words of a piece's fields, then the
 * other's.  Values of 16 bits are A's registers, those of a step after the other; of 32, two words for each.
 */
struct qmm_raw {
	kit_op code[QMM_CHUNKS][QMM_CHUNK_STEPS * 8], high[8], header[2][4], last[2];
};
enum { QMM_TURNS_MAX = 2 };
struct qmm_scales {
	kit_op scale[2][QMM_TURNS_MAX], offset[2][QMM_TURNS_MAX]; /* a pair of runs each; offset: what is added */
	/* Expanded formats: word K of two pieces of a row, their bytes in turn: those of the lower halves come first.
	 */
	kit_op turns[2][TCB_PIECE_WORDS][2];
};

/* Constants for codes; and, called last, for headers. */
void qmm_write_code_constants(struct qmm_writer *w);
void qmm_write_header_constants(struct qmm_writer *w);
/* The address of the 16 rows I of group GROUP in the packed weights, from the block's k on; those of the last rows
 * where there are none. */
kit_op qmm_write_rows_at(struct qmm_writer *w, kit_op group, kit_op i);
/* Where a lane's words of a unit at UNIT are; loads of what is AT bytes behind it. */
struct qmm_lane_at {
	kit_op codes, header, last, high; /* high: layout g */
};
/* A word, two or four; half a word.  To the registers of OUT if it has any, else to new ones. */
void qmm_write_load(struct qmm_writer *w, kit_op address, unsigned at, kit_op *out, unsigned count);
void qmm_write_load_half(struct qmm_writer *w, kit_op address, unsigned at, kit_op *out);
void qmm_write_lane_at(struct qmm_writer *w, kit_op unit, struct qmm_lane_at *out);
/* To the registers that OUT has, or new ones where it has none (zeroed). */
void qmm_write_load_header(struct qmm_writer *w, const struct qmm_lane_at *lane, unsigned at, struct qmm_raw *out);
void qmm_write_load_codes(struct qmm_writer *w, const struct qmm_lane_at *lane, unsigned at, unsigned chunk,
			  struct qmm_raw *out);
void qmm_write_scales(struct qmm_writer *w, const struct qmm_raw *raw, struct qmm_scales *out);
/* Minus the mins of runs p and p + 4, exact, lane p of four's, by a row's header. */
kit_op qmm_write_minus_mins(struct qmm_writer *w, const kit_op word[4]);
/* d of a header with scales of 6 bits, twice; the float 2^(e - 127) of e, which is byte BYTE of WORD, as bits: 0 for e
 * = 0.
 */
kit_op qmm_write_six_d(struct qmm_writer *w, const kit_op word[2]);
kit_op qmm_write_power(struct qmm_writer *w, kit_op word, unsigned byte);
/* Expanded formats, contract q8: the lane's piece of chunk CHUNK (.u32) of a unit AT bytes behind LANE. */
struct tcb_piece qmm_write_load_piece(struct qmm_writer *w, const struct qmm_lane_at *lane, unsigned at, kit_op chunk);
/* Values as they are, the unit's TERMS of each: A's registers, those of a term after the other. */
void qmm_write_terms(struct qmm_writer *w, const struct qmm_raw *raw, unsigned chunk, unsigned step,
		     kit_op a[QMM_TERMS_MAX][4]);
/* Two floats as BF16 in a word, LOW in its lower half, cut off; what is left of them. */
kit_op qmm_write_pair_term(struct qmm_writer *w, kit_op *low, kit_op *high);
/* The four registers of A of step STEP (16 of k) of chunk CHUNK; those that A has, or new ones. */
void qmm_write_fragment(struct qmm_writer *w, const struct qmm_raw *raw, const struct qmm_scales *scales,
			unsigned chunk, unsigned step, kit_op a[4]);

#endif
