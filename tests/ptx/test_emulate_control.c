/* SPDX-License-Identifier: MIT
 *
 * Control flow: random programs of nested branches, branch tables, loops that
 * lanes leave at different times and early exits give each thread what it would
 * compute alone; without early exits the warp is whole again at the end.
 * Shuffles, votes and calls within divergent code.
 */
#include "emu_bench.h"

/* --- random programs: statements over two numbers, run by a thread in C and as PTX --- */

enum kind { ASSIGN, IF, LOOP, SWITCH, BREAK, LEAVE };

struct node {
	enum kind kind;
	uint32_t a, b;
	struct node *body[4], *next; /* lists */
};

struct maker {
	struct tcb_rng rng;
	struct node nodes[400];
	unsigned used, labels;
	int may_leave;
	struct tcb_str text;
};

static struct node *make_list(struct maker *m, unsigned depth, int in_loop)
{
	struct node *first = NULL, **end = &first;
	unsigned count = 1 + (unsigned)tcb_rng_below(&m->rng, 3);

	for (unsigned i = 0; i < count && m->used < 380; i++) {
		struct node *node = &m->nodes[m->used++];
		unsigned pick = (unsigned)tcb_rng_below(&m->rng, 10);

		node->a = (uint32_t)tcb_rng_next(&m->rng) | 1;
		node->b = (uint32_t)tcb_rng_next(&m->rng);
		node->kind = pick < 4 || !depth ? ASSIGN : pick < 6 ? IF : pick < 8 ? LOOP : SWITCH;
		if (in_loop && pick == 9)
			node->kind = BREAK;
		if (m->may_leave && depth < 3 && tcb_rng_below(&m->rng, 12) == 0)
			node->kind = LEAVE;
		for (unsigned k = 0; k < (node->kind == SWITCH ? 4u
					  : node->kind == IF   ? 2u
					  : node->kind == LOOP ? 1u
							       : 0u);
		     k++)
			node->body[k] = make_list(m, depth - 1, node->kind == LOOP || in_loop);
		*end = node;
		end = &node->next;
	}
	return first;
}

/* 0: goes on, 1: leaves the innermost loop, 2: has left */
static int interpret(const struct node *list, uint32_t *x, uint32_t *y)
{
	for (const struct node *node = list; node; node = node->next) {
		int how = 0;

		switch (node->kind) {
		case ASSIGN:
			*x = *x * node->a + node->b;
			*y ^= *x >> 7;
			break;
		case IF:
			how = interpret(node->body[!(*x >> (node->b & 15) & 1)], x, y);
			break;
		case SWITCH:
			how = interpret(node->body[*y >> (node->b & 15) & 3], x, y);
			break;
		case LOOP:
			for (uint32_t n = (*x >> (node->b & 15) & 3) + 1; n && !how; n--) {
				*y += n;
				how = interpret(node->body[0], x, y);
			}
			how = how == 2 ? 2 : 0;
			break;
		case BREAK:
			how = *y >> (node->b & 15) & 1;
			break;
		case LEAVE:
			how = (*x >> (node->b & 15) & 7) == 0 ? 2 : 0;
			break;
		}
		if (how)
			return how;
	}
	return 0;
}

static void emit(struct maker *m, const struct node *list, unsigned depth, unsigned break_to)
{
	for (const struct node *node = list; node; node = node->next) {
		unsigned l = m->labels++, shift = node->b & 15;
		struct tcb_str *out = &m->text;

		switch (node->kind) {
		case ASSIGN:
			tcb_str_addf(out, "mad.lo.u32 %%x, %%x, %u, %u; shr.u32 %%t, %%x, 7; xor.b32 %%y, %%y, %%t;\n",
				     node->a, node->b);
			break;
		case IF:
			tcb_str_addf(
				out,
				"shr.u32 %%t, %%x, %u; and.b32 %%t, %%t, 1; setp.eq.u32 %%p, %%t, 0; @%%p bra E%u;\n",
				shift, l);
			emit(m, node->body[0], depth + 1, break_to);
			tcb_str_addf(out, "bra F%u;\nE%u:\n", l, l);
			emit(m, node->body[1], depth + 1, break_to);
			tcb_str_addf(out, "F%u:\n", l);
			break;
		case SWITCH:
			tcb_str_addf(out,
				     "shr.u32 %%t, %%y, %u; and.b32 %%t, %%t, 3;\nT%u: .branchtargets A%u, B%u, C%u, "
				     "D%u;\nbrx.idx %%t, T%u;\n",
				     shift, l, l, l, l, l, l);
			for (unsigned k = 0; k < 4; k++) {
				tcb_str_addf(out, "%c%u:\n", "ABCD"[k], l);
				emit(m, node->body[k], depth + 1, break_to);
				tcb_str_addf(out, "bra F%u;\n", l);
			}
			tcb_str_addf(out, "F%u:\n", l);
			break;
		case LOOP:
			tcb_str_addf(out,
				     "shr.u32 %%t, %%x, %u; and.b32 %%t, %%t, 3; add.u32 %%n%u, %%t, 1;\nE%u:\nadd.u32 "
				     "%%y, %%y, %%n%u;\n",
				     shift, depth, l, depth);
			emit(m, node->body[0], depth + 1, l);
			tcb_str_addf(out, "sub.u32 %%n%u, %%n%u, 1; setp.ne.u32 %%p, %%n%u, 0; @%%p bra E%u;\nF%u:\n",
				     depth, depth, depth, l, l);
			break;
		case BREAK:
			tcb_str_addf(
				out,
				"shr.u32 %%t, %%y, %u; and.b32 %%t, %%t, 1; setp.ne.u32 %%p, %%t, 0; @%%p bra F%u;\n",
				shift, break_to);
			break;
		case LEAVE:
			tcb_str_addf(
				out,
				"shr.u32 %%t, %%x, %u; and.b32 %%t, %%t, 7; setp.ne.u32 %%p, %%t, 0; @%%p bra E%u;\n"
				"st.global.v2.u32 [%%d], {%%x, %%y}; %s;\nE%u:\n",
				shift, l, node->a & 2 ? "ret" : "exit", l);
			break;
		}
	}
}

/* Returns how many threads of the program of SEED differ from what C gives for that of WANTED. */
static unsigned random_program(uint64_t seed, uint64_t wanted, int may_leave)
{
	enum { THREADS = 96 };
	static struct maker m;
	static uint32_t out[THREADS][2];
	struct node *list;
	struct emu_bench b;
	unsigned wrong = 0;
	uint32_t last;

	memset(&m, 0, sizeof m);
	m.may_leave = may_leave;
	tcb_rng_init(&m.rng, seed);
	list = make_list(&m, 4, 0);
	tcb_str_add(&m.text, ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 q)\n{\n"
			     ".reg .b32 %x, %y, %t, %n<9>; .reg .b64 %d; .reg .pred %p;\n"
			     "ld.param.u64 %d, [q]; mov.u32 %x, %tid.x; mad.wide.u32 %d, %x, 8, %d;\n"
			     "mul.lo.u32 %x, %x, 40503; mul.lo.u32 %y, %x, 2654435761;\n");
	emit(&m, list, 0, 0);
	tcb_str_add(&m.text, "st.global.v2.u32 [%d], {%x, %y};\nret;\n}\n");
	emu_open(&b, m.text.data, "k", THREADS);
	emu_buffer(&b, "out", out, sizeof out, TCB_PTX_MAY_WRITE);
	emu_run(&b);
	if (b.errors)
		fail_msg("seed %d: %s\n%s", (int)seed, b.first, m.text.data);
	if (wanted != seed) {
		m.used = 0;
		memset(m.nodes, 0, sizeof m.nodes);
		tcb_rng_init(&m.rng, wanted);
		list = make_list(&m, 4, 0);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		uint32_t x = i * 40503u, y = x * 2654435761u;

		interpret(list, &x, &y);
		if (out[i][0] != x || out[i][1] != y)
			wrong++;
	}
	if (wrong && wanted == seed)
		print_message("seed %d:\n%s", (int)seed, m.text.data);
	last = b.out.ins_count - 1;
	if (!may_leave) { /* all lanes together again */
		assert_int_equal(b.out.by_ins[last].warps, THREADS / 32);
		assert_int_equal(b.out.by_ins[last].threads, THREADS);
	}
	tcb_str_fini(&m.text);
	emu_close(&b);
	return wrong;
}

static void each_thread_computes_its_own(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 300; seed++)
		assert_int_equal(random_program(seed, seed, seed % 3 == 0), 0);
	for (uint64_t seed = 1; seed <= 20; seed++) /* negative control */
		assert_true(random_program(seed, seed + 1, 0) > 0);
}

/* --- shuffles with every mask of segments, against the manual's pseudocode --- */

static void shuffle_modes(void **state)
{
	static const char *const modes[] = { "up", "down", "bfly", "idx" };
	static uint32_t in[32][3], out[32][2];
	struct tcb_rng rng;

	(void)state;
	tcb_rng_init(&rng, 9);
	for (unsigned round = 0; round < 80; round++) {
		unsigned mode = round % 4;
		uint32_t c = (uint32_t)tcb_rng_next(&rng) & 0x1f1f;
		char text[1000];
		struct emu_bench b;

		if (round % 8 < 4) /* a proper width */
			c = (32 - (1u << tcb_rng_below(&rng, 6))) << 8 | (mode ? 31 : 0);
		snprintf(text, sizeof text,
			 ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u64 "
			 "q)\n{\n"
			 ".reg .b32 %%r<9>; .reg .b64 %%d<4>; .reg .pred %%p;\n"
			 "ld.param.u64 %%d1, [p]; ld.param.u64 %%d2, [q]; mov.u32 %%r1, %%tid.x; mad.wide.u32 %%d1, "
			 "%%r1, 12, %%d1;\n"
			 "mad.wide.u32 %%d2, %%r1, 8, %%d2; ld.global.u32 %%r2, [%%d1]; ld.global.u32 %%r3, [%%d1+4];\n"
			 "ld.global.u32 %%r4, [%%d1+8]; shfl.sync.%s.b32 %%r5|%%p, %%r2, %%r3, %%r4, 0xffffffff;\n"
			 "selp.u32 %%r6, 1, 0, %%p; st.global.v2.u32 [%%d2], {%%r5, %%r6}; ret;\n}\n",
			 modes[mode]);
		for (unsigned i = 0; i < 32; i++) {
			in[i][0] = (uint32_t)tcb_rng_next(&rng);
			in[i][1] = (uint32_t)tcb_rng_below(&rng, 33);
			in[i][2] = c;
		}
		emu_open(&b, text, "k", 32);
		emu_buffer(&b, "in", in, sizeof in, TCB_PTX_READ_ONLY);
		emu_buffer(&b, "out", out, sizeof out, TCB_PTX_MAY_WRITE);
		emu_run_clean(&b);
		for (int lane = 0; lane < 32; lane++) {
			int bval = (int)(in[lane][1] & 31), cval = (int)(c & 31), mask = (int)(c >> 8 & 31), j, pval;
			int max_lane = (lane & mask) | (cval & ~mask), min_lane = lane & mask;

			switch (mode) {
			case 0:
				j = lane - bval;
				pval = j >= max_lane;
				break;
			case 1:
				j = lane + bval;
				pval = j <= max_lane;
				break;
			case 2:
				j = lane ^ bval;
				pval = j <= max_lane;
				break;
			default:
				j = min_lane | (bval & ~mask);
				pval = j <= max_lane;
			}
			if (!pval)
				j = lane;
			assert_int_equal(out[lane][0], in[j][0]);
			assert_int_equal(out[lane][1], pval);
		}
		emu_close(&b);
	}
}

/* Lanes in two branches: each half shuffles, votes and reduces among itself, and lanes come to the last one from both.
 */
static void together_across_branches(void **state)
{
	static const char text[] =
		".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 q)\n{\n"
		".reg .b32 %r<12>; .reg .b64 %d<4>; .reg .pred %p<4>;\n"
		"ld.param.u64 %d1, [q]; mov.u32 %r1, %tid.x; mad.wide.u32 %d1, %r1, 8, %d1; and.b32 %r2, %r1, 1;\n"
		"setp.eq.u32 %p1, %r2, 0; @%p1 bra L;\n"
		"redux.sync.add.u32 %r3, %r1, 0xaaaaaaaa; vote.sync.ballot.b32 %r4, %p1, 0xaaaaaaaa;\n"
		"bar.warp.sync 0xffffffff; add.u32 %r3, %r3, %r4; bra M;\n"
		"L: redux.sync.max.u32 %r3, %r1, 0x55555555; elect.sync _|%p2, 0x55555555; selp.u32 %r4, 1000, 0, "
		"%p2;\n"
		"bar.warp.sync 0xffffffff; add.u32 %r3, %r3, %r4;\n"
		"M: match.any.sync.b32 %r5, %r2, 0xffffffff; st.global.v2.u32 [%d1], {%r3, %r5}; ret;\n}\n";
	static uint32_t out[32][2];
	struct emu_bench b;

	(void)state;
	emu_open(&b, text, "k", 32);
	emu_buffer(&b, "out", out, sizeof out, TCB_PTX_MAY_WRITE);
	emu_run_clean(&b);
	for (unsigned i = 0; i < 32; i++) {
		assert_int_equal(out[i][0], i & 1 ? 256 : i ? 30 : 1030);
		assert_int_equal(out[i][1], i & 1 ? 0xaaaaaaaa : 0x55555555);
	}
	emu_close(&b);
}

/* A lane waits for what another lane of its warp does, as independent thread scheduling allows. */
static void lanes_wait_for_lanes(void **state)
{
	static const char text[] =
		".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 q)\n{\n"
		".reg .b32 %r<12>; .reg .b64 %d<4>; .reg .pred %p<4>;\n"
		"ld.param.u64 %d1, [q]; mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 5; @%p1 bra L;\n"
		"W: ld.acquire.gpu.global.u32 %r2, [%d1]; setp.eq.u32 %p2, %r2, 0; @%p2 bra W; bra M;\n"
		"L: mov.u32 %r3, 77; st.global.u32 [%d1+4], %r3; st.release.gpu.global.u32 [%d1], %r3;\n"
		"M: ld.global.u32 %r4, [%d1+4]; mad.wide.u32 %d2, %r1, 4, %d1; st.global.u32 [%d2+8], %r4; ret;\n}\n";
	static uint32_t out[34];
	struct emu_bench b;

	(void)state;
	emu_open(&b, text, "k", 32);
	emu_buffer(&b, "out", out, sizeof out, TCB_PTX_MAY_WRITE);
	emu_run_clean(&b);
	for (unsigned i = 0; i < 32; i++)
		assert_int_equal(out[2 + i], 77);
	emu_close(&b);
}

/* Named barriers, counts, reductions over a block, and threads that have left. */
static void barriers(void **state)
{
	static const char text[] =
		".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 q)\n{\n"
		".reg .b32 %r<12>; .reg .b64 %d<4>; .reg .pred %p<6>;\n"
		"ld.param.u64 %d1, [q]; mov.u32 %r1, %tid.x; mad.wide.u32 %d1, %r1, 16, %d1; setp.ge.u32 %p1, %r1, "
		"100; @%p1 ret;\n"
		"and.b32 %r2, %r1, 3; setp.eq.u32 %p2, %r2, 0; bar.red.popc.u32 %r3, 0, %p2; bar.red.and.pred %p3, 0, "
		"%p2;\n"
		"bar.red.or.pred %p4, 0, %p2; selp.u32 %r4, 1, 0, %p3; selp.u32 %r5, 1, 0, %p4; shr.u32 %r6, %r1, 6;\n"
		"add.u32 %r7, %r6, 1; barrier.red.popc.aligned.u32 %r8, %r7, 64, !%p2;\n"
		"st.global.v4.u32 [%d1], {%r3, %r4, %r5, %r8}; ret;\n}\n";
	static uint32_t out[128][4];
	struct emu_bench b;

	(void)state;
	emu_open(&b, text, "k", 128);
	emu_buffer(&b, "out", out, sizeof out, TCB_PTX_MAY_WRITE);
	emu_run_clean(&b);
	for (unsigned i = 0; i < 100; i++) {
		assert_int_equal(out[i][0], 25);
		assert_int_equal(out[i][1], 0);
		assert_int_equal(out[i][2], 1);
		assert_int_equal(out[i][3], i < 64 ? 48 : 27);
	}
	emu_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_thread_computes_its_own),
		cmocka_unit_test(shuffle_modes),
		cmocka_unit_test(together_across_branches),
		cmocka_unit_test(lanes_wait_for_lanes),
		cmocka_unit_test(barriers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
