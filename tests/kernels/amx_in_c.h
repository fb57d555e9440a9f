/* SPDX-License-Identifier: MIT
 *
 * Tiles on AMX without AMX, for tests.
 */
#ifndef TCB_TESTS_KERNELS_AMX_IN_C_H
#define TCB_TESTS_KERNELS_AMX_IN_C_H

#include "kernels/quant_matmul/quant_matmul_layout.h"

struct amx_in_c {
	const char *name;
	/* One tile of MICRO_M tokens by MICRO_N rows, each 16 or 32; fails the test that runs on misuse of tiles. */
	void (*run)(enum tcb_format_id format, size_t micro_m, size_t micro_n, const struct qmm_call *call);
	/* What a panel needs before that. */
	void (*settle)(enum tcb_format_id format, void *panel);
};
extern const struct amx_in_c amx_in_c_any;
extern const struct amx_in_c amx_in_c_vnni; /* x86: needs AVX-512 VNNI */

#endif
