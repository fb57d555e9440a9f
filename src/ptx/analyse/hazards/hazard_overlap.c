/* SPDX-License-Identifier: MIT
 *
 * In: two accesses, and how the rounds of loops that they belong to relate.
 * Out: whether two threads can touch the same byte.
 *
 * The distance of the two addresses is a number for each pair of threads plus
 * what the symbols leave: nothing when they cancel, else a multiple of some
 * number within some bounds.  The threads' parts are sorted once an access, so
 * that a pair of accesses costs a search for each thread.
 */
#include "ptx/analyse/hazards/hazards_private.h"

enum { SHIFTS_MAX = 64 };

/* What the symbols may add to the distance: multiples of STEP in [LOW, HIGH]; STEP 0: nothing. */
struct slack {
	uint64_t step;
	__int128 low, high;
	int64_t fixed;
	int is_bounded;
	int is_counted; /* only counters of loops are open, so all of it can be 0 */
};

static uint64_t gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static int64_t extend(uint64_t x, unsigned bits)
{
	unsigned up = bits >= 64 ? 0 : 64 - bits;

	return (int64_t)(x << up) >> up;
}

/* Adds FACTOR times something in [LOW, HIGH] (when IS_BOUNDED) that is a multiple of ALIGN. */
static void add_free(struct slack *slack, int64_t factor, uint64_t align, uint64_t max, int both_signs)
{
	uint64_t size = factor < 0 ? 0 - (uint64_t)factor : (uint64_t)factor;
	__int128 reach = (__int128)size * max;

	if (size == 0)
		return;
	slack->step = gcd(slack->step, size <= UINT64_MAX / align ? size * align : size);
	if (max == UINT64_MAX) {
		slack->is_bounded = 0;
		return;
	}
	if (both_signs || factor > 0)
		slack->high += reach;
	if (both_signs || factor < 0)
		slack->low -= reach;
}

static const struct tcb_ptx_term *term_of(const struct tcb_ptx_value *v, uint32_t symbol)
{
	for (uint32_t i = 0; i < v->term_count; i++)
		if (v->terms[i].symbol == symbol)
			return &v->terms[i];
	return NULL;
}

/* What SYMBOL, with factor FA in the first and FB in the second, adds to (second - first). */
static int add_symbol(const struct tcb_ptx_affine *affine, uint32_t symbol, const struct tcb_ptx_term *a,
		      const struct tcb_ptx_term *b, unsigned bits_a, unsigned bits_b, struct tcb_ptx_skew skew,
		      struct slack *slack)
{
	const struct tcb_ptx_symbolic *s = tcb_ptx_affine_symbol(affine, symbol);
	int64_t fa = a ? extend(a->factor, bits_a) : 0, fb = b ? extend(b->factor, bits_b) : 0;

	if ((a && a->lanes) || (b && b->lanes))
		return 0;
	if (!(s->loops & (skew.any | skew.later))) {
		add_free(slack, (int64_t)((uint64_t)fb - (uint64_t)fa), s->align, s->max, 0);
		slack->is_counted &= fa == fb || s->kind == TCB_PTX_Y_COUNTER;
		return 1;
	}
	if (s->kind == TCB_PTX_Y_COUNTER && !(s->loops & skew.any)) { /* fb (x + 1) - fa x */
		slack->fixed += fb;
		add_free(slack, (int64_t)((uint64_t)fb - (uint64_t)fa), s->align, s->max, 0);
		return 1;
	}
	slack->is_counted &= s->kind == TCB_PTX_Y_COUNTER;
	if (fa == fb) {
		add_free(slack, fb, s->align, s->max, 1);
	} else {
		add_free(slack, fb, s->align, s->max, 0);
		add_free(slack, (int64_t)(0 - (uint64_t)fa), s->align, s->max, 0);
	}
	return 1;
}

/* 0 when nothing can be said. */
static int find_slack(const struct tcb_ptx_affine *affine, const struct tcb_ptx_value *a, const struct tcb_ptx_value *b,
		      struct tcb_ptx_skew skew, struct slack *slack)
{
	*slack = (struct slack){ .is_bounded = 1, .is_counted = 1 };
	for (uint32_t i = 0; i < a->term_count; i++)
		if (!add_symbol(affine, a->terms[i].symbol, &a->terms[i], term_of(b, a->terms[i].symbol), a->bits,
				b->bits, skew, slack))
			return 0;
	for (uint32_t i = 0; i < b->term_count; i++)
		if (!term_of(a, b->terms[i].symbol) &&
		    !add_symbol(affine, b->terms[i].symbol, NULL, &b->terms[i], a->bits, b->bits, skew, slack))
			return 0;
	/* far terms wrap around modulo 2^bits, where only powers of two divide */
	if (!slack->is_bounded || slack->high - slack->low > INT32_MAX) {
		slack->is_bounded = 0;
		slack->step &= 0 - slack->step;
	}
	return 1;
}

/* The first of STARTS that is not before AT. */
static uint32_t first_from(const struct tcb_ptx_start *starts, uint32_t count, int64_t at)
{
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (starts[middle].at < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int is_among(const uint64_t *threads, uint32_t t)
{
	return !threads || (threads[t / 64] >> (t % 64) & 1);
}

static int is_wanted(uint32_t t, uint32_t u, enum tcb_ptx_pairing pairing, struct tcb_ptx_threads only)
{
	if (t == u || !is_among(only.a, t) || !is_among(only.b, u))
		return 0;
	return pairing == TCB_PTX_ANY_THREADS ||
	       (t / TCB_PTX_WARP == u / TCB_PTX_WARP) == (pairing == TCB_PTX_SAME_WARP);
}

/* Whether some thread's B, moved by SHIFT, touches what another's A does. */
static int meet_at(struct tcb_ptx_hazards *h, const struct tcb_ptx_event *a, const struct tcb_ptx_event *b,
		   int64_t shift, enum tcb_ptx_pairing pairing, struct tcb_ptx_threads only, uint32_t pair[2])
{
	for (uint32_t i = 0; i < b->start_count; i++) {
		int64_t from = b->starts[i].at + shift;
		uint32_t j = first_from(a->starts, a->start_count, from - (int64_t)a->bytes + 1);

		for (; j < a->start_count && a->starts[j].at < from + (int64_t)b->bytes; j++) {
			if (h->budget)
				h->budget--;
			if (is_wanted(a->starts[j].thread, b->starts[i].thread, pairing, only)) {
				pair[0] = a->starts[j].thread;
				pair[1] = b->starts[i].thread;
				return 1;
			}
		}
	}
	h->budget -= h->budget > b->start_count ? b->start_count : h->budget;
	return 0;
}

/* The same when any multiple of STEP may be added. */
static int meet_modulo(struct tcb_ptx_hazards *h, const struct tcb_ptx_event *a, const struct tcb_ptx_event *b,
		       int64_t fixed, uint64_t step, enum tcb_ptx_pairing pairing, struct tcb_ptx_threads only)
{
	if (step < a->bytes + b->bytes)
		return 1;
	for (uint32_t i = 0; i < b->start_count; i++)
		for (uint32_t j = 0; j < a->start_count; j++) {
			/* how far B begins behind A, in [0, step) */
			int64_t apart = (b->starts[i].at + fixed - a->starts[j].at) % (int64_t)step;

			if (apart < 0)
				apart += (int64_t)step;
			if (h->budget == 0)
				return 1;
			h->budget--;
			if (((uint64_t)apart < a->bytes || step - (uint64_t)apart < b->bytes) &&
			    is_wanted(a->starts[j].thread, b->starts[i].thread, pairing, only))
				return 1;
		}
	return 0;
}

/* The same when the sum of the terms lies in [LOW, HIGH]: a look at the outermost threads only. */
static int meet_within(const struct tcb_ptx_event *a, const struct tcb_ptx_event *b, const struct slack *slack)
{
	__int128 nearest = (__int128)b->starts[0].at - a->starts[a->start_count - 1].at + slack->fixed + slack->low;
	__int128 farthest = (__int128)b->starts[b->start_count - 1].at - a->starts[0].at + slack->fixed + slack->high;

	return nearest < (__int128)a->bytes && farthest > -(__int128)b->bytes;
}

enum tcb_ptx_meeting tcb_ptx_events_meet(struct tcb_ptx_hazards *h, const struct tcb_ptx_event *a,
					 const struct tcb_ptx_event *b, struct tcb_ptx_skew skew,
					 enum tcb_ptx_pairing pairing, struct tcb_ptx_threads only, uint32_t pair[2])
{
	const struct tcb_ptx_symbol *va, *vb;
	uint32_t sa = 0, sb = 0;
	struct slack slack;

	if (!(a->spaces & b->spaces))
		return TCB_PTX_NEVER_MEET;
	if (a->is_opaque || b->is_opaque || !a->is_known || !b->is_known)
		return TCB_PTX_MAY_MEET;
	va = tcb_ptx_affine_variable(h->affine, &a->address, &sa);
	vb = tcb_ptx_affine_variable(h->affine, &b->address, &sb);
	if (va && vb && sa != sb)
		return TCB_PTX_NEVER_MEET; /* different variables */
	if (a->start_count == 0 || b->start_count == 0)
		return TCB_PTX_NEVER_MEET;
	if (h->budget == 0 || !find_slack(h->affine, &a->address, &b->address, skew, &slack))
		return TCB_PTX_MAY_MEET;
	if (slack.step == 0 || slack.is_counted) {
		if (meet_at(h, a, b, slack.fixed, pairing, only, pair))
			return TCB_PTX_MEET;
		if (slack.step == 0)
			return TCB_PTX_NEVER_MEET;
	}
	if (slack.is_bounded) {
		__int128 step = (__int128)slack.step, count = (slack.high - slack.low) / step + 1;

		if (!meet_within(a, b, &slack))
			return TCB_PTX_NEVER_MEET;
		if (count <= SHIFTS_MAX) { /* 0 is among them */
			for (__int128 s = -((-slack.low) / step) * step; s <= slack.high; s += step)
				if (meet_at(h, a, b, slack.fixed + (int64_t)s, pairing, only, pair))
					return TCB_PTX_MAY_MEET;
			return TCB_PTX_NEVER_MEET;
		}
	}
	return meet_modulo(h, a, b, slack.fixed, slack.step, pairing, only) ? TCB_PTX_MAY_MEET : TCB_PTX_NEVER_MEET;
}
