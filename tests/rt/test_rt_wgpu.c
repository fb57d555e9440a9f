/* SPDX-License-Identifier: MIT
 *
 * Plans for WebGPU, without a device: what is told of a module agrees with its text;
 * answers keep to the limits that a query tells of its device; what was measured on
 * an adapter answers for it, with subgroups as that has them.
 */
#include "cmocka_all.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/kinds/wgpu_kind.h"
#include "kernels/signature.h"
#include "rt/rt_plan.h"
#include "rt_fixture.h"
#include "shape_for.h"
#include "tcbrt_wgpu.h"

static const struct tcb_shape shapes[] = { { 1, 67, 512, { 0 } }, { 5, 33, 768, { 0 } }, { 19, 130, 256, { 0 } } };

/* Of a GPU that has all. */
static const struct tcbrt_wgpu_adapter full = {
	.vendor_id = 0x10de,
	.device_id = 0x2330,
	.backend = 6,
	.type = 1,
	.device = "NVIDIA H100",
	.device_bytes = 11,
	.description = "555.42",
	.description_bytes = 6,
	.version = 29u << 24 | 1 << 8 | 1,
	.features = TCBRT_WGPU_F16 | TCBRT_WGPU_SUBGROUPS | TCBRT_WGPU_DP4A,
	.workgroup_invocations = 1024,
	.workgroup_size_x = 1024,
	.workgroup_bytes = 48 << 10,
	.workgroups = 65535,
	.storage_buffers = 16,
	.binding_bytes = (size_t)2 << 30,
};

/* How often FORMAT, filled, is in TEXT. */
static int has(const char *text, const char *format, ...)
{
	char pattern[200];
	regex_t compiled;
	va_list values;
	int found;

	va_start(values, format);
	(void)vsnprintf(pattern, sizeof(pattern), format, values);
	va_end(values);
	assert_int_equal(regcomp(&compiled, pattern, REG_EXTENDED | REG_NEWLINE), 0);
	found = regexec(&compiled, text, 0, NULL, 0) == 0;
	regfree(&compiled);
	return found;
}

static void check_bindings(const char *name, const struct tcbrt_plan *plan, const struct tcbrt_plan_info *info,
			   const struct tcbrt_wgpu_code *code, const struct tcbrt_wgpu_launch *launch)
{
	for (unsigned i = 0; i < launch->binding_count; i++) {
		const struct tcbrt_wgpu_binding *b = &launch->binding[i];

		if (!has(code->wgsl, "^@group\\(0\\) @binding\\(%u\\) var<storage, %s>", b->binding,
			 b->is_written ? "read_write" : "read"))
			fail_msg("binding %u is not so: %s", b->binding, code->wgsl);
		assert_true(b->bytes > 0 && b->bytes % 16 == 0);
		if (b->operand < 0) {
			assert_true(b->offset % TCBRT_ALIGNMENT == 0 && b->offset + b->bytes <= info->workspace_bytes);
			continue;
		}
		assert_true((size_t)b->operand < info->operand_count && b->offset == 0);
		struct tcbrt_operand operand;
		assert_int_equal(tcbrt_plan_operand(plan, (size_t)b->operand, &operand), TCBRT_OK);
		const size_t bytes = operand.packed_bytes ? operand.packed_bytes : operand.bytes;
		if (b->bytes < bytes || b->bytes >= bytes + 16)
			fail_msg("%s: %zu bytes of operand %d are bound as %zu", name, bytes, b->operand, b->bytes);
	}
}

static void check_code(const struct tcbrt_plan *plan, const char *name)
{
	struct tcbrt_wgpu_code code;
	struct tcbrt_plan_info info;

	assert_int_equal(tcbrt_plan_info(plan, &info), TCBRT_OK);
	assert_int_equal(tcbrt_wgpu_code(plan, &code), TCBRT_OK);
	assert_true(info.is_gpu && info.overlap_launches == 0);
	assert_int_equal(strlen(code.wgsl), code.bytes);
	assert_true(code.launch_count >= 1);
	assert_int_equal(has(code.wgsl, "^enable subgroups;$"), (code.features & TCBRT_WGPU_SUBGROUPS) != 0);
	assert_int_equal(has(code.wgsl, "^enable f16;$"), (code.features & TCBRT_WGPU_F16) != 0);
	assert_int_equal(strstr(code.wgsl, "dot4I8Packed") != NULL, (code.features & TCBRT_WGPU_DP4A) != 0);
	if (strcmp(name, "wgpu-portable") == 0)
		assert_int_equal(code.features & ~(unsigned)TCBRT_WGPU_DP4A, 0);
	for (unsigned i = 0; i < code.launch_count; i++) {
		const struct tcbrt_wgpu_launch *launch = &code.launch[i];

		if (!has(code.wgsl, "^@compute @workgroup_size\\(%u\\)$", launch->workgroup) ||
		    !has(code.wgsl, "^fn %s\\($", launch->entry))
			fail_msg("%s of %u is not in %s", launch->entry, launch->workgroup, code.wgsl);
		for (int axis = 0; axis < 3; axis++)
			assert_true(launch->dispatch[axis] >= 1 && launch->dispatch[axis] <= 65535);
		for (unsigned c = 0; c < launch->constant_count; c++)
			if (!has(code.wgsl, "^override %s: u32;$", launch->constant[c].name))
				fail_msg("no constant %s in %s", launch->constant[c].name, code.wgsl);
		check_bindings(name, plan, &info, &code, launch);
	}
}

/* The plan of QUERY, whose shape is made of SHAPE; NULL: no kernel of it takes that. */
static struct tcbrt_plan *plan_of(const struct tcbrt *rt, const struct tcb_op *op, const struct tcb_shape *shape,
				  struct tcbrt_query *query)
{
	static char words[TCB_WORDS_TEXT_MAX];
	const struct tcb_shape taken = shape_for(op, *shape);
	struct tcbrt_plan *plan = NULL;
	struct tcbrt_error err;

	tcb_words_print(&taken.words, words);
	query->op = op->name;
	query->m = taken.m;
	query->n = taken.n;
	query->k = taken.k;
	query->words = words;
	const int code = tcbrt_plan_create(rt, query, &plan, &err);
	if (code != TCBRT_OK && code != TCBRT_E_USAGE && code != TCBRT_E_NOT_FOUND && code != TCBRT_E_UNSUPPORTED)
		fail_msg("%s: %s", op->name, err.message);
	return plan;
}

static void says_what_modules_have(void **state)
{
	static const char *const names[] = { "wgpu-portable", "wgpu-nvidia", "wgpu-arm:0123456789abcdef" };
	const size_t ways = sizeof(names) / sizeof(*names) * sizeof(shapes) / sizeof(*shapes);
	size_t count, planned = 0, sided = 0;
	const struct tcb_op *const *ops = tcb_ops(&count);
	struct tcbrt *rt;

	(void)state;
	assert_int_equal(tcbrt_open_empty(&rt, NULL), TCBRT_OK);
	for (size_t i = 0; i < count; i++) {
		sided += ops[i]->side[TCB_TARGET_WGPU] != NULL;
		for (size_t way = 0; way < ways; way++) {
			struct tcbrt_query query = { .device = names[way % (sizeof(names) / sizeof(*names))] };
			struct tcbrt_plan *plan =
				plan_of(rt, ops[i], &shapes[way / (sizeof(names) / sizeof(*names))], &query);

			if (!plan)
				continue;
			check_code(plan, query.device);
			tcbrt_plan_destroy(plan);
			planned++;
		}
	}
	assert_true(sided > 10 && planned >= 2 * sided);
	tcbrt_close(rt);
}

/* A saved plan is the same module; one whose geometry the device may not have is refused. */
static void plans_are_saved(void **state)
{
	struct tcbrt_query query = { .op = "q4k_matvec", .device = "wgpu-intel", .m = 1, .n = 64, .k = 512 };
	struct tcbrt_plan *plan, *loaded;
	struct tcbrt_wgpu_code code, again;
	_Alignas(8) unsigned char blob[8192];
	struct tcbrt_error err;
	struct tcbrt *rt;
	size_t bytes;

	(void)state;
	assert_int_equal(tcbrt_open_empty(&rt, NULL), TCBRT_OK);
	assert_int_equal(tcbrt_plan_create(rt, &query, &plan, &err), TCBRT_OK);
	assert_int_equal(tcbrt_plan_save(plan, blob, sizeof(blob), &bytes), TCBRT_OK);
	assert_int_equal(tcbrt_plan_load(rt, blob, bytes, &loaded, &err), TCBRT_OK);
	assert_int_equal(tcbrt_wgpu_code(plan, &code), TCBRT_OK);
	assert_int_equal(tcbrt_wgpu_code(loaded, &again), TCBRT_OK);
	assert_string_equal(code.wgsl, again.wgsl);
	assert_int_equal(code.features, again.features);
	assert_memory_equal(code.launch[0].dispatch, again.launch[0].dispatch, sizeof(code.launch[0].dispatch));
	tcbrt_plan_destroy(loaded);

	struct rt_saved *saved = (struct rt_saved *)(void *)blob;
	assert_non_null(strstr(saved->geometry, "isa=wgsl_dp4a"));
	strcpy(saved->device, "wgpu-portable");
	rt_saved_sign(saved);
	assert_int_equal(tcbrt_plan_load(rt, blob, bytes, &loaded, &err), TCBRT_E_VERSION);
	assert_null(loaded);
	tcbrt_plan_destroy(plan);
	tcbrt_close(rt);
}

/* The same module for shapes of one geometry. */
static void texts_are_of_the_geometry(void **state)
{
	struct tcbrt_query query = { .op = "softmax", .device = "wgpu-portable", .m = 500, .n = 4096 };
	struct tcbrt_wgpu_code code[2];
	struct tcbrt_plan *plan[2];
	struct tcbrt_tuning tuning;
	struct tcbrt *rt;

	(void)state;
	assert_int_equal(tcbrt_open_empty(&rt, NULL), TCBRT_OK);
	assert_int_equal(tcbrt_lookup(rt, &query, &tuning), TCBRT_OK);
	query.geometry = tuning.geometry;
	for (int i = 0; i < 2; i++) {
		query.m = i ? 400 : 500;
		assert_int_equal(tcbrt_plan_create(rt, &query, &plan[i], NULL), TCBRT_OK);
		assert_int_equal(tcbrt_wgpu_code(plan[i], &code[i]), TCBRT_OK);
	}
	assert_string_equal(code[0].wgsl, code[1].wgsl);
	for (int i = 0; i < 2; i++)
		tcbrt_plan_destroy(plan[i]);
	tcbrt_close(rt);
}

static void other_calls_refuse(void **state)
{
	struct tcbrt_query query = { .op = "softmax", .device = "wgpu-amd", .m = 3, .n = 100 };
	const unsigned long long address = 256;
	struct tcbrt_gpu_arguments arguments;
	char name[TCBRT_WGPU_NAME_MAX];
	struct tcbrt_plan *plan, *cpu;
	struct tcbrt_wgpu_code code;
	struct tcbrt_gpu_code ptx;
	struct tcbrt_error err;
	struct tcbrt_gpu *gpu;
	struct tcbrt *rt;

	(void)state;
	assert_int_equal(tcbrt_open_empty(&rt, NULL), TCBRT_OK);
	assert_int_equal(tcbrt_plan_create(rt, &query, &plan, &err), TCBRT_OK);
	query.device = NULL;
	assert_int_equal(tcbrt_plan_create(rt, &query, &cpu, &err), TCBRT_OK);
	assert_int_equal(tcbrt_gpu_load(plan, &gpu, &err), TCBRT_E_USAGE);
	assert_int_equal(tcbrt_gpu_code(plan, &ptx), TCBRT_E_USAGE);
	assert_int_equal(tcbrt_gpu_arguments(plan, 0, &address, 0, &arguments, &err), TCBRT_E_USAGE);
	assert_int_equal(tcbrt_execute_check(plan, NULL, NULL, &err), TCBRT_E_USAGE);
	assert_non_null(strstr(err.message, "tcbrt_wgpu_code"));
	assert_int_equal(tcbrt_wgpu_code(cpu, &code), TCBRT_E_USAGE);
	tcbrt_plan_destroy(cpu);
	assert_int_equal(tcbrt_wgpu_code(NULL, &code), TCBRT_E_USAGE);
	assert_int_equal(tcbrt_wgpu_code(plan, NULL), TCBRT_E_USAGE);
	assert_int_equal(tcbrt_wgpu_device(NULL, name, &err), TCBRT_E_USAGE);
	query.device = "cpu";
	query.wgpu = &full;
	assert_int_equal(tcbrt_plan_create(rt, &query, &cpu, &err), TCBRT_E_USAGE);
	assert_non_null(strstr(err.message, "query.wgpu"));
	query.device = NULL;
	assert_int_equal(tcbrt_tune("/nonexistent/tuning.db", &query, 1, &err), TCBRT_E_USAGE);
	assert_non_null(strstr(err.message, "query.device"));
	tcbrt_plan_destroy(plan);
	tcbrt_close(rt);
}

/* --- limits --- */

static void names_are_of_the_adapter(void **state)
{
	char name[TCBRT_WGPU_NAME_MAX], other[TCBRT_WGPU_NAME_MAX];
	struct tcbrt_wgpu_adapter adapter = full;

	(void)state;
	assert_int_equal(tcbrt_wgpu_device(&adapter, name, NULL), TCBRT_OK);
	adapter.is_trusted = 1;
	assert_int_equal(tcbrt_wgpu_device(&adapter, other, NULL), TCBRT_OK);
	assert_non_null(strstr(other, "-trusted:"));
	assert_null(strstr(name, "-trusted:"));
	adapter.is_trusted = 0;
	assert_int_equal(strncmp(name, "wgpu-nvidia:", 12), 0);
	adapter.workgroup_bytes = 0; /* what a device was made with is not what it is */
	assert_int_equal(tcbrt_wgpu_device(&adapter, other, NULL), TCBRT_OK);
	assert_string_equal(name, other);
	adapter.description_bytes--;
	assert_int_equal(tcbrt_wgpu_device(&adapter, other, NULL), TCBRT_OK);
	assert_string_not_equal(name, other);
	adapter.type = 3;
	assert_int_equal(tcbrt_wgpu_device(&adapter, other, NULL), TCBRT_OK);
	assert_int_equal(strncmp(other, "wgpu-software:", 14), 0);
	adapter = (struct tcbrt_wgpu_adapter){ .vendor_id = 0x5143 };
	assert_int_equal(tcbrt_wgpu_device(&adapter, other, NULL), TCBRT_OK);
	assert_int_equal(strncmp(other, "wgpu-qualcomm:", 14), 0);
	assert_int_equal(strlen(other), 14 + 16);
}

/* A device with what WebGPU guarantees gets what runs on it. */
static void answers_are_within_limits(void **state)
{
	struct tcbrt_wgpu_adapter least = { .vendor_id = 0x10de };
	size_t count, planned = 0;
	const struct tcb_op *const *ops = tcb_ops(&count);
	struct tcbrt *rt;

	(void)state;
	assert_int_equal(tcbrt_open_empty(&rt, NULL), TCBRT_OK);
	for (size_t i = 0; i < count; i++) {
		struct tcbrt_query query = { .wgpu = &least };
		struct tcbrt_plan *plan = plan_of(rt, ops[i], &shapes[0], &query);
		struct tcbrt_wgpu_code code;

		if (!plan)
			continue;
		assert_int_equal(strncmp(plan->device, "wgpu-nvidia:", 12), 0);
		assert_int_equal(tcbrt_wgpu_code(plan, &code), TCBRT_OK);
		assert_int_equal(code.features, 0);
		for (unsigned l = 0; l < code.launch_count; l++)
			assert_true(code.launch[l].workgroup <= 256);
		tcbrt_plan_destroy(plan);
		planned++;
	}
	assert_true(planned > 10);
	/* 128 MiB at most are bound. */
	struct tcbrt_query query = { .op = "softmax", .wgpu = &least, .m = 8192, .n = 8192 };
	struct tcbrt_tuning tuning;
	assert_int_equal(tcbrt_lookup(rt, &query, &tuning), TCBRT_E_NOT_FOUND);
	query.wgpu = &full;
	assert_int_equal(tcbrt_lookup(rt, &query, &tuning), TCBRT_OK);
	tcbrt_close(rt);
}

/* --- what was measured --- */

/* As a query has it. */
static struct tcb_device device_of(const struct tcbrt_wgpu_adapter *adapter, unsigned subgroups)
{
	struct tcb_device device = { .has_ecc = -1 };
	char name[TCBRT_WGPU_NAME_MAX];

	assert_int_equal(tcbrt_wgpu_device(adapter, name, NULL), TCBRT_OK);
	device.target.wgpu.is_checked = 1;
	device.target.wgpu.vendor = TCB_WGPU_NVIDIA;
	rt_wgpu_limit(adapter, &device.target);
	device.target.wgpu.subgroup_least = device.target.wgpu.subgroup_most = subgroups;
	tcb_wgpu_complete(&device);
	snprintf(device.key, sizeof(device.key), "%s", strchr(name, ':') + 1);
	snprintf(device.model, sizeof(device.model), "%s", adapter->device);
	return device;
}

/* The default with a row's 32 lanes as a subgroup's. */
static struct tcb_geometry with_subgroups(const struct tcb_problem *problem, const struct tcb_target *target)
{
	struct tcb_geometry geometry;

	tcb_op_standard(problem, target, &geometry);
	assert_int_equal(geometry.knob[TCB_KNOB_WORKGROUP] % 32, 0);
	geometry.tile[TCB_MIDI].n = (size_t)geometry.knob[TCB_KNOB_WORKGROUP] / 32;
	geometry.tile[TCB_MICRO].n = 1;
	geometry.tile[TCB_MACRO].n = geometry.tile[TCB_MIDI].n;
	geometry.knob[TCB_KNOB_TREE] = TCB_TREE_SUBGROUP;
	return geometry;
}

static void put_winner(struct fixture *fixture, const struct tcb_device *device, const struct tcb_problem *problem)
{
	struct tcb_best best = { .state = TCB_COLD,
				 .ns = { 1000, 999, 1001 },
				 .default_ns = { 1500, 1500, 1500 },
				 .speedup = { 1.5, 1.4, 1.6 },
				 .tried = 100 };
	const struct tcb_sweep_record record = { .device = device,
						 .problem = problem,
						 .op_signature = "s",
						 .git_commit = "c",
						 .compiler = "cc",
						 .version = "0",
						 .strategy = "random",
						 .settings_json = "{}" };
	struct tcb_trial trial = { .outcome = TCB_OUTCOME_OK, .geometry = with_subgroups(problem, &device->target) };
	struct tcb_packings packings = { .is_known = { 0 } };
	const char *ties[] = { best.geometry };
	struct tcb_geometry standard;
	struct tcb_kernel kernel;
	struct tcb_str text = { 0 };
	struct tcb_error err;
	int64_t sweep;

	if (tcb_kernel_emit(problem, &device->target, &trial.geometry, &kernel, &err) != TCB_OK)
		fixture_fail(&err);
	tcb_kernel_print(&kernel, &text);
	assert_int_equal(tcb_kernel_sign(&kernel, &text, &packings, trial.signature, &err), TCB_OK);
	tcb_str_fini(&text);
	tcb_kernel_fini(&kernel);
	strcpy(trial.variant, tcb_variant_find(problem->op, problem->contract, &trial.geometry)->name);
	(void)tcb_default_geometry(problem, &device->target, &standard);
	tcb_geometry_print(&standard, best.default_geometry);
	tcb_geometry_print(&trial.geometry, best.geometry);
	strcpy(best.variant, trial.variant);
	strcpy(best.signature, trial.signature);
	if (tcb_db_sweep_begin(fixture->db, &record, &sweep, &err) != TCB_OK ||
	    tcb_db_trial_put(fixture->db, sweep, &trial, &err) != TCB_OK ||
	    tcb_db_best_put(fixture->db, sweep, &best, ties, 1, &err) != TCB_OK)
		fixture_fail(&err);
}

static void expect(const struct tcbrt *rt, const struct tcbrt_query *query, enum tcbrt_source source, int subgroups)
{
	struct tcbrt_tuning tuning;

	if (tcbrt_lookup(rt, query, &tuning) != TCBRT_OK || tuning.source != source)
		fail_msg("%s, not %s: %s", tcbrt_source_text(tuning.source), tcbrt_source_text(source), tuning.reason);
	/* Defaults use subgroups where the device has them. */
	if (!tuning.reason[0] ||
	    (source != TCBRT_SOURCE_DEFAULT && (strstr(tuning.geometry, "tree=subgroup") != NULL) != subgroups))
		fail_msg("%s: %s", tuning.geometry, tuning.reason);
}

static void what_was_measured_answers(void **state)
{
	const struct tcb_shape shape = { 1, 512, 1024, { 0 } };
	const struct tcb_device device = device_of(&full, 32);
	struct tcbrt_wgpu_adapter adapter = full;
	char name[TCBRT_WGPU_NAME_MAX];
	struct tcbrt_query query = { .op = "q4k_matvec", .m = 1, .n = 512, .k = 1024 };
	struct tcbrt_tuning tuning;
	struct fixture fixture;
	struct tcb_problem problem;
	struct tcbrt *rt;

	(void)state;
	fixture_init(&fixture);
	assert_int_equal(tcb_problem_init(tcb_op_find("q4k_matvec"), TCB_CONTRACT_Q8, &shape, &problem, NULL), TCB_OK);
	put_winner(&fixture, &device, &problem);
	rt = fixture_open(&fixture);
	assert_int_equal(tcbrt_wgpu_device(&full, name, NULL), TCBRT_OK);
	query.device = name;
	expect(rt, &query, TCBRT_SOURCE_EXACT, 1);
	query.device = NULL;
	query.wgpu = &adapter;
	expect(rt, &query, TCBRT_SOURCE_EXACT, 1);
	/* Another card of the maker's, and the maker's cards. */
	adapter.device_id++;
	expect(rt, &query, TCBRT_SOURCE_ARCHITECTURE, 1);
	query.device = "wgpu-nvidia";
	query.wgpu = NULL;
	expect(rt, &query, TCBRT_SOURCE_ARCHITECTURE, 1);
	query.device = "wgpu-amd";
	expect(rt, &query, TCBRT_SOURCE_DEFAULT, 0);
	/* The adapter itself, a device of it that was made without subgroups, and one whose are smaller. */
	query.device = NULL;
	query.wgpu = &adapter;
	adapter = full;
	adapter.features = TCBRT_WGPU_DP4A;
	expect(rt, &query, TCBRT_SOURCE_DEFAULT, 0);
	assert_int_equal(tcbrt_lookup(rt, &query, &tuning), TCBRT_OK);
	assert_non_null(strstr(tuning.reason, "needs more than the device of query.wgpu has"));
	adapter = full;
	adapter.subgroup_min = 16;
	adapter.subgroup_max = 32;
	expect(rt, &query, TCBRT_SOURCE_DEFAULT, 0);
	adapter.subgroup_min = 32;
	expect(rt, &query, TCBRT_SOURCE_EXACT, 1);
	tcbrt_close(rt);
	fixture_fini(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_what_modules_have),    cmocka_unit_test(texts_are_of_the_geometry),
		cmocka_unit_test(other_calls_refuse),        cmocka_unit_test(names_are_of_the_adapter),
		cmocka_unit_test(answers_are_within_limits), cmocka_unit_test(what_was_measured_answers),
		cmocka_unit_test(plans_are_saved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
