/* SPDX-License-Identifier: MIT
 *
 * attention_decode on GPUs: how a geometry drives the kernel.
 *
 * A block has the query rows of one tile: midi.m query tokens by `heads` query heads
 * that share a KV head, against a part of that sequence's KV: blocks of one tile are
 * splitk along x; tiles are along y, sequences along z.  Its warps take turns at
 * pieces of micro.n KV tokens, each with the whole tile, or midi.m / micro.m of them
 * together with micro.m query tokens each, and a running maximum
 * and sum of their own; at the end their parts are merged in shared memory, those of `cluster`
 * blocks through each other's shared memory, the rest as `join` says: by the last
 * block (last) or a second launch (launch) from the workspace.
 *
 * sched=streamk: `blocks` on each multiprocessor stay and have equally many pieces of all
 * sequences and tiles (attention_gpu_deal.c), for lengths that differ: splits of one size
 * leave blocks without any.
 *
 * Tensor cores: S = Q K^T has query rows as mma's 16 rows, O^T += V^T P^T as its 8
 * columns, so that S is already what P^T wants and few query rows waste little.  Which
 * value of a head is which k of an instruction does not matter as long as Q agrees, nor
 * which is which row of V^T as long as the store does.
 *
 * copy=ldg: K and V go from memory to the fragments without shared memory.  The next
 * piece's K is asked for as soon as this one's is multiplied, its V after this one's:
 * they are on their way meanwhile.  copy=async: each warp, or those that have a piece
 * together, has a ring of `stages` pieces in shared memory, which it fills stages - 1
 * pieces ahead.  copy=bulk: the same, filled by tensor copies, of blocks two a piece, of 16 bits one for each 64 values
 * of a head, whose rows of 128 bytes lie swizzled.
 *
 * lead: so many rounds of the block's pieces are asked of the L2 before the launch before is over, by what the length
 * is by then: the L2 has one copy for all, so what a launch before still writes is there when it is loaded.
 *
 * Heads of more than ATTENTION_Q_LONG values leave too few registers for q: its fragments are in shared memory.  Of
 * these, midi.k / micro.k warps may share a row: all have its scores, each adds up a part of V's values, the last one
 * what is left.
 *
 * Blocks: rows of blocks are aligned to 2 bytes only, so they go through the
 * ring.  group=0: K's codes become f16 for S.  group=256: q becomes bytes, the whole
 * number that it is of a power of two for its row in base 256, and K's codes are
 * multiplied as they are.  Either way sums of a block are scaled by K's scale.  For O^T
 * V becomes f16 (contract f16), or its codes tf32 and its scale goes into the weights.
 * FP8 goes through the ring, too, and becomes f16, which has all its values.  K and V may be of two kinds.
 *
 * Contract f32: q is the sum of two f16 (or three bf16, or bytes) times a power of two
 * for each row, a weight that of two tf32: their products with K and V are exact.
 */
#ifndef TCB_KERNELS_ATTENTION_GPU_H
#define TCB_KERNELS_ATTENTION_GPU_H

#include "kernels/attention/attention.h"
#include "kernels/gpu/frame.h"
#include "kernels/gpu/ring.h"

enum {
	ATTENTION_COLUMNS = 8,      /* query rows of an mma */
	ATTENTION_PIECE = 8,        /* KV tokens, at least, of a piece */
	ATTENTION_K_BLOCK = 32,     /* values of a head that four lanes have together; of a block, too */
	ATTENTION_Q_LONG = 256,     /* values of heads whose q is in registers, at most */
	ATTENTION_BULK_ALIGN = 128, /* of what tensor copies write to */
	ATTENTION_BOX = 64,         /* values of a tensor copy's rows of 16 bits */
	ATTENTION_BOX_BYTES = 128,
	ATTENTION_BOX_ALIGN = 1024,
	ATTENTION_BLOCK_SHARED = 1024, /* bytes of shared memory that a block takes beside its own */
	ATTENTION_Q_GROUP = 256,       /* group: values of a row of q whose codes share a unit */
	ATTENTION_WHOLE = 0x4b400000   /* as a float 1.5 * 2^23: whole numbers up to 2^22 can be added to its bits */
};

/* A geometry in numbers. */
struct attention_gpu {
	enum tcb_kv cache;
	enum tcb_type io; /* of q and out */
	/* Of K, and of V: what values are; are they codes with a scale for each 32; is one less than 16 bits: it is
	 * that, or FP8; bytes of 32. */
	enum tcb_kv_kind kind[2];
	int is_blocks[2], is_short[2];
	unsigned block_bytes[2];
	int is_bf16; /* K's, V's and q's type is bf16, not f16 */
	const struct tcb_words *words;
	size_t q_gap, out_gap; /* bytes between rows of q, and of out */
	unsigned capability, m, n, k, v, group, kv_heads, sequences, page, pages, window, cap, causal;
	/* K's and V's head in units of ATTENTION_K_BLOCK; V's values, rounded up to these, or to parts of warps */
	unsigned k_blocks, v_blocks, v_wide;
	unsigned k_rest, v_rest; /* values of the last such block; 0: all */
	/* copy=bulk of 16 bits: tensor copies of K, and of V; k_blocks is whole boxes, of each of which a lane has 16
	 * values one behind the other, of two blocks */
	int is_boxed;
	unsigned boxes[2];
	int has_sinks, has_slopes, has_prefix;
	int is_view;                  /* V is of K's rows */
	int has_own_limits;           /* rows of a tile see different tokens */
	unsigned tokens, heads, rows; /* of a tile: query tokens, heads, their product */
	unsigned own_rows, columns;   /* of a warp: rows; mma's columns / 8 */
	unsigned kv, subs, halves;    /* KV tokens of a warp's piece; in units of 16; in units of 8, of these */
	unsigned warps, threads, splitk, cluster, slots, occ;
	int is_dealt;  /* sched=streamk */
	int has_parts; /* of blocks, in the workspace */
	unsigned grid[3];
	unsigned row_warps, value_warps, team,
		turns;     /* warps that have rows of their own; that share a row's values of V; both of
			    * these, which have a piece together; how many such take turns */
	unsigned v_part;   /* of v_wide: a warp's */
	int pdl, is_early; /* pdl=4 */
	unsigned lead;
	enum tcb_join join;
	unsigned token_tiles, head_tiles, tiles; /* tiles: of all KV heads of a sequence */
	unsigned v_words;                        /* of V that a lane has of a token at a time: 4, or 2 */
	int is_wide;                             /* O^T is summed in tf32 */
	int is_coded;                            /* group=256: q is bytes, highest first */
	unsigned q_terms, weight_terms;          /* whose sum q, and a weight, is */
	/* Of K, and of V: of a head's row what is read; from head to head; of all heads' */
	unsigned row_bytes[2], head_bytes[2], token_bytes[2];
	int v_own; /* what is said of V's rows is of their own: 1; 0: they are as K's are, or K's */
	/* copy=async or bulk, of K and of V: bytes of a copy, copies of a row, and of a lane for a piece; shared
	 * memory: of a piece rows of K, then of V, then what rows of odd blocks are off by; all rings */
	enum tcb_copy copy;
	/* Rows are aligned to 2 bytes only; in all tokens they begin at the same place of 16 bytes; a lane keeps the
	 * places of its copies. */
	int is_odd[2], is_within, is_kept;
	unsigned unit[2], units[2], copies[2], pitch[2], shifts_at[2];
	unsigned stages, v_at, slot_bytes, ring_at, barrier_at;
	/* shared memory: parts of those that take turns, that of the block, the last block's flag */
	unsigned o_at, ml_at, block_o_at, block_ml_at, flag_at;
	unsigned used_bytes, shared_bytes; /* what is used; what a block asks for, which keeps others away */
	unsigned q_at, q_block; /* where q's fragments are, if not in registers; bytes of one of a warp, else 0 */
	size_t parts_ml_at, counters_at, workspace_bytes; /* workspace: parts of the blocks from 0 on */
};

/* Heads of K or V that leave too few registers for q. */
static inline int attention_gpu_is_long(const struct tcb_shape *shape)
{
	return shape->k > ATTENTION_Q_LONG || attention_v(shape) > ATTENTION_Q_LONG;
}

/* attention_gpu_plan.c */
void attention_gpu_plan(const struct tcb_problem *problem, const struct tcb_target *target,
			const struct tcb_geometry *geometry, struct attention_gpu *out);
void attention_gpu_footprint(const struct tcb_problem *problem, const struct tcb_target *target,
			     const struct tcb_geometry *geometry, struct tcb_footprint *out);
extern const struct tcb_rule attention_decode_gpu_rules[];
/* Whether rows of K and V can be copied VEC bytes at a time, or those of them that are aligned to no more. */
int attention_gpu_copies(const struct tcb_problem *problem, unsigned vec);
/* Of V's values how many each of WARPS warps has, but the last. */
size_t attention_gpu_part(const struct tcb_problem *problem, size_t warps);
/* Whether tensor copies can bring them. */
int attention_gpu_has_bulk(const struct tcb_problem *problem, const struct tcb_target *target);
/* Whether its first pieces can be asked for ahead of time, by isa=mma. */
int attention_gpu_has_lead(const struct tcb_problem *problem, const struct tcb_target *target);

/* attention_gpu_space.c */
extern const struct tcb_side_space attention_gpu_space;

/* attention_gpu_emit.c */
#define ATTENTION_SIDE(kv, ...) extern const struct tcb_side attention_decode_##kv##_gpu;
TCB_KV_LIST(ATTENTION_SIDE, )
#undef ATTENTION_SIDE

/* --- what the files that write the kernel share --- */

struct attention_writer {
	struct tcb_kit kit;
	const struct attention_gpu *g;
	kit_op out;                              /* .u64 */
	kit_op parts, parts_ml;                  /* .u64: the workspace */
	kit_op counters;                         /* .u64 */
	kit_op q, sinks, slopes;                 /* .u64 */
	kit_op tile, sequence;                   /* .u32: the block's */
	kit_op first_token, first_head, kv_head; /* of the tile; the head within its group */
	kit_op split;                            /* which part of KV, is_dealt: of all tiles' parts; .u32 */
	/* is_dealt; .u32: pieces of the tile that are the block's; the tile's parts */
	kit_op first_piece, end_piece, first_part, parts_count;
};

enum {
	ATTENTION_SETS_MAX = 4, /* of mma's columns */
	ATTENTION_SUBS_MAX = 4,
	ATTENTION_HALVES = 2, /* of 16 tokens: a lane's rows of K */
	ATTENTION_TOKENS = 4, /* of 16 that a lane has V of; of 8, the first two */
	ATTENTION_K_BLOCKS_MAX = ATTENTION_HEAD_MAX / ATTENTION_K_BLOCK,
	ATTENTION_TERMS_MAX = 3,
	ATTENTION_SUMS = 4,      /* of an mma in a lane */
	ATTENTION_PAIR = 2,      /* query rows of a lane in an mma's columns, or tokens in a half */
	ATTENTION_UNITS_MAX = 24 /* copies of a lane whose places are kept */
};

/* A warp at its pieces.  lane = 4 g + c. */
struct attention_reader {
	struct attention_writer *w;
	kit_op c, g;
	kit_op turn, first_row; /* .u32: which of those that take turns; its first row of the tile */
	kit_op part;            /* .u32: value_warps > 1: which part of V's values it has */
	kit_op thread;          /* .u32: among those that have a piece together */
	/* .u64: of the sequence and KV head; with ldg of the lane, too; with bulk tensor maps */
	kit_op k, v, table;
	kit_op row_bytes[2];   /* of a token in K and V; .u32 */
	kit_op last;           /* the last token that is seen; .u32 */
	kit_op tokens;         /* of a sequence, or its pages; .u32 */
	kit_op length, prefix; /* .u32; has_prefix: .s32 */
	/* ldg: what is loaded: K by piece, block, half, word; V by piece, block, token, word */
	kit_op k_words[ATTENTION_SUBS_MAX][ATTENTION_K_BLOCKS_MAX][ATTENTION_HALVES][4];
	kit_op v_words[ATTENTION_SUBS_MAX][ATTENTION_K_BLOCKS_MAX][ATTENTION_TOKENS][4];
	/* async: the ring; what a lane copies: its token, bytes from the piece's first row and into the slot */
	struct tcb_kit_ring ring;
	kit_op unit_token[ATTENTION_UNITS_MAX], unit_from[ATTENTION_UNITS_MAX], unit_to[2][ATTENTION_UNITS_MAX];
	kit_op k_lane, v_lane; /* .u32: the lane's place in the slot in use */
	/* is_boxed: that in a box; and in the slot in use of odd blocks of K; of odd blocks, odd tokens, both, of V */
	kit_op k_in_box, v_in_box, k_odd, v_odd[4];
	/* .u32: which word of a block of V of less than 16 bits a lane has; of Q4_0 which halves of bytes, in bits */
	kit_op v_word, v_shift;
	kit_op k_scale, v_scale;    /* and that of the scales of tokens 2c */
	kit_op within[2];           /* is_within: where in 16 bytes rows begin */
	kit_op box;                 /* bulk: where boxes begin, in pairs of bytes of a token */
	kit_op shift[2], shifts[2]; /* is_odd: by what a row is off, if all are by the same; else where that is said */
	/* is_coded, and contract f32: values of q as they were loaded, floats or pairs of f16 */
	kit_op q_loaded[ATTENTION_SETS_MAX][ATTENTION_K_BLOCKS_MAX][8];
	kit_op q[ATTENTION_SETS_MAX][ATTENTION_TERMS_MAX][ATTENTION_K_BLOCKS_MAX][4];
	kit_op q_lane;                    /* .u32: the lane's place in those that are in shared memory */
	kit_op scale[ATTENTION_SETS_MAX]; /* of scores, to units of log2(e), or with a cap to its own */
	kit_op acc[ATTENTION_SETS_MAX][ATTENTION_HEAD_MAX / 16][ATTENTION_SUMS];
	kit_op max[ATTENTION_SETS_MAX], sum[ATTENTION_SETS_MAX]; /* of query row g; the sums of this lane's tokens */
	kit_op from[ATTENTION_SETS_MAX], to[ATTENTION_SETS_MAX]; /* tokens that it sees; .s32 */
	kit_op head[ATTENTION_SETS_MAX];                         /* of query row g: of all query heads; .u32 */
	/* ALiBi: its slope, less than 0, in units of log2(e); its token's place in the sequence, .s32 */
	kit_op slope[ATTENTION_SETS_MAX], place[ATTENTION_SETS_MAX];
	kit_op zero, whole; /* .f32; is_coded: what sums begin with, .s32 */
};

/* "f16" or "bf16": of what products are of. */
const char *attention_word(const struct attention_gpu *g);
/* An operand of the op, where there is one. */
kit_op attention_operand_of(struct attention_writer *w, const char *name, unsigned align, enum attention_operand which);
/* Row OWN + MORE of this warp's, of the tile. */
kit_op attention_row(struct attention_reader *r, kit_op own, unsigned more);
/* The query token of row ROW of the tile; at most the last. */
kit_op attention_token_of(struct attention_writer *w, kit_op row);

/* attention_gpu_deal.c: BEGIN and END of what query token I of a sequence of LENGTH with a PREFIX sees; .u32, as
 * attention_visible has it.
 */
void attention_write_visible(struct attention_writer *w, kit_op length, kit_op prefix, kit_op i, kit_op *begin,
			     kit_op *end);

/* is_dealt: all tiles of which a block has pieces; what is written in between is for one.  Set
 * before: lengths, and sequences, how many there are. */
struct attention_deal {
	kit_op lengths, prefixes, sequences;
	kit_op block, each, more; /* .u32: which it is; pieces of a block; how many blocks have one more */
	/* .u32: pieces that are left to the block; the sequence in work, its length and prefix, and pieces of one of
	 * its tiles; the same of all before it; of all its tiles the pieces that are behind; what the block has of the
	 * tile */
	kit_op left, sequence, length, prefix, pieces, before, within, taken;
};
void attention_deal_begin(struct attention_writer *w, struct attention_deal *d);
void attention_deal_end(struct attention_writer *w, struct attention_deal *d);

/* attention_gpu_q.c: q's fragments and the scale of scores: loads what they are made of; makes them of it. */
void attention_load_q(struct attention_reader *r, kit_op q);
void attention_make_q(struct attention_reader *r);
/* Block I of them comes from shared memory, if it is there. */
void attention_fetch_q(struct attention_reader *r, unsigned i);

/* attention_gpu_read.c: K and V.  Begins, once the KV head is known; asks for the warp's first pieces, of those from
 * token BEGIN on FIRST, and every turns-th, to END - 1. */
void attention_read_begin(struct attention_reader *r);
void attention_read_first(struct attention_reader *r, kit_op begin, kit_op first, kit_op end);
/* pdl=4, before and behind the wait: the first pieces as far as they were there before this call's tokens; then those
 * that have some of these. */
void attention_read_old(struct attention_reader *r, kit_op begin, kit_op first, kit_op end);
void attention_read_new(struct attention_reader *r, kit_op begin, kit_op first, kit_op end);
/* is_dealt: the tile is done, all threads have passed a barrier since its last piece; another one may begin after the
 * next. */
void attention_read_end(struct attention_reader *r);
/* In the loop over pieces, PIECE is next: before its scores; K once scores are there; V once its values are added. */
void attention_read_piece(struct attention_reader *r, kit_op begin, kit_op piece, kit_op end);
void attention_read_k_done(struct attention_reader *r, kit_op begin, kit_op piece, kit_op end);
void attention_read_v_done(struct attention_reader *r, kit_op begin, kit_op piece, kit_op end);
/* Block I of K of half H of sub S: two steps of k, of is_coded two words of codes; is_blocks: SCALE_OUT gets those of
 * tokens 2c and 2c + 1, as floats. */
void attention_k_block(struct attention_reader *r, unsigned s, unsigned h, unsigned i, kit_op out[4],
		       kit_op scale_out[ATTENTION_PAIR]);
/* V of a lane's token T of sub S: words of 16 bits, block I of them; is_short: the one word of codes, a byte each. */
void attention_v_block(struct attention_reader *r, unsigned s, unsigned t, unsigned i, kit_op out[4]);
/* Its scale: f16 in .b16. */
kit_op attention_v_scale(struct attention_reader *r, unsigned s, unsigned t, unsigned i);
/* Four codes of KIND, as attention_v_block has them, as f16 in two words; the one numbered I as a float. */
void attention_codes_f16(struct tcb_ptx_build *b, enum tcb_kv_kind kind, kit_op word, kit_op out[2]);
kit_op attention_code_f32(struct tcb_ptx_build *b, enum tcb_kv_kind kind, kit_op word, unsigned i);

/* attention_gpu_ring.c, for attention_gpu_read.c */
void attention_ring_begin(struct attention_reader *r);
/* bulk of 16 bits: the piece from token FIRST on, on its way to the L2; by one thread. */
void attention_ring_ahead(struct attention_reader *r, kit_op first);
/* bulk: a tensor map of K or V. */
kit_op attention_ring_tensor(struct attention_writer *w, const char *name, size_t operand);
/* bulk: what there is of the piece from token FIRST on past the last that is seen becomes zeros. */
void attention_ring_clear(struct attention_reader *r, kit_op first);
/* All of those that have a piece together. */
void attention_ring_barrier(struct attention_reader *r);
/* The piece whose first token is FIRST, to SLOT. */
void attention_ring_fill(struct attention_reader *r, kit_op first, const struct tcb_kit_slot *slot);
/* Of a piece from token FIRST on those before token END, and zeros. */
void attention_ring_fill_before(struct attention_reader *r, kit_op first, kit_op end, const struct tcb_kit_slot *slot);
/* What the kernel has of token T, at most the last: its number in K and V. */
kit_op attention_row_of(struct attention_reader *r, kit_op t);

/* attention_gpu_math.c: a piece, from token HERE on: scores, weights; and what they add. */
typedef kit_op attention_scores[ATTENTION_SUBS_MAX][ATTENTION_HALVES][ATTENTION_SETS_MAX][ATTENTION_PAIR];
void attention_write_scores(struct attention_reader *r, attention_scores scores);
void attention_write_weights(struct attention_reader *r, attention_scores scores, kit_op here);
void attention_add_values(struct attention_reader *r, attention_scores weights);
/* attention_gpu_merge.c: the parts of the block lie in shared memory, all threads have passed a barrier: merges
 * them, with those of other blocks, and stores the results. */
void attention_write_merge(struct attention_writer *w);
/* .u32: what is turned round in the places of ROW's vectors there. */
kit_op attention_write_turned(struct attention_writer *w, kit_op row);
/* join=launch: the second kernel. */
void attention_write_second(struct attention_writer *w);
/* Where the tile is: first_token, first_head and kv_head from tile. */
void attention_write_tile(struct attention_writer *w);

#endif
