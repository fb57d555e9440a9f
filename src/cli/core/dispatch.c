/* SPDX-License-Identifier: MIT
 *
 * Finds the command in the table, parses its options, runs it for the ops that
 * there are, and turns its status into the exit status.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stack.h"
#include "cli/core/cli.h"
#include "cli/core/emit.h"

struct running {
	const struct tcb_registry *ops;
	const struct cli_command *command;
	int argc;
	char **argv;
	struct tcb_error *err;
	enum tcb_status status;
};

/* Words in front of every command: `tcbtune --help`, `tcbtune --version`. */
static const char *command_name(const char *word)
{
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		return "help";
	if (strcmp(word, "--version") == 0)
		return "version";
	return word;
}

static enum tcb_status run_command(const struct cli_command *command, const struct tcb_registry *ops, int argc,
				   char **argv, struct tcb_error *err)
{
	void *args = calloc(1, command->args_bytes);
	struct cli_kept kept = { NULL, 0 };
	int help = 0;
	enum tcb_status status;

	if (!args)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory");
	memcpy(args, &ops, sizeof ops);
	status = cli_parse(command, argc, argv, args, &kept, &help, err);
	if (status == TCB_OK)
		status = help ? cli_help_command(command, err) : command->run(args, err);
	cli_args_fini(command, args, &kept);
	free(args);
	return status;
}

static void run(void *ctx)
{
	struct running *running = ctx;

	running->status = run_command(running->command, running->ops, running->argc, running->argv, running->err);
}

int cli_main(const struct tcb_registry *ops, int argc, char **argv)
{
	struct tcb_error err = { .status = TCB_OK };
	struct running running = { .ops = ops, .argc = argc - 2, .argv = argv + 2, .err = &err };
	enum tcb_status status;

	/* A closed pipe or a file-size limit is then an error of one write, with its own message. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	if (argc < 2) {
		cli_help_all(NULL);
		return tcb_status_exit(TCB_E_USAGE);
	}
	/* Reading PTX and references go deep, whatever `ulimit -s` says. */
	tcb_stack_of_threads();
	running.command = cli_command_find(command_name(argv[1]));
	status = running.command ? tcb_stack_call(run, &running, &err) : cli_command_unknown(argv[1], &err);
	if (status == TCB_OK)
		status = running.status;
	if (status != TCB_OK && err.message[0])
		cli_say("%s", err.message);
	return tcb_status_exit(status);
}
