/* SPDX-License-Identifier: MIT
 *
 * Where a task of the recurrent ops on CPUs finds its values, states and numbers.
 */
#include <math.h>

#include "base/sizes.h"
#include "kernels/delta/delta_cpu.h"

struct delta_place delta_place_of(const struct delta_run *run, size_t index)
{
	const struct tcb_shape *s = &run->plan->problem.shape;
	const size_t tile = run->plan->geometry.tile[TCB_MIDI].n, tiles = tcb_div_up(s->n, tile);
	const size_t heads = s->words.query, first = index % tiles * tile;
	return (struct delta_place){ index / tiles / heads, index / tiles % heads, first,
				     tcb_least(tile, s->n - first) };
}

void *delta_state_at(const struct delta_run *run, size_t which, int32_t slot, const struct delta_place *place)
{
	const struct tcb_problem *problem = &run->plan->problem;
	const struct tcb_shape *s = &problem->shape;
	const size_t element = tcb_type_bytes(delta_of(problem)->state);
	const size_t in_slot = (place->head * s->n + place->first) * s->k;
	return slot < 0 ? NULL : (char *)run->operand[which] + ((size_t)slot * delta_state(s) + in_slot) * element;
}

struct delta_call delta_call_of(const struct delta_run *run, const struct delta_place *place, size_t token)
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
