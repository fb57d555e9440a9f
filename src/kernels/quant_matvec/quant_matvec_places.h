/* SPDX-License-Identifier: MIT
 *
 * Micro-kernels on layout r16g, contract q8, of formats whose values are entries
 * of a grid (decode/places.h): places become numbers in registers, 64 at a time,
 * from tables of 256 bytes, so that weights are read as small as they are
 * stored.  A lane is a row, as in quant_matvec_lines.h.  FORMAT is a constant
 * after inlining.  For vectors of 64 bytes: with VBMI a look-up of 256 is two
 * instructions and a choice, without it 64.
 */
#ifndef TCB_KERNELS_QUANT_MATVEC_PLACES_H
#define TCB_KERNELS_QUANT_MATVEC_PLACES_H

#include "kernels/decode/formats_grids.h"
#include "kernels/decode/places.h"
#include "kernels/quant_matvec/quant_matvec_lines.h"

#if LANES == 16 && defined(SIMD_HAS_DOT)

/* 256 bytes, entries of them apart: as vectors, and as they are. */
struct places_table {
	__m512i quarter[4];
	const uint8_t *bytes;
};

SIMD_INLINE void places_load(struct places_table *out, const uint8_t *bytes)
{
	out->bytes = bytes;
	SIMD_FOR (int i = 0; i < 4; i++)
		out->quarter[i] = _mm512_loadu_si512(bytes + 64 * i);
}

/* Byte TABLE[b] for each byte b; UPPER: those of 128 and more.  The families' flags lack VBMI, which is asked for when
 * the program runs. */
SIMD_INLINE vint places_lookup(const struct places_table *table, vint places, __mmask64 upper, int has_vbmi)
{
	vint out = places, high = places;
	if (has_vbmi) {
		__asm__("vpermi2b %2, %1, %0" : "+v"(out) : "v"(table->quarter[0]), "vm"(table->quarter[1]));
		__asm__("vpermi2b %2, %1, %0" : "+v"(high) : "v"(table->quarter[2]), "vm"(table->quarter[3]));
		return _mm512_mask_mov_epi8(out, upper, high);
	}
	out = vi_zero();
	for (int i = 0; i < 16; i++) {
		/* Bytes of this sixteenth become 0x70 to 0x7f, others more than 0x7f, for which a shuffle gives 0. */
		const vint at = _mm512_adds_epu8(vi_xor(places, vi_bytes(16 * i)), vi_bytes(0x70));
		const __m128i part = _mm_loadu_si128((const __m128i *)(table->bytes + 16 * i));
		out = _mm512_or_si512(out, _mm512_shuffle_epi8(_mm512_broadcast_i32x4(part), at));
	}
	return out;
}

enum { PLACES_TABLES_MAX = 4 };

SIMD_INLINE const uint8_t *places_bytes(enum tcb_format_id format, int half, int bank)
{
	if (format == TCB_FORMAT_IQ3_XXS)
		return tcb_places_iq3_xxs[half];
	return format == TCB_FORMAT_IQ2_XS ? tcb_places_iq2_xs[half] + 256 * bank : tcb_places_iq2_xxs[half];
}

/* The two bytes of each entry that PLACES name, NINTH: those of the second bank. */
SIMD_INLINE void places_entries(const struct places_table table[PLACES_TABLES_MAX], enum tcb_format_id format,
				vint places, __mmask64 ninth, int has_vbmi, vint out[2])
{
	const __mmask64 upper = _mm512_movepi8_mask(places);
	SIMD_FOR (int half = 0; half < 2; half++) {
		out[half] = places_lookup(&table[half], places, upper, has_vbmi);
		if (tcb_places_bits(format) > 8) {
			const vint second = places_lookup(&table[2 + half], places, upper, has_vbmi);
			out[half] = _mm512_mask_mov_epi8(out[half], ninth, second);
		}
	}
}

/* The lowest WIDTH bits of each nibble from PLACES, the others from SIGNS. */
SIMD_INLINE vint places_signed(vint places, vint signs, int width)
{
	return _mm512_ternarylogic_epi32(vi_bytes(width == 2 ? 0x33 : 0x77), places, signs, 0xca);
}

/* The sums of four steps of 16 values, onto SUM: a byte of EVEN has the numbers of steps 0 and FAR in its nibbles, one
 * of ODD those of the others.  What is above a number's bits is no matter: the table has it more than once. */
SIMD_INLINE vint places_steps(vint even, vint odd, int far, const struct nibble_table *codes, const int8_t *q, vint sum)
{
	const vint numbers[4] = { even, vi_shift_right(even, 4), odd, vi_shift_right(odd, 4) };
	SIMD_FOR (int v = 0; v < 4; v++) {
		const int at = far == 2 ? v % 2 * 2 + v / 2 : v;
		sum = vi_dot(sum, nibble_codes(codes, numbers[at]), vi_four_bytes(q + 4 * v));
	}
	return sum;
}

/* The integer sums of the two halves of run R of 32 values. */
SIMD_INLINE void places_run(const uint8_t *p, const struct places_table table[PLACES_TABLES_MAX],
			    enum tcb_format_id format, int r, vint ninths, const struct nibble_table *codes,
			    const struct qmv_x8 *x, vint sum[2])
{
	const int words = (int)tcb_places_run_words(format), at = (int)tcb_places_head(format) + r * words;
	const int starts = 256 / (int)tcb_format_row(format)->run_values == 16 ? 2 : 1;
	const vint signs = planes_line(p, at + words - 1);
	vint entry[2];
	sum[0] = vi_words(x->run_start[starts * r]);
	sum[1] = starts == 2 ? vi_words(x->run_start[2 * r + 1]) : vi_zero();
	if (tcb_places_values(format) == 8) { /* bytes have steps 0 to 3, the nibbles of these 0 and 2, and 1 and 3 */
		const __mmask64 ninth = _mm512_test_epi8_mask(ninths, vi_bytes(1 << r));
		places_entries(table, format, planes_line(p, at), ninth, codes->has_vbmi, entry);
		const vint lower = vi_words(0xffff);
		const vint halves[2] = { _mm512_ternarylogic_epi32(lower, entry[0], vi_shift_left(entry[1], 16), 0xca),
					 _mm512_ternarylogic_epi32(lower, vi_shift_right(entry[0], 16), entry[1],
								   0xca) };
		SIMD_FOR (int h = 0; h < 2; h++) {
			const vint even = places_signed(halves[h], planes_move(signs, 2 - 2 * h, 2), 2);
			const vint odd =
				places_signed(vi_shift_right(halves[h], 2), planes_move(signs, 3 - 2 * h, 2), 2);
			sum[h] = places_steps(even, odd, 2, codes, x->q + 32 * r + 16 * h, sum[h]);
		}
		return;
	}
	SIMD_FOR (int h = 0; h < 2; h++) { /* bytes have steps 0 and 1, and 2 and 3 */
		places_entries(table, format, planes_line(p, at + h), 0, codes->has_vbmi, entry);
		const vint first = places_signed(entry[0], planes_move(signs, 3 - 2 * h, 3), 3);
		const vint second = places_signed(entry[1], planes_move(signs, 2 - 2 * h, 3), 3);
		sum[h] = places_steps(first, second, 1, codes, x->q + 32 * r + 16 * h, sum[h]);
	}
}

/* One superblock at P, added to ACC. */
SIMD_INLINE vfloat places_super(const uint8_t *p, const struct places_table table[PLACES_TABLES_MAX],
				enum tcb_format_id format, const struct nibble_table *codes, const struct qmv_x8 *x,
				struct qmv_offsets ahead, int hint, vfloat acc)
{
	const int lines = (int)tcb_places_words(format), is_short = has_short_runs(format);
	const vint ninths = tcb_places_bits(format) > 8 ? planes_line(p, tcb_planes_of(format)->head_words) : vi_zero();
	vfloat total = v_set(0);
	SIMD_FOR (int r = 0; r < 8; r++) {
		vint sum[2];
		qmv_prefetch_lines(p + lines * r / 8 * QMV_LINE, (size_t)(lines * (r + 1) / 8 - lines * r / 8), ahead,
				   hint);
		places_run(p, table, format, r, ninths, codes, x, sum);
		if (is_short) {
			total = v_fma(v_from_words(sum[0]), planes_scale(p, format, 0, 2 * r), total);
			total = v_fma(v_from_words(sum[1]), planes_scale(p, format, 0, 2 * r + 1), total);
		} else {
			total = v_fma(v_from_words(vi_add(sum[0], sum[1])), planes_scale(p, format, 0, r), total);
		}
	}
	return v_fma(total, v_mul(planes_d(p, format), v_set(x->d[0])), acc);
}

/* One group of 16 rows. */
SIMD_BODY void places_rows(const struct qmv_call *call, enum tcb_format_id format, int has_vbmi, int hint)
{
	const size_t bytes = tcb_places_words(format) * QMV_LINE;
	const struct qmv_stages stages = qmv_stages(call, bytes);
	const struct nibble_table codes = nibble_table_of(format, has_vbmi);
	const struct qmv_x8 *x = call->x;
	const uint8_t *p = call->weights;
	struct places_table table[PLACES_TABLES_MAX];
	vfloat acc = v_set(0);
	assert(call->rows <= QMV_ROWS);
	SIMD_FOR (int i = 0; i < PLACES_TABLES_MAX; i++)
		if (i < 2 || tcb_places_bits(format) > 8)
			places_load(&table[i], places_bytes(format, i % 2, i / 2));
	for (size_t b = 0; b < call->blocks; b++, p += bytes)
		acc = places_super(p, table, format, &codes, x + b, qmv_offsets(&stages, b), hint, acc);
	line_store(call, 0, acc);
}

/* The same, whatever the processor has beyond its family. */
SIMD_BODY void places_rows_of(const struct qmv_call *call, enum tcb_format_id format, int hint)
{
	if (nibble_has_vbmi())
		places_rows(call, format, 1, hint);
	else
		places_rows(call, format, 0, hint);
}

#endif
#endif
