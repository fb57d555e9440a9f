/* SPDX-License-Identifier: MIT
 *
 * GPU results of schema version 1 carry hashes of source files, in which a
 * comment counted.  Here are those of which today's emitters write all stored
 * candidates as the commit that measured them did, byte for byte:
 * scripts/prove-same-kernels.sh compared PTX, launches and packing.  A variant
 * whose kernels change on purpose loses its rows: tests/kernels/
 * test_same_kernels.c holds today's kernels against those of the proof.
 */
#include <string.h>

#include "kernels/signature.h"

static const struct {
	const char *op, *variant, *signature;
} proven[] = {
	/* results/h200/2026-11-21, commits 7406bb8 and 85d9808 */
	{ "q4k_matvec", "q4k_matvec_f32_ptx_fma", "9f5bd10f1dbae8acf031e7540c6b206a" },
	{ "q4k_matvec", "q4k_matvec_f32_ptx_mma", "9f5bd10f1dbae8acf031e7540c6b206a" },
	{ "q4k_matvec", "q4k_matvec_q8_ptx_dp4a", "9f5bd10f1dbae8acf031e7540c6b206a" },
	{ "q40_matvec", "q40_matvec_q8_ptx_dp4a", "9f5bd10f1dbae8acf031e7540c6b206a" },
	{ "q5k_matvec", "q5k_matvec_q8_ptx_dp4a", "9f5bd10f1dbae8acf031e7540c6b206a" },
	{ "q6k_matvec", "q6k_matvec_q8_ptx_dp4a", "9f5bd10f1dbae8acf031e7540c6b206a" },
	{ "q80_matvec", "q80_matvec_q8_ptx_dp4a", "9f5bd10f1dbae8acf031e7540c6b206a" },
	{ "reduce2d_max", "reduce2d_max_f32_ptx", "2bb26130ac614a496e786864fe5d3cc4" },
	{ "reduce2d_sum", "reduce2d_sum_f32_ptx", "2bb26130ac614a496e786864fe5d3cc4" },
	/* results/h200/2026-11-22, commit 56824fa */
	{ "matmul_bf16", "matmul_bf16_ptx_wgmma", "9b347ff3e2c341e21a5b850967446a7d" },
	{ "matmul_f16", "matmul_f16_ptx_wgmma", "9b347ff3e2c341e21a5b850967446a7d" },
	{ "matmul_f32", "matmul_f32_ptx_fma", "9b347ff3e2c341e21a5b850967446a7d" },
};

int tcb_signature_is_proven(const struct tcb_op *op, const struct tcb_variant *variant, const char *signature)
{
	for (size_t i = 0; i < sizeof(proven) / sizeof(proven[0]); i++)
		if (strcmp(proven[i].op, op->name) == 0 && strcmp(proven[i].variant, variant->name) == 0 &&
		    strcmp(proven[i].signature, signature) == 0)
			return 1;
	return 0;
}
