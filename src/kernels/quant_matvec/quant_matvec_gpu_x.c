/* SPDX-License-Identifier: MIT
 *
 * The activations of a q4k_matvec kernel: floats in global memory come in, the
 * image (struct q4k_gpu_image) goes out, from which lanes read what belongs to
 * their piece of a superblock.
 *
 * A warp takes a superblock, a lane eight consecutive values.  Contract q8: the
 * largest magnitude of 32 or 256 values as an integer (so a NaN wins), codes by
 * adding 1.5 * 2^23.  Contract f32: codes come as half floats 2^-24 q, so values
 * are multiplied by 2^24 and the scale is 1, or, where that could overflow, the
 * scale is 2^24.  Sums of sub-blocks, for the mins, are those of the floats.
 */
#include "kernels/quant_matvec/quant_matvec_gpu.h"

#include <stdio.h>

#define I tcb_ptx_int
#define OP1 tcb_ptx_op1
#define OP2 tcb_ptx_op2
#define OP3 tcb_ptx_op3
#define OP4 tcb_ptx_op4

enum {
	LANE_VALUES = 8,
	BLOCK_VALUE_BYTES = Q4K_BLOCK_VALUES * 4,
	CODE_BYTES = 128,
	SMALLEST = 0x03fe0000, /* bits of 127 * 2^-126: smaller ones count as zeros (struct q4k_x8) */
	LARGE = 0x71800000,    /* bits of 2^100 */
	INFINITE = 0x7f800000,
	NOT_A_NUMBER = 0x7fc00000
};
#define ROUND_BIAS 12582912.0f /* 1.5 * 2^23 */

static q4k_op butterfly(struct tcb_ptx_build *b, q4k_op value, unsigned distance)
{
	return OP4(b, "shfl.sync.bfly.b32", value, I(distance), I(31), I(-1));
}

/* Base of the image + BLOCK * STRIDE + OFFSET (.u32 register, or the sink). */
static q4k_op image_at(struct q4k_writer *w, q4k_op block, unsigned stride, q4k_op offset)
{
	struct tcb_ptx_build *b = &w->b;
	const int is_wide = w->image_space[0] == 'g';
	q4k_op base = w->image;
	if (offset.kind != TCB_PTX_O_SINK)
		base = is_wide ? OP2(b, "add.u64", base, OP1(b, "cvt.u64.u32", offset))
			       : OP2(b, "add.u32", base, offset);
	return OP3(b, is_wide ? "mad.wide.u32" : "mad.lo.u32", block, I(stride), base);
}

static void store(struct q4k_writer *w, const char *type, q4k_op address, unsigned offset, const q4k_op *values,
		  unsigned count)
{
	char mnemonic[40];
	snprintf(mnemonic, sizeof(mnemonic), "st.%s.%s", w->image_space, type);
	tcb_ptx_store(&w->b, mnemonic, tcb_ptx_at(address, offset), values, count);
}

/* Eight values of superblock BLOCK of the slice; zeros where it is none, if IS_CHECKED. */
static void load_values(struct q4k_writer *w, q4k_op block, int is_checked, q4k_op value[LANE_VALUES])
{
	struct tcb_ptx_build *b = &w->b;
	const q4k_op at = OP3(b, "mad.wide.u32", block, I(BLOCK_VALUE_BYTES),
			      OP3(b, "mad.wide.u32", w->lane, I(LANE_VALUES * 4), w->x));
	for (int i = 0; i < LANE_VALUES; i++)
		value[i] = is_checked ? q4k_write_constant(w, "f32", tcb_ptx_f32(0)) : tcb_ptx_reg(b, "f32");
	if (is_checked)
		tcb_ptx_guard(b, OP2(b, "setp.lt.u32", block, I(w->g->slice)));
	for (int half = 0; half < 2; half++)
		tcb_ptx_into1(b, "ld.global.v4.f32", tcb_ptx_vector(b, value + 4 * half, 4), tcb_ptx_at(at, 16 * half));
	if (is_checked)
		tcb_ptx_unguard(b);
}

/* Where the lane's first value is in the image of a superblock: half (low or high codes) and byte of the piece row. */
static void place_of_lane(struct q4k_writer *w, q4k_op *half, q4k_op *byte)
{
	struct tcb_ptx_build *b = &w->b;
	const int is_s = w->g->layout == TCB_LAYOUT_S;
	const q4k_op high = OP2(b, "shr.u32", w->lane, I(is_s ? 2 : 3));
	const q4k_op low = OP2(b, "and.b32", w->lane, I(is_s ? 1 : 3));
	*half = OP2(b, "and.b32", OP2(b, "shr.u32", w->lane, I(is_s ? 1 : 2)), I(1));
	*byte = OP3(b, "mad.lo.u32", high, I(is_s ? 16 : 32), OP2(b, "shl.b32", low, I(3)));
}

static q4k_op largest_of(struct q4k_writer *w, const q4k_op value[LANE_VALUES])
{
	struct tcb_ptx_build *b = &w->b;
	q4k_op bits[LANE_VALUES];
	for (int i = 0; i < LANE_VALUES; i++)
		bits[i] = OP2(b, "and.b32", value[i], I(0x7fffffff));
	for (int count = LANE_VALUES / 2; count; count /= 2)
		for (int i = 0; i < count; i++)
			bits[i] = OP2(b, "max.u32", bits[i], bits[i + count]);
	if (w->g->group == 256 && w->g->capability >= 80)
		return OP2(b, "redux.sync.max.u32", bits[0], I(-1));
	for (unsigned distance = 1; distance < w->g->group / LANE_VALUES; distance *= 2)
		bits[0] = OP2(b, "max.u32", bits[0], butterfly(b, bits[0], distance));
	return bits[0];
}

/* Sum of the sub-block: the same in its four lanes. */
static q4k_op sum_of(struct q4k_writer *w, const q4k_op value[LANE_VALUES])
{
	struct tcb_ptx_build *b = &w->b;
	q4k_op sum[LANE_VALUES];
	for (int i = 0; i < LANE_VALUES / 2; i++)
		sum[i] = OP2(b, "add.rn.f32", value[2 * i], value[2 * i + 1]);
	for (int count = LANE_VALUES / 4; count; count /= 2)
		for (int i = 0; i < count; i++)
			sum[i] = OP2(b, "add.rn.f32", sum[2 * i], sum[2 * i + 1]);
	for (unsigned distance = 1; distance < 4; distance *= 2)
		sum[0] = OP2(b, "add.rn.f32", sum[0], butterfly(b, sum[0], distance));
	return sum[0];
}

/* Four values to a word of codes. */
static q4k_op codes_of(struct q4k_writer *w, const q4k_op *value, q4k_op inverse)
{
	struct tcb_ptx_build *b = &w->b;
	q4k_op code[4], pair[2];
	for (int i = 0; i < 4; i++)
		code[i] = OP3(b, "fma.rn.f32", value[i], inverse, tcb_ptx_f32(ROUND_BIAS));
	for (int i = 0; i < 2; i++) {
		const q4k_op low = OP1(b, "mov.b32", code[2 * i]), high = OP1(b, "mov.b32", code[2 * i + 1]);
		pair[i] = OP3(b, "prmt.b32", low, high, I(0x0040));
	}
	return OP3(b, "prmt.b32", pair[0], pair[1], I(0x5410));
}

static q4k_op store_codes(struct q4k_writer *w, q4k_op block, q4k_op largest, const q4k_op value[LANE_VALUES])
{
	struct tcb_ptx_build *b = &w->b;
	const q4k_op some = OP2(b, "setp.ge.u32", largest, I(SMALLEST)),
		     bad = OP2(b, "setp.ge.u32", largest, I(INFINITE));
	q4k_op scale = OP2(b, "mul.rn.f32", OP1(b, "mov.b32", largest), tcb_ptx_f32(1.0f / 127.0f));
	q4k_op inverse = OP1(b, "rcp.approx.ftz.f32", scale), word[2], half, byte;
	inverse = OP3(b, "selp.f32", inverse, tcb_ptx_f32(0), some);
	scale = OP3(b, "selp.f32", scale, tcb_ptx_f32(0), some);
	scale = OP3(b, "selp.b32", I(NOT_A_NUMBER), scale, bad);
	for (int i = 0; i < 2; i++)
		word[i] = codes_of(w, value + 4 * i, inverse);
	place_of_lane(w, &half, &byte);
	byte = OP3(b, "mad.lo.u32", half, I(w->g->image.high), byte);
	store(w, "v2.b32", image_at(w, block, CODE_BYTES, byte), 0, word, 2);
	return scale;
}

/*
 * Chunks of four floats: [half][chunk of a piece][lane of the superblock], lanes in an order that changes with half and
 * chunk so that neither storing nor reading meets a bank conflict.
 */
static unsigned lane_order(const struct q4k_gpu *g, unsigned half, unsigned chunk)
{
	return g->vec == 16 ? 2 * (chunk ^ half) : g->vec == 8 ? 4 * (chunk ^ half) : half;
}

static q4k_op store_values(struct q4k_writer *w, q4k_op block, q4k_op largest, const q4k_op value[LANE_VALUES])
{
	struct tcb_ptx_build *b = &w->b;
	const struct q4k_gpu *g = w->g;
	const unsigned log = g->vec == 16 ? 4 : g->vec == 8 ? 3 : 2, chunks = g->vec / 4;
	const q4k_op large = OP2(b, "setp.ge.u32", largest, I(LARGE));
	const q4k_op up = OP3(b, "selp.f32", tcb_ptx_f32(1), tcb_ptx_f32(0x1p24f), large);
	q4k_op half, byte, scaled[LANE_VALUES];
	place_of_lane(w, &half, &byte);
	for (int i = 0; i < LANE_VALUES; i++)
		scaled[i] = OP2(b, "mul.rn.f32", value[i], up);
	for (unsigned i = 0; i < 2; i++) {
		const q4k_op t = OP2(b, "add.u32", byte, I(4 * i)), lane = OP2(b, "shr.u32", t, I(log));
		const q4k_op chunk = OP2(b, "and.b32", OP2(b, "shr.u32", t, I(2)), I(chunks - 1));
		const unsigned by = g->vec == 16 ? 2 : g->vec == 8 ? 4 : 1; /* lane_order() */
		const q4k_op order = OP2(b, "mul.lo.u32", OP2(b, "xor.b32", chunk, half), I(by));
		const q4k_op row = OP3(b, "mad.lo.u32", half, I(chunks), chunk);
		const q4k_op at = OP3(b, "mad.lo.u32", row, I(g->piece_lanes), OP2(b, "xor.b32", lane, order));
		store(w, "v4.f32", image_at(w, block, BLOCK_VALUE_BYTES, OP2(b, "shl.b32", at, I(4))), 0,
		      scaled + 4 * i, 4);
	}
	return OP3(b, "selp.f32", tcb_ptx_f32(0x1p24f), tcb_ptx_f32(1), large);
}

/* The image of superblock BLOCK from the values of the warp's lanes. */
static void prepare(struct q4k_writer *w, q4k_op block, const q4k_op value[LANE_VALUES])
{
	struct tcb_ptx_build *b = &w->b;
	const struct q4k_gpu *g = w->g;
	const q4k_op largest = largest_of(w, value), sum = sum_of(w, value);
	const q4k_op scale = (g->is_q8 ? store_codes : store_values)(w, block, largest, value);
	const q4k_op fourth = OP2(b, "setp.eq.u32", OP2(b, "and.b32", w->lane, I(3)), I(0));
	const q4k_op at = image_at(w, block, 32, w->lane); /* lane 4 j: word j of eight */
	const q4k_op scale_at = g->group == 32 ? at : image_at(w, block, 4, tcb_ptx_sink_operand());
	tcb_ptx_guard(b, fourth);
	store(w, "f32", at, g->image.sum, &sum, 1);
	if (g->group == 32)
		store(w, "b32", scale_at, g->image.scale, &scale, 1);
	tcb_ptx_unguard(b);
	if (g->group != 32) {
		tcb_ptx_guard(b, OP2(b, "setp.eq.u32", w->lane, I(0)));
		store(w, "b32", scale_at, g->image.scale, &scale, 1);
		tcb_ptx_unguard(b);
	}
}

static unsigned ahead(const struct q4k_gpu *g)
{
	const unsigned rounds = (g->image.blocks + g->warps - 1) / g->warps;
	return rounds < Q4K_GPU_X_AHEAD ? rounds : Q4K_GPU_X_AHEAD;
}

void q4k_write_x_load(struct q4k_writer *w, struct q4k_x_loads *loads)
{
	for (unsigned i = 0; i < ahead(w->g); i++)
		load_values(w, OP2(&w->b, "add.u32", w->warp, I(i * w->g->warps)), (i + 1) * w->g->warps > w->g->slice,
			    loads->value[i]);
}

void q4k_write_x_prepare(struct q4k_writer *w, struct q4k_x_loads *loads)
{
	struct tcb_ptx_build *b = &w->b;
	const struct q4k_gpu *g = w->g;
	const unsigned first = ahead(g);
	for (unsigned i = 0; i < first; i++) {
		const q4k_op block = OP2(b, "add.u32", w->warp, I(i * g->warps));
		const int is_checked = (i + 1) * g->warps > g->image.blocks;
		struct tcb_ptx_if scope;
		if (is_checked)
			tcb_ptx_if_begin(b, &scope, OP2(b, "setp.lt.u32", block, I(g->image.blocks)));
		prepare(w, block, loads->value[i]);
		if (is_checked)
			tcb_ptx_if_end(b, &scope);
	}
	if (first * g->warps < g->image.blocks) {
		struct tcb_ptx_for loop;
		q4k_op value[LANE_VALUES];
		tcb_ptx_for_begin(b, &loop, OP2(b, "add.u32", w->warp, I(first * g->warps)), I(g->image.blocks),
				  I(g->warps), 0);
		load_values(w, loop.iv, g->image.blocks > g->slice, value);
		prepare(w, loop.iv, value);
		tcb_ptx_for_end(b, &loop);
	}
}

void q4k_write_x_block(struct q4k_writer *w, q4k_op block)
{
	struct tcb_ptx_build *b = &w->b;
	struct tcb_ptx_if scope;
	q4k_op value[LANE_VALUES];
	tcb_ptx_if_begin(b, &scope, OP2(b, "setp.lt.u32", block, I(w->g->image.blocks)));
	load_values(w, block, w->g->image.blocks > w->g->slice, value);
	prepare(w, block, value);
	tcb_ptx_if_end(b, &scope);
}

void q4k_write_x_copy(struct q4k_writer *w)
{
	struct tcb_ptx_build *b = &w->b;
	const unsigned step = w->g->warps * 32 * 16;
	const q4k_op start = OP2(b, "shl.b32", w->tid, I(4));
	struct tcb_ptx_for loop;
	q4k_op word[4];
	tcb_ptx_for_begin(b, &loop, start, I(w->g->image.bytes), I(step), w->g->image.bytes >= step);
	tcb_ptx_load(b, "ld.global.v4.b32", tcb_ptx_at(OP2(b, "add.u64", w->x, OP1(b, "cvt.u64.u32", loop.iv)), 0),
		     word, 4);
	tcb_ptx_store(b, "st.shared.v4.b32", tcb_ptx_at(OP2(b, "add.u32", w->image, loop.iv), 0), word, 4);
	tcb_ptx_for_end(b, &loop);
}

/* --- a lane's part --- */

void q4k_write_x_bases(struct q4k_writer *w, q4k_op block, struct q4k_x_bases *out)
{
	struct tcb_ptx_build *b = &w->b;
	const struct q4k_gpu *g = w->g;
	q4k_op of_block = OP3(b, "mad.lo.u32", block, I(32), w->image);
	out->sum = OP3(b, "mad.lo.u32", w->min_block, I(4), of_block);
	out->scale = g->group == 32 ? OP3(b, "mad.lo.u32", w->sub_block, I(4), of_block)
				    : OP3(b, "mad.lo.u32", block, I(4), w->image);
	if (g->is_q8) {
		out->codes = OP3(b, "mad.lo.u32", block, I(CODE_BYTES), w->image);
		out->codes = OP3(b, "mad.lo.u32", w->piece, I(g->vec), out->codes);
		return;
	}
	out->codes = OP3(b, "mad.lo.u32", block, I(BLOCK_VALUE_BYTES), w->image);
	for (unsigned i = 0; i < 4; i++) {
		const unsigned order = lane_order(g, 0, i);
		if (i < (g->vec == 4 ? 2 : g->vec / 4))
			out->values[i] = OP3(b, "mad.lo.u32",
					     OP2(b, "xor.b32", w->piece, I(g->vec == 4 ? lane_order(g, i, 0) : order)),
					     I(16), out->codes);
	}
}

void q4k_write_x_lane(struct q4k_writer *w, const struct q4k_x_bases *bases, unsigned step, struct q4k_lane_x *out)
{
	struct tcb_ptx_build *b = &w->b;
	const struct q4k_gpu *g = w->g;
	const unsigned block = step * g->step, words = g->vec / 4;
	const int is_pair = g->group == 32 && g->layout != TCB_LAYOUT_S;
	static const char *const codes[] = { "", "ld.shared.b32", "ld.shared.v2.b32", "", "ld.shared.v4.b32" };
	tcb_ptx_load(b, "ld.shared.f32", tcb_ptx_at(bases->sum, g->image.sum + 32 * block), &out->sum, 1);
	tcb_ptx_load(b, is_pair ? "ld.shared.v2.f32" : "ld.shared.f32",
		     tcb_ptx_at(bases->scale, g->image.scale + (g->group == 32 ? 32 : 4) * block), out->scale,
		     is_pair ? 2 : 1);
	if (g->is_q8) {
		const unsigned at = block * CODE_BYTES;
		tcb_ptx_load(b, codes[words], tcb_ptx_at(bases->codes, at), out->low, words);
		tcb_ptx_load(b, codes[words], tcb_ptx_at(bases->codes, at + g->image.high), out->high, words);
		return;
	}
	for (unsigned half = 0; half < 2; half++)
		for (unsigned chunk = 0; chunk < words; chunk++) {
			const unsigned row = half * words + chunk;
			const q4k_op base = bases->values[g->vec == 4 ? half : chunk ^ half];
			tcb_ptx_load(b, "ld.shared.v4.f32",
				     tcb_ptx_at(base, block * BLOCK_VALUE_BYTES + row * g->piece_lanes * 16),
				     (half ? out->high : out->low) + 4 * chunk, 4);
		}
}

q4k_op q4k_write_x_last(struct q4k_writer *w)
{
	struct tcb_ptx_build *b = &w->b;
	const struct q4k_gpu *g = w->g;
	const unsigned done = (g->steps - 1) * g->step;
	const q4k_op has = OP2(b, "setp.lt.u32", w->within, I(g->share - done));
	const q4k_op block = OP3(b, "mad.lo.u32", w->ks, I(g->share), OP2(b, "add.u32", w->within, I(done)));
	return OP3(b, "selp.u32", block, I(g->image.blocks - 1), has);
}
