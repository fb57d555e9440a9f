/* SPDX-License-Identifier: MIT
 *
 * What runs an instruction, found in the table of its binder.
 */
#include "ptx/emulate/emu.h"

int tcb_emu_run_by(struct tcb_emu_ins *in, const struct tcb_emu_runner *runners, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (runners[i].op == in->ins->op) {
			in->run = runners[i].run;
			return 1;
		}
	return 0;
}

void tcb_emu_run_nothing(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	(void)warp;
	(void)in;
	(void)active;
}
