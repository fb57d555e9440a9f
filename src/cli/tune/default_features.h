/* SPDX-License-Identifier: MIT
 *
 * The trials of databases as lines of numbers to learn from: `tcbtune defaults --format features`.
 */
#ifndef TCB_CLI_DEFAULT_FEATURES_H
#define TCB_CLI_DEFAULT_FEATURES_H

#include "base/util.h"
#include "cli/tune/default_cells.h"

/* A line of names, a tab between columns. */
void cli_features_head(struct tcb_str *out);
/* A problem on a device, and what its defaults are without what was learned. */
struct cli_featured {
	const struct tcb_problem *problem;
	const struct tcb_device *device;
	const char *family; /* op.h; the op where it has none */
	struct tcb_geometry standard, by_rule;
};
void cli_featured_init(struct cli_featured *out, const struct tcb_problem *problem, const struct tcb_device *device);
/* The line of GEOMETRY there, which took NS; 0: not measured. */
void cli_features_add(const struct cli_featured *of, const struct tcb_geometry *geometry,
		      const double ns[TCB_STATE_COUNT], int is_judged, struct tcb_str *out);
/* Adds a line of names, and one for each geometry that was measured of OP, or of ops with its space (NULL: any), on
 * ARCH (NULL: any); or ARE_CARRIED: for each that was good at one of these problems, at all of them, of one space.
 * Times of one shape on one kind of device are of all its databases. */
enum tcb_status cli_default_features(struct cli_default_groups *groups, const struct tcb_op *op, const char *arch,
				     int are_carried, struct tcb_str *out, struct tcb_error *err);

#endif
