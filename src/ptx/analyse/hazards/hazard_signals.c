/* SPDX-License-Identifier: MIT
 *
 * In: two accesses, and the words of memory by which threads tell each other
 * something.  Out: whether one of these words is a flag or a lock that orders the
 * two.
 *
 * A thread waits for a word where it reads it, or exchanges it, and a branch on the
 * value leaves only those go on who saw the wanted one.
 *   - Flag: one thread writes the wanted value, once, by a release; nobody else
 *     writes the word but before a meeting of all.  What that thread did before is
 *     done when others go on; its warp's as well, if bar.warp.sync came between.
 *   - Lock: compare-and-swap takes it from one number to another, only who has taken
 *     it writes the first number back, by a release.  Accesses of those who have it
 *     exclude each other.
 * A fence behind the read, or before the write, does for acquire and release.
 * Whatever is not of this shape orders nothing here.
 */
#include "ptx/analyse/hazards/hazards_private.h"

#include "ptx/ir/opcodes.h"

/* A word that is waited for. */
struct wait {
	const struct tcb_ptx_event *event;   /* reads it, or exchanges it */
	const struct tcb_ptx_block *through; /* entered only by those who saw what they wanted */
	int wants_equal;                     /* to NUMBER, else anything but NUMBER */
	uint64_t number;
	int is_lock; /* compare-and-swap from NUMBER to TAKEN */
	uint64_t taken;
};

static int comes_before(const struct tcb_ptx_hazards *h, const struct tcb_ptx_ins *x, const struct tcb_ptx_ins *y)
{
	if (x->block == y->block)
		return x->number < y->number;
	return tcb_ptx_dominates(tcb_ptx_affine_dominators(h->affine), x->block, y->block);
}

static int is_in(const struct tcb_ptx_hazards *h, const struct tcb_ptx_block *top, const struct tcb_ptx_block *block)
{
	return tcb_ptx_dominates(tcb_ptx_affine_dominators(h->affine), top, block);
}

static int number_of(const struct tcb_ptx_hazards *h, const struct tcb_ptx_ins *ins,
		     const struct tcb_ptx_operand *operand, uint64_t *out)
{
	struct tcb_ptx_value v = tcb_ptx_affine_operand(h->affine, ins, operand);

	*out = tcb_ptx_value_lane(&v, 0) & UINT32_MAX;
	return v.known && !v.assumes && !v.term_count && !v.lanes;
}

static int is_same_word(const struct tcb_ptx_event *x, const struct tcb_ptx_event *y)
{
	return x->is_known && y->is_known && x->bytes == y->bytes && tcb_ptx_value_same(&x->address, &y->address) &&
	       tcb_ptx_value_is_uniform(&x->address);
}

/* Whether some way from the segment of X comes to that of Y; STOPPED: without a meeting of all. */
static int comes_to(struct tcb_ptx_hazards *h, const struct tcb_ptx_ins *x, const struct tcb_ptx_ins *y, int stopped)
{
	const struct tcb_ptx_block *block = x->block;
	uint8_t *seen = tcb_arena_array(&h->arena, h->segment_count, 1);
	uint32_t *stack = tcb_arena_array(&h->arena, h->segment_count, sizeof *stack), count = 0;
	uint32_t from = h->first_segment[block->number], to = h->first_segment[y->block->number];

	if (!seen || !stack)
		return 1;
	while (h->segments[from].end && h->segments[from].end->number < x->number)
		from++;
	while (h->segments[to].end && h->segments[to].end->number < y->number)
		to++;
	if (from == to && x->number < y->number)
		return 1;
	for (stack[count++] = from; count;) {
		const struct tcb_ptx_segment *segment = &h->segments[stack[--count]];
		uint32_t next = (uint32_t)(segment - h->segments) + 1;

		if (segment->end && segment->cut == TCB_PTX_CUT_FULL && stopped)
			continue;
		for (uint32_t i = 0; i < (segment->end ? 1 : segment->block->succ_count); i++) {
			uint32_t at = segment->end ? next : h->first_segment[segment->block->succ[i]->number];

			if (at == to)
				return 1;
			if (!seen[at]) {
				seen[at] = 1;
				stack[count++] = at;
			}
		}
	}
	return 0;
}

/* --- what is waited for --- */

/* The branch behind the read of E that looks at what it brought. */
static int find_wait(const struct tcb_ptx_hazards *h, const struct tcb_ptx_event *e, struct wait *out)
{
	const struct tcb_ptx_block *block = e->ins->block, *through;
	const struct tcb_ptx_ins *end = tcb_ptx_terminator(block), *setp;
	enum tcb_ptx_word how;
	int is_taken_equal;

	*out = (struct wait){ .event = e };
	if (e->ins->operands[0].kind != TCB_PTX_O_REG || e->ins->guard != TCB_PTX_NO_REG || !end ||
	    end->op != TCB_PTX_OP_BRA || end->guard == TCB_PTX_NO_REG || !block->next)
		return 0;
	setp = h->function->regs[end->guard].def;
	if (!setp || setp->op != TCB_PTX_OP_SETP || setp->block != block || setp->guard != TCB_PTX_NO_REG ||
	    setp->number < e->ins->number || tcb_ptx_mod(setp, TCB_PTX_SLOT_BOOL) ||
	    setp->operands[1].kind != TCB_PTX_O_REG || setp->operands[1].reg != e->ins->operands[0].reg ||
	    h->function->regs[setp->operands[1].reg].def != e->ins ||
	    !number_of(h, setp, &setp->operands[2], &out->number))
		return 0;
	how = tcb_ptx_mod(setp, TCB_PTX_SLOT_COMPARE);
	if (how != TCB_PTX_EQ && how != TCB_PTX_NE)
		return 0;
	is_taken_equal = (how == TCB_PTX_EQ) != end->guard_negated;
	/* who does not go on comes back, so the other way is the one that is entered by nobody else */
	for (int taken = 0; taken < 2; taken++) {
		through = taken ? end->operands[0].block : block->next;
		out->wants_equal = taken ? is_taken_equal : !is_taken_equal;
		if (through->pred_count == 1 && through != block && !is_in(h, through, block) &&
		    (taken ? block->next : end->operands[0].block) == block)
			out->through = through;
		if (out->through)
			return 1;
	}
	return 0;
}

static int is_lock(const struct tcb_ptx_hazards *h, struct wait *wait)
{
	const struct tcb_ptx_ins *ins = wait->event->ins;
	uint64_t from;

	wait->is_lock = ins->op == TCB_PTX_OP_ATOM && tcb_ptx_mod(ins, TCB_PTX_SLOT_ATOMIC) == TCB_PTX_CAS &&
			wait->wants_equal && number_of(h, ins, &ins->operands[2], &from) && from == wait->number &&
			number_of(h, ins, &ins->operands[3], &wait->taken) && wait->taken != wait->number;
	return wait->is_lock;
}

/* Whether a fence comes behind X on every way and before Y. */
static int fence_between(const struct tcb_ptx_hazards *h, const struct tcb_ptx_block *behind,
			 const struct tcb_ptx_ins *x, const struct tcb_ptx_ins *y)
{
	for (uint32_t s = 0; s < h->segment_count; s++) {
		const struct tcb_ptx_segment *segment = &h->segments[s];

		if (segment->sync & TCB_PTX_SYNC_FENCE && segment->end->guard == TCB_PTX_NO_REG &&
		    (behind ? is_in(h, behind, segment->block) : comes_before(h, x, segment->end)) &&
		    comes_before(h, segment->end, y))
			return 1;
	}
	return 0;
}

/* Whether who does E has gone through WAIT and knows what it was told. */
static int is_behind(const struct tcb_ptx_hazards *h, const struct wait *wait, const struct tcb_ptx_event *e)
{
	unsigned sync = tcb_ptx_sync_of(wait->event->ins);

	return is_in(h, wait->through, e->ins->block) &&
	       (sync & TCB_PTX_SYNC_ACQUIRE ||
		(sync & TCB_PTX_SYNC_STRONG_READ && fence_between(h, wait->through, NULL, e->ins)));
}

/* Whether RELEASE is one for what comes before it from X on. */
static int releases(const struct tcb_ptx_hazards *h, const struct tcb_ptx_event *release, const struct tcb_ptx_ins *x)
{
	unsigned sync = tcb_ptx_sync_of(release->ins);

	return sync & TCB_PTX_SYNC_RELEASE ||
	       (sync & TCB_PTX_SYNC_STRONG_WRITE && fence_between(h, NULL, x, release->ins));
}

/* The number that E writes. */
static int written(const struct tcb_ptx_hazards *h, const struct tcb_ptx_event *e, uint64_t *out)
{
	const struct tcb_ptx_ins *ins = e->ins;

	if (ins->op == TCB_PTX_OP_ST)
		return number_of(h, ins, &ins->operands[1], out);
	return ins->op == TCB_PTX_OP_ATOM && tcb_ptx_mod(ins, TCB_PTX_SLOT_ATOMIC) == TCB_PTX_EXCH &&
	       number_of(h, ins, &ins->operands[2], out);
}

/* Whether E writes WAIT's word before a meeting of all that comes before anybody waits. */
static int is_initial(struct tcb_ptx_hazards *h, const struct wait *wait, const struct tcb_ptx_event *e)
{
	return comes_to(h, e->ins, wait->event->ins, 0) && !comes_to(h, e->ins, wait->event->ins, 1) &&
	       !comes_to(h, wait->event->ins, e->ins, 0);
}

/* --- locks --- */

/* Whether who does E holds the lock of WAIT. */
static int holds(struct tcb_ptx_hazards *h, const struct wait *wait, const struct tcb_ptx_event *e)
{
	if (!is_behind(h, wait, e))
		return 0;
	for (uint32_t i = 0; i < h->event_count; i++) {
		const struct tcb_ptx_event *back = &h->events[i];

		if (back->writes && back->ins != wait->event->ins && is_same_word(back, wait->event) &&
		    is_in(h, wait->through, back->ins->block) &&
		    (comes_to(h, back->ins, e->ins, 0) && !comes_before(h, e->ins, back->ins)))
			return 0;
	}
	return 1;
}

/* Whether the word of WAIT is written as a lock is: taken here alone, given back by those who have it, and else written
 * before. */
static int is_kept(struct tcb_ptx_hazards *h, const struct wait *wait, const struct tcb_ptx_event *e)
{
	uint64_t number;

	for (uint32_t i = 0; i < h->event_count; i++) {
		const struct tcb_ptx_event *w = &h->events[i];

		if (!w->writes || w == wait->event || !is_same_word(w, wait->event))
			continue;
		if (!written(h, w, &number) || number != wait->number)
			return 0;
		if (!is_initial(h, wait, w) && !(is_in(h, wait->through, w->ins->block) && releases(h, w, e->ins)))
			return 0;
	}
	return 1;
}

static int lock_excludes(struct tcb_ptx_hazards *h, const struct wait *wait, const struct tcb_ptx_event *a,
			 const struct tcb_ptx_event *b)
{
	return holds(h, wait, a) && holds(h, wait, b) && is_kept(h, wait, a) && is_kept(h, wait, b);
}

/* --- flags --- */

/* The only write of WAIT's word that is not initial; NULL: none, several, or another than what is waited for. */
static const struct tcb_ptx_event *writer_of(struct tcb_ptx_hazards *h, const struct wait *wait)
{
	const struct tcb_ptx_event *found = NULL;
	uint64_t number;

	for (uint32_t i = 0; i < h->event_count; i++) {
		const struct tcb_ptx_event *w = &h->events[i];

		if (!w->writes || !is_same_word(w, wait->event))
			continue;
		if (!written(h, w, &number))
			return NULL;
		if (is_initial(h, wait, w)) {
			if ((number == wait->number) == wait->wants_equal)
				return NULL; /* it was there from the beginning */
			continue;
		}
		if (found || (number == wait->number) != wait->wants_equal || w->ins->block->loop)
			return NULL;
		found = w;
	}
	return found;
}

/* The one thread that does E; UINT32_MAX: none, or more. */
static uint32_t only_thread(const struct tcb_ptx_event *e)
{
	return e->start_count == 1 ? e->starts[0].thread : UINT32_MAX;
}

/* Whether A of THREAD comes before RELEASE, which WRITER does, by what orders threads of one warp. */
static int is_released(struct tcb_ptx_hazards *h, const struct tcb_ptx_event *a, uint32_t thread,
		       const struct tcb_ptx_event *release, uint32_t writer)
{
	if (!comes_before(h, a->ins, release->ins) || comes_to(h, release->ins, a->ins, 0) ||
	    !releases(h, release, a->ins))
		return 0;
	if (thread == writer)
		return 1;
	for (uint32_t s = 0; s < h->segment_count && thread / TCB_PTX_WARP == writer / TCB_PTX_WARP; s++) {
		const struct tcb_ptx_segment *segment = &h->segments[s];
		uint64_t mask;

		if (segment->sync & TCB_PTX_SYNC_LANES && segment->end->guard == TCB_PTX_NO_REG &&
		    number_of(h, segment->end, &segment->end->operands[0], &mask) && mask == UINT32_MAX &&
		    comes_before(h, a->ins, segment->end) && comes_before(h, segment->end, release->ins))
			return 1;
	}
	return 0;
}

/* Whether all of A that THREADS do is done when anybody does B behind WAIT. */
static int flag_orders(struct tcb_ptx_hazards *h, const struct wait *wait, const struct tcb_ptx_event *a,
		       const uint64_t *threads, const struct tcb_ptx_event *b)
{
	const struct tcb_ptx_event *release = is_behind(h, wait, b) ? writer_of(h, wait) : NULL;
	uint32_t writer = release ? only_thread(release) : UINT32_MAX;

	if (writer == UINT32_MAX)
		return 0;
	for (uint32_t i = 0; i < a->start_count; i++) {
		uint32_t t = a->starts[i].thread;

		if (threads[t / 64] >> (t % 64) & 1 && !is_released(h, a, t, release, writer))
			return 0;
	}
	return 1;
}

int tcb_ptx_signal_orders(struct tcb_ptx_hazards *h, const struct tcb_ptx_event *a, const uint64_t *threads_a,
			  const struct tcb_ptx_event *b, const uint64_t *threads_b)
{
	for (uint32_t i = 0; i < h->event_count; i++) {
		const struct tcb_ptx_event *e = &h->events[i];
		struct wait wait;

		/* one word for all */
		if (!e->reads || !e->is_ordered || !is_same_word(e, e) || !find_wait(h, e, &wait))
			continue;
		if (is_lock(h, &wait) ? lock_excludes(h, &wait, a, b)
				      : !e->writes && (flag_orders(h, &wait, a, threads_a, b) ||
						       flag_orders(h, &wait, b, threads_b, a)))
			return 1;
	}
	return 0;
}
