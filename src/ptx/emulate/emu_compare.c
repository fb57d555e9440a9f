/* SPDX-License-Identifier: MIT
 *
 * Comparison, selection, and tests of floating-point numbers.
 */
#include <math.h>
#include <string.h>

#include "ptx/emulate/emu.h"
#include "ptx/emulate/emu_float.h"

/* in->a: element compared, b: elements packed, c: ftz */

enum { LESS = 1, EQUAL = 2, GREATER = 4, UNORDERED = 8 };

/* The relations for which a comparison holds. */
static unsigned holds_for(enum tcb_ptx_word compare)
{
	static const struct {
		uint16_t word, set;
	} table[] = {
		{ TCB_PTX_EQ, EQUAL },
		{ TCB_PTX_NE, LESS | GREATER },
		{ TCB_PTX_LT, LESS },
		{ TCB_PTX_LE, LESS | EQUAL },
		{ TCB_PTX_GT, GREATER },
		{ TCB_PTX_GE, GREATER | EQUAL },
		{ TCB_PTX_LO, LESS },
		{ TCB_PTX_LS, LESS | EQUAL },
		{ TCB_PTX_HI, GREATER },
		{ TCB_PTX_HS, GREATER | EQUAL },
		{ TCB_PTX_EQU, EQUAL | UNORDERED },
		{ TCB_PTX_NEU, LESS | GREATER | UNORDERED },
		{ TCB_PTX_LTU, LESS | UNORDERED },
		{ TCB_PTX_LEU, LESS | EQUAL | UNORDERED },
		{ TCB_PTX_GTU, GREATER | UNORDERED },
		{ TCB_PTX_GEU, GREATER | EQUAL | UNORDERED },
		{ TCB_PTX_NUM, LESS | EQUAL | GREATER },
		{ TCB_PTX_NAN_CMP, UNORDERED },
	};

	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (table[i].word == compare)
			return table[i].set;
	return 0;
}

static unsigned relation(double x, double y)
{
	return x < y ? LESS : x > y ? GREATER : x == y ? EQUAL : UNORDERED;
}

static unsigned relation_at(const struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, unsigned lane, unsigned k)
{
	enum tcb_ptx_word type = (enum tcb_ptx_word)in->a;
	unsigned bits = tcb_ptx_type_bits(type), gap = 64 - bits;
	uint64_t x = tcb_emu_get(warp, &in->op[1], lane) >> k * bits,
		 y = tcb_emu_get(warp, &in->op[2], lane) >> k * bits;

	switch (tcb_ptx_type_class(type)) {
	case TCB_PTX_CLASS_FLOAT:
	case TCB_PTX_CLASS_ALT: {
		double a = tcb_ptx_float_widen(type, x), b = tcb_ptx_float_widen(type, y);

		if (in->c) {
			a = tcb_ptx_float_flush(type, a);
			b = tcb_ptx_float_flush(type, b);
		}
		return relation(a, b);
	}
	case TCB_PTX_CLASS_SINT: {
		int64_t a = (int64_t)(x << gap), b = (int64_t)(y << gap);

		return a < b ? LESS : a > b ? GREATER : EQUAL;
	}
	default:
		x <<= gap;
		y <<= gap;
		return x < y ? LESS : x > y ? GREATER : EQUAL;
	}
}

static uint32_t with_bool(const struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t mask)
{
	uint32_t other;

	if (in->op_count < 4)
		return mask;
	other = tcb_emu_pred(warp, &in->op[3]);
	switch ((int)tcb_ptx_mod(in->ins, TCB_PTX_SLOT_BOOL)) {
	case TCB_PTX_AND:
		return mask & other;
	case TCB_PTX_OR:
		return mask | other;
	}
	return mask ^ other;
}

/* Lanes where the comparison of element K holds. */
static uint32_t compare(const struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active, unsigned k)
{
	unsigned set = holds_for(tcb_ptx_mod(in->ins, TCB_PTX_SLOT_COMPARE));
	uint32_t mask = 0;

	TCB_EMU_EACH(lane, active)
	if (set & relation_at(warp, in, lane, k))
		mask |= 1u << lane;
	return mask;
}

static void put_setp(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active, uint32_t mask)
{
	if (in->op[0].kind != TCB_EMU_VECTOR) {
		tcb_emu_put_pred(warp, &in->op[0], with_bool(warp, in, mask), active);
		return;
	}
	uint32_t first = with_bool(warp, in, mask), second = with_bool(warp, in, ~mask);

	tcb_emu_put_pred(warp, &in->op[0].items[0], first, active);
	tcb_emu_put_pred(warp, &in->op[0].items[1], second, active);
}

static void run_setp(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	put_setp(warp, in, active, compare(warp, in, active, 0));
}

static void run_setp_pair(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	uint32_t low = with_bool(warp, in, compare(warp, in, active, 0));
	uint32_t high = with_bool(warp, in, compare(warp, in, active, 1));

	tcb_emu_put_pred(warp, &in->op[0].items[0], low, active);
	tcb_emu_put_pred(warp, &in->op[0].items[1], high, active);
}

/* --- setp of 32 and 64 bits, by whole warps --- */

#define FAST(name, type)                                                                                           \
	static void name(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)                 \
	{                                                                                                          \
		const type *a = tcb_emu_lanes(warp, &in->op[1]);                                                   \
		const type *b = tcb_emu_lanes(warp, &in->op[2]);                                                   \
		uint32_t less = 0, equal = 0, greater = 0, mask;                                                   \
                                                                                                                   \
		for (unsigned i = 0; i < TCB_EMU_LANES; i++) {                                                     \
			less |= (uint32_t)(a[i] < b[i]) << i;                                                      \
			equal |= (uint32_t)(a[i] == b[i]) << i;                                                    \
			greater |= (uint32_t)(a[i] > b[i]) << i;                                                   \
		}                                                                                                  \
		mask = (in->d & LESS ? less : 0) | (in->d & EQUAL ? equal : 0) | (in->d & GREATER ? greater : 0) | \
		       (in->d & UNORDERED ? ~(less | equal | greater) : 0);                                        \
		put_setp(warp, in, active, mask);                                                                  \
	}

FAST(setp_u32, uint32_t)
FAST(setp_s32, int32_t)
FAST(setp_u64, uint64_t)
FAST(setp_s64, int64_t)
FAST(setp_f32, float)
FAST(setp_f64, double)

static tcb_emu_run_fn *fast(const struct tcb_emu_ins *in)
{
	if (in->b != 1 || in->c)
		return NULL;
	switch ((int)in->a) {
	case TCB_PTX_B32:
	case TCB_PTX_U32:
		return setp_u32;
	case TCB_PTX_S32:
		return setp_s32;
	case TCB_PTX_B64:
	case TCB_PTX_U64:
		return setp_u64;
	case TCB_PTX_S64:
		return setp_s64;
	case TCB_PTX_F32:
		return setp_f32;
	case TCB_PTX_F64:
		return setp_f64;
	}
	return NULL;
}

/* --- set --- */

/* What "true" is in a result of TYPE. */
static uint64_t truth(enum tcb_ptx_word type)
{
	switch ((int)type) {
	case TCB_PTX_F32:
		return 0x3f800000;
	case TCB_PTX_F16:
	case TCB_PTX_F16X2:
		return 0x3c00;
	case TCB_PTX_BF16:
	case TCB_PTX_BF16X2:
		return 0x3f80;
	}
	return UINT64_MAX;
}

static void run_set(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	enum tcb_ptx_word to = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_TYPE);
	unsigned size = tcb_ptx_type_bits(to) / in->b;
	uint64_t true_bits = truth(to) & (UINT64_MAX >> (64 - size));
	uint32_t low = with_bool(warp, in, compare(warp, in, active, 0));
	uint32_t high = in->b > 1 ? with_bool(warp, in, compare(warp, in, active, 1)) : 0;

	TCB_EMU_EACH(lane, active)
	tcb_emu_set(warp, &in->op[0], lane,
		    (low >> lane & 1 ? true_bits : 0) | (high >> lane & 1 ? true_bits << size : 0));
}

/* --- selection --- */

static void run_selp(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	uint32_t which = tcb_emu_pred(warp, &in->op[3]);

	TCB_EMU_EACH(lane, active)
	tcb_emu_set(warp, &in->op[0], lane, tcb_emu_get(warp, &in->op[which >> lane & 1 ? 1 : 2], lane));
}

static void run_slct(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	int is_float = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_TYPE2) == TCB_PTX_F32;

	TCB_EMU_EACH(lane, active)
	{
		uint32_t c = tcb_emu_get32(warp, &in->op[3])[lane];
		double value = is_float ? tcb_ptx_float_widen(TCB_PTX_F32, c) : (int32_t)c;

		if (in->c)
			value = tcb_ptx_float_flush(TCB_PTX_F32, value);
		tcb_emu_set(warp, &in->op[0], lane, tcb_emu_get(warp, &in->op[value >= 0 ? 1 : 2], lane));
	}
}

/* --- testp, copysign --- */

static int test(enum tcb_ptx_word mode, enum tcb_ptx_word type, double value)
{
	double least = type == TCB_PTX_F32 ? 0x1p-126 : 0x1p-1022;

	switch ((int)mode) {
	case TCB_PTX_FINITE:
		return isfinite(value);
	case TCB_PTX_INFINITE:
		return isinf(value);
	case TCB_PTX_NUMBER:
		return !isnan(value);
	case TCB_PTX_NOTANUMBER:
		return isnan(value);
	case TCB_PTX_NORMAL:
		return isfinite(value) && (value == 0 || fabs(value) >= least); /* zero counts as normal */
	}
	return value != 0 && fabs(value) < least;
}

static void run_testp(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	enum tcb_ptx_word type = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_TYPE),
			  mode = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_MODE);
	uint32_t mask = 0;

	TCB_EMU_EACH(lane, active)
	if (test(mode, type, tcb_ptx_float_widen(type, tcb_emu_get(warp, &in->op[1], lane))))
		mask |= 1u << lane;
	tcb_emu_put_pred(warp, &in->op[0], mask, active);
}

/* The sign of the first with the rest of the second. */
static void run_copysign(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	uint64_t sign = 1ull << (tcb_ptx_type_bits(tcb_ptx_mod(in->ins, TCB_PTX_SLOT_TYPE)) - 1);

	TCB_EMU_EACH(lane, active)
	tcb_emu_set(warp, &in->op[0], lane,
		    (tcb_emu_get(warp, &in->op[1], lane) & sign) | (tcb_emu_get(warp, &in->op[2], lane) & ~sign));
}

enum tcb_status tcb_emu_bind_compare(struct tcb_emu_decoder *decoder, struct tcb_emu_ins *in, struct tcb_error *err)
{
	static const struct tcb_emu_runner runners[] = {
		{ TCB_PTX_OP_SETP, run_setp }, { TCB_PTX_OP_SET, run_set },     { TCB_PTX_OP_SELP, run_selp },
		{ TCB_PTX_OP_SLCT, run_slct }, { TCB_PTX_OP_TESTP, run_testp }, { TCB_PTX_OP_COPYSIGN, run_copysign },
	};
	enum tcb_ptx_op op = (enum tcb_ptx_op)in->ins->op;
	enum tcb_ptx_word type = tcb_ptx_mod(in->ins, op == TCB_PTX_OP_SET ? TCB_PTX_SLOT_TYPE2 : TCB_PTX_SLOT_TYPE);
	int is_pair = type == TCB_PTX_F16X2 || type == TCB_PTX_BF16X2;
	tcb_emu_run_fn *quick;

	(void)decoder;
	in->a = type == TCB_PTX_F16X2 ? TCB_PTX_F16 : type == TCB_PTX_BF16X2 ? TCB_PTX_BF16 : type;
	in->b = is_pair ? 2 : 1;
	in->c = in->ins->mod[TCB_PTX_SLOT_FTZ] == TCB_PTX_FTZ;
	in->d = holds_for(tcb_ptx_mod(in->ins, TCB_PTX_SLOT_COMPARE));
	quick = fast(in);
	tcb_emu_run_by(in, runners, sizeof runners / sizeof *runners);
	if (op != TCB_PTX_OP_SETP)
		return TCB_OK;
	if (is_pair && in->op[0].kind != TCB_EMU_VECTOR)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "two predicates are needed");
	if (is_pair)
		in->run = run_setp_pair;
	else if (quick)
		in->run = quick;
	return TCB_OK;
}
