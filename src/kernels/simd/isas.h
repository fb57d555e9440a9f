/* SPDX-License-Identifier: MIT
 *
 * Families of CPUs (base/cpu_isas.h) as kernels in the vocabulary of simd.h see
 * them: the width of their vectors, and the tables of variants of each.
 */
#ifndef TCB_KERNELS_SIMD_ISAS_H
#define TCB_KERNELS_SIMD_ISAS_H

#include "base/cpu_isas.h"
#include "base/target.h"

/* Floats in a vector of ISA, a knob's value; 0 where no kernel is built for its arithmetic on floats. */
size_t tcb_float_lanes(int32_t isa);
/* The family of TARGET with the widest of them. */
enum tcb_isa tcb_float_isa(const struct tcb_target *target);

/* LIST: the tables NAME_<isa> of variants of the families of ISAS, then NULL. */
#define TCB_VARIANT_TABLES(list, ISAS, name)      \
	ISAS(TCB_VARIANT_TABLE_DECLARATION, name) \
	static const struct tcb_variant *const list[] = { ISAS(TCB_VARIANT_TABLE, name) NULL };
#define TCB_VARIANT_TABLE_DECLARATION(isa, ID, name) extern const struct tcb_variant name##_##isa[];
#define TCB_VARIANT_TABLE(isa, ID, name) name##_##isa,

#endif
