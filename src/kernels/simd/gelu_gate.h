/* SPDX-License-Identifier: MIT
 *
 * gelu in its tanh form, x (1 + tanh u) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3), which is x / (1 + exp(-z)) with
 * z = 2 u = x (Z1 + Z3 x^2); and a gate joined by it with what it opens.
 */
#ifndef TCB_KERNELS_SIMD_GELU_GATE_H
#define TCB_KERNELS_SIMD_GELU_GATE_H

#include <stddef.h>

#include "base/geometry.h"
#include "kernels/simd/isas.h"

#define TCB_GELU_Z1 1.5957691216057307 /* 2 sqrt(2 / pi) */
#define TCB_GELU_Z3 (TCB_GELU_Z1 * 0.044715)

/* GATE becomes gelu(GATE) UP, of COUNT values each: by the floats of family ISA. */
typedef void tcb_gelu_gate_fn(float *gate, const float *up, size_t count);
tcb_gelu_gate_fn *tcb_gelu_gate(enum tcb_isa isa);

#define TCB_GELU_GATE_DECLARE(isa, ...) tcb_gelu_gate_fn tcb_gelu_gate_##isa;
TCB_ISAS_FLOATS(TCB_GELU_GATE_DECLARE, )
#undef TCB_GELU_GATE_DECLARE

#endif
