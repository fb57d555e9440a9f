/* SPDX-License-Identifier: MIT
 *
 * The table of commands.  A command is one file, cmd_NAME.c, and one line here.
 */
#include <string.h>

#include "cli/core/cli.h"

const struct cli_command *const cli_commands[] = {
	/* tuning, and what came of it */
	&cli_command_sweep,
	&cli_command_model,
	&cli_command_report,
	&cli_command_compare,
	&cli_command_history,
	&cli_command_trial,
	&cli_command_space,
	&cli_command_lookup,
	&cli_command_run,
	&cli_command_bench,
	&cli_command_db,
	&cli_command_replay,
	&cli_command_defaults,
	/* kernels */
	&cli_command_ptx,
	&cli_command_wgsl,
	&cli_command_judge,
	&cli_command_verify,
	/* this machine, this program */
	&cli_command_ops,
	&cli_command_devices,
	&cli_command_doctor,
	&cli_command_completion,
	&cli_command_version,
	&cli_command_help,
	NULL,
};

enum { COMMANDS = sizeof cli_commands / sizeof *cli_commands - 1 };

const struct cli_command *cli_command_find(const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (strcmp(cli_commands[i]->name, name) == 0)
			return cli_commands[i];
	return NULL;
}

enum tcb_status cli_command_unknown(const char *name, struct tcb_error *err)
{
	const char *names[COMMANDS];
	char suggestion[96];

	if (strcmp(name, "export") == 0)
		return tcb_fail(err, TCB_E_USAGE,
				"unknown command 'export': 'tcbtune wgsl --out DIR' writes a kernel as files, 'tcbtune "
				"db export' results");
	for (size_t i = 0; i < COMMANDS; i++)
		names[i] = cli_commands[i]->name;
	cli_suggestion(name, names, COMMANDS, suggestion, sizeof suggestion);
	return tcb_fail(err, TCB_E_USAGE, "unknown command '%s'%s; 'tcbtune help' lists all", name, suggestion);
}
