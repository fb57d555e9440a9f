/* SPDX-License-Identifier: MIT
 *
 * Kernels that are not ours, which files describe: ops of the registry, for any command.
 */
#ifndef TCB_CLI_KERNEL_OPTION_H
#define TCB_CLI_KERNEL_OPTION_H

#include "kernelfile/kernel_file.h"
#include "kernels/op_registry.h"

/* The words of a command line, and the ops that files describe; all of it is owned. */
struct cli_words {
	char **list, *made[4]; /* LIST ends with NULL; texts of MADE are among it */
	int count;
	struct tcb_file_op **ops;
	size_t op_count;
};

/*
 * Adds to REGISTRY the ops of the files that LISTED names (separated by colons; NULL: none), and that of `--kernel
 * FILE.json` among the ARGC words of ARGV.  OUT is those words for commands that know ops and shapes: `--kernel` says
 * --op where that is not given, `--problem M=512,N=512` --shape.  The ops live as long as OUT, which is to be finished
 * whatever came of it.
 */
enum tcb_status cli_kernel_files(const char *listed, int argc, char **argv, struct tcb_registry *registry,
				 struct cli_words *out, struct tcb_error *err);
/* "M=512,N=512" of FILE's sizes; those that are not named are as in the file. */
enum tcb_status cli_kernel_sizes(const char *text, const struct tcb_kernel_file *file, size_t size[TCB_FILE_SIZES_MAX],
				 struct tcb_error *err);
void cli_words_fini(struct cli_words *words);

#endif
