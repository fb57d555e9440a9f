/* SPDX-License-Identifier: MIT
 *
 * Random functions as PTX text, for tests that compare an analysis with brute
 * force: any control-flow graph, registers written and read anywhere, guarded
 * writes among them.  And big ones, for tests of the time that an analysis takes.
 */
#ifndef TCB_TESTS_RANDOM_CFG_H
#define TCB_TESTS_RANDOM_CFG_H

#include "cmocka_all.h"

#include <stdlib.h>
#include <time.h>

#include "base/util.h"
#include "ptx/text/text.h"

enum { RANDOM_REGS = 8, RANDOM_PREDICATES = 3 };

static inline void random_head(struct tcb_str *out)
{
	tcb_str_add(out, ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n");
}

static inline void random_ins(struct tcb_rng *rng, struct tcb_str *out)
{
	unsigned d = (unsigned)tcb_rng_below(rng, RANDOM_REGS), a = (unsigned)tcb_rng_below(rng, RANDOM_REGS),
		 b = (unsigned)tcb_rng_below(rng, RANDOM_REGS), p = (unsigned)tcb_rng_below(rng, RANDOM_PREDICATES);

	switch (tcb_rng_below(rng, 5)) {
	case 0:
		tcb_str_addf(out, "\tmov.b32 %%r%u, %u;\n", d, a);
		break;
	case 1:
		tcb_str_addf(out, "\t@%%p%u add.s32 %%r%u, %%r%u, %%r%u;\n", p, d, a, b);
		break;
	case 2:
		tcb_str_addf(out, "\tsetp.lt.s32 %%p%u, %%r%u, %%r%u;\n", p, a, b);
		break;
	case 3:
		tcb_str_addf(out, "\tmul.wide.u32 %%rd%u, %%r%u, %%r%u;\n\tcvt.u32.u64 %%r%u, %%rd%u;\n", d % 2, a, b,
			     d, b % 2);
		break;
	default:
		tcb_str_addf(out, "\tadd.s32 %%r%u, %%r%u, %%r%u;\n", d, a, b);
	}
}

/* BLOCKS blocks B0 ...; a fifth of them end the function. */
static inline void random_function(struct tcb_rng *rng, unsigned blocks, struct tcb_str *out)
{
	random_head(out);
	tcb_str_addf(out, "\t.reg .b32 %%r<%u>;\n\t.reg .b64 %%rd<2>;\n\t.reg .pred %%p<%u>;\n", RANDOM_REGS,
		     RANDOM_PREDICATES);
	for (unsigned i = 0; i < blocks; i++) {
		unsigned to = (unsigned)tcb_rng_below(rng, blocks), p = (unsigned)tcb_rng_below(rng, RANDOM_PREDICATES);

		tcb_str_addf(out, "B%u:\n", i);
		for (uint64_t k = tcb_rng_below(rng, 4); k; k--)
			random_ins(rng, out);
		switch (tcb_rng_below(rng, 10)) {
		case 0:
			tcb_str_add(out, "\tret;\n");
			break;
		case 1:
			tcb_str_addf(out, "\t@%%p%u exit;\n", p);
			break;
		case 2:
		case 3:
			tcb_str_addf(out, "\tbra B%u;\n", to);
			break;
		case 4:
			break;
		default:
			tcb_str_addf(out, "\t@%%p%u bra B%u;\n", p, to);
		}
	}
	tcb_str_add(out, "\tret;\n}\n");
}

static inline struct tcb_ptx_module *random_parse(const struct tcb_str *text)
{
	struct tcb_ptx_module *module;
	struct tcb_error err;

	assert_false(text->failed);
	if (tcb_ptx_parse("text", text->data, text->length, &module, &err) != TCB_OK)
		fail_msg("%s\n%s", err.message, text->data);
	return module;
}

/* Of this process, so that a busy machine does not make an analysis look slow. */
static inline double cpu_seconds(void)
{
	return (double)clock() / CLOCKS_PER_SEC;
}

/* What big functions look like. */
enum big_shape {
	BIG_STRAIGHT,    /* one block */
	BIG_DIAMONDS,    /* if after if */
	BIG_EARLY_EXITS, /* a row of guards that all leave to one block at the end */
	BIG_LOOPS,       /* short loops, one after another */
	BIG_NEST,        /* loops 30 deep, again and again */
	BIG_SHAPES
};

/* About COUNT instructions of SHAPE. */
static inline void big_function(enum big_shape shape, unsigned count, struct tcb_str *out)
{
	random_head(out);
	tcb_str_addf(out,
		     "\t.reg .b32 %%r<%u>;\n\t.reg .b64 %%rd<2>;\n\t.reg .pred %%p<%u>;\n\tmov.u32 %%r0, %%tid.x;\n"
		     "\tld.param.u64 %%rd0, [out];\n",
		     count + 9, count + 9);
	for (unsigned i = 1; i < count;) {
		unsigned start = i;

		switch (shape) {
		case BIG_STRAIGHT:
			tcb_str_addf(out, "\tadd.s32 %%r%u, %%r%u, 1;\n", i, i - 1);
			i++;
			break;
		case BIG_DIAMONDS:
			tcb_str_addf(out,
				     "\tsetp.lt.s32 %%p%u, %%r0, %u;\n\tmov.b32 %%r%u, 1;\n\t@%%p%u bra J%u;\n"
				     "\tadd.s32 %%r%u, %%r0, %u;\nJ%u:\n\tst.global.u32 [%%rd0], %%r%u;\n",
				     i, i, i, i, i, i, i, i, i);
			i += 5;
			break;
		case BIG_EARLY_EXITS:
			tcb_str_addf(out, "\tsetp.gt.s32 %%p%u, %%r0, %u;\n\t@%%p%u bra OUT;\n", i, i, i);
			i += 2;
			break;
		case BIG_LOOPS:
			tcb_str_addf(out,
				     "\tmov.b32 %%r%u, 0;\nL%u:\n\tadd.s32 %%r%u, %%r%u, 1;\n"
				     "\tsetp.lt.s32 %%p%u, %%r%u, %%r0;\n\t@%%p%u bra L%u;\n",
				     i, i, i, i, i, i, i, i);
			i += 4;
			break;
		case BIG_NEST:
		default:
			for (; i < start + 60 && i < count; i += 2)
				tcb_str_addf(out, "\tmov.b32 %%r%u, 0;\nL%u:\n", i, i);
			for (unsigned k = i - 2; k >= start && k < i; k -= 2, i += 3)
				tcb_str_addf(out,
					     "\tadd.s32 %%r%u, %%r%u, 1;\n\tsetp.lt.s32 %%p%u, %%r%u, 9;\n"
					     "\t@%%p%u bra L%u;\n",
					     k, k, k, k, k, k);
		}
	}
	tcb_str_add(out, "\tbar.sync 0;\nOUT:\n\tst.global.u32 [%rd0], %r0;\n\tret;\n}\n");
}

#endif
