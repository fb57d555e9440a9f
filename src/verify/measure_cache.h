/* SPDX-License-Identifier: MIT
 *
 * A cache with ways and least-recently-used replacement, simulated: how many of
 * the addresses that a loop touches would be found in it.
 */
#ifndef TCB_VERIFY_MEASURE_CACHE_H
#define TCB_VERIFY_MEASURE_CACHE_H

#include <stddef.h>

struct tcb_cache;

/* LINES lines of LINE_BYTES in sets of WAYS; NULL without memory. */
struct tcb_cache *tcb_cache_create(size_t lines, size_t ways, size_t line_bytes);
void tcb_cache_destroy(struct tcb_cache *cache); /* NULL is fine */
void tcb_cache_touch(struct tcb_cache *cache, size_t address);
double tcb_cache_hit_rate(const struct tcb_cache *cache);

#endif
