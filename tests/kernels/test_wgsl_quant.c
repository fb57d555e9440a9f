/* SPDX-License-Identifier: MIT
 *
 * Products with quantised weights in WGSL, as text and as spaces: that of each format and contract is the
 * geometry's alone, and uses no more of the language than its isa says.
 */
#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "base/kind.h"
#include "base/util.h"
#include "kernels/formats.h"
#include "kernels/space.h"

static void problem_of(const struct tcb_op *op, enum tcb_contract contract, size_t m, size_t n, struct tcb_problem *out)
{
	struct tcb_error err;

	if (tcb_problem_init(op, contract, &(struct tcb_shape){ m, n, 4096 }, out, &err) != TCB_OK)
		fail_msg("%s", err.message);
}

static void print(const struct tcb_problem *problem, const struct tcb_target *target,
		  const struct tcb_geometry *geometry, struct tcb_str *out)
{
	struct tcb_kernel kernel;
	struct tcb_error err;

	if (tcb_kernel_emit(problem, target, geometry, &kernel, &err) != TCB_OK)
		fail_msg("%s", err.message);
	tcb_kernel_print(&kernel, out);
	tcb_kernel_fini(&kernel);
}

static int is_product(const struct tcb_op *op, const struct tcb_target *target)
{
	return op->format && tcb_op_side(op, target);
}

static void text_is_of_the_geometry_alone(void **state)
{
	size_t count, seen = 0;
	struct tcb_target target;
	const struct tcb_op *const *ops = tcb_ops(&count);

	(void)state;
	tcb_kind_wgpu.describe("wgpu-portable", &target);
	for (size_t i = 0; i < count; i++)
		for (int contract = 0; is_product(ops[i], &target) && contract < TCB_CONTRACT_COUNT; contract++) {
			struct tcb_problem problem;
			struct tcb_geometry geometry;
			struct tcb_str a = { 0 }, b = { 0 };

			if (contract == TCB_CONTRACT_F16)
				continue;
			problem_of(ops[i], (enum tcb_contract)contract, 64, 512, &problem);
			tcb_op_standard(&problem, &target, &geometry);
			print(&problem, &target, &geometry, &a);
			problem_of(ops[i], (enum tcb_contract)contract, 37, 1001, &problem);
			print(&problem, &target, &geometry, &b);
			assert_string_equal(a.data, b.data);
			assert_null(strstr(a.data, "Packed")); /* the guaranteed language alone */
			assert_null(strstr(a.data, "subgroup"));
			assert_null(strstr(a.data, "4xI8"));
			tcb_str_fini(&a);
			tcb_str_fini(&b);
			seen++;
		}
	assert_int_equal(seen, 2 * 2 * TCB_FORMAT_FIELD_COUNT);
}

/* A few hundred candidates, of which a module is short enough to be compiled fast. */
static void spaces_are_small(void **state)
{
	size_t count;
	struct tcb_target target;
	const struct tcb_op *const *ops = tcb_ops(&count);

	(void)state;
	tcb_kind_wgpu.describe("wgpu-nvidia", &target);
	target.wgpu.subgroup_least = target.wgpu.subgroup_most = 32;
	for (size_t i = 0; i < count; i++) {
		struct tcb_problem problem;
		struct tcb_space *space;
		struct tcb_error err;

		if (!is_product(ops[i], &target))
			continue;
		problem_of(ops[i], TCB_CONTRACT_Q8, strstr(ops[i]->name, "matvec") ? 1 : 512, 14336, &problem);
		assert_int_equal(tcb_space_create(ops[i], &problem, &target, 0, &space, &err), TCB_OK);
		assert_in_range(space->count, 50, 600);
		for (size_t g = 0; g < space->count; g += 1 + space->count / 20) {
			struct tcb_str text = { 0 };
			size_t lines = 0;

			print(&problem, &target, &space->geometries[g], &text);
			for (const char *at = text.data; (at = strchr(at, '\n')); at++)
				lines++;
			assert_in_range(lines, 50, 1000);
			assert_non_null(strstr(text.data, "dot4I8Packed"));
			tcb_str_fini(&text);
		}
		tcb_space_destroy(space);
	}
}

static void limits_cut_the_space(void **state)
{
	static const struct {
		const char *op, *geometry, *why;
	} rows[] = {
		{ "q4k_matvec",
		  "macro=1x8x4096,midi=1x8x4096,micro=1x1x32,isa=wgsl,layout=native,unroll=4,stages=1,xin=l2,group=32,"
		  "prep=block,workgroup=256,tree=shared",
		  "xin must be shared where workgroups prepare activations" },
		{ "q4k_matvec",
		  "macro=1x8x4096,midi=1x8x4096,micro=1x1x32,isa=wgsl_dp4a,layout=native,unroll=4,stages=1,xin=shared,"
		  "group=32,prep=block,workgroup=256,tree=shared",
		  "the device has no such instructions" },
		{ "q4k_matvec",
		  "macro=1x8x4096,midi=1x8x4096,micro=1x1x32,isa=wgsl,layout=r16,unroll=4,stages=1,xin=shared,group=32,"
		  "prep=block,workgroup=256,tree=shared",
		  "layout must be native or p" },
		{ "q6k_matmul",
		  "macro=32x32x64,midi=32x32x64,micro=4x4x32,isa=wgsl,layout=native,stages=1,splitk=1,join=none,"
		  "workgroup=64",
		  "midi.k must be a power of two up to 256, and of whole pieces" },
		{ "q4k_matmul",
		  "macro=32x32x64,midi=32x32x64,micro=4x4x32,isa=wgsl,layout=native,stages=1,splitk=1,join=none,"
		  "workgroup=128",
		  "workgroup must be midi.m / micro.m * midi.n / micro.n" },
	};
	struct tcb_target target;

	(void)state;
	tcb_kind_wgpu.describe("wgpu-portable", &target);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct tcb_problem problem;
		struct tcb_geometry geometry;
		struct tcb_error err;
		char why[TCB_WHY_MAX];

		problem_of(tcb_op_find(rows[i].op), TCB_CONTRACT_Q8, 32, 4096, &problem);
		assert_int_equal(tcb_geometry_parse(rows[i].geometry, &geometry, &err), TCB_OK);
		assert_non_null(tcb_constraint_violated(problem.op, &problem, &target, &geometry, 0, why));
		if (!strstr(why, rows[i].why))
			fail_msg("'%s' is not in '%s'", rows[i].why, why);
	}
}

/* Kernels that nobody tuned run everywhere, whatever the contract and the shape: memory is least where tiles of floats
 * are. */
static void standard_geometries_run_anywhere(void **state)
{
	static const size_t memory[] = { 16 << 10, 32 << 10, 48 << 10 };
	static const size_t sizes[][2] = { { 1, 1 }, { 1, 7000 }, { 2, 1 }, { 21, 66 }, { 512, 3 }, { 512, 14336 } };
	size_t count;
	struct tcb_target target;
	const struct tcb_op *const *ops = tcb_ops(&count);

	(void)state;
	tcb_kind_wgpu.describe("wgpu-portable", &target);
	for (size_t i = 0; i < count * 3 * 6 * TCB_CONTRACT_COUNT; i++) {
		const struct tcb_op *op = ops[i / 18 / TCB_CONTRACT_COUNT];
		const enum tcb_contract contract = (enum tcb_contract)(i / 18 % TCB_CONTRACT_COUNT);
		const size_t *size = sizes[i % 6];
		struct tcb_problem problem;
		struct tcb_geometry geometry;
		char why[TCB_WHY_MAX], text[TCB_GEOMETRY_TEXT_MAX];

		if (!is_product(op, &target) || contract == TCB_CONTRACT_F16)
			continue;
		target.wgpu.workgroup_bytes = memory[i / 6 % 3];
		problem_of(op, contract, size[0], size[1], &problem);
		tcb_op_standard(&problem, &target, &geometry);
		tcb_geometry_print(&geometry, text);
		if (tcb_constraint_violated(op, &problem, &target, &geometry, 0, why))
			fail_msg("%s %zux%zu %s: %s", op->name, size[0], size[1], text, why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_of_the_geometry_alone),
		cmocka_unit_test(spaces_are_small),
		cmocka_unit_test(standard_geometries_run_anywhere),
		cmocka_unit_test(limits_cut_the_space),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
