/* SPDX-License-Identifier: MIT
 *
 * Conversions between all types, and cvt.pack.  A value travels as a double when
 * either side is floating point, which holds every value of every format but
 * 64-bit integers, and those go their own way.
 */
#include <math.h>
#include <string.h>

#include "ptx/emulate/emu.h"
#include "ptx/emulate/emu_float.h"

/* in->a: element of the result, b: flags, c: rounding, d: element of the source */

static int is_float(enum tcb_ptx_word type)
{
	return tcb_ptx_type_class(type) == TCB_PTX_CLASS_FLOAT || tcb_ptx_type_class(type) == TCB_PTX_CLASS_ALT;
}

static int is_signed(enum tcb_ptx_word type)
{
	return tcb_ptx_type_class(type) == TCB_PTX_CLASS_SINT;
}

static uint64_t extend(uint64_t value, enum tcb_ptx_word type)
{
	unsigned gap = 64 - tcb_ptx_type_bits(type);

	return is_signed(type) ? (uint64_t)((int64_t)(value << gap) >> gap) : value << gap >> gap;
}

/* VALUE, an extended integer of type FROM, clamped to the range of TO. */
static uint64_t clamp(uint64_t value, enum tcb_ptx_word to, enum tcb_ptx_word from)
{
	unsigned bits = tcb_ptx_type_bits(to);
	uint64_t most = is_signed(to) ? UINT64_MAX >> (65 - bits) : UINT64_MAX >> (64 - bits);

	if (is_signed(from) && (int64_t)value < 0) {
		if (!is_signed(to))
			return 0;
		return (int64_t)value < -(int64_t)most - 1 ? ~most : value;
	}
	return value > most ? most : value;
}

/* Conversions from and to .f64, to .tf32 and from .bf16 to .f32 keep of NaN what fits, as an H200 does; the others give
 * the canonical one. */
static uint64_t convert_nan(enum tcb_ptx_word to, enum tcb_ptx_word from, uint64_t bits)
{
	uint64_t mantissa = bits & 0xfffffffffffff;

	if (to == TCB_PTX_TF32 && from == TCB_PTX_F32)
		return bits & ~0x1fffull;
	if (from == TCB_PTX_BF16 && to == TCB_PTX_F32)
		return (bits & 0xffff) << 16;
	if (from == TCB_PTX_F16) /* to .f64 */
		return (bits >> 15 & 1) << 63 | 0x7ff8ull << 48 | (bits & 0x3ff) << 42;
	if (from == TCB_PTX_F32 || from == TCB_PTX_BF16) {
		bits = from == TCB_PTX_BF16 ? (bits & 0xffff) << 16 : bits;
		return (bits >> 31 & 1) << 63 | 0x7ff8ull << 48 | (bits & 0x7fffff) << 29;
	}
	switch ((int)to) {
	case TCB_PTX_F64:
		return bits | 1ull << 51;
	case TCB_PTX_F32:
		return (bits >> 63) << 31 | 0x7fc00000 | mantissa >> 29;
	case TCB_PTX_F16:
		return (bits >> 63) << 15 | 0x7e00 | mantissa >> 42;
	}
	return tcb_ptx_float_narrow(to, NAN, TCB_PTX_RN, 0);
}

/* One element; sign-extended when the result is a signed integer. */
static uint64_t convert(const struct tcb_emu_ins *in, uint64_t bits)
{
	enum tcb_ptx_word to = (enum tcb_ptx_word)in->a, from = (enum tcb_ptx_word)in->d,
			  round = (enum tcb_ptx_word)in->c;
	double value;

	if (!is_float(from)) {
		bits = extend(bits, from);
		if (is_float(to))
			return is_signed(from) && (int64_t)bits < 0
				       ? tcb_ptx_float_from_integer(to, 1, 0 - bits, round, in->b)
				       : tcb_ptx_float_from_integer(to, 0, bits, round, in->b);
		return extend(in->b & TCB_PTX_FLOAT_SAT ? clamp(bits, to, from) : bits, to);
	}
	value = tcb_ptx_float_widen(from, bits);
	if (isnan(value) && is_float(to) && !(in->b & TCB_PTX_FLOAT_SAT) &&
	    (from == TCB_PTX_F64 || to == TCB_PTX_F64 || to == TCB_PTX_TF32 ||
	     (from == TCB_PTX_BF16 && to == TCB_PTX_F32)))
		return convert_nan(to, from, bits);
	if (in->wide && from == TCB_PTX_F32)
		value = tcb_ptx_float_flush(from, value);
	if (!is_float(to))
		return tcb_ptx_float_to_integer(to, from, value, round);
	if (round == TCB_PTX_RNI || round == TCB_PTX_RZI || round == TCB_PTX_RMI || round == TCB_PTX_RPI) {
		value = tcb_ptx_float_integral(value, round);
		round = TCB_PTX_RN;
	}
	if (to == TCB_PTX_F64 && from == TCB_PTX_F64 && !(in->b & TCB_PTX_FLOAT_SAT)) {
		memcpy(&bits, &value, sizeof bits);
		return bits;
	}
	return tcb_ptx_float_narrow(to, value, round, in->b);
}

static void run_cvt(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	TCB_EMU_EACH(lane, active)
	tcb_emu_set(warp, &in->op[0], lane, convert(in, tcb_emu_get(warp, &in->op[1], lane)));
}

/* Bits that an element takes in a pair. */
static unsigned width_in_pair(enum tcb_ptx_word element)
{
	return element == TCB_PTX_E2M1 ? 4 : tcb_ptx_type_bits(element);
}

/* Two sources to a pair: the first is the upper half. */
static void run_cvt_two(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	unsigned size = width_in_pair((enum tcb_ptx_word)in->a);

	TCB_EMU_EACH(lane, active)
	tcb_emu_set(warp, &in->op[0], lane,
		    convert(in, tcb_emu_get(warp, &in->op[1], lane)) << size |
			    convert(in, tcb_emu_get(warp, &in->op[2], lane)));
}

/* A pair to a pair. */
static void run_cvt_pair(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	unsigned size = width_in_pair((enum tcb_ptx_word)in->a), from = width_in_pair((enum tcb_ptx_word)in->d);

	TCB_EMU_EACH(lane, active)
	{
		uint64_t bits = tcb_emu_get(warp, &in->op[1], lane), mask = (1ull << from) - 1;

		tcb_emu_set(warp, &in->op[0], lane,
			    convert(in, bits >> from & mask) << size | convert(in, bits & mask));
	}
}

/* cvt.pack.sat: two clamped integers at the bottom, and what was there moved up. */
static void run_pack(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	enum tcb_ptx_word to = (enum tcb_ptx_word)in->a;
	unsigned size = tcb_ptx_type_bits(to);
	uint64_t mask = (1ull << size) - 1;

	TCB_EMU_EACH(lane, active)
	{
		uint64_t a = clamp(extend(tcb_emu_get(warp, &in->op[1], lane), TCB_PTX_S32), to, TCB_PTX_S32);
		uint64_t b = clamp(extend(tcb_emu_get(warp, &in->op[2], lane), TCB_PTX_S32), to, TCB_PTX_S32);
		uint64_t c = in->op_count > 3 ? tcb_emu_get(warp, &in->op[3], lane) << 2 * size : 0;

		tcb_emu_set(warp, &in->op[0], lane, (b & mask) | (a & mask) << size | c);
	}
}

/* --- the fast ones --- */

#define FAST(name, from, to, expression)                                                           \
	static void name(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active) \
	{                                                                                          \
		const from *a = tcb_emu_lanes(warp, &in->op[1]);                                   \
		to value[TCB_EMU_LANES];                                                           \
		uint32_t result[TCB_EMU_LANES];                                                    \
                                                                                                   \
		for (unsigned i = 0; i < TCB_EMU_LANES; i++)                                       \
			value[i] = expression;                                                     \
		memcpy(result, value, sizeof result);                                              \
		tcb_emu_put32(warp, &in->op[0], result, active);                                   \
	}

FAST(s32_to_f32, int32_t, float, (float)a[i])
FAST(u32_to_f32, uint32_t, float, (float)a[i])
FAST(f16_to_f32, uint32_t, float, tcb_ptx_f16_to_f32(a[i] & 0xffff))
FAST(f32_to_f16, float, uint32_t, tcb_ptx_f32_to_f16(a[i]))
FAST(f32_to_bf16, float, uint32_t, tcb_ptx_f32_to_bf16(a[i]))
FAST(s8_to_s32, int32_t, int32_t, (int8_t)a[i])
FAST(u8_to_u32, uint32_t, uint32_t, a[i] & 0xff)
FAST(s16_to_s32, int32_t, int32_t, (int16_t)a[i])
FAST(u16_to_u32, uint32_t, uint32_t, a[i] & 0xffff)

#define FAST_TWO(name, convert)                                                                    \
	static void name(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active) \
	{                                                                                          \
		const float *a = tcb_emu_lanes(warp, &in->op[1]);                                  \
		const float *b = tcb_emu_lanes(warp, &in->op[2]);                                  \
		uint32_t result[TCB_EMU_LANES];                                                    \
                                                                                                   \
		for (unsigned i = 0; i < TCB_EMU_LANES; i++)                                       \
			result[i] = convert(a[i]) << 16 | (convert(b[i]) & 0xffff);                \
		tcb_emu_put32(warp, &in->op[0], result, active);                                   \
	}

FAST_TWO(two_to_f16, tcb_ptx_f32_to_f16)
FAST_TWO(two_to_bf16, tcb_ptx_f32_to_bf16)

static tcb_emu_run_fn *fast_two(const struct tcb_emu_ins *in)
{
	if (in->op_count != 3 || in->d != TCB_PTX_F32 || in->c != TCB_PTX_RN || in->b || in->wide ||
	    in->op[0].bits != 32 || in->op[1].bits != 32 || in->op[2].bits != 32)
		return NULL;
	return in->a == TCB_PTX_F16 ? two_to_f16 : in->a == TCB_PTX_BF16 ? two_to_bf16 : NULL;
}

static void u32_to_u64(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	const uint32_t *a = tcb_emu_get32(warp, &in->op[1]);
	uint64_t result[TCB_EMU_LANES];

	for (unsigned i = 0; i < TCB_EMU_LANES; i++)
		result[i] = in->d == TCB_PTX_S32 ? (uint64_t)(int64_t)(int32_t)a[i] : a[i];
	tcb_emu_put64(warp, &in->op[0], result, active);
}

static void u64_to_u32(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	const uint64_t *a = tcb_emu_get64(warp, &in->op[1]);
	uint32_t result[TCB_EMU_LANES];

	for (unsigned i = 0; i < TCB_EMU_LANES; i++)
		result[i] = (uint32_t)a[i];
	tcb_emu_put32(warp, &in->op[0], result, active);
}

static tcb_emu_run_fn *fast(const struct tcb_emu_ins *in)
{
	static const struct {
		uint16_t to, from, round;
		uint8_t to_bits, from_bits; /* of the registers, 64 or less */
		tcb_emu_run_fn *run;
	} table[] = {
		{ TCB_PTX_F32, TCB_PTX_S32, TCB_PTX_RN, 32, 32, s32_to_f32 },
		{ TCB_PTX_F32, TCB_PTX_U32, TCB_PTX_RN, 32, 32, u32_to_f32 },
		{ TCB_PTX_F32, TCB_PTX_F16, 0, 32, 32, f16_to_f32 },
		{ TCB_PTX_F16, TCB_PTX_F32, TCB_PTX_RN, 32, 32, f32_to_f16 },
		{ TCB_PTX_BF16, TCB_PTX_F32, TCB_PTX_RN, 32, 32, f32_to_bf16 },
		{ TCB_PTX_S32, TCB_PTX_S8, 0, 32, 32, s8_to_s32 },
		{ TCB_PTX_U32, TCB_PTX_U8, 0, 32, 32, u8_to_u32 },
		{ TCB_PTX_S32, TCB_PTX_S16, 0, 32, 32, s16_to_s32 },
		{ TCB_PTX_U32, TCB_PTX_U16, 0, 32, 32, u16_to_u32 },
		{ TCB_PTX_U64, TCB_PTX_U32, 0, 64, 32, u32_to_u64 },
		{ TCB_PTX_S64, TCB_PTX_S32, 0, 64, 32, u32_to_u64 },
		{ TCB_PTX_U32, TCB_PTX_U64, 0, 32, 64, u64_to_u32 },
		{ TCB_PTX_S32, TCB_PTX_S64, 0, 32, 64, u64_to_u32 },
	};

	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (table[i].to == in->a && table[i].from == in->d &&
		    table[i].round == in->ins->mod[TCB_PTX_SLOT_ROUND] && !in->b && !in->wide &&
		    (in->op[0].bits == 64) == (table[i].to_bits == 64) &&
		    (in->op[1].bits == 64) == (table[i].from_bits == 64) &&
		    (tcb_ptx_type_bits((enum tcb_ptx_word)in->a) < 32 || in->op[0].bits >= 32))
			return table[i].run;
	return NULL;
}

static enum tcb_ptx_word element_of(enum tcb_ptx_word type)
{
	static const uint16_t pairs[][2] = {
		{ TCB_PTX_F16X2, TCB_PTX_F16 },   { TCB_PTX_BF16X2, TCB_PTX_BF16 }, { TCB_PTX_E4M3X2, TCB_PTX_E4M3 },
		{ TCB_PTX_E5M2X2, TCB_PTX_E5M2 }, { TCB_PTX_E3M2X2, TCB_PTX_E3M2 }, { TCB_PTX_E2M3X2, TCB_PTX_E2M3 },
		{ TCB_PTX_E2M1X2, TCB_PTX_E2M1 },
	};

	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		if (pairs[i][0] == type)
			return (enum tcb_ptx_word)pairs[i][1];
	return type;
}

enum tcb_status tcb_emu_bind_cvt(struct tcb_emu_decoder *decoder, struct tcb_emu_ins *in, struct tcb_error *err)
{
	enum tcb_ptx_word to = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_TYPE), from = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_TYPE2);
	tcb_emu_run_fn *quick;

	(void)decoder;
	in->a = element_of(to);
	in->d = element_of(from);
	in->b = tcb_emu_float_flags(in->ins);
	in->c = in->ins->mod[TCB_PTX_SLOT_ROUND] ? in->ins->mod[TCB_PTX_SLOT_ROUND] : TCB_PTX_RN;
	in->wide = in->b & TCB_PTX_FLOAT_FTZ; /* it is of .f32, on whichever side that is */
	if (in->a != TCB_PTX_F32)
		in->b &= ~(unsigned)TCB_PTX_FLOAT_FTZ;
	if (in->ins->op == TCB_PTX_OP_CVT_PACK) {
		in->run = run_pack;
		return TCB_OK;
	}
	for (unsigned i = 0; i < in->op_count; i++) {
		unsigned count, need = tcb_ptx_type_bits(tcb_ptx_operand_type(in->ins, i, &count));

		if ((in->op[i].kind != TCB_EMU_REG && in->op[i].kind != TCB_EMU_CONST &&
		     (i || in->op[i].kind != TCB_EMU_NONE)) ||
		    in->op[i].bits < (need < 64 ? (need > 16 ? need : 8) : 64) || in->op[i].bits > 64)
			return tcb_fail(err, TCB_E_UNSUPPORTED, "operand %u is too narrow or no register", i + 1);
	}
	quick = fast(in);
	if (in->op_count > 2)
		in->run = fast_two(in) ? fast_two(in) : run_cvt_two;
	else if (element_of(from) != from)
		in->run = run_cvt_pair;
	else
		in->run = quick ? quick : run_cvt;
	return TCB_OK;
}
