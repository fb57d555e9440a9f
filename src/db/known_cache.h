/* SPDX-License-Identifier: MIT
 *
 * The cache that a device was found to have (device/cache.h), of each number of
 * threads.
 */
#ifndef TCB_DB_KNOWN_CACHE_H
#define TCB_DB_KNOWN_CACHE_H

#include "db/db.h"

struct tcb_known_cache {
	size_t bytes; /* 0: not measured yet */
	int is_sure;  /* 0: the machine was busy, and it may be more */
};

/* Replaces what was stored of that device and number of threads. */
enum tcb_status tcb_db_cache_put(struct tcb_db *db, const char *device_key, unsigned threads,
				 const struct tcb_known_cache *cache, struct tcb_error *err);
enum tcb_status tcb_db_cache_get(struct tcb_db *db, const char *device_key, unsigned threads,
				 struct tcb_known_cache *out, struct tcb_error *err);

#endif
