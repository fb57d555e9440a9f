/* SPDX-License-Identifier: MIT
 *
 * The activations of a quantised matvec kernel: floats in global memory come in,
 * the image (struct qmv_gpu_image) goes out, from which lanes read what belongs
 * to their piece of a superblock.
 *
 * A warp takes a superblock, a lane eight consecutive values.  Contract q8: the
 * largest magnitude of 32 or 256 values as an integer (so a NaN wins), codes by
 * adding 1.5 * 2^23.  Else: codes come as half floats 2^-24 q, so values are
 * multiplied by 2^24 and the scale is 1, or, where that could overflow, the scale
 * is 2^24; under contract f16 values are rounded to halves before.  Sums of 32
 * values (of 16 for Q6_K) are those of the floats, for mins and centres, or,
 * where codes have a centre that integers can take off, minus the centre times
 * the sum of the activations' codes.  Rows of values: as they are.
 */
#include "kernels/quant_matvec/quant_matvec_gpu_x.h"

#include "kernels/quant_matvec/quant_matvec_gpu_fused.h"
#include "kernels/quant_matvec/quant_matvec_gpu_x_mma.h"

#include "kernels/gpu/quant_gpu.h"

enum {
	LANE_VALUES = TCB_QUANT_LANE_VALUES,
	BLOCK_VALUE_BYTES = QMV_VALUES * 4,
	LARGE = 0x71800000 /* bits of 2^100 */
};

/* Base of the image + BLOCK * STRIDE + OFFSET (.u32 register, or the sink). */
static kit_op image_at(struct qmv_writer *w, kit_op block, unsigned stride, kit_op offset)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const int is_wide = w->image_is_global;
	kit_op base = w->image;
	if (offset.kind != TCB_PTX_O_SINK)
		base = is_wide ? l_add(b, base, l_from_u(b, offset)) : u_add(b, base, offset);
	return (is_wide ? l_mad_wide : u_mad)(b, block, I(stride), base);
}

/* Eight of COUNT values of TYPE behind BASE, those of superblock BLOCK; zeros past the end, if IS_CHECKED.  Rows of
 * them are STRIDE values apart. */
static void load_floats(struct qmv_writer *w, enum tcb_kit_memory memory, enum tcb_type type, unsigned stride,
			kit_op base, kit_op count, kit_op block, int is_checked, kit_op value[LANE_VALUES])
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned each = (unsigned)tcb_type_bytes(type), together = 16 / each;
	const int is_anywhere = w->g->k % LANE_VALUES || stride % LANE_VALUES;
	const kit_op at =
		l_mad_wide(b, block, I(QMV_VALUES * each), l_mad_wide(b, w->kit.lane, I(LANE_VALUES * each), base));
	is_checked |= is_anywhere;
	for (int i = 0; i < LANE_VALUES; i++)
		value[i] = is_checked ? f_set(b, F(0)) : tcb_ptx_reg(b, "f32");
	if (is_anywhere) { /* tokens begin anywhere */
		const kit_op first = u_mad(b, block, I(QMV_VALUES), u_shl(b, w->kit.lane, I(3)));
		for (unsigned i = 0; i < LANE_VALUES; i++) {
			const kit_op has = u_lt(b, u_add(b, first, I(i)), count);
			tcb_quant_load_floats(b, &has, memory, type, tcb_ptx_at(at, each * i), value + i, 1);
		}
		return;
	}
	if (is_checked) {
		const kit_op first = u_mad(b, block, I(QMV_VALUES), u_shl(b, w->kit.lane, I(3)));
		tcb_ptx_guard(b, u_lt(b, first, count));
	}
	for (unsigned i = 0; i < LANE_VALUES; i += together)
		tcb_quant_load_floats(b, NULL, memory, type, tcb_ptx_at(at, each * i), value + i, together);
	if (is_checked)
		tcb_ptx_unguard(b);
}

static enum tcb_kit_memory x_memory(const struct qmv_gpu *g)
{
	return g->is_beside ? TCB_KIT_OTHERS : TCB_KIT_GLOBAL;
}

/* Eight values of superblock BLOCK of the slice. */
static void load_values(struct qmv_writer *w, kit_op block, int is_checked, kit_op value[LANE_VALUES])
{
	struct tcb_ptx_build *b = &w->kit.b;
	load_floats(w, x_memory(w->g), w->g->x_type, w->g->x_stride, w->x, w->x_values, block, is_checked, value);
	for (int i = 0; w->g->is_half && !w->g->has_norm && i < LANE_VALUES; i++)
		value[i] = f_from_f16(b, f16_from_f(b, value[i]));
}

/* The norm's weights for these. */
static void load_norm(struct qmv_writer *w, kit_op block, int is_checked, kit_op norm[LANE_VALUES])
{
	if (w->g->has_norm)
		load_floats(w, TCB_KIT_INPUT, TCB_TYPE_F32, w->g->k, w->norm, w->x_values, block, is_checked, norm);
}

/* Whether superblocks up to COUNT - 1 go past the slice's activations. */
static int is_past(const struct qmv_gpu *g, unsigned count)
{
	return count > g->slice || (count == g->slice && g->k % QMV_VALUES);
}

/* Where the lane's first value is in the image of a superblock: half (low or high codes) and byte of the piece row. */
static void place_of_lane(struct qmv_writer *w, kit_op *half, kit_op *byte)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned log = w->g->log_run - 3; /* lanes of a run */
	if (w->g->halves == 1) {
		*half = I(0);
		*byte = u_shl(b, w->kit.lane, I(3));
		return;
	}
	const kit_op high = u_shr(b, w->kit.lane, I(log + 1)), low = u_and(b, w->kit.lane, I((1 << log) - 1));
	*half = u_and(b, u_shr(b, w->kit.lane, I(log)), I(1));
	*byte = u_mad(b, high, I(1 << w->g->log_run), u_shl(b, low, I(3)));
}

static kit_op largest_of(struct qmv_writer *w, const kit_op value[LANE_VALUES])
{
	return tcb_quant_write_largest(&w->kit.b, value, TCB_QUANT_LANE_VALUES, w->g->group);
}

/* Lanes whose values are added up: four for sums of 32. */
static unsigned sum_lanes(const struct qmv_gpu *g)
{
	return QMV_VALUES / g->runs / LANE_VALUES;
}

/* Sum of a run of values: the same in its lanes. */
static kit_op sum_of(struct qmv_writer *w, const kit_op value[LANE_VALUES])
{
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op sum[LANE_VALUES];
	for (int i = 0; i < LANE_VALUES / 2; i++)
		sum[i] = f_add(b, value[2 * i], value[2 * i + 1]);
	for (int count = LANE_VALUES / 4; count; count /= 2)
		for (int i = 0; i < count; i++)
			sum[i] = f_add(b, sum[2 * i], sum[2 * i + 1]);
	for (unsigned distance = 1; distance < sum_lanes(w->g); distance *= 2)
		sum[0] = f_add(b, sum[0], tcb_kit_butterfly(b, sum[0], distance));
	return sum[0];
}

/* The same of codes, times minus the centre. */
static kit_op centre_of(struct qmv_writer *w, const kit_op word[2])
{
	struct tcb_ptx_build *b = &w->kit.b;
	const int64_t ones = (256 - w->g->format->centre) * 0x01010101;
	kit_op sum = I(0);
	for (int i = 0; i < 2; i++)
		sum = s_dot(b, word[i], I((int32_t)ones), sum);
	for (unsigned distance = 1; distance < sum_lanes(w->g); distance *= 2)
		sum = u_add(b, sum, tcb_kit_butterfly(b, sum, distance));
	return sum;
}

/* Codes and, where they have it, SUM; returns the scale. */
static kit_op store_codes(struct qmv_writer *w, kit_op block, const kit_op value[LANE_VALUES], kit_op *sum)
{
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op word[2], half, byte;
	const kit_op scale = tcb_quant_write_codes(b, value, TCB_QUANT_LANE_VALUES, largest_of(w, value), word);
	place_of_lane(w, &half, &byte);
	if (w->g->halves == 2)
		byte = u_mad(b, half, I(w->g->image.high), byte);
	tcb_kit_store(b, w->image_memory, "b32", image_at(w, block, w->g->image.code_stride, byte), word, 2);
	if (w->g->format->centre)
		*sum = centre_of(w, word);
	return scale;
}

/*
 * Chunks of four floats: [half][chunk of a piece][lane of the superblock], lanes in an order that changes with half and
 * chunk so that neither storing nor reading meets a bank conflict.
 */
static unsigned lane_order(const struct qmv_gpu *g, unsigned half, unsigned chunk)
{
	return g->vec == 16 ? 2 * (chunk ^ half) : g->vec == 8 ? 4 * (chunk ^ half) : half;
}

static kit_op store_values(struct qmv_writer *w, kit_op block, const kit_op value[LANE_VALUES])
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_gpu *g = w->g;
	const unsigned log = g->vec == 16 ? 4 : g->vec == 8 ? 3 : 2, chunks = g->vec / 4;
	kit_op large = I(0), up = I(0), half, byte, scaled[LANE_VALUES];
	if (g->has_scale) {
		large = u_ge(b, largest_of(w, value), I(LARGE));
		up = f_select(b, F(1), F(0x1p24f), large);
	}
	place_of_lane(w, &half, &byte);
	for (int i = 0; i < LANE_VALUES; i++)
		scaled[i] = g->has_scale ? f_mul(b, value[i], up) : value[i];
	for (unsigned i = 0; i < 2; i++) {
		const kit_op t = u_add(b, byte, I(4 * i)), lane = u_shr(b, t, I(log));
		const kit_op chunk = u_and(b, u_shr(b, t, I(2)), I(chunks - 1));
		const unsigned by = g->vec == 16 ? 2 : g->vec == 8 ? 4 : 1; /* lane_order() */
		const kit_op order = u_mul(b, u_xor(b, chunk, half), I(by));
		const kit_op row = g->halves == 2 ? u_mad(b, half, I(chunks), chunk) : chunk;
		const kit_op at = u_mad(b, row, I(g->piece_lanes), u_xor(b, lane, order));
		tcb_kit_store(b, w->image_memory, "f32", image_at(w, block, BLOCK_VALUE_BYTES, u_shl(b, at, I(4))),
			      scaled + 4 * i, 4);
	}
	return g->has_scale ? f_select(b, F(0x1p24f), F(1), large) : F(1);
}

/* The parts of activations for isa=mma. */
static kit_op store_parts(struct qmv_writer *w, kit_op block, const kit_op value[LANE_VALUES])
{
	const struct qmv_gpu *g = w->g;
	kit_op scaled[LANE_VALUES], up, inverse = I(0);
	if (g->has_scale)
		up = qmv_write_mma_scale(w, largest_of(w, value), &inverse);
	for (int i = 0; i < LANE_VALUES; i++)
		scaled[i] = g->has_scale ? f_mul(&w->kit.b, value[i], up) : value[i];
	qmv_write_mma_values(w, scaled, image_at(w, block, g->image.code_stride, qmv_write_mma_place(w)));
	return inverse;
}

/* Stores VALUE, of which each run of LANES lanes has one, a word each. */
static void store_one_of(struct qmv_writer *w, kit_op block, unsigned lanes, unsigned stride, unsigned at, kit_op value)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op word = u_mul(b, u_div(b, w->kit.lane, I(lanes)), I(4));
	const kit_op to = image_at(w, block, stride, lanes == 32 ? tcb_ptx_sink_operand() : word);
	tcb_kit_put_where(b, u_eq(b, u_and(b, w->kit.lane, I(lanes - 1)), I(0)), w->image_memory, "b32",
			  tcb_ptx_at(to, at), value);
}

/* The image of superblock BLOCK from the values of the warp's lanes, and the norm's weights for them. */
static void prepare(struct qmv_writer *w, kit_op block, const kit_op stored[LANE_VALUES],
		    const kit_op norm[LANE_VALUES])
{
	const struct qmv_gpu *g = w->g;
	const int is_centred = g->is_q8 && g->format->centre;
	kit_op sum, scale, value[LANE_VALUES];
	if (g->has_norm && g->splitk == 1)
		qmv_write_squares_add(w, stored);
	for (int i = 0; i < LANE_VALUES; i++)
		value[i] = g->has_norm ? f_mul(&w->kit.b, stored[i], norm[i]) : stored[i];
	if (g->runs && !is_centred)
		sum = sum_of(w, value);
	scale = g->is_q8    ? store_codes(w, block, value, &sum)
		: g->is_mma ? store_parts(w, block, value)
			    : store_values(w, block, value);
	if (g->runs)
		store_one_of(w, block, sum_lanes(g), g->image.sum_stride, g->image.sum, sum);
	if (g->has_scale)
		store_one_of(w, block, g->group / LANE_VALUES, g->image.scale_stride, g->image.scale, scale);
}

static unsigned ahead(const struct qmv_gpu *g)
{
	const unsigned rounds = (g->image.blocks + g->warps - 1) / g->warps;
	return rounds < QMV_GPU_X_AHEAD ? rounds : QMV_GPU_X_AHEAD;
}

void qmv_write_x_load(struct qmv_writer *w, struct qmv_x_loads *loads)
{
	for (unsigned i = 0; i < ahead(w->g); i++)
		load_values(w, u_add(&w->kit.b, w->kit.warp, I(i * w->g->warps)), is_past(w->g, (i + 1) * w->g->warps),
			    loads->value[i]);
}

void qmv_write_norm_load(struct qmv_writer *w, struct qmv_x_loads *loads)
{
	for (unsigned i = 0; w->g->has_norm && i < ahead(w->g); i++)
		load_norm(w, u_add(&w->kit.b, w->kit.warp, I(i * w->g->warps)), is_past(w->g, (i + 1) * w->g->warps),
			  loads->norm[i]);
}

/* Squares of the whole token, of which the block prepares a slice only. */
static void add_all_squares(struct qmv_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_gpu *g = w->g;
	kit_op value[LANE_VALUES];
	const kit_op loop = tcb_ptx_for_begin(b, w->kit.warp, I(g->row_blocks), I(g->warps), 0);
	load_floats(w, x_memory(g), g->x_type, g->x_stride, w->row_x, I(g->k), loop, g->k % QMV_VALUES != 0, value);
	qmv_write_squares_add(w, value);
	tcb_ptx_for_end(b);
}

void qmv_write_x_prepare(struct qmv_writer *w, struct qmv_x_loads *loads)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_gpu *g = w->g;
	const unsigned first = ahead(g);
	if (g->has_norm)
		qmv_write_squares_begin(w);
	for (unsigned i = 0; i < first; i++) {
		const kit_op block = u_add(b, w->kit.warp, I(i * g->warps));
		const int is_checked = (i + 1) * g->warps > g->image.blocks;
		if (is_checked)
			tcb_ptx_if_begin(b, u_lt(b, block, I(g->image.blocks)));
		prepare(w, block, loads->value[i], loads->norm[i]);
		if (is_checked)
			tcb_ptx_if_end(b);
	}
	if (first * g->warps < g->image.blocks) {
		kit_op value[LANE_VALUES], norm[LANE_VALUES];
		const kit_op loop = tcb_ptx_for_begin(b, u_add(b, w->kit.warp, I(first * g->warps)), I(g->image.blocks),
						      I(g->warps), 0);
		load_values(w, loop, is_past(g, g->image.blocks), value);
		load_norm(w, loop, is_past(g, g->image.blocks), norm);
		prepare(w, loop, value, norm);
		tcb_ptx_for_end(b);
	}
	if (g->has_norm && g->splitk > 1)
		add_all_squares(w);
	if (g->has_norm)
		qmv_write_squares_store(w, w->kit.warp);
}

void qmv_write_x_tokens(struct qmv_writer *w, struct qmv_x_loads *loads)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_gpu *g = w->g;
	const kit_op x = w->x, image = w->image, last = u_sub(b, w->tokens, I(1));
	const kit_op loop = tcb_ptx_for_begin(b, I(0), I(g->at_once), I(1), 1);
	w->x = tcb_kit_element(b, x, u_min(b, u_add(b, w->first_token, loop), last), g->x_stride * g->x_bytes);
	w->image = u_mad(b, loop, I(g->image.bytes), image);
	qmv_write_x_load(w, loads);
	qmv_write_x_prepare(w, loads);
	tcb_ptx_for_end(b);
	w->x = x;
	w->image = image;
}

void qmv_write_x_block(struct qmv_writer *w, kit_op block)
{
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op value[LANE_VALUES], norm[LANE_VALUES];
	tcb_ptx_if_begin(b, u_lt(b, block, I(w->g->image.blocks)));
	load_values(w, block, is_past(w->g, w->g->image.blocks), value);
	load_norm(w, block, is_past(w->g, w->g->image.blocks), norm);
	if (w->g->has_norm)
		qmv_write_squares_begin(w);
	prepare(w, block, value, norm);
	if (w->g->has_norm)
		qmv_write_squares_store(w, block);
	tcb_ptx_if_end(b);
}

void qmv_write_x_copy(struct qmv_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned step = w->g->warps * 32 * 16;
	const kit_op start = u_shl(b, w->kit.tid, I(4));
	kit_op word[4];
	const kit_op loop = tcb_ptx_for_begin(b, start, I(w->g->image.bytes), I(step), w->g->image.bytes >= step);
	tcb_kit_load(b, TCB_KIT_GLOBAL, "b32", l_add(b, w->x, l_from_u(b, loop)), word, 4);
	tcb_kit_store(b, TCB_KIT_SHARED, "b32", u_add(b, w->image, loop), word, 4);
	tcb_ptx_for_end(b);
}

/* --- a lane's part --- */

/* Orders of lanes in which values are read. */
static unsigned orders(const struct qmv_gpu *g)
{
	return g->vec == 4 ? 2 : g->vec / 4;
}

void qmv_write_x_bases(struct qmv_writer *w, kit_op block, struct qmv_x_bases *out)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_gpu *g = w->g;
	out->scale = u_mad(b, block, I(g->image.scale_stride), w->image);
	if (g->group == 32)
		out->scale = u_mad(b, w->sub_block, I(4), out->scale);
	if (g->runs) {
		out->sum = u_mad(b, block, I(g->image.sum_stride), w->image);
		out->sum = g->is_mma ? u_mad(b, w->piece, I(g->image.sum_stride / 4), out->sum)
				     : u_mad(b, w->sum_run, I(4), out->sum);
	}
	out->codes = u_mad(b, block, I(g->image.code_stride), w->image);
	if (g->is_mma) {
		out->codes = qmv_write_mma_base(w, out->codes);
		return;
	}
	if (g->is_q8) {
		out->codes = u_mad(b, w->piece, I(g->vec), out->codes);
		return;
	}
	for (unsigned i = 0; i < orders(g); i++) {
		const unsigned order = g->vec == 4 ? lane_order(g, i, 0) : lane_order(g, 0, i);
		out->values[i] = u_mad(b, u_xor(b, w->piece, I(order)), I(16), out->codes);
	}
}

void qmv_write_x_advance(struct qmv_writer *w, struct qmv_x_bases *bases, unsigned blocks)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_gpu *g = w->g;
	u_add_to(b, bases->scale, bases->scale, I(blocks * g->image.scale_stride));
	if (g->runs)
		u_add_to(b, bases->sum, bases->sum, I(blocks * g->image.sum_stride));
	if (g->is_q8 || g->is_mma)
		u_add_to(b, bases->codes, bases->codes, I(blocks * g->image.code_stride));
	for (unsigned i = 0; !g->is_q8 && !g->is_mma && i < orders(g); i++)
		u_add_to(b, bases->values[i], bases->values[i], I(blocks * g->image.code_stride));
}

/* Scales and sums of a lane's step; only the first of the lanes that share a sum takes it. */
static void read_scales(struct qmv_writer *w, const struct qmv_x_bases *bases, unsigned block, unsigned image,
			struct qmv_lane_x *out)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_gpu *g = w->g;
	const unsigned scale = image + g->image.scale + g->image.scale_stride * block;
	const unsigned sum = image + g->image.sum + g->image.sum_stride * block;
	const int is_integer = g->is_q8 && g->format->centre;
	if (!g->has_scale) {
		*out->scale = F(1);
	} else if (g->scales_apart == 1) {
		tcb_kit_load(b, TCB_KIT_SHARED, "f32", tcb_ptx_at(bases->scale, scale), out->scale, 2);
	} else {
		*out->scale = tcb_kit_get(b, TCB_KIT_SHARED, "f32", tcb_ptx_at(bases->scale, scale));
		if (g->scales_apart)
			tcb_kit_load(b, TCB_KIT_SHARED, "f32", tcb_ptx_at(bases->scale, scale + 4 * g->scales_apart),
				     out->scale + 1, 1);
	}
	for (unsigned i = 0; g->runs && i <= g->is_split; i++) {
		const unsigned run = i * (1u << (g->log_run - 4)); /* a split piece's high codes are 2^log_run on */
		out->sum[i] = tcb_kit_get(b, TCB_KIT_SHARED, is_integer ? "u32" : "f32",
					  tcb_ptx_at(bases->sum, sum + 4 * run));
		if (g->vec < 16 && g->format->scales != QMV_SCALES_K)
			out->sum[i] = (is_integer ? b_select : f_select)(b, out->sum[i], is_integer ? I(0) : F(0),
									 w->is_first);
	}
}

void qmv_write_x_lane(struct qmv_writer *w, const struct qmv_x_bases *bases, unsigned step, unsigned token,
		      struct qmv_lane_x *out)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_gpu *g = w->g;
	const unsigned block = step * g->step, words = g->vec / 4, image = token * g->image.bytes;
	const unsigned at = image + block * g->image.code_stride;
	read_scales(w, bases, block, image, out);
	for (unsigned half = 0; half < g->halves; half++) {
		kit_op *to = half ? out->high : out->low;
		if (g->is_q8) {
			tcb_kit_load(b, TCB_KIT_SHARED, "b32", tcb_ptx_at(bases->codes, at + half * g->image.high), to,
				     words);
			continue;
		}
		for (unsigned chunk = 0; chunk < words; chunk++) {
			const unsigned row = half * words + chunk;
			const kit_op base = bases->values[g->vec == 4 ? half : chunk ^ half];
			tcb_kit_load(b, TCB_KIT_SHARED, "f32", tcb_ptx_at(base, at + row * g->piece_lanes * 16),
				     to + 4 * chunk, 4);
		}
	}
}

kit_op qmv_write_x_last(struct qmv_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_gpu *g = w->g;
	const unsigned done = (g->steps - 1) * g->step;
	const kit_op has = u_lt(b, w->within, I(g->share - done));
	const kit_op block = u_mad(b, w->ks, I(g->share), u_add(b, w->within, I(done)));
	return u_select(b, block, I(g->image.blocks - 1), has);
}
