/* SPDX-License-Identifier: MIT
 *
 * For tests of the builder: a kernel around a few instructions, and short names.
 */
#ifndef TCB_TESTS_BUILD_CASE_H
#define TCB_TESTS_BUILD_CASE_H

#include "cmocka_all.h"

#include "ptx/build/build.h"

/* Operands, and operations with 1 to 4 sources. */
#define I tcb_ptx_int
#define op1 tcb_ptx_op1
#define op2 tcb_ptx_op2
#define op3 tcb_ptx_op3
#define op4 tcb_ptx_op4
#define operand struct tcb_ptx_operand

/* What every case gets. */
struct given {
	struct tcb_ptx_build *b;
	operand x, y, n, tid; /* x is aligned to 16, y to 4 */
	operand tile, q[4];
};

/* The kernel CASE for sm_80 around BUILD. */
static inline enum tcb_status build_case(void (*build)(struct given *g), struct tcb_ptx_module **module,
					 struct tcb_error *err)
{
	struct tcb_ptx_target target = { 80, 0 };
	struct tcb_ptx_build b;
	struct given g = { .b = &b };

	assert_int_equal(tcb_ptx_build_init(&b, &target, err), TCB_OK);
	tcb_ptx_kernel_begin(&b, "case", NULL);
	g.x = tcb_ptx_param_pointer(&b, "x", 16);
	g.y = tcb_ptx_param_pointer(&b, "y", 4);
	g.n = tcb_ptx_param(&b, "u32", "n");
	g.tid = tcb_ptx_special(&b, "tid.x");
	g.tile = tcb_ptx_shared(&b, "tile", 16, 64);
	build(&g);
	tcb_ptx_kernel_end(&b);
	return tcb_ptx_build_finish(&b, module, err);
}

#endif
