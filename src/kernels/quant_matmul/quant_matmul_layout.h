/* SPDX-License-Identifier: MIT
 *
 * Private to quant_matmul's CPU kernels: how weights and activations lie in
 * memory on their way to the register tiles, and what one tile is called with.
 *
 * Everything is cut into superblocks of 256 values along k and groups of 16
 * rows of weights (N).  Whatever the format, a group's superblock is a list of
 * lines of 64 bytes, 4 bytes per row: word w of each of the 16 rows
 * (quant_lines.h).  Weights as stored become lines by a transposition,
 * packed weights (layout r16) are lines already.  From lines the weights are
 * unpacked either in registers (decode=regs) or into panels (decode=panel),
 * blocks of midi.n x midi.k that stay in a cache while tokens pass.
 */
#ifndef TCB_KERNELS_QUANT_MATMUL_LAYOUT_H
#define TCB_KERNELS_QUANT_MATMUL_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/quant_lines.h"

enum {
	QMM_ROWS = 16,    /* of a group */
	QMM_VALUES = 256, /* of a superblock along k */
	QMM_STEPS = 64,   /* of four values: what a byte dot product takes at once */
	QMM_LINE = 64,
	QMM_LINES_MAX = TCB_LINES_MAX,
	QMM_RUNS_MAX = 16,
};

/*
 * Contract q8: 16 rows x 256 values ready for byte dot products.  Value i of row r in run g of 16 or 32 values:
 * scale[g][r] * (code - centre), less offset[r] * min[g] where the format has mins.  Lanes are rows everywhere, four
 * bytes each.  A format has as many scales as runs; an expanded one with offsets has these behind them, one a run.
 */
struct qmm_panel {
	_Alignas(64) uint8_t code[QMM_STEPS][QMM_LINE];
	uint8_t min[2][QMM_LINE]; /* of runs 0 to 3, 4 to 7 */
	float offset[QMM_ROWS];
	float scale[2 * QMM_RUNS_MAX][QMM_ROWS];
};

/* Contract f32: values as tcb_dequantize() gives them. */
struct qmm_values {
	_Alignas(64) float w[QMM_VALUES][QMM_ROWS];
};

/*
 * Contract f16 on tiles of bf16: the same values rounded to nearest, halves away from zero.  A line has values 2 i and
 * 2 i + 1 of each row, so that 16 lines are a tile of 32 values.
 */
struct qmm_halves {
	_Alignas(64) uint16_t w[QMM_VALUES / 2][2 * QMM_ROWS];
};

/*
 * Contract q8: 256 activations of a token in 8 bits, x[i] ~ d[i / G] * q[i], as tcb_quant_codes() gives them for groups
 * of G values, 32 or 256: then it uses d[0] only.
 *
 * start[g] is -centre times the sum of run g's codes: what a run's integer sum starts from; where runs have offsets of
 * their own, whose codes have no centre, -128 times it, for these.  The sum of run g of 32
 * values is 64 * sums_high[g] + sums_low[g], -32 <= sums_low < 32: for the mins.
 *
 * The tokens of a register tile lie side by side: [tile of micro.m tokens][superblock][token of the tile].
 */
struct qmm_x8 {
	_Alignas(64) int8_t q[QMM_VALUES];
	int32_t start[QMM_RUNS_MAX];
	float d[8];
	int8_t sums_high[8], sums_low[8];
};

/* What is added to codes so that they are unsigned. */
static inline int qmm_centre(enum tcb_format_id format)
{
	return tcb_code_bias(format);
}

/* Values that share a scale, of weights and of activations. */
static inline int qmm_run_values(enum tcb_format_id format)
{
	return (int)tcb_format_row(format)->run_values;
}

static inline int qmm_group_values(enum tcb_format_id format)
{
	return (int)tcb_group_values(format);
}

/* Runs have mins, times one offset; or offsets of their own. */
static inline int qmm_has_mins(enum tcb_format_id format)
{
	return tcb_format_row(format)->scales == TCB_SCALES_K;
}

static inline int qmm_has_offsets(enum tcb_format_id format)
{
	return tcb_format_row(format)->scales == TCB_SCALES_MINS;
}

/* What run sums of codes start from is -this times the sum of activations; offsets take that sum from it. */
static inline int qmm_start_factor(enum tcb_format_id format)
{
	return qmm_has_offsets(format) ? 128 : qmm_centre(format);
}

/* A run's integer sum starts from 0 whatever start[] says. */
static inline int qmm_starts_from_zero(enum tcb_format_id format)
{
	return qmm_has_mins(format) || qmm_has_offsets(format);
}

/* Bytes of a panel: up to its last scale or offset. */
static inline size_t qmm_panel_bytes(enum tcb_format_id format)
{
	const size_t runs = (size_t)(QMM_VALUES / qmm_run_values(format));
	return offsetof(struct qmm_panel, scale) + (runs << qmm_has_offsets(format)) * QMM_LINE;
}

/* What offsets of run G are multiplied with: the sum of its codes, negative. */
static inline float qmm_less_sum(const struct qmm_x8 *x, int g)
{
	return (float)x->start[g] * 0x1p-7f;
}

/* One register tile along a span of k. */
struct qmm_call {
	/* The first superblock of the first row group, as lines, panels or values; 32 bytes on, the second half of
	 * its rows. */
	const uint8_t *weights;
	size_t group_bytes; /* from a row group to the next */
	/* struct qmm_x8[superblocks][micro.m], or float[256 * superblocks][micro.m]; for tiles of bf16
	 * uint16_t[8 * superblocks][micro.m][32], as many values of a token side by side as a tile has. */
	const void *x;
	size_t superblocks;  /* >= 1 */
	size_t values;       /* of k that these superblocks hold; the last one may be shorter than 256 */
	float *y;            /* of the first token and row */
	size_t y_stride;     /* from a token to the next, in elements */
	size_t tokens, rows; /* to be written, 1 to micro.m and micro.n; fewer only at the edges */
	int accumulate;      /* the sums go on from y, for tiles of bf16 from SUMS, which has all of the tile */
	const float *sums;
	size_t sums_stride;
	const uint8_t *ahead; /* of tiles of bf16: read soon, so many lines of it in a step of 32 values */
	size_t ahead_lines;
	size_t prefetch; /* bytes ahead of the lines being decoded, 0 for none */
	enum tcb_hint hint;
};
typedef void qmm_tile_fn(const struct qmm_call *call);

/* What the thread had before it multiplies tiles, as the instructions that save it want it. */
struct qmm_before {
	_Alignas(64) uint8_t bytes[64];
};

/* What a variant's entry gives: its tile from panels (or values), and from lines where there is one; and what comes
 * before any number of tiles and after them, on the same thread, and with a panel that was unpacked, or NULL. */
struct qmm_kernels {
	qmm_tile_fn *panel, *lines;
	void (*enter)(struct qmm_before *before);
	void (*leave)(const struct qmm_before *before);
	void (*settle)(enum tcb_format_id format, void *panel);
};
typedef const struct qmm_kernels *qmm_kernels_fn(void);

#endif
