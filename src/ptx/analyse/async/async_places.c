/* SPDX-License-Identifier: MIT
 *
 * Of async.h: places in shared memory, and whether two of them surely meet.
 */
#include <string.h>

#include "ptx/analyse/async/async_private.h"
#include "ptx/ir/opcodes.h"

enum { WINDOW = 1 << 18 }; /* more than the shared memory of a block */

int tcb_ptx_async_in_shared(struct tcb_ptx_async *a, const struct tcb_ptx_ins *ins, unsigned operand,
			    struct tcb_ptx_async_place *out)
{
	struct tcb_ptx_access access;
	enum tcb_ptx_word space;

	*out = (struct tcb_ptx_async_place){ .ins = ins, .operand = operand };
	if (!tcb_ptx_access(ins, operand, &access))
		return 0;
	out->address = tcb_ptx_affine_address(a->affine, ins, operand);
	space = access.space;
	if (ins->op == TCB_PTX_OP_LDMATRIX || ins->op == TCB_PTX_OP_STMATRIX)
		space = TCB_PTX_SHARED;
	if (space == TCB_PTX_NO_WORD)
		space = tcb_ptx_affine_space(a->affine, &out->address);
	/* a copy that is not multicast, by an address of the block's own, stays in it */
	if (space == TCB_PTX_SHARED_CLUSTER && tcb_ptx_async_base(a, &out->address))
		space = TCB_PTX_SHARED;
	out->is_generic = space == TCB_PTX_NO_WORD || space == TCB_PTX_SHARED_CLUSTER;
	if (space != TCB_PTX_SHARED && space != TCB_PTX_SHARED_CTA && !out->is_generic)
		return 0;
	out->base = tcb_ptx_async_base(a, &out->address);
	if (out->base && out->base->space != TCB_PTX_SHARED)
		return 0;
	out->bytes = access.bytes;
	out->reads = access.reads;
	out->writes = access.writes;
	return 1;
}

/* Whether the address is the same each time, but for what is the same in both. */
static int is_steady(const struct tcb_ptx_async *a, const struct tcb_ptx_value *v)
{
	for (uint32_t i = 0; i < v->term_count; i++)
		if (tcb_ptx_affine_symbol(a->affine, v->terms[i].symbol)->loops)
			return 0;
	return v->known && !v->assumes;
}

static int same_terms(const struct tcb_ptx_value *x, const struct tcb_ptx_value *y)
{
	if (x->term_count != y->term_count)
		return 0;
	for (uint32_t i = 0; i < x->term_count; i++)
		if (x->terms[i].symbol != y->terms[i].symbol || x->terms[i].lanes || y->terms[i].lanes ||
		    (uint32_t)x->terms[i].factor != (uint32_t)y->terms[i].factor)
			return 0;
	return 1;
}

/* Shared memory has addresses of 32 bits. */
static int64_t offset_of(const struct tcb_ptx_value *v, uint32_t thread)
{
	return (int32_t)(uint32_t)tcb_ptx_value_lane(v, thread);
}

int tcb_ptx_async_meet_now(struct tcb_ptx_async *a, const struct tcb_ptx_async_place *x,
			   const struct tcb_ptx_async_place *y, uint32_t pair[2])
{
	uint32_t threads = tcb_ptx_affine_threads(a->affine);
	uint64_t in_x[TCB_PTX_ASYNC_SET_WORDS], in_y[TCB_PTX_ASYNC_SET_WORDS];
	unsigned lanes_x = tcb_ptx_address_lanes(x->ins), lanes_y = tcb_ptx_address_lanes(y->ins);

	if (!x->bytes || !y->bytes || !x->address.known || !y->address.known || x->address.assumes ||
	    y->address.assumes || !same_terms(&x->address, &y->address) || !tcb_ptx_async_present(a, x->ins, in_x) ||
	    !tcb_ptx_async_present(a, y->ins, in_y))
		return 0;
	if (!a->who) {
		a->who = tcb_arena_array(&a->arena, WINDOW, sizeof *a->who);
		a->has_failed |= !a->who;
	}
	if (!a->who)
		return 0;
	a->round++;
	for (uint32_t t = 0; t < threads; t++) {
		int64_t at = offset_of(&x->address, t);

		if (!tcb_ptx_async_is_in(in_x, t) || t % TCB_PTX_WARP >= lanes_x || at < 0 || at + x->bytes > WINDOW)
			continue;
		for (unsigned i = 0; i < x->bytes; i++)
			a->who[at + i] = (uint64_t)a->round << 32 | t;
	}
	for (uint32_t t = 0; t < threads; t++) {
		int64_t at = offset_of(&y->address, t);

		if (!tcb_ptx_async_is_in(in_y, t) || t % TCB_PTX_WARP >= lanes_y)
			continue;
		for (int64_t i = at < 0 ? 0 : at; i < at + y->bytes && i < WINDOW; i++)
			if (a->who[i] >> 32 == a->round) {
				pair[0] = (uint32_t)a->who[i];
				pair[1] = t;
				return 1;
			}
	}
	return 0;
}

int tcb_ptx_async_meet(struct tcb_ptx_async *a, const struct tcb_ptx_async_place *x,
		       const struct tcb_ptx_async_place *y, uint32_t pair[2])
{
	return is_steady(a, &x->address) && is_steady(a, &y->address) && tcb_ptx_async_meet_now(a, x, y, pair);
}

/* --- origins --- */

static void trace(struct tcb_ptx_async *a, const struct tcb_ptx_operand *operand, struct tcb_ptx_async_origin *o)
{
	const struct tcb_ptx_ins *def;

	if (o->left-- <= 0) {
		o->is_open = 1;
		return;
	}
	if ((operand->kind == TCB_PTX_O_SYMBOL || operand->kind == TCB_PTX_O_ADDRESS) && operand->symbol &&
	    operand->reg == TCB_PTX_NO_REG) {
		if (operand->symbol->space == TCB_PTX_SHARED && o->base != operand->symbol) {
			o->base_count++;
			o->base = operand->symbol;
		}
	} else if (operand->kind == TCB_PTX_O_SPECIAL) {
		o->is_of_rank |= operand->special == TCB_PTX_SR_CLUSTER_CTARANK;
	} else if (operand->kind == TCB_PTX_O_REG || operand->kind == TCB_PTX_O_ADDRESS) {
		def = operand->reg == TCB_PTX_NO_REG ? NULL : a->function->regs[operand->reg].def;
		if (!def || tcb_ptx_has(def, TCB_PTX_F_WRITE)) {
			o->is_open = 1;
			return;
		}
		o->is_mapped |= def->op == TCB_PTX_OP_MAPA;
		o->is_open |= tcb_ptx_has(def, TCB_PTX_F_READ);
		for (unsigned i = def->result_count; !tcb_ptx_has(def, TCB_PTX_F_READ) && i < def->operand_count; i++)
			trace(a, &def->operands[i], o);
	}
}

void tcb_ptx_async_trace(struct tcb_ptx_async *a, const struct tcb_ptx_operand *operand,
			 struct tcb_ptx_async_origin *out)
{
	*out = (struct tcb_ptx_async_origin){ .left = 64 };
	trace(a, operand, out);
	if (out->base_count != 1)
		out->base = NULL;
}

const struct tcb_ptx_symbol *tcb_ptx_async_tile(struct tcb_ptx_async *a, const struct tcb_ptx_ins *ins, unsigned index)
{
	struct tcb_ptx_async_origin origin;
	unsigned m, n, k, bits;

	if (ins->operands[index].kind != TCB_PTX_O_REG)
		return NULL;
	tcb_ptx_async_trace(a, &ins->operands[index], &origin);
	tcb_ptx_shape(tcb_ptx_mod(ins, TCB_PTX_SLOT_SHAPE), &m, &n, &k);
	bits = tcb_ptx_type_bits(tcb_ptx_mod(ins, index == 1 ? TCB_PTX_SLOT_TYPE2 : TCB_PTX_SLOT_TYPE3));
	if (!origin.base || origin.is_open || tcb_ptx_symbol_bytes(origin.base) != (index == 1 ? m : n) * k * bits / 8)
		return NULL;
	return origin.base;
}

int tcb_ptx_async_same_memory(const struct tcb_ptx_symbol *x, const struct tcb_ptx_symbol *y)
{
	return x == y || (!tcb_ptx_symbol_bytes(x) && !tcb_ptx_symbol_bytes(y));
}

const char *tcb_ptx_async_name(const struct tcb_ptx_symbol *symbol)
{
	return symbol->source_name ? symbol->source_name : symbol->name;
}
