/* SPDX-License-Identifier: MIT
 *
 * Between hazard_events.c (what touches memory, what orders it),
 * hazard_overlap.c (whether two accesses can meet) and hazards.c (which have no
 * order).  Nobody else includes this.
 */
#ifndef TCB_PTX_HAZARDS_PRIVATE_H
#define TCB_PTX_HAZARDS_PRIVATE_H

#include "ptx/analyse/hazards.h"

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
	TCB_PTX_CUT_WARP,    /* lanes of a warp wait for each other */
	TCB_PTX_CUT_LENIENT, /* some threads wait for some others */
	TCB_PTX_CUT_FULL     /* all threads of the block wait for each other, whatever happened */
};

/* A run of instructions of one block that holds nothing that orders threads. */
struct tcb_ptx_segment {
	struct tcb_ptx_block *block;
	struct tcb_ptx_ins *end; /* what ends it: something that orders, or NULL at the end of the block */
	enum tcb_ptx_cut cut;    /* what END is */
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
	uint32_t *first_segment; /* by block->number; those of a block follow each other */
	uint8_t is_exact;        /* all threads exist */
	int is_hopeless;         /* no entry, a cycle that is no loop, or too large: nothing is said */
	uint64_t budget;         /* of comparisons of addresses */
};

/* How the symbols of two accesses relate: those that change with these loops. */
struct tcb_ptx_skew {
	uint64_t later; /* the second is one round later */
	uint64_t any;   /* anything */
};

enum tcb_ptx_meeting { TCB_PTX_NEVER_MEET, TCB_PTX_MAY_MEET, TCB_PTX_MEET };

/* Which pairs of threads are looked for. */
enum tcb_ptx_pairing { TCB_PTX_ANY_THREADS, TCB_PTX_OTHER_WARPS, TCB_PTX_SAME_WARP };

/* Whether two different threads can touch the same byte, one by A and the other by B; MEET with the threads in PAIR
 * where it is certain.  Where SKEW leaves the counters of loops open, it is certain when they meet in the first
 * rounds. */
enum tcb_ptx_meeting tcb_ptx_events_meet(struct tcb_ptx_hazards *h, const struct tcb_ptx_event *a,
					 const struct tcb_ptx_event *b, struct tcb_ptx_skew skew,
					 enum tcb_ptx_pairing pairing, uint32_t pair[2]);

enum tcb_ptx_differing { TCB_PTX_SAME, TCB_PTX_LIKELY_DIFFERENT, TCB_PTX_DIFFERENT };

/* Whether the threads in PAIR write different values by A and by B to one place.  Two writes of what may be the same
 * value are common and harmless, so by one instruction only what follows from different data differs. */
enum tcb_ptx_differing tcb_ptx_writes_differ(struct tcb_ptx_hazards *h, const struct tcb_ptx_event *a,
					     const struct tcb_ptx_event *b, const uint32_t pair[2]);

/* Whether each thread that reads by B what is written by A has written it itself, and all write one number by A. */
int tcb_ptx_reads_its_own(struct tcb_ptx_hazards *h, const struct tcb_ptx_event *a, const struct tcb_ptx_event *b);

/* Fills events and segments. */
enum tcb_status tcb_ptx_hazard_events(struct tcb_ptx_hazards *h, struct tcb_error *err);

#endif
