/* SPDX-License-Identifier: MIT
 *
 * Making plans (SPEC section 9a): a query comes in, is looked up, and the
 * geometry becomes a compiled variant of this library, or a kernel that is
 * written and assembled for a GPU.
 */
#include "rt/rt_plan.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu_isas.h"
#include "base/sizes.h"
#include "base/tiles.h"
#include "kernels/default_rules.h"
#include "kernels/gpu/ptx_code.h"
#include "kernels/signature.h"
#include "rt/runtime.h"
#include "tcbrt_chain.h"

/* What GPU kernels ask of the operands that they do not pack: the widest access.  WebGPU has offsets. */
enum { GPU_ALIGNMENT = 16 };

int rt_report(enum tcb_status status, const struct tcb_error *from, struct tcbrt_error *err)
{
	_Static_assert(sizeof(from->message) == sizeof(err->message), "messages are not cut");
	if (err) {
		err->code = (int)status;
		memset(err->reserved, 0, sizeof(err->reserved));
		if (status != TCB_OK)
			memcpy(err->message, from->message, sizeof(err->message));
		else
			err->message[0] = '\0';
	}
	return (int)status;
}

/* A GPU's layouts of one name differ between ops: there the op belongs to it. */
static void describe_packing(struct tcbrt_plan *plan, int is_packed)
{
	const struct tcb_op *op = plan->problem.op;
	const int32_t knob = plan->geometry.knob[TCB_KNOB_LAYOUT];
	const enum tcb_layout layout = knob == TCB_KNOB_UNSET ? TCB_LAYOUT_NATIVE : (enum tcb_layout)knob;
	const char *word = tcb_knob_word(TCB_KNOB_LAYOUT, (int32_t)layout);
	struct tcbrt_plan_info *info = &plan->info;

	if (rt_plan_is_launched(plan) && is_packed)
		snprintf(info->layout, sizeof(info->layout), "%s.%s", op->name, word);
	else
		snprintf(info->layout, sizeof(info->layout), "%s", word);
	info->pack_rows = is_packed && op->pack_rows ? op->pack_rows(op, layout) : 0;
}

static void describe_operands(struct tcbrt_plan *plan)
{
	const size_t *packed = rt_plan_is_launched(plan) ? plan->image->unit[0].packed_bytes : plan->cpu.packed_bytes;
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	struct tcbrt_plan_info *info = &plan->info;

	_Static_assert((int)TCB_OPERANDS_MAX == (int)TCBRT_OPERANDS_MAX, "every operand has room");
	_Static_assert((int)TCBRT_ROLE_OUTPUT == (int)TCB_ROLE_OUTPUT &&
			       (int)TCBRT_ROLE_WEIGHTS == (int)TCB_ROLE_WEIGHTS,
		       "roles are those of op.h");
	info->operand_count = plan->problem.op->operands(&plan->problem, operands);
	info->weights = tcb_operand_weights(operands, info->operand_count);
	info->output = tcb_operand_output(operands, info->operand_count);
	for (size_t i = 0; i < info->operand_count; i++) {
		const struct tcb_operand *from = &operands[i];
		struct tcbrt_operand *to = &plan->operand[i];
		const size_t element = tcb_type_bytes(from->type);

		snprintf(to->name, sizeof(to->name), "%s", from->name);
		snprintf(to->type, sizeof(to->type), "%s", tcb_type_text(from->type));
		to->role = (enum tcbrt_role)from->role;
		to->rows = from->rows;
		to->columns = from->cols;
		to->bytes = from->bytes;
		to->stride = from->stride;
		to->packed_bytes = packed[i];
		to->alignment = packed[i]                   ? TCBRT_ALIGNMENT
				: rt_plan_is_ptx(plan)      ? GPU_ALIGNMENT
				: rt_plan_is_launched(plan) ? TCBRT_ALIGNMENT
				: element                   ? element
							    : 1;
		if (i < TCBRT_INFO_OPERANDS_MAX)
			info->operand[i] = *to;
	}
	info->packed_bytes = info->weights < 0 ? 0 : packed[info->weights];
	describe_packing(plan, tcb_packed_total(packed) > 0);
}

static enum tcb_status check_kernel(const struct tcbrt_plan *plan, const struct rt_saved *saved, struct tcb_error *err)
{
	if (!saved || strcmp(plan->signature, saved->signature) == 0)
		return TCB_OK;
	return tcb_fail(err, TCB_E_VERSION,
			"the kernel of %s changed since the plan was saved (by version %s): plan and save it again",
			plan->problem.op->name, saved->version);
}

static enum tcb_status make_cpu(struct tcbrt_plan *plan, const struct rt_saved *saved, struct tcb_error *err)
{
	TCB_TRY(tcb_plan_make(&plan->problem, &plan->geometry, &plan->cpu, err));
	if (tcb_cpu_isa(plan->cpu.variant->isa)->has_tiles)
		TCB_TRY(tcb_tiles_ask(err));
	snprintf(plan->signature, sizeof(plan->signature), "%s", tcb_variant_signature(plan->cpu.variant));
	TCB_TRY(check_kernel(plan, saved, err));
	plan->info.threads = plan->cpu.threads;
	plan->info.workspace_bytes = RT_GANG_BYTES + plan->cpu.workspace_bytes;
	return TCB_OK;
}

static enum tcb_status sign(struct tcbrt_plan *plan, const struct tcb_kernel *kernel, struct tcb_error *err)
{
	struct tcb_packings packings = { .is_known = { 0 } };
	struct tcb_str text = { 0 };
	enum tcb_status status;

	tcb_kernel_print(kernel, &text);
	status = tcb_kernel_sign(kernel, &text, &packings, plan->signature, err);
	tcb_str_fini(&text);
	return status;
}

static enum tcb_status make_gpu(struct tcbrt_plan *plan, const struct tcb_target *target, const struct rt_saved *saved,
				struct tcb_error *err)
{
	struct tcb_kernel kernel = { .code = NULL };
	enum tcb_status status = tcb_kernel_emit(&plan->problem, target, &plan->geometry, &kernel, err);

	if (status == TCB_OK)
		status = sign(plan, &kernel, err);
	if (status == TCB_OK)
		status = check_kernel(plan, saved, err);
	if (status == TCB_OK)
		status = tcb_code_compile(&kernel, 1, target, &plan->image, err);
	plan->language = kernel.language;
	tcb_kernel_fini(&kernel);
	if (status != TCB_OK)
		return status;
	plan->info.workspace_bytes = plan->image->unit[0].workspace_bytes;
	for (unsigned i = 0; rt_plan_is_ptx(plan) && i < plan->image->unit[0].launch_count; i++)
		plan->info.overlap_launches += tcb_launch_ptx(plan->image->unit[0].launch[i].own)->is_dependent != 0;
	return TCB_OK;
}

enum tcb_status rt_plan_make(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
			     const struct rt_device *device, unsigned threads, const struct tcbrt_tuning *tuning,
			     const struct rt_saved *saved, struct tcbrt_plan **out, struct tcb_error *err)
{
	struct tcbrt_plan *plan = calloc(1, sizeof(*plan));
	struct tcb_target target = device->target;
	enum tcb_status status;

	if (!plan)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a plan of %s", problem->op->name);
	target.threads = threads;
	plan->problem = *problem;
	plan->geometry = *geometry;
	plan->target = target;
	plan->info.tuning = *tuning;
	memcpy(plan->device, device->name, sizeof(plan->device));
	memcpy(plan->device_key, device->key, sizeof(plan->device_key));
	status = tcb_kind_of(&target)->is_emitted ? make_gpu(plan, &target, saved, err) : make_cpu(plan, saved, err);
	if (status != TCB_OK) {
		tcbrt_plan_destroy(plan);
		return status;
	}
	plan->info.is_gpu = rt_plan_is_launched(plan);
	describe_operands(plan);
	*out = plan;
	return TCB_OK;
}

/* ---- for a place in a chain ---- */

struct tcbrt_plan *rt_plan_in_order(const struct tcbrt_plan *plan, int32_t pdl)
{
	struct rt_device device = { .target = plan->target };
	struct tcb_geometry geometry = plan->geometry;
	struct tcbrt_plan *out = NULL;

	geometry.knob[TCB_KNOB_PDL] = pdl;
	memcpy(device.name, plan->device, sizeof(device.name));
	if (!rt_plan_is_ptx(plan) || plan->geometry.knob[TCB_KNOB_PDL] != 1 ||
	    !rt_is_legal(plan->problem.op, &plan->problem, &plan->target, &geometry, NULL) ||
	    rt_plan_make(&plan->problem, &geometry, &device, plan->target.threads, &plan->info.tuning, NULL, &out,
			 NULL) != TCB_OK)
		return NULL;
	return out;
}

/* ---- from a query ---- */

/* GEOMETRY, changed from what TUNING tells, for the reason that is told there now. */
static void change_geometry(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
			    struct tcbrt_tuning *tuning)
{
	const struct tcb_variant *variant = tcb_variant_find(problem->op, problem->contract, geometry);

	tuning->source = TCBRT_SOURCE_DEFAULT;
	tuning->expected_ns = tuning->speedup = tuning->speedup_lo = 0;
	rt_tuning_geometry(tuning, geometry);
	tcb_geometry_print(geometry, tuning->geometry);
	snprintf(tuning->variant, sizeof(tuning->variant), "%s", variant->name);
}

/* Where GEOMETRY needs tiles and this process may not use them: the default without, and TARGET without.  What was
 * asked for by its geometry is not changed, and not what there is for tiles alone, then 0: rt_plan_make refuses it. */
static int leave_tiles(const struct tcb_problem *problem, struct tcb_target *target, struct tcb_geometry *geometry,
		       struct tcbrt_tuning *tuning)
{
	struct tcb_target without = *target;
	struct tcb_geometry fallback;
	struct tcb_error why;
	size_t said;

	if (!tcb_cpu_isa(geometry->knob[TCB_KNOB_ISA])->has_tiles || tcb_tiles_ask(&why) == TCB_OK)
		return 1;
	without.isa_mask &= ~tcb_cpu_isas_tiled(target->isa_mask);
	tcb_default_geometry(problem, &without, &fallback);
	if (!tcb_variant_find(problem->op, problem->contract, &fallback))
		return 0;
	*target = without;
	*geometry = fallback;
	said = strlen(tuning->reason);
	snprintf(tuning->reason + said, sizeof(tuning->reason) - said, "; %.120s, so the default without them",
		 why.message);
	change_geometry(problem, geometry, tuning);
	return 1;
}

/* TUNING's geometry changed for weights in the layout of that NAME. */
static enum tcb_status fit_layout(const struct tcb_problem *problem, const struct tcb_target *target, const char *name,
				  struct tcb_geometry *geometry, struct tcbrt_tuning *tuning, struct tcb_error *err)
{
	const struct tcb_geometry tuned = *geometry;
	const char *word;
	int32_t layout = 0;
	size_t said;

	while ((word = tcb_knob_word(TCB_KNOB_LAYOUT, layout)) && strcmp(word, name) != 0)
		layout++;
	if (!word)
		return tcb_fail(err, TCB_E_USAGE, "query.layout: unknown layout '%.40s'", name);
	if (!rt_take_layout(problem, target, (enum tcb_layout)layout, geometry))
		return tcb_fail(err, TCB_E_NOT_FOUND,
				"op %s has no kernel here that reads weights in layout %s: pack them again for it",
				problem->op->name, name);
	if (tcb_geometry_equal(&tuned, geometry))
		return TCB_OK;
	said = strlen(tuning->reason);
	snprintf(tuning->reason + said, sizeof(tuning->reason) - said, "; changed for weights in layout %s", name);
	change_geometry(problem, geometry, tuning);
	return TCB_OK;
}

/* What was asked for by its geometry is not changed for a layout. */
static enum tcb_status require_layout(const struct tcbrt_tuning *tuning, const char *name, struct tcb_error *err)
{
	const char *word = tcbrt_knob_word(tuning, "layout");

	if (strcmp(word ? word : "native", name) == 0)
		return TCB_OK;
	return tcb_fail(err, TCB_E_USAGE, "query.geometry reads weights in layout %s, query.layout is %.40s",
			word ? word : "native", name);
}

static enum tcb_status create(const struct tcbrt *rt, const struct tcbrt_query *query,
			      const struct tcbrt_strides *strides, struct tcbrt_plan **out, struct tcb_error *err)
{
	struct tcbrt_tuning tuning;
	struct tcb_geometry geometry;
	struct tcb_problem problem;
	struct rt_device device;
	struct tcb_target target;
	const char *layout;
	char why[TCB_WHY_MAX];
	const int code = tcbrt_lookup(rt, query, &tuning);

	if (code != TCBRT_OK)
		return tcb_fail(err, (enum tcb_status)code, "%s", tuning.reason);
	TCB_TRY(rt_query_problem(rt, query, &problem, &device, err));
	TCB_TRY(tcb_problem_stride(&problem, strides->x, strides->y, err));
	TCB_TRY(tcb_geometry_parse_of(tuning.geometry, problem.op->parameters, &geometry, err));
	const int is_emitted = tcb_kind_of(&device.target)->is_emitted;
	target = device.target;
	target.threads = is_emitted ? 0 : tuning.threads;
	if (!is_emitted && !query->geometry && !leave_tiles(&problem, &target, &geometry, &tuning)) {
		struct tcbrt_query named = *query;
		enum tcb_contract least;
		int is_auto;

		/* Of all contracts that would do the one that was named. */
		(void)rt_contract_read(problem.op, query->contract, &least, &is_auto);
		named.contract = rt_contract_told(least);
		if (is_auto && least != problem.contract)
			return create(rt, &named, strides, out, err);
	}
	layout = query->layout;
	if (layout && is_emitted)
		return tcb_fail(err, TCB_E_USAGE,
				"query.layout is for CPUs: a GPU's kernels have layouts of their own");
	if (layout && strcmp(layout, TCBRT_LAYOUT_ANY_M) == 0)
		TCB_TRY(rt_layout_any_m(rt, &problem, &target, &layout, err));
	if (layout && query->geometry)
		TCB_TRY(require_layout(&tuning, layout, err));
	else if (layout)
		TCB_TRY(fit_layout(&problem, &target, layout, &geometry, &tuning, err));
	/* What was looked up is legal for rows that follow each other. */
	if ((strides->x || strides->y) && !rt_is_legal(problem.op, &problem, &target, &geometry, why))
		return tcb_fail(err, TCB_E_NOT_FOUND, "op %s with strides: %.200s", problem.op->name, why);
	return rt_plan_make(&problem, &geometry, &device, target.threads, &tuning, NULL, out, err);
}

int tcbrt_plan_create(const struct tcbrt *rt, const struct tcbrt_query *query, struct tcbrt_plan **out,
		      struct tcbrt_error *err)
{
	return tcbrt_plan_create_strided(rt, query, &(struct tcbrt_strides){ .x = 0 }, out, err);
}

int tcbrt_plan_create_strided(const struct tcbrt *rt, const struct tcbrt_query *query,
			      const struct tcbrt_strides *strides, struct tcbrt_plan **out, struct tcbrt_error *err)
{
	struct tcb_error error = { .message = "" };
	struct tcbrt_plan *plan = NULL;
	const enum tcb_status status =
		!out       ? tcb_fail(&error, TCB_E_USAGE, "there is no place for the plan: OUT is NULL")
		: !strides ? tcb_fail(&error, TCB_E_USAGE, "STRIDES is NULL")
			   : create(rt, query, strides, &plan, &error);

	rt_say_plan(rt, plan);
	if (out)
		*out = plan;
	return rt_report(status, &error, err);
}

void tcbrt_plan_destroy(struct tcbrt_plan *plan)
{
	if (!plan)
		return;
	free(plan->image);
	free(plan);
}

int tcbrt_plan_info(const struct tcbrt_plan *plan, struct tcbrt_plan_info *out)
{
	if (!plan || !out)
		return TCBRT_E_USAGE;
	*out = plan->info;
	return TCBRT_OK;
}

int tcbrt_plan_operand(const struct tcbrt_plan *plan, size_t index, struct tcbrt_operand *out)
{
	if (!plan || !out || index >= plan->info.operand_count)
		return TCBRT_E_USAGE;
	*out = plan->operand[index];
	return TCBRT_OK;
}
