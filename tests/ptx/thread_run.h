/* SPDX-License-Identifier: MIT
 *
 * Runs integer PTX for one thread, instruction by instruction and as slowly as
 * it likes: what tests hold the analyses of values against.  No memory but
 * parameters, which are zero.
 */
#ifndef TCB_TESTS_THREAD_RUN_H
#define TCB_TESTS_THREAD_RUN_H

#include "cmocka_all.h"

#include <string.h>

#include "ptx/ir/opcodes.h"

enum { THREAD_REGS = 63 };

struct thread {
	uint32_t tid[3], ntid[3], ctaid;
	uint64_t reg[THREAD_REGS];
	uint64_t written; /* a bit for each register; bit 63: a store was run */
	/* called before each instruction when not NULL */
	void (*see)(void *ctx, const struct thread *thread, const struct tcb_ptx_ins *ins);
	void *ctx;
};

static inline uint64_t thread_cut(uint64_t value, unsigned bits)
{
	return bits >= 64 ? value : value & (((uint64_t)1 << bits) - 1);
}

static inline int64_t thread_signed(uint64_t value, unsigned bits)
{
	return (int64_t)(value << (64 - bits)) >> (64 - bits);
}

static inline uint64_t thread_read(const struct thread *t, const struct tcb_ptx_operand *o, unsigned bits)
{
	uint32_t linear = t->tid[0] + t->ntid[0] * (t->tid[1] + t->ntid[1] * t->tid[2]);

	switch (o->kind) {
	case TCB_PTX_O_REG:
		return thread_cut(o->negated ? !t->reg[o->reg] : t->reg[o->reg], bits);
	case TCB_PTX_O_INT:
		return thread_cut(o->bits, bits);
	case TCB_PTX_O_SPECIAL:
		switch (o->special) {
		case TCB_PTX_SR_TID_X:
		case TCB_PTX_SR_TID_Y:
		case TCB_PTX_SR_TID_Z:
			return t->tid[o->special - TCB_PTX_SR_TID_X];
		case TCB_PTX_SR_NTID_X:
		case TCB_PTX_SR_NTID_Y:
		case TCB_PTX_SR_NTID_Z:
			return t->ntid[o->special - TCB_PTX_SR_NTID_X];
		case TCB_PTX_SR_CTAID_X:
			return t->ctaid;
		case TCB_PTX_SR_LANEID:
			return linear % 32;
		}
	}
	fail_msg("operand kind %u is not run", o->kind);
	return 0;
}

static inline uint64_t thread_compute(const struct thread *t, const struct tcb_ptx_ins *ins)
{
	unsigned bits = tcb_ptx_type_bits(tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE)), wide = 2 * bits;
	int is_signed = tcb_ptx_type_class(tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE)) == TCB_PTX_CLASS_SINT,
	    is_wide = tcb_ptx_mod(ins, TCB_PTX_SLOT_MODE) == TCB_PTX_WIDE;
	unsigned sources = ins->operand_count - 1;
	uint64_t a = 0, b = 0, c = 0;
	int64_t x, y;

	if (ins->op == TCB_PTX_OP_LD)
		return 0;
	if (ins->op == TCB_PTX_OP_CVT) {
		enum tcb_ptx_word from = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE2);

		a = thread_read(t, &ins->operands[1], tcb_ptx_type_bits(from));
		if (tcb_ptx_type_class(from) == TCB_PTX_CLASS_SINT)
			a = (uint64_t)thread_signed(a, tcb_ptx_type_bits(from));
		a = thread_cut(a, bits);
		return is_signed ? (uint64_t)thread_signed(a, bits) : a;
	}
	a = thread_read(t, &ins->operands[1], bits);
	if (sources > 1)
		b = thread_read(t, &ins->operands[2],
				ins->op == TCB_PTX_OP_SHL || ins->op == TCB_PTX_OP_SHR ? 32 : bits);
	if (sources > 2)
		c = thread_read(t, &ins->operands[3], ins->op == TCB_PTX_OP_SELP ? 1 : is_wide ? wide : bits);
	x = thread_signed(a, bits);
	y = thread_signed(b, bits);
	switch ((int)ins->op) {
	case TCB_PTX_OP_MOV:
	case TCB_PTX_OP_CVTA:
		return a;
	case TCB_PTX_OP_ADD:
		return a + b;
	case TCB_PTX_OP_SUB:
		return a - b;
	case TCB_PTX_OP_NEG:
		return 0 - a;
	case TCB_PTX_OP_MUL:
	case TCB_PTX_OP_MAD:
		return (is_wide && is_signed ? (uint64_t)(x * y) : a * b) + (ins->op == TCB_PTX_OP_MAD ? c : 0);
	case TCB_PTX_OP_AND:
		return a & b;
	case TCB_PTX_OP_OR:
		return a | b;
	case TCB_PTX_OP_XOR:
		return a ^ b;
	case TCB_PTX_OP_NOT:
		return ~a;
	case TCB_PTX_OP_LOP3: {
		uint64_t out = 0;

		for (unsigned i = 0; i < bits; i++)
			out |= (ins->operands[4].bits >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)) & 1)
			       << i;
		return out;
	}
	case TCB_PTX_OP_SHL:
		return b >= bits ? 0 : a << b;
	case TCB_PTX_OP_SHR:
		return is_signed ? (uint64_t)(x >> (b < bits ? b : bits - 1)) : b >= bits ? 0 : a >> b;
	case TCB_PTX_OP_DIV:
		return is_signed ? (uint64_t)(x / y) : a / b;
	case TCB_PTX_OP_REM:
		return is_signed ? (uint64_t)(x % y) : a % b;
	case TCB_PTX_OP_MIN:
		return is_signed ? (uint64_t)(x < y ? x : y) : a < b ? a : b;
	case TCB_PTX_OP_MAX:
		return is_signed ? (uint64_t)(x > y ? x : y) : a > b ? a : b;
	case TCB_PTX_OP_SELP:
		return c ? a : b;
	case TCB_PTX_OP_PRMT: {
		uint64_t both = a | b << 32, out = 0;

		for (unsigned i = 0; i < 4; i++) {
			unsigned nibble = c >> 4 * i & 15;
			uint64_t byte = both >> 8 * (nibble & 7) & 255;

			out |= (nibble & 8 ? (byte & 128 ? 255u : 0u) : byte) << 8 * i;
		}
		return out;
	}
	case TCB_PTX_OP_BFE:
		return thread_cut(a >> b, (unsigned)c);
	case TCB_PTX_OP_SETP:
		switch ((int)tcb_ptx_mod(ins, TCB_PTX_SLOT_COMPARE)) {
		case TCB_PTX_EQ:
			return a == b;
		case TCB_PTX_NE:
			return a != b;
		case TCB_PTX_LT:
			return is_signed ? x < y : a < b;
		case TCB_PTX_LE:
			return is_signed ? x <= y : a <= b;
		case TCB_PTX_GT:
			return is_signed ? x > y : a > b;
		case TCB_PTX_GE:
			return is_signed ? x >= y : a >= b;
		}
	}
	fail_msg("%s is not run", tcb_ptx_op_text((enum tcb_ptx_op)ins->op));
	return 0;
}

/* Runs to the end; 0 when STEPS were not enough. */
static inline int thread_run(struct thread *t, const struct tcb_ptx_function *function, unsigned steps)
{
	const struct tcb_ptx_block *block = function->first;

	memset(t->reg, 0, sizeof t->reg);
	t->written = 0;
	assert_true(function->reg_count <= THREAD_REGS);
	while (block) {
		const struct tcb_ptx_block *to = block->next;

		for (const struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next) {
			if (!steps--)
				return 0;
			if (t->see)
				t->see(t->ctx, t, ins);
			if (ins->guard != TCB_PTX_NO_REG && (t->reg[ins->guard] != 0) == ins->guard_negated)
				continue;
			if (ins->op == TCB_PTX_OP_RET || ins->op == TCB_PTX_OP_EXIT)
				return 1;
			if (ins->op == TCB_PTX_OP_ST)
				t->written |= (uint64_t)1 << 63;
			if (ins->op == TCB_PTX_OP_BRA)
				to = ins->operands[0].block;
			else if (ins->result_count) {
				uint32_t d = ins->operands[0].reg;

				assert_int_equal(ins->operands[0].kind, TCB_PTX_O_REG);
				t->reg[d] =
					thread_cut(thread_compute(t, ins), tcb_ptx_type_bits(function->regs[d].type));
				t->written |= (uint64_t)1 << d;
			}
		}
		block = to;
	}
	return 1;
}

#endif
