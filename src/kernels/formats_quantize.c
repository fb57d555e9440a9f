/* SPDX-License-Identifier: MIT
 *
 * f32 values to quantised blocks, for test data: scales from the extremes of
 * each run, codes rounded to nearest.  Searching for better scales, as
 * quantisers of models do, changes no kernel's work.
 */
#include "kernels/formats.h"

#include <math.h>
#include <string.h>

enum { RUN = 32, RUNS = 8, Q6_RUN = 16, Q6_RUNS = 16, VALUES = 256 };

static float largest_magnitude(const float *x, int count)
{
	float largest = 0; /* with its sign */
	for (int i = 0; i < count; i++)
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

void tcb_q4_0_quantize(const float *x, void *block)
{
	uint8_t *bytes = block;
	const float d = store_scale(largest_magnitude(x, RUN) / -8, bytes);
	for (int i = 0; i < RUN / 2; i++)
		bytes[2 + i] = (uint8_t)((nearest(x[i], d, -8, 7) + 8) | (nearest(x[i + RUN / 2], d, -8, 7) + 8) << 4);
}

void tcb_q8_0_quantize(const float *x, void *block)
{
	uint8_t *bytes = block;
	const float d = store_scale(fabsf(largest_magnitude(x, RUN)) / 127, bytes);
	for (int i = 0; i < RUN; i++)
		bytes[2 + i] = (uint8_t)nearest(x[i], d, -127, 127);
}

/* Header and codes 0 to HIGH of a K-quant with mins. */
static void k_quantize(const float *x, int high, uint8_t header[16], uint8_t code[VALUES])
{
	float step[RUNS], min[RUNS], largest_step = 0, largest_min = 0;
	uint8_t scales[RUNS], mins[RUNS];
	for (int r = 0; r < RUNS; r++) {
		float low = 0, top = x[RUN * r];
		for (int i = RUN * r; i < RUN * (r + 1); i++) {
			low = fminf(low, x[i]);
			top = fmaxf(top, x[i]);
		}
		step[r] = (top - low) / (float)high;
		min[r] = -low;
		largest_step = fmaxf(largest_step, step[r]);
		largest_min = fmaxf(largest_min, min[r]);
	}
	const float d = store_scale(largest_step / 63, header), dmin = store_scale(largest_min / 63, header + 2);
	for (int r = 0; r < RUNS; r++) {
		scales[r] = (uint8_t)nearest(step[r], d, 0, 63);
		mins[r] = (uint8_t)nearest(min[r], dmin, 0, 63);
		for (int i = RUN * r; i < RUN * (r + 1); i++)
			code[i] = (uint8_t)nearest(x[i] + dmin * mins[r], d * scales[r], 0, high);
	}
	tcb_k_scales_pack(scales, mins, header + 4);
}

void tcb_q4_k_quantize(const float *x, void *block)
{
	uint8_t *bytes = block, code[VALUES];
	k_quantize(x, 15, bytes, code);
	for (int i = 0; i < VALUES / 2; i++) {
		const uint8_t *pair = code + i / RUN * 2 * RUN + i % RUN;
		bytes[16 + i] = (uint8_t)(pair[0] | pair[RUN] << 4);
	}
}

void tcb_q5_k_quantize(const float *x, void *block)
{
	uint8_t *bytes = block, code[VALUES];
	k_quantize(x, 31, bytes, code);
	memset(bytes + 16, 0, RUN);
	for (int i = 0; i < VALUES / 2; i++) {
		const uint8_t *pair = code + i / RUN * 2 * RUN + i % RUN;
		const int bit = i / RUN * 2;
		bytes[16 + RUN + i] = (uint8_t)((pair[0] & 15) | (pair[RUN] & 15) << 4);
		bytes[16 + i % RUN] |= (uint8_t)((pair[0] >> 4) << bit | (pair[RUN] >> 4) << (bit + 1));
	}
}

void tcb_q6_k_quantize(const float *x, void *block)
{
	uint8_t *low = block, *high = low + VALUES / 2, *scales = high + VALUES / 4;
	float step[Q6_RUNS];
	for (int r = 0; r < Q6_RUNS; r++)
		step[r] = largest_magnitude(x + Q6_RUN * r, Q6_RUN) / -32;
	const float d = store_scale(largest_magnitude(step, Q6_RUNS) / -128, scales + Q6_RUNS);
	memset(low, 0, VALUES / 2 + VALUES / 4);
	for (int i = 0; i < VALUES; i++) {
		const int r = i / Q6_RUN, part = i / RUN % 4, at = i / 128 * 2 * RUN + RUN * (part & 1) + i % RUN;
		const int sc = nearest(step[r], d, -128, 127), code = nearest(x[i], d * (float)sc, -32, 31) + 32;
		scales[r] = (uint8_t)sc;
		low[at] |= (uint8_t)((code & 15) << 4 * (part >> 1));
		high[i / 128 * RUN + i % RUN] |= (uint8_t)(code >> 4 << 2 * part);
	}
}
