/* SPDX-License-Identifier: MIT
 *
 * What a database says of one problem over time: by whom and where each sweep
 * was made, and what its finals found.
 */
#ifndef TCB_DB_HISTORY_H
#define TCB_DB_HISTORY_H

#include "db/db.h"

/* Who swept. */
struct tcb_origin {
	char uid[128]; /* the sweep's name, the same in every database that has it */
	char started_at[32], status[16];
	char version[32], git_commit[48], compiler[128];
	char os[TCB_DEVICE_TEXT_MAX], driver[TCB_DEVICE_TEXT_MAX];
	char op_signature[64]; /* of all the op's kernels */
	char strategy[64];
	uint64_t rotation_bytes;
};

/* What the finals of one sweep found in one cache state. */
struct tcb_held {
	struct tcb_origin origin;
	char geometry[TCB_GEOMETRY_TEXT_MAX], variant[TCB_VARIANT_NAME_MAX], signature[TCB_SIGNATURE_MAX]; /* winner */
	struct tcb_interval ns;
	struct tcb_interval default_ns; /* of the best row's default geometry, if it was there; else NaN */
	struct tcb_interval speedup; /* default over winner, paired by rounds; NaN: samples are gone, or no default */
	double low_ns;               /* a tenth of the winner's samples are below; NaN: samples are gone */
	size_t tried;                /* geometries that this sweep tried or measured */
};

/* How a geometry fared in one sweep. */
struct tcb_try {
	struct tcb_origin origin;
	enum tcb_outcome outcome;
	char message[256];
};

/* The sweep whose finals decided BEST, a row of this database. */
enum tcb_status tcb_db_origin(struct tcb_db *db, const struct tcb_best *best, struct tcb_origin *out,
			      struct tcb_error *err);
/* Calls EACH for the finals that were held for the device, problem and state of BEST, the oldest first; a nonzero
 * return stops. */
enum tcb_status tcb_db_held_each(struct tcb_db *db, const struct tcb_best *best,
				 int (*each)(void *ctx, const struct tcb_held *held), void *ctx, struct tcb_error *err);
/* Calls EACH for every trial of GEOMETRY on the device and problem of BEST, the oldest first; a nonzero return stops.
 */
enum tcb_status tcb_db_tries_each(struct tcb_db *db, const struct tcb_best *best, const char *geometry,
				  int (*each)(void *ctx, const struct tcb_try *one), void *ctx, struct tcb_error *err);

#endif
