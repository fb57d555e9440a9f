/* SPDX-License-Identifier: MIT
 *
 * --strategy: the names that there are, and the default one's.
 */
#ifndef TCB_CLI_STRATEGY_OPTION_H
#define TCB_CLI_STRATEGY_OPTION_H

#include "base/status.h"

/* The name that a later sweep could be given: the default one's, where none was GIVEN. */
const char *cli_strategy_name(const char *given);
/* An error that lists them, unless NAME is NULL or a strategy's. */
enum tcb_status cli_strategy_check(const char *name, struct tcb_error *err);

#endif
