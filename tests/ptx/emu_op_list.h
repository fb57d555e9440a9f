/* SPDX-License-Identifier: MIT
 *
 * The instructions that the emulator's arithmetic is tested with, and what each
 * computes, in C written for this purpose: plain loops and definitions, and the
 * host's own rounding modes.
 */
#ifndef TCB_TESTS_EMU_OP_LIST_H
#define TCB_TESTS_EMU_OP_LIST_H

#include <fenv.h>
#include <math.h>

#include "emu_ops.h"
#include "ptx/emulate/emu_float.h"

typedef __int128 int128;

#define REF(name, value)                                         \
	static uint64_t name(uint64_t a, uint64_t b, uint64_t c) \
	{                                                        \
		(void)a;                                         \
		(void)b;                                         \
		(void)c;                                         \
		return (uint64_t)(value);                        \
	}
#define S32(x) ((int32_t)(x))
#define S64(x) ((int64_t)(x))
#define S16(x) ((int16_t)(x))

/* --- integers --- */
static int64_t ref_clamp32(int64_t x)
{
	return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : x;
}
REF(r_add, a + b)
REF(r_sub, a - b)
REF(r_add_sat, ref_clamp32((int64_t)S32(a) + S32(b)))
REF(r_sub_sat, ref_clamp32((int64_t)S32(a) - S32(b)))
REF(r_mul, a *b)
REF(r_mul_hi_u32, (a * b) >> 32)
REF(r_mul_hi_s32, (int64_t)S32(a) * S32(b) >> 32)
REF(r_mul_hi_u64, (unsigned __int128)a *b >> 64)
REF(r_mul_hi_s64, (int128)S64(a) * S64(b) >> 64)
REF(r_mul_hi_s16, S16(a) * S16(b) >> 16)
REF(r_mul_hi_u16, (uint32_t)(a & 0xffff) * (uint32_t)(b & 0xffff) >> 16)
REF(r_mul_wide_s32, (int64_t)S32(a) * S32(b))
REF(r_mul_wide_s16, S16(a) * S16(b))
REF(r_mad, a *b + c)
REF(r_mad_hi_s32, ((int64_t)S32(a) * S32(b) >> 32) + S32(c))
REF(r_mad_hi_sat, ref_clamp32(((int64_t)S32(a) * S32(b) >> 32) + S32(c)))
REF(r_mad_wide_s32, (uint64_t)((int64_t)S32(a) * S32(b)) + c)
REF(r_mad_wide_u16, (a & 0xffff) * (b & 0xffff) + c)
static int64_t ref_s24(uint64_t x)
{
	return (int64_t)(x << 40) >> 40;
}
REF(r_mul24_lo_s32, ref_s24(a) * ref_s24(b))
REF(r_mul24_hi_s32, ref_s24(a) * ref_s24(b) >> 16)
REF(r_mul24_hi_u32, (a & 0xffffff) * (b & 0xffffff) >> 16)
REF(r_mad24_lo_u32, (a & 0xffffff) * (b & 0xffffff) + c)
REF(r_mad24_hi_sat, ref_clamp32((int64_t)S32(ref_s24(a) * ref_s24(b) >> 16) + S32(c)))
REF(r_div_s32, S32(b) ? (int64_t)S32(a) / S32(b) : UINT32_MAX)
REF(r_div_u32, b ? a / b : UINT32_MAX)
REF(r_rem_s32, S32(b) ? (int64_t)S32(a) % S32(b) : -1)
REF(r_rem_u32, b ? a % b : UINT32_MAX)
REF(r_div_s64, b ? (int128)S64(a) / S64(b) : -1)
REF(r_rem_u64, b ? a % b : UINT64_MAX)
REF(r_abs_s32, S32(a) < 0 ? -a : a)
REF(r_abs_s64, S64(a) < 0 ? -a : a)
REF(r_neg, -a)
REF(r_min_s32, S32(a) < S32(b) ? a : b)
REF(r_max_u32, a > b ? a : b)
REF(r_max_s64, S64(a) > S64(b) ? a : b)
REF(r_min_u16, a < b ? a : b)
REF(r_max_s16, S16(a) > S16(b) ? a : b)
REF(r_sad_s32, c + (uint64_t)llabs((int64_t)S32(a) - S32(b)))
REF(r_sad_u32, c + (a > b ? a - b : b - a))
REF(r_min_relu, S32(a) < 0 || S32(b) < 0 ? 0 : S32(a) < S32(b) ? a : b)
static uint64_t ref_pairs(uint64_t a, uint64_t b, int how)
{
	uint64_t out = 0;

	for (int i = 0; i < 32; i += 16) {
		int x = S16(a >> i), y = S16(b >> i),
		    v = how == 0   ? x + y
			: how == 1 ? (x > y ? x : y)
				   : (x < y ? x : y);

		out |= (uint64_t)((how == 2 && v < 0 ? 0 : v) & 0xffff) << i;
	}
	return out;
}
REF(r_add_x2, ref_pairs(a, b, 0))
REF(r_max_s16x2, ref_pairs(a, b, 1))
REF(r_min_relu_s16x2, ref_pairs(a, b, 2))

REF(r_carry, c + ((a + b) >> 32))
REF(r_borrow, c - a - (a < b))
REF(r_madc, (a * b >> 32) + (((a * b & UINT32_MAX) + c) >> 32))

/* --- bits --- */
static uint64_t ref_popc(uint64_t a)
{
	uint64_t n = 0;

	for (; a; a >>= 1)
		n += a & 1;
	return n;
}
static uint64_t ref_clz(uint64_t a, unsigned bits)
{
	uint64_t n = 0;

	while (n < bits && !(a >> (bits - 1 - n) & 1))
		n++;
	return n;
}
static uint64_t ref_brev(uint64_t a, unsigned bits)
{
	uint64_t out = 0;

	for (unsigned i = 0; i < bits; i++, a >>= 1)
		out = out << 1 | (a & 1);
	return out;
}
/* The manual's own algorithms. */
static uint64_t ref_bfe(uint64_t a, uint64_t b, uint64_t c, unsigned width, int is_signed)
{
	uint64_t msb = width - 1, pos = width == 32 ? b & 0xff : b, len = width == 32 ? c & 0xff : c, sbit;
	uint64_t d = 0;

	if (!is_signed || len == 0)
		sbit = 0;
	else
		sbit = a >> (pos + len - 1 < msb ? pos + len - 1 : msb) & 1;
	for (uint64_t i = 0; i <= msb; i++)
		d |= (uint64_t)(i < len && pos + i <= msb ? a >> (pos + i) & 1 : sbit) << i;
	return d;
}
static uint64_t ref_bfi(uint64_t a, uint64_t b, unsigned pos, unsigned len, unsigned width)
{
	uint64_t f = b;

	for (unsigned i = 0; i < len && pos + i < width; i++) {
		f &= ~(1ull << (pos + i));
		f |= (a >> i & 1) << (pos + i);
	}
	return f;
}
static uint64_t ref_bfind(uint64_t a, unsigned bits, int is_signed, int shiftamt)
{
	uint32_t d = UINT32_MAX;

	if (is_signed && a >> (bits - 1) & 1)
		a = ~a;
	for (int i = (int)bits - 1; i >= 0; i--)
		if (a >> i & 1) {
			d = (uint32_t)i;
			break;
		}
	return shiftamt && d != UINT32_MAX ? bits - 1 - d : d;
}
static uint64_t ref_prmt(uint64_t a, uint64_t b, const int *pick)
{
	uint64_t both = (a & UINT32_MAX) | b << 32, out = 0;

	for (int i = 0; i < 4; i++) {
		uint64_t byte = both >> 8 * (pick[i] & 7) & 255;

		if (pick[i] & 8)
			byte = byte >> 7 ? 255 : 0;
		out |= byte << 8 * i;
	}
	return out;
}
static uint64_t ref_prmt_mode(uint64_t a, uint64_t b, uint64_t c, char mode)
{
	int n = (int)(c & 3), p[4];

	for (int i = 0; i < 4; i++)
		switch (mode) {
		case 'f':
			p[i] = n + i;
			break;
		case 'b':
			p[i] = (n + 8 - i) & 7;
			break;
		case '8':
			p[i] = n;
			break;
		case 'l':
			p[i] = i > n ? i : n;
			break;
		case 'r':
			p[i] = i < n ? i : n;
			break;
		case '6':
			p[i] = (n & 1) * 2 + (i & 1);
			break;
		default:
			p[i] = (int)(c >> 4 * i & 15);
		}
	return ref_prmt(a, b, p);
}
static uint64_t ref_dot(uint64_t a, uint64_t b, uint64_t c, int sa, int sb, int bytes, int hi)
{
	int64_t sum = S32(c);

	for (int i = 0; i < (bytes ? 4 : 2); i++) {
		int64_t x = bytes ? (sa ? (int64_t)(int8_t)(a >> 8 * i) : (int64_t)(uint8_t)(a >> 8 * i))
				  : (sa ? (int64_t)(int16_t)(a >> 16 * i) : (int64_t)(uint16_t)(a >> 16 * i));
		int k = bytes ? i : i + 2 * hi;
		int64_t y = sb ? (int64_t)(int8_t)(b >> 8 * k) : (int64_t)(uint8_t)(b >> 8 * k);

		sum += x * y;
	}
	return (uint64_t)sum;
}
static uint64_t ref_lop3(uint64_t a, uint64_t b, uint64_t c, unsigned table)
{
	uint64_t out = 0;

	for (int i = 0; i < 32; i++)
		out |= (uint64_t)(table >> ((a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1)) & 1) << i;
	return out;
}
static uint64_t ref_fns(uint32_t mask, uint32_t base, int32_t offset)
{
	/* the manual's */
	int pos = (int)base, inc = offset > 0 ? 1 : -1, count = abs(offset) - 1;

	if (base > 31)
		return UINT32_MAX;
	if (offset == 0)
		return mask >> base & 1 ? base : UINT32_MAX;
	while (pos >= 0 && pos < 32) {
		if (mask >> pos & 1) {
			if (count == 0)
				return (uint64_t)pos;
			count--;
		}
		pos += inc;
	}
	return UINT32_MAX;
}
REF(r_popc, ref_popc(a))
REF(r_clz32, ref_clz(a, 32))
REF(r_clz64, ref_clz(a, 64))
REF(r_brev32, ref_brev(a, 32))
REF(r_brev64, ref_brev(a, 64))
REF(r_bfe_u32, ref_bfe(a, b, c, 32, 0))
REF(r_bfe_s32, ref_bfe(a, b, c, 32, 1))
REF(r_bfe_u64, ref_bfe(a, b, c, 64, 0))
REF(r_bfe_s64, ref_bfe(a, b, c, 64, 1))
REF(r_bfi32, ref_bfi(a, b, 5, c & 0xff, 32))
REF(r_bfi32_at, ref_bfi(a, b, c & 0xff, 9, 32))
REF(r_bfi64, c > 63 ? b : ref_bfi(a, b, (unsigned)c, 20, 64))
REF(r_bfind_u32, ref_bfind(a, 32, 0, 0))
REF(r_bfind_s32, ref_bfind(a, 32, 1, 0))
REF(r_bfind_sa, ref_bfind(a, 32, 0, 1))
REF(r_bfind_s64, ref_bfind(a, 64, 1, 0))
REF(r_fns, ref_fns((uint32_t)a, (uint32_t)b, 2))
REF(r_fns_back, ref_fns((uint32_t)a, (uint32_t)b, -2))
REF(r_szext_s, (b & UINT32_MAX) >= 32 ? a : b & UINT32_MAX ? (uint64_t)((int64_t)(a << (64 - b)) >> (64 - b)) : 0)
REF(r_szext_uw, b & 31 ? a & ((1ull << (b & 31)) - 1) : 0)
REF(r_bmsk_c, a > 31 ? 0 : (b > 31 ? UINT32_MAX : (1ull << b) - 1) << a)
REF(r_bmsk_w, ((1ull << (b & 31)) - 1) << (a & 31))
REF(r_and, a &b)
REF(r_or, a | b)
REF(r_xor, a ^ b)
REF(r_not, ~a)
REF(r_cnot, a == 0)
REF(r_lop3_96, ref_lop3(a, b, c, 0x96))
REF(r_lop3_e8, ref_lop3(a, b, c, 0xe8))
REF(r_lop3_1d, ref_lop3(a, b, c, 0x1d))
REF(r_shl32, b > 31 ? 0 : a << b)
REF(r_shl64, (b & UINT32_MAX) > 63 ? 0 : a << b)
REF(r_shl16, b > 15 ? 0 : a << b)
REF(r_shr_u32, b > 31 ? 0 : a >> b)
REF(r_shr_s32, S32(a) >> (b > 31 ? 31 : b))
REF(r_shr_s64, S64(a) >> (b > 63 ? 63 : b))
REF(r_shr_u64, b > 63 ? 0 : a >> b)
REF(r_shr_s16, S16(a) >> (b > 15 ? 15 : b))
REF(r_shf_lw, (b << 32 | a) << (c & 31) >> 32)
REF(r_shf_rw, (b << 32 | a) >> (c & 31))
REF(r_shf_lc, c > 31 ? a : (b << 32 | a) << c >> 32)
REF(r_shf_rc, (b << 32 | a) >> (c > 31 ? 32 : c))
REF(r_prmt, ref_prmt_mode(a, b, c, 0))
REF(r_prmt_f4e, ref_prmt_mode(a, b, c, 'f'))
REF(r_prmt_b4e, ref_prmt_mode(a, b, c, 'b'))
REF(r_prmt_rc8, ref_prmt_mode(a, b, c, '8'))
REF(r_prmt_ecl, ref_prmt_mode(a, b, c, 'l'))
REF(r_prmt_ecr, ref_prmt_mode(a, b, c, 'r'))
REF(r_prmt_rc16, ref_prmt_mode(a, b, c, '6'))
REF(r_dp4a_ss, ref_dot(a, b, c, 1, 1, 1, 0))
REF(r_dp4a_us, ref_dot(a, b, c, 0, 1, 1, 0))
REF(r_dp4a_uu, ref_dot(a, b, c, 0, 0, 1, 0))
REF(r_dp2a_lo, ref_dot(a, b, c, 1, 1, 0, 0))
REF(r_dp2a_hi, ref_dot(a, b, c, 1, 0, 0, 1))

/* --- floating point: the host's own, in its own rounding modes --- */
static float ref_f(uint64_t bits)
{
	return tcb_ptx_float_of_bits((uint32_t)bits);
}
static double ref_d(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof value);
	return value;
}
static uint64_t ref_fbits(float value)
{
	return isnan(value) ? 0x7fffffff : tcb_ptx_float_bits(value);
}
static uint64_t ref_dbits(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	return bits;
}
static float ref_flush(float value)
{
	return fabsf(value) < 0x1p-126f ? copysignf(0, value) : value;
}
static float ref_sat(float value)
{
	return isnan(value) ? 0 : value < 0 ? 0 : value > 1 ? 1 : value + 0.0f;
}
#define FLOAT_IN(mode, expression)                                          \
	(__extension__({                                                    \
		volatile float x = ref_f(a), y = ref_f(b), z = ref_f(c), r; \
		(void)x;                                                    \
		(void)y;                                                    \
		(void)z;                                                    \
		fesetround(mode);                                           \
		r = expression;                                             \
		fesetround(FE_TONEAREST);                                   \
		ref_fbits(r);                                               \
	}))
#define DOUBLE_IN(mode, expression)                                          \
	(__extension__({                                                     \
		volatile double x = ref_d(a), y = ref_d(b), z = ref_d(c), r; \
		(void)x;                                                     \
		(void)y;                                                     \
		(void)z;                                                     \
		fesetround(mode);                                            \
		r = expression;                                              \
		fesetround(FE_TONEAREST);                                    \
		ref_dbits(r);                                                \
	}))
#define FOUR(name, expression)                                 \
	REF(name##_rn, FLOAT_IN(FE_TONEAREST, expression))     \
	REF(name##_rz, FLOAT_IN(FE_TOWARDZERO, expression))    \
	REF(name##_rm, FLOAT_IN(FE_DOWNWARD, expression))      \
	REF(name##_rp, FLOAT_IN(FE_UPWARD, expression))        \
	REF(name##64_rn, DOUBLE_IN(FE_TONEAREST, expression))  \
	REF(name##64_rz, DOUBLE_IN(FE_TOWARDZERO, expression)) \
	REF(name##64_rm, DOUBLE_IN(FE_DOWNWARD, expression))   \
	REF(name##64_rp, DOUBLE_IN(FE_UPWARD, expression))
FOUR(r_fadd, x + y)
FOUR(r_fsub, x - y)
FOUR(r_fmul, x *y)
FOUR(r_fdiv, x / y)
FOUR(r_frcp, 1.0f / x)
FOUR(r_fsqrt, sqrt(x))
/* libm's fma may ignore the mode, the processor's does not; in quadruple precision it is exact enough to round */
static uint64_t ref_fma32(uint64_t a, uint64_t b, uint64_t c, int mode)
{
	double product = (double)ref_f(a) * ref_f(b);
	float z = ref_f(c);
	volatile __float128 sum =
		(__float128)product + z; /* exact: 48 bits and 24 within 113 or the small one is sticky */
	int product_first =
		fabs(product) > fabs((double)z); /* what the sum lost: the smaller minus its part of the sum */
	volatile __float128 part = product_first ? sum - product : sum - z,
			    lost = product_first ? z - part : product - part;
	volatile double wide;
	volatile float r;

	if (!isfinite(product) || !isfinite(z) || sum == 0)
		wide = product + z;
	else {
		wide = (double)sum;
		if ((__float128)wide != sum || lost != 0) { /* to odd */
			uint64_t bits = ref_dbits(wide);
			__float128 rest = sum - (__float128)wide + lost;

			if (rest != 0 && !(bits & 1))
				bits = (rest > 0) == (wide > 0) ? bits | 1 : bits - 1;
			wide = ref_d(bits);
		}
	}
	fesetround(mode);
	if (sum == 0)
		wide = product + z; /* the sign of an exact zero depends on the mode */
	r = (float)wide;
	fesetround(FE_TONEAREST);
	return ref_fbits(r);
}
REF(r_fma_rn, ref_fma32(a, b, c, FE_TONEAREST))
REF(r_fma_rz, ref_fma32(a, b, c, FE_TOWARDZERO))
REF(r_fma_rm, ref_fma32(a, b, c, FE_DOWNWARD))
REF(r_fma_rp, ref_fma32(a, b, c, FE_UPWARD))
REF(r_fma64_rn, ref_dbits(fma(ref_d(a), ref_d(b), ref_d(c))))
REF(r_fadd_ftz, ref_fbits(ref_flush(ref_flush(ref_f(a)) + ref_flush(ref_f(b)))))
REF(r_fmul_ftz, ref_fbits(ref_flush(ref_flush(ref_f(a)) * ref_flush(ref_f(b)))))
REF(r_fadd_sat, ref_fbits(ref_sat(ref_f(a) + ref_f(b))))
REF(r_fma_sat, ref_fbits(ref_sat(fmaf(ref_f(a), ref_f(b), ref_f(c)))))
static uint64_t ref_minmax(uint64_t a, uint64_t b, int is_min, int nan)
{
	float x = ref_f(a), y = ref_f(b);

	if (isnan(x) || isnan(y))
		return nan || (isnan(x) && isnan(y)) ? 0x7fffffff : isnan(x) ? b : a;
	if (x == 0 && y == 0)
		return is_min ? a | b : a & b;
	return (x < y) == is_min ? a : b;
}
REF(r_fmin, ref_minmax(a, b, 1, 0))
REF(r_fmax, ref_minmax(a, b, 0, 0))
REF(r_fmin_nan, ref_minmax(a, b, 1, 1))
REF(r_fmax_xorsign,
    isnan(ref_f(a)) || isnan(ref_f(b))
	    ? (isnan(ref_f(a)) && isnan(ref_f(b)) ? 0x7fffffff
						  : ((isnan(ref_f(a)) ? b : a) & 0x7fffffff) | ((a ^ b) & 0x80000000))
	    : ((a & 0x7fffffff) > (b & 0x7fffffff) ? a & 0x7fffffff : b & 0x7fffffff) | ((a ^ b) & 0x80000000))
REF(r_fabs, isnan(ref_f(a)) ? 0x7fffffff : a & 0x7fffffff)
REF(r_fneg, isnan(ref_f(a)) ? 0x7fffffff : a ^ 0x80000000)
REF(r_copysign, (a & 0x80000000) | (b & 0x7fffffff))

/* --- halves: each exact in quadruple precision, then rounded once --- */
static uint64_t ref_half(enum tcb_ptx_word type, uint64_t a, uint64_t b, uint64_t c, char op, unsigned flags)
{
	__float128 x = tcb_ptx_float_widen(type, a), y = tcb_ptx_float_widen(type, b), z = tcb_ptx_float_widen(type, c),
		   sum, lost;
	double p = (double)x * (double)y, q = op == 'f' ? (double)z : op == '-' ? -(double)y : (double)y, wide, first;

	if (op == '*')
		return tcb_ptx_float_narrow(type, p, TCB_PTX_RN, flags);
	first = op == 'f' ? p : (double)x;
	wide = first + q;
	if (!isfinite(wide))
		return tcb_ptx_float_narrow(type, wide, TCB_PTX_RN, flags);
	sum = (__float128)first + q;
	lost = sum - wide;
	if (fabs(first) > 0x1p100 * fabs(q) && q != 0)
		lost = q;
	if (fabs(q) > 0x1p100 * fabs(first) && first != 0)
		lost = first;
	if (lost != 0 && wide != 0 && !(ref_dbits(wide) & 1))
		wide = ref_d((lost > 0) == (wide > 0) ? ref_dbits(wide) | 1 : ref_dbits(wide) - 1);
	return tcb_ptx_float_narrow(type, wide, TCB_PTX_RN, flags);
}
#define PAIR(type, a, b, c, op, flags)                                   \
	(ref_half(type, (a)&0xffff, (b)&0xffff, (c)&0xffff, op, flags) | \
	 ref_half(type, (a) >> 16 & 0xffff, (b) >> 16 & 0xffff, (c) >> 16 & 0xffff, op, flags) << 16)
REF(r_hadd, ref_half(TCB_PTX_F16, a, b, c, '+', 0))
REF(r_hsub, ref_half(TCB_PTX_F16, a, b, c, '-', 0))
REF(r_hmul, ref_half(TCB_PTX_F16, a, b, c, '*', 0))
REF(r_hfma, ref_half(TCB_PTX_F16, a, b, c, 'f', 0))
REF(r_hfma_relu, ref_half(TCB_PTX_F16, a, b, c, 'f', TCB_PTX_FLOAT_RELU))
REF(r_hadd_sat, ref_half(TCB_PTX_F16, a, b, c, '+', TCB_PTX_FLOAT_SAT))
REF(r_hadd2, PAIR(TCB_PTX_F16, a, b, c, '+', 0))
REF(r_hmul2, PAIR(TCB_PTX_F16, a, b, c, '*', 0))
REF(r_hfma2, PAIR(TCB_PTX_F16, a, b, c, 'f', 0))
REF(r_badd, ref_half(TCB_PTX_BF16, a, b, c, '+', 0))
REF(r_bmul, ref_half(TCB_PTX_BF16, a, b, c, '*', 0))
REF(r_bfma, ref_half(TCB_PTX_BF16, a, b, c, 'f', 0))
REF(r_bfma2, PAIR(TCB_PTX_BF16, a, b, c, 'f', 0))

/* --- conversions --- */
static uint64_t ref_f2i(double x, double least, double most, int how)
{
	double r = how == 'z' ? trunc(x) : how == 'm' ? floor(x) : how == 'p' ? ceil(x) : nearbyint(x);

	if (isnan(x))
		return 0;
	return r < least ? (uint64_t)(int64_t)least : r > most ? (uint64_t)(int64_t)most : (uint64_t)(int64_t)r;
}
REF(r_cvt_s32_f32, ref_f2i(ref_f(a), INT32_MIN, INT32_MAX, 'z'))
REF(r_cvt_rni_s32, ref_f2i(ref_f(a), INT32_MIN, INT32_MAX, 'n'))
REF(r_cvt_rmi_u32, ref_f2i(ref_f(a), 0, UINT32_MAX, 'm'))
REF(r_cvt_rpi_s16, ref_f2i(ref_f(a), INT16_MIN, INT16_MAX, 'p'))
REF(r_cvt_u8_f32, ref_f2i(ref_f(a), 0, 255, 'n'))
REF(r_cvt_f32_s32, FLOAT_IN(FE_TONEAREST, (float)S32(a)))
REF(r_cvt_rz_f32_u64, FLOAT_IN(FE_TOWARDZERO, (float)a))
REF(r_cvt_rp_f32_s64, FLOAT_IN(FE_UPWARD, (float)S64(a)))
REF(r_cvt_f64_s32, ref_dbits(S32(a)))
#define NAN_KEPT(value) (isnan(ref_d(a)) ? (a >> 63) << 31 | 0x7fc00000 | (a >> 29 & 0x3fffff) : (value))
REF(r_cvt_f32_f64, NAN_KEPT(FLOAT_IN(FE_TONEAREST, (float)ref_d(a))))
REF(r_cvt_rm_f32_f64, NAN_KEPT(FLOAT_IN(FE_DOWNWARD, (float)ref_d(a))))
REF(r_cvt_f16_f32, tcb_ptx_float_narrow(TCB_PTX_F16, ref_f(a), TCB_PTX_RN, 0))
REF(r_cvt_f32_f16, ref_fbits((float)tcb_ptx_float_widen(TCB_PTX_F16, a)))
REF(r_cvt_bf16_f32, tcb_ptx_float_narrow(TCB_PTX_BF16, ref_f(a), TCB_PTX_RN, 0))
REF(r_cvt_rni_f32, ref_fbits(nearbyintf(ref_f(a))))
REF(r_cvt_rmi_f32, ref_fbits(floorf(ref_f(a))))
REF(r_cvt_rpi_f32, ref_fbits(ceilf(ref_f(a))))
REF(r_cvt_rzi_f32, ref_fbits(truncf(ref_f(a))))
REF(r_cvt_sat_f32, ref_fbits(ref_sat(ref_f(a))))
REF(r_cvt_s8_s32, (int64_t)(int8_t)a)
REF(r_cvt_sat_s8, S32(a) > 127 ? 127 : S32(a) < -128 ? -128 : S32(a))
REF(r_cvt_sat_u8, S32(a) > 255 ? 255 : S32(a) < 0 ? 0 : S32(a))
REF(r_cvt_sat_u32_s64, S64(a) > (int64_t)UINT32_MAX ? UINT32_MAX : S64(a) < 0 ? 0 : a)
REF(r_cvt_s64_s32, (int64_t)S32(a))
REF(r_cvt_f16x2, tcb_ptx_float_narrow(TCB_PTX_F16, ref_f(a), TCB_PTX_RN, 0) << 16 |
			 tcb_ptx_float_narrow(TCB_PTX_F16, ref_f(b), TCB_PTX_RN, 0))
REF(r_cvt_bf16x2_relu, tcb_ptx_float_narrow(TCB_PTX_BF16, ref_f(a), TCB_PTX_RN, TCB_PTX_FLOAT_RELU) << 16 |
			       tcb_ptx_float_narrow(TCB_PTX_BF16, ref_f(b), TCB_PTX_RN, TCB_PTX_FLOAT_RELU))
static uint64_t ref_sat8(uint64_t a)
{
	return (uint64_t)(S32(a) > 127 ? 127 : S32(a) < -128 ? -128 : S32(a)) & 255;
}
REF(r_pack_s8, ref_sat8(b) | ref_sat8(a) << 8 | c << 16)

/* --- comparison --- */
REF(r_lt_s32, S32(a) < S32(b))
REF(r_hs_u32, a >= b)
REF(r_lo_u16, a < b)
REF(r_gt_s64, S64(a) > S64(b))
REF(r_lt_f32, ref_f(a) < ref_f(b))
REF(r_geu_f32, !(ref_f(a) < ref_f(b)))
REF(r_num_f32, !isnan(ref_f(a)) && !isnan(ref_f(b)))
REF(r_nan_f32, isnan(ref_f(a)) || isnan(ref_f(b)))
REF(r_neu_f64, !(ref_d(a) == ref_d(b)))
REF(r_le_f16, tcb_ptx_float_widen(TCB_PTX_F16, a) <= tcb_ptx_float_widen(TCB_PTX_F16, b))
REF(r_lt_and, (S32(a) < S32(b)) & c)
REF(r_ge_xor, (S32(a) >= S32(b)) ^ c)
REF(r_eq_ftz, ref_flush(ref_f(a)) == ref_flush(ref_f(b)))
REF(r_set_u32, ref_f(a) > ref_f(b) ? UINT32_MAX : 0)
REF(r_set_f32, S32(a) <= S32(b) ? 0x3f800000 : 0)
REF(r_selp, c ? a : b)
REF(r_slct_s, S32(c) >= 0 ? a : b)
REF(r_slct_f, ref_f(c) >= 0 ? a : b)
REF(r_finite, isfinite(ref_f(a)))
REF(r_subnormal, fpclassify(ref_f(a)) == FP_SUBNORMAL)
REF(r_normal64, fpclassify(ref_d(a)) == FP_NORMAL || ref_d(a) == 0)

/* --- functions whose last bits PTX leaves open: by the C library --- */
REF(r_ex2, ref_fbits((float)exp2(ref_f(a))))
REF(r_lg2, ref_fbits((float)log2(ref_f(a))))
REF(r_sin, ref_fbits((float)sin(ref_f(a))))
REF(r_rsqrt, ref_fbits((float)(1 / sqrt(ref_f(a)))))
REF(r_rcp, ref_fbits(1 / ref_f(a)))
REF(r_tanh, ref_fbits((float)tanh(ref_f(a))))
REF(r_div_full, ref_fbits(ref_f(a) / ref_f(b)))

/* Lines of 4 rounding modes. */
#define ROUNDED(name, text, types, t)                                                   \
	{ text ".rn." t, types, name##_rn, 0 }, { text ".rz." t, types, name##_rz, 0 }, \
		{ text ".rm." t, types, name##_rm, 0 },                                 \
	{                                                                               \
		text ".rp." t, types, name##_rp, 0                                      \
	}

/* clang-format off: one row per instruction */
static const struct emu_op emu_ops[] = {
	{ "add.s32 %d, %a, %b", "u32 u32 u32", r_add, 0 },
	{ "add.u16 %d, %a, %b", "u16 u16 u16", r_add, 0 },
	{ "add.s64 %d, %a, %b", "u64 u64 u64", r_add, 0 },
	{ "sub.s32 %d, %a, %b", "u32 u32 u32", r_sub, 0 },
	{ "sub.u64 %d, %a, %b", "u64 u64 u64", r_sub, 0 },
	{ "add.sat.s32 %d, %a, %b", "u32 u32 u32", r_add_sat, 0 },
	{ "sub.sat.s32 %d, %a, %b", "u32 u32 u32", r_sub_sat, 0 },
	{ "mul.lo.s32 %d, %a, %b", "u32 u32 u32", r_mul, 0 },
	{ "mul.lo.u64 %d, %a, %b", "u64 u64 u64", r_mul, 0 },
	{ "mul.lo.s16 %d, %a, %b", "u16 u16 u16", r_mul, 0 },
	{ "mul.hi.u32 %d, %a, %b", "u32 u32 u32", r_mul_hi_u32, 0 },
	{ "mul.hi.s32 %d, %a, %b", "u32 u32 u32", r_mul_hi_s32, 0 },
	{ "mul.hi.u64 %d, %a, %b", "u64 u64 u64", r_mul_hi_u64, 0 },
	{ "mul.hi.s64 %d, %a, %b", "u64 u64 u64", r_mul_hi_s64, 0 },
	{ "mul.hi.s16 %d, %a, %b", "u16 u16 u16", r_mul_hi_s16, 0 },
	{ "mul.hi.u16 %d, %a, %b", "u16 u16 u16", r_mul_hi_u16, 0 },
	{ "mul.wide.s32 %d, %a, %b", "u64 u32 u32", r_mul_wide_s32, 0 },
	{ "mul.wide.u32 %d, %a, %b", "u64 u32 u32", r_mul, 0 },
	{ "mul.wide.s16 %d, %a, %b", "u32 u16 u16", r_mul_wide_s16, 0 },
	{ "mad.lo.s32 %d, %a, %b, %c", "u32 u32 u32 u32", r_mad, 0 },
	{ "mad.lo.u64 %d, %a, %b, %c", "u64 u64 u64 u64", r_mad, 0 },
	{ "mad.hi.s32 %d, %a, %b, %c", "u32 u32 u32 u32", r_mad_hi_s32, 0 },
	{ "mad.hi.sat.s32 %d, %a, %b, %c", "u32 u32 u32 u32", r_mad_hi_sat, 0 },
	{ "mad.wide.s32 %d, %a, %b, %c", "u64 u32 u32 u64", r_mad_wide_s32, 0 },
	{ "mad.wide.u16 %d, %a, %b, %c", "u32 u16 u16 u32", r_mad_wide_u16, 0 },
	{ "mul24.lo.s32 %d, %a, %b", "u32 u32 u32", r_mul24_lo_s32, 0 },
	{ "mul24.hi.s32 %d, %a, %b", "u32 u32 u32", r_mul24_hi_s32, 0 },
	{ "mul24.hi.u32 %d, %a, %b", "u32 u32 u32", r_mul24_hi_u32, 0 },
	{ "mad24.lo.u32 %d, %a, %b, %c", "u32 u32 u32 u32", r_mad24_lo_u32, 0 },
	{ "mad24.hi.sat.s32 %d, %a, %b, %c", "u32 u32 u32 u32", r_mad24_hi_sat, 0 },
	{ "div.s32 %d, %a, %b", "u32 u32 u32", r_div_s32, 0 },
	{ "div.u32 %d, %a, %b", "u32 u32 u32", r_div_u32, 0 },
	{ "rem.s32 %d, %a, %b", "u32 u32 u32", r_rem_s32, 0 },
	{ "rem.u32 %d, %a, %b", "u32 u32 u32", r_rem_u32, 0 },
	{ "div.s64 %d, %a, %b", "u64 u64 u64", r_div_s64, 0 },
	{ "rem.u64 %d, %a, %b", "u64 u64 u64", r_rem_u64, 0 },
	{ "abs.s32 %d, %a", "u32 u32", r_abs_s32, 0 },
	{ "abs.s64 %d, %a", "u64 u64", r_abs_s64, 0 },
	{ "neg.s32 %d, %a", "u32 u32", r_neg, 0 },
	{ "neg.s16 %d, %a", "u16 u16", r_neg, 0 },
	{ "min.s32 %d, %a, %b", "u32 u32 u32", r_min_s32, 0 },
	{ "max.u32 %d, %a, %b", "u32 u32 u32", r_max_u32, 0 },
	{ "max.s64 %d, %a, %b", "u64 u64 u64", r_max_s64, 0 },
	{ "min.u16 %d, %a, %b", "u16 u16 u16", r_min_u16, 0 },
	{ "max.s16 %d, %a, %b", "u16 u16 u16", r_max_s16, 0 },
	{ "sad.s32 %d, %a, %b, %c", "u32 u32 u32 u32", r_sad_s32, 0 },
	{ "sad.u32 %d, %a, %b, %c", "u32 u32 u32 u32", r_sad_u32, 0 },
	{ "min.relu.s32 %d, %a, %b", "u32 u32 u32", r_min_relu, 0 },
	{ "add.u16x2 %d, %a, %b", "u32 u32 u32", r_add_x2, 0 },
	{ "max.s16x2 %d, %a, %b", "u32 u32 u32", r_max_s16x2, 0 },
	{ "min.relu.s16x2 %d, %a, %b", "u32 u32 u32", r_min_relu_s16x2, 0 },

	{ "popc.b32 %d, %a", "u32 u32", r_popc, 0 },
	{ "popc.b64 %d, %a", "u32 u64", r_popc, 0 },
	{ "clz.b32 %d, %a", "u32 u32", r_clz32, 0 },
	{ "clz.b64 %d, %a", "u32 u64", r_clz64, 0 },
	{ "brev.b32 %d, %a", "u32 u32", r_brev32, 0 },
	{ "brev.b64 %d, %a", "u64 u64", r_brev64, 0 },
	{ "bfe.u32 %d, %a, %b, %c", "u32 u32 u32 u32", r_bfe_u32, 0 },
	{ "bfe.s32 %d, %a, %b, %c", "u32 u32 u32 u32", r_bfe_s32, 0 },
	{ "bfe.u64 %d, %a, %b, %c", "u64 u64 u32 u32", r_bfe_u64, 0 },
	{ "bfe.s64 %d, %a, %b, %c", "u64 u64 u32 u32", r_bfe_s64, 0 },
	{ "bfi.b32 %d, %a, %b, 5, %c", "u32 u32 u32 u32", r_bfi32, 0 },
	{ "bfi.b32 %d, %a, %b, %c, 9", "u32 u32 u32 u32", r_bfi32_at, 0 },
	{ "bfi.b64 %d, %a, %b, %c, 20", "u64 u64 u64 u32", r_bfi64, 0 },
	{ "bfind.u32 %d, %a", "u32 u32", r_bfind_u32, 0 },
	{ "bfind.s32 %d, %a", "u32 u32", r_bfind_s32, 0 },
	{ "bfind.shiftamt.u32 %d, %a", "u32 u32", r_bfind_sa, 0 },
	{ "bfind.s64 %d, %a", "u32 u64", r_bfind_s64, 0 },
	{ "fns.b32 %d, %a, %b, 2", "u32 u32 u32", r_fns, 0 },
	{ "fns.b32 %d, %a, %b, -2", "u32 u32 u32", r_fns_back, 0 },
	{ "szext.clamp.s32 %d, %a, %b", "u32 u32 u32", r_szext_s, 0 },
	{ "szext.wrap.u32 %d, %a, %b", "u32 u32 u32", r_szext_uw, 0 },
	{ "bmsk.clamp.b32 %d, %a, %b", "u32 u32 u32", r_bmsk_c, 0 },
	{ "bmsk.wrap.b32 %d, %a, %b", "u32 u32 u32", r_bmsk_w, 0 },
	{ "and.b32 %d, %a, %b", "u32 u32 u32", r_and, 0 },
	{ "or.b64 %d, %a, %b", "u64 u64 u64", r_or, 0 },
	{ "xor.b16 %d, %a, %b", "u16 u16 u16", r_xor, 0 },
	{ "not.b32 %d, %a", "u32 u32", r_not, 0 },
	{ "not.b64 %d, %a", "u64 u64", r_not, 0 },
	{ "cnot.b32 %d, %a", "u32 u32", r_cnot, 0 },
	{ "and.pred %d, %a, %b", "pred pred pred", r_and, 0 },
	{ "xor.pred %d, %a, %b", "pred pred pred", r_xor, 0 },
	{ "lop3.b32 %d, %a, %b, %c, 0x96", "u32 u32 u32 u32", r_lop3_96, 0 },
	{ "lop3.b32 %d, %a, %b, %c, 0xe8", "u32 u32 u32 u32", r_lop3_e8, 0 },
	{ "lop3.b32 %d, %a, %b, %c, 0x1d", "u32 u32 u32 u32", r_lop3_1d, 0 },
	{ "shl.b32 %d, %a, %b", "u32 u32 u32", r_shl32, 0 },
	{ "shl.b64 %d, %a, %b", "u64 u64 u32", r_shl64, 0 },
	{ "shl.b16 %d, %a, %b", "u16 u16 u32", r_shl16, 0 },
	{ "shr.u32 %d, %a, %b", "u32 u32 u32", r_shr_u32, 0 },
	{ "shr.s32 %d, %a, %b", "u32 u32 u32", r_shr_s32, 0 },
	{ "shr.s64 %d, %a, %b", "u64 u64 u32", r_shr_s64, 0 },
	{ "shr.b64 %d, %a, %b", "u64 u64 u32", r_shr_u64, 0 },
	{ "shr.s16 %d, %a, %b", "u16 u16 u32", r_shr_s16, 0 },
	{ "shf.l.wrap.b32 %d, %a, %b, %c", "u32 u32 u32 u32", r_shf_lw, 0 },
	{ "shf.r.wrap.b32 %d, %a, %b, %c", "u32 u32 u32 u32", r_shf_rw, 0 },
	{ "shf.l.clamp.b32 %d, %a, %b, %c", "u32 u32 u32 u32", r_shf_lc, 0 },
	{ "shf.r.clamp.b32 %d, %a, %b, %c", "u32 u32 u32 u32", r_shf_rc, 0 },
	{ "prmt.b32 %d, %a, %b, %c", "u32 u32 u32 u32", r_prmt, 0 },
	{ "prmt.b32.f4e %d, %a, %b, %c", "u32 u32 u32 u32", r_prmt_f4e, 0 },
	{ "prmt.b32.b4e %d, %a, %b, %c", "u32 u32 u32 u32", r_prmt_b4e, 0 },
	{ "prmt.b32.rc8 %d, %a, %b, %c", "u32 u32 u32 u32", r_prmt_rc8, 0 },
	{ "prmt.b32.ecl %d, %a, %b, %c", "u32 u32 u32 u32", r_prmt_ecl, 0 },
	{ "prmt.b32.ecr %d, %a, %b, %c", "u32 u32 u32 u32", r_prmt_ecr, 0 },
	{ "prmt.b32.rc16 %d, %a, %b, %c", "u32 u32 u32 u32", r_prmt_rc16, 0 },
	{ "dp4a.s32.s32 %d, %a, %b, %c", "u32 u32 u32 u32", r_dp4a_ss, 0 },
	{ "dp4a.u32.s32 %d, %a, %b, %c", "u32 u32 u32 u32", r_dp4a_us, 0 },
	{ "dp4a.u32.u32 %d, %a, %b, %c", "u32 u32 u32 u32", r_dp4a_uu, 0 },
	{ "dp2a.lo.s32.s32 %d, %a, %b, %c", "u32 u32 u32 u32", r_dp2a_lo, 0 },
	{ "dp2a.hi.s32.u32 %d, %a, %b, %c", "u32 u32 u32 u32", r_dp2a_hi, 0 },

	ROUNDED(r_fadd, "add", "f32 f32 f32", "f32 %d, %a, %b"),
	ROUNDED(r_fadd64, "add", "f64 f64 f64", "f64 %d, %a, %b"),
	ROUNDED(r_fsub, "sub", "f32 f32 f32", "f32 %d, %a, %b"),
	ROUNDED(r_fsub64, "sub", "f64 f64 f64", "f64 %d, %a, %b"),
	ROUNDED(r_fmul, "mul", "f32 f32 f32", "f32 %d, %a, %b"),
	ROUNDED(r_fmul64, "mul", "f64 f64 f64", "f64 %d, %a, %b"),
	ROUNDED(r_fdiv, "div", "f32 f32 f32", "f32 %d, %a, %b"),
	ROUNDED(r_fdiv64, "div", "f64 f64 f64", "f64 %d, %a, %b"),
	ROUNDED(r_frcp, "rcp", "f32 f32", "f32 %d, %a"),
	ROUNDED(r_frcp64, "rcp", "f64 f64", "f64 %d, %a"),
	ROUNDED(r_fsqrt, "sqrt", "f32 f32", "f32 %d, %a"),
	ROUNDED(r_fsqrt64, "sqrt", "f64 f64", "f64 %d, %a"),
	ROUNDED(r_fma, "fma", "f32 f32 f32 f32", "f32 %d, %a, %b, %c"),
	{ "fma.rn.f64 %d, %a, %b, %c", "f64 f64 f64 f64", r_fma64_rn, 0 },
	{ "fma.rz.f64 %d, %a, %b, %c", "f64 f64 f64 f64", NULL, 0 },
	{ "fma.rm.f64 %d, %a, %b, %c", "f64 f64 f64 f64", NULL, 0 },
	{ "fma.rp.f64 %d, %a, %b, %c", "f64 f64 f64 f64", NULL, 0 },
	{ "mad.rn.f32 %d, %a, %b, %c", "f32 f32 f32 f32", r_fma_rn, 0 },
	{ "add.ftz.f32 %d, %a, %b", "f32 f32 f32", r_fadd_ftz, 0 },
	{ "mul.ftz.f32 %d, %a, %b", "f32 f32 f32", r_fmul_ftz, 0 },
	{ "fma.rn.ftz.f32 %d, %a, %b, %c", "f32 f32 f32 f32", NULL, 0 },
	{ "fma.rz.ftz.f32 %d, %a, %b, %c", "f32 f32 f32 f32", NULL, 0 },
	{ "add.sat.f32 %d, %a, %b", "f32 f32 f32", r_fadd_sat, 0 },
	{ "fma.rn.sat.f32 %d, %a, %b, %c", "f32 f32 f32 f32", r_fma_sat, 0 },
	{ "min.f32 %d, %a, %b", "f32 f32 f32", r_fmin, 0 },
	{ "max.f32 %d, %a, %b", "f32 f32 f32", r_fmax, 0 },
	{ "min.NaN.f32 %d, %a, %b", "f32 f32 f32", r_fmin_nan, 0 },
	{ "max.xorsign.abs.f32 %d, %a, %b", "f32 f32 f32", r_fmax_xorsign, 0 },
	{ "min.ftz.f32 %d, %a, %b", "f32 f32 f32", NULL, 0 },
	{ "min.f64 %d, %a, %b", "f64 f64 f64", NULL, 0 },
	{ "abs.f32 %d, %a", "f32 f32", r_fabs, 0 },
	{ "neg.f32 %d, %a", "f32 f32", r_fneg, 0 },
	{ "neg.ftz.f32 %d, %a", "f32 f32", NULL, 0 },
	{ "copysign.f32 %d, %a, %b", "f32 f32 f32", r_copysign, 0 },
	{ "add.f16 %d, %a, %b", "f16 f16 f16", r_hadd, 0 },
	{ "sub.f16 %d, %a, %b", "f16 f16 f16", r_hsub, 0 },
	{ "mul.f16 %d, %a, %b", "f16 f16 f16", r_hmul, 0 },
	{ "fma.rn.f16 %d, %a, %b, %c", "f16 f16 f16 f16", r_hfma, 0 },
	{ "fma.rn.relu.f16 %d, %a, %b, %c", "f16 f16 f16 f16", r_hfma_relu, 0 },
	{ "add.sat.f16 %d, %a, %b", "f16 f16 f16", r_hadd_sat, 0 },
	{ "add.f16x2 %d, %a, %b", "f16x2 f16x2 f16x2", r_hadd2, 0 },
	{ "mul.f16x2 %d, %a, %b", "f16x2 f16x2 f16x2", r_hmul2, 0 },
	{ "fma.rn.f16x2 %d, %a, %b, %c", "f16x2 f16x2 f16x2 f16x2", r_hfma2, 0 },
	{ "fma.rn.ftz.f16x2 %d, %a, %b, %c", "f16x2 f16x2 f16x2 f16x2", NULL, 0 },
	{ "min.f16x2 %d, %a, %b", "f16x2 f16x2 f16x2", NULL, 0 },
	{ "max.NaN.bf16x2 %d, %a, %b", "bf16x2 bf16x2 bf16x2", NULL, 0 },
	{ "add.bf16 %d, %a, %b", "bf16 bf16 bf16", r_badd, 0 },
	{ "mul.bf16 %d, %a, %b", "bf16 bf16 bf16", r_bmul, 0 },
	{ "fma.rn.bf16 %d, %a, %b, %c", "bf16 bf16 bf16 bf16", r_bfma, 0 },
	{ "fma.rn.bf16x2 %d, %a, %b, %c", "bf16x2 bf16x2 bf16x2 bf16x2", r_bfma2, 0 },
	{ "abs.f16x2 %d, %a", "f16x2 f16x2", NULL, 0 },
	{ "neg.bf16x2 %d, %a", "bf16x2 bf16x2", NULL, 0 },

	{ "cvt.rzi.s32.f32 %d, %a", "u32 f32", r_cvt_s32_f32, 0 },
	{ "cvt.rni.s32.f32 %d, %a", "u32 f32", r_cvt_rni_s32, 0 },
	{ "cvt.rmi.u32.f32 %d, %a", "u32 f32", r_cvt_rmi_u32, 0 },
	{ "cvt.rpi.s16.f32 %d, %a", "u16 f32", r_cvt_rpi_s16, 0 },
	{ "cvt.rni.u8.f32 %d, %a", "u16 f32", r_cvt_u8_f32, 0 },
	{ "cvt.rn.f32.s32 %d, %a", "f32 u32", r_cvt_f32_s32, 0 },
	{ "cvt.rz.f32.u64 %d, %a", "f32 u64", r_cvt_rz_f32_u64, 0 },
	{ "cvt.rp.f32.s64 %d, %a", "f32 u64", r_cvt_rp_f32_s64, 0 },
	{ "cvt.rn.f64.s32 %d, %a", "f64 u32", r_cvt_f64_s32, 0 },
	{ "cvt.rn.f32.f64 %d, %a", "f32 f64", r_cvt_f32_f64, 0 },
	{ "cvt.rm.f32.f64 %d, %a", "f32 f64", r_cvt_rm_f32_f64, 0 },
	{ "cvt.f64.f32 %d, %a", "f64 f32", NULL, 0 },
	{ "cvt.rzi.s64.f32 %d, %a", "u64 f32", NULL, 0 },
	{ "cvt.rzi.u64.f64 %d, %a", "u64 f64", NULL, 0 },
	{ "cvt.rzi.s32.f64 %d, %a", "u32 f64", NULL, 0 },
	{ "cvt.rn.f16.f32 %d, %a", "f16 f32", r_cvt_f16_f32, 0 },
	{ "cvt.rz.f16.f32 %d, %a", "f16 f32", NULL, 0 },
	{ "cvt.rp.f16.f64 %d, %a", "f16 f64", NULL, 0 },
	{ "cvt.f32.f16 %d, %a", "f32 f16", r_cvt_f32_f16, 0 },
	{ "cvt.rn.bf16.f32 %d, %a", "bf16 f32", r_cvt_bf16_f32, 0 },
	{ "cvt.rz.bf16.f32 %d, %a", "bf16 f32", NULL, 0 },
	{ "cvt.rn.f16.s32 %d, %a", "f16 u32", NULL, 0 },
	{ "cvt.rzi.s16.f16 %d, %a", "u16 f16", NULL, 0 },
	{ "cvt.rni.f32.f32 %d, %a", "f32 f32", r_cvt_rni_f32, 0 },
	{ "cvt.rmi.f32.f32 %d, %a", "f32 f32", r_cvt_rmi_f32, 0 },
	{ "cvt.rpi.f32.f32 %d, %a", "f32 f32", r_cvt_rpi_f32, 0 },
	{ "cvt.rzi.f32.f32 %d, %a", "f32 f32", r_cvt_rzi_f32, 0 },
	{ "cvt.sat.f32.f32 %d, %a", "f32 f32", r_cvt_sat_f32, 0 },
	{ "cvt.ftz.f32.f32 %d, %a", "f32 f32", NULL, 0 },
	{ "cvt.rni.f64.f64 %d, %a", "f64 f64", NULL, 0 },
	{ "cvt.s32.s8 %d, %a", "u32 u32", r_cvt_s8_s32, 0 },
	{ "cvt.sat.s8.s32 %d, %a", "u32 u32", r_cvt_sat_s8, 0 },
	{ "cvt.sat.u8.s32 %d, %a", "u32 u32", r_cvt_sat_u8, 0 },
	{ "cvt.sat.u32.s64 %d, %a", "u32 u64", r_cvt_sat_u32_s64, 0 },
	{ "cvt.s64.s32 %d, %a", "u64 u32", r_cvt_s64_s32, 0 },
	{ "cvt.rn.f16x2.f32 %d, %a, %b", "f16x2 f32 f32", r_cvt_f16x2, 0 },
	{ "cvt.rn.relu.bf16x2.f32 %d, %a, %b", "bf16x2 f32 f32", r_cvt_bf16x2_relu, 0 },
	{ "cvt.rna.tf32.f32 %d, %a", "u32 f32", NULL, 0 },
	{ "cvt.rn.satfinite.e4m3x2.f32 %d, %a, %b", "u16 f32 f32", NULL, 0 },
	{ "cvt.rn.satfinite.e5m2x2.f32 %d, %a, %b", "u16 f32 f32", NULL, 0 },
	{ "cvt.rn.satfinite.relu.e4m3x2.f16x2 %d, %a", "u16 f16x2", NULL, 0 },
	{ "cvt.rn.f16x2.e4m3x2 %d, %a", "u32 u16", NULL, 0 },
	{ "cvt.rn.f16x2.e5m2x2 %d, %a", "u32 u16", NULL, 0 },
	{ "cvt.pack.sat.s8.s32.b32 %d, %a, %b, %c", "u32 u32 u32 u32", r_pack_s8, 0 },
	{ "cvt.pack.sat.u16.s32 %d, %a, %b", "u32 u32 u32", NULL, 0 },

	{ "setp.lt.s32 %d, %a, %b", "pred u32 u32", r_lt_s32, 0 },
	{ "setp.hs.u32 %d, %a, %b", "pred u32 u32", r_hs_u32, 0 },
	{ "setp.lo.u16 %d, %a, %b", "pred u16 u16", r_lo_u16, 0 },
	{ "setp.gt.s64 %d, %a, %b", "pred u64 u64", r_gt_s64, 0 },
	{ "setp.lt.f32 %d, %a, %b", "pred f32 f32", r_lt_f32, 0 },
	{ "setp.geu.f32 %d, %a, %b", "pred f32 f32", r_geu_f32, 0 },
	{ "setp.num.f32 %d, %a, %b", "pred f32 f32", r_num_f32, 0 },
	{ "setp.nan.f32 %d, %a, %b", "pred f32 f32", r_nan_f32, 0 },
	{ "setp.neu.f64 %d, %a, %b", "pred f64 f64", r_neu_f64, 0 },
	{ "setp.le.f16 %d, %a, %b", "pred f16 f16", r_le_f16, 0 },
	{ "setp.lt.and.s32 %d, %a, %b, %c", "pred u32 u32 pred", r_lt_and, 0 },
	{ "setp.ge.xor.s32 %d, %a, %b, %c", "pred u32 u32 pred", r_ge_xor, 0 },
	{ "setp.eq.ftz.f32 %d, %a, %b", "pred f32 f32", r_eq_ftz, 0 },
	{ "set.gt.u32.f32 %d, %a, %b", "u32 f32 f32", r_set_u32, 0 },
	{ "set.le.f32.s32 %d, %a, %b", "f32 u32 u32", r_set_f32, 0 },
	{ "set.lt.f16x2.f16x2 %d, %a, %b", "f16x2 f16x2 f16x2", NULL, 0 },
	{ "selp.b32 %d, %a, %b, %c", "u32 u32 u32 pred", r_selp, 0 },
	{ "selp.b64 %d, %a, %b, %c", "u64 u64 u64 pred", r_selp, 0 },
	{ "slct.b32.s32 %d, %a, %b, %c", "u32 u32 u32 u32", r_slct_s, 0 },
	{ "slct.u64.f32 %d, %a, %b, %c", "u64 u64 u64 f32", r_slct_f, 0 },
	{ "testp.finite.f32 %d, %a", "pred f32", r_finite, 0 },
	{ "testp.subnormal.f32 %d, %a", "pred f32", r_subnormal, 0 },
	{ "testp.normal.f64 %d, %a", "pred f64", r_normal64, 0 },

	{ "ex2.approx.f32 %d, %a", "f32 f32", r_ex2, 3 },
	{ "lg2.approx.f32 %d, %a", "f32 f32", r_lg2, 3 },
	{ "rsqrt.approx.f32 %d, %a", "f32 f32", r_rsqrt, 3 },
	{ "rcp.approx.f32 %d, %a", "f32 f32", r_rcp, 3 },
	{ "sqrt.approx.f32 %d, %a", "f32 f32", NULL, 3 },
	{ "div.full.f32 %d, %a, %b", "f32 f32 f32", r_div_full, 3 },
	{ "sin.approx.f32 %d, %a", "f32 f32", r_sin, 3 },
	{ "tanh.approx.f32 %d, %a", "f32 f32", r_tanh, 3 },
	{ "rcp.approx.ftz.f32 %d, %a", "f32 f32", NULL, 3 },
	{ "div.approx.f32 %d, %a, %b", "f32 f32 f32", NULL, 3 },
	{ "ex2.approx.ftz.f32 %d, %a", "f32 f32", NULL, 3 },
	{ "ex2.approx.f16x2 %d, %a", "f16x2 f16x2", NULL, 2 },
	{ "add.cc.u32 %d, %a, %b; addc.u32 %d, %c, 0", "u32 u32 u32 u32", r_carry, 0 },
	{ "sub.cc.u32 %d, %a, %b; subc.u32 %d, %c, %a", "u32 u32 u32 u32", r_borrow, 0 },
	{ "mad.lo.cc.u32 %d, %a, %b, %c; madc.hi.u32 %d, %a, %b, 0", "u32 u32 u32 u32", r_madc, 0 },
	{ "add.cc.u64 %d, %a, %b; addc.cc.u64 %d, %d, %d; addc.u64 %d, %c, %a", "u64 u64 u64 u64", NULL, 0 },
	{ "rem.s64 %d, %a, %b", "u64 u64 u64", NULL, 0 },
	{ "div.u16 %d, %a, %b", "u16 u16 u16", NULL, 0 },
	{ "sad.u16 %d, %a, %b, %c", "u16 u16 u16 u16", NULL, 0 },
	{ "mad.hi.u64 %d, %a, %b, %c", "u64 u64 u64 u64", NULL, 0 },
	{ "mad.wide.s16 %d, %a, %b, %c", "u32 u16 u16 u32", NULL, 0 },
	{ "mul24.lo.u32 %d, %a, %b", "u32 u32 u32", NULL, 0 },
	{ "mul.ftz.f32 %d, %a, 0f057FFFFE", "f32 f32", NULL, 0 },
	{ "fma.rn.ftz.f32 %d, %a, 0f057FFFFE, 0f80000000", "f32 f32", NULL, 0 },
	{ "mul.rz.ftz.f32 %d, %a, 0f057FFFFE", "f32 f32", NULL, 0 },
	{ "mul.rp.ftz.f32 %d, %a, 0f057FFFFE", "f32 f32", NULL, 0 },
	{ "div.rn.ftz.f32 %d, %a, %b", "f32 f32 f32", NULL, 0 },
	{ "sqrt.rn.ftz.f32 %d, %a", "f32 f32", NULL, 0 },
	{ "rcp.rn.ftz.f32 %d, %a", "f32 f32", NULL, 0 },
	{ "rcp.rz.ftz.f32 %d, %a", "f32 f32", NULL, 0 },
	{ "div.rp.ftz.f32 %d, %a, %b", "f32 f32 f32", NULL, 0 },
	{ "cvt.rn.ftz.f16.f32 %d, %a", "f16 f32", NULL, 0 },
	{ "cvt.ftz.f32.f16 %d, %a", "f32 f16", NULL, 0 },
	{ "cvt.rn.sat.f16.f32 %d, %a", "f16 f32", NULL, 0 },
	{ "cvt.rzi.ftz.s32.f32 %d, %a", "u32 f32", NULL, 0 },
	{ "cvt.rn.ftz.f32.f64 %d, %a", "f32 f64", NULL, 0 },

	{ "cvt.rni.f16.f16 %d, %a", "f16 f16", NULL, 0 },
	{ "cvt.rpi.s32.f16 %d, %a", "u32 f16", NULL, 0 },
	{ "cvt.rn.bf16.s32 %d, %a", "bf16 u32", NULL, 0 },
	{ "cvt.f64.f16 %d, %a", "f64 f16", NULL, 0 },
	{ "cvt.f32.bf16 %d, %a", "f32 bf16", NULL, 0 },
	{ "cvt.rzi.s32.bf16 %d, %a", "u32 bf16", NULL, 0 },
	{ "cvt.rn.relu.f16.f32 %d, %a", "f16 f32", NULL, 0 },
	{ "cvt.rz.relu.f16x2.f32 %d, %a, %b", "f16x2 f32 f32", NULL, 0 },
	{ "cvt.rzi.u8.f64 %d, %a", "u16 f64", NULL, 0 },
	{ "cvt.rzi.s8.f16 %d, %a", "u16 f16", NULL, 0 },
	{ "cvt.rni.sat.s8.f32 %d, %a", "u16 f32", NULL, 0 },
	{ "set.ge.f16.f16 %d, %a, %b", "f16 f16 f16", NULL, 0 },
	{ "set.lt.u32.f16x2 %d, %a, %b", "u32 f16x2 f16x2", NULL, 0 },
	{ "set.eq.bf16x2.bf16x2 %d, %a, %b", "bf16x2 bf16x2 bf16x2", NULL, 0 },
	{ "fma.rn.relu.bf16x2 %d, %a, %b, %c", "bf16x2 bf16x2 bf16x2 bf16x2", NULL, 0 },
	{ "add.sat.f16x2 %d, %a, %b", "f16x2 f16x2 f16x2", NULL, 0 },
	{ "fma.rn.sat.f16 %d, %a, %b, %c", "f16 f16 f16 f16", NULL, 0 },
	{ "max.xorsign.abs.f16x2 %d, %a, %b", "f16x2 f16x2 f16x2", NULL, 0 },
	{ "min.NaN.f16 %d, %a, %b", "f16 f16 f16", NULL, 0 },
	{ "abs.ftz.f32 %d, %a", "f32 f32", NULL, 0 },
	{ "add.ftz.f16 %d, %a, %b", "f16 f16 f16", NULL, 0 },
	{ "mul.ftz.f16x2 %d, %a, %b", "f16x2 f16x2 f16x2", NULL, 0 },
	{ "neg.f64 %d, %a", "f64 f64", NULL, 0 },
	{ "abs.f64 %d, %a", "f64 f64", NULL, 0 },
	{ "max.f64 %d, %a, %b", "f64 f64 f64", NULL, 0 },
	{ "add.rm.f64 %d, %a, %b", "f64 f64 f64", NULL, 0 },
	{ "testp.normal.f32 %d, %a", "pred f32", NULL, 0 },
	{ "slct.ftz.b32.f32 %d, %a, %b, %c", "u32 u32 u32 f32", NULL, 0 },
	{ "ex2.approx.ftz.bf16 %d, %a", "bf16 bf16", NULL, 1 },
	{ "tanh.approx.f16x2 %d, %a", "f16x2 f16x2", NULL, 4 },
	{ "tanh.approx.bf16 %d, %a", "bf16 bf16", NULL, 2 },
	{ "rsqrt.approx.ftz.f32 %d, %a", "f32 f32", NULL, 3 },
	{ "sqrt.approx.ftz.f32 %d, %a", "f32 f32", NULL, 3 },
	{ "lg2.approx.ftz.f32 %d, %a", "f32 f32", NULL, 3 },
	{ "cos.approx.f32 %d, %a", "f32 f32", NULL, 3 },
	{ "div.full.ftz.f32 %d, %a, %b", "f32 f32 f32", NULL, 3 },
	{ "div.approx.ftz.f32 %d, %a, %b", "f32 f32 f32", NULL, 3 },
};
/* clang-format on */

enum { EMU_OPS = sizeof emu_ops / sizeof *emu_ops };

#endif
