/* SPDX-License-Identifier: MIT
 *
 * In: a function.  Out: the same with moves for its accesses of local memory,
 * where a place is only ever accessed whole and by a known offset.
 *
 * A register that is written once by mov, cvta, or an addition of a number to
 * another such one holds the address of a variable and an offset.  Where it is
 * used for anything but an access, its address has gone elsewhere, and nothing
 * from there on is known.  Accesses are sorted by place; those that overlap
 * without being the same are left alone.
 */
#include "ptx/analyse/flow/slots.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "ptx/ir/opcodes.h"

enum { CHAIN_MAX = 8 };

struct place {
	struct tcb_ptx_symbol *variable;
	uint64_t offset;
	unsigned bytes;
	struct tcb_ptx_ins *ins; /* the load or store; NULL: the address goes elsewhere */
};

struct slots {
	struct tcb_ptx_function *function;
	struct place *places;
	size_t count, capacity;
	int failed;
};

/* The variable of local memory and the offset in it whose address REG holds; NULL for any other. */
static struct tcb_ptx_symbol *base_of(const struct tcb_ptx_function *f, uint32_t reg, uint64_t *offset)
{
	*offset = 0;
	for (unsigned depth = 0; depth < CHAIN_MAX && reg != TCB_PTX_NO_REG; depth++) {
		const struct tcb_ptx_ins *def = f->regs[reg].defs == 1 ? f->regs[reg].def : NULL;
		const struct tcb_ptx_operand *source = def && def->operand_count > 1 ? &def->operands[1] : NULL;

		if (!source || def->guard != TCB_PTX_NO_REG)
			return NULL;
		if (def->op == TCB_PTX_OP_ADD && def->operands[2].kind == TCB_PTX_O_INT)
			*offset += def->operands[2].bits;
		else if (def->op != TCB_PTX_OP_MOV && def->op != TCB_PTX_OP_CVTA)
			return NULL;
		if (source->kind == TCB_PTX_O_SYMBOL) {
			*offset += source->bits;
			return source->symbol->space == TCB_PTX_LOCAL ? source->symbol : NULL;
		}
		reg = source->kind == TCB_PTX_O_REG ? source->reg : TCB_PTX_NO_REG;
	}
	return NULL;
}

/* The same of an operand; for an address its own offset counts. */
static struct tcb_ptx_symbol *base_of_operand(const struct tcb_ptx_function *f, const struct tcb_ptx_operand *operand,
					      uint64_t *offset)
{
	struct tcb_ptx_symbol *found = NULL;

	*offset = 0;
	if (operand->kind == TCB_PTX_O_REG || (operand->kind == TCB_PTX_O_ADDRESS && operand->reg != TCB_PTX_NO_REG))
		found = base_of(f, operand->reg, offset);
	else if (operand->symbol && operand->symbol->space == TCB_PTX_LOCAL &&
		 (operand->kind == TCB_PTX_O_SYMBOL || operand->kind == TCB_PTX_O_ADDRESS))
		found = operand->symbol;
	if (operand->kind != TCB_PTX_O_REG)
		*offset += operand->bits;
	return found;
}

static void add_place(struct slots *s, const struct place *place)
{
	struct place *places = tcb_grow(s->places, s->count, &s->capacity, 64, sizeof *places);

	s->failed |= !places;
	if (!places)
		return;
	s->places = places;
	s->places[s->count++] = *place;
}

static void add_escapes(struct slots *s, const struct tcb_ptx_operand *operand)
{
	struct place place = { 0 };

	for (uint32_t i = 0; i < operand->count; i++)
		add_escapes(s, &operand->items[i]);
	place.variable = base_of_operand(s->function, operand, &place.offset);
	if (place.variable)
		add_place(s, &place);
}

/* Whether INS only hands the address in its source on to a register that base_of knows. */
static int hands_on(const struct slots *s, const struct tcb_ptx_ins *ins)
{
	uint64_t offset;

	return (ins->op == TCB_PTX_OP_MOV || ins->op == TCB_PTX_OP_CVTA || ins->op == TCB_PTX_OP_ADD) &&
	       ins->operands[0].kind == TCB_PTX_O_REG && base_of(s->function, ins->operands[0].reg, &offset);
}

/* What INS moves by itself between a register, or a number, and memory; NULL for anything else. */
static const struct tcb_ptx_operand *moved_by(const struct tcb_ptx_ins *ins)
{
	const struct tcb_ptx_operand *value = &ins->operands[ins->op == TCB_PTX_OP_LD ? 0 : 1];
	enum tcb_ptx_word order = tcb_ptx_mod(ins, TCB_PTX_SLOT_ORDER);

	if ((ins->op != TCB_PTX_OP_LD && ins->op != TCB_PTX_OP_ST) || ins->operand_count != 2 ||
	    (order != TCB_PTX_NO_WORD && order != TCB_PTX_WEAK))
		return NULL;
	return value->kind == TCB_PTX_O_REG || (ins->op == TCB_PTX_OP_ST && value->kind != TCB_PTX_O_VECTOR) ? value
													     : NULL;
}

static void look_at(struct slots *s, struct tcb_ptx_ins *ins)
{
	unsigned address = ins->op == TCB_PTX_OP_LD ? 1 : 0;
	struct place place = { .ins = ins };

	if (hands_on(s, ins))
		return;
	for (unsigned i = 0; i < ins->operand_count; i++) {
		if ((ins->op == TCB_PTX_OP_LD || ins->op == TCB_PTX_OP_ST) && i == address)
			place.variable = base_of_operand(s->function, &ins->operands[i], &place.offset);
		else
			add_escapes(s, &ins->operands[i]);
	}
	if (!place.variable)
		return;
	place.bytes = tcb_ptx_type_bits(tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE)) / 8 * tcb_ptx_vector_count(ins);
	add_place(s, &place);
}

static int by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->variable != y->variable)
		return x->variable->item < y->variable->item ? -1 : 1;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	if (!x->ins != !y->ins)
		return x->ins ? 1 : -1; /* where an address goes elsewhere comes first */
	return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

/* Whether INS becomes a move of a register of BITS bits. */
static int can_move(const struct slots *s, const struct tcb_ptx_ins *ins, unsigned bits)
{
	const struct tcb_ptx_operand *value = moved_by(ins);

	return value && bits >= 16 &&
	       (value->kind != TCB_PTX_O_REG || tcb_ptx_type_bits(s->function->regs[value->reg].type) == bits);
}

static enum tcb_status make_moves(struct slots *s, size_t from, size_t to, unsigned bits, struct tcb_error *err)
{
	static const struct {
		unsigned bits;
		const char *move;
		enum tcb_ptx_word type;
	} kinds[] = { { 16, "mov.b16", TCB_PTX_B16 }, { 32, "mov.b32", TCB_PTX_B32 }, { 64, "mov.b64", TCB_PTX_B64 } };
	const unsigned kind = bits == 16 ? 0 : bits == 32 ? 1 : 2;
	uint32_t slot = tcb_ptx_reg_new(s->function, kinds[kind].type);

	if (slot == TCB_PTX_NO_REG)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the registers of '%s'", s->function->symbol->name);
	for (size_t i = from; i < to; i++) {
		struct tcb_ptx_ins *ins = s->places[i].ins;
		unsigned address = ins->op == TCB_PTX_OP_LD ? 1 : 0;

		ins->operands[address] = (struct tcb_ptx_operand){ .kind = TCB_PTX_O_REG, .reg = slot };
		TCB_TRY(tcb_ptx_resolve(ins, kinds[kind].move, 7, err));
	}
	return TCB_OK;
}

/* Whether F32 or F64 numbers are stored: moves of bits do not take them. */
static int is_number_of_bits(const struct tcb_ptx_ins *ins)
{
	const struct tcb_ptx_operand *value = moved_by(ins);

	return value && (value->kind == TCB_PTX_O_REG || value->kind == TCB_PTX_O_INT);
}

static enum tcb_status replace(struct slots *s, struct tcb_error *err)
{
	const struct tcb_ptx_symbol *variable = NULL;
	uint64_t open = 0; /* from here on something else may access VARIABLE, or has */
	int is_lost = 0;   /* all behind may be accessed by others */

	for (size_t i = 0, end; i < s->count; i = end) {
		const struct place *first = &s->places[i];
		unsigned bits = 8 * first->bytes;
		int can = first->ins != NULL && (bits == 16 || bits == 32 || bits == 64);

		if (first->variable != variable) {
			variable = first->variable;
			open = 0;
			is_lost = 0;
		}
		is_lost |= !first->ins || first->offset > INT64_MAX;
		can &= !is_lost && first->offset >= open;
		for (end = i;
		     end < s->count && s->places[end].variable == variable && s->places[end].offset == first->offset;
		     end++) {
			const struct place *at = &s->places[end];

			can &= at->ins && at->bytes == first->bytes && can_move(s, at->ins, bits) &&
			       is_number_of_bits(at->ins);
			if (at->offset + at->bytes > open)
				open = at->offset + at->bytes;
		}
		/* the next access, or an address that goes elsewhere, lies behind */
		if (end < s->count && s->places[end].variable == variable && s->places[end].offset < open)
			can = 0;
		if (can)
			TCB_TRY(make_moves(s, i, end, bits, err));
	}
	return TCB_OK;
}

static int has_locals(const struct tcb_ptx_function *function)
{
	for (const struct tcb_ptx_symbol *local = function->locals; local; local = local->next)
		if (local->space == TCB_PTX_LOCAL)
			return 1;
	return 0;
}

enum tcb_status tcb_ptx_local_slots(struct tcb_ptx_function *function, struct tcb_error *err)
{
	struct slots s = { .function = function };
	enum tcb_status status = TCB_OK;

	if (!has_locals(function))
		return TCB_OK;
	for (struct tcb_ptx_block *block = function->first; block; block = block->next)
		for (struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
			look_at(&s, ins);
	if (s.failed) {
		free(s.places);
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the variables of '%s'", function->symbol->name);
	}
	if (s.count) {
		qsort(s.places, s.count, sizeof *s.places, by_place);
		status = replace(&s, err);
		tcb_ptx_number(function);
	}
	free(s.places);
	return status;
}
