/* SPDX-License-Identifier: MIT
 *
 * tcbtune run: one call of an op on a tensor of a model file and activations
 * from a file; the result goes to a file, whole or not at all.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/pool.h"
#include "base/util.h"
#include "cli/core/cli.h"
#include "cli/core/emit.h"
#include "cli/core/tuned.h"
#include "cli/core/weights.h"
#include "device/cpus.h"
#include "worker/backend.h"

struct run_args {
	const struct tcb_registry *ops;
	const char *op, *device, *weights, *x, *out, *contract, *geometry, *db;
	uint64_t threads;
	int json;
};

static const struct cli_option options[] = {
	CLI_OPTION_OP(struct run_args, 1, "the op to run; it must have weights"),
	CLI_OPTION_DEVICE(struct run_args),
	CLI_OPTION_THREADS(struct run_args),
	{ "weights", "FILE.gguf:TENSOR", CLI_TEXT, offsetof(struct run_args, weights),
	  "the weights: a tensor of a GGUF model file; its dimensions give N (of a gated pair 2 N) and K",
	  .required = 1 },
	{ "x", "X.f32", CLI_TEXT, offsetof(struct run_args, x),
	  "the activations: M rows of K little-endian 32-bit floats; the file's length gives M", .required = 1 },
	{ "out", "Y.f32", CLI_TEXT, offsetof(struct run_args, out),
	  "where the result goes: M rows of N little-endian 32-bit floats", .required = 1 },
	CLI_OPTION_CONTRACT(struct run_args),
	{ "geometry", "G", CLI_TEXT, offsetof(struct run_args, geometry), "the geometry to use",
	  .note = "the tuned one, as 'tcbtune lookup' finds it" },
	CLI_OPTION_DB(struct run_args),
	CLI_OPTION_JSON(struct run_args),
	CLI_OPTION_END,
};

/* What one call needs; everything is released by job_fini. */
struct job {
	const struct tcb_op *op;
	struct tcb_place place;
	struct cli_weights weights;
	float *x;
	struct tcb_problem problem;
	struct tcb_geometry geometry;
	char geometry_text[TCB_GEOMETRY_TEXT_MAX];
	const char *source;         /* where the geometry comes from */
	struct tcbrt_tuning tuning; /* unless it was given */
	const struct tcb_variant *variant;
	struct tcb_plan plan; /* unless its backend runs it */
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	size_t operand_count;
	struct tcb_buffer input, packed, workspace, output;
	struct tcb_pool *pool;
	double pack_ns, run_ns;
};

static void job_fini(struct job *job)
{
	tcb_pool_destroy(job->pool);
	tcb_buffer_free(&job->output);
	tcb_buffer_free(&job->workspace);
	tcb_buffer_free(&job->packed);
	tcb_buffer_free(&job->input);
	free(job->x);
	cli_weights_close(&job->weights);
}

static const struct tcb_backend *backend(const struct job *job)
{
	return tcb_backends[job->place.device.target.kind];
}

/* Chooses the geometry, and opens the device with the threads that it wants. */
static enum tcb_status choose_geometry(struct job *job, const struct run_args *args, struct tcb_error *err)
{
	struct cli_query query = { args->ops, args->db, args->device, args->threads, TCB_COLD, 0 };
	const char *text = args->geometry;
	uint64_t threads = args->threads;

	job->source = "given";
	if (!text) {
		TCB_TRY(cli_tuned_find(&query, &job->problem, &job->tuning, err));
		job->source = tcbrt_source_text(job->tuning.source);
		text = job->tuning.geometry;
	}
	TCB_TRY(tcb_geometry_parse_of(text, job->op->parameters, &job->geometry, err));
	if (threads == 0 && job->geometry.knob[TCB_KNOB_THREADS] > 0)
		threads = (uint64_t)job->geometry.knob[TCB_KNOB_THREADS];
	TCB_TRY(cli_open_device(args->device, threads, &job->place, err));
	TCB_TRY(cli_find_geometry(job->op, &job->problem, &job->place.device.target, text, &job->geometry, err));
	tcb_geometry_print(&job->geometry, job->geometry_text);
	job->variant = tcb_variant_find(job->op, job->problem.contract, &job->geometry);
	if (job->place.is_absent)
		return tcb_fail(err, TCB_E_NOT_FOUND,
				"%s is not attached, so nothing can run on it; 'tcbtune devices' shows what is",
				args->device);
	return backend(job)->run ? TCB_OK : tcb_plan_make(&job->problem, &job->geometry, &job->plan, err);
}

/* How many outputs the tensor's rows are for: a gated pair has two for each. */
static enum tcb_status count_outputs(struct job *job, enum tcb_contract contract, struct tcb_shape *shape,
				     struct tcb_error *err)
{
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	struct tcb_problem problem;
	shape->n = 1;
	TCB_TRY(tcb_problem_init(job->op, contract, shape, &problem, err));
	const int weights = tcb_operand_weights(operands, job->op->operands(&problem, operands));
	const size_t each = weights < 0 ? 1 : operands[weights].rows;
	shape->n = job->weights.n / each;
	return job->weights.n % each
		       ? tcb_fail(err, TCB_E_USAGE,
				  "op %s needs %zu rows of weights for each output, but the tensor has %zu rows",
				  job->op->name, each, job->weights.n)
		       : TCB_OK;
}

static enum tcb_status prepare(struct job *job, const struct run_args *args, struct tcb_error *err)
{
	enum tcb_contract contract;
	struct tcb_shape shape = { 0 };

	TCB_TRY(cli_find_op(args->ops, args->op, &job->op, err));
	TCB_TRY(cli_find_contract(job->op, args->contract, &contract, err));
	TCB_TRY(cli_check_device(args->device, err));
	TCB_TRY(cli_check_threads(args->threads, err));
	TCB_TRY(cli_weights_open(job->op, args->weights, &job->weights, err));
	TCB_TRY(cli_check_out(args->out, job->weights.path, "the weights", err));
	TCB_TRY(cli_check_out(args->out, args->x, "the activations", err));
	TCB_TRY(cli_check_out_db(args->out, args->db, err));
	TCB_TRY(cli_read_rows(args->x, job->weights.k, &job->x, &shape.m, err));
	shape.k = job->weights.k;
	TCB_TRY(count_outputs(job, contract, &shape, err));
	TCB_TRY(tcb_problem_init(job->op, contract, &shape, &job->problem, err));
	return choose_geometry(job, args, err);
}

/* The operands of an op with weights: those, one input, one output. */
static enum tcb_status check_operands(struct job *job, struct tcb_error *err)
{
	int weights;

	job->operand_count = job->op->operands(&job->problem, job->operands);
	weights = tcb_operand_weights(job->operands, job->operand_count);
	if (weights < 0 || job->operand_count != 3)
		return tcb_fail(err, TCB_E_USAGE, "op %s takes more than weights and one input; run cannot feed it",
				job->op->name);
	if (job->operands[weights].bytes != job->weights.tensor->bytes)
		return tcb_fail(err, TCB_E_FORMAT, "the tensor has %zu bytes, but its shape needs %zu",
				job->weights.tensor->bytes, job->operands[weights].bytes);
	return TCB_OK;
}

static enum tcb_status allocate(struct job *job, struct tcb_error *err)
{
	for (size_t i = 0; i < job->operand_count; i++) {
		const struct tcb_operand *operand = &job->operands[i];
		if (operand->role == TCB_ROLE_INPUT)
			TCB_TRY(tcb_buffer_alloc(TCB_BUFFER_PLAIN, operand->bytes, &job->input, err));
		else if (operand->role == TCB_ROLE_OUTPUT)
			TCB_TRY(tcb_buffer_alloc(TCB_BUFFER_PLAIN, operand->bytes, &job->output, err));
	}
	const size_t packed = tcb_packed_total(job->plan.packed_bytes); /* there is one operand of weights */
	if (packed)
		TCB_TRY(tcb_buffer_alloc(TCB_BUFFER_HUGE, packed, &job->packed, err));
	if (job->plan.workspace_bytes)
		TCB_TRY(tcb_buffer_alloc(TCB_BUFFER_PLAIN, job->plan.workspace_bytes, &job->workspace, err));
	if (backend(job)->run)
		return TCB_OK;
	const struct tcb_cpus *cpus = tcb_cpus_of(&job->place);
	return tcb_pool_create(job->plan.threads, job->plan.threads <= cpus->count ? cpus->list : NULL, &job->pool,
			       err);
}

static enum tcb_status execute(struct job *job, struct tcb_error *err)
{
	void *operand[TCB_OPERANDS_MAX] = { NULL };
	uint64_t start;

	TCB_TRY(check_operands(job, err));
	TCB_TRY(allocate(job, err));
	memcpy(job->input.data, job->x, job->input.bytes);
	for (size_t i = 0; i < job->operand_count; i++) {
		/* The mapped file is read-only memory: kernels only read their weights. */
		operand[i] = job->operands[i].role == TCB_ROLE_INPUT    ? job->input.data
			     : job->operands[i].role == TCB_ROLE_OUTPUT ? job->output.data
									: (void *)(uintptr_t)job->weights.tensor->data;
	}
	if (backend(job)->run)
		return backend(job)->run(job->op, &job->problem, &job->geometry, &job->place, operand, &job->pack_ns,
					 &job->run_ns, err);
	const int weights = tcb_operand_weights(job->operands, job->operand_count);
	if (job->packed.data) {
		start = tcb_clock_ns();
		job->op->pack(&job->plan.problem, (size_t)weights, job->plan.variant->layout, job->weights.tensor->data,
			      job->packed.data);
		job->pack_ns = (double)(tcb_clock_ns() - start);
		operand[weights] = job->packed.data;
	}
	start = tcb_clock_ns();
	tcb_op_cpu(job->op)->run(&job->plan, operand, job->workspace.data, job->pool);
	job->run_ns = (double)(tcb_clock_ns() - start);
	return TCB_OK;
}

static enum tcb_status print_json(const struct job *job, const char *path, struct tcb_error *err)
{
	int failed = 0;
	json_t *root = cli_json_start("tcbtune.run.1", &failed);

	cli_json_set(root, "op", cli_json_text(job->op->name), &failed);
	cli_json_set(root, "contract", json_string(tcb_contract_text(job->problem.contract)), &failed);
	cli_json_set(root, "shape", cli_json_shape(&job->problem.shape), &failed);
	cli_json_set(root, "device", cli_json_text(job->place.device.name), &failed);
	cli_json_set(root, "variant", cli_json_text(job->variant->name), &failed);
	cli_json_set(root, "geometry", cli_json_text(job->geometry_text), &failed);
	cli_json_set(root, "source", cli_json_text(job->source), &failed);
	cli_json_set(root, "out", cli_json_text(path), &failed);
	cli_json_set(root, "pack_ns", cli_json_real(job->pack_ns), &failed);
	cli_json_set(root, "first_call_ns", cli_json_real(job->run_ns), &failed);
	return cli_emit_json(cli_json_end(root, failed), err);
}

static enum tcb_status run_run(const void *arguments, struct tcb_error *err)
{
	const struct run_args *args = arguments;
	struct job job = { .op = NULL };
	char shape[TCB_SHAPE_TEXT_MAX];
	enum tcb_status status = prepare(&job, args, err);

	if (status == TCB_OK)
		status = execute(&job, err);
	if (status == TCB_OK)
		status = cli_write_file(args->out, job.output.data, job.output.bytes, err);
	if (status == TCB_OK) {
		tcb_shape_print(&job.problem.shape, shape);
		cli_say("%s %s %s with %s, geometry %s (%s%s%s)", job.op->name, tcb_contract_text(job.problem.contract),
			shape, job.variant->name, job.geometry_text, job.source, job.tuning.reason[0] ? ": " : "",
			job.tuning.reason);
		if (args->json)
			status = print_json(&job, args->out, err);
	}
	job_fini(&job);
	return status;
}

const struct cli_command cli_command_run = {
	.name = "run",
	.summary = "run an op on a model file's tensor",
	.description = "Reads the weights from a GGUF file and the activations from a file of floats, runs the op once "
		       "with the tuned geometry (or --geometry) and writes the result.  Which kernel and geometry were "
		       "used is said on stderr.  The ops *_matvec take activations up to 2^100 (1.2e30) under contract "
		       "f32: beyond that a result may be infinite or NaN although it is small.",
	.examples = "  tcbtune run --op @OP --weights model.gguf:blk.0.ffn_down.weight --x x.f32 --out y.f32\n",
	.options = options,
	.args_bytes = sizeof(struct run_args),
	.run = run_run,
};
