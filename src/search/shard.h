/* SPDX-License-Identifier: MIT
 *
 * A shard: a part of a problem's space, for one of several machines.  Which
 * shard a candidate belongs to is a hash of its geometry text and nothing else:
 * not the seed, the strategy, the device or the order of the space.  So shards
 * of one count have no candidate in common but the default geometry, which all
 * of them try (ratios to it compare their machines), and together they are the
 * space.
 */
#ifndef TCB_SEARCH_SHARD_H
#define TCB_SEARCH_SHARD_H

#include "kernels/space.h"

enum { TCB_SHARDS_MOST = 65536, TCB_SHARD_TEXT_MAX = 16 };

struct tcb_shard {
	unsigned index, count; /* 1 <= index <= count; count 0: the whole space */
};

/* "3/4"; both numbers in decimal. */
enum tcb_status tcb_shard_parse(const char *text, struct tcb_shard *out, struct tcb_error *err);
void tcb_shard_print(const struct tcb_shard *shard, char out[TCB_SHARD_TEXT_MAX]); /* "" for the whole space, 1/1 too */
int tcb_shard_has(const struct tcb_shard *shard, const struct tcb_geometry *geometry);
/* Leaves of SPACE what is SHARD's, and its default. */
void tcb_shard_narrow(const struct tcb_shard *shard, struct tcb_space *space);

#endif
