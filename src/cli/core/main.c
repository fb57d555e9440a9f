/* SPDX-License-Identifier: MIT
 *
 * tcbtune, with the ops of this build and those that files and the environment describe.
 */
#include <stdlib.h>

#include "cli/core/cli.h"
#include "cli/core/emit.h"
#include "cli/core/kernel_option.h"
#include "cli/core/own_reductions.h"

int main(int argc, char **argv)
{
	static struct tcb_registry ops; /* what is loaded lives as long as the program */
	struct cli_words words = { .list = NULL };
	struct tcb_error err;
	enum tcb_status status;
	int exit_status;

	ops = tcb_registry_built_in();
	status = cli_own_reductions(getenv("TCBTUNE_REDUCTIONS"), &ops, &err);

	if (status == TCB_OK)
		status = cli_kernel_files(getenv("TCBTUNE_KERNELS"), argc, argv, &ops, &words, &err);
	if (status == TCB_OK)
		exit_status = cli_main(&ops, words.count, words.list);
	else
		exit_status = tcb_status_exit(status);
	if (status != TCB_OK)
		cli_say("%s", err.message);
	cli_words_fini(&words);
	return exit_status;
}
