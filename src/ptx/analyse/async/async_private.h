/* SPDX-License-Identifier: MIT
 *
 * Between async_driver.c (the driver), async_flow.c (the dataflow and small questions)
 * and one file for each family of instructions.  Nobody else includes this.
 */
#ifndef TCB_PTX_ASYNC_PRIVATE_H
#define TCB_PTX_ASYNC_PRIVATE_H

#include "ptx/analyse/async/async.h"

struct tcb_ptx_async {
	struct tcb_ptx_affine *affine;
	struct tcb_ptx_function *function;
	const struct tcb_ptx_sink *sink;       /* what holds for every block */
	const struct tcb_ptx_sink *block_sink; /* what holds for the block that the values are for */
	struct tcb_arena arena;
	uint8_t *has;   /* by enum tcb_ptx_op: it occurs where control comes */
	int is_foreign; /* calls, or instructions that nobody knows, may arrive at mbarriers */
	int has_failed; /* no memory */
	uint64_t *who;  /* of tcb_ptx_async_meet: by offset, round and thread */
	uint32_t round;
};

/* A forward dataflow.  Each of COUNT facts is in one of up to sixteen states on each way; a set of states holds those
 * that it may be in.  At the entry all are in state 0. */
struct tcb_ptx_async_flow {
	unsigned count;
	/* What INS makes of the sets in STATE.  With IS_LAST set the sets are final: findings may be reported. */
	void (*step)(void *ctx, const struct tcb_ptx_ins *ins, uint16_t *state, int is_last);
	void *ctx;
};

enum { TCB_PTX_ASYNC_CELLS_MAX = 1 << 23 };

/* 0 when there is no memory, or too much to do: then nothing was reported. */
int tcb_ptx_async_solve(struct tcb_ptx_async *a, const struct tcb_ptx_async_flow *flow);

/* Whether INS, a call or one that nobody knows, may do what instructions whose names begin with FAMILY do. */
int tcb_ptx_async_may_be(const struct tcb_ptx_ins *ins, const char *family);
/* Sets the bits of the threads that run INS if any does; 0 when that is unknown exactly. */
int tcb_ptx_async_present(struct tcb_ptx_async *a, const struct tcb_ptx_ins *ins, uint64_t *set);
static inline int tcb_ptx_async_is_in(const uint64_t *set, uint32_t thread)
{
	return (int)(set[thread / 64] >> (thread % 64) & 1);
}
enum { TCB_PTX_ASYNC_SET_WORDS = TCB_PTX_BLOCK_THREADS_MAX / 64 };

/* The number that OPERAND of INS is in all threads; 0: it is none, or unknown. */
int tcb_ptx_async_constant(struct tcb_ptx_async *a, const struct tcb_ptx_ins *ins,
			   const struct tcb_ptx_operand *operand, uint64_t *out);
/* The variable or parameter that ADDRESS is based on; NULL when there is not exactly one. */
const struct tcb_ptx_symbol *tcb_ptx_async_base(struct tcb_ptx_async *a, const struct tcb_ptx_value *address);

/* --- async_places.c --- */

/* What operand OPERAND of INS touches in shared memory. */
struct tcb_ptx_async_place {
	const struct tcb_ptx_ins *ins;
	unsigned operand;
	struct tcb_ptx_value address;
	const struct tcb_ptx_symbol *base; /* NULL: unknown */
	unsigned bytes;                    /* 0: unknown */
	int reads, writes, is_generic;     /* IS_GENERIC: it may lie elsewhere */
};
/* 0: no shared memory is touched. */
int tcb_ptx_async_in_shared(struct tcb_ptx_async *a, const struct tcb_ptx_ins *ins, unsigned operand,
			    struct tcb_ptx_async_place *out);
/* Whether some thread in X and some in Y (PAIR) surely touch one byte, whenever each is run; _now: in one round of the
 * loops whose values are in both addresses. */
int tcb_ptx_async_meet_now(struct tcb_ptx_async *a, const struct tcb_ptx_async_place *x,
			   const struct tcb_ptx_async_place *y, uint32_t pair[2]);
int tcb_ptx_async_meet(struct tcb_ptx_async *a, const struct tcb_ptx_async_place *x,
		       const struct tcb_ptx_async_place *y, uint32_t pair[2]);
/* What a register is computed from, as far as each value has one origin. */
struct tcb_ptx_async_origin {
	const struct tcb_ptx_symbol *base; /* the one variable of shared memory among it; NULL: none, or several */
	int base_count, is_mapped;         /* IS_MAPPED: by mapa */
	int is_of_rank;                    /* by %cluster_ctarank */
	int is_open;                       /* some of it is loaded, or differs by the way */
	int left;                          /* instructions that may still be looked at */
};
void tcb_ptx_async_trace(struct tcb_ptx_async *a, const struct tcb_ptx_operand *operand,
			 struct tcb_ptx_async_origin *out);
/* The variable of shared memory that operand INDEX (1 or 2) of the wgmma INS is, all of it; NULL: unknown. */
const struct tcb_ptx_symbol *tcb_ptx_async_tile(struct tcb_ptx_async *a, const struct tcb_ptx_ins *ins, unsigned index);
/* Whether X and Y, variables of shared memory, may lie on each other: all dynamic ones begin at one place. */
int tcb_ptx_async_same_memory(const struct tcb_ptx_symbol *x, const struct tcb_ptx_symbol *y);
/* As debug sections call it, else its symbol. */
const char *tcb_ptx_async_name(const struct tcb_ptx_symbol *symbol);

/* --- async_masks.c --- */

/* The operand that says which lanes INS is for; NULL: it has none. */
const struct tcb_ptx_operand *tcb_ptx_async_mask(const struct tcb_ptx_ins *ins);
/* The lane whose value LANE gets by a shuffle; its own where the instruction's clamp keeps it. */
unsigned tcb_ptx_async_source_lane(const struct tcb_ptx_ins *shfl, unsigned lane, uint64_t by, uint64_t clamp);

/* The families; each reports what it finds. */
typedef void tcb_ptx_async_family(struct tcb_ptx_async *a);
tcb_ptx_async_family tcb_ptx_async_masks, tcb_ptx_async_named, tcb_ptx_async_registers, tcb_ptx_async_dependent,
	tcb_ptx_async_wgmma, tcb_ptx_async_fragments, tcb_ptx_async_tensor, tcb_ptx_async_copies, tcb_ptx_async_proxies,
	tcb_ptx_async_mbarriers, tcb_ptx_async_bulk, tcb_ptx_async_reuse, tcb_ptx_async_cluster;

#endif
