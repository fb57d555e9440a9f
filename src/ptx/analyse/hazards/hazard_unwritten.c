/* SPDX-License-Identifier: MIT
 *
 * In: the accesses of shared memory.  Out: reads of bytes that no thread of the
 * block ever writes.
 *
 * Every write counts for all threads that may come there and all rounds of its
 * loops, whenever that is; an atomic sum or maximum writes nothing of its own.
 * Where anything else may write, nothing is said.
 */
#include "ptx/analyse/hazards/hazards_private.h"

#include "ptx/ir/opcodes.h"

#include <string.h>

enum { ROUNDS_MAX = 1 << 12, BYTES_MAX = 1 << 18 };

struct written {
	struct tcb_ptx_hazards *h;
	const struct tcb_ptx_symbol *variable;
	uint8_t *bytes; /* of VARIABLE: written by somebody */
	uint64_t size;
};

/* The static variable of shared memory that E is in; *COUNTER: the one term beside it, or NULL. */
static const struct tcb_ptx_symbol *variable_of(const struct tcb_ptx_hazards *h, const struct tcb_ptx_event *e,
						const struct tcb_ptx_term **counter)
{
	const struct tcb_ptx_symbol *found = NULL;
	unsigned others = 0;

	*counter = NULL;
	for (uint32_t i = 0; e->is_known && i < e->address.term_count; i++) {
		const struct tcb_ptx_term *term = &e->address.terms[i];
		const struct tcb_ptx_symbolic *s = tcb_ptx_affine_symbol(h->affine, term->symbol);

		if (s->kind == TCB_PTX_Y_ADDRESS && term->factor == 1 && !term->lanes && !found) {
			found = s->variable;
		} else if (s->kind != TCB_PTX_Y_WINDOW) {
			*counter = term;
			others++;
		}
	}
	return others < 2 ? found : NULL;
}

static int is_sum(const struct tcb_ptx_ins *ins)
{
	enum tcb_ptx_word how = tcb_ptx_mod(ins, TCB_PTX_SLOT_ATOMIC);

	return (ins->op == TCB_PTX_OP_ATOM || ins->op == TCB_PTX_OP_RED) && how != TCB_PTX_EXCH && how != TCB_PTX_CAS;
}

/* Whether E writes to places that nobody knows. */
static int writes_anywhere(const struct tcb_ptx_hazards *h, const struct tcb_ptx_event *e)
{
	const struct tcb_ptx_term *term;
	const struct tcb_ptx_symbolic *s;

	if (!(e->spaces & TCB_PTX_IN_SHARED) || !e->writes)
		return 0;
	if (e->is_opaque)
		return e->ins->op == TCB_PTX_OP_CALL || e->ins->op == TCB_PTX_OP_OPAQUE ||
		       tcb_ptx_has(e->ins, TCB_PTX_F_READ | TCB_PTX_F_WRITE | TCB_PTX_F_ASYNC);
	if (is_sum(e->ins))
		return 0;
	if (!variable_of(h, e, &term))
		return 1;
	s = term ? tcb_ptx_affine_symbol(h->affine, term->symbol) : NULL;
	return s && (s->kind != TCB_PTX_Y_COUNTER || s->max > ROUNDS_MAX || term->lanes);
}

static void mark(struct written *w, int64_t at, unsigned bytes)
{
	if (at >= 0 && (uint64_t)at + bytes <= w->size)
		memset(w->bytes + at, 1, bytes);
}

static void mark_event(struct written *w, const struct tcb_ptx_event *e)
{
	const struct tcb_ptx_term *term;
	uint64_t rounds = 0;

	if (!e->writes || e->is_opaque || is_sum(e->ins) || variable_of(w->h, e, &term) != w->variable)
		return;
	if (term)
		rounds = tcb_ptx_affine_symbol(w->h->affine, term->symbol)->max;
	for (uint64_t r = 0; r <= rounds; r++)
		for (uint32_t i = 0; i < e->start_count; i++)
			mark(w, e->starts[i].at + (term ? (int64_t)(int32_t)(uint32_t)(term->factor * r) : 0),
			     e->bytes);
}

/* Tells of the first read of what is not written; says whether there was one. */
static int find_read(const struct written *w, const struct tcb_ptx_event *e, const struct tcb_ptx_sink *sink)
{
	const struct tcb_ptx_term *term;

	if (!e->reads || e->is_opaque || !e->is_sure || variable_of(w->h, e, &term) != w->variable || term ||
	    tcb_ptx_affine_is_optional(w->h->affine, e->ins->block))
		return 0;
	for (uint32_t i = 0; i < e->start_count; i++) {
		int64_t at = e->starts[i].at;

		if (at < 0 || (uint64_t)at + e->bytes > w->size || memchr(w->bytes + at, 1, e->bytes))
			continue;
		tcb_ptx_report(sink, TCB_PTX_RULE_UNWRITTEN_SHARED, TCB_PTX_WARNING, w->h->function, e->ins,
			       "thread %u reads %u bytes at offset %lld of '%s', which no thread of the block ever "
			       "writes",
			       e->starts[i].thread, e->bytes, (long long)at, w->variable->name);
		return 1;
	}
	return 0;
}

enum tcb_status tcb_ptx_unwritten_shared(struct tcb_ptx_hazards *h, const struct tcb_ptx_sink *sink,
					 struct tcb_error *err)
{
	struct written w = { .h = h };
	const struct tcb_ptx_term *term;

	for (uint32_t i = 0; i < h->event_count; i++)
		if (h->is_hopeless || writes_anywhere(h, &h->events[i]))
			return TCB_OK;
	for (uint32_t i = 0; i < h->event_count; i++) {
		const struct tcb_ptx_symbol *variable = variable_of(h, &h->events[i], &term);
		int is_done = !variable || variable->space != TCB_PTX_SHARED;

		for (uint32_t k = 0; k < i && !is_done; k++)
			is_done = variable_of(h, &h->events[k], &term) == variable;
		w.size = is_done ? 0 : tcb_ptx_symbol_bytes(variable);
		if (!w.size || w.size > BYTES_MAX)
			continue;
		w.variable = variable;
		w.bytes = tcb_arena_array(&h->arena, w.size, 1);
		if (!w.bytes)
			return tcb_fail(err, TCB_E_NOMEM, "out of memory for '%s'", variable->name);
		for (uint32_t k = 0; k < h->event_count; k++)
			mark_event(&w, &h->events[k]);
		for (uint32_t k = 0; k < h->event_count; k++)
			if (find_read(&w, &h->events[k], sink))
				break;
	}
	return TCB_OK;
}
