/* SPDX-License-Identifier: MIT
 *
 * What the files of `tcbtune ptx` share: its arguments, and the judgement on a
 * module that `ptx check FILE` and `ptx --op ... --check` both print.
 */
#ifndef TCB_CLI_CMD_PTX_H
#define TCB_CLI_CMD_PTX_H

#include "cli/cli.h"
#include "cli/emit.h"
#include "ptx/analyse/check.h"
#include "ptx/assemble/assemble.h"

struct ptx_args {
	struct cli_list words; /* "check FILE" */
	const char *op, *target, *shape, *contract, *geometry, *out, *block, *dump_after, *stop_after, *ptxas_options;
	uint64_t dynamic_shared;
	int check, optimise, json;
};

/* A finding that outlives the module. */
struct ptx_finding {
	enum tcb_ptx_rule rule;
	enum tcb_ptx_severity severity;
	uint32_t line;
	char *function, *instruction; /* NULL: none */
	char *message;                /* without the rule's name */
};

struct ptx_occupancy {
	int known;
	struct tcb_occupancy occupancy;
	char why[160]; /* not KNOWN */
};

struct ptx_judged_kernel {
	struct tcb_ptx_check_kernel facts;
	int has_resources;
	struct tcb_ptx_resources resources;
	struct ptx_occupancy occupancy; /* by the assembler's figures, else by the estimate */
};

struct ptx_judgement {
	const char *name;              /* the file, or the kernel's */
	struct tcb_ptx_module *module; /* NULL: it could not be parsed; owned */
	struct tcb_ptx_target target;
	struct ptx_judged_kernel *kernels;
	size_t kernel_count;
	struct ptx_finding *findings; /* by line */
	size_t finding_count, finding_capacity;
	unsigned count[3]; /* by severity */
	struct tcb_assembler_info assembler;
	struct tcb_assemble_build build;
	char assembler_note[200]; /* why there is no assembly; empty when there is one */
	int has_assembly;
	struct tcb_assembly assembly;
	int failed; /* out of memory for a finding */
};

/* cmd_ptx_file.c */
/* All of PATH ("-": standard input); free *TEXT_OUT.  The error says what is wrong with it as PTX, if anything is to be
 * seen without parsing. */
enum tcb_status ptx_read_file(const char *path, char **text_out, size_t *length_out, struct tcb_error *err);
/* "sm_89", "sm_90a" */
enum tcb_status ptx_parse_target(const char *text, struct tcb_ptx_target *out, struct tcb_error *err);
/* "256", "32x8", "32x8x2" */
enum tcb_status ptx_parse_block(const char *text, uint32_t out[3], struct tcb_error *err);

/* cmd_ptx_judge.c */
/* Parses TEXT (a syntax error is a finding), checks and assembles it.  TARGET zeroed: the module's own.
 * The judgement lends NAME.  BUILD: how it is compiled, by ptxas before nvJitLink; NULL: as sweeps compile. */
enum tcb_status ptx_judge(const char *name, const char *text, size_t length, const struct tcb_ptx_target *target,
			  const struct tcb_ptx_check_launch *launches, size_t launch_count,
			  const struct tcb_assemble_build *build, struct ptx_judgement *out, struct tcb_error *err);
/* "ptxas 13.0 for sm_90a as a whole program with -O1" */
void ptx_assembler_text(const struct ptx_judgement *judgement, struct tcb_str *out);
void ptx_judgement_fini(struct ptx_judgement *judgement);
void ptx_judgement_add(struct ptx_judgement *judgement, const struct tcb_ptx_finding *finding);

/* cmd_ptx_print.c */
void ptx_judgement_text(const struct ptx_judgement *judgement, struct tcb_str *out);
void ptx_judgement_json(const struct ptx_judgement *judgement, json_t *root, int *failed);

/* cmd_ptx_op.c: ptx --op */
enum tcb_status ptx_emit_op(const struct ptx_args *args, struct tcb_error *err);

#endif
