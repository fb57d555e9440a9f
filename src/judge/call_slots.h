/* SPDX-License-Identifier: MIT
 *
 * Where the values of calls stand in memory that processes share: a slot per call, in
 * it each operand between guard zones, inputs in one region and outputs in another.
 */
#ifndef TCB_JUDGE_CALL_SLOTS_H
#define TCB_JUDGE_CALL_SLOTS_H

#include <stdint.h>

#include "kernels/op.h"

enum { TCB_SLOTS_MAX = 4096 };

enum tcb_region_kind { TCB_REGION_INPUTS, TCB_REGION_OUTPUTS, TCB_REGION_COUNT };

struct tcb_slots {
	size_t operand_count, count;
	struct {
		enum tcb_region_kind region;
		size_t bytes, first; /* of slot 0, in its region */
	} operand[TCB_OPERANDS_MAX];
	size_t zone;                     /* bytes before and after each operand, and so many at least */
	size_t stride[TCB_REGION_COUNT]; /* from a slot to the next */
};

/* As many slots as MOST_BYTES have room for, two at least, TCB_SLOTS_MAX at most.  TCB_E_OVERFLOW. */
enum tcb_status tcb_slots_lay(const struct tcb_operand *operands, size_t count, size_t most_bytes,
			      struct tcb_slots *out, struct tcb_error *err);
/* Of operand I of a slot, in its region. */
size_t tcb_slots_first(const struct tcb_slots *slots, size_t slot, size_t i);
/* Of a region. */
size_t tcb_slots_bytes(const struct tcb_slots *slots, enum tcb_region_kind kind);

/* Memory that processes share. */
struct tcb_region {
	int fd, read_fd; /* READ_FD cannot be written through */
	char *at;        /* where this process has it; its children do not */
	size_t bytes;
};
enum tcb_status tcb_region_create(size_t bytes, struct tcb_region *out, struct tcb_error *err);
void tcb_region_destroy(struct tcb_region *region); /* zeroed is fine */
/* In a child: where it has it now; NULL: it cannot be had. */
void *tcb_region_map(const struct tcb_region *region, int is_writable);

/* Words that no kernel knows, in the zones around SLOT's operands of REGION; and whether they are there still: -1, or
 * the operand beside which they are not.  KEY: of the words. */
void tcb_slots_guard(const struct tcb_slots *slots, struct tcb_region *region, enum tcb_region_kind kind, size_t slot,
		     uint64_t key);
int tcb_slots_damaged(const struct tcb_slots *slots, const struct tcb_region *region, enum tcb_region_kind kind,
		      size_t slot, uint64_t key);
/* Takes the line at AT out of all caches; 0: this processor cannot. */
int tcb_slots_flush_line(const char *at);
/* Takes SLOT out of all caches; 0: this processor cannot. */
int tcb_slots_flush(const struct tcb_slots *slots, const struct tcb_region *region, enum tcb_region_kind kind,
		    size_t slot);
/* Reads SLOT into the caches. */
void tcb_slots_touch(const struct tcb_slots *slots, const struct tcb_region *region, enum tcb_region_kind kind,
		     size_t slot);

#endif
