/* SPDX-License-Identifier: MIT
 *
 * The table of compute rates, in and out.  Those of a winner's device come with
 * the winner (best.c).
 */
#include "db/rates.h"

#include "db/db_private.h"

static const char storing[] = "storing a compute rate", reading[] = "reading a compute rate";

enum tcb_status tcb_db_rate_put(struct tcb_db *db, const struct tcb_device *device, const struct tcb_compute_rate *rate,
				struct tcb_error *err)
{
	sqlite3_stmt *stmt;

	TCB_TRY(tcb_db_query(
		db, &stmt, storing, err,
		"INSERT INTO compute_rate (device_key, device, threads, kind, rate, method, driver, measured_at)"
		" VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))"
		" ON CONFLICT DO UPDATE SET (rate, method, driver, measured_at) = (excluded.rate, excluded.method,"
		" excluded.driver, excluded.measured_at) WHERE excluded.rate > rate OR excluded.driver <> driver",
		"ttitdtt", device->key, device->name, (int64_t)device->target.threads, tcb_compute_text(rate->kind),
		rate->rate, rate->method, device->driver));
	return tcb_db_finish(db, stmt, NULL, storing, err);
}

enum tcb_status tcb_db_rate_get(struct tcb_db *db, const struct tcb_device *device, enum tcb_compute_kind kind,
				struct tcb_compute_rate *out, int *found_out, struct tcb_error *err)
{
	sqlite3_stmt *stmt;
	enum tcb_status status;

	*out = (struct tcb_compute_rate){ .kind = kind };
	TCB_TRY(tcb_db_query(
		db, &stmt, reading, err,
		"SELECT rate, method FROM compute_rate WHERE device_key = ?1 AND device = ?2 AND threads = ?3"
		" AND kind = ?4 AND driver = ?5",
		"ttitt", device->key, device->name, (int64_t)device->target.threads, tcb_compute_text(kind),
		device->driver));
	status = tcb_db_step(db, stmt, found_out, reading, err);
	if (status == TCB_OK && *found_out) {
		out->rate = tcb_db_double(stmt, 0);
		if (tcb_db_text(stmt, 1, out->method, sizeof out->method))
			out->method[0] = '\0';
	}
	sqlite3_finalize(stmt);
	return status;
}
