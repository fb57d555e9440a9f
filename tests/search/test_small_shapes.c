/* SPDX-License-Identifier: MIT
 *
 * The small shapes that CPU candidates are verified on: whatever geometry of
 * whatever op's space, at least one of them has a plan, and where the geometry
 * cuts k into blocks, one of those that do is cut, too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/space.h"
#include "search/verify.h"

enum { SAMPLE = 401, THREADS = 3 };

struct tally {
	size_t tried, in_blocks, threaded;
};

/* The geometry that verify.c runs at SHAPE: as it is, or fitted. */
static int plan_at(const struct tcb_op *op, const struct tcb_problem *problem, const struct tcb_shape *shape,
		   const struct tcb_geometry *geometry, struct tcb_plan *plan)
{
	struct tcb_problem small = *problem;
	struct tcb_geometry fitted = *geometry;
	small.shape = *shape;
	if (op->plan(&small, geometry, plan, NULL) == TCB_OK)
		return 1;
	tcb_verify_fit(&problem->shape, shape, &fitted);
	return op->plan(&small, &fitted, plan, NULL) == TCB_OK;
}

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
		if (!plan_at(op, problem, &shapes[i], geometry, &plan))
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
	if (strcmp(op->shape_form, "MxN") == 0)
		shape.k = 0;
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
				try_space(ops[i], (enum tcb_contract)contract, shapes[s], &tally);
		assert_true(tally.tried > 0);
		all.in_blocks += tally.in_blocks;
		all.threaded += tally.threaded;
	}
	print_message("%zu with blocks of k, %zu with threads\n", all.in_blocks, all.threaded);
	assert_true(all.in_blocks > SAMPLE && all.threaded > SAMPLE);
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
	/* A GPU's tiles stay what they are compiled for. */
	geometry.tile[TCB_MACRO].n = 256;
	geometry.tile[TCB_MIDI].n = 64;
	geometry.knob[TCB_KNOB_THREADS] = TCB_KNOB_UNSET;
	tcb_verify_fit(&from, &to, &geometry);
	assert_int_equal(geometry.tile[TCB_MIDI].n, 64);
	assert_int_equal(geometry.tile[TCB_MACRO].n, 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_op), cmocka_unit_test(smaller_tiles) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
