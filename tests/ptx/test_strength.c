/* SPDX-License-Identifier: MIT
 *
 * Strength reduction: the forms, and for division, remainder and products of
 * every width and sign that the sequence gives the quotient that C gives, at
 * the edges and at random.  The sequences are evaluated by constant folding.
 */
#include "pass_tools.h"

static const struct pass_golden golden[] = {
	{ "times 8", "mul.lo.u32 %x4, %x0, 8;\n", "shl.b32 %x4, %x0, 3;\n" },
	{ "8 times", "mul.lo.s32 %x4, 8, %x0;\n", "shl.b32 %x4, %x0, 3;\n" },
	{ "times 2^63", "mul.lo.u64 %z4, %z1, 0x8000000000000000;\n", "shl.b64 %z4, %z1, 63;\n" },
	{ "times -1", "mul.lo.s32 %x4, %x0, -1;\n", "neg.s32 %x4, %x0;\n" },
	{ "times 6", "mul.lo.u32 %x4, %x0, 6;\n", NULL },
	{ "the high half", "mul.hi.u32 %x4, %x0, 8;\n", NULL },
	{ "twice as wide", "mul.wide.u32 %z4, %x0, 8;\n", NULL },
	{ "times 4 plus", "mad.lo.s32 %x4, %x0, 4, %x1;\n", "shl.b32 %r0, %x0, 2;\nadd.s32 %x4, %r0, %x1;\n" },
	{ "the product is the addend too", "mov.u32 %x4, %x1;\nmad.lo.s32 %x4, %x4, 4, %x4;\n",
	  "mov.u32 %x4, %x1;\nshl.b32 %r0, %x4, 2;\nadd.s32 %x4, %r0, %x4;\n" },
	{ "under a guard", "mov.u32 %x4, %x1;\n@%q0 mad.lo.s32 %x4, %x0, 4, %x1;\n",
	  "mov.u32 %x4, %x1;\n@%q0 shl.b32 %r0, %x0, 2;\n@%q0 add.s32 %x4, %r0, %x1;\n" },
	{ "with carry", "mad.lo.cc.u32 %x4, %x0, 4, %x1;\n", NULL },
	{ "unsigned by 8", "div.u32 %x4, %x0, 8;\n", "shr.u32 %x4, %x0, 3;\n" },
	{ "unsigned rest of 8", "rem.u32 %x4, %x0, 8;\n", "and.b32 %x4, %x0, 7;\n" },
	{ "signed by 8", "div.s32 %x4, %x0, 8;\n",
	  "shr.s32 %r0, %x0, 31;\nshr.u32 %r1, %r0, 29;\nadd.s32 %r2, %x0, %r1;\nshr.s32 %x4, %r2, 3;\n" },
	{ "signed by -2", "div.s32 %x4, %x0, -2;\n",
	  "shr.u32 %r0, %x0, 31;\nadd.s32 %r1, %x0, %r0;\nshr.s32 %r2, %r1, 1;\nneg.s32 %x4, %r2;\n" },
	{ "signed rest of 8", "rem.s32 %x4, %x0, 8;\n",
	  "shr.s32 %r0, %x0, 31;\nshr.u32 %r1, %r0, 29;\nadd.s32 %r2, %x0, %r1;\nand.b32 %r3, %r2, -8;\n"
	  "sub.s32 %x4, %x0, %r3;\n" },
	{ "unsigned by 10", "div.u32 %x4, %x0, 10;\n", "mul.hi.u32 %r0, %x0, -858993459;\nshr.u32 %x4, %r0, 3;\n" },
	{ "unsigned by 7", "div.u32 %x4, %x0, 7;\n",
	  "mul.hi.u32 %r0, %x0, 613566757;\nsub.u32 %r1, %x0, %r0;\nshr.u32 %r2, %r1, 1;\nadd.u32 %r3, %r2, %r0;\n"
	  "shr.u32 %x4, %r3, 2;\n" },
	{ "signed by 3", "div.s32 %x4, %x0, 3;\n",
	  "mul.hi.s32 %r0, %x0, 1431655766;\nshr.s32 %r1, %x0, 31;\nsub.s32 %x4, %r0, %r1;\n" },
	{ "into its own source", "mov.u32 %x4, %x0;\nrem.u32 %x4, %x4, 10;\n",
	  "mov.u32 %x4, %x0;\nmul.hi.u32 %r0, %x4, -858993459;\nshr.u32 %r1, %r0, 3;\nmul.lo.u32 %r2, %r1, 10;\n"
	  "sub.u32 %x4, %x4, %r2;\n" },
	{ "by a register", "div.u32 %x4, %x0, %x1;\n", NULL },
	{ "by zero", "div.u32 %x4, %x0, 0;\n", NULL },
	{ "by the least number", "div.s32 %x4, %x0, 0x80000000;\n", NULL },
	{ "f32 by 8", "div.rn.f32 %y4, %y0, 0f41000000;\n", "mul.rn.f32 %y4, %y0, 0f3E000000;\n" },
	{ "f32 by -0.25, other rounding", "div.rz.ftz.f32 %y4, %y0, 0fBE800000;\n",
	  "mul.rz.ftz.f32 %y4, %y0, 0fC0800000;\n" },
	{ "f32 by 3", "div.rn.f32 %y4, %y0, 0f40400000;\n", NULL },
	{ "f32, the reciprocal is subnormal", "div.rn.f32 %y4, %y0, 0f7F000000;\n", NULL },
	{ "f32, approximately", "div.full.f32 %y4, %y0, 0f41000000;\n", NULL },
	{ "f64 by 2", "div.rn.f64 %w4, %w0, 0d4000000000000000;\n", "mul.rn.f64 %w4, %w0, 0d3FE0000000000000;\n" },
};

static void each_form_is_reduced_or_left(void **state)
{
	(void)state;
	pass_check("strength", golden, sizeof golden / sizeof *golden);
}

enum { KERNELS = 60, PER_KERNEL = 60 };

static uint64_t edge_or_random(struct tcb_rng *rng, unsigned bits)
{
	uint64_t value = tcb_rng_next(rng);

	switch (tcb_rng_below(rng, 6)) {
	case 0:
		value &= 15;
		break;
	case 1:
		value = 0 - (value & 15);
		break;
	case 2: /* next to a power of two */
		value = (1ull << (value >> 8) % bits) + (value & 3) - 1;
		break;
	case 3:
		value = 0 - ((1ull << (value >> 8) % bits) + (value & 3) - 1);
		break;
	case 4:
		value &= 0xffff;
		break;
	}
	return bits == 64 ? value : value & ((1ull << bits) - 1);
}

static uint64_t expected(int what, unsigned bits, uint64_t x, uint64_t d)
{
	int64_t sx = (int64_t)(x << (64 - bits)) >> (64 - bits), sd = (int64_t)(d << (64 - bits)) >> (64 - bits);

	switch (what) {
	case 0:
		return x / d;
	case 1:
		return x % d;
	case 2:
		return sd == -1 ? 0 - x : (uint64_t)(sx / sd);
	case 3:
		return sd == -1 ? 0 : (uint64_t)(sx % sd);
	default:
		return x * d;
	}
}

struct made {
	unsigned bits, reg;
	int what;
	uint64_t x, d;
};

/* One division by a constant: its operand is a mov that only folding looks through. */
static void add_one(struct tcb_rng *rng, struct tcb_str *body, struct made *made, unsigned reg)
{
	static const char *const names[] = { "div.u", "rem.u", "div.s", "rem.s", "mul.lo.s" };
	static const char prefix[] = { 'h', 'x', 'z' };
	unsigned width = (unsigned)tcb_rng_below(rng, 3);
	char p = prefix[width];

	made->bits = 16u << width;
	made->reg = reg;
	made->what = (int)tcb_rng_below(rng, 5);
	do
		made->d = edge_or_random(rng, made->bits);
	while (!made->d);
	do
		made->x = edge_or_random(rng, made->bits);
	while (made->d == (made->bits == 64 ? ~0ull : (1ull << made->bits) - 1) && made->x == 1ull << (made->bits - 1));
	tcb_str_addf(body, "mov.b%u %%%c%u, 0x%llx;\n%s%u %%%c%u, %%%c%u, 0x%llx;\n", made->bits, p, reg - 1,
		     (unsigned long long)made->x, names[made->what], made->bits, p, reg, p, reg - 1,
		     (unsigned long long)made->d);
}

/* The constant that register REG of width BITS holds at the end. */
static int final_constant(const struct tcb_ptx_module *module, unsigned bits, unsigned reg, uint64_t *out)
{
	const char *prefix = bits == 16 ? "%h" : bits == 32 ? "%x" : "%z";
	char wanted[16], name[64];
	int found = 0;

	snprintf(wanted, sizeof wanted, "%s%u", prefix, reg);
	for (const struct tcb_ptx_block *b = module->functions->first; b; b = b->next)
		for (const struct tcb_ptx_ins *ins = b->first; ins; ins = ins->next)
			if (ins->op == TCB_PTX_OP_MOV && ins->operands[0].kind == TCB_PTX_O_REG &&
			    strcmp(tcb_ptx_reg_name(module->functions, ins->operands[0].reg, name, sizeof name),
				   wanted) == 0) {
				found = ins->operands[1].kind == TCB_PTX_O_INT;
				*out = ins->operands[1].bits;
			}
	return found;
}

static void sequences_give_what_c_gives(void **state)
{
	struct tcb_rng rng;
	unsigned reduced = 0, wrong = 0, seen = 0;

	(void)state;
	tcb_rng_init(&rng, 7);
	for (unsigned k = 0; k < KERNELS * PER_KERNEL / 29; k++) {
		struct tcb_str body = { 0 };
		struct made made[29];
		struct tcb_ptx_module *module;

		for (unsigned i = 0; i < 29; i++)
			add_one(&rng, &body, &made[i], 5 + 2 * i);
		module = pass_kernel(body.data);
		reduced += pass_run("strength", module, NULL);
		pass_run("const_fold", module, NULL);
		for (unsigned i = 0; i < 29; i++) {
			uint64_t mask = made[i].bits == 64 ? ~0ull : (1ull << made[i].bits) - 1, got = 0, want;

			if (!final_constant(module, made[i].bits, made[i].reg, &got))
				fail_msg("not folded: %u bits, kind %d, x %llx, d %llx\n%s", made[i].bits, made[i].what,
					 (unsigned long long)made[i].x, (unsigned long long)made[i].d,
					 pass_lines(module->functions));
			want = expected(made[i].what, made[i].bits, made[i].x, made[i].d) & mask;
			if ((got & mask) != want)
				fail_msg("%u bits, kind %d: x %llx, d %llx gives %llx, not %llx", made[i].bits,
					 made[i].what, (unsigned long long)made[i].x, (unsigned long long)made[i].d,
					 (unsigned long long)(got & mask), (unsigned long long)want);
			/* control: a quotient that is off by one would be seen */
			wrong += (got & mask) == ((want + 1) & mask);
			seen++;
		}
		tcb_ptx_module_destroy(module);
		tcb_str_fini(&body);
	}
	assert_true(seen > 3000 && reduced > seen / 2);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_form_is_reduced_or_left),
		cmocka_unit_test(sequences_give_what_c_gives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
