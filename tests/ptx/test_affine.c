/* SPDX-License-Identifier: MIT
 *
 * Values thread by thread: random expressions over thread indices, parameters
 * and block indices against plain arithmetic in C; loops, meeting points and
 * guards on small kernels; who is in which block.
 */
#include "run_kernel.h"

#include "base/util.h"
#include "ptx/analyse/values/affine.h"
#include "ptx/ir/opcodes.h"
#include "ptx/text/text.h"

static struct tcb_ptx_module *parse(const char *text)
{
	struct tcb_ptx_module *module;
	struct tcb_error err;

	if (tcb_ptx_parse("test", text, strlen(text), &module, &err) != TCB_OK)
		fail_msg("%s\n%s", err.message, text);
	return module;
}

static struct tcb_ptx_affine *analyse(struct tcb_ptx_module *module, uint32_t x, uint32_t y, uint32_t z)
{
	uint32_t block[3] = { x, y, z };
	struct tcb_ptx_affine *affine;
	struct tcb_error err;

	if (tcb_ptx_affine_create(module->functions, block, &affine, &err) != TCB_OK)
		fail_msg("%s", err.message);
	return affine;
}

/* The Nth instruction of opcode OP. */
static struct tcb_ptx_ins *find(struct tcb_ptx_module *module, unsigned op, unsigned n)
{
	for (struct tcb_ptx_block *b = module->functions->first; b; b = b->next)
		for (struct tcb_ptx_ins *ins = b->first; ins; ins = ins->next)
			if (ins->op == op && n-- == 0)
				return ins;
	fail_msg("no such instruction");
	return NULL;
}

/* --- random expressions --- */

enum { NODES = 14, PARAMS = 2, X = 16, Y = 8, SYMBOL_TRIALS = 3 };

struct node {
	char op;
	unsigned a, b;
	uint32_t number;
};

struct expression {
	struct node node[NODES];
};

static void random_expression(struct tcb_rng *rng, struct expression *e)
{
	static const char ops[] = "+-*&|^<>smM/%?";
	static const uint32_t numbers[] = { 0,  1,  2,  3,  4,   5,   7,   8,    15,        16,
					    31, 32, 33, 64, 127, 128, 132, 4095, 0xffffffe0 };

	for (unsigned i = 0; i < NODES; i++) {
		struct node *n = &e->node[i];

		if (i < 7) {
			n->op = "xypqcnn"[i];
			n->number = numbers[tcb_rng_below(rng, sizeof numbers / sizeof *numbers)];
			continue;
		}
		n->op = ops[tcb_rng_below(rng, sizeof ops - 1)];
		n->a = (unsigned)tcb_rng_below(rng, i);
		n->b = tcb_rng_below(rng, 2) ? 5 + (unsigned)tcb_rng_below(rng, 2) : (unsigned)tcb_rng_below(rng, i);
		n->number = (uint32_t)tcb_rng_below(rng, 8);
	}
}

static void write_expression(const struct expression *e, struct tcb_str *out)
{
	tcb_str_add(out, ".version 8.0\n.target sm_80\n.address_size 64\n"
			 ".entry k(.param .u32 p, .param .u32 q)\n{\n\t.reg .b32 %r<32>;\n\t.reg .pred %p<32>;\n");
	for (unsigned i = 0; i < NODES; i++) {
		const struct node *n = &e->node[i];

		switch (n->op) {
		case 'x':
			tcb_str_addf(out, "\tmov.u32 %%r%u, %%tid.x;\n", i);
			break;
		case 'y':
			tcb_str_addf(out, "\tmov.u32 %%r%u, %%tid.y;\n", i);
			break;
		case 'p':
		case 'q':
			tcb_str_addf(out, "\tld.param.u32 %%r%u, [%c];\n", i, n->op);
			break;
		case 'c':
			tcb_str_addf(out, "\tmov.u32 %%r%u, %%ctaid.x;\n", i);
			break;
		case 'n':
			tcb_str_addf(out, "\tmov.u32 %%r%u, %u;\n", i, n->number);
			break;
		case '<':
			tcb_str_addf(out, "\tshl.b32 %%r%u, %%r%u, %u;\n", i, n->a, n->number);
			break;
		case '>':
		case 's':
			tcb_str_addf(out, "\tshr.%c32 %%r%u, %%r%u, %u;\n", n->op == 's' ? 's' : 'u', i, n->a,
				     n->number);
			break;
		case '?':
			tcb_str_addf(out,
				     "\tsetp.lt.u32 %%p%u, %%r%u, %%r%u;\n\tselp.b32 %%r%u, %%r%u, %%r%u, %%p%u;\n", i,
				     n->a, n->b, i, n->b, n->a, i);
			break;
		default: {
			const char *names = "+-*&|^mM/%",
				   *texts[] = { "add.u32", "sub.u32", "mul.lo.u32", "and.b32", "or.b32",
						"xor.b32", "min.u32", "max.s32",    "div.u32", "rem.u32" };

			tcb_str_addf(out, "\t%s %%r%u, %%r%u, %%r%u;\n", texts[strchr(names, n->op) - names], i, n->a,
				     n->b);
		}
		}
	}
	tcb_str_addf(out, "\tst.shared.u32 [%%r%d], %%r0;\n\tret;\n}\n", NODES - 1);
}

static uint32_t compute(const struct expression *e, uint32_t thread, const uint32_t symbols[3])
{
	uint32_t v[NODES];

	for (unsigned i = 0; i < NODES; i++) {
		const struct node *n = &e->node[i];
		uint32_t a = i < 7 ? 0 : v[n->a], b = i < 7 ? 0 : v[n->b];

		v[i] = n->op == 'x'   ? thread % X
		       : n->op == 'y' ? thread / X
		       : n->op == 'p' ? symbols[0]
		       : n->op == 'q' ? symbols[1]
		       : n->op == 'c' ? symbols[2]
		       : n->op == 'n' ? n->number
		       : n->op == '+' ? a + b
		       : n->op == '-' ? a - b
		       : n->op == '*' ? a * b
		       : n->op == '&' ? a & b
		       : n->op == '|' ? a | b
		       : n->op == '^' ? a ^ b
		       : n->op == '<' ? a << n->number
		       : n->op == '>' ? a >> n->number
		       : n->op == 's' ? (uint32_t)((int32_t)a >> n->number)
		       : n->op == 'm' ? (a < b ? a : b)
		       : n->op == 'M' ? ((int32_t)a > (int32_t)b ? a : b)
		       : n->op == '/' ? (b ? a / b : UINT32_MAX)
		       : n->op == '%' ? (b ? a % b : a)
				      : (a < b ? b : a);
	}
	return v[NODES - 1];
}

/* Whether V says what EXPECTED holds for each thread, with SYMBOLS for p, q and %ctaid.x.  Where other symbols take
 * part only what differs between threads can be compared. */
static void check_value(struct tcb_ptx_affine *affine, const struct tcb_ptx_value *v, const struct expression *e,
			const uint32_t symbols[3], const char *text)
{
	int complete = 1;

	for (uint32_t i = 0; i < v->term_count; i++) {
		const struct tcb_ptx_symbolic *s = tcb_ptx_affine_symbol(affine, v->terms[i].symbol);

		complete &= s->kind == TCB_PTX_Y_PARAM || s->kind == TCB_PTX_Y_SPECIAL;
		if (!complete && v->terms[i].lanes)
			return;
	}
	for (uint32_t t = 0; t < X * Y; t++) {
		uint64_t mine = tcb_ptx_value_lane(v, t), first = tcb_ptx_value_lane(v, 0);

		for (uint32_t i = 0; i < v->term_count; i++) {
			const struct tcb_ptx_symbolic *s = tcb_ptx_affine_symbol(affine, v->terms[i].symbol);
			uint64_t is = s->kind == TCB_PTX_Y_SPECIAL                     ? symbols[2]
				      : s->variable && !strcmp(s->variable->name, "p") ? symbols[0]
										       : symbols[1];
			uint64_t more = v->terms[i].lanes ? v->terms[i].lanes[t] : 0;

			mine += (v->terms[i].factor + more) * is;
			first += v->terms[i].factor * is;
		}
		if (complete && (uint32_t)mine != compute(e, t, symbols))
			fail_msg("thread %u: %u, not %u\n%s", t, (uint32_t)mine, compute(e, t, symbols), text);
		if ((uint32_t)(mine - first) != compute(e, t, symbols) - compute(e, 0, symbols))
			fail_msg("thread %u differs from thread 0 by %d, not %d\n%s", t, (int32_t)(mine - first),
				 (int32_t)(compute(e, t, symbols) - compute(e, 0, symbols)), text);
	}
}

static void random_expressions_are_what_c_computes(void **state)
{
	struct tcb_rng rng;
	unsigned known = 0, with_symbols = 0, total = 3000;

	(void)state;
	tcb_rng_init(&rng, 11);
	for (unsigned round = 0; round < total; round++) {
		struct expression e;
		struct tcb_str text = { 0 };
		struct tcb_ptx_module *module;
		struct tcb_ptx_affine *affine;
		struct tcb_ptx_value v;

		random_expression(&rng, &e);
		write_expression(&e, &text);
		module = parse(text.data);
		affine = analyse(module, X, Y, 1);
		v = tcb_ptx_affine_address(affine, find(module, TCB_PTX_OP_ST, 0), 0);
		for (int trial = 0; v.known && trial < SYMBOL_TRIALS; trial++) {
			uint32_t symbols[3] = { (uint32_t)tcb_rng_next(&rng), (uint32_t)tcb_rng_below(&rng, 1000),
						(uint32_t)tcb_rng_below(&rng, INT32_MAX) };

			check_value(affine, &v, &e, symbols, text.data);
		}
		known += v.known;
		with_symbols += v.known && v.term_count;
		tcb_ptx_affine_destroy(affine);
		tcb_ptx_module_destroy(module);
		tcb_str_fini(&text);
	}
	print_message("%u of %u random values known, %u of them with symbols\n", known, total, with_symbols);
	assert_true(known > total / 4 && with_symbols > total / 20 && known < total);
}

/* --- kernels --- */

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"
#define BODY(registers, text)                                                                                     \
	HEAD ".entry k(.param .u64 p, .param .u32 n)\n{\n\t.reg .b32 %r<32>;\n\t.reg .b64 %d<32>;\n\t.reg .pred " \
	     "%p<8>;\n\t.shared .align 16 .b8 tile[16384];\n" registers text "\tret;\n}\n"

static const char swizzled[] = BODY("", "	mov.u32 %r0, %tid.x;\n"
					"	and.b32 %r1, %r0, 31;\n"
					"	shr.u32 %r2, %r0, 5;\n"
					"	xor.b32 %r3, %r1, %r2;\n"
					"	shl.b32 %r4, %r2, 5;\n"
					"	add.u32 %r5, %r4, %r3;\n"
					"	shl.b32 %r6, %r5, 2;\n"
					"	mov.u32 %r7, tile;\n"
					"	add.u32 %r8, %r7, %r6;\n"
					"	st.shared.u32 [%r8+4], %r0;\n");

static void a_swizzle_is_exact(void **state)
{
	struct tcb_ptx_module *module = parse(swizzled);
	struct tcb_ptx_affine *affine = analyse(module, 256, 1, 1);
	struct tcb_ptx_value v = tcb_ptx_affine_address(affine, find(module, TCB_PTX_OP_ST, 0), 0);

	(void)state;
	assert_true(v.known);
	assert_int_equal(v.term_count, 1);
	assert_int_equal(tcb_ptx_affine_symbol(affine, v.terms[0].symbol)->kind, TCB_PTX_Y_ADDRESS);
	for (uint32_t t = 0; t < 256; t++)
		assert_int_equal(tcb_ptx_value_lane(&v, t), 4 + 4 * ((t / 32) * 32 + (t % 32 ^ t / 32)));
	tcb_ptx_affine_destroy(affine);
	tcb_ptx_module_destroy(module);
}

/* for (i = tid; ; i += 256) store; and a pointer that goes along, and a stage that toggles */
static const char loop[] = BODY("", "	mov.u32 %r0, %tid.x;\n"
				    "	shl.b32 %r1, %r0, 2;\n"
				    "	mov.u32 %r2, 0;\n"
				    "	mov.u32 %r5, 0;\n"
				    "LOOP:\n"
				    "	st.shared.u32 [%r1], %r0;\n"
				    "	shl.b32 %r6, %r5, 10;\n"
				    "	add.u32 %r7, %r6, %r1;\n"
				    "	st.shared.u32 [%r7], %r0;\n"
				    "	xor.b32 %r5, %r5, 1;\n"
				    "	add.u32 %r1, %r1, 1024;\n"
				    "	add.u32 %r2, %r2, 1;\n"
				    "	setp.lt.u32 %p0, %r2, 10;\n"
				    "	@%p0 bra LOOP;\n"
				    "	st.shared.u32 [%r1], %r0;\n");

static void loops_count_their_rounds(void **state)
{
	struct tcb_ptx_module *module = parse(loop);
	struct tcb_ptx_affine *affine = analyse(module, 256, 1, 1);
	struct tcb_ptx_value v = tcb_ptx_affine_address(affine, find(module, TCB_PTX_OP_ST, 0), 0);
	const struct tcb_ptx_symbolic *counter;

	(void)state;
	assert_true(v.known && v.term_count == 1);
	counter = tcb_ptx_affine_symbol(affine, v.terms[0].symbol);
	assert_int_equal(counter->kind, TCB_PTX_Y_COUNTER);
	assert_int_equal(counter->max, 9);
	assert_int_equal(v.terms[0].factor, 1024);
	assert_int_equal(tcb_ptx_value_lane(&v, 5), 20);
	/* the stage is the same in all threads, and a multiple of 1024 */
	v = tcb_ptx_affine_address(affine, find(module, TCB_PTX_OP_ST, 1), 0);
	assert_true(v.known && v.term_count == 2);
	assert_true(tcb_ptx_affine_term_align(affine, &v) >= 1024);
	assert_int_equal(tcb_ptx_value_lane(&v, 255) - tcb_ptx_value_lane(&v, 0), 1020);
	/* all threads leave in the same round, so the pointer is known behind the loop */
	v = tcb_ptx_affine_address(affine, find(module, TCB_PTX_OP_ST, 2), 0);
	assert_true(v.known);
	tcb_ptx_affine_destroy(affine);
	tcb_ptx_module_destroy(module);
}

/* The same loop, left by each thread when it wants. */
static void a_divergent_loop_hides_its_counter(void **state)
{
	static const char text[] = BODY("", "	mov.u32 %r0, %tid.x;\n"
					    "	mov.u32 %r1, 0;\n"
					    "LOOP:\n"
					    "	st.shared.u32 [%r1], %r0;\n"
					    "	add.u32 %r1, %r1, 4;\n"
					    "	setp.lt.u32 %p0, %r1, %r0;\n"
					    "	@%p0 bra LOOP;\n"
					    "	st.shared.u32 [%r1], %r0;\n");
	struct tcb_ptx_module *module = parse(text);
	struct tcb_ptx_affine *affine = analyse(module, 256, 1, 1);
	struct tcb_ptx_value v = tcb_ptx_affine_address(affine, find(module, TCB_PTX_OP_ST, 0), 0);

	(void)state;
	assert_true(v.known);
	v = tcb_ptx_affine_address(affine, find(module, TCB_PTX_OP_ST, 1), 0);
	assert_false(v.known);
	tcb_ptx_affine_destroy(affine);
	tcb_ptx_module_destroy(module);
}

/* A register written on both sides of a branch, which is uniform for UNIFORM and differs between threads else. */
static void meeting_points(void **state)
{
	static const char uniform[] = BODY("", "	ld.param.u32 %r0, [n];\n"
					       "	mov.u32 %r1, 64;\n"
					       "	setp.eq.u32 %p0, %r0, 7;\n"
					       "	@%p0 bra L;\n"
					       "	mov.u32 %r1, 128;\n"
					       "L:\n"
					       "	st.shared.u32 [%r1], %r0;\n");
	static const char varying[] = BODY("", "	mov.u32 %r0, %tid.x;\n"
					       "	mov.u32 %r1, 64;\n"
					       "	setp.eq.u32 %p0, %r0, 7;\n"
					       "	@%p0 bra L;\n"
					       "	mov.u32 %r1, 128;\n"
					       "L:\n"
					       "	st.shared.u32 [%r1], %r0;\n");
	static const char guarded[] = BODY("", "	mov.u32 %r0, %tid.x;\n"
					       "	mov.u32 %r1, 64;\n"
					       "	setp.eq.u32 %p0, %r0, 7;\n"
					       "	@%p0 mov.u32 %r1, 128;\n"
					       "	st.shared.u32 [%r1], %r0;\n");
	const char *texts[] = { uniform, varying, guarded };

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct tcb_ptx_module *module = parse(texts[i]);
		struct tcb_ptx_affine *affine = analyse(module, 32, 1, 1);
		struct tcb_ptx_value v = tcb_ptx_affine_address(affine, find(module, TCB_PTX_OP_ST, 0), 0);

		assert_int_equal(v.known, i != 1);
		if (i == 0)
			assert_true(tcb_ptx_value_is_uniform(&v));
		if (i == 2)
			assert_true(tcb_ptx_value_lane(&v, 7) == 128 && tcb_ptx_value_lane(&v, 8) == 64);
		tcb_ptx_affine_destroy(affine);
		tcb_ptx_module_destroy(module);
	}
}

static void who_is_there(void **state)
{
	static const char text[] = BODY("", "	mov.u32 %r0, %tid.x;\n"
					    "	setp.gt.u32 %p0, %r0, 3;\n"
					    "	@%p0 bra L;\n"
					    "	st.shared.u32 [0], %r0;\n"
					    "	ld.shared.u32 %r2, [8];\n"
					    "	setp.gt.u32 %p1, %r2, 3;\n"
					    "	@%p1 bra L;\n"
					    "	st.shared.u32 [4], %r0;\n"
					    "L:\n"
					    "	st.shared.u32 [8], %r0;\n");
	struct tcb_ptx_module *module = parse(text);
	struct tcb_ptx_affine *affine = analyse(module, 128, 1, 1);
	const struct tcb_ptx_block *first = find(module, TCB_PTX_OP_ST, 0)->block,
				   *second = find(module, TCB_PTX_OP_ST, 1)->block,
				   *last = find(module, TCB_PTX_OP_ST, 2)->block;

	(void)state;
	assert_int_equal(tcb_ptx_affine_active(affine, first)[0], 15);
	assert_int_equal(tcb_ptx_affine_active(affine, first)[1], 0);
	assert_int_equal(tcb_ptx_affine_presence(affine, first), TCB_PTX_SPLIT);
	assert_int_equal(tcb_ptx_affine_active(affine, second)[0], 15);
	assert_int_equal(tcb_ptx_affine_presence(affine, second), TCB_PTX_AT_MOST);
	assert_true(tcb_ptx_affine_active(affine, last)[1] == UINT64_MAX);
	assert_int_equal(tcb_ptx_affine_presence(affine, last), TCB_PTX_ALL_ALIKE);
	tcb_ptx_affine_destroy(affine);
	tcb_ptx_module_destroy(module);
}

/* --- random control flow, against the emulator --- */

enum { FLOW_THREADS = 64, PROBES = 16, VARIABLES = 4, UNTOUCHED = 0x5eed };

struct flow {
	struct tcb_rng rng;
	struct tcb_str text;
	unsigned labels, probes, depth;
};

static unsigned pick(struct flow *f, unsigned bound)
{
	return (unsigned)tcb_rng_below(&f->rng, bound);
}

/* A predicate from a variable, %tid.x or the parameter. */
static void write_condition(struct flow *f)
{
	static const char *const compares[] = { "lt.u32", "eq.s32", "ge.s32", "ne.u32" };
	unsigned what = pick(f, 8);

	if (what < 2)
		tcb_str_addf(&f->text, "\tsetp.%s %%p0, %%r8, %u;\n", compares[pick(f, 4)], pick(f, 64));
	else if (what < 4)
		tcb_str_addf(&f->text, "\tsetp.%s %%p0, %%r9, %u;\n", compares[pick(f, 4)], pick(f, 8));
	else
		tcb_str_addf(&f->text, "\tand.b32 %%r10, %%r%u, 31;\n\tsetp.%s %%p0, %%r10, %u;\n", pick(f, VARIABLES),
			     compares[pick(f, 4)], pick(f, 32));
}

static void write_statements(struct flow *f, unsigned count);

static void write_branch(struct flow *f)
{
	unsigned label = f->labels++, has_else = pick(f, 2);

	write_condition(f);
	tcb_str_addf(&f->text, "\t@%s%%p0 bra ELSE%u;\n", pick(f, 2) ? "!" : "", label);
	write_statements(f, 1 + pick(f, 3));
	if (has_else)
		tcb_str_addf(&f->text, "\tbra END%u;\n", label);
	tcb_str_addf(&f->text, "ELSE%u:\n", label);
	if (has_else) {
		write_statements(f, 1 + pick(f, 3));
		tcb_str_addf(&f->text, "END%u:\n", label);
	}
}

/* Rounds are a number, the parameter, or differ between threads. */
static void write_loop(struct flow *f)
{
	static const char *const bounds[] = { "3", "1", "%r9", "%r11", "%r11" };
	unsigned label = f->labels++, counter = 16 + f->depth;

	tcb_str_addf(&f->text, "\tand.b32 %%r11, %%r8, 3;\n\tmov.u32 %%r%u, 0;\nLOOP%u:\n", counter, label);
	write_statements(f, 1 + pick(f, 3));
	tcb_str_addf(&f->text,
		     "\tand.b32 %%r11, %%r8, 3;\n\tadd.u32 %%r%u, %%r%u, 1;\n\tsetp.lt.u32 %%p0, %%r%u, %s;\n"
		     "\t@%%p0 bra LOOP%u;\n",
		     counter, counter, counter, bounds[pick(f, 5)], label);
}

static void write_statements(struct flow *f, unsigned count)
{
	static const char *const ops[] = { "add.u32", "sub.u32", "xor.b32", "and.b32", "mul.lo.u32", "or.b32" };

	for (unsigned i = 0; i < count; i++) {
		unsigned what = pick(f, 12), to = pick(f, VARIABLES);

		if (what < 5) {
			static const char *const sources[] = { "%r0", "%r1",  "%r2", "%r3", "%r8",
							       "%r9", "%r16", "7",   "32" };

			if (pick(f, 5) == 0) {
				write_condition(f);
				tcb_str_add(&f->text, "\t@%p0");
			}
			tcb_str_addf(&f->text, "\t%s %%r%u, %%r%u, %s;\n", ops[pick(f, 6)], to, pick(f, VARIABLES),
				     sources[pick(f, 9)]);
		} else if (what < 7) {
			tcb_str_addf(&f->text, "\tmov.u32 %%r%u, %u;\n", to, pick(f, 100));
		} else if (what < 10) {
			if (f->probes < PROBES)
				tcb_str_addf(&f->text, "\tst.global.u32 [%%d1+%u], %%r%u;\n",
					     f->probes++ * FLOW_THREADS * 4, to);
		} else if (f->depth < 3) {
			f->depth++;
			if (what == 10)
				write_branch(f);
			else
				write_loop(f);
			f->depth--;
		}
	}
}

static unsigned check_probe(struct tcb_ptx_affine *affine, const struct tcb_ptx_ins *ins, const uint32_t *out,
			    const char *text)
{
	struct tcb_ptx_value v = tcb_ptx_affine_operand(affine, ins, &ins->operands[1]);
	const uint64_t *active = tcb_ptx_affine_active(affine, ins->block);
	const uint32_t *mine = out + ins->operands[0].bits / 4;
	unsigned compared = 0;

	for (uint32_t t = 0; t < FLOW_THREADS; t++) {
		if (mine[t] == UNTOUCHED)
			continue;
		if (!(active[t / 64] >> (t % 64) & 1))
			fail_msg("line %u: thread %u cannot be there, but is\n%s", ins->line, t, text);
		if (!v.known || v.term_count)
			continue;
		if ((uint32_t)tcb_ptx_value_lane(&v, t) != mine[t])
			fail_msg("line %u: thread %u has %u, not %u\n%s", ins->line, t, mine[t],
				 (uint32_t)tcb_ptx_value_lane(&v, t), text);
		compared++;
	}
	/* where all or none run it, nobody of them is missing */
	if (tcb_ptx_affine_presence(affine, ins->block) != TCB_PTX_AT_MOST)
		for (uint32_t t = 0, any = 0; t < 2 * FLOW_THREADS; t++) {
			uint32_t u = t % FLOW_THREADS;

			any |= mine[u] != UNTOUCHED;
			if (t >= FLOW_THREADS && any && mine[u] == UNTOUCHED && (active[u / 64] >> (u % 64) & 1) &&
			    ins->block->loop == NULL)
				fail_msg("line %u: thread %u is missing\n%s", ins->line, u, text);
		}
	return compared;
}

static void random_control_flow_is_followed(void **state)
{
	unsigned compared = 0, probes = 0;
	struct flow f = { 0 };

	(void)state;
	tcb_rng_init(&f.rng, 17);
	for (unsigned round = 0; round < 1500; round++) {
		struct tcb_ptx_module *module;
		struct tcb_ptx_affine *affine;
		struct kernel_run run = { 0 };

		f.text = (struct tcb_str){ 0 };
		f.labels = f.probes = f.depth = 0;
		tcb_str_add(&f.text,
			    HEAD ".entry k(.param .u64 p, .param .u32 n)\n{\n\t.reg .b32 %r<32>;\n\t.reg .b64 "
				 "%d<4>;\n\t.reg .pred %p<4>;\n\tld.param.u64 %d0, [p];\n\tld.param.u32 %r9, [n];\n"
				 "\tmov.u32 %r8, %tid.x;\n\tmad.wide.u32 %d1, %r8, 4, %d0;\n\tmov.u32 %r16, 5;\n");
		for (int i = 0; i < VARIABLES; i++)
			tcb_str_addf(&f.text, "\tmov.u32 %%r%d, %d;\n", i, 3 * i);
		write_statements(&f, 10);
		tcb_str_add(&f.text, "\tret;\n}\n");
		module = parse(f.text.data);
		run.initial = UNTOUCHED;
		run_kernel(module->functions, FLOW_THREADS, pick(&f, 6), 0, &run);
		if (run.others)
			fail_msg("%s\n%s", run.last, f.text.data);
		affine = analyse(module, FLOW_THREADS, 1, 1);
		for (struct tcb_ptx_block *b = module->functions->first; b; b = b->next)
			for (struct tcb_ptx_ins *ins = b->first; ins; ins = ins->next)
				if (ins->op == TCB_PTX_OP_ST) {
					probes++;
					compared += check_probe(affine, ins, run.out, f.text.data);
				}
		tcb_ptx_affine_destroy(affine);
		tcb_ptx_module_destroy(module);
		tcb_str_fini(&f.text);
	}
	print_message("%u stores, %u values of threads compared\n", probes, compared);
	assert_true(compared > 10000);
}

/* Long chains and many loop variables that feed each other end in bounded time and memory. */
static void large_kernels_end(void **state)
{
	struct tcb_str text = { 0 };
	struct tcb_ptx_module *module;
	struct tcb_ptx_affine *affine;
	uint64_t begin;

	(void)state;
	tcb_str_add(&text, HEAD ".entry k()\n{\n\t.reg .b32 %r<64>;\n\t.reg .pred %p<2>;\n\tmov.u32 %r0, %tid.x;\n");
	for (int i = 1; i < 60; i++)
		tcb_str_addf(&text, "\tmov.u32 %%r%d, %d;\n", i, i);
	tcb_str_add(&text, "LOOP:\n");
	for (int i = 1; i < 60; i++)
		tcb_str_addf(&text, "\tadd.u32 %%r%d, %%r%d, %%r%d;\n", i, i, i % 59 + 1);
	for (int i = 0; i < 20000; i++)
		tcb_str_addf(&text, "\tadd.u32 %%r0, %%r0, %d;\n", i % 7);
	tcb_str_add(&text, "\tst.shared.u32 [%r0], %r1;\n\tst.shared.u32 [%r5], %r1;\n\tsetp.lt.u32 %p0, %r1, 100;\n"
			   "\t@%p0 bra LOOP;\n\tret;\n}\n");
	module = parse(text.data);
	begin = tcb_clock_ns();
	affine = analyse(module, 1024, 1, 1);
	tcb_ptx_affine_address(affine, find(module, TCB_PTX_OP_ST, 0), 0);
	tcb_ptx_affine_address(affine, find(module, TCB_PTX_OP_ST, 1), 0);
	print_message("20000 instructions in %.1f ms\n", (double)(tcb_clock_ns() - begin) * 1e-6);
	tcb_ptx_affine_destroy(affine);
	tcb_ptx_module_destroy(module);
	tcb_str_fini(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_expressions_are_what_c_computes),
		cmocka_unit_test(a_swizzle_is_exact),
		cmocka_unit_test(loops_count_their_rounds),
		cmocka_unit_test(a_divergent_loop_hides_its_counter),
		cmocka_unit_test(meeting_points),
		cmocka_unit_test(who_is_there),
		cmocka_unit_test(random_control_flow_is_followed),
		cmocka_unit_test(large_kernels_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
