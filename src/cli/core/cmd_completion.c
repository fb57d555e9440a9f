/* SPDX-License-Identifier: MIT
 *
 * tcbtune completion SHELL: what bash, zsh or fish reads to complete command
 * lines, from the tables of commands and options.
 */
#include <stdio.h>
#include <string.h>

#include "base/kind.h"
#include "base/problem.h"
#include "cli/core/cli.h"
#include "cli/core/emit.h"
#include "kernels/op.h"

enum shell { SHELL_BASH, SHELL_ZSH, SHELL_FISH };

struct completion_args {
	const struct tcb_registry *ops;
	int shell;
};

static const struct cli_option options[] = {
	{ NULL, "SHELL", CLI_WORD, offsetof(struct completion_args, shell), "the shell that is to read it",
	  .words = "bash|zsh|fish", .required = 1 },
	CLI_OPTION_END,
};

/* "a|b c" up to the blank, with blanks between the words. */
static void add_choices(struct tcb_str *out, const char *words)
{
	for (size_t i = 0, length = strcspn(words, " "); i < length; i++)
		tcb_str_add_bytes(out, words[i] == '|' ? " " : words + i, 1);
}

static void add_ops(struct tcb_str *out, const struct tcb_registry *ops)
{
	for (size_t i = 0; i < ops->count; i++)
		tcb_str_addf(out, "%s%s", i ? " " : "", ops->ops[i]->name);
}

static void add_contracts(struct tcb_str *out)
{
	for (int contract = 0; contract < TCB_CONTRACT_COUNT; contract++)
		tcb_str_addf(out, "%s%s", contract ? " " : "", tcb_contract_text((enum tcb_contract)contract));
	tcb_str_add(out, " auto");
}

static void add_commands(struct tcb_str *out)
{
	for (const struct cli_command *const *command = cli_commands; *command; command++)
		tcb_str_addf(out, "%s%s", command == cli_commands ? "" : " ", (*command)->name);
}

/* The words that OPTION takes, if they are known; else nothing, and files are offered. */
static void add_values(struct tcb_str *out, const struct tcb_registry *ops, const struct cli_option *option)
{
	if (option->words)
		add_choices(out, option->words);
	else if (option->names == CLI_NAMES_OP)
		add_ops(out, ops);
	else if (option->names == CLI_NAMES_DEVICE)
		tcb_kind_add_names(out);
	else if (option->names == CLI_NAMES_CONTRACT)
		add_contracts(out);
	else if (!option->name && strcmp(option->argument, "COMMAND") == 0)
		add_commands(out);
	else if (!option->name && memchr(option->argument, '|', strcspn(option->argument, " ")))
		add_choices(out, option->argument);
}

/* The help of OPTION up to its first pause, without what a shell reads as its own. */
static void add_about(struct tcb_str *out, const char *help)
{
	struct tcb_str full = { 0 };

	cli_add_text(&full, help);
	for (const char *c = full.data; c && *c && *c != ';' && *c != '\n' && strncmp(c, " (", 2) != 0; c++)
		if (*c == '\'')
			tcb_str_add(out, "\u2019");
		else
			tcb_str_add_bytes(out, strchr("[]\\$`", *c) ? " " : *c == ':' ? "," : c, 1);
	out->failed |= full.failed;
	tcb_str_fini(&full);
}

static void add_bash_options(struct tcb_str *out, const struct tcb_registry *ops, const struct cli_command *command)
{
	tcb_str_addf(out, "\t%s)\n\t\twords='--help", command->name);
	for (const struct cli_option *option = command->options; !cli_option_is_end(option); option++)
		if (option->name)
			tcb_str_addf(out, " --%s", option->name);
	tcb_str_add(out, "'\n\t\tplain='");
	for (const struct cli_option *option = command->options; !cli_option_is_end(option); option++)
		if (!option->name)
			add_values(out, ops, option);
	tcb_str_add(out, "'\n\t\tcase $prev in\n");
	for (const struct cli_option *option = command->options; !cli_option_is_end(option); option++) {
		if (!option->name || option->kind == CLI_FLAG)
			continue;
		tcb_str_addf(out, "\t\t--%s) value=1 words='", option->name);
		add_values(out, ops, option);
		tcb_str_add(out, "' ;;\n");
	}
	tcb_str_add(out, "\t\tesac\n\t\t;;\n");
}

static void add_bash(struct tcb_str *out, const struct tcb_registry *ops)
{
	tcb_str_add(out,
		    "# bash completion for tcbtune, made by 'tcbtune completion bash'\n"
		    "_tcbtune()\n{\n"
		    "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} words= plain= value=\n"
		    "\tif [[ $cur == '=' ]]; then\n\t\tcur=\n"
		    "\telif [[ $prev == '=' ]]; then\n\t\tprev=${COMP_WORDS[COMP_CWORD - 2]}\n\tfi\n"
		    "\tif ((COMP_CWORD == 1)); then\n\t\tCOMPREPLY=($(compgen -W '");
	add_commands(out);
	tcb_str_add(out, " --help --version' -- \"$cur\"))\n\t\treturn\n\tfi\n\tcase ${COMP_WORDS[1]} in\n");
	for (const struct cli_command *const *command = cli_commands; *command; command++)
		add_bash_options(out, ops, *command);
	tcb_str_add(out, "\tesac\n"
			 "\t[[ $value || $cur == -* ]] || words=$plain\n"
			 "\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
			 "}\n"
			 "complete -o default -F _tcbtune tcbtune\n");
}

static void add_zsh_option(struct tcb_str *out, const struct tcb_registry *ops, const struct cli_option *option)
{
	struct tcb_str values = { 0 };

	add_values(&values, ops, option);
	tcb_str_addf(out, " \\\n\t\t\t'%s", option->kind == CLI_LIST ? "*" : "");
	if (option->name) {
		tcb_str_addf(out, "--%s%s[", option->name, option->kind == CLI_FLAG ? "" : "=");
		add_about(out, option->help);
		tcb_str_add(out, "]");
	}
	if (option->kind != CLI_FLAG) {
		tcb_str_add(out, ":");
		add_about(out, option->argument);
		if (values.data && option->kind == CLI_LIST && !option->name)
			tcb_str_addf(out, ":{_alternative \"words:word:(%s)\" \"files:file:_files\"}", values.data);
		else if (values.data)
			tcb_str_addf(out, ":(%s)", values.data);
		else
			tcb_str_add(out, ":_files");
	}
	tcb_str_add(out, "'");
	out->failed |= values.failed;
	tcb_str_fini(&values);
}

static void add_zsh(struct tcb_str *out, const struct tcb_registry *ops)
{
	tcb_str_add(out, "#compdef tcbtune\n"
			 "# zsh completion for tcbtune, made by 'tcbtune completion zsh'\n"
			 "_tcbtune() {\n\tlocal -a commands\n\tcommands=(\n");
	for (const struct cli_command *const *command = cli_commands; *command; command++) {
		tcb_str_addf(out, "\t\t'%s:", (*command)->name);
		add_about(out, (*command)->summary);
		tcb_str_add(out, "'\n");
	}
	tcb_str_add(out, "\t)\n\tif ((CURRENT == 2)); then\n\t\t_describe command commands\n\t\treturn\n\tfi\n"
			 "\tshift words\n\t((CURRENT--))\n\tcase $words[1] in\n");
	for (const struct cli_command *const *command = cli_commands; *command; command++) {
		tcb_str_addf(out, "\t%s)\n\t\t_arguments '--help[what the command does]'", (*command)->name);
		for (const struct cli_option *option = (*command)->options; !cli_option_is_end(option); option++)
			add_zsh_option(out, ops, option);
		tcb_str_add(out, "\n\t\t;;\n");
	}
	tcb_str_add(out, "\tesac\n}\nif [[ $funcstack[1] == _tcbtune ]]; then\n\t_tcbtune \"$@\"\n"
			 "else\n\tcompdef _tcbtune tcbtune\nfi\n");
}

static void add_fish_option(struct tcb_str *out, const struct tcb_registry *ops, const char *command,
			    const struct cli_option *option)
{
	struct tcb_str values = { 0 };

	add_values(&values, ops, option);
	if (option->name || values.data) {
		tcb_str_addf(out, "complete -c tcbtune -n '__fish_seen_subcommand_from %s'", command);
		if (option->name)
			tcb_str_addf(out, " -l %s%s", option->name,
				     option->kind == CLI_FLAG ? ""
				     : values.data            ? " -x"
							      : " -r");
		if (values.data)
			tcb_str_addf(out, " -a '%s'", values.data);
		tcb_str_add(out, " -d '");
		add_about(out, option->help);
		tcb_str_add(out, "'\n");
	}
	out->failed |= values.failed;
	tcb_str_fini(&values);
}

static void add_fish(struct tcb_str *out, const struct tcb_registry *ops)
{
	tcb_str_add(out, "# fish completion for tcbtune, made by 'tcbtune completion fish'\n");
	for (const struct cli_command *const *command = cli_commands; *command; command++) {
		tcb_str_addf(out, "complete -c tcbtune -f -n __fish_use_subcommand -a %s -d '", (*command)->name);
		add_about(out, (*command)->summary);
		tcb_str_addf(out,
			     "'\ncomplete -c tcbtune -n '__fish_seen_subcommand_from %s' -l help -d 'explain it'\n",
			     (*command)->name);
		for (const struct cli_option *option = (*command)->options; !cli_option_is_end(option); option++)
			add_fish_option(out, ops, (*command)->name, option);
	}
}

static enum tcb_status run_completion(const void *arguments, struct tcb_error *err)
{
	static void (*const add[])(struct tcb_str *, const struct tcb_registry *) = { add_bash, add_zsh, add_fish };
	const struct completion_args *args = arguments;
	struct tcb_str out = { 0 };

	add[args->shell](&out, args->ops);
	return cli_emit(&out, err);
}

const struct cli_command cli_command_completion = {
	.name = "completion",
	.summary = "print what bash, zsh or fish needs to complete command lines",
	.description = "Prints a script that completes commands, options and the words that they take. Packages "
		       "install it; without one, put it where the shell looks.",
	.examples = "  source <(tcbtune completion bash)\n"
		    "  tcbtune completion zsh > ~/.zfunc/_tcbtune\n"
		    "  tcbtune completion fish > ~/.config/fish/completions/tcbtune.fish\n",
	.options = options,
	.args_bytes = sizeof(struct completion_args),
	.run = run_completion,
};
