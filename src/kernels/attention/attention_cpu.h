/* SPDX-License-Identifier: MIT
 *
 * Attention on CPUs: how a geometry drives it.
 *
 * A task has midi.m query tokens of a sequence against macro.n KV tokens of those that
 * they see, with all query heads of one KV head (row r is query token r / group, head
 * r % group), or with those of each KV head in turn.  It goes over these in tiles of midi.n tokens: scores, weights
 * against the maximum so far, sums of weighted values; the tile's K and V are looked at once for as many query rows as
 * have sums in registers.  macro.n below n shares a sequence between tasks: each leaves its sums in the workspace, and
 * a second phase merges them. macro.m is all query tokens, tiles' k is the head.
 *
 * attention_decode: midi.m is all query tokens; micro is one query row by a vector.  A
 * task has all KV heads, since rows of a token lie side by side: it goes over a tile's K and then over its V, each
 * time over those of all heads of step tokens before the next (0: as few as registers take).
 * prefetch: bytes that are asked for ahead, in K and behind its end in V, then in V and behind its end in the next K.
 * attention_prefill: a task has one KV head.  K and V of a tile become floats once for all of its query rows;
 * micro is the register tile, query rows by floats, of both products; of AMX the rows by KV tokens that have scores at
 * a time, and a thread keeps what it has packed for its next tasks.  Tiles of KV that no row of a tile sees are left
 * out, as are rows that see nothing of a tile.
 */
#ifndef TCB_KERNELS_ATTENTION_CPU_H
#define TCB_KERNELS_ATTENTION_CPU_H

#include "kernels/attention/attention.h"

/* attention_decode_cpu.c, attention_prefill_cpu.c */
#define ATTENTION_SIDES(kv, ...) extern const struct tcb_side attention_decode_##kv##_cpu, attention_prefill_##kv##_cpu;
TCB_KV_LIST(ATTENTION_SIDES, )
#undef ATTENTION_SIDES

/* --- what the two share --- */

/* The sizes that plan and run share.  The first are the op's own, the others follow from them. */
struct attention_dims {
	size_t heads;                            /* KV heads of a task */
	size_t lead;                             /* floats from one row of scores to the next */
	size_t ahead, step;                      /* tokens: asked for ahead; of all heads together */
	size_t packed_floats, scale_floats;      /* of K or V; of scales */
	size_t score_rows;                       /* that have scores at a time; 0: all */
	int keeps_packed;                        /* K and V of a tile are packed until the next one is */
	size_t rows, all_rows;                   /* query rows of each head, whole register tiles; together */
	size_t q_lead, o_lead;                   /* floats from one row of q, and of sums, to the next */
	size_t k_apart, v_apart;                 /* bytes from one head of a token of K, and of V, to the next */
	size_t tiles, splits, tasks;             /* of query tokens; parts of a sequence; tasks of the first phase */
	size_t tile, together;                   /* KV tokens of a tile; whole groups of them */
	size_t q_floats, o_floats, score_floats; /* of all rows */
	size_t floats;                           /* of all */
	size_t thread_bytes, part_bytes, bytes;  /* of a thread; of a part in the workspace; of all */
};

/* attention_cpu.c */
void attention_dims_complete(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
			     struct attention_dims *dims);
/* The rest of a plan that tcb_cpu_plan began. */
enum tcb_status attention_plan(const struct attention_dims *dims, struct tcb_plan *plan, struct tcb_error *err);
void attention_run(const struct tcb_plan *plan, const struct attention_dims *dims, void *const operand[],
		   void *workspace, struct tcb_pool *pool);

/* attention_cpu_space.c */
enum {
	ATTENTION_CPU_TILE_LEAST = 16,
	ATTENTION_CPU_ROWS_MOST = 16 /* of a register tile */,
	ATTENTION_CPU_TILE_MOST = 512
};
/* The family of TARGET with the widest vectors that has kernels for PROBLEM, of equals the last. */
enum tcb_isa attention_cpu_widest(const struct tcb_problem *problem, const struct tcb_target *target);
/* The axes that both ops have: rows and floats of register tiles up to these, query tokens of a task from one to the
 * other, KV tokens of a tile, in powers of two. */
struct attention_ranges {
	size_t rows_most, floats_most, tokens_least, tokens_most, tile_most;
};
size_t attention_cpu_axes(const struct tcb_problem *problem, const struct tcb_target *target,
			  const struct attention_ranges *ranges, struct tcb_axis out[TCB_AXES_MAX]);
/* Rules of both. */
const char *attention_cpu_rule_knobs(const struct tcb_problem *problem, const struct tcb_target *target,
				     const struct tcb_geometry *geometry);
/* Of the word bits: why its family goes over KV otherwise than the widest. */
const char *attention_cpu_reorders(const struct tcb_problem *problem, const struct tcb_target *target,
				   const struct tcb_geometry *geometry);
const char *attention_cpu_policy_tile(const struct tcb_problem *problem, const struct tcb_target *target,
				      const struct tcb_geometry *geometry);
/* What a default geometry's task has. */
struct attention_task {
	struct tcb_tile micro;
	size_t m;            /* all query tokens */
	size_t tokens, part; /* query tokens; KV tokens, of which a tile has at most TILE */
	size_t tile, heads;
};
void attention_cpu_geometry(const struct tcb_problem *problem, const struct tcb_target *target, enum tcb_isa isa,
			    const struct attention_task *task, struct tcb_geometry *out);
/* Of SUMS accumulators, and of REGISTERS where there are vectors. */
void attention_cpu_footprint(const struct tcb_geometry *geometry, size_t sums, size_t registers,
			     struct tcb_footprint *out);

/* --- the micro-kernel --- */

enum attention_stage {
	ATTENTION_LOAD,  /* q, times 1 / sqrt(k), to f32 */
	ATTENTION_TILE,  /* one tile of KV tokens: scores, weights, values */
	ATTENTION_MERGE, /* another part's sums to these */
	ATTENTION_STORE  /* divided, as out's type */
};

enum {
	ATTENTION_TOKENS_TOGETHER = 16, /* scores are worked out for whole groups of as many tokens, at most */
	ATTENTION_DECODE_TILE_MAX = 512,
	ATTENTION_DECODE_STEP = 16,  /* the knob step where it is not 0 */
	ATTENTION_DECODE_SHARE = 32, /* tokens that have scales of blocks beside each other, at most */
	/* What lies between rows of scores in attention_decode: a constant for compilers, and rows in different sets of
	 * the first cache. */
	ATTENTION_DECODE_LEAD = ATTENTION_DECODE_TILE_MAX + 16
};

/* KV tokens whose weights of ROWS query rows are in registers with step=0, of vectors of LANES floats. */
static inline size_t attention_tokens_of(size_t lanes, size_t rows)
{
	const size_t registers = lanes == 8 ? 8 : 16, tokens = registers / (rows == 3 ? 4 : rows);
	return tokens < lanes ? tokens : lanes;
}
/* What step=0 stands for: rows are taken by fours and then three, two or one, and all of these ways go over whole
 * numbers of tokens. */
static inline size_t attention_least_step(size_t lanes, size_t head_rows)
{
	return attention_tokens_of(lanes, head_rows % 4 ? head_rows % 4 : 4);
}

/* ROWS query rows: HEAD_ROWS of each of HEADS KV heads; arrays of a value a row, and of rows of q and of sums, whose
 * values past k and v, up to whole units of a head, are zeros. */
struct attention_call {
	enum attention_stage stage;
	enum tcb_type io;
	size_t heads, head_rows, rows;
	size_t k, v, q_lead, o_lead; /* values of a head of K, and of V; floats from row to row of q, and of o */
	size_t k_apart, v_apart;     /* bytes from head to head of a token's K, and V */
	float *q, *o, *max, *sum;
	float *scores; /* [row][lead]; of tokens past a tile's they are anything */
	size_t tokens, lead;
	/* The first head's K and V of each token of the tile, then the last again.  Other heads' lie side by side with
	 * it. */
	const void *const *k_rows, *const *v_rows;
	/* attention_decode: rows to ask for while K's and V's of the same index are at work; NULL: none. */
	const void *const *k_ahead, *const *v_ahead;
	size_t step;               /* tokens of all heads before the next; 0: as few as registers take */
	const uint32_t *from, *to; /* what each row of a head sees of the tile */
	/* attention_prefill: the rows that see any of the tile; K or V as floats. */
	size_t first_row, end_row;
	float *packed;
	uint16_t *scales; /* attention_decode of blocks: of all heads, [unit][ATTENTION_DECODE_SHARE] */
	float cap, scale;
	/* ALiBi's, of each row; the tokens of the tile that are before its query's own.  NULL: none */
	const float *slope, *own;
	const float *part_o, *part_max, *part_sum; /* ATTENTION_MERGE */
	void *const *io_row;                       /* q's or out's */
	/* attention_prefill on tiles: PACKED has K and V of ROOM tokens, and those of this tile already or not. */
	size_t room;
	int is_packed;
};
typedef void attention_micro_fn(const struct attention_call *call);

/* LIST: the tables NAME_variants_<isa> of all families of floats; on x86-64 also NAME_half_variants_ISA, of contract
 * f16 alone, for each ISA of HALVES(X, ...), an X(isa, ...) each. */
#if defined(__x86_64__)
#define ATTENTION_VARIANT_TABLES(list, name, HALVES)                                                          \
	TCB_ISAS_FLOATS(TCB_VARIANT_TABLE_DECLARATION, name##_variants)                                       \
	HALVES(ATTENTION_HALF_DECLARATION, name)                                                              \
	static const struct tcb_variant *const list[] = { TCB_ISAS_FLOATS(TCB_VARIANT_TABLE, name##_variants) \
								  HALVES(ATTENTION_HALF_TABLE, name) NULL };
#define ATTENTION_HALF_DECLARATION(isa, name) extern const struct tcb_variant name##_half_variants_##isa[];
#define ATTENTION_HALF_TABLE(isa, name) name##_half_variants_##isa,
#else
#define ATTENTION_VARIANT_TABLES(list, name, HALVES) TCB_VARIANT_TABLES(list, TCB_ISAS_FLOATS, name##_variants)
#endif

#endif
