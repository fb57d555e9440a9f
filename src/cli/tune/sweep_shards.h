/* SPDX-License-Identifier: MIT
 *
 * Before the finals among shards: are all of them there?
 */
#ifndef TCB_CLI_SWEEP_SHARDS_H
#define TCB_CLI_SWEEP_SHARDS_H

#include "cli/core/problems.h"

/* Finals without new candidates (--finals-only): of which problem, where.  All texts are lent. */
struct cli_finals {
	const struct tcb_device *device;
	const char *device_text; /* as on the command line */
	const struct tcb_problem *problem;
	uint64_t rotation_bytes;
	const char *db_path;
	size_t known_count; /* candidates */
	int allow_missing;
};

/* The trials of earlier sweeps, with the times of the default geometry in the same sweeps (tcb_db_trials_anchored). */
enum tcb_status cli_known_trials(struct tcb_db *db, const struct cli_problem *problem, const struct tcb_device *device,
				 uint64_t rotation_bytes, struct tcb_trial **out, size_t *count_out,
				 struct tcb_error *err);
/* TCB_E_USAGE for options that exclude each other; WITH names one that was given and does not go with --finals-only. */
enum tcb_status cli_finals_check_options(int finals_only, int allow_missing, const char *with, struct tcb_error *err);
/* Fails if nothing is known, or if shards are missing or unfinished, unless that is allowed.  Says which those are,
 * each with the command that sweeps it. */
enum tcb_status cli_finals_check(struct tcb_db *db, const struct cli_finals *finals, struct tcb_error *err);

#endif
