/* SPDX-License-Identifier: MIT
 *
 * In: accesses and what orders threads.  Out: pairs of accesses that have no
 * order, as races, and barriers that keep no pair apart.
 *
 * What threads can reach from one barrier before the next has no order among
 * different threads.  A walk from each barrier (and from the entry) collects it,
 * noting whether a loop went back once on the way, because then its counter is
 * one round later.  Loops that can go round without a barrier leave their
 * counters open.
 *
 * A barrier is redundant if, with it taken away, no access before it can meet
 * one behind it.  Barriers are taken one after the other, each with those found
 * before already gone, so all of them can go together; taking more away never
 * makes a needed one redundant, so one round finds them all.
 */
#include "ptx/analyse/hazards_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/ir/opcodes.h"

enum { LOOPS_MAX = 64, STATES_MAX = 1 << 22, RACE_EVENTS_MAX = 1 << 12, VIA_NONE = 0, VIA_MANY = LOOPS_MAX + 1 };
enum { VIAS = LOOPS_MAX + 2 };

/* A segment as the walk comes to it. */
struct state {
	uint32_t segment;
	uint8_t via;    /* VIA_NONE, 1 + the loop that went back once, VIA_MANY */
	uint8_t behind; /* the barrier that is put to the test lies on the way */
};

struct walk {
	struct tcb_ptx_hazards *h;
	enum tcb_ptx_cut stops;               /* what ends the walk: this and stronger */
	const struct tcb_ptx_segment *tested; /* its barrier does not stop, NULL: none */
	uint64_t cyclic;                      /* loops that go round without being stopped */
	uint64_t nested[LOOPS_MAX];           /* loops inside each */
	struct state *states;
	uint32_t count, capacity;
	uint32_t *stamps; /* by state */
	uint32_t stamp;
	int comes_back; /* to the tested barrier */
	int failed;
};

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
	if (!h->segment_count || h->segment_count > STATES_MAX / (2 * VIAS))
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

/* --- walking --- */

static int begin_walks(struct walk *w, struct tcb_ptx_hazards *h, enum tcb_ptx_cut stops)
{
	size_t states = (size_t)h->segment_count * VIAS * 2;

	*w = (struct walk){ .h = h, .stops = stops, .stamps = calloc(states, sizeof *w->stamps) };
	for (const struct tcb_ptx_loop *loop = h->function->loops; loop; loop = loop->next) {
		uint64_t bits = tcb_ptx_affine_loops_of(h->affine, loop->header);

		for (int i = 0; i < LOOPS_MAX; i++)
			if (bits >> i & 1)
				w->nested[i] |= tcb_ptx_affine_loop_bit(h->affine, loop->header);
	}
	return w->stamps != NULL;
}

static void end_walks(struct walk *w)
{
	free(w->states);
	free(w->stamps);
}

/* Whether the end of SEGMENT stops threads until others come. */
static int stops(const struct walk *w, const struct tcb_ptx_segment *segment)
{
	return segment->end && segment->cut >= w->stops && !segment->is_removed && segment != w->tested;
}

static void visit(struct walk *w, uint32_t segment, uint8_t via, uint8_t behind)
{
	uint32_t *stamp = &w->stamps[((size_t)segment * VIAS + via) * 2 + behind];

	if (*stamp == w->stamp)
		return;
	*stamp = w->stamp;
	if (w->count == w->capacity) {
		uint32_t capacity = w->capacity ? w->capacity * 2 : 256;
		struct state *grown = realloc(w->states, capacity * sizeof *grown);

		if (!grown) {
			w->failed = 1;
			return;
		}
		w->states = grown;
		w->capacity = capacity;
	}
	w->states[w->count++] = (struct state){ segment, via, behind };
}

/* How the way changes when it goes from BLOCK to SUCC. */
static uint8_t via_edge(const struct walk *w, uint8_t via, const struct tcb_ptx_block *block,
			const struct tcb_ptx_block *succ)
{
	uint64_t bit;
	unsigned loop;

	if (!tcb_ptx_dominates(tcb_ptx_affine_dominators(w->h->affine), succ, block))
		return via;
	bit = tcb_ptx_affine_loop_bit(w->h->affine, succ);
	loop = (unsigned)__builtin_ctzll(bit);
	if (w->cyclic & bit)
		return via;
	return via == VIA_NONE && loop < LOOPS_MAX - 1 ? (uint8_t)(loop + 1) : VIA_MANY;
}

/* Whether BLOCK goes back to SUCC, the header of a loop that makes one round. */
static int is_never_taken(const struct walk *w, const struct tcb_ptx_block *block, const struct tcb_ptx_block *succ)
{
	struct tcb_ptx_affine *affine = w->h->affine;

	return succ->order <= block->order &&
	       tcb_ptx_affine_symbol(affine, tcb_ptx_affine_counter(affine, succ))->max == 0;
}

/* All that can be reached from the begin of segment START. */
static void walk_from(struct walk *w, uint32_t start)
{
	w->count = 0;
	w->comes_back = 0;
	w->stamp++;
	visit(w, start, VIA_NONE, 0);
	for (uint32_t i = 0; i < w->count && !w->failed; i++) {
		struct state at = w->states[i];
		const struct tcb_ptx_segment *segment = &w->h->segments[at.segment];

		if (stops(w, segment))
			continue;
		if (segment->end) {
			if (segment == w->tested)
				w->comes_back |= at.behind;
			visit(w, at.segment + 1, at.via, at.behind || segment == w->tested);
			continue;
		}
		for (uint32_t s = 0; s < segment->block->succ_count; s++) {
			const struct tcb_ptx_block *succ = segment->block->succ[s];

			if (!is_never_taken(w, segment->block, succ))
				visit(w, w->h->first_segment[succ->number], via_edge(w, at.via, segment->block, succ),
				      at.behind);
		}
	}
}

/* Whether LOOP can go round without being stopped. */
static int goes_round(struct walk *w, const struct tcb_ptx_loop *loop)
{
	uint64_t bit = tcb_ptx_affine_loop_bit(w->h->affine, loop->header);

	w->count = 0;
	w->stamp++;
	visit(w, w->h->first_segment[loop->header->number], VIA_NONE, 0);
	for (uint32_t i = 0; i < w->count && !w->failed; i++) {
		const struct tcb_ptx_segment *segment = &w->h->segments[w->states[i].segment];

		if (stops(w, segment))
			continue;
		if (segment->end) {
			visit(w, w->states[i].segment + 1, VIA_NONE, 0);
			continue;
		}
		for (uint32_t s = 0; s < segment->block->succ_count; s++) {
			const struct tcb_ptx_block *succ = segment->block->succ[s];

			if (is_never_taken(w, segment->block, succ))
				continue;
			if (succ == loop->header)
				return 1;
			if (tcb_ptx_affine_loops_of(w->h->affine, succ) & bit)
				visit(w, w->h->first_segment[succ->number], VIA_NONE, 0);
		}
	}
	return 0;
}

static void find_cyclic(struct walk *w)
{
	w->cyclic = 0;
	for (const struct tcb_ptx_loop *loop = w->h->function->loops; loop; loop = loop->next)
		if (loop->header->order != UINT32_MAX && goes_round(w, loop))
			w->cyclic |= tcb_ptx_affine_loop_bit(w->h->affine, loop->header);
}

/* Whether a walk begins at SEGMENT: at the entry, or behind what stops. */
static int is_start(const struct walk *w, uint32_t segment)
{
	const struct tcb_ptx_block *block = w->h->segments[segment].block;

	if (segment == w->h->first_segment[block->number])
		return block == w->h->function->first;
	return stops(w, &w->h->segments[segment - 1]);
}

/* Relates what is reached by VIA_A and by VIA_B; *SWAPPED: the first is the later one. */
static struct tcb_ptx_skew skew_of(const struct walk *w, uint8_t via_a, uint8_t via_b, int *swapped)
{
	struct tcb_ptx_skew skew = { 0, w->cyclic };

	*swapped = 0;
	if (via_a == via_b && via_a != VIA_MANY)
		return skew;
	if (via_a != VIA_MANY && via_b != VIA_MANY && (via_a == VIA_NONE || via_b == VIA_NONE)) {
		unsigned loop = (via_a == VIA_NONE ? via_b : via_a) - 1u;

		*swapped = via_b == VIA_NONE;
		skew.later = UINT64_C(1) << loop;
		skew.any |= w->nested[loop] & ~skew.later;
		return skew;
	}
	skew.any = UINT64_MAX;
	return skew;
}

/* --- races --- */

struct racing {
	struct walk walk, ways; /* the second for questions about two accesses */
	enum tcb_ptx_pairing pairing;
	unsigned space;
	uint64_t *told; /* pairs of different warps that were reported: bit a * events + b */
	uint64_t *done; /* pairs that were looked at: bit (a * events + b) * 2 + (b is a round later) */
	const struct tcb_ptx_sink *sink;
};

/* Whether BLOCK runs in every round of the loops around it that LOOPS names. */
static int is_in_all_rounds(const struct tcb_ptx_hazards *h, const struct tcb_ptx_block *block, uint64_t loops)
{
	const struct tcb_ptx_dominators *d = tcb_ptx_affine_dominators(h->affine);

	for (const struct tcb_ptx_loop *loop = block->loop; loop; loop = loop->parent) {
		const struct tcb_ptx_block *header = loop->header;

		if (!(tcb_ptx_affine_loop_bit(h->affine, header) & loops))
			continue;
		for (uint32_t i = 0; i < header->pred_count; i++)
			if (tcb_ptx_dominates(d, header, header->pred[i]) &&
			    !tcb_ptx_dominates(d, block, header->pred[i]))
				return 0;
	}
	return 1;
}

/* Whether one thread can come from A to B without being stopped. */
static int is_on_the_way(struct racing *r, const struct tcb_ptx_event *a, const struct tcb_ptx_event *b)
{
	if (a->segment == b->segment)
		return 1;
	walk_from(&r->ways, a->segment);
	for (uint32_t i = 0; i < r->ways.count; i++)
		if (r->ways.states[i].segment == b->segment && r->ways.states[i].via == VIA_NONE)
			return 1;
	return 0;
}

enum together { NEVER_TOGETHER, IF_CONDITIONS_ALLOW, TOGETHER };

static int may_come_to_both(const struct tcb_ptx_hazards *h, const struct tcb_ptx_block *x,
			    const struct tcb_ptx_block *y)
{
	const uint64_t *to_x = tcb_ptx_affine_active(h->affine, x), *to_y = tcb_ptx_affine_active(h->affine, y);

	for (uint32_t i = 0; i < (tcb_ptx_affine_threads(h->affine) + 63) / 64; i++)
		if (to_x[i] & to_y[i])
			return 1;
	return 0;
}

/* Whether both happen in one launch.  A and B under conditions that are the same in all threads and may exclude each
 * other do not count. */
static enum together happen_together(struct racing *r, const struct tcb_ptx_event *a, const struct tcb_ptx_event *b,
				     int is_later, uint64_t loop)
{
	const struct tcb_ptx_hazards *h = r->walk.h;
	const struct tcb_ptx_dominators *d = tcb_ptx_affine_dominators(h->affine);
	const struct tcb_ptx_block *x = a->ins->block, *y = b->ins->block;
	enum together sure = a->is_sure && b->is_sure ? TOGETHER : IF_CONDITIONS_ALLOW;
	int is_open;

	if (!is_in_all_rounds(h, x, r->walk.cyclic | loop) || !is_in_all_rounds(h, y, r->walk.cyclic))
		return NEVER_TOGETHER;
	if (is_later || tcb_ptx_dominates(d, x, y) || tcb_ptx_dominates(d, y, x) || tcb_ptx_post_dominates(d, x, y) ||
	    tcb_ptx_post_dominates(d, y, x))
		return sure;
	is_open = tcb_ptx_affine_is_optional(h->affine, x) || tcb_ptx_affine_is_optional(h->affine, y);
	if (!is_on_the_way(r, a, b) && !is_on_the_way(r, b, a)) /* two arms: does it part the threads? */
		return is_open || may_come_to_both(h, x, y) ? NEVER_TOGETHER : sure;
	if (!is_open)
		return sure;
	return tcb_ptx_affine_presence(h->affine, x) != TCB_PTX_ALL_ALIKE &&
			       tcb_ptx_affine_presence(h->affine, y) != TCB_PTX_ALL_ALIKE
		       ? IF_CONDITIONS_ALLOW
		       : NEVER_TOGETHER;
}

static void report_race(const struct racing *r, const struct tcb_ptx_event *a, const struct tcb_ptx_event *b,
			const uint32_t pair[2], int is_later, enum together together, int is_likely)
{
	int is_one = a->ins == b->ins && !is_later, in_warp = r->pairing == TCB_PTX_SAME_WARP && !is_one;
	int is_sure = together == TOGETHER && r->pairing != TCB_PTX_SAME_WARP && !is_likely;
	char where[64] = "", *end = where;

	if (a->ins != b->ins && a->ins->line)
		end += snprintf(end, 40, " of line %u", a->ins->line);
	if (is_later)
		snprintf(end, 24, " in the round before");
	tcb_ptx_report(r->sink, r->space == TCB_PTX_IN_SHARED ? TCB_PTX_RULE_SHARED_RACE : TCB_PTX_RULE_RACE,
		       is_sure ? TCB_PTX_ERROR : TCB_PTX_WARNING, r->walk.h->function, b->ins,
		       "thread %u %s what thread %u %s%s%s%s, and %s orders them%s%s%s", pair[1],
		       b->writes ? "writes" : "reads", pair[0], a->writes ? "writes" : "reads",
		       r->space == TCB_PTX_IN_GLOBAL ? " in global memory" : "",
		       a->ins == b->ins ? " here, too" : " by the access", where,
		       in_warp  ? "no bar.warp.sync"
		       : is_one ? "nothing"
				: "no barrier",
		       in_warp ? " (lanes of a warp need not be in step)" : "",
		       is_likely ? " (harmless only if both write the same value)" : "",
		       together == TOGETHER || in_warp ? "" : " if conditions let both come here");
}

static int is_candidate(const struct racing *r, const struct tcb_ptx_event *e)
{
	return e->is_known && !e->is_opaque && e->spaces == r->space;
}

static void race_pair(struct racing *r, const struct state *sa, uint32_t ia, const struct state *sb, uint32_t ib)
{
	struct tcb_ptx_hazards *h = r->walk.h;
	const struct tcb_ptx_event *a, *b;
	struct tcb_ptx_skew skew;
	enum tcb_ptx_differing differing = TCB_PTX_DIFFERENT;
	enum together together;
	uint32_t pair[2];
	uint64_t bit;
	int swapped, is_later;

	skew = skew_of(&r->walk, sa->via, sb->via, &swapped);
	if (skew.any == UINT64_MAX)
		return;
	if (swapped || (!skew.later && ia > ib)) {
		uint32_t keep = ia;

		ia = ib;
		ib = keep;
	}
	a = &h->events[ia];
	b = &h->events[ib];
	is_later = skew.later != 0;
	/* when one thread is behind the loop, none goes round again */
	if (is_later && !(tcb_ptx_affine_loops_of(h->affine, a->ins->block) & skew.later))
		return;
	bit = ((uint64_t)ia * h->event_count + ib) * 2 + (uint64_t)is_later;
	if (r->done[bit / 64] >> (bit % 64) & 1)
		return;
	r->done[bit / 64] |= UINT64_C(1) << (bit % 64);
	if (!(a->writes || b->writes) || (a->is_ordered && b->is_ordered) || (ia == ib && !(a->is_sure && !is_later)) ||
	    tcb_ptx_events_meet(h, a, b, skew, r->pairing, pair) != TCB_PTX_MEET)
		return;
	together = happen_together(r, a, b, is_later, skew.later);
	if (together == NEVER_TOGETHER)
		return;
	if (a->writes && b->writes) {
		differing = tcb_ptx_writes_differ(h, a, b, pair);
		/* what is only likely is not told of threads that may not exist */
		if (differing == TCB_PTX_SAME || (differing == TCB_PTX_LIKELY_DIFFERENT && !h->is_exact))
			return;
	}
	if (!is_later && tcb_ptx_reads_its_own(h, a, b))
		return;
	if (r->told[bit / 128] >> (bit / 2 % 64) & 1)
		return;
	if (r->pairing == TCB_PTX_OTHER_WARPS)
		r->told[bit / 128] |= UINT64_C(1) << (bit / 2 % 64);
	bit ^= 1; /* once for both rounds */
	r->done[bit / 64] |= UINT64_C(1) << (bit % 64);
	report_race(r, a, b, pair, is_later, together, differing == TCB_PTX_LIKELY_DIFFERENT);
}

static void race_states(struct racing *r, const struct state *sa, const struct state *sb)
{
	const struct tcb_ptx_segment *x = &r->walk.h->segments[sa->segment], *y = &r->walk.h->segments[sb->segment];

	for (uint32_t i = x->first_event; i < x->first_event + x->event_count; i++)
		for (uint32_t j = y->first_event; j < y->first_event + y->event_count; j++)
			if (is_candidate(r, &r->walk.h->events[i]) && is_candidate(r, &r->walk.h->events[j]))
				race_pair(r, sa, i, sb, j);
}

static enum tcb_status find_races(struct tcb_ptx_hazards *h, unsigned space, enum tcb_ptx_pairing pairing,
				  uint64_t *told, const struct tcb_ptx_sink *sink, struct tcb_error *err)
{
	struct racing r = { .pairing = pairing, .space = space, .told = told, .sink = sink };
	enum tcb_ptx_cut stop = pairing == TCB_PTX_SAME_WARP ? TCB_PTX_CUT_WARP : TCB_PTX_CUT_LENIENT;
	size_t bits = (size_t)h->event_count * h->event_count * 2;
	int ok = begin_walks(&r.walk, h, stop) && begin_walks(&r.ways, h, stop);

	r.done = calloc(bits / 64 + 1, sizeof *r.done);
	if (ok && r.done) {
		find_cyclic(&r.walk);
		r.ways.cyclic = r.walk.cyclic;
		for (uint32_t s = 0; s < h->segment_count && !r.walk.failed; s++) {
			if (!is_start(&r.walk, s))
				continue;
			walk_from(&r.walk, s);
			for (uint32_t i = 0; i < r.walk.count; i++)
				for (uint32_t j = i; j < r.walk.count; j++)
					race_states(&r, &r.walk.states[i], &r.walk.states[j]);
		}
	}
	ok = ok && r.done && !r.walk.failed && !r.ways.failed;
	free(r.done);
	end_walks(&r.walk);
	end_walks(&r.ways);
	return ok ? TCB_OK
		  : tcb_fail(err, TCB_E_NOMEM, "out of memory for the races of '%s'", h->function->symbol->name);
}

/* Whether something in SPACE is written at a known place. */
static int any_race(const struct tcb_ptx_hazards *h, unsigned space)
{
	for (uint32_t i = 0; i < h->event_count; i++)
		if (h->events[i].writes && h->events[i].spaces == space && h->events[i].is_known)
			return 1;
	return 0;
}

enum tcb_status tcb_ptx_races(struct tcb_ptx_hazards *h, int is_exact, const struct tcb_ptx_sink *sink,
			      struct tcb_error *err)
{
	static const unsigned spaces[] = { TCB_PTX_IN_SHARED, TCB_PTX_IN_GLOBAL };
	uint64_t *told;

	if (h->is_hopeless || h->event_count > RACE_EVENTS_MAX || !h->event_count)
		return TCB_OK;
	told = tcb_arena_array(&h->arena, (size_t)h->event_count * h->event_count / 64 + 1, sizeof *told);
	if (!told)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the races of '%s'", h->function->symbol->name);
	h->is_exact = (uint8_t)is_exact;
	/* kernels for one thread write to global memory too: without the block's size nothing is said of that */
	for (unsigned i = 0; i < (h->is_exact ? 2 : 1); i++) {
		if (!any_race(h, spaces[i]))
			continue;
		TCB_TRY(find_races(h, spaces[i], TCB_PTX_OTHER_WARPS, told, sink, err));
		TCB_TRY(find_races(h, spaces[i], TCB_PTX_SAME_WARP, told, sink, err));
	}
	return TCB_OK;
}

/* --- redundant barriers --- */

/* Whether the order of two events can matter. */
static int conflict(struct walk *w, const struct tcb_ptx_event *a, uint8_t via_a, const struct tcb_ptx_event *b,
		    uint8_t via_b)
{
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
	skew = skew_of(w, via_a, via_b, &swapped);
	if (swapped)
		return tcb_ptx_events_meet(w->h, b, a, skew, TCB_PTX_ANY_THREADS, pair) != TCB_PTX_NEVER_MEET;
	return tcb_ptx_events_meet(w->h, a, b, skew, TCB_PTX_ANY_THREADS, pair) != TCB_PTX_NEVER_MEET;
}

static int states_conflict(struct walk *w, const struct state *sa, const struct state *sb)
{
	const struct tcb_ptx_segment *x = &w->h->segments[sa->segment], *y = &w->h->segments[sb->segment];

	for (uint32_t i = x->first_event; i < x->first_event + x->event_count; i++)
		for (uint32_t j = y->first_event; j < y->first_event + y->event_count; j++)
			if (w->h->budget == 0 || conflict(w, &w->h->events[i], sa->via, &w->h->events[j], sb->via))
				return 1;
	return 0;
}

/* Whether something before TESTED and something behind it need it, on ways from the begin of START. */
static int is_needed_from(struct walk *w, uint32_t start)
{
	walk_from(w, start);
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
static uint32_t starts_before(struct walk *w, uint32_t segment, uint32_t *list, uint8_t *marks)
{
	struct tcb_ptx_hazards *h = w->h;
	uint32_t starts = 0, count = 0, *queue = list + h->segment_count;

	memset(marks, 0, h->segment_count);
	marks[segment] = 1;
	queue[count++] = segment;
	for (uint32_t i = 0; i < count; i++) {
		const struct tcb_ptx_block *block = h->segments[queue[i]].block;

		if (is_start(w, queue[i]))
			list[starts++] = queue[i];
		if (queue[i] != h->first_segment[block->number]) {
			if (!marks[queue[i] - 1] && !stops(w, &h->segments[queue[i] - 1])) {
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
	struct walk w;

	*count = 0;
	*out = found;
	if (!found || !list || !marks)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the barriers of '%s'", h->function->symbol->name);
	if (h->is_hopeless)
		return TCB_OK;
	if (!begin_walks(&w, h, TCB_PTX_CUT_FULL)) {
		end_walks(&w);
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the barriers of '%s'", h->function->symbol->name);
	}
	for (uint32_t s = 0; s < h->segment_count; s++) {
		struct tcb_ptx_segment *segment = &h->segments[s];
		uint32_t starts;
		int needed = 0;

		if (!segment->is_removable || segment->is_removed)
			continue;
		w.tested = segment;
		find_cyclic(&w);
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
	end_walks(&w);
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
