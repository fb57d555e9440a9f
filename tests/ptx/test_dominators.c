/* SPDX-License-Identifier: MIT
 *
 * Dominators, post-dominators and loops of random control-flow graphs against
 * what their definitions say, found by removing blocks; and their time on
 * functions of 100,000 instructions.
 */
#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "ptx/analyse/analyses.h"
#include "ptx/ir/opcodes.h"

#include "ptx/random_cfg.h"

enum { BLOCKS_MAX = 64 };

/* Which blocks are reached from FROM without entering WITHOUT. */
static void reach(const struct tcb_ptx_block *from, const struct tcb_ptx_block *without, uint8_t *seen)
{
	if (from == without || seen[from->number])
		return;
	seen[from->number] = 1;
	for (uint32_t i = 0; i < from->succ_count; i++)
		reach(from->succ[i], without, seen);
}

static int is_end(const struct tcb_ptx_block *block)
{
	const struct tcb_ptx_ins *end = tcb_ptx_terminator(block);

	return !block->succ_count || (end && (end->op == TCB_PTX_OP_EXIT || end->op == TCB_PTX_OP_RET));
}

/* Whether an end is reached from FROM without WITHOUT. */
static int reaches_end(const struct tcb_ptx_function *function, const struct tcb_ptx_block *from,
		       const struct tcb_ptx_block *without)
{
	uint8_t seen[BLOCKS_MAX] = { 0 };

	reach(from, without, seen);
	for (const struct tcb_ptx_block *block = function->first; block; block = block->next)
		if (seen[block->number] && is_end(block))
			return 1;
	return 0;
}

/* A dominates B by definition. */
static int brute_dominates(const struct tcb_ptx_function *function, const struct tcb_ptx_block *a,
			   const struct tcb_ptx_block *b)
{
	uint8_t seen[BLOCKS_MAX] = { 0 };

	reach(function->first, a, seen);
	return !seen[b->number];
}

/* The nearest of B's strict dominators is dominated by all the others. */
static const struct tcb_ptx_block *brute_idom(const struct tcb_ptx_function *function, const struct tcb_ptx_block *b)
{
	const struct tcb_ptx_block *best = NULL;

	for (const struct tcb_ptx_block *a = function->first; a; a = a->next)
		if (a != b && a->order != UINT32_MAX && brute_dominates(function, a, b) &&
		    (!best || brute_dominates(function, best, a)))
			best = a;
	return best;
}

static const struct tcb_ptx_block *brute_ipdom(const struct tcb_ptx_function *function, const struct tcb_ptx_block *b)
{
	const struct tcb_ptx_block *best = NULL;

	for (const struct tcb_ptx_block *a = function->first; a; a = a->next)
		if (a != b && a->order != UINT32_MAX && !reaches_end(function, b, a) &&
		    (!best || !reaches_end(function, a, best)))
			best = a;
	return best;
}

/* Whether BLOCK lies in the natural loop of HEADER. */
static int brute_in_loop(const struct tcb_ptx_function *function, const struct tcb_ptx_block *header,
			 const struct tcb_ptx_block *block)
{
	int found = 0;

	for (uint32_t i = 0; i < header->pred_count; i++) {
		const struct tcb_ptx_block *latch = header->pred[i];
		uint8_t seen[BLOCKS_MAX] = { 0 };

		if (latch->order == UINT32_MAX || !brute_dominates(function, header, latch))
			continue;
		reach(block, header, seen);
		found |= block == header || seen[latch->number];
	}
	return found;
}

static void check_loops(const struct tcb_ptx_function *function)
{
	for (const struct tcb_ptx_block *block = function->first; block; block = block->next) {
		unsigned inside = 0, depth = 0;

		if (block->order == UINT32_MAX) {
			assert_null(block->loop);
			continue;
		}
		for (const struct tcb_ptx_loop *loop = block->loop; loop; loop = loop->parent, depth++)
			assert_true(brute_in_loop(function, loop->header, block));
		for (const struct tcb_ptx_block *header = function->first; header; header = header->next)
			if (header->order != UINT32_MAX)
				inside += brute_in_loop(function, header, block);
		assert_int_equal(depth, inside);
		assert_int_equal(block->loop ? block->loop->depth : 0, depth);
	}
	for (const struct tcb_ptx_loop *loop = function->loops; loop; loop = loop->next) {
		if (loop->latch)
			assert_true(loop->latch->succ[0] == loop->header ||
				    loop->latch->succ[loop->latch->succ_count - 1] == loop->header);
		if (loop->exit)
			assert_false(brute_in_loop(function, loop->header, loop->exit));
	}
}

static void random_graphs_agree_with_the_definitions(void **state)
{
	struct tcb_rng rng;
	unsigned dominators = 0, posts = 0, loops = 0, endless = 0;

	(void)state;
	tcb_rng_init(&rng, 1);
	for (unsigned round = 0; round < 400; round++) {
		struct tcb_str text = { 0 };
		struct tcb_ptx_dominators d;
		struct tcb_ptx_function *function;
		struct tcb_ptx_module *module;
		int all_end = 1;

		random_function(&rng, 2 + (unsigned)tcb_rng_below(&rng, 14), &text);
		module = random_parse(&text);
		function = module->functions;
		assert_true(function->block_count <= BLOCKS_MAX);
		assert_int_equal(tcb_ptx_dominators(function, &d, NULL), TCB_OK);
		assert_int_equal(tcb_ptx_loops(function, &d, NULL), TCB_OK);
		for (const struct tcb_ptx_block *b = function->first; b; b = b->next)
			all_end &= b->order == UINT32_MAX || reaches_end(function, b, NULL);
		endless += !all_end;
		for (const struct tcb_ptx_block *b = function->first; b; b = b->next) {
			if (b->order == UINT32_MAX) {
				assert_null(d.idom[b->number]);
				assert_null(d.ipdom[b->number]);
				assert_false(tcb_ptx_dominates(&d, function->first, b));
				continue;
			}
			assert_ptr_equal(d.idom[b->number], brute_idom(function, b));
			dominators += d.idom[b->number] != NULL;
			for (const struct tcb_ptx_block *a = function->first; a; a = a->next)
				if (a->order != UINT32_MAX) {
					assert_int_equal(tcb_ptx_dominates(&d, a, b), brute_dominates(function, a, b));
					if (all_end)
						assert_int_equal(tcb_ptx_post_dominates(&d, a, b),
								 !reaches_end(function, b, a));
				}
			if (all_end) {
				assert_ptr_equal(d.ipdom[b->number], brute_ipdom(function, b));
				posts += d.ipdom[b->number] != NULL;
			}
		}
		check_loops(function);
		for (const struct tcb_ptx_loop *loop = function->loops; loop; loop = loop->next)
			loops++;
		tcb_ptx_module_destroy(module);
		tcb_str_fini(&text);
	}
	print_message("%u dominators, %u post-dominators, %u loops; %u graphs with blocks that reach no end\n",
		      dominators, posts, loops, endless);
	assert_true(dominators > 500 && posts > 100 && loops > 100 && endless > 20);
}

/* A builder's loop: latch and exit are found, and the loop inside knows its parent. */
static void a_nest_has_headers_latches_and_exits(void **state)
{
	static const char text[] = "\t.reg .b32 %r<4>;\n\t.reg .pred %p<3>;\n\tmov.b32 %r0, 0;\n"
				   "OUTER:\n\tmov.b32 %r1, 0;\n"
				   "INNER:\n\tadd.s32 %r1, %r1, 1;\n\tsetp.lt.s32 %p0, %r1, 5;\n\t@%p0 bra INNER;\n"
				   "\tadd.s32 %r0, %r0, 1;\n\tsetp.lt.s32 %p1, %r0, 5;\n\t@%p1 bra OUTER;\n"
				   "\tret;\n}\n";
	struct tcb_str all = { 0 };
	struct tcb_ptx_module *module;
	struct tcb_ptx_function *function;
	struct tcb_ptx_dominators d;
	const struct tcb_ptx_loop *outer, *inner;

	(void)state;
	random_head(&all);
	tcb_str_add(&all, text);
	module = random_parse(&all);
	function = module->functions;
	assert_int_equal(tcb_ptx_dominators(function, &d, NULL), TCB_OK);
	assert_int_equal(tcb_ptx_loops(function, &d, NULL), TCB_OK);
	outer = function->loops;
	inner = outer->next;
	assert_null(inner->next);
	assert_ptr_equal(inner->parent, outer);
	assert_string_equal(outer->header->label, "OUTER");
	assert_string_equal(inner->header->label, "INNER");
	assert_ptr_equal(inner->latch, inner->header);
	assert_ptr_equal(inner->exit, outer->latch);
	assert_ptr_equal(outer->exit, function->last);
	assert_int_equal(inner->depth, 2);
	tcb_ptx_module_destroy(module);
	tcb_str_fini(&all);
}

/* Whoever does not trap meets where it would without the trap, also when a call comes before it. */
static void a_trap_is_no_way_to_the_end(void **state)
{
	static const char text[] = "\t.reg .b32 %r<4>;\n\t.reg .pred %p<3>;\n\tmov.u32 %r0, %tid.x;\n"
				   "\tsetp.eq.u32 %p0, %r0, 0;\n\tsetp.eq.u32 %p1, %r0, 99;\n\t@%p0 bra ONE;\n"
				   "\t@%p1 bra BAD;\n\tmov.b32 %r1, 2;\n\tbra MEET;\n"
				   "ONE:\n\tmov.b32 %r1, 1;\n\tbra MEET;\n"
				   "BAD:\n\tmov.b32 %r1, 3;\nWORSE:\n\ttrap;\n"
				   "MEET:\n\tret;\n}\n";
	struct tcb_str all = { 0 };
	struct tcb_ptx_module *module;
	struct tcb_ptx_function *function;
	struct tcb_ptx_dominators d;

	(void)state;
	random_head(&all);
	tcb_str_add(&all, text);
	module = random_parse(&all);
	function = module->functions;
	assert_int_equal(tcb_ptx_dominators(function, &d, NULL), TCB_OK);
	assert_ptr_equal(d.ipdom[function->first->number], function->last);
	for (const struct tcb_ptx_block *block = function->first; block; block = block->next)
		if (strcmp(block->label ? block->label : "", "BAD") == 0)
			assert_null(d.ipdom[block->number]);
	tcb_ptx_module_destroy(module);
	tcb_str_fini(&all);
}

static void time_grows_with_the_text(void **state)
{
	(void)state;
	for (unsigned shape = 0; shape < BIG_SHAPES; shape++) {
		struct tcb_str text = { 0 };
		struct tcb_ptx_module *module;
		struct tcb_ptx_dominators d;
		double seconds;

		big_function((enum big_shape)shape, 100000, &text);
		module = random_parse(&text);
		seconds = cpu_seconds();
		assert_int_equal(tcb_ptx_dominators(module->functions, &d, NULL), TCB_OK);
		assert_int_equal(tcb_ptx_loops(module->functions, &d, NULL), TCB_OK);
		seconds = cpu_seconds() - seconds;
		print_message("shape %u, %u blocks: %.3f s\n", shape, module->functions->block_count, seconds);
		assert_true(seconds < 1);
		tcb_ptx_module_destroy(module);
		tcb_str_fini(&text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_graphs_agree_with_the_definitions),
		cmocka_unit_test(a_nest_has_headers_latches_and_exits),
		cmocka_unit_test(a_trap_is_no_way_to_the_end),
		cmocka_unit_test(time_grows_with_the_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
