/* SPDX-License-Identifier: MIT
 *
 * In: a kernel and the functions that it calls.  Out: for each an array of
 * decoded instructions with resolved jumps.
 *
 * Blocks that are the immediate post-dominator of a branch begin with a pseudo
 * instruction, where the lanes that the branch separated wait for each other.
 */
#include <stdlib.h>
#include <string.h>

#include "ptx/analyse/analyses.h"
#include "ptx/emulate/emu_program.h"

static enum tcb_status no_memory(struct tcb_error *err)
{
	return tcb_fail(err, TCB_E_NOMEM, "out of memory for the emulator's program");
}

/* --- classes of instructions --- */

static uint8_t memory_class(const struct tcb_ptx_ins *ins)
{
	switch ((int)tcb_ptx_mod(ins, TCB_PTX_SLOT_SPACE)) {
	case TCB_PTX_SHARED:
	case TCB_PTX_SHARED_CTA:
	case TCB_PTX_SHARED_CLUSTER:
		return TCB_PTX_COUNT_SHARED;
	case TCB_PTX_LOCAL:
		return TCB_PTX_COUNT_LOCAL;
	case TCB_PTX_PARAM:
	case TCB_PTX_PARAM_ENTRY:
	case TCB_PTX_PARAM_FUNC:
	case TCB_PTX_CONST:
		return TCB_PTX_COUNT_OTHER;
	}
	return TCB_PTX_COUNT_GLOBAL;
}

static uint8_t class_of(const struct tcb_ptx_ins *ins)
{
	enum tcb_ptx_word type = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE);
	enum tcb_ptx_op op = (enum tcb_ptx_op)ins->op;

	if (op == TCB_PTX_OP_LDMATRIX || op == TCB_PTX_OP_STMATRIX)
		return TCB_PTX_COUNT_SHARED;
	if (op == TCB_PTX_OP_LD || op == TCB_PTX_OP_LDU || op == TCB_PTX_OP_ST)
		return memory_class(ins);
	if (op == TCB_PTX_OP_ATOM || op == TCB_PTX_OP_RED)
		return TCB_PTX_COUNT_ATOMIC;
	if (op == TCB_PTX_OP_MOVMATRIX || op == TCB_PTX_OP_MMA ||
	    (op >= TCB_PTX_OP_WGMMA && op <= TCB_PTX_OP_WGMMA_WAIT_GROUP))
		return TCB_PTX_COUNT_MATRIX;
	if (op == TCB_PTX_OP_ST_ASYNC || op == TCB_PTX_OP_RED_ASYNC ||
	    (op >= TCB_PTX_OP_CP_ASYNC && op <= TCB_PTX_OP_CP_ASYNC_BULK_WAIT_GROUP))
		return TCB_PTX_COUNT_ASYNC;
	if (op >= TCB_PTX_OP_MBARRIER_INIT && op <= TCB_PTX_OP_BARRIER_CLUSTER_WAIT)
		return TCB_PTX_COUNT_BARRIER;
	if (op >= TCB_PTX_OP_SHFL && op <= TCB_PTX_OP_ELECT)
		return TCB_PTX_COUNT_SHUFFLE;
	if (op >= TCB_PTX_OP_BRA && op <= TCB_PTX_OP_TRAP)
		return TCB_PTX_COUNT_CONTROL;
	if (op == TCB_PTX_OP_CVT || op == TCB_PTX_OP_CVT_PACK)
		return TCB_PTX_COUNT_CONVERT;
	if (op >= TCB_PTX_OP_MOV)
		return TCB_PTX_COUNT_OTHER;
	if (op == TCB_PTX_OP_SET || op == TCB_PTX_OP_SETP)
		type = type == TCB_PTX_PRED || tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE2)
			       ? tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE2)
			       : type;
	return tcb_ptx_type_class(type) == TCB_PTX_CLASS_FLOAT || type == TCB_PTX_BF16 || type == TCB_PTX_BF16X2 ||
			       type == TCB_PTX_F32X2
		       ? TCB_PTX_COUNT_FLOAT
		       : TCB_PTX_COUNT_INTEGER;
}

/* Least size of what may touch shared, and global, memory. */
static void note_grain(struct tcb_ptx_program *program, const struct tcb_ptx_ins *ins)
{
	for (unsigned i = 0; i < ins->operand_count; i++) {
		struct tcb_ptx_access access;
		unsigned bytes;

		if (!tcb_ptx_access(ins, i, &access) || !access.bytes)
			continue;
		bytes = access.bytes & -access.bytes;
		if (access.space != TCB_PTX_GLOBAL && access.space != TCB_PTX_LOCAL && access.space != TCB_PTX_PARAM &&
		    access.space != TCB_PTX_CONST && bytes < program->shared_grain)
			program->shared_grain = bytes;
		if ((access.space == TCB_PTX_GLOBAL || access.space == TCB_PTX_NO_WORD) &&
		    bytes < program->global_grain)
			program->global_grain = bytes;
	}
}

/* --- one function --- */

static void lay_out_registers(struct tcb_emu_function *out)
{
	const struct tcb_ptx_function *function = out->function;
	uint64_t at = 0;

	for (uint32_t i = 0; i < function->reg_count; i++) {
		unsigned bits = tcb_ptx_type_bits(function->regs[i].type);

		out->reg_offset[i] = (uint32_t)at;
		at += bits == 1 ? 8 : bits == 128 ? 512 : bits == 64 ? 256 : 128;
	}
	out->lane_bytes = (uint32_t)at;
}

/* How a register of BITS lies in the file. */
static unsigned storage(unsigned bits)
{
	return bits == 1 || bits >= 64 ? bits : 32;
}

static int fits(const struct tcb_emu_operand *op, enum tcb_ptx_word type)
{
	if (op->kind == TCB_EMU_VECTOR) {
		for (unsigned i = 0; i < op->count; i++)
			if (!fits(&op->items[i], type))
				return 0;
		return 1;
	}
	if (op->kind != TCB_EMU_REG && op->kind != TCB_EMU_CONST)
		return op->kind == TCB_EMU_NONE;
	return storage(op->bits) == storage(tcb_ptx_type_bits(type));
}

/* Text that no verifier has seen may name registers of other widths than the instruction; handlers rely on them. */
static enum tcb_status check_widths(const struct tcb_emu_ins *in, struct tcb_error *err)
{
	for (unsigned i = 0; i < in->op_count; i++) {
		unsigned count;
		enum tcb_ptx_word type = tcb_ptx_operand_type(in->ins, i, &count);
		const struct tcb_emu_operand *op = &in->op[i];

		if (in->ins->operands[i].kind == TCB_PTX_O_PAIR) {
			if (op->count != 2 || !fits(&op->items[0], type) || !fits(&op->items[1], TCB_PTX_PRED))
				return tcb_fail(err, TCB_E_UNSUPPORTED,
						"operand %u does not have the instruction's widths", i + 1);
			continue;
		}
		if (op->kind == TCB_EMU_ADDRESS || op->kind == TCB_EMU_SPECIAL || op->kind == TCB_EMU_OTHER || !type)
			continue;
		if (!fits(op, type) || (count > 1 && (op->kind != TCB_EMU_VECTOR || op->count != count)) ||
		    (count == 1 && op->kind == TCB_EMU_VECTOR && op->count != 1))
			return tcb_fail(err, TCB_E_UNSUPPORTED, "operand %u does not have the instruction's width",
					i + 1);
	}
	return TCB_OK;
}

/* Loads, stores and conversions take registers wider than the type. */
static int is_relaxed(const struct tcb_ptx_ins *ins)
{
	return ins->op == TCB_PTX_OP_LD || ins->op == TCB_PTX_OP_LDU || ins->op == TCB_PTX_OP_ST ||
	       ins->op == TCB_PTX_OP_CVT || ins->op == TCB_PTX_OP_CALL || ins->op == TCB_PTX_OP_MOV;
}

static enum tcb_status decode_ins(struct tcb_emu_decoder *decoder, struct tcb_emu_ins *in,
				  const struct tcb_ptx_ins *ins, struct tcb_error *err)
{
	tcb_emu_bind_fn *bind = tcb_emu_binder((enum tcb_ptx_op)ins->op);
	struct tcb_error inner = { TCB_OK, "" };
	enum tcb_status status;

	in->ins = ins;
	in->class = class_of(ins);
	in->target = in->join = UINT32_MAX;
	in->count = decoder->function->first_count + ins->number;
	if (!bind)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "line %u: '%s' is not emulated", ins->line,
				tcb_ptx_op_text((enum tcb_ptx_op)ins->op));
	status = tcb_emu_operands(decoder, in, &inner);
	if (status == TCB_OK && !ins->opaque && !is_relaxed(ins))
		status = check_widths(in, &inner);
	if (status == TCB_OK)
		status = bind(decoder, in, &inner);
	if (status == TCB_E_UNSUPPORTED && ins->opaque)
		return tcb_fail(err, status, "line %u: '%s' is not emulated", ins->line, ins->opaque->mnemonic);
	if (status != TCB_OK)
		return tcb_fail(err, status, "line %u: '%s': %s", ins->line, tcb_ptx_op_text((enum tcb_ptx_op)ins->op),
				inner.message);
	note_grain(decoder->program, ins);
	decoder->program->has_own_scope |= tcb_emu_scope_of(ins) == TCB_EMU_OWN_BLOCK;
	return TCB_OK;
}

/* Positions of blocks, join points included; returns the length of the code. */
static uint32_t place_blocks(const struct tcb_ptx_function *function, struct tcb_ptx_block *const *ipdom,
			     uint32_t *start, uint8_t *is_join)
{
	uint32_t at = 0;

	for (const struct tcb_ptx_block *block = function->first; block; block = block->next)
		if (block->order != UINT32_MAX && block->succ_count > 1 && ipdom[block->number])
			is_join[ipdom[block->number]->number] = 1;
	for (const struct tcb_ptx_block *block = function->first; block; block = block->next) {
		start[block->number] = at;
		if (block->order == UINT32_MAX)
			continue;
		at += is_join[block->number];
		for (const struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
			at += ins->op != TCB_PTX_OP_PRAGMA;
	}
	return at + 1; /* falling off the end */
}

static enum tcb_status resolve_jump(struct tcb_emu_decoder *decoder, struct tcb_emu_ins *in, const uint32_t *start,
				    struct tcb_ptx_block *const *ipdom, struct tcb_error *err)
{
	const struct tcb_ptx_ins *ins = in->ins;
	const struct tcb_ptx_table *table;
	uint32_t *targets;

	if (ins->op == TCB_PTX_OP_BRA)
		in->target = start[ins->operands[0].block->number];
	if (ipdom[ins->block->number])
		in->join = start[ipdom[ins->block->number]->number];
	if (ins->op != TCB_PTX_OP_BRX)
		return TCB_OK;
	table = ins->operands[1].table;
	targets = tcb_arena_array(decoder->arena, table->count + 1u, sizeof *targets);
	if (!targets)
		return no_memory(err);
	for (uint32_t i = 0; i < table->count; i++)
		targets[i] = start[table->blocks[i]->number];
	in->extra = targets;
	in->a = table->count;
	return TCB_OK;
}

/* Atomics whose old value somebody uses do not commute; and whether blocks could wait for each other. */
static enum tcb_status judge_atomics(struct tcb_ptx_program *program, struct tcb_emu_function *function,
				     struct tcb_error *err)
{
	uint8_t *is_read = calloc(function->function->reg_count + 1u, 1);

	if (!is_read)
		return no_memory(err);
	for (uint32_t i = 0; i < function->code_count; i++)
		for (unsigned k = 0; k < function->code[i].source_count; k++)
			is_read[function->code[i].sources[k]] = 1;
	for (uint32_t i = 0; i < function->code_count; i++) {
		struct tcb_emu_ins *in = &function->code[i];
		const int is_atomic = in->ins && (in->ins->op == TCB_PTX_OP_ATOM || in->ins->op == TCB_PTX_OP_RED);

		for (unsigned k = 0; is_atomic && k < in->result_count; k++)
			if (is_read[in->results[k]])
				in->d &= ~(uint32_t)TCB_EMU_COMMUTES;
		program->has_strong |=
			is_atomic || (in->ins && (in->ins->op == TCB_PTX_OP_LD) && in->d & TCB_EMU_STRONG);
	}
	free(is_read);
	return TCB_OK;
}

static enum tcb_status decode_function(struct tcb_ptx_program *program, struct tcb_emu_function *out,
				       struct tcb_ptx_function *function, struct tcb_error *err)
{
	struct tcb_emu_decoder decoder = { program, out, &program->arena };
	struct tcb_ptx_dominators dominators;
	struct tcb_ptx_block **ipdom;
	uint32_t *start = tcb_arena_array(&program->arena, function->block_count + 1u, sizeof *start), at = 0;
	uint8_t *is_join = tcb_arena_array(&program->arena, function->block_count + 1u, 1);

	out->reg_offset = tcb_arena_array(&program->arena, function->reg_count + 1u, sizeof *out->reg_offset);
	TCB_TRY(tcb_ptx_dominators(function, &dominators, err));
	ipdom = dominators.ipdom;
	if (!start || !is_join || !out->reg_offset)
		return no_memory(err);
	lay_out_registers(out);
	if (tcb_emu_frame_bytes(function) > 1u << 20)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "'%.80s' has more than 1 MiB of variables per thread",
				function->symbol->name);
	out->local_bytes = (uint32_t)tcb_emu_frame_bytes(function);
	out->code_count = place_blocks(function, ipdom, start, is_join);
	out->code = tcb_arena_array(&program->arena, out->code_count, sizeof *out->code);
	if (!out->code)
		return no_memory(err);
	for (struct tcb_ptx_block *block = function->first; block; block = block->next) {
		if (block->order == UINT32_MAX)
			continue;
		if (is_join[block->number]) {
			out->code[at].guard = UINT32_MAX;
			out->code[at++].run = tcb_emu_run_join;
		}
		for (struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next) {
			if (ins->op == TCB_PTX_OP_PRAGMA)
				continue;
			TCB_TRY(decode_ins(&decoder, &out->code[at], ins, err));
			if (ins->op == TCB_PTX_OP_BRA || ins->op == TCB_PTX_OP_BRX)
				TCB_TRY(resolve_jump(&decoder, &out->code[at], start, ipdom, err));
			at++;
		}
	}
	out->code[at].guard = UINT32_MAX;
	out->code[at].run = tcb_emu_run_return;
	return judge_atomics(program, out, err);
}

/* Functions that initialisers of used variables name are used too. */
static enum tcb_status follow_initialisers(struct tcb_ptx_program *program, uint32_t first, struct tcb_error *err)
{
	struct tcb_emu_decoder decoder = { program, NULL, &program->arena };

	for (uint32_t i = first; i < program->variable_count; i++) {
		const struct tcb_ptx_symbol *symbol = program->variables[i].symbol;

		for (size_t k = 0; k < symbol->init_count; k++) {
			const struct tcb_ptx_init *init = &symbol->init[k];
			struct tcb_ptx_symbol *named;
			struct tcb_ptx_function *function;
			enum tcb_emu_where where;
			uint64_t at;

			if (init->kind != TCB_PTX_INIT_SYMBOL && init->kind != TCB_PTX_INIT_GENERIC)
				continue;
			named = tcb_ptx_symbol_find(program->module->symbols, init->symbol);
			function = named ? NULL : tcb_ptx_function_find(program->module, init->symbol);
			if (!named && !function)
				return tcb_fail(err, TCB_E_UNSUPPORTED,
						"the initial value of '%.80s' names '%.80s', which is not there",
						symbol->name, init->symbol);
			TCB_TRY(tcb_emu_place(&decoder, named ? named : function->symbol, &where, &at, err));
		}
	}
	return TCB_OK;
}

enum tcb_status tcb_emu_decode(struct tcb_ptx_program *program, struct tcb_ptx_function *entry, struct tcb_error *err)
{
	struct tcb_emu_decoder decoder = { program, NULL, &program->arena };
	uint32_t index, decoded = 0, followed = 0;

	program->shared_grain = program->global_grain = 16;
	TCB_TRY(tcb_emu_function_index(program, entry, &index, err));
	for (const struct tcb_ptx_symbol *s = entry->locals; s; s = s->next)
		if (s->space == TCB_PTX_SHARED) { /* lays out shared memory */
			enum tcb_emu_where where;
			uint64_t at;

			decoder.function = program->functions[0];
			TCB_TRY(tcb_emu_place(&decoder, s, &where, &at, err));
		}
	while (decoded < program->function_count || followed < program->variable_count) {
		uint32_t known = program->variable_count;

		if (decoded < program->function_count) {
			struct tcb_emu_function *next = program->functions[decoded++];

			TCB_TRY(decode_function(program, next, (struct tcb_ptx_function *)(uintptr_t)next->function,
						err));
			continue;
		}
		TCB_TRY(follow_initialisers(program, followed, err));
		followed = known;
	}
	return TCB_OK;
}
