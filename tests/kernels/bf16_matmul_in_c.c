/* SPDX-License-Identifier: MIT
 *
 * bf16_matmul_in_c.h: the register tiles of quant_matmul_bf16.h with plain C's tile instructions.
 */
#include "kernels/bf16_matmul_in_c.h"

#include <string.h>

#include "cmocka_all.h"
#include "kernels/amx_ops_in_c.h"
#include "kernels/quant_matmul/quant_matmul_bf16.h"

static void enter(struct qmm_before *before)
{
	amx_play_host(before->bytes);
	struct qmm_before saved;
	bf16_enter(&saved);
	assert_memory_equal(&saved, before, sizeof(saved));
}

static void leave(const struct qmm_before *before)
{
	bf16_leave(before);
	assert_memory_equal(amx.config, before->bytes, sizeof(amx.config));
	AMX_RELEASE();
}

#define TILE(m, n)                                              \
	static void tile_##m##x##n(const struct qmm_call *call) \
	{                                                       \
		bf16_tile(call, m, n);                          \
	}
TILE(16, 16)
TILE(16, 32)
TILE(32, 16)
TILE(32, 32)

#define KERNELS(m, n)                              \
	{                                          \
		tile_##m##x##n, NULL, enter, leave \
	}
const struct qmm_kernels bf16_matmul_in_c[4] = { KERNELS(16, 16), KERNELS(16, 32), KERNELS(32, 16), KERNELS(32, 32) };
