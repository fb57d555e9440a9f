/* SPDX-License-Identifier: MIT
 *
 * Recordings: results of other tuners and machines that were imported.
 */
#ifndef TCB_DB_RECORDINGS_H
#define TCB_DB_RECORDINGS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct tcb_db;

/* One op on one device.  Texts are lent. */
struct tcb_recording {
	int64_t id; /* when it is read */
	const char *op, *device, *source;
	const char *head; /* JSON: a T4 file without its results */
	size_t valid;     /* results that have a time */
	double best_ms;   /* the least of them; NaN: all failed */
	/* When it is read: */
	const char *imported_at, *digest;
	size_t count; /* of its results */
};
/*
 * Stores RECORDING with COUNT RESULTS, each JSON as an element of a T4 file's results.  The same again changes nothing;
 * TCB_E_USAGE where other results of the op on the device are there.
 */
enum tcb_status tcb_db_recording_put(struct tcb_db *db, const struct tcb_recording *recording,
				     const char *const *results, size_t count, struct tcb_error *err);
/* TCB_E_USAGE where DB has other results of an op on a device than OTHER. */
enum tcb_status tcb_db_recordings_agree(struct tcb_db *db, struct tcb_db *other, struct tcb_error *err);
/* Calls EACH for those of OP and DEVICE (NULL: any), ordered by both; a nonzero return stops.  EACH may read DB. */
enum tcb_status tcb_db_recording_each(struct tcb_db *db, const char *op, const char *device,
				      int (*each)(void *ctx, const struct tcb_recording *recording), void *ctx,
				      struct tcb_error *err);
/* Calls EACH for the results of recording ID in their order; a nonzero return stops. */
enum tcb_status tcb_db_recorded_each(struct tcb_db *db, int64_t id, int (*each)(void *ctx, const char *result),
				     void *ctx, struct tcb_error *err);

#endif
