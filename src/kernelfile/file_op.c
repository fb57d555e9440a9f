/* SPDX-License-Identifier: MIT
 *
 * A described kernel comes in, an op goes out: the file's parameters are the axes
 * of its space, its conditions the rules, its vectors the operands.  What is right is
 * what the file says: values of a file, another kernel of its source, or
 * what the default configuration computes.
 */
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/pool.h"
#include "base/sizes.h"
#include "base/util.h"
#include "kernelfile/file_c.h"
#include "kernelfile/file_cuda.h"
#include "kernelfile/file_data.h"
#include "kernelfile/file_gpu.h"
#include "kernelfile/nvrtc.h"
#include "kernels/axes.h"
#include "kernels/constraint.h"
#include "kernels/signature.h"

enum { SHAPE_TEXT_MAX = 96, SEARCH_MOST = 1 << 22 };
/* What runs a language, and what its candidates are as variants. */
static const struct {
	enum tcb_target_kind side;
	enum tcb_isa isa;
} kinds[TCB_FILE_LANGUAGE_COUNT] = {
	[TCB_FILE_C] = { TCB_TARGET_CPU, TCB_ISA_SCALAR },   [TCB_FILE_CXX] = { TCB_TARGET_CPU, TCB_ISA_SCALAR },
	[TCB_FILE_CUDA] = { TCB_TARGET_CUDA, TCB_ISA_FMA },  [TCB_FILE_PTX] = { TCB_TARGET_CUDA, TCB_ISA_FMA },
	[TCB_FILE_WGSL] = { TCB_TARGET_WGPU, TCB_ISA_WGSL }, [TCB_FILE_OPENCL] = { TCB_TARGET_OPENCL, TCB_ISA_OPENCL }
};

/* A candidate that was compiled: a variant of its own, whose entry it is. */
struct compiled {
	struct tcb_variant variant;
	struct compiled *next;
};

struct tcb_file_op {
	struct tcb_kernel_file *file;
	struct tcb_file_c *c;         /* of a kernel of C or C++ */
	struct tcb_file_c *reference; /* NULL: there is none */
	struct tcb_str source;        /* of a GPU's kernel */
	struct tcb_file_cuda *cuda;   /* of CUDA C++ */
	struct tcb_op op;
	struct tcb_side side;
	struct tcb_side_space space;
	struct tcb_rule rules[TCB_FILE_CONDITIONS_MAX + 5]; /* values, conditions, sides, the end */
	struct tcb_parameter parameters[TCB_OP_PARAMETERS_MAX + 1];
	struct tcb_variant variants[2]; /* what any candidate is called; and the end */
	const struct tcb_variant *lists[2];
	struct tcb_shape shape;
	struct compiled *compiled;
	char summary[160];
};

static struct tcb_file_op *made_of(const struct tcb_op *op)
{
	return (struct tcb_file_op *)(uintptr_t)op->context;
}

static const struct tcb_kernel_file *file_of(const struct tcb_problem *problem)
{
	return made_of(problem->op)->file;
}

/* --- the default configuration --- */

static int32_t knob_of(const struct tcb_file_parameter *parameter, size_t value)
{
	return parameter->words ? (int32_t)value : (int32_t)parameter->values[value].whole;
}

/* The first condition that does not hold, or has no value; NULL: all hold.  GEOMETRY NULL: the file's defaults. */
static const char *broken_by(const struct tcb_kernel_file *file, const struct tcb_shape *shape,
			     const struct tcb_geometry *geometry)
{
	struct tcb_value bound[TCB_EXPRESSION_NAMES_MAX], holds;

	tcb_kernel_file_bind(file, shape, geometry, bound);
	for (size_t i = 0; i < file->condition_count; i++)
		if (tcb_expression_value(file->condition[i], bound, &holds, NULL) != TCB_OK ||
		    !tcb_value_is_true(&holds))
			return tcb_expression_text(file->condition[i]);
	return NULL;
}

/* Configurations there are, conditions or not; SEARCH_MOST at most. */
static size_t count_configurations(const struct tcb_kernel_file *file)
{
	size_t count = 1;

	for (size_t i = 0; i < file->parameter_count && count < SEARCH_MOST; i++)
		count *= file->parameter[i].count;
	return tcb_least(count, SEARCH_MOST);
}

/* The file's defaults; where they break a condition for SHAPE, the first configuration from there on that breaks none.
 * 0 if there is one. */
static int find_standard(const struct tcb_file_op *made, const struct tcb_shape *shape, struct tcb_geometry *out)
{
	const struct tcb_kernel_file *file = made->file;
	const size_t most = count_configurations(file);
	size_t at[TCB_FILE_PARAMETERS_MAX];

	tcb_geometry_init(out);
	out->knob[TCB_KNOB_ISA] = kinds[file->kernel.language].isa;
	if (kinds[file->kernel.language].side == TCB_TARGET_CPU)
		out->knob[TCB_KNOB_THREADS] = 1;
	out->parameters = made->parameters;
	out->tile[TCB_MACRO] = (struct tcb_tile){ shape->m, shape->n, shape->k ? shape->k : 1 };
	for (size_t i = 0; i < file->parameter_count; i++)
		at[i] = file->parameter[i].standard;
	for (size_t tries = 0; tries < most; tries++) {
		size_t next = 0;

		for (size_t i = 0; i < file->parameter_count; i++)
			if (file->parameter[i].place >= 0)
				out->knob[TCB_KNOB_COUNT + file->parameter[i].place] =
					knob_of(&file->parameter[i], at[i]);
		if (!broken_by(file, shape, out))
			return 0;
		while (next < file->parameter_count && ++at[next] == file->parameter[next].count)
			at[next++] = 0;
	}
	return -1;
}

/* --- shape and operands --- */

/* SHAPE has the file's sizes; those that it asks of them hold, and all vectors have sizes. */
static enum tcb_status check_shape(const struct tcb_op *op, const struct tcb_shape *shape, struct tcb_error *err)
{
	const struct tcb_kernel_file *file = made_of(op)->file;
	struct tcb_value bound[TCB_EXPRESSION_NAMES_MAX], holds;
	struct tcb_geometry standard;

	if (!shape->m || !shape->n || (file->size_count == 3) != (shape->k != 0) ||
	    (file->size_count == 1 && shape->m != 1))
		return tcb_fail(err, TCB_E_USAGE, "op %s takes a shape %s", op->name, op->shape_form);
	tcb_kernel_file_bind(file, shape, NULL, bound);
	for (size_t i = 0; i < file->size_condition_count; i++) {
		TCB_TRY(tcb_expression_value(file->size_condition[i], bound, &holds, err));
		if (!tcb_value_is_true(&holds))
			return tcb_fail(err, TCB_E_USAGE, "op %s takes no such shape: %.200s", op->name,
					tcb_expression_text(file->size_condition[i]));
	}
	TCB_TRY(tcb_file_check_vectors(file, bound, err));
	if (find_standard(made_of(op), shape, &standard) != 0)
		return tcb_fail(err, TCB_E_USAGE,
				"%.160s: the Default values break a condition at this shape (%.120s), and no other "
				"configuration was found that breaks none",
				file->path, broken_by(file, shape, NULL));
	return TCB_OK;
}

static size_t operands(const struct tcb_problem *problem, struct tcb_operand out[TCB_OPERANDS_MAX])
{
	return tcb_file_operands(file_of(problem), &problem->shape, out);
}

static void fill(const struct tcb_problem *problem, uint64_t seed, void *const operand[])
{
	tcb_file_fill(file_of(problem), &problem->shape, seed, operand);
}

/* --- what is right --- */

/* OUTPUTS, by operand, computed by what the file says is right from the inputs of OPERAND. */
static const char *compute_right(const struct tcb_problem *problem, void *const operand[], void *const outputs[])
{
	static _Thread_local char why[256];
	const struct tcb_file_op *made = made_of(problem->op);
	struct tcb_geometry standard;
	tcb_file_entry_fn *entry;
	struct tcb_error error;
	void *all[TCB_OPERANDS_MAX];

	(void)find_standard(made, &problem->shape, &standard);
	if (tcb_file_c_load(made->reference ? made->reference : made->c, &problem->shape, &standard, &entry, &error) !=
	    TCB_OK) {
		snprintf(why, sizeof why, "the reference: %.230s", error.message);
		return why;
	}
	for (size_t i = 0; i < TCB_OPERANDS_MAX; i++)
		all[i] = outputs[i] ? outputs[i] : operand[i];
	entry(all, made->reference && tcb_file_c_is_team(&made->file->reference) ? (int)tcb_granted_processors() : 1);
	return NULL;
}

static const char *find_right(const struct tcb_problem *problem, void *const operand[], const struct tcb_operand *list,
			      void *const outputs[])
{
	const struct tcb_kernel_file *file = file_of(problem);
	const char *failure = NULL;
	int is_computed = 0;

	for (size_t i = 0; i < file->argument_count; i++)
		is_computed |= file->argument[i].is_output && !file->argument[i].right;
	if (is_computed)
		failure = compute_right(problem, operand, outputs);
	for (size_t i = 0; !failure && i < file->argument_count; i++) {
		const struct tcb_file_argument *argument = &file->argument[i];

		if (argument->is_output && argument->right &&
		    tcb_file_read_raw(argument->right, list[argument->operand].bytes, outputs[argument->operand]) != 0)
			failure = "the file of right values cannot be read, or is too short";
	}
	return failure;
}

static void reference(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out)
{
	const struct tcb_kernel_file *file = file_of(problem);
	struct tcb_operand list[TCB_OPERANDS_MAX];
	void *outputs[TCB_OPERANDS_MAX] = { NULL };
	const size_t count = operands(problem, list);
	int is_there = 1;

	for (size_t i = 0; i < count; i++)
		if (list[i].role == TCB_ROLE_OUTPUT)
			is_there &= posix_memalign(&outputs[i], 64, list[i].bytes) == 0 &&
				    (list[i].is_updated ? memcpy(outputs[i], operand[i], list[i].bytes)
							: memset(outputs[i], 0, list[i].bytes));
	out->failure = is_there ? find_right(problem, operand, list, outputs) : "out of memory for the right values";
	for (size_t i = 0, output = 0; !out->failure && i < file->argument_count; i++) {
		const struct tcb_file_argument *argument = &file->argument[i];

		if (argument->is_output)
			tcb_file_take_right(argument, &list[argument->operand], outputs[argument->operand],
					    &out[output++]);
	}
	for (size_t i = 0; i < count; i++)
		free(outputs[i]);
}

/* --- figures --- */

static double value_or(const struct tcb_problem *problem, const struct tcb_expression *expression, double otherwise)
{
	struct tcb_value bound[TCB_EXPRESSION_NAMES_MAX], value;

	if (!expression)
		return otherwise;
	tcb_kernel_file_bind(file_of(problem), &problem->shape, NULL, bound);
	if (tcb_expression_value(expression, bound, &value, NULL) != TCB_OK || value.type == TCB_VALUE_TEXT)
		return otherwise;
	return value.type == TCB_VALUE_REAL ? value.real : (double)value.whole;
}

static double flops(const struct tcb_problem *problem)
{
	return value_or(problem, file_of(problem)->operations, 0);
}

static double traffic(const struct tcb_problem *problem)
{
	struct tcb_operand list[TCB_OPERANDS_MAX];
	const size_t count = operands(problem, list);
	double bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += (double)list[i].bytes;
	return value_or(problem, file_of(problem)->bytes, bytes);
}

/* --- the space --- */

static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	const struct tcb_kernel_file *file = file_of(problem);
	size_t count = 0;
	(void)target;

	for (size_t i = 0; i < file->parameter_count; i++) {
		const struct tcb_file_parameter *parameter = &file->parameter[i];

		if (parameter->place < 0)
			continue;
		struct tcb_axis *axis = tcb_axis_knob(out, &count, (enum tcb_knob)(TCB_KNOB_COUNT + parameter->place));
		for (size_t v = 0; v < parameter->count; v++)
			tcb_axis_add(axis, parameter->words ? v : (size_t)parameter->values[v].whole);
	}
	return count;
}

static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const struct tcb_file_op *made = made_of(problem->op);

	(void)find_standard(made, &problem->shape, out); /* check_shape has found one */
	if (made->c && tcb_file_c_is_team(&made->file->kernel))
		out->knob[TCB_KNOB_THREADS] = (int32_t)target->threads;
}

/* Of a GPU's kernel its launch. */
static void footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	const struct tcb_file_op *made = made_of(problem->op);
	struct tcb_file_size size;
	(void)target;

	*out = (struct tcb_footprint){ .shared_bytes = 0 };
	if (made->c || tcb_file_launch_size(made->file, &problem->shape, geometry, &size, NULL) != TCB_OK)
		return;
	out->shared_bytes = size.shared_bytes;
	out->shared_dynamic = size.shared_bytes != 0;
	out->block_threads = (unsigned)tcb_least(size.block[0] * size.block[1] * size.block[2], UINT32_MAX);
	memcpy(out->grid, size.grid, sizeof out->grid);
}

/* Why condition NUMBER does not hold; its text, which is the reason. */
static const char *condition_broken(const struct tcb_problem *problem, const struct tcb_target *target,
				    const struct tcb_geometry *geometry, size_t number)
{
	const struct tcb_kernel_file *file = file_of(problem);
	struct tcb_value bound[TCB_EXPRESSION_NAMES_MAX], holds;
	(void)target;

	tcb_kernel_file_bind(file, &problem->shape, geometry, bound);
	if (tcb_expression_value(file->condition[number], bound, &holds, NULL) == TCB_OK && tcb_value_is_true(&holds))
		return NULL;
	return tcb_expression_text(file->condition[number]);
}

/* A value that no axis has, which only a geometry that was written may. */
static const char *value_broken(const struct tcb_problem *problem, const struct tcb_target *target,
				const struct tcb_geometry *geometry, size_t number)
{
	const struct tcb_kernel_file *file = file_of(problem);
	(void)target, (void)number;

	for (size_t i = 0; i < file->parameter_count; i++) {
		const struct tcb_file_parameter *parameter = &file->parameter[i];
		const int32_t set = parameter->place < 0 ? 0 : geometry->knob[TCB_KNOB_COUNT + parameter->place];
		size_t v = 0;

		while (parameter->place >= 0 && v < parameter->count &&
		       set != (parameter->words ? (int32_t)v : (int32_t)parameter->values[v].whole))
			v++;
		if (v == parameter->count)
			return "a parameter has none of its Values";
	}
	return NULL;
}

/* A work-group that is too large along a dimension; that it is too large as a whole, constraints say. */
static const char *side_broken(const struct tcb_problem *problem, const struct tcb_target *target,
			       const struct tcb_geometry *geometry, size_t number)
{
	static const char *const reasons[] = { "LocalSize.X is more than the device has along x",
					       "LocalSize.Y is more than the device has along y",
					       "LocalSize.Z is more than the device has along z" };
	struct tcb_file_size size;

	if (tcb_file_launch_size(file_of(problem), &problem->shape, geometry, &size, NULL) != TCB_OK)
		return "the launch has no valid size";
	return size.block[number] > target->opencl.side_most[number] ? reasons[number] : NULL;
}

/* --- candidates --- */

static enum tcb_status plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
			    struct tcb_plan *out, struct tcb_error *err)
{
	const struct tcb_file_op *made = made_of(problem->op);

	(void)err;
	*out = (struct tcb_plan){
		.problem = *problem,
		.geometry = *geometry,
		.variant = &made->variants[0],
		.threads = (unsigned)geometry->knob[TCB_KNOB_THREADS],
	};
	return TCB_OK;
}

static enum tcb_status make(struct tcb_plan *plan, struct tcb_error *err)
{
	struct tcb_file_op *made = made_of(plan->problem.op);
	tcb_file_entry_fn *entry;
	struct compiled *compiled;

	TCB_TRY(tcb_file_c_load(made->c, &plan->problem.shape, &plan->geometry, &entry, err));
	for (compiled = made->compiled; compiled; compiled = compiled->next)
		if (compiled->variant.entry == (void (*)(void))entry)
			break;
	if (!compiled) {
		compiled = calloc(1, sizeof *compiled);
		if (!compiled)
			return tcb_fail(err, TCB_E_NOMEM, "out of memory for a kernel");
		compiled->variant = made->variants[0];
		compiled->variant.entry = (void (*)(void))entry;
		compiled->next = made->compiled;
		made->compiled = compiled;
	}
	plan->variant = &compiled->variant;
	return TCB_OK;
}

static enum tcb_status build(const struct tcb_problem *problem, const struct tcb_geometry *geometry, double limit_s,
			     const atomic_int *stop, struct tcb_error *err)
{
	struct tcb_file_limits limits = { .seconds = limit_s, .stop = stop };
	char object[TCB_FILE_OBJECT_MAX];
	struct tcb_error why;
	const enum tcb_status status =
		tcb_file_c_object(made_of(problem->op)->c, &problem->shape, geometry, &limits, object, &why);

	return status == TCB_OK ? TCB_OK : tcb_fail(err, limits.was_late ? TCB_E_FAILED : status, "%s", why.message);
}

static void add_processors(void *ctx, size_t task, unsigned thread)
{
	cpu_set_t *of = ctx;

	(void)task;
	if (sched_getaffinity(0, sizeof *of, &of[thread]) != 0)
		CPU_ZERO(&of[thread]);
}

/*
 * A team's threads are the compiler's library's: they inherit where the first thread may run, which is one processor of
 * POOL's.  Once in a process, before they are made, that is all of these.
 */
static void free_team(struct tcb_pool *pool, unsigned threads)
{
	static pid_t done;
	cpu_set_t *of = done == getpid() ? NULL : calloc(threads, sizeof *of);

	if (!of)
		return;
	done = getpid();
	tcb_pool_each(pool, threads, add_processors, of);
	for (unsigned i = 1; i < threads; i++)
		CPU_OR(&of[0], &of[0], &of[i]);
	(void)sched_setaffinity(0, sizeof *of, &of[0]);
	free(of);
}

static void run(const struct tcb_plan *plan, void *const operand[], void *workspace, struct tcb_pool *pool)
{
	(void)workspace;
	if (plan->threads > 1)
		free_team(pool, plan->threads);
	((tcb_file_entry_fn *)plan->variant->entry)(operand, (int)plan->threads);
}

static enum tcb_status emit(const struct tcb_problem *problem, const struct tcb_target *target,
			    const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err)
{
	const struct tcb_file_op *made = made_of(problem->op);

	return tcb_file_emit(made->file, &made->source, made->cuda, problem, target, geometry, out, err);
}

/* Of CUDA C++. */
static int begin(const struct tcb_problem *problem, const struct tcb_target *target,
		 const struct tcb_geometry *geometry)
{
	const struct tcb_file_op *made = made_of(problem->op);
	struct tcb_value bound[TCB_EXPRESSION_NAMES_MAX];

	tcb_kernel_file_bind(made->file, &problem->shape, geometry, bound);
	return tcb_file_cuda_begin(made->cuda, bound, target->cuda.capability);
}

/* --- the op --- */

/* The fields that EXPRESSION reads: those of the parameters among the first names. */
static tcb_fields fields_of(const struct tcb_kernel_file *file, const struct tcb_expression *expression)
{
	const uint64_t reads = tcb_expression_reads(expression);
	tcb_fields fields = 0;

	for (size_t i = 0; i < file->parameter_count; i++)
		if (reads >> i & 1u && file->parameter[i].place >= 0)
			fields |= tcb_field_bit(
				(struct tcb_field){ TCB_AXIS_KNOB, TCB_KNOB_COUNT + file->parameter[i].place });
	return fields;
}

static void set_rules(struct tcb_file_op *made)
{
	const struct tcb_kernel_file *file = made->file;
	size_t count = 0;

	made->rules[count++] = (struct tcb_rule){ .kind = TCB_RULE_KERNEL, .broken_of = value_broken };
	for (size_t i = 0; i < file->condition_count; i++)
		made->rules[count++] = (struct tcb_rule){ .reads = fields_of(file, file->condition[i]),
							  .kind = TCB_RULE_KERNEL,
							  .broken_of = condition_broken,
							  .number = i };
	for (size_t d = 0; d < 3 && file->kernel.language == TCB_FILE_OPENCL; d++)
		made->rules[count++] =
			(struct tcb_rule){ .kind = TCB_RULE_KERNEL, .broken_of = side_broken, .number = d };
}

static void set_parameters(struct tcb_file_op *made)
{
	const struct tcb_kernel_file *file = made->file;

	for (size_t i = 0; i < file->parameter_count; i++) {
		const struct tcb_file_parameter *parameter = &file->parameter[i];

		if (parameter->place >= 0)
			made->parameters[parameter->place] =
				(struct tcb_parameter){ parameter->key, parameter->name,
							(const char *const *)(uintptr_t)parameter->words };
	}
}

/* Are there operands of other types than f32?  They may be multiplied in any way, f16 by matrix instructions. */
static int has_own_arithmetic(const struct tcb_kernel_file *file)
{
	int is_other = 0;

	for (size_t i = 0; i < file->argument_count; i++)
		is_other |=
			file->argument[i].memory == TCB_FILE_VECTOR && file->argument[i].type.element != TCB_FILE_FLOAT;
	return is_other;
}

/* Of what candidates come from, beside the geometry. */
static uint64_t source_hash(const struct tcb_file_op *made)
{
	const char *signature = made->c ? tcb_file_c_signature(made->c) : made->source.data;
	const char *compiler = made->file->kernel.language == TCB_FILE_CUDA ? tcb_nvrtc_name() : NULL;
	uint64_t hash = tcb_hash64(signature, strlen(signature), 1);

	for (size_t i = 0; i < made->file->kernel.option_count; i++)
		hash = tcb_hash64(made->file->kernel.options[i], strlen(made->file->kernel.options[i]), hash);
	return compiler ? tcb_hash64(compiler, strlen(compiler), hash) : hash;
}

static void set_op(struct tcb_file_op *made)
{
	static const char *const forms[] = { "1xN", "MxN", "MxNxK" };
	const struct tcb_kernel_file *file = made->file;

	const int is_cpu = kinds[file->kernel.language].side == TCB_TARGET_CPU;

	snprintf(made->summary, sizeof made->summary, "kernel %.60s of %.80s", file->kernel.name, file->path);
	made->variants[0] = (struct tcb_variant){ .name = file->op_name,
						  .contract = TCB_CONTRACT_F32,
						  .isa = kinds[file->kernel.language].isa,
						  .micro = { 1, 1, 1 },
						  .unroll = 1,
						  .class = TCB_CLASS_BOUNDED,
						  .signature = is_cpu ? tcb_file_c_signature(made->c) : NULL };
	made->lists[0] = made->variants;
	made->space = (struct tcb_side_space){ made->rules, axes, default_geometry, footprint };
	made->side = is_cpu ? (struct tcb_side){ .variants = made->lists,
						 .space = &made->space,
						 .plan = plan,
						 .make = make,
						 .build = build,
						 .run = run }
			    : (struct tcb_side){ .variants = made->lists,
						 .space = &made->space,
						 .emit = emit,
						 .begin = made->cuda ? begin : NULL };
	made->op = (struct tcb_op){
		.name = file->op_name,
		.summary = made->summary,
		.shape_form = forms[file->size_count - 1],
		.contracts = 1u << TCB_CONTRACT_F32,
		.default_contract = TCB_CONTRACT_F32,
		.default_shapes = &made->shape,
		.default_shape_count = 1,
		.check_shape = check_shape,
		.operands = operands,
		.fill = fill,
		.reference = reference,
		.flops = flops,
		.traffic = traffic,
		.parameters = made->parameters,
		.has_own_arithmetic = has_own_arithmetic(file),
		.is_of_its_shape = !file->any_size,
		.context = made,
		.path = file->path,
	};
	made->op.source = source_hash(made);
	made->op.side[kinds[file->kernel.language].side] = &made->side;
}

/* The kernel and what is right, which of a GPU's kernel is not the kernel itself. */
static enum tcb_status open_sources(struct tcb_file_op *made, struct tcb_error *err)
{
	const struct tcb_kernel_file *file = made->file;
	int is_given = 1;

	if (kinds[file->kernel.language].side == TCB_TARGET_CPU)
		TCB_TRY(tcb_file_c_create(file, &file->kernel, &made->c, err));
	else
		TCB_TRY(tcb_file_read_text(file, &made->source, err));
	if (file->kernel.language == TCB_FILE_CUDA)
		TCB_TRY(tcb_file_cuda_create(file, &made->source, &made->cuda, err));
	if (file->reference.name)
		return tcb_file_c_create(file, &file->reference, &made->reference, err);
	for (size_t i = 0; i < file->argument_count; i++)
		is_given &= !file->argument[i].is_output || file->argument[i].right != NULL;
	return made->c || is_given
		       ? TCB_OK
		       : tcb_fail(err, TCB_E_USAGE,
				  "%.200s: nothing says what is right: give under \"tcbtune\" a Reference (Language, "
				  "KernelFile and KernelName of a function in C), or ReferenceArguments",
				  file->path);
}

enum tcb_status tcb_file_op_create(struct tcb_kernel_file *file, struct tcb_file_op **out, struct tcb_error *err)
{
	struct tcb_file_op *made = calloc(1, sizeof *made);
	enum tcb_status status;

	*out = NULL;
	if (!made) {
		tcb_kernel_file_destroy(file);
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a kernel's file");
	}
	made->file = file;
	made->shape = tcb_kernel_file_shape(file, file->size);
	set_parameters(made);
	set_rules(made);
	status = tcb_file_check_arguments(file, err);
	if (status == TCB_OK)
		status = open_sources(made, err);
	if (status == TCB_OK) {
		set_op(made);
		status = check_shape(&made->op, &made->shape, err);
	}
	if (status != TCB_OK) {
		tcb_file_op_destroy(made);
		return status;
	}
	*out = made;
	return TCB_OK;
}

void tcb_file_op_destroy(struct tcb_file_op *made)
{
	if (!made)
		return;
	for (struct compiled *at = made->compiled, *next; at; at = next) {
		next = at->next;
		free(at);
	}
	tcb_file_c_destroy(made->c);
	tcb_file_c_destroy(made->reference);
	tcb_file_cuda_destroy(made->cuda);
	tcb_str_fini(&made->source);
	tcb_kernel_file_destroy(made->file);
	free(made);
}

const struct tcb_op *tcb_file_op(const struct tcb_file_op *made)
{
	return &made->op;
}

struct tcb_file_c *tcb_file_op_c(const struct tcb_file_op *made, int is_reference)
{
	return is_reference ? made->reference : made->c;
}
