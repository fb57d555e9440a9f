/* SPDX-License-Identifier: MIT
 *
 * Of async.h: copies in groups.  PTX ISA 9.0, sections 9.7.9.25.3 (cp.async) and
 * 9.7.9.25.4 (bulk copies out of shared memory): a copy is done for its thread
 * behind a wait_group that leaves its group out, and a group is what was issued
 * before its commit_group.
 *
 * Two questions.  Of each copy whose address is the same each time: is it
 * pending on each way to an access of the same bytes?  Of each variable that
 * cp.async alone fills: is there a first read before which no copy was done,
 * wherever in the variable?  The second needs no addresses, and so decides about
 * rings of stages.
 */
#include <string.h>

#include "ptx/analyse/async/async_private.h"
#include "ptx/ir/opcodes.h"

/* Of a copy or a variable: nothing copied yet; pending in no group (OPEN), or in one with 0, 1, ... later ones; done.
 * Of a variable it is the oldest copy. */
enum { NONE = 1, DONE = 2, OPEN = 4, CLOSED_SHIFT = 3, GROUPS_MAX = 13, PENDING = 0xffff & ~(NONE | DONE) };
/* What makes groups: cp.async, bulk copies out of shared memory, and wgmma, which reads it. */
enum group_kind { BY_THREADS, BULK, PRODUCT };
enum { COPIES_MAX = 1 << 12 };

struct copy {
	struct tcb_ptx_async_place place;
	const struct tcb_ptx_symbol *variable; /* of a variable: it; else NULL */
	enum group_kind kind;
	int is_told;
	int is_shared; /* of a variable: others write it, too */
};

struct copies {
	struct tcb_ptx_async *a;
	struct copy *copies;
	unsigned count;
};

static int is_bulk_group(const struct tcb_ptx_ins *ins)
{
	return tcb_ptx_is_bulk_copy(ins) && tcb_ptx_mod(ins, TCB_PTX_SLOT_SPACE) == TCB_PTX_GLOBAL;
}

/* --- the way through --- */

static void commit(const struct copies *c, uint16_t *state, enum group_kind kind)
{
	for (unsigned i = 0; i < c->count; i++) {
		uint16_t pending = state[i] & PENDING;

		if (c->copies[i].kind == kind && pending)
			state[i] = (uint16_t)((state[i] & (NONE | DONE)) | pending << 1 | (pending & 0x8000));
	}
}

/* Whether no thread that runs the copy comes to the wait BY. */
static int is_of_others(const struct copies *c, const struct copy *copy, const struct tcb_ptx_ins *by)
{
	uint64_t waits[TCB_PTX_ASYNC_SET_WORDS], copied[TCB_PTX_ASYNC_SET_WORDS], both = 0;

	if (copy->variable || tcb_ptx_affine_presence(c->a->affine, by->block) != TCB_PTX_SPLIT ||
	    !tcb_ptx_async_present(c->a, by, waits) || !tcb_ptx_async_present(c->a, copy->place.ins, copied))
		return 0;
	for (int i = 0; i < TCB_PTX_ASYNC_SET_WORDS; i++)
		both |= waits[i] & copied[i];
	return !both;
}

static void wait(const struct copies *c, uint16_t *state, enum group_kind kind, uint16_t covered,
		 const struct tcb_ptx_ins *by)
{
	for (unsigned i = 0; i < c->count; i++)
		if (c->copies[i].kind == kind && state[i] & covered && !is_of_others(c, &c->copies[i], by))
			state[i] = (uint16_t)((state[i] & ~covered) | DONE);
}

static uint16_t covered_by(const struct tcb_ptx_ins *ins)
{
	uint64_t left = ins->operands[0].bits;

	return left >= GROUPS_MAX ? 0 : (uint16_t)(0xffff << (CLOSED_SHIFT + left));
}

static void issue(const struct copies *c, const struct tcb_ptx_ins *ins, const struct tcb_ptx_async_place *place,
		  uint16_t *state)
{
	for (unsigned i = 0; i < c->count; i++) {
		if (c->copies[i].place.ins == ins)
			state[i] = OPEN;
		else if (c->copies[i].variable && c->copies[i].variable == place->base && state[i] & NONE)
			state[i] = (uint16_t)((state[i] & ~NONE) | OPEN);
	}
}

/* --- what is told --- */

static const char *why(uint16_t state, enum group_kind kind)
{
	if (kind == PRODUCT)
		return (state & PENDING) == OPEN ? "it is in no group: wgmma.commit_group is missing"
						 : "no wgmma.wait_group covers it";
	if ((state & PENDING) != OPEN)
		return kind == BULK ? "no cp.async.bulk.wait_group covers it" : "no wait_group covers its group";
	return kind == BULK ? "it is in no group: cp.async.bulk.commit_group is missing"
			    : "it is in no group: cp.async.commit_group is missing";
}

static void report_variable(const struct copies *c, const struct copy *copy, const struct tcb_ptx_ins *ins,
			    uint16_t state)
{
	tcb_ptx_report(c->a->sink, TCB_PTX_RULE_ASYNC_PENDING, state & NONE ? TCB_PTX_WARNING : TCB_PTX_ERROR,
		       c->a->function, ins,
		       "'%s' is read, and on no way here is a copy into it done: of the first one, in line %u, %s",
		       tcb_ptx_async_name(copy->variable), copy->place.ins->line, why(state, BY_THREADS));
}

static void report_copy(const struct copies *c, const struct copy *copy, const struct tcb_ptx_async_place *place,
			uint16_t state, const uint32_t pair[2])
{
	enum tcb_ptx_severity severity = state & NONE ? TCB_PTX_WARNING : TCB_PTX_ERROR;

	if (copy->kind == PRODUCT)
		tcb_ptx_report(c->a->sink, TCB_PTX_RULE_ASYNC_PENDING, severity, c->a->function, place->ins,
			       "'%s' is written while the product of line %u may still read it: on each way here %s",
			       tcb_ptx_async_name(place->base), copy->place.ins->line, why(state, PRODUCT));
	else
		tcb_ptx_report(c->a->block_sink, TCB_PTX_RULE_ASYNC_PENDING, severity, c->a->function, place->ins,
			       "thread %u %s what the copy of thread %u in line %u %s: on each way here %s", pair[1],
			       place->writes ? "writes over" : "reads", pair[0], copy->place.ins->line,
			       copy->kind == BY_THREADS ? "may still write" : "may still read", why(state, copy->kind));
}

static int is_wrong(uint16_t state)
{
	return state & PENDING && !(state & DONE);
}

/* One finding for a variable. */
static void mark_told(const struct copies *c, const struct copy *told)
{
	for (unsigned i = 0; i < c->count; i++)
		if (&c->copies[i] == told || (told->place.base && c->copies[i].place.base == told->place.base))
			c->copies[i].is_told = 1;
}

static int meet(const struct copies *c, const struct copy *copy, const struct tcb_ptx_async_place *place,
		uint32_t pair[2])
{
	if (copy->kind != PRODUCT)
		return tcb_ptx_async_meet(c->a, &copy->place, place, pair);
	pair[0] = pair[1] = 0;
	return copy->place.base == place->base && !place->is_generic;
}

static void see_place(const struct copies *c, const struct tcb_ptx_async_place *place, uint16_t *state, int is_last)
{
	uint32_t pair[2];

	for (unsigned i = 0; i < c->count; i++) {
		struct copy *copy = &c->copies[i];

		if (copy->variable) {
			if (copy->variable != place->base || !place->reads || place->is_generic)
				continue;
			if (is_last && is_wrong(state[i]) && !copy->is_told && !copy->is_shared) {
				mark_told(c, copy);
				report_variable(c, copy, place->ins, state[i]);
			}
			state[i] = 0; /* later reads are not the first */
		} else if (is_last && !copy->is_told && is_wrong(state[i]) &&
			   (place->writes || copy->kind == BY_THREADS) && meet(c, copy, place, pair)) {
			mark_told(c, copy);
			report_copy(c, copy, place, state[i], pair);
		}
	}
}

static void see_exit(const struct copies *c, const struct tcb_ptx_ins *ins, const uint16_t *state)
{
	for (unsigned i = 0; i < c->count; i++) {
		struct copy *copy = &c->copies[i];

		if (copy->kind != BULK || copy->is_told || !is_wrong(state[i]))
			continue;
		mark_told(c, copy);
		tcb_ptx_report(
			c->a->sink, TCB_PTX_RULE_ASYNC_PENDING, TCB_PTX_WARNING, c->a->function, copy->place.ins,
			"the kernel may end in line %u while this copy still reads shared memory: on each way there "
			"%s",
			ins->line, why(state[i], BULK));
	}
}

static void see_memory(const struct copies *c, const struct tcb_ptx_ins *ins, uint16_t *state, int is_last)
{
	struct tcb_ptx_async_place place;
	int is_copy = ins->op == TCB_PTX_OP_CP_ASYNC || is_bulk_group(ins);

	if (!tcb_ptx_has(ins, TCB_PTX_F_READ | TCB_PTX_F_WRITE))
		return;
	for (unsigned i = 0; i < ins->operand_count; i++)
		if (ins->operands[i].kind == TCB_PTX_O_ADDRESS && tcb_ptx_async_in_shared(c->a, ins, i, &place)) {
			if (is_copy)
				issue(c, ins, &place, state);
			else
				see_place(c, &place, state, is_last);
		}
}

/* wmma.load reads a variable somewhere. */
static void see_foreign(const struct copies *c, const struct tcb_ptx_ins *ins, uint16_t *state, int is_last)
{
	struct tcb_ptx_async_place place = { .ins = ins, .reads = 1 };

	if (ins->op != TCB_PTX_OP_OPAQUE || strncmp(ins->opaque->mnemonic, "wmma.load", 9) != 0)
		return;
	for (unsigned i = 0; i < ins->operand_count; i++)
		if (ins->operands[i].kind == TCB_PTX_O_ADDRESS) {
			place.address = tcb_ptx_affine_address(c->a->affine, ins, i);
			place.base = tcb_ptx_async_base(c->a, &place.address);
			if (place.base && place.base->space == TCB_PTX_SHARED)
				see_place(c, &place, state, is_last);
		}
}

static enum group_kind kind_of(const struct tcb_ptx_ins *ins)
{
	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_WGMMA_COMMIT_GROUP:
	case TCB_PTX_OP_WGMMA_WAIT_GROUP:
		return PRODUCT;
	case TCB_PTX_OP_CP_ASYNC_BULK_COMMIT_GROUP:
	case TCB_PTX_OP_CP_ASYNC_BULK_WAIT_GROUP:
		return BULK;
	default:
		return BY_THREADS;
	}
}

static void step(void *ctx, const struct tcb_ptx_ins *ins, uint16_t *state, int is_last)
{
	struct copies *c = ctx;

	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_CP_ASYNC_COMMIT_GROUP:
	case TCB_PTX_OP_CP_ASYNC_BULK_COMMIT_GROUP:
	case TCB_PTX_OP_WGMMA_COMMIT_GROUP:
		commit(c, state, kind_of(ins));
		return;
	case TCB_PTX_OP_CP_ASYNC_WAIT_GROUP:
	case TCB_PTX_OP_CP_ASYNC_BULK_WAIT_GROUP:
	case TCB_PTX_OP_WGMMA_WAIT_GROUP:
		wait(c, state, kind_of(ins), covered_by(ins), ins);
		return;
	case TCB_PTX_OP_WGMMA:
		for (unsigned i = 0; i < c->count; i++)
			if (c->copies[i].place.ins == ins)
				state[i] = OPEN;
		return;
	case TCB_PTX_OP_CP_ASYNC_WAIT_ALL:
		wait(c, state, BY_THREADS, PENDING, ins);
		return;
	case TCB_PTX_OP_CP_ASYNC_MBARRIER_ARRIVE: /* whoever waits at the mbarrier waits for them */
		wait(c, state, BY_THREADS, PENDING, ins);
		return;
	case TCB_PTX_OP_CALL:
	case TCB_PTX_OP_OPAQUE:
		if (!tcb_ptx_async_may_be(ins, "cp.async")) {
			see_foreign(c, ins, state, is_last);
			return;
		}
		wait(c, state, BY_THREADS, PENDING, ins);
		wait(c, state, BULK, PENDING, ins);
		wait(c, state, PRODUCT, PENDING, ins);
		return;
	case TCB_PTX_OP_RET:
	case TCB_PTX_OP_EXIT:
		if (is_last)
			see_exit(c, ins, state);
		return;
	default:
		see_memory(c, ins, state, is_last);
	}
}

/* --- which --- */

static struct copy *add(struct copies *c, const struct tcb_ptx_async_place *place)
{
	if (c->count == COPIES_MAX)
		return NULL;
	c->copies[c->count] = (struct copy){ .place = *place };
	return &c->copies[c->count++];
}

static int is_there(const struct copies *c, const struct tcb_ptx_symbol *variable)
{
	for (unsigned i = 0; i < c->count; i++)
		if (c->copies[i].variable == variable)
			return 1;
	return 0;
}

static void add_copy(struct copies *c, const struct tcb_ptx_ins *ins)
{
	int is_bulk = is_bulk_group(ins);
	struct tcb_ptx_async_place place;
	struct copy *copy;

	/* the source of a bulk copy, the destination of the others */
	if (!tcb_ptx_async_in_shared(c->a, ins, is_bulk ? 1 : 0, &place))
		return;
	if (is_bulk && !place.bytes && place.base) /* a box of unknown size has at least the first bytes */
		place.bytes = 16;
	copy = add(c, &place);
	if (copy)
		copy->kind = is_bulk ? BULK : BY_THREADS;
	if (is_bulk || !place.base || is_there(c, place.base))
		return;
	copy = add(c, &place);
	if (!copy)
		return;
	copy->variable = place.base;
	copy->place.ins = ins;
}

static void add_product(struct copies *c, const struct tcb_ptx_ins *ins)
{
	struct tcb_ptx_async_place place = { .ins = ins };
	struct copy *copy;

	for (unsigned i = 1; i < 3; i++) {
		place.base = tcb_ptx_async_tile(c->a, ins, i);
		copy = place.base ? add(c, &place) : NULL;
		if (copy)
			copy->kind = PRODUCT;
	}
}

/* Takes out variables that others write, too. */
static void keep_exclusive(struct copies *c, const struct tcb_ptx_ins *ins)
{
	struct tcb_ptx_async_place place;

	if (ins->op == TCB_PTX_OP_CP_ASYNC || !tcb_ptx_has(ins, TCB_PTX_F_WRITE))
		return;
	for (unsigned i = 0; i < ins->operand_count; i++) {
		if (ins->operands[i].kind != TCB_PTX_O_ADDRESS || !tcb_ptx_async_in_shared(c->a, ins, i, &place) ||
		    !place.writes)
			continue;
		for (unsigned k = 0; k < c->count; k++)
			if (c->copies[k].variable &&
			    (!place.base || tcb_ptx_async_same_memory(place.base, c->copies[k].variable)))
				c->copies[k].is_shared = 1;
	}
}

void tcb_ptx_async_copies(struct tcb_ptx_async *a)
{
	struct copies c = { .a = a };
	struct tcb_ptx_async_flow flow = { 0, step, &c };

	if (!a->has[TCB_PTX_OP_CP_ASYNC] && !a->has[TCB_PTX_OP_CP_ASYNC_BULK] &&
	    !a->has[TCB_PTX_OP_CP_ASYNC_BULK_TENSOR] && !a->has[TCB_PTX_OP_CP_REDUCE_ASYNC_BULK] &&
	    !a->has[TCB_PTX_OP_CP_REDUCE_ASYNC_BULK_TENSOR] && !a->has[TCB_PTX_OP_WGMMA])
		return;
	c.copies = tcb_arena_array(&a->arena, COPIES_MAX, sizeof *c.copies);
	if (!c.copies) {
		a->has_failed = 1;
		return;
	}
	for (uint32_t i = 0; i < a->function->reachable_count; i++)
		for (const struct tcb_ptx_ins *ins = a->function->order[i]->first; ins; ins = ins->next)
			if (ins->op == TCB_PTX_OP_CP_ASYNC || is_bulk_group(ins))
				add_copy(&c, ins);
			else if (ins->op == TCB_PTX_OP_WGMMA)
				add_product(&c, ins);
	for (uint32_t i = 0; i < a->function->reachable_count; i++)
		for (const struct tcb_ptx_ins *ins = a->function->order[i]->first; ins; ins = ins->next)
			keep_exclusive(&c, ins);
	flow.count = c.count;
	tcb_ptx_async_solve(a, &flow);
}
