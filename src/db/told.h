/* SPDX-License-Identifier: MIT
 *
 * Single trials, with what was said of each: of a candidate that failed, why.
 */
#ifndef TCB_DB_TOLD_H
#define TCB_DB_TOLD_H

#include "db/db.h"

struct tcb_told {
	int64_t id; /* of this database alone */
	char op[TCB_OP_NAME_MAX], contract[16];
	struct tcb_shape shape;
	char device[TCB_DEVICE_NAME_MAX], key[TCB_DEVICE_KEY_MAX];
	unsigned threads;
	char geometry[TCB_GEOMETRY_TEXT_MAX], variant[TCB_VARIANT_NAME_MAX], signature[TCB_SIGNATURE_MAX];
	char outcome[32], message[256], finished_at[32];
	double error_ratio, ns[TCB_STATE_COUNT]; /* NaN: there is none; the newest median of each state */
};

/* Calls EACH for trial ID; of ID 0 for those that failed, of OP alone where it is not NULL, the newest last.  A nonzero
 * return stops. */
enum tcb_status tcb_db_told_each(struct tcb_db *db, int64_t id, const char *op,
				 int (*each)(void *ctx, const struct tcb_told *told), void *ctx, struct tcb_error *err);

#endif
