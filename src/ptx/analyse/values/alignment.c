/* SPDX-License-Identifier: MIT
 *
 * In: a function.  Out: for each register the power of two that divides its
 * value at all times (tcb_ptx_reg.align), and findings about accesses.
 *
 * An access is misaligned when a low bit of its address is known to be 1, and
 * unproved when one is not known to be 0.  The former is an error if it follows
 * without what is supposed of pointers below, else a warning; the latter is said only of vectors
 * and of instructions that ask for more than the natural alignment of their
 * type, since scalars follow from the types of the language above.
 *
 * What a pointer that comes from outside is a multiple of: what .ptr .align
 * says when it says more than 1; else 256, what allocations of device memory
 * guarantee.  A loaded 64-bit value counts as such a pointer when it goes into
 * an address as it is: through moves, cvta, and sums in which nothing else
 * could be the pointer.  So a kernel that works on slices which begin anywhere
 * must state it with .ptr .align.
 */
#include "ptx/analyse/analyses.h"
#include "ptx/analyse/values/linear.h"
#include "ptx/ir/opcodes.h"

#include <stdlib.h>
#include <string.h>

enum { POINTER_LOG = 8 /* cudaMalloc, cuMemAlloc: 256 bytes */ };

enum role {
	LEADS = 1,  /* goes back to a loaded 64-bit value, unscaled */
	STRONG = 2, /* and is surely a pointer: cvta says so, or .ptr */
	BASE = 4    /* an address is made of it, unscaled */
};

struct work {
	struct tcb_ptx_function *function;
	const struct tcb_ptx_sink *sink;
	uint8_t *role;    /* by register */
	uint8_t *assumed; /* by register: log2 */
	uint8_t *stated;  /* the same, of what .ptr .align says alone */
	struct tcb_ptx_bit_env without;
	int has_without; /* WITHOUT is what follows from STATED */
	int changed;
};

/* The parameter that INS loads, if it is one. */
static const struct tcb_ptx_symbol *loaded_param(const struct tcb_ptx_ins *ins)
{
	const struct tcb_ptx_operand *address = &ins->operands[1];

	return ins->op == TCB_PTX_OP_LD && address->reg == TCB_PTX_NO_REG && address->symbol &&
			       address->symbol->space == TCB_PTX_PARAM
		       ? address->symbol
		       : NULL;
}

static uint8_t role_of(const struct work *w, const struct tcb_ptx_operand *operand)
{
	return operand->kind == TCB_PTX_O_REG ? w->role[operand->reg] & (LEADS | STRONG) : 0;
}

static void give(struct work *w, const struct tcb_ptx_operand *operand, uint8_t role)
{
	if (operand->kind != TCB_PTX_O_REG || (w->role[operand->reg] & role) == role)
		return;
	w->role[operand->reg] |= role;
	w->changed = 1;
}

static int is_pointer_wide(const struct work *w, const struct tcb_ptx_operand *operand)
{
	return operand->kind == TCB_PTX_O_REG && tcb_ptx_type_bits(w->function->regs[operand->reg].type) == 64;
}

/* From loads to addresses. */
static void forward(struct work *w, const struct tcb_ptx_ins *ins)
{
	const struct tcb_ptx_operand *o = ins->operands;
	uint8_t role = 0;

	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_LD:
	case TCB_PTX_OP_LDU:
		for (uint32_t k = 0; k < o[0].count; k++)
			if (is_pointer_wide(w, &o[0].items[k]))
				give(w, &o[0].items[k], LEADS);
		if (is_pointer_wide(w, &o[0]))
			give(w, &o[0], loaded_param(ins) && loaded_param(ins)->is_pointer ? LEADS | STRONG : LEADS);
		return;
	case TCB_PTX_OP_CVTA:
		give(w, &o[1], role_of(w, &o[1]) & LEADS ? STRONG : 0);
		role = role_of(w, &o[1]);
		break;
	case TCB_PTX_OP_ADD:
	case TCB_PTX_OP_SELP:
		role = role_of(w, &o[1]) | role_of(w, &o[2]);
		break;
	case TCB_PTX_OP_MOV:
	case TCB_PTX_OP_SUB:
	case TCB_PTX_OP_SHFL:
		role = role_of(w, &o[1]);
		break;
	case TCB_PTX_OP_MAD:
		role = role_of(w, &o[3]);
		break;
	default:
		return;
	}
	if (role && is_pointer_wide(w, &o[0]))
		give(w, &o[0], role);
}

/* From addresses back to loads; of two summands that both might be the pointer neither is, unless one is strong. */
static void backward(struct work *w, const struct tcb_ptx_ins *ins)
{
	const struct tcb_ptx_operand *o = ins->operands;
	uint8_t a, b;

	if (ins->result_count != 1 || o[0].kind != TCB_PTX_O_REG || !(w->role[o[0].reg] & BASE))
		return;
	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_ADD:
		a = role_of(w, &o[1]);
		b = role_of(w, &o[2]);
		if (a > b || (a == b && a & STRONG))
			give(w, &o[1], BASE);
		if (b > a || (a == b && b & STRONG))
			give(w, &o[2], BASE);
		return;
	case TCB_PTX_OP_SELP:
		give(w, &o[1], BASE);
		give(w, &o[2], BASE);
		return;
	case TCB_PTX_OP_CVTA:
	case TCB_PTX_OP_MOV:
	case TCB_PTX_OP_SUB:
	case TCB_PTX_OP_SHFL:
		give(w, &o[1], BASE);
		return;
	case TCB_PTX_OP_MAD:
		give(w, &o[3], BASE);
		return;
	default:
		return;
	}
}

static void each_ins(struct work *w, void (*see)(struct work *w, const struct tcb_ptx_ins *ins), int from_end)
{
	const struct tcb_ptx_function *function = w->function;

	for (uint32_t i = 0; i < function->reachable_count; i++) {
		const struct tcb_ptx_block *block = function->order[from_end ? function->reachable_count - 1 - i : i];

		for (const struct tcb_ptx_ins *ins = from_end ? block->last : block->first; ins;
		     ins = from_end ? ins->prev : ins->next)
			see(w, ins);
	}
}

static void mark_addresses(struct work *w, const struct tcb_ptx_ins *ins)
{
	struct tcb_ptx_access access;

	for (unsigned i = 0; i < ins->operand_count; i++)
		if (tcb_ptx_access(ins, i, &access) && ins->operands[i].reg != TCB_PTX_NO_REG)
			w->role[ins->operands[i].reg] |= BASE;
}

static void assume(struct work *w, const struct tcb_ptx_ins *ins)
{
	const struct tcb_ptx_symbol *param;
	const struct tcb_ptx_operand *result = &ins->operands[0];
	uint8_t log = POINTER_LOG;

	if (ins->op != TCB_PTX_OP_LD && ins->op != TCB_PTX_OP_LDU)
		return;
	param = loaded_param(ins);
	if (param && param->is_pointer && param->pointer_align > 1)
		log = (uint8_t)__builtin_ctz(param->pointer_align);
	if (is_pointer_wide(w, result) && w->role[result->reg] & BASE) {
		w->assumed[result->reg] = log;
		w->stated[result->reg] = param && param->is_pointer && param->pointer_align > 1 ? log : 0;
	}
	for (uint32_t k = 0; k < result->count; k++)
		if (is_pointer_wide(w, &result->items[k]) && w->role[result->items[k].reg] & BASE)
			w->assumed[result->items[k].reg] = log;
}

/* --- the accesses --- */

/* Asks for more than a scalar of its type does. */
static int needs_proof(const struct tcb_ptx_ins *ins, const struct tcb_ptx_access *access)
{
	int is_plain = ins->op == TCB_PTX_OP_LD || ins->op == TCB_PTX_OP_LDU || ins->op == TCB_PTX_OP_ST ||
		       ins->op == TCB_PTX_OP_ATOM || ins->op == TCB_PTX_OP_RED;

	return !is_plain || tcb_ptx_vector_count(ins) > 1 || access->align > 8;
}

static struct tcb_ptx_bits address_bits(struct tcb_ptx_bit_env *env, const struct tcb_ptx_operand *address)
{
	struct tcb_ptx_operand base = { .kind = TCB_PTX_O_INT };

	if (address->reg != TCB_PTX_NO_REG) {
		base.kind = TCB_PTX_O_REG;
		base.reg = address->reg;
	} else if (address->symbol) {
		base.kind = TCB_PTX_O_SYMBOL;
		base.symbol = address->symbol;
	}
	return tcb_ptx_bits_add(tcb_ptx_bits_read(env, &base, 64), tcb_ptx_bits_constant(address->bits), 0);
}

/* Whether the address is misaligned whatever pointers from outside are multiples of. */
static int is_misaligned_anyway(struct work *w, const struct tcb_ptx_operand *address, uint64_t low)
{
	struct tcb_error err;

	if (!w->has_without && tcb_ptx_bits_all(w->function, w->stated, &w->without, &err) != TCB_OK)
		return 0;
	w->has_without = 1;
	return (address_bits(&w->without, address).ones & low) != 0;
}

static void check_access(struct work *w, struct tcb_ptx_bit_env *env, const struct tcb_ptx_ins *ins, unsigned index)
{
	const struct tcb_ptx_operand *address = &ins->operands[index];
	struct tcb_ptx_access access;
	struct tcb_ptx_bits bits;
	uint64_t low;

	if (!tcb_ptx_access(ins, index, &access) || access.align < 2 || access.align & (access.align - 1))
		return;
	low = access.align - 1;
	bits = address_bits(env, address);
	if (bits.ones & low) {
		int is_sure = is_misaligned_anyway(w, address, low);

		tcb_ptx_report(w->sink, TCB_PTX_RULE_MISALIGNED, is_sure ? TCB_PTX_ERROR : TCB_PTX_WARNING, w->function,
			       ins, "the address must be a multiple of %u and is %s%llu above one%s", access.align,
			       ((bits.zeros | bits.ones) & low) == low ? "" : "at least ",
			       (unsigned long long)(bits.ones & low),
			       is_sure ? "" : ", if the pointer is as an allocation gives it");
	} else if ((bits.zeros & low) != low && needs_proof(ins, &access) &&
		   1ull << tcb_ptx_linear_trailing(w->function, env, address) < access.align)
		tcb_ptx_report(w->sink, TCB_PTX_RULE_ALIGNMENT_UNPROVED, TCB_PTX_WARNING, w->function, ins,
			       "the address must be a multiple of %u; that it is one of %llu is all that follows from "
			       "the text",
			       access.align, 1ull << tcb_ptx_bits_trailing(bits));
}

static void fill_align(struct tcb_ptx_function *function, const struct tcb_ptx_bit_env *env)
{
	for (uint32_t r = 0; r < function->reg_count; r++) {
		unsigned log = tcb_ptx_bits_trailing(env->reg[r]);

		if (log && function->regs[r].defs && function->regs[r].type != TCB_PTX_PRED)
			function->regs[r].align = 1u << (log < 31 ? log : 31);
	}
}

enum tcb_status tcb_ptx_alignment(struct tcb_ptx_function *function, const struct tcb_ptx_sink *sink,
				  struct tcb_error *err)
{
	struct work w = { .function = function, .sink = sink };
	struct tcb_ptx_bit_env env;
	enum tcb_status status = TCB_OK;

	w.role = calloc(3 * ((size_t)function->reg_count + 1), 1);
	if (!w.role)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the alignment of '%s'", function->symbol->name);
	w.assumed = w.role + function->reg_count + 1;
	w.stated = w.assumed + function->reg_count + 1;
	do {
		w.changed = 0;
		each_ins(&w, forward, 0);
	} while (w.changed);
	each_ins(&w, mark_addresses, 0);
	do {
		w.changed = 0;
		each_ins(&w, backward, 1);
	} while (w.changed);
	each_ins(&w, assume, 0);
	status = tcb_ptx_bits_all(function, w.assumed, &env, err);
	for (uint32_t i = 0; status == TCB_OK && i < function->reachable_count; i++)
		for (const struct tcb_ptx_ins *ins = function->order[i]->first; ins; ins = ins->next)
			for (unsigned k = 0; k < ins->operand_count; k++)
				check_access(&w, &env, ins, k);
	if (status == TCB_OK)
		fill_align(function, &env);
	free(w.role);
	return status;
}
