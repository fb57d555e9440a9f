/* SPDX-License-Identifier: MIT
 *
 * The small shapes that CPU candidates are verified on: whatever geometry of
 * whatever op's space, at least one of them has a plan, and where the geometry
 * cuts k into blocks, one of those that do is cut, too.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "kernels/space.h"
#include "shape_for.h"
#include "worker/verify.h"

enum { SAMPLE = 401, THREADS = 3 };

struct tally {
	size_t tried, in_blocks, threaded;
};

static void try_geometry(const struct tcb_op *op, const struct tcb_problem *problem,
			 const struct tcb_geometry *geometry, struct tally *tally)
{
	struct tcb_shape shapes[TCB_VERIFY_SHAPES_MAX];
	const size_t count = tcb_verify_shapes(op, &problem->shape, geometry, shapes);
	const int in_blocks =
		geometry->tile[TCB_MIDI].k<problem->shape.k, threaded = geometry->knob[TCB_KNOB_THREADS]> 1;
	int plans = 0, cut = 0, shared = 0;
	for (size_t i = 0; i < count; i++) {
		struct tcb_plan plan;
		if (tcb_verify_plan(problem, geometry, &shapes[i], &plan, NULL) != TCB_OK)
			continue;
		plans++;
		cut |= plan.geometry.tile[TCB_MIDI].k < shapes[i].k;
		shared |= plan.threads > 1;
	}
	if (!plans || (in_blocks && !cut) || (threaded && !shared)) {
		char text[TCB_GEOMETRY_TEXT_MAX];
		tcb_geometry_print(geometry, text);
		fail_msg("%s, %s: %s", op->name, text,
			 !plans              ? "no small shape has a plan"
			 : shared < threaded ? "no small shape has work for a second thread"
					     : "no small shape is cut into blocks of k");
	}
	tally->tried++;
	tally->in_blocks += (size_t)in_blocks;
	tally->threaded += (size_t)threaded;
}

static void try_space(const struct tcb_op *op, enum tcb_contract contract, struct tcb_shape shape, struct tally *tally)
{
	const struct tcb_target target = { .kind = TCB_TARGET_CPU,
					   .isa_mask = 0x3f, /* whatever this machine has: nothing runs */
					   .threads = THREADS,
					   .l1d_bytes = 48 << 10,
					   .l2_bytes = 2 << 20 };
	struct tcb_problem problem;
	struct tcb_space *space;
	shape = shape_for(op, shape);
	/* Some ops and contracts have no kernels for a CPU. */
	if (tcb_problem_init(op, contract, &shape, &problem, NULL) != TCB_OK ||
	    tcb_space_create(op, &problem, &target, 0, &space, NULL) != TCB_OK)
		return;
	for (size_t i = 0; i < space->count; i += space->count / SAMPLE + 1)
		try_geometry(op, &problem, &space->geometries[i], tally);
	tcb_space_destroy(space);
}

static void every_op(void **state)
{
	static const struct tcb_shape shapes[] = { { 64, 1024, 4096 }, { 3, 37, 1024 }, { 1, 1024, 2048 } };
	size_t count;
	const struct tcb_op *const *ops = tcb_ops(&count);
	struct tally all = { 0 };
	(void)state;
	for (size_t i = 0; i < count; i++) {
		struct tally tally = { 0 };
		for (int contract = 0; contract < TCB_CONTRACT_COUNT; contract++)
			for (size_t s = 0; s < sizeof(shapes) / sizeof(*shapes); s++)
				if (!ops[i]->format ||
				    s == i % (sizeof(shapes) / sizeof(*shapes))) /* formats are many */
					try_space(ops[i], (enum tcb_contract)contract, shapes[s], &tally);
		assert_true(tally.tried > 0);
		all.in_blocks += tally.in_blocks;
		all.threaded += tally.threaded;
	}
	print_message("%zu with blocks of k, %zu with threads\n", all.in_blocks, all.threaded);
	assert_true(all.in_blocks > SAMPLE && all.threaded > SAMPLE);
}

/* Candidates of the whole space that no small shape has a plan for: none, whatever the shape and the threads. */
static size_t left_out(const struct tcb_op *op, const struct tcb_shape *shape, unsigned threads, size_t *tried)
{
	const struct tcb_target target = {
		.kind = TCB_TARGET_CPU, .isa_mask = 0x7, .threads = threads, .l1d_bytes = 48 << 10, .l2_bytes = 2 << 20
	};
	struct tcb_problem problem;
	struct tcb_space *space;
	size_t without = 0;
	if (tcb_problem_init(op, op->default_contract, shape, &problem, NULL) != TCB_OK)
		return 0;
	if (tcb_space_create(op, &problem, &target, 0, &space, NULL) != TCB_OK)
		fail_msg("%s has no space", op->name);
	for (size_t i = 0; i < space->count; i++) {
		struct tcb_shape shapes[TCB_VERIFY_SHAPES_MAX];
		struct tcb_plan plan;
		size_t count = tcb_verify_shapes(op, shape, &space->geometries[i], shapes);
		while (count > 0 &&
		       tcb_verify_plan(&problem, &space->geometries[i], &shapes[count - 1], &plan, NULL) != TCB_OK)
			count--;
		without += count == 0;
	}
	*tried += space->count;
	tcb_space_destroy(space);
	return without;
}

static void nothing_is_left_out(void **state)
{
	static const struct tcb_shape shapes[] = { { 511, 17, 0 },  { 4096, 33, 0 }, { 1, 1, 0 },    { 3, 1, 0 },
						   { 5, 7, 0 },     { 3, 4097, 0 },  { 31, 31, 0 },  { 512, 257, 0 },
						   { 1, 32000, 0 }, { 1, 7, 256 },   { 33, 17, 256 } };
	static const unsigned threads[] = { 2, 8 };
	size_t op_count, tried = 0;
	const struct tcb_op *const *ops = tcb_ops(&op_count);
	(void)state;
	for (size_t i = 0; i < op_count; i++)
		for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
			for (size_t t = 0; t < sizeof threads / sizeof *threads; t++)
				if (left_out(ops[i], &shapes[s], threads[t], &tried) > 0)
					fail_msg("%s at %zux%zux%zu with %u threads", ops[i]->name, shapes[s].m,
						 shapes[s].n, shapes[s].k, threads[t]);
	print_message("%zu candidates, each with a small shape\n", tried);
	assert_true(tried > 100000);
}

/* Macro tiles for threads, however few rows there are. */
static void smaller_tiles(void **state)
{
	const struct tcb_shape from = { 1, 1024, 1024 }, to = { 1, 50, 256 };
	struct tcb_geometry geometry;
	(void)state;
	tcb_geometry_init(&geometry);
	geometry.tile[TCB_MACRO] = (struct tcb_tile){ 1, 256, 1024 };
	geometry.tile[TCB_MIDI] = (struct tcb_tile){ 1, 64, 512 };
	geometry.tile[TCB_MICRO] = (struct tcb_tile){ 1, 8, 256 };
	geometry.knob[TCB_KNOB_THREADS] = 4;
	tcb_verify_fit(&from, &to, &geometry);
	assert_int_equal(geometry.tile[TCB_MIDI].n, 16);
	assert_int_equal(geometry.tile[TCB_MACRO].n, 16);
	assert_int_equal(geometry.tile[TCB_MIDI].k, 256);
	assert_int_equal(geometry.tile[TCB_MACRO].k, 256);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_op), cmocka_unit_test(nothing_is_left_out),
					    cmocka_unit_test(smaller_tiles) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
