/* SPDX-License-Identifier: MIT
 *
 * One problem's sweep as JSON (schemas/sweep.schema.json).
 */
#ifndef TCB_CLI_SWEEP_JSON_H
#define TCB_CLI_SWEEP_JSON_H

#include "cli/tune/former.h"
#include "cli/tune/stored_starts.h"

/* What there is to say; all lent. */
struct cli_sweep_done {
	const struct tcb_problem *problem;
	const struct tcb_shard *shard;
	const struct tcb_sweep_result *result;
	size_t stale_count; /* stored trials of kernels that have changed since */
	const struct cli_winners *winners;
	const struct cli_former *former;
	int is_again;
	const struct cli_best_row *rows; /* the winners that it stored */
	size_t row_count;
};

json_t *cli_sweep_json(const struct cli_sweep_done *done, int *failed);

#endif
