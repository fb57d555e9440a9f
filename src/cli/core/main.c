/* SPDX-License-Identifier: MIT
 *
 * tcbtune, with the ops of this build.
 */
#include "cli/core/cli.h"

int main(int argc, char **argv)
{
	const struct tcb_registry ops = tcb_registry_built_in();

	return cli_main(&ops, argc, argv);
}
