/* SPDX-License-Identifier: MIT
 *
 * Arithmetic loops (compute_loops.h): products of tiles of bytes on AMX.  Tiles
 * have no place in C's types, so this loop is written out.
 */
#include "device/compute_loops.h"

#include <immintrin.h>
#include <string.h>

enum { SIDE = 16, LINE = 64, CHAINS = 4, FACTORS = 2, PALETTE = 1 };

/* As the processor reads it: bytes per row and rows of each tile. */
struct config {
	uint8_t palette, start_row, reserved[14];
	uint16_t row_bytes[16];
	uint8_t rows[16];
};

static double bytes(size_t iterations)
{
	_Alignas(64) uint8_t ones[SIDE][LINE];
	_Alignas(64) int32_t sums[SIDE][LINE / 4];
	struct config config;
	double all = 0;
	memset(&config, 0, sizeof(config));
	memset(ones, 1, sizeof(ones));
	config.palette = PALETTE;
	for (int t = 0; t < CHAINS + FACTORS; t++) {
		config.row_bytes[t] = LINE;
		config.rows[t] = SIDE;
	}
	_tile_loadconfig(&config);
	_tile_zero(0);
	_tile_zero(1);
	_tile_zero(2);
	_tile_zero(3);
	_tile_loadd(4, ones, LINE);
	_tile_loadd(5, ones, LINE);
	for (size_t n = 0; n < iterations; n++) {
		_tile_dpbsud(0, 4, 5);
		_tile_dpbsud(1, 4, 5);
		_tile_dpbsud(2, 4, 5);
		_tile_dpbsud(3, 4, 5);
	}
	_tile_stored(0, sums, LINE);
	all += sums[SIDE - 1][SIDE - 1];
	_tile_stored(1, sums, LINE);
	all += sums[SIDE - 1][SIDE - 1];
	_tile_stored(2, sums, LINE);
	all += sums[SIDE - 1][SIDE - 1];
	_tile_stored(3, sums, LINE);
	all += sums[SIDE - 1][SIDE - 1];
	_tile_release();
	return all;
}

const struct tcb_compute_loop tcb_compute_loops_amx[] = {
	{ TCB_ISA_AMX, TCB_COMPUTE_INT8, "tdpbsud", 2.0 * SIDE *SIDE *LINE *CHAINS, bytes, 1.0 * LINE *CHAINS },
	{ .run = NULL },
};
