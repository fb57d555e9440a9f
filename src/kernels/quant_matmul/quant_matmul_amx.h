/* SPDX-License-Identifier: MIT
 *
 * Register tiles of the quantised matmul, contract q8, on AMX: tiles of 16 tokens
 * and 16 rows from the panels that all instruction families share, whose lines of
 * four codes a row are what a tile of weights wants.  Per run of 32 (q6_k: 16)
 * values one multiplication of tiles, whose integer sums go through memory to
 * vectors, which scale them in the order that all families have.
 *
 * To scale takes longer than to multiply: the half of a processor's arithmetic on
 * floats that is where tiles multiply rests for them, some 200 cycles from each
 * instruction on tiles on (Sapphire Rapids), so that a sum's conversion and its
 * one or two products with scales are a cycle each.  So nothing else may be in
 * their way.  What is added up stays in 16 registers for a superblock; and while
 * the tiles of a run are loaded and multiplied, the sums of the second last one
 * are stored and those of the third last are scaled, on into the next 16 x 16
 * results: then none of the three waits for another one's result.
 *
 * Tiles are those of amx_tiles.h, which a test takes from plain C.  Empty for a
 * file that has none.
 */
#ifndef TCB_KERNELS_QUANT_MATMUL_AMX_H
#define TCB_KERNELS_QUANT_MATMUL_AMX_H

#include <assert.h>
#include <string.h>
#ifdef __AVX512VNNI__
#include <immintrin.h>
#endif

#include "kernels/quant_matmul/quant_matmul_layout.h"
#include "kernels/simd/amx_tiles.h"
#include "kernels/simd/simd_inline.h"

#ifdef AMX_CONFIGURE

/*
 * Products of a superblock are those of its runs, then, where there are mins, two of these.  So many products behind
 * the one that is under way sums are stored, and scaled.
 */
enum {
	AMX_STORED_LATER = 2,
	AMX_SCALED_LATER = 3,
	AMX_SLOTS = 4,
	AMX_MINS_LEFT = AMX_LEFT + 1,
	AMX_MINS_RIGHT = AMX_RIGHT + 1
};

AMX_INLINE int amx_runs(enum tcb_format_id format)
{
	return QMM_VALUES / qmm_run_values(format);
}

AMX_INLINE int amx_products(enum tcb_format_id format)
{
	return amx_runs(format) + (qmm_has_mins(format) ? 2 : 0);
}

AMX_INLINE int amx_steps(enum tcb_format_id format)
{
	return QMM_STEPS / amx_runs(format);
}

/* The tile, and the place in memory, of the sums of product I of COUNT, 8, 10 or 16: not those of the two before it. */
AMX_INLINE int amx_slot(int i, int count)
{
	if (count % AMX_SLOTS == 0)
		return i % AMX_SLOTS;
	return i == count - 1 ? 3 : i % 3;
}

/* What comes before any number of tiles of FORMAT, and after them. */
static inline void amx_enter_runs(enum tcb_format_id format, struct qmm_before *before)
{
	_Alignas(64) struct amx_config config;
	amx_whole_tiles(&config);
	config.row_bytes[AMX_LEFT] = (uint16_t)(4 * amx_steps(format));
	config.rows[AMX_RIGHT] = (uint8_t)amx_steps(format);
	config.row_bytes[AMX_MINS_LEFT] = 8;
	config.rows[AMX_MINS_RIGHT] = 2;
	/* GCC does not know that to configure tiles reads memory. */
	__asm__ volatile("" ::"r"(&config) : "memory");
	amx_enter(&config, (struct amx_config *)(void *)before->bytes);
}

static inline void amx_leave_runs(const struct qmm_before *before)
{
	amx_leave((const struct amx_config *)(const void *)before->bytes);
}

/* The codes of PANEL as they are, with a sign, so that sums start from zero. */
static inline void amx_settle(enum tcb_format_id format, void *panel)
{
	uint8_t *code = ((struct qmm_panel *)panel)->code[0];
	const int centre = qmm_centre(format);
	for (size_t i = 0; i < sizeof(((struct qmm_panel *)panel)->code); i++)
		code[i] = (uint8_t)(code[i] - centre);
}

/* A superblock of 16 tokens and 16 rows, and what it is added to. */
struct amx_part {
	const struct qmm_panel *panel;
	const struct qmm_x8 *x;
	float (*total)[AMX_SPAN];
};

typedef int32_t amx_sums[AMX_SIDE][AMX_SIDE];

#define AMX_MULTIPLY(sums, left, right)            \
	do {                                       \
		AMX_ZERO(sums);                    \
		AMX_DOT_SIGNED(sums, left, right); \
	} while (0)

/* Product I of PART. */
AMX_INLINE void amx_multiply(enum tcb_format_id format, const struct amx_part *part, int i)
{
	const int steps = amx_steps(format), runs = amx_runs(format);
	if (i < runs) {
		AMX_LOAD(4, part->x->q + 4 * i * steps, sizeof(*part->x));
		AMX_LOAD(6, part->panel->code[i * steps], QMM_LINE);
		switch (amx_slot(i, amx_products(format))) {
		case 0:
			AMX_MULTIPLY(0, 4, 6);
			break;
		case 1:
			AMX_MULTIPLY(1, 4, 6);
			break;
		case 2:
			AMX_MULTIPLY(2, 4, 6);
			break;
		default:
			AMX_MULTIPLY(3, 4, 6);
		}
	} else if (i == runs) {
		AMX_LOAD(5, part->x->sums_high, sizeof(*part->x));
		AMX_LOAD(7, part->panel->min[0], QMM_LINE);
		AMX_MULTIPLY(2, 5, 7);
	} else {
		AMX_LOAD(5, part->x->sums_low, sizeof(*part->x));
		AMX_MULTIPLY(3, 5, 7);
	}
}

AMX_INLINE void amx_put_sums(int slot, amx_sums *sums)
{
	switch (slot) {
	case 0:
		AMX_STORE(0, sums[0], AMX_LINE);
		break;
	case 1:
		AMX_STORE(1, sums[1], AMX_LINE);
		break;
	case 2:
		AMX_STORE(2, sums[2], AMX_LINE);
		break;
	default:
		AMX_STORE(3, sums[3], AMX_LINE);
	}
}

/* --- 16 tokens' 16 rows as floats --- */

#ifdef __AVX512VNNI__

struct amx_floats {
	__m512 of[AMX_SIDE];
};

/* V is worked out here.  Compilers may otherwise load the sums of all runs where they are stored, and scale them at the
 * end, from the stack. */
#define AMX_HERE(v) __asm__ volatile("" : "+v"(v))

AMX_INLINE void amx_clear(struct amx_floats *v)
{
	SIMD_FOR (int m = 0; m < AMX_SIDE; m++)
		v->of[m] = _mm512_setzero_ps();
}

AMX_INLINE void amx_fetch(struct amx_floats *v, float (*from)[AMX_SPAN])
{
	SIMD_FOR (int m = 0; m < AMX_SIDE; m++)
		v->of[m] = _mm512_load_ps(from[m]);
}

AMX_INLINE void amx_put(const struct amx_floats *v, float (*to)[AMX_SPAN])
{
	SIMD_FOR (int m = 0; m < AMX_SIDE; m++)
		_mm512_store_ps(to[m], v->of[m]);
}

/* V += SUMS * SCALE */
AMX_INLINE void amx_scale(struct amx_floats *v, const amx_sums sums, const float *scale)
{
	const __m512 by = _mm512_load_ps(scale);
	SIMD_FOR (int m = 0; m < AMX_SIDE; m++) {
		v->of[m] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_load_si512(sums[m])), by, v->of[m]);
		AMX_HERE(v->of[m]);
	}
}

/*
 * V += SUMS * SCALE * d[group].  A sum S is below 2^20, so that an addition to integers makes it 1.5 * 2^23 + S, a
 * float whose last bit is 1.  Of that and -1.5 * 2^23 * scale, which has two more bits than the scale and is exact, a
 * fused multiplication and addition gives S * scale, rounded once: what a conversion and a multiplication give.  Where
 * it is not so, for scales that are no number or that large, those do.
 */
AMX_INLINE void amx_scale_d(struct amx_floats *v, const amx_sums sums, const float *scale, const struct qmm_x8 *x,
			    int group)
{
	const __m512 by = _mm512_load_ps(scale), less = _mm512_mul_ps(by, _mm512_set1_ps(-0x1.8p23f));
	if (_mm512_cmp_ps_mask(_mm512_abs_ps(by), _mm512_set1_ps(0x1p104f), _CMP_LT_OQ) == 0xffff) {
		const __m512i shift = _mm512_set1_epi32(0x4b400000);
		SIMD_FOR (int m = 0; m < AMX_SIDE; m++) {
			const __m512 sum = _mm512_castsi512_ps(_mm512_add_epi32(shift, _mm512_load_si512(sums[m])));
			v->of[m] = _mm512_fmadd_ps(_mm512_fmadd_ps(sum, by, less), _mm512_set1_ps(x[m].d[group]),
						   v->of[m]);
			AMX_HERE(v->of[m]);
		}
		return;
	}
	SIMD_FOR (int m = 0; m < AMX_SIDE; m++) {
		const __m512 sum = _mm512_cvtepi32_ps(_mm512_load_si512(sums[m]));
		v->of[m] = _mm512_fmadd_ps(_mm512_mul_ps(sum, by), _mm512_set1_ps(x[m].d[group]), v->of[m]);
		AMX_HERE(v->of[m]);
	}
}

/* V += OFFSET * LESS[m] */
AMX_INLINE void amx_take_offset(struct amx_floats *v, const float *offset, const float less[AMX_SIDE])
{
	const __m512 of = _mm512_load_ps(offset);
	SIMD_FOR (int m = 0; m < AMX_SIDE; m++) {
		v->of[m] = _mm512_fmadd_ps(of, _mm512_set1_ps(less[m]), v->of[m]);
		AMX_HERE(v->of[m]);
	}
}

/* V -= OFFSET * (64 * HIGH + LOW) */
AMX_INLINE void amx_take_mins(struct amx_floats *v, const float *offset, const amx_sums high, const amx_sums low)
{
	const __m512 of = _mm512_load_ps(offset);
	SIMD_FOR (int m = 0; m < AMX_SIDE; m++) {
		const __m512i sum =
			_mm512_add_epi32(_mm512_slli_epi32(_mm512_load_si512(high[m]), 6), _mm512_load_si512(low[m]));
		v->of[m] = _mm512_fnmadd_ps(of, _mm512_cvtepi32_ps(sum), v->of[m]);
		AMX_HERE(v->of[m]);
	}
}

/* TO += V * d[0] */
AMX_INLINE void amx_add_to(const struct amx_floats *v, const struct qmm_x8 *x, float (*to)[AMX_SPAN])
{
	SIMD_FOR (int m = 0; m < AMX_SIDE; m++)
		_mm512_store_ps(to[m], _mm512_fmadd_ps(v->of[m], _mm512_set1_ps(x[m].d[0]), _mm512_load_ps(to[m])));
}

#else

struct amx_floats {
	float of[AMX_SIDE][AMX_SIDE];
};

AMX_INLINE void amx_clear(struct amx_floats *v)
{
	memset(v, 0, sizeof(*v));
}

AMX_INLINE void amx_fetch(struct amx_floats *v, float (*from)[AMX_SPAN])
{
	for (int m = 0; m < AMX_SIDE; m++)
		memcpy(v->of[m], from[m], sizeof(v->of[m]));
}

AMX_INLINE void amx_put(const struct amx_floats *v, float (*to)[AMX_SPAN])
{
	for (int m = 0; m < AMX_SIDE; m++)
		memcpy(to[m], v->of[m], sizeof(v->of[m]));
}

AMX_INLINE void amx_scale(struct amx_floats *v, const amx_sums sums, const float *scale)
{
	for (int m = 0; m < AMX_SIDE; m++)
		for (int r = 0; r < AMX_SIDE; r++)
			v->of[m][r] = __builtin_fmaf((float)sums[m][r], scale[r], v->of[m][r]);
}

AMX_INLINE void amx_scale_d(struct amx_floats *v, const amx_sums sums, const float *scale, const struct qmm_x8 *x,
			    int group)
{
	for (int m = 0; m < AMX_SIDE; m++)
		for (int r = 0; r < AMX_SIDE; r++)
			v->of[m][r] = __builtin_fmaf((float)sums[m][r] * scale[r], x[m].d[group], v->of[m][r]);
}

AMX_INLINE void amx_take_offset(struct amx_floats *v, const float *offset, const float less[AMX_SIDE])
{
	for (int m = 0; m < AMX_SIDE; m++)
		for (int r = 0; r < AMX_SIDE; r++)
			v->of[m][r] = __builtin_fmaf(offset[r], less[m], v->of[m][r]);
}

AMX_INLINE void amx_take_mins(struct amx_floats *v, const float *offset, const amx_sums high, const amx_sums low)
{
	for (int m = 0; m < AMX_SIDE; m++)
		for (int r = 0; r < AMX_SIDE; r++)
			v->of[m][r] = __builtin_fmaf(-offset[r], (float)(64 * high[m][r] + low[m][r]), v->of[m][r]);
}

AMX_INLINE void amx_add_to(const struct amx_floats *v, const struct qmm_x8 *x, float (*to)[AMX_SPAN])
{
	for (int m = 0; m < AMX_SIDE; m++)
		for (int r = 0; r < AMX_SIDE; r++)
			to[m][r] = __builtin_fmaf(v->of[m][r], x[m].d[0], to[m][r]);
}

#endif

/* --- superblocks --- */

/* Product I of PART goes into V. */
AMX_INLINE void amx_take(enum tcb_format_id format, const struct amx_part *part, int i, amx_sums *sums,
			 struct amx_floats *v)
{
	const int runs = amx_runs(format), count = amx_products(format),
		  is_grouped = qmm_group_values(format) < QMM_VALUES;
	const int group = 4 * amx_steps(format) * i / 32;
	const struct qmm_panel *panel = part->panel;
	if (i > runs)
		amx_take_mins(v, panel->offset, sums[amx_slot(runs, count)], sums[amx_slot(i, count)]);
	if (i >= runs)
		return;
	if (is_grouped)
		amx_scale_d(v, sums[amx_slot(i, count)], panel->scale[i], part->x, group);
	else
		amx_scale(v, sums[amx_slot(i, count)], panel->scale[i]);
	if (qmm_has_offsets(format)) {
		float less[AMX_SIDE];
		for (int m = 0; m < AMX_SIDE; m++)
			less[m] = qmm_less_sum(&part->x[m], i) * (is_grouped ? part->x[m].d[group] : 1);
		amx_take_offset(v, panel->scale[runs + i], less);
	}
}

/* Adds PART, whose first AMX_SCALED_LATER products are under way, to its total, and begins NEXT, or NULL. */
AMX_INLINE void amx_add_part(enum tcb_format_id format, const struct amx_part *part, const struct amx_part *next,
			     amx_sums *sums)
{
	const int count = amx_products(format), is_grouped = qmm_group_values(format) < QMM_VALUES;
	struct amx_floats v;
	if (is_grouped)
		amx_fetch(&v, part->total);
	else
		amx_clear(&v);
	SIMD_FOR (int i = AMX_SCALED_LATER; i < count + AMX_SCALED_LATER; i++) {
		const int stored = (i - AMX_STORED_LATER) % count;
		/* Or compilers keep addresses in vectors, and stores of tiles wait behind what is scaled. */
		__asm__ volatile("" : "+r"(sums));
		if (i < count)
			amx_multiply(format, part, i);
		else if (next)
			amx_multiply(format, next, i - count);
		if (i - AMX_STORED_LATER < count || next)
			amx_put_sums(amx_slot(stored, count), sums);
		amx_take(format, part, i - AMX_SCALED_LATER, sums, &v);
	}
	if (is_grouped)
		amx_put(&v, part->total);
	else
		amx_add_to(&v, part->x, part->total);
}

/* The first AMX_SCALED_LATER products of the first part. */
AMX_INLINE void amx_begin(enum tcb_format_id format, const struct amx_part *part, amx_sums *sums)
{
	SIMD_FOR (int i = 0; i < AMX_SCALED_LATER; i++) {
		amx_multiply(format, part, i);
		if (i >= AMX_STORED_LATER)
			amx_put_sums(amx_slot(i - AMX_STORED_LATER, amx_products(format)), sums);
	}
}

/* Rows of COLUMNS floats, of which COUNT are copied, and all that there are to copy in a tile of nothing but those. */
AMX_INLINE void amx_copy(float *to, size_t to_stride, const float *from, size_t from_stride, size_t rows, size_t count,
			 size_t columns)
{
	for (size_t m = 0; m < rows; m++) {
		if (count == columns)
			memcpy(to + m * to_stride, from + m * from_stride, columns * sizeof(*to));
		else
			memcpy(to + m * to_stride, from + m * from_stride, count * sizeof(*to));
	}
}

/* Between amx_enter_runs and amx_leave_runs, of panels that amx_settle saw where sums do not start from zero; MICRO_M
 * and MICRO_N are 16 or 32. */
AMX_INLINE void amx_tile(const struct qmm_call *call, enum tcb_format_id format, size_t micro_m, size_t micro_n)
{
	const size_t across = micro_n / AMX_SIDE, parts = across * micro_m / AMX_SIDE;
	const struct qmm_x8 *x = call->x;
	_Alignas(64) float total[AMX_SPAN][AMX_SPAN];
	_Alignas(64) amx_sums sums[AMX_SLOTS];
	assert(call->superblocks >= 1 && call->tokens <= micro_m && call->rows <= micro_n);
	/* Results of a token are pages from those of the next: they are on their way while there is something to do. */
	for (size_t m = 0; !call->accumulate && m < call->tokens; m++)
		for (size_t n = 0; n < call->rows; n += AMX_SIDE)
			__builtin_prefetch(call->y + m * call->y_stride + n, 1);
	if (!call->accumulate || call->tokens < micro_m || call->rows < micro_n)
		for (size_t m = 0; m < micro_m; m++)
			memset(total[m], 0, micro_n * sizeof(total[m][0]));
	if (call->accumulate)
		amx_copy(total[0], AMX_SPAN, call->y, call->y_stride, call->tokens, call->rows, micro_n);
	struct amx_part part = { (const struct qmm_panel *)(const void *)call->weights, x, total };
	amx_begin(format, &part, sums);
	for (size_t i = 1; i <= call->superblocks * parts; i++) {
		const size_t b = i / parts, m = i % parts / across * AMX_SIDE, n = i % across;
		const struct amx_part next = {
			(const struct qmm_panel *)(const void *)(call->weights + n * call->group_bytes +
								 b * qmm_panel_bytes(format)),
			x + b * micro_m + m,
			(float(*)[AMX_SPAN])(&total[m][n * AMX_SIDE]),
		};
		amx_add_part(format, &part, i < call->superblocks * parts ? &next : NULL, sums);
		part = next;
	}
	amx_copy(call->y, call->y_stride, total[0], AMX_SPAN, call->tokens, call->rows, micro_n);
}

#endif
#endif
