/* SPDX-License-Identifier: MIT
 *
 * f32 values to quantised blocks, for test data, and where each code of a block
 * is: scales from the extremes of each run, codes rounded to nearest.  Searching
 * for better scales, as quantisers of models do, changes no kernel's work.
 */
#include "kernels/formats.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RUN = 32, RUNS = 8 };

struct tcb_code_place tcb_code_place(const struct tcb_format *f, unsigned i)
{
	const unsigned at = (unsigned)f->codes_at, high = (unsigned)f->high_at, part = i / 32 % 4, half = i / 128;
	switch (f->codes) {
	case TCB_CODES_BYTES:
	case TCB_CODES_E4M3:
		return (struct tcb_code_place){ at + i, 0, 8, 0, 0, 0 };
	case TCB_CODES_RUNS:
		return (struct tcb_code_place){ at + i / 32 * 16 + i % 16, i / 16 % 2 * 4, 4, 0, 0, 0 };
	case TCB_CODES_PAIRS:
		return (struct tcb_code_place){
			at + i / 64 * 32 + i % 32, i / 32 % 2 * 4, 4, high + i % 32, i / 32, high ? 1 : 0
		};
	case TCB_CODES_QUARTERS:
	default: /* has no places */
		break;
	}
	return (struct tcb_code_place){
		at + 64 * half + 32 * (part & 1) + i % 32, part / 2 * 4, 4, high + 32 * half + i % 32, 2 * part, 2
	};
}

/* CODE as stored at place I of a block whose codes were zeros. */
static void put_code(const struct tcb_format *f, unsigned i, unsigned code, uint8_t *block)
{
	const struct tcb_code_place p = tcb_code_place(f, i);
	const unsigned low = code & ((1u << p.low_bits) - 1), high = code >> p.low_bits & ((1u << p.high_bits) - 1);
	block[p.low] = (uint8_t)(block[p.low] | low << p.low_shift);
	block[p.high] = (uint8_t)(block[p.high] | high << p.high_shift);
}

static float largest_magnitude(const float *x, size_t count)
{
	float largest = 0; /* with its sign */
	for (size_t i = 0; i < count; i++)
		if (fabsf(x[i]) > fabsf(largest))
			largest = x[i];
	return largest;
}

/* The integer nearest to VALUE / SCALE in LOW..HIGH; 0 or the nearest bound where SCALE is 0. */
static int nearest(float value, float scale, int low, int high)
{
	const float q = scale != 0 ? rintf(value / scale) : 0;
	return q < (float)low ? low : q > (float)high ? high : (int)q;
}

/* The scale as the block will hold it. */
static float store_scale(float scale, void *half)
{
	tcb_f16_store(scale, half);
	return tcb_f16_load(half);
}

/* The header of a format with mins; what a run's codes are multiplied by, and what is then taken off. */
static void k_scales_quantize(const struct tcb_format *f, const float *x, uint8_t *block, float *scale, float *offset)
{
	float step[RUNS], low[RUNS], largest_step = 0, largest_min = 0;
	uint8_t scales[RUNS], mins[RUNS];
	for (int r = 0; r < RUNS; r++, x += RUN) {
		float top = x[0];
		low[r] = 0;
		for (int i = 0; i < RUN; i++) {
			low[r] = fminf(low[r], x[i]);
			top = fmaxf(top, x[i]);
		}
		step[r] = (top - low[r]) / (float)((1 << f->code_bits) - 1);
		largest_step = fmaxf(largest_step, step[r]);
		largest_min = fmaxf(largest_min, -low[r]);
	}
	uint8_t *d_at = block + f->d_at;
	const float d = store_scale(largest_step / 63, d_at), dmin = store_scale(largest_min / 63, d_at + 2);
	for (int r = 0; r < RUNS; r++) {
		scales[r] = (uint8_t)nearest(step[r], d, 0, 63);
		mins[r] = (uint8_t)nearest(-low[r], dmin, 0, 63);
		scale[r] = d * scales[r];
		offset[r] = dmin * mins[r];
	}
	tcb_k_scales_pack(scales, mins, block + f->scales_at);
}

/* The code of the table that is furthest from 0. */
static int largest_code(const struct tcb_format *f)
{
	int largest = 0;
	for (int i = 0; i < 16; i++)
		largest = abs(f->table[i]) > abs(largest) ? f->table[i] : largest;
	return largest;
}

/* The same without mins.  The largest value of a run gets the code that is furthest from 0. */
static void scales_quantize(const struct tcb_format *f, const float *x, uint8_t *block, float *scale)
{
	const size_t runs = f->block_values / f->run_values;
	const int first = tcb_has_table(f->id) ? largest_code(f) : f->code_bits == 8 ? 127 : -f->centre;
	float step[TCB_BLOCK_RUNS_MAX];
	int8_t six[8];
	for (size_t r = 0; r < runs; r++) {
		step[r] = largest_magnitude(x + f->run_values * r, f->run_values) / (float)first;
		step[r] = f->code_bits == 8 ? fabsf(step[r]) : step[r];
	}
	if (f->scales == TCB_SCALES_POWER) { /* the least power that is large enough */
		const int e = step[0] != 0 ? 128 + (int)ceilf(log2f(fabsf(step[0]))) : 0;
		block[f->scales_at] = (uint8_t)(e < 0 ? 0 : e > 254 ? 254 : e);
		scale[0] = tcb_power_scale(block[f->scales_at]);
		return;
	}
	if (f->scales == TCB_SCALES_HALF) {
		scale[0] = store_scale(step[0], block + f->d_at);
		return;
	}
	const int low = f->scales == TCB_SCALES_SIX ? -32 : -128;
	const float d = store_scale(largest_magnitude(step, runs) / (float)low, block + f->d_at);
	for (size_t r = 0; r < runs; r++) {
		const int sc = nearest(step[r], d, low, -low - 1);
		if (f->scales == TCB_SCALES_SIX)
			six[r] = (int8_t)sc;
		else
			block[f->scales_at + r] = (uint8_t)sc;
		scale[r] = d * (float)sc;
	}
	if (f->scales == TCB_SCALES_SIX)
		tcb_six_scales_pack(six, block + f->scales_at);
}

/* The place in the table of the code nearest to VALUE / SCALE. */
static unsigned nearest_entry(const struct tcb_format *f, float value, float scale)
{
	const float wanted = scale != 0 ? value / scale : 0;
	unsigned best = 0;
	for (unsigned i = 1; i < 16; i++)
		if (fabsf((float)f->table[i] - wanted) < fabsf((float)f->table[best] - wanted))
			best = i;
	return best;
}

void tcb_block_quantize(const struct tcb_format *f, const float *x, void *block)
{
	const int low = f->code_bits == 8 ? -127 : -f->centre;
	const int high = f->code_bits == 8 ? 127 : (1 << f->code_bits) - 1 - f->centre;
	float scale[TCB_BLOCK_RUNS_MAX], offset[TCB_BLOCK_RUNS_MAX] = { 0 };
	assert(!tcb_is_expanded(f->id) && !tcb_is_float(f->id));
	memset(block, 0, f->block_bytes);
	if (f->has_offsets)
		k_scales_quantize(f, x, block, scale, offset);
	else
		scales_quantize(f, x, block, scale);
	for (unsigned i = 0; i < f->block_values; i++) {
		const size_t r = i / f->run_values;
		if (tcb_has_table(f->id))
			put_code(f, i, nearest_entry(f, x[i], scale[r]), block);
		else
			put_code(f, i, (unsigned)(nearest(x[i] + offset[r], scale[r], low, high) + f->centre), block);
	}
}
