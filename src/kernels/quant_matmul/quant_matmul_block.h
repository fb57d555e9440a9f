/* SPDX-License-Identifier: MIT
 *
 * Quantised products on a CPU, below what deals them to threads: some rows of
 * a matrix of weights times tokens that are prepared.  Who uses it says which
 * rows and tokens, and where results go.
 */
#ifndef TCB_KERNELS_QUANT_MATMUL_BLOCK_H
#define TCB_KERNELS_QUANT_MATMUL_BLOCK_H

#include "kernels/op.h"
#include "kernels/quant_matmul/quant_matmul_pack.h"

/* What weights are unpacked to under CONTRACT by GEOMETRY's instructions (quant_matmul_layout.h), and bytes of a
 * superblock: of a row group, of a prepared token. */
enum qmm_panel_kind { QMM_PANEL_CODES, QMM_PANEL_VALUES, QMM_PANEL_HALVES };
enum qmm_panel_kind qmm_panel_kind(enum tcb_contract contract, const struct tcb_geometry *geometry);
size_t qmm_unpacked_bytes(enum qmm_panel_kind kind, enum tcb_format_id format);
size_t qmm_token_bytes(enum qmm_panel_kind kind);

/* What brings weights and activations into the order of the kernels, by the family that does arithmetic on floats. */
struct qmm_conversions {
	const struct qmm_unpacker *unpackers; /* by format */
	qmm_quantize_fn *quantize;
	/* For tiles of bf16, by format; NULL of families that have none. */
	const struct qmm_halves_unpacker *halves;
	qmm_round_fn *round;
};

/* A matrix of N x K, and how a geometry goes through it. */
struct qmm_matrix {
	const struct tcb_geometry *geometry;
	const struct tcb_format *format;
	enum qmm_panel_kind kind;
	const uint8_t *weights; /* as stored, or as lines */
	size_t n, k;
	size_t superblocks, token_bytes; /* along k; one of one token, prepared */
	size_t row_bytes;                /* of weights as stored */
	size_t lines_bytes;              /* of one superblock of a row group as lines */
	size_t panel_bytes;              /* of the same unpacked */
	size_t group_bytes;              /* a row group over midi.k, unpacked */
	size_t midi_superblocks;
	size_t sums_at;       /* in a thread's scratch, behind its panels: sums of tiles while k is cut */
	size_t scratch_bytes; /* what a thread needs, 64-byte aligned */
	int is_packed, from_lines;
	size_t prefetch;
	enum tcb_hint hint;
	const struct qmm_unpacker *unpacker;
	qmm_unpack_fn *unpack;
	const struct qmm_kernels *kernels;
};

/* Tokens in register tiles of WIDTH, the last one filled up: x[tile][superblock][token of the tile], Y_STRIDE floats
 * from the results of one to those of the next. */
struct qmm_tokens {
	qmm_tile_fn *tile;
	size_t width, count;
	const uint8_t *x;
	float *y;
	size_t y_stride;
};

/* Of PROBLEM, whose n and k are the matrix', and GEOMETRY; WEIGHTS, IS_PACKED, KERNELS and what converts (after that)
 * are the caller's. */
void qmm_matrix_init(const struct tcb_problem *problem, const struct tcb_geometry *geometry, struct qmm_matrix *out);
/* The unpackers of CONVERSIONS. */
void qmm_matrix_convert(struct qmm_matrix *matrix, const struct qmm_conversions *conversions);
/* Rows FIRST to END - 1, at most midi.n of them from a multiple of 16 on, times all tokens of SETS, whose y are those
 * of row FIRST. */
void qmm_multiply_rows(const struct qmm_matrix *matrix, size_t first, size_t end, const struct qmm_tokens *sets,
		       size_t set_count, uint8_t *scratch);
/*
 * Longest rounding chain of one output (tiles of bf16: with what rounding both factors is, in roundings of f32); and in
 * contract q8: a superblock adds its runs, with offsets of their own these
 * too, or the mins, and is added itself (with activations in groups of 32, each of its runs is, after a product); three
 * for max / 127, 127 / max and x times that.
 */
double qmm_chain(const struct tcb_problem *problem, const struct tcb_geometry *geometry);
double qmm_q8_chain(const struct tcb_problem *problem);

/* An activation as contract f32, or f16, takes it. */
static inline float qmm_activation(enum tcb_contract contract, float x)
{
	return contract == TCB_CONTRACT_F16 ? tcb_f16_to_f32(tcb_f32_to_f16(x)) : x;
}

#endif
