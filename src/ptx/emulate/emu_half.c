/* SPDX-License-Identifier: MIT
 *
 * The arithmetic of .f16, .bf16 and their pairs that kernels are full of: to
 * nearest, without other modifiers.  In double, products are exact, and a sum is
 * rounded to odd where it is not, so that the one rounding at the end is right.
 */
#include "ptx/emulate/emu.h"
#include "ptx/emulate/emu_float.h"

/* VALUE in float, odd where that is inexact: any rounding to fewer bits that follows is that of VALUE. */
static float odd_float(double value)
{
	float near = (float)value;
	uint32_t bits = tcb_ptx_float_bits(near);

	if ((double)near == value || value != value)
		return near;
	if (__builtin_fabs((double)near) > __builtin_fabs(value))
		bits--;
	return tcb_ptx_float_of_bits(bits | 1);
}

static inline double wide(uint32_t bits, int is_bf16)
{
	return is_bf16 ? tcb_ptx_bf16_to_f32(bits & 0xffff) : tcb_ptx_f16_to_f32(bits & 0xffff);
}

static inline uint32_t narrow(double value, int is_bf16)
{
	float odd = odd_float(value);

	return is_bf16 ? tcb_ptx_f32_to_bf16(odd) : tcb_ptx_f32_to_f16(odd);
}

static inline uint32_t compute(enum tcb_ptx_op op, int is_bf16, uint32_t x, uint32_t y, uint32_t z)
{
	double a = wide(x, is_bf16), b = wide(y, is_bf16);

	switch (op) {
	case TCB_PTX_OP_ADD:
		return narrow(tcb_ptx_float_add_odd(a, b), is_bf16);
	case TCB_PTX_OP_SUB:
		return narrow(tcb_ptx_float_add_odd(a, -b), is_bf16);
	case TCB_PTX_OP_MUL:
		return narrow(a * b, is_bf16);
	default:
		return narrow(tcb_ptx_float_add_odd(a * b, wide(z, is_bf16)), is_bf16);
	}
}

static inline void run(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active, enum tcb_ptx_op op,
		       int is_bf16)
{
	const uint32_t *a = tcb_emu_get32(warp, &in->op[1]), *b = tcb_emu_get32(warp, &in->op[2]);
	const uint32_t *c = op == TCB_PTX_OP_FMA ? tcb_emu_get32(warp, &in->op[3]) : a;
	uint32_t result[TCB_EMU_LANES];

	TCB_EMU_EACH(i, active)
	{
		result[i] = compute(op, is_bf16, a[i], b[i], c[i]);
		if (in->d == 2)
			result[i] |= compute(op, is_bf16, a[i] >> 16, b[i] >> 16, c[i] >> 16) << 16;
	}
	tcb_emu_put32(warp, &in->op[0], result, active);
}

#define RUN(name, op, is_bf16)                                                                     \
	static void name(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active) \
	{                                                                                          \
		run(warp, in, active, op, is_bf16);                                                \
	}

RUN(add_f16, TCB_PTX_OP_ADD, 0)
RUN(sub_f16, TCB_PTX_OP_SUB, 0)
RUN(mul_f16, TCB_PTX_OP_MUL, 0)
RUN(fma_f16, TCB_PTX_OP_FMA, 0)
RUN(add_bf16, TCB_PTX_OP_ADD, 1)
RUN(sub_bf16, TCB_PTX_OP_SUB, 1)
RUN(mul_bf16, TCB_PTX_OP_MUL, 1)
RUN(fma_bf16, TCB_PTX_OP_FMA, 1)

tcb_emu_run_fn *tcb_emu_fast_half(const struct tcb_emu_ins *in)
{
	static const struct {
		enum tcb_ptx_op op;
		tcb_emu_run_fn *f16, *bf16;
	} rows[] = {
		{ TCB_PTX_OP_ADD, add_f16, add_bf16 },
		{ TCB_PTX_OP_SUB, sub_f16, sub_bf16 },
		{ TCB_PTX_OP_MUL, mul_f16, mul_bf16 },
		{ TCB_PTX_OP_FMA, fma_f16, fma_bf16 },
	};

	if ((in->a != TCB_PTX_F16 && in->a != TCB_PTX_BF16) || in->b || in->c != TCB_PTX_RN)
		return NULL;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].op == in->ins->op)
			return in->a == TCB_PTX_BF16 ? rows[i].bf16 : rows[i].f16;
	return NULL;
}
