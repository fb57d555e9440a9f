/* SPDX-License-Identifier: MIT
 *
 * tcbtune, with the ops of this build and those that the environment describes.
 */
#include <stdlib.h>

#include "cli/core/cli.h"
#include "cli/core/emit.h"
#include "cli/core/own_reductions.h"

int main(int argc, char **argv)
{
	struct tcb_registry ops = tcb_registry_built_in();
	struct tcb_error err;
	const enum tcb_status status = cli_own_reductions(getenv("TCBTUNE_REDUCTIONS"), &ops, &err);
	if (status != TCB_OK) {
		cli_say("%s", err.message);
		return tcb_status_exit(status);
	}
	return cli_main(&ops, argc, argv);
}
