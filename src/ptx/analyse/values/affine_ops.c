/* SPDX-License-Identifier: MIT
 *
 * In: values as affine.h has them.  Out: their sums, products, bits and
 * choices, or unknown.
 *
 * A value is (constant + lanes) + sum of (factor + lanes) * symbol, modulo
 * 2^bits; each bracket is a coefficient here.  Sums and products are exact.
 * Bit operations and shifts cut both operands at a power of two that divides
 * all terms: above it nothing may depend on the thread, below it no symbol
 * plays a part.  Lanes and symbols are kept once (affine_intern.c).
 */
#include "ptx/analyse/values/affine_ops.h"
#include "ptx/analyse/values/affine_intern.h"
#include "ptx/analyse/values/affine_state.h"

#include <stdlib.h>
#include <string.h>

enum { TERMS_MAX = 24, ALIGN_MAX_LOG = 32, KEY_WORDS_MAX = 8 + 3 * (2 + 2 * TERMS_MAX) };

static uint64_t low_bit(uint64_t x)
{
	return x & (~x + 1);
}

/* --- coefficients --- */

static uint64_t at(const struct tcb_ptx_coefficient *c, uint32_t thread)
{
	return c->constant + (c->lanes ? c->lanes[thread] : 0);
}

static struct tcb_ptx_coefficient plus(struct tcb_ptx_affine *a, unsigned bits, struct tcb_ptx_coefficient x,
				       struct tcb_ptx_coefficient y)
{
	if (!x.lanes || !y.lanes)
		return (struct tcb_ptx_coefficient){ (x.constant + y.constant) & tcb_ptx_bits_mask(bits),
						     x.lanes ? x.lanes : y.lanes };
	for (uint32_t t = 0; t < a->threads; t++)
		a->scratch[t] = at(&x, t) + at(&y, t);
	return tcb_ptx_affine_keep(a, bits);
}

static struct tcb_ptx_coefficient times(struct tcb_ptx_affine *a, unsigned bits, struct tcb_ptx_coefficient x,
					struct tcb_ptx_coefficient y)
{
	if (!x.lanes && !y.lanes)
		return (struct tcb_ptx_coefficient){ (x.constant * y.constant) & tcb_ptx_bits_mask(bits), NULL };
	if (x.lanes && !y.lanes && y.constant == 1)
		return x;
	if (y.lanes && !x.lanes && x.constant == 1)
		return y;
	for (uint32_t t = 0; t < a->threads; t++)
		a->scratch[t] = at(&x, t) * at(&y, t);
	return tcb_ptx_affine_keep(a, bits);
}

static int is_zero(struct tcb_ptx_coefficient c)
{
	return !c.constant && !c.lanes;
}

/* --- values --- */

struct tcb_ptx_value tcb_ptx_value_unknown(unsigned bits)
{
	return (struct tcb_ptx_value){ .bits = (uint8_t)bits, .open = TCB_PTX_NOT_OPEN };
}

struct tcb_ptx_value tcb_ptx_value_number(unsigned bits, uint64_t number)
{
	return (struct tcb_ptx_value){ .known = 1,
				       .bits = (uint8_t)bits,
				       .open = TCB_PTX_NOT_OPEN,
				       .constant = number & tcb_ptx_bits_mask(bits) };
}

/* Neither known nor tied to fewer loop variables than X and Y are. */
static struct tcb_ptx_value no_value(unsigned bits, const struct tcb_ptx_value *x, const struct tcb_ptx_value *y)
{
	struct tcb_ptx_value v = tcb_ptx_value_unknown(bits);

	v.open = x->open < y->open ? x->open : y->open;
	return v;
}

static struct tcb_ptx_coefficient own(const struct tcb_ptx_value *v)
{
	return (struct tcb_ptx_coefficient){ v->constant, v->lanes };
}

static struct tcb_ptx_coefficient factor(const struct tcb_ptx_term *term)
{
	return (struct tcb_ptx_coefficient){ term->factor, term->lanes };
}

struct tcb_ptx_value tcb_ptx_value_symbol(struct tcb_ptx_affine *a, unsigned bits, uint32_t symbol)
{
	struct tcb_ptx_value v = tcb_ptx_value_number(bits, 0);
	struct tcb_ptx_term *term = tcb_arena_alloc(&a->arena, sizeof *term);

	if (!term || a->failed)
		return tcb_ptx_value_unknown(bits);
	*term = (struct tcb_ptx_term){ symbol, 1, NULL };
	v.terms = term;
	v.term_count = 1;
	v.open = a->symbols[symbol].kind == TCB_PTX_Y_CARRIED ? a->symbols[symbol].open : TCB_PTX_NOT_OPEN;
	return v;
}

struct tcb_ptx_value tcb_ptx_value_of_lanes(struct tcb_ptx_affine *a, unsigned bits, const uint64_t *lanes)
{
	struct tcb_ptx_value v = tcb_ptx_value_number(bits, 0);
	struct tcb_ptx_coefficient c;

	if (lanes != a->scratch)
		memcpy(a->scratch, lanes, a->threads * sizeof *lanes);
	c = tcb_ptx_affine_keep(a, bits);
	if (a->failed)
		return tcb_ptx_value_unknown(bits);
	v.constant = c.constant;
	v.lanes = c.lanes;
	return v;
}

int tcb_ptx_value_is_uniform(const struct tcb_ptx_value *v)
{
	if (!v->known || v->lanes)
		return 0;
	for (uint32_t i = 0; i < v->term_count; i++)
		if (v->terms[i].lanes)
			return 0;
	return 1;
}

static int has_uniform_terms(const struct tcb_ptx_value *v)
{
	for (uint32_t i = 0; i < v->term_count; i++)
		if (v->terms[i].lanes)
			return 0;
	return 1;
}

int tcb_ptx_value_same(const struct tcb_ptx_value *x, const struct tcb_ptx_value *y)
{
	if (!x->known || !y->known || x->bits != y->bits || x->constant != y->constant || x->lanes != y->lanes ||
	    x->term_count != y->term_count)
		return 0;
	for (uint32_t i = 0; i < x->term_count; i++)
		if (x->terms[i].symbol != y->terms[i].symbol || x->terms[i].factor != y->terms[i].factor ||
		    x->terms[i].lanes != y->terms[i].lanes)
			return 0;
	return 1;
}

uint64_t tcb_ptx_value_loops(const struct tcb_ptx_affine *a, const struct tcb_ptx_value *v)
{
	uint64_t loops = 0;

	for (uint32_t i = 0; i < v->term_count; i++)
		loops |= a->symbols[v->terms[i].symbol].loops;
	return loops;
}

uint64_t tcb_ptx_affine_term_align(const struct tcb_ptx_affine *a, const struct tcb_ptx_value *v)
{
	uint64_t align = UINT64_C(1) << ALIGN_MAX_LOG;

	for (uint32_t i = 0; i < v->term_count; i++) {
		uint64_t bits = v->terms[i].factor, own_align = a->symbols[v->terms[i].symbol].align;

		for (uint32_t t = 0; v->terms[i].lanes && t < a->threads; t++)
			bits |= v->terms[i].lanes[t];
		bits = low_bit(bits);
		if (bits && bits < align && own_align < align / bits)
			align = bits * own_align;
	}
	return align;
}

/* Bounds of V as an integer: what is known of the thread's part as a signed number, plus the terms; 0 when unknown. */
static int range_of(const struct tcb_ptx_affine *a, const struct tcb_ptx_value *v, __int128 *low, __int128 *high)
{
	__int128 small = tcb_ptx_bits_extend(v->constant, v->bits), large = small;
	int64_t least = 0, most = 0;

	for (uint32_t t = 0; v->lanes && t < a->threads; t++) {
		int64_t x = tcb_ptx_bits_extend(v->lanes[t], v->bits);

		least = x < least ? x : least;
		most = x > most ? x : most;
	}
	small += least;
	large += most;
	for (uint32_t i = 0; i < v->term_count; i++) {
		uint64_t max = a->symbols[v->terms[i].symbol].max;
		int64_t by = tcb_ptx_bits_extend(v->terms[i].factor, v->bits);

		if (max == UINT64_MAX || v->terms[i].lanes)
			return 0;
		if (by < 0)
			small += (__int128)by * max;
		else
			large += (__int128)by * max;
	}
	*low = small;
	*high = large;
	return 1;
}

/* Adds C * SYMBOL to the COUNT sorted terms of TERMS; returns the new count, or TERMS_MAX + 1. */
static uint32_t add_term(struct tcb_ptx_affine *a, unsigned bits, struct tcb_ptx_term *terms, uint32_t count,
			 uint32_t symbol, struct tcb_ptx_coefficient c)
{
	uint32_t place = 0;

	if (count > TERMS_MAX || is_zero(c))
		return count;
	while (place < count && terms[place].symbol < symbol)
		place++;
	if (place < count && terms[place].symbol == symbol) {
		c = plus(a, bits, factor(&terms[place]), c);
		terms[place] = (struct tcb_ptx_term){ symbol, c.constant, c.lanes };
		if (is_zero(c)) {
			memmove(terms + place, terms + place + 1, (count - place - 1) * sizeof *terms);
			return count - 1;
		}
		return count;
	}
	if (count == TERMS_MAX)
		return TERMS_MAX + 1;
	memmove(terms + place + 1, terms + place, (count - place) * sizeof *terms);
	terms[place] = (struct tcb_ptx_term){ symbol, c.constant, c.lanes };
	return count + 1;
}

/* The value of OWN and the COUNT terms of TERMS, with the flags of X and Y. */
static struct tcb_ptx_value assemble(struct tcb_ptx_affine *a, unsigned bits, struct tcb_ptx_coefficient c,
				     const struct tcb_ptx_term *terms, uint32_t count, const struct tcb_ptx_value *x,
				     const struct tcb_ptx_value *y)
{
	struct tcb_ptx_value v = no_value(bits, x, y);
	struct tcb_ptx_term *copy = NULL;

	if (count > TERMS_MAX || a->failed)
		return v;
	if (count) {
		copy = tcb_arena_array(&a->arena, count, sizeof *copy);
		if (!copy)
			return v;
		memcpy(copy, terms, count * sizeof *copy);
	}
	v.known = 1;
	v.assumes = x->assumes | y->assumes;
	v.constant = c.constant;
	v.lanes = c.lanes;
	v.terms = copy;
	v.term_count = count;
	return v;
}

struct tcb_ptx_value tcb_ptx_value_add(struct tcb_ptx_affine *a, const struct tcb_ptx_value *x,
				       const struct tcb_ptx_value *y)
{
	struct tcb_ptx_term terms[TERMS_MAX + 1];
	uint32_t count = x->term_count;

	if (!x->known || !y->known)
		return no_value(x->bits, x, y);
	if (count)
		memcpy(terms, x->terms, count * sizeof *terms);
	for (uint32_t i = 0; i < y->term_count; i++)
		count = add_term(a, x->bits, terms, count, y->terms[i].symbol, factor(&y->terms[i]));
	return assemble(a, x->bits, plus(a, x->bits, own(x), own(y)), terms, count, x, y);
}

struct tcb_ptx_value tcb_ptx_value_sub(struct tcb_ptx_affine *a, const struct tcb_ptx_value *x,
				       const struct tcb_ptx_value *y)
{
	struct tcb_ptx_value minus_one = tcb_ptx_value_number(x->bits, UINT64_MAX);
	struct tcb_ptx_value minus = tcb_ptx_value_mul(a, y, &minus_one);

	return tcb_ptx_value_add(a, x, &minus);
}

/* The product of two symbols, as a symbol. */
static uint32_t product_symbol(struct tcb_ptx_affine *a, uint32_t s, uint32_t r)
{
	const struct tcb_ptx_symbolic x = a->symbols[s], y = a->symbols[r];
	uint64_t key[3] = { UINT64_C(1) << 32, s < r ? s : r, s < r ? r : s };
	struct tcb_ptx_symbolic like = { .kind = TCB_PTX_Y_COMPUTED, .align = 1, .max = UINT64_MAX };

	if (x.align <= UINT64_C(1) << (ALIGN_MAX_LOG - 1) && y.align <= UINT64_C(1) << (ALIGN_MAX_LOG - 1))
		like.align = x.align * y.align;
	if (x.max <= UINT32_MAX && y.max <= UINT32_MAX)
		like.max = x.max * y.max;
	like.loops = x.loops | y.loops;
	return tcb_ptx_affine_symbol_for(a, key, 3, &like);
}

struct tcb_ptx_value tcb_ptx_value_mul(struct tcb_ptx_affine *a, const struct tcb_ptx_value *x,
				       const struct tcb_ptx_value *y)
{
	struct tcb_ptx_term terms[TERMS_MAX + 1];
	unsigned bits = x->bits;
	uint32_t count = 0;

	if (!x->known || !y->known)
		return no_value(bits, x, y);
	for (uint32_t i = 0; i < x->term_count; i++)
		count = add_term(a, bits, terms, count, x->terms[i].symbol,
				 times(a, bits, factor(&x->terms[i]), own(y)));
	for (uint32_t i = 0; i < y->term_count; i++)
		count = add_term(a, bits, terms, count, y->terms[i].symbol,
				 times(a, bits, factor(&y->terms[i]), own(x)));
	for (uint32_t i = 0; i < x->term_count; i++)
		for (uint32_t j = 0; j < y->term_count && count <= TERMS_MAX; j++) {
			uint32_t symbol = product_symbol(a, x->terms[i].symbol, y->terms[j].symbol);
			struct tcb_ptx_coefficient c = times(a, bits, factor(&x->terms[i]), factor(&y->terms[j]));

			if (a->failed)
				return no_value(bits, x, y);
			count = add_term(a, bits, terms, count, symbol, c);
		}
	return assemble(a, bits, times(a, bits, own(x), own(y)), terms, count, x, y);
}

struct tcb_ptx_value tcb_ptx_value_computed(struct tcb_ptx_affine *a, unsigned bits, uint64_t tag, unsigned count,
					    const struct tcb_ptx_value *x, uint64_t align, uint64_t max)
{
	struct tcb_ptx_symbolic like = {
		.kind = TCB_PTX_Y_COMPUTED, .align = align ? align : 1, .max = max, .open = TCB_PTX_NOT_OPEN
	};
	uint64_t key[KEY_WORDS_MAX];
	uint32_t words = 0;
	struct tcb_ptx_value v;
	uint8_t assumes = 0;

	key[words++] = (UINT64_C(2) << 32) | bits;
	key[words++] = tag;
	for (unsigned i = 0; i < count && i < 3; i++) {
		key[words++] = x[i].constant;
		key[words++] = (uint64_t)x[i].term_count << 8 | x[i].bits;
		for (uint32_t j = 0; j < x[i].term_count; j++) {
			key[words++] = x[i].terms[j].symbol;
			key[words++] = x[i].terms[j].factor;
		}
		like.loops |= tcb_ptx_value_loops(a, &x[i]);
		like.open = x[i].open < like.open ? x[i].open : like.open;
		assumes |= x[i].assumes;
	}
	v = tcb_ptx_value_symbol(a, bits, tcb_ptx_affine_symbol_for(a, key, words, &like));
	v.assumes = assumes;
	v.open = like.open;
	return v;
}

/* --- bits --- */

/* Cuts V at 2^LOG, which divides its terms: *ABOVE holds all from there up, which must be the same in all threads, and
 * what is below stays in a->scratch. */
static int cut(struct tcb_ptx_affine *a, const struct tcb_ptx_value *v, unsigned log, struct tcb_ptx_value *above)
{
	uint32_t threads = v->lanes ? a->threads : 1;
	uint64_t upper = 0;

	if (!has_uniform_terms(v))
		return 0;
	for (uint32_t t = 0; t < threads; t++) {
		uint64_t x = tcb_ptx_value_lane(v, t);
		int64_t mine = v->term_count ? tcb_ptx_bits_extend(x, v->bits) >> log : (int64_t)(x >> log);

		if (t && (uint64_t)mine != upper)
			return 0;
		upper = (uint64_t)mine;
		a->scratch[t] = x & tcb_ptx_bits_mask(log);
	}
	for (uint32_t t = threads; t < a->threads; t++)
		a->scratch[t] = a->scratch[0];
	*above = *v;
	above->lanes = NULL;
	above->constant = (upper << log) & tcb_ptx_bits_mask(v->bits);
	return 1;
}

static uint64_t apply(unsigned op, uint64_t x, uint64_t y)
{
	return op == TCB_PTX_OP_AND ? x & y : op == TCB_PTX_OP_OR ? x | y : x ^ y;
}

static struct tcb_ptx_value bitwise_lanes(struct tcb_ptx_affine *a, unsigned op, const struct tcb_ptx_value *x,
					  const struct tcb_ptx_value *y)
{
	struct tcb_ptx_value v;

	if (!x->lanes && !y->lanes) {
		v = tcb_ptx_value_number(x->bits, apply(op, x->constant, y->constant));
	} else {
		for (uint32_t t = 0; t < a->threads; t++)
			a->scratch[t] = apply(op, tcb_ptx_value_lane(x, t), tcb_ptx_value_lane(y, t));
		v = tcb_ptx_value_of_lanes(a, x->bits, a->scratch);
	}
	v.assumes = x->assumes | y->assumes;
	v.open = x->open < y->open ? x->open : y->open;
	return v;
}

/* OP on what is the same in all threads and a multiple of ALIGN. */
static struct tcb_ptx_value bitwise_above(struct tcb_ptx_affine *a, unsigned op, const struct tcb_ptx_value *x,
					  const struct tcb_ptx_value *y, uint64_t align)
{
	const struct tcb_ptx_value *number = !y->term_count ? y : !x->term_count ? x : NULL;
	const struct tcb_ptx_value *other = number == y ? x : y;
	struct tcb_ptx_value both[2] = { *x, *y };
	uint64_t mask = tcb_ptx_bits_mask(x->bits), max = UINT64_MAX;

	if (number) {
		if (number->constant == 0)
			return op == TCB_PTX_OP_AND ? *number : *other;
		if (op == TCB_PTX_OP_AND && (number->constant | (align - 1)) == mask)
			return *other;
		if (op == TCB_PTX_OP_AND) {
			uint64_t low = low_bit(number->constant);

			max = number->constant;
			align = low > align ? low : align;
		}
	} else if (tcb_ptx_value_same(x, y)) {
		return op == TCB_PTX_OP_XOR ? tcb_ptx_value_number(x->bits, 0) : *x;
	}
	return tcb_ptx_value_computed(a, x->bits, op, 2, both, align, max);
}

static unsigned log2_of(uint64_t power)
{
	return (unsigned)__builtin_ctzll(power);
}

struct tcb_ptx_value tcb_ptx_value_bitwise(struct tcb_ptx_affine *a, unsigned op, const struct tcb_ptx_value *x,
					   const struct tcb_ptx_value *y)
{
	struct tcb_ptx_value above_x, above_y, above, below;
	uint64_t align, *keep;

	if (!x->known || !y->known)
		return no_value(x->bits, x, y);
	if (!x->term_count && !y->term_count)
		return bitwise_lanes(a, op, x, y);
	align = tcb_ptx_affine_term_align(a, x);
	if (tcb_ptx_affine_term_align(a, y) < align)
		align = tcb_ptx_affine_term_align(a, y);
	if (log2_of(align) >= x->bits) /* the terms vanish modulo 2^bits */
		align = UINT64_C(1) << (x->bits - 1);
	keep = a->scratch + a->threads;
	if (!cut(a, x, log2_of(align), &above_x))
		return no_value(x->bits, x, y);
	memcpy(keep, a->scratch, a->threads * sizeof *keep);
	if (!cut(a, y, log2_of(align), &above_y))
		return no_value(x->bits, x, y);
	for (uint32_t t = 0; t < a->threads; t++)
		a->scratch[t] = apply(op, keep[t], a->scratch[t]);
	below = tcb_ptx_value_of_lanes(a, x->bits, a->scratch);
	above = bitwise_above(a, op, &above_x, &above_y, align);
	return tcb_ptx_value_add(a, &above, &below);
}

/* All terms of V, which 2^BY divides, over 2^BY: exact where the sum is known to stay in its range. */
static struct tcb_ptx_value shift_above(struct tcb_ptx_affine *a, const struct tcb_ptx_value *v, unsigned by,
					int is_signed)
{
	struct tcb_ptx_term terms[TERMS_MAX];
	__int128 low, high, limit = (__int128)1 << (v->bits - (is_signed ? 1 : 0));
	uint64_t tag = ((uint64_t)TCB_PTX_OP_SHR << 16) | (is_signed ? 256u : 0u) | by;
	int divides = 1;

	for (uint32_t i = 0; i < v->term_count; i++) {
		terms[i] = v->terms[i];
		divides &= !(terms[i].factor & tcb_ptx_bits_mask(by));
		terms[i].factor =
			(uint64_t)(tcb_ptx_bits_extend(terms[i].factor, v->bits) >> by) & tcb_ptx_bits_mask(v->bits);
	}
	if (divides && range_of(a, v, &low, &high) && low >= (is_signed ? -limit : 0) && high < limit) {
		struct tcb_ptx_coefficient c = {
			(uint64_t)(tcb_ptx_bits_extend(v->constant, v->bits) >> by) & tcb_ptx_bits_mask(v->bits), NULL
		};

		return assemble(a, v->bits, c, terms, v->term_count, v, v);
	}
	return tcb_ptx_value_computed(a, v->bits, tag, 1, v, tcb_ptx_affine_term_align(a, v) >> by,
				      is_signed ? UINT64_MAX : tcb_ptx_bits_mask(v->bits) >> by);
}

struct tcb_ptx_value tcb_ptx_value_shr(struct tcb_ptx_affine *a, const struct tcb_ptx_value *x, unsigned by,
				       int is_signed)
{
	__int128 low, high, limit = (__int128)1 << (x->bits - (is_signed ? 1 : 0));
	struct tcb_ptx_value above, below;
	uint64_t align;

	if (!x->known || by == 0)
		return *x;
	if (by >= x->bits) {
		if (!is_signed)
			return tcb_ptx_value_number(x->bits, 0);
		by = x->bits - 1u;
	}
	if (!x->term_count) {
		for (uint32_t t = 0; t < a->threads; t++) {
			uint64_t lane = tcb_ptx_value_lane(x, t);

			a->scratch[t] = is_signed ? (uint64_t)(tcb_ptx_bits_extend(lane, x->bits) >> by) : lane >> by;
		}
		above = tcb_ptx_value_of_lanes(a, x->bits, a->scratch);
		above.assumes = x->assumes;
		above.open = x->open;
		return above;
	}
	if (range_of(a, x, &low, &high) && low >= (is_signed ? -limit : 0) && high < limit && low >> by == high >> by) {
		above = tcb_ptx_value_number(x->bits, (uint64_t)(low >> by)); /* such as the sign of what has none */
		above.assumes = x->assumes;
		above.open = x->open;
		return above;
	}
	align = tcb_ptx_affine_term_align(a, x);
	if (log2_of(align) >= x->bits)
		align = UINT64_C(1) << (x->bits - 1);
	if (align < UINT64_C(1) << by) {
		if (tcb_ptx_value_is_uniform(x))
			return shift_above(a, x, by, is_signed);
		return no_value(x->bits, x, x);
	}
	if (!cut(a, x, log2_of(align), &above))
		return no_value(x->bits, x, x);
	for (uint32_t t = 0; t < a->threads; t++)
		a->scratch[t] >>= by;
	below = tcb_ptx_value_of_lanes(a, x->bits, a->scratch);
	above = shift_above(a, &above, by, is_signed);
	return tcb_ptx_value_add(a, &above, &below);
}

/* --- widths and choices --- */

/* X modulo 2^BITS. */
static struct tcb_ptx_value narrow(struct tcb_ptx_affine *a, const struct tcb_ptx_value *x, unsigned bits)
{
	struct tcb_ptx_term terms[TERMS_MAX + 1];
	struct tcb_ptx_coefficient one = { 1, NULL }, c = own(x);
	uint32_t count = 0;

	if (bits >= x->bits)
		return *x;
	for (uint32_t i = 0; i < x->term_count; i++) {
		struct tcb_ptx_coefficient f = factor(&x->terms[i]);

		if (f.lanes) {
			for (uint32_t t = 0; t < a->threads; t++)
				a->scratch[t] = at(&f, t);
			f = tcb_ptx_affine_keep(a, bits);
		}
		f.constant &= tcb_ptx_bits_mask(bits);
		count = add_term(a, bits, terms, count, x->terms[i].symbol, times(a, bits, f, one));
	}
	if (c.lanes) {
		for (uint32_t t = 0; t < a->threads; t++)
			a->scratch[t] = at(&c, t);
		c = tcb_ptx_affine_keep(a, bits);
	}
	c.constant &= tcb_ptx_bits_mask(bits);
	return assemble(a, bits, c, terms, count, x, x);
}

static struct tcb_ptx_coefficient widen_coefficient(struct tcb_ptx_affine *a, struct tcb_ptx_coefficient c,
						    unsigned bits, unsigned to, int is_signed)
{
	if (!c.lanes) {
		uint64_t x = c.constant & tcb_ptx_bits_mask(bits);

		return (struct tcb_ptx_coefficient){
			(is_signed ? (uint64_t)tcb_ptx_bits_extend(x, bits) : x) & tcb_ptx_bits_mask(to), NULL
		};
	}
	for (uint32_t t = 0; t < a->threads; t++) {
		uint64_t x = at(&c, t) & tcb_ptx_bits_mask(bits);

		a->scratch[t] = is_signed ? (uint64_t)tcb_ptx_bits_extend(x, bits) : x;
	}
	return tcb_ptx_affine_keep(a, to);
}

/* X as TO bits.  With terms it is taken as the integer that the sum would be, which holds where nothing wraps. */
static struct tcb_ptx_value widen(struct tcb_ptx_affine *a, const struct tcb_ptx_value *x, unsigned to, int is_signed)
{
	struct tcb_ptx_term terms[TERMS_MAX + 1];
	__int128 low, high, limit = (__int128)1 << (x->bits - (is_signed ? 1 : 0));
	struct tcb_ptx_value v;
	uint32_t count = 0;

	if (!x->term_count)
		return assemble(a, to, widen_coefficient(a, own(x), x->bits, to, is_signed), NULL, 0, x, x);
	for (uint32_t i = 0; i < x->term_count; i++)
		count = add_term(a, to, terms, count, x->terms[i].symbol,
				 widen_coefficient(a, factor(&x->terms[i]), x->bits, to, 1));
	v = assemble(a, to, widen_coefficient(a, own(x), x->bits, to, 1), terms, count, x, x);
	if (!range_of(a, x, &low, &high) || low < (is_signed ? -limit : 0) || high >= limit)
		v.assumes = 1;
	return v;
}

struct tcb_ptx_value tcb_ptx_value_convert(struct tcb_ptx_affine *a, const struct tcb_ptx_value *x, unsigned bits,
					   unsigned to, int is_signed)
{
	struct tcb_ptx_value v = *x, mask;

	if (!x->known) {
		v.bits = (uint8_t)to;
		return v;
	}
	if (to <= bits)
		return narrow(a, x, to);
	if (bits < x->bits && x->term_count) { /* meant to drop bits */
		if (is_signed)
			return no_value(to, x, x);
		mask = tcb_ptx_value_number(x->bits, tcb_ptx_bits_mask(bits));
		v = tcb_ptx_value_bitwise(a, TCB_PTX_OP_AND, x, &mask);
		if (!v.known)
			return no_value(to, x, x);
		return to > x->bits ? widen(a, &v, to, 0) : narrow(a, &v, to);
	}
	v = narrow(a, x, bits);
	return v.known ? widen(a, &v, to, is_signed) : no_value(to, x, x);
}

/* The coefficient that is X where P holds and Y elsewhere. */
static struct tcb_ptx_coefficient choose(struct tcb_ptx_affine *a, unsigned bits, const struct tcb_ptx_value *p,
					 struct tcb_ptx_coefficient x, struct tcb_ptx_coefficient y)
{
	for (uint32_t t = 0; t < a->threads; t++)
		a->scratch[t] = tcb_ptx_value_lane(p, t) ? at(&x, t) : at(&y, t);
	return tcb_ptx_affine_keep(a, bits);
}

struct tcb_ptx_value tcb_ptx_value_select(struct tcb_ptx_affine *a, const struct tcb_ptx_value *p,
					  const struct tcb_ptx_value *x, const struct tcb_ptx_value *y)
{
	struct tcb_ptx_term terms[TERMS_MAX + 1];
	struct tcb_ptx_value all[3] = { *p, *x, *y }, v = no_value(x->bits, x, y);
	struct tcb_ptx_coefficient none = { 0, NULL };
	uint32_t count = 0;

	v.open = p->open < v.open ? p->open : v.open;
	if (x->known && tcb_ptx_value_same(x, y))
		return *x;
	if (!p->known || !x->known || !y->known)
		return v;
	if (p->term_count) {
		if (!tcb_ptx_value_is_uniform(p) || !tcb_ptx_value_is_uniform(x) || !tcb_ptx_value_is_uniform(y))
			return v;
		return tcb_ptx_value_computed(a, x->bits, TCB_PTX_OP_SELP, 3, all, 1, UINT64_MAX);
	}
	if (!p->lanes) {
		v = p->constant ? *x : *y;
		v.open = p->open < v.open ? p->open : v.open;
		return v;
	}
	for (uint32_t i = 0; i < x->term_count; i++)
		count = add_term(a, x->bits, terms, count, x->terms[i].symbol,
				 choose(a, x->bits, p, factor(&x->terms[i]), none));
	for (uint32_t i = 0; i < y->term_count; i++)
		count = add_term(a, x->bits, terms, count, y->terms[i].symbol,
				 choose(a, x->bits, p, none, factor(&y->terms[i])));
	v = assemble(a, x->bits, choose(a, x->bits, p, own(x), own(y)), terms, count, x, y);
	v.open = p->open < v.open ? p->open : v.open;
	return v;
}
