/* SPDX-License-Identifier: MIT
 *
 * Sweeps on one device into one database: what 'tcbtune sweep' and 'tcbtune
 * model' share.  The caller says which problems, in which order, and prints
 * what came of them; messages and progress are said here.
 */
#ifndef TCB_CLI_SWEEP_RUN_H
#define TCB_CLI_SWEEP_RUN_H

#include "cli/core/problems.h"
#include "cli/report/best_rows.h"
#include "cli/tune/disturbance.h"
#include "cli/tune/effort.h"
#include "cli/tune/require_option.h"
#include "cli/tune/sweep_estimate.h"
#include "cli/tune/sweep_options.h"

/* One run of a command. */
struct cli_sweeping {
	uint64_t begun_ns; /* the command; then each problem after the first */
	const struct cli_sweep_args *args;
	struct tcb_shard shard;
	struct cli_require require;
	struct tcb_place place;
	struct tcb_place *others; /* of cuda:all, beside PLACE; owned */
	size_t other_count;
	struct tcb_db *db;
	char db_path[CLI_PATH_MAX];
	struct cli_best_rows rows;    /* the winners that were stored */
	size_t refuted;               /* by --again: former decisions that do not hold */
	struct cli_quiet quiet;       /* the caller waits before each problem */
	struct cli_effort_row limits; /* of each problem: the effort's, where no option says otherwise */
	struct cli_estimates estimates;
	json_t *sweeps; /* NULL without --json */
	int json_failed;
	char part[48];   /* before a problem's label in its progress: "problem 3 of 16: " */
	int knows_cache; /* PLACE's was looked up or measured */
	double later_s;  /* what the problems after this one may take; 0: nothing is said of them */
	double first_s;  /* as struct tcb_sweep_options has it */
};

/* Opens the device that RUN's args name.  Close RUN in every case. */
enum tcb_status cli_sweeping_open(struct cli_sweeping *run, struct tcb_error *err);
void cli_sweeping_close(struct cli_sweeping *run);
/* A GPU that is absent, or is not to be asked: there is nothing to measure on. */
int cli_sweeping_is_modelled(const struct cli_sweeping *run);
/* Sweeps PROBLEM within RUN's limits and stores what it finds.  TCB_E_INTERRUPTED once cli_stop_asked was set: what is
 * finished is stored. */
enum tcb_status cli_sweep_problem(struct cli_sweeping *run, const struct cli_problem *problem, struct tcb_error *err);

#endif
