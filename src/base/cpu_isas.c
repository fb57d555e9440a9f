/* SPDX-License-Identifier: MIT
 *
 * The instruction families of CPUs as rows.  Bits of CPUID as in the processor
 * manuals; XCR0: 1 SSE, 2 AVX; 5 to 7 AVX-512 opmask, upper halves, upper
 * registers; 17, 18 AMX.
 */
#include "base/cpu_isas.h"

#define BIT(number) (1u << (number))
/* FMA and F16C; AVX2 */
#define HAS_AVX2 [TCB_CPU_1_ECX] = BIT(12) | BIT(29), [TCB_CPU_7_EBX] = BIT(5)
/* F, DQ, BW, VL beside these */
#define HAS_AVX512 [TCB_CPU_1_ECX] = BIT(12) | BIT(29), [TCB_CPU_7_EBX] = BIT(5) | BIT(16) | BIT(17) | BIT(30) | BIT(31)
#define HAS_VNNI HAS_AVX512, [TCB_CPU_7_ECX] = BIT(11)

static const struct tcb_cpu_isa isas[TCB_ISA_COUNT] = {
	[TCB_ISA_SCALAR] = { TCB_ISA_SCALAR, TCB_ISA_SCALAR, 1, 16, "x86_64" },
	[TCB_ISA_AVX2] = { TCB_ISA_AVX2, TCB_ISA_SCALAR, 8, 16, "x86_64", .has_stream = 1,
			   .needs = { HAS_AVX2, [TCB_CPU_XCR0] = 0x6 } },
	[TCB_ISA_AVX512] = { TCB_ISA_AVX512, TCB_ISA_AVX2, 16, 32, "x86_64", .has_stream = 1,
			     .needs = { HAS_AVX512, [TCB_CPU_XCR0] = 0xe6 } },
	[TCB_ISA_AVX512VNNI] = { TCB_ISA_AVX512, TCB_ISA_AVX512, 16, 32, "x86_64", .has_dots = 1, .has_stream = 1,
				 .needs = { HAS_VNNI, [TCB_CPU_XCR0] = 0xe6 } },
	/* AMX-BF16, AMX-TILE, AMX-INT8, and bf16 in vectors: no processor has one alone.  Whether this process may use
	 * them is asked later: what a processor is does not depend on it. */
	[TCB_ISA_AMX] = { TCB_ISA_AVX512, TCB_ISA_AVX512VNNI, 16, 32, "x86_64", .has_dots = 1, .has_tiles = 1,
			  .has_stream = 1,
			  .needs = { HAS_AVX512, [TCB_CPU_7_EDX] = BIT(22) | BIT(24) | BIT(25),
				     [TCB_CPU_XCR0] = 0x600e6, [TCB_CPU_7_1_EAX] = BIT(5) } },
	/* Advanced SIMD is part of the base architecture; the kernels want its dot products (ASIMDDP), too. */
	[TCB_ISA_NEON] = { TCB_ISA_NEON, TCB_ISA_SCALAR, 4, 32, "aarch64", .has_dots = 1,
			   .needs = { [TCB_CPU_HWCAP] = BIT(20) } },
	/* Its kernels have VNNI's instructions, too, as all such processors do. */
	[TCB_ISA_AVX512BF16] = { TCB_ISA_AVX512, TCB_ISA_AVX512VNNI, 16, 32, "x86_64", .has_dots = 1, .has_stream = 1,
				 .is_late = 1,
				 .needs = { HAS_VNNI, [TCB_CPU_XCR0] = 0xe6, [TCB_CPU_7_1_EAX] = BIT(5) } },
};

const struct tcb_cpu_isa *tcb_cpu_isa(int32_t isa)
{
	static const struct tcb_cpu_isa none;

	return isa >= 0 && isa < TCB_ISA_COUNT ? &isas[isa] : &none;
}

static int has_all(const struct tcb_cpu_isa *isa, const uint32_t words[TCB_CPU_WORD_COUNT])
{
	for (int w = 0; w < TCB_CPU_WORD_COUNT; w++)
		if (isa->needs[w] & ~words[w])
			return 0;
	return isa->registers > 0;
}

uint32_t tcb_cpu_isas_of(const uint32_t words[TCB_CPU_WORD_COUNT])
{
	uint32_t found = 0;

	for (int isa = 0; isa < TCB_ISA_COUNT; isa++)
		found |= has_all(&isas[isa], words) ? BIT(isa) : 0;
	return found;
}

uint32_t tcb_cpu_isa_within(enum tcb_isa isa)
{
	uint32_t within = BIT(isa);

	for (; isas[isa].less != isa; within |= BIT(isa))
		isa = isas[isa].less;
	return within;
}

uint32_t tcb_cpu_isas_keyed(uint32_t set)
{
	for (int isa = 0; isa < TCB_ISA_COUNT; isa++)
		if (isas[isa].is_late)
			set &= ~BIT(isa);
	return set;
}

uint32_t tcb_cpu_isas_tiled(uint32_t set)
{
	for (int isa = 0; isa < TCB_ISA_COUNT; isa++)
		if (!isas[isa].has_tiles)
			set &= ~BIT(isa);
	return set;
}

/* The last in the list's order. */
enum tcb_isa tcb_cpu_isa_widest(uint32_t set)
{
	int isa = TCB_ISA_COUNT - 1;

	while (isa > 0 && !(tcb_isa_is_of_cpu((enum tcb_isa)isa) && (tcb_cpu_isas_keyed(set) >> isa & 1)))
		isa--;
	return (enum tcb_isa)isa;
}
