/* SPDX-License-Identifier: MIT
 *
 * Micro-kernels on layout r16 (quant_lines.h), one for all formats, generic
 * over vector width.  FORMAT is a constant after inlining.  A lane is a row: a
 * line of weights is four codes of each of 16 rows, and meets the same four
 * activations everywhere.  Sums are as in quant_matvec_native.h, but need no
 * adding up of lanes.
 */
#ifndef TCB_KERNELS_QUANT_MATVEC_LINES_H
#define TCB_KERNELS_QUANT_MATVEC_LINES_H

#include "kernels/decode/planes_vectors.h"
#include "kernels/quant_matvec/quant_matvec_native.h"

#ifdef SIMD_HAS_BYTES

/*
 * Codes of nibbles by a format's table, + 128, as products of unsigned bytes want them: for vectors of 64 bytes, whose
 * bytes of a line are looked up as they are.  VBMI takes six bits of a byte as its place, of which the table has all
 * four that the upper two can be, so that only every other nibble is shifted and none is cut out.  Families whose
 * vectors are shorter have no such look-up, and their products are of signed codes.
 */
struct nibble_table {
	vint codes; /* + 128, four times 16 */
	int has_vbmi;
};

#if LANES == 16 && defined(SIMD_HAS_DOT)

SIMD_INLINE int nibble_looks_up(enum tcb_format_id format)
{
	return codes_kind(format) == TCB_CODES_RUNS && tcb_has_table(format);
}

/* The families' flags lack it: it is asked for when the program runs. */
SIMD_INLINE int nibble_has_vbmi(void)
{
	return __builtin_cpu_supports("avx512vbmi");
}

SIMD_INLINE struct nibble_table nibble_table_of(enum tcb_format_id format, int has_vbmi)
{
	struct nibble_table out = { vi_zero(), has_vbmi };
	if (tcb_has_table(format))
		out.codes = vi_xor(vi_table16(tcb_format_row(format)->table), vi_bytes(-128));
	return out;
}

/* Of the lowest four bits of each byte. */
SIMD_INLINE vint nibble_codes(const struct nibble_table *table, vint bytes)
{
	vint out;
	if (!table->has_vbmi)
		return vi_lookup16(table->codes, vi_and(bytes, vi_bytes(15)));
	__asm__("vpermb %1, %2, %0" : "=v"(out) : "v"(table->codes), "v"(bytes));
	return out;
}

#else

SIMD_INLINE int nibble_looks_up(enum tcb_format_id format)
{
	(void)format;
	return 0;
}

SIMD_INLINE int nibble_has_vbmi(void)
{
	return 0;
}

SIMD_INLINE struct nibble_table nibble_table_of(enum tcb_format_id format, int has_vbmi)
{
	(void)format;
	return (struct nibble_table){ vi_zero(), has_vbmi };
}

SIMD_INLINE vint nibble_codes(const struct nibble_table *table, vint bytes)
{
	(void)table;
	return bytes;
}

#endif

/* Vectors a line, and how many of them are worked on at once: more only make the code larger. */
enum { PARTS = QMV_ROWS / LANES, TOGETHER = PARTS < 2 ? 1 : 2 };

SIMD_INLINE vint line_at(const uint8_t *p, int line)
{
	return vi_load(p + line * QMV_LINE);
}

/*
 * Lines that many runs need, in registers where there are enough: scales, and the bits beyond nibbles, where there are
 * two for each code those of half a superblock.  They are loaded before the others, so that memory is read line after
 * line: the processor's own prefetching follows nothing else, and is better than any asking (q5_k, a Zen 4, 4096x4096
 * cold without software prefetch: 360 us, and 754 us where they are loaded as they are needed).
 */
enum { HELD_MOST = 13, HOLDS = LANES == 16 };
struct held {
	vint line[HELD_MOST];
	struct nibble_table table; /* of formats that nibble_looks_up() */
};

/* Line LINE of the first HELD_MOST. */
SIMD_INLINE vint held_at(const struct held *held, const uint8_t *p, int line)
{
	return HOLDS ? held->line[line] : line_at(p, line);
}

/* COUNT lines, from P on, to number FIRST on. */
SIMD_INLINE void hold(struct held *held, const uint8_t *p, int first, int count)
{
	SIMD_FOR (int i = 0; HOLDS && i < count; i++) {
		held->line[first + i] = line_at(p, i);
		SIMD_IN_REGISTER(held->line[first + i]);
	}
}

/* What the second half of a superblock with runs of 16 has instead: its scales, and its high bits. */
SIMD_INLINE void hold_second(struct held *held, const uint8_t *p)
{
	if (!HOLDS)
		return;
	held->line[1] = held->line[3];
	held->line[2] = held->line[4];
	hold(held, p + 29 * QMV_LINE, 5, 8);
}

/* The lines at the beginning of a superblock that many of its runs need. */
SIMD_INLINE int head_lines(enum tcb_format_id format)
{
	if (tcb_is_expanded(format))
		return tcb_planes_of(format)->head_words;
	if (codes_kind(format) == TCB_CODES_QUARTERS)
		return 13;
	return has_high_bits(format) ? 12 : scales_kind(format) > TCB_SCALES_BYTES ? 2 : 4;
}

SIMD_INLINE vint nibbles(const uint8_t *p, int line, int high)
{
	const vint v = line_at(p, line);
	return vi_and(high ? vi_shift_right(v, 4) : v, vi_bytes(15));
}

/*
 * A run is FIRST + RUN: RUN, below 8, is a constant after inlining, FIRST is 0 or, of 16 runs, 8.  Codes of step I
 * (four values) of a run: + centre, but those that are signed.
 */
SIMD_INLINE vint line_codes(const uint8_t *p, const struct held *held, enum tcb_format_id format, int first, int run,
			    int i)
{
	const int g = run; /* of formats with 8 runs */
	if (tcb_is_expanded(format))
		return planes_codes(p, format, first, run, i);
	if (codes_kind(format) == TCB_CODES_BYTES)
		return line_at(p, 4 + 8 * g + i);
	if (codes_kind(format) == TCB_CODES_RUNS)
		return quant_nibble_codes(nibbles(p, head_lines(format) + 4 * g + i % 4, i / 4), format);
	if (codes_kind(format) == TCB_CODES_PAIRS && !has_high_bits(format))
		return nibbles(p, 4 + 8 * (g / 2) + i, g % 2);
	if (codes_kind(format) == TCB_CODES_PAIRS) {
		const vint fifth = held_at(held, p, 4 + i);
		return vi_merge(nibbles(p, 12 + 8 * (g / 2) + i, g % 2),
				g > 4 ? vi_shift_right(fifth, g - 4) : vi_shift_left(fifth, 4 - g), vi_bytes(16));
	}
	const int half = first / 8, part = run / 2, at = 4 * (run % 2) + i;
	const vint high = HOLDS ? held->line[5 + at] : line_at(p, 5 + 24 * half + at);
	return vi_merge(nibbles(p, 13 + 24 * half + 8 * (part % 2) + at, part / 2),
			part > 2 ? vi_shift_right(high, 2) : vi_shift_left(high, 4 - 2 * part), vi_bytes(0x30));
}

/* The scales of a K-quant's runs as bytes, unsigned or signed (TCB_SCALES_BYTES), four runs to a vector; the mins of
 * TCB_SCALES_K. */
SIMD_INLINE vint scale_bytes(const uint8_t *p, const struct held *held, enum tcb_format_id format, int quarter)
{
	if (scales_kind(format) == TCB_SCALES_BYTES)
		return HOLDS ? held->line[1 + quarter % 2] : line_at(p, 1 + quarter);
	const vint a = held_at(held, p, 1), c = held_at(held, p, 3);
	return quarter ? vi_merge(vi_and(c, vi_bytes(15)), vi_shift_right(a, 2), vi_bytes(0x30))
		       : vi_and(a, vi_bytes(63));
}

SIMD_INLINE vint min_bytes(const uint8_t *p, int quarter)
{
	const vint b = line_at(p, 2), c = line_at(p, 3);
	return quarter ? vi_merge(vi_and(vi_shift_right(c, 4), vi_bytes(15)), vi_shift_right(b, 2), vi_bytes(0x30))
		       : vi_and(b, vi_bytes(63));
}

/* quant_six_scale() as a float: with the bits of 2^23 above them, those of a whole number are a float's. */
SIMD_INLINE vfloat line_six_scale(vint first, vint low, int run)
{
	const vint four = vi_merge(vi_words(0x4b000000), vi_shift_right(low, 4 * run), vi_words(15));
	const vint six = vi_merge(four, vi_shift_right(first, 12 + 2 * run), vi_words(0x30));
	return v_sub(v_from_bits(six), v_set(0x1p23f + 32));
}

/* What a run's sums are multiplied with: in K-quants its integer scale, the block's d comes in line_d(). */
SIMD_INLINE vfloat line_scale(const uint8_t *p, const struct held *held, enum tcb_format_id format, int first, int run)
{
	const enum tcb_scales_kind kind = scales_kind(format);
	if (tcb_is_expanded(format))
		return planes_scale(p, format, first, run);
	if (kind == TCB_SCALES_HALF)
		return v_from_halves(held_at(held, p, run / 2), run % 2);
	if (kind == TCB_SCALES_POWER)
		return quant_power_scale(vi_unsigned_byte(held_at(held, p, run / 4), run % 4));
	if (kind == TCB_SCALES_SIX)
		return line_six_scale(held_at(held, p, 0), held_at(held, p, 1), run);
	const vint sc = scale_bytes(p, held, format, first / 4 + run / 4);
	return v_from_words(kind == TCB_SCALES_BYTES ? vi_signed_byte(sc, run % 4) : vi_unsigned_byte(sc, run % 4));
}

/* The d (WHICH 0) or dmin (1) of the rows of PART of the superblock at BLOCK. */
SIMD_INLINE vfloat line_d(const uint8_t *block, enum tcb_format_id format, int part, int which)
{
	if (tcb_is_expanded(format) && !which)
		return planes_d(block + VECTOR_BYTES * part, format);
	return v_from_halves(line_at(block + VECTOR_BYTES * part, 0), which);
}

SIMD_INLINE int runs_of(enum tcb_format_id format)
{
	return has_short_runs(format) ? 16 : 8;
}

/* Step I of a run of nibbles by a table, + 128. */
SIMD_INLINE vint line_looked_up(const uint8_t *p, const struct held *held, enum tcb_format_id format, int run, int i)
{
	const vint both = line_at(p, head_lines(format) + 4 * run + i % 4);
	return nibble_codes(&held->table, i < 4 ? both : vi_shift_right(both, 4));
}

/* The integer sums of a run. */
SIMD_INLINE vfloat q8_dot(const uint8_t *p, const struct held *held, enum tcb_format_id format, const struct qmv_x8 *x,
			  int first, int run)
{
	const int steps = 64 / runs_of(format), g = first + run, is_looked_up = nibble_looks_up(format);
	const int is_signed = tcb_has_signed_codes(format) && !is_looked_up;
	const vint start = vi_words(x->run_start[g]);
	vint sum = is_signed ? vi_signed_start(start) : has_mins(format) ? vi_zero() : start;
	SIMD_FOR (int i = 0; i < steps; i++) {
		const vint w = is_looked_up ? line_looked_up(p, held, format, run, i)
					    : line_codes(p, held, format, first, run, i);
		const vint q = vi_four_bytes(x->q + 4 * (steps * g + i));
		sum = is_signed ? vi_dot_signed(sum, w, q) : vi_dot(sum, w, q);
	}
	return v_from_words(sum);
}

SIMD_INLINE vfloat f32_dot(const uint8_t *p, const struct held *held, enum tcb_format_id format,
			   const struct qmv_x32 *x, int first, int run)
{
	const int steps = 64 / runs_of(format), g = first + run;
	vfloat part[2] = { v_set(0), v_set(0) };
	SIMD_FOR (int i = 0; i < steps; i++) {
		const vint w = line_codes(p, held, format, first, run, i);
		SIMD_FOR (int b = 0; b < 4; b++) {
			const vfloat q = v_from_words(tcb_has_signed_codes(format) ? vi_signed_byte(w, b)
										   : vi_unsigned_byte(w, b));
			part[b % 2] = v_fma(q, v_set(x->x[4 * (steps * g + i) + b]), part[b % 2]);
		}
	}
	return v_add(part[0], part[1]);
}

/* The mins of four runs as bytes. */
SIMD_INLINE vint mins_of(const uint8_t *p, enum tcb_format_id format, int quarter)
{
	return tcb_is_expanded(format) ? planes_mins(p, quarter) : min_bytes(p, quarter);
}

/* The sum of all runs' mins times their activations. */
SIMD_INLINE vfloat q8_mins(const uint8_t *p, enum tcb_format_id format, const struct qmv_x8 *x)
{
	vint sum = vi_zero();
	SIMD_FOR (int i = 0; i < runs_of(format) / 4; i++)
		sum = vi_dot(sum, mins_of(p, format, i), vi_four_bytes(x->sums_high + 4 * i));
	sum = vi_shift_left(sum, 6);
	SIMD_FOR (int i = 0; i < runs_of(format) / 4; i++)
		sum = vi_dot(sum, mins_of(p, format, i), vi_four_bytes(x->sums_low + 4 * i));
	return v_from_words(sum);
}

SIMD_INLINE vfloat f32_mins(const uint8_t *p, enum tcb_format_id format, const struct qmv_x32 *x)
{
	const float *sums = x->sums + (tcb_is_expanded(format) ? 0 : 8);
	vfloat sum = v_set(0);
	SIMD_FOR (int g = 0; g < runs_of(format); g++)
		sum = v_fma(v_from_words(vi_unsigned_byte(mins_of(p, format, g / 4), g % 4)), v_set(sums[g]), sum);
	return sum;
}

/* Of blocks of 32 that have offsets each is added by itself. */
SIMD_INLINE int adds_offsets(enum tcb_format_id format)
{
	return has_mins(format) && has_small_blocks(format);
}

/* line_scale(), of blocks of 32 times the activations' d. */
SIMD_INLINE vfloat q8_scale(const uint8_t *p, const struct held *held, enum tcb_format_id format,
			    const struct qmv_x8 *x, int first, int run)
{
	const vfloat d = v_set(x->d[first + run]);
#ifdef SIMD_HAS_POWERS
	if (scales_kind(format) == TCB_SCALES_POWER) /* e - 128 is signed byte e ^ 128 */
		return v_times_power(d, vi_signed_byte(vi_xor(held_at(held, p, run / 4), vi_bytes(-128)), run % 4));
#endif
	const vfloat scale = line_scale(p, held, format, first, run);
	return has_small_blocks(format) ? v_mul(scale, d) : scale;
}

/* A run of a superblock: added to ACC, that of a K-quant to be multiplied with the block's d. */
SIMD_INLINE vfloat q8_run(const uint8_t *p, const struct held *held, enum tcb_format_id format, const struct qmv_x8 *x,
			  int first, int run, vfloat acc)
{
	const vfloat scale = q8_scale(p, held, format, x, first, run), sum = q8_dot(p, held, format, x, first, run);
	if (adds_offsets(format))
		acc = v_fma(planes_added(p, run), v_set(x->sums[run]), acc);
	return v_fma(sum, scale, acc);
}

SIMD_INLINE vfloat f32_run(const uint8_t *p, const struct held *held, enum tcb_format_id format,
			   const struct qmv_x32 *x, int first, int run, vfloat acc)
{
	const vfloat scale = line_scale(p, held, format, first, run), sum = f32_dot(p, held, format, x, first, run);
	if (tcb_format_row(format)->centre)
		acc = v_fnma(scale, v_set(x->sums[first + run]), acc);
	if (adds_offsets(format))
		acc = v_fma(planes_added(p, run), v_set(x->sums[run]), acc);
	return v_fma(sum, scale, acc);
}

/* ACC with the SUM of a K-quant's runs and its mins, for the rows of PART. */
SIMD_INLINE vfloat q8_block(const uint8_t *block, enum tcb_format_id format, int part, const struct qmv_x8 *x,
			    vfloat sum, vfloat acc)
{
	const vfloat d = v_set(x->d[0]);
	if (has_mins(format))
		acc = v_fnma(q8_mins(block + VECTOR_BYTES * part, format, x), v_mul(line_d(block, format, part, 1), d),
			     acc);
	return v_fma(sum, v_mul(line_d(block, format, part, 0), d), acc);
}

SIMD_INLINE vfloat f32_block(const uint8_t *block, enum tcb_format_id format, int part, const struct qmv_x32 *x,
			     vfloat sum, vfloat acc)
{
	if (has_mins(format))
		acc = v_fnma(f32_mins(block + VECTOR_BYTES * part, format, x), line_d(block, format, part, 1), acc);
	return v_fma(sum, line_d(block, format, part, 0), acc);
}

/* Runs FIRST to FIRST + 7 of the superblock at P, unrolled, so that shifts are constants: added to SUM. */
SIMD_INLINE void line_eight(const uint8_t *p, enum tcb_format_id format, int q8, const struct qmv_x8 *x8,
			    const struct qmv_x32 *x32, int first_part, int first, struct qmv_offsets ahead, int hint,
			    const struct held held[TOGETHER], vfloat sum[TOGETHER])
{
	const int lines = (int)tcb_lines(format), runs = runs_of(format);
	SIMD_FOR (int run = 0; run < 8; run++) {
		const int g = first + run, line = lines * g / runs;
		qmv_prefetch_lines(p + line * QMV_LINE, (size_t)(lines * (g + 1) / runs - line), ahead, hint);
		SIMD_FOR (int i = 0; i < TOGETHER; i++) {
			const uint8_t *at = p + (first_part + i) * VECTOR_BYTES;
			sum[i] = q8 ? q8_run(at, &held[i], format, x8, first, run, sum[i])
				    : f32_run(at, &held[i], format, x32, first, run, sum[i]);
		}
	}
}

/* One superblock at P of the rows of parts FIRST_PART on, TOGETHER of them, added to ACC. */
SIMD_INLINE void line_super(const uint8_t *p, enum tcb_format_id format, int q8, const struct qmv_x8 *x8,
			    const struct qmv_x32 *x32, int first_part, struct qmv_offsets ahead, int hint,
			    struct nibble_table table, vfloat *acc)
{
	const int runs = runs_of(format);
	vfloat sum[TOGETHER];
	struct held held[TOGETHER];
	for (int i = 0; i < TOGETHER; i++) {
		held[i].table = table;
		sum[i] = has_small_blocks(format) ? acc[i] : v_set(0);
		hold(&held[i], p + (first_part + i) * VECTOR_BYTES, 0, head_lines(format));
	}
	if (tcb_is_expanded(format)) {
		line_eight(p, format, q8, x8, x32, first_part, 0, ahead, hint, held, sum);
		if (runs > 8)
			line_eight(p, format, q8, x8, x32, first_part, 8, ahead, hint, held, sum);
	} else {
		for (int first = 0; first < runs; first += 8) {
			for (int i = 0; first && i < TOGETHER; i++) /* the second half of 16 runs */
				hold_second(&held[i], p + (first_part + i) * VECTOR_BYTES);
			line_eight(p, format, q8, x8, x32, first_part, first, ahead, hint, held, sum);
		}
	}
	for (int i = 0; i < TOGETHER; i++) {
		if (has_small_blocks(format))
			acc[i] = sum[i];
		else
			acc[i] = q8 ? q8_block(p, format, first_part + i, x8, sum[i], acc[i])
				    : f32_block(p, format, first_part + i, x32, sum[i], acc[i]);
	}
}

/* ACC as the results of the rows of PART, or added to them. */
SIMD_INLINE void line_store(const struct qmv_call *call, int part, vfloat acc)
{
	const size_t first = (size_t)part * LANES, rows = call->rows > first ? call->rows - first : 0;
	if (rows && call->accumulate)
		acc = v_add(acc, v_load_first(call->y + first, v_first(rows)));
	if (rows)
		v_store_first(call->y + first, acc, v_first(rows));
}

/* One group of 16 interleaved rows; HAS_VBMI: of the processor, where nibbles are looked up. */
SIMD_BODY void line_rows_by(const struct qmv_call *call, enum tcb_format_id format, int q8, int has_vbmi, int hint)
{
	const struct nibble_table table = nibble_table_of(format, has_vbmi);
	const size_t bytes = tcb_lines(format) * QMV_LINE;
	const struct qmv_stages stages = qmv_stages(call, bytes);
	const uint8_t *p = call->weights;
	vfloat acc[PARTS];
	assert(call->rows <= QMV_ROWS);
	for (int part = 0; part < PARTS; part++)
		acc[part] = v_set(0);
	for (size_t b = 0; b < call->blocks; b++, p += bytes) {
		const struct qmv_offsets ahead = qmv_offsets(&stages, b);
		const struct qmv_x8 *x8 = (const struct qmv_x8 *)call->x + b;
		const struct qmv_x32 *x32 = (const struct qmv_x32 *)call->x + b;
		/* Parts after the first find the lines in the first cache. */
		for (int part = 0; part < PARTS; part += TOGETHER)
			line_super(p, format, q8, x8, x32, part, ahead, part ? QMV_HINT_NONE : hint, table, acc + part);
	}
	for (int part = 0; part < PARTS; part++)
		line_store(call, part, acc[part]);
}

SIMD_BODY void line_rows(const struct qmv_call *call, enum tcb_format_id format, int q8, int hint)
{
	if (q8 && nibble_looks_up(format) && nibble_has_vbmi())
		line_rows_by(call, format, q8, 1, hint);
	else
		line_rows_by(call, format, q8, 0, hint);
}

#endif
#endif
