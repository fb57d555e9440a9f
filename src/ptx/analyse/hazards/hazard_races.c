/* SPDX-License-Identifier: MIT
 *
 * In: accesses and what orders threads.  Out: pairs of accesses that have no
 * order, as races.
 *
 * What threads reach from one meeting before the next (hazard_walk.c) has no order
 * among different threads, if two of them can be there in one launch: conditions
 * that are the same in all threads send all of them the same way, so either one
 * thread's way leads from one access to the other, or a condition that is known for
 * each thread parts the two.  Who was told of others' accesses by something weaker
 * than a meeting of all is ordered behind those that tell: of these are left the
 * pairs of which the earlier thread never releases what it did (hazard_sync.c).
 */
#include "ptx/analyse/hazards/hazards_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/ir/opcodes.h"

enum { RACE_EVENTS_MAX = 1 << 12, ORDERS = 4 };

struct racing {
	struct tcb_ptx_walk walk, ways; /* the second for questions about two accesses */
	enum tcb_ptx_pairing pairing;
	unsigned space;
	uint64_t *told; /* pairs of different warps that were reported: bit a * events + b */
	uint64_t *done; /* pairs that need no other look: bit (a * events + b) * 2 + (b is a round later) */
	uint64_t *
		*from;  /* by segment: the segments that anybody reaches from its begin, as bits; NULL: not asked yet */
	uint8_t *marks; /* by segment */
	uint32_t *stack;
	const struct tcb_ptx_sink *sink;
};

/* Two accesses as a walk comes to them, and the threads of each that are looked at. */
struct couple {
	const struct tcb_ptx_event *a, *b;
	uint32_t place_a, place_b; /* states of the walk */
	struct tcb_ptx_skew skew;
	uint64_t threads_a[TCB_PTX_WORDS_MAX], threads_b[TCB_PTX_WORDS_MAX];
	uint32_t pair[2];
	int is_later;
};

enum together { NEVER_TOGETHER, IF_BARRIERS_ARE_SKIPPED, IF_CONDITIONS_ALLOW, TOGETHER };

static int meet(struct racing *r, struct couple *c, const uint64_t *a, const uint64_t *b)
{
	struct tcb_ptx_threads only = { a, b };

	return tcb_ptx_events_meet(r->walk.h, c->a, c->b, c->skew, r->pairing, only, c->pair) == TCB_PTX_MEET;
}

/* --- whether both happen in one launch --- */

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

static int reached(const struct tcb_ptx_walk *w, uint32_t segment, int via)
{
	for (uint32_t i = 0; i < w->count; i++)
		if (w->states[i].segment == segment && (via < 0 || w->states[i].via == via))
			return 1;
	return 0;
}

/* Whether anybody can come from the begin of segment FROM to segment TO without being stopped, in any round.  It is
 * asked of many pairs, so the answers of each FROM are kept. */
static int may_come(struct racing *r, uint32_t from, uint32_t to)
{
	if (!r->from[from]) {
		r->from[from] =
			tcb_arena_array(&r->walk.h->arena, (r->walk.h->segment_count + 63) / 64, sizeof(uint64_t));
		if (!r->from[from])
			return 1;
		tcb_ptx_walk_from(&r->ways, from, NULL);
		for (uint32_t i = 0; i < r->ways.count; i++) {
			uint32_t segment = r->ways.states[i].segment;

			r->from[from][segment / 64] |= UINT64_C(1) << (segment % 64);
		}
	}
	return r->from[from][to / 64] >> (to % 64) & 1;
}

/* Whether one of THREADS can come from A to B, in the next round of the loop of skew LATER, without being stopped. */
static int is_on_the_way(struct racing *r, const struct tcb_ptx_event *a, const uint64_t *threads,
			 const struct tcb_ptx_event *b, uint64_t later)
{
	if (a->segment == b->segment && !later)
		return 1;
	if (!may_come(r, a->segment, b->segment))
		return 0;
	tcb_ptx_walk_from(&r->ways, a->segment, threads);
	return reached(&r->ways, b->segment, later ? 1 + __builtin_ctzll(later) : TCB_PTX_VIA_NONE);
}

/* Whether threads on one side of the branch of BLOCK come to A, and those on the other to B, without being stopped,
 * one of them before the ways meet again. */
static int leads_to_both(struct racing *r, struct couple *c, const struct tcb_ptx_block *block, int a_takes,
			 const uint64_t *a, const uint64_t *b)
{
	const struct tcb_ptx_block *target = tcb_ptx_terminator(block)->operands[0].block;
	const struct tcb_ptx_dominators *d = tcb_ptx_affine_dominators(r->walk.h->affine);
	const uint32_t *first = r->walk.h->first_segment;
	int found = 0;

	for (unsigned closed = 0; closed < 2 && !found; closed++) {
		r->ways.closed = closed ? d->ipdom[block->number] : NULL;
		if (closed && (a_takes ? target : block->next) == r->ways.closed)
			continue;
		tcb_ptx_walk_from(&r->ways, first[(a_takes ? target : block->next)->number], a);
		if (!reached(&r->ways, c->a->segment, -1))
			continue;
		r->ways.closed = closed ? NULL : d->ipdom[block->number];
		if (!closed && (a_takes ? block->next : target) == r->ways.closed)
			continue;
		tcb_ptx_walk_from(&r->ways, first[(a_takes ? block->next : target)->number], b);
		found = reached(&r->ways, c->b->segment, -1);
	}
	r->ways.closed = NULL;
	return found;
}

/* Whether A can be reached on one side of the branch of BLOCK, and B on the other: what is cheap to know. */
static int may_lead_to_both(struct racing *r, const struct couple *c, const struct tcb_ptx_block *block, int a_takes)
{
	const struct tcb_ptx_block *target = tcb_ptx_terminator(block)->operands[0].block;
	const uint32_t *first = r->walk.h->first_segment;

	return may_come(r, first[(a_takes ? target : block->next)->number], c->a->segment) &&
	       may_come(r, first[(a_takes ? block->next : target)->number], c->b->segment);
}

/* Whether a branch that is known for each thread sends two that meet different ways, one to each access. */
static int are_parted(struct racing *r, struct couple *c)
{
	const struct tcb_ptx_hazards *h = r->walk.h;
	const struct tcb_ptx_dominators *d = tcb_ptx_affine_dominators(h->affine);

	for (uint32_t i = 0; i < r->walk.count; i++) {
		const struct tcb_ptx_segment *segment = &h->segments[r->walk.states[i].segment];
		const struct tcb_ptx_ins *end = segment->end ? NULL : tcb_ptx_terminator(segment->block);
		const uint64_t *taken = tcb_ptx_affine_taken(h->affine, segment->block);

		if (!end || end->op != TCB_PTX_OP_BRA || end->guard == TCB_PTX_NO_REG || !taken ||
		    !segment->block->next)
			continue;
		/* both lie behind where its ways meet again */
		if (tcb_ptx_post_dominates(d, c->a->ins->block, segment->block) &&
		    tcb_ptx_post_dominates(d, c->b->ins->block, segment->block))
			continue;
		for (int a_takes = 0; a_takes < 2; a_takes++) {
			uint64_t a[TCB_PTX_WORDS_MAX], b[TCB_PTX_WORDS_MAX];

			if (!may_lead_to_both(r, c, segment->block, a_takes))
				continue;
			for (uint32_t k = 0; k < h->words; k++) {
				a[k] = c->threads_a[k] & (a_takes ? taken[k] : ~taken[k]);
				b[k] = c->threads_b[k] & (a_takes ? ~taken[k] : taken[k]);
			}
			if (meet(r, c, a, b) && leads_to_both(r, c, segment->block, a_takes, a, b))
				return 1;
		}
	}
	return 0;
}

/* Whether nobody goes from BLOCK to SUCC. */
static int is_dead(const struct tcb_ptx_hazards *h, const struct tcb_ptx_block *block, const struct tcb_ptx_block *succ)
{
	const uint64_t *taken = tcb_ptx_affine_taken(h->affine, block),
		       *active = tcb_ptx_affine_active(h->affine, block);
	const struct tcb_ptx_ins *end = tcb_ptx_terminator(block);
	uint64_t any = 0;

	if (!taken || !end || end->op != TCB_PTX_OP_BRA || block->next == end->operands[0].block)
		return 0;
	for (uint32_t i = 0; i < h->words; i++)
		any |= active[i] & (end->operands[0].block == succ ? taken[i] : ~taken[i]);
	return !any;
}

static void mark(const struct racing *r, uint32_t segment, uint8_t bit, uint32_t *count)
{
	if (r->marks[segment] & bit)
		return;
	r->marks[segment] |= bit;
	r->stack[(*count)++] = segment;
}

/* Marks what lies behind (IS_BACK: before) FROM up to A's and B's segments. */
static void mark_between(const struct racing *r, uint32_t from, uint32_t a, uint32_t b, int is_back)
{
	const struct tcb_ptx_hazards *h = r->walk.h;
	uint8_t bit = is_back ? 2 : 1;
	uint32_t count = 0, at = from;
	int is_first = 1;

	do {
		const struct tcb_ptx_segment *segment = &h->segments[at];
		const struct tcb_ptx_block *block = segment->block;

		if (!is_first && (at == a || at == b))
			continue;
		is_first = 0;
		if (!is_back && segment->end)
			mark(r, at + 1, bit, &count);
		for (uint32_t i = 0; !is_back && !segment->end && i < block->succ_count; i++)
			if (!is_dead(h, block, block->succ[i]))
				mark(r, h->first_segment[block->succ[i]->number], bit, &count);
		if (is_back && at != h->first_segment[block->number])
			mark(r, at - 1, bit, &count);
		for (uint32_t i = 0; is_back && at == h->first_segment[block->number] && i < block->pred_count; i++) {
			uint32_t last;

			if (block->pred[i]->order == UINT32_MAX || is_dead(h, block->pred[i], block))
				continue;
			last = h->first_segment[block->pred[i]->number];
			while (h->segments[last].end)
				last++;
			mark(r, last, bit, &count);
		}
	} while (count && (at = r->stack[--count], 1));
}

/* Whether some way from A to B holds a meeting of all threads: another does not. */
static int may_be_kept_apart(const struct racing *r, const struct tcb_ptx_event *a, const struct tcb_ptx_event *b,
			     int is_later)
{
	const struct tcb_ptx_hazards *h = r->walk.h;

	if (a->segment == b->segment && !is_later)
		return 0;
	memset(r->marks, 0, h->segment_count);
	mark_between(r, a->segment, a->segment, b->segment, 0);
	mark_between(r, b->segment, a->segment, b->segment, 1);
	for (uint32_t s = 0; s < h->segment_count; s++)
		if (r->marks[s] == 3 && s != b->segment && h->segments[s].end && h->segments[s].cut == TCB_PTX_CUT_FULL)
			return 1;
	return 0;
}

/* The innermost branch that decides whether BLOCK runs, and (IS_TAKEN) by being taken or not; NULL: none alone. */
static const struct tcb_ptx_ins *decides(const struct tcb_ptx_hazards *h, const struct tcb_ptx_block *block,
					 int *is_taken)
{
	const struct tcb_ptx_dominators *d = tcb_ptx_affine_dominators(h->affine);

	for (const struct tcb_ptx_block *at = d->idom[block->number]; at; at = d->idom[at->number]) {
		const struct tcb_ptx_ins *end = tcb_ptx_terminator(at);

		if (tcb_ptx_post_dominates(d, block, at))
			continue;
		if (!end || end->op != TCB_PTX_OP_BRA || end->guard == TCB_PTX_NO_REG || !at->next)
			return NULL;
		*is_taken = tcb_ptx_dominates(d, end->operands[0].block, block);
		return *is_taken != tcb_ptx_dominates(d, at->next, block) ? end : NULL;
	}
	return NULL;
}

/* Whether one and the same condition decides if X runs and if Y does. */
static int is_same_condition(const struct tcb_ptx_hazards *h, const struct tcb_ptx_block *x,
			     const struct tcb_ptx_block *y)
{
	int x_taken = 0, y_taken = 0;
	const struct tcb_ptx_ins *end_x = decides(h, x, &x_taken), *end_y = decides(h, y, &y_taken);
	struct tcb_ptx_value vx, vy;

	if (!end_x || !end_y || x_taken != y_taken)
		return 0;
	vx = tcb_ptx_affine_guard(h->affine, end_x);
	vy = tcb_ptx_affine_guard(h->affine, end_y);
	return vx.known && vy.known && tcb_ptx_value_same(&vx, &vy) && !tcb_ptx_value_loops(h->affine, &vx);
}

/* Whether both happen in one launch, with nothing that stops threads between them.  A and B under conditions that are
 * the same in all threads and may exclude each other do not count. */
static enum together happen_together(struct racing *r, struct couple *c)
{
	const struct tcb_ptx_hazards *h = r->walk.h;
	const struct tcb_ptx_dominators *d = tcb_ptx_affine_dominators(h->affine);
	const struct tcb_ptx_block *x = c->a->ins->block, *y = c->b->ins->block;
	enum together sure = c->a->is_sure && c->b->is_sure ? TOGETHER : IF_CONDITIONS_ALLOW;
	int is_forward, is_open;

	if (!is_in_all_rounds(h, x, r->walk.cyclic | c->skew.later) || !is_in_all_rounds(h, y, r->walk.cyclic))
		return NEVER_TOGETHER;
	is_open = !c->is_later && !tcb_ptx_dominates(d, x, y) && !tcb_ptx_dominates(d, y, x) &&
		  !tcb_ptx_post_dominates(d, x, y) && !tcb_ptx_post_dominates(d, y, x) &&
		  tcb_ptx_affine_is_optional(h->affine, x) && tcb_ptx_affine_is_optional(h->affine, y) &&
		  !is_same_condition(h, x, y);
	is_forward = is_on_the_way(r, c->a, c->threads_a, c->b, c->skew.later);
	if (!is_forward && (c->is_later || !is_on_the_way(r, c->b, c->threads_b, c->a, 0)))
		return !is_open && are_parted(r, c) ? sure : NEVER_TOGETHER;
	if (is_open)
		return tcb_ptx_affine_presence(h->affine, x) != TCB_PTX_ALL_ALIKE &&
				       tcb_ptx_affine_presence(h->affine, y) != TCB_PTX_ALL_ALIKE
			       ? IF_CONDITIONS_ALLOW
			       : NEVER_TOGETHER;
	if (sure == TOGETHER && r->pairing == TCB_PTX_OTHER_WARPS &&
	    may_be_kept_apart(r, is_forward ? c->a : c->b, is_forward ? c->b : c->a, c->is_later))
		return IF_BARRIERS_ARE_SKIPPED;
	return sure;
}

/* --- who is told of what --- */

/* Fills the threads of C that no acquire and release order, in one of the four ways in which that can be (0 to 3): none
 * of the two was told of anything; A's thread was not and tells nobody; B's was not and tells nobody; both tell nobody.
 * BY_WORDS: flags and locks count too.  0 when there are none, or they are among those of way 0. */
static int fill_unordered(const struct racing *r, struct couple *c, unsigned way, int by_words)
{
	const struct tcb_ptx_hazards *h = r->walk.h;
	uint64_t any_a = 0, any_b = 0, told = 0;

	for (uint32_t i = 0; i < h->words; i++) {
		size_t a = (size_t)c->a->segment * h->words + i, b = (size_t)c->b->segment * h->words + i;
		uint64_t told_a = tcb_ptx_walk_set(&r->walk, c->place_a, TCB_PTX_ACQUIRED)[i],
			 told_b = tcb_ptx_walk_set(&r->walk, c->place_b, TCB_PTX_ACQUIRED)[i],
			 tells_a = h->released[TCB_PTX_BY_BARRIER][a], tells_b = h->released[TCB_PTX_BY_BARRIER][b];

		if (by_words) {
			told_a |= tcb_ptx_walk_set(&r->walk, c->place_a, TCB_PTX_TOLD)[i];
			told_b |= tcb_ptx_walk_set(&r->walk, c->place_b, TCB_PTX_TOLD)[i];
			tells_a |= h->released[TCB_PTX_BY_WORD][a];
			tells_b |= h->released[TCB_PTX_BY_WORD][b];
		}
		told |= told_a | told_b;
		c->threads_a[i] = tcb_ptx_walk_set(&r->walk, c->place_a, TCB_PTX_THERE)[i];
		c->threads_b[i] = tcb_ptx_walk_set(&r->walk, c->place_b, TCB_PTX_THERE)[i];
		c->threads_a[i] &= way == 0   ? ~told_a
				   : way == 1 ? ~tells_a & ~told_a
				   : way == 2 ? ~UINT64_C(0)
					      : ~tells_a;
		c->threads_b[i] &= way == 0   ? ~told_b
				   : way == 2 ? ~tells_b & ~told_b
				   : way == 1 ? ~UINT64_C(0)
					      : ~tells_b;
		any_a |= c->threads_a[i];
		any_b |= c->threads_b[i];
	}
	return any_a && any_b && (way == 0 || told);
}

/* Finds two threads of C that meet, in one launch and without an order. */
static enum together find_threads(struct racing *r, struct couple *c, int by_words)
{
	for (unsigned way = 0; way < ORDERS; way++) {
		enum together together;

		if (!fill_unordered(r, c, way, by_words) || !meet(r, c, c->threads_a, c->threads_b))
			continue;
		together = happen_together(r, c);
		if (together != NEVER_TOGETHER)
			return together;
	}
	return NEVER_TOGETHER;
}

/* The line of what releases A by a word, the first behind it in the text, or (IS_ACQUIRE) of what is told of it before
 * B, the last; 0: there is none on that side. */
static uint32_t line_of_word(const struct tcb_ptx_hazards *h, const struct tcb_ptx_event *e, int is_acquire)
{
	unsigned sync = TCB_PTX_SYNC_FENCE | (is_acquire ? TCB_PTX_SYNC_ACQUIRE : TCB_PTX_SYNC_RELEASE);

	for (int64_t s = e->segment - (int64_t)is_acquire; s >= 0 && s < h->segment_count; s += is_acquire ? -1 : 1) {
		const struct tcb_ptx_segment *segment = &h->segments[s];

		if (segment->sync & sync && segment->sync & (TCB_PTX_SYNC_WORD | TCB_PTX_SYNC_FENCE))
			return segment->end->line;
	}
	return 0;
}

/* --- telling --- */

static const char *condition_text(enum together together, int in_warp)
{
	if (together == TOGETHER || in_warp)
		return "";
	return together == IF_CONDITIONS_ALLOW ? " if conditions let both come here"
					       : " where the condition skips the barrier that is on another way";
}

static const char *verb_of(const struct tcb_ptx_event *e)
{
	if (e->ins->op == TCB_PTX_OP_MBARRIER_INIT || e->ins->op == TCB_PTX_OP_MBARRIER_INVAL)
		return e->ins->op == TCB_PTX_OP_MBARRIER_INIT ? "initialises" : "invalidates";
	if (e->ins->op > TCB_PTX_OP_MBARRIER_INVAL && e->ins->op <= TCB_PTX_OP_MBARRIER_TRY_WAIT)
		return "uses";
	return e->writes ? "writes" : "reads";
}

static void report_race(const struct racing *r, const struct couple *c, enum together together, int is_likely,
			int is_unfollowed)
{
	const struct tcb_ptx_event *a = c->a, *b = c->b;
	int is_one = a->ins == b->ins && !c->is_later, in_warp = r->pairing == TCB_PTX_SAME_WARP && !is_one;
	int is_sure = together == TOGETHER && r->pairing != TCB_PTX_SAME_WARP && !is_likely && !is_unfollowed;
	char where[64] = "", words[120] = "", *end = where;

	if (a->ins != b->ins && a->ins->line)
		end += snprintf(end, 40, " of line %u", a->ins->line);
	if (c->is_later)
		snprintf(end, 24, " in the round before");
	if (is_unfollowed)
		snprintf(words, sizeof words,
			 " unless the release of line %u and the acquire of line %u do, which were not followed",
			 line_of_word(r->walk.h, a, 0), line_of_word(r->walk.h, b, 1));
	tcb_ptx_report(r->sink, r->space == TCB_PTX_IN_SHARED ? TCB_PTX_RULE_SHARED_RACE : TCB_PTX_RULE_RACE,
		       is_sure ? TCB_PTX_ERROR : TCB_PTX_WARNING, r->walk.h->function, b->ins,
		       "thread %u %s what thread %u %s%s%s%s, and %s orders them%s%s%s%s", c->pair[1], verb_of(b),
		       c->pair[0], verb_of(a), r->space == TCB_PTX_IN_GLOBAL ? " in global memory" : "",
		       a->ins == b->ins ? " here, too" : " by the access", where,
		       in_warp  ? "no bar.warp.sync"
		       : is_one ? "nothing"
				: "no barrier",
		       in_warp ? " (lanes of a warp need not be in step)" : "",
		       is_likely ? " (harmless only if both write the same value)" : "",
		       condition_text(together, in_warp), words);
}

/* --- pairs --- */

static int is_candidate(const struct racing *r, const struct tcb_ptx_event *e)
{
	return e->is_known && !e->is_opaque && e->spaces == r->space;
}

static uint64_t bit_of(const struct racing *r, uint32_t ia, uint32_t ib, int is_later)
{
	return ((uint64_t)ia * r->walk.h->event_count + ib) * 2 + (uint64_t)is_later;
}

static void set_done(const struct racing *r, uint64_t bit)
{
	r->done[bit / 64] |= UINT64_C(1) << (bit % 64);
}

/* Whether C, which meets, is no race whatever orders its threads: both write one value, or each reads its own. */
static int is_harmless(const struct racing *r, struct couple *c, enum tcb_ptx_differing *differing)
{
	struct tcb_ptx_hazards *h = r->walk.h;

	*differing = TCB_PTX_DIFFERENT;
	if (c->a->writes && c->b->writes) {
		*differing = tcb_ptx_writes_differ(h, c->a, c->b, c->pair);
		/* what is only likely is not told of threads that may not exist */
		if (*differing == TCB_PTX_SAME || (*differing == TCB_PTX_LIKELY_DIFFERENT && !h->is_exact))
			return 1;
	}
	return !c->is_later && tcb_ptx_reads_its_own(h, c->a, c->b);
}

static void judge(struct racing *r, struct couple *c, uint64_t bit)
{
	enum tcb_ptx_differing differing;
	enum together together = find_threads(r, c, 1);
	int is_unfollowed = 0;

	if (together == NEVER_TOGETHER) {
		together = find_threads(r, c, 0);
		is_unfollowed = together != NEVER_TOGETHER;
	}
	if (together == NEVER_TOGETHER || is_harmless(r, c, &differing) ||
	    (is_unfollowed && tcb_ptx_signal_orders(r->walk.h, c->a, c->threads_a, c->b, c->threads_b)))
		return;
	set_done(r, bit);
	if (r->told[bit / 128] >> (bit / 2 % 64) & 1)
		return;
	if (r->pairing == TCB_PTX_OTHER_WARPS)
		r->told[bit / 128] |= UINT64_C(1) << (bit / 2 % 64);
	set_done(r, bit ^ 1); /* once for both rounds */
	report_race(r, c, together, differing == TCB_PTX_LIKELY_DIFFERENT, is_unfollowed);
}

static void race_pair(struct racing *r, uint32_t place_a, uint32_t ia, uint32_t place_b, uint32_t ib)
{
	struct tcb_ptx_hazards *h = r->walk.h;
	struct couple c = { .place_a = place_a, .place_b = place_b };
	uint64_t bit;
	int swapped;

	c.skew = tcb_ptx_skew_of(&r->walk, r->walk.states[place_a].via, r->walk.states[place_b].via, &swapped);
	if (c.skew.any == UINT64_MAX)
		return;
	if (swapped || (!c.skew.later && ia > ib)) {
		uint32_t keep = ia;

		ia = ib;
		ib = keep;
		c.place_a = place_b;
		c.place_b = place_a;
	}
	c.a = &h->events[ia];
	c.b = &h->events[ib];
	c.is_later = c.skew.later != 0;
	/* when one thread is behind the loop, none goes round again */
	if (c.is_later && !(tcb_ptx_affine_loops_of(h->affine, c.a->ins->block) & c.skew.later))
		return;
	bit = bit_of(r, ia, ib, c.is_later);
	if (r->done[bit / 64] >> (bit % 64) & 1)
		return;
	if (!(c.a->writes || c.b->writes) || (c.a->is_ordered && c.b->is_ordered) ||
	    (ia == ib && !(c.a->is_sure && !c.is_later)) || !meet(r, &c, NULL, NULL))
		set_done(r, bit);
	else
		judge(r, &c, bit);
}

/* Whether some of those who are at PLACE tell nobody of what they do there. */
static int is_anybody_silent(const struct racing *r, uint32_t place)
{
	const struct tcb_ptx_hazards *h = r->walk.h;
	const uint64_t *there = tcb_ptx_walk_set(&r->walk, place, TCB_PTX_THERE),
		       *tells = h->released[TCB_PTX_BY_BARRIER] + (size_t)r->walk.states[place].segment * h->words;

	for (uint32_t i = 0; i < h->words; i++)
		if (there[i] & ~tells[i])
			return 1;
	return 0;
}

static int is_anybody_told(const struct racing *r, uint32_t place)
{
	const uint64_t *told = tcb_ptx_walk_set(&r->walk, place, TCB_PTX_ACQUIRED);

	for (uint32_t i = 0; i < r->walk.h->words; i++)
		if (told[i])
			return 1;
	return 0;
}

static void race_states(struct racing *r, uint32_t place_a, uint32_t place_b)
{
	const struct tcb_ptx_hazards *h = r->walk.h;
	const struct tcb_ptx_segment *x = &h->segments[r->walk.states[place_a].segment],
				     *y = &h->segments[r->walk.states[place_b].segment];

	if (!x->event_count || !y->event_count)
		return;
	/* walks that stop earlier have seen all else */
	if (r->walk.stops == TCB_PTX_CUT_FULL && (!(is_anybody_told(r, place_a) || is_anybody_told(r, place_b)) ||
						  !(is_anybody_silent(r, place_a) || is_anybody_silent(r, place_b))))
		return;
	for (uint32_t i = x->first_event; i < x->first_event + x->event_count; i++)
		for (uint32_t j = y->first_event; j < y->first_event + y->event_count; j++)
			if (is_candidate(r, &h->events[i]) && is_candidate(r, &h->events[j]))
				race_pair(r, place_a, i, place_b, j);
}

/* --- all --- */

static int begin(struct racing *r, struct tcb_ptx_hazards *h, enum tcb_ptx_cut stops)
{
	size_t bits = (size_t)h->event_count * h->event_count * 2;
	int ok = tcb_ptx_walks_begin(&r->walk, h, stops, 1);

	ok &= tcb_ptx_walks_begin(&r->ways, h, stops, 1);
	r->done = calloc(bits / 64 + 1, sizeof *r->done);
	r->from = calloc(h->segment_count, sizeof(uint64_t *));
	r->marks = calloc(h->segment_count, 1);
	r->stack = malloc(h->segment_count * sizeof *r->stack);
	return ok && r->done && r->from && r->marks && r->stack;
}

/* Races between what is reached from one end of a segment that STOPS threads, or is more, to the next. */
static enum tcb_status find_races(struct tcb_ptx_hazards *h, unsigned space, enum tcb_ptx_pairing pairing,
				  enum tcb_ptx_cut stops, uint64_t *told, const struct tcb_ptx_sink *sink,
				  struct tcb_error *err)
{
	struct racing r = { .pairing = pairing, .space = space, .told = told, .sink = sink };
	int ok = begin(&r, h, stops);

	if (ok) {
		tcb_ptx_find_cyclic(&r.walk);
		r.ways.cyclic = r.walk.cyclic;
	}
	for (uint32_t s = 0; ok && s < h->segment_count && !r.walk.failed; s++) {
		if (!tcb_ptx_walk_starts(&r.walk, s))
			continue;
		tcb_ptx_walk_from(&r.walk, s, NULL);
		for (uint32_t i = 0; i < r.walk.count; i++)
			for (uint32_t j = i; j < r.walk.count; j++)
				race_states(&r, i, j);
	}
	ok = ok && !r.walk.failed && !r.ways.failed;
	free(r.done);
	free(r.from);
	free(r.marks);
	free(r.stack);
	tcb_ptx_walks_end(&r.walk);
	tcb_ptx_walks_end(&r.ways);
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

/* Whether threads are told of others' accesses by something that is no meeting of all. */
static int any_acquire(const struct tcb_ptx_hazards *h)
{
	for (uint32_t s = 0; s < h->segment_count; s++)
		if (h->segments[s].cut == TCB_PTX_CUT_LENIENT && h->segments[s].sync & TCB_PTX_SYNC_ACQUIRE)
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
		TCB_TRY(find_races(h, spaces[i], TCB_PTX_OTHER_WARPS, TCB_PTX_CUT_LENIENT, told, sink, err));
		/* behind what waits for some threads: those that tell nobody of what they did */
		if (any_acquire(h))
			TCB_TRY(find_races(h, spaces[i], TCB_PTX_OTHER_WARPS, TCB_PTX_CUT_FULL, told, sink, err));
		TCB_TRY(find_races(h, spaces[i], TCB_PTX_SAME_WARP, TCB_PTX_CUT_WARP, told, sink, err));
	}
	return TCB_OK;
}
