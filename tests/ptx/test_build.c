/* SPDX-License-Identifier: MIT
 *
 * The builder: kernels of every kind of instruction assemble for each target
 * that they claim, print -> parse -> print is the identity, mistakes are
 * refused with the name of the rule, and what is proved of alignment is true.
 */
#include "build_case.h"
#include "build_kinds.h"
#include "ptx_tools.h"

#include "ptx/ir/opcodes.h"
#include "ptx/text/text.h"

static const struct {
	const char *name;
	void (*build)(struct tcb_ptx_build *b);
	unsigned threads;
	const char *least;
} kinds[] = {
#define KIND_ROW(name, threads, least) { #name, kind_##name, threads, "sm_" least },
	BUILD_KINDS(KIND_ROW)
#undef KIND_ROW
};
enum { KIND_COUNT = sizeof kinds / sizeof *kinds };

static const char *const targets[] = { "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_120" };
enum { TARGET_COUNT = sizeof targets / sizeof *targets };

static struct tcb_ptx_target target_of(const char *text)
{
	struct tcb_ptx_target target;

	assert_true(tcb_ptx_target_parse(text, strlen(text), &target));
	return target;
}

static int is_for(const char *least, const struct tcb_ptx_target *target)
{
	struct tcb_ptx_target wanted = target_of(least);

	return tcb_ptx_target_allows(target, &wanted);
}

/* All kinds that TARGET has, in one module. */
static struct tcb_ptx_module *build_kinds(const char *target_text, unsigned *count)
{
	struct tcb_ptx_target target = target_of(target_text);
	struct tcb_ptx_module *module;
	struct tcb_ptx_build b;
	struct tcb_error err;

	*count = 0;
	assert_int_equal(tcb_ptx_build_init(&b, &target, &err), TCB_OK);
	for (size_t i = 0; i < KIND_COUNT; i++) {
		struct tcb_ptx_directives directives = { .reqntid = { kinds[i].threads, 1, 1 } };

		if (!is_for(kinds[i].least, &target))
			continue;
		++*count;
		tcb_ptx_kernel_begin(&b, kinds[i].name, &directives);
		kinds[i].build(&b);
		tcb_ptx_kernel_end(&b);
	}
	if (tcb_ptx_build_finish(&b, &module, &err) != TCB_OK)
		fail_msg("%s: %s", target_text, err.message);
	return module;
}

/* Shows the first line that differs. */
static void assert_same_text(const char *a, const char *b)
{
	size_t line = 0;

	for (size_t i = 0; a[i] || b[i]; i++) {
		if (a[i] != b[i])
			fail_msg("\n%.*s\nis not\n%.*s", (int)strcspn(a + line, "\n"), a + line,
				 (int)strcspn(b + line, "\n"), b + line);
		if (a[i] == '\n')
			line = i + 1;
	}
}

static void every_kind_assembles_for_every_target(void **state)
{
	const char *ptxas = ptx_tool("ptxas");

	(void)state;
	if (!ptxas)
		print_message("ptxas was not found: nothing is assembled\n");
	for (size_t i = 0; i < TARGET_COUNT; i++) {
		struct tcb_str text = { 0 }, again = { 0 }, said = { 0 };
		unsigned count;
		struct tcb_ptx_module *module = build_kinds(targets[i], &count), *parsed;
		struct tcb_error err;

		assert_true(count >= 7);
		tcb_ptx_print(module, &text);
		if (tcb_ptx_parse(targets[i], text.data, text.length, &parsed, &err) != TCB_OK)
			fail_msg("%s\n%s", err.message, text.data);
		tcb_ptx_print(parsed, &again);
		assert_same_text(text.data, again.data);
		if (ptxas && ptx_assemble(ptxas, targets[i], text.data, &said) != 0)
			fail_msg("%s: %s\n%s", targets[i], said.data, text.data);
		tcb_ptx_module_destroy(module);
		tcb_ptx_module_destroy(parsed);
		tcb_str_fini(&text);
		tcb_str_fini(&again);
		tcb_str_fini(&said);
	}
}

/* --- what is refused, and what is proved --- */

static void bytes_have_no_arithmetic(struct given *g)
{
	op2(g->b, "add.u8", g->tid, I(1));
}

static void halves_are_not_loaded(struct given *g)
{
	tcb_ptx_load(g->b, "ld.global.f16", tcb_ptx_at(g->x, 0), g->q, 1);
}

static void widening_takes_no_rounding(struct given *g)
{
	op1(g->b, "cvt.rn.f64.f32", tcb_ptx_reg(g->b, "f32"));
}

static void loads_do_not_release(struct given *g)
{
	tcb_ptx_load(g->b, "ld.release.gpu.global.u32", tcb_ptx_at(g->x, 0), g->q, 1);
}

static void orders_need_a_scope(struct given *g)
{
	tcb_ptx_load(g->b, "ld.acquire.global.u32", tcb_ptx_at(g->x, 0), g->q, 1);
}

static void weak_takes_no_scope(struct given *g)
{
	tcb_ptx_store(g->b, "st.weak.gpu.global.u32", tcb_ptx_at(g->x, 0), &g->n, 1);
}

static void logic_is_for_bits(struct given *g)
{
	op2(g->b, "and.u32", g->tid, I(1));
}

static void addresses_are_no_floats(struct given *g)
{
	op2(g->b, "add.f32", g->tid, tcb_ptx_f32(1));
}

static void constants_have_their_kind(struct given *g)
{
	op2(g->b, "add.u32", g->tid, tcb_ptx_f32(1));
}

static void shuffles_clamp_right(struct given *g)
{
	tcb_ptx_op4(g->b, "shfl.sync.bfly.b32", g->tid, I(16), I(32), I(-1));
}

static void shared_is_no_number(struct given *g)
{
	tcb_ptx_load(g->b, "ld.shared.u32", tcb_ptx_at(I(0), 0), g->q, 1);
}

static void shared_is_no_number_by_way_of_a_register(struct given *g)
{
	tcb_ptx_load(g->b, "ld.shared.u32", tcb_ptx_at(op2(g->b, "shl.b32", g->tid, I(2)), 0), g->q, 1);
}

static void shared_is_no_parameter(struct given *g)
{
	tcb_ptx_load(g->b, "ld.shared.u32", tcb_ptx_at(g->n, 0), g->q, 1);
}

static void static_shared_ends_at_48k(struct given *g)
{
	tcb_ptx_shared(g->b, "huge", 16, 48 * 1024 + 16);
}

static void static_shared_ends_at_48k_together(struct given *g)
{
	tcb_ptx_shared(g->b, "first", 16, 40 * 1024);
	tcb_ptx_shared(g->b, "second", 16, 8 * 1024 + 16);
}

static void dynamic_shared_is_one(struct given *g)
{
	tcb_ptx_shared_dynamic(g->b, "one", 16);
	tcb_ptx_shared_dynamic(g->b, "two", 16);
}

static void names_are_unique(struct given *g)
{
	tcb_ptx_param(g->b, "u32", "n");
}

static void names_are_names(struct given *g)
{
	tcb_ptx_param(g->b, "u32", "1st");
}

static void parameters_have_types(struct given *g)
{
	tcb_ptx_param(g->b, "pred", "p");
}

static void parameters_are_not_written(struct given *g)
{
	tcb_ptx_store(g->b, "st.param.u32", tcb_ptx_at(tcb_ptx_param_bytes(g->b, "block", 4, 8), 0), &g->n, 1);
}

static void targets_have_their_instructions(struct given *g)
{
	tcb_ptx_op0(g->b, "barrier.cluster.arrive");
}

static void registers_are_written_first(struct given *g)
{
	operand x = tcb_ptx_reg(g->b, "u32");

	tcb_ptx_store(g->b, "st.global.u32", tcb_ptx_at(g->x, 0), &x, 1);
}

static void results_are_used_where_there_are_some(struct given *g)
{
	op2(g->b, "add.u32", g->tid, op1(g->b, "bar.sync", I(0)));
}

static void instructions_have_names(struct given *g)
{
	op2(g->b, "frobnicate.u32", g->tid, I(1));
}

static void scopes_are_closed(struct given *g)
{
	tcb_ptx_for_begin(g->b, I(0), g->n, I(1), 0);
}

static void ends_are_of_the_innermost(struct given *g)
{
	tcb_ptx_for_begin(g->b, I(0), g->n, I(1), 0);
	tcb_ptx_if_end(g->b);
}

static void guards_end_before_loops(struct given *g)
{
	tcb_ptx_guard(g->b, op2(g->b, "setp.eq.u32", g->tid, I(0)));
	tcb_ptx_for_begin(g->b, I(0), g->n, I(1), 0);
}

static void predicates_guard(struct given *g)
{
	tcb_ptx_guard(g->b, g->tid);
}

static void barriers_are_16(struct given *g)
{
	op1(g->b, "bar.sync", I(16));
}

static void copies_are_4_8_16(struct given *g)
{
	op3(g->b, "cp.async.ca.shared.global", tcb_ptx_at(g->tile, 0), tcb_ptx_at(g->x, 0), I(12));
}

/* The message must hold both texts: the rule, and what shows where. */
static const struct {
	const char *rule, *place;
	void (*build)(struct given *g);
} refused[] = {
	{ "byte-arithmetic: ", "add.u8", bytes_have_no_arithmetic },
	{ "half-memory: ", "ld.global.f16", halves_are_not_loaded },
	{ "cvt-rounding: ", "cvt.rn.f64.f32", widening_takes_no_rounding },
	{ "order-direction: ", "ld.release.gpu", loads_do_not_release },
	{ "order-scope: ", "ld.acquire.global", orders_need_a_scope },
	{ "weak-scope: ", "st.weak.gpu", weak_takes_no_scope },
	{ "bit-types: ", "and.u32", logic_is_for_bits },
	{ "operand-type: ", "add.f32 %f", addresses_are_no_floats },
	{ "immediate-type: ", "add.u32 %u", constants_have_their_kind },
	{ "shfl-clamp: ", "shfl.sync.bfly.b32 %r", shuffles_clamp_right },
	{ "shared-symbol: ", "ld.shared.u32", shared_is_no_number },
	{ "shared-symbol: ", "ld.shared.u32", shared_is_no_number_by_way_of_a_register },
	{ "shared-symbol: ", "ld.shared.u32", shared_is_no_parameter },
	{ "shared-static: ", "huge", static_shared_ends_at_48k },
	{ "shared-static: ", "49232 bytes", static_shared_ends_at_48k_together },
	{ "duplicate: ", "one", dynamic_shared_is_one },
	{ "duplicate: ", "'n'", names_are_unique },
	{ "syntax: ", "'1st'", names_are_names },
	{ "syntax: ", "pred", parameters_have_types },
	{ "param-write: ", "block", parameters_are_not_written },
	{ "target: ", "barrier.cluster.arrive", targets_have_their_instructions },
	{ "undefined: ", "%u", registers_are_written_first },
	{ "syntax: ", "add.u32 register, register, _", results_are_used_where_there_are_some },
	{ "syntax: ", "frobnicate", instructions_have_names },
	{ "usage: ", "not ended", scopes_are_closed },
	{ "usage: ", "the end of an if without its begin", ends_are_of_the_innermost },
	{ "usage: ", "guard", guards_end_before_loops },
	{ "operand-type: ", "predicate", predicates_guard },
	{ "immediate-range: ", "bar.sync 16", barriers_are_16 },
	{ "immediate-range: ", "12", copies_are_4_8_16 },
};

static void mistakes_are_refused_with_their_rule(void **state)
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

/* --- structure and speed --- */

static void loops_are_recorded(void **state)
{
	struct tcb_ptx_target target = { 80, 0 };
	const struct tcb_ptx_loop *outer, *inner, *wait;
	struct tcb_ptx_module *module;
	struct tcb_ptx_build b;
	struct tcb_error err;

	(void)state;
	assert_int_equal(tcb_ptx_build_init(&b, &target, &err), TCB_OK);
	tcb_ptx_kernel_begin(&b, "control", NULL);
	kind_control(&b);
	tcb_ptx_kernel_end(&b);
	assert_int_equal(tcb_ptx_build_finish(&b, &module, &err), TCB_OK);
	outer = module->functions->loops;
	inner = outer->next;
	wait = inner->next;
	assert_null(wait->next);
	assert_ptr_equal(inner->parent, outer);
	assert_null(outer->parent);
	assert_int_equal(outer->depth, 1);
	assert_int_equal(inner->depth, 2);
	assert_int_equal(wait->depth, 1);
	for (const struct tcb_ptx_loop *loop = outer; loop; loop = loop->next) {
		assert_ptr_equal(loop->latch->last->operands[0].block, loop->header);
		assert_ptr_equal(loop->latch->next, loop->exit);
		assert_ptr_equal(loop->header->loop, loop);
		assert_ptr_equal(loop->latch->loop, loop);
		assert_int_not_equal(loop->header->order, UINT32_MAX);
	}
	assert_true(outer->header->number < inner->header->number);
	tcb_ptx_module_destroy(module);
}

/* Two thousand instructions as a kernel's inner loop has them. */
static void long_kernel(struct given *g)
{
	operand sum = op1(g->b, "mov.f32", tcb_ptx_f32(0)), v;

	tcb_ptx_for_begin(g->b, I(0), g->n, I(1), 0);
	for (int k = 0; k < 100; k++) {
		tcb_ptx_load(g->b, "ld.global.nc.v4.b32", tcb_ptx_at(g->x, 16 * k), g->q, 4);
		for (int i = 0; i < 4; i++) {
			v = op2(g->b, "and.b32", g->q[i], I(0x0f0f0f0f));
			v = op3(g->b, "dp4a.s32.s32", v, op2(g->b, "shr.u32", v, I(4)), I(0));
			tcb_ptx_into3(g->b, "fma.rn.f32", sum, op1(g->b, "cvt.rn.f32.s32", v), sum, sum);
		}
	}
	tcb_ptx_for_end(g->b);
	tcb_ptx_store(g->b, "st.global.f32", tcb_ptx_at(g->y, 0), &sum, 1);
}

static void building_is_fast(void **state)
{
	struct tcb_ptx_module *module;
	struct tcb_error err;
	uint64_t start = tcb_clock_ns(), spent, count = 0;

	(void)state;
	for (int i = 0; i < 20; i++) {
		assert_int_equal(build_case(long_kernel, &module, &err), TCB_OK);
		count += module->functions->ins_count;
		tcb_ptx_module_destroy(module);
	}
	spent = tcb_clock_ns() - start;
	print_message("%.2f million instructions per second, built, proved and verified\n",
		      (double)count * 1e3 / (double)spent);
	assert_true(spent < count * 50000); /* even under a sanitizer */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_assembles_for_every_target),
		cmocka_unit_test(mistakes_are_refused_with_their_rule),
		cmocka_unit_test(loops_are_recorded),
		cmocka_unit_test(building_is_fast),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
