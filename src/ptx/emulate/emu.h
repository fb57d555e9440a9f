/* SPDX-License-Identifier: MIT
 *
 * Inside of the emulator: what its units share.  emulate.h is for everybody else.
 *
 * A function is decoded once to an array of tcb_emu_ins.  Each holds the
 * handler that executes it for the active lanes of one warp, its operands as
 * places in the register file, and whatever its binder precomputed.  A binder
 * is called once per instruction while decoding; emu_units.c has the table
 * that says which binder serves which opcode.  To add a unit: write a binder
 * and handlers, declare the binder below, add lines to the table.
 *
 * The register file of a warp is an array of lanes for each register:
 *   .pred         one uint32_t: the mask of lanes where it holds
 *   8 to 32 bits  uint32_t[32], zero-extended
 *   64 bits       uint64_t[32]
 *   128 bits      uint64_t[2][32], low halves first
 * Immediates are arrays of 32 equal lanes in a pool, so handlers need not tell
 * them from registers.  The interpreter's loop evaluates guards, checks that
 * sources were written, marks results as written, and counts; a handler only
 * computes: it must leave inactive lanes of its results alone.
 *
 * Order of memory: RUN.tick grows with each access; everything that warp U did
 * at ticks below WARP.seen.whole[U] happens before what WARP does next.  Lanes
 * that acquired something alone know more: emu_clock.c.
 */
#ifndef TCB_PTX_EMU_H
#define TCB_PTX_EMU_H

#include "ptx/emulate/emulate.h"
#include "ptx/ir/opcodes.h"

enum {
	TCB_EMU_LANES = 32,
	TCB_EMU_BARRIERS = 16,
	TCB_EMU_BYTES_MAX = 32,      /* of an access of one lane */
	TCB_EMU_SHARED_START = 1024, /* shared memory begins here, so that a raw 0 is no valid address */
	TCB_EMU_RANK_SHIFT = 24      /* shared::cluster address: rank + 1 above this bit, 0 for the block's own */
};

/* Generic addresses: windows of 2^56 bytes.  Device memory, constants and parameters have no window of their own:
 * their addresses are generic already. */
#define TCB_EMU_SHARED_WINDOW (1ull << 56)
#define TCB_EMU_LOCAL_WINDOW (2ull << 56)
#define TCB_EMU_WINDOW(address) ((address)&0xffull << 56)

/* --- decoded --- */

enum tcb_emu_kind {
	TCB_EMU_NONE,    /* a sink: results go nowhere */
	TCB_EMU_REG,     /* lanes in the frame */
	TCB_EMU_CONST,   /* lanes in the pool */
	TCB_EMU_ADDRESS, /* base lanes (64 or 32 bits; REG, or CONST zeros) + offset */
	TCB_EMU_VECTOR,  /* items */
	TCB_EMU_SPECIAL,
	TCB_EMU_OTHER /* look at the instruction */
};

struct tcb_emu_operand {
	uint8_t kind;    /* enum tcb_emu_kind */
	uint8_t bits;    /* of the register (1 for a predicate), or of the immediate as the instruction sees it */
	uint8_t negated; /* a predicate used as !p */
	uint8_t is_pool; /* ADDRESS: no base register */
	uint16_t special;
	uint16_t count;                /* of items */
	uint32_t reg;                  /* REG, ADDRESS: index in the function, or TCB_PTX_NO_REG */
	uint32_t offset;               /* REG, CONST, ADDRESS: bytes from the start of the frame or of the pool */
	int64_t add;                   /* ADDRESS: symbol and displacement */
	struct tcb_emu_operand *items; /* VECTOR and PAIR; ADDRESS: tensor coordinates */
};

struct tcb_emu_warp;
struct tcb_emu_ins;
/* Executes IN for the lanes of ACTIVE (never 0). */
typedef void tcb_emu_run_fn(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active);

struct tcb_emu_ins {
	tcb_emu_run_fn *run;
	const struct tcb_ptx_ins *ins;
	struct tcb_emu_operand *op;
	uint32_t guard; /* byte offset of the guard's mask in the frame, or UINT32_MAX */
	uint32_t guard_reg;
	uint8_t guard_negated; /* all ones or 0 below */
	uint8_t op_count;
	uint8_t class;   /* enum tcb_ptx_count_class */
	uint8_t is_copy; /* what was never written may be copied: the copy was not written either */
	uint16_t source_count, result_count;
	const uint32_t *sources, *results; /* registers read and written, for the check of unwritten ones */
	uint32_t count;                    /* index of its counters */
	/* free for the binder */
	uint32_t a, b, c, d;
	uint64_t wide;
	void *extra; /* in the program's arena */
	/* control flow: positions in the function's code; UINT32_MAX for none */
	uint32_t target, join;
};

struct tcb_emu_function {
	const struct tcb_ptx_function *function;
	struct tcb_emu_ins *code;
	uint32_t code_count, first_count;
	uint32_t lane_bytes;  /* of the register file */
	uint32_t *reg_offset; /* by register */
	uint32_t local_bytes; /* .local and .param variables of one thread */
	uint32_t index;
	uint64_t *wgmma_registers; /* bits of those that any wgmma uses; NULL: there is none */
};

/* What a binder gets. */
struct tcb_emu_decoder {
	struct tcb_ptx_program *program;
	struct tcb_emu_function *function;
	struct tcb_arena *arena;
};

/* Sets IN->run and what the handler wants to know.  TCB_E_UNSUPPORTED with the reason when there is no way. */
typedef enum tcb_status tcb_emu_bind_fn(struct tcb_emu_decoder *decoder, struct tcb_emu_ins *in, struct tcb_error *err);

/* --- running --- */

/* Registers of one call of a function by some lanes of a warp. */
struct tcb_emu_frame {
	uint8_t *lanes;
	uint32_t *written; /* by register: the lanes that were written */
	uint32_t *unknown; /* of those: the lanes whose value depends on what is unknown; NULL: all is known */
	const struct tcb_emu_function *function;
	struct tcb_emu_frame *caller;   /* or the next free frame */
	const struct tcb_emu_ins *call; /* in the caller */
	uint32_t live;                  /* lanes that have not returned */
	uint32_t local_base;            /* where its variables begin in each thread's local memory */
	uint32_t depth;
};

/* Lanes that wait to go on together: at a post-dominator, or after a call. */
struct tcb_emu_join {
	struct tcb_emu_join *parent;
	struct tcb_emu_frame *frame;
	uint32_t pc;
	uint32_t expected, arrived;
	int is_call;
};

/* ENDED: what it does next depends on what is unknown */
enum tcb_emu_state { TCB_EMU_READY, TCB_EMU_AT_BARRIER, TCB_EMU_AT_CLUSTER, TCB_EMU_AT_WARP_SYNC, TCB_EMU_ENDED };

/* Lanes of a warp that are at the same place. */
struct tcb_emu_split {
	uint32_t mask;
	uint32_t pc;
	struct tcb_emu_frame *frame;
	struct tcb_emu_join *join;
	uint8_t state; /* enum tcb_emu_state */
	uint8_t barrier;
	uint32_t members;             /* AT_WARP_SYNC: whom it waits for */
	uint64_t phase;               /* AT_CLUSTER */
	const struct tcb_emu_ins *in; /* where it waits */
};

/* A group of units' own data; zeroed when the block begins, from the block's arena. */
enum tcb_emu_unit {
	TCB_EMU_UNIT_MBARRIER,
	TCB_EMU_UNIT_BULK,
	TCB_EMU_UNIT_WGMMA,
	TCB_EMU_UNIT_TMEM,
	TCB_EMU_UNIT_TCGEN05,
	TCB_EMU_UNIT_COUNT
};

/* Who is told by a release or fence: everybody, or the block that it is in. */
enum tcb_emu_scope { TCB_EMU_ALL_BLOCKS, TCB_EMU_OWN_BLOCK, TCB_EMU_SCOPES };

struct tcb_emu_copies; /* cp.async of one warp: emu_copy.c */

/* What setmaxnreg made of a warp's registers: emu_registers.c. */
struct tcb_emu_registers {
	uint32_t now, least, most;               /* of a thread; MOST of what it took */
	const struct tcb_emu_ins *last, *taking; /* NULL: none yet; what took MOST */
	uint64_t sequence;                       /* tells whether two warps did the same */
};

/* Ticks of the lanes of AGENT, where they are not known alike. */
struct tcb_emu_part {
	struct tcb_emu_part *next; /* of a greater agent */
	uint32_t agent;
	uint32_t reads; /* what any of its lanes read before this tick had been taken by a wgmma of all of them */
	uint32_t tick[TCB_EMU_LANES];
};

/* What somebody knows: all that the lanes of an agent did at ticks below WHOLE[agent], and what one lane did below the
 * tick of its part.  Vectors are RUN.agents long. */
struct tcb_emu_clock {
	uint32_t *whole;
	struct tcb_emu_part *parts;
};

struct tcb_emu_warp {
	/* the split that runs */
	const struct tcb_emu_ins *pc; /* the next instruction */
	uint8_t *lanes;               /* frame->lanes */
	const uint8_t *pool;
	uint32_t mask; /* of the split */
	int stop;      /* leave the loop: something changed */
	struct tcb_emu_frame *frame;
	struct tcb_emu_join *join;

	struct tcb_emu_run *run;
	struct tcb_emu_block *block;
	uint32_t index;   /* in the block */
	uint32_t agent;   /* among all that run together: its place in vectors of ticks */
	uint32_t exists;  /* lanes that have a thread */
	uint32_t live;    /* that have not exited */
	uint32_t current; /* index of the running split */
	uint32_t split_count;
	struct tcb_emu_split split[TCB_EMU_LANES + 1]; /* one more while one is replaced */
	struct tcb_emu_join *free_joins;
	struct tcb_emu_frame *free_frames;
	struct tcb_emu_clock seen;   /* what all its lanes know */
	struct tcb_emu_clock *apart; /* [32]: what those of APART_LANES know beside it; NULL before the first */
	/* of other warps, what it knew at its last fence of more than its block, and of any scope */
	struct tcb_emu_clock fenced[TCB_EMU_SCOPES];
	struct tcb_emu_clock heard;                         /* what HEARD_LANES will know at their next */
	uint32_t fence_tick[TCB_EMU_SCOPES][TCB_EMU_LANES]; /* of those fences; 0: none yet */
	uint32_t apart_lanes, heard_lanes;
	uint32_t carry;    /* CC.CF by lane */
	uint32_t synced;   /* accesses of any lane before this tick are ordered with all lanes */
	uint32_t gathered; /* what its lanes read before this tick is in registers: a wgmma of all of them is over */
	uint32_t *known;   /* [32][32] the same by pairs of lanes, once some of them met or passed something on */
	uint64_t steps;
	int spins; /* it gave way because a wait failed */
	/* whether its turns repeat: emu_schedule.c */
	uint64_t watched_progress, watched_state;
	uint32_t watched_turns;
	int repeats;
	uint8_t *local; /* [32][local_bytes] */
	uint32_t local_bytes;
	struct tcb_emu_copies *copies;
	struct tcb_emu_registers registers;
	uint32_t waited, waited_tick; /* lanes that are behind griddepcontrol.wait; when the last of them waited */
	uint32_t tid[3][TCB_EMU_LANES];
	void *unit[TCB_EMU_UNIT_COUNT];
};

struct tcb_emu_shadow;  /* who wrote and read which byte: emu_race_shared.c */
struct tcb_emu_barrier; /* emu_barrier.c */
struct tcb_emu_remote;  /* emu_race_shared.c */

struct tcb_emu_block {
	struct tcb_emu_run *run;
	uint32_t ctaid[3];
	uint32_t rank;   /* in the cluster, whose blocks lie side by side */
	uint8_t *shared; /* its bytes; address TCB_EMU_SHARED_START is shared[0] */
	uint32_t shared_bytes;
	struct tcb_emu_shadow *shadow;
	struct tcb_emu_warp *warps;
	uint32_t warp_count;
	struct tcb_emu_barrier *barriers; /* [TCB_EMU_BARRIERS] */
	struct tcb_emu_clock scratch[2];  /* for fences between proxies */
	struct tcb_emu_remote *remote;    /* by agent: when it touched this block's shared memory from another */
	struct tcb_arena arena;           /* freed when the cluster is done */
	void *unit[TCB_EMU_UNIT_COUNT];
};

/* Something that happens later: a bulk copy.  The scheduler calls RUN when warps wait, or earlier.  The newest comes
 * first: none waits for those before it, and who relies on that it does is found. */
struct tcb_emu_deferred {
	struct tcb_emu_deferred *next;
	void (*run)(struct tcb_emu_deferred *self);
};

struct tcb_emu_run {
	struct tcb_ptx_program *program;
	const struct tcb_ptx_launch *launch;
	struct tcb_ptx_memory *memory;
	const struct tcb_ptx_sink *sink;
	struct tcb_ptx_emulation *out;
	struct tcb_ptx_counts *counts;
	uint64_t *reported;           /* bits of rules, TCB_EMU_REPORTED_WORDS by counter */
	struct tcb_emu_found *found;  /* where findings wait; NULL: they go to SINK at once */
	struct tcb_emu_crew *crew;    /* whose part this is: emu_crew.c; NULL: one thread does the launch */
	uint8_t *kept;                /* what memory held before: emu_kept.c; NULL: nobody knows */
	struct tcb_emu_block *blocks; /* that run together: of a cluster, of several, or all of a cooperative grid */
	uint32_t room, block_count;   /* there is memory for; that run now */
	uint64_t cluster_count;       /* of the launch */
	uint64_t blocks_done;
	uint32_t cluster_size[3], cluster_blocks;
	uint64_t
		grid_barrier; /* address of what cooperative groups keep for a grid; 0: the launch is not cooperative */
	int asked_grid_barrier; /* and there was none */
	uint32_t warps;         /* of all these blocks */
	/* length of vectors: those warps; those again, for what fence.proxy.async covers, if the program needs
	 * it; the copy engine where it writes device memory; otherwise; earlier clusters */
	uint32_t agents;
	uint32_t tick;
	uint64_t steps;
	uint64_t progress; /* grows with each event that others may wait for */
	int fault;         /* stop everything */
	int has_ended;     /* a split is ENDED: who waits may wait for it */
	int may_widen;     /* blocks that wait for each other may be given more blocks to run beside them */
	int wants_company; /* they shall be; all that was done is void */
	struct tcb_emu_deferred *deferred; /* the newest first */
	struct tcb_emu_region *region;     /* of the last access */
	struct tcb_emu_shadow **shadows;   /* by block: kept from cluster to cluster */
	struct tcb_emu_places *places;     /* what atomics and flags in memory pass on: emu_order.c */
	struct tcb_arena parts;            /* of clocks: those that are not used wait in SPARE_PARTS */
	struct tcb_emu_part *spare_parts;
	uint32_t cluster; /* number of the running one, from 1 */
	struct tcb_rng *rng;
	struct tcb_error *err;
	enum tcb_status status; /* when not even running could go on: out of memory */
};

/* --- lanes --- */

static inline const void *tcb_emu_lanes(const struct tcb_emu_warp *warp, const struct tcb_emu_operand *op)
{
	return (op->kind == TCB_EMU_CONST || op->is_pool ? warp->pool : warp->lanes) + op->offset;
}
static inline const uint32_t *tcb_emu_get32(const struct tcb_emu_warp *warp, const struct tcb_emu_operand *op)
{
	return tcb_emu_lanes(warp, op);
}
static inline const uint64_t *tcb_emu_get64(const struct tcb_emu_warp *warp, const struct tcb_emu_operand *op)
{
	return tcb_emu_lanes(warp, op);
}
/* A predicate operand as a mask, negation applied. */
static inline uint32_t tcb_emu_pred(const struct tcb_emu_warp *warp, const struct tcb_emu_operand *op)
{
	uint32_t mask = *(const uint32_t *)tcb_emu_lanes(warp, op);

	return op->negated ? ~mask : mask;
}
/* One lane of a register or immediate of up to 64 bits. */
static inline uint64_t tcb_emu_get(const struct tcb_emu_warp *warp, const struct tcb_emu_operand *op, unsigned lane)
{
	if (op->bits == 1)
		return tcb_emu_pred(warp, op) >> lane & 1;
	return op->bits == 64 ? tcb_emu_get64(warp, op)[lane] : tcb_emu_get32(warp, op)[lane];
}
/* Writes one lane of a result, cut to its register; a sink takes it too. */
static inline void tcb_emu_set(struct tcb_emu_warp *warp, const struct tcb_emu_operand *op, unsigned lane,
			       uint64_t value)
{
	uint8_t *at = warp->lanes + op->offset;

	if (op->kind != TCB_EMU_REG)
		return;
	if (op->bits == 1)
		*(uint32_t *)at = (*(uint32_t *)at & ~(1u << lane)) | (uint32_t)(value & 1) << lane;
	else if (op->bits == 64)
		((uint64_t *)at)[lane] = value;
	else
		((uint32_t *)at)[lane] = op->bits == 32 ? (uint32_t)value : (uint32_t)value & ((1u << op->bits) - 1);
}
/* The active lanes of a result of EACH bytes, a constant, from RESULT. */
static inline void tcb_emu_put(struct tcb_emu_warp *warp, const struct tcb_emu_operand *op, const void *result,
			       size_t each, uint32_t active)
{
	uint8_t *to = warp->lanes + op->offset;
	const uint8_t *from = result;

	if (op->kind != TCB_EMU_REG)
		return;
	if (active == UINT32_MAX)
		__builtin_memcpy(to, from, each * TCB_EMU_LANES);
	else
		for (uint32_t rest = active; rest; rest &= rest - 1)
			__builtin_memcpy(to + each * (unsigned)__builtin_ctz(rest),
					 from + each * (unsigned)__builtin_ctz(rest), each);
}
static inline void tcb_emu_put32(struct tcb_emu_warp *warp, const struct tcb_emu_operand *op, const uint32_t *result,
				 uint32_t active)
{
	tcb_emu_put(warp, op, result, sizeof *result, active);
}
static inline void tcb_emu_put64(struct tcb_emu_warp *warp, const struct tcb_emu_operand *op, const uint64_t *result,
				 uint32_t active)
{
	tcb_emu_put(warp, op, result, sizeof *result, active);
}
static inline void tcb_emu_put_pred(struct tcb_emu_warp *warp, const struct tcb_emu_operand *op, uint32_t result,
				    uint32_t active)
{
	uint32_t *to = (uint32_t *)(warp->lanes + op->offset);

	if (op->kind == TCB_EMU_REG)
		*to = (*to & ~active) | (result & active);
}
/* The address of LANE, displacement included, cut to 32 bits where the register has 32. */
static inline uint64_t tcb_emu_address(const struct tcb_emu_warp *warp, const struct tcb_emu_operand *op, unsigned lane)
{
	return op->bits == 64 ? tcb_emu_get64(warp, op)[lane] + (uint64_t)op->add
			      : (uint32_t)(tcb_emu_get32(warp, op)[lane] + (uint32_t)op->add);
}
#define TCB_EMU_EACH(lane, mask)                                                      \
	for (uint32_t tcb_rest_##lane = (mask), lane;                                 \
	     tcb_rest_##lane && (lane = (uint32_t)__builtin_ctz(tcb_rest_##lane), 1); \
	     tcb_rest_##lane &= tcb_rest_##lane - 1)

/* --- emu_report.c --- */

/* A finding at IN for LANE (or -1): reported once for each instruction and rule. */
void tcb_emu_report(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, int lane, enum tcb_ptx_rule rule,
		    enum tcb_ptx_severity severity, const char *format, ...) __attribute__((format(printf, 6, 7)));
/* The same as an error that ends the launch. */
void tcb_emu_fault(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, int lane, enum tcb_ptx_rule rule,
		   const char *format, ...) __attribute__((format(printf, 5, 6)));
/* Memory of the host is exhausted. */
void tcb_emu_no_memory(struct tcb_emu_run *run);

/* Reports lanes of ACTIVE where REG was never written; the interpreter does it for IN->sources already. */
void tcb_emu_check_written(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t reg, uint32_t active);

/* --- emu_access.c: from an address to the host's bytes --- */

enum {
	TCB_EMU_READ = 1,
	TCB_EMU_WRITE = 2,
	TCB_EMU_ATOMIC = 4,       /* does not race with other atomics */
	TCB_EMU_ASYNC_AGENT = 8,  /* done by the copy engine: ordered only through what it completes on */
	TCB_EMU_STRONG = 16,      /* relaxed, acquire, release, volatile: does not race with its like */
	TCB_EMU_PROXY_ASYNC = 64, /* a read by wgmma: needs fence.proxy.async after ordinary writes, as copies do */
	TCB_EMU_VOLATILE = 128,   /* beside STRONG */
	TCB_EMU_COMPLETES = 512,  /* of an mbarrier that a copy will complete on */
	TCB_EMU_BLOCK = 256,      /* beside ATOMIC: atomic for the block only */
	TCB_EMU_COMMUTES = 1024,  /* beside ATOMIC: in whatever order such atomics are done, nobody sees a difference */
	TCB_EMU_INIT = 32         /* of an mbarrier and the like: no race, no check that it was written */
};

/* BYTES at ADDRESS for LANE (-1: nobody in particular): bounds, alignment, permission, pending copies, unwritten shared
 * memory and races are checked and recorded.  NULL after a fault.  For a write call it before writing; VALUE is what
 * will be written when known, so that equal writes are no race (else NULL). */
uint8_t *tcb_emu_shared(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, int lane, uint32_t address,
			unsigned bytes, unsigned align, unsigned flags, const void *value);
/* The same of an ordinary read by all of LANES; they are told one by one where something is wrong. */
uint8_t *tcb_emu_shared_by_all(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t lanes,
			       uint32_t address, unsigned bytes, unsigned align);
/* Ordinary loads of BYTES at ADDRESS of each of ACTIVE, and stores of VALUE there, which are done then.  0: some
 * address is none of the block's own, or not a multiple of BYTES; nothing was done, and lane by lane what is wrong is
 * told. */
int tcb_emu_shared_loads(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, const uint64_t *address,
			 uint32_t active, unsigned bytes);
int tcb_emu_shared_stores(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, const uint64_t *address,
			  uint32_t active, unsigned bytes, const uint8_t (*value)[TCB_EMU_BYTES_MAX]);
/* The same of a read of BYTES at each of COUNT addresses by tensor cores; 0 after a fault. */
int tcb_emu_shared_chunks(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, const uint32_t *address,
			  unsigned count, unsigned bytes);
uint8_t *tcb_emu_global(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, int lane, uint64_t address,
			unsigned bytes, unsigned align, unsigned flags, const void *value);
/* By window. */
uint8_t *tcb_emu_generic(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, int lane, uint64_t address,
			 unsigned bytes, unsigned align, unsigned flags, const void *value);
/* The block of a shared::cluster address (the warp's own for one of shared::cta); NULL when the rank does not exist.
 * *OFFSET is the place in block->shared; it is not checked. */
struct tcb_emu_block *tcb_emu_shared_block(struct tcb_emu_warp *warp, uint32_t address, uint32_t *offset);
/* Marks shared bytes as the target of a copy in flight, or no more: reads meanwhile are ASYNC_PENDING. */
void tcb_emu_pending(struct tcb_emu_block *block, uint32_t offset, uint32_t bytes, int on);

/* --- emu_count.c --- */

/* Counts a request of ACTIVE lanes, each BYTES at ADDRESS[lane], of shared or of global memory. */
void tcb_emu_count_shared(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, const uint32_t *address,
			  uint32_t active, unsigned bytes);
void tcb_emu_count_global(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, const uint64_t *address,
			  uint32_t active, unsigned bytes, unsigned flags);

/* The first block of BLOCK's cluster. */
static inline struct tcb_emu_block *tcb_emu_cluster(struct tcb_emu_block *block)
{
	return block - block->rank;
}

/* --- emu_clock.c: what happens before what --- */

/* An empty clock of ARENA's memory; 0: there is none left. */
int tcb_emu_clock_init(struct tcb_emu_run *run, struct tcb_arena *arena, struct tcb_emu_clock *clock);
void tcb_emu_clock_clear(struct tcb_emu_run *run, struct tcb_emu_clock *clock);
void tcb_emu_clock_merge(struct tcb_emu_run *run, struct tcb_emu_clock *to, const struct tcb_emu_clock *from);
/* CLOCK learns that AGENT, whole, is done until TICK. */
void tcb_emu_clock_reach(struct tcb_emu_run *run, struct tcb_emu_clock *clock, uint32_t agent, uint32_t tick);
/* ... and each of its lanes until TICK[lane]. */
void tcb_emu_clock_lanes(struct tcb_emu_run *run, struct tcb_emu_clock *clock, uint32_t agent, const uint32_t *tick,
			 uint32_t reads);
/* The last tick that CLOCK knows of. */
uint32_t tcb_emu_clock_most(const struct tcb_emu_run *run, const struct tcb_emu_clock *clock);
/* TO learns all that LANES of WARP know and did. */
void tcb_emu_release(struct tcb_emu_warp *warp, uint32_t lanes, struct tcb_emu_clock *to);
/* LANES of WARP learn what FROM says. */
void tcb_emu_acquire(struct tcb_emu_warp *warp, uint32_t lanes, const struct tcb_emu_clock *from);
/* A fence of LEAST and of what is less. */
void tcb_emu_fence(struct tcb_emu_warp *warp, uint32_t lanes, enum tcb_emu_scope least);
/* TO learns all that LANE had behind it at its last fence of SCOPE. */
void tcb_emu_release_fenced(struct tcb_emu_warp *warp, unsigned lane, enum tcb_emu_scope scope,
			    struct tcb_emu_clock *to);
/* LANES of WARP learn what each other knows and did. */
void tcb_emu_sync_lanes(struct tcb_emu_warp *warp, uint32_t lanes);
int tcb_emu_knows_lanes(const struct tcb_emu_warp *warp, unsigned lane, uint32_t agent, uint32_t lanes, uint32_t tick);
/* Whether what any lane of AGENT read at TICK is behind LANE of WARP because a wgmma of all its lanes was over when one
 * of them released: that instruction had their values. */
int tcb_emu_knows_reads(const struct tcb_emu_warp *warp, unsigned lane, uint32_t agent, uint32_t tick);
/* Whether what LANES of AGENT (0: any one of its lanes) did at TICK is behind LANE of WARP, or behind any lane of WARP
 * if it has no such lane. */
static inline int tcb_emu_knows(const struct tcb_emu_warp *warp, unsigned lane, uint32_t agent, uint32_t lanes,
				uint32_t tick)
{
	return (agent == warp->agent ? warp->synced : warp->seen.whole[agent]) > tick ||
	       tcb_emu_knows_lanes(warp, lane, agent, lanes, tick);
}

/* --- emu_order.c --- */

/* Whom INS, a fence, an atomic or a flag, tells of what is behind it. */
enum tcb_emu_scope tcb_emu_scope_of(const struct tcb_ptx_ins *ins);

/* A strong access (atomic, volatile, relaxed, acquire, release) of LANES of WARP at the place KEY (a host pointer):
 * passes on what they released before, by this access or a fence, and what others did. */
void tcb_emu_strong(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t lanes, const void *key,
		    unsigned flags);
/* fence.proxy.async: what LANES of WARP did and know of is visible to copies and wgmma, theirs and those of whom they
 * tell. */
void tcb_emu_fence_proxy(struct tcb_emu_warp *warp, uint32_t lanes);
/* TO learns what the copy engine did until now. */
void tcb_emu_release_async(struct tcb_emu_run *run, struct tcb_emu_clock *to);

/* --- emu_schedule.c --- */

/* Others go first before the running split executes its next instruction.  For waits that failed: when all warps only
 * spin and nothing is in flight, that is a deadlock. */
static inline void tcb_emu_spin(struct tcb_emu_warp *warp)
{
	warp->spins = 1;
	warp->stop = 1;
}
/* Something happened that others may wait for. */
static inline void tcb_emu_progress(struct tcb_emu_run *run)
{
	run->progress++;
}
static inline void tcb_emu_defer(struct tcb_emu_run *run, struct tcb_emu_deferred *deferred)
{
	deferred->next = run->deferred;
	run->deferred = deferred;
}

/* --- emu_units.c: binders by opcode; of those that a binder serves, what runs some --- */
tcb_emu_bind_fn *tcb_emu_binder(enum tcb_ptx_op op);
struct tcb_emu_runner {
	enum tcb_ptx_op op;
	tcb_emu_run_fn *run;
};
/* Gives IN the one of COUNT RUNNERS that its opcode has; 0 where it has none. */
int tcb_emu_run_by(struct tcb_emu_ins *in, const struct tcb_emu_runner *runners, size_t count);
tcb_emu_run_fn tcb_emu_run_nothing;
/* What UNIT (TCB_EMU_UNIT_...) keeps of WARP's block, of BYTES, zeros at first; NULL, which the run knows: no memory.
 */
void *tcb_emu_unit(struct tcb_emu_warp *warp, unsigned unit, size_t bytes);

/* --- emu_fp.c --- */

/* The modifiers of INS as flags of emu_float.h. */
unsigned tcb_emu_float_flags(const struct tcb_ptx_ins *ins);
/* --- emu_half.c: a quick handler for an instruction that tcb_emu_bind_fp has prepared, or NULL --- */
tcb_emu_run_fn *tcb_emu_fast_half(const struct tcb_emu_ins *in);

/* --- binders, by the file that has them --- */
tcb_emu_bind_fn tcb_emu_bind_integer, tcb_emu_bind_bits;                      /* emu_integer.c, emu_bits.c */
tcb_emu_bind_fn tcb_emu_bind_fp, tcb_emu_bind_half, tcb_emu_bind_cvt;         /* emu_fp.c, emu_half.c, emu_cvt.c */
tcb_emu_bind_fn tcb_emu_bind_compare, tcb_emu_bind_move, tcb_emu_bind_policy; /* emu_compare.c, emu_move.c */
tcb_emu_bind_fn tcb_emu_bind_memory, tcb_emu_bind_atomic,
	tcb_emu_bind_copy;         /* emu_memory.c, emu_atomic.c, emu_copy.c */
tcb_emu_bind_fn tcb_emu_bind_wmma; /* emu_wmma.c */
/* emu_texture.c: 0 when it is no fetch that is emulated */
int tcb_emu_bind_texture(struct tcb_emu_decoder *decoder, struct tcb_emu_ins *in);
/* emu_mma.c, emu_mbarrier.c, emu_bulk.c, emu_tensor.c, emu_wgmma.c, emu_cluster.c, emu_launch.c,
 * emu_registers.c */
tcb_emu_bind_fn tcb_emu_bind_mma, tcb_emu_bind_mbarrier, tcb_emu_bind_bulk, tcb_emu_bind_tensor, tcb_emu_bind_wgmma,
	tcb_emu_bind_cluster, tcb_emu_bind_launch, tcb_emu_bind_setmaxnreg;
/* emu_tensor_map.c, emu_tmem.c, emu_tcgen05.c */
tcb_emu_bind_fn tcb_emu_bind_tensor_map, tcb_emu_bind_tmem, tcb_emu_bind_tcgen05;
tcb_emu_bind_fn tcb_emu_bind_control, tcb_emu_bind_barrier,
	tcb_emu_bind_lanes; /* emu_control.c, emu_barrier.c, emu_lanes.c */

#endif
