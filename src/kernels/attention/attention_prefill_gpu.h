/* SPDX-License-Identifier: MIT
 *
 * attention_prefill on GPUs: how a geometry drives the kernels.
 *
 * A block has a tile of query rows: midi.m query tokens by `heads` query heads that
 * share a KV head, row = token * heads + head.  It goes over the KV tokens that the
 * tile sees in tiles of midi.n, from the last to the first, so that those with a mask
 * come first: S = Q K^T, weights against the running maximum, O += P V.  Sums stay in
 * registers; P goes from the registers of S to those of an operand (FlashAttention-2,
 * Dao 2023).  Query tiles that see most come first.
 *
 * isa=mma (sm_80 on): warps of micro.m query tokens, each with rows and sums of its
 * own; all copy K and V with cp.async into `stages` pairs of swizzled tiles.  stages=1: a tile comes
 * when the one before is done.
 *
 * isa=wgmma (sm_90): warpgroups of 64 rows (micro.m tokens), and one more whose first
 * thread asks for tensor copies into rings of `stages` tiles of K and of V.  The next
 * tile's S is multiplied while this one's weights are worked out and P V is added
 * (FlashAttention-3, Shah et al. 2024); turns=1: warpgroups hand the tensor cores to
 * each other, so that one multiplies while others work out weights.
 *
 * blocks: how many stay on each multiprocessor and take tile after tile: of each round of
 * tiles one, or, sched=dynamic, the next that nobody has, by a counter in the workspace.
 * With isa=wgmma the next tile's Q, K and V are on their way before this one's results are
 * stored.
 *
 * prep=launch, with K or V of less than 16 bits: a first launch makes f16 of what lengths say,
 * once for all tiles (attention_prefill_unpack.c).  prep=warps, isa=wgmma, Q8_0: tensor copies
 * bring blocks to a ring of two tiles, and the warpgroup that copies makes f16 of them,
 * for each tile of query rows again, without a launch (attention_prefill_convert.c).
 *
 * exp: how many exponentials of each eight of a row are polynomials in fused products;
 * the others go to the unit of transcendental functions at the same time.  Left out: none
 * are polynomials.
 *
 * Contract f32, isa=mma: q and the weights are sums of terms, whose products with K and V
 * are exact (attention_prefill_terms.c); with KV of blocks the first launch makes f16
 * of their codes, and f32 of their scales, which come with the tiles.
 *
 * Heads of other than the products' multiples have zeros behind them in shared memory; rows
 * of V of more than 256 values (isa=mma: 288) are dealt to warps or warpgroups that share
 * query rows, each of which makes all of S (splits).  vk: V is read from K's tile.  Sinks begin the
 * maxima and sums; what ALiBi takes off a score is worked out from where its token is.
 *
 * Tiles' k is K's head; micro.n = midi.n; macro is the problem, in powers of two of
 * midi.  occ, pdl: as everywhere.
 */
#ifndef TCB_KERNELS_ATTENTION_PREFILL_GPU_H
#define TCB_KERNELS_ATTENTION_PREFILL_GPU_H

#include "kernels/attention/attention.h"
#include "kernels/gpu/frame.h"

enum {
	PREFILL_ROWS = 16,       /* of a warp's product */
	PREFILL_STEP = 16,       /* values, or KV tokens, of a product that are summed */
	PREFILL_GROUP_ROWS = 64, /* of a warpgroup's */
	PREFILL_KV_MAX = 256,    /* KV tokens of a tile */
	PREFILL_GROUPS_MAX = 3,  /* warpgroups that multiply */
	PREFILL_BOX = 64,        /* values of a tensor copy's rows */
	PREFILL_BOX_BYTES = 128,
	PREFILL_MEMORY_ALIGN = 1024,
	PREFILL_REGISTERS = 65536, /* of a multiprocessor */
	PREFILL_CONVERTERS = 128,  /* threads that convert with prep=warps */
	PREFILL_RAW_STAGES = 2,
	PREFILL_TERMS_MAX = 3,
	PREFILL_WORDS_MAX = ATTENTION_HEAD_MAX / 8 /* of a row of q in a lane, two values each */
};
/* What a polynomial's exponential (knob exp) is off by at most, of its value: 8.56e-5 by its coefficients, and
 * roundings.  Half a unit of a weight rounded to f16 is 4.9e-4. */
#define PREFILL_EXP_OFF 9e-5

/* A geometry in numbers. */
struct prefill_gpu {
	enum tcb_kv cache;
	enum tcb_kv_kind kind[2]; /* of values of K and of V as they are stored */
	enum tcb_type type;       /* of K and V as they are multiplied, and with contract f16 of q and out */
	/* Contract f32: as many as q and a weight are sums of; is_wide: the weights' are tf32.  Contract f16: 1, 0. */
	unsigned terms;
	int is_f32, is_wide;
	enum tcb_isa isa;
	unsigned capability, m, n, k, v, group, kv_heads, sequences, page, pages, window, cap, causal;
	int is_view, has_sinks, has_alibi, has_prefix; /* as the words say */
	/* Heads in shared memory, with columns of zeros behind them: of K and of V, those that are multiplied, and how
	 * far rows are apart.  is_view: V's are K's. */
	unsigned k_columns, v_columns, k_apart, v_apart;
	/* Warps or warpgroups that share rows, each with own_v columns of V, the last with zeros behind them. */
	unsigned splits, own_v;
	/* K or V of less than 16 bits: a first launch makes f16 of them in the workspace, without pages, V from v16_at
	 * on, of those that it makes; or warps do (converts): bytes of a row in shared memory, 16 bytes aligned as in
	 * memory, and of a tile */
	int has_launch, made[2], converts;
	unsigned raw_pitch, raw_bytes;
	unsigned block_page, block_pages;
	size_t v16_at, counter_at, workspace_bytes; /* counter_at: is_dynamic */
	/* is_f32, of blocks in K, or in V: their scales, in the workspace and, K's by block and token and then V's, in
	 * a slot */
	int has_scales[2];
	size_t k_scales_at, v_scales_at;
	unsigned scales_at, scale_pitch; /* bytes */
	size_t q_gap, out_gap;           /* bytes between rows of q, and of out */
	unsigned heads, tokens, rows;    /* of a block's tile: heads, query tokens, their product */
	unsigned own_rows;               /* of a warp or warpgroup */
	unsigned kv;                     /* KV tokens of a tile */
	unsigned workers, threads;       /* warps or warpgroups that multiply; threads of a block */
	unsigned stages, resident, occ;
	int pdl, turns, is_dynamic;
	unsigned polynomials;        /* knob exp: of eight exponentials of a row */
	unsigned token_tiles, width; /* tiles along m; of a token tile: heads and sequences */
	unsigned grid;
	unsigned k_bytes, v_bytes;     /* of a tile */
	unsigned slot_bytes;           /* isa=mma: of K, V and scales */
	unsigned registers;            /* of a thread when the kernel begins; 0: as many as are needed */
	unsigned of_copier, of_worker; /* isa=wgmma: what they have then; 0: no change */
	unsigned q_at, k_at, v_at, raw_at, barrier_at, shared_bytes; /* q_at: isa=mma; 0: Q is in registers */
	unsigned item_at; /* is_dynamic: two barriers and the next tile's number, or two of these */
	/* attention_decode's tiles (attention_gpu_wgmma.c): kv_parts blocks have a part of the KV tokens each, 0: one
	 * has all; of a part's sums as many rows, part_wide values apart; where in the workspace their statistics are.
	 */
	unsigned kv_parts, part_rows, part_wide;
	size_t parts_ml_at;
	unsigned lead; /* tiles of a block's part that are asked of the L2 before the launch before is over */
};

/* attention_prefill_plan.c */
void prefill_gpu_plan(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct prefill_gpu *out);
void prefill_gpu_footprint(const struct tcb_problem *problem, const struct tcb_target *target,
			   const struct tcb_geometry *geometry, struct tcb_footprint *out);
extern const struct tcb_rule attention_prefill_gpu_rules[];
/* Whether stages may be 1: heads of which few tokens are in shared memory. */
int prefill_has_one_stage(const struct tcb_problem *problem);
int prefill_has_wgmma(const struct tcb_problem *problem, const struct tcb_target *target);
/* isa=wgmma: whether threads that multiply have registers for a tile's sums. */
int prefill_has_registers(const struct prefill_gpu *g);
/* isa=wgmma: warpgroups that share query rows, each with columns of V. */
unsigned prefill_wgmma_splits(const struct tcb_problem *problem);

/* attention_prefill_space.c */
extern const struct tcb_side_space prefill_gpu_space;

/* attention_prefill_gpu.c */
#define PREFILL_SIDE(kv, ...) extern const struct tcb_side attention_prefill_##kv##_gpu;
TCB_KV_LIST(PREFILL_SIDE, )
#undef PREFILL_SIDE

/* --- what the files that write the kernels share --- */

struct prefill_writer {
	struct tcb_kit kit;
	const struct prefill_gpu *g;
	const struct tcb_words *words;       /* what numbers operands have */
	kit_op q, k, v, out, lengths, table; /* operands: addresses, or generic addresses of tensor maps */
	kit_op k_scales, v_scales;           /* has_scales */
	kit_op sinks, slopes, prefixes;      /* those that there are */
	kit_op per_sequence;                 /* KV tokens, or pages, that a sequence has room for; .u32 */
	kit_op counter;                      /* is_dynamic: of the tiles that were drawn; .u64 */
	kit_op parts, parts_ml, part;        /* kv_parts: in the workspace, .u64; which one is the block's, .u32 */
	kit_op m, token_tiles, width;        /* query tokens; as in struct prefill_gpu; .u32 */
	/* of the tile; .u32 */
	kit_op first_token, head, kv_head, sequence; /* head: the first of all query heads */
	kit_op length;
	kit_op prefix; /* has_prefix; .s32 */
	/* KV tokens that the tile sees: begin <= t < end; their tiles; how many of these, from the last, have a mask;
	 * and how many come before the first of those with a window's mask */
	kit_op begin, end, count, masked, unmasked_to;
};

/* A thread's two query rows of a product of 16: row and row + 8. */
struct prefill_rows {
	kit_op row[2];         /* within the tile; .u32 */
	kit_op from[2], to[2]; /* what they see; .s32 */
	/* .f32: the running maximum, with a cap or is_f32 in units of log2(e); this lane's sum of weights */
	kit_op max[2], sum[2];
	kit_op scale[2]; /* is_f32: of scores, to units of log2(e), or with a cap to its own; .f32 */
	/* has_alibi: less the slope, in units of log2(e), .f32; the row's own token, .s32 */
	kit_op slope[2], own[2];
};

/* The launch NAME of the kernel, which is open. */
void prefill_write_kernel(struct prefill_writer *w, const char *name);
/* Tile number ITEM, those that see most first. */
void prefill_write_tile(struct prefill_writer *w, kit_op item);
/* The same by what the length is before the launch before is over. */
void prefill_write_tile_ahead(struct prefill_writer *w, kit_op item);
/*
 * All tiles of a block: what is written in between is for one.  Blocks that stay take one of each round of tiles, from
 * the left and from the right by turns, so that who had a heavy one gets a light one.  is_dynamic: their first is that
 * of their number, the others are drawn; before the end NEXT is to become what prefill_items_draw gave.
 */
struct prefill_items {
	kit_op all, next; /* .u32 */
};
void prefill_items_begin(struct prefill_writer *w, struct prefill_items *items);
/* The number of the next tile, all or more for none: by one thread of the block, once for each of its tiles. */
kit_op prefill_items_draw(struct prefill_writer *w, struct prefill_items *items);
void prefill_items_end(struct prefill_writer *w, struct prefill_items *items);

/* attention_prefill_softmax.c.  COUNT scores of a lane lie as in wgmma's and mma's sums: four of each eight KV tokens,
 * 2c and 2c + 1 of row, then of row + 8, with c = lane % 4. */

void prefill_rows_open(struct prefill_writer *w, struct prefill_rows *rows, kit_op first_row);
/* New maxima and sums. */
void prefill_rows_clear(struct prefill_writer *w, struct prefill_rows *rows);
/* The scores of a tile from token FIRST on become weights, in registers of their own; maxima and sums follow.  FACTOR:
 * what was summed so far is to be multiplied with. */
void prefill_write_weights(struct prefill_writer *w, struct prefill_rows *rows, kit_op *scores, unsigned count,
			   kit_op first, int is_masked, kit_op factor[2]);
/* 2^X of .f32, X at most 1 or so or a NaN, by a polynomial: within PREFILL_EXP_OFF, 0 below 2^-126. */
kit_op prefill_write_exp(struct tcb_ptx_build *b, kit_op x);
/* Weights as 16 bits, as a product's operand, to registers that are there. */
void prefill_write_packed(struct prefill_writer *w, const kit_op *weights, unsigned count, const kit_op *to);
/* Sums of O by a lane, divided, to values FROM to FROM + COUNT - 1 of rows of out. */
void prefill_write_out(struct prefill_writer *w, struct prefill_rows *rows, const kit_op *sums, unsigned from,
		       unsigned count);
/* kv_parts: the same, not divided, to the block's part, with maxima in units of log2(e) and sums of weights; zeros
 * behind a row's last value. */
void prefill_write_part(struct prefill_writer *w, struct prefill_rows *rows, const kit_op *sums, unsigned from,
			unsigned count);

/* attention_prefill_terms.c: contract f32.  Row R of q, whose values 2c and 2c + 1 are at AT, as terms: of each eight
 * values a word; and the scale of its scores. */
void prefill_load_terms(struct prefill_writer *w, struct prefill_rows *rows, unsigned r, kit_op at,
			kit_op out[PREFILL_TERMS_MAX][PREFILL_WORDS_MAX]);
/* The score whose first term's part is HIGH: where that is infinite or a NaN the REST, which may be either, is not
 * added. */
kit_op prefill_write_score(struct prefill_writer *w, kit_op high, kit_op rest);
/* Weights of 16 tokens as terms of 16 bits, or of eight, with V's scales of tokens 2c and 2c + 1 (NULL: 1), in tf32,
 * whose k number c is token 2c, and c + 4 token 2c + 1; each an operand of a product. */
void prefill_write_narrow(struct prefill_writer *w, const kit_op weights[8], kit_op out[PREFILL_TERMS_MAX][4]);
void prefill_write_wide(struct prefill_writer *w, const kit_op weights[4], const kit_op *scale, kit_op out[2][4]);
/* The other one: a word of V, f16 of tokens 2c and 2c + 1. */
void prefill_write_floats(struct prefill_writer *w, kit_op word, kit_op out[2]);
/* Scales of the tile from token FIRST on to SLOT.  Those of a block of K or V of 16 tokens from TOKENS on: 2c and
 * 2c + 1, and eight further; SLOT: of token 2c. */
void prefill_copy_scales(struct prefill_writer *w, kit_op slot, kit_op first);
void prefill_load_scales(struct prefill_writer *w, kit_op slot, int is_v, unsigned block, unsigned tokens,
			 kit_op out[2][2]);

/* attention_prefill_unpack.c: the launch that makes f16 of blocks, or of their codes. */
void prefill_write_unpack(struct prefill_writer *w);
/* attention_prefill_convert.c: what a thread of the warpgroup that converts has; a tile of blocks at RAW to f16 at
 * SLOT.
 */
struct prefill_converter {
	struct prefill_writer *w;
	kit_op from, to[4];  /* .u32: from the tile on its first block's first word; its four chunks */
	kit_op shift, scale; /* by what codes are off; prmt's selector for the scale, twice */
};
void prefill_convert_open(struct prefill_writer *w, struct prefill_converter *c);
void prefill_convert_tile(struct prefill_converter *c, kit_op raw, kit_op slot);
/* The kernels. */
void prefill_write_wgmma(struct prefill_writer *w);
void prefill_write_mma(struct prefill_writer *w);

const char *prefill_type_word(const struct prefill_gpu *g);

#endif
