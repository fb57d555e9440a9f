/* SPDX-License-Identifier: MIT
 *
 * Plans for WebGPU, run as an engine runs them: of every op, at a shape each, for the adapter that is
 * there, in a device of this program's own, with nothing but what tcbrt_wgpu_code tells;
 * twice with one workspace, against the reference.
 */
#include "wgpu_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sizes.h"
#include "device/wgpu.h"
#include "instrumented.h"
#include "rt/rt_plan.h"
#include "shape_for.h"
#include "tcbrt_wgpu.h"

enum { SEED = 11, CALLS = 2 };

static struct tcb_wgpu_session session;
static char expected_name[TCB_DEVICE_NAME_MAX + TCB_DEVICE_KEY_MAX];

static void check_session(const char *what)
{
	char why[TCB_WGPU_WHY_MAX];

	if (tcb_wgpu_failed(&session, why))
		fail_msg("%s: %s", what, why);
}

/* What an engine knows of its device.  INFO: of the adapter, whose texts are lent. */
static struct tcbrt_wgpu_adapter describe(const struct tcb_wgpu_adapter_info *info)
{
	const struct tcb_wgpu_limits *limits = &session.limits;

	return (struct tcbrt_wgpu_adapter){
		.vendor_id = info->vendor_id,
		.device_id = info->device_id,
		.backend = info->backend,
		.type = info->type,
		.device = info->device.data,
		.device_bytes = info->device.length,
		.description = info->description.data,
		.description_bytes = info->description.length,
		.version = session.wgpu->get_version(),
		.features = TCBRT_WGPU_DP4A | (session.features >> TCB_WGPU_F16 & 1u ? TCBRT_WGPU_F16 : 0u) |
			    (session.features >> TCB_WGPU_SUBGROUPS & 1u ? TCBRT_WGPU_SUBGROUPS : 0u),
		.workgroup_invocations = limits->workgroup_invocations,
		.workgroup_size_x = limits->workgroup_size[0],
		.workgroup_bytes = limits->workgroup_bytes,
		.workgroups = limits->workgroups,
		.storage_buffers = limits->storage_buffers,
		.binding_bytes = tcb_least(limits->storage_bytes, limits->buffer_bytes),
	};
}

/* ---- one plan ---- */

struct bench {
	struct tcbrt_plan *plan;
	struct tcbrt_plan_info info;
	struct tcbrt_wgpu_code code;
	void *stored[TCBRT_OPERANDS_MAX];
	WGPUBuffer operand[TCBRT_OPERANDS_MAX], workspace;
	WGPUComputePipeline pipeline[TCBRT_LAUNCHES_MAX];
	WGPUBindGroup group[TCBRT_LAUNCHES_MAX];
};

/* As many bytes as are bound, the rest of them anything. */
static WGPUBuffer to_device(const void *from, size_t bytes)
{
	const size_t bound = tcb_round_up(bytes, 16);
	const WGPUBuffer buffer = tcb_wgpu_buffer(&session, bound);
	char *padded = malloc(bound);

	memset(padded, 0xff, bound);
	memcpy(padded, from, bytes);
	assert_int_equal(tcb_wgpu_write(&session, buffer, 0, padded, bound, NULL), TCB_OK);
	free(padded);
	return buffer;
}

static void make_pipelines(struct bench *b)
{
	const WGPUShaderModule module = tcb_wgpu_module(&session, b->code.wgsl, 1);

	check_session("compiling it");
	for (unsigned i = 0; i < b->code.launch_count; i++) {
		const struct tcbrt_wgpu_launch *launch = &b->code.launch[i];
		struct tcb_wgpu_constant constants[TCBRT_WGPU_CONSTANTS_MAX];
		struct tcb_wgpu_binding entries[TCBRT_ARGUMENTS_MAX];

		for (unsigned c = 0; c < launch->constant_count; c++)
			constants[c] = (struct tcb_wgpu_constant){ .name = tcb_wgpu_text(launch->constant[c].name),
								   .value = launch->constant[c].value };
		for (unsigned e = 0; e < launch->binding_count; e++) {
			const struct tcbrt_wgpu_binding *binding = &launch->binding[e];

			entries[e] = (struct tcb_wgpu_binding){ .binding = binding->binding,
								.buffer = binding->operand < 0
										  ? b->workspace
										  : b->operand[binding->operand],
								.offset = binding->offset,
								.bytes = binding->bytes };
		}
		b->pipeline[i] = tcb_wgpu_pipeline(&session, module, launch->entry, constants, launch->constant_count);
		check_session("making its pipeline");
		b->group[i] = tcb_wgpu_bind(&session, b->pipeline[i], entries, launch->binding_count);
		check_session("binding its operands");
	}
	session.wgpu->module_release(module);
}

static void bench_init(struct bench *b, struct tcbrt_plan *plan)
{
	memset(b, 0, sizeof *b);
	b->plan = plan;
	assert_int_equal(tcbrt_plan_info(plan, &b->info), TCBRT_OK);
	assert_int_equal(tcbrt_wgpu_code(plan, &b->code), TCBRT_OK);
	for (size_t i = 0; i < b->info.operand_count; i++)
		b->stored[i] = calloc(1, plan->operand[i].bytes);
	plan->problem.op->fill(&plan->problem, SEED, b->stored);
	for (size_t i = 0; i < b->info.operand_count; i++) {
		const struct tcbrt_operand *operand = &plan->operand[i];

		if (operand->role == TCBRT_ROLE_OUTPUT)
			memset(b->stored[i], 0xff, operand->bytes); /* what is not written is found */
		if (operand->packed_bytes) {
			const size_t room = tcb_round_up(operand->packed_bytes, TCBRT_ALIGNMENT);
			void *packed = aligned_alloc(TCBRT_ALIGNMENT, room);

			memset(packed, 0, room);
			assert_int_equal(tcbrt_pack_operand(plan, i, b->stored[i], packed), TCBRT_OK);
			b->operand[i] = to_device(packed, operand->packed_bytes);
			free(packed);
		} else {
			b->operand[i] = to_device(b->stored[i], operand->bytes);
		}
	}
	if (b->info.workspace_bytes) {
		void *zeros = calloc(1, b->info.workspace_bytes);

		b->workspace = to_device(zeros, b->info.workspace_bytes);
		free(zeros);
	}
	make_pipelines(b);
}

static void bench_fini(struct bench *b)
{
	for (unsigned i = 0; i < b->code.launch_count; i++) {
		session.wgpu->bind_group_release(b->group[i]);
		session.wgpu->pipeline_release(b->pipeline[i]);
	}
	for (size_t i = 0; i < b->info.operand_count; i++) {
		tcb_wgpu_buffer_free(&session, b->operand[i]);
		free(b->stored[i]);
	}
	tcb_wgpu_buffer_free(&session, b->workspace);
	tcbrt_plan_destroy(b->plan);
}

static void execute(struct bench *b)
{
	const struct tcb_wgpu *wgpu = session.wgpu;
	const WGPUCommandEncoder encoder = wgpu->create_encoder(session.device, NULL);
	const WGPUComputePassEncoder pass = wgpu->begin_pass(encoder, NULL);

	for (unsigned i = 0; i < b->code.launch_count; i++) {
		const unsigned *dispatch = b->code.launch[i].dispatch;

		wgpu->set_pipeline(pass, b->pipeline[i]);
		wgpu->set_bind_group(pass, 0, b->group[i], 0, NULL);
		wgpu->dispatch(pass, dispatch[0], dispatch[1], dispatch[2]);
	}
	wgpu->end_pass(pass);
	wgpu->pass_release(pass);
	tcb_wgpu_submit(&session, encoder);
	check_session("running it");
}

static void check_result(struct bench *b)
{
	const struct tcb_code_unit *unit = &b->plan->image->unit[0];
	const struct tcb_plan bound = { .chain = unit->chain, .ulps = unit->ulps };
	struct tcb_reference references[TCB_OUTPUTS_MAX];
	struct tcb_operand described[TCB_OPERANDS_MAX];
	const size_t count = b->plan->problem.op->operands(&b->plan->problem, described);
	double *reference = malloc(tcb_references_lay_out(described, count, NULL, NULL) * sizeof(double));
	void *got[TCB_OPERANDS_MAX] = { NULL };
	size_t output = 0, bad = 0;

	tcb_references_lay_out(described, count, reference, references);
	b->plan->problem.op->reference(&b->plan->problem, b->stored, references);
	for (size_t i = 0; i < count; i++)
		if (described[i].role == TCB_ROLE_OUTPUT) {
			got[i] = malloc(described[i].bytes);
			assert_int_equal(tcb_wgpu_read(&session, b->operand[i], 0, described[i].bytes, got[i], NULL),
					 TCB_OK);
		}
	if (!(tcb_outputs_error_ratio(&bound, described, count, references, got, &output, &bad) <= 1))
		fail_msg("%s %zux%zux%zu with %s: %s %zu is wrong", b->plan->problem.op->name, b->plan->problem.shape.m,
			 b->plan->problem.shape.n, b->plan->problem.shape.k, b->info.tuning.geometry,
			 described[output].name, bad);
	for (size_t i = 0; i < count; i++)
		free(got[i]);
	free(reference);
}

/* ---- all of them ---- */

static const struct tcb_shape shapes[] = { { 1, 67, 512, { 0 } }, { 5, 33, 768, { 0 } }, { 19, 130, 256, { 0 } } };

/* 0: no kernel of OP takes what is made of SHAPE. */
static int run_one(const struct tcbrt *rt, const struct tcbrt_wgpu_adapter *adapter, const struct tcb_op *op,
		   const struct tcb_shape *shape)
{
	const struct tcb_shape taken = shape_for(op, *shape);
	char words[TCB_WORDS_TEXT_MAX];
	const struct tcbrt_query query = {
		.op = op->name, .m = taken.m, .n = taken.n, .k = taken.k, .words = words, .wgpu = adapter
	};
	struct tcbrt_tuning tuning;
	struct tcbrt_plan *plan;
	struct tcbrt_error err;
	struct bench b;

	tcb_words_print(&taken.words, words);
	if (tcbrt_lookup(rt, &query, &tuning) != TCBRT_OK)
		return 0;
	if (tcbrt_plan_create(rt, &query, &plan, &err) != TCBRT_OK)
		fail_msg("%s: %s", op->name, err.message);
	assert_string_equal(plan->device, expected_name);
	bench_init(&b, plan);
	for (int call = 0; call < CALLS; call++)
		execute(&b);
	check_result(&b);
	bench_fini(&b);
	return 1;
}

static void every_op_runs(void **state)
{
	struct tcb_wgpu_adapter_info info = { .next = NULL };
	size_t count, sided = 0, ran = 0;
	const struct tcb_op *const *ops = tcb_ops(&count);
	struct tcb_place place;
	struct tcb_error err;
	struct tcbrt *rt;

	(void)state;
	wgpu_place(&place); /* in a process of its own: before the library is opened here */
	snprintf(expected_name, sizeof expected_name, "%s:%s", place.device.name, place.device.key);
	if (tcb_wgpu_session_open(0, &session, &err) != TCB_OK)
		fail_msg("%s", err.message);
	(void)session.wgpu->adapter_info(session.adapter, &info);
	const struct tcbrt_wgpu_adapter adapter = describe(&info);
	assert_int_equal(tcbrt_open_empty(&rt, NULL), TCBRT_OK);
	for (size_t i = 0; i < count; i++) {
		if (!ops[i]->side[TCB_TARGET_WGPU] || test_leaves_out(i))
			continue;
		sided++;
		ran += (size_t)run_one(rt, &adapter, ops[i], &shapes[i % (sizeof shapes / sizeof *shapes)]);
	}
	assert_true(sided > (test_takes_all() ? 10 : 4) && ran >= sided / 2);
	session.wgpu->adapter_info_free(info);
	tcb_wgpu_session_close(&session);
	tcbrt_close(rt);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_op_runs) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
