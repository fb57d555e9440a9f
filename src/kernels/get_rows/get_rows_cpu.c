/* SPDX-License-Identifier: MIT
 *
 * The plan and the loop of the ops qXX_get_rows on CPUs: a plan comes in, its tasks
 * find their tokens' rows and call the micro-kernel.
 */
#include <math.h>

#include "base/gang.h"
#include "base/sizes.h"
#include "kernels/cpu/cpu_plan.h"
#include "kernels/get_rows/get_rows.h"
#include "kernels/quant_lines.h"
#include "kernels/simd/isas.h"

static size_t task_count(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	const struct tcb_tile *midi = &geometry->tile[TCB_MIDI];
	return tcb_div_up(problem->shape.m, midi->m) * tcb_div_up(problem->shape.k, midi->k);
}

static enum tcb_status get_rows_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
				     struct tcb_plan *out, struct tcb_error *err)
{
	const struct tcb_tile *midi = &geometry->tile[TCB_MIDI];
	TCB_TRY(tcb_cpu_plan(problem, geometry, TCB_NEEDS(PREFETCH), out, err));
	if (midi->k % GET_ROWS_SUPER)
		return tcb_fail(err, TCB_E_ILLEGAL, "midi.k=%zu, but a superblock has %d values", midi->k,
				GET_ROWS_SUPER);
	TCB_TRY(tcb_cpu_plan_shares(out, task_count(problem, geometry), "midi", err));
	if (out->variant->layout == TCB_LAYOUT_R16)
		out->packed_bytes[GET_ROWS_WEIGHTS] = tcb_lines_bytes(problem);
	return TCB_OK;
}

struct run {
	const struct tcb_plan *plan;
	void *const *operand;
};

/* COUNT results from element AT on of a token whose id no row has. */
static void put_nans(const struct tcb_problem *problem, void *y, size_t at, size_t count)
{
	for (size_t i = at; i < at + count; i++) {
		if (get_rows_type(problem) == TCB_TYPE_F16)
			((uint16_t *)y)[i] = tcb_f32_to_f16(NAN);
		else
			((float *)y)[i] = NAN;
	}
}

static void task(void *ctx, size_t index, unsigned thread)
{
	const struct run *run = ctx;
	const struct tcb_plan *plan = run->plan;
	const struct tcb_problem *problem = &plan->problem;
	const struct tcb_shape *s = &problem->shape;
	const struct tcb_tile *midi = &plan->geometry.tile[TCB_MIDI];
	const size_t parts = tcb_div_up(s->k, midi->k), column = index % parts * midi->k;
	const size_t first = index / parts * midi->m, end = tcb_least(first + midi->m, s->m);
	const size_t row_bytes = tcb_quant_row_bytes(problem->op->format, s->k);
	const size_t element = tcb_type_bytes(get_rows_type(problem));
	struct get_rows_call call = { .values = tcb_least(midi->k, s->k - column),
				      .prefetch = (size_t)plan->geometry.knob[TCB_KNOB_PREFETCH] };
	(void)thread;
	for (size_t token = first; token < end; token++) {
		const int32_t id = ((const int32_t *)run->operand[GET_ROWS_IDS])[token];
		const size_t to = token * s->k + column;
		if (id < 0 || (size_t)id >= s->n) {
			put_nans(problem, run->operand[GET_ROWS_Y], to, call.values);
			continue;
		}
		call.row = (size_t)id % TCB_LINE_ROWS;
		call.from = (const uint8_t *)run->operand[GET_ROWS_WEIGHTS] +
			    (plan->variant->layout == TCB_LAYOUT_R16
				     ? tcb_lines_at(problem, (size_t)id, column)
				     : (size_t)id * row_bytes + tcb_quant_row_bytes(problem->op->format, column));
		call.y = (char *)run->operand[GET_ROWS_Y] + to * element;
		((get_rows_micro_fn *)plan->variant->entry)(&call);
	}
}

static void get_rows_run(const struct tcb_plan *plan, void *const operand[], void *workspace, struct tcb_pool *pool)
{
	struct run run = { plan, operand };
	(void)workspace;
	tcb_pool_run_last(pool, plan->threads, (enum tcb_sched)plan->geometry.knob[TCB_KNOB_SCHED],
			  task_count(&plan->problem, &plan->geometry), task, &run);
}

#define SIDE(id, name, op, ...)                                                         \
	TCB_VARIANT_TABLES(op##_variants_here, TCB_ISAS_FLOATS, op##_get_rows_variants) \
	const struct tcb_side op##_get_rows_cpu = {                                     \
		.variants = op##_variants_here,                                         \
		.space = &get_rows_cpu_space,                                           \
		.plan = get_rows_plan,                                                  \
		.run = get_rows_run,                                                    \
	};
TCB_FORMAT_LIST(SIDE)
