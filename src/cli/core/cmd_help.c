/* SPDX-License-Identifier: MIT
 *
 * tcbtune help [COMMAND]: the list of commands, or one command's options, both
 * from the tables.
 */
#include <stdio.h>
#include <string.h>

#include "cli/core/cli.h"
#include "cli/core/emit.h"
#include "cli/core/manual.h"

enum { HELP_COLUMN = 24, WIDEST = 100 };

struct help_args {
	const struct tcb_registry *ops;
	const char *command;
	int is_manual;
};

static const struct cli_option options[] = {
	{ NULL, "COMMAND", CLI_TEXT, offsetof(struct help_args, command),
	  "the command to explain, or shapes: how a problem's sizes are written", .note = "the list of commands" },
	{ "format", "F", CLI_WORD, offsetof(struct help_args, is_manual),
	  "for reading here, or the source of the manual page", .words = "text|man", .fallback = "text" },
	CLI_OPTION_END,
};

/* TEXT broken between words, every line but the first indented to INDENT; the first starts at COLUMN. */
static void add_wrapped(struct tcb_str *out, const char *text, size_t column, size_t indent)
{
	const size_t own = cli_terminal_width(), width = own < WIDEST ? own : WIDEST;

	while (*text) {
		size_t length = strcspn(text, " \n");
		if (column + length > width && column > indent) {
			tcb_str_addf(out, "\n%*s", (int)indent, "");
			column = indent;
		}
		tcb_str_addf(out, "%.*s", (int)length, text);
		column += length;
		text += length;
		if (*text == '\n') {
			tcb_str_addf(out, "\n%*s", (int)indent, "");
			column = indent;
			text++;
		} else if (*text == ' ') {
			const size_t blanks = strspn(text, " ");
			if (column + blanks + strcspn(text + blanks, " \n") <= width)
				tcb_str_add(out, " ");
			column++;
			text++;
		}
	}
	tcb_str_add(out, "\n");
}

static void add_option(struct tcb_str *out, const struct cli_option *option)
{
	struct tcb_str left = { 0 }, right = { 0 };

	tcb_str_addf(&left, "  %s%s%s%s", option->name ? "--" : "", option->name ? option->name : "",
		     option->name && option->argument ? " " : "", option->argument ? option->argument : "");
	cli_add_text(&right, option->help);
	if (option->kind == CLI_WORD)
		tcb_str_addf(&right, " (%s)", option->words);
	if (option->kind == CLI_LIST)
		tcb_str_add(&right, "; may be given several times");
	if (option->required)
		tcb_str_add(&right, " [required]");
	else if (option->note || option->fallback)
		tcb_str_addf(&right, " [default: %s]", option->note ? option->note : option->fallback);
	if (!left.failed && !right.failed) {
		tcb_str_add(out, left.data);
		if (left.length + 2 > HELP_COLUMN)
			tcb_str_addf(out, "\n%*s", HELP_COLUMN, "");
		else
			tcb_str_addf(out, "%*s", (int)(HELP_COLUMN - left.length), "");
		add_wrapped(out, right.data, HELP_COLUMN, HELP_COLUMN);
	}
	tcb_str_fini(&left);
	tcb_str_fini(&right);
}

enum tcb_status cli_help_command(const struct cli_command *command, struct tcb_error *err)
{
	struct tcb_str out = { 0 };
	int optional = 0;

	tcb_str_addf(&out, "usage: tcbtune %s", command->name);
	for (const struct cli_option *option = command->options; !cli_option_is_end(option); option++) {
		if (!option->name)
			tcb_str_addf(&out, option->required ? " %s" : " [%s]",
				     option->words ? option->words : option->argument);
		else if (option->required)
			tcb_str_addf(&out, " --%s %s", option->name, option->argument);
		else
			optional = 1;
	}
	tcb_str_addf(&out, "%s\n\n", optional ? " [options]" : "");
	add_wrapped(&out, command->description, 0, 0);
	tcb_str_add(&out, "\n");
	for (const struct cli_option *option = command->options; !cli_option_is_end(option); option++)
		add_option(&out, option);
	tcb_str_add(&out, "  --help                this text\n");
	if (command->table) {
		tcb_str_add(&out, "\n");
		command->table(&out);
	}
	if (command->examples) {
		tcb_str_add(&out, "\nexamples:\n");
		cli_add_text(&out, command->examples);
	}
	return cli_emit_text(&out, err);
}

static void add_overview(struct tcb_str *out)
{
	tcb_str_add(out, "tcbtune: measures tiled kernels on this machine and remembers the fastest\n\n"
			 "usage: tcbtune COMMAND [options]\n\n");
	for (const struct cli_command *const *command = cli_commands; *command; command++)
		tcb_str_addf(out, "  %-10s %s\n", (*command)->name, (*command)->summary);
	cli_add_text(out, "\nstart with:   tcbtune sweep --op @OP        then   tcbtune report\n"
			  "of sizes:     tcbtune help shapes\n"
			  "own kernels:  tcbtune sweep --kernel FILE.json\n"
			  "exit status:  0 ok, 1 failure, 2 usage, 3 nothing found, 4 verification failed, "
			  "130 interrupted\n");
}

enum tcb_status cli_help_all(struct tcb_error *err)
{
	struct tcb_str out = { 0 };

	add_overview(&out);
	return cli_emit_text(&out, err);
}

static enum tcb_status run_help(const void *arguments, struct tcb_error *err)
{
	const struct help_args *args = arguments;
	const struct cli_command *command = args->command ? cli_command_find(args->command) : NULL;
	struct tcb_str out = { 0 };

	if (args->command && !strcmp(args->command, "shapes"))
		return cli_help_shapes(args->ops, err);
	if (args->command && !command)
		return cli_command_unknown(args->command, err);
	if (!args->is_manual)
		return command ? cli_help_command(command, err) : cli_help_all(err);
	cli_manual(command, &out);
	return cli_emit(&out, err);
}

const struct cli_command cli_command_help = {
	.name = "help",
	.summary = "explain a command",
	.description = "Prints the list of commands, or what COMMAND does and every option that it takes.",
	.examples = "  tcbtune help sweep\n  tcbtune help shapes\n  tcbtune help --format man sweep | man -l -\n",
	.options = options,
	.args_bytes = sizeof(struct help_args),
	.run = run_help,
};
