/* SPDX-License-Identifier: MIT
 *
 * Register tiles of the quantised matmul on AMX: tiles of 16 tokens and 16 rows
 * from the panels that all instruction families share, whose lines of four
 * codes a row are what a tile of weights wants.  Per run of 32 (q6_k: 16)
 * values one multiplication of tiles, then the integer sums go through memory
 * to be scaled, 16 rows at a time.
 *
 * The file that includes this defines what a tile instruction is; tile numbers
 * are constants:
 *     AMX_CONFIGURE(config)   takes the 64 bytes of a tile configuration
 *     AMX_ZERO(t)             clears tile T
 *     AMX_LOAD(t, p, stride)  rows of T from P, STRIDE bytes apart
 *     AMX_STORE(t, p, stride)
 *     AMX_DOT(c, a, b)        C += signed bytes of A times unsigned bytes of B
 *     AMX_SAVE(config)        the thread's tile configuration; all zeros where it has none
 *     AMX_RELEASE()           now it has none
 * quant_matmul_amx.c takes the processor's; a test takes plain C's, so that all
 * but the instructions themselves is tested on processors without them.  Empty
 * for a file that defines none.
 *
 * The thread is the program's, which may have AMX code of its own that configures
 * its tiles once and for all: it gets its configuration back.  Tiles themselves
 * hold nothing across calls (System V ABI) and are left zero.
 */
#ifndef TCB_KERNELS_QUANT_MATMUL_AMX_H
#define TCB_KERNELS_QUANT_MATMUL_AMX_H

#include <assert.h>
#include <string.h>
#ifdef __AVX512VNNI__
#include <immintrin.h>
#endif

#include "kernels/quant_matmul/quant_matmul_layout.h"

#ifdef AMX_CONFIGURE

#define AMX_INLINE static inline __attribute__((always_inline))

enum {
	AMX_SIDE = 16, /* tokens, and rows, of a tile */
	AMX_SPAN = 32, /* most of either in a register tile */
	/* Tiles: four of sums, two of activations, two of weights. */
	AMX_SUMS = 0,
	AMX_TOKENS = 4,
	AMX_ROWS = 6,
	AMX_TILES = 8
};

/* As the processor reads it: palette 1, bytes per row and rows of each tile. */
struct amx_config {
	uint8_t palette, start_row, reserved[14];
	uint16_t row_bytes[16];
	uint8_t rows[16];
};

/* STEPS: of four values, in a run. */
AMX_INLINE void amx_configure(struct amx_config *config, int steps)
{
	memset(config, 0, sizeof(*config));
	config->palette = 1;
	for (int t = 0; t < AMX_TILES; t++) {
		config->rows[t] = (uint8_t)(t < AMX_ROWS ? AMX_SIDE : steps);
		config->row_bytes[t] = (uint16_t)(t < AMX_TOKENS || t >= AMX_ROWS ? QMM_LINE : 4 * steps);
	}
}

/* Where the sums of a run go, and those of a superblock as floats: [token][row]. */
struct amx_sums {
	_Alignas(64) int32_t run[AMX_SPAN][AMX_SPAN];
	float superblock[AMX_SPAN][AMX_SPAN];
	float total[AMX_SPAN][AMX_SPAN];
};

/* The sums of run G; MICRO_M and MICRO_N are 16 or 32. */
AMX_INLINE void amx_run(const uint8_t *panel, size_t group_bytes, const struct qmm_x8 *x, int g, int steps, int micro_m,
			int micro_n, struct amx_sums *sums)
{
	const uint8_t *codes = panel + offsetof(struct qmm_panel, code) + (size_t)(g * steps) * QMM_LINE;
	const size_t stride = sizeof(*x), sums_stride = sizeof(sums->run[0]);
	AMX_LOAD(4, x->q + 4 * g * steps, stride);
	AMX_LOAD(6, codes, QMM_LINE);
	AMX_ZERO(0);
	AMX_DOT(0, 4, 6);
	AMX_STORE(0, &sums->run[0][0], sums_stride);
	if (micro_n > AMX_SIDE) {
		AMX_LOAD(7, codes + group_bytes, QMM_LINE);
		AMX_ZERO(1);
		AMX_DOT(1, 4, 7);
		AMX_STORE(1, &sums->run[0][AMX_SIDE], sums_stride);
	}
	if (micro_m > AMX_SIDE) {
		AMX_LOAD(5, x[AMX_SIDE].q + 4 * g * steps, stride);
		AMX_ZERO(2);
		AMX_DOT(2, 5, 6);
		AMX_STORE(2, &sums->run[AMX_SIDE][0], sums_stride);
	}
	if (micro_m > AMX_SIDE && micro_n > AMX_SIDE) {
		AMX_ZERO(3);
		AMX_DOT(3, 5, 7);
		AMX_STORE(3, &sums->run[AMX_SIDE][AMX_SIDE], sums_stride);
	}
}

/*
 * A token's 16 rows.  Compilers left to themselves make half of these loops scalar, and the products of the tiles then
 * wait ten times as long for their sums to be scaled.
 */
#ifdef __AVX512VNNI__

/* TO += (SUMS + START) * SCALE, times D if the group has one (not NULL). */
AMX_INLINE void amx_scale(float *to, const int32_t *sums, int32_t start, const float *scale, const float *d)
{
	const __m512i whole = _mm512_add_epi32(_mm512_loadu_si512(sums), _mm512_set1_epi32(start));
	const __m512 sum = _mm512_cvtepi32_ps(whole), of = _mm512_loadu_ps(scale), old = _mm512_loadu_ps(to);
	_mm512_storeu_ps(to, d ? _mm512_fmadd_ps(_mm512_mul_ps(sum, of), _mm512_set1_ps(*d), old)
			       : _mm512_fmadd_ps(sum, of, old));
}

/* FROM -= the mins' share. */
AMX_INLINE void amx_take_mins(float *from, const struct qmm_panel *panel, const struct qmm_x8 *x)
{
	__m512i high = _mm512_setzero_si512(), low = high;
	for (int half = 0; half < 2; half++) {
		const __m512i min = _mm512_loadu_si512(panel->min[half]);
		int32_t four[2];
		memcpy(&four[0], x->sums_high + 4 * half, 4);
		memcpy(&four[1], x->sums_low + 4 * half, 4);
		high = _mm512_dpbusd_epi32(high, min, _mm512_set1_epi32(four[0]));
		low = _mm512_dpbusd_epi32(low, min, _mm512_set1_epi32(four[1]));
	}
	const __m512 sum = _mm512_cvtepi32_ps(_mm512_add_epi32(_mm512_slli_epi32(high, 6), low));
	_mm512_storeu_ps(from, _mm512_fnmadd_ps(_mm512_loadu_ps(panel->offset), sum, _mm512_loadu_ps(from)));
}

/* TO += OFFSET * LESS */
AMX_INLINE void amx_take_offset(float *to, const float *offset, float less)
{
	_mm512_storeu_ps(to, _mm512_fmadd_ps(_mm512_loadu_ps(offset), _mm512_set1_ps(less), _mm512_loadu_ps(to)));
}

/* TO += FROM * D */
AMX_INLINE void amx_add(float *to, const float *from, float d)
{
	_mm512_storeu_ps(to, _mm512_fmadd_ps(_mm512_loadu_ps(from), _mm512_set1_ps(d), _mm512_loadu_ps(to)));
}

#else

AMX_INLINE void amx_scale(float *to, const int32_t *sums, int32_t start, const float *scale, const float *d)
{
	for (int r = 0; r < AMX_SIDE; r++) {
		const float sum = (float)(sums[r] + start);
		to[r] = d ? __builtin_fmaf(sum * scale[r], *d, to[r]) : __builtin_fmaf(sum, scale[r], to[r]);
	}
}

AMX_INLINE void amx_take_mins(float *from, const struct qmm_panel *panel, const struct qmm_x8 *x)
{
	for (int r = 0; r < AMX_SIDE; r++) {
		int32_t sum = 0;
		for (int g = 0; g < 8; g++)
			sum += panel->min[g / 4][4 * r + g % 4] * (64 * x->sums_high[g] + x->sums_low[g]);
		from[r] = __builtin_fmaf(-panel->offset[r], (float)sum, from[r]);
	}
}

AMX_INLINE void amx_take_offset(float *to, const float *offset, float less)
{
	for (int r = 0; r < AMX_SIDE; r++)
		to[r] = __builtin_fmaf(offset[r], less, to[r]);
}

AMX_INLINE void amx_add(float *to, const float *from, float d)
{
	for (int r = 0; r < AMX_SIDE; r++)
		to[r] = __builtin_fmaf(from[r], d, to[r]);
}

#endif

/* One superblock, added to sums->total. */
AMX_INLINE void amx_superblock(enum tcb_format_id format, const uint8_t *panels, size_t group_bytes,
			       const struct qmm_x8 *x, int micro_m, int micro_n, struct amx_sums *sums)
{
	const int runs = QMM_VALUES / qmm_run_values(format), steps = QMM_STEPS / runs;
	const int grouped = qmm_group_values(format) < QMM_VALUES;
	const int has_mins = qmm_has_mins(format), has_offsets = qmm_has_offsets(format);
	if (!grouped)
		memset(sums->superblock, 0, sizeof(sums->superblock));
	for (int g = 0; g < runs; g++) {
		amx_run(panels, group_bytes, x, g, steps, micro_m, micro_n, sums);
		for (int at = 0; at < micro_n; at += AMX_SIDE) {
			const struct qmm_panel *panel =
				(const struct qmm_panel *)(const void *)(panels +
									 (size_t)(at / AMX_SIDE) * group_bytes);
			for (int m = 0; m < micro_m; m++) {
				float *const to = (grouped ? sums->total : sums->superblock)[m] + at;
				const float *const d = grouped ? &x[m].d[4 * steps * g / 32] : NULL;
				amx_scale(to, sums->run[m] + at, qmm_starts_from_zero(format) ? 0 : x[m].start[g],
					  panel->scale[g], d);
				if (has_offsets)
					amx_take_offset(to, panel->scale[runs + g],
							qmm_less_sum(&x[m], g) * (d ? *d : 1));
			}
		}
	}
	for (int at = 0; !grouped && at < micro_n; at += AMX_SIDE) {
		const struct qmm_panel *panel =
			(const struct qmm_panel *)(const void *)(panels + (size_t)(at / AMX_SIDE) * group_bytes);
		for (int m = 0; m < micro_m; m++) {
			if (has_mins)
				amx_take_mins(sums->superblock[m] + at, panel, &x[m]);
			amx_add(sums->total[m] + at, sums->superblock[m] + at, x[m].d[0]);
		}
	}
}

AMX_INLINE void amx_tile(const struct qmm_call *call, enum tcb_format_id format, int micro_m, int micro_n)
{
	const uint8_t *panels = call->weights;
	const struct qmm_x8 *x = call->x;
	struct amx_config config, before;
	struct amx_sums sums;
	assert(call->superblocks >= 1 && call->tokens <= (size_t)micro_m && call->rows <= (size_t)micro_n);
	amx_configure(&config, QMM_STEPS * qmm_run_values(format) / QMM_VALUES);
	AMX_SAVE(&before);
	AMX_CONFIGURE(&config);
	for (size_t m = 0; m < (size_t)micro_m; m++) {
		memset(sums.total[m], 0, sizeof(sums.total[m]));
		if (call->accumulate && m < call->tokens)
			memcpy(sums.total[m], call->y + m * call->y_stride, call->rows * sizeof(float));
	}
	for (size_t b = 0; b < call->superblocks; b++, panels += qmm_panel_bytes(format), x += micro_m)
		amx_superblock(format, panels, call->group_bytes, x, micro_m, micro_n, &sums);
	for (size_t m = 0; m < call->tokens; m++)
		memcpy(call->y + m * call->y_stride, sums.total[m], call->rows * sizeof(float));
	if (before.palette)
		AMX_CONFIGURE(&before);
	else
		AMX_RELEASE();
}

#endif
#endif
