/* SPDX-License-Identifier: MIT
 *
 * WGSL as text: what the kit writes, what it says is bound, and that limits of
 * a device are those of the space.
 */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/kind.h"
#include "base/kinds/wgpu_kind.h"
#include "base/util.h"
#include "kernels/code.h"
#include "kernels/language.h"
#include "kernels/limit.h"
#include "kernels/space.h"
#include "kernels/topk/topk_wgsl.h"
#include "kernels/wgsl/wgsl.h"
#include "wgsl_operators.h"

static struct tcb_target portable(void)
{
	struct tcb_device device;

	tcb_wgpu_portable(&device);
	return device.target;
}

static struct tcb_target large(void)
{
	struct tcb_target target;

	tcb_kind_wgpu.describe("wgpu-nvidia", &target);
	return target;
}

static void problem_of(const char *op, size_t m, size_t n, struct tcb_problem *out)
{
	struct tcb_error err;

	if (tcb_problem_init(tcb_op_find(op), TCB_CONTRACT_F32, &(struct tcb_shape){ m, n, 0 }, out, &err) != TCB_OK)
		fail_msg("%s", err.message);
}

static void emit(const struct tcb_problem *problem, const struct tcb_target *target,
		 const struct tcb_geometry *geometry, struct tcb_kernel *out)
{
	struct tcb_error err;

	if (tcb_kernel_emit(problem, target, geometry, out, &err) != TCB_OK)
		fail_msg("%s", err.message);
	assert_ptr_equal(out->language, &tcb_language_wgsl);
}

/* Indented by what is open, nothing left open, no line with nothing but blanks; operators in parentheses where the
 * grammar wants them, which wgpu-native does not mind and browsers do. */
static void assert_tidy(const char *text)
{
	const char *loose = wgsl_unparenthesised(text);
	int depth = 0;

	if (loose)
		fail_msg("parentheses are missing before: %.60s", loose);

	for (const char *line = text, *end; *line; line = end + 1) {
		end = strchr(line, '\n');
		assert_non_null(end);
		const size_t indent = strspn(line, " ");
		const int closes = line[indent] == '}' || line[indent] == ')';

		if (line[indent] != '\n')
			assert_int_equal(indent, 4 * (size_t)(depth - closes));
		else
			assert_int_equal(indent, 0);
		for (const char *at = line; at < end; at++)
			depth += (*at == '{' || *at == '(') - (*at == '}' || *at == ')');
		assert_true(depth >= 0);
	}
	assert_int_equal(depth, 0);
}

static void the_kit_writes_what_it_binds(void **state)
{
	struct tcb_problem problem;
	struct tcb_kernel kernel;
	struct tcb_str text = { 0 };
	struct tcb_wgsl w;
	struct tcb_error err;

	(void)state;
	problem_of("reduce2d_sum", 3, 5, &problem);
	assert_int_equal(tcb_wgsl_open(&w, &problem, NULL, &kernel, &err), TCB_OK);
	const int x = tcb_wgsl_input(&w, "x", "array<f32>", 0);
	const int y = tcb_wgsl_output(&w, "y", "array<f32>", 1);
	const int one = tcb_wgsl_workspace(&w, "one", "array<u32>", 20);
	const int two = tcb_wgsl_workspace(&w, "two", "array<u32>", 4);
	tcb_wgsl_number(&w, "count", 15);
	tcb_wgsl_need(&w, TCB_WGPU_F16);
	tcb_wgsl_begin(&w, "first", &(struct tcb_wgsl_entry){ .workgroup = 64, .grid = { 2, 3 }, .uses = { two, x } });
	tcb_wgsl_add(&w, "if (local < count) {\ntwo[local] = u32(x[local]);\n}\n");
	tcb_wgsl_end(&w);
	tcb_wgsl_begin(&w, "second", &(struct tcb_wgsl_entry){ .workgroup = 1, .uses = { y, one }, .subgroups = 1 });
	tcb_wgsl_end(&w);
	assert_int_equal(tcb_wgsl_close(&w, &err), TCB_OK);
	tcb_kernel_print(&kernel, &text);
	assert_string_equal(text.data, "enable f16;\n"
				       "enable subgroups;\n"
				       "@group(0) @binding(0) var<storage, read> x: array<f32>;\n"
				       "@group(0) @binding(1) var<storage, read_write> y: array<f32>;\n"
				       "@group(0) @binding(2) var<storage, read_write> one: array<u32>;\n"
				       "@group(0) @binding(3) var<storage, read_write> two: array<u32>;\n"
				       "override count: u32;\n"
				       "\n"
				       "@compute @workgroup_size(64)\n"
				       "fn first(\n"
				       "    @builtin(workgroup_id) group: vec3<u32>,\n"
				       "    @builtin(local_invocation_index) local: u32,\n"
				       ") {\n"
				       "    if (local < count) {\n"
				       "        two[local] = u32(x[local]);\n"
				       "    }\n"
				       "}\n"
				       "\n"
				       "@compute @workgroup_size(1)\n"
				       "fn second(\n"
				       "    @builtin(workgroup_id) group: vec3<u32>,\n"
				       "    @builtin(local_invocation_index) local: u32,\n"
				       "    @builtin(subgroup_invocation_id) lane: u32,\n"
				       "    @builtin(subgroup_size) lanes: u32,\n"
				       ") {\n"
				       "}\n");
	assert_tidy(text.data);
	assert_int_equal(kernel.launch_count, 2);
	assert_int_equal(kernel.workspace_bytes, 256 + 16);
	const struct tcb_launch *launch = kernel.launch;
	assert_string_equal(launch[0].entry, "first");
	assert_true(launch[0].grid[0] == 2 && launch[0].grid[1] == 3 && launch[0].grid[2] == 1);
	assert_true(launch[0].block[0] == 64 && launch[0].block[1] == 1 && launch[1].grid[0] == 1);
	assert_int_equal(launch[0].argument_count, 2);
	assert_true(launch[0].argument[0].kind == TCB_ARGUMENT_WORKSPACE && launch[0].argument[0].value == 256);
	assert_true(launch[0].argument[1].kind == TCB_ARGUMENT_OPERAND && launch[0].argument[1].value == 0);
	const struct tcb_launch_wgsl *own = tcb_kernel_wgsl(&kernel)->launch;
	assert_true(own[0].binding[0] == 3 && own[0].binding[1] == 0 && own[1].binding[0] == 1);
	assert_int_equal(own[1].constant_count, 1);
	assert_string_equal(own[1].constant[0].name, "count");
	assert_int_equal(own[1].constant[0].value, 15);
	tcb_str_fini(&text);
	tcb_kernel_fini(&kernel);
}

/* Of every op that has some: every geometry of the space, whole and tidy, and the same text at another shape that takes
 * it. */
static void ops_write_tidy_text(void **state)
{
	static const struct tcb_shape shapes[] = { { 37, 1000, 0 },
						   { 3, 130, 768 },
						   { 130, 260, 100 },
						   { 2, 100, 96, { .query = 6, .kv = 2, .sequences = 3, .page = 8 } } };
	const struct tcb_target target = large();
	size_t count, seen = 0;
	const struct tcb_op *const *ops = tcb_ops(&count);

	(void)state;
	for (size_t i = 0; i < count; i++)
		for (size_t s = 0; tcb_op_side(ops[i], &target) && s < sizeof shapes / sizeof *shapes; s++) {
			struct tcb_problem problem;
			struct tcb_space *space;
			struct tcb_error err;

			if (tcb_problem_init(ops[i], ops[i]->default_contract, &shapes[s], &problem, NULL) != TCB_OK)
				continue;
			assert_int_equal(tcb_space_create(ops[i], &problem, &target, 0, &space, &err), TCB_OK);
			for (size_t g = 0; g < space->count; g += 1 + space->count / 200, seen++) {
				struct tcb_kernel kernel;
				struct tcb_str text = { 0 };

				emit(&problem, &target, &space->geometries[g], &kernel);
				tcb_kernel_print(&kernel, &text);
				assert_tidy(text.data);
				tcb_str_fini(&text);
				tcb_kernel_fini(&kernel);
			}
			tcb_space_destroy(space);
		}
	assert_true(seen > 100);
}

static void operators_are_kept_apart(void **state)
{
	static const char *const loose[] = { "let a = b >> (i * 8u) & 255u;",
					     "a = b & c | d;",
					     "x = a + b << 2u;",
					     "if (a & b == 0u) {",
					     "a = b << c << d;",
					     "if (a && b || c) {",
					     "y[a ^ b ^ c] = f(a & b & c, 1u - d >> e);" };
	static const char *const kept[] = { "let a = (b >> (i * 8u)) & 255u;",
					    "a = (b & c) | d;",
					    "if (a << 2u < b + c && d * e - f >= g) {",
					    "if ((a & b) == 0u && !c) {",
					    "// a & b == c",
					    "fn f(a: vec2<u32>, b: u32) -> u32 {",
					    "for (var i = a & b; i < c >> 1u; i += 2u) {",
					    "y[a ^ b ^ c] = f(a & b & c, -1.0 * d);" };

	(void)state;
	for (size_t i = 0; i < sizeof loose / sizeof *loose; i++)
		if (!wgsl_unparenthesised(loose[i]))
			fail_msg("not noticed: %s", loose[i]);
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
		if (wgsl_unparenthesised(kept[i]))
			fail_msg("%s: %s", kept[i], wgsl_unparenthesised(kept[i]));
}

static void text_is_of_the_geometry_alone(void **state)
{
	static const char *const ops[] = {
		"reduce2d_sum",         "reduce2d_absmax",         "softmax", "rmsnorm", "layernorm",
		"elementwise_relu_f32", "elementwise_silu_mul_f32"
	};
	static const size_t rows[] = { 512, 500, 37 };
	const struct tcb_target target = portable();

	(void)state;
	for (size_t op = 0; op < sizeof ops / sizeof *ops; op++) {
		struct tcb_str text[3] = { { 0 } };
		struct tcb_geometry geometry;

		for (size_t i = 0; i < 3; i++) {
			struct tcb_problem problem;
			struct tcb_kernel kernel;

			problem_of(ops[op], rows[i], 512, &problem);
			if (i == 0)
				tcb_op_standard(&problem, &target, &geometry);
			emit(&problem, &target, &geometry, &kernel);
			tcb_kernel_print(&kernel, &text[i]);
			assert_string_equal(text[i].data, text[0].data);
			tcb_kernel_fini(&kernel);
		}
		for (size_t i = 0; i < 3; i++)
			tcb_str_fini(&text[i]);
	}
}

/* The same of ops on KV caches: lengths, sequences, heads, windows and caps are numbers. */
static void text_is_not_of_the_cache(void **state)
{
	static const char *const ops[] = { "attention_decode_f16",  "attention_decode_q80", "attention_prefill_bf16",
					   "attention_prefill_q80", "rope_append_f16",      "rope_append_q80" };
	static const struct tcb_shape shapes[] = {
		{ 4, 512, 64, { .query = 4, .kv = 2, .sequences = 1 } },
		{ 4, 500, 64, { .query = 6, .kv = 3, .sequences = 3 } },
		{ 3, 300, 64, { .query = 8, .kv = 4, .sequences = 2, .window = 30, .cap = 5, .causal = 1 } },
	};
	const struct tcb_target target = portable();

	(void)state;
	for (size_t op = 0; op < sizeof ops / sizeof *ops; op++) {
		struct tcb_str text[3] = { { 0 } };
		struct tcb_geometry geometry;
		size_t count = 0;

		for (size_t i = 0; i < 3; i++) {
			struct tcb_problem problem;
			struct tcb_kernel kernel;

			if (tcb_problem_init(tcb_op_find(ops[op]), TCB_CONTRACT_F16, &shapes[i], &problem, NULL) !=
			    TCB_OK)
				continue;
			if (count == 0)
				tcb_op_standard(&problem, &target, &geometry);
			emit(&problem, &target, &geometry, &kernel);
			tcb_kernel_print(&kernel, &text[count]);
			assert_string_equal(text[count].data, text[0].data);
			tcb_kernel_fini(&kernel);
			count++;
		}
		assert_true(count >= 2); /* rope_append has no windows */
		for (size_t i = 0; i < count; i++)
			tcb_str_fini(&text[i]);
	}
}

/* topk has a bound on K, as in PTX. */
static int is_beyond(const struct tcb_op *op, const struct tcb_shape *shape)
{
	return strcmp(op->name, "topk") == 0 && shape->n > TOPK_WGSL_MOST && shape->k > TOPK_WGSL_MOST;
}

/* Whatever the shape: kernels that nobody tuned run everywhere. */
static void standard_geometries_run_anywhere(void **state)
{
	static const struct tcb_shape shapes[] = { { 1, 1, 0 },
						   { 1, 3, 0 },
						   { 5, 1, 0 },
						   { 512, 512, 0 },
						   { 5000, 6007, 0 },
						   { 1, 70000, 0 },
						   { 70000, 1, 0 },
						   { 1, 4096, 4096 },
						   { 32, 4096, 4096 },
						   { 37, 29, 41 },
						   { 4096, 4096, 4096 },
						   { 1, 1, 32, { .query = 1, .kv = 1, .sequences = 1 } },
						   { 1, 4096, 128, { .query = 32, .kv = 8, .sequences = 1 } },
						   { 5, 37, 96, { .query = 5, .kv = 1, .sequences = 3, .page = 16 } },
						   { 32, 300, 160, { .query = 6, .kv = 2, .sequences = 2 } },
						   { 3, 70000, 224, { .query = 8, .kv = 1, .sequences = 1 } },
						   { 2, 9000, 256, { .query = 16, .kv = 1, .sequences = 7 } } };
	const struct tcb_target target = portable();
	size_t count, seen = 0;
	const struct tcb_op *const *ops = tcb_ops(&count);

	(void)state;
	for (size_t i = 0; i < count; i++)
		for (size_t s = 0; tcb_op_side(ops[i], &target) && s < sizeof shapes / sizeof *shapes; s++) {
			struct tcb_problem problem;
			struct tcb_geometry geometry;
			char why[TCB_WHY_MAX], text[TCB_GEOMETRY_TEXT_MAX];

			if (tcb_problem_init(ops[i], ops[i]->default_contract, &shapes[s], &problem, NULL) != TCB_OK ||
			    is_beyond(ops[i], &shapes[s]))
				continue;
			tcb_op_standard(&problem, &target, &geometry);
			tcb_geometry_print(&geometry, text);
			seen++;
			if (tcb_constraint_violated(ops[i], &problem, &target, &geometry, 0, why))
				fail_msg("%s %zux%zux%zu %s: %s", ops[i]->name, shapes[s].m, shapes[s].n, shapes[s].k,
					 text, why);
		}
	assert_true(seen > 10);
}

static void limits_cut_the_space(void **state)
{
	static const struct {
		const char *geometry, *why;
	} rows[] = {
		{ "macro=8x512x1,midi=4x512x1,micro=1x4x1,isa=wgsl,unroll=1,vec=16,join=launch,form=lanes,"
		  "workgroup=512,tree=shared",
		  "512 threads in a block, but 256 are the most" },
		{ "macro=8x512x1,midi=2x512x1,micro=1x4x1,isa=wgsl,unroll=1,vec=16,join=launch,form=lanes,"
		  "workgroup=256,tree=subgroup",
		  "the device has no subgroups" },
		{ "macro=8x512x1,midi=2x512x1,micro=1x4x1,isa=wgsl,unroll=1,vec=16,join=none,form=lanes,"
		  "workgroup=256,tree=shared",
		  "join must be launch with several workgroups" },
		{ "macro=8x512x1,midi=2x512x1,micro=1x4x1,isa=wgsl,unroll=1,vec=16,join=launch,form=lanes,warps=1,"
		  "workgroup=256,tree=shared",
		  "a WebGPU geometry sets isa" },
		{ "macro=8x512x1,midi=1x512x1,micro=1x4x1,isa=wgsl,unroll=1,vec=16,join=launch,form=lanes,"
		  "workgroup=256,tree=shared",
		  "midi must be a workgroup's step" },
	};
	struct tcb_target target = portable();
	struct tcb_problem problem;
	struct tcb_geometry geometry;
	struct tcb_error err;
	char why[TCB_WHY_MAX];

	(void)state;
	problem_of("reduce2d_sum", 512, 512, &problem);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_int_equal(tcb_geometry_parse(rows[i].geometry, &geometry, &err), TCB_OK);
		assert_non_null(tcb_constraint_violated(problem.op, &problem, &target, &geometry, 0, why));
		if (!strstr(why, rows[i].why))
			fail_msg("'%s' is not in '%s'", rows[i].why, why);
	}
	tcb_op_standard(&problem, &target, &geometry);
	assert_null(tcb_constraint_violated(problem.op, &problem, &target, &geometry, 0, why));
	target.wgpu.binding_bytes = 512 * 512 * 4 - 1;
	assert_non_null(tcb_constraint_violated(problem.op, &problem, &target, &geometry, 0, why));
	target = portable();
	target.wgpu.workgroup_bytes = 1000;
	assert_non_null(tcb_constraint_violated(problem.op, &problem, &target, &geometry, 0, why));
	assert_non_null(strstr(why, "1024 bytes of shared memory, but wgpu-portable has 1000"));
}

/* Images of kernels and of the limit come whole, and what came damaged is refused. */
static void images(void **state)
{
	const struct tcb_target target = portable();
	struct tcb_problem problem;
	struct tcb_geometry geometry;
	struct tcb_kernel kernel;
	struct tcb_code_image *image;
	struct tcb_error err;

	(void)state;
	problem_of("reduce2d_max", 64, 512, &problem);
	tcb_op_standard(&problem, &target, &geometry);
	emit(&problem, &target, &geometry, &kernel);
	assert_int_equal(tcb_code_compile(&kernel, 1, &target, &image, &err), TCB_OK);
	tcb_kernel_fini(&kernel);
	assert_true(image->is_text);
	assert_true(tcb_code_image_valid(&tcb_language_wgsl, image, image->bytes));
	struct tcb_code_launch *launch = &image->unit[0].launch[0];
	struct tcb_launch_wgsl *own = (struct tcb_launch_wgsl *)(void *)launch->own;
	launch->argument[0].kind = TCB_ARGUMENT_OWN;
	assert_false(tcb_code_image_valid(&tcb_language_wgsl, image, image->bytes));
	launch->argument[0].kind = TCB_ARGUMENT_OPERAND;
	own->constant_count = TCB_WGSL_CONSTANTS_MAX + 1;
	assert_false(tcb_code_image_valid(&tcb_language_wgsl, image, image->bytes));
	own->constant_count = 1;
	memset(own->constant[0].name, 'x', TCB_WGSL_NAME_MAX);
	assert_false(tcb_code_image_valid(&tcb_language_wgsl, image, image->bytes));
	free(image);
	assert_int_equal(tcb_limit_image(&problem, &target, 0, &image, &err), TCB_OK);
	assert_true(tcb_code_image_valid(&tcb_language_wgsl, image, image->bytes));
	for (uint32_t i = 0; i < image->unit_count; i++)
		assert_tidy((const char *)image + image->unit[i].offset);
	free(image);
	assert_int_equal(tcb_compute_limit_image(&problem, &target, &image, &err), TCB_OK);
	assert_true(tcb_code_image_valid(&tcb_language_wgsl, image, image->bytes));
	assert_true(image->unit[0].step_operations > 0);
	assert_tidy((const char *)image + image->unit[0].offset);
	free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_kit_writes_what_it_binds),
		cmocka_unit_test(ops_write_tidy_text),
		cmocka_unit_test(text_is_of_the_geometry_alone),
		cmocka_unit_test(text_is_not_of_the_cache),
		cmocka_unit_test(standard_geometries_run_anywhere),
		cmocka_unit_test(limits_cut_the_space),
		cmocka_unit_test(images),
		cmocka_unit_test(operators_are_kept_apart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
