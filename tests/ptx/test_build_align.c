/* SPDX-License-Identifier: MIT
 *
 * What the builder proves of alignment: enough for the kernels that are right,
 * too little for those that are wrong, and true of random programs.
 */
#include "build_case.h"

#include <string.h>

static void parameter_alignment_is_what_was_promised(struct given *g)
{
	tcb_ptx_load(g->b, "ld.global.v2.b32", tcb_ptx_at(g->y, 0), g->q, 2);
}

static void offsets_count(struct given *g)
{
	tcb_ptx_load(g->b, "ld.global.v4.b32", tcb_ptx_at(g->x, 8), g->q, 4);
}

static void scalars_may_be_provably_wrong(struct given *g)
{
	tcb_ptx_load(g->b, "ld.global.b32", tcb_ptx_at(g->x, 2), g->q, 1);
}

static void strides_count(struct given *g)
{
	operand at = op3(g->b, "mad.wide.u32", g->tid, I(8), g->x);

	tcb_ptx_load(g->b, "ld.global.v4.b32", tcb_ptx_at(at, 0), g->q, 4);
}

static void carried_pointers_keep_what_steps_leave(struct given *g)
{
	operand at = op1(g->b, "mov.u64", g->x);

	tcb_ptx_for_begin(g->b, I(0), g->n, I(1), 0);
	tcb_ptx_load(g->b, "ld.global.v4.b32", tcb_ptx_at(at, 0), g->q, 4);
	tcb_ptx_into2(g->b, "add.u64", at, at, I(24));
	tcb_ptx_for_end(g->b);
}

static void counters_keep_what_begin_leaves(struct given *g)
{
	struct tcb_ptx_operand loop = tcb_ptx_for_begin(g->b, I(2), g->n, I(4), 0);
	tcb_ptx_load(g->b, "ld.global.v4.b32", tcb_ptx_at(op3(g->b, "mad.wide.u32", loop, I(4), g->x), 0), g->q, 4);
	tcb_ptx_for_end(g->b);
}

static void both_ways_count(struct given *g)
{
	operand p = op2(g->b, "setp.eq.u32", g->tid, I(0));
	operand at = op3(g->b, "selp.b64", g->x, op2(g->b, "add.u64", g->x, I(8)), p);

	tcb_ptx_load(g->b, "ld.global.v4.b32", tcb_ptx_at(at, 0), g->q, 4);
}

static void copies_are_aligned(struct given *g)
{
	op3(g->b, "cp.async.cg.shared.global", tcb_ptx_at(g->tile, 0), tcb_ptx_at(g->x, 4), I(16));
}

static void matrix_rows_are_aligned(struct given *g)
{
	operand row = op3(g->b, "mad.lo.u32", g->tid, I(8), op1(g->b, "mov.u32", g->tile));

	tcb_ptx_load(g->b, "ldmatrix.sync.aligned.m8n8.x4.shared.b16", tcb_ptx_at(row, 0), g->q, 4);
}

/* The message must hold PLACE. */
static const struct {
	const char *rule, *place;
	void (*build)(struct given *g);
} refused[] = {
	{ "alignment: ", "ld.global.v2.b32", parameter_alignment_is_what_was_promised },
	{ "alignment: ", "a multiple of 16; ", offsets_count },
	{ "alignment: ", "ld.global.b32", scalars_may_be_provably_wrong },
	{ "alignment: ", "is a multiple of 8", strides_count },
	{ "alignment: ", "is a multiple of 8", carried_pointers_keep_what_steps_leave },
	{ "alignment: ", "a multiple of 16 plus 8", counters_keep_what_begin_leaves },
	{ "alignment: ", "is a multiple of 8", both_ways_count },
	{ "alignment: ", "cp.async", copies_are_aligned },
	{ "alignment: ", "ldmatrix", matrix_rows_are_aligned },
};

static void what_is_not_proved_is_refused(void **state)
{
	struct tcb_ptx_module *module;
	struct tcb_error err;

	(void)state;
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		if (build_case(refused[i].build, &module, &err) == TCB_OK)
			fail_msg("case %zu (%s) was accepted", i, refused[i].rule);
		assert_null(module);
		if (strncmp(err.message, "case", 4) != 0 || !strstr(err.message, refused[i].rule) ||
		    !strstr(err.message, refused[i].place))
			fail_msg("case %zu: expected '%s' and '%s' in: %s", i, refused[i].rule, refused[i].place,
				 err.message);
	}
}

/* Each of these needs one step of the proof; without it the case is refused. */

static void proves_offsets(struct given *g)
{
	operand at = op2(g->b, "add.u64", g->x, I(8)); /* 16 k + 8, which 24 more makes whole again */

	tcb_ptx_load(g->b, "ld.global.v4.b32", tcb_ptx_at(at, 24), g->q, 4);
	tcb_ptx_load(g->b, "ld.global.v4.b32", tcb_ptx_at(op2(g->b, "sub.u64", at, I(8)), 0), g->q, 4);
}

static void proves_shifts_and_masks(struct given *g)
{
	operand row = op2(g->b, "shl.b32", op2(g->b, "and.b32", g->tid, I(-4)), I(2)), at;

	row = op2(g->b, "xor.b32", row, op2(g->b, "shl.b32", op2(g->b, "shr.u32", g->tid, I(3)), I(4)));
	at = op2(g->b, "add.u64", g->x, op1(g->b, "cvt.u64.u32", op2(g->b, "or.b32", row, I(64))));
	tcb_ptx_load(g->b, "ld.global.v4.b32", tcb_ptx_at(at, 0), g->q, 4);
	row = tcb_ptx_op4(g->b, "lop3.b32", row, I(48), g->tid, I(0xc0)); /* row & 48 */
	at = op2(g->b, "add.u64", g->x, op1(g->b, "cvt.u64.u32", row));
	tcb_ptx_load(g->b, "ld.global.v4.b32", tcb_ptx_at(at, 0), g->q, 4);
}

static void proves_carried_pointers(struct given *g)
{
	operand at = op1(g->b, "mov.u64", g->x);

	tcb_ptx_for_begin(g->b, g->tid, g->n, I(1), 0);
	tcb_ptx_load(g->b, "ld.global.v4.b32", tcb_ptx_at(at, -16), g->q, 4);
	tcb_ptx_into2(g->b, "add.u64", at, at, I(48));
	tcb_ptx_for_end(g->b);
}

static void proves_counters(struct given *g)
{
	struct tcb_ptx_operand loop = tcb_ptx_for_begin(g->b, I(8), g->n, I(4), 0);
	tcb_ptx_load(g->b, "ld.global.v4.b32", tcb_ptx_at(op3(g->b, "mad.wide.u32", loop, I(4), g->x), 0), g->q, 4);
	tcb_ptx_for_end(g->b);
}

static void proves_what_is_assumed(struct given *g)
{
	operand row = tcb_ptx_assume_aligned(g->b, g->n, 4);

	tcb_ptx_load(g->b, "ld.global.v4.b32", tcb_ptx_at(op3(g->b, "mad.wide.u32", row, I(4), g->x), 0), g->q, 4);
}

static void proves_shared(struct given *g)
{
	operand dynamic = tcb_ptx_shared_dynamic(g->b, "dynamic", 128), row = op1(g->b, "mov.u32", dynamic);

	row = op3(g->b, "mad.lo.u32", op2(g->b, "rem.u32", g->tid, I(7)), I(144), row);
	tcb_ptx_load(g->b, "ld.shared.v4.b32", tcb_ptx_at(row, 32), g->q, 4);
	row = op1(g->b, "cvta.shared.u64", op1(g->b, "mov.u64", dynamic));
	tcb_ptx_load(g->b, "ld.v4.b32", tcb_ptx_at(row, 32), g->q, 4);
}

static void proves_choices(struct given *g)
{
	operand p = op2(g->b, "setp.eq.u32", g->tid, I(0)), at = op2(g->b, "add.u64", g->x, I(-32));

	at = op3(g->b, "selp.b64", g->x, at, p);
	tcb_ptx_guard(g->b, p);
	tcb_ptx_into2(g->b, "add.u64", at, at, I(64));
	tcb_ptx_unguard(g->b);
	tcb_ptx_load(g->b, "ld.global.v4.b32", tcb_ptx_at(at, 0), g->q, 4);
}

static void (*const proved[])(struct given *g) = {
	proves_offsets,         proves_shifts_and_masks, proves_carried_pointers, proves_counters,
	proves_what_is_assumed, proves_shared,           proves_choices,
};

static void alignment_is_proved_where_it_can_be(void **state)
{
	struct tcb_ptx_module *module;
	struct tcb_error err;

	(void)state;
	for (size_t i = 0; i < sizeof proved / sizeof *proved; i++) {
		if (build_case(proved[i], &module, &err) != TCB_OK)
			fail_msg("case %zu: %s", i, err.message);
		tcb_ptx_module_destroy(module);
	}
}

/* A random straight line of integer arithmetic, run here at the same time: what the builder says of each register's
 * alignment holds for the values. */

enum { VALUES = 60, RUNS = 4, PROGRAMS = 400 };

struct value {
	operand at;
	uint32_t is[RUNS]; /* in each run */
};

static uint32_t run_one(unsigned op, uint32_t x, uint32_t y, uint32_t z)
{
	switch (op) {
	case 0:
		return x + y;
	case 1:
		return x - y;
	case 2:
		return x * y;
	case 3:
		return x * y + z;
	case 4:
		return x & y;
	case 5:
		return x | y;
	case 6:
		return x ^ y;
	case 7:
		return y >= 32 ? 0 : x << y;
	case 8:
		return y >= 32 ? 0 : x >> y;
	case 9:
		return x < y ? x : y;
	case 10:
		return y ? x / y : 0;
	case 11:
		return y ? x % y : 0;
	case 12:
		return -x;
	case 13:
		return ~x;
	case 14:
		return (x & ~y) ^ z;
	case 15:
		return (uint32_t)(int32_t)(int16_t)x;
	default:
		return (x & 0xffffff) * (y & 0xffffff);
	}
}

static operand build_one(struct tcb_ptx_build *b, unsigned op, operand x, operand y, operand z)
{
	static const char *const names[] = { "add.u32", "sub.u32", "mul.lo.u32", "mad.lo.u32", "and.b32",     "or.b32",
					     "xor.b32", "shl.b32", "shr.u32",    "min.u32",    "div.u32",     "rem.u32",
					     "neg.s32", "not.b32", "lop3.b32",   "",           "mul24.lo.u32" };

	if (op == 3)
		return op3(b, names[op], x, y, z);
	if (op == 12 || op == 13)
		return op1(b, names[op], x);
	if (op == 14)
		return tcb_ptx_op4(b, names[op], x, y, z, I((0xf0 & ~0xcc) ^ 0xaa));
	if (op == 15)
		return op1(b, "cvt.s32.s16", op1(b, "cvt.u16.u32", x));
	return op2(b, names[op], x, y);
}

static void what_is_proved_is_true(void **state)
{
	struct tcb_ptx_target target = { 80, 0 };
	unsigned known = 0, total = 0;
	struct tcb_rng rng;

	(void)state;
	tcb_rng_init(&rng, 17);
	for (unsigned program = 0; program < PROGRAMS; program++) {
		struct value values[VALUES];
		struct tcb_ptx_module *module;
		struct tcb_ptx_build b;
		struct tcb_error err;

		assert_int_equal(tcb_ptx_build_init(&b, &target, &err), TCB_OK);
		tcb_ptx_kernel_begin(&b, "random", NULL);
		for (unsigned v = 0; v < VALUES; v++) {
			struct value *x = &values[tcb_rng_below(&rng, v ? v : 1)], *y, *z;
			unsigned op = (unsigned)tcb_rng_below(&rng, 17);
			uint32_t constant = 1u << tcb_rng_below(&rng, 9);
			int is_constant = tcb_rng_below(&rng, 2) == 0;

			if (v < 3) { /* a parameter, a multiple of 16, one of 64 */
				values[v].at = tcb_ptx_param(&b, "u32", tcb_ptx_namef(&b, "p%u", v));
				if (v)
					tcb_ptx_assume_aligned(&b, values[v].at, v == 1 ? 16 : 64);
				for (unsigned r = 0; r < RUNS; r++)
					values[v].is[r] = (uint32_t)tcb_rng_next(&rng) & -(v == 2   ? 64u
											   : v == 1 ? 16u
												    : 1u);
				continue;
			}
			y = &values[tcb_rng_below(&rng, v)];
			z = &values[tcb_rng_below(&rng, v)];
			if (tcb_rng_below(&rng, 2))
				constant *= (uint32_t)tcb_rng_below(&rng, 13) + 1;
			if (op == 7 || op == 8)
				constant = (uint32_t)tcb_rng_below(&rng, 40);
			is_constant |= op >= 7 && op <= 11; /* else unlikely to be known */
			values[v].at = build_one(&b, op, x->at, is_constant ? I(constant) : y->at, z->at);
			for (unsigned r = 0; r < RUNS; r++)
				values[v].is[r] = run_one(op, x->is[r], is_constant ? constant : y->is[r], z->is[r]);
		}
		tcb_ptx_kernel_end(&b);
		if (tcb_ptx_build_finish(&b, &module, &err) != TCB_OK)
			fail_msg("program %u: %s", program, err.message);
		for (unsigned v = 0; v < VALUES; v++) {
			uint32_t align = module->functions->regs[values[v].at.reg].align;

			total++;
			known += align > 1;
			for (unsigned r = 0; r < RUNS; r++)
				if (align && values[v].is[r] % align)
					fail_msg("program %u, value %u: %u is not a multiple of %u", program, v,
						 values[v].is[r], align);
		}
		tcb_ptx_module_destroy(module);
	}
	print_message("something is known of %u values out of %u\n", known, total);
	assert_true(known > total / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_proved_is_refused),
		cmocka_unit_test(alignment_is_proved_where_it_can_be),
		cmocka_unit_test(what_is_proved_is_true),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
