/* SPDX-License-Identifier: MIT
 *
 * In: an operand that no instruction computes.  Out: its value: addresses of
 * variables, special registers (for each thread, or a symbol where all threads
 * of a block read the same).
 */
#include "ptx/analyse/values/affine_leaf.h"
#include "ptx/analyse/values/affine_intern.h"
#include "ptx/analyse/values/affine_ops.h"
#include "ptx/analyse/values/affine_state.h"

/* Kinds of keys of symbols; others are in affine_ops.c, affine_eval.c, affine_read.c and affine_loops.c. */
#define KEY_SPECIAL (UINT64_C(9) << 32)
#define KEY_ADDRESS (UINT64_C(10) << 32)

static struct tcb_ptx_value uniform_special(struct tcb_ptx_affine *a, enum tcb_ptx_special special)
{
	unsigned bits = tcb_ptx_type_bits(tcb_ptx_special_type(special));
	struct tcb_ptx_symbolic like = { .kind = TCB_PTX_Y_SPECIAL, .align = 1, .max = UINT64_MAX };
	uint64_t key[2] = { KEY_SPECIAL, (uint64_t)special };

	if (bits == 32) /* PTX ISA: grids have at most 2^31 - 1 blocks along x */
		like.max = INT32_MAX;
	return tcb_ptx_value_symbol(a, bits, tcb_ptx_affine_symbol_for(a, key, 2, &like));
}

static uint64_t special_of_thread(const struct tcb_ptx_affine *a, enum tcb_ptx_special special, uint32_t thread)
{
	uint32_t lane = thread % TCB_PTX_WARP;
	uint64_t bit = UINT64_C(1) << lane;

	switch (special) {
	case TCB_PTX_SR_TID_X:
		return thread % a->block[0];
	case TCB_PTX_SR_TID_Y:
		return thread / a->block[0] % a->block[1];
	case TCB_PTX_SR_TID_Z:
		return thread / a->block[0] / a->block[1];
	case TCB_PTX_SR_LANEMASK_EQ:
		return bit;
	case TCB_PTX_SR_LANEMASK_LT:
		return bit - 1;
	case TCB_PTX_SR_LANEMASK_LE:
		return bit | (bit - 1);
	case TCB_PTX_SR_LANEMASK_GT:
		return UINT32_MAX & ~(bit | (bit - 1));
	case TCB_PTX_SR_LANEMASK_GE:
		return UINT32_MAX & ~(bit - 1);
	default: /* LANEID */
		return lane;
	}
}

struct tcb_ptx_value tcb_ptx_affine_special(struct tcb_ptx_affine *a, enum tcb_ptx_special special)
{
	unsigned bits = tcb_ptx_type_bits(tcb_ptx_special_type(special));

	switch (special) {
	case TCB_PTX_SR_TID_X:
	case TCB_PTX_SR_TID_Y:
	case TCB_PTX_SR_TID_Z:
	case TCB_PTX_SR_LANEID:
	case TCB_PTX_SR_LANEMASK_EQ:
	case TCB_PTX_SR_LANEMASK_LE:
	case TCB_PTX_SR_LANEMASK_LT:
	case TCB_PTX_SR_LANEMASK_GE:
	case TCB_PTX_SR_LANEMASK_GT:
		if (!a->block[0])
			return tcb_ptx_value_unknown(bits);
		for (uint32_t t = 0; t < a->threads; t++)
			a->scratch[t] = special_of_thread(a, special, t);
		return tcb_ptx_value_of_lanes(a, bits, a->scratch);
	case TCB_PTX_SR_NTID_X:
	case TCB_PTX_SR_NTID_Y:
	case TCB_PTX_SR_NTID_Z:
		if (a->exact)
			return tcb_ptx_value_number(bits, a->block[special - TCB_PTX_SR_NTID_X]);
		return uniform_special(a, special);
	default: /* a warp's number, too, may change while a thread runs, as the manual says */
		return tcb_ptx_special_varies(special) ? tcb_ptx_value_unknown(bits) : uniform_special(a, special);
	}
}

struct tcb_ptx_value tcb_ptx_affine_symbol_address(struct tcb_ptx_affine *a, const struct tcb_ptx_symbol *symbol)
{
	struct tcb_ptx_symbolic like = { .kind = TCB_PTX_Y_ADDRESS, .max = UINT64_MAX, .variable = symbol };
	uint64_t key[2] = { KEY_ADDRESS, (uintptr_t)symbol };

	like.align = tcb_ptx_symbol_align(symbol);
	if (symbol->space == TCB_PTX_SHARED) {
		like.max = (1 << 24) - 1;
		/* all dynamic shared memory begins at one place; what has a size is some other file's variable */
		if (symbol->linkage == TCB_PTX_EXTERN && !tcb_ptx_symbol_bytes(symbol))
			key[1] = 1;
	}
	return tcb_ptx_value_symbol(a, 64, tcb_ptx_affine_symbol_for(a, key, 2, &like));
}

enum tcb_ptx_word tcb_ptx_affine_space(const struct tcb_ptx_affine *a, const struct tcb_ptx_value *address)
{
	enum tcb_ptx_word space = TCB_PTX_NO_WORD;
	int window = 0;

	if (!address->known)
		return TCB_PTX_NO_WORD;
	for (uint32_t i = 0; i < address->term_count; i++) {
		const struct tcb_ptx_symbolic *symbol = &a->symbols[address->terms[i].symbol];

		if (symbol->kind == TCB_PTX_Y_WINDOW)
			window = 1;
		else if (symbol->kind == TCB_PTX_Y_ADDRESS)
			space = symbol->variable->space;
		else if (symbol->kind == TCB_PTX_Y_PARAM && symbol->variable->is_pointer &&
			 symbol->variable->pointer_space)
			space = symbol->variable->pointer_space;
	}
	/* a variable's address is generic only with its window; global ones need none */
	return space == TCB_PTX_GLOBAL || window ? space : TCB_PTX_NO_WORD;
}

const struct tcb_ptx_symbol *tcb_ptx_affine_variable(const struct tcb_ptx_affine *affine,
						     const struct tcb_ptx_value *address, uint32_t *symbol_out)
{
	const struct tcb_ptx_symbol *found = NULL;

	for (uint32_t i = 0; i < address->term_count; i++) {
		const struct tcb_ptx_term *term = &address->terms[i];

		if (affine->symbols[term->symbol].kind != TCB_PTX_Y_ADDRESS)
			continue;
		if (found || term->factor != 1 || term->lanes)
			return NULL;
		found = affine->symbols[term->symbol].variable;
		*symbol_out = term->symbol;
	}
	return found;
}
