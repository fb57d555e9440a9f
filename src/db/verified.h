/* SPDX-License-Identifier: MIT
 *
 * What `tcbtune verify` found, as the database keeps it: the newest result of
 * each claim and device.
 */
#ifndef TCB_DB_VERIFIED_H
#define TCB_DB_VERIFIED_H

#include "db/db.h"

/* One run of the checks. */
struct tcb_verified_run {
	char device[TCB_DEVICE_NAME_MAX], device_key[TCB_DEVICE_KEY_MAX], model[TCB_DEVICE_TEXT_MAX];
	char assembler[64]; /* "ptxas 13.0"; empty: none */
	char git_commit[48];
	char measured_at[32]; /* ISO 8601, UTC */
};

enum { TCB_VERIFIED_TEXT_MAX = 320 };
struct tcb_verified {
	char id[8], result[16];
	char evidence[TCB_VERIFIED_TEXT_MAX], control[TCB_VERIFIED_TEXT_MAX];
	double seconds;
};

/* All of ROWS, or nothing; each replaces what was stored of its claim and device. */
enum tcb_status tcb_db_verified_put(struct tcb_db *db, const struct tcb_verified_run *run,
				    const struct tcb_verified *rows, size_t count, struct tcb_error *err);
/* Calls EACH for all results, ordered by device and id; a nonzero return stops.  RUN is the one that the row is of. */
enum tcb_status tcb_db_verified_each(struct tcb_db *db,
				     int (*each)(void *ctx, const struct tcb_verified_run *run,
						 const struct tcb_verified *row),
				     void *ctx, struct tcb_error *err);

#endif
