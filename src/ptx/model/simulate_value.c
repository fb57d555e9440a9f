/* SPDX-License-Identifier: MIT
 *
 * In: an instruction that control depends on.  Out: its result in lane 0 of a
 * warp.  Loaded data and what follows from it is unknown, unless it comes from an
 * array with known contents.
 */
#include "ptx/model/simulate_value.h"

#include <string.h>

#include "ptx/emulate/emulate.h"
#include "ptx/emulate/fold_value.h"

static uint64_t special_value(const struct tcb_ptx_timed_launch *launch, const struct tcb_sim_lane *lane,
			      unsigned special, int *known)
{
	const uint32_t *block = launch->block;
	switch ((enum tcb_ptx_special)special) {
	case TCB_PTX_SR_TID_X:
		return lane->tid % block[0];
	case TCB_PTX_SR_TID_Y:
		return lane->tid / block[0] % block[1];
	case TCB_PTX_SR_TID_Z:
		return lane->tid / block[0] / block[1];
	case TCB_PTX_SR_NTID_X:
	case TCB_PTX_SR_NTID_Y:
	case TCB_PTX_SR_NTID_Z:
		return block[special - TCB_PTX_SR_NTID_X];
	case TCB_PTX_SR_CTAID_X:
	case TCB_PTX_SR_CTAID_Y:
	case TCB_PTX_SR_CTAID_Z:
		return lane->block[special - TCB_PTX_SR_CTAID_X];
	case TCB_PTX_SR_NCTAID_X:
	case TCB_PTX_SR_NCTAID_Y:
	case TCB_PTX_SR_NCTAID_Z:
		return launch->grid[special - TCB_PTX_SR_NCTAID_X];
	case TCB_PTX_SR_LANEID:
		return lane->tid % 32;
	case TCB_PTX_SR_WARPID:
		return lane->tid / 32;
	default:
		*known = 0;
		return 0;
	}
}

static uint64_t cut(uint64_t value, enum tcb_ptx_word type)
{
	const unsigned bits = tcb_ptx_type_bits(type);
	return bits && bits < 64 ? value & ((UINT64_C(1) << bits) - 1) : value;
}

static uint64_t register_value(const struct tcb_sim_program *program, const struct tcb_sim_lane *lane, uint32_t reg,
			       int *known)
{
	const uint16_t place = program->value_of[reg];
	if (place == TCB_SIM_NO_VALUE || !lane->known[place]) {
		*known = 0;
		return 0;
	}
	return lane->value[place];
}

static uint64_t operand_value(const struct tcb_sim_program *program, const struct tcb_sim_lane *lane,
			      const struct tcb_ptx_operand *operand, enum tcb_ptx_word type, int *known)
{
	uint64_t value;
	switch ((enum tcb_ptx_operand_kind)operand->kind) {
	case TCB_PTX_O_INT:
	case TCB_PTX_O_F32:
		return cut(operand->bits, type);
	case TCB_PTX_O_REG:
		value = register_value(program, lane, operand->reg, known);
		return tcb_ptx_extend(type, operand->negated ? ~value : value);
	case TCB_PTX_O_SPECIAL:
		return special_value(program->launch, lane, operand->special, known);
	case TCB_PTX_O_SYMBOL: /* shared memory begins at 0; where in it does not matter */
		return operand->bits;
	default:
		*known = 0;
		return 0;
	}
}

/* A parameter, by its symbol and offset. */
static uint64_t parameter_value(const struct tcb_sim_program *program, const struct tcb_ptx_ins *ins, int *known)
{
	const struct tcb_ptx_operand *address = &ins->operands[1];
	const size_t bytes = tcb_ptx_type_bits(tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE)) / 8;
	uint64_t value = 0;
	unsigned index = 0;
	const struct tcb_ptx_symbol *symbol = program->function->params;
	for (; symbol && symbol != address->symbol; symbol = symbol->next)
		index++;
	const size_t at = tcb_ptx_param_offset(program->function, index) + (size_t)address->bits;
	if (!symbol || address->reg != TCB_PTX_NO_REG || bytes > sizeof value ||
	    at + bytes > program->launch->param_bytes)
		*known = 0;
	else
		memcpy(&value, (const char *)program->launch->params + at, bytes);
	return value;
}

/* What a load of global memory finds. */
static uint64_t content_value(const struct tcb_sim_program *program, const struct tcb_sim_op *op,
			      const struct tcb_sim_lane *lane, int *known)
{
	const struct tcb_ptx_contents *contents = program->launch->contents;
	const size_t bytes = tcb_ptx_type_bits(tcb_ptx_mod(op->ins, TCB_PTX_SLOT_TYPE)) / 8;
	uint64_t address, value = 0;
	if (contents && bytes <= sizeof value && tcb_sim_address(program, op, op->address, lane, &address)) {
		const uint64_t array = (address >> 48) - 1, at = address & ((UINT64_C(1) << 48) - 1);
		if (array < TCB_PTX_ARRAYS_MAX && contents[array].data && at + bytes <= contents[array].bytes) {
			memcpy(&value, (const char *)contents[array].data + at, bytes);
			return value;
		}
	}
	*known = 0;
	return 0;
}

static uint64_t folded(const struct tcb_sim_program *program, const struct tcb_sim_op *op,
		       const struct tcb_sim_lane *lane, int *known)
{
	const struct tcb_ptx_ins *ins = op->ins;
	uint64_t source[TCB_PTX_SPECS_MAX] = { 0 }, value = 0;
	if (ins->operand_count > TCB_SIM_TYPES) {
		*known = 0;
		return 0;
	}
	for (unsigned i = 1; i < ins->operand_count; i++)
		source[i] = operand_value(program, lane, &ins->operands[i], op->type[i], known);
	if (ins->op == TCB_PTX_OP_MOV || ins->op == TCB_PTX_OP_CVTA)
		return source[1];
	if (*known && !tcb_ptx_fold_value(ins, source, &value))
		*known = 0;
	return value;
}

int tcb_sim_is_spread(const struct tcb_ptx_ins *ins)
{
	return ins->op == TCB_PTX_OP_SHFL && tcb_ptx_mod(ins, TCB_PTX_SLOT_MODE) == TCB_PTX_IDX &&
	       ins->result_count == 1 && ins->operands[2].kind == TCB_PTX_O_INT && ins->operands[2].bits == 0;
}

void tcb_sim_compute(const struct tcb_sim_program *program, const struct tcb_sim_op *op, struct tcb_sim_lane *lane)
{
	const struct tcb_ptx_ins *ins = op->ins;
	int known = ins->result_count == 1 && ins->operands[0].kind == TCB_PTX_O_REG;
	uint64_t value = 0;
	if (op->kind == TCB_SIM_MBARRIER_WAIT) {
		value = 1;
	} else if (ins->op == TCB_PTX_OP_LD) {
		const enum tcb_ptx_word space = tcb_ptx_mod(ins, TCB_PTX_SLOT_SPACE);
		if (known && (space == TCB_PTX_PARAM || space == TCB_PTX_PARAM_ENTRY))
			value = parameter_value(program, ins, &known);
		else if (known && op->kind == TCB_SIM_GLOBAL)
			value = content_value(program, op, lane, &known);
		else
			known = 0;
	} else if (tcb_sim_is_spread(ins)) {
		value = operand_value(program, lane, &ins->operands[1], op->type[1], &known);
	} else if (op->kind != TCB_SIM_PLAIN) {
		known = 0;
	} else if (known) {
		value = folded(program, op, lane, &known);
	}
	if (known)
		value = cut(value, op->type[0]);
	for (unsigned i = 0; i < op->result_count; i++) {
		const uint16_t place = program->value_of[op->result[i]];
		if (place == TCB_SIM_NO_VALUE)
			continue;
		lane->value[place] = value;
		lane->known[place] = (uint8_t)known;
	}
}

int tcb_sim_guarded(const struct tcb_sim_program *program, const struct tcb_sim_op *op, const struct tcb_sim_lane *lane,
		    int unknown)
{
	int known = 1;
	if (op->guard == TCB_PTX_NO_REG)
		return 1;
	const uint64_t value = register_value(program, lane, op->guard, &known);
	return known ? (value & 1) != op->guard_negated : unknown;
}

uint64_t tcb_sim_number(const struct tcb_sim_program *program, const struct tcb_sim_op *op, unsigned index,
			const struct tcb_sim_lane *lane, uint64_t unknown)
{
	int known = 1;
	const uint64_t value = operand_value(program, lane, &op->ins->operands[index], TCB_PTX_U32, &known);
	return known ? value : unknown;
}

int tcb_sim_address(const struct tcb_sim_program *program, const struct tcb_sim_op *op, unsigned index,
		    const struct tcb_sim_lane *lane, uint64_t *out)
{
	const struct tcb_ptx_operand *operand = &op->ins->operands[index];
	int known = operand->kind == TCB_PTX_O_ADDRESS;
	*out = operand->bits;
	if (known && operand->reg != TCB_PTX_NO_REG)
		*out += register_value(program, lane, operand->reg, &known);
	return known;
}
