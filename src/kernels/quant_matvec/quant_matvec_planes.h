/* SPDX-License-Identifier: MIT
 *
 * The quantised matvec: weight formats as its GPU kernels see them, and whole
 * matrices in the layouts p, s and f.
 */
#ifndef TCB_KERNELS_QUANT_MATVEC_PLANES_H
#define TCB_KERNELS_QUANT_MATVEC_PLANES_H

#include "kernels/quant_matvec/quant_matvec_layout.h"

enum {
	QMV_VALUES = 256,  /* of a superblock */
	QMV_TILE_ROWS = 16 /* isa=mma: of a tile */
};

/* What a superblock is made of, in the order of the planes of a packed matrix. */
enum qmv_part { QMV_CODES, QMV_HIGH, QMV_D, QMV_SCALES, QMV_PARTS };

/* K: d, dmin and 6-bit scales and mins in 16 bytes.  HALVES: an f16 for 32 values.  BYTES: an int8 for 16, and d.
 * POWERS: a byte e for 32, 2^(e - 128).  SIXES: an int8 for 32, and d.  PIECES: a piece's fields, and d.  FLOATS: an
 * f32 for 128, of codes that are values.  NONE: codes are the values. */
enum qmv_scales {
	QMV_SCALES_K,
	QMV_SCALES_HALVES,
	QMV_SCALES_BYTES,
	QMV_SCALES_POWERS,
	QMV_SCALES_SIXES,
	QMV_SCALES_PIECES,
	QMV_SCALES_FLOATS,
	QMV_SCALES_NONE
};

/* A weight format as these kernels see it. */
struct qmv_format {
	enum tcb_format_id id;
	enum qmv_scales scales;
	unsigned bytes[QMV_PARTS];     /* of a superblock; 0: it has no such part */
	unsigned native_at[QMV_PARTS]; /* where a superblock as stored, or its first block, has them */
	unsigned block;                /* bytes of a block; 0 where a superblock is one block */
	unsigned blocks;               /* of a superblock, where BLOCK is not 0 */
	unsigned high_bits;            /* of a code, beyond its nibble */
	unsigned log_run;              /* of native and p (see above); 8: a code is a byte */
	unsigned centre;               /* that is taken off the codes */
	int has_mins;
	const int8_t *table; /* what nibbles stand for, or NULL */
	int is_split;        /* pieces of 32 values have a scale for each half */
	int is_pieces;       /* parts are those of formats_pieces.h, and a lane has a piece */
	int is_packed;       /* never as stored: blocks are not aligned, or in order */
};

/* Codes are the values. */
static inline int qmv_is_float(const struct qmv_format *f)
{
	return f->scales == QMV_SCALES_NONE;
}

/* The same, or with scales. */
static inline int qmv_has_values(const struct qmv_format *f)
{
	return qmv_is_float(f) || f->scales == QMV_SCALES_FLOATS;
}

/* Codes of a superblock, in bytes as if they were bytes or nibbles: what a lane's vec counts. */
static inline unsigned qmv_span(const struct qmv_format *f)
{
	return f->is_pieces ? QMV_VALUES / 2 : qmv_is_float(f) ? QMV_VALUES : f->bytes[QMV_CODES];
}

/* A sub-block of 32 values has one scale, a float. */
static inline int qmv_has_whole_scales(const struct qmv_format *f)
{
	return (f->is_pieces && !f->is_split) || f->scales == QMV_SCALES_HALVES || f->scales == QMV_SCALES_POWERS ||
	       f->scales == QMV_SCALES_SIXES;
}

/* Codes of high nibbles come 16 times as large. */
static inline int qmv_has_large_high(const struct qmv_format *f)
{
	return !f->high_bits && !f->table && !f->is_pieces;
}

const struct qmv_format *qmv_format(const struct tcb_problem *problem);
size_t qmv_packed_bytes(const struct tcb_problem *problem, enum tcb_layout layout);
/* Layouts p and s: the first byte of the plane that has PART. */
size_t qmv_plane_at(const struct tcb_problem *problem, enum qmv_part part);
void qmv_plane_pack(const struct tcb_problem *problem, enum tcb_layout layout, const void *weights, void *packed);
void qmv_plane_unpack(const struct tcb_problem *problem, enum tcb_layout layout, const void *packed, void *weights);

#endif
