/* SPDX-License-Identifier: MIT
 *
 * The gates of all families of CPU instructions.
 */
#include "kernels/simd/gelu_gate.h"

#include "base/cpu_isas.h"

tcb_gelu_gate_fn *tcb_gelu_gate(enum tcb_isa isa)
{
#define OF_ISA(isa, ID, ...) [TCB_ISA_##ID] = tcb_gelu_gate_##isa,
	static tcb_gelu_gate_fn *const all[TCB_ISA_COUNT] = { TCB_ISAS_FLOATS(OF_ISA, ) };
	return all[tcb_cpu_isa((int32_t)isa)->floats];
}
