/* SPDX-License-Identifier: MIT
 *
 * Geometries of one problem that 'tcbtune bench' has measured beside one another in one cache state.
 */
#ifndef TCB_CLI_CONTEST_H
#define TCB_CLI_CONTEST_H

#include <jansson.h>

#include "cli/core/problems.h"
#include "cli/report/best_rows.h"
#include "cli/report/bound_facts.h"
#include "search/bottleneck.h"
#include "search/search.h"

enum { CLI_ROLE_MAX = 16 + TCB_SHAPE_TEXT_MAX };

/* [0] is the geometry that the others are compared with. */
struct cli_contest {
	const struct cli_problem *problem;
	enum tcb_state state;
	struct tcb_geometry geometry[TCB_BENCH_MOST];
	char role[TCB_BENCH_MOST][CLI_ROLE_MAX]; /* "best", "given", "default", "scalar", "of 1x14336x4096" */
	size_t count;
	struct tcb_bench_result result;
	struct cli_best_row
		stored; /* whose counters are known: the row that the best is from, or what was counted now */
	json_t *json;   /* lent by the list of all; NULL where a table is wanted */
};

/* A row that there was no time for has no times. */
int cli_contest_is_measured(const struct cli_contest *contest, size_t i);
/* The table under its problem's name; a narrow terminal gets shares of the limits without rates. */
enum tcb_status cli_contest_add(const struct cli_contest *contest, struct tcb_str *out, struct tcb_error *err);
/* Owned by the caller; FAILED as in cli/core/emit.h. */
json_t *cli_contest_json(const struct cli_contest *contest, int *failed);
/* What the first geometry of STATE is bound by, on DEVICE, beside BOUNDS that are stored.  Its limits were timed in the
 * same rounds. */
void cli_contest_bound(const struct cli_contest contests[TCB_STATE_COUNT], enum tcb_state state,
		       const struct tcb_device *device, const struct cli_bounds *bounds, struct tcb_bottleneck *out);

#endif
