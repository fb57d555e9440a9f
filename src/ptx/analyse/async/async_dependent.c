/* SPDX-License-Identifier: MIT
 *
 * Of async.h: griddepcontrol.  PTX ISA 9.0, section 9.7.13.13: what the launch
 * before wrote is visible behind griddepcontrol.wait, to the thread that
 * executes it.  Which memory that launch writes is not in the text: a kernel may
 * well read its weights before the wait.  So only what contradicts itself is
 * told: a pointer that is written before; one that is read on both sides, which
 * is a warning where the wait keeps no other read back, and advice where it does,
 * as for weights; and a wait that some threads run, while others read without
 * one.
 */
#include "ptx/analyse/async/async_private.h"
#include "ptx/ir/opcodes.h"

enum { NOT_WAITED = 1, WAITED = 2 };

struct use {
	const struct tcb_ptx_symbol *base;
	const struct tcb_ptx_ins *before, *half; /* the first use that nobody, or not everybody, has waited for */
	int is_written_before, is_used_behind, is_read_behind;
};

struct waits {
	struct tcb_ptx_async *a;
	const struct tcb_ptx_ins *split; /* a wait that not all threads run */
	struct use *uses;
	unsigned count, capacity;
};

static struct use *use_of(struct waits *w, const struct tcb_ptx_symbol *base)
{
	for (unsigned i = 0; i < w->count; i++)
		if (w->uses[i].base == base)
			return &w->uses[i];
	if (w->count == w->capacity)
		return NULL;
	w->uses[w->count] = (struct use){ .base = base };
	return &w->uses[w->count++];
}

static void see_access(struct waits *w, const struct tcb_ptx_ins *ins, unsigned operand, uint16_t state)
{
	const struct tcb_ptx_symbol *base;
	struct tcb_ptx_access access;
	struct tcb_ptx_value address;
	struct use *use;

	if (!tcb_ptx_access(ins, operand, &access) || access.space == TCB_PTX_SHARED || access.space == TCB_PTX_PARAM ||
	    access.space == TCB_PTX_CONST || access.space == TCB_PTX_LOCAL || access.space == TCB_PTX_SHARED_CTA ||
	    access.space == TCB_PTX_SHARED_CLUSTER)
		return;
	address = tcb_ptx_affine_address(w->a->affine, ins, operand);
	base = tcb_ptx_async_base(w->a, &address);
	if (!base || base->space != TCB_PTX_PARAM)
		return;
	use = use_of(w, base);
	if (!use)
		return;
	if (state & WAITED) {
		use->is_used_behind = 1;
		use->is_read_behind |= access.reads;
	}
	if (state == NOT_WAITED) {
		use->before = use->before ? use->before : ins;
		use->is_written_before |= access.writes;
	} else if (state & NOT_WAITED && !use->half) {
		use->half = ins;
	}
}

static void step(void *ctx, const struct tcb_ptx_ins *ins, uint16_t *state, int is_last)
{
	struct waits *w = ctx;

	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_GRIDDEPCONTROL:
		if (tcb_ptx_mod(ins, TCB_PTX_SLOT_MODE) == TCB_PTX_WAIT)
			*state = WAITED;
		return;
	case TCB_PTX_OP_CALL:
	case TCB_PTX_OP_OPAQUE:
		if (!tcb_ptx_async_may_be(ins, "griddepcontrol"))
			return;
		*state = WAITED;
		return;
	case TCB_PTX_OP_MBARRIER_TEST_WAIT:
	case TCB_PTX_OP_MBARRIER_TRY_WAIT:
		*state = WAITED; /* by others, perhaps */
		return;
	default:
		break;
	}
	if (tcb_ptx_has(ins, TCB_PTX_F_BARRIER) && *state & WAITED)
		*state = WAITED;
	for (unsigned i = 0; is_last && i < ins->operand_count; i++)
		see_access(w, ins, i, *state);
}

static int is_split(struct tcb_ptx_async *a, const struct tcb_ptx_ins *ins)
{
	struct tcb_ptx_value guard;

	if (tcb_ptx_affine_presence(a->affine, ins->block) != TCB_PTX_ALL_ALIKE)
		return 1;
	if (ins->guard == TCB_PTX_NO_REG)
		return 0;
	guard = tcb_ptx_affine_guard(a->affine, ins);
	return !tcb_ptx_value_is_uniform(&guard);
}

static unsigned count_waits(struct waits *w)
{
	unsigned count = 0;

	for (uint32_t i = 0; i < w->a->function->reachable_count; i++)
		for (const struct tcb_ptx_ins *ins = w->a->function->order[i]->first; ins; ins = ins->next)
			if (ins->op == TCB_PTX_OP_GRIDDEPCONTROL &&
			    tcb_ptx_mod(ins, TCB_PTX_SLOT_MODE) == TCB_PTX_WAIT) {
				count++;
				if (!w->split && is_split(w->a, ins))
					w->split = ins;
			}
	return count;
}

/* Whether there is memory that is read, and only behind the wait. */
static int keeps_a_read_back(const struct waits *w)
{
	for (unsigned i = 0; i < w->count; i++)
		if (w->uses[i].is_read_behind && !w->uses[i].before && !w->uses[i].half)
			return 1;
	return 0;
}

static void report(const struct waits *w, const struct use *use)
{
	const struct tcb_ptx_function *f = w->a->function;
	const int is_known = !use->is_written_before && keeps_a_read_back(w);

	if (use->before && (use->is_written_before || use->is_used_behind))
		tcb_ptx_report(
			w->a->sink, TCB_PTX_RULE_GRIDDEPCONTROL, is_known ? TCB_PTX_ADVICE : TCB_PTX_WARNING, f,
			use->before,
			"memory behind '%s' is %s before griddepcontrol.wait%s: right only if the launch before does "
			"not touch it",
			tcb_ptx_async_name(use->base), use->is_written_before ? "written" : "read",
			use->is_used_behind ? ", and used after it" : "");
	else if (use->half && w->split)
		tcb_ptx_report(
			w->a->sink, TCB_PTX_RULE_GRIDDEPCONTROL, TCB_PTX_WARNING, f, use->half,
			"memory behind '%s' is accessed by threads that skip the griddepcontrol.wait of line %u, which "
			"is for the threads that run it; a barrier behind it would do for all",
			tcb_ptx_async_name(use->base), w->split->line);
}

void tcb_ptx_async_dependent(struct tcb_ptx_async *a)
{
	struct waits w = { .a = a };
	const struct tcb_ptx_async_flow flow = { 1, step, &w };

	if (!a->has[TCB_PTX_OP_GRIDDEPCONTROL] || count_waits(&w) == 0)
		return;
	for (const struct tcb_ptx_symbol *p = a->function->params; p; p = p->next)
		w.capacity++;
	w.uses = tcb_arena_array(&a->arena, w.capacity + 1, sizeof *w.uses);
	if (!w.uses) {
		a->has_failed = 1;
		return;
	}
	tcb_ptx_async_solve(a, &flow);
	for (unsigned i = 0; i < w.count; i++)
		report(&w, &w.uses[i]);
}
