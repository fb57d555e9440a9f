/* SPDX-License-Identifier: MIT
 *
 * The kernel is written for the shape, its operands are memory of the emulator, and the
 * first error that this reports is a finding.
 */
#include "judge/races.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge/party_values.h"
#include "kernels/gpu/ptx_code.h"
#include "kernels/language.h"
#include "ptx/emulate/emulate.h"

enum { ALIGN = 256 };
static const double LIMIT_S = 10;

struct look {
	struct tcb_kernel kernel;
	struct tcb_problem problem;
	struct tcb_operand operand[TCB_OPERANDS_MAX];
	size_t operand_count;
	struct tcb_ptx_program *program;
	struct tcb_ptx_memory *memory;
	void *values[TCB_OPERANDS_MAX];
	uint64_t address[TCB_OPERANDS_MAX], deadline_ns;
	char finding[300];
	int is_stopped;
};

static void see(void *ctx, const struct tcb_ptx_finding *finding)
{
	struct look *look = ctx;

	if (finding->severity == TCB_PTX_ERROR && !look->finding[0])
		snprintf(look->finding, sizeof look->finding, "%.299s", finding->message);
}

static int is_late(void *ctx)
{
	struct look *look = ctx;

	look->is_stopped |= tcb_clock_ns() > look->deadline_ns;
	return look->is_stopped;
}

/* Its operands, inputs drawn. */
static enum tcb_status add_operands(struct look *look, const struct tcb_kernel_file *task, struct tcb_error *err)
{
	struct tcb_value bound[TCB_EXPRESSION_NAMES_MAX];
	struct tcb_rng rng;

	tcb_kernel_file_bind(task, &look->problem.shape, NULL, bound);
	tcb_rng_init(&rng, 1);
	for (size_t a = 0; a < task->argument_count; a++) {
		const struct tcb_file_argument *argument = &task->argument[a];
		const size_t i = argument->operand;

		if (argument->memory != TCB_FILE_VECTOR)
			continue;
		look->values[i] = calloc(1, look->operand[i].bytes + 1);
		if (!look->values[i])
			return tcb_fail(err, TCB_E_NOMEM, "out of memory for the emulator");
		if (!argument->is_output)
			TCB_TRY(tcb_values_draw(argument, bound, TCB_VALUES_ANY,
						look->operand[i].bytes / argument->type.element_bytes, &rng,
						look->values[i], err));
		TCB_TRY(tcb_ptx_memory_add(look->memory, argument->name, look->values[i], look->operand[i].bytes, ALIGN,
					   argument->is_output ? TCB_PTX_MAY_WRITE : TCB_PTX_READ_ONLY,
					   &look->address[i], err));
	}
	return TCB_OK;
}

static struct tcb_ptx_function *find_entry(const struct look *look)
{
	struct tcb_ptx_module *module = tcb_kernel_ptx(&look->kernel)->module;

	return tcb_ptx_function_find(module, look->kernel.launch[0].entry);
}

static enum tcb_status emulate(struct look *look, struct tcb_error *err)
{
	const struct tcb_launch *from = &look->kernel.launch[0];
	unsigned char parameters[TCB_PARAMETERS_MAX];
	struct tcb_ptx_launch launch = { .dynamic_shared = from->shared_bytes,
					 .params = parameters,
					 .seed = 1,
					 .is_stopped = is_late,
					 .progress_ctx = look };
	struct tcb_ptx_emulation *out = calloc(1, sizeof *out);
	enum tcb_status status;

	if (!out)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the emulator");
	memcpy(launch.grid, from->grid, sizeof launch.grid);
	memcpy(launch.block, from->block, sizeof launch.block);
	launch.param_bytes = tcb_launch_parameters(&look->kernel, 0, look->address, 0, parameters, sizeof parameters);
	look->deadline_ns = tcb_clock_ns() + (uint64_t)(1e9 * LIMIT_S);
	status = tcb_ptx_emulate_twice(look->program, &launch, look->memory, &(struct tcb_ptx_sink){ see, look }, out,
				       err);
	free(out);
	return status;
}

static enum tcb_status run(struct look *look, const struct tcb_judge_options *options, struct tcb_error *err)
{
	struct tcb_geometry geometry;
	const struct tcb_op *op = look->problem.op;

	tcb_op_standard(&look->problem, &options->place->device.target, &geometry);
	TCB_TRY(tcb_kernel_emit(&look->problem, &options->place->device.target, &geometry, &look->kernel, err));
	if (look->kernel.language != &tcb_language_ptx)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "it is not in PTX");
	look->operand_count = op->operands(&look->problem, look->operand);
	TCB_TRY(tcb_ptx_program_create(find_entry(look), &look->program, err));
	TCB_TRY(tcb_ptx_memory_create(&look->memory, err));
	TCB_TRY(add_operands(look, options->kernel[TCB_SEAT_JUDGED].file, err));
	return emulate(look, err);
}

static void finish(struct look *look)
{
	tcb_ptx_memory_destroy(look->memory);
	tcb_ptx_program_destroy(look->program);
	for (size_t i = 0; i < TCB_OPERANDS_MAX; i++)
		free(look->values[i]);
	tcb_kernel_fini(&look->kernel);
}

enum tcb_status tcb_races_look(const struct tcb_judge_options *options, const struct tcb_shape *shape,
			       struct tcb_ruling *verdict, struct tcb_error *err)
{
	const struct tcb_op *op = tcb_file_op(options->kernel[TCB_SEAT_JUDGED].made);
	struct look look = { .finding = "" };
	struct tcb_error why = { .status = TCB_OK };
	char text[TCB_SHAPE_TEXT_MAX];
	enum tcb_status status;

	TCB_TRY(tcb_problem_init(op, op->default_contract, shape, &look.problem, err));
	tcb_shape_print(shape, text);
	status = run(&look, options, &why);
	finish(&look);
	if (look.finding[0])
		tcb_ruling_find(verdict, TCB_RULING_WRONG, "races", "in the emulator, at size %s: %s", text,
				look.finding);
	if (look.finding[0] || status == TCB_OK)
		tcb_ruling_tried(verdict, "races", "races and memory in the emulator of PTX, at size %s", text);
	else if (look.is_stopped)
		tcb_ruling_not_tried(verdict, "races", "the emulator of PTX: %s takes it too long", text);
	else
		tcb_ruling_not_tried(verdict, "races", "the emulator of PTX: %.120s", why.message);
	return status == TCB_E_NOMEM ? tcb_fail(err, status, "%s", why.message) : TCB_OK;
}
