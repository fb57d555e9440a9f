/* SPDX-License-Identifier: MIT
 *
 * The memory that is measured on: per weight layout, as many copies of the
 * streamed operands as go beyond the last-level cache, on huge pages.  A cold
 * call takes the next copy, a hot one always the first.  Sets stay resident,
 * the least recently used goes when the memory cap is reached.
 */
#ifndef TCB_WORKER_ROTATION_H
#define TCB_WORKER_ROTATION_H

#include "worker/instance.h"

struct tcb_rotation;
struct tcb_copies; /* the copies of one layout */

/* Rotation of ROTATION_BYTES (0: twice LLC_BYTES, at least 512 MiB, at most a quarter of the available memory); all
 * sets together stay below CAP_BYTES (0: a third of the available memory) where that is possible.  INSTANCE and POOL
 * are lent. */
enum tcb_status tcb_rotation_create(struct tcb_instance *instance, struct tcb_pool *pool, size_t rotation_bytes,
				    size_t llc_bytes, size_t cap_bytes, struct tcb_rotation **out,
				    struct tcb_error *err);
void tcb_rotation_destroy(struct tcb_rotation *rotation); /* NULL is fine */
/* From now on no more than BYTES, but for sets that are there and large enough. */
void tcb_rotation_cut(struct tcb_rotation *rotation, size_t bytes);
/* From now on a set may take SECONDS to write (0: as long as it takes); what is left then goes to small pages, and
 * after twice that, unless the size was given, four times the last-level cache are enough, for all sets. */
void tcb_rotation_hurry(struct tcb_rotation *rotation, double seconds);
size_t tcb_rotation_bytes(const struct tcb_rotation *rotation); /* of one set, as decided */

/* How many sets must be resident together from now on: with SETS > 1 each may use its part of the cap only, and none
 * is given up for another. */
void tcb_rotation_reserve(struct tcb_rotation *rotation, size_t sets);

/* The copies for PLAN's layout: enough to rotate for IS_COLD, else a few.  The instance must hold the packed
 * weights.  Valid until the next call without reservation. */
enum tcb_status tcb_rotation_get(struct tcb_rotation *rotation, const struct tcb_plan *plan, int is_cold,
				 struct tcb_copies **out, struct tcb_error *err);
/* LEAST bytes of memory, to be read until the next call of tcb_rotation_get: of a set of copies that are BYTES long
 * each.  NULL if there is none. */
const void *tcb_rotation_lend(const struct tcb_rotation *rotation, size_t bytes, size_t least);
size_t tcb_copies_count(const struct tcb_copies *copies);
size_t tcb_copies_next(struct tcb_copies *copies); /* the copy that was used least recently */
/* The operands of copy INDEX. */
void tcb_copies_operands(const struct tcb_copies *copies, size_t index, void *operand[TCB_OPERANDS_MAX]);

/* Bytes of memory that may be allocated now: the system's or the control group's limit, whichever is less. */
size_t tcb_available_bytes(void);

#endif
