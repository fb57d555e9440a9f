/* SPDX-License-Identifier: MIT
 *
 * Between hazard_events.c (what touches memory, what orders it),
 * hazard_overlap.c (whether two accesses can meet), hazard_walk.c (what is
 * reached between barriers, and by whom), hazard_sync.c (who acquires, who
 * releases), hazard_signals.c (flags and locks), hazard_races.c and hazard_barriers.c
 * (which accesses have no order).  Nobody else includes this.
 */
#ifndef TCB_PTX_HAZARDS_PRIVATE_H
#define TCB_PTX_HAZARDS_PRIVATE_H

#include "ptx/analyse/hazards/hazards.h"

enum { TCB_PTX_IN_SHARED = 1, TCB_PTX_IN_GLOBAL = 2 };

struct tcb_ptx_start {
	int64_t at; /* the part of the address that is known for the thread */
	uint32_t thread;
};

/* One access of memory, or something that may be any. */
struct tcb_ptx_event {
	struct tcb_ptx_ins *ins;
	struct tcb_ptx_value address;
	uint8_t spaces, reads, writes;
	uint8_t is_ordered; /* atomic, volatile or stronger: no race by itself, but it may signal */
	uint8_t is_opaque;  /* calls, fences, asynchronous copies and their waits: orders and touches unknown things */
	uint8_t is_known;   /* ADDRESS is */
	uint8_t assumes;    /* but only if indices do not wrap around: global memory only */
	uint8_t is_sure;    /* STARTS are those that are there, or none */
	unsigned bytes;
	struct tcb_ptx_start *starts; /* of the threads that may be there, by rising address */
	uint32_t start_count;
	uint32_t segment;
};

enum tcb_ptx_cut {
	TCB_PTX_CUT_NONE,
	TCB_PTX_CUT_SIGNAL,  /* one thread tells others, or is told: nobody waits here */
	TCB_PTX_CUT_WARP,    /* lanes of a warp wait for each other */
	TCB_PTX_CUT_LENIENT, /* some threads wait for some others */
	TCB_PTX_CUT_FULL     /* all threads of the block wait for each other, whatever happened */
};

/* What the end of a segment does to the order between threads, as bits. */
enum {
	TCB_PTX_SYNC_ACQUIRE = 1,
	TCB_PTX_SYNC_RELEASE = 2,
	TCB_PTX_SYNC_WORD = 4,          /* by a word of memory, as flags and locks are */
	TCB_PTX_SYNC_FENCE = 8,         /* releases if a strong write follows, acquires if a strong read was before */
	TCB_PTX_SYNC_STRONG_READ = 16,  /* atomic, volatile or relaxed */
	TCB_PTX_SYNC_STRONG_WRITE = 32, /* likewise */
	TCB_PTX_SYNC_LANES = 64         /* what one lane of the warp has acquired or will release, all have */
};

/* A run of instructions of one block that holds nothing that orders threads. */
struct tcb_ptx_segment {
	struct tcb_ptx_block *block;
	struct tcb_ptx_ins *end; /* what ends it: something that orders, or NULL at the end of the block */
	const uint64_t *who;     /* the threads that may run END, as tcb_ptx_affine_active; NULL without END */
	enum tcb_ptx_cut cut;    /* what END is */
	uint8_t sync;            /* TCB_PTX_SYNC_ */
	uint32_t first_event, event_count;
	uint8_t is_removed; /* END is a barrier that is to be taken away */
	uint8_t is_removable;
};

struct tcb_ptx_hazards {
	struct tcb_ptx_affine *affine;
	struct tcb_ptx_function *function;
	struct tcb_arena arena;
	struct tcb_ptx_event *events;
	uint32_t event_count, event_capacity;
	struct tcb_ptx_segment *segments;
	uint32_t segment_count, segment_capacity;
	uint32_t *first_segment;              /* by block->number; those of a block follow each other */
	uint32_t words;                       /* of a set of threads */
	const struct tcb_ptx_symbol **stored; /* parameters and variables behind which something is stored */
	uint32_t stored_count;
	uint64_t *released[2]; /* by segment, and TCB_PTX_BY_: threads that may release what they did in it, before all
				* threads meet again */
	uint8_t is_exact;      /* all threads exist */
	uint8_t has_fences;
	uint8_t has_tensor; /* Tensor Memory, whose accesses are no events: each barrier may order them */
	int is_hopeless;    /* no entry, a cycle that is no loop, or too large: nothing is said */
	uint64_t budget;    /* of comparisons of addresses */
};

/* How an order between threads may come about. */
enum tcb_ptx_by { TCB_PTX_BY_BARRIER, TCB_PTX_BY_WORD };

/* How the symbols of two accesses relate: those that change with these loops. */
struct tcb_ptx_skew {
	uint64_t later; /* the second is one round later */
	uint64_t any;   /* anything */
};

enum tcb_ptx_meeting { TCB_PTX_NEVER_MEET, TCB_PTX_MAY_MEET, TCB_PTX_MEET };

/* Which pairs of threads are looked for. */
enum tcb_ptx_pairing { TCB_PTX_ANY_THREADS, TCB_PTX_OTHER_WARPS, TCB_PTX_SAME_WARP };

/* The threads that are looked at, as sets; NULL: all. */
struct tcb_ptx_threads {
	const uint64_t *a, *b;
};

/* All lanes of the warps of which THREADS, two warps of a set, has any. */
static inline uint64_t tcb_ptx_whole_warps(uint64_t threads)
{
	return ((uint32_t)threads ? (uint64_t)UINT32_MAX : 0) | (threads >> 32 ? (uint64_t)UINT32_MAX << 32 : 0);
}

/* Whether two different threads can touch the same byte, one by A and the other by B; MEET with the threads in PAIR
 * where it is certain.  Where SKEW leaves the counters of loops open, it is certain when they meet in the first
 * rounds. */
enum tcb_ptx_meeting tcb_ptx_events_meet(struct tcb_ptx_hazards *h, const struct tcb_ptx_event *a,
					 const struct tcb_ptx_event *b, struct tcb_ptx_skew skew,
					 enum tcb_ptx_pairing pairing, struct tcb_ptx_threads only, uint32_t pair[2]);

enum tcb_ptx_differing { TCB_PTX_SAME, TCB_PTX_LIKELY_DIFFERENT, TCB_PTX_DIFFERENT };

/* Whether the threads in PAIR write different values by A and by B to one place.  Two writes of what may be the same
 * value are common and harmless, so by one instruction only what follows from different data differs. */
enum tcb_ptx_differing tcb_ptx_writes_differ(struct tcb_ptx_hazards *h, const struct tcb_ptx_event *a,
					     const struct tcb_ptx_event *b, const uint32_t pair[2]);

/* Whether each thread that reads by B what is written by A has written it itself, and all write one number by A. */
int tcb_ptx_reads_its_own(struct tcb_ptx_hazards *h, const struct tcb_ptx_event *a, const struct tcb_ptx_event *b);

/* Fills events and segments. */
enum tcb_status tcb_ptx_hazard_events(struct tcb_ptx_hazards *h, struct tcb_error *err);

/* --- hazard_sync.c --- */

/* What INS does, TCB_PTX_SYNC_. */
unsigned tcb_ptx_sync_of(const struct tcb_ptx_ins *ins);
/* Fills RELEASED. */
enum tcb_status tcb_ptx_hazard_released(struct tcb_ptx_hazards *h, struct tcb_error *err);

/* --- hazard_walk.c: what threads reach from one meeting before the next --- */

enum { TCB_PTX_LOOPS_MAX = 64, TCB_PTX_VIA_NONE = 0, TCB_PTX_VIA_MANY = TCB_PTX_LOOPS_MAX + 1 };
enum { TCB_PTX_VIAS = TCB_PTX_LOOPS_MAX + 2, TCB_PTX_WORDS_MAX = TCB_PTX_BLOCK_THREADS_MAX / 64 };

/* Sets of threads that go with a state of a walk. */
enum tcb_ptx_walk_set {
	TCB_PTX_THERE,     /* may come */
	TCB_PTX_ACQUIRED,  /* of these: may have been told of others' accesses by barriers of any kind... */
	TCB_PTX_TOLD,      /* ...and by words of memory */
	TCB_PTX_HAVE_READ, /* may have read such a word: a fence tells them */
	TCB_PTX_WALK_SETS
};

/* A segment as the walk comes to it. */
struct tcb_ptx_state {
	uint32_t segment;
	uint8_t via;    /* VIA_NONE, 1 + the loop that went back once, VIA_MANY */
	uint8_t behind; /* the barrier that is put to the test lies on the way */
	uint8_t is_due; /* to be gone on from */
};

struct tcb_ptx_walk {
	struct tcb_ptx_hazards *h;
	enum tcb_ptx_cut stops;               /* what ends the walk: this and stronger */
	const struct tcb_ptx_segment *tested; /* its barrier does not stop, NULL: none */
	const struct tcb_ptx_block *closed;   /* is not entered, NULL: none */
	uint64_t cyclic;                      /* loops that go round without being stopped */
	uint64_t nested[TCB_PTX_LOOPS_MAX];   /* loops inside each */
	struct tcb_ptx_state *states;
	uint64_t *sets; /* by state: WALK_SETS sets of WORDS; none where threads are not told apart */
	uint32_t count, capacity;
	uint32_t words, words_each; /* of a set; WORDS is 0 while threads are not told apart */
	uint32_t *stamps, *places;  /* by key: the walk that reached it, and its place among STATES */
	uint32_t stamp;
	int comes_back; /* to the tested barrier */
	int failed;
};

/* BY_THREADS: the walk tells who comes.  0 when memory runs out. */
int tcb_ptx_walks_begin(struct tcb_ptx_walk *w, struct tcb_ptx_hazards *h, enum tcb_ptx_cut stops, int by_threads);
void tcb_ptx_walks_end(struct tcb_ptx_walk *w);
/* Fills CYCLIC; again when TESTED or what is removed changes. */
void tcb_ptx_find_cyclic(struct tcb_ptx_walk *w);
/* All that THREADS (NULL: all that may be there) can reach from the begin of segment START. */
void tcb_ptx_walk_from(struct tcb_ptx_walk *w, uint32_t start, const uint64_t *threads);
/* Whether the end of SEGMENT stops threads until others come. */
int tcb_ptx_walk_stops(const struct tcb_ptx_walk *w, const struct tcb_ptx_segment *segment);
/* Whether a walk begins at SEGMENT: at the entry, or behind what stops. */
int tcb_ptx_walk_starts(const struct tcb_ptx_walk *w, uint32_t segment);
/* Relates what is reached by VIA_A and by VIA_B; *SWAPPED: the first is the later one. */
struct tcb_ptx_skew tcb_ptx_skew_of(const struct tcb_ptx_walk *w, uint8_t via_a, uint8_t via_b, int *swapped);
/* Set WHICH of the state at PLACE; NULL where threads are not told apart. */
static inline const uint64_t *tcb_ptx_walk_set(const struct tcb_ptx_walk *w, uint32_t place,
					       enum tcb_ptx_walk_set which)
{
	return w->words ? w->sets + ((size_t)place * TCB_PTX_WALK_SETS + which) * w->words : NULL;
}

/* --- hazard_grid.c: what blocks do to each other --- */

struct tcb_ptx_grid {
	struct tcb_ptx_hazards *h;
	const struct tcb_ptx_sink *sink;
	uint32_t index[3]; /* symbols of %ctaid */
	uint8_t is_read[3];
	int orders_blocks;
};

/* hazard_index.c */
/* What index D is multiplied by in V, or 0. */
int64_t tcb_ptx_grid_factor(const struct tcb_ptx_grid *g, const struct tcb_ptx_value *v, unsigned d);
int tcb_ptx_grid_same_terms(const struct tcb_ptx_value *x, const struct tcb_ptx_value *y);
/* Whether a thread's B in the block that is SHIFT on touches what any thread's A does. */
int tcb_ptx_meet_shifted(struct tcb_ptx_hazards *h, const struct tcb_ptx_event *a, const struct tcb_ptx_event *b,
			 int64_t shift, uint32_t pair[2]);
/* Whether what STORE stores rests on the block's index along D, so that two blocks write different values. */
int tcb_ptx_grid_rests_on_index(const struct tcb_ptx_grid *g, const struct tcb_ptx_event *store, unsigned d);
/* hazard_strides.c: tells of E, if it stores in a loop whose step leaves out that there are more blocks along D; says
 * whether it does. */
int tcb_ptx_grid_stride(const struct tcb_ptx_grid *g, const struct tcb_ptx_event *e, unsigned d);

/* --- hazard_signals.c --- */

/* Whether a flag or a lock that can be followed orders A of any of THREADS_A and B of any of THREADS_B. */
int tcb_ptx_signal_orders(struct tcb_ptx_hazards *h, const struct tcb_ptx_event *a, const uint64_t *threads_a,
			  const struct tcb_ptx_event *b, const uint64_t *threads_b);

#endif
