/* SPDX-License-Identifier: MIT
 *
 * What brings weights and activations into the order of quant_matmul_layout.h
 * while a kernel runs, a superblock at a time.
 */
#ifndef TCB_KERNELS_QUANT_MATMUL_PACK_H
#define TCB_KERNELS_QUANT_MATMUL_PACK_H

#include "kernels/quant_matmul/quant_matmul_layout.h"
#include "kernels/simd/isas.h"

/* A superblock of ROWS (1 to 16) native rows, ROW_BYTES apart, that holds VALUES values (32 to 256), as lines. */
typedef void qmm_gather_fn(const uint8_t *rows, size_t row_bytes, size_t row_count, size_t values, uint8_t *lines);
/* A superblock's lines as a struct qmm_panel or qmm_values. */
typedef void qmm_unpack_fn(const uint8_t *lines, void *panel);

/* How one instruction family unpacks one format. */
struct qmm_unpacker {
	qmm_gather_fn *gather;
	qmm_unpack_fn *panel, *values;
};

/* TOKENS rows of K activations, X_STRIDE apart, into OUT[superblock][TILE]; what is past the last token and past K
 * becomes zeros. */
typedef void qmm_quantize_fn(enum tcb_format_id format, const float *x, size_t x_stride, size_t tokens, size_t tile,
			     size_t k, struct qmm_x8 *out);

/* quant_matmul_unpack.c, quant_matmul_quantize.c; portable unpacking is in quant_matmul_pack.c */
#define QMM_DECLARE_CONVERSIONS(isa, ...)                                       \
	extern const struct qmm_unpacker qmm_unpackers_##isa[TCB_FORMAT_COUNT]; \
	qmm_quantize_fn qmm_quantize_##isa;
TCB_ISAS_FLOATS(QMM_DECLARE_CONVERSIONS, )
#undef QMM_DECLARE_CONVERSIONS

/* A format's row of a table of unpackers, and the functions in it, from those that take any format.  Values as they are
 * have no panels. */
#define QMM_UNPACKER(id, name, ...) { gather_##name, panel_##name, values_##name },
#define QMM_FLOAT_UNPACKER(id, name, ...) { gather_##name, NULL, values_##name },
#define QMM_PANEL_FUNCTION(id, name, ...)                           \
	static void panel_##name(const uint8_t *lines, void *panel) \
	{                                                           \
		unpack_panel(lines, TCB_FORMAT_##id, panel);        \
	}
#define QMM_UNPACKER_FUNCTIONS(id, name, ...)                                                                  \
	static void gather_##name(const uint8_t *rows, size_t row_bytes, size_t row_count, size_t value_count, \
				  uint8_t *lines)                                                              \
	{                                                                                                      \
		gather(rows, row_bytes, row_count, value_count, TCB_FORMAT_##id, lines);                       \
	}                                                                                                      \
	static void values_##name(const uint8_t *lines, void *values)                                          \
	{                                                                                                      \
		unpack_values(lines, TCB_FORMAT_##id, values);                                                 \
	}

#endif
