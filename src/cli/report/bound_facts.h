/* SPDX-License-Identifier: MIT
 *
 * What stored and measured results are bound by: facts out of the database for
 * search/bottleneck.h, and its answer as text and JSON.
 */
#ifndef TCB_CLI_BOUND_FACTS_H
#define TCB_CLI_BOUND_FACTS_H

#include "cli/report/best_rows.h"
#include "search/bottleneck.h"

/* All winners of a database: what is known besides one row is the other cache state of its problem, and the limits of
 * larger problems. */
struct cli_bounds {
	struct tcb_best *list;
	size_t count, capacity;
	int failed;
};

enum tcb_status cli_bounds_load(struct tcb_db *db, struct cli_bounds *out, struct tcb_error *err);
void cli_bounds_fini(struct cli_bounds *bounds); /* zeroed is fine */

/* How long the core takes by itself: the problem's time hot over its time cold; NaN where hot it is at the read limit,
 * too. */
double cli_core_share(const struct tcb_best *cold, const struct tcb_best *hot);
/* Facts of BEST by what is stored; COUNTERS are those of its geometry and state. */
void cli_bounds_facts(const struct cli_bounds *bounds, const struct tcb_best *best, const struct tcb_counter *counters,
		      size_t counter_count, struct tcb_bottleneck_facts *out);
/* Of a stored row. */
void cli_bounds_of(const struct cli_bounds *bounds, const struct cli_best_row *row, struct tcb_bottleneck *out);

/* {kind, evidence, advice, roofline} */
json_t *cli_bottleneck_json(const struct tcb_bottleneck *bottleneck, int *failed);
/* Two lines, each after INDENT: what binds and why; the roofline. */
void cli_bottleneck_add(struct tcb_str *out, const char *indent, const struct tcb_bottleneck *bottleneck);

#endif
