/* SPDX-License-Identifier: MIT
 *
 * What tests of GPU kernels have in common: in go problems, geometries and
 * changes to instructions; a test fails with the geometry, the target and the
 * shape at which something is wrong.
 */
#include "gpu_bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/gpu.h"
#include "kernels/constraint.h"
#include "kernels/gpu/ptx_code.h"
#include "ptx/analyse/check.h"
#include "ptx/emulate/emulate.h"

const unsigned gpu_capabilities[GPU_CAPABILITIES] = { 75, 80, 86, 89, 90, 100, 120 };

struct tcb_target gpu_target(unsigned capability, unsigned sms)
{
	struct tcb_gpu gpu;
	assert_int_equal(tcb_gpu_table(capability, &gpu, NULL), TCB_OK);
	if (sms)
		gpu.device.target.cuda.sm_count = sms;
	return gpu.device.target;
}

struct tcb_problem gpu_problem(const struct tcb_op *op, enum tcb_contract contract, struct tcb_shape shape)
{
	struct tcb_problem problem;
	assert_non_null(op);
	assert_int_equal(tcb_problem_init(op, contract, &shape, &problem, NULL), TCB_OK);
	return problem;
}

/* Fails with all that tells one kernel from another. */
static void fail_at(const struct tcb_problem *p, unsigned capability, const struct tcb_geometry *g, const char *says)
{
	char text[TCB_GEOMETRY_TEXT_MAX];
	tcb_geometry_print(g, text);
	fail_msg("%s %s sm_%u %zux%zux%zu %s: %s", p->op_name, tcb_contract_text(p->contract), capability, p->shape.m,
		 p->shape.n, p->shape.k, text, says);
}

/* --- geometries --- */

struct tcb_geometry gpu_geometry(const char *text)
{
	struct tcb_geometry geometry;
	struct tcb_error err;
	if (tcb_geometry_parse(text, &geometry, &err) != TCB_OK)
		fail_msg("%s: %s", text, err.message);
	return geometry;
}

struct tcb_geometry gpu_geometry_changed(const char *standard, const char *changes)
{
	char text[TCB_GEOMETRY_TEXT_MAX], copy[256], *save = NULL;
	snprintf(text, sizeof text, "%s", standard);
	snprintf(copy, sizeof copy, "%s", changes);
	for (char *pair = strtok_r(copy, ",", &save); pair; pair = strtok_r(NULL, ",", &save)) {
		const size_t key = strcspn(pair, "=") + 1;
		char *at = text, rest[TCB_GEOMETRY_TEXT_MAX];
		while (at && strncmp(at, pair, key) != 0) {
			at = strchr(at, ',');
			at = at ? at + 1 : NULL;
		}
		if (!at) { /* one that may be left out */
			const size_t end = strlen(text);
			snprintf(text + end, sizeof text - end, ",%s", pair);
			continue;
		}
		snprintf(rest, sizeof rest, "%s", at + strcspn(at, ","));
		snprintf(at, sizeof text - (size_t)(at - text), "%s%s", pair, rest);
	}
	return gpu_geometry(text);
}

struct tcb_space *gpu_space(const struct tcb_problem *p, const struct tcb_target *target, int whole)
{
	struct tcb_space *space;
	struct tcb_error err;
	if (tcb_space_create(p->op, p, target, whole, &space, &err) != TCB_OK)
		fail_msg("%s %s sm_%u %zux%zux%zu: %s", p->op_name, tcb_contract_text(p->contract),
			 target->cuda.capability, p->shape.m, p->shape.n, p->shape.k, err.message);
	return space;
}

struct tcb_geometry gpu_geometry_drawn(const struct tcb_problem *p, const struct tcb_target *target,
				       struct tcb_rng *rng)
{
	struct tcb_space *space = gpu_space(p, target, 1);
	const struct tcb_geometry g = space->geometries[tcb_rng_below(rng, space->count)];
	tcb_space_destroy(space);
	return g;
}

void gpu_check_rule(const struct tcb_problem *p, unsigned capability, const struct tcb_geometry *g, int whole,
		    const char *says)
{
	const struct tcb_target target = gpu_target(capability, 0);
	char why[TCB_WHY_MAX] = "", message[TCB_WHY_MAX + 100];
	const int violated = tcb_constraint_violated(p->op, p, &target, g, whole, why) != NULL;
	snprintf(message, sizeof message, "'%s' does not say '%s'", why, says ? says : "nothing");
	if (says ? !violated || !strstr(why, says) : violated)
		fail_at(p, capability, g, message);
}

void gpu_check_default(const struct tcb_problem *p, unsigned capability)
{
	const struct tcb_target target = gpu_target(capability, 0);
	struct tcb_geometry g;
	tcb_op_standard(p, &target, &g);
	gpu_check_rule(p, capability, &g, 0, NULL);
}

/* --- kernels --- */

void gpu_emit(const struct tcb_problem *p, const struct tcb_target *target, const struct tcb_geometry *g,
	      struct tcb_kernel *out)
{
	struct tcb_error err;
	if (tcb_kernel_emit(p, target, g, out, &err) != TCB_OK)
		fail_at(p, target->cuda.capability, g, err.message);
}

void gpu_check_text(const struct tcb_kernel *kernel)
{
	struct tcb_str text = { 0 }, again = { 0 };
	struct tcb_ptx_module *parsed;
	struct tcb_error err;
	tcb_kernel_print(kernel, &text);
	if (tcb_ptx_parse("kernel", text.data, text.length, &parsed, &err) != TCB_OK)
		fail_msg("%s", err.message);
	tcb_ptx_print(parsed, &again);
	assert_string_equal(text.data, again.data);
	tcb_ptx_module_destroy(parsed);
	tcb_str_fini(&text);
	tcb_str_fini(&again);
}

static void see_finding(void *ctx, const struct tcb_ptx_finding *finding)
{
	struct tcb_str *said = ctx;
	if (finding->severity != TCB_PTX_ADVICE)
		tcb_str_addf(said, "%s\n", finding->message);
}

void gpu_check_clean(const struct tcb_kernel *kernel)
{
	struct tcb_str said = { 0 };
	const struct tcb_ptx_sink sink = { see_finding, &said };
	struct tcb_ptx_check_options options = { 0 };
	struct tcb_ptx_check_launch launch[TCB_LAUNCHES_MAX];
	struct tcb_ptx_check_report report;
	struct tcb_error err;
	for (size_t l = 0; l < kernel->launch_count; l++) {
		launch[l] = (struct tcb_ptx_check_launch){ .entry = kernel->launch[l].entry,
							   .dynamic_shared = kernel->launch[l].shared_bytes };
		memcpy(launch[l].block, kernel->launch[l].block, sizeof launch[l].block);
	}
	options.launches = launch;
	options.launch_count = kernel->launch_count;
	if (tcb_ptx_check(tcb_kernel_ptx(kernel)->module, &options, &sink, &report, &err) != TCB_OK)
		fail_msg("%s", err.message);
	if (said.data)
		fail_at(&kernel->problem, tcb_kernel_ptx(kernel)->module->target.sm, &kernel->geometry, said.data);
	tcb_str_fini(&said);
}

size_t gpu_sample_size(size_t usual)
{
	const char *text = getenv("TCB_GPU_SAMPLE");
	return text ? strtoul(text, NULL, 10) : usual;
}

void gpu_tally_print(const struct gpu_tally *tally)
{
	print_message("%zu kernels, %.1f million instructions of threads, largest error %.3f of what is allowed\n",
		      tally->kernels, (double)tally->threads * 1e-6, tally->worst);
}

/* --- running --- */

void gpu_problem_rows(struct tcb_problem *p, size_t i)
{
	struct tcb_operand all[TCB_OPERANDS_MAX];
	if (p->op->words >> TCB_WORD_X_TYPE & 1u && i / 4 % 4)
		p->shape.words.x_type = 2 + i / 5 % 2;
	if (p->op->words >> TCB_WORD_Y_TYPE & 1u && i / 4 % 3)
		p->shape.words.y_type = 2 + i / 7 % 2;
	if (p->op->words >> TCB_WORD_GELU & 1u)
		p->shape.words.gelu = i / 3 % 2;
	if (!p->op->stride_unit || i % 3 == 0)
		return;
	const size_t count = p->op->operands(p, all), unit = p->op->stride_unit;
	const int input = tcb_operand_input(all, count), output = tcb_operand_output(all, count);
	assert_int_equal(tcb_problem_stride(p, i % 5 ? all[input].cols + (i % 2 || unit > 1 ? 8 : 3) : 0,
					    i % 7 ? all[output].cols + i % 11 * unit : 0, NULL),
			 TCB_OK);
}

void gpu_bench_open(struct gpu_bench *b, const struct tcb_problem *problem, uint64_t seed)
{
	memset(b, 0, sizeof *b);
	b->op = problem->op;
	b->problem = *problem;
	b->operand_count = b->op->operands(&b->problem, b->operand);
	b->output = tcb_operand_output(b->operand, b->operand_count);
	b->weights = tcb_operand_weights(b->operand, b->operand_count);
	for (size_t i = 0; i < b->operand_count; i++)
		b->data[i] = test_malloc(b->operand[i].bytes);
	b->output_align = 4;
	b->outputs = b->operand[b->output].rows * b->operand[b->output].cols;
	b->op->fill(&b->problem, seed, b->data);
	b->doubles = test_malloc(sizeof(double) * tcb_references_lay_out(b->operand, b->operand_count, NULL, NULL));
	tcb_references_lay_out(b->operand, b->operand_count, b->doubles, b->reference);
	gpu_bench_refer(b);
}

void gpu_bench_refer(struct gpu_bench *b)
{
	b->op->reference(&b->problem, b->data, b->reference);
}

void gpu_bench_close(struct gpu_bench *b)
{
	for (size_t i = 0; i < b->operand_count; i++)
		test_free(b->data[i]);
	test_free(b->doubles);
}

static void see_error(void *ctx, const struct tcb_ptx_finding *finding)
{
	struct gpu_bench *b = ctx;
	if (finding->severity == TCB_PTX_ERROR && !b->findings++)
		snprintf(b->message, sizeof b->message, "%s", finding->message);
}

/* Launches KERNEL once: every launch of it in order. */
static void launch_all(struct gpu_bench *b, const struct tcb_kernel *kernel, struct tcb_ptx_memory *memory,
		       const uint64_t address[], uint64_t workspace, uint64_t seed)
{
	const struct tcb_ptx_sink sink = { see_error, b };
	for (size_t i = 0; i < kernel->launch_count && !b->findings; i++) {
		const struct tcb_launch *l = &kernel->launch[i];
		struct tcb_ptx_function *function = tcb_ptx_function_find(tcb_kernel_ptx(kernel)->module, l->entry);
		struct tcb_ptx_program *program;
		struct tcb_ptx_emulation result = { 0 };
		struct tcb_error err = { 0 };
		unsigned char params[TCB_PARAMETERS_MAX];
		const size_t bytes = tcb_launch_parameters(kernel, i, address, workspace, params, sizeof params);
		struct tcb_ptx_launch launch = { .dynamic_shared = l->shared_bytes,
						 .params = params,
						 .param_bytes = bytes,
						 .step_limit = UINT64_C(1) << 24,
						 .seed = seed };
		memcpy(launch.grid, l->grid, sizeof launch.grid);
		memcpy(launch.block, l->block, sizeof launch.block);
		memcpy(launch.cluster, tcb_kernel_ptx(kernel)->launch[i].cluster, sizeof launch.cluster);
		assert_non_null(function);
		assert_int_equal(bytes, tcb_ptx_param_total(function));
		if (tcb_ptx_program_create(function, &program, &err) != TCB_OK)
			fail_msg("%s", err.message);
		if (tcb_ptx_emulate(program, &launch, memory, &sink, &result, &err) != TCB_OK)
			fail_msg("%s", err.message);
		b->threads += result.total.threads;
		tcb_ptx_program_destroy(program);
	}
}

/*
 * Runs KERNEL twice with one workspace; the largest error over what is allowed, or infinity when the runs differ or the
 * emulator found something (see b->findings and b->message).
 */
static double run_twice(struct gpu_bench *b, const struct tcb_kernel *kernel, uint64_t seed)
{
	const struct tcb_plan bound = { .chain = kernel->chain, .ulps = kernel->ulps };
	const size_t workspace_bytes = kernel->workspace_bytes ? kernel->workspace_bytes : 4;
	uint64_t address[TCB_OPERANDS_MAX], workspace;
	struct tcb_ptx_memory *memory;
	unsigned char *scratch = test_malloc(workspace_bytes);
	void *host[2][TCB_OPERANDS_MAX] = { { NULL } };
	double ratio = 0;
	int differs = 0;
	memset(scratch, 0, workspace_bytes);
	for (size_t i = 0; i < b->operand_count; i++)
		if (kernel->packed_bytes[i]) {
			host[0][i] = host[1][i] = test_malloc(kernel->packed_bytes[i]);
			b->op->pack(&b->problem, i, (enum tcb_layout)kernel->geometry.knob[TCB_KNOB_LAYOUT], b->data[i],
				    host[0][i]);
		}
	b->findings = b->threads = 0;
	for (int turn = 0; turn < 2; turn++) {
		assert_int_equal(tcb_ptx_memory_create(&memory, NULL), TCB_OK);
		for (size_t i = 0; i < b->operand_count; i++) {
			const int is_output = b->operand[i].role == TCB_ROLE_OUTPUT;
			const size_t packed = kernel->packed_bytes[i], bytes = packed ? packed : b->operand[i].bytes;
			if (is_output) {
				host[turn][i] = test_malloc(bytes);
				memset(host[turn][i], 0xff, bytes);
			} else if (!packed) {
				host[turn][i] = b->data[i];
			}
			assert_int_equal(tcb_ptx_memory_add(memory, b->operand[i].name, host[turn][i], bytes,
							    is_output ? b->output_align : 16,
							    is_output ? TCB_PTX_MAY_WRITE : TCB_PTX_READ_ONLY,
							    &address[i], NULL),
					 TCB_OK);
		}
		assert_int_equal(tcb_ptx_memory_add(memory, "workspace", scratch, workspace_bytes, 256,
						    TCB_PTX_MAY_WRITE, &workspace, NULL),
				 TCB_OK);
		launch_all(b, kernel, memory, address, workspace, seed + (uint64_t)turn);
		for (size_t i = b->zeros_at; b->zeros_at && i < kernel->workspace_bytes; i++)
			b->findings += scratch[i] != 0;
		tcb_ptx_memory_destroy(memory);
	}
	ratio = tcb_outputs_error_ratio(&bound, b->operand, b->operand_count, b->reference, host[0], NULL, NULL);
	tcb_operand_to_f32(&b->operand[b->output], host[0][b->output], 0, 1, &b->first);
	for (size_t i = 0; i < b->operand_count; i++) {
		if (b->operand[i].role == TCB_ROLE_OUTPUT) {
			b->findings += !tcb_operand_gaps_are(&b->operand[i], host[0][i], 0xff);
			differs |= memcmp(host[0][i], host[1][i], b->operand[i].bytes) != 0;
			test_free(host[1][i]);
		}
		if (host[0][i] != b->data[i])
			test_free(host[0][i]);
	}
	test_free(scratch);
	return b->findings || differs ? INFINITY : ratio;
}

/* Instruction number N of opcode OP in the last function. */
static struct tcb_ptx_ins *find(const struct tcb_kernel *kernel, enum tcb_ptx_op op, unsigned n)
{
	unsigned before = n;
	for (struct tcb_ptx_block *block = tcb_kernel_ptx(kernel)->module->last_function->first; block;
	     block = block->next)
		for (struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
			if (ins->op == op && before-- == 0)
				return ins;
	fail_msg("there are not %u of %s", n + 1, tcb_ptx_op_text(op));
	return NULL;
}

static void mutate(const struct tcb_kernel *kernel, const struct gpu_mutation *m)
{
	struct tcb_ptx_ins *ins = m->how == NOTHING ? NULL : find(kernel, m->op, m->n);
	if (m->how == REMOVE)
		tcb_ptx_ins_remove(ins);
	if (m->how == UNGUARD) {
		assert_true(ins->guard != TCB_PTX_NO_REG);
		ins->guard = TCB_PTX_NO_REG;
	}
	for (unsigned i = 0; (m->how == MOVE || m->how == CONSTANT) && i < ins->operand_count; i++) {
		struct tcb_ptx_operand *operand = &ins->operands[i];
		if (operand->kind == (m->how == MOVE ? TCB_PTX_O_ADDRESS : TCB_PTX_O_INT)) {
			operand->bits += m->how == MOVE ? 16 : 1;
			break;
		}
	}
	assert_int_equal(tcb_ptx_cfg(tcb_kernel_ptx(kernel)->module->last_function, NULL), TCB_OK);
	tcb_ptx_number(tcb_kernel_ptx(kernel)->module->last_function);
}

double gpu_bench_run(struct gpu_bench *b, const struct tcb_target *target, const struct tcb_geometry *g,
		     const struct gpu_mutation *mutation, uint64_t seed)
{
	struct tcb_kernel kernel;
	double ratio;
	gpu_emit(&b->problem, target, g, &kernel);
	if (mutation)
		mutate(&kernel, mutation);
	ratio = run_twice(b, &kernel, seed);
	tcb_kernel_fini(&kernel);
	return ratio;
}

/* Fails with what a run came to. */
static void fail_run(const struct gpu_bench *b, unsigned capability, const struct tcb_geometry *g, double ratio)
{
	char message[600];
	snprintf(message, sizeof message, "%s: ratio %g, %llu findings %s", b->what, ratio,
		 (unsigned long long)b->findings, b->message);
	fail_at(&b->problem, capability, g, message);
}

void gpu_bench_check(struct gpu_bench *b, const struct tcb_target *target, const struct tcb_geometry *g, uint64_t seed,
		     struct gpu_tally *tally)
{
	const double ratio = gpu_bench_run(b, target, g, NULL, seed);
	if (!(ratio <= 1))
		fail_run(b, target->cuda.capability, g, ratio);
	if (tally) {
		tally->kernels++;
		tally->threads += b->threads;
		tally->worst = fmax(tally->worst, ratio);
	}
}

void gpu_bench_check_mutant(struct gpu_bench *b, const struct tcb_target *target, const struct tcb_geometry *g,
			    const struct gpu_mutation *mutation)
{
	const double ratio = gpu_bench_run(b, target, g, mutation, 5);
	if (mutation->how == NOTHING ? !(ratio <= 1) : ratio <= 1)
		fail_run(b, target->cuda.capability, g, ratio);
}

void gpu_check_emitted(const struct tcb_problem *p, const struct tcb_target *target, const struct tcb_geometry *g)
{
	struct tcb_kernel kernel;
	gpu_emit(p, target, g, &kernel);
	gpu_check_clean(&kernel);
	gpu_check_text(&kernel);
	tcb_kernel_fini(&kernel);
}

void gpu_check_run(const struct tcb_problem *p, const struct tcb_target *target, const struct tcb_geometry *g,
		   uint64_t seed, struct gpu_tally *tally)
{
	struct gpu_bench bench;
	gpu_bench_open(&bench, p, seed);
	bench.output_align = 16;
	gpu_bench_check(&bench, target, g, seed, tally);
	gpu_bench_close(&bench);
}

void gpu_check_mutant(const struct tcb_problem *p, const struct tcb_target *target, const char *g, const char *what,
		      const struct gpu_mutation *mutation)
{
	const struct tcb_geometry geometry = gpu_geometry(g);
	struct gpu_bench bench;
	gpu_check_rule(p, target->cuda.capability, &geometry, 1, NULL);
	gpu_bench_open(&bench, p, 9);
	bench.output_align = 16;
	snprintf(bench.what, sizeof bench.what, "%s", what);
	gpu_bench_check_mutant(&bench, target, &geometry, mutation);
	gpu_bench_close(&bench);
}
