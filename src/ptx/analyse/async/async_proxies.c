/* SPDX-License-Identifier: MIT
 *
 * Of async.h: proxies.  PTX ISA 9.0, sections 8.6 and 9.7.13.4: what threads
 * store in shared memory is seen by bulk copies and products behind a
 * fence.proxy.async, of the thread that stored, or of one that comes behind a
 * barrier.
 */
#include "ptx/analyse/async/async_private.h"
#include "ptx/ir/opcodes.h"

/* Of a store: not run; run; run, and a barrier behind it; fenced. */
enum { NONE = 1, STORED = 2, MET = 4, FENCED = 8 };
enum { STORES_MAX = 1 << 12 };

struct store {
	struct tcb_ptx_async_place place;
	int is_told;
};

struct proxies {
	struct tcb_ptx_async *a;
	struct store *stores;
	unsigned count;
};

static int is_store(const struct tcb_ptx_ins *ins)
{
	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_ST:
	case TCB_PTX_OP_STMATRIX:
	case TCB_PTX_OP_ATOM:
	case TCB_PTX_OP_RED:
		return 1;
	default:
		return 0;
	}
}

/* Whether some thread that stores surely skips the fence. */
static int leaves_out(const struct proxies *p, const struct store *store, const struct tcb_ptx_ins *fence)
{
	uint64_t fences[TCB_PTX_ASYNC_SET_WORDS], stores[TCB_PTX_ASYNC_SET_WORDS], left = 0;

	if (!tcb_ptx_async_present(p->a, fence, fences) || !tcb_ptx_async_present(p->a, store->place.ins, stores))
		return 0;
	for (int i = 0; i < TCB_PTX_ASYNC_SET_WORDS; i++)
		left |= stores[i] & ~fences[i];
	return left != 0;
}

static void see_fence(const struct proxies *p, const struct tcb_ptx_ins *ins, uint16_t *state)
{
	for (unsigned i = 0; i < p->count; i++) {
		if (state[i] & MET)
			state[i] = (uint16_t)((state[i] & ~MET) | FENCED);
		if (state[i] & STORED && !leaves_out(p, &p->stores[i], ins))
			state[i] = (uint16_t)((state[i] & ~STORED) | FENCED);
	}
}

static void see_barrier(const struct proxies *p, uint16_t *state)
{
	for (unsigned i = 0; i < p->count; i++)
		if (state[i] & STORED)
			state[i] = (uint16_t)((state[i] & ~STORED) | MET);
}

static int is_unseen(uint16_t state)
{
	return state & (STORED | MET) && !(state & FENCED);
}

static void report(const struct proxies *p, struct store *store, const struct tcb_ptx_ins *ins, uint16_t state,
		   const char *reader)
{
	store->is_told = 1;
	for (unsigned i = 0; i < p->count; i++) /* one finding for a variable */
		if (p->stores[i].place.base && p->stores[i].place.base == store->place.base)
			p->stores[i].is_told = 1;
	tcb_ptx_report(
		p->a->block_sink, TCB_PTX_RULE_PROXY_FENCE, state & NONE ? TCB_PTX_WARNING : TCB_PTX_ERROR,
		p->a->function, ins,
		"this %s reads what line %u stored, and on each way from there no fence.proxy.async of the threads "
		"that store comes between",
		reader, store->place.ins->line);
}

static void see_copy(const struct proxies *p, const struct tcb_ptx_ins *ins, const uint16_t *state)
{
	struct tcb_ptx_async_place place;
	uint32_t pair[2];

	if (!tcb_ptx_async_in_shared(p->a, ins, 1, &place) || !place.reads)
		return;
	if (!place.bytes)
		place.bytes = 16;
	for (unsigned i = 0; i < p->count; i++)
		if (is_unseen(state[i]) && !p->stores[i].is_told &&
		    tcb_ptx_async_meet(p->a, &p->stores[i].place, &place, pair))
			report(p, &p->stores[i], ins, state[i], "copy");
}

/* What a copy brings is no longer what was stored. */
static void see_overwritten(const struct proxies *p, const struct tcb_ptx_ins *ins, uint16_t *state)
{
	struct tcb_ptx_async_place place;

	if (tcb_ptx_mod(ins, TCB_PTX_SLOT_SPACE) == TCB_PTX_GLOBAL || !tcb_ptx_async_in_shared(p->a, ins, 0, &place))
		return;
	for (unsigned i = 0; i < p->count; i++)
		if (!place.base || tcb_ptx_async_same_memory(place.base, p->stores[i].place.base))
			state[i] = FENCED;
}

static void see_product(const struct proxies *p, const struct tcb_ptx_ins *ins, const uint16_t *state)
{
	for (unsigned k = 1; k < 3; k++) {
		const struct tcb_ptx_symbol *tile = tcb_ptx_async_tile(p->a, ins, k);

		for (unsigned i = 0; tile && i < p->count; i++)
			if (is_unseen(state[i]) && !p->stores[i].is_told && p->stores[i].place.base == tile &&
			    !p->stores[i].place.is_generic)
				report(p, &p->stores[i], ins, state[i], "product");
	}
}

/* Whether nothing that was stored in TILE is seen; *FIRST: a store. */
static int is_all_unseen(const struct proxies *p, const struct tcb_ptx_symbol *tile, const uint16_t *state,
			 struct store **first)
{
	*first = NULL;
	for (unsigned i = 0; i < p->count; i++) {
		const struct store *store = &p->stores[i];

		if (!tcb_ptx_async_same_memory(store->place.base, tile))
			continue;
		if (!is_unseen(state[i]) || store->is_told || store->place.is_generic)
			return 0;
		*first = &p->stores[i];
	}
	return *first != NULL;
}

/* tcgen05.mma and .cp: how much of a variable the descriptors name is not in the text. */
static void see_tensor(const struct proxies *p, const struct tcb_ptx_ins *ins, const uint16_t *state)
{
	for (unsigned k = 1; k < 3 && k < ins->operand_count; k++) {
		struct tcb_ptx_async_origin origin;
		struct store *store;

		if (ins->operands[k].kind != TCB_PTX_O_REG)
			continue;
		tcb_ptx_async_trace(p->a, &ins->operands[k], &origin);
		if (origin.base && !origin.is_open && is_all_unseen(p, origin.base, state, &store))
			report(p, store, ins, state[store - p->stores], "product");
	}
}

static void step(void *ctx, const struct tcb_ptx_ins *ins, uint16_t *state, int is_last)
{
	struct proxies *p = ctx;

	if (tcb_ptx_is_bulk_copy(ins)) {
		if (is_last)
			see_copy(p, ins, state);
		see_overwritten(p, ins, state);
		return;
	}
	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_FENCE_PROXY:
		if (tcb_ptx_mod(ins, TCB_PTX_SLOT_PROXY) == TCB_PTX_ASYNC)
			see_fence(p, ins, state);
		return;
	case TCB_PTX_OP_CALL:
	case TCB_PTX_OP_OPAQUE:
		if (!tcb_ptx_async_may_be(ins, "fence"))
			return;
		for (unsigned i = 0; i < p->count; i++)
			state[i] = FENCED;
		return;
	case TCB_PTX_OP_WGMMA:
		if (is_last)
			see_product(p, ins, state);
		return;
	case TCB_PTX_OP_TCGEN05_MMA:
	case TCB_PTX_OP_TCGEN05_MMA_SP:
	case TCB_PTX_OP_TCGEN05_MMA_WS:
	case TCB_PTX_OP_TCGEN05_MMA_WS_SP:
	case TCB_PTX_OP_TCGEN05_CP:
		if (is_last)
			see_tensor(p, ins, state);
		return;
	default:
		break;
	}
	if (tcb_ptx_has(ins, TCB_PTX_F_BARRIER) || ins->op == TCB_PTX_OP_MBARRIER_TRY_WAIT ||
	    ins->op == TCB_PTX_OP_MBARRIER_TEST_WAIT)
		see_barrier(p, state);
	for (unsigned i = 0; is_store(ins) && i < p->count; i++)
		if (p->stores[i].place.ins == ins)
			state[i] = STORED;
}

static void add_store(struct proxies *p, const struct tcb_ptx_ins *ins)
{
	struct tcb_ptx_async_place place;

	for (unsigned i = 0; i < ins->operand_count && p->count < STORES_MAX; i++)
		if (tcb_ptx_async_in_shared(p->a, ins, i, &place) && place.writes && place.base)
			p->stores[p->count++] = (struct store){ .place = place };
}

void tcb_ptx_async_proxies(struct tcb_ptx_async *a)
{
	struct proxies p = { .a = a };
	struct tcb_ptx_async_flow flow = { 0, step, &p };

	if (!a->has[TCB_PTX_OP_CP_ASYNC_BULK] && !a->has[TCB_PTX_OP_CP_ASYNC_BULK_TENSOR] &&
	    !a->has[TCB_PTX_OP_CP_REDUCE_ASYNC_BULK] && !a->has[TCB_PTX_OP_CP_REDUCE_ASYNC_BULK_TENSOR] &&
	    !a->has[TCB_PTX_OP_WGMMA] && !a->has[TCB_PTX_OP_TCGEN05_MMA] && !a->has[TCB_PTX_OP_TCGEN05_MMA_SP] &&
	    !a->has[TCB_PTX_OP_TCGEN05_MMA_WS] && !a->has[TCB_PTX_OP_TCGEN05_MMA_WS_SP] &&
	    !a->has[TCB_PTX_OP_TCGEN05_CP])
		return;
	p.stores = tcb_arena_array(&a->arena, STORES_MAX, sizeof *p.stores);
	if (!p.stores) {
		a->has_failed = 1;
		return;
	}
	for (uint32_t i = 0; i < a->function->reachable_count; i++)
		for (const struct tcb_ptx_ins *ins = a->function->order[i]->first; ins; ins = ins->next)
			if (is_store(ins))
				add_store(&p, ins);
	flow.count = p.count;
	tcb_ptx_async_solve(a, &flow);
}
