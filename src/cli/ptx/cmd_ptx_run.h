/* SPDX-License-Identifier: MIT
 *
 * What the files of `tcbtune ptx run` share.
 */
#ifndef TCB_CLI_CMD_PTX_RUN_H
#define TCB_CLI_CMD_PTX_RUN_H

#include "cli/ptx/cmd_ptx.h"
#include "ptx/run/run.h"

/* A result that --expect asks about. */
struct ptx_expectation {
	unsigned argument;
	const char *path;
	uint8_t *data;             /* of the file, as many bytes as the argument has; owned */
	uint64_t differing, first; /* elements */
	double got, wanted;        /* of the first */
	char got_text[TCB_PTX_ELEMENT_TEXT], wanted_text[TCB_PTX_ELEMENT_TEXT];
};

struct ptx_run_job {
	const struct ptx_args *args;
	const char *name; /* of the file */
	struct tcb_ptx_module *module;
	struct tcb_ptx_function *kernel;
	struct tcb_ptx_run *run;
	struct tcb_ptx_launch launch;
	struct tcb_ptx_emulation counts;
	struct ptx_findings findings;
	struct ptx_expectation *expected;
	size_t expected_count;
	double seconds;
	uint64_t begin_ns, told_ns; /* of the run, and of its progress */
};

/* cmd_ptx_run_print.c */
void ptx_run_text(const struct ptx_run_job *job, unsigned width, struct tcb_str *out);
enum tcb_status ptx_run_json(const struct ptx_run_job *job, struct tcb_error *err);

#endif
