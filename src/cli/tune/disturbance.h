/* SPDX-License-Identifier: MIT
 *
 * Keeps an eye on the machine: before something is measured whether it is quiet,
 * or becomes so; while a sweep measures who else has the processors, and whether
 * a GPU's clocks are held back.  Warns once.
 */
#ifndef TCB_CLI_DISTURBANCE_H
#define TCB_CLI_DISTURBANCE_H

#include "cli/core/progress.h"
#include "device/device.h"
#include "device/load.h"
#include "device/nvml.h"

struct cli_disturbance {
	struct tcb_load begin;
	struct tcb_nvml *nvml; /* NULL: a CPU, or no NVML */
	uint64_t begin_ns, looked_ns;
	unsigned looks, held_back; /* at the GPU */
	unsigned long long reasons;
	int has_warned;
};

void cli_disturbance_begin(struct cli_disturbance *seen, const struct tcb_place *place);
/* Looks a few times a second at most, however often it is called; a warning goes before LINE. */
void cli_disturbance_look(struct cli_disturbance *seen, struct cli_progress *line);
/* What others did between BEFORE and now is none of it: nothing was measured. */
void cli_disturbance_leave_out(struct cli_disturbance *seen, const struct tcb_load *before);
/* Shares as struct tcb_best has them. */
void cli_disturbance_end(struct cli_disturbance *seen, double *others_busy, double *held_back);

/* A command that measures, and how long it may wait for a quiet machine. */
struct cli_quiet {
	double left_s;   /* of --wait-quiet; 0: it does not wait */
	double waited_s; /* so far, with looking */
	int has_looked;  /* and has said that the machine is busy, if it was */
	int is_busy;     /* it was, at the last look */
};
/* Before a problem is measured on PLACE, or goes on being measured: says that the machine is busy and what that will
 * mean, the first time, or waits until it is not.  Returns the seconds that this took, which no budget pays for; an
 * interrupt ends it. */
double cli_quiet_wait(struct cli_quiet *quiet, const struct tcb_place *place);

#endif
