/* SPDX-License-Identifier: MIT
 *
 * The command line: one table of commands, one table of options per command.
 * A command's option table drives parsing, usage errors and help; man page and
 * completions are made from the same rows.  Only this folder prints or
 * exits: data on stdout, talk on stderr.  Texts for people may have marks for
 * what is in this build (marks.c): @OP, @FAMILIES, @STRATEGIES.
 */
#ifndef TCB_CLI_CLI_H
#define TCB_CLI_CLI_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/util.h"
#include "kernels/op_registry.h"

/* Where a value goes: the member at `offset` of the command's argument struct. */
enum cli_kind {
	CLI_FLAG,    /* int: 1 if given */
	CLI_TEXT,    /* const char *: NULL if not given */
	CLI_LIST,    /* struct cli_list: every occurrence, in order */
	CLI_COUNT,   /* uint64_t: a decimal number */
	CLI_BYTES,   /* uint64_t: a number with K, M or G (powers of 1024) */
	CLI_SECONDS, /* double: a number with ms, s, m or h; INFINITY for "none" where `words` is that */
	CLI_NUMBER,  /* double: a decimal number above zero; INFINITY for "none" where `words` is that */
	CLI_WORD,    /* int: index in `words` */
};

/* Texts are lent from argv. */
struct cli_list {
	const char **items;
	size_t count;
};

/* What a text names, so that other names for it are understood (aliases.h). */
enum cli_names { CLI_NAMES_ANY, CLI_NAMES_OP, CLI_NAMES_DEVICE, CLI_NAMES_CONTRACT };

/* A row is its first five members, and by name what else there is to say. */
struct cli_option {
	const char *name;     /* without the dashes; NULL for positional arguments */
	const char *argument; /* its name in the usage line; NULL for a flag */
	enum cli_kind kind;
	size_t offset;
	const char *help;
	enum cli_names names; /* of a text */
	const char *words;    /* the words that may be given, as in "cold|hot"; NULL: any */
	const char *fallback; /* the default, parsed as if it had been given; NULL for none */
	const char *note;     /* the default in words, where it is no literal; NULL for none */
	const char *bare;     /* what the option means without its argument; NULL: it needs one */
	uint64_t least, most; /* of a CLI_COUNT; most 0: any */
	int required;
};

struct cli_command {
	const char *name;
	const char *summary;     /* one line for the list of commands */
	const char *description; /* for `tcbtune help NAME`: what it does, what it prints, which exit codes */
	void (*table)(struct tcb_str *out); /* what help prints after the options; NULL: nothing */
	const char *examples;               /* command lines, each on a line of its own */
	const struct cli_option *options;   /* ends with a row that has neither name nor argument */
	/* Size of the argument struct, whose first member is `const struct tcb_registry *ops`, the ops to choose from.
	 */
	size_t args_bytes;
	enum tcb_status (*run)(const void *args, struct tcb_error *err);
};

/* dispatch.c: the program for the ops of OPS, which outlive it; the exit status. */
int cli_main(const struct tcb_registry *ops, int argc, char **argv);

/* One per command, at the end of cmd_NAME.c. */
extern const struct cli_command cli_command_bench, cli_command_compare, cli_command_completion, cli_command_db,
	cli_command_defaults, cli_command_devices, cli_command_doctor, cli_command_help, cli_command_history,
	cli_command_judge, cli_command_lookup, cli_command_model, cli_command_ops, cli_command_ptx, cli_command_replay,
	cli_command_report, cli_command_run, cli_command_space, cli_command_sweep, cli_command_trial,
	cli_command_verify, cli_command_version, cli_command_wgsl;

/* commands.c: all of them, in the order of the overview; ends with NULL. */
extern const struct cli_command *const cli_commands[];
const struct cli_command *cli_command_find(const char *name); /* NULL if unknown */
enum tcb_status cli_command_unknown(const char *name, struct tcb_error *err);

/* options.c */
int cli_option_is_end(const struct cli_option *option);
/* Names that were understood for others, as ARGS lends them. */
struct cli_kept {
	char **texts;
	size_t count;
};
/* Fills ARGS (command->args_bytes, zeroed but for its ops) and KEPT (zeroed) from the words after the command's name.
 * *HELP_OUT is 1 when --help was among them (nothing else is then checked).  Both are finished with cli_args_fini. */
enum tcb_status cli_parse(const struct cli_command *command, int argc, char **argv, void *args, struct cli_kept *kept,
			  int *help_out, struct tcb_error *err);
void cli_args_fini(const struct cli_command *command, void *args, struct cli_kept *kept);
/* nearest.c */
/* The candidate nearest to WORD by edit distance, or NULL if none is near. */
const char *cli_nearest(const char *word, const char *const *candidates, size_t count);
/* The FEW nearest ones into OUT, the nearest first, however far they are; returns how many. */
size_t cli_nearest_few(const char *word, const char *const *candidates, size_t count, const char **out, size_t few);
/* " (did you mean X?)" or "" into OUT. */
void cli_suggestion(const char *word, const char *const *candidates, size_t count, char *out, size_t capacity);

/* marks.c: TEXT with its marks replaced.  @OP: the first op of this build; @FAMILIES: CPU devices of one instruction
 * family each; @STRATEGIES: names. */
void cli_add_text(struct tcb_str *out, const char *text);

/* cmd_help.c */
enum tcb_status cli_help_all(struct tcb_error *err);
enum tcb_status cli_help_shapes(const struct tcb_registry *ops, struct tcb_error *err); /* help_shapes.c */
enum tcb_status cli_help_command(const struct cli_command *command, struct tcb_error *err);

/* Rows that several commands share; TYPE is the command's argument struct. */
#define CLI_OPTION_OP(type, must, text)                                                                 \
	{                                                                                               \
		"op", "OP", CLI_TEXT, offsetof(type, op), text, .required = must, .names = CLI_NAMES_OP \
	}
#define CLI_OPTION_DEVICE(type)                                                                                       \
	{                                                                                                             \
		"device", "DEV", CLI_TEXT, offsetof(type, device),                                                    \
			"this host's processor (cpu), or the same restricted to one instruction family (@FAMILIES); " \
			"a GPU by number (cuda:0) or kind (sm_90), or identical ones together (cuda:all)",            \
			.names = CLI_NAMES_DEVICE, .fallback = "cpu"                                                  \
	}
#define CLI_OPTION_THREADS(type)                                                                     \
	{                                                                                            \
		"threads", "N", CLI_COUNT, offsetof(type, threads), "threads that a kernel may use", \
			.fallback = "0", .note = "the physical cores"                                \
	}
#define CLI_OPTION_CONTRACT(type)                                                                        \
	{                                                                                                \
		"contract", "C", CLI_TEXT, offsetof(type, contract),                                     \
			"activation type inside the kernel: f32, f16 or q8", .note = "the op's own",     \
									     .names = CLI_NAMES_CONTRACT \
	}
#define CLI_OPTION_CONTRACTS(type, own)                                                                             \
	{                                                                                                           \
		"contract", "C", CLI_TEXT, offsetof(type, contract),                                                \
			"activation type inside the kernel: f32, f16 or q8; auto: the fastest that is at least as " \
			"exact as the op's own, auto:q8: as that one",                                              \
			.note = own, .names = CLI_NAMES_CONTRACT                                                    \
	}
#define CLI_OPTION_SHAPES(type)                                                                                \
	{                                                                                                      \
		"shape", "MxNxK", CLI_LIST, offsetof(type, shapes),                                            \
			"a shape to measure (MxN for row ops), or several: 1,2,4x4096x4096, 1:8:*2x4096x4096 " \
			"('tcbtune help shapes')",                                                             \
			.note = "the op's default shapes"                                                      \
	}
#define CLI_OPTION_SEED(type, text)                                                 \
	{                                                                           \
		"seed", "N", CLI_COUNT, offsetof(type, seed), text, .fallback = "1" \
	}
#define CLI_OPTION_ROTATION(type)                                                   \
	{                                                                           \
		"rotation", "BYTES", CLI_BYTES, offsetof(type, rotation),           \
			"memory that cold measurements rotate through, as in 600M", \
			.fallback = "0", .note = "twice the last cache as measured" \
	}
#define CLI_OPTION_TIMEOUT(type)                                                            \
	{                                                                                   \
		"timeout", "TIME", CLI_SECONDS, offsetof(type, timeout_s),                  \
			"time for one geometry before it counts as hung", .fallback = "20s" \
	}
#define CLI_OPTION_WAIT_QUIET(type)                                                                                  \
	{                                                                                                            \
		"wait-quiet", "TIME", CLI_SECONDS, offsetof(type, wait_quiet_s),                                     \
			"wait until others leave the processors alone, before each problem, before the finals of a " \
			"sweep and after disturbed rounds of a bench, up to TIME in all; no budget pays for it",     \
			.note = "do not wait"                                                                        \
	}
#define CLI_OPTION_DB(type)                                                          \
	{                                                                            \
		"db", "FILE", CLI_TEXT, offsetof(type, db), "the tuning database",   \
			.note = "$TCBTUNE_DB, else $XDG_DATA_HOME/tcbtune/tuning.db" \
	}
#define CLI_OPTION_JSON(type)                                                             \
	{                                                                                 \
		"json", NULL, CLI_FLAG, offsetof(type, json), "print JSON (see schemas/)" \
	}
#define CLI_OPTION_END       \
	{                    \
		.name = NULL \
	}

#endif
