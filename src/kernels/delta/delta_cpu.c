/* SPDX-License-Identifier: MIT
 *
 * The plan and the loops of the recurrent ops on CPUs: a plan comes in, its tasks find their values
 * and states (delta_places.c) and call the micro-kernel.
 */
#include "kernels/delta/delta_cpu.h"

#include "base/sizes.h"
#include "kernels/cpu/cpu_plan.h"
#include "kernels/simd/isas.h"

enum { STREAM_ALIGN = 64 };

static size_t task_count(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	const struct tcb_words *words = &problem->shape.words;
	return (size_t)words->sequences * words->query * tcb_div_up(problem->shape.n, geometry->tile[TCB_MIDI].n);
}

static enum tcb_status delta_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
				  struct tcb_plan *out, struct tcb_error *err)
{
	const int is_chunked = delta_is_chunked(geometry);
	TCB_TRY(tcb_cpu_plan(problem, geometry, TCB_NEEDS(PREFETCH) | TCB_NEEDS(STREAM), out, err));
	const size_t tokens = geometry->tile[TCB_MIDI].m;
	if (tokens > (is_chunked ? DELTA_CHUNK_MAX : DELTA_DECODE_TOKENS_MAX) ||
	    (is_chunked && (tokens % DELTA_CHUNK_LEAST || DELTA_CHUNK_MAX % tokens)))
		return tcb_fail(err, TCB_E_ILLEGAL, "midi.m=%zu: up to 16 tokens one by one, or chunks of 16, 32 or 64",
				tokens);
	if (is_chunked && geometry->tile[TCB_MIDI].n % out->variant->micro.n)
		return tcb_fail(err, TCB_E_ILLEGAL, "midi.n=%zu is not a multiple of micro.n=%zu",
				geometry->tile[TCB_MIDI].n, out->variant->micro.n);
	TCB_TRY(tcb_cpu_plan_shares(out, task_count(problem, geometry), "midi.n", err));
	if (is_chunked)
		out->workspace_bytes = out->threads * delta_chunk_workspace(problem, geometry);
	else if (delta_of(problem)->is_prefill)
		out->workspace_bytes = out->threads * geometry->tile[TCB_MIDI].n * problem->shape.k * sizeof(float);
	out->chain = (double)problem->shape.k + (is_chunked ? (double)tokens + DELTA_CHUNK_CHAIN : DELTA_CHAIN);
	return TCB_OK;
}

static void decode_task(void *ctx, size_t index, unsigned thread)
{
	const struct delta_run *run = ctx;
	const struct tcb_problem *problem = &run->plan->problem;
	const struct delta_place place = delta_place_of(run, index);
	const size_t count = (size_t)((const int32_t *)run->operand[DELTA_COUNTS])[place.sequence];
	const int32_t *slots = (const int32_t *)run->operand[DELTA_SLOTS] + place.sequence * delta_slots_row(problem);
	struct delta_call call = delta_call_of(run, &place, 0);
	void *to[DELTA_DECODE_TOKENS_MAX];
	(void)thread;
	for (size_t i = 0; i < count; i++)
		to[i] = delta_state_at(run, DELTA_STATES_OUT, slots[1 + i], &place);
	call.tokens = count;
	call.from = delta_state_at(run, DELTA_STATES, slots[0], &place);
	call.to = to;
	if (count)
		((delta_micro_fn *)run->plan->variant->entry)(&call);
}

/* Blocks of tokens, between which the state is carried in f32. */
static void prefill_task(void *ctx, size_t index, unsigned thread)
{
	const struct delta_run *run = ctx;
	const struct tcb_problem *problem = &run->plan->problem;
	const struct tcb_geometry *geometry = &run->plan->geometry;
	const struct delta_place place = delta_place_of(run, index);
	const enum tcb_type type = delta_of(problem)->state;
	const size_t count = (size_t)((const int32_t *)run->operand[DELTA_COUNTS])[place.sequence];
	const size_t numbers = place.values * problem->shape.k, block = geometry->tile[TCB_MIDI].m;
	const int32_t *slots = (const int32_t *)run->operand[DELTA_SLOTS] + place.sequence * delta_slots_row(problem);
	float *carried = run->room + thread * geometry->tile[TCB_MIDI].n * problem->shape.k;
	void *end = delta_state_at(run, DELTA_STATES_OUT, slots[1], &place);
	const void *from = delta_state_at(run, DELTA_STATES, slots[0], &place);
	if (from && type != TCB_TYPE_F32) {
		tcb_type_to_f32(type, from, numbers, carried);
		from = carried;
	}
	for (size_t i = 0; i < count; i += block) {
		struct delta_call call = delta_call_of(run, &place, i);
		void *to[DELTA_DECODE_TOKENS_MAX] = { NULL };
		const int is_last = i + block >= count;
		call.tokens = tcb_least(block, count - i);
		call.from = from;
		to[call.tokens - 1] = is_last && (!end || type == TCB_TYPE_F32) ? end : carried;
		call.to = to;
		call.stream = run->stream && is_last && type == TCB_TYPE_F32;
		((delta_micro_fn *)run->plan->variant->entry)(&call);
		from = carried;
	}
	if (count && end && type != TCB_TYPE_F32)
		tcb_type_from_f32(type, carried, numbers, end);
}

static void delta_run(const struct tcb_plan *plan, void *const operand[], void *workspace, struct tcb_pool *pool)
{
	const struct tcb_problem *problem = &plan->problem;
	const size_t part = problem->shape.k * tcb_type_bytes(delta_of(problem)->state);
	const uintptr_t places = (uintptr_t)operand[DELTA_STATES_OUT] | part;
	struct delta_run run = { plan, operand, workspace,
				 plan->geometry.knob[TCB_KNOB_STREAM] && places % STREAM_ALIGN == 0 };
	tcb_task_fn *task = delta_is_chunked(&plan->geometry) ? delta_chunk_task
			    : delta_of(problem)->is_prefill   ? prefill_task
							      : decode_task;
	tcb_pool_run(pool, plan->threads, (enum tcb_sched)plan->geometry.knob[TCB_KNOB_SCHED],
		     task_count(problem, &plan->geometry), task, &run);
}

#define SIDE_OF(name, variants_)             \
	const struct tcb_side name##_cpu = { \
		.variants = variants_,       \
		.space = &delta_cpu_space,   \
		.plan = delta_plan,          \
		.run = delta_run,            \
	};
/* Of prompts also those of chunks. */
#define SIDE(state, ID, type, text, rule)                                                                   \
	TCB_VARIANT_TABLES(rule##_decode_##state##_here, TCB_ISAS_FLOATS, rule##_decode_##state##_variants) \
	TCB_ISAS_FLOATS(TCB_VARIANT_TABLE_DECLARATION, rule##_prefill_##state##_variants)                   \
	TCB_ISAS_FLOATS(TCB_VARIANT_TABLE_DECLARATION, rule##_chunk_##state##_variants)                     \
	static const struct tcb_variant *const rule##_prefill_##state##_here[] = {                          \
		TCB_ISAS_FLOATS(TCB_VARIANT_TABLE, rule##_chunk_##state##_variants)                         \
			TCB_ISAS_FLOATS(TCB_VARIANT_TABLE, rule##_prefill_##state##_variants) NULL          \
	};                                                                                                  \
	SIDE_OF(rule##_decode_##state, rule##_decode_##state##_here)                                        \
	SIDE_OF(rule##_prefill_##state, rule##_prefill_##state##_here)
DELTA_STATE_LIST(SIDE, delta)
DELTA_STATE_LIST(SIDE, ssd)
