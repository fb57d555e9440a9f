/* SPDX-License-Identifier: MIT
 *
 * In: the accesses and barriers of a kernel.  Out: their token graph, and the
 * proof by it that barriers can go.
 *
 * Each block starts with two tokens: BASE, which everything in it takes, and
 * PENDING, which stands for all that happened since the last barrier.  A barrier
 * takes both and what the block did since, and gives the new BASE.  Where ways
 * meet, tokens are joined.  Edges back to a loop's header are left out.
 */
#include "hazard_tokens.h"

#include <stdlib.h>

#include "ptx/analyse/hazards/hazards_private.h"
#include "ptx/ir/opcodes.h"

struct deriving {
	struct tcb_ptx_hazards *h;
	struct tcb_ptx_tokens *tokens;
	struct tcb_ptx_ins *const *removed;
	uint32_t removed_count;
	uint32_t *ops;            /* by event */
	uint32_t *base, *pending; /* at the end of each block */
};

static int is_removed(const struct deriving *d, const struct tcb_ptx_ins *ins)
{
	for (uint32_t i = 0; i < d->removed_count; i++)
		if (d->removed[i] == ins)
			return 1;
	return 0;
}

/* What comes from the blocks before BLOCK, back edges left out, of the tokens FROM. */
static uint32_t meet(struct deriving *d, const struct tcb_ptx_block *block, const uint32_t *from)
{
	uint32_t join = TCB_PTX_NO_TOKEN;

	for (uint32_t i = 0; i < block->pred_count; i++) {
		const struct tcb_ptx_block *pred = block->pred[i];

		if (pred->order == UINT32_MAX || pred->order >= block->order)
			continue;
		if (join == TCB_PTX_NO_TOKEN)
			join = tcb_ptx_token_join(d->tokens, NULL, 0);
		tcb_ptx_token_take(d->tokens, join, from[pred->number]);
	}
	return join == TCB_PTX_NO_TOKEN ? tcb_ptx_token_make(d->tokens) : join;
}

static void derive_block(struct deriving *d, const struct tcb_ptx_block *block)
{
	struct tcb_ptx_hazards *h = d->h;
	uint32_t base = meet(d, block, d->base), pending = meet(d, block, d->pending);
	const struct tcb_ptx_segment *segment = &h->segments[h->first_segment[block->number]];

	for (;; segment++) {
		uint32_t last = segment->first_event + segment->event_count;

		for (uint32_t i = segment->first_event; i < last; i++) {
			const struct tcb_ptx_event *event = &h->events[i];
			struct tcb_ptx_token_what what = { .bytes = event->bytes, .ins = event->ins };

			what.kind = event->is_ordered || event->is_opaque ? TCB_PTX_TOKEN_ATOMIC
				    : event->writes                       ? TCB_PTX_TOKEN_STORE
									  : TCB_PTX_TOKEN_LOAD;
			d->ops[i] = tcb_ptx_token_op(d->tokens, &what, base);
			pending = tcb_ptx_token_join(d->tokens, (uint32_t[]){ pending, d->ops[i] }, 2);
		}
		if (!segment->end)
			break;
		if (segment->cut == TCB_PTX_CUT_FULL && !is_removed(d, segment->end)) {
			struct tcb_ptx_token_what what = { .kind = TCB_PTX_TOKEN_BARRIER, .ins = segment->end };

			base = tcb_ptx_token_op(d->tokens, &what,
						tcb_ptx_token_join(d->tokens, (uint32_t[]){ base, pending }, 2));
			pending = base;
		}
	}
	d->base[block->number] = base;
	d->pending[block->number] = pending;
}

/* The shared and global accesses of a kernel as a graph: its barriers (those that all threads of the block reach
 * together, without the REMOVED ones) take all tokens before them and give the one that everything behind them takes.
 * One round of each loop.  OP of access I of the hazards is in *OPS (count in *COUNT, lent). */
static enum tcb_status hazard_tokens(struct tcb_ptx_hazards *h, struct tcb_ptx_ins *const *removed,
				     uint32_t removed_count, struct tcb_ptx_tokens **out, const uint32_t **ops,
				     uint32_t *count, struct tcb_error *err)
{
	struct deriving d = { .h = h, .removed = removed, .removed_count = removed_count };
	const struct tcb_ptx_function *f = h->function;
	enum tcb_status status;

	*out = NULL;
	*ops = NULL;
	*count = 0;
	d.ops = tcb_arena_array(&h->arena, h->event_count, sizeof *d.ops);
	d.base = tcb_arena_array(&h->arena, f->block_count, sizeof *d.base);
	d.pending = tcb_arena_array(&h->arena, f->block_count, sizeof *d.pending);
	if (!d.ops || !d.base || !d.pending)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the tokens of '%s'", f->symbol->name);
	TCB_TRY(tcb_ptx_tokens_create(&d.tokens, err));
	for (uint32_t i = 0; i < f->reachable_count && !h->is_hopeless; i++)
		derive_block(&d, f->order[i]);
	status = tcb_ptx_tokens_check(d.tokens, NULL, err);
	if (status != TCB_OK) {
		tcb_ptx_tokens_destroy(d.tokens);
		return status;
	}
	*out = d.tokens;
	*ops = d.ops;
	*count = h->is_hopeless ? 0 : h->event_count;
	return TCB_OK;
}

static int has_order(struct tcb_ptx_tokens *t, uint32_t a, uint32_t b)
{
	return tcb_ptx_token_before(t, a, b) || tcb_ptx_token_before(t, b, a);
}

/* Whether the order of A and B can matter. */
static int may_meet(struct tcb_ptx_hazards *h, const struct tcb_ptx_event *a, const struct tcb_ptx_event *b)
{
	const struct tcb_ptx_threads all = { NULL, NULL };
	struct tcb_ptx_skew open = { 0, UINT64_MAX };
	uint32_t pair[2];

	if (a->is_opaque || b->is_opaque || a->is_ordered || b->is_ordered)
		return 1;
	return (a->writes || b->writes) &&
	       tcb_ptx_events_meet(h, a, b, open, TCB_PTX_ANY_THREADS, all, pair) != TCB_PTX_NEVER_MEET;
}

enum tcb_status prove_removal(struct tcb_ptx_hazards *h, struct tcb_ptx_ins *const *removed, uint32_t removed_count,
			      struct tcb_error *err)
{
	struct tcb_ptx_tokens *with = NULL, *without = NULL;
	const uint32_t *ops, *ops_without;
	uint32_t count;
	enum tcb_status status = hazard_tokens(h, NULL, 0, &with, &ops, &count, err);

	if (status == TCB_OK)
		status = hazard_tokens(h, removed, removed_count, &without, &ops_without, &count, err);
	for (uint32_t a = 0; a < count && status == TCB_OK; a++)
		for (uint32_t b = a + 1; b < count && status == TCB_OK; b++) {
			const struct tcb_ptx_event *x = &h->events[a], *y = &h->events[b];

			if (has_order(with, ops[a], ops[b]) && !has_order(without, ops_without[a], ops_without[b]) &&
			    may_meet(h, x, y))
				status = tcb_fail(err, TCB_E_FAILED,
						  "the accesses of lines %u and %u would lose their order",
						  x->ins->line, y->ins->line);
		}
	tcb_ptx_tokens_destroy(with);
	tcb_ptx_tokens_destroy(without);
	return status;
}
