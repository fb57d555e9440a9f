/* SPDX-License-Identifier: MIT
 *
 * Arithmetic loops (compute_loops.h): products of tiles of bytes and of bf16 on AMX.  Tiles
 * have no place in C's types, so these loops are written out.
 */
#include "device/compute_loops.h"

#include <immintrin.h>
#include <string.h>

enum { SIDE = 16, LINE = 64, CHAINS = 4, FACTORS = 2, PALETTE = 1, BF16_ONE = 0x3f80 };

/* As the processor reads it: bytes per row and rows of each tile. */
struct config {
	uint8_t palette, start_row, reserved[14];
	uint16_t row_bytes[16];
	uint8_t rows[16];
};

/*
 * The loop NAME: CHAINS tiles of TYPE, to which TYPE is added by DOT of two tiles that ONE fills; the tiles' last sums
 * are the value.
 */
#define LOOP(name, type, one_type, one, dot)                                    \
	static double name(size_t iterations)                                   \
	{                                                                       \
		_Alignas(LINE) one_type ones[SIDE * LINE / sizeof(one_type)];   \
		_Alignas(LINE) type sums[CHAINS][SIDE * LINE / sizeof(type)];   \
		double all = 0;                                                 \
		for (size_t i = 0; i < sizeof(ones) / sizeof(ones[0]); i++)     \
			ones[i] = one;                                          \
		configure();                                                    \
		_tile_loadd(4, ones, LINE);                                     \
		_tile_loadd(5, ones, LINE);                                     \
		for (size_t n = 0; n < iterations; n++) {                       \
			dot(0, 4, 5);                                           \
			dot(1, 4, 5);                                           \
			dot(2, 4, 5);                                           \
			dot(3, 4, 5);                                           \
		}                                                               \
		_tile_stored(0, sums[0], LINE);                                 \
		_tile_stored(1, sums[1], LINE);                                 \
		_tile_stored(2, sums[2], LINE);                                 \
		_tile_stored(3, sums[3], LINE);                                 \
		_tile_release();                                                \
		for (int i = 0; i < CHAINS; i++)                                \
			all += (double)sums[i][SIDE * LINE / sizeof(type) - 1]; \
		return all;                                                     \
	}

/* All tiles whole, and zero. */
static void configure(void)
{
	struct config config;
	memset(&config, 0, sizeof(config));
	config.palette = PALETTE;
	for (int t = 0; t < CHAINS + FACTORS; t++) {
		config.row_bytes[t] = LINE;
		config.rows[t] = SIDE;
	}
	_tile_loadconfig(&config);
}

LOOP(bytes, int32_t, uint8_t, 1, _tile_dpbsud)
LOOP(halves, float, uint16_t, BF16_ONE, _tile_dpbf16ps)

const struct tcb_compute_loop tcb_compute_loops_amx[] = {
	{ TCB_ISA_AMX, TCB_COMPUTE_INT8, "tdpbsud", 2.0 * SIDE *SIDE *LINE *CHAINS, bytes, 1.0 * LINE *CHAINS },
	{ TCB_ISA_AMX, TCB_COMPUTE_BF16, "tdpbf16ps", 1.0 * SIDE *SIDE *LINE *CHAINS, halves, 0.5 * LINE *CHAINS },
	{ .run = NULL },
};
