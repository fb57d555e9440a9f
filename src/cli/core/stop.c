/* SPDX-License-Identifier: MIT
 *
 * A flag that a signal sets, for those who can end in order.
 */
#include "cli/core/stop.h"

#include <unistd.h>

#include "base/status.h"

volatile sig_atomic_t cli_stop_asked;

static void ask_stop(int signal_number)
{
	(void)signal_number;
	if (cli_stop_asked)
		_exit(tcb_status_exit(TCB_E_INTERRUPTED)); /* the second time: at once; what is stored is durable */
	cli_stop_asked = 1;
}

void cli_stop_catch(void)
{
	struct sigaction action = { .sa_handler = ask_stop }, before;

	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	/* The terminal is gone, or a connection was lost; nohup has it ignored, and that stays. */
	if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
		sigaction(SIGHUP, &action, NULL);
}
