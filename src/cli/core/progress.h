/* SPDX-License-Identifier: MIT
 *
 * The progress of a sweep, or of other work that takes long, on stderr: one line refreshed in place on a
 * terminal, a line now and then elsewhere.
 */
#ifndef TCB_CLI_PROGRESS_H
#define TCB_CLI_PROGRESS_H

#include "search/search.h"

struct cli_progress {
	char label[224]; /* "problem 3 of 16: op contract 1x4096x4096 shard 1/4" */
	double bytes;    /* of one call, for GB/s */
	double later_s;  /* what is still to come after this problem; 0: nothing is said of it */
	/* private */
	int terminal, drawn;
	uint64_t said_ns;
};

void cli_progress_begin(struct cli_progress *progress, const char *label, double bytes);
/* Any other work: DONE of TOTAL, now at WHAT ("claim F301"). */
void cli_progress_count(struct cli_progress *progress, size_t done, size_t total, const char *what);
/* For tcb_sweep_options.progress; CTX is a struct cli_progress. */
void cli_progress_show(void *ctx, const struct tcb_progress *now);
/* Leaves the terminal with an empty line. */
void cli_progress_end(struct cli_progress *progress);

#endif
