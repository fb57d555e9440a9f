/* SPDX-License-Identifier: MIT
 *
 * Prompts in chunks on CPUs: a task's state goes into panels (delta_chunk_kernels.c), through all chunks, and back.
 */
#include "kernels/delta/delta_cpu.h"

#include <string.h>

#include "base/sizes.h"

enum { LINE = 64 };

/* Of a thread: the panels, then the micro-kernel's room; whole lines. */
static size_t state_floats(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	return geometry->tile[TCB_MIDI].n * problem->shape.k;
}
size_t delta_chunk_workspace(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	const size_t tokens = geometry->tile[TCB_MIDI].m;
	const size_t room = DELTA_CHUNK_ROOM(problem->shape.k, tokens, geometry->tile[TCB_MICRO].n);
	return tcb_round_up((state_floats(problem, geometry) + room) * sizeof(float), LINE);
}

/* Value N of panels of TILE values. */
static float *value_at(float *panels, size_t k, size_t tile, size_t n)
{
	return panels + n / tile * tile * k + n % tile;
}

/* VALUES rows of k of TYPE at FROM (NULL: zeros) as panels of TILE values. */
static void to_panels(enum tcb_type type, const void *from, size_t k, size_t values, size_t tile, float *panels)
{
	const size_t part = k * tcb_type_bytes(type);
	if (!from || values % tile)
		memset(panels, 0, tcb_div_up(values, tile) * tile * k * sizeof(float));
	for (size_t n = 0; from && n < values; n++) {
		float row[DELTA_KEY_MAX], *to = value_at(panels, k, tile, n);
		tcb_type_to_f32(type, (const char *)from + n * part, k, row);
		for (size_t i = 0; i < k; i++)
			to[i * tile] = row[i];
	}
}

static void from_panels(enum tcb_type type, float *panels, size_t k, size_t values, size_t tile, void *to)
{
	const size_t part = k * tcb_type_bytes(type);
	for (size_t n = 0; n < values; n++) {
		float row[DELTA_KEY_MAX];
		const float *from = value_at(panels, k, tile, n);
		for (size_t i = 0; i < k; i++)
			row[i] = from[i * tile];
		tcb_type_from_f32(type, row, k, (char *)to + n * part);
	}
}

void delta_chunk_task(void *ctx, size_t index, unsigned thread)
{
	const struct delta_run *run = ctx;
	const struct tcb_problem *problem = &run->plan->problem;
	const struct tcb_geometry *geometry = &run->plan->geometry;
	const struct delta_place place = delta_place_of(run, index);
	const enum tcb_type type = delta_of(problem)->state;
	const size_t k = problem->shape.k, chunk = geometry->tile[TCB_MIDI].m, tile = geometry->tile[TCB_MICRO].n;
	const size_t count = (size_t)((const int32_t *)run->operand[DELTA_COUNTS])[place.sequence];
	const int32_t *slots = (const int32_t *)run->operand[DELTA_SLOTS] + place.sequence * delta_slots_row(problem);
	float *state = run->room + thread * delta_chunk_workspace(problem, geometry) / sizeof(float);
	void *end = delta_state_at(run, DELTA_STATES_OUT, slots[1], &place);
	if (!count)
		return;
	to_panels(type, delta_state_at(run, DELTA_STATES, slots[0], &place), k, place.values, tile, state);
	for (size_t i = 0; i < count; i += chunk) {
		struct delta_call call = delta_call_of(run, &place, i);
		call.tokens = tcb_least(chunk, count - i);
		((delta_chunk_fn *)run->plan->variant->entry)(&call, state, state + state_floats(problem, geometry));
	}
	if (end)
		from_panels(type, state, k, place.values, tile, end);
}
