/* SPDX-License-Identifier: MIT
 *
 * In: the addresses of each thread (affine.h) and who surely comes (witness.h).
 * Out: loads of the read-only path that follow a store to the same bytes.
 *
 * PTX ISA 9.0, section 9.7.9.9: what ld.global.nc reads is read-only while the
 * kernel runs, and its cache sees no store of it.  A barrier orders such a load
 * and a store and still does not show the one what the other wrote.  Loads that
 * come before are left alone: in x[i] = f(x[i]) nobody reads what was stored.
 *
 * Two addresses are compared where they are the same sum of symbols, so both are
 * based on one pointer, and only the threads' parts differ.
 */
#include "ptx/analyse/noncoherent.h"

#include <string.h>

#include "ptx/analyse/witness.h"
#include "ptx/ir/opcodes.h"

enum { BUDGET = 1 << 26, WORDS_MAX = TCB_PTX_BLOCK_THREADS_MAX / 64 };

/* An access whose address is known. */
struct touch {
	const struct tcb_ptx_ins *ins;
	struct tcb_ptx_value address;
	unsigned bytes;
};

/* Who runs it. */
struct runners {
	uint64_t may[WORDS_MAX], must[WORDS_MAX];
};

struct search {
	struct tcb_ptx_function *function;
	struct tcb_ptx_affine *affine;
	const struct tcb_ptx_sink *sink;
	struct tcb_ptx_coming coming;
	struct touch *stores;
	uint32_t store_count;
	uint32_t *queue;
	uint8_t *seen; /* by number of a block */
	uint32_t words;
	int is_exact;
	uint64_t budget;
};

static int is_in(const uint64_t *set, uint32_t thread)
{
	return (int)(set[thread / 64] >> thread % 64 & 1);
}

static int is_noncoherent(const struct tcb_ptx_ins *ins)
{
	return ins->op == TCB_PTX_OP_LD && tcb_ptx_mod(ins, TCB_PTX_SLOT_NONCOHERENT);
}

/* --- accesses --- */

/* The place that INS touches by operand INDEX; 0 when it is unknown. */
static int find_touch(const struct search *s, const struct tcb_ptx_ins *ins, unsigned index, struct touch *out)
{
	struct tcb_ptx_access access;

	if (!tcb_ptx_access(ins, index, &access) || !access.bytes ||
	    (access.space != TCB_PTX_GLOBAL && access.space != TCB_PTX_NO_WORD))
		return 0;
	*out = (struct touch){ ins, tcb_ptx_affine_address(s->affine, ins, index), access.bytes };
	return out->address.known && out->address.bits == 64 && out->address.term_count;
}

static void find_stores(struct search *s)
{
	for (uint32_t i = 0; i < s->function->reachable_count; i++)
		for (const struct tcb_ptx_ins *ins = s->function->order[i]->first; ins; ins = ins->next)
			if ((ins->op == TCB_PTX_OP_ST || ins->op == TCB_PTX_OP_ATOM || ins->op == TCB_PTX_OP_RED) &&
			    find_touch(s, ins, ins->op == TCB_PTX_OP_ATOM, &s->stores[s->store_count]))
				s->store_count++;
}

static struct runners who_runs(const struct search *s, const struct tcb_ptx_ins *ins)
{
	const uint64_t *must = tcb_ptx_must_of(&s->coming, ins->block),
		       *active = tcb_ptx_affine_active(s->affine, ins->block);
	struct tcb_ptx_value guard = tcb_ptx_affine_guard(s->affine, ins);
	struct runners who = { 0 };

	tcb_ptx_affine_may_run(s->affine, ins, 1, who.may);
	for (uint32_t i = 0; i < s->words; i++) {
		who.may[i] &= active[i];
		who.must[i] = guard.known && !guard.term_count ? who.may[i] & must[i] : 0;
	}
	return who;
}

/* Whether both are the same symbols beside what their threads know, none of them changed by a loop that is not around
 * both. */
static int have_same_terms(const struct search *s, const struct touch *x, const struct touch *y)
{
	uint64_t around =
		tcb_ptx_affine_loops_of(s->affine, x->ins->block) & tcb_ptx_affine_loops_of(s->affine, y->ins->block);

	if (x->address.term_count != y->address.term_count)
		return 0;
	for (uint32_t i = 0; i < x->address.term_count; i++) {
		const struct tcb_ptx_term *a = &x->address.terms[i], *b = &y->address.terms[i];

		if (a->symbol != b->symbol || a->factor != b->factor || a->lanes || b->lanes ||
		    tcb_ptx_affine_symbol(s->affine, a->symbol)->loops & ~around)
			return 0;
	}
	return 1;
}

/* --- order --- */

static int reaches(const struct search *s, const struct tcb_ptx_block *from, const struct tcb_ptx_block *to)
{
	uint32_t count = 0;

	memset(s->seen, 0, s->function->block_count);
	s->queue[count++] = from->order;
	for (uint32_t i = 0; i < count; i++) {
		const struct tcb_ptx_block *at = s->function->order[s->queue[i]];

		for (uint32_t k = 0; k < at->succ_count; k++) {
			if (at->succ[k] == to)
				return 1;
			if (s->seen[at->succ[k]->number])
				continue;
			s->seen[at->succ[k]->number] = 1;
			s->queue[count++] = at->succ[k]->order;
		}
	}
	return 0;
}

/* Whether the store comes before the load where a thread runs both, in one round of the loops around both. */
static int is_before(const struct search *s, const struct tcb_ptx_ins *store, const struct tcb_ptx_ins *load)
{
	if (store->block == load->block)
		return store->number < load->number;
	return tcb_ptx_dominates(tcb_ptx_affine_dominators(s->affine), store->block, load->block) ||
	       (reaches(s, store->block, load->block) && !reaches(s, load->block, store->block));
}

/* --- threads --- */

/* Whether what T stores and what U loads has a byte in common. */
static int overlap(const struct touch *store, uint32_t t, const struct touch *load, uint32_t u)
{
	uint64_t apart = tcb_ptx_value_lane(&load->address, u) - tcb_ptx_value_lane(&store->address, t);

	return apart < store->bytes || (uint64_t)0 - apart < load->bytes;
}

/* One of STORERS that stores what thread U loads, U itself first; UINT32_MAX: none. */
static uint32_t storer_for(struct search *s, const struct touch *store, const uint64_t *storers,
			   const struct touch *load, uint32_t u)
{
	if (is_in(storers, u) && overlap(store, u, load, u))
		return u;
	for (uint32_t t = 0; s->is_exact && t < tcb_ptx_affine_threads(s->affine) && s->budget; t++) {
		s->budget--;
		if (is_in(storers, t) && overlap(store, t, load, u))
			return t;
	}
	return UINT32_MAX;
}

/* Two threads that surely store and load one byte; else *IS_SURE is 0, and they may, as each may that loads. */
static int find_pair(struct search *s, const struct touch *store, const struct touch *load, uint32_t pair[2],
		     int *is_sure)
{
	const struct runners storers = who_runs(s, store->ins), loaders = who_runs(s, load->ins);
	uint32_t threads = s->is_exact ? tcb_ptx_affine_threads(s->affine) : 1, found = 0;

	*is_sure = 1;
	for (uint32_t u = 0; u < threads; u++) {
		pair[1] = u;
		pair[0] = is_in(loaders.must, u) ? storer_for(s, store, storers.must, load, u) : UINT32_MAX;
		if (pair[0] != UINT32_MAX)
			return 1;
	}
	*is_sure = 0;
	for (uint32_t u = 0; u < threads; u++) {
		uint32_t t;

		if (!is_in(loaders.may, u))
			continue;
		t = storer_for(s, store, storers.may, load, u);
		if (t == UINT32_MAX)
			return 0;
		if (!found++) {
			pair[0] = t;
			pair[1] = u;
		}
	}
	return found != 0;
}

/* --- all --- */

static void check_load(struct search *s, const struct tcb_ptx_ins *ins)
{
	struct touch load;
	uint32_t pair[2];
	int is_sure;

	if (!find_touch(s, ins, 1, &load))
		return;
	for (uint32_t i = 0; i < s->store_count; i++) {
		const struct touch *store = &s->stores[i];

		if (!have_same_terms(s, store, &load) || !is_before(s, store->ins, ins) ||
		    !find_pair(s, store, &load, pair, &is_sure))
			continue;
		tcb_ptx_report(
			s->sink, TCB_PTX_RULE_RACE, is_sure ? TCB_PTX_ERROR : TCB_PTX_WARNING, s->function, ins,
			"thread %u loads by ld.global.nc what thread %u writes before, in line %u%s: this is for "
			"memory that the launch does not write, and the cache may hold what was there; load it "
			"without .nc",
			pair[1], pair[0], store->ins->line, is_sure ? "" : ", if conditions let both come");
		return;
	}
}

enum tcb_status tcb_ptx_noncoherent(struct tcb_ptx_function *function, struct tcb_ptx_affine *affine, int is_exact,
				    const struct tcb_ptx_sink *sink, struct tcb_error *err)
{
	struct search s = { .function = function, .affine = affine, .sink = sink, .is_exact = is_exact };
	struct tcb_arena arena = { 0 };
	enum tcb_status status = TCB_OK;
	uint32_t loads = 0, stores = 0;

	for (uint32_t i = 0; i < function->reachable_count; i++)
		for (const struct tcb_ptx_ins *ins = function->order[i]->first; ins; ins = ins->next) {
			loads += is_noncoherent(ins) != 0;
			stores += tcb_ptx_has(ins, TCB_PTX_F_WRITE) != 0;
		}
	if (!loads || !stores || !tcb_ptx_affine_threads(affine))
		return TCB_OK;
	s.budget = BUDGET;
	s.words = (tcb_ptx_affine_threads(affine) + 63) / 64;
	s.queue = tcb_arena_array(&arena, function->reachable_count + 1u, sizeof *s.queue);
	s.seen = tcb_arena_array(&arena, function->block_count + 1u, 1);
	s.stores = tcb_arena_array(&arena, stores, sizeof *s.stores);
	status = arena.failed
			 ? tcb_fail(err, TCB_E_NOMEM, "out of memory for the loads of '%s'", function->symbol->name)
			 : tcb_ptx_coming_find(function, affine, &s.coming, err);
	if (status == TCB_OK)
		find_stores(&s);
	for (uint32_t i = 0; status == TCB_OK && i < function->reachable_count && s.store_count; i++)
		for (const struct tcb_ptx_ins *ins = function->order[i]->first; ins; ins = ins->next)
			if (is_noncoherent(ins))
				check_load(&s, ins);
	tcb_arena_fini(&arena);
	return status;
}
