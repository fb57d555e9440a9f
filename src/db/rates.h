/* SPDX-License-Identifier: MIT
 *
 * How fast devices multiply, as the database keeps it: the newest rate of each
 * device and kind of arithmetic.
 */
#ifndef TCB_DB_RATES_H
#define TCB_DB_RATES_H

#include "db/db.h"

struct tcb_compute_rate {
	enum tcb_compute_kind kind;
	double rate;     /* operations a nanosecond */
	char method[64]; /* the fastest instruction */
};

/* Of DEVICE (key, name, threads) and kind the fastest rate stays that its driver gave: a busy machine is slower. */
enum tcb_status tcb_db_rate_put(struct tcb_db *db, const struct tcb_device *device, const struct tcb_compute_rate *rate,
				struct tcb_error *err);
/* The stored rate of KIND; *FOUND_OUT is 0 where there is none that DEVICE's driver gave. */
enum tcb_status tcb_db_rate_get(struct tcb_db *db, const struct tcb_device *device, enum tcb_compute_kind kind,
				struct tcb_compute_rate *out, int *found_out, struct tcb_error *err);

#endif
