/* SPDX-License-Identifier: MIT
 *
 * In: a file of candidates.  Out: a decision for each.  Every operand is an
 * allocation of its own with nothing around it, unlike the tuner's buffers with
 * their guard zones: a tool that knows allocations sees the first byte beyond.
 */
#include "candidate_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "candidate_file.h"
#include "device/gpu.h"
#include "worker/drivers/cuda_driver.h"
#include "worker/gpu_runner.h"
#include "worker/judge.h"

enum { INSTANCES_MAX = 64, SEED = 1 };

struct running {
	struct tcb_gpu_session session;
	struct tcb_pool *pool; /* of this thread alone */
	struct tcb_instance *instances[INSTANCES_MAX];
	size_t instance_count;
	struct candidate_tally *tally;
};

/* The operands of one run, in device memory. */
struct device_operands {
	struct tcb_gpu_buffer buffer[TCB_OPERANDS_MAX];
};

static enum tcb_status find_instance(struct running *running, const struct tcb_problem *problem,
				     const struct tcb_shape *shape, struct tcb_instance **out, struct tcb_error *err)
{
	struct tcb_problem wanted = *problem;
	const struct tcb_op *op = problem->op;

	wanted.shape = *shape;
	for (size_t i = 0; i < running->instance_count; i++) {
		*out = running->instances[i];
		if ((*out)->problem.op == op && (*out)->problem.contract == wanted.contract &&
		    tcb_shape_equal(&(*out)->problem.shape, shape))
			return TCB_OK;
	}
	if (!op)
		return tcb_fail(err, TCB_E_FAILED, "no op called %s", wanted.op_name);
	if (running->instance_count == INSTANCES_MAX)
		tcb_instance_destroy(running->instances[--running->instance_count]);
	TCB_TRY(tcb_instance_create(op, &wanted, SEED, NULL, out, err));
	running->instances[running->instance_count++] = *out;
	return TCB_OK;
}

static enum tcb_status upload(const struct tcb_gpu_session *session, struct tcb_instance *instance,
			      const struct tcb_code_unit *unit, struct device_operands *out, struct tcb_error *err)
{
	const struct tcb_cuda *cuda = tcb_cuda_session(session)->cuda;

	const struct tcb_packed *packed;
	TCB_TRY(tcb_instance_packed(instance, (enum tcb_layout)unit->layout, unit->packed_bytes, &packed, err));
	for (size_t i = 0; i < instance->operand_count; i++) {
		const void *from = unit->packed_bytes[i] ? packed->buffer[i].data : instance->data[i].data;
		const size_t bytes = unit->packed_bytes[i] ? unit->packed_bytes[i] : instance->operands[i].bytes;
		TCB_TRY(tcb_cuda_check(cuda, cuda->alloc(&out->buffer[i].base, bytes), "allocating an operand", err));
		if (instance->operands[i].role != TCB_ROLE_OUTPUT)
			TCB_TRY(tcb_cuda_check(cuda, cuda->copy_in(out->buffer[i].base, from, bytes),
					       "copying an operand", err));
	}
	/* The session's stream does not wait for such copies by itself. */
	return tcb_cuda_check(cuda, cuda->context_sync(), "copying the operands", err);
}

static void release(const struct tcb_gpu_session *session, struct device_operands *operands)
{
	for (size_t i = 0; i < TCB_OPERANDS_MAX; i++)
		if (operands->buffer[i].base)
			(void)tcb_cuda_session(session)->cuda->free(operands->buffer[i].base);
}

/* The outputs as they are now, judged. */
static enum tcb_status judge(struct running *running, const struct tcb_code_unit *unit, struct tcb_instance *instance,
			     const struct device_operands *operands, struct tcb_check *check, struct tcb_error *err)
{
	const struct tcb_cuda *cuda = tcb_cuda_session(&running->session)->cuda;
	const struct tcb_plan bound = { .chain = unit->chain, .ulps = unit->ulps };
	enum tcb_status status = TCB_OK;
	void *got[TCB_OPERANDS_MAX] = { NULL };

	for (size_t i = 0; i < instance->output_count && status == TCB_OK; i++) {
		const size_t output = instance->output[i].operand, bytes = instance->operands[output].bytes;
		got[output] = malloc(bytes);
		status = got[output] ? tcb_cuda_check(cuda,
						      cuda->copy_out(got[output], operands->buffer[output].base, bytes),
						      "reading an output", err)
				     : tcb_fail(err, TCB_E_NOMEM, "out of memory for an output");
	}
	if (status == TCB_OK)
		status = tcb_judge_bound(instance, &bound, got, running->pool, "", check, err);
	for (size_t i = 0; i < TCB_OPERANDS_MAX; i++)
		free(got[i]);
	return status;
}

/* One call into poisoned outputs; CHECK says whether they were right. */
static enum tcb_status call_once(struct running *running, struct tcb_gpu_runner *runner, struct tcb_instance *instance,
				 const struct device_operands *operands, int call, struct tcb_check *check,
				 struct tcb_error *err)
{
	const struct tcb_cuda_session *session = tcb_cuda_session(&running->session);
	char why[TCB_GPU_WHY_MAX];
	int result = TCB_CUDA_SUCCESS;

	for (size_t i = 0; i < instance->output_count && result == TCB_CUDA_SUCCESS; i++) {
		const size_t output = instance->output[i].operand;
		result = session->cuda->fill(operands->buffer[output].base, TCB_POISON,
					     instance->operands[output].bytes, session->stream);
	}
	TCB_TRY(tcb_cuda_check(session->cuda, result, "poisoning an output", err));
	if (tcb_gpu_runner_call(runner, operands->buffer, call, check->message) != TCB_GPU_FINE) {
		check->outcome = TCB_OUTCOME_LAUNCH_FAILED;
		return TCB_OK;
	}
	if (tcb_gpu_wait(&running->session, why) != TCB_GPU_FINE)
		return tcb_fail(err, TCB_E_FAILED, "a candidate spoiled the context: %s", why);
	return judge(running, runner->unit, instance, operands, check, err);
}

/* A candidate at one shape: twice, so that the second call finds the workspace as the first left it. */
static enum tcb_status run_unit(struct running *running, const struct candidate_record *record,
				const struct tcb_code_image *image, size_t unit, struct tcb_check *check,
				struct tcb_error *err)
{
	struct tcb_gpu_runner runner;
	struct device_operands operands = { { { 0 } } };
	struct tcb_instance *instance;
	enum tcb_gpu_fault fault;
	int damaged = 0;

	TCB_TRY(find_instance(running, &record->problem, &image->unit[unit].shape, &instance, err));
	enum tcb_status status =
		tcb_gpu_runner_init(&runner, &running->session, image, unit, &fault, check->message, err);
	if (status == TCB_OK && fault != TCB_GPU_FINE)
		check->outcome = TCB_OUTCOME_LAUNCH_FAILED;
	else if (status == TCB_OK)
		status = upload(&running->session, instance, runner.unit, &operands, err);
	for (int call = 0; call < 2 && status == TCB_OK && check->outcome == TCB_OUTCOME_OK; call++)
		status = call_once(running, &runner, instance, &operands, call, check, err);
	if (status == TCB_OK && runner.workspace.base)
		status = tcb_gpu_buffer_check(&running->session, &runner.workspace, &damaged, err);
	if (damaged && check->outcome == TCB_OUTCOME_OK) {
		check->outcome = TCB_OUTCOME_WRONG;
		snprintf(check->message, sizeof check->message, "wrote outside of its workspace");
	}
	running->tally->runs++;
	release(&running->session, &operands);
	tcb_gpu_runner_fini(&runner);
	return status;
}

static enum tcb_status run_candidate(struct running *running, const struct candidate_record *record,
				     const struct tcb_code_image *image, struct tcb_error *err)
{
	struct candidate_tally *tally = running->tally;
	struct tcb_check check = { .outcome = TCB_OUTCOME_OK };
	char shape[TCB_SHAPE_TEXT_MAX];

	for (uint32_t unit = record->first_unit; unit < image->unit_count && check.outcome == TCB_OUTCOME_OK; unit++)
		TCB_TRY(run_unit(running, record, image, unit, &check, err));
	tally->candidates++;
	if (record->is_planted)
		tally->planted++;
	else if (check.outcome == TCB_OUTCOME_WRONG)
		tally->wrong++;
	else if (check.outcome != TCB_OUTCOME_OK)
		tally->failed++;
	tcb_shape_print(&record->problem.shape, shape);
	printf("%s %s %s %s%s %s%s%s\n", tcb_outcome_text(check.outcome), record->problem.op_name,
	       tcb_contract_text(record->problem.contract), shape, record->is_planted ? " (planted)" : "",
	       record->geometry, check.message[0] ? ": " : "", check.message);
	fflush(stdout);
	return TCB_OK;
}

static enum tcb_status run_file(struct running *running, FILE *file, struct tcb_error *err)
{
	struct candidate_record record;
	struct tcb_code_image *image;

	for (;;) {
		TCB_TRY(candidate_read(file, &record, &image, err));
		if (!image)
			return TCB_OK;
		enum tcb_status status = run_candidate(running, &record, image, err);
		free(image);
		TCB_TRY(status);
	}
}

enum tcb_status candidates_run(const char *path, int ordinal, struct candidate_tally *out, struct tcb_error *err)
{
	struct running running = { .tally = out };
	FILE *file = fopen(path, "rb");
	enum tcb_status status;

	memset(out, 0, sizeof *out);
	if (!file)
		return tcb_fail(err, TCB_E_NOT_FOUND, "cannot open %.300s", path);
	const struct tcb_gpu gpu = { .device.target.kind = TCB_TARGET_CUDA, .ordinal = ordinal };
	struct tcb_place place;
	tcb_gpu_place(&gpu, &place);
	status = tcb_gpu_session_open(&place, &running.session, err);
	if (status == TCB_OK)
		status = tcb_pool_create(1, NULL, &running.pool, err);
	if (status == TCB_OK)
		status = run_file(&running, file, err);
	for (size_t i = 0; i < running.instance_count; i++)
		tcb_instance_destroy(running.instances[i]);
	tcb_pool_destroy(running.pool);
	tcb_gpu_session_close(&running.session);
	fclose(file);
	return status;
}
