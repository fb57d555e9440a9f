/* SPDX-License-Identifier: MIT
 *
 * AMX's tile instructions in plain C: what amx_tiles.h, which is included after
 * this, takes for the processor's.  Fails the test that runs on misuse of tiles.
 */
#ifndef TCB_TESTS_KERNELS_AMX_OPS_IN_C_H
#define TCB_TESTS_KERNELS_AMX_OPS_IN_C_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "cmocka_all.h"

/* Called, not inlined: kernels have hundreds of them, and take ten times as long to compile otherwise. */
#define AMX_CALLED static __attribute__((noinline, unused))

enum { AMX_C_TILES = 8, AMX_C_ROWS = 16, AMX_C_LINE = 64 };

static struct {
	unsigned rows[AMX_C_TILES], row_bytes[AMX_C_TILES];
	uint8_t data[AMX_C_TILES][AMX_C_ROWS][AMX_C_LINE];
	uint8_t config[64]; /* all zeros: there is none */
} amx;

AMX_CALLED void amx_take_config(const void *config)
{
	const uint8_t *bytes = config;
	assert_int_equal(bytes[0], 1);
	for (int t = 0; t < AMX_C_TILES; t++) {
		amx.row_bytes[t] = (unsigned)(bytes[16 + 2 * t] | bytes[17 + 2 * t] << 8);
		amx.rows[t] = bytes[48 + t];
		assert_in_range(amx.rows[t], 1, AMX_C_ROWS);
		assert_in_range(amx.row_bytes[t], 4, AMX_C_LINE);
	}
	memcpy(amx.config, bytes, sizeof(amx.config));
	memset(amx.data, 0, sizeof(amx.data));
}

/* Every second time the thread has a tile configuration of its own, which is left in BEFORE and which it must have
 * after kernels; where there was none (zeros) there must be none. */
AMX_CALLED void amx_play_host(uint8_t before[sizeof(amx.config)])
{
	static unsigned calls;
	memset(before, 0, sizeof(amx.config));
	if (calls++ % 2 == 0)
		return;
	before[0] = 1;
	for (int t = 0; t < AMX_C_TILES; t++) {
		before[16 + 2 * t] = 32;
		before[48 + t] = (uint8_t)(8 + t);
	}
	amx_take_config(before);
}

AMX_CALLED void amx_load(int t, const void *p, size_t stride)
{
	assert_int_equal(amx.config[0], 1);
	for (unsigned r = 0; r < amx.rows[t]; r++)
		memcpy(amx.data[t][r], (const uint8_t *)p + r * stride, amx.row_bytes[t]);
}

AMX_CALLED void amx_store(int t, void *p, size_t stride)
{
	for (unsigned r = 0; r < amx.rows[t]; r++)
		memcpy((uint8_t *)p + r * stride, amx.data[t][r], amx.row_bytes[t]);
}

/* The shapes must fit, as the processor asks; then as its manual has it: A signed, B so, too, or unsigned. */
AMX_CALLED void amx_dot(int c, int a, int b, int is_signed)
{
	assert_int_equal(amx.rows[c], amx.rows[a]);
	assert_int_equal(amx.row_bytes[c], amx.row_bytes[b]);
	assert_int_equal(amx.row_bytes[a], 4 * amx.rows[b]);
	for (unsigned m = 0; m < amx.rows[c]; m++)
		for (unsigned n = 0; n < amx.row_bytes[c] / 4; n++) {
			int32_t sum;
			memcpy(&sum, amx.data[c][m] + 4 * n, 4);
			for (unsigned k = 0; k < amx.row_bytes[a]; k++)
				sum += (int8_t)amx.data[a][m][k] * (is_signed
									    ? (int8_t)amx.data[b][k / 4][4 * n + k % 4]
									    : amx.data[b][k / 4][4 * n + k % 4]);
			memcpy(amx.data[c][m] + 4 * n, &sum, 4);
		}
}

/* A bf16 as a float; subnormal ones are 0. */
static inline float amx_bf16(uint16_t bits)
{
	const uint32_t word = (uint32_t)bits << 16;
	float value;
	memcpy(&value, &word, sizeof(value));
	return fabsf(value) < FLT_MIN ? copysignf(0, value) : value;
}

static inline float amx_flush(float value)
{
	return fabsf(value) < FLT_MIN ? copysignf(0, value) : value;
}

/* Even k apart from odd k, then both to the sum. */
AMX_CALLED void amx_dot_bf16(int c, int a, int b)
{
	assert_int_equal(amx.rows[c], amx.rows[a]);
	assert_int_equal(amx.row_bytes[c], amx.row_bytes[b]);
	assert_int_equal(amx.row_bytes[a], 4 * amx.rows[b]);
	for (unsigned m = 0; m < amx.rows[c]; m++)
		for (unsigned n = 0; n < amx.row_bytes[c] / 4; n++) {
			float sum, part[2] = { 0 };
			for (unsigned k = 0; k < amx.row_bytes[a] / 2; k++) {
				uint16_t left, right;
				memcpy(&left, amx.data[a][m] + 2 * k, 2);
				memcpy(&right, amx.data[b][k / 2] + 4 * n + 2 * (k % 2), 2);
				part[k % 2] = amx_flush(fmaf(amx_bf16(left), amx_bf16(right), part[k % 2]));
			}
			memcpy(&sum, amx.data[c][m] + 4 * n, 4);
			sum = amx_flush(amx_flush(sum) + amx_flush(part[0] + part[1]));
			memcpy(amx.data[c][m] + 4 * n, &sum, 4);
		}
}

#define AMX_CONFIGURE(config) amx_take_config(config)
#define AMX_ZERO(t) memset(amx.data[t], 0, sizeof(amx.data[t]))
#define AMX_LOAD(t, p, stride) amx_load(t, p, stride)
#define AMX_LOAD_ONCE(t, p, stride) amx_load(t, p, stride)
#define AMX_STORE(t, p, stride) amx_store(t, p, stride)
#define AMX_DOT(c, a, b) amx_dot(c, a, b, 0)
#define AMX_DOT_SIGNED(c, a, b) amx_dot(c, a, b, 1)
#define AMX_DOT_BF16(c, a, b) amx_dot_bf16(c, a, b)
#define AMX_SAVE(to) memcpy(to, amx.config, sizeof(amx.config))
#define AMX_RELEASE() memset(amx.config, 0, sizeof(amx.config))

#endif
