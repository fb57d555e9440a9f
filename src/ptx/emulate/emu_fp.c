/* SPDX-License-Identifier: MIT
 *
 * Floating point of 16, 32 and 64 bits.
 *
 * Everything that PTX defines by IEEE 754 is exact, with any rounding: to
 * nearest through the host, else in double (or quadruple for .f64) with one
 * rounding at the end.  The .approx functions, whose last bits PTX leaves open,
 * are computed in double and rounded to nearest, so an H200 differs by up to 2
 * ulp (and where PTX bounds the absolute error, by that: sin and cos, lg2 near
 * 1; tanh.f32 by 2^-10 of its value).  Which NaN results, and what .ftz flushes,
 * is as the H200 has it (tests/ptx/test_emulate_gpu.c).
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "ptx/emulate/emu.h"
#include "ptx/emulate/emu_float.h"

/* in->a: type of the result's element, b: flags of rounding, c: ROUND, d: elements packed in a register */

/* --- .f64 with directed rounding: SUM + ERROR is the exact result, SUM to nearest --- */

static uint64_t directed(double sum, int error, enum tcb_ptx_word round)
{
	if (!error || isnan(sum))
		return tcb_ptx_double_bits(sum);
	if (isinf(sum)) { /* overflow: ERROR points back to the finite numbers */
		if (round == TCB_PTX_RZ || (round == TCB_PTX_RM && sum > 0) || (round == TCB_PTX_RP && sum < 0))
			return tcb_ptx_double_bits(nextafter(sum, 0));
		return tcb_ptx_double_bits(sum);
	}
	if (round == TCB_PTX_RM || (round == TCB_PTX_RZ && (sum > 0 || (sum == 0 && error > 0))))
		return tcb_ptx_double_bits(error < 0 ? nextafter(sum, -INFINITY) : sum);
	if (round == TCB_PTX_RP || round == TCB_PTX_RZ)
		return tcb_ptx_double_bits(error > 0 ? nextafter(sum, INFINITY) : sum);
	return tcb_ptx_double_bits(sum);
}

#if defined(__SIZEOF_FLOAT128__)
typedef __float128 quadruple;
#else
typedef long double quadruple; /* where it is one, as on 64-bit Arm */
_Static_assert(LDBL_MANT_DIG == 113, "this compiler has no quadruple precision");
#endif

static int sign_of(quadruple value)
{
	return value > 0 ? 1 : value < 0 ? -1 : 0;
}

static uint64_t fma64(double a, double b, double c, enum tcb_ptx_word round)
{
	double near = fma(a, b, c);
	quadruple product = (quadruple)a * b, sum, back, lost;

	if (round == TCB_PTX_RN || !isfinite(a) || !isfinite(b) || !isfinite(c))
		return tcb_ptx_double_bits(near);
	sum = product + c; /* and what the sum lost (Knuth's two-sum) */
	back = sum - product;
	lost = (product - (sum - back)) + (c - back);
	if (sum == 0 && lost == 0 && round == TCB_PTX_RM &&
	    (product != 0 || signbit(c) || (a * b == 0 && signbit(a * b))))
		return tcb_ptx_double_bits(product == 0 && !signbit(c) && !signbit(a * b) ? 0.0 : -0.0);
	if (isinf(near))
		return directed(near, near > 0 ? -1 : 1, round);
	return directed(near, sum == near ? sign_of(lost) : sign_of(sum - near), round);
}

static uint64_t div64(double a, double b, enum tcb_ptx_word round)
{
	double near = a / b;

	if (round == TCB_PTX_RN || !isfinite(a) || !isfinite(b) || b == 0 || a == 0)
		return tcb_ptx_double_bits(near);
	if (isinf(near))
		return directed(near, near > 0 ? -1 : 1, round);
	return directed(near, sign_of((quadruple)a - (quadruple)near * b) * (b < 0 ? -1 : 1), round);
}

static uint64_t sqrt64(double a, enum tcb_ptx_word round)
{
	double near = sqrt(a);

	if (round == TCB_PTX_RN || !isfinite(a) || a <= 0)
		return tcb_ptx_double_bits(near);
	return directed(near, sign_of((quadruple)a - (quadruple)near * near), round);
}

/* --- functions --- */

/* a * (1 / b), which is 0 where 1 / b is flushed. */
static double div_approx(double a, double b)
{
	if (fabs(b) > 0x1p126 && isfinite(b) && !isnan(a))
		return isinf(a) ? NAN : copysign(0, a * copysign(1, b));
	return a / b;
}

/* The gross approximation of .f64: the upper half of the number. */
static uint64_t upper_half(double value)
{
	return isnan(value) ? tcb_ptx_double_bits(NAN) : tcb_ptx_double_bits(value) & ~0xffffffffull;
}

/* The result when a source is NaN: that NaN, quiet; of several the one that an H200 takes: the second, the third, the
 * first, but of a quotient the first. */
static uint64_t nan64(const struct tcb_emu_ins *in, const uint64_t *v)
{
	uint64_t bits = isnan(tcb_ptx_double_of_bits(v[1])) ? v[1] : isnan(tcb_ptx_double_of_bits(v[2])) ? v[2] : v[0];

	if (in->ins->op == TCB_PTX_OP_DIV && isnan(tcb_ptx_double_of_bits(v[0])))
		bits = v[0];

	return bits | 1ull << 51;
}

static int any_nan64(const uint64_t *v)
{
	return isnan(tcb_ptx_double_of_bits(v[0])) || isnan(tcb_ptx_double_of_bits(v[1])) ||
	       isnan(tcb_ptx_double_of_bits(v[2]));
}

static double min_max(const struct tcb_ptx_ins *ins, double a, double b)
{
	int is_min = ins->op == TCB_PTX_OP_MIN;

	if (isnan(a) || isnan(b))
		return ins->mod[TCB_PTX_SLOT_NAN] ? NAN : isnan(a) ? b : a;
	if (a == b) /* -0 is less than +0 */
		return (signbit(a) != 0) == is_min ? a : b;
	return (a < b) == is_min ? a : b;
}

static double least(const struct tcb_emu_ins *in, const double *v)
{
	int has_abs = in->ins->mod[TCB_PTX_SLOT_ABS] != 0;
	double value = min_max(in->ins, has_abs ? fabs(v[0]) : v[0], has_abs ? fabs(v[1]) : v[1]);

	if (in->op_count > 3)
		value = min_max(in->ins, value, has_abs ? fabs(v[2]) : v[2]);
	if (in->ins->mod[TCB_PTX_SLOT_XORSIGN] && !isnan(value))
		value = copysign(value, (signbit(v[0]) != 0) != (signbit(v[1]) != 0) ? -1.0 : 1.0);
	return value;
}

static double function(enum tcb_ptx_op op, double a)
{
	switch (op) {
	case TCB_PTX_OP_RCP:
		return 1 / a;
	case TCB_PTX_OP_SQRT:
		return sqrt(a);
	case TCB_PTX_OP_RSQRT:
		return 1 / sqrt(a);
	case TCB_PTX_OP_SIN:
		return sin(a);
	case TCB_PTX_OP_COS:
		return cos(a);
	case TCB_PTX_OP_LG2:
		return a == 0 ? -INFINITY : log2(a);
	case TCB_PTX_OP_EX2:
		return exp2(a);
	default:
		return tanh(a);
	}
}

static uint64_t negate_or_abs(const struct tcb_emu_ins *in, enum tcb_ptx_word type, uint64_t bits)
{
	uint64_t sign = 1ull << (tcb_ptx_type_bits(type) - 1);
	double value = tcb_ptx_float_widen(type, bits);

	if (isnan(value))
		return type == TCB_PTX_F64 ? bits | 1ull << 51 : sign - 1;
	if (in->b & TCB_PTX_FLOAT_FTZ && tcb_ptx_float_flush(type, value) == 0)
		bits &= sign;
	return in->ins->op == TCB_PTX_OP_ABS ? bits & ~sign : bits ^ sign;
}

static uint64_t evaluate64(const struct tcb_emu_ins *in, const uint64_t *v)
{
	double a = tcb_ptx_double_of_bits(v[0]), b = tcb_ptx_double_of_bits(v[1]),
	       pair[3] = { a, b, tcb_ptx_double_of_bits(v[2]) }, value;
	enum tcb_ptx_word round = (enum tcb_ptx_word)in->c;

	switch ((enum tcb_ptx_op)in->ins->op) {
	case TCB_PTX_OP_ADD:
	case TCB_PTX_OP_SUB:
	case TCB_PTX_OP_MUL:
	case TCB_PTX_OP_FMA:
	case TCB_PTX_OP_MAD:
	case TCB_PTX_OP_DIV:
		if (any_nan64(v))
			return nan64(in, v);
		break;
	default:
		break;
	}
	switch ((enum tcb_ptx_op)in->ins->op) {
	case TCB_PTX_OP_ADD:
		return round == TCB_PTX_RN ? tcb_ptx_double_bits(a + b) : fma64(a, 1, b, round);
	case TCB_PTX_OP_SUB:
		return round == TCB_PTX_RN ? tcb_ptx_double_bits(a - b) : fma64(a, 1, -b, round);
	case TCB_PTX_OP_MUL:
		return round == TCB_PTX_RN ? tcb_ptx_double_bits(a * b) : fma64(a, b, copysign(0, a * b), round);
	case TCB_PTX_OP_FMA:
	case TCB_PTX_OP_MAD:
		return fma64(a, b, pair[2], round);
	case TCB_PTX_OP_DIV:
		return div64(a, b, round);
	case TCB_PTX_OP_RCP:
		if (!in->ins->mod[TCB_PTX_SLOT_APPROX])
			return div64(1, a, round);
		value = fabs(a) < 0x1p-1022 ? copysign(INFINITY, a) : 1 / a;
		return upper_half(fabs(value) < 0x1p-1022 ? copysign(0, value) : value);
	case TCB_PTX_OP_RSQRT:
		return upper_half(in->b & TCB_PTX_FLOAT_FTZ && fabs(a) < 0x1p-1022 ? copysign(INFINITY, a)
										   : 1 / sqrt(a));
	case TCB_PTX_OP_SQRT:
		return sqrt64(a, round);
	case TCB_PTX_OP_MIN:
	case TCB_PTX_OP_MAX:
		value = least(in, pair);
		return tcb_ptx_double_bits(value) | (isnan(value) ? 1ull << 51 : 0);
	default:
		return negate_or_abs(in, TCB_PTX_F64, v[0]);
	}
}

/* TYPE is of 32 bits or less; the sources are values already. */
static uint64_t evaluate(const struct tcb_emu_ins *in, const double *v)
{
	enum tcb_ptx_word type = (enum tcb_ptx_word)in->a, round = (enum tcb_ptx_word)in->c;
	enum tcb_ptx_op op = (enum tcb_ptx_op)in->ins->op;
	int is_approx = in->ins->mod[TCB_PTX_SLOT_APPROX] != 0;

	switch (op) {
	case TCB_PTX_OP_ADD:
		return tcb_ptx_float_add(type, v[0], v[1], round, in->b);
	case TCB_PTX_OP_SUB:
		return tcb_ptx_float_add(type, v[0], -v[1], round, in->b);
	case TCB_PTX_OP_MUL:
		return tcb_ptx_float_mul(type, v[0], v[1], round, in->b);
	case TCB_PTX_OP_FMA:
	case TCB_PTX_OP_MAD:
		return tcb_ptx_float_fma(type, v[0], v[1], v[2], round, in->b);
	case TCB_PTX_OP_MIN:
	case TCB_PTX_OP_MAX:
		return tcb_ptx_float_narrow(type, least(in, v), TCB_PTX_RN, in->b);
	case TCB_PTX_OP_DIV:
		if (in->ins->mod[TCB_PTX_SLOT_APPROX] == TCB_PTX_APPROX)
			return tcb_ptx_float_narrow(type, div_approx(v[0], v[1]), TCB_PTX_RN, in->b);
		return tcb_ptx_float_div(type, v[0], v[1], round, in->b);
	case TCB_PTX_OP_RCP:
		if (!is_approx)
			return tcb_ptx_float_div(type, 1, v[0], round, in->b);
		break;
	case TCB_PTX_OP_SQRT:
		if (!is_approx)
			return tcb_ptx_float_sqrt(type, v[0], round, in->b);
		break;
	default:
		break;
	}
	return tcb_ptx_float_narrow(type, function(op, v[0]), TCB_PTX_RN, in->b);
}

/* One element of SIZE bits at place K of operand I as a value. */
static double source(const struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, unsigned i, unsigned k,
		     unsigned lane)
{
	enum tcb_ptx_word type = ((const uint16_t *)in->extra)[i];
	uint64_t bits = tcb_emu_get(warp, &in->op[i], lane) >> k * tcb_ptx_type_bits(type);
	double value = tcb_ptx_float_widen(type, bits);

	if (isnan(value)) /* .xorsign wants its sign */
		return copysign(value, bits >> (tcb_ptx_type_bits(type) - 1) & 1 ? -1.0 : 1.0);
	return in->b & TCB_PTX_FLOAT_FTZ ? tcb_ptx_float_flush(type, value) : value;
}

static void run_any(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	unsigned size = tcb_ptx_type_bits((enum tcb_ptx_word)in->a);
	uint64_t mask = (1ull << size) - 1;
	int is_sign = in->ins->op == TCB_PTX_OP_ABS || in->ins->op == TCB_PTX_OP_NEG;

	TCB_EMU_EACH(lane, active)
	{
		uint64_t out = 0, value;

		for (unsigned k = 0; k < in->d; k++) {
			double v[3] = { 0 };

			if (is_sign) {
				value = negate_or_abs(in, (enum tcb_ptx_word)in->a,
						      tcb_emu_get(warp, &in->op[1], lane) >> k * size & mask);
			} else {
				for (unsigned i = 1; i < in->op_count && i < 4; i++)
					v[i - 1] = source(warp, in, i, k, lane);
				value = evaluate(in, v);
			}
			out |= (value & mask) << k * size;
		}
		tcb_emu_set(warp, &in->op[0], lane, out);
	}
}

static void run_f64(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	TCB_EMU_EACH(lane, active)
	{
		uint64_t v[3] = { 0 };

		for (unsigned i = 1; i < in->op_count && i < 4; i++)
			v[i - 1] = tcb_emu_get64(warp, &in->op[i])[lane];
		tcb_emu_set(warp, &in->op[0], lane, evaluate64(in, v));
	}
}

/* --- the fast ones: .f32 to nearest, no other modifier --- */

#define FAST(name, expression)                                                                      \
	static void name(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)  \
	{                                                                                           \
		const float *a = tcb_emu_lanes(warp, &in->op[1]);                                   \
		const float *b = tcb_emu_lanes(warp, &in->op[in->op_count > 2 ? 2 : 1]);            \
		const float *c = tcb_emu_lanes(warp, &in->op[in->op_count > 3 ? 3 : 1]);            \
		float value[TCB_EMU_LANES];                                                         \
		uint32_t result[TCB_EMU_LANES];                                                     \
                                                                                                    \
		(void)b;                                                                            \
		(void)c;                                                                            \
		for (unsigned i = 0; i < TCB_EMU_LANES; i++)                                        \
			value[i] = expression;                                                      \
		memcpy(result, value, sizeof result);                                               \
		for (unsigned i = 0; i < TCB_EMU_LANES; i++)                                        \
			result[i] = (result[i] & 0x7fffffff) > 0x7f800000 ? 0x7fffffff : result[i]; \
		tcb_emu_put32(warp, &in->op[0], result, active);                                    \
	}

FAST(add_f32, a[i] + b[i])
FAST(sub_f32, a[i] - b[i])
FAST(mul_f32, a[i] * b[i])
FAST(fma_f32, fmaf(a[i], b[i], c[i]))

/* As min_max: NaN is passed over, and -0 is less than +0. */
static inline uint32_t least32(uint32_t a, uint32_t b, int is_min)
{
	const int a_nan = (a & 0x7fffffff) > 0x7f800000, b_nan = (b & 0x7fffffff) > 0x7f800000;
	const int32_t left = (int32_t)(a ^ (a >> 31 ? 0x7fffffff : 0)),
		      right = (int32_t)(b ^ (b >> 31 ? 0x7fffffff : 0));

	if (a_nan | b_nan)
		return a_nan & b_nan ? 0x7fffffff : a_nan ? b : a;
	return (left < right) == is_min ? a : b;
}

#define LEAST(name, is_min)                                                                        \
	static void name(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active) \
	{                                                                                          \
		const uint32_t *a = tcb_emu_get32(warp, &in->op[1]);                               \
		const uint32_t *b = tcb_emu_get32(warp, &in->op[2]);                               \
		uint32_t result[TCB_EMU_LANES];                                                    \
                                                                                                   \
		for (unsigned i = 0; i < TCB_EMU_LANES; i++)                                       \
			result[i] = least32(a[i], b[i], is_min);                                   \
		tcb_emu_put32(warp, &in->op[0], result, active);                                   \
	}

LEAST(min_f32, 1)
LEAST(max_f32, 0)

/* VALUE rounded to nearest, FLAGS of .ftz at most. */
static inline uint32_t round_f32(double value, unsigned flags)
{
	const float near = (float)value;

	if (value != value)
		return 0x7fffffff;
	if (flags & TCB_PTX_FLOAT_FTZ && fabs(value) < 0x1p-126)
		return tcb_ptx_float_bits(copysignf(0, near));
	return tcb_ptx_float_bits(near);
}

static inline double wide_f32(uint32_t bits, unsigned flags)
{
	const double value = (double)tcb_ptx_float_of_bits(bits);

	return flags & TCB_PTX_FLOAT_FTZ && fabs(value) < 0x1p-126 ? copysign(0, value) : value;
}

/* The approximated functions of one source. */
#define APPROX(name, expression)                                                                   \
	static void name(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active) \
	{                                                                                          \
		const uint32_t *from = tcb_emu_get32(warp, &in->op[1]);                            \
		uint32_t result[TCB_EMU_LANES];                                                    \
                                                                                                   \
		TCB_EMU_EACH(i, active)                                                            \
		{                                                                                  \
			const double a = wide_f32(from[i], in->b);                                 \
                                                                                                   \
			result[i] = round_f32(expression, in->b);                                  \
		}                                                                                  \
		tcb_emu_put32(warp, &in->op[0], result, active);                                   \
	}

APPROX(ex2_f32, exp2(a))
APPROX(lg2_f32, a == 0 ? -INFINITY : log2(a))
APPROX(rcp_f32, 1 / a)
APPROX(rsqrt_f32, 1 / sqrt(a))
APPROX(sqrt_f32, sqrt(a))

static void div_f32(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	const uint32_t *a = tcb_emu_get32(warp, &in->op[1]), *b = tcb_emu_get32(warp, &in->op[2]);
	const int is_approx = in->ins->mod[TCB_PTX_SLOT_APPROX] == TCB_PTX_APPROX;
	uint32_t result[TCB_EMU_LANES];

	TCB_EMU_EACH(i, active)
	{
		const double left = wide_f32(a[i], in->b), right = wide_f32(b[i], in->b);

		/* a quotient of floats in double rounds to that in float (Figueroa, "When is double rounding
		 * innocuous?") */
		result[i] = round_f32(is_approx ? div_approx(left, right) : left / right, in->b);
	}
	tcb_emu_put32(warp, &in->op[0], result, active);
}

/* What has a quick handler with .ftz, too. */
static tcb_emu_run_fn *fast_function(const struct tcb_emu_ins *in)
{
	const int is_approx = in->ins->mod[TCB_PTX_SLOT_APPROX] != 0;

	switch ((enum tcb_ptx_op)in->ins->op) {
	case TCB_PTX_OP_EX2:
		return ex2_f32;
	case TCB_PTX_OP_LG2:
		return lg2_f32;
	case TCB_PTX_OP_RCP:
		return is_approx ? rcp_f32 : NULL;
	case TCB_PTX_OP_RSQRT:
		return rsqrt_f32;
	case TCB_PTX_OP_SQRT:
		return is_approx ? sqrt_f32 : NULL;
	case TCB_PTX_OP_DIV:
		return div_f32;
	default:
		return NULL;
	}
}

static tcb_emu_run_fn *fast(const struct tcb_emu_ins *in)
{
	if (in->a != TCB_PTX_F32 || in->d != 1 || in->b & ~(unsigned)TCB_PTX_FLOAT_FTZ || in->c != TCB_PTX_RN ||
	    in->ins->mod[TCB_PTX_SLOT_TYPE2])
		return NULL;
	if (in->b || in->ins->op == TCB_PTX_OP_DIV)
		return fast_function(in);
	switch ((enum tcb_ptx_op)in->ins->op) {
	case TCB_PTX_OP_ADD:
		return add_f32;
	case TCB_PTX_OP_SUB:
		return sub_f32;
	case TCB_PTX_OP_MUL:
		return mul_f32;
	case TCB_PTX_OP_FMA:
	case TCB_PTX_OP_MAD:
		return fma_f32;
	case TCB_PTX_OP_MIN:
	case TCB_PTX_OP_MAX:
		if (in->op_count > 3 || in->ins->mod[TCB_PTX_SLOT_ABS] || in->ins->mod[TCB_PTX_SLOT_NAN] ||
		    in->ins->mod[TCB_PTX_SLOT_XORSIGN])
			return NULL;
		return in->ins->op == TCB_PTX_OP_MIN ? min_f32 : max_f32;
	default:
		return fast_function(in);
	}
}

static enum tcb_ptx_word element_of(enum tcb_ptx_word type)
{
	return type == TCB_PTX_F16X2    ? TCB_PTX_F16
	       : type == TCB_PTX_BF16X2 ? TCB_PTX_BF16
	       : type == TCB_PTX_F32X2  ? TCB_PTX_F32
					: type;
}

unsigned tcb_emu_float_flags(const struct tcb_ptx_ins *ins)
{
	unsigned flags = ins->mod[TCB_PTX_SLOT_FTZ] == TCB_PTX_FTZ ? TCB_PTX_FLOAT_FTZ : 0;

	if (ins->mod[TCB_PTX_SLOT_SAT])
		flags |= ins->mod[TCB_PTX_SLOT_SAT] == TCB_PTX_SATFINITE ? TCB_PTX_FLOAT_SATFINITE : TCB_PTX_FLOAT_SAT;
	return flags | (ins->mod[TCB_PTX_SLOT_RELU] ? TCB_PTX_FLOAT_RELU : 0);
}

enum tcb_status tcb_emu_bind_fp(struct tcb_emu_decoder *decoder, struct tcb_emu_ins *in, struct tcb_error *err)
{
	enum tcb_ptx_word type = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_TYPE);
	uint16_t *types = tcb_arena_array(decoder->arena, in->op_count, sizeof *types);
	tcb_emu_run_fn *quick;

	if (!types)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the emulator's program");
	for (unsigned i = 0; i < in->op_count; i++) {
		unsigned count;

		types[i] = (uint16_t)element_of(tcb_ptx_operand_type(in->ins, i, &count));
	}
	in->extra = types;
	in->a = element_of(type);
	in->d = tcb_ptx_type_bits(type) / tcb_ptx_type_bits((enum tcb_ptx_word)in->a);
	in->b = tcb_emu_float_flags(in->ins);
	in->c = in->ins->mod[TCB_PTX_SLOT_ROUND] ? in->ins->mod[TCB_PTX_SLOT_ROUND] : TCB_PTX_RN;
	quick = tcb_emu_fast_half(in);
	if (!quick)
		quick = fast(in);
	in->run = type == TCB_PTX_F64 ? run_f64 : quick ? quick : run_any;
	return TCB_OK;
}
