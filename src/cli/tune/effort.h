/* SPDX-License-Identifier: MIT
 *
 * How much a sweep does: --effort, one word for its limits.
 */
#ifndef TCB_CLI_EFFORT_H
#define TCB_CLI_EFFORT_H

#include "base/util.h"
#include "search/search.h"

enum cli_effort {
	CLI_EFFORT_ESTIMATE,
	CLI_EFFORT_QUICK,
	CLI_EFFORT_NORMAL,
	CLI_EFFORT_THOROUGH,
	CLI_EFFORT_EXHAUSTIVE,
	CLI_EFFORT_COUNT
};
#define CLI_EFFORT_WORDS "estimate|quick|normal|thorough|exhaustive"

struct cli_effort_row {
	const char *name;
	double budget_s;     /* 0: none */
	double until_stable; /* as a ratio - 1; 0: never */
	unsigned finalists;
	const char *strategy; /* NULL: the default */
	const char *what;
};
/* The effort's, where the options do not say otherwise: 0 or NULL is not given, an infinite value is "none".
 * UNTIL_STABLE is in percent. */
struct cli_effort_row cli_effort_limits(enum cli_effort effort, double budget_s, double until_stable,
					unsigned finalists, const char *strategy);
/* A line where RESULT took more than a tenth longer than its budget. */
void cli_effort_say_late(const struct cli_effort_row *limits, const char *label, const struct tcb_sweep_result *result);
/* The table, for help. */
void cli_effort_add_table(struct tcb_str *out);

#endif
