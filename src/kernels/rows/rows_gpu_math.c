/* SPDX-License-Identifier: MIT
 *
 * Small pieces of PTX that row ops share: values combined within a lane and over
 * the lanes of a warp.
 */
#include <string.h>

#include "kernels/rows/rows_gpu.h"

enum { CHAINS = 4 };

tcb_rows_op tcb_rows_constant(struct tcb_rows_writer *w, const char *type, tcb_rows_op value)
{
	const tcb_rows_op to = tcb_ptx_reg(&w->b, type);
	tcb_ptx_into1(&w->b, strcmp(type, "f32") == 0 ? "mov.f32" : "mov.u32", to, value);
	return to;
}

void tcb_rows_nounroll(struct tcb_rows_writer *w)
{
	const tcb_rows_op text = { .kind = TCB_PTX_O_TEXT, .reg = TCB_PTX_NO_REG, .text = "nounroll" };
	tcb_ptx_op1(&w->b, ".pragma", text);
}

tcb_rows_op tcb_rows_over_lanes(struct tcb_rows_writer *w, const char *op, tcb_rows_op value, unsigned lanes)
{
	struct tcb_ptx_build *b = &w->b;
	for (unsigned distance = lanes / 2; distance; distance /= 2) {
		const tcb_rows_op other = tcb_ptx_op4(b, "shfl.sync.bfly.b32", value, tcb_ptx_int(distance),
						      tcb_ptx_int(31), tcb_ptx_int(-1));
		value = tcb_ptx_op2(b, op, value, other);
	}
	return value;
}

tcb_rows_op tcb_rows_fold(struct tcb_rows_writer *w, const char *op, const tcb_rows_op *values, unsigned count)
{
	struct tcb_ptx_build *b = &w->b;
	tcb_rows_op chain[CHAINS];
	unsigned chains = count < CHAINS ? count : CHAINS;
	for (unsigned i = 0; i < count; i++)
		chain[i % CHAINS] = i < CHAINS ? values[i] : tcb_ptx_op2(b, op, chain[i % CHAINS], values[i]);
	for (; chains > 1; chains = (chains + 1) / 2)
		for (unsigned i = 0; i < chains / 2; i++)
			chain[i] = tcb_ptx_op2(b, op, chain[i], chain[chains - 1 - i]);
	return chain[0];
}
