/* SPDX-License-Identifier: MIT
 *
 * The plan and the loops of rope_append on CPUs: a plan comes in, its tasks find the rows of
 * their tokens and call the micro-kernel.
 */
#include "kernels/rope/rope_cpu.h"

#include "base/gang.h"
#include "base/sizes.h"
#include "kernels/cpu/cpu_plan.h"
#include "kernels/simd/isas.h"

enum { STREAM_ALIGN = 64 };

static size_t task_count(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	return problem->shape.words.sequences * tcb_div_up(problem->shape.m, geometry->tile[TCB_MIDI].m);
}

static enum tcb_status rope_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
				 struct tcb_plan *out, struct tcb_error *err)
{
	const struct tcb_shape *s = &problem->shape;
	const int32_t *knob = geometry->knob;
	TCB_TRY(tcb_cpu_plan(problem, geometry, TCB_NEEDS(STREAM), out, err));
	if (knob[TCB_KNOB_STREAM] && !rope_can_stream(problem))
		return tcb_fail(err, TCB_E_ILLEGAL, "stream=1 needs heads of a multiple of 64 bytes");
	if (knob[TCB_KNOB_PARTS] != ROPE_WHOLE && knob[TCB_KNOB_PARTS] != ROPE_PARTS)
		return tcb_fail(err, TCB_E_ILLEGAL, "parts must be 1 or 4");
	TCB_TRY(tcb_cpu_plan_shares(out, task_count(problem, geometry), "midi.m", err));
	if (knob[TCB_KNOB_PARTS] == ROPE_PARTS)
		out->workspace_bytes = rope_tokens(s) * s->words.kv * s->k * sizeof(float);
	out->chain = rope_chain(s, tcb_float_lanes(knob[TCB_KNOB_ISA]));
	return TCB_OK;
}

enum part { PART_ALL, PART_Q, PART_K, PART_K_STORE, PART_V };

struct run {
	const struct tcb_problem *problem;
	const struct tcb_plan *plan;
	void *const *operand;
	float *rotated; /* k, of PART_K */
	int stream;     /* heads of the outputs but blocks begin at multiples of 64 bytes, as streamed stores need */
	enum part part;
	const int32_t *table, *positions, *sections; /* NULL where there is none */
	const float *q_norm, *k_norm;
};

/* A token's: of qkv, of the outputs, of cos and sin, of k in the workspace. */
struct rows {
	const char *q, *k, *v;
	char *q_out, *k_out, *v_out;
	const float *rotation; /* of find_rotation */
	float *rotated;
};

static void rotate_q(const struct run *run, const struct rope_call *head, const struct rows *rows)
{
	struct rope_call call = *head;
	call.heads = run->problem->shape.words.query;
	call.to = rope_q_type(run->problem);
	call.stream = run->stream;
	call.x = rows->q;
	call.y = rows->q_out;
	call.rotation = rows->rotation;
	call.norm = run->q_norm;
	((rope_micro_fn *)run->plan->variant->entry)(&call);
}

/* k to the cache; of PART_K to the workspace, of PART_K_STORE from there. */
static void append_k(const struct run *run, const struct rope_call *head, const struct rows *rows)
{
	struct rope_call call = *head;
	call.x = run->part == PART_K_STORE ? (const void *)rows->rotated : rows->k;
	call.y = run->part == PART_K ? (void *)rows->rotated : rows->k_out;
	call.rotation = run->part == PART_K_STORE ? NULL : rows->rotation;
	call.norm = run->part == PART_K_STORE ? NULL : run->k_norm;
	call.from = run->part == PART_K_STORE ? TCB_TYPE_F32 : head->from;
	call.to = run->part == PART_K ? TCB_TYPE_F32 : head->to;
	((rope_micro_fn *)run->plan->variant->entry)(&call);
}

static void append_v(const struct run *run, const struct rope_call *head, const struct rows *rows)
{
	struct rope_call call = *head;
	call.x = rows->v;
	call.y = rows->v_out;
	call.kind = tcb_kv_row(rope_kv(run->problem))->v;
	call.to = tcb_kv_kind_row(call.kind)->type;
	((rope_micro_fn *)run->plan->variant->entry)(&call);
}

/* Row of cos and sin of new token TOKEN: of the table's at POSITION, or as the token's three positions say, in ROOM. */
static const float *find_rotation(const struct run *run, size_t token, size_t position, float room[ROPE_HEAD_MAX])
{
	const struct tcb_shape *s = &run->problem->shape;
	const size_t rotated = rope_rotated(s), half = rotated / 2;
	const float *table = run->operand[ROPE_ROTATION], *row[ROPE_POSITIONS_OF_TOKEN];
	if (!run->positions)
		return table + position * rotated;
	for (size_t i = 0; i < ROPE_POSITIONS_OF_TOKEN; i++)
		row[i] = table + (size_t)run->positions[i * rope_tokens(s) + token] * rotated;
	for (size_t j = 0; j < half; j++) {
		const float *from = row[run->sections[j]];
		room[j] = from[j];
		room[half + j] = from[half + j];
	}
	return room;
}

/* Token TOKEN of all sequences, at POSITION of SEQUENCE. */
static struct rows find_rows(const struct run *run, size_t sequence, size_t token, size_t position)
{
	const struct tcb_shape *s = &run->problem->shape;
	char *heads[3];
	const size_t at = tcb_kv_token(s, run->table, sequence, position);
	const struct tcb_kv_row *kv = tcb_kv_row(rope_kv(run->problem));
	const size_t in_cache = at * s->words.kv * s->k;
	const size_t in_q = token * rope_q_apart(run->problem) * tcb_type_bytes(rope_q_type(run->problem));
	rope_new_heads(run->problem, run->operand, token, heads);
	struct rows rows = { .q = heads[0], .k = heads[1], .v = heads[2] };
	rows.q_out = (char *)run->operand[ROPE_Q] + in_q;
	rows.k_out = (char *)run->operand[ROPE_K] + tcb_kv_kind_bytes(kv->k, in_cache);
	rows.v_out = (char *)run->operand[ROPE_V] + tcb_kv_kind_bytes(kv->v, in_cache);
	if (run->rotated)
		rows.rotated = run->rotated + token * s->words.kv * s->k;
	return rows;
}

static void run_task(void *ctx, size_t index, unsigned thread)
{
	const struct run *run = ctx;
	const struct tcb_shape *s = &run->problem->shape;
	const size_t tile = run->plan->geometry.tile[TCB_MIDI].m, tiles = tcb_div_up(s->m, tile);
	const size_t sequence = index / tiles, end = tcb_least((index % tiles + 1) * tile, s->m);
	const size_t length = (size_t)((const int32_t *)run->operand[ROPE_LENGTHS])[sequence];
	struct rope_call head = { .from = rope_io_type(run->problem),
				  .to = tcb_kv_row(rope_kv(run->problem))->type,
				  .kind = tcb_kv_row(rope_kv(run->problem))->k,
				  .heads = s->words.kv,
				  .k = s->k,
				  .rotated = rope_rotated(s),
				  .eps = (float)tcb_words_power(s->words.qknorm),
				  .is_pairs = s->words.pairs,
				  .stream = run->stream && rope_is_of_halves(run->problem) };
	(void)thread;
	for (size_t i = index % tiles * tile; i < end; i++) {
		if (length + i < s->m)
			continue;
		const size_t token = sequence * s->m + i, position = length + i - s->m;
		float room[ROPE_HEAD_MAX];
		struct rows rows = find_rows(run, sequence, token, position);
		rows.rotation = find_rotation(run, token, position, room);
		head.fence = i + 1 == end;
		if (run->part == PART_ALL || run->part == PART_Q)
			rotate_q(run, &head, &rows);
		if (run->part == PART_ALL || run->part == PART_K || run->part == PART_K_STORE)
			append_k(run, &head, &rows);
		if (run->part == PART_ALL || run->part == PART_V)
			append_v(run, &head, &rows);
	}
}

static void rope_run(const struct tcb_plan *plan, void *const operand[], void *workspace, struct tcb_pool *pool)
{
	const struct tcb_words *words = &plan->problem.shape.words;
	struct run run = { .problem = &plan->problem,
			   .plan = plan,
			   .operand = operand,
			   .table = rope_data(words, operand, ROPE_TABLE),
			   .positions = rope_data(words, operand, ROPE_POSITIONS),
			   .sections = rope_data(words, operand, ROPE_SECTIONS),
			   .q_norm = rope_data(words, operand, ROPE_Q_NORM),
			   .k_norm = rope_data(words, operand, ROPE_K_NORM) };
	const enum tcb_sched sched = (enum tcb_sched)plan->geometry.knob[TCB_KNOB_SCHED];
	const size_t tasks = task_count(&plan->problem, &plan->geometry);
	const uintptr_t places = (uintptr_t)operand[ROPE_Q] | (uintptr_t)operand[ROPE_K] | (uintptr_t)operand[ROPE_V];
	const size_t q_row = rope_q_apart(&plan->problem) * tcb_type_bytes(rope_q_type(&plan->problem));
	run.stream = plan->geometry.knob[TCB_KNOB_STREAM] && (places | q_row) % STREAM_ALIGN == 0;
	if (plan->geometry.knob[TCB_KNOB_PARTS] == ROPE_WHOLE) {
		tcb_pool_run_last(pool, plan->threads, sched, tasks, run_task, &run);
		return;
	}
	run.rotated = workspace;
	for (run.part = PART_Q; run.part <= PART_V; run.part++)
		tcb_pool_run(pool, plan->threads, sched, tasks, run_task, &run);
}

#define SIDE(kv, ...)                                                                   \
	TCB_VARIANT_TABLES(kv##_variants, TCB_ISAS_FLOATS, rope_append_##kv##_variants) \
	const struct tcb_side rope_##kv##_cpu = {                                       \
		.variants = kv##_variants,                                              \
		.space = &rope_cpu_space,                                               \
		.plan = rope_plan,                                                      \
		.run = rope_run,                                                        \
	};
TCB_KV_LIST(SIDE, )
