/* SPDX-License-Identifier: MIT
 *
 * Problems of the quantised matmuls' GPU kernels, for the tests of these.
 */
#ifndef TCB_TESTS_QUANT_MATMUL_CASE_H
#define TCB_TESTS_QUANT_MATMUL_CASE_H

#include "gpu_bench.h"

static const char *const op_names[] = { "q4k_matmul", "q40_matmul",   "q80_matmul",  "q5k_matmul",
					"q6k_matmul", "mxfp4_matmul", "iq4xs_matmul" };
/* Of expanded formats, contract f16 alone. */
static const char *const piece_names[] = { "q50_matmul",   "q51_matmul",    "q41_matmul",    "q3k_matmul",
					   "q2k_matmul",   "iq3s_matmul",   "iq3xxs_matmul", "iq2s_matmul",
					   "iq2xs_matmul", "iq2xxs_matmul", "iq1s_matmul",   "iq1m_matmul",
					   "nvfp4_matmul" };
enum { OPS = sizeof op_names / sizeof *op_names, PIECE_OPS = sizeof piece_names / sizeof *piece_names };

static inline const struct tcb_op *op_of(const char *name)
{
	const struct tcb_op *op = tcb_op_find(name);
	assert_non_null(op);
	return op;
}

static inline struct tcb_problem problem_of(const char *op, size_t m, size_t n, size_t k)
{
	return gpu_problem(op_of(op), TCB_CONTRACT_F16, (struct tcb_shape){ m, n, k });
}

static inline struct tcb_problem problem_q8(const char *op, size_t m, size_t n, size_t k)
{
	return gpu_problem(op_of(op), TCB_CONTRACT_Q8, (struct tcb_shape){ m, n, k });
}

#endif
