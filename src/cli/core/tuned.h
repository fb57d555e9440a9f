/* SPDX-License-Identifier: MIT
 *
 * The geometry to use for a problem, as libtcbrt finds it: the same answer
 * that a program linked with it gets.
 */
#ifndef TCB_CLI_TUNED_H
#define TCB_CLI_TUNED_H

#include "cli/core/setup.h"
#include "tcbrt.h"

struct cli_query {
	const struct tcb_registry *ops;
	const char *db;     /* --db, or NULL */
	const char *device; /* as on the command line */
	uint64_t threads;   /* 0: as many as is fastest */
	enum tcb_state state;
	int is_auto;     /* the fastest contract that is at least as exact as the problem's; OUT->contract says which */
	double *time_ns; /* gets what a lookup takes, the median of some; NULL: it is not asked for */
};

/* Where there is no database the op's default is the answer, and its reason says so. */
enum tcb_status cli_tuned_find(const struct cli_query *query, const struct tcb_problem *problem,
			       struct tcbrt_tuning *out, struct tcb_error *err);

#endif
