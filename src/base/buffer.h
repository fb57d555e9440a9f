/* SPDX-License-Identifier: MIT
 *
 * Page-granular memory: huge pages where they can be had, and guard zones for
 * verification.
 */
#ifndef TCB_BASE_BUFFER_H
#define TCB_BASE_BUFFER_H

#include <stddef.h>

#include "base/status.h"

enum tcb_buffer_kind {
	TCB_BUFFER_PLAIN,
	TCB_BUFFER_HUGE,       /* transparent huge pages asked for; see huge_bytes */
	TCB_BUFFER_GUARD,      /* inaccessible pages before and after; the data ends at the page edge, or as near
				  before it as 64-byte alignment allows, and the gap is poisoned */
	TCB_BUFFER_GUARD_BARE, /* the same, the data zeroed: it takes no memory before it is touched */
};

struct tcb_buffer {
	void *data;   /* at least 64-byte aligned, zeroed (guarded: filled with POISON) */
	size_t bytes; /* as asked for */
	/* private */
	void *map;
	size_t map_bytes, slack_before, slack_after;
};

/* The byte that guard slack and poisoned outputs are filled with: 0xff bytes are a NaN in f32. */
enum { TCB_POISON = 0xff };

enum tcb_status tcb_buffer_alloc(enum tcb_buffer_kind kind, size_t bytes, struct tcb_buffer *out,
				 struct tcb_error *err);
void tcb_buffer_free(struct tcb_buffer *buffer); /* a zeroed struct is fine */
/* 0 if the slack around the data still holds the poison, else -1 (a write outside the buffer). */
int tcb_buffer_check(const struct tcb_buffer *buffer);
/* Makes the data read-only or writable again (whole pages): a kernel that writes its input faults. */
enum tcb_status tcb_buffer_protect(struct tcb_buffer *buffer, int read_only, struct tcb_error *err);
/* What is not in memory yet comes in small pages: where memory is in pieces, the system makes a gigabyte of huge pages
 * in five seconds (it moves others' pages together), of small ones in less than one. */
void tcb_buffer_small_pages(const struct tcb_buffer *buffer);
/* Bytes of the buffer that the kernel backs with huge pages now (0 where it does not tell). */
size_t tcb_buffer_huge_bytes(const struct tcb_buffer *buffer);

#endif
