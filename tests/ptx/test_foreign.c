/* SPDX-License-Identifier: MIT
 *
 * Text that others wrote: modifiers in other orders, instructions that the
 * opcode table does not have, functions that cannot be read.  The rows are one
 * kernel for each target; ptxas, where it is found, takes it as it was written
 * and as it is printed.
 */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "ptx/analyse/check.h"
#include "ptx/text/text.h"
#include "ptx_tools.h"

#define OPAQUE ""

static const struct {
	const char *target, *text;
	const char *printed; /* the mnemonic; OPAQUE: as it was written, NULL: the same, and known */
} rows[] = {
	/* orders of modifiers */
	{ "sm_75", "vote.ballot.sync.b32 %r2, %p1, -1;", "vote.sync.ballot.b32" },
	{ "sm_75", "vote.sync.b32.ballot %r2, %p1, -1;", "vote.sync.ballot.b32" },
	{ "sm_75", "vote.any.sync.pred %p1, %p1, -1;", "vote.sync.any.pred" },
	{ "sm_75", "shfl.idx.sync.b32 %r2, %r1, 0, 31, -1;", "shfl.sync.idx.b32" },
	{ "sm_75", "shfl.down.sync.b32 %r2|%p1, %r1, 1, 31, -1;", "shfl.sync.down.b32" },
	{ "sm_75", "match.sync.any.b32 %r2, %r1, -1;", "match.any.sync.b32" },
	{ "sm_90a", "redux.add.sync.u32 %r2, %r1, -1;", "redux.sync.add.u32" },
	{ "sm_75", "atom.add.release.gpu.u32 %r2, [%rd1], 1;", "atom.release.gpu.add.u32" },
	{ "sm_75", "atom.add.global.gpu.release.u32 %r2, [%rd1], 1;", "atom.release.gpu.global.add.u32" },
	{ "sm_75", "red.gpu.global.add.relaxed.u32 [%rd1], 1;", "red.relaxed.gpu.global.add.u32" },
	{ "sm_75", "ld.global.acquire.gpu.u32 %r2, [%rd1];", "ld.acquire.gpu.global.u32" },
	{ "sm_75", "ld.u32.global %r2, [%rd1];", "ld.global.u32" },
	{ "sm_75", "ld.global.v2.nc.u32 {%r2, %r3}, [%rd1];", "ld.global.nc.v2.u32" },
	{ "sm_75", "ld.global.L2::128B.L1::no_allocate.u32 %r2, [%rd1];", "ld.global.L1::no_allocate.L2::128B.u32" },
	{ "sm_75", "st.global.release.gpu.u32 [%rd1], %r2;", "st.release.gpu.global.u32" },
	{ "sm_75", "ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%r2, %r3, %r4, %r5}, [%r1];",
	  "ldmatrix.sync.aligned.m8n8.x4.shared.b16" },
	{ "sm_75", "ldmatrix.sync.aligned.x2.trans.m8n8.shared.b16 {%r2, %r3}, [%r1];",
	  "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16" },
	{ "sm_75", "add.f32.rn %f1, %f1, %f1;", "add.rn.f32" },
	{ "sm_75", "setp.and.eq.u32 %p1, %r1, %r2, %p1;", "setp.eq.and.u32" },
	{ "sm_75", "cvt.ftz.rn.f16.f32 %h1, %f1;", "cvt.rn.ftz.f16.f32" },
	{ "sm_90a", "cp.async.shared.ca.global [%r1], [%rd1], 16;", "cp.async.ca.shared.global" },
	{ "sm_90a", "mbarrier.arrive.shared.release.cta.b64 _, [%r1];", "mbarrier.arrive.release.cta.shared.b64" },
	{ "sm_90a", "fence.gpu.acq_rel;", "fence.acq_rel.gpu" },
	{ "sm_90a", "barrier.cluster.arrive.aligned.release;", "barrier.cluster.arrive.release.aligned" },
	/* operands */
	{ "sm_75", "mov.u32 %r2, WARP_SZ;", "mov.u32 %r2, 32;" },
	{ "sm_75", "add.u32 %r2, %r1, (1+2)*4;", "add.u32 %r2, %r1, 12;" },
	{ "sm_75", "add.u32 %r2, %r1, -1*4+(1<<5|3)/7;", "add.u32 %r2, %r1, 1;" },
	{ "sm_75", "ld.shared.u32 %r2, [room+4*(2+1)];", "ld.shared.u32 %r2, [room+12];" },
	{ "sm_75", "mov.u32 %r2, %envreg2;", NULL },
	{ "sm_90a", "mov.u32 %r2, %reserved_smem_offset_1;", NULL },
	{ "sm_90a", "mov.u32 %r2, %reserved_smem_offset_begin;", NULL },
	{ "sm_90a", "mov.u64 %rd2, %current_graph_exec;", NULL },
	{ "sm_75", "{ .reg .v2 .f32 m; max.f32 m.x, %f1, %f2; max.f32 m.y, m.x, %f3; add.f32 %f1, m.x, m.y; }",
	  "add.f32 %f1, m_x, m_y;" },
	{ "sm_75", "{ .reg .v4 .b32 q; ld.global.v4.b32 q, [%rd1]; st.global.v4.b32 [%rd1], q; }",
	  "st.global.v4.b32 [%rd1], {q_x, q_y, q_z, q_w};" },
	{ "sm_75",
	  "{ .reg .f32 %f<3>; .reg .f32 %f5; add.f32 %f2, %f7, %f7; mov.f32 %f5, %f2; add.f32 %f6, %f5, %f2; }",
	  "add.f32 %f6, %f5_1, %f_1_2;" },
	/* instructions without a row */
	{ "sm_75", "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f1, %f2}];", OPAQUE },
	{ "sm_75", "tex.1d.v4.s32.s32 {%r2, %r3, %r4, %r5}, [%rd1, {%r1}];", OPAQUE },
	{ "sm_75", "tex.a2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1, %f1, %f2, %f2}];", OPAQUE },
	{ "sm_75", "tex.level.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f1, %f2}], %f3;", OPAQUE },
	{ "sm_75", "tld4.r.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f1, %f2}];", OPAQUE },
	{ "sm_75", "txq.width.b32 %r2, [%rd1];", OPAQUE },
	{ "sm_75", "suld.b.2d.v2.b32.trap {%r2, %r3}, [%rd1, {%r1, %r4}];", OPAQUE },
	{ "sm_75", "sust.b.2d.b32.trap [%rd1, {%r1, %r4}], {%r2};", OPAQUE },
	{ "sm_75", "sured.b.add.1d.u32.trap [%rd1, {%r1}], %r2;", OPAQUE },
	{ "sm_75", "wmma.load.a.sync.aligned.row.m8n8k32.shared.s4 {%r2}, [%r1], 64;", OPAQUE },
	{ "sm_75", "vadd.s32.u32.s32.sat %r2, %r1, %r3;", OPAQUE },
	{ "sm_75",
	  "mma.sync.aligned.m8n8k4.col.row.f32.f16.f16.f32 {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}, "
	  "{%r1, %r2}, {%r3, %r4}, {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8};",
	  OPAQUE },
	{ "sm_90a",
	  "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32 "
	  "{%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r1, %r2, %r3, %r4}, {%f1, %f2, %f3, %f4}, %r5, 0;",
	  OPAQUE },
	{ "sm_90a", "multimem.ld_reduce.relaxed.gpu.global.add.u32 %r2, [%rd1];", OPAQUE },
	{ "sm_90a", "tensormap.replace.tile.global_address.global.b1024.b64 [%rd1], %rd2;", NULL },
	{ "sm_90a", "discard.global.L2 [%rd1], 128;", OPAQUE },
	{ "sm_90a", "applypriority.global.L2::evict_normal [%rd1], 128;", OPAQUE },
	{ "sm_100a", "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 64;", NULL },
	{ "sm_100a", "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r2, %r3}, [%r1];", NULL },
	{ "sm_100a", "tcgen05.st.sync.aligned.32x32b.x2.b32 [%r1], {%r2, %r3};", NULL },
	{ "sm_100a", "tcgen05.wait::ld.sync.aligned;", NULL },
	{ "sm_100a", "tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, %p1;", NULL },
	{ "sm_100a", "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r1];", NULL },
	{ "sm_100a", "tcgen05.fence::before_thread_sync;", NULL },
	{ "sm_100a",
	  "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r1], [%r2];", OPAQUE },
	{ "sm_100a",
	  "cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.mbarrier::complete_tx::bytes "
	  "[%r1], [%rd1, {%r2, %r3}], [%r4];",
	  OPAQUE },
	{ "sm_100a", "cvt.rp.satfinite.ue8m0x2.f32 %h1, %f1, %f2;", OPAQUE },
	{ "sm_100a", "cvt.rn.bf16x2.ue8m0x2 %r2, %h1;", OPAQUE },
	{ "sm_100a", "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;", OPAQUE },
	{ "sm_120a",
	  "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0 "
	  "{%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r1, %r2}, {%f1, %f2, %f3, %f4}, "
	  "%r5, {%h1, %h2}, %r6, {%h1, %h2};",
	  NULL },
};
enum { ROW_COUNT = sizeof rows / sizeof *rows };
static const char *const targets[] = { "sm_75", "sm_90a", "sm_100a", "sm_120a" };
enum { TARGET_COUNT = sizeof targets / sizeof *targets };

static void begin_kernel(const char *target, struct tcb_str *out)
{
	tcb_str_addf(out,
		     ".version 9.0\n.target %s\n.address_size 64\n.visible .entry k()\n{\n\t.reg .b32 %%r<8>;\n"
		     "\t.reg .b64 %%rd<4>;\n\t.reg .b16 %%h<4>;\n\t.reg .f32 %%f<9>;\n\t.reg .pred %%p<2>;\n"
		     "\t.shared .align 128 .b8 room[1024];\n\tmov.u32 %%r1, room;\n\tsetp.eq.u32 %%p1, %%r1, 0;\n",
		     target);
	for (int i = 1; i < 8; i++)
		tcb_str_addf(out, "\tadd.u32 %%r%d, %%r1, %d;\n\tcvt.rn.f32.u32 %%f%d, %%r%d;\n", i, i > 1, i, i);
	tcb_str_add(out, "\tmov.f32 %f8, %f1;\n\tmov.u16 %h1, 1;\n\tmov.u16 %h2, 2;\n\tmov.u64 %rd1, 256;\n"
			 "\tmov.u64 %rd2, 512;\n");
}

static struct tcb_ptx_module *parse(const char *text)
{
	struct tcb_ptx_module *module;
	struct tcb_error err;

	if (tcb_ptx_parse_foreign("foreign", text, strlen(text), &module, &err) != TCB_OK)
		fail_msg("%s", err.message);
	return module;
}

static void each_row_is_read_and_printed(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROW_COUNT; i++) {
		struct tcb_str text = { 0 }, printed = { 0 };
		struct tcb_ptx_module *module;
		const struct tcb_ptx_ins *ins;
		const char *wanted = rows[i].printed && *rows[i].printed ? rows[i].printed : rows[i].text;

		begin_kernel(rows[i].target, &text);
		tcb_str_addf(&text, "\t%s\n\tret;\n}\n", rows[i].text);
		module = parse(text.data);
		if (module->unread)
			fail_msg("%s: %s", rows[i].text, module->unread->why);
		ins = module->functions->last->last->prev;
		tcb_ptx_print_ins(module->functions, ins, &printed);
		if (strncmp(printed.data, wanted, strlen(wanted)) != 0)
			fail_msg("'%s' is printed as '%s', not '%s'", rows[i].text, printed.data, wanted);
		assert_int_equal(ins->opaque != NULL, rows[i].printed && !*rows[i].printed);
		/* without the freedom of foreign text it has to be known */
		tcb_ptx_module_destroy(module);
		assert_int_equal(tcb_ptx_parse("strict", text.data, text.length, &module, NULL) == TCB_OK,
				 !rows[i].printed || *rows[i].printed);
		tcb_ptx_module_destroy(module);
		tcb_str_fini(&text);
		tcb_str_fini(&printed);
	}
}

static void assemble(const char *ptxas, const char *target, const char *text, const char *what)
{
	struct tcb_str said = { 0 };

	if (ptx_assemble(ptxas, target, text, &said) != 0)
		fail_msg("%s for %s: %s", what, target, said.data);
	tcb_str_fini(&said);
}

static void the_assembler_takes_both(void **state)
{
	const char *ptxas = ptx_tool("ptxas");

	(void)state;
	if (!ptxas)
		skip_because("no ptxas here");
	for (size_t t = 0; t < TARGET_COUNT; t++) {
		struct tcb_str text = { 0 }, printed = { 0 };
		struct tcb_ptx_module *module;

		begin_kernel(targets[t], &text);
		for (size_t i = 0; i < ROW_COUNT; i++)
			if (strcmp(rows[i].target, targets[t]) == 0)
				tcb_str_addf(&text, "\t%s\n", rows[i].text);
		tcb_str_add(&text, "\tret;\n}\n");
		module = parse(text.data);
		assert_null(module->unread);
		tcb_ptx_print(module, &printed);
		assemble(ptxas, targets[t], text.data, "as written");
		assemble(ptxas, targets[t], printed.data, "as printed");
		tcb_ptx_module_destroy(module);
		tcb_str_fini(&text);
		tcb_str_fini(&printed);
	}
}

/* --- what the assembler refuses is not read as something else --- */

static void words_of_a_name_stay_with_it(void **state)
{
	static const char *const wrong[] = { "mul.s32.lo %r2, %r1, %r1;",
					     "mad.sat.hi.s32 %r2, %r1, %r1, %r1;",
					     "shf.wrap.l.b32 %r2, %r1, %r1, %r1;",
					     "div.ftz.full.f32 %f1, %f1, %f1;",
					     "cvta.global.to.u64 %rd1, %rd1;",
					     "mbarrier.try_wait.shared.parity.b64 %p1, [%r1], 0;",
					     "cp.async.ca.global.shared [%r1], [%rd1], 16;",
					     "cvt.f32.f16.rn %f1, %h1;",
					     "add.f32.f32 %f1, %f1, %f1;" };

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct tcb_ptx_module *module;
		struct tcb_str text = { 0 };

		begin_kernel("sm_90a", &text);
		tcb_str_addf(&text, "\t%s\n\tret;\n}\n", wrong[i]);
		assert_int_equal(tcb_ptx_parse("strict", text.data, text.length, &module, NULL), TCB_E_FORMAT);
		module = parse(text.data);
		if (!module->functions->last->last->prev->opaque || !module->functions->last->last->prev->opaque->why)
			fail_msg("'%s' is read as if it were right", wrong[i]);
		tcb_ptx_module_destroy(module);
		tcb_str_fini(&text);
	}
}

/* --- an error costs its function --- */

struct seen {
	unsigned errors, warnings, advice;
	char message[sizeof(((struct tcb_ptx_finding *)NULL)->message) + 16];
};

static void see(void *ctx, const struct tcb_ptx_finding *finding)
{
	struct seen *seen = ctx;

	*(finding->severity == TCB_PTX_ERROR     ? &seen->errors
	  : finding->severity == TCB_PTX_WARNING ? &seen->warnings
						 : &seen->advice) += 1;
	if (!seen->message[0])
		snprintf(seen->message, sizeof seen->message, "%u: %s", finding->line, finding->message);
}

static struct seen check(const char *text, int is_accepted, size_t kernels)
{
	const struct tcb_ptx_check_options options = { .is_accepted = is_accepted };
	struct seen seen = { 0 };
	const struct tcb_ptx_sink sink = { see, &seen };
	struct tcb_ptx_module *module = parse(text);
	struct tcb_ptx_check_report report;
	struct tcb_error err;

	if (tcb_ptx_check(module, &options, &sink, &report, &err) != TCB_OK)
		fail_msg("%s", err.message);
	assert_int_equal(report.kernel_count, kernels);
	tcb_ptx_module_destroy(module);
	return seen;
}

#define HEADER ".version 9.0\n.target sm_80\n.address_size 64\n"
#define SOUND ".visible .entry sound()\n{\n\tret;\n}\n"

static void an_error_costs_its_function(void **state)
{
	static const struct {
		const char *text;
		unsigned errors, warnings;
		size_t kernels;
		const char *message;
	} cases[] = {
		{ HEADER ".visible .entry k()\n{\n\tmov.u32 %r1, 1;\n\tret;\n}\n" SOUND, 1, 0, 1,
		  "6: syntax: '%r1' is not declared" },
		{ HEADER ".visible .entry k()\n{\n\tbra nowhere;\n}\n" SOUND, 1, 0, 1, "6: syntax: there is no label" },
		{ HEADER ".visible .entry k()\n{\n\t{ // }\n\t.pragma \"}\";\n\t/* } */ bra; }\n}\n" SOUND, 1, 0, 1,
		  "8: syntax: expected a label" },
		{ HEADER ".visible .entry k()\n{\n\t.novelty 3;\n\tret;\n}\n" SOUND, 0, 1, 1,
		  "6: syntax: unknown directive '.novelty'" },
		{ HEADER ".visible .entry k()\n.novelty 3\n{\n\tret;\n}\n" SOUND, 0, 1, 1,
		  "5: syntax: unknown directive '.novelty'" },
		{ HEADER ".novelty { 1, 2; }\n.novelty 3;\n" SOUND, 0, 2, 1,
		  "4: syntax: unknown directive '.novelty'" },
		{ HEADER ".global .u32 x[;\n" SOUND, 1, 0, 1, "4: syntax: expected an extent" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct seen seen = check(cases[i].text, 0, cases[i].kernels);

		if (seen.errors != cases[i].errors || seen.warnings != cases[i].warnings ||
		    strncmp(seen.message, cases[i].message, strlen(cases[i].message)) != 0)
			fail_msg("case %zu: %u errors, %u warnings: %s", i, seen.errors, seen.warnings, seen.message);
		seen = check(cases[i].text, 1, cases[i].kernels);
		assert_int_equal(seen.errors, 0);
		assert_true(seen.warnings);
	}
}

static void what_is_opaque_is_told_once(void **state)
{
	const char *text = HEADER ".visible .entry k()\n{\n\t.reg .b32 %r<3>;\n\tnovelty.b32 %r1, 1;\n"
				  "\tnovelty.b32 %r2, %r1;\n\tother.sync;\n\tret;\n}\n" SOUND;
	struct seen seen = check(text, 0, 2);

	(void)state;
	assert_int_equal(seen.errors + seen.warnings, 0);
	assert_int_equal(seen.advice, 1);
	assert_string_equal(
		seen.message,
		"7: opaque: 3 opaque instructions: novelty.b32, other.sync; the kernel is judged around them");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row_is_read_and_printed), cmocka_unit_test(the_assembler_takes_both),
		cmocka_unit_test(words_of_a_name_stay_with_it), cmocka_unit_test(an_error_costs_its_function),
		cmocka_unit_test(what_is_opaque_is_told_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
