/* SPDX-License-Identifier: MIT
 *
 * Memory-order tokens (items 66 to 80 of seed 002 that need no GPU): order,
 * cycles and races on random graphs against plain closure, with edges taken
 * away and added as negative controls; the matrix of orders and scopes against
 * the opcode table; dead tokens; graphs of kernels, and the proof that barriers
 * can go.
 */
#include "hazard_cases.h"
#include "hazard_tokens.h"
#include "ptx_tools.h"

#include "ptx/analyse/hazards/tokens.h"
#include "ptx/analyse/legality.h"
#include "ptx/ir/opcodes.h"
#include "ptx/text/text.h"

enum { NODES = 40 };

static struct tcb_ptx_tokens *create(void)
{
	struct tcb_ptx_tokens *t;
	struct tcb_error err;

	assert_int_equal(tcb_ptx_tokens_create(&t, &err), TCB_OK);
	return t;
}

static void check(struct tcb_ptx_tokens *t)
{
	struct tcb_error err;

	if (tcb_ptx_tokens_check(t, NULL, &err) != TCB_OK)
		fail_msg("%s", err.message);
}

static struct tcb_ptx_token_what access_of(enum tcb_ptx_token_kind kind, uint64_t place, uint64_t offset,
					   unsigned bytes)
{
	return (struct tcb_ptx_token_what){ .kind = kind, .place = place, .offset = offset, .bytes = bytes };
}

static void a_chain_orders_and_a_fork_does_not(void **state)
{
	struct tcb_ptx_token_what store = access_of(TCB_PTX_TOKEN_STORE, 1, 0, 4);
	struct tcb_ptx_token_what load = access_of(TCB_PTX_TOKEN_LOAD, 1, 0, 4);
	struct tcb_ptx_tokens *t = create();
	uint32_t begin = tcb_ptx_token_make(t), a = tcb_ptx_token_op(t, &store, begin);
	uint32_t b = tcb_ptx_token_op(t, &load, begin), both, c;

	(void)state;
	check(t);
	assert_true(tcb_ptx_token_before(t, begin, a));
	assert_false(tcb_ptx_token_before(t, a, b));
	assert_false(tcb_ptx_token_before(t, b, a));
	assert_int_equal(tcb_ptx_tokens_races(t, NULL, NULL), 1); /* without a cycle, and yet */
	both = tcb_ptx_token_join(t, (uint32_t[]){ a, b }, 2);
	c = tcb_ptx_token_op(t, &store, both);
	check(t);
	assert_true(tcb_ptx_token_before(t, a, c) && tcb_ptx_token_before(t, b, c));
	assert_int_equal(tcb_ptx_tokens_races(t, NULL, NULL), 1);
	tcb_ptx_token_take(t, b, a); /* the load now takes the store's token */
	check(t);
	assert_int_equal(tcb_ptx_tokens_races(t, NULL, NULL), 0);
	tcb_ptx_tokens_destroy(t);
}

/* --- random graphs --- */

struct graph {
	struct tcb_ptx_token_what what[NODES];
	uint8_t edge[NODES][NODES], before[NODES][NODES]; /* [a][b]: b takes a */
};

static void random_graph(struct tcb_rng *rng, struct graph *g)
{
	memset(g, 0, sizeof *g);
	for (unsigned b = 0; b < NODES; b++) {
		g->what[b] = access_of((enum tcb_ptx_token_kind)(TCB_PTX_TOKEN_LOAD + tcb_rng_below(rng, 3)),
				       tcb_rng_below(rng, 6), tcb_rng_below(rng, 4) * 4, 4u << tcb_rng_below(rng, 2));
		for (unsigned a = 0; a < b; a++)
			g->edge[a][b] = tcb_rng_below(rng, 12) == 0;
	}
}

static void close_graph(struct graph *g)
{
	memcpy(g->before, g->edge, sizeof g->before);
	for (unsigned k = 0; k < NODES; k++)
		for (unsigned a = 0; a < NODES; a++)
			for (unsigned b = 0; b < NODES; b++)
				g->before[a][b] |= g->before[a][k] & g->before[k][b];
}

static int is_race(const struct graph *g, unsigned a, unsigned b)
{
	const struct tcb_ptx_token_what *x = &g->what[a], *y = &g->what[b];
	int apart = x->place != y->place || x->offset + x->bytes <= y->offset || y->offset + y->bytes <= x->offset;

	return !apart && (x->kind != TCB_PTX_TOKEN_LOAD || y->kind != TCB_PTX_TOKEN_LOAD) &&
	       (x->kind != TCB_PTX_TOKEN_ATOMIC || y->kind != TCB_PTX_TOKEN_ATOMIC) && !g->before[a][b] &&
	       !g->before[b][a];
}

/* Node i of the graph gets token i. */
static struct tcb_ptx_tokens *build(const struct graph *g)
{
	struct tcb_ptx_tokens *t = create();

	for (unsigned i = 0; i < NODES; i++)
		assert_int_equal(tcb_ptx_token_op(t, &g->what[i], TCB_PTX_NO_TOKEN), i);
	for (unsigned a = 0; a < NODES; a++)
		for (unsigned b = 0; b < NODES; b++)
			if (g->edge[a][b])
				tcb_ptx_token_take(t, b, a);
	return t;
}

static unsigned count_races(const struct graph *g)
{
	unsigned races = 0;

	for (unsigned a = 0; a < NODES; a++)
		for (unsigned b = a + 1; b < NODES; b++)
			races += (unsigned)is_race(g, a, b);
	return races;
}

static void order_and_races_are_those_of_the_closure(void **state)
{
	struct tcb_rng rng;
	unsigned good = 0, broken = 0;

	(void)state;
	tcb_rng_init(&rng, 66);
	for (unsigned round = 0; round < 60; round++) {
		struct tcb_ptx_tokens *t;
		struct graph g;

		random_graph(&rng, &g);
		close_graph(&g);
		t = build(&g);
		check(t);
		for (unsigned a = 0; a < NODES; a++)
			for (unsigned b = 0; b < NODES; b++)
				assert_int_equal(tcb_ptx_token_before(t, a, b), g.before[a][b]);
		assert_int_equal(tcb_ptx_tokens_races(t, NULL, NULL), count_races(&g));
		tcb_ptx_tokens_destroy(t);
		/* a good graph: every conflict ordered */
		for (unsigned a = 0; a < NODES; a++)
			for (unsigned b = a + 1; b < NODES; b++)
				if (is_race(&g, a, b))
					g.edge[a][b] = 1;
		close_graph(&g);
		t = build(&g);
		check(t);
		assert_int_equal(tcb_ptx_tokens_races(t, NULL, NULL), 0);
		tcb_ptx_tokens_destroy(t);
		good++;
		/* negative control: each edge that alone orders a conflict, taken away */
		for (unsigned a = 0; a < NODES; a++)
			for (unsigned b = 0; b < NODES; b += 3) {
				struct graph bad = g;
				unsigned races;

				if (!g.edge[a][b])
					continue;
				bad.edge[a][b] = 0;
				close_graph(&bad);
				races = count_races(&bad);
				t = build(&bad);
				check(t);
				assert_int_equal(tcb_ptx_tokens_races(t, NULL, NULL), races);
				broken += races > 0;
				tcb_ptx_tokens_destroy(t);
			}
	}
	print_message("%u good graphs without a race, %u broken ones with\n", good, broken);
	assert_true(broken > 100);
}

static void cycles_are_rejected_and_named(void **state)
{
	struct tcb_rng rng;
	unsigned cycles = 0;

	(void)state;
	tcb_rng_init(&rng, 79);
	for (unsigned round = 0; round < 200; round++) {
		unsigned a = (unsigned)tcb_rng_below(&rng, NODES), b = (unsigned)tcb_rng_below(&rng, NODES);
		struct tcb_ptx_tokens *t;
		struct tcb_error err;
		enum tcb_status status;
		struct graph g;

		random_graph(&rng, &g);
		g.edge[a][b] = 1; /* against the order of the others where b < a */
		close_graph(&g);
		t = build(&g);
		status = tcb_ptx_tokens_check(t, NULL, &err);
		if (g.before[a][a] || g.before[b][b]) {
			cycles++;
			assert_int_equal(status, TCB_E_FAILED);
			assert_non_null(strstr(err.message, "cycle"));
		} else {
			assert_int_equal(status, TCB_OK);
		}
		tcb_ptx_tokens_destroy(t);
	}
	assert_true(cycles > 20 && cycles < 180);
}

static void dead_tokens_go_and_order_stays(void **state)
{
	struct tcb_rng rng;
	unsigned gone = 0;

	(void)state;
	tcb_rng_init(&rng, 78);
	for (unsigned round = 0; round < 60; round++) {
		struct tcb_ptx_tokens *t = create();
		uint8_t before[NODES][NODES];
		uint32_t removed;

		for (unsigned i = 0; i < NODES; i++) {
			struct tcb_ptx_token_what load = access_of(TCB_PTX_TOKEN_LOAD, i, 0, 4);
			unsigned kind = (unsigned)tcb_rng_below(&rng, 4), takes = (unsigned)tcb_rng_below(&rng, 3) + 1;
			uint32_t token = kind == 0  ? tcb_ptx_token_make(t)
					 : kind < 3 ? tcb_ptx_token_join(t, NULL, 0)
						    : tcb_ptx_token_op(t, &load, TCB_PTX_NO_TOKEN);

			for (unsigned k = 0; k < takes && i && kind; k++)
				tcb_ptx_token_take(t, token, (uint32_t)tcb_rng_below(&rng, i));
		}
		check(t);
		for (unsigned a = 0; a < NODES; a++)
			for (unsigned b = 0; b < NODES; b++)
				before[a][b] = (uint8_t)tcb_ptx_token_before(t, a, b);
		removed = tcb_ptx_tokens_prune(t);
		gone += removed;
		check(t);
		for (unsigned a = 0; a < NODES; a++) {
			int is_op = tcb_ptx_token_what(t, a)->kind == TCB_PTX_TOKEN_LOAD, needed = is_op;

			if (is_op)
				assert_false(tcb_ptx_token_is_gone(t, a));
			for (unsigned b = 0; b < NODES; b++) {
				if (tcb_ptx_token_what(t, b)->kind != TCB_PTX_TOKEN_LOAD)
					continue;
				needed |= before[a][b];
				if (is_op)
					assert_int_equal(tcb_ptx_token_before(t, a, b), before[a][b]);
			}
			if (!needed)
				assert_true(tcb_ptx_token_is_gone(t, a));
		}
		assert_int_equal(tcb_ptx_tokens_prune(t), 0);
		tcb_ptx_tokens_destroy(t);
	}
	assert_true(gone > 100);
}

static void neighbours_without_order_could_be_one(void **state)
{
	struct tcb_ptx_token_what low = access_of(TCB_PTX_TOKEN_LOAD, 1, 0, 4),
				  high = access_of(TCB_PTX_TOKEN_LOAD, 1, 4, 4);
	struct tcb_ptx_token_what acquire = high;
	struct tcb_ptx_tokens *t = create();
	uint32_t begin = tcb_ptx_token_make(t), a = tcb_ptx_token_op(t, &low, begin);

	(void)state;
	tcb_ptx_token_op(t, &high, begin);
	tcb_ptx_token_op(t, &high, a); /* ordered: no */
	acquire.order = TCB_PTX_ACQUIRE;
	acquire.scope = TCB_PTX_CTA;
	tcb_ptx_token_op(t, &acquire, begin); /* not weak: no */
	check(t);
	assert_int_equal(tcb_ptx_tokens_fusible(t, NULL, NULL), 1);
	tcb_ptx_tokens_destroy(t);
}

/* --- orders and scopes --- */

/* Whether the opcode table has the instruction, and for sm_80. */
static int is_in_the_table(enum tcb_ptx_token_kind kind, enum tcb_ptx_word order, enum tcb_ptx_word scope)
{
	struct tcb_ptx_target sm_80 = { 80, 0 }, needs;
	struct tcb_str text = { 0 };
	struct tcb_ptx_module *module;
	struct tcb_error err;
	unsigned version;
	int ok;

	tcb_str_add(&text,
		    ".version 9.0\n.target sm_90\n.address_size 64\n.entry k(.param .u64 p)\n{\n\t.reg .b32 %r<2>;\n"
		    "\t.reg .b64 %d<2>;\n\tld.param.u64 %d0, [p];\n\tmov.u32 %r0, 1;\n\t");
	tcb_str_add(&text, kind == TCB_PTX_TOKEN_LOAD    ? "ld"
			   : kind == TCB_PTX_TOKEN_STORE ? "st"
			   : kind == TCB_PTX_TOKEN_FENCE ? "fence"
							 : "atom");
	if (order)
		tcb_str_addf(&text, ".%s", tcb_ptx_word_text(order));
	if (scope)
		tcb_str_addf(&text, ".%s", tcb_ptx_word_text(scope));
	tcb_str_add(&text, kind == TCB_PTX_TOKEN_LOAD    ? ".global.u32 %r1, [%d0];"
			   : kind == TCB_PTX_TOKEN_STORE ? ".global.u32 [%d0], %r0;"
			   : kind == TCB_PTX_TOKEN_FENCE ? ";"
							 : ".global.add.u32 %r1, [%d0], %r0;");
	tcb_str_add(&text, "\n\tret;\n}\n");
	ok = tcb_ptx_parse("order", text.data, text.length, &module, &err) == TCB_OK;
	if (ok) {
		ok = tcb_ptx_verify(module, &err) == TCB_OK;
		tcb_ptx_word_needs(scope, &version, &needs);
		ok = ok && (!needs.sm || tcb_ptx_target_allows(&sm_80, &needs));
		tcb_ptx_module_destroy(module);
	}
	tcb_str_fini(&text);
	return ok;
}

static void orders_and_scopes_are_those_of_ptx(void **state)
{
	static const enum tcb_ptx_word orders[] = {
		TCB_PTX_NO_WORD, TCB_PTX_WEAK,    TCB_PTX_RELAXED, TCB_PTX_ACQUIRE,
		TCB_PTX_RELEASE, TCB_PTX_ACQ_REL, TCB_PTX_SC,      TCB_PTX_VOLATILE
	};
	static const enum tcb_ptx_word scopes[] = { TCB_PTX_NO_WORD, TCB_PTX_CTA, TCB_PTX_CLUSTER, TCB_PTX_GPU,
						    TCB_PTX_SYS };
	static const enum tcb_ptx_token_kind kinds[] = { TCB_PTX_TOKEN_LOAD, TCB_PTX_TOKEN_STORE, TCB_PTX_TOKEN_ATOMIC,
							 TCB_PTX_TOKEN_FENCE };
	struct tcb_ptx_target sm_80 = { 80, 0 };
	unsigned legal = 0, illegal = 0;

	(void)state;
	for (int k = 0; k < 4; k++)
		for (int o = 0; o < 8; o++)
			for (int s = 0; s < 5; s++) {
				const char *why = tcb_ptx_token_illegal(kinds[k], orders[o], scopes[s], &sm_80);
				int table;

				/* the table lets fence leave its order out, which means acq_rel */
				if (kinds[k] == TCB_PTX_TOKEN_FENCE && orders[o] == TCB_PTX_NO_WORD)
					continue;
				table = is_in_the_table(kinds[k], orders[o], scopes[s]);
				if (table != !why)
					fail_msg("kind %d, order %s, scope %s: %s", kinds[k],
						 orders[o] ? tcb_ptx_word_text(orders[o]) : "none",
						 scopes[s] ? tcb_ptx_word_text(scopes[s]) : "none",
						 why ? why : "taken here, refused by the table");
				legal += !why;
				illegal += why != NULL;
			}
	print_message("%u combinations legal, %u not\n", legal, illegal);
	assert_true(legal > 20 && illegal > 50);
}

static void scopes_reach_as_far_as_they_say(void **state)
{
	(void)state;
	assert_true(tcb_ptx_scopes_meet(TCB_PTX_CTA, TCB_PTX_CTA, TCB_PTX_SAME_BLOCK));
	assert_false(tcb_ptx_scopes_meet(TCB_PTX_CTA, TCB_PTX_GPU, TCB_PTX_SAME_DEVICE));
	assert_true(tcb_ptx_scopes_meet(TCB_PTX_GPU, TCB_PTX_SYS, TCB_PTX_SAME_DEVICE));
	assert_false(tcb_ptx_scopes_meet(TCB_PTX_GPU, TCB_PTX_SYS, TCB_PTX_SAME_SYSTEM));
	assert_true(tcb_ptx_scopes_meet(TCB_PTX_CLUSTER, TCB_PTX_GPU, TCB_PTX_SAME_CLUSTER));
	assert_false(tcb_ptx_scopes_meet(TCB_PTX_WEAK, TCB_PTX_SYS, TCB_PTX_SAME_BLOCK));
}

static void an_illegal_operation_is_named(void **state)
{
	struct tcb_ptx_token_what load = access_of(TCB_PTX_TOKEN_LOAD, 1, 0, 4);
	struct tcb_ptx_ins ins = { .line = 17 };
	struct tcb_ptx_tokens *t = create();
	struct tcb_error err;

	(void)state;
	load.order = TCB_PTX_RELEASE;
	load.scope = TCB_PTX_GPU;
	load.ins = &ins;
	tcb_ptx_token_op(t, &load, tcb_ptx_token_make(t));
	assert_int_equal(tcb_ptx_tokens_check(t, NULL, &err), TCB_E_FAILED);
	assert_string_equal(err.message, "line 17: a load releases nothing");
	tcb_ptx_tokens_destroy(t);
}

/* --- kernels --- */

static const struct {
	const char *name, *text;
	unsigned redundant;
} cases[] = {
#define CASE_ROW(name, barriers, redundant, race, body) { #name, HAZARD_KERNEL(body), redundant },
	HAZARD_CASES(CASE_ROW)
#undef CASE_ROW
};

/* What the hazards call redundant is proved again by the graph, and nothing more can be. */
static void removal_is_proved_by_order(void **state)
{
	unsigned proved = 0, refused = 0;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct tcb_ptx_module *module;
		struct tcb_ptx_function *f;
		struct tcb_ptx_hazards *hazards;
		struct tcb_ptx_affine *affine;
		struct tcb_ptx_ins *const *found;
		struct tcb_error err;
		uint32_t count;

		if (strstr(cases[i].text, "LOOP")) /* one round is not enough to judge those */
			continue;
		if (tcb_ptx_parse("test", cases[i].text, strlen(cases[i].text), &module, &err) != TCB_OK)
			fail_msg("%s", err.message);
		f = module->functions;
		assert_int_equal(tcb_ptx_affine_create(f, NULL, &affine, &err), TCB_OK);
		assert_int_equal(tcb_ptx_hazards_create(affine, f, &hazards, &err), TCB_OK);
		assert_int_equal(tcb_ptx_redundant_barriers(hazards, &found, &count, &err), TCB_OK);
		assert_int_equal(count, cases[i].redundant);
		if (prove_removal(hazards, found, count, &err) != TCB_OK)
			fail_msg("%s: %s", cases[i].name, err.message);
		proved += count;
		for (struct tcb_ptx_block *block = f->first; block; block = block->next)
			for (struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next) {
				struct tcb_ptx_ins *more[8] = { ins };
				uint32_t all = 1;

				if (ins->op != TCB_PTX_OP_BAR_SYNC || ins->operand_count > 1)
					continue;
				for (uint32_t k = 0; k < count; k++)
					if (found[k] == ins)
						all = 0;
				for (uint32_t k = 0; k < count && all; k++)
					more[all++] = found[k];
				if (!all)
					continue;
				refused++;
				if (prove_removal(hazards, more, all, &err) == TCB_OK)
					fail_msg("%s: one more barrier could go, by the graph", cases[i].name);
				assert_non_null(strstr(err.message, "would lose their order"));
			}
		tcb_ptx_hazards_destroy(hazards);
		tcb_ptx_affine_destroy(affine);
		tcb_ptx_module_destroy(module);
	}
	print_message("%u removals proved, %u refused\n", proved, refused);
	assert_true(proved >= 8 && refused >= 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_chain_orders_and_a_fork_does_not),
		cmocka_unit_test(order_and_races_are_those_of_the_closure),
		cmocka_unit_test(cycles_are_rejected_and_named),
		cmocka_unit_test(dead_tokens_go_and_order_stays),
		cmocka_unit_test(neighbours_without_order_could_be_one),
		cmocka_unit_test(orders_and_scopes_are_those_of_ptx),
		cmocka_unit_test(scopes_reach_as_far_as_they_say),
		cmocka_unit_test(an_illegal_operation_is_named),
		cmocka_unit_test(removal_is_proved_by_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
