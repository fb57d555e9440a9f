/* SPDX-License-Identifier: MIT
 *
 * The layouts f and g of the quantised matmuls' GPU kernels: units of weights in
 * the order of the matrix instructions' registers.
 */
#ifndef TCB_KERNELS_QUANT_MATMUL_FRAGMENTS_H
#define TCB_KERNELS_QUANT_MATMUL_FRAGMENTS_H

#include "kernels/formats.h"
#include "kernels/op.h"

enum {
	QMM_UNIT_ROWS = 16,
	QMM_TERMS_MAX = 3,
	QMM_UNIT_VALUES = 256,
	QMM_CHUNK = 64, /* values along k of a tile of activations, and of a lane's 16 bytes of nibbles */
	QMM_CHUNKS = QMM_UNIT_VALUES / QMM_CHUNK,
	QMM_GROUP_TOKENS = 8,
	QMM_TILE_BYTES = QMM_GROUP_TOKENS * QMM_CHUNK * 2, /* of activations: 128 bytes per token */
	QMM_SCALE_STRIDE = 16,                             /* q8: bytes from two tokens' scales to the next two's */
	QMM_CHUNK_STEPS = 4,                               /* of 16 along k in a chunk */
	QMM_STAGES_MAX = 16,
	QMM_ROW_TILES_MAX = 4,
	QMM_WGMMA_TILES_MAX = 2, /* of 64 rows */
	QMM_TOKENS_MAX = 256,
	QMM_WHOLE_UNITS = 4,   /* of a share that is written without a loop: longer code is fetched more slowly */
	QMM_AHEAD_TOKENS = 64, /* wgmma: up to which a lane loads a whole unit's codes at once */
	QMM_CHAINS_MAX = 4,
	/* Streamed, two warp groups that take registers from a third: of 384 threads with 168 each. */
	QMM_TRADE_WARPS = 8,
	QMM_TRADE_TAKEN = 232,
	QMM_TRADE_LEFT = 40,
	QMM_BESIDE_WARPS = 8,  /* prep=warps: that prepare, or half of them */
	QMM_BESIDE_TOKENS = 8, /* of a warp of these at most, half of them at a time */
	QMM_PREPARE_WARPS = 8,
	QMM_PREPARE_TOKENS = 4, /* that a warp prepares; one where there are few, so that all SMs have a share */
	QMM_PREPARE_FEW = 64,
	QMM_SHARE_WARPS = 2, /* prep=grid, activations that stay: warps of a block that prepare */
	QMM_DEAL_WORDS = 2,  /* dealt units: of each warp of a tile, who came and who stored */
	QMM_CLAIM_WORDS = 2, /* prep=grid: pieces that are taken, warps that are done; then a counter for each unit */
	QMM_PREPARE_TOGETHER = 4 /* blocks per SM, where more than three of them have work */
};

/* 16 rows by 256 of k, in as many bytes as they have as stored. */
struct qmm_unit {
	enum tcb_format_id format;
	unsigned run; /* values that share a scale, 32 at most: 16 or 32 */
	int is_plain; /* values as they are: no scales */
	/* Numbers of bf16 that a weight and an activation are the sum of; 1 where both are halves. */
	unsigned terms, x_terms;
	unsigned code_words;                  /* of a lane, a chunk */
	unsigned high_words, high_bits;       /* of a lane, a unit, of a code: bits beyond four */
	unsigned header_bytes;                /* of a row */
	unsigned high_at, header_at, last_at; /* bytes within the unit; last: Q6_K's d */
	unsigned bytes;
	/* Expanded formats: bytes of a piece's codes and high bits, of a superblock's d (quant_matmul_pieces.c). */
	int is_pieces;
	unsigned piece_bytes, piece_high, d_bytes;
};
void qmm_unit_of(enum tcb_format_id format, struct qmm_unit *out);
/* quant_matmul_pieces.c: a unit of an expanded format, from BLOCKS blocks of ROWS rows, ROW_BYTES apart, and back. */
void qmm_pieces_pack(const struct qmm_unit *unit, enum tcb_layout layout, const uint8_t *in, size_t row_bytes,
		     unsigned rows, size_t blocks, uint8_t *out);
void qmm_pieces_unpack(const struct qmm_unit *unit, enum tcb_layout layout, const uint8_t *in, size_t row_bytes,
		       unsigned rows, size_t blocks, uint8_t *out);
/*
 * Where the upper bits are of the first or second (ODD) code of register REG of a step: word of the lane's, bit from
 * which on.  Turned right by TURN, registers 0 and 1, or 2 and 3, have them at bits 4 and 8, where their nibbles end.
 */
struct qmm_high_place {
	unsigned word, bit, turn;
};
void qmm_high_at(const struct qmm_unit *unit, unsigned chunk, unsigned step, unsigned reg, unsigned odd,
		 struct qmm_high_place *out);
size_t qmm_units_along_k(size_t k);
size_t qmm_fragments_bytes(enum tcb_format_id format, size_t n, size_t k);
void qmm_fragments_pack(enum tcb_format_id format, enum tcb_layout layout, size_t n, size_t k, const void *weights,
			void *packed);
void qmm_fragments_unpack(enum tcb_format_id format, enum tcb_layout layout, size_t n, size_t k, const void *packed,
			  void *weights);
/*
 * Layout f: which of a unit's 256 values is at place KK of the matrix instructions' k.  A lane's pairs have a run of
 * the unit's first half and the one 128 values behind it.  Four neighbours of a run go to the same place of four tiles,
 * or to chunks 64 bytes apart of two: so a warp reads activations 512 bytes at a time and stores them without bank
 * conflicts.
 */
static inline unsigned qmm_k_of(unsigned run, unsigned kk)
{
	const unsigned tile = kk / QMM_CHUNK, chunk = kk % QMM_CHUNK / 8, turn = tile / 2;
	const unsigned first = QMM_UNIT_VALUES / 2 * (kk % 2) + kk % 8 / 2 * run;
	if (run == 32)
		return first + 4 * chunk + tile;
	return first + 4 * run * turn + 4 * (chunk % 4) + 2 * (tile % 2) + (chunk / 4 ^ turn);
}

#endif
