/* SPDX-License-Identifier: MIT
 *
 * One call on a GPU.  In: operands on the host; out: the result there.  The
 * kernel is emitted, assembled, loaded and launched in this process: what runs
 * is the user's choice, not a candidate.
 */
#include "worker/run_gpu.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "kernels/code.h"
#include "worker/gpu_runner.h"

struct gpu_job {
	struct tcb_gpu_session session;
	struct tcb_gpu_runner runner;
	struct tcb_code_image *image;
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	size_t count;
	struct tcb_gpu_buffer buffer[TCB_OPERANDS_MAX];
	void *packed[TCB_OPERANDS_MAX];
};

static enum tcb_status compile(struct gpu_job *job, const struct tcb_problem *problem,
			       const struct tcb_geometry *geometry, const struct tcb_target *target,
			       struct tcb_error *err)
{
	struct tcb_kernel kernel = { .code = NULL };
	enum tcb_status status = tcb_kernel_emit(problem, target, geometry, &kernel, err);
	if (status == TCB_OK)
		status = tcb_code_compile(&kernel, 1, target, &job->image, err);
	tcb_kernel_fini(&kernel);
	return status;
}

/* Operands to the device, the weights repacked where the kernel wants them so. */
static enum tcb_status copy_in(struct gpu_job *job, const struct tcb_op *op, const struct tcb_problem *problem,
			       void *const host[], double *pack_ns, struct tcb_error *err)
{
	const struct tcb_gpu_driver *driver = job->session.driver;
	const struct tcb_code_unit *unit = &job->image->unit[0];
	*pack_ns = 0;
	for (size_t i = 0; i < job->count; i++) {
		const uint64_t start = tcb_clock_ns();
		if (!unit->packed_bytes[i])
			continue;
		job->packed[i] = malloc(unit->packed_bytes[i]);
		if (!job->packed[i])
			return tcb_fail(err, TCB_E_NOMEM, "out of memory for the packed weights");
		op->pack(problem, i, (enum tcb_layout)unit->layout, host[i], job->packed[i]);
		*pack_ns += (double)(tcb_clock_ns() - start);
	}
	for (size_t i = 0; i < job->count; i++) {
		const void *from = job->packed[i] ? job->packed[i] : host[i];
		size_t bytes = job->packed[i] ? unit->packed_bytes[i] : job->operands[i].bytes;
		TCB_TRY(tcb_gpu_buffer_alloc(&job->session, bytes, &job->buffer[i], err));
		if (job->operands[i].role != TCB_ROLE_OUTPUT)
			TCB_TRY(driver->copy_in(job->session.own, job->buffer[i].base, job->buffer[i].first, from,
						bytes, err));
	}
	return driver->sync(job->session.own, err);
}

static enum tcb_status call(struct gpu_job *job, struct tcb_error *err)
{
	char why[TCB_GPU_WHY_MAX];
	if (tcb_gpu_runner_call(&job->runner, job->buffer, 0, why) != TCB_GPU_FINE ||
	    tcb_gpu_wait(&job->session, why) != TCB_GPU_FINE)
		return tcb_fail(err, TCB_E_FAILED, "the kernel failed: %s", why);
	return TCB_OK;
}

static enum tcb_status execute(struct gpu_job *job, const struct tcb_op *op, const struct tcb_problem *problem,
			       const struct tcb_place *place, void *const host[], double *pack_ns, double *run_ns,
			       struct tcb_error *err)
{
	enum tcb_gpu_fault fault;
	char why[256];
	TCB_TRY(tcb_gpu_session_open(place, &job->session, err));
	TCB_TRY(tcb_gpu_runner_init(&job->runner, &job->session, job->image, 0, &fault, why, err));
	if (fault != TCB_GPU_FINE)
		return tcb_fail(err, TCB_E_FAILED, "the kernel cannot be loaded: %s", why);
	TCB_TRY(copy_in(job, op, problem, host, pack_ns, err));
	TCB_TRY(call(job, err));
	uint64_t start = tcb_clock_ns();
	TCB_TRY(call(job, err));
	*run_ns = (double)(tcb_clock_ns() - start);
	for (size_t i = 0; i < job->count; i++)
		if (job->operands[i].role == TCB_ROLE_OUTPUT)
			TCB_TRY(job->session.driver->copy_out(job->session.own, job->buffer[i].base,
							      job->buffer[i].first, job->operands[i].bytes, host[i],
							      err));
	return TCB_OK;
}

enum tcb_status tcb_run_gpu(const struct tcb_op *op, const struct tcb_problem *problem,
			    const struct tcb_geometry *geometry, const struct tcb_place *place, void *const host[],
			    double *pack_ns_out, double *run_ns_out, struct tcb_error *err)
{
	struct gpu_job *job = calloc(1, sizeof *job);
	if (!job)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory");
	job->count = op->operands(problem, job->operands);
	enum tcb_status status = compile(job, problem, geometry, &place->device.target, err);
	if (status == TCB_OK)
		status = execute(job, op, problem, place, host, pack_ns_out, run_ns_out, err);
	tcb_gpu_runner_fini(&job->runner);
	for (size_t i = 0; i < job->count; i++) {
		tcb_gpu_buffer_free(&job->session, &job->buffer[i]);
		free(job->packed[i]);
	}
	free(job->image);
	tcb_gpu_session_close(&job->session);
	free(job);
	return status;
}
