/* SPDX-License-Identifier: MIT
 *
 * The instruction families of CPUs as numbers.
 */
#include "kernels/simd/isas.h"

const struct tcb_cpu_isa *tcb_cpu_isa(enum tcb_isa isa)
{
	static const struct tcb_cpu_isa isas[TCB_ISA_COUNT] = {
		[TCB_ISA_SCALAR] = { TCB_ISA_SCALAR, 1, 16 },  [TCB_ISA_AVX2] = { TCB_ISA_AVX2, 8, 16 },
		[TCB_ISA_AVX512] = { TCB_ISA_AVX512, 16, 32 }, [TCB_ISA_AVX512VNNI] = { TCB_ISA_AVX512, 16, 32 },
		[TCB_ISA_AMX] = { TCB_ISA_AVX512, 16, 32 },    [TCB_ISA_NEON] = { TCB_ISA_NEON, 4, 32 },
	};
	return &isas[isa];
}
