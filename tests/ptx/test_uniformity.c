/* SPDX-License-Identifier: MIT
 *
 * Uniformity: small kernels with the answer beside them; random kernels, where
 * what is called uniform must be the same in all threads that are run one by
 * one, in each bit; and the time on functions of 100,000 instructions.
 */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/analyse/analyses.h"
#include "ptx/analyse/values/bits.h"

#include "ptx/random_cfg.h"
#include "ptx/thread_run.h"

static void analyse(struct tcb_ptx_function *function, struct tcb_ptx_uniformity *u)
{
	struct tcb_ptx_dominators d;
	struct tcb_error err;

	if (tcb_ptx_dominators(function, &d, &err) != TCB_OK || tcb_ptx_uniformity(function, &d, u, &err) != TCB_OK)
		fail_msg("%s", err.message);
}

static struct tcb_ptx_module *kernel_of(const char *directives, const char *body)
{
	struct tcb_str text = { 0 };
	struct tcb_ptx_module *module;

	tcb_str_addf(&text,
		     ".version 8.0\n.target sm_80\n.address_size 64\n"
		     ".visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n)\n%s\n{\n"
		     "\t.reg .b32 %%r<30>;\n\t.reg .b64 %%rd<9>;\n\t.reg .f32 %%f<9>;\n\t.reg .pred %%p<9>;\n"
		     "\t.shared .align 16 .b8 s[256];\n\tld.param.u64 %%rd0, [in];\n\tld.param.u64 %%rd1, [out];\n"
		     "\tld.param.u32 %%r0, [n];\n%s}\n",
		     directives, body);
	module = random_parse(&text);
	tcb_str_fini(&text);
	return module;
}

static int reg_named(const struct tcb_ptx_function *function, const char *name)
{
	char text[32];

	for (uint32_t r = 0; r < function->reg_count; r++)
		if (strcmp(tcb_ptx_reg_name(function, r, text, sizeof text), name) == 0)
			return (int)r;
	fail_msg("no register %s", name);
	return 0;
}

/* WANTED: "register=level ...", the level being grid, block, warp or varying. */
static void check_kernel(const char *directives, const char *body, const char *wanted)
{
	static const char *const names[] = { "grid", "block", "warp", "varying" };
	struct tcb_ptx_module *module = kernel_of(directives, body);
	struct tcb_ptx_function *function = module->functions;
	struct tcb_ptx_uniformity u;
	char reg[16], level[16];
	int length;

	analyse(function, &u);
	for (; sscanf(wanted, " %15[^=]=%15s%n", reg, level, &length) == 2; wanted += length) {
		uint8_t found = u.reg[reg_named(function, reg)];

		if (strcmp(names[found], level) != 0)
			fail_msg("%s is %s, not %s, in\n%s", reg, names[found], level, body);
	}
	tcb_ptx_module_destroy(module);
}

static void sources_have_their_levels(void **state)
{
	(void)state;
	check_kernel("",
		     "\tmov.u32 %r1, %tid.x;\n\tmov.u32 %r2, %ctaid.x;\n\tmov.u32 %r3, %ntid.x;\n"
		     "\tmov.u32 %r4, %laneid;\n\tmov.u32 %r5, %warpid;\n\tmov.b32 %r6, 7;\n\tadd.s32 %r7, %r2, %r6;\n"
		     "\tadd.s32 %r8, %r1, %r2;\n\tmov.u32 %r9, %clock;\n\tret;\n",
		     "%r0=grid %r1=varying %r2=block %r3=grid %r4=varying %r5=warp %r6=grid %r7=block %r8=varying "
		     "%r9=varying %rd0=grid");
}

#define WARPS(more)                                                                         \
	"\tmov.u32 %r1, %tid.x;\n\tshr.u32 %r2, %r1, 5;\n\tdiv.u32 %r3, %r1, 32;\n"         \
	"\tand.b32 %r4, %r1, -32;\n\tshr.u32 %r5, %r1, 4;\n\tand.b32 %r6, %r1, 31;\n"       \
	"\tsetp.lt.u32 %p0, %r1, 64;\n\tsetp.gt.u32 %p1, %r1, 31;\n"                        \
	"\tsetp.lt.u32 %p2, %r1, 65;\n\tsetp.ge.s32 %p3, %r1, 96;\n"                        \
	"\tmov.u32 %r7, %ctaid.x;\n\tmov.u32 %r8, %ntid.x;\n"                               \
	"\tmad.lo.s32 %r9, %r7, %r8, %r1;\n\tshr.u32 %r10, %r9, 5;\n"                       \
	"\tsetp.lt.u32 %p4, %r9, %r0;\n\tadd.s32 %r11, %r9, 1;\n\tshr.u32 %r12, %r11, 5;\n" \
	"\tshr.u32 %r13, %r1, 3;\n\tand.b32 %r14, %r13, 536870908;\n" more "\tret;\n"

static void warps_of_one_dimension_are_uniform(void **state)
{
	(void)state;
	check_kernel("", WARPS(""),
		     "%r2=warp %r3=warp %r4=warp %r5=varying %r6=varying %p0=warp %p1=warp %p2=varying %p3=warp "
		     "%r10=warp %p4=varying %r12=varying %r14=warp");
	/* with rows of unknown length nothing is known... */
	check_kernel("", WARPS("\tmov.u32 %r20, %tid.y;\n"),
		     "%r2=varying %r3=varying %r4=varying %p0=varying %r20=varying");
	/* ...and with rows of known length all is */
	check_kernel(".reqntid 64, 4, 1", WARPS("\tmov.u32 %r20, %tid.y;\n"),
		     "%r2=warp %r3=warp %p0=grid %p1=warp %r20=warp");
	check_kernel(".reqntid 16, 8, 1", WARPS("\tmov.u32 %r20, %tid.y;\n\tshr.u32 %r21, %r20, 1;\n"),
		     "%r6=varying %r20=varying %r21=warp %p2=grid");
	check_kernel(".reqntid 24, 8, 1", WARPS("\tmov.u32 %r20, %tid.y;\n\tshr.u32 %r21, %r20, 1;\n"),
		     "%r20=varying %r21=varying");
}

static void memory_and_lanes(void **state)
{
	(void)state;
	check_kernel(
		"",
		"\tmov.u32 %r1, %tid.x;\n\tmov.u32 %r2, %ctaid.x;\n\tmul.wide.u32 %rd2, %r2, 4;\n"
		"\tadd.s64 %rd3, %rd0, %rd2;\n\tmul.wide.u32 %rd4, %r1, 4;\n\tadd.s64 %rd5, %rd0, %rd4;\n"
		"\tld.global.nc.u32 %r3, [%rd0];\n\tld.global.nc.u32 %r4, [%rd3];\n\tld.global.nc.u32 %r5, [%rd5];\n"
		"\tld.global.u32 %r6, [%rd0];\n\tld.volatile.global.u32 %r7, [%rd0];\n\tld.shared.u32 %r8, [s];\n"
		"\tatom.global.add.u32 %r9, [%rd1], 1;\n\tshfl.sync.idx.b32 %r10, %r1, 0, 31, -1;\n"
		"\tshfl.sync.idx.b32 %r11, %r1, 0, 4127, -1;\n\tshfl.sync.down.b32 %r12, %r1, 1, 31, -1;\n"
		"\tshfl.sync.down.b32 %r13, %r2, 1, 31, -1;\n\tsetp.eq.u32 %p0, %r1, 3;\n"
		"\tvote.sync.ballot.b32 %r14, %p0, -1;\n\tvote.sync.any.pred %p1, %p0, -1;\n"
		"\tredux.sync.add.s32 %r15, %r1, -1;\n\tmatch.all.sync.b32 %r16, %r1, -1;\n"
		"\tmatch.any.sync.b32 %r17, %r1, -1;\n\tvote.sync.ballot.b32 %r18, %p0, 255;\n"
		"\tbarrier.red.popc.u32 %r19, 0, %p0;\n\tbarrier.red.popc.u32 %r20, 1, 64, %p0;\n\tret;\n",
		"%r3=grid %r4=block %r5=varying %r6=block %r7=varying %r8=block %r9=varying %r10=warp %r11=varying "
		"%r12=varying %r13=block %r14=warp %p1=warp %r15=warp %r16=warp %r17=varying %r18=varying %r19=block "
		"%r20=warp");
	/* a kernel that writes nothing: plain loads are as good as others */
	check_kernel("", "\tld.global.u32 %r6, [%rd0];\n\tret;\n", "%r6=grid");
}

/* A butterfly of OP over DISTANCES, with what shfl takes behind them; its result is %r9. */
static void check_butterfly(const char *op, const char *distances, const char *behind, const char *expected)
{
	char body[2000];
	int n = snprintf(body, sizeof body,
			 "\tmov.u32 %%r0, %%tid.x;\n\tmul.wide.u32 %%rd2, %%r0, 4;\n"
			 "\tadd.s64 %%rd3, %%rd0, %%rd2;\n\tld.global.u32 %%r9, [%%rd3];\n");
	unsigned last = 9;

	for (const char *d = distances; *d; d++, last += 2)
		n += snprintf(body + n, sizeof body - (size_t)n,
			      "\tshfl.sync.bfly.b32 %%r%u, %%r%u, %d, %s;\n\t%s %%r%u, %%r%u, %%r%u;\n", last + 1, last,
			      *d == 'g' ? 16 : *d - '0', behind, op, last + 2, last + 1, last);
	snprintf(body + n, sizeof body - (size_t)n, "\tmov.b32 %%r8, %%r%u;\n\tret;\n", last);
	check_kernel("", body, expected);
}

static void butterflies_make_one_value(void **state)
{
	(void)state;
	check_butterfly("max.s32", "g8421", "31, -1", "%r8=warp %r17=varying");
	check_butterfly("add.u32", "1248g", "31, -1", "%r8=warp");
	check_butterfly("xor.b32", "37921g", "31, -1", "%r8=warp"); /* 3 and 9 add nothing, and do no harm */
	check_butterfly("max.s32", "8421", "31, -1", "%r8=varying");
	check_butterfly("max.s32", "g842", "31, -1", "%r8=varying");
	check_butterfly("sub.s32", "g8421", "31, -1", "%r8=varying");
	check_butterfly("max.s32", "g8421", "31, 65535", "%r8=varying"); /* half a warp */
	check_butterfly("max.s32", "g8421", "4127, -1", "%r8=varying");  /* in segments */
}

static void control_makes_values_differ(void **state)
{
	(void)state;
	/* a value merged behind a divergent branch, one that is not, a guarded write, a select */
	check_kernel("",
		     "\tmov.u32 %r1, %tid.x;\n\tsetp.lt.u32 %p0, %r1, 5;\n\tmov.b32 %r2, 1;\n\tmov.b32 %r3, 1;\n"
		     "\tmov.b32 %r4, 0;\n\t@%p0 bra J;\n\tmov.b32 %r2, 2;\n\tmov.b32 %r5, 3;\n\tadd.s32 %r6, %r5, 1;\n"
		     "J:\n\tadd.s32 %r7, %r2, 1;\n\tadd.s32 %r8, %r3, 1;\n\t@%p0 mov.b32 %r4, 1;\n"
		     "\tselp.b32 %r9, 1, 2, %p0;\n\tst.global.u32 [%rd1], %r7;\n\tret;\n",
		     "%r2=varying %r7=varying %r3=grid %r8=grid %r5=grid %r6=grid %r4=varying %r9=varying");
	/* the same by a branch about the warp and one about the block */
	check_kernel("",
		     "\tmov.u32 %r1, %tid.x;\n\tsetp.lt.u32 %p0, %r1, 32;\n\tmov.b32 %r2, 1;\n\tmov.b32 %r4, 1;\n"
		     "\t@%p0 bra J;\n\tmov.b32 %r2, 2;\nJ:\n\tadd.s32 %r3, %r2, 1;\n\tmov.u32 %r5, %ctaid.x;\n"
		     "\tsetp.eq.u32 %p1, %r5, 0;\n\t@%p1 bra K;\n\tmov.b32 %r4, 2;\nK:\n\tadd.s32 %r6, %r4, %r3;\n"
		     "\tadd.s32 %r7, %r4, 0;\n\tst.global.u32 [%rd1], %r7;\n\tret;\n",
		     "%r3=warp %r6=warp %r7=block");
	/* rounds of a loop: its counter is the same while it runs, and differs behind it */
	check_kernel("",
		     "\tmov.u32 %r1, %tid.x;\n\tmov.b32 %r2, 0;\nL:\n\tadd.s32 %r3, %r2, 1;\n\tmov.b32 %r2, %r3;\n"
		     "\tsetp.lt.u32 %p0, %r3, %r1;\n\t@%p0 bra L;\n\tadd.s32 %r4, %r3, 1;\n"
		     "\tst.global.u32 [%rd1], %r4;\n\tret;\n",
		     "%p0=varying %r3=varying %r4=varying");
	check_kernel("",
		     "\tmov.b32 %r2, 0;\nL:\n\tadd.s32 %r3, %r2, 1;\n\tmov.b32 %r2, %r3;\n"
		     "\tsetp.lt.u32 %p0, %r3, %r0;\n\t@%p0 bra L;\n\tadd.s32 %r4, %r3, 1;\n"
		     "\tst.global.u32 [%rd1], %r4;\n\tret;\n",
		     "%p0=grid %r3=grid %r4=grid");
	/* early exits part nobody who still runs; an exit within a divergent if does not hide the join behind it */
	check_kernel("",
		     "\tmov.u32 %r1, %tid.x;\n\tsetp.lt.u32 %p0, %r1, %r0;\n\tmov.b32 %r2, 0;\n\t@%p0 bra GO;\n\tret;\n"
		     "GO:\n\tmov.b32 %r2, 1;\n\tadd.s32 %r3, %r2, 1;\n\tst.global.u32 [%rd1], %r3;\n\tret;\n",
		     "%r3=grid");
	check_kernel("",
		     "\tmov.u32 %r1, %tid.x;\n\tsetp.lt.u32 %p0, %r1, 5;\n\tsetp.eq.u32 %p1, %r0, 5;\n"
		     "\t@%p0 bra A;\n\tmov.b32 %r2, 1;\n\tbra J;\nA:\n\t@%p1 bra OUT;\n\tmov.b32 %r2, 2;\n"
		     "J:\n\tadd.s32 %r3, %r2, 1;\n\tst.global.u32 [%rd1], %r3;\nOUT:\n\tret;\n",
		     "%r3=varying");
}

static void control_levels_of_blocks(void **state)
{
	static const char body[] =
		"\tmov.u32 %r1, %tid.x;\n\tsetp.ge.u32 %p0, %r1, %r0;\n\t@%p0 bra OUT;\n"
		"MAIN:\n\tmov.b32 %r2, 0;\n\tsetp.lt.u32 %p1, %r1, 7;\n\t@%p1 bra JOIN;\n"
		"SOME:\n\tst.global.u32 [%rd1], %r1;\nJOIN:\n\tst.global.u32 [%rd1], %r2;\nOUT:\n\tret;\n";
	struct tcb_ptx_module *module = kernel_of("", body);
	struct tcb_ptx_uniformity u;
	unsigned checked = 0;

	(void)state;
	analyse(module->functions, &u);
	for (const struct tcb_ptx_block *block = module->functions->first; block; block = block->next) {
		int is_entry = block == module->functions->first, is_out = block == module->functions->last;
		int is_some = block->pred_count == 1 && block->pred[0]->pred_count == 1 &&
			      block->pred[0]->pred[0] == module->functions->first;

		assert_int_equal(u.control[block->number], is_some ? TCB_PTX_VARYING : TCB_PTX_UNIFORM_GRID);
		if (!is_out)
			assert_int_equal(u.exited[block->number], is_entry ? TCB_PTX_UNIFORM_GRID : TCB_PTX_VARYING);
		checked += (unsigned)is_some;
	}
	assert_int_equal(checked, 1);
	tcb_ptx_module_destroy(module);
}

/* --- random kernels --- */

enum { WORDS = 10, LONGS = 4, FLAGS = 4 };

static unsigned any(struct tcb_rng *rng, unsigned bound)
{
	return (unsigned)tcb_rng_below(rng, bound);
}

static void random_step(struct tcb_rng *rng, struct tcb_str *out)
{
	static const char *const two[] = { "add.s32", "sub.s32", "mul.lo.s32", "and.b32", "or.b32",
					   "xor.b32", "min.s32", "max.u32",    "add.s32", "sub.s32" };
	static const char *const by[] = { "shl.b32", "shr.u32", "shr.s32",    "div.u32", "rem.u32",
					  "and.b32", "add.s32", "mul.lo.u32", "div.s32", "rem.s32" };
	static const unsigned constants[] = { 1, 2, 3, 4, 5, 8, 16, 31, 32, 64, 100, 128 };
	static const char *const compare[] = { "lt.u32", "ge.s32", "le.u32", "gt.s32", "eq.u32", "ne.s32", "lt.s32" };
	unsigned d = any(rng, WORDS), a = any(rng, WORDS), b = any(rng, WORDS), p = any(rng, FLAGS);
	unsigned constant = constants[any(rng, sizeof constants / sizeof *constants)];

	if (any(rng, 6) == 0)
		tcb_str_addf(out, "\t@%s%%p%u", any(rng, 2) ? "!" : "", any(rng, FLAGS));
	switch (any(rng, 10)) {
	case 0:
	case 1:
		tcb_str_addf(out, "\t%s %%r%u, %%r%u, %%r%u;\n", two[any(rng, 10)], d, a, b);
		break;
	case 2:
	case 3:
		tcb_str_addf(out, "\t%s %%r%u, %%r%u, %u;\n", by[any(rng, 10)], d, a, constant);
		break;
	case 4:
		tcb_str_addf(out, "\tsetp.%s %%p%u, %%r%u, %u;\n", compare[any(rng, 7)], p, a, constant - any(rng, 2));
		break;
	case 5:
		tcb_str_addf(out, "\tsetp.%s %%p%u, %%r%u, %%r%u;\n", compare[any(rng, 7)], p, a, b);
		break;
	case 6:
		tcb_str_addf(out, "\tmad.wide.%s %%rd%u, %%r%u, %%r%u, %%rd%u;\n", any(rng, 2) ? "u32" : "s32",
			     any(rng, LONGS), a, b, any(rng, LONGS));
		break;
	case 7:
		tcb_str_addf(out, "\tcvt.%s.%s %%r%u, %%rd%u;\n", any(rng, 2) ? "u32" : "s16",
			     any(rng, 2) ? "u64" : "s64", d, any(rng, LONGS));
		break;
	case 8:
		tcb_str_addf(out, "\tselp.b32 %%r%u, %%r%u, %%r%u, %%p%u;\n", d, a, b, p);
		break;
	default:
		switch (any(rng, 4)) {
		case 0:
			tcb_str_addf(out, "\tlop3.b32 %%r%u, %%r%u, %%r%u, %%r%u, %u;\n", d, a, b, any(rng, WORDS),
				     any(rng, 256));
			break;
		case 1:
			tcb_str_addf(out, "\tprmt.b32 %%r%u, %%r%u, %%r%u, %u;\n", d, a, b, any(rng, 65536));
			break;
		case 2:
			tcb_str_addf(out, "\tbfe.u32 %%r%u, %%r%u, %u, %u;\n", d, a, any(rng, 8), 1 + any(rng, 20));
			break;
		default:
			tcb_str_addf(out, "\tcvt.s64.s32 %%rd%u, %%r%u;\n", any(rng, LONGS), a);
		}
	}
}

/* Loops end or the kernel is thrown away; everything is read in the block FIN at the end. */
static void random_kernel(struct tcb_rng *rng, const char *directives, int uses_y, struct tcb_str *out)
{
	unsigned blocks = 1 + any(rng, 9);

	tcb_str_addf(
		out,
		".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u32 n)\n"
		"%s\n{\n\t.reg .b32 %%r<%d>;\n\t.reg .b64 %%rd<%d>;\n\t.reg .pred %%p<%d>;\n"
		"\tmov.u32 %%r0, %%tid.x;\n\tmov.u32 %%r1, %%ctaid.x;\n\tmov.u32 %%r2, %%ntid.x;\n"
		"\tmov.u32 %%r3, %%%s;\n\tmov.b32 %%r4, %u;\n\tmad.lo.s32 %%r5, %%r1, %%r2, %%r0;\n"
		"\tshr.u32 %%r6, %%r%u, 5;\n\tshl.b32 %%r7, %%r1, 7;\n\tmov.b32 %%r8, %%r%u;\n\tmov.b32 %%r9, 32;\n",
		directives, WORDS, LONGS, FLAGS, uses_y ? "tid.y" : "laneid", any(rng, 40), any(rng, 2) ? 0u : 5u,
		any(rng, 7));
	for (unsigned i = 0; i < LONGS; i++)
		tcb_str_addf(out, "\tmul.wide.u32 %%rd%u, %%r%u, %u;\n", i, any(rng, WORDS), 1u << any(rng, 6));
	for (unsigned i = 0; i < FLAGS; i++)
		tcb_str_addf(out, "\tsetp.lt.u32 %%p%u, %%r%u, %u;\n", i, any(rng, WORDS), 16 * (1 + any(rng, 6)));
	for (unsigned i = 0; i < blocks; i++) {
		tcb_str_addf(out, "B%u:\n", i);
		for (unsigned k = 1 + any(rng, 4); k; k--)
			random_step(rng, out);
		switch (any(rng, 8)) {
		case 0:
			tcb_str_addf(out, "\t@%%p%u exit;\n", any(rng, FLAGS));
			break;
		case 1:
		case 2: /* back, sometimes */
			tcb_str_addf(out, "\t@%%p%u bra B%u;\n", any(rng, FLAGS), any(rng, blocks));
			break;
		case 3:
		case 4:
		case 5: /* on */
			if (i + 2 < blocks)
				tcb_str_addf(out, "\t@%s%%p%u bra B%u;\n", any(rng, 2) ? "!" : "", any(rng, FLAGS),
					     i + 1 + any(rng, blocks - i - 1));
			break;
		case 6:
			if (i + 2 < blocks)
				tcb_str_addf(out, "\tbra B%u;\n", i + 1 + any(rng, blocks - i - 1));
			break;
		default:
			break;
		}
	}
	tcb_str_add(out, "FIN:\n\tld.param.u64 %rd0, [out];\n");
	for (unsigned i = 0; i < WORDS; i++)
		tcb_str_addf(out, "\tst.global.u32 [%%rd0], %%r%u;\n", i);
	for (unsigned i = 1; i < LONGS; i++)
		tcb_str_addf(out, "\tst.global.u64 [%%rd0], %%rd%u;\n", i);
	tcb_str_add(out, "\tret;\n}\n");
}

enum { BLOCKS_RUN = 2, THREADS_RUN = 64 };

struct watch {
	const struct tcb_ptx_bit_env *bits;
	const char *text;
	unsigned checked;
};

/* Each value that any thread has at any time has the bits that are known. */
static void watch_bits(void *ctx, const struct thread *thread, const struct tcb_ptx_ins *ins)
{
	struct watch *watch = ctx;

	(void)ins;
	for (uint32_t r = 0; r < watch->bits->function->reg_count; r++)
		if (thread->written >> r & 1) {
			const struct tcb_ptx_bits *known = &watch->bits->reg[r];

			if ((thread->reg[r] & known->zeros) || (~thread->reg[r] & known->ones))
				fail_msg("register %u was %llx; known to be 0: %llx, 1: %llx\n%s", r,
					 (unsigned long long)thread->reg[r], (unsigned long long)known->zeros,
					 (unsigned long long)known->ones, watch->text);
			watch->checked += (known->zeros & 0xffffffff) != 0;
		}
}

static void random_kernels_agree_with_threads(void **state)
{
	static const struct {
		const char *directives;
		uint32_t ntid[3];
		int uses_y;
	} shapes[] = {
		{ "", { 64, 1, 1 }, 0 },
		{ ".reqntid 64, 1, 1", { 64, 1, 1 }, 0 },
		{ ".reqntid 16, 4, 1", { 16, 4, 1 }, 1 },
		{ ".maxntid 64, 1, 1", { 8, 8, 1 }, 1 },
	};
	struct tcb_rng rng;
	unsigned run = 0, uniform[4] = { 0, 0, 0, 0 }, truly = 0;
	struct watch watch = { NULL, NULL, 0 };

	(void)state;
	tcb_rng_init(&rng, 4);
	for (unsigned round = 0; round < 1600; round++) {
		static struct thread threads[BLOCKS_RUN * THREADS_RUN];
		unsigned shape = round % 4;
		struct tcb_str text = { 0 };
		struct tcb_ptx_uniformity u;
		struct tcb_ptx_bit_env bits;
		struct tcb_ptx_module *module;
		struct tcb_ptx_function *function;
		int ended = 1;

		random_kernel(&rng, shapes[shape].directives, shapes[shape].uses_y, &text);
		module = random_parse(&text);
		function = module->functions;
		analyse(function, &u);
		assert_int_equal(tcb_ptx_bits_all(function, NULL, &bits, NULL), TCB_OK);
		watch.bits = &bits;
		watch.text = text.data;
		for (unsigned i = 0; ended && i < BLOCKS_RUN * THREADS_RUN; i++) {
			struct thread *t = &threads[i];
			uint32_t linear = i % THREADS_RUN;

			memcpy(t->ntid, shapes[shape].ntid, sizeof t->ntid);
			t->tid[0] = linear % t->ntid[0];
			t->tid[1] = linear / t->ntid[0];
			t->tid[2] = 0;
			t->ctaid = 5 * (i / THREADS_RUN);
			t->see = watch_bits;
			t->ctx = &watch;
			ended = thread_run(t, function, 600);
		}
		for (uint32_t r = 0; ended && r < WORDS + LONGS; r++) {
			static const unsigned together[] = { BLOCKS_RUN * THREADS_RUN, THREADS_RUN, 32, 32 };
			uint8_t level = u.reg[r];
			const struct thread *first = NULL;
			int same = 1;

			/* only threads that came to FIN have something to compare */
			for (unsigned i = 0; i < BLOCKS_RUN * THREADS_RUN; i++) {
				if (i % together[level] == 0)
					first = NULL;
				if (!(threads[i].written >> 63 & 1))
					continue;
				if (first && (first->reg[r] ^ threads[i].reg[r]) &
						     ~(level == TCB_PTX_VARYING ? u.lane_bits[r] : 0)) {
					fputs(text.data, stderr);
					fail_msg("round %u: register %u of level %u is %llx in thread %u, %llx in "
						 "another (lane bits %llx)",
						 round, r, level, (unsigned long long)threads[i].reg[r], i,
						 (unsigned long long)first->reg[r], (unsigned long long)u.lane_bits[r]);
				}
				same &= !first || first->reg[r] == threads[i].reg[r];
				first = first ? first : &threads[i];
			}
			uniform[level]++;
			truly += (unsigned)same;
		}
		run += (unsigned)ended;
		tcb_ptx_module_destroy(module);
		tcb_str_fini(&text);
	}
	print_message("%u kernels ran to the end; registers called grid %u, block %u, warp %u, varying %u; "
		      "uniform in truth %u; %u facts about bits\n",
		      run, uniform[0], uniform[1], uniform[2], uniform[3], truly, watch.checked);
	assert_true(run > 500 && uniform[0] > 100 && uniform[1] > 100 && uniform[2] > 100 && uniform[3] > 100);
	assert_true(watch.checked > 10000);
}

static void time_grows_with_the_text(void **state)
{
	(void)state;
	for (unsigned shape = 0; shape < BIG_SHAPES; shape++) {
		struct tcb_str text = { 0 };
		struct tcb_ptx_module *module;
		struct tcb_ptx_uniformity u;
		double seconds;

		big_function((enum big_shape)shape, 100000, &text);
		module = random_parse(&text);
		seconds = cpu_seconds();
		analyse(module->functions, &u);
		seconds = cpu_seconds() - seconds;
		print_message("shape %u: %.3f s\n", shape, seconds);
		assert_true(seconds < 1);
		tcb_ptx_module_destroy(module);
		tcb_str_fini(&text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sources_have_their_levels),
		cmocka_unit_test(warps_of_one_dimension_are_uniform),
		cmocka_unit_test(memory_and_lanes),
		cmocka_unit_test(butterflies_make_one_value),
		cmocka_unit_test(control_makes_values_differ),
		cmocka_unit_test(control_levels_of_blocks),
		cmocka_unit_test(random_kernels_agree_with_threads),
		cmocka_unit_test(time_grows_with_the_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
