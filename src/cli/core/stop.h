/* SPDX-License-Identifier: MIT
 *
 * The user's wish to end: SIGINT and SIGTERM.
 */
#ifndef TCB_CLI_STOP_H
#define TCB_CLI_STOP_H

#include <signal.h>

extern volatile sig_atomic_t cli_stop_asked; /* 1 after the first signal; the second ends the program at once */
void cli_stop_catch(void);

#endif
