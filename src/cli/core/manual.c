/* SPDX-License-Identifier: MIT
 *
 * Manual pages: the texts of the tables that `tcbtune help` prints, with the
 * macros of man(7).
 */
#include <stdlib.h>
#include <string.h>

#include "base/build_info.h"
#include "cli/core/emit.h"
#include "cli/core/manual.h"

/* The day of CHANGELOG.md on which this version was made. */
static const char release_date[] = "2026-11-24";

/* TEXT so that roff takes none of it for its own; each line of it stays a line. */
static void add_plain(struct tcb_str *out, const char *text)
{
	int starts_line = !out->length || out->data[out->length - 1] == '\n';

	for (; *text; text++) {
		if (starts_line && (*text == '.' || *text == '\''))
			tcb_str_add(out, "\\&");
		if (*text == '\\')
			tcb_str_add(out, "\\e");
		else if (*text == '-')
			tcb_str_add(out, "\\-");
		else
			tcb_str_add_bytes(out, text, 1);
		starts_line = *text == '\n';
	}
}

/* Prose: its marks are replaced, its lines become paragraphs of the indent that they are in. */
static void add_prose(struct tcb_str *out, const char *text)
{
	struct tcb_str full = { 0 };

	cli_add_text(&full, text);
	out->failed |= full.failed;
	for (const char *line = full.data ? full.data : ""; *line;) {
		const size_t length = strcspn(line, "\n");
		char *copy = strndup(line, length);
		out->failed |= !copy;
		if (copy)
			add_plain(out, copy + strspn(copy, " "));
		free(copy);
		line += length + (line[length] == '\n');
		tcb_str_add(out, *line ? "\n.br\n" : "\n");
	}
	tcb_str_fini(&full);
}

/* Lines that stay as they are. */
static void add_lines(struct tcb_str *out, const char *text)
{
	tcb_str_add(out, ".nf\n");
	add_plain(out, text);
	tcb_str_add(out, ".fi\n");
}

static void add_title(struct tcb_str *out, const char *page, const char *about)
{
	struct tcb_str title = { 0 };

	tcb_str_add(&title, page);
	for (char *c = title.data; c && *c; c++)
		if (*c >= 'a' && *c <= 'z')
			*c = (char)(*c - 'a' + 'A');
	out->failed |= title.failed;
	tcb_str_add(out, ".TH ");
	add_plain(out, title.data ? title.data : "");
	tcb_str_addf(out, " 1 %s \"tcbtune %s\" \"User Commands\"\n.SH NAME\n", release_date,
		     tcb_build_info()->version);
	add_plain(out, page);
	tcb_str_add(out, " \\- ");
	add_plain(out, about);
	tcb_str_add(out, "\n");
	tcb_str_fini(&title);
}

static void add_option(struct tcb_str *out, const struct cli_option *option)
{
	tcb_str_add(out, ".TP\n");
	if (option->name) {
		tcb_str_add(out, "\\fB\\-\\-");
		add_plain(out, option->name);
		tcb_str_add(out, "\\fR");
	}
	if (option->argument) {
		tcb_str_add(out, option->name ? " \\fI" : "\\fI");
		add_plain(out, option->argument);
		tcb_str_add(out, "\\fR");
	}
	tcb_str_add(out, "\n");
	add_prose(out, option->help);
	if (out->length && out->data[out->length - 1] == '\n')
		out->length--;
	tcb_str_add(out, ".\n");
	if (option->kind == CLI_WORD) {
		tcb_str_add(out, "One of ");
		add_plain(out, option->words);
		tcb_str_add(out, ".\n");
	}
	if (option->kind == CLI_LIST)
		tcb_str_add(out, "May be given several times.\n");
	if (option->required) {
		tcb_str_add(out, "Required.\n");
	} else if (option->note || option->fallback) {
		tcb_str_add(out, "Default: ");
		add_plain(out, option->note ? option->note : option->fallback);
		tcb_str_add(out, ".\n");
	}
}

static void add_synopsis(struct tcb_str *out, const struct cli_command *command)
{
	int optional = 0;

	tcb_str_addf(out, ".SH SYNOPSIS\n\\fBtcbtune %s\\fR", command->name);
	for (const struct cli_option *option = command->options; !cli_option_is_end(option); option++) {
		if (option->name && !option->required) {
			optional = 1;
			continue;
		}
		tcb_str_add(out, option->required ? " " : " [");
		if (option->name) {
			tcb_str_add(out, "\\fB\\-\\-");
			add_plain(out, option->name);
			tcb_str_add(out, "\\fR ");
		}
		tcb_str_add(out, "\\fI");
		add_plain(out, !option->name && option->words ? option->words : option->argument);
		tcb_str_add(out, option->required ? "\\fR" : "\\fR]");
	}
	tcb_str_add(out, optional ? " [\\fIoptions\\fR]\n" : "\n");
}

static void add_environment(struct tcb_str *out)
{
	tcb_str_add(out, ".SH ENVIRONMENT\n"
			 ".TP\nTCBTUNE_DB\nThe tuning database, where \\-\\-db is not given.\n"
			 ".TP\nTCBTUNE_SYSTEM_DB\nThe system's database below it, which is only read; empty: none.\n"
			 ".TP\nTCBTUNE_REDUCTIONS\nReductions of one's own, NAME=IDENTITY:COMBINE;..., each op "
			 "reduce2d_NAME (docs/ops.md).\n"
			 ".TP\nTCBTUNE_KERNELS\nFiles that describe kernels of one's own, separated by colons; "
			 "\\-\\-kernel FILE.json adds one to any command (docs/how-to/tune\\-your\\-own\\-kernel.md).\n"
			 ".TP\nXDG_DATA_HOME\nWhere tcbtune/tuning.db lies without either; ~/.local/share if not set.\n"
			 ".TP\nNO_COLOR\nIf set and not empty: no colour.\n");
}

/* Where what a page calls docs/NAME.md is. */
static void add_files(struct tcb_str *out)
{
	tcb_str_add(out, ".SH FILES\n"
			 ".TP\ndocs/\nIn share/doc/tcbtune of the prefix that tcbtune is installed in, such as\n"
			 "/usr/share/doc/tcbtune/docs.\n");
}

static int names_documents(const struct cli_command *command)
{
	int found = strstr(command->description, "docs/") != NULL;

	for (const struct cli_option *option = command->options; !cli_option_is_end(option); option++)
		found |= option->help && strstr(option->help, "docs/");
	return found;
}

static void add_command(struct tcb_str *out, const struct cli_command *command)
{
	struct tcb_str text = { 0 };

	tcb_str_addf(&text, "tcbtune-%s", command->name);
	add_title(out, text.data ? text.data : "", command->summary);
	tcb_str_fini(&text);
	add_synopsis(out, command);
	tcb_str_add(out, ".SH DESCRIPTION\n");
	add_prose(out, command->description);
	tcb_str_add(out, ".SH OPTIONS\n");
	for (const struct cli_option *option = command->options; !cli_option_is_end(option); option++)
		add_option(out, option);
	tcb_str_add(out, ".TP\n\\fB\\-\\-help\\fR\nPrint what this page says.\n");
	if (command->table) {
		command->table(&text);
		tcb_str_add(out, ".SH TABLE\n");
		add_lines(out, text.data ? text.data : "");
		tcb_str_fini(&text);
	}
	if (command->examples) {
		cli_add_text(&text, command->examples);
		tcb_str_add(out, ".SH EXAMPLES\n");
		add_lines(out, text.data ? text.data : "");
	}
	if (names_documents(command))
		add_files(out);
	tcb_str_add(out, ".SH SEE ALSO\n.BR tcbtune (1)\n");
	out->failed |= text.failed;
	tcb_str_fini(&text);
}

static void add_overview(struct tcb_str *out)
{
	add_title(out, "tcbtune", "measure tiled kernels on this machine and remember the fastest");
	tcb_str_add(out, ".SH SYNOPSIS\n\\fBtcbtune\\fR \\fICOMMAND\\fR [\\fIoptions\\fR]\n.SH DESCRIPTION\n");
	add_prose(out, "An autotuner for tiled kernels on CPUs and NVIDIA GPUs: it enumerates every legal geometry of "
		       "an operation, checks each candidate against a reference in double precision, measures it, and "
		       "keeps the winners with all samples in a database, from which tcbrt(3) serves programs.");
	tcb_str_add(out, "Start with\n.B tcbtune sweep\nand then\n.BR \"tcbtune report\" .\n.SH COMMANDS\n");
	for (const struct cli_command *const *command = cli_commands; *command; command++) {
		tcb_str_addf(out, ".TP\n.BR tcbtune\\-%s (1)\n", (*command)->name);
		add_prose(out, (*command)->summary);
	}
	add_environment(out);
	tcb_str_add(out, ".SH EXIT STATUS\n"
			 ".TP\n0\nAll went well.\n.TP\n1\nFailure.\n.TP\n2\nWrong usage.\n.TP\n3\nNothing was found.\n"
			 ".TP\n4\nVerification failed, or what was compared is slower or differs.\n"
			 ".TP\n130\nInterrupted.\n");
	add_files(out);
	tcb_str_add(out, ".SH SEE ALSO\n.BR tcbrt (3),\n.BR tcbptx (3)\n");
}

void cli_manual(const struct cli_command *command, struct tcb_str *out)
{
	if (command)
		add_command(out, command);
	else
		add_overview(out);
}
