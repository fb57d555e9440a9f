/* SPDX-License-Identifier: MIT
 *
 * In: a place and a database.  Out: the cache that the place really has, which
 * is measured where the database does not know it, or where the machine was so
 * busy that it may be more: then the larger of both holds.
 */
#include "cli/measured_cache.h"

#include <math.h>

#include "cli/setup.h"
#include "db/known_cache.h"
#include "device/cache.h"

/* What it may take: of a budget, and in any case; where something is known already, hardly anything. */
static const double SHARE = 0.2, MOST_S = 3, AGAIN_SHARE = 0.02;

enum tcb_status cli_cache_recall(struct tcb_db *db, struct tcb_place *place, int *is_sure_out, struct tcb_error *err)
{
	const struct tcb_device *device = &place->device;
	struct tcb_known_cache known = { .bytes = 0 };

	if (db && device->target.kind == TCB_TARGET_CPU)
		TCB_TRY(tcb_db_cache_get(db, device->key, device->target.threads, &known, err));
	place->cache_bytes = known.bytes;
	if (is_sure_out)
		*is_sure_out = known.is_sure;
	return TCB_OK;
}

enum tcb_status cli_cache_recall_from(const char *option, struct tcb_place *place, struct tcb_error *err)
{
	char path[CLI_PATH_MAX];
	struct tcb_db *db = NULL;
	struct tcb_error why;
	enum tcb_status status = TCB_OK;

	if (cli_open_db(option, TCB_DB_READ, path, &db, &why) == TCB_OK)
		status = cli_cache_recall(db, place, NULL, err);
	cli_close_db(db);
	return status;
}

enum tcb_status cli_cache_know(struct tcb_db *db, int may_store, double budget_s, struct tcb_place *place,
			       struct tcb_error *err)
{
	const struct tcb_device *device = &place->device;
	struct tcb_known_cache known;
	struct tcb_cache cache;
	int is_sure;

	TCB_TRY(cli_cache_recall(db, place, &is_sure, err));
	if (is_sure || device->target.kind != TCB_TARGET_CPU)
		return TCB_OK;
	const double share = place->cache_bytes > 0 ? AGAIN_SHARE : SHARE;
	TCB_TRY(tcb_cache_measure(place, tcb_deadline_in(budget_s > 0 ? fmin(share * budget_s, MOST_S) : MOST_S),
				  &cache, err));
	if (cache.bytes == 0)
		return TCB_OK;
	known = (struct tcb_known_cache){ cache.bytes > place->cache_bytes ? cache.bytes : place->cache_bytes,
					  cache.is_sure };
	place->cache_bytes = known.bytes;
	return may_store ? tcb_db_cache_put(db, device->key, device->target.threads, &known, err) : TCB_OK;
}
