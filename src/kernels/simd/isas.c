/* SPDX-License-Identifier: MIT
 *
 * The instruction families of CPUs as numbers.
 */
#include "kernels/simd/isas.h"

const struct tcb_cpu_isa *tcb_cpu_isa(enum tcb_isa isa)
{
	static const struct tcb_cpu_isa isas[TCB_ISA_COUNT] = {
		[TCB_ISA_SCALAR] = { TCB_ISA_SCALAR, 1, 16 },      [TCB_ISA_AVX2] = { TCB_ISA_AVX2, 8, 16 },
		[TCB_ISA_AVX512] = { TCB_ISA_AVX512, 16, 32 },     [TCB_ISA_AVX512VNNI] = { TCB_ISA_AVX512, 16, 32 },
		[TCB_ISA_AMX] = { TCB_ISA_AVX512, 16, 32 },        [TCB_ISA_NEON] = { TCB_ISA_NEON, 4, 32 },
		[TCB_ISA_AVX512BF16] = { TCB_ISA_AVX512, 16, 32 },
	};
	return &isas[isa];
}

size_t tcb_float_lanes(int32_t isa)
{
	return isa >= 0 && isa < TCB_ISA_COUNT && (int32_t)tcb_cpu_isa((enum tcb_isa)isa)->floats == isa
		       ? tcb_cpu_isa((enum tcb_isa)isa)->lanes
		       : 0;
}

enum tcb_isa tcb_float_isa(const struct tcb_target *target)
{
	enum tcb_isa widest = TCB_ISA_SCALAR;
	for (int isa = 0; isa < TCB_ISA_COUNT; isa++)
		if (tcb_target_has(target, (enum tcb_isa)isa) && tcb_float_lanes(isa) > tcb_float_lanes(widest))
			widest = (enum tcb_isa)isa;
	return widest;
}
