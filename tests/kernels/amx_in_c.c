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
#include "kernels/amx_ops_in_c.h"
#include "kernels/quant_matmul/quant_matmul_amx.h"

/* One for tiles of all sizes: where there is AMX each size has its own. */
#define AMX_TILE(format, ...)                                                                 \
	static void amx_##format(const struct qmm_call *call, size_t micro_m, size_t micro_n) \
	{                                                                                     \
		amx_tile(call, TCB_FORMAT_##format, micro_m, micro_n);                        \
	}
TCB_FORMAT_CODE_LIST(AMX_TILE)

#define AMX_ROW(format, ...) amx_##format,

static void run_tile(enum tcb_format_id format, size_t micro_m, size_t micro_n, const struct qmm_call *call)
{
	static void (*const tiles[TCB_FORMAT_COUNT])(const struct qmm_call *, size_t,
						     size_t) = { TCB_FORMAT_CODE_LIST(AMX_ROW) };
	uint8_t before[sizeof(amx.config)];

	amx_play_host(before);
	struct qmm_before kept;
	amx_enter_runs(format, &kept);
	tiles[format](call, micro_m, micro_n);
	amx_leave_runs(&kept);
	assert_memory_equal(amx.config, before, sizeof(before));
	AMX_RELEASE();
}

#ifdef __AVX512VNNI__
const struct amx_in_c amx_in_c_vnni = { "scaled by AVX-512", run_tile, amx_settle };
#else
const struct amx_in_c amx_in_c_any = { "scaled by plain C", run_tile, amx_settle };
#endif
