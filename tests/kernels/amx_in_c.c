/* SPDX-License-Identifier: MIT
 *
 * Tiles on AMX with the tile instructions taken from plain C.  Compiled twice:
 * for any processor, and with AVX-512 VNNI, whose vectors scale the tiles' sums
 * where there is AMX.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cmocka_all.h"
#include "kernels/amx_in_c.h"

enum { TILES = 8, TILE_ROWS = 16, TILE_LINE = 64 };

static struct {
	unsigned rows[TILES], row_bytes[TILES];
	uint8_t data[TILES][TILE_ROWS][TILE_LINE];
	uint8_t config[64]; /* all zeros: there is none */
} amx;

static void amx_take_config(const void *config)
{
	const uint8_t *bytes = config;
	assert_int_equal(bytes[0], 1);
	for (int t = 0; t < TILES; t++) {
		amx.row_bytes[t] = (unsigned)(bytes[16 + 2 * t] | bytes[17 + 2 * t] << 8);
		amx.rows[t] = bytes[48 + t];
		assert_in_range(amx.rows[t], 1, TILE_ROWS);
		assert_in_range(amx.row_bytes[t], 4, TILE_LINE);
	}
	memcpy(amx.config, bytes, sizeof(amx.config));
	memset(amx.data, 0, sizeof(amx.data));
}

static void amx_load(int t, const void *p, size_t stride)
{
	assert_int_equal(amx.config[0], 1);
	for (unsigned r = 0; r < amx.rows[t]; r++)
		memcpy(amx.data[t][r], (const uint8_t *)p + r * stride, amx.row_bytes[t]);
}

static void amx_store(int t, void *p, size_t stride)
{
	for (unsigned r = 0; r < amx.rows[t]; r++)
		memcpy((uint8_t *)p + r * stride, amx.data[t][r], amx.row_bytes[t]);
}

/* The shapes must fit, as the processor asks; then as its manual has it: A signed, B unsigned. */
static void amx_dot(int c, int a, int b)
{
	assert_int_equal(amx.rows[c], amx.rows[a]);
	assert_int_equal(amx.row_bytes[c], amx.row_bytes[b]);
	assert_int_equal(amx.row_bytes[a], 4 * amx.rows[b]);
	for (unsigned m = 0; m < amx.rows[c]; m++)
		for (unsigned n = 0; n < amx.row_bytes[c] / 4; n++) {
			int32_t sum;
			memcpy(&sum, amx.data[c][m] + 4 * n, 4);
			for (unsigned k = 0; k < amx.row_bytes[a]; k++)
				sum += (int8_t)amx.data[a][m][k] * amx.data[b][k / 4][4 * n + k % 4];
			memcpy(amx.data[c][m] + 4 * n, &sum, 4);
		}
}

#define AMX_CONFIGURE(config) amx_take_config(config)
#define AMX_ZERO(t) memset(amx.data[t], 0, sizeof(amx.data[t]))
#define AMX_LOAD(t, p, stride) amx_load(t, p, stride)
#define AMX_STORE(t, p, stride) amx_store(t, p, stride)
#define AMX_DOT(c, a, b) amx_dot(c, a, b)
#define AMX_SAVE(to) memcpy(to, amx.config, sizeof(amx.config))
#define AMX_RELEASE() memset(amx.config, 0, sizeof(amx.config))
#include "kernels/quant_matmul/quant_matmul_amx.h"

#define AMX_TILE(format, m, n)                                            \
	static void amx_##format##_##m##x##n(const struct qmm_call *call) \
	{                                                                 \
		amx_tile(call, TCB_FORMAT_##format, m, n);                \
	}
#define AMX_TILES(format, ...) \
	AMX_TILE(format, 16, 16) AMX_TILE(format, 16, 32) AMX_TILE(format, 32, 16) AMX_TILE(format, 32, 32)
TCB_FORMAT_CODE_LIST(AMX_TILES)

#define AMX_ROW(format, ...) { amx_##format##_16x16, amx_##format##_16x32, amx_##format##_32x16, amx_##format##_32x32 },

/* Every second call is by a thread with a tile configuration of its own, which it must have afterwards; where there was
 * none there must be none. */
static void run_tile(enum tcb_format_id format, size_t micro_m, size_t micro_n, const struct qmm_call *call)
{
	static qmm_tile_fn *const tiles[TCB_FORMAT_COUNT][4] = { TCB_FORMAT_CODE_LIST(AMX_ROW) };
	static unsigned calls;
	uint8_t before[sizeof(amx.config)] = { 0 };

	if (calls++ % 2) {
		before[0] = 1;
		for (int t = 0; t < TILES; t++) {
			before[16 + 2 * t] = 32;
			before[48 + t] = (uint8_t)(8 + t);
		}
		amx_take_config(before);
	}
	tiles[format][(micro_m > 16) * 2 + (micro_n > 16)](call);
	assert_memory_equal(amx.config, before, sizeof(before));
	AMX_RELEASE();
}

#ifdef __AVX512VNNI__
const struct amx_in_c amx_in_c_vnni = { "scaled by AVX-512", run_tile };
#else
const struct amx_in_c amx_in_c_any = { "scaled by plain C", run_tile };
#endif
