/* SPDX-License-Identifier: MIT
 *
 * In: addresses, and who surely comes.  Out: sums and products of 32 bits that are
 * larger than that where they are widened to 64.
 *
 * From a widening (mul.wide, cvt) that an address is a sum of, products, sums and
 * shifts are followed back and done again without a bound, thread by thread: with the
 * thread's own numbers, 0 for the block's index (the first block is there in each
 * grid), and the rounds that a loop surely makes.  What depends on a parameter or on
 * how many blocks there are is unknown, and nothing is said of it.  Only what the
 * widening sees counts: that steps on the way wrap around does no harm.
 */
#include "ptx/analyse/bounds_overflow.h"

#include "ptx/ir/opcodes.h"

enum { DEPTH_MAX = 16, SUM_DEPTH = 8, ANY_THREAD = UINT32_MAX };

/* What a number can be; one for one thread. */
struct range {
	__int128 low, high;
};

enum fits { NOT_ASKED, FITS, MAY_NOT_FIT };

struct overflow {
	struct tcb_ptx_function *function;
	struct tcb_ptx_affine *affine;
	struct tcb_ptx_rounds *rounds;
	const struct tcb_ptx_coming *coming;
	const struct tcb_ptx_sink *sink;
	uint32_t threads;
	uint8_t *fits; /* by number of an instruction that widens: what is known without asking for each thread */
	const struct tcb_ptx_ins *access;
	int is_told;
};

static const struct tcb_ptx_ins *def_of(const struct overflow *o, const struct tcb_ptx_operand *operand)
{
	const struct tcb_ptx_reg *reg;

	if (operand->kind != TCB_PTX_O_REG)
		return NULL;
	reg = &o->function->regs[operand->reg];
	return reg->defs == 1 && reg->def->guard == TCB_PTX_NO_REG && reg->def->operands[0].kind == TCB_PTX_O_REG
		       ? reg->def
		       : NULL;
}

/* --- what the index would be --- */

static int is_index_of_block(const struct overflow *o, uint32_t symbol)
{
	for (unsigned d = 0; d < 3; d++) {
		struct tcb_ptx_value v = tcb_ptx_affine_special(o->affine, TCB_PTX_SR_CTAID_X + d);

		if (v.term_count && v.terms[0].symbol == symbol)
			return 1;
	}
	return 0;
}

static struct range scaled(int64_t by, struct range x)
{
	return by < 0 ? (struct range){ x.high * by, x.low * by } : (struct range){ x.low * by, x.high * by };
}

static struct range product(struct range x, struct range y)
{
	const __int128 corners[] = { x.low * y.low, x.low * y.high, x.high * y.low, x.high * y.high };
	struct range out = { corners[0], corners[0] };

	for (int i = 1; i < 4; i++) {
		out.low = corners[i] < out.low ? corners[i] : out.low;
		out.high = corners[i] > out.high ? corners[i] : out.high;
	}
	return out;
}

static struct range sum(struct range x, struct range y)
{
	return (struct range){ x.low + y.low, x.high + y.high };
}

/* Of a number for each thread (LANES: added to CONSTANT), what it is for THREAD. */
static struct range of_lanes(const struct overflow *o, uint64_t constant, const uint64_t *lanes, uint32_t thread)
{
	uint32_t first = thread == ANY_THREAD ? 0 : thread, end = thread == ANY_THREAD ? o->threads : thread + 1;
	struct range out = { INT64_MAX, INT64_MIN };

	for (uint32_t t = first; t < (lanes ? end : first + 1); t++) {
		int32_t x = (int32_t)(uint32_t)(constant + (lanes ? lanes[t] : 0));

		out.low = x < out.low ? x : out.low;
		out.high = x > out.high ? x : out.high;
	}
	return out;
}

/* The rounds of the loop of COUNTER before the last in which THREAD surely comes. */
static int find_rounds(const struct overflow *o, const struct tcb_ptx_symbolic *counter, uint32_t thread,
		       struct range *out)
{
	uint64_t last = counter->max == UINT64_MAX ? 0 : counter->max;

	if (thread != ANY_THREAD && !tcb_ptx_rounds_last(o->rounds, counter->header, o->access->block, thread, &last))
		return 0;
	*out = (struct range){ thread == ANY_THREAD ? 0 : (__int128)last, (__int128)last };
	return last <= INT32_MAX;
}

/* The value of OPERAND as INS reads it, a number of 32 bits with a sign, for THREAD of the first block in the last
 * round of the loops; 0 when it is unknown. */
static int find_leaf(const struct overflow *o, const struct tcb_ptx_ins *ins, const struct tcb_ptx_operand *operand,
		     uint32_t thread, struct range *out)
{
	struct tcb_ptx_value v = tcb_ptx_affine_operand(o->affine, ins, operand);

	if (!v.known || v.assumes)
		return 0;
	*out = of_lanes(o, v.constant, v.lanes, thread);
	for (uint32_t i = 0; i < v.term_count; i++) {
		const struct tcb_ptx_term *term = &v.terms[i];
		const struct tcb_ptx_symbolic *s = tcb_ptx_affine_symbol(o->affine, term->symbol);
		struct range rounds;

		if (is_index_of_block(o, term->symbol))
			continue;
		if (s->kind != TCB_PTX_Y_COUNTER || !find_rounds(o, s, thread, &rounds))
			return 0;
		*out = sum(*out, product(of_lanes(o, term->factor, term->lanes, thread), rounds));
	}
	return 1;
}

static int find_number(const struct overflow *o, const struct tcb_ptx_ins *ins, const struct tcb_ptx_operand *operand,
		       uint32_t thread, unsigned depth, struct range *out);

/* Whether INS is a sum, product, shift or copy of 32 bits. */
static int is_arithmetic(const struct tcb_ptx_ins *ins)
{
	enum tcb_ptx_word type = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE);

	if (tcb_ptx_type_bits(type) != 32 || tcb_ptx_type_class(type) == TCB_PTX_CLASS_FLOAT ||
	    tcb_ptx_mod(ins, TCB_PTX_SLOT_SAT) || tcb_ptx_mod(ins, TCB_PTX_SLOT_CARRY))
		return 0;
	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_MUL:
	case TCB_PTX_OP_MAD:
		return tcb_ptx_mod(ins, TCB_PTX_SLOT_MODE) == TCB_PTX_LO;
	case TCB_PTX_OP_SHL:
		return ins->operands[2].kind == TCB_PTX_O_INT && ins->operands[2].bits < 32;
	case TCB_PTX_OP_ADD:
	case TCB_PTX_OP_SUB:
	case TCB_PTX_OP_MOV:
		return 1;
	default:
		return 0;
	}
}

/* What INS computes of its operands, without a bound; 0 when that is unknown. */
static int compute(const struct overflow *o, const struct tcb_ptx_ins *ins, uint32_t thread, unsigned depth,
		   struct range *out)
{
	unsigned count = ins->operand_count - ins->result_count;
	struct range x[3] = { { 0, 0 }, { 0, 0 }, { 0, 0 } };

	if (!is_arithmetic(ins) || count > 3)
		return 0;
	for (unsigned i = 0; i < count; i++)
		if (!find_number(o, ins, &ins->operands[ins->result_count + i], thread, depth + 1, &x[i]) ||
		    x[i].high > INT64_MAX / 4 || x[i].low < INT64_MIN / 4)
			return 0;
	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_MUL:
	case TCB_PTX_OP_MAD:
		*out = sum(product(x[0], x[1]), x[2]);
		return 1;
	case TCB_PTX_OP_SHL:
		*out = scaled(INT64_C(1) << (unsigned)x[1].low, x[0]);
		return 1;
	case TCB_PTX_OP_SUB:
		*out = sum(x[0], scaled(-1, x[1]));
		return 1;
	default:
		*out = sum(x[0], x[1]);
		return 1;
	}
}

static int find_number(const struct overflow *o, const struct tcb_ptx_ins *ins, const struct tcb_ptx_operand *operand,
		       uint32_t thread, unsigned depth, struct range *out)
{
	const struct tcb_ptx_ins *def = depth < DEPTH_MAX ? def_of(o, operand) : NULL;

	return (def && compute(o, def, thread, depth, out)) || find_leaf(o, ins, operand, thread, out);
}

/* --- where it is widened --- */

static int comes(const struct overflow *o, uint32_t thread)
{
	const uint64_t *must = tcb_ptx_must_of(o->coming, o->access->block);
	struct tcb_ptx_value guard = tcb_ptx_affine_guard(o->affine, o->access);

	return (must[thread / 64] >> thread % 64 & 1) && guard.known && !guard.term_count &&
	       (tcb_ptx_value_lane(&guard, thread) & 1);
}

static int does_fit(struct range x, int is_signed)
{
	/* below 0 an unsigned index may be what a guard against the edge left over */
	return is_signed ? x.high <= INT32_MAX && x.low >= INT32_MIN : x.high <= UINT32_MAX;
}

static void tell(struct overflow *o, const struct tcb_ptx_ins *widens, const struct tcb_ptx_ins *computes,
		 uint32_t thread, int64_t number, int is_signed)
{
	long long wrapped =
		is_signed ? (long long)(int32_t)(uint32_t)(uint64_t)number : (long long)(uint32_t)(uint64_t)number;

	o->is_told = 1;
	tcb_ptx_report(
		o->sink, TCB_PTX_RULE_INDEX_OVERFLOW, is_signed ? TCB_PTX_ERROR : TCB_PTX_WARNING, o->function,
		o->access,
		"the index that line %u computes for thread %u is %lld, which its 32 bits do not hold: it becomes "
		"%lld where line %u widens it; compute it in 64 bits",
		computes->line, thread, (long long)number, wrapped, widens->line);
}

/* OPERAND of WIDENS becomes 64 bits there. */
static void check_widening(struct overflow *o, const struct tcb_ptx_ins *widens, const struct tcb_ptx_operand *operand,
			   int is_signed)
{
	const struct tcb_ptx_ins *def = def_of(o, operand);
	uint8_t *fits = &o->fits[widens->number];
	struct range number;

	if (o->is_told || !def || def->op == TCB_PTX_OP_MOV || *fits == FITS)
		return;
	if (*fits == NOT_ASKED)
		*fits = !compute(o, def, ANY_THREAD, 0, &number) || does_fit(number, is_signed) ? FITS : MAY_NOT_FIT;
	for (uint32_t t = 0; t < o->threads && *fits == MAY_NOT_FIT; t++) {
		if (!comes(o, t) || !compute(o, def, t, 0, &number) || does_fit(number, is_signed))
			continue;
		tell(o, widens, def, t, (int64_t)number.high, is_signed);
		return;
	}
}

/* OPERAND is a part of the address, unscaled or not. */
static void check_part(struct overflow *o, const struct tcb_ptx_operand *operand, unsigned depth)
{
	const struct tcb_ptx_ins *def = depth < SUM_DEPTH ? def_of(o, operand) : NULL;
	enum tcb_ptx_word type = def ? tcb_ptx_mod(def, TCB_PTX_SLOT_TYPE) : TCB_PTX_NO_WORD,
			  from = def ? tcb_ptx_mod(def, TCB_PTX_SLOT_TYPE2) : TCB_PTX_NO_WORD;

	if (!def)
		return;
	switch ((enum tcb_ptx_op)def->op) {
	case TCB_PTX_OP_MUL:
	case TCB_PTX_OP_MAD:
		if (tcb_ptx_mod(def, TCB_PTX_SLOT_MODE) == TCB_PTX_WIDE && tcb_ptx_type_bits(type) == 32) {
			unsigned index = def->operands[1].kind == TCB_PTX_O_INT ? 2 : 1;

			check_widening(o, def, &def->operands[index], type == TCB_PTX_S32);
		}
		if (def->op == TCB_PTX_OP_MAD)
			check_part(o, &def->operands[3], depth + 1);
		if (tcb_ptx_mod(def, TCB_PTX_SLOT_MODE) == TCB_PTX_LO)
			check_part(o, &def->operands[1], depth + 1);
		return;
	case TCB_PTX_OP_CVT:
		if (tcb_ptx_type_bits(type) == 64 && (from == TCB_PTX_S32 || from == TCB_PTX_U32))
			check_widening(o, def, &def->operands[1], from == TCB_PTX_S32);
		return;
	case TCB_PTX_OP_ADD:
	case TCB_PTX_OP_SUB:
		check_part(o, &def->operands[2], depth + 1);
		check_part(o, &def->operands[1], depth + 1);
		return;
	case TCB_PTX_OP_SHL:
	case TCB_PTX_OP_MOV:
	case TCB_PTX_OP_CVTA:
		check_part(o, &def->operands[1], depth + 1);
		return;
	default:
		return;
	}
}

void tcb_ptx_bounds_overflow(struct tcb_ptx_rounds *rounds, const struct tcb_ptx_coming *coming, uint32_t threads,
			     uint8_t *fits, const struct tcb_ptx_sink *sink)
{
	struct overflow o = { rounds->function, rounds->affine, rounds, coming, sink, threads, fits, NULL, 0 };

	for (uint32_t i = 0; i < o.function->reachable_count; i++)
		for (const struct tcb_ptx_ins *ins = o.function->order[i]->first; ins; ins = ins->next)
			for (unsigned k = 0; k < ins->operand_count; k++) {
				struct tcb_ptx_access access;
				struct tcb_ptx_operand base = { .kind = TCB_PTX_O_REG };

				if (!tcb_ptx_access(ins, k, &access) || ins->operands[k].reg == TCB_PTX_NO_REG)
					continue;
				o.access = ins;
				o.is_told = 0;
				base.reg = ins->operands[k].reg;
				check_part(&o, &base, 0);
			}
}
