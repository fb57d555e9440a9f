/* SPDX-License-Identifier: MIT
 *
 * In: a function.  Out: its accesses of shared and global memory with their
 * addresses thread by thread, cut into segments by what orders threads.
 *
 * Read-only data (ld.global.nc of what the function stores nothing to), parameters,
 * constants and local memory cannot conflict and are left out.  Everything whose effect on memory is not that of
 * a plain access is opaque: it may touch and order anything.
 */
#include "ptx/analyse/hazards/hazards_private.h"

#include <stdlib.h>

#include "ptx/ir/opcodes.h"

enum { EVENTS_MAX = 1 << 16, STARTS_BYTES_MAX = 1 << 27, STORED_MAX = 64 };

static struct tcb_ptx_event *add_event(struct tcb_ptx_hazards *h, struct tcb_ptx_ins *ins)
{
	if (h->event_count == h->event_capacity) {
		uint32_t capacity = h->event_capacity ? h->event_capacity * 2 : 64;
		struct tcb_ptx_event *grown =
			tcb_arena_regrow(&h->arena, h->events, h->event_count, capacity, sizeof *grown);

		if (!grown)
			return NULL;
		h->events = grown;
		h->event_capacity = capacity;
	}
	h->events[h->event_count] = (struct tcb_ptx_event){ .ins = ins };
	return &h->events[h->event_count++];
}

static int add_segment(struct tcb_ptx_hazards *h, struct tcb_ptx_block *block)
{
	if (h->segment_count == h->segment_capacity) {
		uint32_t capacity = h->segment_capacity ? h->segment_capacity * 2 : 64;
		struct tcb_ptx_segment *grown =
			tcb_arena_regrow(&h->arena, h->segments, h->segment_count, capacity, sizeof *grown);

		if (!grown)
			return 0;
		h->segments = grown;
		h->segment_capacity = capacity;
	}
	h->segments[h->segment_count++] = (struct tcb_ptx_segment){ .block = block, .first_event = h->event_count };
	return 1;
}

/* --- what orders --- */

static enum tcb_ptx_cut cut_of_barrier(const struct tcb_ptx_hazards *h, const struct tcb_ptx_ins *ins)
{
	const struct tcb_ptx_operand *count = ins->operand_count > 1 ? &ins->operands[1] : NULL;

	if (ins->guard != TCB_PTX_NO_REG || ins->operands[0].kind != TCB_PTX_O_INT ||
	    tcb_ptx_affine_presence(h->affine, ins->block) != TCB_PTX_ALL_ALIKE)
		return TCB_PTX_CUT_LENIENT;
	if (count && !(count->kind == TCB_PTX_O_INT && tcb_ptx_affine_exact(h->affine) &&
		       count->bits == tcb_ptx_affine_threads(h->affine)))
		return TCB_PTX_CUT_LENIENT;
	return TCB_PTX_CUT_FULL;
}

static enum tcb_ptx_cut cut_of(const struct tcb_ptx_hazards *h, const struct tcb_ptx_ins *ins)
{
	unsigned sync = tcb_ptx_sync_of(ins);

	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_BAR_SYNC:
	case TCB_PTX_OP_BARRIER_SYNC:
		return cut_of_barrier(h, ins);
	case TCB_PTX_OP_BAR_WARP_SYNC:
		return TCB_PTX_CUT_WARP;
	case TCB_PTX_OP_CALL:
	case TCB_PTX_OP_MBARRIER_TEST_WAIT:
	case TCB_PTX_OP_MBARRIER_TRY_WAIT:
	case TCB_PTX_OP_GRIDDEPCONTROL:
		return TCB_PTX_CUT_LENIENT;
	case TCB_PTX_OP_OPAQUE:
		return ins->opaque->orders ? TCB_PTX_CUT_LENIENT : TCB_PTX_CUT_WARP;
	default:
		break;
	}
	if (tcb_ptx_has(ins, TCB_PTX_F_BARRIER))
		return TCB_PTX_CUT_LENIENT;
	if (tcb_ptx_has(ins, TCB_PTX_F_CONVERGENT))
		return TCB_PTX_CUT_WARP;
	/* strong accesses alone matter only to fences */
	if (!h->has_fences)
		sync &= ~(unsigned)(TCB_PTX_SYNC_STRONG_READ | TCB_PTX_SYNC_STRONG_WRITE);
	return sync ? TCB_PTX_CUT_SIGNAL : TCB_PTX_CUT_NONE;
}

/* The threads that may run INS. */
static const uint64_t *who_runs(struct tcb_ptx_hazards *h, struct tcb_ptx_ins *ins)
{
	const uint64_t *active = tcb_ptx_affine_active(h->affine, ins->block);
	uint64_t *who;

	if (ins->guard == TCB_PTX_NO_REG)
		return active;
	who = tcb_arena_array(&h->arena, h->words, sizeof *who);
	if (!who)
		return NULL;
	tcb_ptx_affine_may_run(h->affine, ins, 1, who);
	for (uint32_t i = 0; i < h->words; i++)
		who[i] &= active[i];
	return who;
}

/* --- what touches memory --- */

static int is_plain(const struct tcb_ptx_ins *ins)
{
	return tcb_ptx_is_access(ins) || ins->op == TCB_PTX_OP_CP_ASYNC;
}

static int by_address(const void *x, const void *y)
{
	const struct tcb_ptx_start *a = x, *b = y;

	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static int fill_starts(struct tcb_ptx_hazards *h, struct tcb_ptx_event *event)
{
	const uint64_t *who = who_runs(h, event->ins);
	struct tcb_ptx_value guard = tcb_ptx_affine_guard(h->affine, event->ins);
	uint32_t threads = tcb_ptx_affine_threads(h->affine), used = tcb_ptx_address_lanes(event->ins);
	int has_lanes = guard.known && guard.term_count == 0;

	event->starts = tcb_arena_array(&h->arena, threads, sizeof *event->starts);
	if (!event->starts || !who)
		return 0;
	for (uint32_t t = 0; t < threads; t++) {
		uint64_t at = tcb_ptx_value_lane(&event->address, t);
		unsigned up = 64u - event->address.bits;

		if (!(who[t / 64] >> (t % 64) & 1) || t % TCB_PTX_WARP >= used)
			continue;
		event->starts[event->start_count++] = (struct tcb_ptx_start){ (int64_t)(at << up) >> up, t };
	}
	event->is_sure = tcb_ptx_affine_presence(h->affine, event->ins->block) != TCB_PTX_AT_MOST &&
			 (has_lanes || tcb_ptx_value_is_uniform(&guard));
	for (uint32_t i = 1; i < event->start_count; i++)
		if (by_address(&event->starts[i - 1], &event->starts[i]) > 0) {
			qsort(event->starts, event->start_count, sizeof *event->starts, by_address);
			break;
		}
	return 1;
}

/* What ADDRESS is based on, if that is one parameter or variable; else NULL. */
static const struct tcb_ptx_symbol *base_of(const struct tcb_ptx_hazards *h, const struct tcb_ptx_value *address)
{
	const struct tcb_ptx_symbol *found = NULL;

	for (uint32_t i = 0; address->known && i < address->term_count; i++) {
		const struct tcb_ptx_symbolic *s = tcb_ptx_affine_symbol(h->affine, address->terms[i].symbol);

		if ((s->kind != TCB_PTX_Y_PARAM && s->kind != TCB_PTX_Y_ADDRESS) || address->terms[i].factor != 1)
			continue;
		if (found)
			return NULL;
		found = s->variable;
	}
	return found;
}

/* Whether the function stores to what ADDRESS is based on. */
static int is_stored(const struct tcb_ptx_hazards *h, const struct tcb_ptx_value *address)
{
	const struct tcb_ptx_symbol *base = base_of(h, address);

	for (uint32_t i = 0; base && i < h->stored_count; i++)
		if (h->stored[i] == base)
			return 1;
	return 0;
}

/* Notes what INS stores to. */
static void note_stored(struct tcb_ptx_hazards *h, const struct tcb_ptx_ins *ins)
{
	struct tcb_ptx_access access;
	struct tcb_ptx_value address;
	unsigned index = ins->op == TCB_PTX_OP_ATOM;

	if ((ins->op != TCB_PTX_OP_ST && !index && ins->op != TCB_PTX_OP_RED) || !tcb_ptx_access(ins, index, &access) ||
	    access.space != TCB_PTX_GLOBAL || h->stored_count == STORED_MAX)
		return;
	address = tcb_ptx_affine_address(h->affine, ins, index);
	if (base_of(h, &address) && !is_stored(h, &address))
		h->stored[h->stored_count++] = base_of(h, &address);
}

static int find_stored(struct tcb_ptx_hazards *h)
{
	int loads = 0;

	for (const struct tcb_ptx_block *block = h->function->first; block; block = block->next)
		for (const struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
			loads |= ins->op == TCB_PTX_OP_LD && tcb_ptx_mod(ins, TCB_PTX_SLOT_NONCOHERENT);
	if (!loads)
		return 1;
	h->stored = tcb_arena_array(&h->arena, STORED_MAX, sizeof(const struct tcb_ptx_symbol *));
	for (uint32_t i = 0; h->stored && i < h->function->reachable_count; i++)
		for (const struct tcb_ptx_ins *ins = h->function->order[i]->first; ins; ins = ins->next)
			note_stored(h, ins);
	return h->stored != NULL;
}

/* Spaces of a plain access; 0 when it cannot conflict. */
static unsigned spaces_of(const struct tcb_ptx_hazards *h, const struct tcb_ptx_ins *ins,
			  const struct tcb_ptx_access *access, const struct tcb_ptx_value *address)
{
	enum tcb_ptx_word space = access->space;

	if (ins->op == TCB_PTX_OP_LDMATRIX || ins->op == TCB_PTX_OP_STMATRIX)
		return TCB_PTX_IN_SHARED;
	if (space == TCB_PTX_NO_WORD)
		space = tcb_ptx_affine_space(h->affine, address);
	switch ((int)space) {
	case TCB_PTX_SHARED:
	case TCB_PTX_SHARED_CTA:
		return TCB_PTX_IN_SHARED;
	case TCB_PTX_GLOBAL:
		return tcb_ptx_mod(ins, TCB_PTX_SLOT_NONCOHERENT) && !is_stored(h, address) ? 0 : TCB_PTX_IN_GLOBAL;
	case TCB_PTX_NO_WORD:
	case TCB_PTX_SHARED_CLUSTER:
		return TCB_PTX_IN_SHARED | TCB_PTX_IN_GLOBAL;
	default:
		return 0;
	}
}

static int is_mbarrier(const struct tcb_ptx_ins *ins)
{
	return ins->op >= TCB_PTX_OP_MBARRIER_INIT && ins->op <= TCB_PTX_OP_MBARRIER_TRY_WAIT;
}

/* Whether INS accesses what it does without a race, whoever else does. */
static int is_ordered(const struct tcb_ptx_ins *ins)
{
	enum tcb_ptx_word order = tcb_ptx_mod(ins, TCB_PTX_SLOT_ORDER);

	if (is_mbarrier(ins))
		return ins->op != TCB_PTX_OP_MBARRIER_INIT && ins->op != TCB_PTX_OP_MBARRIER_INVAL;
	return ins->op == TCB_PTX_OP_ATOM || ins->op == TCB_PTX_OP_RED ||
	       (order != TCB_PTX_NO_WORD && order != TCB_PTX_WEAK);
}

static int add_plain(struct tcb_ptx_hazards *h, struct tcb_ptx_ins *ins, unsigned index)
{
	struct tcb_ptx_access access;
	struct tcb_ptx_value address;
	struct tcb_ptx_event *event;
	unsigned spaces;

	if (!tcb_ptx_access(ins, index, &access) || !(access.reads || access.writes))
		return 1;
	address = tcb_ptx_affine_address(h->affine, ins, index);
	spaces = spaces_of(h, ins, &access, &address);
	if (!spaces)
		return 1;
	event = add_event(h, ins);
	if (!event)
		return 0;
	event->address = address;
	event->spaces = (uint8_t)spaces;
	event->reads = (uint8_t)(access.reads && !is_mbarrier(ins));
	event->writes = (uint8_t)access.writes;
	event->bytes = access.bytes;
	event->is_ordered = (uint8_t)is_ordered(ins);
	event->assumes = address.assumes;
	event->is_known = address.known && access.bytes && tcb_ptx_affine_threads(h->affine) &&
			  (spaces == TCB_PTX_IN_GLOBAL || (spaces == TCB_PTX_IN_SHARED && !address.assumes));
	return !event->is_known || fill_starts(h, event);
}

static int is_opaque(const struct tcb_ptx_ins *ins)
{
	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_CP_ASYNC_COMMIT_GROUP:
	case TCB_PTX_OP_CP_ASYNC_BULK_COMMIT_GROUP:
	case TCB_PTX_OP_BAR_SYNC:
	case TCB_PTX_OP_BARRIER_SYNC:
	case TCB_PTX_OP_BAR_WARP_SYNC:
		return 0;
	default:
		return tcb_ptx_has(ins, TCB_PTX_F_READ | TCB_PTX_F_WRITE | TCB_PTX_F_ASYNC | TCB_PTX_F_FENCE |
						TCB_PTX_F_BARRIER) ||
		       ins->op == TCB_PTX_OP_SETMAXNREG;
	}
}

static int add_events(struct tcb_ptx_hazards *h, struct tcb_ptx_ins *ins)
{
	struct tcb_ptx_event *event;

	/* what an mbarrier does beyond its own bytes is opaque */
	for (unsigned i = 0; i < ins->operand_count && (is_plain(ins) || is_mbarrier(ins)); i++)
		if (!add_plain(h, ins, i))
			return 0;
	if (is_plain(ins))
		return 1;
	if (!is_opaque(ins))
		return 1;
	event = add_event(h, ins);
	if (!event)
		return 0;
	event->is_opaque = event->reads = event->writes = 1;
	event->spaces = TCB_PTX_IN_SHARED | TCB_PTX_IN_GLOBAL;
	return 1;
}

static int add_block(struct tcb_ptx_hazards *h, struct tcb_ptx_block *block)
{
	struct tcb_ptx_segment *segment;

	h->first_segment[block->number] = h->segment_count;
	if (!add_segment(h, block))
		return 0;
	for (struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next) {
		enum tcb_ptx_cut cut = cut_of(h, ins);
		uint32_t before = h->event_count;

		if (!add_events(h, ins))
			return 0;
		segment = &h->segments[h->segment_count - 1];
		for (uint32_t i = before; i < h->event_count; i++)
			h->events[i].segment = h->segment_count - 1;
		segment->event_count = h->event_count - segment->first_event;
		if (cut == TCB_PTX_CUT_NONE)
			continue;
		segment->end = ins;
		segment->cut = cut;
		segment->sync = (uint8_t)tcb_ptx_sync_of(ins);
		segment->who = who_runs(h, ins);
		segment->is_removable = cut == TCB_PTX_CUT_FULL && !h->has_tensor;
		if (!segment->who || !add_segment(h, block))
			return 0;
	}
	return 1;
}

enum tcb_status tcb_ptx_hazard_events(struct tcb_ptx_hazards *h, struct tcb_error *err)
{
	uint32_t threads = tcb_ptx_affine_threads(h->affine), accesses = 0;

	for (struct tcb_ptx_block *block = h->function->first; block; block = block->next)
		for (struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next) {
			h->has_fences |= ins->op == TCB_PTX_OP_FENCE || ins->op == TCB_PTX_OP_MEMBAR ||
					 ins->op == TCB_PTX_OP_FENCE_PROXY;
			h->has_tensor |= ins->op >= TCB_PTX_OP_TCGEN05_ALLOC && ins->op <= TCB_PTX_OP_TCGEN05_COMMIT;
			accesses += tcb_ptx_has(ins, TCB_PTX_F_READ | TCB_PTX_F_WRITE) != 0;
		}
	if (accesses > EVENTS_MAX || (uint64_t)accesses * threads * sizeof(struct tcb_ptx_start) > STARTS_BYTES_MAX) {
		h->is_hopeless = 1;
		return TCB_OK;
	}
	h->words = ((threads ? threads : 1) + 63) / 64;
	h->first_segment = tcb_arena_array(&h->arena, h->function->block_count, sizeof *h->first_segment);
	if (!find_stored(h))
		h->first_segment = NULL;
	for (struct tcb_ptx_block *block = h->function->first; block && h->first_segment; block = block->next)
		if (block->order != UINT32_MAX && !add_block(h, block))
			h->first_segment = NULL;
	if (!h->first_segment)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the accesses of '%s'", h->function->symbol->name);
	return tcb_ptx_hazard_released(h, err);
}
