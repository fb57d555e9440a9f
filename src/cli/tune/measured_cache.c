/* SPDX-License-Identifier: MIT
 *
 * In: a place and a database.  Out: the cache that the place really has, which
 * is measured where the database does not know it, or where the machine was so
 * busy that it may be more: then the larger of both holds.
 */
#include "cli/tune/measured_cache.h"

#include <math.h>

#include "cli/core/setup.h"
#include "db/known_cache.h"
#include "device/cache.h"

/* What it may take: of a budget, and in any case; where something is known already, hardly anything. */
static const double SHARE = 0.2, MOST_S = 3, AGAIN_SHARE = 0.02;

enum tcb_status cli_cache_recall(struct tcb_db *db, struct tcb_place *place, int *is_sure_out, struct tcb_error *err)
{
	const struct tcb_device *device = &place->device;
	struct tcb_known_cache known = { .bytes = 0 };

	if (db && tcb_device_kinds[device->target.kind]->measure_cache)
		TCB_TRY(tcb_db_cache_get(db, device->key, device->target.threads, &known, err));
	place->cache_bytes = known.bytes;
	if (is_sure_out)
		*is_sure_out = known.is_sure;
	return TCB_OK;
}

/* The database that OPTION names, and its path; NULL where there is none that can be read. */
static struct tcb_db *open_named(const char *option, char path[CLI_PATH_MAX])
{
	struct tcb_db *db = NULL;

	if (tcb_db_path(option, TCB_DB_READ, path, CLI_PATH_MAX, NULL) != TCB_OK ||
	    tcb_db_open(path, TCB_DB_READ, &db, NULL) != TCB_OK)
		return NULL;
	return db;
}

enum tcb_status cli_cache_recall_from(const char *option, struct tcb_place *place, struct tcb_error *err)
{
	char path[CLI_PATH_MAX];
	struct tcb_db *db = open_named(option, path);
	const enum tcb_status status = cli_cache_recall(db, place, NULL, err);

	tcb_db_close(db);
	return status;
}

/* From DB (may be NULL), or measured: then *NEW_OUT is what is to be stored, else its bytes are 0. */
static enum tcb_status recall_or_measure(struct tcb_db *db, double budget_s, struct tcb_place *place,
					 struct tcb_known_cache *new_out, struct tcb_error *err)
{
	struct tcb_cache cache;
	int is_sure;
	const struct tcb_device_kind *kind = tcb_device_kinds[place->device.target.kind];

	*new_out = (struct tcb_known_cache){ .bytes = 0 };
	TCB_TRY(cli_cache_recall(db, place, &is_sure, err));
	if (is_sure || !kind->measure_cache)
		return TCB_OK;
	const double share = place->cache_bytes > 0 ? AGAIN_SHARE : SHARE;
	TCB_TRY(kind->measure_cache(place, tcb_deadline_in(budget_s > 0 ? fmin(share * budget_s, MOST_S) : MOST_S),
				    &cache, err));
	if (cache.bytes == 0)
		return TCB_OK;
	*new_out = (struct tcb_known_cache){ cache.bytes > place->cache_bytes ? cache.bytes : place->cache_bytes,
					     cache.is_sure };
	place->cache_bytes = new_out->bytes;
	return TCB_OK;
}

static enum tcb_status store(struct tcb_db *db, const struct tcb_place *place, const struct tcb_known_cache *known,
			     struct tcb_error *err)
{
	return tcb_db_cache_put(db, place->device.key, place->device.target.threads, known, err);
}

enum tcb_status cli_cache_know(struct tcb_db *db, double budget_s, struct tcb_place *place, struct tcb_error *err)
{
	struct tcb_known_cache new;

	TCB_TRY(recall_or_measure(db, budget_s, place, &new, err));
	return new.bytes ? store(db, place, &new, err) : TCB_OK;
}

enum tcb_status cli_cache_know_from(const char *option, double budget_s, struct tcb_place *place, struct tcb_error *err)
{
	char path[CLI_PATH_MAX];
	struct tcb_known_cache new;
	struct tcb_db *db = open_named(option, path);
	const int may_store = db && !tcb_db_is_copy(db);
	const enum tcb_status status = recall_or_measure(db, budget_s, place, &new, err);

	tcb_db_close(db);
	db = NULL;
	if (status == TCB_OK && new.bytes && may_store &&tcb_db_open(path, TCB_DB_WRITE, &db, NULL) == TCB_OK)
		(void)store(db, place, &new, NULL);
	tcb_db_close(db);
	return status;
}
