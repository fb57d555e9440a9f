/* SPDX-License-Identifier: MIT
 *
 * The rows of instruction families: what processors that are recorded here as
 * words have, and that the rows agree with each other.
 */
#include "cmocka_all.h"

#include <string.h>

#include "base/cpu_isas.h"
#include "base/target.h"

enum {
	AVX2 = 1u << TCB_ISA_SCALAR | 1u << TCB_ISA_AVX2,
	AVX512 = AVX2 | 1u << TCB_ISA_AVX512,
	VNNI = AVX512 | 1u << TCB_ISA_AVX512VNNI,
};

static void processors(void **state)
{
	static const struct {
		uint32_t words[TCB_CPU_WORD_COUNT], isas;
		enum tcb_isa widest;
	} cases[] = {
		{ { 0 }, 1u << TCB_ISA_SCALAR, TCB_ISA_SCALAR },
		/* like a Zen 3 */
		{ { [TCB_CPU_1_ECX] = 0x7ef8320b, [TCB_CPU_7_EBX] = 0x219c97a9, [TCB_CPU_XCR0] = 0x207 },
		  AVX2,
		  TCB_ISA_AVX2 },
		/* like a Zen 4: bf16 does not name its group */
		{ { 0x7ef8320b, 0xf1bf97a9, 0x405fce, 0, 1u << 5, 0xe7 },
		  VNNI | 1u << TCB_ISA_AVX512BF16,
		  TCB_ISA_AVX512VNNI },
		/* the same under a system that saves no AVX-512 registers, and under one that saves none */
		{ { 0x7ef8320b, 0xf1bf97a9, 0x405fce, 0, 1u << 5, 0x7 }, AVX2, TCB_ISA_AVX2 },
		{ { 0x7ef8320b, 0xf1bf97a9, 0x405fce, 0, 1u << 5, 0 }, 1u << TCB_ISA_SCALAR, TCB_ISA_SCALAR },
		/* like an Emerald Rapids, and with tiles that its system does not save */
		{ { 0x7ef8320b, 0xf1bf97a9, 0x1b415f7e, 0xbfc10410, 1u << 5, 0x602e7 },
		  VNNI | 1u << TCB_ISA_AVX512BF16 | 1u << TCB_ISA_AMX,
		  TCB_ISA_AMX },
		{ { 0x7ef8320b, 0xf1bf97a9, 0x1b415f7e, 0xbfc10410, 1u << 5, 0x2e7 },
		  VNNI | 1u << TCB_ISA_AVX512BF16,
		  TCB_ISA_AVX512VNNI },
		/* and with tiles of bytes only */
		{ { 0x7ef8320b, 0xf1bf97a9, 0x1b415f7e, 0xbf810410, 1u << 5, 0x602e7 },
		  VNNI | 1u << TCB_ISA_AVX512BF16,
		  TCB_ISA_AVX512VNNI },
		{ { [TCB_CPU_HWCAP] = 1u << 20 }, 1u << TCB_ISA_SCALAR | 1u << TCB_ISA_NEON, TCB_ISA_NEON },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_int_equal(tcb_cpu_isas_of(cases[i].words), cases[i].isas);
		assert_int_equal(tcb_cpu_isa_widest(cases[i].isas), cases[i].widest);
	}
}

static void sets(void **state)
{
	(void)state;
	assert_int_equal(tcb_cpu_isa_within(TCB_ISA_SCALAR), 1u << TCB_ISA_SCALAR);
	assert_int_equal(tcb_cpu_isa_within(TCB_ISA_AVX512), AVX512);
	assert_int_equal(tcb_cpu_isa_within(TCB_ISA_AMX), VNNI | 1u << TCB_ISA_AMX);
	assert_int_equal(tcb_cpu_isa_within(TCB_ISA_AVX512BF16), VNNI | 1u << TCB_ISA_AVX512BF16);
	assert_int_equal(tcb_cpu_isas_keyed(VNNI | 1u << TCB_ISA_AVX512BF16), VNNI);
	assert_int_equal(tcb_cpu_isas_tiled(VNNI | 1u << TCB_ISA_AMX), 1u << TCB_ISA_AMX);
	assert_int_equal(tcb_cpu_isa(TCB_KNOB_UNSET)->lanes, 0);
	assert_int_equal(tcb_cpu_isa(TCB_ISA_WGMMA)->registers, 0);
}

/* What a family contains needs no more than it does, and has no wider vectors. */
static void rows_agree(void **state)
{
	(void)state;
	for (int i = 0; i < TCB_ISA_COUNT; i++) {
		const struct tcb_cpu_isa *isa = tcb_cpu_isa(i), *less = tcb_cpu_isa((int32_t)isa->less);

		if (!tcb_isa_is_of_cpu((enum tcb_isa)i))
			continue;
		assert_true(tcb_cpu_isa_within((enum tcb_isa)i) & 1u << TCB_ISA_SCALAR);
		assert_int_equal(tcb_cpu_isa((int32_t)isa->floats)->lanes, isa->lanes);
		assert_true(less->lanes <= isa->lanes && less->registers <= isa->registers);
		assert_true(i == TCB_ISA_NEON || strcmp(less->machine, isa->machine) == 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processors),
		cmocka_unit_test(sets),
		cmocka_unit_test(rows_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
