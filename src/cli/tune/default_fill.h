/* SPDX-License-Identifier: MIT
 *
 * Measures what `tcbtune defaults` would like to know: geometries that matter at
 * one shape, at the shapes where nobody has tried them.
 */
#ifndef TCB_CLI_DEFAULT_FILL_H
#define TCB_CLI_DEFAULT_FILL_H

#include "cli/tune/default_cells.h"

struct cli_fill {
	const struct tcb_registry *ops;
	const char *device, *db; /* as on the command line */
	uint64_t threads;
	double budget_s; /* for all; 0: as long as it takes */
	const struct cli_default_group *groups;
	const unsigned char *const *wanted; /* [group][candidate] */
	size_t group_count;
};

/* Measures what matters and was not measured on this device, for each shape in a sweep of its own, and stores the
 * trials in the database. */
enum tcb_status cli_fill_run(const struct cli_fill *fill, struct tcb_error *err);

#endif
