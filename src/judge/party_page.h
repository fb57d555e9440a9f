/* SPDX-License-Identifier: MIT
 *
 * What a judge and a party's process share beside operands: one page, on which one
 * asks and the other answers.
 */
#ifndef TCB_JUDGE_PARTY_PAGE_H
#define TCB_JUDGE_PARTY_PAGE_H

#include <stdatomic.h>
#include <sys/types.h>

#include "device/device.h"
#include "judge/call_slots.h"

enum { TCB_PROBES_MAX = 64, TCB_PARTY_WORDS_MAX = 256 };

/* Looks at outputs behind call number CALL: at that call's own, which must be there then, and at those of a later
 * one, which must not. */
struct tcb_probe {
	uint32_t call, bytes;
	uint64_t own, other; /* where, in the region of outputs */
	uint64_t seen_own, seen_other;
};

enum tcb_party_wish {
	TCB_WISH_CALLS, /* of the page's slots, in their order */
	TCB_WISH_READY  /* slots 0 to COUNT are made ready: their memory is there */
};
/* REFUSED: its kernel cannot be loaded; UNABLE: this system lacks something, whatever the kernel is. */
enum tcb_party_state { TCB_PARTY_STARTING, TCB_PARTY_READY, TCB_PARTY_REFUSED, TCB_PARTY_UNABLE };

/* What judge and party share beside operands.  The kernel may write here: what is read is checked. */
struct tcb_party_page {
	atomic_uint asked, answered;            /* numbers of questions */
	atomic_uint state;                      /* enum tcb_party_state */
	uint32_t wish, count, is_hot, is_timed; /* IS_TIMED: of a GPU, all calls in a row, in slots 0 to COUNT */
	uint32_t slot[TCB_SLOTS_MAX];
	uint32_t touched;    /* how many of SLOT are looked at, page by page, before the first call; they may be more */
	uint64_t started_ns; /* when that was done, by its own clock; 0: nothing was touched */
	uint32_t probe_count;
	struct tcb_probe probe[TCB_PROBES_MAX];
	/* What it ended of. */
	int32_t forbidden;                        /* a system call; -1: none */
	uint64_t fault, region[TCB_REGION_COUNT]; /* an address, and where the regions are; 0: none */
	char words[TCB_PARTY_WORDS_MAX];          /* why it is refused, of a GPU also what went wrong in a call */
	/* Of a GPU: what events and what the host's clock say of all calls, what was still to be waited for behind them
	 * (nanoseconds), and an operand that was written outside or, an input, at all; -1: none. */
	double event_ns, wall_ns, rest_ns;
	int32_t damaged, written;
};

struct tcb_code_image;

/* What a party runs. */
struct tcb_party_start {
	const char *object;                 /* a shared object; NULL: on a GPU */
	const struct tcb_code_image *image; /* a GPU's */
	const struct tcb_place *place;
	const struct tcb_slots *slots;
	const struct tcb_region *inputs;
	unsigned threads;
};

/* What such a process begins with. */
struct tcb_party_process {
	struct tcb_party_page *page;
	const struct tcb_party_start *how;
	const char *inputs;
	char *outputs;
};

/* Waits for the question behind number SEEN; its number. */
unsigned tcb_party_page_wait(struct tcb_party_page *page, unsigned seen);
void tcb_party_page_answer(struct tcb_party_page *page, unsigned asked);
void tcb_party_page_set(struct tcb_party_page *page, enum tcb_party_state state);
/* The process goes no further, and why. */
void tcb_party_page_fail(struct tcb_party_page *page, enum tcb_party_state state, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void tcb_party_page_wake(atomic_uint *word);
/* Until WORD is not VALUE, or about MS are over. */
void tcb_party_page_sleep(atomic_uint *word, unsigned value, unsigned ms);

#endif
