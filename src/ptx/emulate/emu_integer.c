/* SPDX-License-Identifier: MIT
 *
 * Integer arithmetic.  One evaluator knows every form; the forms that kernels
 * are full of have loops over all lanes that the compiler can vectorise.
 */
#include "ptx/emulate/emu.h"

/* in->a: bits of the type, b: signed, c: enum how of the product */
enum how { LO, HI, WIDE };

static int64_t sign_extend(uint64_t value, unsigned bits)
{
	return (int64_t)(value << (64 - bits)) >> (64 - bits);
}

static uint64_t extend(uint64_t value, unsigned bits, int is_signed)
{
	if (is_signed)
		return (uint64_t)sign_extend(value, bits);
	return bits == 64 ? value : value & ((1ull << bits) - 1);
}

static uint64_t clamp32(int64_t value)
{
	return (uint32_t)(value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : value);
}

static uint64_t product(const struct tcb_emu_ins *in, uint64_t x, uint64_t y)
{
	unsigned __int128 full =
		in->b ? (unsigned __int128)((__int128)(int64_t)x * (int64_t)y) : (unsigned __int128)x * y;

	return (uint64_t)(in->c == HI ? full >> in->a : full);
}

/* 24-bit factors: the low 32 bits of the product, or its bits 16 to 47. */
static uint64_t product24(const struct tcb_emu_ins *in, uint64_t x, uint64_t y)
{
	int64_t full = (int64_t)extend(x, 24, (int)in->b) * (int64_t)extend(y, 24, (int)in->b);

	return (uint64_t)(in->c == HI ? full >> 16 : full) & UINT32_MAX;
}

static uint64_t divide(const struct tcb_emu_ins *in, uint64_t x, uint64_t y, int remainder)
{
	if (!y) /* PTX leaves it open; this is what an H200 gives */
		return UINT64_MAX;
	if (!in->b)
		return remainder ? x % y : x / y;
	if ((int64_t)y == -1)
		return remainder ? 0 : 0 - x;
	return (uint64_t)(remainder ? (int64_t)x % (int64_t)y : (int64_t)x / (int64_t)y);
}

static int is_less(const struct tcb_emu_ins *in, uint64_t x, uint64_t y)
{
	return in->b ? (int64_t)x < (int64_t)y : x < y;
}

static uint64_t evaluate(const struct tcb_emu_ins *in, uint64_t x, uint64_t y, uint64_t z)
{
	const struct tcb_ptx_ins *ins = in->ins;
	int sat = ins->mod[TCB_PTX_SLOT_SAT] != 0;
	uint64_t value;

	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_ADD:
		return sat ? clamp32((int64_t)x + (int64_t)y) : x + y;
	case TCB_PTX_OP_SUB:
		return sat ? clamp32((int64_t)x - (int64_t)y) : x - y;
	case TCB_PTX_OP_MUL:
		return product(in, x, y);
	case TCB_PTX_OP_MAD:
		value = product(in, x, y);
		return sat ? clamp32((int64_t)extend(value, 32, 1) + (int64_t)z) : value + z;
	case TCB_PTX_OP_MUL24:
		return product24(in, x, y);
	case TCB_PTX_OP_MAD24:
		value = product24(in, x, y);
		return sat ? clamp32((int64_t)extend(value, 32, 1) + (int64_t)z) : value + z;
	case TCB_PTX_OP_DIV:
		return divide(in, x, y, 0);
	case TCB_PTX_OP_REM:
		return divide(in, x, y, 1);
	case TCB_PTX_OP_ABS:
		return (int64_t)x < 0 ? 0 - x : x;
	case TCB_PTX_OP_NEG:
		return 0 - x;
	case TCB_PTX_OP_MIN:
	case TCB_PTX_OP_MAX:
		value = is_less(in, x, y) == (ins->op == TCB_PTX_OP_MIN) ? x : y;
		return ins->mod[TCB_PTX_SLOT_RELU] && (int64_t)value < 0 ? 0 : value;
	default: /* sad */
		return z + (is_less(in, x, y) ? y - x : x - y);
	}
}

static void run_any(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	unsigned last = in->c == WIDE ? 2 * in->a : in->a;

	TCB_EMU_EACH(lane, active)
	{
		uint64_t v[3] = { 0 };

		for (unsigned i = 1; i < in->op_count && i < 4; i++)
			v[i - 1] = extend(tcb_emu_get(warp, &in->op[i], lane), i == 3 ? last : in->a, (int)in->b);
		tcb_emu_set(warp, &in->op[0], lane, extend(evaluate(in, v[0], v[1], v[2]), last, 0));
	}
}

/* u16x2 and s16x2: each half by itself */
static void run_pair(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	TCB_EMU_EACH(lane, active)
	{
		uint64_t a = tcb_emu_get(warp, &in->op[1], lane), b = tcb_emu_get(warp, &in->op[2], lane);
		uint64_t low = evaluate(in, extend(a, 16, (int)in->b), extend(b, 16, (int)in->b), 0);
		uint64_t high = evaluate(in, extend(a >> 16, 16, (int)in->b), extend(b >> 16, 16, (int)in->b), 0);

		tcb_emu_set(warp, &in->op[0], lane, (low & 0xffff) | (high & 0xffff) << 16);
	}
}

/* --- with the carry flag --- */

static void run_carry(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	enum tcb_ptx_op op = (enum tcb_ptx_op)in->ins->op;
	int takes = op == TCB_PTX_OP_ADDC || op == TCB_PTX_OP_SUBC || op == TCB_PTX_OP_MADC;
	int subtracts = op == TCB_PTX_OP_SUB || op == TCB_PTX_OP_SUBC;

	TCB_EMU_EACH(lane, active)
	{
		uint64_t a = tcb_emu_get(warp, &in->op[1], lane), b = tcb_emu_get(warp, &in->op[2], lane);
		uint64_t carry = takes ? warp->carry >> lane & 1 : 0;
		unsigned __int128 sum;

		if (in->op_count > 3) {
			a = extend(product(in, extend(a, in->a, (int)in->b), extend(b, in->a, (int)in->b)), in->a, 0);
			b = tcb_emu_get(warp, &in->op[3], lane);
		}
		a = extend(a, in->a, 0);
		b = extend(b, in->a, 0);
		sum = subtracts ? (unsigned __int128)a - b - carry : (unsigned __int128)a + b + carry;
		if (in->ins->mod[TCB_PTX_SLOT_CARRY])
			warp->carry = (warp->carry & ~(1u << lane)) | ((uint32_t)(sum >> in->a) & 1) << lane;
		tcb_emu_set(warp, &in->op[0], lane, extend((uint64_t)sum, in->a, 0));
	}
}

/* --- the fast ones --- */

#define FAST(name, width, expression)                                                                   \
	static void name(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)      \
	{                                                                                               \
		const uint##width##_t *a = tcb_emu_get##width(warp, &in->op[1]);                        \
		const uint##width##_t *b = tcb_emu_get##width(warp, &in->op[in->op_count > 2 ? 2 : 1]); \
		const uint##width##_t *c = tcb_emu_get##width(warp, &in->op[in->op_count > 3 ? 3 : 1]); \
		uint##width##_t result[TCB_EMU_LANES];                                                  \
                                                                                                        \
		(void)b;                                                                                \
		(void)c;                                                                                \
		for (unsigned i = 0; i < TCB_EMU_LANES; i++)                                            \
			result[i] = (uint##width##_t)(expression);                                      \
		tcb_emu_put##width(warp, &in->op[0], result, active);                                   \
	}

FAST(add32, 32, a[i] + b[i])
FAST(sub32, 32, a[i] - b[i])
FAST(mul32, 32, a[i] * b[i])
FAST(mad32, 32, a[i] * b[i] + c[i])
FAST(min_u32, 32, a[i] < b[i] ? a[i] : b[i])
FAST(max_u32, 32, a[i] < b[i] ? b[i] : a[i])
FAST(min_s32, 32, (int32_t)a[i] < (int32_t)b[i] ? a[i] : b[i])
FAST(max_s32, 32, (int32_t)a[i] < (int32_t)b[i] ? b[i] : a[i])
FAST(neg32, 32, 0 - a[i])
FAST(add64, 64, a[i] + b[i])
FAST(sub64, 64, a[i] - b[i])
FAST(mul64, 64, a[i] * b[i])
FAST(mad64, 64, a[i] * b[i] + c[i])

static void wide_s32(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	const int32_t *a = tcb_emu_lanes(warp, &in->op[1]), *b = tcb_emu_lanes(warp, &in->op[2]);
	const uint64_t *c = in->op_count > 3 ? tcb_emu_get64(warp, &in->op[3]) : NULL;
	uint64_t result[TCB_EMU_LANES];

	for (unsigned i = 0; i < TCB_EMU_LANES; i++)
		result[i] = (uint64_t)((int64_t)a[i] * b[i]);
	if (c)
		for (unsigned i = 0; i < TCB_EMU_LANES; i++)
			result[i] += c[i];
	tcb_emu_put64(warp, &in->op[0], result, active);
}

static void wide_u32(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	const uint32_t *a = tcb_emu_get32(warp, &in->op[1]), *b = tcb_emu_get32(warp, &in->op[2]);
	const uint64_t *c = in->op_count > 3 ? tcb_emu_get64(warp, &in->op[3]) : NULL;
	uint64_t result[TCB_EMU_LANES];

	for (unsigned i = 0; i < TCB_EMU_LANES; i++)
		result[i] = (uint64_t)a[i] * b[i];
	if (c)
		for (unsigned i = 0; i < TCB_EMU_LANES; i++)
			result[i] += c[i];
	tcb_emu_put64(warp, &in->op[0], result, active);
}

static tcb_emu_run_fn *fast(const struct tcb_emu_ins *in)
{
	enum tcb_ptx_op op = (enum tcb_ptx_op)in->ins->op;
	int is_32 = in->a == 32, is_64 = in->a == 64;

	if (in->ins->mod[TCB_PTX_SLOT_SAT] || in->ins->mod[TCB_PTX_SLOT_RELU] || (!is_32 && !is_64))
		return NULL;
	if (is_32 && in->c == WIDE)
		return in->b ? wide_s32 : wide_u32;
	if (in->c == HI || in->c == WIDE)
		return NULL;
	switch (op) {
	case TCB_PTX_OP_ADD:
		return is_32 ? add32 : add64;
	case TCB_PTX_OP_SUB:
		return is_32 ? sub32 : sub64;
	case TCB_PTX_OP_MUL:
		return is_32 ? mul32 : mul64;
	case TCB_PTX_OP_MAD:
		return is_32 ? mad32 : mad64;
	case TCB_PTX_OP_NEG:
		return is_32 ? neg32 : NULL;
	case TCB_PTX_OP_MIN:
		return is_64 ? NULL : in->b ? min_s32 : min_u32;
	case TCB_PTX_OP_MAX:
		return is_64 ? NULL : in->b ? max_s32 : max_u32;
	default:
		return NULL;
	}
}

enum tcb_status tcb_emu_bind_integer(struct tcb_emu_decoder *decoder, struct tcb_emu_ins *in, struct tcb_error *err)
{
	enum tcb_ptx_word type = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_TYPE),
			  mode = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_MODE);
	tcb_emu_run_fn *quick;

	(void)decoder;
	(void)err;
	in->a = tcb_ptx_type_bits(type);
	in->b = tcb_ptx_type_class(type) == TCB_PTX_CLASS_SINT || type == TCB_PTX_S16X2;
	in->c = mode == TCB_PTX_WIDE ? WIDE : mode == TCB_PTX_HI ? HI : LO;
	if (type == TCB_PTX_U16X2 || type == TCB_PTX_S16X2) {
		in->run = run_pair;
		return TCB_OK;
	}
	if (in->ins->mod[TCB_PTX_SLOT_CARRY] || in->ins->op == TCB_PTX_OP_ADDC || in->ins->op == TCB_PTX_OP_SUBC ||
	    in->ins->op == TCB_PTX_OP_MADC) {
		in->run = run_carry;
		return TCB_OK;
	}
	quick = fast(in);
	in->run = quick ? quick : run_any;
	return TCB_OK;
}
