/* SPDX-License-Identifier: MIT
 *
 * The pruned enumeration against a brute-force walk of the same product, the
 * default's membership, look-up, and the time that a large product takes.
 */
#include "instrumented.h"
#include "kernels/default_rules.h"
#include "kernels/space.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cmocka_all.h"
#include "shape_for.h"
#include "toy_op.h"

static struct tcb_space *create(const struct tcb_op *op, const struct tcb_problem *problem,
				const struct tcb_target *target, int any_size)
{
	struct tcb_space *space;
	struct tcb_error err;
	if (tcb_space_create(op, problem, target, any_size, &space, &err) != TCB_OK)
		fail_msg("%s", err.message);
	return space;
}

enum { SEARCHED = 97 };

/* Every point of the product, judged whole. */
static void compare_with_brute_force(const struct tcb_op *op, const struct tcb_problem *problem,
				     const struct tcb_target *target, int any_size)
{
	struct tcb_space *space = create(op, problem, target, any_size);
	struct tcb_geometry geometry;
	size_t legal = 0;
	tcb_op_standard(problem, target, &geometry);
	for (size_t raw = 0; raw < space->raw_count; raw++) {
		size_t rest = raw;
		for (size_t a = space->axis_count; a-- > 0; rest /= space->axes[a].count) {
			struct tcb_field field = { space->axes[a].kind, space->axes[a].which };
			tcb_field_set(field, space->axes[a].values[rest % space->axes[a].count], &geometry);
		}
		if (tcb_constraint_violated(op, problem, target, &geometry, any_size, NULL)) {
			/* The legal ones leave no room for it: some are asked for because of the question. */
			if (raw % SEARCHED == 0)
				assert_int_equal(tcb_space_find(space, &geometry), SIZE_MAX);
			continue;
		}
		assert_true(legal < space->count);
		assert_true(tcb_geometry_equal(&space->geometries[legal], &geometry));
		assert_int_equal(tcb_space_find(space, &geometry), legal);
		legal++;
	}
	int default_is_extra = space->default_index == legal;
	assert_int_equal(space->count, legal + (size_t)default_is_extra);
	(void)tcb_default_geometry(problem, target, &geometry);
	assert_true(tcb_geometry_equal(&space->geometries[space->default_index], &geometry));
	assert_int_equal(tcb_space_find(space, &geometry), space->default_index);
	tcb_space_destroy(space);
}

/* What no axis reaches is found once it is there, and hides nothing. */
static void test_added_ones_are_found(void **state)
{
	struct tcb_problem problem = toy_problem;
	struct tcb_space *space = create(&toy_op, &problem, &toy_target, 0);
	const size_t count = space->count;
	struct tcb_geometry added[2] = { space->geometries[count / 2], space->geometries[count - 1] };
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		added[i].knob[TCB_KNOB_PASSES] = TCB_PASSES_ALL;
		assert_int_equal(tcb_space_find(space, &added[i]), SIZE_MAX);
		assert_int_equal(tcb_space_add(space, &added[i], NULL), TCB_OK);
		assert_int_equal(space->count, count + i + 1);
	}
	assert_int_equal(tcb_space_find(space, &added[0]), count);
	assert_int_equal(tcb_space_find(space, &added[1]), count + 1);
	for (size_t i = 0; i < count; i += 7)
		assert_int_equal(tcb_space_find(space, &space->geometries[i]), i);
	assert_int_equal(tcb_space_find(space, &space->geometries[space->default_index]), space->default_index);
	tcb_space_destroy(space);
}

static void test_brute_force_agrees(void **state)
{
	(void)state;
	struct tcb_target narrow = toy_target;
	struct tcb_problem problem = toy_problem;
	compare_with_brute_force(&toy_op, &problem, &toy_target, 0);
	compare_with_brute_force(&toy_op, &problem, &toy_target, 1);
	narrow.isa_mask = 1u << TCB_ISA_SCALAR;
	narrow.threads = 1;
	compare_with_brute_force(&toy_op, &problem, &narrow, 0);
	problem.shape = (struct tcb_shape){ 3, 513, 64 };
	problem.contract = TCB_CONTRACT_Q8;
	struct tcb_space *space;
	struct tcb_error err;
	/* The toy's default is scalar, and there is no scalar q8 kernel: legal points, but an illegal default. */
	assert_int_equal(tcb_space_create(&toy_op, &problem, &toy_target, 0, &space, &err), TCB_E_ILLEGAL);
	assert_null(space);
	assert_non_null(strstr(err.message, "default geometry of op toy is illegal: "));
}

static void test_every_op_agrees_with_brute_force(void **state)
{
	(void)state;
	size_t count;
	const struct tcb_op *const *ops = tcb_ops(&count);
	static const struct tcb_target targets[] = {
		{ .kind = TCB_TARGET_CPU, .isa_mask = 1u << TCB_ISA_SCALAR, .threads = 1 },
		{ .kind = TCB_TARGET_CPU, .isa_mask = 0x3f, .threads = 2, .l1d_bytes = 49152, .l2_bytes = 2 << 20 },
	};
	for (size_t i = 0, alike = 0; i < count; i++) {
		/* Ops of all formats share a space: those of the first three have both sizes of blocks, some others
		 * follow. */
		alike = i > 0 && tcb_op_cpu(ops[i])->space == tcb_op_cpu(ops[i - 1])->space ? alike + 1 : 0;
		if (alike >= 3 && alike % 5)
			continue;
		/* The other one is for the next op, which mostly shares the space. */
		const struct tcb_shape shapes[] = { shape_for(ops[i], (struct tcb_shape){ 1, 3, 256 }),
						    shape_for(ops[i], (struct tcb_shape){ 1, 65, 512 }) };
		struct tcb_problem problem;
		struct tcb_error err;
		assert_int_equal(tcb_problem_init(ops[i], ops[i]->default_contract, &shapes[i % 2], &problem, &err),
				 TCB_OK);
		/* The larger space takes long: of types it is the first one's. */
		const int is_small = test_leaves_out(i) || alike >= (ops[i]->format ? 3 : 1);
		for (size_t t = 0; t < (is_small ? 1 : 2); t++)
			compare_with_brute_force(ops[i], &problem, &targets[t], 0);
	}
}

/* Whatever a processor has, and however odd the shape, the default geometry is legal and has a plan. */
static void test_defaults_are_legal(void **state)
{
	enum { SCALAR = 1u << TCB_ISA_SCALAR, AVX2 = SCALAR | 1u << TCB_ISA_AVX2 };
	enum { AVX512 = AVX2 | 1u << TCB_ISA_AVX512, VNNI = AVX512 | 1u << TCB_ISA_AVX512VNNI };
	static const uint32_t masks[] = { SCALAR, AVX2, AVX512, VNNI, VNNI | 1u << TCB_ISA_AMX };
	static const struct tcb_shape shapes[] = { { 1, 1, 256 },      { 1, 1, 4096 },   { 1, 7, 512 },
						   { 2, 1, 768 },      { 3, 1, 14336 },  { 1, 4096, 256 },
						   { 5, 4099, 256 },   { 31, 33, 1280 }, { 17, 1000, 2048 },
						   { 1009, 1, 256 },   { 513, 65, 512 }, { 2, 128256, 256 },
						   { 512, 4096, 4096 } };
	enum { MASKS = sizeof masks / sizeof *masks, SHAPES = sizeof shapes / sizeof *shapes, THREADS = 5 };
	size_t count;
	const struct tcb_op *const *ops = tcb_ops(&count);
	(void)state;
	for (size_t i = 0; i < count * MASKS * SHAPES * THREADS * TCB_CONTRACT_COUNT; i++) {
		const struct tcb_op *op = ops[i % count];
		const enum tcb_contract contract = (enum tcb_contract)(i / count % TCB_CONTRACT_COUNT);
		const size_t rest = i / count / TCB_CONTRACT_COUNT;
		struct tcb_target target = toy_target;
		struct tcb_shape shape = shapes[rest / MASKS % SHAPES];
		struct tcb_problem problem;
		struct tcb_geometry geometry;
		struct tcb_plan plan;
		struct tcb_error err;
		char why[TCB_WHY_MAX] = "";
		const struct tcb_variant *variant;
		size_t v = 0;
		target.isa_mask = masks[rest % MASKS];
		while ((variant = tcb_variant_at(tcb_op_cpu(op), v)) &&
		       (variant->contract != contract || !tcb_target_has(&target, variant->isa)))
			v++;
		if (!variant) /* for GPUs only, or for tiles */
			continue;
		target.threads = 1u << rest / MASKS / SHAPES;
		shape = shape_for(op, shape);
		assert_int_equal(tcb_problem_init(op, contract, &shape, &problem, &err), TCB_OK);
		tcb_op_standard(&problem, &target, &geometry);
		if (tcb_constraint_violated(op, &problem, &target, &geometry, 0, why) ||
		    tcb_op_cpu(op)->plan(&problem, &geometry, &plan, &err) != TCB_OK) {
			char text[TCB_GEOMETRY_TEXT_MAX];
			tcb_geometry_print(&geometry, text);
			fail_msg("%s %s, %zux%zux%zu, isa mask %x, %u threads, %s: %s\n", op->name,
				 tcb_contract_text(contract), shape.m, shape.n, shape.k, target.isa_mask,
				 target.threads, text, *why ? why : err.message);
		}
	}
}

static void test_values_once(void **state)
{
	(void)state;
	struct tcb_space *space = create(&toy_op, &toy_problem, &toy_target, 0);
	for (size_t i = 1; i < space->count; i++)
		assert_false(tcb_geometry_equal(&space->geometries[i - 1], &space->geometries[i]));
	for (size_t a = 0; a < space->axis_count; a++) {
		if (space->axes[a].kind == TCB_AXIS_TILE_N && space->axes[a].which == TCB_MIDI)
			assert_int_equal(space->axes[a].count, 5);
	}
	tcb_space_destroy(space);
	tcb_space_destroy(NULL);
}

static size_t unreachable_default_axes(const struct tcb_problem *problem, const struct tcb_target *target,
				       struct tcb_axis out[TCB_AXES_MAX])
{
	(void)problem;
	(void)target;
	out[0] = (struct tcb_axis){ TCB_AXIS_TILE_N, TCB_MIDI, 2, { 4, 16 } };
	return 1;
}

static void test_default_outside_the_axes(void **state)
{
	(void)state;
	struct tcb_side_space axes = toy_space;
	const struct tcb_side side = { toy_variants, &axes, .plan = toy_plan };
	struct tcb_op op = toy_op;
	struct tcb_problem problem = toy_problem;
	axes.axes = unreachable_default_axes;
	op.side[TCB_TARGET_CPU] = &side;
	problem.op = &op;
	compare_with_brute_force(&op, &problem, &toy_target, 0);
	struct tcb_space *space = create(&op, &problem, &toy_target, 0);
	assert_int_equal(space->count, 3);
	assert_int_equal(space->default_index, 2);
	tcb_space_destroy(space);
}

static size_t huge_axes(const struct tcb_problem *problem, const struct tcb_target *target,
			struct tcb_axis out[TCB_AXES_MAX])
{
	size_t count = toy_axes(problem, target, out);
	out[count] = (struct tcb_axis){ TCB_AXIS_KNOB, TCB_KNOB_VEC, 32, { 0 } };
	out[count + 1] = (struct tcb_axis){ TCB_AXIS_KNOB, TCB_KNOB_STAGES, 32, { 0 } };
	for (int64_t i = 0; i < 32; i++) {
		out[count].values[i] = i + 1;
		out[count + 1].values[i] = i + 1;
	}
	return count + 2;
}

static size_t overflowing_axes(const struct tcb_problem *problem, const struct tcb_target *target,
			       struct tcb_axis out[TCB_AXES_MAX])
{
	static const int more[] = { TCB_KNOB_WARPS, TCB_KNOB_LEAD, TCB_KNOB_BLOCKS };
	size_t count = huge_axes(problem, target, out);
	for (size_t i = 0; i < sizeof more / sizeof *more; i++, count++) {
		out[count] = out[count - 2];
		out[count].which = more[i];
	}
	return count;
}

static void test_large_products(void **state)
{
	(void)state;
	struct tcb_side_space axes = toy_space;
	const struct tcb_side side = { toy_variants, &axes, .plan = toy_plan };
	struct tcb_op op = toy_op;
	struct tcb_problem problem = toy_problem;
	struct tcb_space *space;
	struct tcb_error err;
	axes.axes = huge_axes;
	op.side[TCB_TARGET_CPU] = &side;
	problem.op = &op;
	uint64_t start = tcb_clock_ns();
	assert_int_equal(tcb_space_create(&op, &problem, &toy_target, 0, &space, &err), TCB_OK);
	double seconds = (double)(tcb_clock_ns() - start) * 1e-9;
	assert_true(space->raw_count > 10000000);
	print_message("%zu legal of %zu raw points in %.2f s\n", space->count, space->raw_count, seconds);
	assert_true(seconds < 30); /* brute force under a sanitizer would take minutes */
	tcb_space_destroy(space);

	axes.axes = overflowing_axes;
	assert_int_equal(tcb_space_create(&op, &problem, &toy_target, 0, &space, &err), TCB_E_OVERFLOW);
	assert_null(space);
}

/* Refused at once: a walk through axes without rules would take minutes. */
static void test_no_gpu_kernels(void **state)
{
	const struct tcb_target gpu = { .kind = TCB_TARGET_CUDA, .cuda.capability = 90 };
	struct tcb_space *space;
	struct tcb_error err;
	(void)state;
	assert_int_equal(tcb_space_create(&toy_op, &toy_problem, &gpu, 0, &space, &err), TCB_E_UNSUPPORTED);
	assert_null(space);
	assert_non_null(strstr(err.message, "has no cuda kernels"));
}

static void test_nothing_legal(void **state)
{
	(void)state;
	struct tcb_target target = toy_target;
	struct tcb_space *space;
	struct tcb_error err;
	target.isa_mask = 1u << TCB_ISA_NEON;
	assert_int_equal(tcb_space_create(&toy_op, &toy_problem, &target, 0, &space, &err), TCB_E_NOT_FOUND);
	assert_null(space);
	assert_non_null(strstr(err.message, "V1 variant"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_added_ones_are_found),
		cmocka_unit_test(test_brute_force_agrees),
		cmocka_unit_test(test_every_op_agrees_with_brute_force),
		cmocka_unit_test(test_defaults_are_legal),
		cmocka_unit_test(test_values_once),
		cmocka_unit_test(test_default_outside_the_axes),
		cmocka_unit_test(test_large_products),
		cmocka_unit_test(test_nothing_legal),
		cmocka_unit_test(test_no_gpu_kernels),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
