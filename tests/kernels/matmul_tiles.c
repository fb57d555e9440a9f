/* SPDX-License-Identifier: MIT
 *
 * matmul_tiles.h, compiled twice: for any processor, and with AVX-512, whose
 * vectors pack panels where there is AMX.
 */
#include "kernels/matmul_tiles.h"

#include "kernels/amx_ops_in_c.h"
#include "kernels/matmul/matmul_amx.h"

static void run_as(enum tcb_type type, const struct matmul_task *task)
{
	const struct tcb_tile *micro = &task->plan->geometry.tile[TCB_MICRO];
	const int is_tall = micro->m > AMX_SIDE, is_wide = micro->n > AMX_SIDE;
#define RUN(m, n) (type == TCB_TYPE_F16 ? amx_task(task, TCB_TYPE_F16, m, n) : amx_task(task, TCB_TYPE_BF16, m, n))
	if (is_tall && is_wide)
		RUN(32, 32);
	else if (is_tall)
		RUN(32, 16);
	else if (is_wide)
		RUN(16, 32);
	else
		RUN(16, 16);
}

static void run(enum tcb_type type, const struct matmul_task *task)
{
	uint8_t before[sizeof(amx.config)];
	amx_play_host(before);
	run_as(type, task);
	assert_memory_equal(amx.config, before, sizeof(before));
	AMX_RELEASE();
}

#ifdef __AVX512BW__
const struct matmul_tiles matmul_tiles_avx512 = { "packed by AVX-512", run };
#else
const struct matmul_tiles matmul_tiles_any = { "packed by plain C", run };
#endif
