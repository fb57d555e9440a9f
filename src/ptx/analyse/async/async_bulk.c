/* SPDX-License-Identifier: MIT
 *
 * Of async.h: what a bulk copy asks for.  PTX ISA 9.0, section 9.7.9.25.4: sizes
 * and addresses are multiples of 16, and what it touches is there.
 */
#include "ptx/analyse/async/async_private.h"
#include "ptx/ir/opcodes.h"

enum { MULTIPLE = 16 };

static void check_room(struct tcb_ptx_async *a, const struct tcb_ptx_ins *ins, unsigned operand, uint64_t bytes)
{
	struct tcb_ptx_value v = tcb_ptx_affine_address(a->affine, ins, operand);
	const struct tcb_ptx_symbol *base = tcb_ptx_async_base(a, &v);
	uint64_t room = base && base->space == TCB_PTX_SHARED ? tcb_ptx_symbol_bytes(base) : 0;
	int64_t offset = (int32_t)(uint32_t)v.constant;

	if (!room || !v.known || v.term_count != 1 || v.lanes || offset < 0 || (uint64_t)offset + bytes <= room)
		return;
	tcb_ptx_report(a->sink, TCB_PTX_RULE_BULK_COPY, TCB_PTX_ERROR, a->function, ins,
		       "%llu bytes from byte %lld of '%s' on, which has %llu", (unsigned long long)bytes,
		       (long long)offset, tcb_ptx_async_name(base), (unsigned long long)room);
}

/* Allocations begin on multiples of 16 and more. */
static void check_global(struct tcb_ptx_async *a, const struct tcb_ptx_ins *ins, unsigned operand)
{
	struct tcb_ptx_value v = tcb_ptx_affine_address(a->affine, ins, operand);
	const struct tcb_ptx_symbol *base = tcb_ptx_async_base(a, &v);

	if (!base || base->space != TCB_PTX_PARAM || v.lanes)
		return;
	for (uint32_t i = 0; i < v.term_count; i++) {
		const struct tcb_ptx_symbolic *s = tcb_ptx_affine_symbol(a->affine, v.terms[i].symbol);
		uint64_t step = v.terms[i].factor;

		if (s->kind != TCB_PTX_Y_SPECIAL || v.terms[i].lanes || s->align % MULTIPLE == 0 ||
		    step * s->align % MULTIPLE == 0)
			continue;
		tcb_ptx_report(
			a->sink, TCB_PTX_RULE_BULK_COPY, TCB_PTX_WARNING, a->function, ins,
			"from block to block the address in memory behind '%s' moves by %llu bytes, which is not a "
			"multiple of %d: right only for some blocks, or one alone",
			tcb_ptx_async_name(base), (unsigned long long)step, MULTIPLE);
		return;
	}
}

static void check(struct tcb_ptx_async *a, const struct tcb_ptx_ins *ins)
{
	uint64_t bytes;

	for (unsigned i = 0; i < 2; i++)
		if (tcb_ptx_mod(ins, i ? TCB_PTX_SLOT_SPACE2 : TCB_PTX_SLOT_SPACE) == TCB_PTX_GLOBAL)
			check_global(a, ins, i);
	if (!tcb_ptx_async_constant(a, ins, &ins->operands[2], &bytes))
		return;
	if (bytes % MULTIPLE)
		tcb_ptx_report(a->sink, TCB_PTX_RULE_BULK_COPY, TCB_PTX_ERROR, a->function, ins,
			       "the size, %llu bytes, is not a multiple of %d", (unsigned long long)bytes, MULTIPLE);
	for (unsigned i = 0; i < 2; i++)
		if (tcb_ptx_mod(ins, i ? TCB_PTX_SLOT_SPACE2 : TCB_PTX_SLOT_SPACE) != TCB_PTX_GLOBAL)
			check_room(a, ins, i, bytes);
}

void tcb_ptx_async_bulk(struct tcb_ptx_async *a)
{
	if (!a->has[TCB_PTX_OP_CP_ASYNC_BULK] && !a->has[TCB_PTX_OP_CP_REDUCE_ASYNC_BULK])
		return;
	for (uint32_t i = 0; i < a->function->reachable_count; i++)
		for (const struct tcb_ptx_ins *ins = a->function->order[i]->first; ins; ins = ins->next)
			if (ins->op == TCB_PTX_OP_CP_ASYNC_BULK || ins->op == TCB_PTX_OP_CP_REDUCE_ASYNC_BULK)
				check(a, ins);
}
