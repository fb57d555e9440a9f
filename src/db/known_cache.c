/* SPDX-License-Identifier: MIT
 *
 * The table of measured caches, in and out.
 */
#include "db/known_cache.h"

#include "db/db_private.h"

static const char storing[] = "storing the measured cache", reading[] = "reading the measured cache";

enum tcb_status tcb_db_cache_put(struct tcb_db *db, const char *device_key, unsigned threads,
				 const struct tcb_known_cache *cache, struct tcb_error *err)
{
	sqlite3_stmt *stmt;
	TCB_TRY(tcb_db_query(db, &stmt, storing, err,
			     "INSERT OR REPLACE INTO cache (device_key, threads, bytes, is_sure, measured_at)"
			     " VALUES (?1, ?2, ?3, ?4, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))",
			     "tiii", device_key, (int64_t)threads, (int64_t)cache->bytes, (int64_t)cache->is_sure));
	return tcb_db_finish(db, stmt, NULL, storing, err);
}

enum tcb_status tcb_db_cache_get(struct tcb_db *db, const char *device_key, unsigned threads,
				 struct tcb_known_cache *out, struct tcb_error *err)
{
	sqlite3_stmt *stmt;
	int is_row;
	*out = (struct tcb_known_cache){ .bytes = 0 };
	TCB_TRY(tcb_db_query(db, &stmt, reading, err,
			     "SELECT bytes, is_sure FROM cache WHERE device_key = ?1 AND threads = ?2", "ti",
			     device_key, (int64_t)threads));
	enum tcb_status status = tcb_db_step(db, stmt, &is_row, reading, err);
	if (status == TCB_OK && is_row && sqlite3_column_int64(stmt, 0) > 0)
		*out = (struct tcb_known_cache){ (size_t)sqlite3_column_int64(stmt, 0),
						 sqlite3_column_int64(stmt, 1) != 0 };
	sqlite3_finalize(stmt);
	return status;
}
