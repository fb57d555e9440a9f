/* SPDX-License-Identifier: MIT
 *
 * In: an instruction and the bits of its sources.  Out: the bits of its result,
 * exactly as a device computes them, or nothing.
 *
 * Integers wrap; shift amounts are clamped; what the manual leaves open (x / 0,
 * the least number / -1) is not computed.  Floating point is computed for f32
 * in every rounding mode, for f64 to nearest, conversions between all types.
 * Never computed: a result that is NaN (payloads are the device's affair),
 * .approx and .full, and with .ftz a result next to the least normal number,
 * where it would matter whether the flush comes before or after rounding.
 */
#include "ptx/emulate/fold_value.h"

#include <math.h>
#include <string.h>

#include "ptx/emulate/emu_float.h"
#include "ptx/ir/integers.h"

static uint64_t cut(uint64_t value, unsigned bits)
{
	return bits >= 64 ? value : value & ((1ull << bits) - 1);
}

static int is_signed(enum tcb_ptx_word type)
{
	return tcb_ptx_type_class(type) == TCB_PTX_CLASS_SINT;
}

uint64_t tcb_ptx_extend(enum tcb_ptx_word type, uint64_t value)
{
	unsigned bits = tcb_ptx_type_bits(type);

	if (bits >= 64 || !bits)
		return value;
	if (is_signed(type))
		return (uint64_t)((int64_t)(value << (64 - bits)) >> (64 - bits));
	return cut(value, bits);
}

/* --- integers --- */

/* The high BITS of the product of two numbers of that size. */
static uint64_t high_half(enum tcb_ptx_word type, uint64_t a, uint64_t b)
{
	unsigned bits = tcb_ptx_type_bits(type);

	if (is_signed(type))
		return (uint64_t)(((__int128)(int64_t)a * (int64_t)b) >> bits);
	return (uint64_t)(((unsigned __int128)a * b) >> bits);
}

static int fold_product(const struct tcb_ptx_ins *ins, uint64_t a, uint64_t b, uint64_t c, uint64_t *out)
{
	enum tcb_ptx_word type = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE);

	if (ins->mod[TCB_PTX_SLOT_SAT])
		return 0;
	switch ((int)tcb_ptx_mod(ins, TCB_PTX_SLOT_MODE)) {
	case TCB_PTX_LO:
	case TCB_PTX_WIDE: /* sources of at most 32 bits: the product fits */
		*out = a * b + c;
		return 1;
	case TCB_PTX_HI:
		*out = high_half(type, a, b) + c;
		return 1;
	}
	return 0;
}

static int fold_quotient(const struct tcb_ptx_ins *ins, uint64_t a, uint64_t b, uint64_t *out)
{
	int is_rem = ins->op == TCB_PTX_OP_REM;

	if (!b)
		return 0;
	if (!is_signed(tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE))) {
		*out = is_rem ? a % b : a / b;
		return 1;
	}
	if ((int64_t)b == -1) { /* the least number has no quotient */
		*out = is_rem ? 0 : 0 - a;
		return cut(a, tcb_ptx_type_bits(tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE)) - 1) != 0 || !a;
	}
	*out = (uint64_t)(is_rem ? (int64_t)a % (int64_t)b : (int64_t)a / (int64_t)b);
	return 1;
}

static uint64_t least_of(enum tcb_ptx_word type, uint64_t a, uint64_t b, int most)
{
	int is_less = is_signed(type) ? (int64_t)a < (int64_t)b : a < b;

	return is_less != most ? a : b;
}

static uint64_t shifted(const struct tcb_ptx_ins *ins, uint64_t a, uint64_t amount)
{
	enum tcb_ptx_word type = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE);
	unsigned bits = tcb_ptx_type_bits(type);
	int out_of_range = cut(amount, 32) >= bits;

	if (ins->op == TCB_PTX_OP_SHL)
		return out_of_range ? 0 : a << amount;
	if (is_signed(type))
		return (uint64_t)((int64_t)a >> (out_of_range ? bits - 1 : amount));
	return out_of_range ? 0 : a >> amount;
}

/* shf: the high or low 32 bits of b:a shifted by c. */
static uint64_t funnel(const struct tcb_ptx_ins *ins, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t both = b << 32 | a, amount = cut(c, 32);

	amount = tcb_ptx_mod(ins, TCB_PTX_SLOT_MODE) == TCB_PTX_WRAP ? amount & 31 : amount > 32 ? 32 : amount;
	return tcb_ptx_mod(ins, TCB_PTX_SLOT_DIRECTION) == TCB_PTX_L ? both << amount >> 32 : both >> amount;
}

/* The byte of b:a that each nibble of C names, or its sign spread when the nibble's top bit is set. */
static uint64_t permuted(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t both = b << 32 | a, out = 0;

	for (unsigned i = 0; i < 4; i++) {
		unsigned pick = (unsigned)(c >> (4 * i) & 15);
		uint64_t byte = both >> (8 * (pick & 7)) & 255;

		out |= (pick & 8 ? (byte >> 7 ? 255ull : 0) : byte) << (8 * i);
	}
	return out;
}

static int fold_bits(const struct tcb_ptx_ins *ins, const uint64_t *s, uint64_t *out)
{
	enum tcb_ptx_word type = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE);
	unsigned bits = tcb_ptx_type_bits(type);

	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_AND:
		*out = s[1] & s[2];
		return 1;
	case TCB_PTX_OP_OR:
		*out = s[1] | s[2];
		return 1;
	case TCB_PTX_OP_XOR:
		*out = s[1] ^ s[2];
		return 1;
	case TCB_PTX_OP_NOT:
		*out = ~s[1];
		return 1;
	case TCB_PTX_OP_CNOT:
		*out = !s[1];
		return 1;
	case TCB_PTX_OP_SHL:
	case TCB_PTX_OP_SHR:
		*out = shifted(ins, s[1], s[2]);
		return 1;
	case TCB_PTX_OP_SHF:
		*out = funnel(ins, s[1], s[2], s[3]);
		return 1;
	case TCB_PTX_OP_LOP3:
		*out = tcb_ptx_lop3(s[1], s[2], s[3], s[4]);
		return !ins->mod[TCB_PTX_SLOT_BOOL];
	case TCB_PTX_OP_PRMT:
		*out = permuted(s[1], s[2], s[3]);
		return !ins->mod[TCB_PTX_SLOT_MODE];
	case TCB_PTX_OP_POPC:
		*out = (uint64_t)__builtin_popcountll(s[1]);
		return 1;
	case TCB_PTX_OP_CLZ:
		*out = s[1] ? (uint64_t)__builtin_clzll(s[1]) - (64 - bits) : bits;
		return 1;
	case TCB_PTX_OP_BREV:
		*out = 0;
		for (unsigned i = 0; i < bits; i++)
			*out |= (s[1] >> i & 1) << (bits - 1 - i);
		return 1;
	default:
		return 0;
	}
}

static int fold_integer(const struct tcb_ptx_ins *ins, const uint64_t *s, uint64_t *out)
{
	enum tcb_ptx_word type = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE);

	if (ins->mod[TCB_PTX_SLOT_SAT] || ins->mod[TCB_PTX_SLOT_RELU] || ins->mod[TCB_PTX_SLOT_CARRY])
		return 0;
	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_ADD:
		*out = s[1] + s[2];
		return 1;
	case TCB_PTX_OP_SUB:
		*out = s[1] - s[2];
		return 1;
	case TCB_PTX_OP_MUL:
		return fold_product(ins, s[1], s[2], 0, out);
	case TCB_PTX_OP_MAD:
		return fold_product(ins, s[1], s[2], s[3], out);
	case TCB_PTX_OP_DIV:
	case TCB_PTX_OP_REM:
		return fold_quotient(ins, s[1], s[2], out);
	case TCB_PTX_OP_NEG:
		*out = 0 - s[1];
		return 1;
	case TCB_PTX_OP_ABS:
		*out = (int64_t)s[1] < 0 ? 0 - s[1] : s[1];
		return 1;
	case TCB_PTX_OP_MIN:
	case TCB_PTX_OP_MAX:
		*out = least_of(type, s[1], s[2], ins->op == TCB_PTX_OP_MAX);
		return 1;
	default:
		return fold_bits(ins, s, out);
	}
}

/* --- floating point --- */

static unsigned flags_of(const struct tcb_ptx_ins *ins)
{
	return (ins->mod[TCB_PTX_SLOT_SAT] == TCB_PTX_SAT ? TCB_PTX_FLOAT_SAT : 0u) |
	       (ins->mod[TCB_PTX_SLOT_FTZ] == TCB_PTX_FTZ ? TCB_PTX_FLOAT_FTZ : 0u);
}

static double source_value(const struct tcb_ptx_ins *ins, enum tcb_ptx_word type, uint64_t bits)
{
	double value = tcb_ptx_float_widen(type, bits);

	return (flags_of(ins) & TCB_PTX_FLOAT_FTZ) && type == TCB_PTX_F32 ? tcb_ptx_float_flush(type, value) : value;
}

/* f32 by the emulator's arithmetic: exact in every mode. */
static int single(const struct tcb_ptx_ins *ins, const double *v, unsigned flags, uint64_t *out)
{
	enum tcb_ptx_word round = tcb_ptx_mod(ins, TCB_PTX_SLOT_ROUND);

	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_ADD:
		*out = tcb_ptx_float_add(TCB_PTX_F32, v[1], v[2], round, flags);
		return 1;
	case TCB_PTX_OP_SUB:
		*out = tcb_ptx_float_add(TCB_PTX_F32, v[1], -v[2], round, flags);
		return 1;
	case TCB_PTX_OP_MUL:
		*out = tcb_ptx_float_mul(TCB_PTX_F32, v[1], v[2], round, flags);
		return 1;
	case TCB_PTX_OP_FMA:
	case TCB_PTX_OP_MAD:
		*out = tcb_ptx_float_fma(TCB_PTX_F32, v[1], v[2], v[3], round, flags);
		return 1;
	case TCB_PTX_OP_DIV:
		*out = tcb_ptx_float_div(TCB_PTX_F32, v[1], v[2], round, flags);
		return round != TCB_PTX_NO_WORD;
	case TCB_PTX_OP_RCP:
		*out = tcb_ptx_float_div(TCB_PTX_F32, 1, v[1], round, flags);
		return round != TCB_PTX_NO_WORD;
	case TCB_PTX_OP_SQRT:
		*out = tcb_ptx_float_sqrt(TCB_PTX_F32, v[1], round, flags);
		return round != TCB_PTX_NO_WORD;
	default:
		return 0;
	}
}

/* f64 by the host, which rounds to nearest. */
static int fold_double(const struct tcb_ptx_ins *ins, const double *v, uint64_t *out)
{
	enum tcb_ptx_word round = tcb_ptx_mod(ins, TCB_PTX_SLOT_ROUND);
	double value;

	if (round != TCB_PTX_RN && round != TCB_PTX_NO_WORD)
		return 0;
	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_ADD:
		value = v[1] + v[2];
		break;
	case TCB_PTX_OP_SUB:
		value = v[1] - v[2];
		break;
	case TCB_PTX_OP_MUL:
		value = v[1] * v[2];
		break;
	case TCB_PTX_OP_FMA:
	case TCB_PTX_OP_MAD:
		value = fma(v[1], v[2], v[3]);
		break;
	case TCB_PTX_OP_DIV:
		value = v[1] / v[2];
		break;
	default:
		return 0;
	}
	memcpy(out, &value, sizeof value);
	return 1;
}

/* Neither NaN nor where flushing is delicate, nor a zero whose sign .sat would decide. */
static int is_settled(const struct tcb_ptx_ins *ins, enum tcb_ptx_word type, uint64_t bits)
{
	double value = tcb_ptx_float_widen(type, bits);
	unsigned flags = flags_of(ins);

	if (isnan(value) || ((flags & TCB_PTX_FLOAT_SAT) && value == 0))
		return 0;
	return !(flags & TCB_PTX_FLOAT_FTZ) || value == 0 || fabs(value) > 0x1p-126;
}

static int fold_float(const struct tcb_ptx_ins *ins, enum tcb_ptx_word type, const uint64_t *s, uint64_t *out)
{
	unsigned flags = flags_of(ins), bits = tcb_ptx_type_bits(type);
	double v[4];

	if (ins->mod[TCB_PTX_SLOT_TYPE2] || ins->mod[TCB_PTX_SLOT_APPROX] || ins->mod[TCB_PTX_SLOT_NAN] ||
	    ins->mod[TCB_PTX_SLOT_XORSIGN] || ins->mod[TCB_PTX_SLOT_ABS] || ins->mod[TCB_PTX_SLOT_RELU] ||
	    ins->operand_count > 4)
		return 0;
	for (unsigned i = 1; i < ins->operand_count; i++) {
		v[i] = source_value(ins, type, s[i]);
		if (isnan(v[i]))
			return 0;
	}
	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_NEG:
	case TCB_PTX_OP_ABS:
		*out = ins->op == TCB_PTX_OP_ABS ? cut(s[1], bits - 1) : s[1] ^ 1ull << (bits - 1);
		return is_settled(ins, type, *out);
	case TCB_PTX_OP_MIN:
	case TCB_PTX_OP_MAX:
		if (ins->operand_count != 3 || v[1] == v[2]) /* -0 is less than +0 here */
			return 0;
		*out = (v[1] < v[2]) == (ins->op == TCB_PTX_OP_MIN) ? s[1] : s[2];
		return is_settled(ins, type, *out);
	default:
		break;
	}
	/* rounded without the flush, so that is_settled sees what the flush would meet */
	if (type == TCB_PTX_F32 ? !single(ins, v, flags & ~TCB_PTX_FLOAT_FTZ, out) : !fold_double(ins, v, out))
		return 0;
	return is_settled(ins, type, *out);
}

/* --- comparing and selecting --- */

static int compare_floats(enum tcb_ptx_word compare, double a, double b)
{
	int unordered = isnan(a) || isnan(b);

	switch ((int)compare) {
	case TCB_PTX_EQ:
		return a == b;
	case TCB_PTX_NE:
		return !unordered && a != b;
	case TCB_PTX_LT:
		return a < b;
	case TCB_PTX_LE:
		return a <= b;
	case TCB_PTX_GT:
		return a > b;
	case TCB_PTX_GE:
		return a >= b;
	case TCB_PTX_EQU:
		return unordered || a == b;
	case TCB_PTX_NEU:
		return unordered || a != b;
	case TCB_PTX_LTU:
		return unordered || a < b;
	case TCB_PTX_LEU:
		return unordered || a <= b;
	case TCB_PTX_GTU:
		return unordered || a > b;
	case TCB_PTX_GEU:
		return unordered || a >= b;
	case TCB_PTX_NUM:
		return !unordered;
	default: /* nan */
		return unordered;
	}
}

static int fold_setp(const struct tcb_ptx_ins *ins, enum tcb_ptx_word type, const uint64_t *s, uint64_t *out)
{
	enum tcb_ptx_word compare = tcb_ptx_mod(ins, TCB_PTX_SLOT_COMPARE);

	if (type == TCB_PTX_F32 || type == TCB_PTX_F64)
		*out = (uint64_t)compare_floats(compare, source_value(ins, type, s[1]), source_value(ins, type, s[2]));
	else if (tcb_ptx_type_class(type) != TCB_PTX_CLASS_FLOAT && tcb_ptx_type_class(type) != TCB_PTX_CLASS_ALT)
		*out = (uint64_t)tcb_ptx_compare(compare, s[1], s[2], 64, is_signed(type));
	else
		return 0;
	switch ((int)tcb_ptx_mod(ins, TCB_PTX_SLOT_BOOL)) {
	case TCB_PTX_AND:
		*out &= s[3];
		break;
	case TCB_PTX_OR:
		*out |= s[3];
		break;
	case TCB_PTX_XOR:
		*out ^= s[3];
		break;
	}
	return 1;
}

/* --- conversions --- */

static int is_real(enum tcb_ptx_word type)
{
	return type == TCB_PTX_F16 || type == TCB_PTX_BF16 || type == TCB_PTX_F32 || type == TCB_PTX_F64;
}

static int is_whole(enum tcb_ptx_word type)
{
	return tcb_ptx_type_class(type) == TCB_PTX_CLASS_UINT || tcb_ptx_type_class(type) == TCB_PTX_CLASS_SINT;
}

static uint64_t saturated(enum tcb_ptx_word to, enum tcb_ptx_word from, uint64_t value)
{
	unsigned bits = tcb_ptx_type_bits(to);
	uint64_t most = is_signed(to) ? (1ull << (bits - 1)) - 1 : ~0ull >> (64 - bits);

	if (is_signed(from) && (int64_t)value < 0) {
		if (!is_signed(to))
			return 0;
		return (int64_t)value < -(int64_t)most - 1 ? ~most : value;
	}
	return value > most ? most : value;
}

static int fold_cvt(const struct tcb_ptx_ins *ins, uint64_t source, uint64_t *out)
{
	enum tcb_ptx_word to = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE), from = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE2);
	enum tcb_ptx_word round = tcb_ptx_mod(ins, TCB_PTX_SLOT_ROUND);
	unsigned flags = flags_of(ins) & ~TCB_PTX_FLOAT_FTZ;
	int negative = is_signed(from) && (int64_t)source < 0;
	double value;

	if (ins->operand_count != 2 || ins->mod[TCB_PTX_SLOT_RELU] || ins->mod[TCB_PTX_SLOT_SAT] == TCB_PTX_SATFINITE)
		return 0;
	if (is_whole(from) && is_whole(to)) {
		*out = tcb_ptx_extend(to, ins->mod[TCB_PTX_SLOT_SAT] ? saturated(to, from, source) : source);
		return 1;
	}
	if (is_whole(from) && is_real(to)) {
		*out = tcb_ptx_float_from_integer(to, negative, negative ? 0 - source : source, round, flags);
		return is_settled(ins, to, *out);
	}
	if (!is_real(from))
		return 0;
	value = source_value(ins, from, source);
	if (isnan(value))
		return 0;
	if (is_whole(to)) {
		*out = tcb_ptx_float_to_integer(to, from, value, round);
		return 1;
	}
	if (!is_real(to))
		return 0;
	if (round >= TCB_PTX_RNI && round <= TCB_PTX_RPI) {
		value = tcb_ptx_float_integral(value, round);
		round = TCB_PTX_NO_WORD;
	}
	*out = tcb_ptx_float_narrow(to, value, round, flags);
	return is_settled(ins, to, *out);
}

int tcb_ptx_fold_value(const struct tcb_ptx_ins *ins, const uint64_t *source, uint64_t *out)
{
	enum tcb_ptx_word type = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE);
	uint64_t s[TCB_PTX_SPECS_MAX] = { 0 };

	for (unsigned i = ins->result_count; i < ins->operand_count && i < TCB_PTX_SPECS_MAX; i++) {
		unsigned count;

		s[i] = tcb_ptx_extend(tcb_ptx_operand_type(ins, i, &count), source[i]);
	}
	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_SETP:
		return fold_setp(ins, type, s, out);
	case TCB_PTX_OP_SELP:
		*out = s[3] ? s[1] : s[2];
		return 1;
	case TCB_PTX_OP_CVT:
		return fold_cvt(ins, s[1], out);
	default:
		break;
	}
	if (type == TCB_PTX_F32 || type == TCB_PTX_F64)
		return fold_float(ins, type, s, out);
	if (tcb_ptx_type_class(type) == TCB_PTX_CLASS_FLOAT || tcb_ptx_type_class(type) == TCB_PTX_CLASS_ALT)
		return 0;
	return fold_integer(ins, s, out);
}
