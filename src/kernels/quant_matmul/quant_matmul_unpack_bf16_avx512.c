/* SPDX-License-Identifier: MIT
 *
 * Weights as gathered, or packed lines, -> struct qmm_halves, and activations
 * -> lines of bf16, for tiles of bf16: for AVX-512, which all processors with
 * tiles have.
 *
 * Each value is what tcb_dequantize() gives, rounded once more.  Nibbles are looked up as the floats
 * that they stand for, and scaled; two floats become a word.
 */
#include <immintrin.h>

#include "base/sizes.h"
#include "kernels/decode/formats_expand.h"
#include "kernels/quant_matmul/quant_matmul_lines.h"
#include "kernels/quant_matmul/quant_matmul_pack.h"

/* A NaN's bits beyond bf16's may be all ones, which rounding up would carry into its sign: the NaN without any. */
SIMD_INLINE vfloat plain_nan(vfloat v)
{
	return _mm512_mask_mov_ps(v, v_unordered(v, v), v_set(__builtin_nanf("")));
}

/* Bits of V, with half of bf16's last one more. */
SIMD_INLINE vint half_more(vfloat v)
{
	return vi_add(_mm512_castps_si512(v), vi_words(0x8000));
}

/* Words of two halves: FIRST and SECOND, rounded. */
SIMD_INLINE vint two_halves(vfloat first, vfloat second)
{
	return vi_merge(vi_shift_right(half_more(first), 16), half_more(second), vi_words((int32_t)0xffff0000));
}

/* Codes are nibbles, alone. */
SIMD_INLINE int has_nibbles(enum tcb_format_id format)
{
	return codes_kind(format) == TCB_CODES_RUNS ||
	       (codes_kind(format) == TCB_CODES_PAIRS && !has_high_bits(format));
}

/* What nibbles stand for. */
SIMD_INLINE vfloat nibble_values(enum tcb_format_id format)
{
	const struct tcb_format *f = tcb_format_row(format);
	float value[LANES];
	SIMD_FOR (int i = 0; i < LANES; i++)
		value[i] = (float)(tcb_has_table(format) ? f->table[i] : i - f->centre);
	return v_load(value);
}

/* Step I of run RUN of SPAN, in a line: from bit SHIFT of each byte. */
SIMD_INLINE vint nibble_step(const uint8_t *lines, enum tcb_format_id format, int span, int run, int i, int *shift)
{
	if (codes_kind(format) == TCB_CODES_RUNS) {
		*shift = i / 4 * 4;
		return vi_load(lines + ((has_short_headers(format) ? 2 : 4) + 4 * span + i % 4) * QMM_LINE);
	}
	*shift = run * 4;
	return vi_load(lines + (4 + 8 * span + i) * QMM_LINE);
}

/* Scales, and what is taken off the products with codes as they are unpacked: offsets, or products with the centre,
 * which are exact. */
struct factors {
	vfloat scale[QMM_RUNS_MAX], less[QMM_RUNS_MAX];
};

SIMD_INLINE int takes_less(enum tcb_format_id format)
{
	return tcb_format_row(format)->has_offsets || (!has_nibbles(format) && qmm_centre(format));
}

SIMD_INLINE void read_factors(const uint8_t *lines, enum tcb_format_id format, struct factors *out)
{
	struct headers h;
	read_headers(lines, format, &h);
	SIMD_FOR (int g = 0; g < runs_of(format); g++) {
		vfloat less = v_set(0);
		if (has_mins(format))
			less = v_mul(h.offset, v_from_words(vi_unsigned_byte(h.min[g / 4], g % 4)));
		else if (qmm_has_offsets(format))
			less = h.less[g];
		else
			less = v_mul(h.scale[g], v_set((float)qmm_centre(format)));
		out->scale[g] = plain_nan(h.scale[g]);
		out->less[g] = plain_nan(less);
	}
}

SIMD_BODY void unpack_lines(const uint8_t *lines, enum tcb_format_id format, struct qmm_halves *out)
{
	const int spans = spans_of(format), runs = runs_of(format), steps = QMM_STEPS / runs;
	const vfloat values = has_nibbles(format) ? nibble_values(format) : v_set(0);
	uint8_t *to = (uint8_t *)out->w[0];
	struct factors f;
	read_factors(lines, format, &f);
	for (int span = 0; span < spans; span++) {
		SIMD_FOR (int run = 0; run < runs / spans; run++) {
			const int g = span * (runs / spans) + run;
			const vfloat scale = f.scale[g], less = f.less[g];
			SIMD_FOR (int i = 0; i < steps; i++, to += 2 * QMM_LINE) {
				int shift = 0;
				const vint codes = has_nibbles(format)
							   ? nibble_step(lines, format, span, run, i, &shift)
							   : code_step(lines, format, span, run, i);
				vfloat w[4];
				SIMD_FOR (int k = 0; k < 4; k++) {
					/* The lookup minds four bits of a word. */
					const vfloat code =
						has_nibbles(format)
							? _mm512_permutexvar_ps(vi_shift_right(codes, shift + 8 * k),
										values)
							: v_from_words(vi_unsigned_byte(codes, k));
					w[k] = takes_less(format) ? v_fms(scale, code, less) : v_mul(scale, code);
				}
				vi_store(to, two_halves(w[0], w[1]));
				vi_store(to + QMM_LINE, two_halves(w[2], w[3]));
			}
		}
	}
}

/* Rows of values become words of each row side by side. */
SIMD_INLINE void put_rows(const uint16_t rows[QMM_ROWS][QMM_VALUES], struct qmm_halves *out)
{
	const uint8_t *row[QMM_ROWS];
	vint v[4];
	for (int r = 0; r < QMM_ROWS; r++)
		row[r] = (const uint8_t *)rows[r];
	for (int i = 0; i < QMM_VALUES / 2; i += 4) {
		vi_four_words(row, (size_t)i * 4, v);
		SIMD_FOR (int j = 0; j < 4; j++)
			vi_store(out->w[i + j], v[j]);
	}
}

SIMD_INLINE void put_half(uint16_t *to, vfloat v)
{
	_mm256_storeu_si256((__m256i_u *)to, _mm512_cvtepi32_epi16(vi_shift_right(half_more(v), 16)));
}

/* Gathered rows of an expanded format. */
SIMD_BODY void expand_rows(const uint8_t *rows, enum tcb_format_id format, struct qmm_halves *out)
{
	const int run = qmm_run_values(format);
	const vfloat centre = v_set((float)tcb_format_row(format)->centre);
	struct tcb_codes codes;
	uint16_t halves[QMM_ROWS][QMM_VALUES];
	for (size_t r = 0; r < QMM_ROWS; r++) {
		tcb_expand_super(format, rows + r * tcb_lines_row_bytes(format), &codes);
		for (int i = 0; i < QMM_VALUES; i += LANES) {
			const vfloat code = v_sub(v_from_bytes(codes.code + i), centre);
			const vfloat scale = plain_nan(v_set(codes.scale[i / run]));
			put_half(halves[r] + i, qmm_has_offsets(format)
							? v_fms(scale, code, plain_nan(v_set(codes.offset[i / run])))
							: v_mul(scale, code));
		}
	}
	put_rows(halves, out);
}

/* Weights that are values with scales. */
SIMD_BODY void scale_rows(const uint8_t *rows, enum tcb_format_id format, struct qmm_halves *out)
{
	const struct tcb_format *f = tcb_format_row(format);
	uint16_t halves[QMM_ROWS][QMM_VALUES];
	for (size_t r = 0; r < QMM_ROWS; r++) {
		const uint8_t *block = rows + r * tcb_lines_row_bytes(format);
		for (size_t i = 0; i < QMM_VALUES; i += f->block_values, block += f->block_bytes) {
			float scale;
			memcpy(&scale, block + f->d_at, sizeof(scale));
			for (size_t j = 0; j < f->block_values; j += LANES)
				put_half(halves[r] + i + j,
					 plain_nan(v_mul(v_mul(v_from_e4m3(block + f->codes_at + j), v_set(256)),
							 v_set(scale))));
		}
	}
	put_rows(halves, out);
}

/* The halves of a line's two vectors. */
SIMD_INLINE vint line_of(vfloat first, vfloat second)
{
	const vint odd = _mm512_set_epi16(63, 61, 59, 57, 55, 53, 51, 49, 47, 45, 43, 41, 39, 37, 35, 33, 31, 29, 27,
					  25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
	return _mm512_permutex2var_epi16(half_more(plain_nan(first)), odd, half_more(plain_nan(second)));
}

void qmm_round(const float *x, size_t count, size_t lines, size_t apart, uint8_t *out)
{
	const size_t whole = tcb_least(count / QMM_LINE_HALVES, lines);
	size_t i = 0;
	for (; i < whole; i++, x += QMM_LINE_HALVES, out += apart)
		vi_store(out, line_of(v_load(x), v_load(x + LANES)));
	count -= whole * QMM_LINE_HALVES;
	for (; i < lines; i++, out += apart, count = 0) {
		float part[QMM_LINE_HALVES] = { 0 };
		if (count)
			memcpy(part, x, count * sizeof(float));
		vi_store(out, line_of(v_load(part), v_load(part + LANES)));
	}
}

#define FROM_LINES(id, name, ...) QMM_UNPACK_FUNCTION(lines_##name, unpack_lines, TCB_FORMAT_##id)
#define FROM_CODES(id, name, ...) QMM_UNPACK_FUNCTION(expanded_##name, expand_rows, TCB_FORMAT_##id)
#define FROM_VALUES(id, name, ...) QMM_UNPACK_FUNCTION(scaled_##name, scale_rows, TCB_FORMAT_##id)
TCB_FORMAT_CODE_LIST(FROM_LINES)
TCB_FORMAT_EXPANDED_ROWS(FROM_CODES)
TCB_FORMAT_SCALED_ROWS(FROM_VALUES)

#define OF_FIELDS(id, name, ...) [TCB_FORMAT_##id] = { lines_##name, lines_##name },
#define OF_EXPANDED(id, name, ...) [TCB_FORMAT_##id] = { lines_##name, expanded_##name },
#define OF_VALUES(id, name, ...) [TCB_FORMAT_##id] = { scaled_##name, scaled_##name },
const struct qmm_halves_unpacker qmm_halves_unpackers[TCB_FORMAT_COUNT] = { TCB_FORMAT_FIELD_LIST(
	OF_FIELDS) TCB_FORMAT_EXPANDED_ROWS(OF_EXPANDED) TCB_FORMAT_SCALED_ROWS(OF_VALUES) };
