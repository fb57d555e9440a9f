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

/* Sums of 256 products a thread, fused and not, against double: the mean error of the fused sum is the lesser one. */
static double dot_error(const char *step, uint64_t seed)
{
	enum { THREADS = 256, LENGTH = 256 };
	static float in[THREADS][LENGTH][2], out[THREADS];
	char text[1000];
	double error = 0;
	struct tcb_rng rng;
	struct emu_bench b;

	tcb_rng_init(&rng, seed);
	for (int i = 0; i < THREADS * LENGTH * 2; i++)
		((float *)in)[i] = tcb_rng_normal(&rng);
	snprintf(text, sizeof text,
		 ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u64 q)\n{\n"
		 ".reg .f32 %%f<5>; .reg .b32 %%r<5>; .reg .b64 %%d<5>; .reg .pred %%p;\n"
		 "ld.param.u64 %%d1, [p]; ld.param.u64 %%d2, [q]; mov.u32 %%r1, %%tid.x; mad.wide.u32 %%d1, %%r1, "
		 "2048, %%d1;\n"
		 "mad.wide.u32 %%d2, %%r1, 4, %%d2; mov.f32 %%f1, 0f00000000; mov.u32 %%r2, 256;\n"
		 "L: ld.global.v2.f32 {%%f2, %%f3}, [%%d1]; %s\nadd.u64 %%d1, %%d1, 8; sub.u32 %%r2, %%r2, 1;\n"
		 "setp.ne.u32 %%p, %%r2, 0; @%%p bra L; st.global.f32 [%%d2], %%f1; ret;\n}\n",
		 step);
	emu_open(&b, text, "k", THREADS);
	emu_buffer(&b, "in", in, sizeof in, TCB_PTX_READ_ONLY);
	emu_buffer(&b, "out", out, sizeof out, TCB_PTX_MAY_WRITE);
	emu_run_clean(&b);
	for (int t = 0; t < THREADS; t++) {
		double sum = 0;

		for (int i = 0; i < LENGTH; i++)
			sum += (double)in[t][i][0] * in[t][i][1];
		error += fabs(sum - out[t]);
	}
	emu_close(&b);
	return error / THREADS;
}

static void fusing_is_more_accurate(void **state)
{
	double fused = 0, apart = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++) {
		fused += dot_error("fma.rn.f32 %f1, %f2, %f3, %f1;", seed);
		apart += dot_error("mul.rn.f32 %f4, %f2, %f3; add.rn.f32 %f1, %f1, %f4;", seed);
	}
	print_message("mean error of 256 products: fused %.3g, apart %.3g\n", fused / 4, apart / 4);
	assert_true(fused < apart);
	assert_true(fused > 0); /* it is not computed in double by mistake */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_instruction),
		cmocka_unit_test(a_wrong_reference_is_noticed),
		cmocka_unit_test(fusing_is_more_accurate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
