/* SPDX-License-Identifier: MIT
 *
 * The trials of databases as lines of numbers to learn from: `tcbtune defaults --format features`.
 */
#ifndef TCB_CLI_DEFAULT_FEATURES_H
#define TCB_CLI_DEFAULT_FEATURES_H

#include "base/util.h"
#include "cli/tune/default_cells.h"

/* Adds a line of names, and one for each geometry that was measured of OP (NULL: any) on ARCH (NULL: any): tab between
 * columns, times in ns, 0 where a state was not measured.  Times of one shape on one kind of device are of all its
 * databases. */
enum tcb_status cli_default_features(struct cli_default_groups *groups, const char *op, const char *arch,
				     struct tcb_str *out, struct tcb_error *err);

#endif
