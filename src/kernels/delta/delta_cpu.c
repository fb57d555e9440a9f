/* SPDX-License-Identifier: MIT
 *
 * The plan and the loops of the recurrent ops on CPUs: a plan comes in, its tasks find their values
 * and states and call the micro-kernel.
 */
#include "kernels/delta/delta_cpu.h"

#include <math.h>
#include <string.h>

#include "base/sizes.h"
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
	const int32_t *knob = geometry->knob;
	memset(out, 0, sizeof(*out));
	const struct tcb_variant *variant = tcb_variant_find(problem->op, problem->contract, geometry);
	if (!variant || !variant->entry)
		return tcb_fail(err, TCB_E_ILLEGAL, "%s has no kernel for this isa and micro=%zux%zu", problem->op_name,
				geometry->tile[TCB_MICRO].m, geometry->tile[TCB_MICRO].n);
	if (knob[TCB_KNOB_THREADS] < 1 || knob[TCB_KNOB_SCHED] < 0 || knob[TCB_KNOB_PREFETCH] < 0 ||
	    knob[TCB_KNOB_STREAM] < 0 || knob[TCB_KNOB_STREAM] > 1)
		return tcb_fail(err, TCB_E_ILLEGAL, "%s needs the knobs threads, sched, prefetch and stream",
				problem->op_name);
	if ((size_t)knob[TCB_KNOB_THREADS] > task_count(problem, geometry))
		return tcb_fail(err, TCB_E_ILLEGAL, "threads=%d, but midi.n=%zu makes only %zu tasks",
				knob[TCB_KNOB_THREADS], geometry->tile[TCB_MIDI].n, task_count(problem, geometry));
	out->problem = *problem;
	out->geometry = *geometry;
	out->variant = variant;
	out->threads = (unsigned)knob[TCB_KNOB_THREADS];
	out->chain = (double)problem->shape.k + DELTA_CHAIN;
	return TCB_OK;
}

struct run {
	const struct tcb_plan *plan;
	void *const *operand;
	int stream;
};

static void run_task(void *ctx, size_t index, unsigned thread)
{
	const struct run *run = ctx;
	const struct tcb_problem *problem = &run->plan->problem;
	const struct tcb_shape *s = &problem->shape;
	const size_t tile = run->plan->geometry.tile[TCB_MIDI].n, tiles = tcb_div_up(s->n, tile);
	const size_t heads = s->words.query, sequence = index / tiles / heads, head = index / tiles % heads;
	const size_t first = index % tiles * tile, row = delta_row(s), token = sequence * s->m;
	const size_t count = (size_t)((const int32_t *)run->operand[DELTA_COUNTS])[sequence];
	const int32_t *slots = (const int32_t *)run->operand[DELTA_SLOTS] + sequence * delta_slots_row(s);
	const size_t element = tcb_type_bytes(delta_of(problem)->state), slot = delta_state(s) * element;
	const size_t in_slot = (head * s->n + first) * s->k * element;
	const int has_correction = delta_of(problem)->has_correction;
	const size_t key_head = (size_t)((const int32_t *)run->operand[DELTA_KEY_HEADS])[head];
	const float *qkv = (const float *)run->operand[DELTA_QKV] + token * row;
	void *to[DELTA_DECODE_TOKENS_MAX];
	(void)thread;
	for (size_t i = 0; i < count; i++) {
		const int32_t at = slots[1 + i];
		to[i] = at < 0 ? NULL : (char *)run->operand[DELTA_STATES_OUT] + (size_t)at * slot + in_slot;
	}
	const struct delta_call call = {
		.k = s->k,
		.rows = tcb_least(tile, s->n - first),
		.tokens = count,
		.query = qkv + key_head * s->k,
		.key = qkv + (s->words.kv + key_head) * s->k,
		.v = qkv + 2 * s->words.kv * s->k + head * s->n + first,
		.row = row,
		.g = (const float *)run->operand[DELTA_G] + token * heads + head,
		.beta = (const float *)run->operand[DELTA_BETA] + token * heads + head,
		.heads = heads,
		.scale = has_correction ? 1 / sqrtf((float)s->k) : 1,
		.skip = has_correction ? 0 : ((const float *)run->operand[DELTA_SKIP])[head],
		.from = slots[0] < 0 ? NULL
				     : (const char *)run->operand[DELTA_STATES] + (size_t)slots[0] * slot + in_slot,
		.to = to,
		.y = (float *)run->operand[DELTA_Y] + (token * heads + head) * s->n + first,
		.y_row = heads * s->n,
		.prefetch = (size_t)run->plan->geometry.knob[TCB_KNOB_PREFETCH],
		.stream = run->stream,
	};
	if (count)
		((delta_micro_fn *)run->plan->variant->entry)(&call);
}

static void delta_run(const struct tcb_plan *plan, void *const operand[], void *workspace, struct tcb_pool *pool)
{
	const struct tcb_problem *problem = &plan->problem;
	const size_t part = problem->shape.k * tcb_type_bytes(delta_of(problem)->state);
	const uintptr_t places = (uintptr_t)operand[DELTA_STATES_OUT] | part;
	struct run run = { plan, operand, plan->geometry.knob[TCB_KNOB_STREAM] && places % STREAM_ALIGN == 0 };
	(void)workspace;
	tcb_pool_run(pool, plan->threads, (enum tcb_sched)plan->geometry.knob[TCB_KNOB_SCHED],
		     task_count(problem, &plan->geometry), run_task, &run);
}

#define SIDE(state, ID, type, text, rule)                                                                \
	TCB_VARIANT_TABLES(rule##_##state##_variants, TCB_ISAS_FLOATS, rule##_decode_##state##_variants) \
	const struct tcb_side rule##_decode_##state##_cpu = {                                            \
		.variants = rule##_##state##_variants,                                                   \
		.space = &delta_cpu_space,                                                               \
		.plan = delta_plan,                                                                      \
		.run = delta_run,                                                                        \
	};
DELTA_STATE_LIST(SIDE, delta)
DELTA_STATE_LIST(SIDE, ssd)
