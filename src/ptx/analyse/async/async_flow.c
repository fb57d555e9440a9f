/* SPDX-License-Identifier: MIT
 *
 * Of async.h: the dataflow that the families share, who runs an instruction, and
 * what an address is based on.
 */
#include <string.h>

#include "ptx/analyse/async/async_private.h"
#include "ptx/ir/opcodes.h"

/* --- the dataflow --- */

static void step(const struct tcb_ptx_async_flow *flow, const struct tcb_ptx_ins *ins, uint16_t *state,
		 uint16_t *before, int is_last)
{
	int is_guarded = ins->guard != TCB_PTX_NO_REG;

	if (is_guarded)
		memcpy(before, state, flow->count * sizeof *state);
	flow->step(flow->ctx, ins, state, is_last);
	for (unsigned i = 0; is_guarded && i < flow->count; i++)
		state[i] |= before[i];
}

static void run_block(const struct tcb_ptx_async_flow *flow, const struct tcb_ptx_block *block, uint16_t *state,
		      uint16_t *before, int is_last)
{
	for (const struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
		step(flow, ins, state, before, is_last);
}

/* Adds FROM to INTO; whether that was more. */
static int merge(uint16_t *into, const uint16_t *from, unsigned count)
{
	unsigned grown = 0;

	for (unsigned i = 0; i < count; i++) {
		grown |= from[i] & ~into[i];
		into[i] |= from[i];
	}
	return grown != 0;
}

int tcb_ptx_async_solve(struct tcb_ptx_async *a, const struct tcb_ptx_async_flow *flow)
{
	const struct tcb_ptx_function *f = a->function;
	size_t n = flow->count;
	uint16_t *in, *state, *before;
	uint8_t *is_due;
	int again = 1;

	if (n == 0 || f->reachable_count == 0 || n * f->block_count > TCB_PTX_ASYNC_CELLS_MAX)
		return 0;
	in = tcb_arena_array(&a->arena, n * f->block_count, sizeof *in);
	state = tcb_arena_array(&a->arena, n, sizeof *state);
	before = tcb_arena_array(&a->arena, n, sizeof *before);
	is_due = tcb_arena_array(&a->arena, f->block_count, sizeof *is_due);
	if (!in || !state || !before || !is_due) {
		a->has_failed = 1;
		return 0;
	}
	for (size_t i = 0; i < n; i++)
		in[n * f->order[0]->number + i] = 1;
	is_due[f->order[0]->number] = 1;
	while (again) {
		again = 0;
		for (uint32_t i = 0; i < f->reachable_count; i++) {
			const struct tcb_ptx_block *block = f->order[i];

			if (!is_due[block->number])
				continue;
			is_due[block->number] = 0;
			memcpy(state, in + n * block->number, n * sizeof *state);
			run_block(flow, block, state, before, 0);
			for (uint32_t s = 0; s < block->succ_count; s++)
				if (merge(in + n * block->succ[s]->number, state, flow->count))
					again = is_due[block->succ[s]->number] = 1;
		}
	}
	for (const struct tcb_ptx_block *block = f->first; block; block = block->next)
		if (block->order != UINT32_MAX) {
			memcpy(state, in + n * block->number, n * sizeof *state);
			run_block(flow, block, state, before, 1);
		}
	return 1;
}

/* --- who and what --- */

/* Whether what FUNCTION does is known to be nothing of the kind that is judged here. */
static int is_harmless(const struct tcb_ptx_function *function)
{
	static const char *const known[] = {
		"vprintf", "__assertfail", "malloc", "free", "cudaGetParameterBufferV2", "cudaLaunchDeviceV2"
	};

	if (function->is_declaration) {
		for (size_t i = 0; i < sizeof known / sizeof *known; i++)
			if (strcmp(function->symbol->name, known[i]) == 0)
				return 1;
		return 0;
	}
	for (const struct tcb_ptx_block *block = function->first; block; block = block->next)
		for (const struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
			if (ins->op == TCB_PTX_OP_CALL || ins->op == TCB_PTX_OP_OPAQUE ||
			    tcb_ptx_has(ins, TCB_PTX_F_BARRIER | TCB_PTX_F_ASYNC | TCB_PTX_F_FENCE))
				return 0;
	return 1;
}

static const struct tcb_ptx_function *called(const struct tcb_ptx_ins *ins)
{
	for (unsigned i = 0; i < ins->operand_count; i++)
		if (ins->operands[i].kind == TCB_PTX_O_SYMBOL && ins->operands[i].symbol->function)
			return ins->operands[i].symbol->function;
	return NULL;
}

int tcb_ptx_async_may_be(const struct tcb_ptx_ins *ins, const char *family)
{
	const struct tcb_ptx_function *function;

	if (ins->op == TCB_PTX_OP_OPAQUE)
		return strncmp(ins->opaque->mnemonic, family, strlen(family)) == 0;
	function = ins->op == TCB_PTX_OP_CALL ? called(ins) : NULL;
	return ins->op == TCB_PTX_OP_CALL && !(function && is_harmless(function));
}

int tcb_ptx_async_present(struct tcb_ptx_async *a, const struct tcb_ptx_ins *ins, uint64_t *set)
{
	uint32_t threads = tcb_ptx_affine_threads(a->affine);
	struct tcb_ptx_value guard;
	const uint64_t *active;

	if (threads == 0 || tcb_ptx_affine_presence(a->affine, ins->block) == TCB_PTX_AT_MOST)
		return 0;
	active = tcb_ptx_affine_active(a->affine, ins->block);
	memset(set, 0, TCB_PTX_ASYNC_SET_WORDS * sizeof *set);
	memcpy(set, active, (threads + 63) / 64 * sizeof *set);
	if (ins->guard == TCB_PTX_NO_REG)
		return 1;
	guard = tcb_ptx_affine_guard(a->affine, ins);
	if (tcb_ptx_value_is_uniform(&guard))
		return 1;
	if (!guard.known || guard.term_count)
		return 0;
	for (uint32_t t = 0; t < threads; t++)
		if (!tcb_ptx_value_lane(&guard, t))
			set[t / 64] &= ~(UINT64_C(1) << (t % 64));
	return 1;
}

int tcb_ptx_async_constant(struct tcb_ptx_async *a, const struct tcb_ptx_ins *ins,
			   const struct tcb_ptx_operand *operand, uint64_t *out)
{
	struct tcb_ptx_value v;

	if (operand->kind == TCB_PTX_O_INT) {
		*out = operand->bits;
		return 1;
	}
	v = tcb_ptx_affine_operand(a->affine, ins, operand);
	*out = v.constant & tcb_ptx_value_mask(&v);
	return v.known && v.term_count == 0 && !v.lanes;
}

const struct tcb_ptx_symbol *tcb_ptx_async_base(struct tcb_ptx_async *a, const struct tcb_ptx_value *address)
{
	const struct tcb_ptx_symbol *found = NULL;

	for (uint32_t i = 0; address->known && i < address->term_count; i++) {
		const struct tcb_ptx_symbolic *s = tcb_ptx_affine_symbol(a->affine, address->terms[i].symbol);

		if ((s->kind != TCB_PTX_Y_ADDRESS && s->kind != TCB_PTX_Y_PARAM) || address->terms[i].factor != 1 ||
		    address->terms[i].lanes)
			continue;
		if (found)
			return NULL;
		found = s->variable;
	}
	return found;
}
