/* SPDX-License-Identifier: MIT
 *
 * Atomics and reductions in memory: lanes in order, each whole.
 */
#include <string.h>

#include "ptx/emulate/emu_float.h"
#include "ptx/emulate/emu_program.h"

/* in->a to d as emu_memory.c sets them; extra: NULL for red */

static uint64_t float_add(enum tcb_ptx_word type, uint64_t a, uint64_t b)
{
	double x, y;

	if (type != TCB_PTX_F64)
		return tcb_ptx_float_add(type, tcb_ptx_float_widen(type, a), tcb_ptx_float_widen(type, b), TCB_PTX_RN,
					 0);
	memcpy(&x, &a, sizeof x);
	memcpy(&y, &b, sizeof y);
	x += y;
	memcpy(&a, &x, sizeof a);
	return a;
}

static uint64_t add(enum tcb_ptx_word type, uint64_t a, uint64_t b)
{
	enum tcb_ptx_word half = type == TCB_PTX_F16X2 ? TCB_PTX_F16 : TCB_PTX_BF16;

	switch ((int)type) {
	case TCB_PTX_F16X2:
	case TCB_PTX_BF16X2:
		return (float_add(half, a & 0xffff, b & 0xffff) & 0xffff) |
		       (float_add(half, a >> 16 & 0xffff, b >> 16 & 0xffff) & 0xffff) << 16;
	case TCB_PTX_F16:
	case TCB_PTX_BF16:
	case TCB_PTX_F32:
	case TCB_PTX_F64:
		return float_add(type, a, b);
	}
	return a + b;
}

/* What is left in memory where A was. */
static uint64_t combine(const struct tcb_ptx_ins *ins, uint64_t a, uint64_t b, uint64_t c)
{
	enum tcb_ptx_word type = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE);
	unsigned gap = 64 - tcb_ptx_type_bits(type);
	int less = tcb_ptx_type_class(type) == TCB_PTX_CLASS_SINT ? (int64_t)(a << gap) < (int64_t)(b << gap)
								  : a << gap < b << gap;

	switch ((int)tcb_ptx_mod(ins, TCB_PTX_SLOT_ATOMIC)) {
	case TCB_PTX_AND:
		return a & b;
	case TCB_PTX_OR:
		return a | b;
	case TCB_PTX_XOR:
		return a ^ b;
	case TCB_PTX_EXCH:
		return b;
	case TCB_PTX_CAS:
		return a == b ? c : a;
	case TCB_PTX_ADD:
		return add(type, a, b);
	case TCB_PTX_INC:
		return a >= b ? 0 : a + 1;
	case TCB_PTX_DEC:
		return !a || a > b ? b : a - 1;
	case TCB_PTX_MIN:
		return less ? a : b;
	default:
		return less ? b : a;
	}
}

/* What every thread sees as one access: emu_claim.c lets several clusters reduce at AT.  Returns what was there. */
static uint64_t exchange(const struct tcb_ptx_ins *ins, uint8_t *at, unsigned size, uint64_t operand)
{
	uint64_t *wide = (uint64_t *)at, old;
	uint32_t *narrow = (uint32_t *)at, old32;

	if (size == sizeof old) {
		old = __atomic_load_n(wide, __ATOMIC_RELAXED);
		while (!__atomic_compare_exchange_n(wide, &old, combine(ins, old, operand, 0), 0, __ATOMIC_RELAXED,
						    __ATOMIC_RELAXED))
			continue;
		return old;
	}
	old32 = __atomic_load_n(narrow, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(narrow, &old32, (uint32_t)combine(ins, old32, operand, 0), 0,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		continue;
	return old32;
}

/* Several threads may be at AT, of SIZE bytes. */
static int is_exchanged(const struct tcb_emu_warp *warp, const struct tcb_emu_ins *in)
{
	return warp->run->crew && in->d & TCB_EMU_COMMUTES;
}

static const struct tcb_emu_operand *element(const struct tcb_emu_operand *op, unsigned i)
{
	return op->kind == TCB_EMU_VECTOR ? &op->items[i] : op;
}

static void count(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, const uint64_t *address, uint32_t active)
{
	uint32_t narrow[TCB_EMU_LANES];

	if (TCB_EMU_WINDOW(address[__builtin_ctz(active)]) || in->wide) {
		TCB_EMU_EACH(lane, active)
		narrow[lane] = (uint32_t)address[lane];
		tcb_emu_count_shared(warp, in, narrow, active, in->b * in->c);
	} else {
		tcb_emu_count_global(warp, in, address, active, in->b * in->c, TCB_EMU_READ | TCB_EMU_WRITE);
	}
}

static void run_atom(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	unsigned first = in->extra ? 1 : 0, size = in->b;
	uint64_t address[TCB_EMU_LANES] = { 0 };
	int changes = 0;

	TCB_EMU_EACH(each, active)
	address[each] = tcb_emu_address(warp, &in->op[first], each);
	count(warp, in, address, active);
	TCB_EMU_EACH(lane, active)
	{
		uint8_t *at = tcb_emu_at(warp, in, lane, address[lane], size * in->c, in->d, NULL);

		if (!at)
			return;
		tcb_emu_strong(warp, in, 1u << lane, at, TCB_EMU_READ | TCB_EMU_WRITE);
		for (unsigned i = 0; i < in->c; i++) {
			uint64_t old = 0, value = tcb_emu_get(warp, element(&in->op[first + 1], i), lane), third = 0;

			if (is_exchanged(warp, in)) {
				if ((uintptr_t)at % size) {
					tcb_emu_give_up(warp); /* the caller's array begins anywhere */
					return;
				}
				old = exchange(in->ins, at, size, value);
				changes |= combine(in->ins, old, value, 0) != old;
				continue;
			}
			memcpy(&old, at + i * size, size);
			if (tcb_ptx_mod(in->ins, TCB_PTX_SLOT_ATOMIC) == TCB_PTX_CAS)
				third = tcb_emu_get(warp, &in->op[first + 2], lane);
			value = combine(in->ins, old, value, third);
			changes |= memcmp(at + i * size, &value, size) != 0;
			memcpy(at + i * size, &value, size);
			if (in->extra)
				tcb_emu_set(warp, element(&in->op[0], i), lane, old);
		}
	}
	if (changes)
		tcb_emu_progress(warp->run);
}

/* .b128: the 128-bit registers' halves */
static unsigned __int128 get128(const struct tcb_emu_warp *warp, const struct tcb_emu_operand *op, unsigned lane)
{
	const uint64_t *halves = tcb_emu_get64(warp, op);

	return halves[lane] | (unsigned __int128)halves[TCB_EMU_LANES + lane] << 64;
}

static void run_atom128(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	int is_cas = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_ATOMIC) == TCB_PTX_CAS;
	uint64_t address[TCB_EMU_LANES] = { 0 };
	int changes = 0;

	TCB_EMU_EACH(each, active)
	address[each] = tcb_emu_address(warp, &in->op[1], each);
	count(warp, in, address, active);
	TCB_EMU_EACH(lane, active)
	{
		uint64_t *to = (uint64_t *)(warp->lanes + in->op[0].offset);
		unsigned __int128 old, b = get128(warp, &in->op[2], lane);
		uint8_t *at = tcb_emu_at(warp, in, lane, address[lane], 16, in->d, NULL);

		if (!at)
			return;
		tcb_emu_strong(warp, in, 1u << lane, at, TCB_EMU_READ | TCB_EMU_WRITE);
		memcpy(&old, at, sizeof old);
		b = !is_cas ? b : old == b ? get128(warp, &in->op[3], lane) : old;
		changes |= b != old;
		memcpy(at, &b, sizeof b);
		if (in->op[0].kind == TCB_EMU_REG) {
			to[lane] = (uint64_t)old;
			to[TCB_EMU_LANES + lane] = (uint64_t)(old >> 64);
		}
	}
	if (changes)
		tcb_emu_progress(warp->run);
}

/* Whether integers of 4 or 8 bytes are combined so that their order does not matter, for all the device. */
static int commutes(const struct tcb_ptx_ins *ins)
{
	switch ((int)tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE)) {
	case TCB_PTX_U32:
	case TCB_PTX_S32:
	case TCB_PTX_B32:
	case TCB_PTX_U64:
	case TCB_PTX_S64:
	case TCB_PTX_B64:
		break;
	default:
		return 0;
	}
	switch ((int)tcb_ptx_mod(ins, TCB_PTX_SLOT_ATOMIC)) {
	case TCB_PTX_ADD:
	case TCB_PTX_MIN:
	case TCB_PTX_MAX:
	case TCB_PTX_AND:
	case TCB_PTX_OR:
	case TCB_PTX_XOR:
		return tcb_ptx_mod(ins, TCB_PTX_SLOT_SCOPE) != TCB_PTX_CTA;
	}
	return 0;
}

enum tcb_status tcb_emu_bind_atomic(struct tcb_emu_decoder *decoder, struct tcb_emu_ins *in, struct tcb_error *err)
{
	int is_red = in->ins->op == TCB_PTX_OP_RED;
	enum tcb_ptx_word space = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_SPACE);
	const struct tcb_emu_operand *data = &in->op[is_red ? 1 : 2];

	(void)decoder;
	TCB_TRY(tcb_emu_bind_access(in, is_red ? 0 : 1, err));
	if ((data->kind == TCB_EMU_VECTOR ? data->count : 1u) != in->c ||
	    (!is_red && in->op[0].kind == TCB_EMU_VECTOR && in->op[0].count != in->c) ||
	    (!is_red && in->c > 1 && in->op[0].kind != TCB_EMU_VECTOR && in->op[0].kind != TCB_EMU_NONE))
		return tcb_fail(err, TCB_E_UNSUPPORTED, "as many registers as the vector has elements are needed");
	in->d = TCB_EMU_READ | TCB_EMU_WRITE | TCB_EMU_ATOMIC;
	if (tcb_ptx_mod(in->ins, TCB_PTX_SLOT_SCOPE) == TCB_PTX_CTA)
		in->d |= TCB_EMU_BLOCK;
	if (in->c == 1 && commutes(in->ins))
		in->d |= TCB_EMU_COMMUTES; /* emu_decode.c takes it away where the old value is used */
	in->wide = space == TCB_PTX_SHARED || space == TCB_PTX_SHARED_CTA || space == TCB_PTX_SHARED_CLUSTER;
	in->extra = is_red ? NULL : in;
	in->run = in->b == 16 ? run_atom128 : run_atom;
	return TCB_OK;
}
