/* SPDX-License-Identifier: MIT
 *
 * The best that is stored when a sweep begins: measured again first, so that a
 * changed machine shows, and what `sweep --again` holds its own winner against.
 */
#ifndef TCB_CLI_FORMER_H
#define TCB_CLI_FORMER_H

#include "cli/core/emit.h"
#include "cli/report/best_rows.h"
#include "search/search.h"

struct cli_former {
	struct cli_best_row row[TCB_STATE_COUNT]; /* with its tie set */
	int is_stale[TCB_STATE_COUNT];            /* measured, of a kernel that has changed since */
	struct tcb_former asked[TCB_STATE_COUNT]; /* valid where there is a measured one of today's kernels */
};

enum tcb_status cli_former_load(struct tcb_db *db, const struct tcb_device *device, const struct tcb_problem *problem,
				struct cli_former *out, struct tcb_error *err);
void cli_former_fini(struct cli_former *former);
/* A line for each state in which the stored best is not what it was. */
void cli_former_say(const struct cli_former *former, const char *label, const struct tcb_sweep_result *result);
/* A line for each state that was judged again; returns how many former decisions do not hold. */
size_t cli_former_say_again(const struct cli_former *former, const char *label, const struct tcb_sweep_result *result);
/* IS_AGAIN: with whether the decision holds. */
json_t *cli_former_json(const struct cli_former *former, const struct tcb_sweep_result *result, int is_again,
			int *failed);

#endif
