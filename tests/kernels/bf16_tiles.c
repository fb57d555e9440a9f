/* SPDX-License-Identifier: MIT
 *
 * bf16_tiles.h, compiled twice: with plain C's tile instructions, and for AMX.
 */
#include "kernels/bf16_tiles.h"

#if !defined(__AMX_TILE__) && !defined(__AMXTILE__)
#include "kernels/amx_ops_in_c.h"
#define TILES bf16_tiles_in_c
#else
#define TILES bf16_tiles_of_processor
#endif
#include "kernels/simd/amx_tiles.h"

AMX_INLINE void run_as(size_t steps, const uint16_t *left, size_t left_stride, const uint16_t *right, int accumulate,
		       float *sums, size_t stride, const int micro_m, const int micro_n)
{
	const struct amx_operand rows = { left, left_stride * sizeof(*left), AMX_LINE,
					  AMX_SIDE * left_stride * sizeof(*left) };
	const struct amx_operand columns = amx_packed(right, micro_n);
	if (accumulate)
		amx_load_sums(sums, stride * sizeof(*sums), micro_m, micro_n);
	else
		amx_clear_sums(micro_m, micro_n);
	amx_add_bf16(&rows, &columns, steps, micro_m, micro_n);
	amx_store_sums(sums, stride * sizeof(*sums), micro_m, micro_n);
}

static void run(int micro_m, int micro_n, size_t steps, const uint16_t *left, size_t left_stride, const uint16_t *right,
		int accumulate, float *sums, size_t stride)
{
	struct amx_config config, before;
	amx_whole_tiles(&config);
	amx_enter(&config, &before);
	if (micro_m > AMX_SIDE && micro_n > AMX_SIDE)
		run_as(steps, left, left_stride, right, accumulate, sums, stride, AMX_SPAN, AMX_SPAN);
	else if (micro_m > AMX_SIDE)
		run_as(steps, left, left_stride, right, accumulate, sums, stride, AMX_SPAN, AMX_SIDE);
	else if (micro_n > AMX_SIDE)
		run_as(steps, left, left_stride, right, accumulate, sums, stride, AMX_SIDE, AMX_SPAN);
	else
		run_as(steps, left, left_stride, right, accumulate, sums, stride, AMX_SIDE, AMX_SIDE);
	amx_leave(&before);
}

const struct bf16_tiles TILES = { run };
