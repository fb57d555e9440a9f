/* SPDX-License-Identifier: MIT
 *
 * In: segments, and what ends a walk.  Out: all that threads can reach from one
 * meeting before the next, and which of them.
 *
 * A walk from each meeting (and from the entry) notes whether a loop went back
 * once on the way, because then its counter is one round later.  Loops that can go
 * round without a meeting leave their counters open.  Where threads are told apart,
 * a set goes with each state: branches whose conditions are known send each thread
 * its way, and what tells threads of others' accesses is remembered.
 */
#include "ptx/analyse/hazards/hazards_private.h"

#include "ptx/ir/opcodes.h"

#include <stdlib.h>
#include <string.h>

enum { SETS = TCB_PTX_WALK_SETS };

/* Sets of threads that are on their way to a segment. */
struct company {
	uint64_t set[SETS][TCB_PTX_WORDS_MAX];
};

int tcb_ptx_walks_begin(struct tcb_ptx_walk *w, struct tcb_ptx_hazards *h, enum tcb_ptx_cut stops, int by_threads)
{
	size_t keys = (size_t)h->segment_count * TCB_PTX_VIAS * 2;

	*w = (struct tcb_ptx_walk){ .h = h, .stops = stops };
	w->words = w->words_each = by_threads ? h->words : 0;
	w->stamps = calloc(keys, sizeof *w->stamps);
	w->places = malloc(keys * sizeof *w->places);
	for (const struct tcb_ptx_loop *loop = h->function->loops; loop; loop = loop->next) {
		uint64_t bits = tcb_ptx_affine_loops_of(h->affine, loop->header);

		for (int i = 0; i < TCB_PTX_LOOPS_MAX; i++)
			if (bits >> i & 1)
				w->nested[i] |= tcb_ptx_affine_loop_bit(h->affine, loop->header);
	}
	return w->stamps && w->places;
}

void tcb_ptx_walks_end(struct tcb_ptx_walk *w)
{
	free(w->states);
	free(w->sets);
	free(w->stamps);
	free(w->places);
}

int tcb_ptx_walk_stops(const struct tcb_ptx_walk *w, const struct tcb_ptx_segment *segment)
{
	return segment->end && segment->cut >= w->stops && !segment->is_removed && segment != w->tested;
}

int tcb_ptx_walk_starts(const struct tcb_ptx_walk *w, uint32_t segment)
{
	const struct tcb_ptx_block *block = w->h->segments[segment].block;

	if (segment == w->h->first_segment[block->number])
		return block == w->h->function->first;
	return tcb_ptx_walk_stops(w, &w->h->segments[segment - 1]);
}

static int grow(struct tcb_ptx_walk *w)
{
	uint32_t capacity = w->capacity ? w->capacity * 2 : 256;
	struct tcb_ptx_state *states = realloc(w->states, capacity * sizeof *states);
	uint64_t *sets;

	if (states)
		w->states = states;
	sets = w->words_each ? realloc(w->sets, (size_t)capacity * SETS * w->words_each * sizeof *sets) : NULL;
	if (sets)
		w->sets = sets;
	if (!states || (w->words_each && !sets))
		return 0;
	w->capacity = capacity;
	return 1;
}

/* Adds COMPANY to the state at PLACE. */
static void join(struct tcb_ptx_walk *w, uint32_t place, const struct company *company)
{
	uint64_t *sets = w->sets + (size_t)place * SETS * w->words;

	for (unsigned s = 0; s < SETS; s++)
		for (uint32_t i = 0; i < w->words; i++) {
			uint64_t more = company->set[s][i] & ~sets[s * w->words + i];

			sets[s * w->words + i] |= more;
			w->states[place].is_due |= more != 0;
		}
}

static int is_anybody(const struct tcb_ptx_walk *w, const struct company *company)
{
	uint64_t any = !w->words;

	for (uint32_t i = 0; i < w->words; i++)
		any |= company->set[TCB_PTX_THERE][i];
	return any != 0;
}

static void visit(struct tcb_ptx_walk *w, uint32_t segment, uint8_t via, uint8_t behind, const struct company *company)
{
	size_t key = ((size_t)segment * TCB_PTX_VIAS + via) * 2 + behind;

	if (!is_anybody(w, company))
		return;
	if (w->stamps[key] != w->stamp) {
		if (w->count == w->capacity && !grow(w)) {
			w->failed = 1;
			return;
		}
		w->stamps[key] = w->stamp;
		w->places[key] = w->count;
		if (w->words)
			memset(w->sets + (size_t)w->count * SETS * w->words, 0, SETS * w->words * sizeof *w->sets);
		w->states[w->count++] = (struct tcb_ptx_state){ segment, via, behind, 1 };
	}
	if (w->words)
		join(w, w->places[key], company);
}

/* How the way changes when it goes from BLOCK to SUCC. */
static uint8_t via_edge(const struct tcb_ptx_walk *w, uint8_t via, const struct tcb_ptx_block *block,
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
	return via == TCB_PTX_VIA_NONE && loop < TCB_PTX_LOOPS_MAX - 1 ? (uint8_t)(loop + 1) : TCB_PTX_VIA_MANY;
}

/* Whether BLOCK goes back to SUCC, the header of a loop that makes one round. */
static int is_never_taken(const struct tcb_ptx_walk *w, const struct tcb_ptx_block *block,
			  const struct tcb_ptx_block *succ)
{
	struct tcb_ptx_affine *affine = w->h->affine;

	return succ == w->closed || (succ->order <= block->order &&
				     tcb_ptx_affine_symbol(affine, tcb_ptx_affine_counter(affine, succ))->max == 0);
}

/* --- who goes where --- */

/* What the end of SEGMENT tells those who come to it. */
static void pass_end(const struct tcb_ptx_walk *w, const struct tcb_ptx_segment *segment, struct company *c)
{
	for (uint32_t i = 0; i < w->words; i++) {
		uint64_t who = segment->who[i] & c->set[TCB_PTX_THERE][i];

		if (segment->sync & TCB_PTX_SYNC_LANES) {
			c->set[TCB_PTX_ACQUIRED][i] |= tcb_ptx_whole_warps(c->set[TCB_PTX_ACQUIRED][i]) & who;
			c->set[TCB_PTX_TOLD][i] |= tcb_ptx_whole_warps(c->set[TCB_PTX_TOLD][i]) & who;
		}
		if (segment->sync & TCB_PTX_SYNC_FENCE)
			c->set[TCB_PTX_TOLD][i] |= c->set[TCB_PTX_HAVE_READ][i] & who;
		if (segment->sync & TCB_PTX_SYNC_STRONG_READ)
			c->set[TCB_PTX_HAVE_READ][i] |= who;
		if (segment->sync & TCB_PTX_SYNC_ACQUIRE)
			c->set[segment->sync & TCB_PTX_SYNC_WORD ? TCB_PTX_TOLD : TCB_PTX_ACQUIRED][i] |= who;
	}
}

/* Those of FROM that go from BLOCK to SUCC. */
static void pass_edge(const struct tcb_ptx_walk *w, const struct tcb_ptx_block *block, const struct tcb_ptx_block *succ,
		      const struct company *from, struct company *to)
{
	const struct tcb_ptx_ins *end = tcb_ptx_terminator(block);
	const uint64_t *taken = w->words ? tcb_ptx_affine_taken(w->h->affine, block) : NULL;
	int is_target = end && end->op == TCB_PTX_OP_BRA && end->operands[0].block == succ;
	const uint64_t *active = tcb_ptx_affine_active(w->h->affine, succ);
	int is_next = succ == block->next && tcb_ptx_falls_through(block);

	for (uint32_t i = 0; i < w->words; i++) {
		uint64_t goes = !taken || (is_target && is_next) ? ~(uint64_t)0 : is_target ? taken[i] : ~taken[i];

		goes &= active[i];

		for (unsigned s = 0; s < SETS; s++)
			to->set[s][i] = from->set[s][i] & goes;
	}
}

static void read_company(const struct tcb_ptx_walk *w, uint32_t place, struct company *out)
{
	for (unsigned s = 0; s < SETS && w->words; s++)
		memcpy(out->set[s], tcb_ptx_walk_set(w, place, s), w->words * sizeof(uint64_t));
}

/* Goes on from the state at PLACE. */
static void go_on(struct tcb_ptx_walk *w, uint32_t place)
{
	struct tcb_ptx_state at = w->states[place];
	const struct tcb_ptx_segment *segment = &w->h->segments[at.segment];
	struct company company, going;

	w->states[place].is_due = 0;
	if (tcb_ptx_walk_stops(w, segment))
		return;
	read_company(w, place, &company);
	if (segment->end) {
		if (segment == w->tested)
			w->comes_back |= at.behind;
		pass_end(w, segment, &company);
		visit(w, at.segment + 1, at.via, at.behind || segment == w->tested, &company);
		return;
	}
	for (uint32_t s = 0; s < segment->block->succ_count; s++) {
		const struct tcb_ptx_block *succ = segment->block->succ[s];

		if (is_never_taken(w, segment->block, succ))
			continue;
		pass_edge(w, segment->block, succ, &company, &going);
		visit(w, w->h->first_segment[succ->number], via_edge(w, at.via, segment->block, succ), at.behind,
		      &going);
	}
}

void tcb_ptx_walk_from(struct tcb_ptx_walk *w, uint32_t start, const uint64_t *threads)
{
	const uint64_t *active = tcb_ptx_affine_active(w->h->affine, w->h->segments[start].block);
	struct company company = { { { 0 } } };
	int is_due = 1;

	w->count = 0;
	w->comes_back = 0;
	w->stamp++;
	for (uint32_t i = 0; i < w->words; i++)
		company.set[TCB_PTX_THERE][i] = threads ? threads[i] : active[i];
	visit(w, start, TCB_PTX_VIA_NONE, 0, &company);
	while (is_due && !w->failed) {
		is_due = 0;
		for (uint32_t i = 0; i < w->count && !w->failed; i++)
			if (w->states[i].is_due) {
				is_due = 1;
				go_on(w, i);
			}
	}
}

/* --- loops --- */

/* Whether LOOP can go round without being stopped. */
static int goes_round(struct tcb_ptx_walk *w, const struct tcb_ptx_loop *loop)
{
	uint64_t bit = tcb_ptx_affine_loop_bit(w->h->affine, loop->header);
	uint32_t words = w->words;
	int found = 0;

	w->words = 0; /* whoever it is */
	w->count = 0;
	w->stamp++;
	visit(w, w->h->first_segment[loop->header->number], TCB_PTX_VIA_NONE, 0, NULL);
	for (uint32_t i = 0; i < w->count && !w->failed && !found; i++) {
		const struct tcb_ptx_segment *segment = &w->h->segments[w->states[i].segment];

		if (tcb_ptx_walk_stops(w, segment))
			continue;
		if (segment->end) {
			visit(w, w->states[i].segment + 1, TCB_PTX_VIA_NONE, 0, NULL);
			continue;
		}
		for (uint32_t s = 0; s < segment->block->succ_count; s++) {
			const struct tcb_ptx_block *succ = segment->block->succ[s];

			if (is_never_taken(w, segment->block, succ))
				continue;
			found |= succ == loop->header;
			if (tcb_ptx_affine_loops_of(w->h->affine, succ) & bit)
				visit(w, w->h->first_segment[succ->number], TCB_PTX_VIA_NONE, 0, NULL);
		}
	}
	w->words = words;
	return found;
}

void tcb_ptx_find_cyclic(struct tcb_ptx_walk *w)
{
	w->cyclic = 0;
	for (const struct tcb_ptx_loop *loop = w->h->function->loops; loop; loop = loop->next)
		if (loop->header->order != UINT32_MAX && goes_round(w, loop))
			w->cyclic |= tcb_ptx_affine_loop_bit(w->h->affine, loop->header);
}

struct tcb_ptx_skew tcb_ptx_skew_of(const struct tcb_ptx_walk *w, uint8_t via_a, uint8_t via_b, int *swapped)
{
	struct tcb_ptx_skew skew = { 0, w->cyclic };

	*swapped = 0;
	if (via_a == via_b && via_a != TCB_PTX_VIA_MANY)
		return skew;
	if (via_a != TCB_PTX_VIA_MANY && via_b != TCB_PTX_VIA_MANY &&
	    (via_a == TCB_PTX_VIA_NONE || via_b == TCB_PTX_VIA_NONE)) {
		unsigned loop = (via_a == TCB_PTX_VIA_NONE ? via_b : via_a) - 1u;

		*swapped = via_b == TCB_PTX_VIA_NONE;
		skew.later = UINT64_C(1) << loop;
		skew.any |= w->nested[loop] & ~skew.later;
		return skew;
	}
	skew.any = UINT64_MAX;
	return skew;
}
