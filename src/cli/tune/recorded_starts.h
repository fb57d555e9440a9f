/* SPDX-License-Identifier: MIT
 *
 * Imported results as places where a sweep begins.
 */
#ifndef TCB_CLI_RECORDED_STARTS_H
#define TCB_CLI_RECORDED_STARTS_H

#include "cli/tune/stored_starts.h"

/* Adds to OUT the best few of each recording of PROBLEM's op, on whatever device and of whatever size, if it has one of
 * the op's parameters. */
enum tcb_status cli_recorded_starts(struct tcb_db *db, const struct tcb_problem *problem,
				    const struct tcb_device *device, struct cli_winners *out, struct tcb_error *err);

#endif
