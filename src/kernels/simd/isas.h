/* SPDX-License-Identifier: MIT
 *
 * The one list of instruction families that kernels are compiled for (the
 * flags of each are in cmake/TcbKernelSources.cmake), and what is made of it:
 * declarations and tables of whatever each of them has.
 *
 *   X(isa, ID, ...) for each that this processor's architecture can have, the portable one first:
 *     TCB_ISAS_FLOATS   whose arithmetic on floats differs
 *     TCB_ISAS_BYTES    these, and whose products of bytes differ
 *     TCB_ISAS_TILES    these, and with products of tiles
 */
#ifndef TCB_KERNELS_SIMD_ISAS_H
#define TCB_KERNELS_SIMD_ISAS_H

#include "base/target.h"

#define TCB_ISAS_SCALAR(X, ...) X(scalar, SCALAR, __VA_ARGS__)
#if defined(__x86_64__)
#define TCB_ISAS_FLOATS(X, ...) \
	TCB_ISAS_SCALAR(X, __VA_ARGS__) X(avx2, AVX2, __VA_ARGS__) X(avx512, AVX512, __VA_ARGS__)
#define TCB_ISAS_BYTES(X, ...) TCB_ISAS_FLOATS(X, __VA_ARGS__) X(avx512vnni, AVX512VNNI, __VA_ARGS__)
#define TCB_ISAS_TILES(X, ...) TCB_ISAS_BYTES(X, __VA_ARGS__) X(amx, AMX, __VA_ARGS__)
#elif defined(__aarch64__)
#define TCB_ISAS_FLOATS(X, ...) TCB_ISAS_SCALAR(X, __VA_ARGS__) X(neon, NEON, __VA_ARGS__)
#define TCB_ISAS_BYTES TCB_ISAS_FLOATS
#define TCB_ISAS_TILES TCB_ISAS_FLOATS
#else
#define TCB_ISAS_FLOATS TCB_ISAS_SCALAR
#define TCB_ISAS_BYTES TCB_ISAS_SCALAR
#define TCB_ISAS_TILES TCB_ISAS_SCALAR
#endif

/* What a space has to know of a family of CPUs. */
struct tcb_cpu_isa {
	enum tcb_isa floats; /* the family whose arithmetic on floats it has, too */
	unsigned lanes;      /* words of four bytes in a vector */
	unsigned registers;  /* for vectors */
};
const struct tcb_cpu_isa *tcb_cpu_isa(enum tcb_isa isa);
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
