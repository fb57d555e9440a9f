/* SPDX-License-Identifier: MIT
 *
 * From the names of two files to the kernels that a judge hears.
 */
#ifndef TCB_CLI_JUDGE_FILES_H
#define TCB_CLI_JUDGE_FILES_H

#include "judge/ruling.h"

/* Kernels that are open; finish it whatever came of it. */
struct cli_judge_files {
	struct tcb_file_op *judged, *against; /* AGAINST may be NULL */
};

/*
 * KERNEL is a kernel's file (JSON), or a source, which takes the place of that of AGAINST.  AGAINST NULL: the file's
 * own Reference.  Fills OPTIONS' task, kernels and shape (the task's sizes).
 */
enum tcb_status cli_judge_open(const char *kernel, const char *against, struct cli_judge_files *out,
			       struct tcb_judge_options *options, struct tcb_error *err);
void cli_judge_close(struct cli_judge_files *files);

#endif
