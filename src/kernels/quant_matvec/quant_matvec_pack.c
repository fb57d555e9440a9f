/* SPDX-License-Identifier: MIT
 *
 * What rows of weights take in the layouts of the ops qXX_matvec for CPUs.
 */
#include <assert.h>

#include "base/sizes.h"
#include "kernels/quant_matvec/quant_matvec_pack.h"

size_t qmv_layout_rows(enum tcb_layout layout)
{
	static const unsigned char rows[TCB_LAYOUT_COUNT] = {
		[TCB_LAYOUT_R4] = 4,  [TCB_LAYOUT_R8] = 8,    [TCB_LAYOUT_R16] = 16,
		[TCB_LAYOUT_R8W] = 8, [TCB_LAYOUT_R16W] = 16, [TCB_LAYOUT_R16G] = 16,
	};
	assert(layout < TCB_LAYOUT_COUNT);
	return rows[layout] ? rows[layout] : 1;
}

size_t qmv_block_bytes(const struct tcb_problem *problem, enum tcb_layout layout)
{
	const struct qmv_own *own = qmv_kind(problem)->own;
	const enum tcb_format_id format = problem->op->format->id;
	if (own)
		return own->block_bytes(layout);
	/* Asked of any geometry, before it is known whether the format has the layout. */
	if (layout == TCB_LAYOUT_R16G && tcb_places_bits(format))
		return tcb_places_words(format) * QMV_LINE;
	return layout == TCB_LAYOUT_NATIVE ? qmv_super_bytes(format) : tcb_lines(format) * QMV_LINE;
}

size_t qmv_group_bytes(const struct tcb_problem *problem, enum tcb_layout layout)
{
	return layout == TCB_LAYOUT_NATIVE ? tcb_quant_row_bytes(problem->op->format, problem->shape.k)
					   : tcb_div_up(problem->shape.k, QMV_SUPER) * qmv_block_bytes(problem, layout);
}
