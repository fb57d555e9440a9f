/* SPDX-License-Identifier: MIT
 *
 * In: accesses and what orders threads.  Out: barriers that keep no pair of
 * accesses apart.
 *
 * A barrier is redundant if, with it taken away, no access before it can meet
 * one behind it.  Barriers are taken one after the other, each with those found
 * before already gone, so all of them can go together; taking more away never
 * makes a needed one redundant, so one round finds them all.
 */
#include "ptx/analyse/hazards/hazards_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/ir/opcodes.h"

enum { STATES_MAX = 1 << 22 };

enum tcb_status tcb_ptx_hazards_create(struct tcb_ptx_affine *affine, struct tcb_ptx_function *function,
				       struct tcb_ptx_hazards **out, struct tcb_error *err)
{
	const struct tcb_ptx_dominators *d = tcb_ptx_affine_dominators(affine);
	struct tcb_ptx_hazards *h = calloc(1, sizeof *h);
	enum tcb_status status;

	*out = NULL;
	if (!h)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the accesses of '%s'", function->symbol->name);
	h->affine = affine;
	h->function = function;
	h->budget = UINT64_C(1) << 28;
	h->is_hopeless = !function->is_entry;
	for (uint32_t i = 0; i < function->reachable_count; i++)
		for (uint32_t s = 0; s < function->order[i]->succ_count; s++) {
			const struct tcb_ptx_block *succ = function->order[i]->succ[s];

			if (succ->order <= i && !tcb_ptx_dominates(d, succ, function->order[i]))
				h->is_hopeless = 1; /* a cycle with two entries */
		}
	status = h->is_hopeless ? TCB_OK : tcb_ptx_hazard_events(h, err);
	if (status != TCB_OK) {
		tcb_ptx_hazards_destroy(h);
		return status;
	}
	if (!h->segment_count || h->segment_count > STATES_MAX / (2 * TCB_PTX_VIAS))
		h->is_hopeless = 1;
	*out = h;
	return TCB_OK;
}

void tcb_ptx_hazards_destroy(struct tcb_ptx_hazards *hazards)
{
	if (!hazards)
		return;
	tcb_arena_fini(&hazards->arena);
	free(hazards);
}

/* --- redundant barriers --- */

/* Whether the order of two events can matter. */
static int conflict(struct tcb_ptx_walk *w, const struct tcb_ptx_event *a, uint8_t via_a, const struct tcb_ptx_event *b,
		    uint8_t via_b)
{
	const struct tcb_ptx_threads all = { NULL, NULL };
	struct tcb_ptx_skew skew;
	uint32_t pair[2];
	int swapped;

	/* atomics and volatile accesses may tell other threads, even of other blocks, about anything before them */
	if (a->is_opaque || b->is_opaque || a->is_ordered || b->is_ordered)
		return 1;
	if (!(a->writes || b->writes))
		return 0;
	if (a->assumes || b->assumes)
		return (a->spaces & b->spaces) != 0;
	skew = tcb_ptx_skew_of(w, via_a, via_b, &swapped);
	if (swapped)
		return tcb_ptx_events_meet(w->h, b, a, skew, TCB_PTX_ANY_THREADS, all, pair) != TCB_PTX_NEVER_MEET;
	return tcb_ptx_events_meet(w->h, a, b, skew, TCB_PTX_ANY_THREADS, all, pair) != TCB_PTX_NEVER_MEET;
}

static int states_conflict(struct tcb_ptx_walk *w, const struct tcb_ptx_state *sa, const struct tcb_ptx_state *sb)
{
	const struct tcb_ptx_segment *x = &w->h->segments[sa->segment], *y = &w->h->segments[sb->segment];

	for (uint32_t i = x->first_event; i < x->first_event + x->event_count; i++)
		for (uint32_t j = y->first_event; j < y->first_event + y->event_count; j++)
			if (w->h->budget == 0 || conflict(w, &w->h->events[i], sa->via, &w->h->events[j], sb->via))
				return 1;
	return 0;
}

/* Whether something before TESTED and something behind it need it, on ways from the begin of START. */
static int is_needed_from(struct tcb_ptx_walk *w, uint32_t start)
{
	tcb_ptx_walk_from(w, start, NULL);
	for (uint32_t i = 0; i < w->count; i++) {
		if (!w->states[i].behind)
			continue;
		for (uint32_t j = 0; j < w->count; j++)
			if ((!w->states[j].behind || w->comes_back) && states_conflict(w, &w->states[j], &w->states[i]))
				return 1;
	}
	return w->failed;
}

/* Marks the segments from whose begin SEGMENT's end is reached; returns how many starts are in LIST. */
static uint32_t starts_before(struct tcb_ptx_walk *w, uint32_t segment, uint32_t *list, uint8_t *marks)
{
	struct tcb_ptx_hazards *h = w->h;
	uint32_t starts = 0, count = 0, *queue = list + h->segment_count;

	memset(marks, 0, h->segment_count);
	marks[segment] = 1;
	queue[count++] = segment;
	for (uint32_t i = 0; i < count; i++) {
		const struct tcb_ptx_block *block = h->segments[queue[i]].block;

		if (tcb_ptx_walk_starts(w, queue[i]))
			list[starts++] = queue[i];
		if (queue[i] != h->first_segment[block->number]) {
			if (!marks[queue[i] - 1] && !tcb_ptx_walk_stops(w, &h->segments[queue[i] - 1])) {
				marks[queue[i] - 1] = 1;
				queue[count++] = queue[i] - 1;
			}
			continue;
		}
		for (uint32_t p = 0; p < block->pred_count; p++) {
			uint32_t last;

			if (block->pred[p]->order == UINT32_MAX)
				continue;
			last = h->first_segment[block->pred[p]->number];
			while (h->segments[last].end)
				last++;
			if (!marks[last]) {
				marks[last] = 1;
				queue[count++] = last;
			}
		}
	}
	return starts;
}

enum tcb_status tcb_ptx_redundant_barriers(struct tcb_ptx_hazards *h, struct tcb_ptx_ins *const **out, uint32_t *count,
					   struct tcb_error *err)
{
	struct tcb_ptx_ins **found = tcb_arena_array(&h->arena, h->segment_count, sizeof *found);
	uint32_t *list = tcb_arena_array(&h->arena, (size_t)h->segment_count * 2, sizeof *list);
	uint8_t *marks = tcb_arena_array(&h->arena, h->segment_count, 1);
	struct tcb_ptx_walk w;

	*count = 0;
	*out = found;
	if (!found || !list || !marks)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the barriers of '%s'", h->function->symbol->name);
	if (h->is_hopeless)
		return TCB_OK;
	if (!tcb_ptx_walks_begin(&w, h, TCB_PTX_CUT_FULL, 0)) {
		tcb_ptx_walks_end(&w);
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the barriers of '%s'", h->function->symbol->name);
	}
	for (uint32_t s = 0; s < h->segment_count; s++) {
		struct tcb_ptx_segment *segment = &h->segments[s];
		uint32_t starts;
		int needed = 0;

		if (!segment->is_removable || segment->is_removed)
			continue;
		w.tested = segment;
		tcb_ptx_find_cyclic(&w);
		starts = starts_before(&w, s, list, marks);
		for (uint32_t i = 0; i < starts && !needed; i++)
			needed = is_needed_from(&w, list[i]);
		if (needed || w.failed || !starts)
			continue;
		segment->is_removed = 1;
		found[(*count)++] = segment->end;
	}
	for (uint32_t s = 0; s < h->segment_count; s++)
		h->segments[s].is_removed = 0;
	tcb_ptx_walks_end(&w);
	return w.failed
		       ? tcb_fail(err, TCB_E_NOMEM, "out of memory for the barriers of '%s'", h->function->symbol->name)
		       : TCB_OK;
}

enum tcb_status tcb_ptx_report_redundant(struct tcb_ptx_hazards *h, const struct tcb_ptx_sink *sink,
					 struct tcb_error *err)
{
	struct tcb_ptx_ins *const *found;
	const uint32_t *block = tcb_ptx_affine_block(h->affine);
	uint32_t count;

	TCB_TRY(tcb_ptx_redundant_barriers(h, &found, &count, err));
	for (uint32_t i = 0; i < count; i++)
		tcb_ptx_report(sink, TCB_PTX_RULE_BARRIER_REDUNDANT, TCB_PTX_ADVICE, h->function, found[i],
			       "no access before this barrier meets one of another thread behind it in a block of "
			       "%ux%ux%u: leave it out",
			       block[0], block[1], block[2]);
	return TCB_OK;
}
