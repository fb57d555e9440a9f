/* SPDX-License-Identifier: MIT
 *
 * What a database has that is near to what was asked of it in vain.
 */
#ifndef TCB_CLI_NEARBY_H
#define TCB_CLI_NEARBY_H

#include "db/db.h"

/* What was wanted; what may be anything is NULL, 0 or -1. */
struct cli_near_to {
	const char *op; /* or a family, as formats have */
	const char *device_name, *device_key;
	unsigned threads;
	int contract, state; /* enum tcb_contract, enum tcb_state */
	const struct tcb_shape *shape;
};

enum { CLI_NEARBY_MAX = 192 + TCB_SHAPE_TEXT_MAX };

/* Of all COUNT winners of a database: "stored nearby: contract f32; shapes 1x4096x14336, 1x14336x4096", by what alone
 * differs; else the nearest row that there is; empty where there is none. */
void cli_nearby(const struct tcb_best *list, size_t count, const struct cli_near_to *wanted, char out[CLI_NEARBY_MAX]);

#endif
