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
	if (geometry->tile[TCB_MIDI].m > DELTA_DECODE_TOKENS_MAX)
		return tcb_fail(err, TCB_E_ILLEGAL, "midi.m=%zu, but %d tokens at a time are the most",
				geometry->tile[TCB_MIDI].m, DELTA_DECODE_TOKENS_MAX);
	if ((size_t)knob[TCB_KNOB_THREADS] > task_count(problem, geometry))
		return tcb_fail(err, TCB_E_ILLEGAL, "threads=%d, but midi.n=%zu makes only %zu tasks",
				knob[TCB_KNOB_THREADS], geometry->tile[TCB_MIDI].n, task_count(problem, geometry));
	out->problem = *problem;
	out->geometry = *geometry;
	out->variant = variant;
	out->threads = (unsigned)knob[TCB_KNOB_THREADS];
	if (delta_of(problem)->is_prefill)
		out->workspace_bytes = out->threads * geometry->tile[TCB_MIDI].n * problem->shape.k * sizeof(float);
	out->chain = (double)problem->shape.k + DELTA_CHAIN;
	return TCB_OK;
}

struct run {
	const struct tcb_plan *plan;
	void *const *operand;
	float *carried; /* of prefill: each thread's values' parts of a state, between blocks of tokens */
	int stream;
};

/* A task's values: of one head of one sequence, from FIRST on. */
struct place {
	size_t sequence, head, first, values;
};

static struct place place_of(const struct run *run, size_t index)
{
	const struct tcb_shape *s = &run->plan->problem.shape;
	const size_t tile = run->plan->geometry.tile[TCB_MIDI].n, tiles = tcb_div_up(s->n, tile);
	const size_t heads = s->words.query, first = index % tiles * tile;
	return (struct place){ index / tiles / heads, index / tiles % heads, first, tcb_least(tile, s->n - first) };
}

/* The part of PLACE in SLOT of the pool that is operand WHICH; NULL: there is no such slot. */
static void *state_at(const struct run *run, size_t which, int32_t slot, const struct place *place)
{
	const struct tcb_problem *problem = &run->plan->problem;
	const struct tcb_shape *s = &problem->shape;
	const size_t element = tcb_type_bytes(delta_of(problem)->state);
	const size_t in_slot = (place->head * s->n + place->first) * s->k;
	return slot < 0 ? NULL : (char *)run->operand[which] + ((size_t)slot * delta_state(s) + in_slot) * element;
}

/* From TOKEN of the sequence's on, as far as states have nothing to do with it. */
static struct delta_call call_of(const struct run *run, const struct place *place, size_t token)
{
	const struct tcb_problem *problem = &run->plan->problem;
	const struct tcb_shape *s = &problem->shape;
	const size_t heads = s->words.query, row = delta_row(s), at = place->sequence * s->m + token;
	const int has_correction = delta_of(problem)->has_correction;
	const size_t key_head = (size_t)((const int32_t *)run->operand[DELTA_KEY_HEADS])[place->head];
	const float *qkv = (const float *)run->operand[DELTA_QKV] + at * row;
	return (struct delta_call){
		.k = s->k,
		.rows = place->values,
		.query = qkv + key_head * s->k,
		.key = qkv + (s->words.kv + key_head) * s->k,
		.v = qkv + 2 * s->words.kv * s->k + place->head * s->n + place->first,
		.row = row,
		.g = (const float *)run->operand[DELTA_G] + at * heads + place->head,
		.beta = (const float *)run->operand[DELTA_BETA] + at * heads + place->head,
		.heads = heads,
		.scale = has_correction ? 1 / sqrtf((float)s->k) : 1,
		.skip = has_correction ? 0 : ((const float *)run->operand[DELTA_SKIP])[place->head],
		.y = (float *)run->operand[DELTA_Y] + (at * heads + place->head) * s->n + place->first,
		.y_row = heads * s->n,
		.prefetch = (size_t)run->plan->geometry.knob[TCB_KNOB_PREFETCH],
		.stream = run->stream,
	};
}

static void decode_task(void *ctx, size_t index, unsigned thread)
{
	const struct run *run = ctx;
	const struct tcb_problem *problem = &run->plan->problem;
	const struct place place = place_of(run, index);
	const size_t count = (size_t)((const int32_t *)run->operand[DELTA_COUNTS])[place.sequence];
	const int32_t *slots = (const int32_t *)run->operand[DELTA_SLOTS] + place.sequence * delta_slots_row(problem);
	struct delta_call call = call_of(run, &place, 0);
	void *to[DELTA_DECODE_TOKENS_MAX];
	(void)thread;
	for (size_t i = 0; i < count; i++)
		to[i] = state_at(run, DELTA_STATES_OUT, slots[1 + i], &place);
	call.tokens = count;
	call.from = state_at(run, DELTA_STATES, slots[0], &place);
	call.to = to;
	if (count)
		((delta_micro_fn *)run->plan->variant->entry)(&call);
}

/* Blocks of tokens, between which the state is carried in f32. */
static void prefill_task(void *ctx, size_t index, unsigned thread)
{
	const struct run *run = ctx;
	const struct tcb_problem *problem = &run->plan->problem;
	const struct tcb_geometry *geometry = &run->plan->geometry;
	const struct place place = place_of(run, index);
	const enum tcb_type type = delta_of(problem)->state;
	const size_t count = (size_t)((const int32_t *)run->operand[DELTA_COUNTS])[place.sequence];
	const size_t numbers = place.values * problem->shape.k, block = geometry->tile[TCB_MIDI].m;
	const int32_t *slots = (const int32_t *)run->operand[DELTA_SLOTS] + place.sequence * delta_slots_row(problem);
	float *carried = run->carried + thread * geometry->tile[TCB_MIDI].n * problem->shape.k;
	void *end = state_at(run, DELTA_STATES_OUT, slots[1], &place);
	const void *from = state_at(run, DELTA_STATES, slots[0], &place);
	if (from && type != TCB_TYPE_F32) {
		tcb_type_to_f32(type, from, numbers, carried);
		from = carried;
	}
	for (size_t i = 0; i < count; i += block) {
		struct delta_call call = call_of(run, &place, i);
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
	struct run run = { plan, operand, workspace,
			   plan->geometry.knob[TCB_KNOB_STREAM] && places % STREAM_ALIGN == 0 };
	tcb_pool_run(pool, plan->threads, (enum tcb_sched)plan->geometry.knob[TCB_KNOB_SCHED],
		     task_count(problem, &plan->geometry), delta_of(problem)->is_prefill ? prefill_task : decode_task,
		     &run);
}

#define SIDE_OF(name)                                                              \
	TCB_VARIANT_TABLES(name##_variants_here, TCB_ISAS_FLOATS, name##_variants) \
	const struct tcb_side name##_cpu = {                                       \
		.variants = name##_variants_here,                                  \
		.space = &delta_cpu_space,                                         \
		.plan = delta_plan,                                                \
		.run = delta_run,                                                  \
	};
#define SIDE(state, ID, type, text, rule) SIDE_OF(rule##_decode_##state) SIDE_OF(rule##_prefill_##state)
DELTA_STATE_LIST(SIDE, delta)
DELTA_STATE_LIST(SIDE, ssd)
