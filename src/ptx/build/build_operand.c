/* SPDX-License-Identifier: MIT
 *
 * In: numbers, registers, symbols and other operands.  Out: operands made of
 * them; new registers.  No instruction is appended here.
 */
#include <string.h>

#include "ptx/build/build_parts.h"

struct tcb_ptx_operand tcb_ptx_int(int64_t value)
{
	return (struct tcb_ptx_operand){ .kind = TCB_PTX_O_INT, .reg = TCB_PTX_NO_REG, .bits = (uint64_t)value };
}

struct tcb_ptx_operand tcb_ptx_f32(float value)
{
	struct tcb_ptx_operand operand = { .kind = TCB_PTX_O_F32, .reg = TCB_PTX_NO_REG };
	uint32_t bits;

	memcpy(&bits, &value, sizeof bits);
	operand.bits = bits;
	return operand;
}

struct tcb_ptx_operand tcb_ptx_sink_operand(void)
{
	return (struct tcb_ptx_operand){ .kind = TCB_PTX_O_SINK, .reg = TCB_PTX_NO_REG };
}

struct tcb_ptx_operand tcb_ptx_not(struct tcb_ptx_operand predicate)
{
	predicate.negated ^= predicate.kind == TCB_PTX_O_REG;
	return predicate;
}

struct tcb_ptx_operand tcb_ptx_at(struct tcb_ptx_operand base, int64_t offset)
{
	struct tcb_ptx_operand address = { .kind = TCB_PTX_O_ADDRESS, .reg = TCB_PTX_NO_REG, .bits = (uint64_t)offset };

	switch ((enum tcb_ptx_operand_kind)base.kind) {
	case TCB_PTX_O_REG:
		address.reg = base.reg;
		return address;
	case TCB_PTX_O_SYMBOL:
		address.symbol = base.symbol;
		address.bits += base.bits;
		return address;
	case TCB_PTX_O_INT:
		address.bits += base.bits;
		return address;
	case TCB_PTX_O_ADDRESS:
		base.bits += (uint64_t)offset;
		return base;
	default:
		return tcb_ptx_sink_operand();
	}
}

/* OPERAND with a copy of ITEMS. */
static struct tcb_ptx_operand with_items(struct tcb_ptx_build *b, struct tcb_ptx_operand operand,
					 const struct tcb_ptx_operand *items, unsigned count)
{
	if (!tcb_ptx_build_ready(b))
		return tcb_ptx_sink_operand();
	operand.items = tcb_arena_regrow(&b->module->arena, items, count, count, sizeof *items);
	operand.count = count;
	if (!operand.items) {
		tcb_ptx_build_nomem(b);
		return tcb_ptx_sink_operand();
	}
	return operand;
}

struct tcb_ptx_operand tcb_ptx_vector(struct tcb_ptx_build *b, const struct tcb_ptx_operand *items, unsigned count)
{
	struct tcb_ptx_operand vector = { .kind = TCB_PTX_O_VECTOR, .reg = TCB_PTX_NO_REG };

	return with_items(b, vector, items, count);
}

struct tcb_ptx_operand tcb_ptx_at_tile(struct tcb_ptx_build *b, struct tcb_ptx_operand map,
				       const struct tcb_ptx_operand *coordinates, unsigned count)
{
	return with_items(b, tcb_ptx_at(map, 0), coordinates, count);
}

struct tcb_ptx_operand tcb_ptx_pair(struct tcb_ptx_build *b, struct tcb_ptx_operand x, struct tcb_ptx_operand y)
{
	struct tcb_ptx_operand pair = { .kind = TCB_PTX_O_PAIR, .reg = TCB_PTX_NO_REG };

	return with_items(b, pair, (struct tcb_ptx_operand[]){ x, y }, 2);
}

/* A letter more than nvcc uses: the text tells the types of integers apart. */
static const char *prefix_of(enum tcb_ptx_word type)
{
	switch (type) {
	case TCB_PTX_PRED:
		return "%p";
	case TCB_PTX_B8:
	case TCB_PTX_U8:
	case TCB_PTX_S8:
		return "%c";
	case TCB_PTX_B16:
		return "%h";
	case TCB_PTX_U16:
		return "%hu";
	case TCB_PTX_S16:
		return "%hs";
	case TCB_PTX_B32:
		return "%r";
	case TCB_PTX_U32:
		return "%u";
	case TCB_PTX_S32:
		return "%s";
	case TCB_PTX_B64:
		return "%rd";
	case TCB_PTX_U64:
		return "%ud";
	case TCB_PTX_S64:
		return "%sd";
	case TCB_PTX_F32:
		return "%f";
	case TCB_PTX_F64:
		return "%fd";
	case TCB_PTX_B128:
		return "%rq";
	default:
		return NULL; /* no register has it */
	}
}

struct tcb_ptx_operand tcb_ptx_build_reg(struct tcb_ptx_build *b, enum tcb_ptx_word type)
{
	struct tcb_ptx_operand operand = { .kind = TCB_PTX_O_REG };
	const char *prefix = prefix_of(type);

	if (!tcb_ptx_build_ready(b))
		return tcb_ptx_sink_operand();
	if (!prefix) {
		tcb_ptx_build_fail(b, TCB_E_USAGE, "operand-type: no register is of type .%s",
				   type ? tcb_ptx_word_text(type) : "?");
		return tcb_ptx_sink_operand();
	}
	if (b->function->fresh_group[type]) {
		operand.reg = tcb_ptx_reg_new(b->function, type);
	} else {
		operand.reg = tcb_ptx_regs_add(b->function, type, prefix, 1);
		b->function->fresh_group[type] = b->function->group_count;
	}
	if (operand.reg == TCB_PTX_NO_REG) {
		tcb_ptx_build_nomem(b);
		return tcb_ptx_sink_operand();
	}
	return operand;
}

struct tcb_ptx_operand tcb_ptx_reg(struct tcb_ptx_build *b, const char *type)
{
	return tcb_ptx_build_reg(b, tcb_ptx_word_find(type, strlen(type)));
}

struct tcb_ptx_operand tcb_ptx_assume_aligned(struct tcb_ptx_build *b, struct tcb_ptx_operand value, unsigned align)
{
	if (b->status == TCB_OK && tcb_ptx_build_check_align(b, "the assumption", align)) {
		if (value.kind == TCB_PTX_O_REG)
			b->function->regs[value.reg].align = align;
		else
			tcb_ptx_build_fail(b, TCB_E_USAGE, "alignment: only of a register it can be assumed");
	}
	return value;
}
