/* SPDX-License-Identifier: MIT
 *
 * Register tiles of the quantised matmul, generic over format, vector width and
 * size: MICRO_M tokens x VECTORS vectors of rows.  One call walks a span of k.
 *
 * Contract q8, per superblock of 256 values and per run of 32 (q6_k: 16) of it:
 * the tile's integer sums S of codes and activations are exact; as floats they
 * are added up with the run's scale of each row; the mins of all runs come in
 * as one more integer sum; then the whole is taken times the token's d (q4_0 and
 * q8_0, whose activations have a d a run: each run's sum is).
 *
 * Contract f32: one chain of fused multiply-adds over k for each output.
 */
#ifndef TCB_KERNELS_QUANT_MATMUL_TILE_H
#define TCB_KERNELS_QUANT_MATMUL_TILE_H

#include <assert.h>

#include "kernels/quant_matmul/quant_matmul_lines.h"

#ifdef QMM_HAS_VECTORS

enum { TILE_VECTORS_MAX = 16 };

/* The four activations at P for all rows. */
QMM_INLINE vint four_codes(const int8_t *p)
{
	int32_t four;
	memcpy(&four, p, sizeof(four));
	return words_of(four);
}

/* One instruction for four products, of unsigned codes with VNNI, of signed ones on Arm. */
#if defined(__AVX512VNNI__) || defined(__ARM_FEATURE_DOTPROD)
#define QMM_HAS_DOT
#endif

#if defined(__ARM_FEATURE_DOTPROD)
enum { DOT_IS_SIGNED = 1 };
#elif defined(__AVX512VNNI__)
enum { DOT_IS_SIGNED = 0 };

QMM_INLINE vint dot_add(vint sum, vint u, vint s)
{
	return _mm512_dpbusd_epi32(sum, u, s);
}

#elif defined(__AVX512BW__)

QMM_INLINE vint pairs(vint u, vint s)
{
	return _mm512_maddubs_epi16(u, s);
}

QMM_INLINE vint add16(vint a, vint b)
{
	return _mm512_add_epi16(a, b);
}

QMM_INLINE vint pairs16(vint a)
{
	return _mm512_madd_epi16(a, _mm512_set1_epi16(1));
}

QMM_INLINE vint magnitude(vint s)
{
	return _mm512_abs_epi8(s);
}

/* X, negated where S is negative. */
QMM_INLINE vint signed_like(vint x, vint s)
{
	return _mm512_mask_sub_epi8(x, _mm512_movepi8_mask(s), _mm512_setzero_si512(), x);
}

#else

QMM_INLINE vint pairs(vint u, vint s)
{
	return _mm256_maddubs_epi16(u, s);
}

QMM_INLINE vint add16(vint a, vint b)
{
	return _mm256_add_epi16(a, b);
}

QMM_INLINE vint pairs16(vint a)
{
	return _mm256_madd_epi16(a, _mm256_set1_epi16(1));
}

QMM_INLINE vint magnitude(vint s)
{
	return _mm256_abs_epi8(s);
}

QMM_INLINE vint signed_like(vint x, vint s)
{
	return _mm256_sign_epi8(x, s);
}

#endif

#ifndef QMM_HAS_DOT
/* Four products each, for the mins: 63 * 32 * 2 fits 16 bits. */
QMM_INLINE vint dot_add(vint sum, vint u, vint s)
{
	return add(sum, pairs16(pairs(u, s)));
}

/*
 * Sums of two products that 16 bits hold: with codes up to 15, 31 and 63, eight, four and two of them (15 * 127 * 2 * 8
 * = 30480).  Codes of q8_0 are taken apart into magnitude (up to 128) and sign: one.
 */
QMM_INLINE int pieces_of(enum tcb_format_id format)
{
	return format == TCB_FORMAT_Q8_0 ? 1 : format == TCB_FORMAT_Q6_K ? 2 : format == TCB_FORMAT_Q5_K ? 4 : 8;
}
#endif

/* Where a tile's weights are. */
struct source {
	enum tcb_format_id format;
	int from_lines, micro_m, vectors;
	size_t superblock_bytes, group_bytes;
};

QMM_INLINE const uint8_t *vector_of(const struct source *from, const uint8_t *superblock, int v)
{
	const size_t rows = (size_t)v * LANES;
	return superblock + rows / QMM_ROWS * from->group_bytes + rows % QMM_ROWS * 4;
}

QMM_INLINE const uint8_t *panel_at(const uint8_t *panel, size_t member, int line)
{
	return panel + member + (size_t)line * QMM_LINE;
}

/* The codes of step I of run RUN of a span. */
QMM_INLINE vint tile_codes(const struct source *from, const uint8_t *superblock, int v, int span, int run, int i)
{
	const uint8_t *at = vector_of(from, superblock, v);
	const int steps = QMM_STEPS / runs_of(from->format);
	if (from->from_lines)
		return code_step(at, from->format, span, run, i);
	return load(panel_at(at, offsetof(struct qmm_panel, code), span * steps + i));
}

/* The integer sums of one run of RUN of SPAN, run G of the superblock. */
QMM_INLINE void run_sums(const struct source *from, const uint8_t *superblock, const struct qmm_x8 *x, int span,
			 int run, int g, vint sum[TILE_VECTORS_MAX])
{
	const int mr = from->micro_m, nv = from->vectors, steps = QMM_STEPS / runs_of(from->format);
	const int8_t *codes = x->q + 4 * steps * g;
#ifdef QMM_HAS_DOT
	const int by_sign = DOT_IS_SIGNED && from->format == TCB_FORMAT_Q8_0;
	QMM_UNROLL
	for (int m = 0; m < mr; m++) {
		QMM_UNROLL
		for (int v = 0; v < nv; v++)
			sum[m * nv + v] = has_mins(from->format) || by_sign ? zero() : words_of(x[m].start[g]);
	}
	QMM_UNROLL
	for (int i = 0; i < steps; i++) {
		vint w[TILE_VECTORS_MAX];
		QMM_UNROLL
		for (int v = 0; v < nv; v++) {
			w[v] = tile_codes(from, superblock, v, span, run, i);
			w[v] = by_sign ? xor_bits(w[v], bytes_of(-128)) : w[v];
		}
		QMM_UNROLL
		for (int m = 0; m < mr; m++) {
			const vint four = four_codes(codes + (size_t)m * sizeof(*x) + 4 * i);
			QMM_UNROLL
			for (int v = 0; v < nv; v++)
				sum[m * nv + v] = dot_add(sum[m * nv + v], w[v], four);
		}
	}
#else
	const int pieces = pieces_of(from->format), by_sign = from->format == TCB_FORMAT_Q8_0;
	vint part[TILE_VECTORS_MAX];
	QMM_UNROLL
	for (int m = 0; m < mr; m++) {
		QMM_UNROLL
		for (int v = 0; v < nv; v++)
			sum[m * nv + v] = has_mins(from->format) || by_sign ? zero() : words_of(x[m].start[g]);
	}
	QMM_UNROLL
	for (int i = 0; i < steps; i++) {
		vint w[TILE_VECTORS_MAX], u[TILE_VECTORS_MAX];
		QMM_UNROLL
		for (int v = 0; v < nv; v++) {
			w[v] = tile_codes(from, superblock, v, span, run, i);
			w[v] = by_sign ? xor_bits(w[v], bytes_of(-128)) : w[v];
			u[v] = by_sign ? magnitude(w[v]) : w[v];
		}
		QMM_UNROLL
		for (int m = 0; m < mr; m++) {
			const vint four = four_codes(codes + (size_t)m * sizeof(*x) + 4 * i);
			QMM_UNROLL
			for (int v = 0; v < nv; v++) {
				const int at = m * nv + v;
				const vint two = pairs(u[v], by_sign ? signed_like(four, w[v]) : four);
				part[at] = i % pieces ? add16(part[at], two) : two;
				if (i % pieces == pieces - 1)
					sum[at] = add(sum[at], pairs16(part[at]));
			}
		}
	}
#endif
}

/* What the mins take off, before it is scaled by d. */
QMM_INLINE vfloat take_mins(const vint min[2], vfloat offset, const struct qmm_x8 *x, vfloat from)
{
	vint sum = dot_add(zero(), min[0], four_codes(x->sums_high));
	sum = dot_add(sum, min[1], four_codes(x->sums_high + 4));
	sum = times_64(sum);
	sum = dot_add(sum, min[0], four_codes(x->sums_low));
	sum = dot_add(sum, min[1], four_codes(x->sums_low + 4));
	return fma_from(offset, to_float(sum), from);
}

/* Lines far ahead of those of a span. */
QMM_INLINE void prefetch_span(const struct qmm_call *call, const struct source *from, const uint8_t *superblock,
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
QMM_INLINE void q8_superblock(const struct qmm_call *call, const struct source *from, const uint8_t *superblock,
			      const struct qmm_x8 *x, vfloat total[TILE_VECTORS_MAX])
{
	const int mr = from->micro_m, nv = from->vectors, runs = runs_of(from->format);
	const int spans = from->from_lines ? spans_of(from->format) : runs;
	const int grouped = qmm_group_values(from->format) < QMM_VALUES; /* activations, as the weights */
	struct headers header[4]; /* of lines; indexed at run time, so in memory */
	vfloat acc[TILE_VECTORS_MAX];
	QMM_UNROLL
	for (int at = 0; at < mr * nv; at++)
		acc[at] = fzero();
	for (int v = 0; from->from_lines && v < nv; v++)
		read_headers(vector_of(from, superblock, v), from->format, &header[v]);
	for (int span = 0; span < spans; span++) {
		if (from->from_lines && call->prefetch)
			prefetch_span(call, from, superblock, span, spans);
		QMM_UNROLL
		for (int run = 0; run < runs / spans; run++) {
			const int g = span * (runs / spans) + run;
			vint sum[TILE_VECTORS_MAX];
			run_sums(from, superblock, x, span, run, g, sum);
			QMM_UNROLL
			for (int v = 0; v < nv; v++) {
				const uint8_t *scale =
					panel_at(vector_of(from, superblock, v), offsetof(struct qmm_panel, scale), g);
				const vfloat a = from->from_lines ? header[v].scale[g] : fload((const float *)scale);
				QMM_UNROLL
				for (int m = 0; m < mr; m++) {
					const int at = m * nv + v;
					const vfloat s = to_float(sum[at]);
					if (grouped)
						total[at] = fma_add(mul(s, a), fspread(&x[m].d[g]), total[at]);
					else
						acc[at] = fma_add(s, a, acc[at]);
				}
			}
		}
	}
	if (grouped)
		return;
	QMM_UNROLL
	for (int v = 0; v < nv; v++) {
		const uint8_t *at = vector_of(from, superblock, v);
		vint min[2] = { zero(), zero() };
		vfloat offset = fzero();
		if (has_mins(from->format)) {
			for (int half = 0; half < 2; half++)
				min[half] = from->from_lines
						    ? header[v].min[half]
						    : load(panel_at(at, offsetof(struct qmm_panel, min), half));
			offset = from->from_lines
					 ? header[v].offset
					 : fload((const float *)panel_at(at, offsetof(struct qmm_panel, offset), 0));
		}
		QMM_UNROLL
		for (int m = 0; m < mr; m++) {
			if (has_mins(from->format))
				acc[m * nv + v] = take_mins(min, offset, &x[m], acc[m * nv + v]);
			total[m * nv + v] = fma_add(acc[m * nv + v], fspread(x[m].d), total[m * nv + v]);
		}
	}
}

/* What the sums start from, and where they end: y or nothing. */
QMM_INLINE void open_tile(const struct qmm_call *call, int mr, int nv, vfloat total[TILE_VECTORS_MAX])
{
	for (int m = 0; m < mr; m++)
		for (int v = 0; v < nv; v++) {
			const size_t first = (size_t)v * LANES;
			total[m * nv + v] = fzero();
			if (call->accumulate && (size_t)m < call->tokens && first < call->rows)
				total[m * nv + v] = fload_part(call->y + (size_t)m * call->y_stride + first,
							       first_lanes(call->rows - first));
		}
}

QMM_INLINE void close_tile(const struct qmm_call *call, int mr, int nv, const vfloat total[TILE_VECTORS_MAX])
{
	for (int m = 0; m < mr; m++)
		for (int v = 0; v < nv; v++) {
			const size_t first = (size_t)v * LANES;
			if ((size_t)m < call->tokens && first < call->rows)
				fstore_part(call->y + (size_t)m * call->y_stride + first,
					    first_lanes(call->rows - first), total[m * nv + v]);
		}
}

QMM_INLINE void q8_tile(const struct qmm_call *call, enum tcb_format_id format, int from_lines, int mr, int nv)
{
	const struct source from = { format,
				     from_lines,
				     mr,
				     nv,
				     from_lines ? qmm_lines(format) * QMM_LINE : qmm_panel_bytes(format),
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

QMM_INLINE void f32_tile(const struct qmm_call *call, int mr, int nv)
{
	const struct source from = { .group_bytes = call->group_bytes };
	const uint8_t *values = call->weights;
	const float *x = call->x;
	vfloat total[TILE_VECTORS_MAX];
	assert(call->superblocks >= 1 && call->tokens <= (size_t)mr && call->rows <= (size_t)nv * LANES);
	open_tile(call, mr, nv, total);
	for (size_t k = 0; k < call->values; k++, values += QMM_LINE, x += mr) {
		vfloat w[TILE_VECTORS_MAX];
		QMM_UNROLL
		for (int v = 0; v < nv; v++)
			w[v] = fload((const float *)vector_of(&from, values, v));
		QMM_UNROLL
		for (int m = 0; m < mr; m++) {
			QMM_UNROLL
			for (int v = 0; v < nv; v++)
				total[m * nv + v] = fma_add(w[v], fspread(x + m), total[m * nv + v]);
		}
	}
	close_tile(call, mr, nv, total);
}

#endif
#endif
