/* SPDX-License-Identifier: MIT
 *
 * Logic, shifts, bit fields, byte permutation, and the dot products of bytes.
 * One evaluator knows every form; the common ones have vectorised loops.
 */
#include "ptx/emulate/emu.h"
#include "ptx/ir/integers.h"

/* in->a: bits of the type, b: signed, c: table of lop3, d: second type signed */

static uint64_t low_bits(uint64_t value, unsigned bits)
{
	return bits >= 64 ? value : value & ((1ull << bits) - 1);
}

static int64_t sign_extend(uint64_t value, unsigned bits)
{
	return (int64_t)(value << (64 - bits)) >> (64 - bits);
}

static uint64_t shift_right(const struct tcb_emu_ins *in, uint64_t x, uint64_t by)
{
	if (in->b)
		return (uint64_t)(sign_extend(x, in->a) >> (by > 63 ? 63 : by));
	return by >= in->a ? 0 : low_bits(x, in->a) >> by;
}

static uint64_t reversed(uint64_t x, unsigned bits)
{
	uint64_t out = 0;

	for (unsigned i = 0; i < bits; i++)
		out |= (x >> i & 1) << (bits - 1 - i);
	return out;
}

/* Position of the highest bit that differs from the sign; all ones when there is none. */
static uint64_t bfind(const struct tcb_emu_ins *in, uint64_t x)
{
	unsigned place;

	x = low_bits(in->b && sign_extend(x, in->a) < 0 ? ~x : x, in->a);
	if (!x)
		return UINT32_MAX;
	place = 63 - (unsigned)__builtin_clzll(x);
	return in->ins->mod[TCB_PTX_SLOT_MODE] == TCB_PTX_SHIFTAMT ? in->a - 1 - place : place;
}

static uint64_t bfe(const struct tcb_emu_ins *in, uint64_t x, uint64_t at, uint64_t length)
{
	unsigned last, fill;
	uint64_t out = 0;

	if (in->a == 32) { /* of 64 bits the machines do not cut them: they are made of other instructions */
		at &= 0xff;
		length &= 0xff;
	}
	last = at + length - 1 < in->a - 1 ? (unsigned)(at + length - 1) : in->a - 1;
	fill = in->b && length ? x >> last & 1 : 0;
	for (unsigned i = 0; i < in->a; i++)
		out |= (i < length && at + i < in->a ? x >> (at + i) & 1 : fill) << i;
	return out;
}

static uint64_t bfi(const struct tcb_emu_ins *in, uint64_t x, uint64_t into, uint64_t at, uint64_t length)
{
	if (in->a == 32) {
		at &= 0xff;
		length &= 0xff;
	}
	for (unsigned i = 0; i < length && at + i < in->a; i++)
		into = (into & ~(1ull << (at + i))) | (x >> i & 1) << (at + i);
	return into;
}

/* The place of the OFFSET-th set bit of MASK, counted from BASE: upwards from BASE for positive ones. */
static uint64_t fns(uint32_t mask, uint32_t base, int32_t offset)
{
	int step = offset < 0 ? -1 : 1, found = 0;

	if (base > 31)
		return UINT32_MAX;
	if (!offset)
		return mask >> base & 1 ? base : UINT32_MAX;
	for (int at = (int)base; at >= 0 && at < 32; at += step)
		if (mask >> at & 1 && ++found == (offset < 0 ? -offset : offset))
			return (uint64_t)at;
	return UINT32_MAX;
}

static uint64_t szext(const struct tcb_emu_ins *in, uint64_t x, uint32_t bits)
{
	if (in->ins->mod[TCB_PTX_SLOT_MODE] == TCB_PTX_WRAP)
		bits &= 31;
	if (bits >= 32)
		return x;
	if (!bits)
		return 0;
	return in->b ? (uint64_t)sign_extend(x, bits) : low_bits(x, bits);
}

static uint64_t bmsk(const struct tcb_emu_ins *in, uint32_t at, uint32_t length)
{
	if (in->ins->mod[TCB_PTX_SLOT_MODE] == TCB_PTX_WRAP) {
		at &= 31;
		length &= 31;
	}
	if (at >= 32)
		return 0;
	return (length >= 32 ? UINT32_MAX : (1u << length) - 1) << at;
}

static uint64_t prmt(const struct tcb_emu_ins *in, uint64_t a, uint64_t b, uint32_t c)
{
	static const uint16_t tables[6][4] = { { 0x3210, 0x4321, 0x5432, 0x6543 }, { 0x5670, 0x6701, 0x7012, 0x0123 },
					       { 0x0000, 0x1111, 0x2222, 0x3333 }, { 0x3210, 0x3211, 0x3222, 0x3333 },
					       { 0x0000, 0x1110, 0x2210, 0x3210 }, { 0x1010, 0x3232, 0x1010, 0x3232 } };
	static const uint16_t modes[6] = {
		TCB_PTX_F4E, TCB_PTX_B4E, TCB_PTX_RC8, TCB_PTX_ECL, TCB_PTX_ECR, TCB_PTX_RC16
	};
	uint64_t both = (uint32_t)a | b << 32;
	uint32_t out = 0;

	for (unsigned i = 0; i < 6; i++)
		if (in->ins->mod[TCB_PTX_SLOT_MODE] == modes[i])
			c = tables[i][c & 3];
	for (unsigned i = 0; i < 4; i++) {
		uint32_t pick = c >> 4 * i & 15, byte = (uint32_t)(both >> 8 * (pick & 7)) & 0xff;

		if (pick & 8) /* its sign, eight times */
			byte = byte & 0x80 ? 0xff : 0;
		out |= byte << 8 * i;
	}
	return out;
}

static uint64_t shf(const struct tcb_emu_ins *in, uint64_t a, uint64_t b, uint32_t c)
{
	uint64_t both = (uint32_t)a | b << 32;
	uint32_t by = in->ins->mod[TCB_PTX_SLOT_MODE] == TCB_PTX_WRAP ? c & 31 : c < 32 ? c : 32;

	if (in->ins->mod[TCB_PTX_SLOT_DIRECTION] == TCB_PTX_L)
		return (uint32_t)(by == 32 ? both : both >> (32 - by));
	return (uint32_t)(both >> by);
}

static int64_t part(uint64_t x, unsigned index, unsigned bits, int is_signed)
{
	x = low_bits(x >> bits * index, bits);
	return is_signed ? sign_extend(x, bits) : (int64_t)x;
}

static uint64_t dot(const struct tcb_emu_ins *in, uint64_t a, uint64_t b, uint64_t c)
{
	int64_t sum = (int64_t)c;

	if (in->ins->op == TCB_PTX_OP_DP4A) {
		for (unsigned i = 0; i < 4; i++)
			sum += part(a, i, 8, (int)in->b) * part(b, i, 8, (int)in->d);
	} else {
		unsigned first = in->ins->mod[TCB_PTX_SLOT_MODE] == TCB_PTX_HI ? 2 : 0;

		for (unsigned i = 0; i < 2; i++)
			sum += part(a, i, 16, (int)in->b) * part(b, first + i, 8, (int)in->d);
	}
	return (uint32_t)sum;
}

static uint64_t evaluate(const struct tcb_emu_ins *in, const uint64_t *v)
{
	switch ((enum tcb_ptx_op)in->ins->op) {
	case TCB_PTX_OP_AND:
		return v[0] & v[1];
	case TCB_PTX_OP_OR:
		return v[0] | v[1];
	case TCB_PTX_OP_XOR:
		return v[0] ^ v[1];
	case TCB_PTX_OP_NOT:
		return ~v[0];
	case TCB_PTX_OP_CNOT:
		return !low_bits(v[0], in->a);
	case TCB_PTX_OP_LOP3:
		return (uint32_t)tcb_ptx_lop3(v[0], v[1], v[2], in->c);
	case TCB_PTX_OP_SHL:
		return v[1] >= in->a ? 0 : v[0] << v[1];
	case TCB_PTX_OP_SHR:
		return shift_right(in, v[0], v[1]);
	case TCB_PTX_OP_SHF:
		return shf(in, v[0], v[1], (uint32_t)v[2]);
	case TCB_PTX_OP_PRMT:
		return prmt(in, v[0], v[1], (uint32_t)v[2]);
	case TCB_PTX_OP_POPC:
		return (uint64_t)__builtin_popcountll(v[0]);
	case TCB_PTX_OP_CLZ:
		return v[0] ? (uint64_t)__builtin_clzll(v[0]) - (64 - in->a) : in->a;
	case TCB_PTX_OP_BREV:
		return reversed(v[0], in->a);
	case TCB_PTX_OP_BFIND:
		return bfind(in, v[0]);
	case TCB_PTX_OP_BFE:
		return bfe(in, v[0], v[1], v[2]);
	case TCB_PTX_OP_BFI:
		return bfi(in, v[0], v[1], v[2], v[3]);
	case TCB_PTX_OP_FNS:
		return fns((uint32_t)v[0], (uint32_t)v[1], (int32_t)v[2]);
	case TCB_PTX_OP_SZEXT:
		return szext(in, v[0], (uint32_t)v[1]);
	case TCB_PTX_OP_BMSK:
		return bmsk(in, (uint32_t)v[0], (uint32_t)v[1]);
	default:
		return dot(in, v[0], v[1], v[2]);
	}
}

static void run_any(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	TCB_EMU_EACH(lane, active)
	{
		uint64_t v[5] = { 0 };

		for (unsigned i = 1; i < in->op_count && i < 6; i++)
			v[i - 1] = tcb_emu_get(warp, &in->op[i], lane);
		tcb_emu_set(warp, &in->op[0], lane, evaluate(in, v));
	}
}

static void run_pred(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	uint32_t a = tcb_emu_pred(warp, &in->op[1]), b = in->op_count > 2 ? tcb_emu_pred(warp, &in->op[2]) : 0, result;

	result = in->ins->op == TCB_PTX_OP_AND   ? a & b
		 : in->ins->op == TCB_PTX_OP_OR  ? a | b
		 : in->ins->op == TCB_PTX_OP_XOR ? a ^ b
						 : ~a;
	tcb_emu_put_pred(warp, &in->op[0], result, active);
}

/* lop3.BoolOp: the value, and whether it is not zero, with a predicate */
static void run_lop3_pred(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	const uint32_t *a = tcb_emu_get32(warp, &in->op[1]), *b = tcb_emu_get32(warp, &in->op[2]);
	const uint32_t *c = tcb_emu_get32(warp, &in->op[3]);
	uint32_t result[TCB_EMU_LANES], any = 0, with = tcb_emu_pred(warp, &in->op[5]);

	for (unsigned i = 0; i < TCB_EMU_LANES; i++) {
		result[i] = (uint32_t)tcb_ptx_lop3(a[i], b[i], c[i], in->c);
		any |= (uint32_t)(result[i] != 0) << i;
	}
	any = in->ins->mod[TCB_PTX_SLOT_BOOL] == TCB_PTX_AND ? any & with : any | with;
	tcb_emu_put32(warp, &in->op[0].items[0], result, active);
	tcb_emu_put_pred(warp, &in->op[0].items[1], any, active);
}

#define FAST(name, width, expression)                                                                   \
	static void name(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)      \
	{                                                                                               \
		const uint##width##_t *a = tcb_emu_get##width(warp, &in->op[1]);                        \
		const uint##width##_t *b = tcb_emu_get##width(warp, &in->op[in->op_count > 2 ? 2 : 1]); \
		uint##width##_t result[TCB_EMU_LANES];                                                  \
                                                                                                        \
		(void)b;                                                                                \
		for (unsigned i = 0; i < TCB_EMU_LANES; i++)                                            \
			result[i] = (uint##width##_t)(expression);                                      \
		tcb_emu_put##width(warp, &in->op[0], result, active);                                   \
	}

FAST(and32, 32, a[i] & b[i])
FAST(or32, 32, a[i] | b[i])
FAST(xor32, 32, a[i] ^ b[i])
FAST(not32, 32, ~a[i])
FAST(and64, 64, a[i] & b[i])
FAST(or64, 64, a[i] | b[i])
FAST(xor64, 64, a[i] ^ b[i])
FAST(shl32, 32, b[i] > 31 ? 0 : a[i] << (b[i] & 31))
FAST(shr_u32, 32, b[i] > 31 ? 0 : a[i] >> (b[i] & 31))
FAST(shr_s32, 32, (int32_t)a[i] >> (b[i] > 31 ? 31 : b[i]))

static void shl64(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	const uint64_t *a = tcb_emu_get64(warp, &in->op[1]);
	const uint32_t *b = tcb_emu_get32(warp, &in->op[2]);
	uint64_t result[TCB_EMU_LANES];

	for (unsigned i = 0; i < TCB_EMU_LANES; i++)
		result[i] = b[i] > 63 ? 0 : a[i] << (b[i] & 63);
	tcb_emu_put64(warp, &in->op[0], result, active);
}

static void lop3_32(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	const uint32_t *a = tcb_emu_get32(warp, &in->op[1]), *b = tcb_emu_get32(warp, &in->op[2]);
	const uint32_t *c = tcb_emu_get32(warp, &in->op[3]);
	uint32_t result[TCB_EMU_LANES] = { 0 };

	for (unsigned k = 0; k < 8; k++) {
		uint32_t fa = k & 4 ? 0 : UINT32_MAX, fb = k & 2 ? 0 : UINT32_MAX, fc = k & 1 ? 0 : UINT32_MAX;

		if (in->c >> k & 1)
			for (unsigned i = 0; i < TCB_EMU_LANES; i++)
				result[i] |= (a[i] ^ fa) & (b[i] ^ fb) & (c[i] ^ fc);
	}
	tcb_emu_put32(warp, &in->op[0], result, active);
}

static void dp4a(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	const uint32_t *a = tcb_emu_get32(warp, &in->op[1]), *b = tcb_emu_get32(warp, &in->op[2]);
	const uint32_t *c = tcb_emu_get32(warp, &in->op[3]);
	uint32_t result[TCB_EMU_LANES], fa = in->b ? 0x80 : 0, fb = in->d ? 0x80 : 0;

	for (unsigned i = 0; i < TCB_EMU_LANES; i++) {
		uint32_t sum = c[i];

		for (unsigned k = 0; k < 32; k += 8) /* (x ^ 0x80) - 0x80 extends the sign */
			sum += (((a[i] >> k & 0xff) ^ fa) - fa) * (((b[i] >> k & 0xff) ^ fb) - fb);
		result[i] = sum;
	}
	tcb_emu_put32(warp, &in->op[0], result, active);
}

static tcb_emu_run_fn *fast(const struct tcb_emu_ins *in)
{
	int is_32 = in->a == 32, is_64 = in->a == 64;

	switch ((enum tcb_ptx_op)in->ins->op) {
	case TCB_PTX_OP_AND:
		return is_32 ? and32 : is_64 ? and64 : NULL;
	case TCB_PTX_OP_OR:
		return is_32 ? or32 : is_64 ? or64 : NULL;
	case TCB_PTX_OP_XOR:
		return is_32 ? xor32 : is_64 ? xor64 : NULL;
	case TCB_PTX_OP_NOT:
		return is_32 ? not32 : NULL;
	case TCB_PTX_OP_SHL:
		return is_32 ? shl32 : is_64 ? shl64 : NULL;
	case TCB_PTX_OP_SHR:
		return !is_32 ? NULL : in->b ? shr_s32 : shr_u32;
	case TCB_PTX_OP_LOP3:
		return lop3_32;
	case TCB_PTX_OP_DP4A:
		return dp4a;
	default:
		return NULL;
	}
}

enum tcb_status tcb_emu_bind_bits(struct tcb_emu_decoder *decoder, struct tcb_emu_ins *in, struct tcb_error *err)
{
	enum tcb_ptx_word type = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_TYPE),
			  second = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_TYPE2);
	tcb_emu_run_fn *quick;

	(void)decoder;
	in->a = tcb_ptx_type_bits(type);
	in->b = tcb_ptx_type_class(type) == TCB_PTX_CLASS_SINT;
	in->d = tcb_ptx_type_class(second) == TCB_PTX_CLASS_SINT;
	if (in->ins->op == TCB_PTX_OP_LOP3) {
		in->c = (uint32_t)in->ins->operands[4].bits & 0xff;
		if (in->op_count > 5) {
			if (in->op[0].kind != TCB_EMU_VECTOR)
				return tcb_fail(err, TCB_E_UNSUPPORTED, "a predicate is missing beside the result");
			in->run = run_lop3_pred;
			return TCB_OK;
		}
	}
	if (type == TCB_PTX_PRED) {
		in->run = run_pred;
		return TCB_OK;
	}
	quick = fast(in);
	in->run = quick ? quick : run_any;
	return TCB_OK;
}
