/* SPDX-License-Identifier: MIT
 *
 * Where threads that a branch sends different ways meet again.  Of the
 * analyses only.
 */
#ifndef TCB_PTX_JOINS_H
#define TCB_PTX_JOINS_H

#include "ptx/analyse/analyses.h"

struct tcb_ptx_join_list {
	struct tcb_ptx_block **list;
	uint32_t count;
};

/* A workspace for one function, and what the last search found. */
struct tcb_ptx_joins {
	/* between the branch and the rejoining, neither included unless a loop runs through them */
	struct tcb_ptx_join_list region;
	struct tcb_ptx_join_list joins; /* blocks where two of the ways meet, the rejoining among them */
	struct tcb_ptx_join_list loops; /* headers of loops that some threads leave while others go on */
	struct tcb_ptx_block *rejoin;   /* all that still run are together again; NULL: they never are */
	int exits;                      /* on some way threads end */

	/* inside: blocks in an order where loops are contiguous and edges but those to headers go forward */
	struct tcb_ptx_function *function;
	int is_irreducible; /* some cycle is no natural loop: what a branch reaches is its region */
	struct tcb_ptx_block **order;
	uint32_t *place;    /* by block->number */
	uint32_t *loop_end; /* by the number of a header: one past its last place */
	uint32_t *seen, *inside, *met,
		mark; /* by number: the search that labelled it, put it into the region, joined at it */
	struct tcb_ptx_block **label;
	uint32_t *heap, heap_count; /* places to visit, the least first */
	struct tcb_ptx_block **pending;
	uint32_t pending_count; /* headers that threads have gone back to */
	int *ends;              /* by number: holds nothing but the end of a thread */
	int *doomed;            /* by number: leads to a trap only */
};

/* Needs dominators and loops.  The workspace is in the arena. */
enum tcb_status tcb_ptx_joins_init(struct tcb_ptx_joins *joins, struct tcb_ptx_function *function,
				   struct tcb_error *err);
/* Finds what the branch at the end of BLOCK does to threads that disagree about it.  Time: that of the region. */
void tcb_ptx_joins_find(struct tcb_ptx_joins *joins, struct tcb_ptx_block *block);
/* BLOCK lies in the loop of HEADER. */
int tcb_ptx_joins_in_loop(const struct tcb_ptx_joins *joins, const struct tcb_ptx_block *header,
			  const struct tcb_ptx_block *block);
/* Whether the terminator ends the thread: exit, and ret of an entry. */
int tcb_ptx_ends_thread(const struct tcb_ptx_function *function, const struct tcb_ptx_ins *end);

#endif
