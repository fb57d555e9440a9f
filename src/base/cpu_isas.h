/* SPDX-License-Identifier: MIT
 *
 * The instruction families of CPUs: a row of facts about each (cpu_isas.c),
 * and the lists of those that kernels are compiled for here, from which
 * declarations and tables are made.  A new one is its word in geometry.h's
 * list, a row, its place in the lists below, and its line of compiler flags in
 * cmake/TcbKernelSources.cmake.
 *
 *   X(isa, ID, ...) for each that this processor's architecture can have, the portable one first:
 *     TCB_ISAS_FLOATS   whose arithmetic on floats differs
 *     TCB_ISAS_DOTS     with vectors, whose products of bytes differ
 *     TCB_ISAS_BYTES    these, and whose products of bytes differ
 *     TCB_ISAS_TILES    these, and with products of tiles
 *     TCB_ISAS_ALL      all
 */
#ifndef TCB_BASE_CPU_ISAS_H
#define TCB_BASE_CPU_ISAS_H

#include "base/geometry.h"

#define TCB_ISAS_SCALAR(X, ...) X(scalar, SCALAR, __VA_ARGS__)
#if defined(__x86_64__)
#define TCB_ISAS_FLOATS(X, ...) \
	TCB_ISAS_SCALAR(X, __VA_ARGS__) X(avx2, AVX2, __VA_ARGS__) X(avx512, AVX512, __VA_ARGS__)
#define TCB_ISAS_DOTS(X, ...) \
	X(avx2, AVX2, __VA_ARGS__) X(avx512, AVX512, __VA_ARGS__) X(avx512vnni, AVX512VNNI, __VA_ARGS__)
#define TCB_ISAS_BYTES(X, ...) TCB_ISAS_SCALAR(X, __VA_ARGS__) TCB_ISAS_DOTS(X, __VA_ARGS__)
#define TCB_ISAS_TILES(X, ...) TCB_ISAS_BYTES(X, __VA_ARGS__) X(amx, AMX, __VA_ARGS__)
#define TCB_ISAS_ALL(X, ...) TCB_ISAS_TILES(X, __VA_ARGS__) X(avx512bf16, AVX512BF16, __VA_ARGS__)
#elif defined(__aarch64__)
#define TCB_ISAS_DOTS(X, ...) X(neon, NEON, __VA_ARGS__)
#define TCB_ISAS_FLOATS(X, ...) TCB_ISAS_SCALAR(X, __VA_ARGS__) TCB_ISAS_DOTS(X, __VA_ARGS__)
#define TCB_ISAS_BYTES TCB_ISAS_FLOATS
#define TCB_ISAS_TILES TCB_ISAS_FLOATS
#define TCB_ISAS_ALL TCB_ISAS_FLOATS
#else
#define TCB_ISAS_DOTS(X, ...)
#define TCB_ISAS_FLOATS TCB_ISAS_SCALAR
#define TCB_ISAS_BYTES TCB_ISAS_SCALAR
#define TCB_ISAS_TILES TCB_ISAS_SCALAR
#define TCB_ISAS_ALL TCB_ISAS_SCALAR
#endif

/* What a processor and its system say of themselves, 32 bits each; what the architecture has not is 0. */
enum tcb_cpu_word {
	TCB_CPU_1_ECX, /* CPUID leaves; a processor that has no such leaf says 0 */
	TCB_CPU_7_EBX,
	TCB_CPU_7_ECX,
	TCB_CPU_7_EDX,
	TCB_CPU_7_1_EAX,
	TCB_CPU_XCR0, /* registers that the system saves */
	TCB_CPU_HWCAP,
	TCB_CPU_WORD_COUNT
};

/* All 0 of what is no family of CPUs. */
struct tcb_cpu_isa {
	enum tcb_isa floats; /* the family whose arithmetic on floats it has, too */
	enum tcb_isa less;   /* the next narrower one that it contains, whose default rules serve it, too; or itself */
	unsigned lanes;      /* words of four bytes in a vector */
	unsigned registers;  /* for vectors */
	const char *machine; /* begins the name of its group of default rules, "x86_64-avx2" */
	int has_dots;        /* adds up products of bytes to words */
	int has_tiles;       /* multiplies tiles, which a process must ask for (tiles.h) */
	int has_stream;      /* stores past the caches */
	/* Added to the list after results had been stored: no part of keys and of groups' names (cpu_identity.c). */
	int is_late;
	uint32_t needs[TCB_CPU_WORD_COUNT]; /* bits that a processor must say that it has */
};
const struct tcb_cpu_isa *tcb_cpu_isa(int32_t isa); /* a knob's value, whatever it is */

static inline int tcb_isa_is_of_cpu(enum tcb_isa isa)
{
	return tcb_cpu_isa(isa)->registers > 0;
}
/* Sets of families: bit 1u << enum tcb_isa. */
uint32_t tcb_cpu_isas_of(const uint32_t words[TCB_CPU_WORD_COUNT]);
uint32_t tcb_cpu_isa_within(enum tcb_isa isa); /* ISA and all that it contains */
uint32_t tcb_cpu_isas_keyed(uint32_t set);     /* without those that are late */
uint32_t tcb_cpu_isas_tiled(uint32_t set);     /* those that have tiles */
enum tcb_isa tcb_cpu_isa_widest(uint32_t set); /* that names a processor's group */

#endif
