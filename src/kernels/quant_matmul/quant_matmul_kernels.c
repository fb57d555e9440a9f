/* SPDX-License-Identifier: MIT
 *
 * Register tiles of the quantised matmul, generic over format, vector width and
 * size: MICRO_M tokens x VECTORS vectors of rows.  One call walks a span of k.
 *
 * Contract q8, per superblock of 256 values and per run of 32 or 16 of it:
 * the tile's integer sums S of codes and activations are exact; as floats they
 * are added up with the run's scale of each row; the mins of all runs come in
 * as one more integer sum; then the whole is taken times the token's d (where
 * blocks are of 32 values activations have a d per run: each run's sum is).
 *
 * Contract f32: one chain of fused multiply-adds over k for each output.
 */
#include <assert.h>

#include "kernels/quant_matmul/quant_matmul_lines.h"
#include "kernels/quant_matmul/quant_matmul_rows.h"
#include "kernels/quant_matmul/quant_matmul_sizes.h"
#include "kernels/quant_matvec/quant_matvec_fused.h"

enum { TILE_VECTORS_MAX = 16 };

#ifdef SIMD_DOT_IS_SIGNED
enum { DOT_IS_SIGNED = 1 };
#else
enum { DOT_IS_SIGNED = 0 };
#endif

/* Where a tile's weights are. */
struct source {
	enum tcb_format_id format;
	int from_lines, micro_m, vectors;
	size_t superblock_bytes, group_bytes;
};

SIMD_INLINE const uint8_t *vector_of(const struct source *from, const uint8_t *superblock, int v)
{
	const size_t rows = (size_t)v * LANES;
	return superblock + rows / QMM_ROWS * from->group_bytes + rows % QMM_ROWS * 4;
}

SIMD_INLINE const uint8_t *panel_at(const uint8_t *panel, size_t member, int line)
{
	return panel + member + (size_t)line * QMM_LINE;
}

/* The codes of step I of run RUN of a span. */
SIMD_INLINE vint tile_codes(const struct source *from, const uint8_t *superblock, int v, int span, int run, int i)
{
	const uint8_t *at = vector_of(from, superblock, v);
	const int steps = QMM_STEPS / runs_of(from->format);
	if (from->from_lines)
		return code_step(at, from->format, span, run, i);
	return vi_load(panel_at(at, offsetof(struct qmm_panel, code), span * steps + i));
}

/* The integer sums of one run of RUN of SPAN, run G of the superblock. */
SIMD_INLINE void run_sums(const struct source *from, const uint8_t *superblock, const struct qmm_x8 *x, int span,
			  int run, int g, vint sum[TILE_VECTORS_MAX])
{
	const int mr = from->micro_m, nv = from->vectors, steps = QMM_STEPS / runs_of(from->format);
	const int8_t *codes = x->q + 4 * steps * g;
#ifdef SIMD_HAS_DOT
	const int by_sign = DOT_IS_SIGNED && tcb_has_signed_codes(from->format);
	SIMD_FOR (int m = 0; m < mr; m++) {
		SIMD_FOR (int v = 0; v < nv; v++)
			sum[m * nv + v] =
				qmm_starts_from_zero(from->format) || by_sign ? vi_zero() : vi_words(x[m].start[g]);
	}
	SIMD_FOR (int i = 0; i < steps; i++) {
		vint w[TILE_VECTORS_MAX];
		SIMD_FOR (int v = 0; v < nv; v++) {
			w[v] = tile_codes(from, superblock, v, span, run, i);
			w[v] = by_sign ? vi_xor(w[v], vi_bytes(-128)) : w[v];
		}
		SIMD_FOR (int m = 0; m < mr; m++) {
			const vint four = vi_four_bytes(codes + (size_t)m * sizeof(*x) + 4 * i);
			SIMD_FOR (int v = 0; v < nv; v++)
				sum[m * nv + v] = vi_dot(sum[m * nv + v], w[v], four);
		}
	}
#else
	const int pieces = quant_pieces(from->format, steps), is_raised = quant_is_raised(from->format);
	const int by_sign = tcb_has_signed_codes(from->format) && !is_raised;
	vint part[TILE_VECTORS_MAX];
	SIMD_FOR (int m = 0; m < mr; m++) {
		const int32_t start = is_raised ? quant_raised_start(x[m].start[g]) : x[m].start[g];
		SIMD_FOR (int v = 0; v < nv; v++)
			sum[m * nv + v] = qmm_starts_from_zero(from->format) || by_sign ? vi_zero() : vi_words(start);
	}
	SIMD_FOR (int i = 0; i < steps; i++) {
		vint w[TILE_VECTORS_MAX], u[TILE_VECTORS_MAX];
		SIMD_FOR (int v = 0; v < nv; v++) {
			w[v] = tile_codes(from, superblock, v, span, run, i);
			w[v] = by_sign ? vi_xor(w[v], vi_bytes(-128)) : w[v];
			/* Each byte is no less, so that words do. */
			w[v] = is_raised ? vi_sub(w[v], vi_bytes(128 - SMALL_CENTRE)) : w[v];
			u[v] = by_sign ? vi_magnitude(w[v]) : w[v];
		}
		SIMD_FOR (int m = 0; m < mr; m++) {
			const vint four = vi_four_bytes(codes + (size_t)m * sizeof(*x) + 4 * i);
			SIMD_FOR (int v = 0; v < nv; v++) {
				const int at = m * nv + v;
				const vint two = vi_pairs(u[v], by_sign ? vi_signed_like(four, w[v]) : four);
				part[at] = i % pieces ? vi_add16(part[at], two) : two;
				SIMD_IN_ORDER(part[at]);
				if (i % pieces == pieces - 1)
					sum[at] = vi_add(sum[at], vi_pairs16(part[at]));
			}
		}
	}
#endif
}

/* What the mins take off, before it is scaled by d. */
SIMD_INLINE vfloat take_mins(const vint min[2], vfloat offset, const struct qmm_x8 *x, vfloat from)
{
	vint sum = vi_dot(vi_zero(), min[0], vi_four_bytes(x->sums_high));
	sum = vi_dot(sum, min[1], vi_four_bytes(x->sums_high + 4));
	sum = vi_shift_left(sum, 6);
	sum = vi_dot(sum, min[0], vi_four_bytes(x->sums_low));
	sum = vi_dot(sum, min[1], vi_four_bytes(x->sums_low + 4));
	return v_fnma(offset, v_from_words(sum), from);
}

/* Lines far ahead of those of a span. */
SIMD_INLINE void prefetch_span(const struct qmm_call *call, const struct source *from, const uint8_t *superblock,
			       int span, int spans)
{
	const size_t lines = from->superblock_bytes / QMM_LINE;
	const size_t first = lines * (size_t)span / (size_t)spans, end = lines * ((size_t)span + 1) / (size_t)spans;
	for (int v = 0; v * LANES % QMM_ROWS == 0 && v < from->vectors; v++) {
		const uint8_t *at = vector_of(from, superblock, v) + call->prefetch;
		for (size_t line = first; line < end; line++) {
			if (call->hint == TCB_HINT_T0)
				__builtin_prefetch(at + line * QMM_LINE, 0, 3);
			else if (call->hint == TCB_HINT_T1)
				__builtin_prefetch(at + line * QMM_LINE, 0, 2);
			else
				__builtin_prefetch(at + line * QMM_LINE, 0, 0);
		}
	}
}

/* One superblock of a q8 tile, added to TOTAL. */
SIMD_BODY void q8_superblock(const struct qmm_call *call, const struct source *from, const uint8_t *superblock,
			     const struct qmm_x8 *x, vfloat total[TILE_VECTORS_MAX])
{
	const int mr = from->micro_m, nv = from->vectors, runs = runs_of(from->format);
	const int spans = from->from_lines ? spans_of(from->format) : runs;
	const int grouped = qmm_group_values(from->format) < QMM_VALUES; /* activations, as the weights */
	struct headers header[4]; /* of lines; indexed at run time, so in memory */
	vfloat acc[TILE_VECTORS_MAX];
	SIMD_FOR (int at = 0; at < mr * nv; at++)
		acc[at] = v_set(0);
	for (int v = 0; from->from_lines && v < nv; v++)
		read_headers(vector_of(from, superblock, v), from->format, &header[v]);
	for (int span = 0; span < spans; span++) {
		if (from->from_lines && call->prefetch)
			prefetch_span(call, from, superblock, span, spans);
		SIMD_FOR (int run = 0; run < runs / spans; run++) {
			const int g = span * (runs / spans) + run;
			vint sum[TILE_VECTORS_MAX];
			run_sums(from, superblock, x, span, run, g, sum);
			SIMD_FOR (int v = 0; v < nv; v++) {
				const uint8_t *scale =
					panel_at(vector_of(from, superblock, v), offsetof(struct qmm_panel, scale), g);
				const vfloat a = from->from_lines ? header[v].scale[g] : v_load((const float *)scale);
				const vfloat c = !qmm_has_offsets(from->format) ? v_set(0)
						 : from->from_lines             ? header[v].less[g]
								    : v_load((const float *)panel_at(scale, 0, runs));
				SIMD_FOR (int m = 0; m < mr; m++) {
					const int at = m * nv + v;
					const float d = x[m].d[grouped ? g * QMM_VALUES / runs / 32 : 0];
					const vfloat s = v_from_words(sum[at]);
					if (grouped)
						total[at] = v_fma(v_mul(s, a), v_set(d), total[at]);
					else
						acc[at] = v_fma(s, a, acc[at]);
					if (qmm_has_offsets(from->format) && grouped)
						total[at] = v_fma(c, v_set(qmm_less_sum(&x[m], g) * d), total[at]);
					else if (qmm_has_offsets(from->format))
						acc[at] = v_fma(c, v_set(qmm_less_sum(&x[m], g)), acc[at]);
				}
			}
		}
	}
	if (grouped)
		return;
	SIMD_FOR (int v = 0; v < nv; v++) {
		const uint8_t *at = vector_of(from, superblock, v);
		vint min[2] = { vi_zero(), vi_zero() };
		vfloat offset = v_set(0);
		if (has_mins(from->format)) {
			for (int half = 0; half < 2; half++)
				min[half] = from->from_lines
						    ? header[v].min[half]
						    : vi_load(panel_at(at, offsetof(struct qmm_panel, min), half));
			offset = from->from_lines
					 ? header[v].offset
					 : v_load((const float *)panel_at(at, offsetof(struct qmm_panel, offset), 0));
		}
		SIMD_FOR (int m = 0; m < mr; m++) {
			if (has_mins(from->format))
				acc[m * nv + v] = take_mins(min, offset, &x[m], acc[m * nv + v]);
			total[m * nv + v] = v_fma(acc[m * nv + v], v_set(x[m].d[0]), total[m * nv + v]);
		}
	}
}

/* What the sums start from, and where they end: y or nothing. */
SIMD_INLINE void open_tile(const struct qmm_call *call, int mr, int nv, vfloat total[TILE_VECTORS_MAX])
{
	for (int m = 0; m < mr; m++)
		for (int v = 0; v < nv; v++) {
			const size_t first = (size_t)v * LANES;
			total[m * nv + v] = v_set(0);
			if (call->accumulate && (size_t)m < call->tokens && first < call->rows)
				total[m * nv + v] = v_load_first(call->y + (size_t)m * call->y_stride + first,
								 v_first(call->rows - first));
		}
}

SIMD_INLINE void close_tile(const struct qmm_call *call, int mr, int nv, const vfloat total[TILE_VECTORS_MAX])
{
	for (int m = 0; m < mr; m++)
		for (int v = 0; v < nv; v++) {
			const size_t first = (size_t)v * LANES;
			if ((size_t)m < call->tokens && first < call->rows)
				v_store_first(call->y + (size_t)m * call->y_stride + first, total[m * nv + v],
					      v_first(call->rows - first));
		}
}

SIMD_BODY void q8_tile(const struct qmm_call *call, enum tcb_format_id format, int from_lines, int mr, int nv)
{
	const struct source from = { format,
				     from_lines,
				     mr,
				     nv,
				     from_lines ? tcb_lines(format) * QMM_LINE : qmm_panel_bytes(format),
				     call->group_bytes };
	const uint8_t *superblock = call->weights;
	const struct qmm_x8 *x = call->x;
	vfloat total[TILE_VECTORS_MAX];
	assert(call->superblocks >= 1 && call->tokens <= (size_t)mr && call->rows <= (size_t)nv * LANES);
	open_tile(call, mr, nv, total);
	for (size_t b = 0; b < call->superblocks; b++, superblock += from.superblock_bytes, x += mr)
		q8_superblock(call, &from, superblock, x, total);
	close_tile(call, mr, nv, total);
}

SIMD_BODY void f32_tile(const struct qmm_call *call, int mr, int nv)
{
	const struct source from = { .group_bytes = call->group_bytes };
	const uint8_t *values = call->weights;
	const float *x = call->x;
	vfloat total[TILE_VECTORS_MAX];
	assert(call->superblocks >= 1 && call->tokens <= (size_t)mr && call->rows <= (size_t)nv * LANES);
	open_tile(call, mr, nv, total);
	for (size_t k = 0; k < call->values; k++, values += QMM_LINE, x += mr) {
		vfloat w[TILE_VECTORS_MAX];
		SIMD_FOR (int v = 0; v < nv; v++)
			w[v] = v_load((const float *)vector_of(&from, values, v));
		SIMD_FOR (int m = 0; m < mr; m++) {
			SIMD_FOR (int v = 0; v < nv; v++)
				total[m * nv + v] = v_fma(w[v], v_set(x[m]), total[m * nv + v]);
		}
	}
	close_tile(call, mr, nv, total);
}

/*
 * Formats whose panels are alike share the tiles from panels, PANEL_OF says by which name: by scales, of expanded
 * formats by blocks and runs too; where products are of signed bytes, or done in parts, each format has its own.
 */
/* The same for all formats with scales of this kind, by the first of them. */
#define IF_ALIKE(id, name, op, values, bytes, run, bits, centre, codes, codes_at, high_at, scales, ...) \
	(int)TCB_SCALES_##scales == SCALES ? (int)TCB_FORMAT_##id:
#define ALIKE_TILE(m, n, name, scales)                                                                   \
	static void panel_##name##_##m##x##n(const struct qmm_call *call)                                \
	{                                                                                                \
		enum { SCALES = scales, FIRST = TCB_FORMAT_FIELD_LIST(IF_ALIKE)(int) TCB_FORMAT_COUNT }; \
		q8_tile(call, (enum tcb_format_id)FIRST, 0, m, n / LANES);                               \
	}
#define PANEL_TILE(m, n, name, format)                                    \
	static void panel_##name##_##m##x##n(const struct qmm_call *call) \
	{                                                                 \
		q8_tile(call, format, 0, m, n / LANES);                   \
	}
#if defined(SIMD_HAS_DOT) && !defined(SIMD_DOT_IS_SIGNED)
#define PANEL_OF(op, codes, scales) scales
QMM_SIZES(ALIKE_TILE, HALF, TCB_SCALES_HALF)
QMM_SIZES(ALIKE_TILE, K, TCB_SCALES_K)
QMM_SIZES(ALIKE_TILE, BYTES, TCB_SCALES_BYTES)
QMM_SIZES(ALIKE_TILE, POWER, TCB_SCALES_POWER)
QMM_SIZES(ALIKE_TILE, SIX, TCB_SCALES_SIX)
#define EXPANDED_OF(op, values, run, scales) values##_##run##_##scales
QMM_SIZES(PANEL_TILE, 32_32_HALF, TCB_FORMAT_Q5_0)
QMM_SIZES(PANEL_TILE, 32_32_MINS, TCB_FORMAT_Q5_1)
QMM_SIZES(PANEL_TILE, 64_16_E4M3, TCB_FORMAT_NVFP4)
QMM_SIZES(PANEL_TILE, 256_16_HALF, TCB_FORMAT_Q3_K)
QMM_SIZES(PANEL_TILE, 256_16_MINS, TCB_FORMAT_Q2_K)
QMM_SIZES(PANEL_TILE, 256_16_SPREAD, TCB_FORMAT_IQ1_M)
QMM_SIZES(PANEL_TILE, 256_32_HALF, TCB_FORMAT_IQ3_S)
#else
#define PANEL_OF(op, codes, scales) op
#define EXPANDED_OF(op, values, run, scales) op
#define OWN_PANELS(id, name, op, ...) QMM_SIZES(PANEL_TILE, op, TCB_FORMAT_##id)
TCB_FORMAT_CODE_LIST(OWN_PANELS)
#endif

#define LINES_TILE(m, n, op, panel, format)                             \
	static void lines_##op##_##m##x##n(const struct qmm_call *call) \
	{                                                               \
		q8_tile(call, format, 1, m, n / LANES);                 \
	}                                                               \
	QMM_ENTRY(op##_##m##x##n, panel_##panel##_##m##x##n, lines_##op##_##m##x##n)
#define OF_FORMAT(id, name, op, values, bytes, run, bits, centre, codes, codes_at, high_at, scales, ...) \
	OF_PANEL(op, PANEL_OF(op, codes, scales), TCB_FORMAT_##id)
#define OF_PANEL(op, panel, format) QMM_SIZES(LINES_TILE, op, panel, format)
TCB_FORMAT_FIELD_LIST(OF_FORMAT)

#define OF_EXPANDED(id, name, op, values, bytes, run, bits, centre, codes, codes_at, high_at, scales, ...) \
	OF_PANEL(op, EXPANDED_OF(op, values, run, scales), TCB_FORMAT_##id)
TCB_FORMAT_EXPANDED_ROWS(OF_EXPANDED)

#define TILE_F32(m, n, unused)                                 \
	static void f32_##m##x##n(const struct qmm_call *call) \
	{                                                      \
		f32_tile(call, m, n / LANES);                  \
	}                                                      \
	QMM_ENTRY(f32_##m##x##n, f32_##m##x##n, NULL)
QMM_SIZES_F32(TILE_F32, 0)

#define ROW(m, n, op, k) QMM_ROWS_Q8(op##_matmul, k, m, n, op##_##m##x##n##_entry),
#define ROW_F32(m, n, op, k) QMM_ROWS_F32(op##_matmul, k, m, n, TCB_CLASS_EXACT, f32_##m##x##n##_entry),
#define TABLE(id, name, op, values, ...)                                              \
	const struct tcb_variant SIMD_NAME(qmm_##op)[] = { QMM_SIZES(ROW, op, values) \
								   QMM_SIZES_F32(ROW_F32, op, values){ 0 } };
TCB_FORMAT_CODE_LIST(TABLE)
#define FLOAT_TABLE(id, name, op, values, ...) \
	const struct tcb_variant SIMD_NAME(qmm_##op)[] = { QMM_SIZES_F32(ROW_F32, op, values){ 0 } };
TCB_FORMAT_WIDE_ROWS(FLOAT_TABLE)
#define ROW_F16(m, n, op, k) QMM_ROWS_F16(op##_matmul, k, m, n, f32_##m##x##n##_entry),
#define HALVES_TABLE(id, name, op, values, ...)                                               \
	const struct tcb_variant SIMD_NAME(qmm_##op)[] = { QMM_SIZES_F32(ROW_F32, op, values) \
								   QMM_SIZES_F32(ROW_F16, op, values){ 0 } };
TCB_FORMAT_HALVES_LIST(HALVES_TABLE)

/* The same tiles of several tokens for the MatVecs, and those that they are part of (quant_matvec_cpu.c). */
#define FEW_ROW(m, n, kind, op, k) QMM_ROW_FEW(kind, op, k, m, n, op##_##m##x##n##_entry),
#define FEW_TABLE(kind, has_norm, is_gated, op, values) \
	const struct tcb_variant SIMD_NAME(qmv_few_##op##_##kind)[] = { QMM_SIZES_FEW(FEW_ROW, kind, op, values){ 0 } };
#define FEW_TABLES(id, name, op, values, ...) QMV_KINDS(FEW_TABLE, op, values)
TCB_FORMAT_CODE_LIST(FEW_TABLES)
