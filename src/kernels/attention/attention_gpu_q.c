/* SPDX-License-Identifier: MIT
 *
 * The queries of attention on a GPU.  Rows of q come in; fragments for tensor cores,
 * and what scores are to be multiplied by, go out.
 *
 * A lane has of row g of each of the tile's columns eight values of each block of 32,
 * those that it has of K: 8 c to 8 c + 7, or of K in blocks 4 c to 4 c + 3 and as many
 * from 16 + 4 c on.  f32 values become terms of 16 bits: the value rounded, what that
 * left rounded, and so on.  f16 has too few exponents for that, so each row is brought
 * to a largest value between 2^14 and 2^15 first.
 */
#include <math.h>

#include "kernels/attention/attention_gpu.h"

#define LOG2_E 1.4426950408889634

enum { VALUES = 8 /* of a block */, WORDS = 4, EXPONENT = 23, LARGEST = 14, NOT_FINITE = 255, BIAS = 127 };

const char *attention_word(const struct attention_gpu *g)
{
	return g->type == TCB_TYPE_BF16 ? "bf16" : "f16";
}

kit_op attention_token_of(struct attention_writer *w, kit_op row)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op i = OP2(b, "add.u32", w->first_token, OP2(b, "div.u32", row, I(w->g->heads)));
	return OP2(b, "min.u32", i, I(w->g->m - 1));
}

/* Where the lane's values of row g of columns N begin; rows past the tile, and heads past the group, are others again.
 */
static kit_op lane_row(struct attention_reader *r, kit_op q, unsigned n)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const unsigned bytes = (unsigned)tcb_type_bytes(g->io), lane = (g->is_blocks ? VALUES / 2 : VALUES) * bytes;
	const kit_op row = OP2(b, "min.u32", OP2(b, "add.u32", r->g, I(ATTENTION_COLUMNS * n)), I(g->rows - 1));
	const kit_op head = OP2(b, "add.u32", r->w->first_head, OP2(b, "rem.u32", row, I(g->heads)));
	const kit_op in_kv = OP2(b, "min.u32", head, I(g->group - 1));
	const kit_op all = OP3(b, "mad.lo.u32", r->w->kv_head, I(g->group), in_kv);
	const kit_op at =
		OP3(b, "mad.lo.u32", OP3(b, "mad.lo.u32", r->w->sequence, I(g->m), attention_token_of(r->w, row)),
		    I(g->kv_heads * g->group), all);
	const kit_op of_lane = OP3(b, "mad.wide.u32", r->c, I(lane), q);
	return tcb_ptx_assume_aligned(b, tcb_kit_element(b, of_lane, at, bytes * g->k), lane < 16 ? lane : 16);
}

/* COUNT words in the order of a block's values: all of them, or two halves that are half a block apart. */
static void load(struct attention_reader *r, kit_op row, unsigned i, const char *type, kit_op *out, unsigned count)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const char *prefix = g->pdl ? "ld.global" : "ld.global.nc";
	const unsigned block = ATTENTION_K_BLOCK * (unsigned)tcb_type_bytes(g->io);
	const unsigned width = g->is_blocks ? count / 2 : count < 4 ? count : 4;
	for (unsigned done = 0; done < count; done += width)
		tcb_kit_load(b, prefix, type,
			     tcb_ptx_at(row, block * i + (g->is_blocks ? block / 2 * (done / width) : 4 * done)),
			     out + done, width);
}

static void floats_of(struct attention_reader *r, kit_op word, kit_op out[2])
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	if (r->w->g->type != TCB_TYPE_BF16) {
		tcb_kit_floats(b, word, out);
		return;
	}
	out[0] = OP2(b, "shl.b32", word, I(16));
	out[1] = OP2(b, "and.b32", word, I(-65536));
}

/* VALUES of a row to terms; IS_WILD: one is infinite or none, and the first term has all that there is. */
static void write_terms(struct attention_reader *r, unsigned n, unsigned i, kit_op value[VALUES], kit_op is_wild)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const char *pack = tcb_ptx_namef(b, "cvt.rn.%sx2.f32", attention_word(g));
	for (unsigned w = 0; w < WORDS; w++)
		for (unsigned term = 0; term < g->q_terms; term++) {
			kit_op *pair = value + 2 * w, rounded[2];
			const kit_op word = OP2(b, pack, pair[1], pair[0]);
			r->q[n][term][i][w] = word;
			if (term + 1 == g->q_terms)
				break;
			floats_of(r, word, rounded);
			for (unsigned j = 0; j < 2; j++)
				pair[j] = OP3(b, "selp.f32", F(0), OP2(b, "sub.rn.f32", pair[j], rounded[j]), is_wild);
		}
}

static void load_f32(struct attention_reader *r, kit_op row, unsigned n)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const unsigned blocks = g->k / ATTENTION_K_BLOCK;
	kit_op value[ATTENTION_K_BLOCKS_MAX][VALUES], bits[ATTENTION_K_BLOCKS_MAX * VALUES];
	for (unsigned i = 0; i < blocks; i++) {
		load(r, row, i, "f32", value[i], VALUES);
		for (unsigned j = 0; j < VALUES; j++)
			bits[i * VALUES + j] = OP2(b, "and.b32", value[i][j], I(INT32_MAX));
	}
	const kit_op largest = tcb_kit_over_lanes(b, "max.u32", tcb_kit_fold(b, "max.u32", bits, blocks * VALUES), 4);
	const kit_op exponent = OP2(b, "max.u32", OP2(b, "shr.u32", largest, I(EXPONENT)), I(LARGEST + 1));
	const kit_op is_wild = OP2(b, "setp.eq.u32", exponent, I(NOT_FINITE));
	const kit_op factor = OP2(b, "shl.b32", OP2(b, "sub.u32", I(2 * BIAS + LARGEST), exponent), I(EXPONENT));
	const kit_op inverse = OP2(b, "shl.b32", OP2(b, "sub.u32", exponent, I(LARGEST)), I(EXPONENT));
	r->scale[n] = OP2(b, "mul.rn.f32", inverse, r->scale[n]);
	for (unsigned i = 0; i < blocks; i++) {
		for (unsigned j = 0; j < VALUES; j++)
			value[i][j] = OP2(b, "mul.rn.f32", value[i][j], factor);
		write_terms(r, n, i, value[i], is_wild);
	}
}

void attention_load_q(struct attention_reader *r, kit_op q)
{
	const struct attention_gpu *g = r->w->g;
	const double scale = LOG2_E / sqrt((double)g->k);
	for (unsigned n = 0; n < g->columns; n++) {
		const kit_op row = lane_row(r, q, n);
		r->scale[n] = F((float)(g->cap ? 2 * scale / g->cap : scale));
		if (g->io == TCB_TYPE_F32)
			load_f32(r, row, n);
		for (unsigned i = 0; g->io != TCB_TYPE_F32 && i < g->k / ATTENTION_K_BLOCK; i++)
			load(r, row, i, "b32", r->q[n][0][i], WORDS);
	}
}
