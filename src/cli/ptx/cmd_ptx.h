/* SPDX-License-Identifier: MIT
 *
 * What the files of `tcbtune ptx` share: its arguments, and the judgement on a
 * module that `ptx check FILE` and `ptx --op ... --check` both print.
 */
#ifndef TCB_CLI_CMD_PTX_H
#define TCB_CLI_CMD_PTX_H

#include "cli/core/cli.h"
#include "cli/core/emit.h"
#include "cli/ptx/ptx_launches.h"
#include "cli/ptx/ptx_policy.h"
#include "ptx/analyse/check.h"
#include "ptx/assemble/assemble.h"

struct ptx_args {
	const struct tcb_registry *ops;
	struct cli_list words; /* "check FILE..." */
	struct cli_list rules, no_rules, suppress, kernels, blocks;
	const char *baseline;
	struct cli_list arguments, out, expect;
	const char *launches, *grid, *cluster;
	uint64_t seed;
	double tolerance;
	const char *op, *target, *shape, *contract, *geometry, *dump_after, *stop_after, *ptxas_options;
	uint64_t dynamic_shared, step_limit, threads;
	int check, optimise, json, format, locate, fail_on, write_baseline, order, cooperative, progress;
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
	struct ptx_findings findings; /* to be settled by whoever has no more to add */
	struct tcb_assembler_info assembler;
	struct tcb_assemble_build build;
	char assembler_note[200]; /* why there is no assembly, or what was assembled instead of the text; else empty */
	int has_assembly;
	struct tcb_ptx_called *functions; /* that kernels call; the names lie in the assembly's log */
	size_t function_count;
	struct tcb_assembly assembly;
};

/* cmd_ptx_file.c */
/* All of PATH ("-": standard input); free *TEXT_OUT.  The error says what is wrong with it as PTX, if anything is to be
 * seen without parsing. */
enum tcb_status ptx_read_file(const char *path, char **text_out, size_t *length_out, struct tcb_error *err);
/* "sm_89", "sm_90a" */
enum tcb_status ptx_parse_target(const char *text, struct tcb_ptx_target *out, struct tcb_error *err);

/* cmd_ptx_judge.c */
struct ptx_judge_options {
	struct tcb_ptx_target target; /* zeroed: the module's own */
	const struct tcb_ptx_check_launch *launches;
	size_t launch_count;
	struct ptx_launches *named; /* instead of LAUNCHES, or NULL */
	const struct tcb_assemble_build
		*build;                  /* how it is compiled, by ptxas before nvJitLink; NULL: as sweeps compile */
	const struct ptx_policy *policy; /* NULL: every finding counts */
};
/* Parses TEXT (a syntax error is a finding), checks and assembles it.  The judgement lends NAME, and until its findings
 * are settled TEXT. */
enum tcb_status ptx_judge(const char *name, const char *text, size_t length, const struct ptx_judge_options *options,
			  struct ptx_judgement *out, struct tcb_error *err);
void ptx_judgement_fini(struct ptx_judgement *judgement);

/* cmd_ptx_print.c */
/* WIDTH: see ptx_findings_text. */
void ptx_judgement_text(const struct ptx_judgement *judgement, unsigned width, struct tcb_str *out);
void ptx_judgement_json(const struct ptx_judgement *judgement, json_t *root, int *failed);

/* cmd_ptx_check.c: ptx check FILE... */
enum tcb_status ptx_check_files(const struct ptx_args *args, struct tcb_error *err);

/* cmd_ptx_run.c: ptx run FILE */
enum tcb_status ptx_run_file(const struct ptx_args *args, struct tcb_error *err);

/* cmd_ptx_op.c: ptx --op */
enum tcb_status ptx_emit_op(const struct ptx_args *args, struct tcb_error *err);

#endif
