/* SPDX-License-Identifier: MIT
 *
 * Each instruction by itself, over edge and random operands, bit for bit against
 * C; what a changed table or a wrong reference would look like is shown first.
 */
#include "emu_bench.h"
#include "emu_op_list.h"

/* Runs OP on the rows of SEED and returns how many results differ from C's; the first in WHY. */
static unsigned differences(const struct emu_op *op, uint64_t seed, char *why, size_t size)
{
	static uint64_t rows[OPS_ROWS][3], out[OPS_ROWS];
	struct emu_op_types types = emu_op_types(op->types);
	unsigned bits = emu_type_bits(types.name[0]), wrong = 0;
	struct tcb_str text = { 0 };
	struct emu_bench b;

	tcb_str_add(&text, ".version 8.6\n.target sm_90\n.address_size 64\n");
	emu_op_text(op, "k", &text);
	emu_open(&b, text.data, "k", OPS_BLOCK);
	tcb_str_fini(&text);
	emu_op_rows(op, seed, rows);
	emu_buffer(&b, "rows", rows, sizeof rows, TCB_PTX_READ_ONLY);
	emu_buffer(&b, "out", out, sizeof out, TCB_PTX_MAY_WRITE);
	b.launch.grid[0] = OPS_ROWS / OPS_BLOCK;
	emu_run_clean(&b);
	for (unsigned r = 0; r < OPS_ROWS; r++) {
		uint64_t want = !op->c ? out[r] : op->c(rows[r][0], rows[r][1], rows[r][2]);

		if (bits < 64)
			want &= (1ull << bits) - 1;
		if (types.name[0][0] == 'f' && bits == 64 && want << 1 > 0x7ffull << 53 && out[r] << 1 > 0x7ffull << 53)
			continue; /* which NaN is not said for .f64 */
		if (!emu_op_same(types.name[0], out[r], want, op->ulps) && !wrong++)
			snprintf(why, size, "%s of %llx %llx %llx: %llx, not %llx", op->ins,
				 (unsigned long long)rows[r][0], (unsigned long long)rows[r][1],
				 (unsigned long long)rows[r][2], (unsigned long long)out[r], (unsigned long long)want);
	}
	emu_close(&b);
	return wrong;
}

static void every_instruction(void **state)
{
	char why[300] = "";
	unsigned bad = 0;

	(void)state;
	for (unsigned i = 0; i < EMU_OPS; i++)
		for (uint64_t seed = 1; seed <= 2; seed++) {
			unsigned wrong = differences(&emu_ops[i], 100 * i + seed, why, sizeof why);

			if (wrong) {
				print_message("%u wrong: %s\n", wrong, why);
				bad++;
				break;
			}
		}
	assert_int_equal(bad, 0);
}

/* Negative control: a reference that is off in one corner is noticed. */
static void a_wrong_reference_is_noticed(void **state)
{
	static const struct emu_op wrong[] = {
		{ "mul.hi.s32 %d, %a, %b", "u32 u32 u32", r_mul_hi_u32, 0 },
		{ "add.rz.f32 %d, %a, %b", "f32 f32 f32", r_fadd_rn, 0 },
		{ "min.f32 %d, %a, %b", "f32 f32 f32", r_fmin_nan, 0 },
		{ "fma.rn.bf16 %d, %a, %b, %c", "bf16 bf16 bf16 bf16", r_hfma, 0 },
		{ "lop3.b32 %d, %a, %b, %c, 0x97", "u32 u32 u32 u32", r_lop3_96, 0 },
		{ "shf.l.clamp.b32 %d, %a, %b, %c", "u32 u32 u32 u32", r_shf_lw, 0 },
	};
	char why[300];

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_true(differences(&wrong[i], i, why, sizeof why) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_instruction),
		cmocka_unit_test(a_wrong_reference_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
