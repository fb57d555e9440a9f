/* SPDX-License-Identifier: MIT
 *
 * prep=warps of attention_prefill: a tile of K or V in blocks as it was stored
 * comes in, from shared memory; as f16 it goes to where wgmma has it from, swizzled.
 *
 * A warpgroup converts.  A thread has blocks of one number in the row, one of every
 * eight tokens: at a time 32 codes, four chunks of 16 bytes.  Lanes 0 to 7 have eight
 * tokens, whose chunks are exchanged differently, the next eight the next block: chunks
 * are stored without bank conflicts.  A block begins with a word or in the middle of
 * one, so its codes are taken from two words each, by 16 or 32 bits.
 */
#include "base/sizes.h"
#include "kernels/attention/attention_prefill_gpu.h"

enum {
	THREADS = PREFILL_CONVERTERS,
	EIGHT = 8, /* tokens */
	BLOCK_VALUES = 32,
	BLOCK_BYTES = 34,
	WORDS = 8, /* of codes */
	CHUNK = 16,
	CHUNKS = 4 /* of a block, as f16 */
};

void prefill_convert_open(struct prefill_writer *w, struct prefill_converter *c)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct prefill_gpu *g = w->g;
	const unsigned blocks = g->k / BLOCK_VALUES;
	const kit_op thread = u_sub(b, w->kit.tid, I((int64_t)g->workers * THREADS));
	const kit_op eighth = u_and(b, thread, I(EIGHT - 1));
	const kit_op block = u_and(b, u_shr(b, thread, I(3)), I(blocks - 1));
	const kit_op token = u_mad(b, u_div(b, thread, I((int64_t)EIGHT * blocks)), I(EIGHT), eighth);
	const kit_op is_odd = u_and(b, block, I(1));
	const kit_op at = u_and(b, u_mul(b, block, I(BLOCK_BYTES)), I(-4));
	c->w = w;
	c->from = u_mad(b, token, I(g->raw_pitch), at);
	c->shift = u_mad(b, is_odd, I(16), I(16));
	c->scale = u_mad(b, is_odd, I(0x2222), I(0x1010));
	const kit_op box = u_mul(b, u_shr(b, block, I(1)), I((int64_t)g->kv * PREFILL_BOX_BYTES));
	const kit_op row = u_mad(b, token, I(PREFILL_BOX_BYTES), box);
	const kit_op first = u_xor(b, u_mul(b, is_odd, I(CHUNKS)), eighth);
	for (unsigned i = 0; i < CHUNKS; i++)
		c->to[i] = u_mad(b, u_xor(b, first, I(i)), I(CHUNK), row);
}

/* Four codes as f16 in two words, times SCALE, which is there twice; as they are rounded in attention_prefill_unpack.c.
 */
static void convert(struct tcb_ptx_build *b, kit_op codes, kit_op scale, kit_op out[2])
{
	const kit_op biased = u_xor(b, codes, I(INT32_C(-0x7f7f7f80)));
	for (unsigned i = 0; i < 2; i++) {
		const kit_op word = u_permute(b, biased, I(0x64646464), I(i ? 0x4342 : 0x4140));
		const kit_op whole = h_sub(b, word, b_set(b, I(0x64806480)));
		out[i] = h_mul(b, whole, scale);
	}
}

void prefill_convert_tile(struct prefill_converter *c, kit_op raw, kit_op slot)
{
	struct tcb_ptx_build *b = &c->w->kit.b;
	const struct prefill_gpu *g = c->w->g;
	const unsigned tokens = THREADS * BLOCK_VALUES / g->k; /* that the warpgroup takes at a time */
	const kit_op from = tcb_ptx_assume_aligned(b, u_add(b, raw, c->from), 4);
	kit_op to[CHUNKS];
	for (unsigned i = 0; i < CHUNKS; i++)
		to[i] = tcb_ptx_assume_aligned(b, u_add(b, slot, c->to[i]), CHUNK);
	for (unsigned t = 0; t < g->kv; t += tokens) {
		kit_op word[WORDS + 1];
		for (unsigned i = 0; i <= WORDS; i++)
			word[i] = tcb_kit_get(b, TCB_KIT_SHARED, "b32", tcb_ptx_at(from, t * g->raw_pitch + 4 * i));
		const kit_op scale = u_permute(b, word[0], word[0], c->scale);
		for (unsigned i = 0; i < CHUNKS; i++) {
			kit_op out[4];
			for (unsigned j = 0; j < 2; j++) {
				const kit_op *own = word + 2 * i + j;
				convert(b, u_funnel(b, own[0], own[1], c->shift), scale, out + 2 * j);
			}
			tcb_kit_store(b, TCB_KIT_SHARED, "b32", tcb_ptx_at(to[i], t * PREFILL_BOX_BYTES), out, 4);
		}
	}
}
