/* SPDX-License-Identifier: MIT
 *
 * What brings weights and activations into the order of quant_matmul_layout.h
 * while a kernel runs, a superblock at a time.
 */
#ifndef TCB_KERNELS_QUANT_MATMUL_PACK_H
#define TCB_KERNELS_QUANT_MATMUL_PACK_H

#include "kernels/quant_matmul/quant_matmul_layout.h"
#include "kernels/simd/isas.h"

/* A superblock of ROWS (1 to 16) native rows, ROW_BYTES apart, that holds VALUES values (32 to 256), as lines; of
 * expanded formats and of values as they are as rows (tcb_rows_gather()). */
typedef void qmm_gather_fn(const uint8_t *rows, size_t row_bytes, size_t row_count, size_t values, uint8_t *lines);
/* A superblock's lines as a struct qmm_panel or qmm_values. */
typedef void qmm_unpack_fn(const uint8_t *lines, void *panel);

/* How one instruction family unpacks one format: packed lines, and what has been gathered of weights as stored. */
struct qmm_unpacker {
	qmm_gather_fn *gather;
	qmm_unpack_fn *panel, *values, *gathered_panel, *gathered_values;
};

/* TOKENS rows of K activations, X_STRIDE apart, into OUT[superblock][TILE]; what is past the last token and past K
 * becomes zeros. */
typedef void qmm_quantize_fn(enum tcb_format_id format, const float *x, size_t x_stride, size_t tokens, size_t tile,
			     size_t k, struct qmm_x8 *out);

/* Tiles of bf16.  How one format is unpacked to a struct qmm_halves, from packed lines and from what has been gathered;
 * NULL: contract f16 has no such kernels for it. */
struct qmm_halves_unpacker {
	qmm_unpack_fn *packed, *gathered;
};
/* COUNT floats as bf16, rounded as weights are, 32 to a line; LINES of them, APART bytes from one to the next, which
 * end with zeros. */
enum { QMM_LINE_HALVES = QMM_LINE / 2 };
typedef void qmm_round_fn(const float *x, size_t count, size_t lines, size_t apart, uint8_t *out);

/* quant_matmul_unpack.c, quant_matmul_quantize.c; portable unpacking is in quant_matmul_pack.c */
#define QMM_DECLARE_CONVERSIONS(isa, ...)                                       \
	extern const struct qmm_unpacker qmm_unpackers_##isa[TCB_FORMAT_COUNT]; \
	qmm_quantize_fn qmm_quantize_##isa;
TCB_ISAS_FLOATS(QMM_DECLARE_CONVERSIONS, )
#undef QMM_DECLARE_CONVERSIONS
#ifdef __x86_64__
/* quant_matmul_unpack_bf16_avx512.c: processors with tiles have AVX-512. */
extern const struct qmm_halves_unpacker qmm_halves_unpackers[TCB_FORMAT_COUNT];
qmm_round_fn qmm_round;
#endif
/* Both, of a family that does arithmetic on floats. */
#define QMM_HALVES_SCALAR NULL, NULL
#define QMM_HALVES_AVX2 NULL, NULL
#define QMM_HALVES_AVX512 qmm_halves_unpackers, qmm_round
#define QMM_HALVES_NEON NULL, NULL

/* A format's row of a table of unpackers, and the functions in it, from those that take any format.  Of expanded
 * formats gathered rows are unpacked by functions of their own; values as they are have no panels. */
#define QMM_UNPACKER(id, name, ...) { gather_##name, panel_##name, values_##name, panel_##name, values_##name },
#define QMM_EXPANDED_UNPACKER(id, name, ...) \
	{ gather_##name, panel_##name, values_##name, gathered_panel_##name, gathered_values_##name },
#define QMM_FLOAT_UNPACKER(id, name, ...) { gather_##name, NULL, values_##name, NULL, values_##name },
#define QMM_UNPACK_FUNCTION(function, body, format)          \
	static void function(const uint8_t *from, void *out) \
	{                                                    \
		body(from, format, out);                     \
	}
#define QMM_PANEL_FUNCTION(id, name, ...) QMM_UNPACK_FUNCTION(panel_##name, unpack_panel, TCB_FORMAT_##id)
#define QMM_EXPANDED_FUNCTIONS(id, name, ...)                                     \
	QMM_UNPACK_FUNCTION(gathered_panel_##name, expand_panel, TCB_FORMAT_##id) \
	QMM_UNPACK_FUNCTION(gathered_values_##name, expand_values, TCB_FORMAT_##id)
#define QMM_UNPACKER_TABLE                                                                                \
	{                                                                                                 \
		TCB_FORMAT_FIELD_LIST(QMM_UNPACKER)                                                       \
		TCB_FORMAT_EXPANDED_ROWS(QMM_EXPANDED_UNPACKER) TCB_FORMAT_FLOAT_ROWS(QMM_FLOAT_UNPACKER) \
	}
#define QMM_UNPACKER_FUNCTIONS(id, name, ...)                                                                  \
	static void gather_##name(const uint8_t *rows, size_t row_bytes, size_t row_count, size_t value_count, \
				  uint8_t *lines)                                                              \
	{                                                                                                      \
		gather(rows, row_bytes, row_count, value_count, TCB_FORMAT_##id, lines);                       \
	}                                                                                                      \
	QMM_UNPACK_FUNCTION(values_##name, unpack_values, TCB_FORMAT_##id)

#endif
