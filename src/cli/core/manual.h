/* SPDX-License-Identifier: MIT
 *
 * Manual pages in man(7), from the tables of commands and options.
 */
#ifndef TCB_CLI_MANUAL_H
#define TCB_CLI_MANUAL_H

#include "cli/core/cli.h"

/* tcbtune(1), or tcbtune-COMMAND(1) where COMMAND is not NULL. */
void cli_manual(const struct cli_command *command, struct tcb_str *out);

#endif
