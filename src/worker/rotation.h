/* SPDX-License-Identifier: MIT
 *
 * The memory that is measured on: per weight layout, as many copies of the
 * streamed operands as go beyond the last-level cache, on huge pages.  A cold
 * call takes the next copy, a hot one always the first.  Sets stay resident,
 * the least recently used goes when the memory cap is reached.
 */
#ifndef TCB_WORKER_ROTATION_H
#define TCB_WORKER_ROTATION_H

#include "device/cache.h"
#include "worker/instance.h"

struct tcb_rotation;
struct tcb_copies; /* the copies of one layout */

/* Rotation of ROTATION_BYTES (0: as SIZE says, at most a quarter of the available memory); all sets together stay below
 * CAP_BYTES (0: a third of the available memory) where that is possible.  INSTANCE and POOL are lent. */
enum tcb_status tcb_rotation_create(struct tcb_instance *instance, struct tcb_pool *pool, size_t rotation_bytes,
				    const struct tcb_rotation_size *size, size_t cap_bytes, struct tcb_rotation **out,
				    struct tcb_error *err);
void tcb_rotation_destroy(struct tcb_rotation *rotation); /* NULL is fine */
/* From now on no more than BYTES, but for sets that are there and large enough. */
void tcb_rotation_cut(struct tcb_rotation *rotation, size_t bytes);
/* From now on a set may take SECONDS to write (0: as long as it takes); what is left then goes to small pages, and
 * after twice that, unless the size was given, size->enough is enough, for all sets. */
void tcb_rotation_hurry(struct tcb_rotation *rotation, double seconds);
size_t tcb_rotation_bytes(const struct tcb_rotation *rotation); /* of one set, as decided */

/*
 * From now on the sets are for rounds in which the COUNT PLANS are called once each: their layouts are resident
 * together, each may use its part of the cap only, and none is given up for another.  IS_SHARED: nothing else is called
 * meanwhile, so that all of them together make the rotation; where there are several layouts each has fewer copies.
 * COUNT 0 or 1: for one at a time.
 */
void tcb_rotation_reserve(struct tcb_rotation *rotation, const struct tcb_plan *plans, size_t count, int is_shared);

/* The copies for PLAN's layout: enough to rotate for IS_COLD, else a few.  The instance must hold the packed
 * weights.  Valid until the next call without reservation. */
enum tcb_status tcb_rotation_get(struct tcb_rotation *rotation, const struct tcb_plan *plan, int is_cold,
				 struct tcb_copies **out, struct tcb_error *err);
/* A set of copies that are BYTES long each, LEAST bytes or more together, to be read until the next call of
 * tcb_rotation_get.  Whoever reads one takes its turn (tcb_copies_next).  NULL if there is none. */
struct tcb_copies *tcb_rotation_lend(struct tcb_rotation *rotation, size_t bytes, size_t least);
/* The streamed bytes of copy INDEX and, behind them, of those after it: BYTES_OUT. */
const void *tcb_copies_stream(const struct tcb_copies *copies, size_t index, size_t *bytes_out);
/* What output INDEX of each begins with, where calls read it, too; else NULL. */
const void *tcb_copies_start(const struct tcb_copies *copies, size_t index);
size_t tcb_copies_count(const struct tcb_copies *copies);
/* The copy that was used least recently; where there is what varies, numbers above the count go on with that of other
 * seeds. */
size_t tcb_copies_next(struct tcb_copies *copies);
/* The operands of copy INDEX; below the count, with the instance's own of what varies. */
void tcb_copies_operands(const struct tcb_copies *copies, size_t index, void *operand[TCB_OPERANDS_MAX]);

#endif
