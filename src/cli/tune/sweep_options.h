/* SPDX-License-Identifier: MIT
 *
 * What 'tcbtune sweep' is told on its command line.
 */
#ifndef TCB_CLI_SWEEP_OPTIONS_H
#define TCB_CLI_SWEEP_OPTIONS_H

#include "cli/core/cli.h"

struct cli_sweep_args {
	const struct tcb_registry *ops;
	const char *op, *device, *contract, *gguf, *strategy, *shard, *require, *db;
	struct cli_list shapes;
	uint64_t threads, max_trials, seed, rotation, finalists;
	double wait_quiet_s, budget_s, timeout_s, until_stable,
		target_ratio; /* 0: as the effort says; infinite: none */
	int effort;           /* enum cli_effort */
	int counters;         /* index in the words below: the order of enum tcb_counters_mode */
	int starts;           /* index in the words below */
	int objective;        /* enum tcb_objective */
	int any_size, fresh, again, measured_only, finals_only, allow_missing, json;
};
extern const struct cli_option cli_sweep_options[];

/* TCB_E_USAGE for an unknown strategy and for options that exclude each other. */
enum tcb_status cli_sweep_args_check(const struct cli_sweep_args *args, struct tcb_error *err);

#endif
