/* SPDX-License-Identifier: MIT
 *
 * Of async.h: masks of shuffles, votes and the like that name lanes which do not
 * come.  PTX ISA 9.0, sections 9.7.9.6 and 9.7.13: all lanes that a mask names and
 * that have not ended run the instruction, and what is read of one that has ended is
 * undefined.
 *
 * What a mask names is known where it is a number, or where activemask, a ballot or a
 * match gave it: a lane that was there then and surely does not come here is named in
 * vain.  A full mask that is a number is barrier_safety.c's.  A vote or
 * bar.warp.sync is right if the lanes that its mask names have ended.
 */
#include "ptx/analyse/async/async_private.h"
#include "ptx/analyse/witness.h"
#include "ptx/ir/opcodes.h"

enum { COPIES_MAX = 8 };

struct naming {
	struct tcb_ptx_async *a;
	struct tcb_ptx_coming coming;
	int is_ready; /* COMING is there */
};

enum answer { NO, MAYBE, YES };

/* A mask, as the instruction that it stands in sees it. */
struct mask {
	const struct tcb_ptx_ins *ins, *origin; /* ORIGIN: NULL when it is a number */
	struct tcb_ptx_value value, key;        /* KEY: the predicate of a ballot, or what a match compares */
	const uint64_t *there;                  /* who surely came to ORIGIN */
};

/* --- what names --- */

/* Elect takes no value of another lane: async_masks.c says what there is to say. */
static const struct tcb_ptx_operand *mask_of(const struct tcb_ptx_ins *ins)
{
	return ins->op == TCB_PTX_OP_ELECT ? NULL : tcb_ptx_async_mask(ins);
}

/* The instruction whose result OPERAND is, through copies; NULL when there are several. */
static const struct tcb_ptx_ins *origin_of(const struct tcb_ptx_function *f, const struct tcb_ptx_operand *operand)
{
	for (int left = COPIES_MAX; left && operand->kind == TCB_PTX_O_REG; left--) {
		const struct tcb_ptx_ins *def = f->regs[operand->reg].defs == 1 ? f->regs[operand->reg].def : NULL;

		if (!def || def->guard != TCB_PTX_NO_REG || def->op != TCB_PTX_OP_MOV)
			return def && def->guard == TCB_PTX_NO_REG ? def : NULL;
		operand = &def->operands[1];
	}
	return NULL;
}

static int makes_mask(const struct tcb_ptx_ins *ins)
{
	return ins->op == TCB_PTX_OP_ACTIVEMASK || ins->op == TCB_PTX_OP_MATCH_ANY ||
	       (ins->op == TCB_PTX_OP_VOTE && tcb_ptx_mod(ins, TCB_PTX_SLOT_MODE) == TCB_PTX_BALLOT);
}

/* Whether the mask that lane USER has names lane OTHER of its warp. */
static enum answer names(const struct mask *m, uint32_t user, uint32_t other)
{
	if (!m->origin)
		return tcb_ptx_value_lane(&m->value, user) >> other % 32 & 1 ? YES : NO;
	if (!tcb_ptx_async_is_in(m->there, other))
		return NO;
	if (m->origin->op == TCB_PTX_OP_ACTIVEMASK)
		return MAYBE; /* the manual does not say that lanes are together */
	if (!m->value.known || m->value.term_count || !(tcb_ptx_value_lane(&m->value, user) >> other % 32 & 1) ||
	    !m->key.known || m->key.term_count)
		return NO;
	if (m->origin->op == TCB_PTX_OP_VOTE)
		return tcb_ptx_value_lane(&m->key, other) & 1 ? YES : NO;
	return tcb_ptx_value_lane(&m->key, user) == tcb_ptx_value_lane(&m->key, other) ? YES : NO;
}

/* 0 when nothing is known of the mask of INS, or all is said of it elsewhere. */
static int find_mask(struct naming *n, const struct tcb_ptx_ins *ins, struct mask *out)
{
	const struct tcb_ptx_operand *operand = mask_of(ins);

	if (!operand)
		return 0;
	*out = (struct mask){ .ins = ins, .value = tcb_ptx_affine_operand(n->a->affine, ins, operand) };
	if (out->value.known && !out->value.term_count)
		return (uint32_t)tcb_ptx_value_lane(&out->value, 0) != UINT32_MAX || out->value.lanes;
	out->origin = origin_of(n->a->function, operand);
	return out->origin && makes_mask(out->origin) && out->origin->block->order != UINT32_MAX;
}

/* What the origin of M takes. */
static void find_origin(struct naming *n, struct mask *m)
{
	const struct tcb_ptx_ins *origin = m->origin;

	m->there = tcb_ptx_must_of(&n->coming, origin->block);
	if (origin->op == TCB_PTX_OP_ACTIVEMASK)
		return;
	m->key = tcb_ptx_affine_operand(n->a->affine, origin, &origin->operands[1]);
	m->value = tcb_ptx_affine_operand(n->a->affine, origin, mask_of(origin));
}

/* --- who comes --- */

/* Whether BLOCK only ends threads. */
static int only_ends(const struct tcb_ptx_block *block)
{
	return block->first && (block->first->op == TCB_PTX_OP_RET || block->first->op == TCB_PTX_OP_EXIT);
}

/* Whether THREAD surely runs on behind INS, where those that run INS come, too. */
static int lives_on(const struct naming *n, const struct tcb_ptx_ins *ins, uint32_t thread)
{
	const struct tcb_ptx_dominators *d = tcb_ptx_affine_dominators(n->a->affine);

	for (const struct tcb_ptx_block *at = d->ipdom[ins->block->number]; at; at = d->ipdom[at->number])
		if (!only_ends(at) && tcb_ptx_async_is_in(tcb_ptx_must_of(&n->coming, at), thread))
			return 1;
	return 0;
}

/* Whether THREAD reads lane LANE by INS, a shuffle; where that is unknown, it may. */
static enum answer reads(struct naming *n, const struct tcb_ptx_ins *ins, uint32_t thread, unsigned lane)
{
	struct tcb_ptx_value by = tcb_ptx_affine_operand(n->a->affine, ins, &ins->operands[2]);
	uint64_t clamp;

	if (!by.known || by.term_count || !tcb_ptx_async_constant(n->a, ins, &ins->operands[3], &clamp))
		return MAYBE;
	return tcb_ptx_async_source_lane(ins, thread % 32, tcb_ptx_value_lane(&by, thread), clamp) == lane ? YES : NO;
}

/* --- what is told --- */

static void tell_absent(const struct naming *n, const struct mask *m, uint32_t user, uint32_t other, int is_sure)
{
	enum tcb_ptx_rule rule = m->ins->op == TCB_PTX_OP_BAR_WARP_SYNC ? TCB_PTX_RULE_BARRIER_DIVERGENT
									: TCB_PTX_RULE_SHUFFLE_DIVERGENT;

	tcb_ptx_report(n->a->block_sink, rule, is_sure ? TCB_PTX_ERROR : TCB_PTX_WARNING, n->a->function, m->ins,
		       "the mask of thread %u%s names thread %u, which goes another way and does not come here", user,
		       m->origin ? ", of before the branch," : "", other);
}

static void tell_ended(const struct naming *n, const struct mask *m, uint32_t user, uint32_t other, int is_sure)
{
	tcb_ptx_report(
		n->a->block_sink, TCB_PTX_RULE_SHUFFLE_EXITED, is_sure ? TCB_PTX_ERROR : TCB_PTX_WARNING,
		n->a->function, m->ins,
		"thread %u %s the value of thread %u, which its mask%s names and which does not come here: that is "
		"undefined",
		user, is_sure ? "reads" : "may read", other, m->origin ? ", of before the branch," : "");
}

/* The threads of USER's warp that are named and absent; whether one was told. */
static int check_user(struct naming *n, const struct mask *m, const uint64_t *set, uint32_t user)
{
	const uint64_t *may = tcb_ptx_affine_active(n->a->affine, m->ins->block);
	uint32_t first = user & ~31u, threads = tcb_ptx_affine_threads(n->a->affine);

	for (uint32_t other = first; other < first + 32 && other < threads; other++) {
		enum answer named, read;

		if (tcb_ptx_async_is_in(set, other) ||
		    (tcb_ptx_async_is_in(may, other) && m->ins->guard == TCB_PTX_NO_REG))
			continue;
		named = names(m, user, other);
		if (named == NO)
			continue;
		if (lives_on(n, m->ins, other)) {
			tell_absent(n, m, user, other, named == YES);
			return 1;
		}
		if (m->ins->op != TCB_PTX_OP_SHFL)
			continue;
		read = reads(n, m->ins, user, other % 32);
		if (read != NO && (read == YES || named == YES)) {
			tell_ended(n, m, user, other, read == YES);
			return 1;
		}
	}
	return 0;
}

static void check_mask(struct naming *n, const struct tcb_ptx_ins *ins)
{
	uint64_t set[TCB_PTX_ASYNC_SET_WORDS];
	struct tcb_error err;
	struct mask m;

	if (!find_mask(n, ins, &m) || !tcb_ptx_async_present(n->a, ins, set))
		return;
	if (!n->is_ready && tcb_ptx_coming_find(n->a->function, n->a->affine, &n->coming, &err) != TCB_OK) {
		n->a->has_failed = 1;
		return;
	}
	n->is_ready = 1;
	if (m.origin)
		find_origin(n, &m);
	for (uint32_t t = 0; t < tcb_ptx_affine_threads(n->a->affine); t++)
		if (tcb_ptx_async_is_in(set, t) && check_user(n, &m, set, t))
			return;
}

void tcb_ptx_async_named(struct tcb_ptx_async *a)
{
	struct naming n = { .a = a };

	for (uint32_t i = 0; i < a->function->reachable_count && !a->has_failed; i++)
		for (const struct tcb_ptx_ins *ins = a->function->order[i]->first; ins; ins = ins->next)
			check_mask(&n, ins);
}
