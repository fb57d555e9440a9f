/* SPDX-License-Identifier: MIT
 *
 * Names that people type for what is called otherwise here: ops, devices,
 * contracts.  A name that can mean one thing only is understood, and the user is
 * told; of one that can mean several things all are named; of what is not there
 * it is said.  Those of devices stand in the rows of their kinds (base/kind.h), the others in aliases.c.
 */
#ifndef TCB_CLI_ALIASES_H
#define TCB_CLI_ALIASES_H

#include "cli/core/cli.h"
#include "kernels/op_registry.h"

enum { CLI_NAME_MAX = 64, CLI_ADVICE_MAX = 320 };

/* The name that TYPED means into OUT, and 1; 0: it is a name already, or means nothing that is certain. */
int cli_alias_understand(const struct tcb_registry *ops, enum cli_names names, const char *typed,
			 char out[CLI_NAME_MAX]);
/* What is near to TYPED, which is no name: " (did you mean X?)" or "; ..."; empty where nothing is. */
void cli_alias_advice(const struct tcb_registry *ops, enum cli_names names, const char *typed,
		      char out[CLI_ADVICE_MAX]);

#endif
