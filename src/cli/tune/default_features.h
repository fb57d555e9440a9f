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
/* The line of GEOMETRY at PROBLEM on DEVICE, which took NS; 0: not measured. */
void cli_features_add(const struct tcb_problem *problem, const struct tcb_device *device,
		      const struct tcb_geometry *geometry, const double ns[TCB_STATE_COUNT], int is_judged,
		      struct tcb_str *out);
/* Adds a line of names, and one for each geometry that was measured of OP (NULL: any) on ARCH (NULL: any).  Times of
 * one shape on one kind of device are of all its databases. */
enum tcb_status cli_default_features(struct cli_default_groups *groups, const char *op, const char *arch,
				     struct tcb_str *out, struct tcb_error *err);

#endif
