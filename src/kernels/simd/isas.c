/* SPDX-License-Identifier: MIT
 *
 * The widths of vectors of floats.
 */
#include "kernels/simd/isas.h"

size_t tcb_float_lanes(int32_t isa)
{
	const struct tcb_cpu_isa *row = tcb_cpu_isa(isa);

	return (int32_t)row->floats == isa ? row->lanes : 0;
}

enum tcb_isa tcb_float_isa(const struct tcb_target *target)
{
	enum tcb_isa widest = TCB_ISA_SCALAR;
	for (int isa = 0; isa < TCB_ISA_COUNT; isa++)
		if (tcb_target_has(target, (enum tcb_isa)isa) && tcb_float_lanes(isa) > tcb_float_lanes(widest))
			widest = (enum tcb_isa)isa;
	return widest;
}
