/* SPDX-License-Identifier: MIT
 *
 * In: the operands of an instruction.  Out: where the interpreter finds their
 * lanes: in the register file, or in the pool of immediates.
 *
 * Addresses of the module's variables depend on the memory of a launch, so they
 * are left as fixups; those of shared memory, of parameters and of the frame's
 * own variables are known now.
 */
#include "ptx/emulate/emu_program.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

static enum tcb_status no_memory(struct tcb_error *err)
{
	return tcb_fail(err, TCB_E_NOMEM, "out of memory for the emulator's program");
}

uint32_t tcb_emu_pool(struct tcb_ptx_program *program, unsigned bits, uint64_t value)
{
	size_t bytes = bits == 1 ? 8 : bits == 64 ? 256 : 128, at = program->pool_bytes;
	uint64_t wide[TCB_EMU_LANES];
	uint32_t narrow[TCB_EMU_LANES];

	if (at + bytes > program->pool_capacity) {
		size_t capacity = program->pool_capacity ? program->pool_capacity * 2 : 4096;
		void *grown = capacity < UINT32_MAX ? realloc(program->pool, capacity) : NULL;

		if (!grown)
			return UINT32_MAX;
		program->pool = grown;
		program->pool_capacity = capacity;
	}
	for (unsigned i = 0; i < TCB_EMU_LANES; i++) {
		wide[i] = value;
		narrow[i] = bits == 1 ? (value & 1 ? UINT32_MAX : 0) : (uint32_t)value;
	}
	memcpy(program->pool + at, bits == 64 ? (void *)wide : (void *)narrow, bytes);
	program->pool_bytes += bytes;
	return (uint32_t)at;
}

/* --- variables --- */

static uint64_t round_up(uint64_t value, uint64_t align)
{
	return (value + align - 1) / align * align;
}

static int is_in_list(const struct tcb_ptx_symbol *list, const struct tcb_ptx_symbol *symbol)
{
	for (; list; list = list->next)
		if (list == symbol)
			return 1;
	return 0;
}

static enum tcb_status variable_index(struct tcb_ptx_program *program, const struct tcb_ptx_symbol *symbol,
				      uint64_t *at_out, struct tcb_error *err)
{
	struct tcb_emu_variable *variables;

	for (uint32_t i = 0; i < program->variable_count; i++)
		if (program->variables[i].symbol == symbol) {
			*at_out = i;
			return TCB_OK;
		}
	variables = tcb_grow(program->variables, program->variable_count, &program->variable_capacity, 16,
			     sizeof *variables);
	if (!variables)
		return no_memory(err);
	program->variables = variables;
	program->variables[program->variable_count] = (struct tcb_emu_variable){ symbol, 0 };
	*at_out = program->variable_count++;
	return TCB_OK;
}

/* Variables of a frame in the order in which they are declared: results, parameters, locals. */
static int frame_offset(const struct tcb_ptx_function *function, const struct tcb_ptx_symbol *symbol, uint64_t *at_out,
			uint64_t *total_out)
{
	const struct tcb_ptx_symbol *lists[3] = { function->results, function->params, function->locals };
	uint64_t at = 0;
	int found = 0;

	for (unsigned k = function->is_entry ? 2 : 0; k < 3; k++)
		for (const struct tcb_ptx_symbol *s = lists[k]; s; s = s->next) {
			uint64_t bytes = tcb_ptx_symbol_bytes(s);

			if (s->space != TCB_PTX_LOCAL && s->space != TCB_PTX_PARAM)
				continue;
			at = round_up(at, tcb_ptx_symbol_align(s));
			if (s == symbol) {
				*at_out = at;
				found = 1;
			}
			at += bytes < UINT32_MAX ? bytes : UINT32_MAX;
			if (at > UINT32_MAX)
				at = UINT32_MAX;
		}
	*total_out = round_up(at, 16);
	return found;
}

uint64_t tcb_emu_frame_bytes(const struct tcb_ptx_function *function)
{
	uint64_t at, total;

	frame_offset(function, NULL, &at, &total);
	return total;
}

/* Static shared memory: the module's, the kernel's and every device function's, in order; then what is declared
 * without extent. */
static int shared_offset(struct tcb_ptx_program *program, const struct tcb_ptx_symbol *symbol, uint64_t *at_out)
{
	const struct tcb_ptx_function *f = NULL;
	const struct tcb_ptx_symbol *list = program->module->symbols;
	uint64_t at = 0, dynamic_align = 16;
	int found = 0, is_dynamic = 0;

	for (;;) {
		for (const struct tcb_ptx_symbol *s = list; s; s = s->next) {
			uint64_t bytes = tcb_ptx_symbol_bytes(s), align = tcb_ptx_symbol_align(s);

			if (s->space != TCB_PTX_SHARED)
				continue;
			if (!bytes || s->linkage == TCB_PTX_EXTERN) {
				dynamic_align = align > dynamic_align ? align : dynamic_align;
				is_dynamic |= s == symbol;
				continue;
			}
			at = round_up(at, align);
			if (s == symbol) {
				*at_out = at;
				found = 1;
			}
			at += bytes;
			if (at > 1u << 24)
				at = 1u << 24;
		}
		do
			f = f ? f->next : program->module->functions;
		while (f && f->is_entry && f != program->functions[0]->function);
		if (!f)
			break;
		list = f->locals;
	}
	program->shared_static = (uint32_t)at;
	program->dynamic_offset = (uint32_t)round_up(at, dynamic_align);
	if (is_dynamic)
		*at_out = program->dynamic_offset;
	return found || is_dynamic;
}

enum tcb_status tcb_emu_place(struct tcb_emu_decoder *decoder, const struct tcb_ptx_symbol *symbol,
			      enum tcb_emu_where *where_out, uint64_t *at_out, struct tcb_error *err)
{
	const struct tcb_ptx_function *function = decoder->function ? decoder->function->function : NULL;
	uint64_t total;

	if (symbol->function) {
		uint32_t index;

		TCB_TRY(tcb_emu_function_index(decoder->program, symbol->function, &index, err));
		*where_out = TCB_EMU_IN_CODE;
		*at_out = TCB_EMU_FUNCTION_WINDOW + 16ull * index;
		return TCB_OK;
	}
	switch ((int)symbol->space) {
	case TCB_PTX_SHARED:
		if (!shared_offset(decoder->program, symbol, at_out))
			break;
		*at_out += TCB_EMU_SHARED_START;
		*where_out = TCB_EMU_IN_SHARED;
		return TCB_OK;
	case TCB_PTX_LOCAL:
	case TCB_PTX_PARAM:
		if (function && frame_offset(function, symbol, at_out, &total)) {
			*where_out = TCB_EMU_IN_FRAME;
			return TCB_OK;
		}
		if (function && function->is_entry && is_in_list(function->params, symbol)) {
			unsigned index = 0;

			for (const struct tcb_ptx_symbol *s = function->params; s != symbol; s = s->next)
				index++;
			*at_out = TCB_EMU_PARAM_WINDOW + tcb_ptx_param_offset(function, index);
			*where_out = TCB_EMU_IN_PARAMS;
			return TCB_OK;
		}
		break;
	default:
		if (symbol->linkage == TCB_PTX_EXTERN)
			return tcb_fail(err, TCB_E_UNSUPPORTED, "'%.80s' is extern: its storage is not in this module",
					symbol->name);
		*where_out = TCB_EMU_IN_VARIABLES;
		return variable_index(decoder->program, symbol, at_out, err);
	}
	return tcb_fail(err, TCB_E_UNSUPPORTED, "'%.80s' is in a space that the emulator has no place for",
			symbol->name);
}

/* --- operands --- */

static enum tcb_status add_fixup(struct tcb_emu_decoder *decoder, uint32_t variable, int64_t add, int64_t *where,
				 uint32_t pool_place, unsigned bits, struct tcb_error *err)
{
	struct tcb_emu_fixup *fixup = tcb_arena_alloc(decoder->arena, sizeof *fixup);

	if (!fixup)
		return no_memory(err);
	*fixup = (struct tcb_emu_fixup){ decoder->program->fixups, variable, add, where, pool_place, bits };
	decoder->program->fixups = fixup;
	return TCB_OK;
}

static enum tcb_status pool_operand(struct tcb_emu_decoder *decoder, struct tcb_emu_operand *op, unsigned bits,
				    uint64_t value, struct tcb_error *err)
{
	op->kind = TCB_EMU_CONST;
	op->bits = (uint8_t)bits;
	op->offset = tcb_emu_pool(decoder->program, bits == 1 || bits == 64 ? bits : 32, value);
	return op->offset == UINT32_MAX ? no_memory(err) : TCB_OK;
}

static void reg_operand(const struct tcb_emu_decoder *decoder, struct tcb_emu_operand *op, uint32_t reg)
{
	op->kind = TCB_EMU_REG;
	op->reg = reg;
	op->bits = (uint8_t)tcb_ptx_type_bits(decoder->function->function->regs[reg].type);
	op->offset = decoder->function->reg_offset[reg];
}

static enum tcb_status symbol_operand(struct tcb_emu_decoder *decoder, struct tcb_emu_operand *op,
				      const struct tcb_ptx_operand *from, unsigned bits, struct tcb_error *err)
{
	enum tcb_emu_where where;
	uint64_t at;

	TCB_TRY(tcb_emu_place(decoder, from->symbol, &where, &at, err));
	if (where == TCB_EMU_IN_FRAME) {
		op->kind = TCB_EMU_SPECIAL;
		op->special = TCB_EMU_LOCAL_ADDRESS;
		op->bits = (uint8_t)bits;
		op->add = (int64_t)(at + from->bits + TCB_EMU_LOCAL_START);
		return TCB_OK;
	}
	if (where != TCB_EMU_IN_VARIABLES)
		return pool_operand(decoder, op, bits, at + from->bits, err);
	TCB_TRY(pool_operand(decoder, op, bits, 0, err));
	return add_fixup(decoder, (uint32_t)at, (int64_t)from->bits, NULL, op->offset, bits, err);
}

static enum tcb_status address_operand(struct tcb_emu_decoder *decoder, struct tcb_emu_operand *op,
				       const struct tcb_ptx_operand *from, struct tcb_error *err)
{
	enum tcb_emu_where where;
	uint64_t at;

	op->add = (int64_t)from->bits;
	if (from->reg != TCB_PTX_NO_REG) {
		reg_operand(decoder, op, from->reg);
		op->kind = TCB_EMU_ADDRESS;
		if (op->bits < 32)
			return tcb_fail(err, TCB_E_UNSUPPORTED, "an address in a register of %u bits", op->bits);
		return TCB_OK;
	}
	TCB_TRY(pool_operand(decoder, op, 64, 0, err));
	op->kind = TCB_EMU_ADDRESS;
	op->is_pool = 1;
	if (!from->symbol)
		return TCB_OK;
	TCB_TRY(tcb_emu_place(decoder, from->symbol, &where, &at, err));
	if (where == TCB_EMU_IN_VARIABLES)
		return add_fixup(decoder, (uint32_t)at, op->add, &op->add, 0, 64, err);
	if (where == TCB_EMU_IN_FRAME) {
		op->special = TCB_EMU_LOCAL_ADDRESS;
		at += TCB_EMU_LOCAL_START;
	}
	op->add += (int64_t)at;
	return TCB_OK;
}

/* The value of an immediate as an instruction of TYPE sees it. */
static uint64_t immediate(const struct tcb_ptx_operand *from, enum tcb_ptx_word type)
{
	uint64_t bits = from->bits;
	double wide;
	float narrow;

	if (from->kind == TCB_PTX_O_F64 && type != TCB_PTX_F64 && tcb_ptx_type_bits(type) == 32) {
		memcpy(&wide, &bits, sizeof wide);
		narrow = (float)wide;
		bits = 0;
		memcpy(&bits, &narrow, sizeof narrow);
	} else if (from->kind == TCB_PTX_O_F32 && type == TCB_PTX_F64) {
		memcpy(&narrow, &bits, sizeof narrow);
		wide = narrow;
		memcpy(&bits, &wide, sizeof bits);
	}
	return tcb_ptx_type_bits(type) == 16 ? bits & 0xffff : tcb_ptx_type_bits(type) == 8 ? bits & 0xff : bits;
}

enum tcb_status tcb_emu_operand(struct tcb_emu_decoder *decoder, struct tcb_emu_operand *op,
				const struct tcb_ptx_operand *from, enum tcb_ptx_word type, struct tcb_error *err)
{
	unsigned bits = tcb_ptx_type_bits(type);

	op->reg = TCB_PTX_NO_REG;
	op->negated = from->negated;
	switch ((enum tcb_ptx_operand_kind)from->kind) {
	case TCB_PTX_O_REG:
		reg_operand(decoder, op, from->reg);
		return TCB_OK;
	case TCB_PTX_O_INT:
	case TCB_PTX_O_F32:
	case TCB_PTX_O_F64:
		if (!bits)
			bits = from->kind == TCB_PTX_O_F64 || (from->bits >> 32 && from->bits >> 32 != UINT32_MAX) ? 64
														   : 32;
		return pool_operand(decoder, op, bits, type ? immediate(from, type) : from->bits, err);
	case TCB_PTX_O_SYMBOL:
		return symbol_operand(decoder, op, from, bits == 32 ? 32 : 64, err);
	case TCB_PTX_O_SPECIAL:
		op->kind = TCB_EMU_SPECIAL;
		op->special = from->special;
		op->bits = (uint8_t)tcb_ptx_type_bits(tcb_ptx_special_type(from->special));
		return TCB_OK;
	case TCB_PTX_O_ADDRESS:
		TCB_TRY(address_operand(decoder, op, from, err));
		break;
	case TCB_PTX_O_VECTOR:
	case TCB_PTX_O_PAIR:
		op->kind = TCB_EMU_VECTOR;
		break;
	case TCB_PTX_O_SINK:
	case TCB_PTX_O_NONE:
		op->kind = TCB_EMU_NONE;
		op->bits = (uint8_t)(bits ? bits : 32);
		return TCB_OK;
	default: /* control.c looks at the instruction */
		op->kind = TCB_EMU_OTHER;
		return TCB_OK;
	}
	if (!from->count)
		return TCB_OK;
	op->items = tcb_arena_array(decoder->arena, from->count, sizeof *op->items);
	if (!op->items || from->count > UINT16_MAX)
		return no_memory(err);
	op->count = (uint16_t)from->count;
	for (uint32_t i = 0; i < from->count; i++) {
		/* the second of a pair is a predicate; coordinates are 32 bits wide */
		enum tcb_ptx_word item = from->kind == TCB_PTX_O_ADDRESS     ? TCB_PTX_S32
					 : from->kind == TCB_PTX_O_PAIR && i ? TCB_PTX_PRED
									     : type;

		TCB_TRY(tcb_emu_operand(decoder, &op->items[i], &from->items[i], item, err));
	}
	return TCB_OK;
}

/* --- registers read and written --- */

struct registers {
	uint32_t *read, *written;
	uint32_t read_count, written_count;
};

static void see(void *ctx, uint32_t *reg, int is_def)
{
	struct registers *r = ctx;
	uint32_t *list = is_def ? r->written : r->read;
	uint32_t *count = is_def ? &r->written_count : &r->read_count;

	for (uint32_t i = 0; list && i < *count; i++)
		if (list[i] == *reg)
			return;
	if (list)
		list[*count] = *reg;
	++*count;
}

static enum tcb_status registers(struct tcb_emu_decoder *decoder, struct tcb_emu_ins *in, struct tcb_error *err)
{
	struct tcb_ptx_ins *ins = (struct tcb_ptx_ins *)(uintptr_t)in->ins; /* only looked at */
	struct registers counted = { NULL, NULL, 0, 0 };

	tcb_ptx_each_reg(ins, see, &counted);
	if (counted.read_count > UINT8_MAX * 2 || counted.written_count > UINT8_MAX * 2)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "an instruction with %u registers",
				counted.read_count + counted.written_count);
	counted.read = tcb_arena_array(decoder->arena, counted.read_count + 1, sizeof *counted.read);
	counted.written = tcb_arena_array(decoder->arena, counted.written_count + 1, sizeof *counted.written);
	if (!counted.read || !counted.written)
		return no_memory(err);
	counted.read_count = counted.written_count = 0;
	tcb_ptx_each_reg(ins, see, &counted);
	in->sources = counted.read;
	in->results = counted.written;
	in->source_count = (uint16_t)counted.read_count;
	in->result_count = (uint16_t)counted.written_count;
	return TCB_OK;
}

enum tcb_status tcb_emu_operands(struct tcb_emu_decoder *decoder, struct tcb_emu_ins *in, struct tcb_error *err)
{
	const struct tcb_ptx_ins *ins = in->ins;

	in->op = tcb_arena_array(decoder->arena, ins->operand_count + 1u, sizeof *in->op);
	if (!in->op)
		return no_memory(err);
	in->op_count = ins->operand_count;
	in->guard = UINT32_MAX;
	in->guard_reg = ins->guard;
	if (ins->guard != TCB_PTX_NO_REG) {
		in->guard = decoder->function->reg_offset[ins->guard];
		in->guard_negated = ins->guard_negated;
	}
	for (unsigned i = 0; i < ins->operand_count; i++) {
		unsigned count;

		if (ins->op != TCB_PTX_OP_CALL) {
			TCB_TRY(tcb_emu_operand(decoder, &in->op[i], &ins->operands[i],
						tcb_ptx_operand_type(ins, i, &count), err));
		} else { /* its lists are the call's own business */
			in->op[i].kind = TCB_EMU_OTHER;
			if (ins->operands[i].kind == TCB_PTX_O_REG)
				reg_operand(decoder, &in->op[i], ins->operands[i].reg);
		}
	}
	return registers(decoder, in, err);
}
