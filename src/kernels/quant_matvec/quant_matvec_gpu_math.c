/* SPDX-License-Identifier: MIT
 *
 * The arithmetic of q4k_matvec's GPU kernels: a lane's weights of one row and
 * step and its activations come in, two sums go on.
 *
 * Scales are decoded alike in all lanes: which bytes and bits they have is in
 * selectors and masks that are constants of a lane.  Contract q8: dp4a; sums
 * start at the bits of 1.5 * 2^23, so that the result is a float without a
 * conversion.  Contract f32: a code that lands in the low bits of a half is the
 * half 2^-24 q (2^-20 q for a high nibble), which converts exactly.
 */
#include "kernels/quant_matvec/quant_matvec_gpu.h"

#define I tcb_ptx_int
#define OP1 tcb_ptx_op1
#define OP2 tcb_ptx_op2
#define OP3 tcb_ptx_op3
#define OP4 tcb_ptx_op4

enum {
	BIAS_BITS = 0x4b400000, /* of BIAS */
	AND_OR = 0xea,          /* lop3: (a & b) | c */
	NIBBLES = 0x0f0f0f0f
};
#define BIAS 12582912.0f /* 1.5 * 2^23: integers below 2^22 in magnitude fit beside it */

q4k_op q4k_write_constant(struct q4k_writer *w, const char *type, q4k_op value)
{
	const q4k_op reg = tcb_ptx_reg(&w->b, type);
	const char *mnemonic = type[0] == 'f' ? "mov.f32" : type[0] == 'b' ? "mov.b32" : "mov.u32";
	tcb_ptx_into1(&w->b, mnemonic, reg, value);
	return reg;
}

/* --- constants of a lane --- */

/* Native and p: bytes of the words of 6-bit scales (quant_matvec.h); S: 12 bits each, twelve bytes in all. */
static void header_constants(struct q4k_writer *w, q4k_op order)
{
	struct tcb_ptx_build *b = &w->b;
	const q4k_op first = OP2(b, "setp.eq.u32", order, I(0)), second = OP2(b, "setp.eq.u32", order, I(1));
	q4k_op is_odd, at;
	if (w->g->layout == TCB_LAYOUT_S) {
		/* Bit 12 j of three words: from byte 3 j / 2 of the first two, or, from j = 5 on, of the last two. */
		w->is_late = OP2(b, "setp.ge.u32", w->sub_block, I(5));
		at = OP2(b, "shr.u32", OP2(b, "mul.lo.u32", w->sub_block, I(3)), I(1));
		at = OP3(b, "selp.u32", OP2(b, "sub.u32", at, I(4)), at, w->is_late);
		w->select_field = OP3(b, "mad.lo.u32", at, I(0x11), I(0x10));
		w->shift = OP2(b, "shl.b32", OP2(b, "and.b32", w->sub_block, I(1)), I(2));
		w->shift_min = OP2(b, "add.u32", w->shift, I(6));
		w->mask_m = OP3(b, "selp.b32", I(63), I(0), first);
		return;
	}
	w->is_late = OP2(b, "setp.ge.u32", w->sub_block, I(4));
	is_odd = OP2(b, "setp.ne.u32", OP2(b, "and.b32", w->sub_block, I(2)), I(0));
	w->select_pair = OP3(b, "selp.b32", I(0x7632), I(0x5410), is_odd);
	w->select_low = OP3(b, "selp.b32", I(0x3232), I(0x1010), is_odd);
	w->mask_early = OP3(b, "selp.b32", I(0), I(0x3f3f3f3f), w->is_late);
	w->mask_top = OP3(b, "selp.b32", I(0x30303030), I(0), w->is_late);
	w->mask_c = OP3(b, "selp.b32", I(0x00000f0f), I(0), w->is_late);
	w->mask_d = OP3(b, "selp.b32", I(0x0f0f0000), I(0), w->is_late);
	/* Byte 2 or 3 for the one lane of a piece's sub-block that takes its min; the others take nothing. */
	w->select_min = OP3(b, "selp.b32", I(0x4442), OP3(b, "selp.b32", I(0x4443), I(0x4444), second), first);
}

void q4k_write_lane_constants(struct q4k_writer *w)
{
	struct tcb_ptx_build *b = &w->b;
	const struct q4k_gpu *g = w->g;
	const unsigned log_vec = g->vec == 16 ? 4 : g->vec == 8 ? 3 : 2, log_lanes = 7 - log_vec;
	const unsigned log_run = g->layout == TCB_LAYOUT_S ? 4 : 5, share = log_run - log_vec; /* lanes of a run */
	q4k_op order;
	w->piece = OP2(b, "and.b32", w->lane, I(g->piece_lanes - 1));
	w->within = OP2(b, "shr.u32", w->lane, I(log_lanes));
	order = OP2(b, "and.b32", w->piece, I((1 << share) - 1));
	w->sub_block = OP2(b, "shr.u32", w->piece, I(share));
	w->min_block = w->sub_block;
	if (g->layout != TCB_LAYOUT_S) {
		w->sub_block = OP2(b, "shl.b32", w->sub_block, I(1));
		w->min_block = OP2(b, "add.u32", w->sub_block, OP2(b, "and.b32", order, I(1)));
	}
	header_constants(w, order);
}

/* --- headers --- */

struct header {
	q4k_op d, dmin;       /* f32 */
	q4k_op scale[2], min; /* integers; layout s has one scale */
};

static void decode_header(struct q4k_writer *w, const q4k_op word[4], struct header *out)
{
	struct tcb_ptx_build *b = &w->b;
	q4k_op half[2] = { tcb_ptx_reg(b, "b16"), tcb_ptx_reg(b, "b16") }, all, pair, low;
	tcb_ptx_into1(b, "mov.b32", tcb_ptx_vector(b, half, 2), word[0]);
	out->d = OP1(b, "cvt.f32.f16", half[0]);
	out->dmin = OP1(b, "cvt.f32.f16", half[1]);
	if (w->g->layout == TCB_LAYOUT_S) {
		all = OP3(b, "prmt.b32", OP3(b, "selp.b32", word[2], word[1], w->is_late),
			  OP3(b, "selp.b32", word[3], word[2], w->is_late), w->select_field);
		out->scale[0] = OP2(b, "and.b32", OP2(b, "shr.u32", all, w->shift), I(63));
		out->min = OP2(b, "and.b32", OP2(b, "shr.u32", all, w->shift_min), w->mask_m);
		return;
	}
	pair = OP3(b, "prmt.b32", word[1], word[2], w->select_pair);
	low = OP3(b, "prmt.b32", word[3], I(0), w->select_low);
	all = OP2(b, "and.b32", pair, w->mask_early);
	all = OP4(b, "lop3.b32", OP2(b, "shr.u32", pair, I(2)), w->mask_top, all, I(AND_OR));
	all = OP4(b, "lop3.b32", low, w->mask_c, all, I(AND_OR));
	all = OP4(b, "lop3.b32", OP2(b, "shr.u32", low, I(4)), w->mask_d, all, I(AND_OR));
	out->scale[0] = OP3(b, "prmt.b32", all, I(0), I(0x4440));
	out->scale[1] = OP3(b, "prmt.b32", all, I(0), I(0x4441));
	out->min = OP3(b, "prmt.b32", all, I(0), w->select_min);
}

/* --- products --- */

/* A * B + C, a float's bits that count from BIAS_BITS in C, as a float. */
static q4k_op float_product(struct q4k_writer *w, q4k_op a, q4k_op b, q4k_op c)
{
	const q4k_op bits = OP3(&w->b, "mad.lo.s32", a, b, c);
	return OP2(&w->b, "sub.rn.f32", OP1(&w->b, "mov.b32", bits), tcb_ptx_f32(BIAS));
}

/* START + sums of code times activation code, of the low nibbles, or 16 times those of the high ones. */
static q4k_op dot(struct q4k_writer *w, const q4k_op *code, const q4k_op *x, int is_high, q4k_op start)
{
	struct tcb_ptx_build *b = &w->b;
	for (unsigned i = 0; i < w->g->vec / 4; i++)
		start = OP3(b, "dp4a.u32.s32",
			    OP2(b, "and.b32", code[i], I(is_high ? (int64_t)0xf0f0f0f0 : (int64_t)NIBBLES)), x[i],
			    start);
	return start;
}

static q4k_op float_of(struct q4k_writer *w, q4k_op integer)
{
	return OP1(&w->b, "cvt.rn.f32.u32", integer);
}

/*
 * Adds the products of codes under contract q8 to SUM.  They are integers up to the scale of the sub-block, and up to
 * the superblock's end where 256 activations share a scale: at most 63 * 15 * 127 * 32 < 2^22.
 */
static void add_integer_products(struct q4k_writer *w, const struct q4k_lane_w *weights, const struct q4k_lane_x *x,
				 const struct header *header, q4k_op sum)
{
	struct tcb_ptx_build *b = &w->b;
	const int is_one = w->g->layout == TCB_LAYOUT_S, is_shared = is_one || w->g->group == 256;
	const q4k_op high = OP2(b, "shr.s32", dot(w, weights->code, x->high, 1, I(0)), I(4));
	const q4k_op low = dot(w, weights->code, x->low, 0, is_one ? high : I(0));
	const q4k_op d = OP2(b, "mul.rn.f32", header->d, x->scale[0]);
	q4k_op bits = I(BIAS_BITS);
	if (is_shared && !is_one)
		bits = OP3(b, "mad.lo.s32", high, header->scale[1], bits);
	tcb_ptx_into3(b, "fma.rn.f32", sum, float_product(w, low, header->scale[0], bits), d, sum);
	if (!is_shared)
		tcb_ptx_into3(b, "fma.rn.f32", sum, float_product(w, high, header->scale[1], I(BIAS_BITS)),
			      OP2(b, "mul.rn.f32", header->d, x->scale[1]), sum);
}

/* Four values of word W: bytes 0 and 2, then 1 and 3, of low or of high nibbles. */
static q4k_op float_dot(struct q4k_writer *w, const q4k_op *code, const q4k_op *x, int is_high)
{
	struct tcb_ptx_build *b = &w->b;
	q4k_op sum[2];
	for (unsigned i = 0; i < w->g->vec / 4; i++)
		for (unsigned odd = 0; odd < 2; odd++) {
			const q4k_op word = odd ? OP2(b, "shr.u32", code[i], I(8)) : code[i];
			q4k_op half[2] = { tcb_ptx_reg(b, "b16"), tcb_ptx_reg(b, "b16") };
			tcb_ptx_into1(b, "mov.b32", tcb_ptx_vector(b, half, 2),
				      OP2(b, "and.b32", word, I(is_high ? 0x00f000f0 : 0x000f000f)));
			for (unsigned j = 0; j < 2; j++) {
				const q4k_op value = OP1(b, "cvt.f32.f16", half[j]), by = x[4 * i + 2 * j + odd];
				sum[odd] = i + j == 0 ? OP2(b, "mul.rn.f32", value, by)
						      : OP3(b, "fma.rn.f32", value, by, sum[odd]);
			}
		}
	return OP2(b, "add.rn.f32", sum[0], sum[1]);
}

static q4k_op float_products(struct q4k_writer *w, const struct q4k_lane_w *weights, const struct q4k_lane_x *x,
			     const struct header *header)
{
	struct tcb_ptx_build *b = &w->b;
	q4k_op low = float_dot(w, weights->code, x->low, 0), high = float_dot(w, weights->code, x->high, 1);
	if (w->g->layout == TCB_LAYOUT_S)
		return OP2(b, "mul.rn.f32", OP3(b, "fma.rn.f32", high, tcb_ptx_f32(0x1p-4f), low),
			   float_of(w, header->scale[0]));
	high = OP2(b, "mul.rn.f32", high, tcb_ptx_f32(0x1p-4f));
	low = OP2(b, "mul.rn.f32", low, float_of(w, header->scale[0]));
	return OP3(b, "fma.rn.f32", high, float_of(w, header->scale[1]), low);
}

void q4k_write_unit(struct q4k_writer *w, const struct q4k_lane_w *weights, const struct q4k_lane_x *x, q4k_op sum,
		    q4k_op mins)
{
	struct tcb_ptx_build *b = &w->b;
	struct header header;
	decode_header(w, weights->header, &header);
	if (w->g->is_q8)
		add_integer_products(w, weights, x, &header, sum);
	else
		tcb_ptx_into3(b, "fma.rn.f32", sum, float_products(w, weights, x, &header),
			      OP2(b, "mul.rn.f32", header.d, x->scale[0]), sum);
	/* The product with dmin is exact, and cannot overflow where the min itself does not. */
	tcb_ptx_into3(b, "fma.rn.f32", mins, OP2(b, "mul.rn.f32", float_of(w, header.min), header.dmin), x->sum, mins);
}

/* --- over the warp --- */

/*
 * While there are several values a lane keeps half of them and gives the others to the lane that keeps those, so that
 * COUNT values take log2(32) rounds and about 2 COUNT + 5 shuffles and additions rather than 5 COUNT.
 */
q4k_op q4k_write_warp_sum(struct q4k_writer *w, q4k_op *values, unsigned count)
{
	struct tcb_ptx_build *b = &w->b;
	for (unsigned distance = 16; distance; distance /= 2) {
		if (count == 1) {
			const q4k_op other = OP4(b, "shfl.sync.bfly.b32", values[0], I(distance), I(31), I(-1));
			values[0] = OP2(b, "add.rn.f32", values[0], other);
			continue;
		}
		const q4k_op upper = OP2(b, "setp.ne.u32", OP2(b, "and.b32", w->lane, I(distance)), I(0));
		count /= 2;
		for (unsigned i = 0; i < count; i++) {
			const q4k_op keep = OP3(b, "selp.f32", values[i + count], values[i], upper);
			const q4k_op give = OP3(b, "selp.f32", values[i], values[i + count], upper);
			const q4k_op other = OP4(b, "shfl.sync.bfly.b32", give, I(distance), I(31), I(-1));
			values[i] = OP2(b, "add.rn.f32", keep, other);
		}
	}
	return values[0];
}
